"""A file is written whole or not at all, whatever happens in between."""

import os
import signal
import socket
import stat
import subprocess
import sys
import textwrap
import time

import pytest

from mercer._files import atomic


def test_new_files_and_replaced_files(tmp_path):
    path = tmp_path / "data"
    atomic.write(path, [b"one", memoryview(b" two")])
    assert path.read_bytes() == b"one two"
    atomic.write(str(path), [b"three"])
    assert path.read_bytes() == b"three"
    assert os.listdir(tmp_path) == ["data"]


def test_permissions(tmp_path):
    path = tmp_path / "data"
    before = os.umask(0o027)
    try:
        atomic.write(path, [b""])
    finally:
        assert os.umask(before) == 0o027
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    atomic.write(path, [b"x"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


def test_new_files_may_be_written_by_all_whom_the_mask_lets(tmp_path):
    before = os.umask(0)
    try:
        atomic.write(tmp_path / "data", [b""])
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o666


def test_links_stay_links(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "far" / "data")
    atomic.write(tmp_path / "link", [b"x"])
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "far" / "data").read_bytes() == b"x"


def test_what_goes_to_the_null_device_is_gone_and_the_device_stays():
    before = os.stat(os.devnull)
    atomic.write(os.devnull, [b"x", memoryview(b"y")])
    after = os.stat(os.devnull)
    assert (before.st_mode, before.st_rdev) == (after.st_mode, after.st_rdev)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_pipes_and_sockets_are_refused_and_stay(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        for name in ("pipe", "socket"):
            before = (tmp_path / name).stat().st_mode
            with pytest.raises(OSError, match="and no file; give the name of a file"):
                atomic.write(tmp_path / name, [b"x"])
            assert (tmp_path / name).stat().st_mode == before
    assert sorted(os.listdir(tmp_path)) == ["pipe", "socket"]


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="the system has no files without a name")
def test_a_killed_process_leaves_nothing_behind(tmp_path):
    (tmp_path / "data").write_bytes(b"old")
    code = textwrap.dedent(
        """
        import os, signal
        from mercer._files import atomic

        def parts():
            yield bytes(10**6)
            os.kill(os.getpid(), signal.SIGKILL)

        atomic.write("data", parts())
        """
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path)
    assert run.returncode == -signal.SIGKILL
    assert (tmp_path / "data").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["data"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, MemoryError])
def test_errors_leave_the_old_file_and_nothing_else(error, tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"old")

    def parts():
        yield b"new" * 1000
        raise error

    with pytest.raises(error):
        atomic.write(path, parts())
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["data"]


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="the system has no such limit")
def test_a_full_disk(tmp_path):
    (tmp_path / "data").write_bytes(b"old")
    code = textwrap.dedent(
        """
        import resource, signal, sys
        from mercer._files import atomic
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            atomic.write("data", [bytes(10**6)])
        except OSError:
            sys.exit(7)
        """
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path)
    assert run.returncode == 7
    assert (tmp_path / "data").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["data"]


WRITER = """
import itertools, sys
from mercer._files import atomic
for i in itertools.count():
    block = bytes([i % 256]) * 20_000
    atomic.write("data", [block] * 50)
    if i == 0:
        print("ready", flush=True)
"""


def test_a_killed_writer_never_leaves_half_a_file(tmp_path):
    """Killed without warning at some moment, again and again; the file is whole each time."""
    waits = [0.0, 0.003, 0.006, 0.01, 0.014, 0.02]
    for wait in waits:
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER], cwd=tmp_path, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout.readline() == "ready\n"
        time.sleep(wait)
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        data = (tmp_path / "data").read_bytes()
        assert len(data) == 10**6
        assert len(set(data)) == 1


def test_folders_and_missing_folders(tmp_path):
    with pytest.raises(IsADirectoryError):
        atomic.write(tmp_path, [b"x"])
    with pytest.raises(FileNotFoundError, match=r"no.data: there is no folder .*Make it first"):
        atomic.write(tmp_path / "no" / "data", [b"x"])
    assert not os.listdir(tmp_path)
