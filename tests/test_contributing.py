"""The examples of CONTRIBUTING.md are real: they pass the tests that it promises them."""

import re
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import check_estimator

import mercer
from mercer import RBF, GridSearchCV, Linear, check_kernel
from mercer.estimators import registry
from mercer.kernels.vectors import radial

TEXT = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")


def code_of(heading):
    """Return the blocks of Python code of a section."""
    section = TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    blocks = re.findall(r"^ *```python\n(.*?)^ *```$", section, re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(block) for block in blocks]


def test_the_kernel():
    (code,) = code_of("Add a radial kernel")
    names = dict(vars(radial))
    exec(code, names)
    kernel = names["InverseMultiquadric"](length_scale=1.3)
    X = np.random.default_rng(0).normal(size=(12, 3))
    assert check_kernel(kernel, X)
    naive = [[1 / np.sqrt(1 + ((x - z) ** 2).sum() / 1.3**2) for z in X] for x in X]
    np.testing.assert_allclose(kernel(X), naive)
    s = np.linspace(0.1, 3.0, 7)
    slope = (kernel.profile(s + 1e-6) - kernel.profile(s - 1e-6)) / 2e-6
    np.testing.assert_allclose(kernel.derivative(s.copy()), slope, rtol=1e-6)


@pytest.fixture
def row(monkeypatch):
    """The row of the example, in the registry, with its class where the row says it is."""
    code, line = code_of("Add an estimator")
    found = eval(line, vars(registry))
    module = ModuleType(found.home)
    monkeypatch.setitem(sys.modules, found.home, module)
    exec(code, vars(module))
    monkeypatch.setattr(registry, "ROWS", (*registry.ROWS, found))
    return found


def test_the_estimator_passes_the_common_checks(row):
    for machine in row.machines():
        check_estimator(machine, expected_failed_checks=dict(row.excused), on_skip=None)


def test_the_estimator_comes_back_from_a_file(row, tmp_path):
    X, y = row.data()
    model = row.estimator(RBF(gamma=0.5)).fit(X, y)
    mercer.save(model, tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer")
    assert type(loaded) is row.estimator
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.half_squares_, model.half_squares_)
    model.half_squares_ = model.half_squares_[:1]
    with pytest.raises(mercer.CannotSave, match="size"):
        mercer.save(model, tmp_path / "model.mercer")


def test_the_estimator_can_be_searched(row):
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(row.estimator(RBF()), {"kernel__gamma": [0.01, 0.1, 1.0]}, cv=3)
    assert search.fit(X, y).best_score_ > 0.9


def test_the_estimator_is_right(row):
    X, y = load_iris(return_X_y=True)
    means = np.stack([X[y == c].mean(axis=0) for c in range(3)])
    nearest = ((X[:, None, :] - means) ** 2).sum(axis=2).argmin(axis=1)
    machine = row.estimator(Linear())
    np.testing.assert_array_equal(clone(machine).fit(X, y).predict(X), nearest)
    assert row.group == "Subspaces"
