"""Designs against dense copies of them, and the numbers of lasso problems by loops."""

import math

import numpy as np
import pytest
from scipy import sparse

from mercer.exceptions import NotEnoughMemory
from mercer.gram.feature_gram import FeatureGram
from mercer.problems import elastic_net
from mercer.problems.certificate import Certificate
from mercer.problems.design_products import Bounded, DesignProducts
from mercer.problems.elastic_net import Bounds, Design, LassoProblem, in_units
from mercer.problems.squares_bounds import prove_squares

U = 2.0**-52
N, P = 70, 9


def numbers():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, P)) + rng.normal(size=P)
    X[rng.random(X.shape) < 0.5] = 0.0
    return X, rng.normal(size=P) / 3, rng.uniform(0.2, 2.0, N), rng


@pytest.mark.parametrize("little", [True, False], ids=["few", "many"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("kind", ["C", "F", "csc"])
def test_a_design_is_its_dense_copy(kind, centred, weighted, little, monkeypatch):
    if not little:  # the ways that large data take
        monkeypatch.setattr(elastic_net, "_FEW_STORED", 1)
        monkeypatch.setattr(elastic_net, "_LITTLE_WORK", 1)
        monkeypatch.setattr(elastic_net, "_BLOCK", 64)
    X, means, s, rng = numbers()
    given = sparse.csc_array(X) if kind == "csc" else np.asarray(X, order=kind)
    design = Design(given, means if centred else None, s if weighted else None)
    Z = (X - means if centred else X) * (np.sqrt(s)[:, None] if weighted else 1.0)
    assert design.shape == (N, P)
    np.testing.assert_allclose(design.dense(), Z, atol=1e-12)
    for w in (rng.normal(size=P), np.eye(P)[2], np.zeros(P)):
        np.testing.assert_allclose(design.dot(w), Z @ w, atol=1e-12)
    r = rng.normal(size=N)
    np.testing.assert_allclose(design.correlate(r), Z.T @ r, atol=1e-11)
    if centred:  # lengths count from means that are the columns' own
        own = np.average(X, axis=0, weights=s if weighted else None)
        design, Z = Design(given, own, design.weights), (X - own)
        Z = Z * np.sqrt(s)[:, None] if weighted else Z
    lengths = np.linalg.norm(Z, axis=0)
    assert (design.norms() >= lengths * (1 - 1e-15)).all()
    np.testing.assert_allclose(design.norms(), lengths, rtol=1e-10)
    some, others = np.array([4, 0, 7]), np.array([1, 8])
    np.testing.assert_allclose(design.gram(some, others), Z[:, some].T @ Z[:, others], atol=1e-11)
    np.testing.assert_allclose(design.gram(some, some), Z[:, some].T @ Z[:, some], atol=1e-11)
    everything = np.arange(P)
    np.testing.assert_allclose(design.gram(everything, everything), Z.T @ Z, atol=1e-11)
    if kind != "csc":
        part = design.part(slice(3, 20), some)
        np.testing.assert_allclose(part, Z[3:20, some], atol=1e-12)


def test_a_centred_design_leaves_the_data_alone():
    X, means, _, _ = numbers()
    before = X.copy()
    for design in (Design(X, means), Design(np.asfortranarray(X), means)):
        design.dense()
        design.part(slice(None), np.array([1, 2]))
        design.gram(np.arange(P), np.arange(P))
    assert (before == X).all()


PENALTIES = [(0.0, 0.0), (1.5, 0.0), (0.0, 2.0), (1.5, 2.0), (1e4, 0.0), (1.5, 0.25)]


def by_loops(X, y, w, l1, l2, positive):
    """Return the numbers of the problem by the formulas of its docstring."""
    n, p = X.shape
    r = [y[i] - sum(X[i, j] * w[j] for j in range(p)) for i in range(n)]
    c = [sum(X[i, j] * r[i] for i in range(n)) for j in range(p)]
    primal = sum(z * z for z in r) / 2 + l1 * sum(map(abs, w)) + l2 * sum(z * z for z in w) / 2

    def size(z):
        return z if positive else abs(z)

    def dual(s):
        value = (
            s * sum(a * b for a, b in zip(y, r, strict=True)) - s * s * sum(z * z for z in r) / 2
        )
        return value - sum(max(0.0, size(s * z) - l1) ** 2 for z in c) / (2 * l2) if l2 else value

    worst = max([0.0, *(size(c[j] - l2 * w[j]) for j in range(p))])
    inside = 1.0 if worst <= l1 else l1 / worst
    shares = [1.0] if not (l1 or l2) else [inside, 1.0] if l2 else [inside]
    slopes = [c[j] - l2 * w[j] for j in range(p)]
    broken = [
        abs(z - l1 * math.copysign(1, v)) if v else max(0.0, size(z) - l1)
        for z, v in zip(slopes, w, strict=True)
    ]
    if positive:
        broken = [
            abs(z - l1) if v > 0 else max(z - l1, 0.0) for z, v in zip(slopes, w, strict=True)
        ]
    slack = max(abs(l1 - abs(z)) * abs(v) for z, v in zip(slopes, w, strict=True))
    outside = max([0.0, *map(size, c)]) if not (l1 or l2) else 0.0
    return primal, max(map(dual, shares)), broken, slack, outside, max(shares, key=dual)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize(("l1", "l2"), PENALTIES)
def test_values_by_loops(l1, l2, positive):
    X, _, _, rng = numbers()
    y, w = rng.normal(size=N), rng.normal(size=P) * (np.arange(P) % 3 > 0)
    problem = LassoProblem(y, l1, l2, positive)
    found = problem.evaluate(Design(X), w)
    primal, dual, broken, slack, outside, share = by_loops(X, y, w, l1, l2, positive)
    assert found.bounds.primal == pytest.approx(primal)
    assert found.bounds.dual == pytest.approx(dual)
    assert found.bounds.gap == pytest.approx(primal - dual)
    assert found.scale == pytest.approx(share)
    np.testing.assert_allclose(found.slopes, share * found.c)
    np.testing.assert_allclose(problem.violations(w, found.c), broken, atol=1e-9)
    judged = problem.certify(found, FeatureGram.of_rows(X))
    assert judged.stationarity == pytest.approx(max(broken))
    assert judged.complementarity == pytest.approx(slack)
    assert judged.dual_feasibility == pytest.approx(outside)
    assert judged.primal_feasibility == (pytest.approx(-w.min()) if positive else 0.0)
    other = problem.with_penalty(0.5).again(found)
    assert other.bounds.primal == pytest.approx(by_loops(X, y, w, 0.5, l2, positive)[0])
    assert problem.with_penalty(0.5, 3.0).l2 == 3.0
    zero = problem.evaluate(Design(X), np.zeros(P))
    assert zero.bounds.primal == pytest.approx(y @ y / 2)
    assert problem.yy == pytest.approx(y @ y)


@pytest.mark.parametrize("block", [1, 200, 10**6])
def test_blocks_of_rows_add_up(block, monkeypatch):
    """Inner products of some centred and weighted columns, however few rows are taken at once."""
    monkeypatch.setattr("mercer.problems.elastic_net._BLOCK", block)
    rng = np.random.default_rng(3)
    X, w = rng.normal(size=(150, 4)), rng.uniform(0.5, 2, 150)
    means = w @ X / w.sum()
    Z = np.sqrt(w)[:, None] * (X - means)
    rows, columns = np.array([0, 2]), np.array([1, 2, 3])
    found = Design(X, means, w).gram(rows, columns)
    np.testing.assert_allclose(found, Z[:, rows].T @ Z[:, columns], atol=1e-10)


def test_squares_of_targets_may_be_given():
    y = np.array([3.0, 4.0])
    assert LassoProblem(y, 1.0).yy == 25.0
    assert LassoProblem(y, 1.0, yy=0.0).yy == 0.0


def test_memory_for_a_dense_copy(monkeypatch):
    X = sparse.csc_array(np.eye(4)[:, :3])
    for spare, fits in ((0, True), (-1, False)):
        there = 8 * 4 * 3 + spare
        monkeypatch.setattr("mercer._memory.available_bytes", lambda there=there: there)
        if fits:
            np.testing.assert_array_equal(Design(X).dense(), np.eye(4)[:, :3])
        else:
            with pytest.raises(NotEnoughMemory, match="4 × 3 data"):
                Design(X).dense()


def test_sparse_columns_are_given_as_they_are():
    X = sparse.csc_array(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]))
    means = np.array([0.5, -0.5])
    data, indices, starts, none = Design(X).columns()
    assert (data.tolist(), indices.tolist()) == ([1.0, 3.0, 2.0], [0, 2, 1])
    assert starts.tolist() == [0, 2, 3]
    assert not len(none)
    assert Design(X, means).columns()[3] is means


