"""Small formulas of problems, each written out once more."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import digamma

from mercer import RBF, Linear
from mercer.gram import feature_gram
from mercer.gram.computed import Gram
from mercer.gram.feature_gram import FeatureGram, gram_of
from mercer.problems.convexity import ROUNDING, SlaterPoint
from mercer.problems.elastic_net import LassoProblem
from mercer.problems.entropy import spacing_entropy
from mercer.problems.functions import QuadraticFunction
from mercer.problems.tangents import conjugate_bound, slope_differences


def test_strictly_feasible_points():
    x = np.array([0.5, -3.0])
    most = 4 * ROUNDING
    assert SlaterPoint(x, -1e-9, 0.0).holds
    assert not SlaterPoint(x, 0.0, 0.0).holds
    assert SlaterPoint(x, -1.0, 0.99 * most).holds
    assert not SlaterPoint(x, -1.0, 1.01 * most).holds


@pytest.mark.parametrize("n", [1, 5, 12, 100])
def test_entropies_by_spacings(n):
    Y = np.random.default_rng(n).normal(size=(2, n + 1))
    n = n + 1
    m = max(round(math.sqrt(n)), 1)
    for row, found in zip(Y, spacing_entropy(Y), strict=True):
        ordered = sorted(row.tolist())
        logs = [math.log(ordered[i + m] - ordered[i]) for i in range(n - m)]
        raw = sum(logs) / len(logs) + math.log((n + 1) / m)
        expected = raw + math.log(m) - digamma(m) + digamma(n + 1) - math.log(n + 1)
        assert found == pytest.approx(expected)


@pytest.mark.parametrize("at", [0.25, -5.0])
def test_ties_have_spacings_of_rounding_size(at):
    least = 2.0**-52 * max(abs(at), 1.0)
    n, m = 9, 3
    [found] = spacing_entropy(np.full((1, n), at))
    assert found == pytest.approx(math.log(least) - digamma(m) + digamma(n + 1))
    some = np.array([at] * 8 + [16.0])  # of the ties the largest number counts
    [found] = spacing_entropy(some[None])
    logs = [math.log(2.0**-52 * 16)] * 5 + [math.log(16 - at)]
    assert found == pytest.approx(sum(logs) / 6 - digamma(m) + digamma(n + 1))


def test_columns_as_they_count():
    random = np.random.default_rng(1)
    X, y = random.normal(size=(7, 3)), random.normal(size=7)
    w = random.uniform(0.5, 2, 7)
    problem = LassoProblem(y, 1.0)
    design = problem.design(FeatureGram.of_rows(X))
    data, indices, starts, means = design.columns()
    assert_allclose(data.reshape(3, 7), X.T)
    assert not len(indices)
    assert not len(starts)
    assert not len(means)
    centre = w @ X / w.sum()
    weighted = replace(design, means=centre, weights=w)
    data = weighted.columns()[0]
    assert_allclose(data.reshape(3, 7), (np.sqrt(w)[:, None] * (X - centre)).T)


class Quartic:
    """φ(r) = r⁴/4, whose conjugate is ¾ν^{4/3}."""

    def value(self, r):
        return r**4 / 4

    def slope(self, r):
        return r**3


def test_conjugates_where_tangents_meet():
    nu = np.array([-3.0, -0.2, 0.0, 0.01, 1.0, 40.0])
    found = conjugate_bound(Quartic(), nu)
    exact = 0.75 * np.abs(nu) ** (4 / 3)
    assert (found >= exact - 1e-15).all()
    assert_allclose(found, exact, rtol=1e-6, atol=1e-9)
    r = np.array([-2.0, 0.5, 1.0, 3.0])
    assert_allclose(slope_differences(Quartic(), r), 3 * r**2, rtol=1e-3)


def test_matrices_have_to_be_symmetric_up_to_their_size():
    for scale in (1e-9, 1.0, 1e9):
        P = scale * np.array([[2.0, 1.0], [1.0, 3.0]])
        QuadraticFunction(P)
        off = P.copy()
        off[0, 1] *= 1 + 1e-3
        with pytest.raises(ValueError, match="symmetric"):
            QuadraticFunction(off)


def test_what_is_0_but_for_rounding_is_symmetric():
    for scale in (1e-9, 1.0, 1e9):
        QuadraticFunction(scale * np.array([[1.0, 1e-13], [0.0, 2.0]]))
        with pytest.raises(ValueError, match="symmetric"):
            QuadraticFunction(scale * np.array([[1.0, 1e-11], [0.0, 2.0]]))


def test_features_stand_for_matrices_of_many_rows(monkeypatch):
    monkeypatch.setattr(feature_gram, "_FEW_ROWS", 8)
    X = np.random.default_rng(2).normal(size=(9, 2))

    def kind(kernel, rows):
        return type(gram_of(kernel, kernel.encode(rows)))

    assert kind(Linear(), X) is FeatureGram
    assert kind(Linear(), X[:8]) is FeatureGram  # four rows for each column
    assert kind(Linear(), X[:7]) is Gram
    assert kind(Linear(), np.column_stack([X, X[:, 0]])) is Gram
    assert kind(RBF(gamma=1.0), X) is Gram
    assert_allclose(gram_of(Linear(), Linear().encode(X)).dense(), X @ X.T)
