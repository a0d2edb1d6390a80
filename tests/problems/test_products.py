"""Products and bounds of their rounding, against exact sums."""

import math
from fractions import Fraction

import numpy as np
import pytest

from mercer import RBF
from mercer.gram.base import Definite
from mercer.gram.computed import Gram
from mercer.gram.given import GivenGram
from mercer.problems.products import Products, curvature_of


def exact(K, c):
    return [
        sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(row, c, strict=True))
        for row in K
    ]


@pytest.mark.parametrize("definite", [Definite.POSITIVE, Definite.UNKNOWN])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_errors_are_bounded(definite, scale):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    K = scale * RBF(gamma=0.3)(X)
    c = rng.standard_normal((30, 2)) * 10.0 ** rng.uniform(-5, 5, (30, 2))
    c[::3] = 0
    found = Products(GivenGram(K, definite), c)
    for j in range(2):
        part = found.part(np.arange(30), j, None, Definite.POSITIVE)
        off = [abs(float(Fraction(f) - e)) for f, e in zip(part.f, exact(K, c[:, j]), strict=True)]
        assert (np.array(off) <= part.errors).all()
        assert part.errors.max() <= 1e-11 * np.abs(c[:, j]).sum() * scale
        assert (np.abs(K) <= np.outer(part.roots, part.roots) * (1 + 1e-12)).all()
        twice = part.scaled(-2.0)
        assert (twice.f == -2.0 * part.f).all()
        assert (twice.errors >= 2 * part.errors).all()
        half = part.scaled(-0.5)
        assert (half.errors <= 0.6 * (part.errors + 1e-15 * np.abs(part.f))).all()


def test_a_matrix_in_blocks_has_the_same_products_and_bounds(monkeypatch):
    rng = np.random.default_rng(0)
    K, c = rng.standard_normal((30, 30)), rng.standard_normal((30, 2))
    gram = GivenGram((K + K.T) / 2, Definite.UNKNOWN)
    whole = Products(gram, c)
    monkeypatch.setattr("mercer.problems.products.DENSE", 20)
    monkeypatch.setattr("mercer.problems.products._BLOCK_VALUES", 100)
    blocks = Products(gram, c)
    np.testing.assert_allclose(blocks.F, whole.F, atol=1e-12)
    np.testing.assert_allclose(blocks.errors, whole.errors)
    np.testing.assert_allclose(blocks.roots, whole.roots)
    assert blocks.whole.verdict == "refuted"


def test_a_matrix_that_is_not_symmetric_counts_by_halves():
    rng = np.random.default_rng(0)
    K = rng.standard_normal((6, 6))
    c = rng.standard_normal((6, 1))
    found = Products(GivenGram(K, Definite.UNKNOWN, symmetric=True), c)
    np.testing.assert_allclose(found.F, (K + K.T) / 2 @ c)


def test_what_is_known_by_construction_is_not_looked_at():
    X = np.random.default_rng(0).standard_normal((20, 2))
    assert curvature_of(Gram(RBF(gamma=1.0), X)) == ("proven", 0.0)
    found = Products(GivenGram(-np.eye(20), Definite.CONDITIONAL), np.zeros((20, 1)))
    rows = np.arange(20)
    assert found.curvature(rows, np.zeros(20, int), Definite.CONDITIONAL) == ("proven", 0.0)
    assert found.curvature(rows, None, Definite.POSITIVE).verdict == "refuted"
    assert math.isfinite(found.errors.max())


class Watched(GivenGram):
    """A matrix that notes which rows are asked for."""

    def block(self, rows, columns, out=None):
        self.seen.append((rows.start, rows.stop))
        return super().block(rows, columns, out)


def test_large_matrices_are_looked_at_in_blocks_of_rows(monkeypatch):
    monkeypatch.setattr("mercer.problems.products.DENSE", 2)
    K = np.arange(25.0).reshape(5, 5)
    K += K.T
    V = np.array([[1.0], [-2.0], [0.5], [0.0], [3.0]])
    for values, parts in ((1, [1] * 5), (10, [2, 2, 1]), (1000, [5])):
        monkeypatch.setattr("mercer.problems.products._BLOCK_VALUES", values)
        gram = Watched(K, Definite.UNKNOWN)
        gram.seen = []
        found = Products(gram, V)
        assert [stop - start for start, stop in gram.seen] == parts
        np.testing.assert_allclose(found.F, K @ V)
        np.testing.assert_allclose(found.roots, np.sqrt(K.max()))