def test_names():
    y = np.ones(2)
    names = [LassoProblem(y, l1, l2).name for l1, l2 in PENALTIES[:4]]
    assert names == ["least squares", "lasso", "ridge", "elastic net"]
    little = [LassoProblem(y, l1, l2).name for l1, l2 in ((0, 0), (0.1, 0), (0, 0.1), (0.1, 0.1))]
    assert little == names
    assert LassoProblem(y, 1.0, positive=True).name == "lasso, weights ≥ 0"


def test_columns_are_left_out_by_the_sphere_around_the_dual_point():
    X, _, _, rng = numbers()
    y = rng.normal(size=N)
    for positive in (False, True):
        problem = LassoProblem(y, 6.0, 0.0, positive)
        at = problem.evaluate(Design(X), np.zeros(P))
        lengths, radius = np.linalg.norm(X, axis=0), math.sqrt(2 * at.bounds.gap)
        slopes = at.scale * at.c if positive else np.abs(at.scale * at.c)
        expected = slopes + lengths * radius < 6.0
        assert (problem.screened(at, lengths) == expected).all()
        assert (problem.screened(at, np.zeros(P)) == (slopes < 6.0)).all()


def test_the_better_of_two_dual_points_stays():
    X, _, _, rng = numbers()
    problem = LassoProblem(rng.normal(size=N), 2.0)
    here, there = (problem.evaluate(Design(X), w) for w in (np.zeros(P), np.full(P, 0.3)))
    best = max(here.bounds.dual, there.bounds.dual)
    for one, other in ((here, there), (there, here), (here, here)):
        joined = one.proved_by(other)
        assert joined.bounds == Bounds(one.bounds.primal, max(one.bounds.dual, other.bounds.dual))
        assert joined.bounds.dual <= best
    assert here.proved_by(here) is here


