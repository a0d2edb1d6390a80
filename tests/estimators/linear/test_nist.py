"""The certified values of NIST's linear sets, digit by digit."""

from fractions import Fraction

import numpy as np
import pytest

from mercer import NormRegressor, Ridge
from tests.estimators.linear.nist import SETS, digits


def fitted(reference):
    model = NormRegressor(2, fit_intercept=reference.intercept).fit(reference.X, reference.y)
    weights = np.append(model.intercept_, model.coef_) if reference.intercept else model.coef_
    return model, weights


@pytest.mark.parametrize("name", SETS)
def test_digits(name):
    reference = SETS[name]
    model, weights = fitted(reference)
    assert digits(weights, reference.certified) >= reference.digits
    assert model.rank_ == len(reference.certified)


@pytest.mark.parametrize("name", SETS)
def test_digits_of_a_ridge_without_penalty(name):
    reference = SETS[name]
    model = Ridge(alpha=0, fit_intercept=reference.intercept).fit(reference.X, reference.y)
    weights = np.append(model.intercept_, model.coef_) if reference.intercept else model.coef_
    assert digits(weights, reference.certified) >= reference.digits
    # Weights of rows and several targets take the same way.
    again = Ridge(alpha=0, fit_intercept=reference.intercept).fit(
        reference.X, np.column_stack([reference.y, reference.y]), np.full(len(reference.y), 4.0)
    )
    assert digits(again.coef_[1], model.coef_) >= reference.digits - 1


def test_columns_that_depend_on_each_other_have_the_shortest_answer():
    random = np.random.default_rng(0)
    X = random.normal(size=(30, 3))
    X = np.column_stack([X, X[:, 0] + X[:, 1], np.full(30, 2.0)])
    y = random.normal(size=30)
    model = Ridge(alpha=0).fit(X, y)
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(model.coef_, np.linalg.pinv(centred) @ (y - y.mean()), atol=1e-10)


@pytest.mark.parametrize("name", [name for name in SETS if name != "Filip"])
def test_the_sets_are_written_down_rightly(name):
    """Exact rational arithmetic on the decimals gives what NIST certifies."""
    reference = SETS[name]
    rows = [
        [Fraction(1)] * reference.intercept + [Fraction(repr(float(v))) for v in row]
        for row in reference.X
    ]
    y = [Fraction(repr(float(v))) for v in reference.y]
    d = len(rows[0])
    system = [
        [sum(r[i] * r[j] for r in rows) for j in range(d)]
        + [sum(r[i] * t for r, t in zip(rows, y, strict=True))]
        for i in range(d)
    ]
    for i in range(d):
        system[i] = [v / system[i][i] for v in system[i]]
        for k in range(d):
            if k != i:
                factor = system[k][i]
                system[k] = [a - factor * b for a, b in zip(system[k], system[i], strict=True)]
    exact = np.array([float(row[-1]) for row in system])
    assert digits(exact, reference.certified) > 13


def test_the_table_of_the_guide_is_true():
    from pathlib import Path

    guide = (Path(__file__).parents[3] / "docs/guide/regression.md").read_text(encoding="utf-8")
    for name, reference in SETS.items():
        row = next(line for line in guide.splitlines() if line.startswith(f"| {name} "))
        shown = float(row.split("|")[3])
        _, weights = fitted(reference)
        assert digits(weights, reference.certified) >= shown
