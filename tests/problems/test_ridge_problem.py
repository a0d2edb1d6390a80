"""Kernel ridge regression: every number of a certificate, and its rounding, by the formulas."""

import math
import sys

import numpy as np
import pytest

from mercer.gram.base import Definite
from mercer.gram.given import GivenGram
from mercer.problems.curvature import dense_curvature
from mercer.problems.ridge import RidgeFunctions, RidgeProblem
from tests.problems.digits import COARSE, FINE, set_unit

U = FINE


@pytest.fixture(autouse=True, params=[FINE, COARSE], ids=["fine", "coarse"])
def unit(request, monkeypatch):
    """Take each unit of rounding in turn, here and in the problems."""
    monkeypatch.setattr(sys.modules[__name__], "U", request.param)
    set_unit(monkeypatch, request.param)


N = 6


def data(seed=0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(N, N))
    return A @ A.T, rng.normal(size=(N, 1)) * 3, rng.normal(size=(N, 1)), rng.uniform(0.5, 2, N)


def errors_of(K, c):
    roots = np.sqrt(np.diag(K))
    return (np.count_nonzero(c) + 16) * U * roots * (roots @ np.abs(c)), roots


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("unused", [(), (2,)])
@pytest.mark.parametrize("alpha", [1e-3, 0.5, 40.0])
def test_penalised_by_the_formulas(alpha, unused, intercept):
    K, Y, C, w = data()
    w[list(unused)] = 0.0
    b = np.array([0.75 if intercept else 0.0])
    y, c = Y[:, 0], C[:, 0]
    problem = RidgeProblem(Y, np.array([alpha]), w, intercept)
    f = K @ c
    e = y - b - f
    square = c @ f
    used = w > 0
    per = np.where(used, c / np.where(used, w, 1.0), 0.0)
    plain = problem.certify(RidgeFunctions(C, b), GivenGram(K), (K @ C))
    assert plain.primal == pytest.approx((w @ e**2 + alpha * square) / 2)
    assert plain.dual == pytest.approx(alpha * (c @ (y - b) - square / 2 - alpha * (c @ per) / 2))
    assert plain.stationarity == pytest.approx(np.abs(np.where(used, e - alpha * per, 0.0)).max())
    broken = max([abs(c[i]) for i in unused] + ([abs(c.sum())] if intercept else [0.0]))
    assert plain.dual_feasibility == pytest.approx(broken)
    # The dual point: no coefficient where there is no weight, a sum of 0 where b is free.
    change = np.where(used, 0.0, -c)
    if intercept:
        change = change - (c + change).sum() * w / w.sum()
    moved = c + change
    errors, roots = errors_of(K, c)
    slopes = y - f - alpha * per
    path = slopes @ change - (np.abs(change) @ roots) ** 2 / 2
    bend = np.where(used, change**2 / np.where(used, w, 1.0), 0.0).sum()
    dual = alpha * (c @ y - square / 2 + path - alpha * bend / 2) - alpha**2 * (c @ per) / 2
    proved = problem.certify(RidgeFunctions(C, b), GivenGram(K, Definite.POSITIVE))
    assert proved.dual == pytest.approx(dual)
    exact = alpha * (moved @ y - moved @ K @ moved / 2)
    exact -= alpha**2 / 2 * sum(moved[i] ** 2 / w[i] for i in range(N) if used[i])
    assert proved.dual <= exact + 1e-9
    # And what rounding may have done to both values.
    few = (N + 8) * U
    off = errors + 4 * U * (np.abs(y) + abs(b[0]) + np.abs(f))
    squares = np.abs(c) @ errors + few * np.abs(c * f).sum()
    above = w @ (np.abs(e) * off + off**2 / 2) + few * (w @ e**2) + alpha * squares / 2
    terms = np.abs(c * y).sum() + alpha * np.abs(c * per).sum()
    below = alpha * (squares / 2 + few * (terms + (np.abs(change) @ roots) ** 2))
    below += alpha * (np.abs(change) @ (off + few * np.abs(slopes)))
    if intercept:
        below += alpha * abs(math.fsum((c + change).tolist())) * np.abs(slopes).max()
    assert proved.rounding == pytest.approx(max(above, below), rel=1e-6, abs=0)
    # A proof by a factor of the matrix adds what its shift may hide.
    shifted = problem.certify(RidgeFunctions(C, b), GivenGram(K, Definite.UNKNOWN))
    assert shifted.curvature == "proven"
    known = dense_curvature(K)
    extra = alpha * known.shift * (c @ c + w.max() * (w @ y**2) / alpha**2)
    assert 0.99 * extra < shifted.rounding < extra + 4 * proved.rounding


