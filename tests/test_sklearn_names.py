"""What mercer takes from scikit-learn's private modules is there, and is taken in one place."""

import ast
from pathlib import Path

import pytest

import mercer
from mercer import _sklearn

SOURCES = sorted(Path(mercer.__file__).parent.rglob("*.py"))


@pytest.mark.parametrize("name", sorted(_sklearn.HOMES))
def test_every_name_is_there(name):
    assert getattr(_sklearn, name) is not None


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = _sklearn.nothing


def test_a_name_that_scikit_learn_lost_says_which_version_is_there(monkeypatch):
    monkeypatch.setitem(_sklearn.HOMES, "lost", ("sklearn.base", "_was_never_there"))
    with pytest.raises(
        ImportError, match=r"scikit-learn \d.* has no sklearn\.base\._was_never_there"
    ):
        _ = _sklearn.lost


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_other_module_imports_private_names(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sklearn"):
            assert "._" not in node.module, f"line {node.lineno}"
            assert not any(name.name.startswith("_") for name in node.names), f"line {node.lineno}"
