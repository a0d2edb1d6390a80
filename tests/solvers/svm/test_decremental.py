"""Machines without one of their rows: each solved anew by working sets on the other rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.gram.given import GivenGram
from mercer.problems import qp
from mercer.problems.qp import BoxQP
from mercer.solvers.base import Budget
from mercer.solvers.svm import decremental
from mercer.solvers.svm.decremental import can_leave_out, is_semidefinite, leave_out_each
from mercer.solvers.svm.forced_moves import ForcedMoves
from mercer.solvers.svm.smo import SMO


def table(n=26):
    random = np.random.default_rng(1)
    X = random.normal(size=(n, 2))
    v = X[:, 0] + 0.7 * random.normal(size=n)
    return np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2)) + 0.01 * np.eye(n), v


def optimum(problem, K):
    return SMO().solve(problem, GivenGram(K), Budget(tol=1e-10)).value


def without(problem, K, row):
    """Return the value at a row of the machine that never saw it."""
    kept, rest = problem.row != row, np.delete(np.arange(len(K)), row)
    less = BoxQP(
        "less", problem.p[kept], problem.lo[kept], problem.hi[kept], problem.start[kept],
        np.searchsorted(rest, problem.row[kept]), problem.group[kept], problem.groups,
    )  # fmt: skip
    inside = K[np.ix_(rest, rest)]
    beta = optimum(less, inside)
    c = less.coefficients(beta, len(rest))
    return K[row, rest] @ c + less.biases(beta, inside @ c)[0]


@pytest.mark.parametrize("kind", ["classes", "tube"])
@pytest.mark.parametrize("C", [0.3, 5.0])
def test_values_are_those_of_machines_without_the_row(kind, C):
    K, v = table()
    n = len(K)
    every = np.full(n, C)
    problem = qp.classifier(np.sign(v), every) if kind == "classes" else qp.regressor(v, every, 0.2)
    beta = optimum(problem, K)
    tol = 1e-8
    found = leave_out_each(problem, K, np.arange(n), beta, tol, 1)
    expected = np.array([without(problem, K, row) for row in range(n)])
    # Where few multipliers are free a bias is known in an interval alone.
    width = found.high - found.low
    assert (np.abs(found.values - expected) <= width + 1e-6).all()
    assert (found.low <= expected + 1e-6).all()
    assert (expected - 1e-6 <= found.high).all()
    assert (found.low <= found.values).all()
    assert (found.values <= found.high).all()
    assert np.median(width) < (0.05 if C < 1 else 1e-3)
    assert (found.gaps >= -1e-9).all()
    assert (found.gaps < 1e-6).all()
    rough = leave_out_each(problem, K, np.arange(n), np.zeros(len(problem)), tol, 2)
    assert (np.abs(rough.values - expected) <= rough.high - rough.low + 1e-6).all()
    idle = np.flatnonzero(problem.coefficients(np.abs(beta), n) == 0)
    assert not found.steps[idle].any()


def test_rows_outside_have_the_value_of_the_machine_itself():
    K, v = table()
    rows = np.arange(0, 26, 2)
    inside = K[np.ix_(rows, rows)]
    problem = qp.classifier(np.sign(v[rows]), np.ones(13))
    beta = optimum(problem, inside)
    found = leave_out_each(problem, K, rows, beta, 1e-8, 1)
    f = K[:, rows] @ beta
    outside = np.setdiff1d(np.arange(26), rows)
    bias = problem.biases(beta, f[rows])[0]
    assert_allclose(found.values[outside], f[outside] + bias, atol=1e-6)
    assert_array_equal(found.steps[outside], 0)
    assert (found.low[outside] <= f[outside] + bias + 1e-9).all()
    assert (found.high[outside] >= f[outside] + bias - 1e-9).all()
    # ‖w − w*‖² is at most the gap, and ∣f(x) − f*(x)∣ at most ‖w − w*‖ √k(x, x).
    loose = leave_out_each(problem, K, rows, np.zeros(13), 0.5, 1)
    apart = (loose.high - loose.low)[outside] / 2
    assert (loose.low[outside] <= f[outside] + bias + 1e-6).all()
    assert (loose.high[outside] >= f[outside] + bias - 1e-6).all()
    # A bias that is known in an interval adds its width to that of f.
    assert (apart >= np.sqrt(np.maximum(loose.gaps[outside], 0) * np.diagonal(K)[outside]) - 1e-9).all()  # fmt: skip  # noqa: E501
    assert (loose.gaps[outside] == loose.gaps[outside][0]).all()
    alone = leave_out_each(problem, inside, np.arange(13), beta, 1e-8, 1)
    assert_allclose(found.values[rows], alone.values, atol=1e-9)


def test_which_problems_can_be_left_a_row():
    signs = np.array([1.0, -1.0, 1.0, -1.0])
    assert can_leave_out(qp.classifier(signs, np.ones(4)))
    assert can_leave_out(qp.regressor(signs, np.ones(4), 0.1))
    assert not can_leave_out(qp.one_class(np.ones(4), 0.5))  # its sum is not 0
    assert not can_leave_out(qp.nu_classifier(signs, np.ones(4), 0.5))
    assert not can_leave_out(qp.classifier(signs, np.array([1.0, 1.0, np.inf, 1.0])))
    assert not can_leave_out(qp.classifier(signs, np.array([1.0, np.inf, 1.0, 1.0])))


def test_definiteness_up_to_rounding():
    assert is_semidefinite(np.diag([1.0, 0.0]))
    assert is_semidefinite(np.diag([1.0, -0.9e-10]))
    assert not is_semidefinite(np.diag([1.0, -1.1e-10]))
    assert is_semidefinite(np.diag([1e3, -0.9e-7]))
    assert not is_semidefinite(np.diag([1e3, -1.1e-7]))
    assert is_semidefinite(np.ones((3, 3)))
    assert not is_semidefinite(np.array([[1.0, 2.0], [2.0, 1.0]]))


def test_starts_without_a_row():
    K, v = table()
    problem = qp.classifier(np.sign(v), np.full(26, 5.0))
    beta = optimum(problem, K)
    F = problem.p - K @ beta
    moves = ForcedMoves.of(problem, K, beta, F)
    used = int(np.flatnonzero((beta != problem.lo) & (beta != problem.hi))[0])
    plain = beta.copy()
    plain[used] = 0.0
    assert_allclose(decremental._start(problem, beta, None, used), plain)
    for row in np.flatnonzero(beta).tolist():
        found = moves.without(row)
        wanted = np.where(np.arange(26) == row, 0.0, beta) if found is None else found
        assert_array_equal(decremental._start(problem, beta, moves, row), wanted)
    idle = int(np.flatnonzero(beta == 0)[0])
    assert_array_equal(decremental._start(problem, beta, moves, idle), beta)


@pytest.mark.parametrize("answered", [5, 6])
def test_forced_moves_are_trusted_where_half_of_the_probes_are_answered(answered, monkeypatch):
    K, v = table()
    problem = qp.classifier(np.sign(v), np.full(26, 1.0))
    beta = optimum(problem, K)
    support = np.flatnonzero(beta)
    assert len(support) > decremental.PROBES == 12
    asked = []

    class Some:
        def without(self, row):
            asked.append(row)
            return beta if len(asked) <= answered else None

    some = Some()
    monkeypatch.setattr(decremental.ForcedMoves, "of", lambda *_: some)
    found = decremental._moves(problem, K, beta, problem.p - K @ beta)
    assert found is (some if answered == 6 else None)
    assert len(asked) == 12
    assert set(asked) <= set(support.tolist())
    assert {asked[0], asked[-1]} == {support[0], support[-1]}
    few = np.where(np.isin(np.arange(26), support[:12]), beta, 0.0)
    assert decremental._moves(problem, K, few, problem.p - K @ few) is some
    assert len(asked) == 12  # so few are not probed
    monkeypatch.setattr(decremental.ForcedMoves, "of", lambda *_: None)
    assert decremental._moves(problem, K, beta, problem.p) is None
