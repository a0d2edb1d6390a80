"""Model files when disks are full, names are no files, writers are two and processes are killed."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import mercer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="devices and limits of Linux")

WRITER = """
    import sys
    import numpy as np
    import mercer

    X = np.random.default_rng(0).normal(size=(400, 50))
    machine = mercer.SVC(C=float(sys.argv[2])).fit(X, np.arange(400) % 2)
    print("ready", flush=True)
    for _ in range(int(sys.argv[3])):
        mercer.save(machine, sys.argv[1])
"""


@pytest.fixture(scope="module")
def machine():
    X = np.random.default_rng(0).normal(size=(40, 3))
    return mercer.SVC().fit(X, np.arange(40) % 2)


def writer(path, C, times):
    command = [sys.executable, "-c", textwrap.dedent(WRITER), str(path), str(C), str(times)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    with process.stdout:
        assert process.stdout.readline() == "ready\n"
    return process


def test_a_full_disk_is_an_error_and_the_old_file_stays(machine, tmp_path):
    path = tmp_path / "m.mercer"
    mercer.save(machine, path)
    before = path.read_bytes()
    code = f"""
        import resource, signal, sys
        import mercer

        machine = mercer.load({str(path)!r})
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            mercer.save(machine, {str(path)!r})
        except OSError:
            sys.exit(0)
        sys.exit("written")
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True)
    assert run.returncode == 0, run.stderr
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m.mercer"]
    with pytest.raises(OSError, match="No space left"):
        mercer.save(machine, "/dev/full")


def test_names_that_are_no_files(machine, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="give the name of a file"):
        mercer.save(machine, tmp_path / "pipe")
    with pytest.raises(IsADirectoryError):
        mercer.save(machine, tmp_path)
    for name in ("pipe", "."):
        with pytest.raises(mercer.InvalidModelFile):
            mercer.load(tmp_path / name)
    mercer.save(machine, os.devnull)
    assert not os.path.isfile(os.devnull)


@pytest.mark.parametrize("rounds", [10, pytest.param(300, marks=pytest.mark.attack)])
def test_two_writers_leave_one_whole_file(rounds, tmp_path):
    path = tmp_path / "m.mercer"
    writers = [writer(path, C, rounds) for C in (1.0, 2.0)]
    while any(process.poll() is None for process in writers):
        if path.exists():
            assert mercer.load(path).C in (1.0, 2.0)
    assert [process.wait() for process in writers] == [0, 0]
    assert os.listdir(tmp_path) == ["m.mercer"]


@pytest.mark.attack
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_writer_leaves_the_old_file_or_the_new_one(number, tmp_path):
    random = np.random.default_rng(int(number))
    path = tmp_path / "m.mercer"
    for _ in range(20):
        process = writer(path, 1.0, 10_000)
        time.sleep(random.uniform(0.0, 0.2))
        process.send_signal(number)
        process.wait()
        assert not path.exists() or mercer.load(path).C == 1.0
    # A name in waiting can stay for the one step between two calls of the system, no more.
    assert len(os.listdir(tmp_path)) <= 2