def test_errors_as_large_as_values():
    K, y = 1e16 * np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([[3.0], [-2.0]])
    w, b = np.array([1.0, 2.0]), np.array([0.5])
    problem = RidgeProblem(y, np.array([0.25]), w, True)
    c = np.array([[1.0], [1.0]])
    found = problem.certify(RidgeFunctions(c, b), GivenGram(K, Definite.POSITIVE))
    off = 18 * U * 1e8 * 2e8  # products are 0, but each of their terms is 10¹⁶
    errors = np.array([2.5, 2.5])
    above = w @ (errors * off + off**2 / 2) + 0.25 * 2 * off / 2
    assert found.rounding == pytest.approx(above, rel=1e-9, abs=0)


def test_the_dual_value_decides_where_the_fit_is_perfect():
    """With large multipliers and no errors only the rounding of the dual value is left."""
    y, c = np.array([[64.0], [32.0]]), np.array([[64.0], [32.0]])
    problem = RidgeProblem(y, np.array([1e-6]), np.full(2, 1e-9))
    found = problem.certify(RidgeFunctions(c, np.zeros(1)), GivenGram(np.eye(2), Definite.POSITIVE))
    errors = 18 * U * 96.0  # roots are 1
    squares = errors * 96 + 10 * U * (64**2 + 32**2)
    below = 1e-6 * (squares / 2 + 10 * U * (64**2 + 32**2) * (1 + 1e3))
    assert found.rounding == pytest.approx(below, rel=1e-9, abs=0)


@pytest.mark.parametrize("share", [0.0, 1e-9, 0.1])
def test_without_penalty_multipliers_pay_for_what_they_lack(share):
    # Rank one: f is a multiple of (1, 2, 2), and y = f + e with e orthogonal to it.
    v, e = np.array([1.0, 2.0, 2.0]), np.array([2.0, -2.0, 1.0])
    K, y = np.outer(v, v), (3 * v + e)[:, None]
    c = np.array([[3 * (1 + share)], [0.0], [0.0]])  # Kc = 3 v (1 + share)
    problem = RidgeProblem(y, np.zeros(1), np.ones(3))
    found = problem.certify(RidgeFunctions(c, np.zeros(1)), GivenGram(K, Definite.POSITIVE))
    errors = e - 3 * share * v
    shifted = problem.certify(RidgeFunctions(c, np.zeros(1)), GivenGram(K, Definite.UNKNOWN))
    assert shifted.curvature == "proven"
    assert math.isfinite(shifted.rounding)
    assert found.primal == pytest.approx(errors @ errors / 2)
    image = np.abs(K @ errors)
    assert found.stationarity == pytest.approx(image.max(), abs=1e-12)
    assert found.dual_feasibility == pytest.approx(image.max(), abs=1e-12)
    plain = errors @ y[:, 0] - errors @ errors / 2
    few = 11 * U
    size = v * (np.abs(errors) @ v)
    lack = np.maximum(image - few * size, 0.0)
    if share > 1e-6:
        assert found.dual == 0.0
    else:
        price = lack @ np.abs(c[:, 0])
        assert found.dual == pytest.approx(plain - price, rel=1e-12)
        assert found.lower <= 4.5 <= found.upper + 1e-15
    f = K @ c[:, 0]
    off = 17 * U * v * 3 * (1 + share) + 4 * U * (np.abs(y[:, 0]) + np.abs(f))
    above = np.abs(errors) @ off + off @ off / 2 + few * (errors @ errors)
    below = 2 * np.abs(errors) @ off + few * np.abs(errors * y[:, 0]).sum()
    below += (image + few * size - lack) @ np.abs(c[:, 0])
    assert found.rounding == pytest.approx(max(above, below), rel=1e-6, abs=0)


