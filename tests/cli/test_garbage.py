"""Garbage is looked for after an import as before it, and not when a process ends."""

import gc
import subprocess
import sys

import pytest

from mercer.cli.garbage import importing
from tests.cli.command import mercer, real_mercer


def test_an_import_is_not_disturbed_and_leaves_things_as_they_were():
    with importing():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ImportError), importing():
        raise ImportError
    assert gc.isenabled()
    gc.disable()
    try:
        with importing():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_command_inside_a_program_freezes_nothing(tmp_path):
    before = gc.get_freeze_count()
    assert mercer("--version").code == 0
    assert gc.get_freeze_count() == before


def test_modules_are_looked_through_no_more_in_a_process_of_one_command():
    code = """
import gc
from mercer.cli.garbage import importing, own_the_process

with importing():
    pass
assert gc.get_freeze_count() == 0
own_the_process()
with importing():
    import decimal
assert gc.get_freeze_count() > 0 and gc.isenabled()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_command_that_ends_its_process_flushes_all_it_has_said(tmp_path):
    said = real_mercer("--version", cwd=tmp_path)
    assert said.code == 0
    assert said.out.startswith("mercer ")
