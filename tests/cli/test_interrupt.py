"""Ctrl-C in a real terminal, sent to a real process."""

import contextlib
import os
import pty
import select
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.datasets import make_classification

from mercer import Study
from mercer._interrupts import interruptible

ROWS, COLUMNS = 1500, 18
PARTS = [", ".join(f"x{j}" for j in range(first, first + 6)) for first in range(0, COLUMNS, 6)]
KERNEL = " + ".join(f"rbf({columns})" for columns in PARTS)
"""Each part has a width of its own, so that 7³ kernels are tried: when the first of them is done,
there is so much left that no computer is through with it before a signal arrives."""


@pytest.fixture
def slow_data(tmp_path):
    X, y = make_classification(ROWS, COLUMNS, n_informative=8, flip_y=0.2, random_state=0)
    names = ",".join([*(f"x{j}" for j in range(COLUMNS)), "label"])
    table = np.column_stack([X.round(3), y])
    np.savetxt(tmp_path / "slow.csv", table, "%g", ",", header=names, comments="")


def interrupted_at(words, folder, *arguments):
    """Run a command in a terminal; press Ctrl-C as soon as the terminal shows some words."""
    terminal, other = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "mercer", *arguments],
        stdin=other, stderr=other, stdout=subprocess.PIPE, text=True, cwd=folder,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100"},
    )  # fmt: skip
    os.close(other)
    shown, pressed, ends = b"", False, time.monotonic() + 300
    while time.monotonic() < ends:
        ended = process.poll() is not None
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                shown += os.read(terminal, 4096)
            except OSError:  # the other side has closed the terminal
                break
        elif ended:
            break
        if words in shown and not pressed:
            process.send_signal(signal.SIGINT)
            pressed = True
    out = process.communicate(timeout=60)[0]
    os.close(terminal)
    assert pressed, shown[-500:]
    return process.returncode, out, shown.decode(errors="replace")


@pytest.mark.parametrize("asked", [("--kernel", KERNEL), ()], ids=["search", "contest"])
def test_the_best_model_so_far_is_kept(asked, slow_data, tmp_path):
    code, out, shown = interrupted_at(b"best 0.", tmp_path, "fit", "slow.csv", *asked)
    assert code == 0, shown
    assert "Interrupted: the best model so far was kept." in shown
    assert "Traceback" not in shown
    assert out.splitlines()[-1].split() == ["report", "slow.html"]
    study = Study.load(tmp_path / "slow.mercer")
    assert study.stopped == "interrupted"
    assert any("was interrupted" in note for note in study.notes)
    assert study.scores[0].value > 0.6
    assert (tmp_path / "slow.html").exists()


def test_nothing_to_keep(slow_data, tmp_path):
    code, out, shown = interrupted_at(b"reading", tmp_path, "fit", "slow.csv", "--kernel", KERNEL)
    # Python ends by the signal itself where it met it inside ``exec``; a shell says 130 to both.
    assert code in (130, -signal.SIGINT), shown
    assert out == ""
    assert "interrupted; nothing was written." in shown
    assert "Traceback" not in shown
    assert [path.name for path in tmp_path.iterdir()] == ["slow.csv"]


def test_an_interrupt_that_a_library_swallows_is_heeded_later():
    with pytest.raises(KeyboardInterrupt), interruptible(), contextlib.suppress(BaseException):
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_ignored_interrupt_stays_ignored():
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interruptible():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, usual)
