"""Compiled templates are kept, checked and done without."""

import os
import subprocess
import sys

from mercer.report import view
from mercer.report.template_cache import TemplateCache
from tests.report import cases

PROGRAM = """
import sys
from jinja2 import environment
compiled = []
plain = environment.Environment.compile
def compile(self, source, name=None, *rest, **more):
    compiled.append(name)
    return plain(self, source, name, *rest, **more)
environment.Environment.compile = compile
from mercer.report.view import _environment
print(_environment().get_template("curves.html").render.__name__, *compiled)
"""


def compiled_in_a_new_process(prefix, **settings):
    """Return the templates that a process had to compile, whose bytecode is in ``prefix``."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True,
        env=env | {"PYTHONPYCACHEPREFIX": str(prefix)} | settings,
    )  # fmt: skip
    return run.stdout.split()[1:]


def cached_templates(prefix):
    return [path for path in prefix.rglob("curves.*") if "jinja" in path.name]


def test_a_template_is_compiled_once_and_again_when_its_file_is_broken(tmp_path):
    assert compiled_in_a_new_process(tmp_path) == ["curves.html"]
    (kept,) = cached_templates(tmp_path)
    assert compiled_in_a_new_process(tmp_path) == []
    whole = kept.read_bytes()
    for broken in (b"", b"no bytecode", whole[: len(whole) // 2]):
        kept.write_bytes(broken)
        assert compiled_in_a_new_process(tmp_path) == ["curves.html"]
        assert kept.read_bytes() == whole


def test_where_nothing_may_be_written_nothing_is(tmp_path):
    silent = {"PYTHONDONTWRITEBYTECODE": "1"}
    assert compiled_in_a_new_process(tmp_path, **silent) == ["curves.html"]
    assert cached_templates(tmp_path) == []
    file = tmp_path / "a file and no folder"
    file.touch()
    assert compiled_in_a_new_process(file) == ["curves.html"]


def test_pages_of_kept_templates_are_those_of_the_sources(tmp_path, monkeypatch):
    record = cases.two_classes()
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(view, "_environment", view._environment.__wrapped__)
    pages = [view.render(record) for _ in range(2)]
    assert cached_templates(tmp_path)
    monkeypatch.setattr(TemplateCache, "load_bytecode", lambda self, bucket: None)
    assert pages == [view.render(record)] * 2