def test_without_penalty_what_is_lacked_is_a_share():
    """Small kernels with large coefficients are the same problem: 10 % is too much to pay for."""
    for t in (2.0**-10, 1.0, 2.0**10):
        v, e = t * np.array([1.0, 2.0, 2.0]), np.array([2.0, -2.0, 1.0])
        y = np.array([3.0, 6.0, 6.0]) + e
        problem = RidgeProblem(y[:, None], np.zeros(1), np.ones(3))
        gram = GivenGram(np.outer(v, v), Definite.POSITIVE)
        for share, bounded in ((0.1, False), (1e-9, True)):
            c = np.array([[3 * (1 + share) / t**2], [0.0], [0.0]])
            found = problem.certify(RidgeFunctions(c, np.zeros(1)), gram)
            assert (found.dual > 4.0) == bounded


def test_targets_with_and_without_penalty():
    """Each is judged as if it were alone: with its own price of what multipliers lack."""
    v, e = np.array([1.0, 2.0, 2.0]), np.array([2.0, -2.0, 1.0])
    gram, y = GivenGram(np.outer(v, v), Definite.POSITIVE), 3 * v + e
    c = np.array([3.5, 0.0, 0.0])
    alone = [
        RidgeProblem(y[:, None], np.array([alpha]), np.ones(3)).certify(
            RidgeFunctions(c[:, None], np.zeros(1)), gram
        )
        for alpha in (0.0, 2.0)
    ]
    both = RidgeProblem(np.column_stack([y, y]), np.array([0.0, 2.0]), np.ones(3))
    found = both.certify(RidgeFunctions(np.column_stack([c, c]), np.zeros(2)), gram)
    assert found.dual == pytest.approx(sum(part.dual for part in alone))
    assert alone[0].dual_feasibility == pytest.approx(9.0)  # Ku of u = e − ½v
    assert found.dual_feasibility == pytest.approx(9.0)


def test_several_targets_are_judged_apart():
    K, Y, C, w = data()
    two = RidgeProblem(np.hstack([Y, 2 * Y]), np.array([0.5, 3.0]), w)
    both = RidgeFunctions(np.hstack([C, -C]), np.zeros(2))
    gram = GivenGram(K, Definite.POSITIVE)
    whole = two.certify(both, gram)
    parts = [
        RidgeProblem(y, np.array([a]), w).certify(RidgeFunctions(c, np.zeros(1)), gram)
        for y, a, c in ((Y, 0.5, C), (2 * Y, 3.0, -C))
    ]
    assert whole.primal == pytest.approx(sum(part.primal for part in parts))
    assert whole.dual == pytest.approx(sum(part.dual for part in parts))
    assert whole.stationarity == pytest.approx(max(part.stationarity for part in parts))


def test_a_shift_of_the_matrix_is_in_the_interval():
    K = np.zeros((2, 2))
    K[0, 0] = 2.0**40
    y, c, w = np.array([[3.0], [4.0]]), np.array([[0.0], [0.5]]), np.array([1.0, 2.0])
    alpha = 0.25
    problem = RidgeProblem(y, np.array([alpha]), w)
    value = RidgeFunctions(c, np.zeros(1))
    sure = problem.certify(value, GivenGram(K, Definite.POSITIVE)).rounding
    found = problem.certify(value, GivenGram(K, Definite.UNKNOWN))
    shift = 2 * 4 * U * 2.0**40
    shift += 4 * U * (2.0**40 + 2 * shift)
    reach = 0.25 + 2.0 * (9 + 2 * 16) / alpha**2
    assert found.rounding - sure == pytest.approx(alpha * shift * reach, rel=0.01)


@pytest.mark.parametrize("size", [2.0**-10, 1.0, 2.0**10])
def test_how_long_the_best_coefficients_may_be(size):
    """‖c‖ ≤ √(max w Σ wy²)/λ, as c = w(y − f)/λ and f = 0 has no smaller errors."""
    w, y = size * np.array([0.5, 2.0, 1.0]), np.array([1.0, -2.0, 3.0])
    problem = RidgeProblem(y[:, None], np.array([0.25]), w)
    assert problem._reach(0.25, y) == pytest.approx(2 * size * size * (0.5 + 8 + 9) / 0.0625)
    assert problem._reach(0.0, y) == 0.0
