"""The first run: a second process compiles a part of what is needed, and a terminal says so."""

import json
import os
import subprocess
import sys

import pytest
from numba.core import event

from mercer.cli import first_run
from mercer.cli.first_run import compiling_in_words

BEGIN = """
import os, sys
from mercer._fast import warm
from mercer.cli.first_run import compiling_ahead

started = []
sys.addaudithook(lambda name, about: name == "subprocess.Popen" and started.append(name))
assert warm.are_steps_missing()
for machine, threads, count in (("gp", "2", 0), ("svc", "1", 0), ("svc", "2", 1)):
    os.environ["MERCER_THREADS"] = threads
    with compiling_ahead(machine):
        assert len(started) == count, (machine, threads)
"""

FIT = """
import json, sys
from numba.core import event
from mercer.cli import main

with event.install_recorder("numba:compile") as recorder:
    try:
        main(["fit", "heart", "--machine", "svc", "--quiet", "--force"])
    except SystemExit as left:
        assert left.code == 0
functions = [e.data["dispatcher"].py_func for _, e in recorder.buffer if e.is_start]
print(json.dumps([f"{f.__module__}.{f.__qualname__}" for f in functions]))
"""


def run(code, cache):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=300,
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache), "MERCER_THREADS": "2"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_a_process_is_started_where_it_is_of_use_and_ends(tmp_path):
    run(BEGIN, tmp_path)


@pytest.mark.attack
def test_what_was_compiled_ahead_is_what_a_fit_needs(tmp_path):
    run("from mercer._fast import warm; warm.compile_steps()", tmp_path)
    first, second = (json.loads(run(FIT, tmp_path)) for _ in range(2))
    assert "mercer._fast.box_qp.improve" in first
    assert not [name for name in first if name.startswith("mercer._fast.active_set.")]
    assert second == []


def test_compiling_is_told_while_it_takes_long(monkeypatch):
    with compiling_in_words() as words:
        assert words() == ""
        event.start_event("numba:compile")
        assert words() == ""  # it may be over in a moment
        monkeypatch.setattr(first_run, "_LONG", 0.0)
        event.start_event("numba:compile")  # a function that the first one calls
        assert words() == "compiling, once: 0 s"
        event.end_event("numba:compile")
        assert words() == "compiling, once: 0 s"
        event.end_event("numba:compile")
        assert words() == ""
