"""The first run: a second process compiles a part of what is needed, and a terminal says so."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core import event

import mercer
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


PLACES = """
import json
import numpy as np
from mercer._fast import pairwise

x = np.eye(3)
pairwise.mirror_upper(x)
stats = pairwise.mirror_upper.stats
print(json.dumps([stats.cache_path, sum(stats.cache_hits.values())]))
"""


def test_a_read_only_installation_keeps_compiled_code_with_the_user(tmp_path):
    """As the guide says: beside the package, or the user's own folder, or NUMBA_CACHE_DIR."""
    source = Path(mercer.__file__).parent
    copy = shutil.copytree(
        source, tmp_path / "site" / "mercer", ignore=shutil.ignore_patterns("__pycache__")
    )
    # For root no folder is read-only; but where a file is in its place, none can be made.
    (copy / "_fast" / "__pycache__").touch()
    own, given = tmp_path / "user", tmp_path / "given"
    common = {"PYTHONPATH": str(copy.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    folders = {"XDG_CACHE_HOME": str(own), "HOME": str(own), "LOCALAPPDATA": str(own)}
    places = {own: common | folders, given: common | folders | {"NUMBA_CACHE_DIR": str(given)}}
    for place, more in places.items():
        environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"} | more
        for turn in range(2):
            done = subprocess.run(
                [sys.executable, "-c", PLACES], capture_output=True, text=True, timeout=300,
                env=environment, cwd=tmp_path,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            folder, hits = json.loads(done.stdout)
            assert Path(folder).is_relative_to(place)
            assert hits == turn


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
