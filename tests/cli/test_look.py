"""Comparisons, the list of kernels, help and version."""

import json
import re
import tomllib
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer.kernels.registry import ROWS
from tests.cli.command import good, mercer as run, real_mercer

HEAVY = ("numpy", "scipy", "sklearn", "numba", "pyarrow", "narwhals", "joblib", "jinja2")


def test_compare():
    result = good(run("compare", "penguins", "--cv", 3, "--json"))
    found = json.loads(result.out)
    contenders = found["contenders"]
    values = [c["score"]["value"] for c in contenders]
    assert values == sorted(values, reverse=True)
    assert contenders[-1]["machine"] == "baseline"
    counts = np.unique(mercer.read_table("penguins").target, return_counts=True)[1]
    assert contenders[-1]["score"]["value"] == counts.max() / counts.sum()
    assert {c["machine"] for c in contenders} == {"auto", "svc", "nusvc", "klr", "baseline"}
    kernels = {c["kernel"].split("(")[0] for c in contenders if c["machine"] == "svc"}
    assert kernels == {"0.5 * rbf", "0.5 * laplacian", "0.5 * matern", "0.5 * linear"}
    assert found["folds"] == 3
    assert all(c["score"]["low"] <= c["score"]["value"] <= c["score"]["high"] for c in contenders)


def test_compare_what_is_asked_for():
    result = good(
        run("compare", "diabetes", "--cv", 2, "-k", "rbf(bmi)", "-k", "linear(bmi)", "-m", "svr")
    )
    assert max(map(len, result.out.splitlines())) <= 80
    rows = re.findall(r"^  (svr|baseline) +(.*?)  +(\S+)  ", result.out, re.MULTILINE)
    assert [machine for machine, _, _ in rows] == ["svr", "svr", "baseline"]
    assert {kernel.split("(")[0] for _, kernel, _ in rows[:2]} == {"rbf", "linear"}


def test_kernels_lists_the_registry():
    out = good(run("kernels")).out
    for row in ROWS:
        assert re.search(rf"^  {row.name}  ", out, re.MULTILINE)
    plain = json.loads(good(run("kernels", "--json")).out)
    assert [row["name"] for row in plain] == [row.name for row in ROWS]


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_one_kernel(row):
    out = " ".join(good(run("kernels", row.name)).out.split())
    assert " ".join(row.formula.split())[:60] in out


def test_version_and_help():
    assert good(run("--version")).out == f"mercer {version('mercer')}\n"
    for arguments in ([], ["--help"], ["-h"]):
        out = good(run(*arguments)).out
        assert "mercer fit heart" in out
        for command in ("fit", "predict", "report", "certify", "compare", "kernels"):
            assert command in out
    for command in ("fit", "predict", "report", "certify", "compare", "kernels"):
        assert "Usage: mercer" in good(run(command, "--help")).out


def test_help_imports_nothing_heavy(tmp_path):
    # -X importtime prints every import, which is how long help takes.
    result = real_mercer("--help", cwd=tmp_path, PYTHONPROFILEIMPORTTIME="1")
    assert result.code == 0
    imported = {line.split("|")[-1].strip().split(".")[0] for line in result.err.splitlines()}
    assert "typer" in imported
    assert not imported & set(HEAVY)


def test_the_installed_command_is_this_one():
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    module, _, name = tomllib.loads(text)["project"]["scripts"]["mercer"].partition(":")
    assert getattr(import_module(module), name) is import_module("mercer.cli.app").main