def test_what_is_optimal():
    y = np.array([3.0, 4.0])
    problem = LassoProblem(y, 1.0)
    at = problem.evaluate(Design(np.eye(2)), np.array([2.0, 3.0]))  # shrunk by λ: the optimum
    assert at.bounds == Bounds(6.0, 6.0)
    assert problem.rounding == 25e-14
    assert problem.target(at, 1e-3) == 6e-3
    assert problem.target(at, 1e-20) == problem.rounding
    off = problem.evaluate(Design(np.eye(2)), np.array([2.0, 3.1]))
    share = off.bounds.gap / off.bounds.primal
    assert problem.optimal(off, 1.01 * share)
    assert not problem.optimal(off, 0.99 * share)
    given = LassoProblem(y, 1.0, yy=7.0)
    assert given.yy == 7.0


def test_other_units():
    there = Certificate("a", 4.0, 3.0, 0.5, 0.25, 0.125, 2.0, 7, rounding=1e-3)
    here = in_units(there, 2.0)
    assert (here.primal, here.dual, here.stationarity, here.rounding) == (8.0, 6.0, 1.0, 2e-3)
    assert (here.dual_feasibility, here.complementarity) == (0.25, 4.0)
    assert (here.primal_feasibility, here.iterations) == (0.25, 7)
    assert in_units(Certificate("a", 4.0, 3.0, 0.5), 2.0).rounding is None


# ---- with bounds of the rounding ----------------------------------------------------------------


def test_proofs_have_the_values_of_the_problem():
    X, _, s, rng = numbers()
    y, w = rng.normal(size=N), rng.normal(size=P) * (np.arange(P) % 3 > 0)
    root = np.sqrt(s)
    for positive in (False, True):
        v = np.abs(w) if positive else w
        for l1, l2 in PENALTIES[1:]:
            problem = LassoProblem(root * y, l1, l2, positive, weights=s)
            found = prove_squares(problem, DesignProducts(X), y, v, None)
            truth = by_loops(root[:, None] * X, root * y, v, l1, l2, positive)
            assert found.primal == pytest.approx(truth[0])
            assert found.dual == pytest.approx(truth[1], rel=1e-9)
            assert found.stationarity == pytest.approx(max(truth[2]))
            assert found.complementarity == pytest.approx(truth[3])
            assert 0 < found.rounding < 1e-9 * (abs(found.primal) + abs(found.dual))
    outside = prove_squares(
        LassoProblem(y, 1.0, positive=True), DesignProducts(X), y, np.full(P, -0.5), None
    )
    assert outside.primal == math.inf
    assert outside.primal_feasibility == 0.5


def test_a_free_constant_asks_for_multipliers_that_add_up_to_0():
    y, s = np.array([1.0, 2.0, 9.0, 4.0]), np.array([1.0, 2.0, 1.0, 0.5])
    X, w = np.array([[1.0], [-1.0], [1.0], [0.0]]), np.array([0.25])
    b = 3.0
    r = y - 0.25 * X[:, 0] - b
    problem = LassoProblem(y, 0.5, 2.0, weights=s)
    found = prove_squares(
        problem, DesignProducts(X), y, w, Bounded(np.array(b), np.array(0.0), np.array(b))
    )
    assert found.primal == pytest.approx((s * r * r).sum() / 2 + 0.125 + 2.0 / 32)
    nu = s * r - s * (s * r).sum() / s.sum()
    c = X[:, 0] @ nu
    shares = [1.0, min(1.0, 0.5 / abs(c - 0.5))]
    duals = [
        t * y @ nu - t * t * (nu * nu / s).sum() / 2 - max(0.0, abs(t * c) - 0.5) ** 2 / 4
        for t in shares
    ]
    assert found.dual == pytest.approx(max(duals))


