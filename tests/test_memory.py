"""How much memory there is."""

import os

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
