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
from mercer.study import comparison, others
from mercer.study.plan import make_plan
from tests.cli.command import good, mercer as run, real_mercer

HEAVY = ("numpy", "scipy", "sklearn", "numba", "pyarrow", "narwhals", "joblib", "jinja2")


def test_compare():
    result = good(run("compare", "penguins", "--cv", 3, "--json", "--no-others"))
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


def test_compare_with_what_else_people_use(monkeypatch):
    """Folds, scores and differences against scikit-learn itself."""
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import StandardScaler

    # Others are compared in the same way, and take long on a busy machine.
    monkeypatch.setattr("mercer.study.comparison.METHODS", others.METHODS[:3])
    arguments = ("diabetes", "--cv", 3, "-m", "linear", "--others")
    found = json.loads(good(run("compare", *arguments, "--json")).out)
    by_name = {c["machine"]: c for c in found["contenders"]}
    assert set(by_name) == {
        "linear", "linear model", "random forest", "histogram boosting", "baseline",
    }  # fmt: skip
    assert by_name["linear"]["difference"] is None
    table = mercer.read_table("diabetes")
    X = np.column_stack([table.frame[name].to_numpy() for name in table.used])
    y = table.target
    plan = make_plan(table, cv=3)
    predicted = np.empty(len(y))
    for train, test in comparison._folds(plan, 3, 0):
        scaler = StandardScaler().fit(X[train])
        model = Ridge().fit(scaler.transform(X[train]), y[train])
        predicted[test] = model.predict(scaler.transform(X[test]))
    r2 = 1 - ((y - predicted) ** 2).mean() / y.var()
    ridge = by_name["linear model"]
    assert ridge["score"]["value"] == pytest.approx(r2, rel=1e-9)
    assert ridge["library"] == "scikit-learn"
    own = by_name["linear"]["score"]["value"]
    for name in ("linear model", "random forest", "histogram boosting", "baseline"):
        c = by_name[name]
        assert c["difference"] == pytest.approx(own - c["score"]["value"], abs=1e-9)
        assert c["difference_low"] < c["difference"] < c["difference_high"]
    shown = good(run("compare", *arguments, "--out", "page"))
    assert "linear minus the others, 95 % interval:" in shown.out
    assert "the usual methods" in shown.out or "does better" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80
    page = Path("page.html").read_text(encoding="utf-8")
    assert "<h2>Differences</h2>" in page
    assert "histogram boosting" in page
    Path("page.html").write_text("mine")
    refused = run("compare", *arguments, "--out", "page.html")
    assert refused.code == 2
    assert "--force" in refused.err


@pytest.mark.parametrize("method", others.METHODS, ids=lambda method: method.name)
def test_other_methods_answer(method):
    """Each says which class of three it is, in our numbers, even where training lacks one."""
    if not method.installed:
        pytest.skip(f"{method.library} is not installed")
    table = mercer.read_table("penguins").prepare()
    rows = np.flatnonzero(table.y != "Adelie")[::3]
    kinds = table.schema.kinds
    training = table.X.take(rows), table.y[rows]
    classes = np.unique(table.y)
    said = others.answers(method, kinds, training, table.X, classes, 0)
    assert said.probabilities.shape == (344, 3)
    assert (said.probabilities[:, 0] == 0).all()
    right = (classes[said.predicted] == table.y)[table.y != "Adelie"]
    assert right.mean() > 0.9


def test_copies_are_compared_in_one_fold():
    table = mercer.read_table("heart")
    twice = table.take(np.r_[np.arange(100), np.arange(100)])
    for train, test in comparison._folds(make_plan(twice), 4, 0):
        assert not set(train % 100) & set(test % 100)


def test_kernels_lists_the_registry():
    out = good(run("kernels")).out
    for row in ROWS:
        assert re.search(rf"^  {row.name}  ", out, re.MULTILINE)
    plain = json.loads(good(run("kernels", "--json")).out)
    assert [row["name"] for row in plain] == [row.name for row in ROWS]
    assert "`" not in out
    assert "`" not in json.dumps(plain)
    assert ":class:" not in out


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_one_kernel(row):
    out = " ".join(good(run("kernels", row.name)).out.split())
    assert " ".join(row.plain_formula.split())[:60] in out


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