FAR = 1e8


@pytest.mark.parametrize(("l1", "l2"), [(1e9, 0.0), (1e9, 4.0)])
def test_rounding_of_large_products_is_in_the_interval(l1, l2):
    y, s = np.array([1e4, 3e4, -2e4]), np.array([1.0, 2.0, 1.0])
    X, w = FAR * np.array([[1.0, -1.0]] * 3), np.array([FAR, FAR])
    problem = LassoProblem(y, l1, l2, weights=s)
    constant = Bounded(np.array(8.0), np.array(0.5), np.array(8.0))
    found = prove_squares(problem, DesignProducts(X), y, w, constant)
    off = [18 * U * 2 * FAR * FAR + 4 * U * abs(z) + 0.5 + 32 * U for z in y]
    r = y - 8.0
    above = sum(a * (abs(z) * o + o * o / 2) for a, z, o in zip(s, r, off, strict=True))
    penalties = l1 * 2 * FAR + l2 * FAR * FAR
    above += 18 * U * penalties
    assert found.rounding == pytest.approx(above, rel=1e-6, abs=0)


@pytest.mark.parametrize(
    ("l1", "l2", "size"),
    [(100.0, 0.0, 1.0), (0.5, 2.0, 1.0), (0.5, 0.25, 1.0), (0.5, 0.0, 1.0), (1e-9, 4.0, 2.0**-20)],
)
def test_rounding_of_the_dual_value_by_hand(l1, l2, size):
    """One column of ones, weights 0: all sums are of powers of two, so that bounds are exact."""
    y, s = size * np.array([4.0, 2.0, -8.0, 2.0]), np.ones(4)
    problem = LassoProblem(y, l1, l2, weights=s)
    found = prove_squares(problem, DesignProducts(np.eye(4)), y, np.zeros(4), None)
    squares, worst = (y * y).sum(), np.abs(y).max()
    reach = 20 * U * np.abs(y) + 4 * U * l1
    inside = 1.0 if worst <= l1 else l1 / worst
    duals = {}
    for t in (inside, 1.0) if l2 else (inside,):
        value, below = t * squares - t * t * squares / 2, (t + t * t / 2) * 20 * U * squares
        if l2:
            excess = np.maximum(t * np.abs(y) - l1, 0) ** 2
            value -= excess.sum() / (2 * l2)
            grown = 2 * np.sqrt(excess) * t * reach
            below += (grown.sum() + 20 * U * excess.sum()) / (2 * l2)
        duals[value] = below + 16 * U * abs(value)
    above = (y * y * 4 * U).sum() + 20 * U * squares
    assert found.dual == pytest.approx(max(duals), rel=1e-12)
    assert found.rounding == pytest.approx(max(above, duals[max(duals)]), rel=0.02, abs=0)
    smaller = np.array([1e-3, 0.0, 0.0, 0.0])  # rounding of the dual value alone
    assert prove_squares(problem, DesignProducts(np.eye(4)), y, smaller, None).rounding > 0


def test_least_squares_pays_for_what_the_multipliers_lack():
    X, y = np.array([[1.0], [1.0], [2.0]]), np.array([1.0, 3.0, 1.0])
    problem = LassoProblem(y, 0.0)
    best = prove_squares(problem, DesignProducts(X), y, np.array([1.0]), None)
    assert best.dual == pytest.approx(best.primal)
    assert best.dual <= 2.5 <= best.upper
    assert best.dual_feasibility == 0.0
    far = prove_squares(problem, DesignProducts(X), y, np.array([0.5]), None)
    assert far.dual == 0.0  # Xᵀν = 3 is no rounding
    assert far.dual_feasibility == pytest.approx(3.0)
    assert far.primal == pytest.approx((0.25 + 6.25) / 2)
    near = prove_squares(problem, DesignProducts(X), y, np.array([1.0 - 2.0**-30]), None)
    lack = 2 * 6 * 2.0**-30 * 1.0
    truth = by_loops(X, y, [1.0 - 2.0**-30], 0.0, 0.0, False)[1]
    assert truth - near.dual == pytest.approx(lack, rel=1e-3)
