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


FIGURES = {
    "plot_penalty_balls": "000", "plot_norms": "000", "plot_network": "000",
    "plot_line_search": "000", "plot_descent": "001", "plot_margin": "003",
    "plot_feature_maps": "003", "plot_boundaries": "000", "plot_width": "003",
    "plot_cocktail": "000", "plot_logistic": "001", "plot_maximum_margin": "004",
    "plot_xor": "003", "plot_eigenfaces": "002", "plot_kernel_pca": "002",
    "plot_discriminant": "002", "plot_lagrange": "003", "plot_multiclass": "003",
    "plot_dna": "003", "plot_molecules": "003", "plot_walks": "003", "plot_gaussian": "001",
    "plot_perceptron": "000", "plot_fisher": "003", "plot_gp": "001",
}  # fmt: skip
"""Examples that draw figures of the lectures, and one of the lectures of each."""


@pytest.mark.parametrize("name", FIGURES)
def test_figures_of_the_lectures_say_where_they_are_from(name):
    path = next(path for path in EXAMPLES if path.stem == name)
    text = " ".join((ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split())
    assert f"ecture {FIGURES[name]}" in text


def test_the_first_look_says_something():
    path = next(path for path in EXAMPLES if path.stem == "first_look")
    run = subprocess.run(
        [sys.executable, "-W", "error", str(path)], capture_output=True, text=True, timeout=120,
        env=os.environ | {"MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8"}, cwd=path.parent,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert len(run.stdout.splitlines()) >= 5
    assert run.stderr == ""
