"""What docs/architecture.md says of the tree is so."""

import ast
import inspect
import re
import tomllib
from pathlib import Path

import pytest

import mercer
from mercer.estimators import registry

ROOT = Path(__file__).parents[1]
SOURCE = Path(mercer.__file__).parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
MODULES = sorted(SOURCE.rglob("*.py"))
PACKAGES = sorted(path.parent for path in SOURCE.rglob("__init__.py") if path.parent != SOURCE)


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`([\w/]+\.(?:py|md|pyi))`", PAGE))))
def test_every_file_that_it_names_is_there(name):
    assert any((start / name).exists() for start in (ROOT, SOURCE, SOURCE.parent, ROOT / "docs"))


def test_the_tree_has_every_package():
    tree = PAGE.split("## The tree")[1].split("```")[1]
    named = set(re.findall(r"\w+", tree))
    missing = [path.name for path in PACKAGES if path.name not in named]
    assert not missing


def test_the_layers_are_those_that_are_checked():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    checked = next(c for c in contracts if c["type"] == "layers")["layers"]
    said = PAGE.split("## Layers")[1].split("```")[1].splitlines()[1:]
    order = [set(re.findall(r"mercer\.(\w+)", line)) for line in checked]
    places = [
        next(i for i, names in enumerate(order) if set(re.findall(r"\w+", line)) <= names)
        for line in said
    ]
    assert places == sorted(set(places))


def test_no_file_is_too_long():
    sizes = {_name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {name: size for name, size in sizes.items() if size > 450} == {}


def test_every_folder_has_its_tests():
    # Compiled code and drawing are tested through what uses them.
    inner = {"_fast", "_plot"}
    folders = [_name(path) for path in PACKAGES if path.name not in inner]
    missing = [name for name in folders if not (ROOT / "tests" / name.strip("_")).exists()]
    assert missing == []


def test_machines_are_spelt_alike():
    """Every kernel machine takes a time limit and an approximation."""
    features = {"FeatureMap", "NystromMap"}  # which are the approximation themselves
    for row in registry.ROWS:
        given = inspect.signature(row.estimator).parameters
        if "kernel" in given and row.class_name not in features:
            assert {"time_limit", "approximation"} <= set(given), row.class_name


def test_every_number_says_where_it_comes_from():
    silent = [f"{_name(path)}:{line}" for path in MODULES for line in _silent_numbers(path)]
    assert silent == []


def _silent_numbers(path):
    """Return the lines of numbers at module level without a word beside, above or below them."""
    text = path.read_text(encoding="utf-8")
    lines, body = text.splitlines(), ast.parse(text).body
    for node, after in zip(body, [*body[1:], None], strict=True):
        value = node.value if isinstance(node, ast.Assign) else None
        if value is not None and _is_number(value):
            said = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            near = lines[node.lineno - 2 : node.lineno]
            if not said and not any("#" in line for line in near):
                yield node.lineno


def _is_number(value):
    if isinstance(value, ast.BinOp):
        return _is_number(value.left) and _is_number(value.right)
    return isinstance(value, ast.Constant) and isinstance(value.value, int | float)


def _name(path):
    return str(path.relative_to(SOURCE))
