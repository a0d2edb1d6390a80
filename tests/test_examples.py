"""The examples: what a gallery page needs, public names only, and the first one runs."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import mercer

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
ids = [path.stem for path in EXAMPLES]


def test_there_are_some():
    assert "first_look" in ids
    assert len(EXAMPLES) >= 3


@pytest.mark.parametrize("path", EXAMPLES, ids=ids)
def test_conventions(path):
    assert path.stem == "first_look" or path.stem.startswith("plot_"), "the gallery skips it"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    title, rule, blank, *text = (ast.get_docstring(tree) or "").splitlines()
    assert set(rule) == {"="}
    assert len(rule) == len(title)
    assert blank == ""
    assert text
    compile(tree, str(path), "exec")


PUBLIC = {*mercer.__all__, "distributed", "independence", "norms", "optimize"}


@pytest.mark.parametrize("path", EXAMPLES, ids=ids)
def test_only_public_names(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mercer"):
            assert node.module == "mercer", f"line {node.lineno}: import from mercer itself"
            assert {alias.name for alias in node.names} <= PUBLIC
        if isinstance(node, ast.Import):
            assert not any(alias.name.startswith("mercer.") for alias in node.names)
        if isinstance(node, ast.Attribute):
            assert not node.attr.startswith("_"), f"line {node.lineno}: {node.attr} is private"


def test_the_first_look_says_something():
    path = next(path for path in EXAMPLES if path.stem == "first_look")
    run = subprocess.run(
        [sys.executable, "-W", "error", str(path)], capture_output=True, text=True, timeout=120,
        env=os.environ | {"MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8"}, cwd=path.parent,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert len(run.stdout.splitlines()) >= 5
    assert run.stderr == ""
