"""How much memory there is."""

import os
import platform
import subprocess
import sys
import textwrap

import pytest

from mercer import _memory
from mercer.exceptions import MercerError, NotEnoughMemory


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Return a function that sets up what a machine tells of its memory."""

    def tells(available=None, limit=None, used=None):
        if available is not None:
            (tmp_path / "meminfo").write_text(
                f"MemTotal: 99999999 kB\nMemAvailable:   {available} kB\nBuffers: 1 kB\n"
            )
        for name, value in (("memory.max", limit), ("memory.current", used)):
            if value is not None:
                (tmp_path / name).write_text(f"{value}\n")

    monkeypatch.setattr(_memory, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(_memory, "_CGROUP", tmp_path)
    monkeypatch.setattr(_memory, "_OWN_GROUPS", tmp_path / "own")
    return tells


def test_the_system_tells(machine):
    machine(available=2000)
    assert _memory.available_bytes() == 2_048_000


def test_a_container_may_have_less(machine):
    machine(available=2000, limit=1_500_000, used=400_000)
    assert _memory.available_bytes() == 1_100_000
    machine(limit=99_000_000)
    assert _memory.available_bytes() == 2_048_000
    machine(limit="max")
    assert _memory.available_bytes() == 2_048_000


def test_the_groups_of_the_process_and_all_above_it(machine, tmp_path):
    """The least counts, and files in memory that give way are no use of it."""
    machine(available=9_000)
    (tmp_path / "own").write_text("1:name=systemd:/\n0::/user/job\n")
    job = tmp_path / "user" / "job"
    job.mkdir(parents=True)
    (job / "memory.max").write_text("max\n")
    (job / "memory.current").write_text("1000\n")
    (tmp_path / "user" / "memory.max").write_text("5000000\n")
    (tmp_path / "user" / "memory.current").write_text("3000000\n")
    (tmp_path / "user" / "memory.stat").write_text("anon 7\ninactive_file 500000\n")
    assert _memory.available_bytes() == 2_500_000
    (job / "memory.max").write_text("1500\n")
    assert _memory.available_bytes() == 500
    (job / "memory.current").write_text("1600\n")
    assert _memory.available_bytes() == 0


def test_the_first_version_of_control_groups(machine, tmp_path):
    machine(available=9_000)
    (tmp_path / "own").write_text("4:memory:/docker/1\n3:cpu,cpuacct:/docker/1\n0::/\n")
    group = tmp_path / "memory" / "docker" / "1"
    group.mkdir(parents=True)
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text(f"{2**63 - 4096}\n")
    (tmp_path / "memory" / "memory.usage_in_bytes").write_text("77\n")
    (group / "memory.limit_in_bytes").write_text("4000000\n")
    (group / "memory.usage_in_bytes").write_text("3000000\n")
    (group / "memory.stat").write_text("inactive_file 1\ntotal_inactive_file 200000\n")
    assert _memory.available_bytes() == 1_200_000
    (group / "memory.limit_in_bytes").write_text("nonsense\n")
    assert _memory.available_bytes() == 9_216_000


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_limit_of_the_process():
    """What is mapped already counts; the error comes before the memory does."""
    code = """
        import resource, sys
        from mercer import _memory
        from mercer.exceptions import NotEnoughMemory

        size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        for room, free in [(300_000_000, 140_000_000), (150_000_000, 0)]:
            resource.setrlimit(resource.RLIMIT_AS, (size + room, resource.RLIM_INFINITY))
            assert free - 10_000_000 < _memory.available_bytes() <= free
            for job in [lambda: _memory.require(free + 1, "A job", "Use less."),
                        lambda: free or _memory.require_reserve("A job")]:
                try:
                    assert job()
                except NotEnoughMemory as error:
                    print(error)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True)
    assert run.returncode == 0, run.stderr
    assert b"A job: the limit of this process (ulimit -v, RLIMIT_AS) leaves less than" in run.stdout


def test_other_systems(machine, monkeypatch):
    pages = {"SC_AVPHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(os, "sysconf", pages.__getitem__, raising=False)
    assert _memory.available_bytes() == 4_096_000

    def unknown(name):
        raise ValueError(name)

    monkeypatch.setattr(os, "sysconf", unknown, raising=False)
    assert _memory.available_bytes() is None
    monkeypatch.delattr(os, "sysconf")
    assert _memory.available_bytes() is None
    _memory.require(10**30, "A job", "Nothing helps.")  # nobody knows: go on


def test_this_machine():
    there = _memory.available_bytes()
    assert there is None or 10**6 < there < 10**15


def test_the_error_gives_cause_and_remedy(machine):
    machine(available=2_000_000)
    _memory.require(2_048_000_000, "A job", "Sell it.")  # just enough
    with pytest.raises(NotEnoughMemory) as caught:
        _memory.require(2_048_000_001, "A job", "Use less.")
    assert str(caught.value) == "A job needs 2.0 GB, and 2.0 GB of memory are free. Use less."
    assert isinstance(caught.value, MemoryError)
    assert isinstance(caught.value, MercerError)


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (1_540_000, "1.5 MB"),
        (80e9, "80.0 GB"),
        (5e12, "5.0 TB"),
        (5e16, "50000.0 TB"),
    ],
)
def test_readable(size, words):
    assert _memory.readable(size) == words


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_freed_arrays_are_kept_for_the_next_ones():
    code = """
        import resource
        import numpy as np
        from mercer import _memory

        def faults():
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            for _ in range(20):
                arrays = [np.ones(100_000) for _ in range(6)]
                del arrays
            return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

        faults()
        assert faults() > 4_000
        _memory.keep_freed(6_000_000)
        faults()
        assert faults() < 400
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr


def test_memory_that_is_not_there_is_not_asked_for():
    _memory.keep_freed(1 << 62)
