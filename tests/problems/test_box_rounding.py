"""What rounding and broken constraints do to the interval of a box QP, by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest

from mercer.problems import qp
from mercer.problems.curvature import Curvature
from mercer.problems.products import BoundedProduct
from mercer.problems.unbiased import unbiased_classifier
from tests.problems.digits import COARSE, set_unit

U = 2.0**-52
SURE = Curvature()


def two(C=8.0):
    return qp.classifier(np.array([1.0, -1.0]), np.full(2, C))


def product(f, errors, shift=0.0, roots=(1.0, 1.0)):
    return BoundedProduct(
        np.array(f),
        np.array(errors),
        np.array(roots),
        Curvature("proven", shift) if shift else SURE,
    )


def test_errors_of_products_move_both_values():
    problem, beta = two(), np.array([2.0, -2.0])
    found = problem.prove(beta, product([0.5, -0.25], [0.25, 0.5]), np.array([0.125]))
    # Residuals 1 − 0.5 − 0.125 and −1 + 0.25 − 0.125, each of which may cost 8 times its error.
    assert found.primal == (2 * 0.75) / 2 + 8 * 0.375 + 8 * 0.875
    assert found.dual == 4 - 0.75
    squares = 2 * (0.25 + 0.5)
    assert found.rounding == pytest.approx(squares / 2 + 8 * 0.75, rel=1e-12, abs=0)
    flat = problem.prove(beta, product([0.5, -0.25], [0.0, 0.0]), np.array([0.125]))
    squares = (2 + 4) * U * 1.5
    off = 4 * U * ((1 + 0.5 + 0.125) + (1 + 0.25 + 0.125))
    assert flat.rounding == pytest.approx(squares / 2 + 8 * off + 6 * U * 10.0, rel=1e-9, abs=0)


def test_sums_that_are_not_0_weigh_with_their_biases():
    problem = qp.one_class(np.full(4, 2.0), 0.5)  # the sum is 4
    beta = np.array([2.0, 2.0, 0.0, 0.0])
    found = problem.prove(beta, product([1.0] * 4, [0.0] * 4, roots=(1.0,) * 4), np.array([-1.0]))
    assert found.primal == 2.0 - 4.0
    assert found.dual == -2.0
    squares, off = (4 + 4) * U * 4.0, 4 * U * 2.0
    above = squares / 2 + 2 * 4 * off + 8 * U * 4.0
    assert found.rounding == pytest.approx(above, rel=1e-9, abs=0)


def test_multipliers_that_rounding_took_out_are_moved_back():
    problem = two()
    for off in (2.0**-30, -(2.0**-30)):
        beta = np.array([2.0 + off, -2.0])
        seen = product([0.5, -0.25], [0.0, 0.0], roots=(3.0, 1.0))
        found = problem.prove(beta, seen, np.array([0.0]))
        inside = problem.feasible(beta)
        change = inside - beta
        assert inside.sum() == 0.0
        square = (np.abs(change) @ [3.0, 1.0]) ** 2
        quadratic = beta @ [0.5, -0.25]
        dual = beta @ [1.0, -1.0] - quadratic / 2 + change @ [0.5, -0.75] - square / 2
        assert found.dual == pytest.approx(dual, rel=1e-15)
        assert found.dual_feasibility == pytest.approx(abs(off), rel=1e-6)
    far = problem.prove(np.array([2.5, -2.0]), seen, np.array([0.0]))
    assert far.dual == -math.inf


@pytest.mark.parametrize("kind", ["one sum", "no sum"])
def test_how_far_out_multipliers_may_be(kind):
    """By 1e-6, or by 1e-6 of what there is; the same to the last digit is not too far."""
    signs, C = np.array([1.0, 1.0, -1.0]), np.full(3, 8.0)
    problem = (qp.classifier if kind == "one sum" else unbiased_classifier)(signs, C)
    f = np.zeros(3)
    for beta in (np.array([-1e-6, 1e-6, 0.0]), np.array([-4e-6, 2.0, -(2.0 - 4e-6)])):
        out = -beta[0]
        assert out == 1e-6 or out == 1e-6 * np.abs(beta).sum()
        found = problem.judge(beta, f)
        assert found.dual_feasibility == out
        assert found.dual == pytest.approx(signs @ beta, abs=1e-15)
        beta[0] *= 1 + 1e-9
        assert problem.judge(beta, f).dual == -math.inf


def test_what_moves_pay_for_uncertain_slopes():
    """A box of width 0 has no price of its own, so that only the dual value is uncertain."""
    problem = qp.BoxQP(
        "still", np.array([4.0, 2.0]), np.zeros(2), np.full(2, 1e-3), np.zeros(2),
        np.arange(2), np.zeros(2, np.uint8),
    )  # fmt: skip
    beta = np.array([2.0**-22, 0.0])  # the sum has to be 0
    found = problem.prove(beta, product([0.0, 0.0], [0.5, 0.5]), np.array([0.0]))
    change = 2.0**-22
    below = change * 0.5 / 2 + change * 0.5
    above = change * 0.5 / 2 + 1e-3 * (0.5 + 0.5)
    assert found.rounding == pytest.approx(max(above, below), rel=1e-6, abs=0)


def test_a_shift_counts_with_the_width_of_the_box():
    problem, beta = two(), np.array([2.0, -2.0])
    flat = problem.prove(beta, product([0.5, -0.25], [0.0, 0.0]), np.array([0.0]))
    bent = problem.prove(beta, product([0.5, -0.25], [0.0, 0.0], shift=2.0**-20), np.array([0.0]))
    # The farthest point of the box from (2, −2) in [0, 8] × [−8, 0].
    assert bent.rounding - flat.rounding == pytest.approx(2.0**-21 * (36 + 36), rel=1e-6, abs=0)
    tube = qp.regressor(np.array([1.0]), np.array([4.0]), 0.5)  # both variables on one row
    beta = np.array([1.0, -1.0])
    none = BoundedProduct(np.zeros(1), np.zeros(1), np.ones(1), SURE)
    some = BoundedProduct(np.zeros(1), np.zeros(1), np.ones(1), Curvature("proven", 0.5))
    rise = tube.prove(beta, some).rounding - tube.prove(beta, none).rounding
    assert rise == pytest.approx(0.25 * 16)


def test_hard_margins_cost_what_a_larger_function_costs():
    problem = two(math.inf)
    beta = np.array([0.25, -0.25])
    for error in (0.0, 0.125):
        seen = product([0.5, -0.5], [error, error])
        found = problem.prove(beta, seen, np.array([0.0]))
        # The margins are ½: f / (1 − ½ − error) keeps all.
        assert found.primal == pytest.approx(0.25 / 2 / (0.5 - error) ** 2, rel=1e-9)
    assert problem.prove(beta, product([-0.5, 0.5], [0.0, 0.0]), np.array([0.0])).primal == math.inf
    mixed = replace(problem, p=np.array([1.0, -2.0]))  # no margins of 1: nothing is known
    residual, off = np.array([0.5, -0.5]), np.zeros(2)
    assert problem._hardness(residual, off, 2.0) == pytest.approx(3.0)
    assert mixed._hardness(residual, off, 2.0) == 0.0
    # One side alone: the other has a margin of 4.
    for f, error in (([0.5, -4.0], [0.125, 0.25]), ([4.0, -0.5], [0.25, 0.125])):
        found = problem.prove(beta, product(f, error), np.array([0.0]))
        assert found.primal == pytest.approx(0.25 * 4.5 / 2 / (0.5 - 0.125) ** 2, rel=1e-9)


def test_numbers_that_are_none_bound_nothing():
    problem = two()
    found = problem.prove(np.array([np.nan, 0.0]), product([0.0, 0.0], [0.0, 0.0]))
    assert not found.bounds
    seen = product([np.inf, 0.0], [np.inf, 0.0])
    wide = problem.prove(np.array([2.0, -2.0]), seen, np.zeros(1))
    assert not wide.bounds


def test_what_is_left_of_sums_is_paid():
    problem = qp.one_class(np.ones(3), 0.5)
    third = np.full(3, 0.5)
    third[0] += 2.0**-50  # the sum is 1.5 + 2⁻⁵⁰, which no move of these numbers mends
    left = problem._drift(third, np.array([3.0, -7.0, 1.0]))
    assert left == 7 * 2.0**-50
    assert problem._drift(third, np.array([0.25, -0.125, 0.0])) == 2.0**-52
    assert problem._drift(np.array([np.inf, 0.0, 0.0]), np.zeros(3)) == math.inf


@pytest.mark.parametrize("kind", ["classes", "tubes"])
def test_groups_of_rows(kind):
    if kind == "classes":
        problem = qp.nu_classifier(np.array([1.0, -1.0, 1.0, -1.0]), np.ones(4), 0.5)
        assert problem.row_groups(4).tolist() == [0, 1, 0, 1]
        assert problem.sums.tolist() == [1.0, -1.0]
    else:
        problem = qp.nu_regressor(np.arange(3.0), np.ones(3), 0.5)
        assert problem.row_groups(3).tolist() == [0, 0, 0]
        np.testing.assert_allclose(problem.sums, [0.75, -0.75])
        assert problem.coefficients(np.arange(6.0), 3).tolist() == [3.0, 5.0, 7.0]
    assert qp.rounding_of_sums(np.array([1.0, -2.0]), 4.0) == 12 * U


def test_hulls_start_at_one_point_of_each_class():
    problem = qp.hulls(np.array([-1.0, -1.0, 1.0, 1.0]))
    assert problem.start.tolist() == [-1.0, 0.0, 1.0, 0.0]
    assert problem.lo.tolist() == [-1.0, -1.0, 0.0, 0.0]
    assert problem.hi.tolist() == [0.0, 0.0, 1.0, 1.0]
    assert problem.sums.tolist() == [1.0, -1.0]


def test_room_counts_finite_intervals():
    assert two(3.0).room == 6.0
    mixed = qp.classifier(np.array([1.0, -1.0]), np.array([math.inf, 2.0]))
    assert mixed.room == 2.0


def test_relative_gaps_of_variables():
    problem, beta, f = two(), np.array([2.0, -2.0]), np.array([0.5, -0.25])
    gap = problem.gap(beta, f)
    judged = problem.judge(beta, f)
    assert gap.gap == pytest.approx(judged.gap)
    assert gap.scale == max(judged.primal, judged.dual)
    assert problem.relative_gap(beta, f, 0.0) == pytest.approx(judged.gap / gap.scale)
    assert problem.relative_gap(beta, f, gap.gap / 16) == 0.0
    assert problem.relative_gap(beta, f, gap.gap / 17) > 0.0
    assert problem.gap(beta, f[::-1].copy(), np.array([1, 0])).gap == gap.gap
    bias = float(problem.biases(beta, f)[0])
    residual = np.array([1.0, -1.0]) - f - bias
    price = 8 * (max(residual[0], 0) + max(-residual[1], 0))
    assert gap.terms == pytest.approx(price + 4 + 1.5)
    single = qp.one_class(np.full(4, 2.0), 0.5)  # the sum 4 weighs with its bias
    beta, f = np.array([2.0, 1.0, 1.0, 0.0]), np.array([3.0, 1.0, 1.0, 2.0])
    [bias] = single.biases(beta, f)
    losses = 2 * np.maximum(-f - bias, 0).sum()
    assert single.gap(beta, f).terms == pytest.approx(losses + beta @ f + abs(4 * bias))
    assert qp.Gap(math.inf, math.inf, 1.0).relative() == math.inf
    hard = two(math.inf)
    assert hard.gap(np.array([0.25, -0.25]), np.array([0.5, -0.5])).gap == 0.0


def test_free_variables_take_up_what_a_sum_lacks_first():
    problem = qp.one_class(np.ones(4), 0.5)
    start = np.array([1.0, 0.5, 0.25, 0.0])  # lacks ¼, which the second has room for
    np.testing.assert_allclose(problem.feasible(start), [1.0, 0.75, 0.25, 0.0])
    start = np.array([1.0, 0.75, 0.75, 0.0])  # ½ too much
    np.testing.assert_allclose(problem.feasible(start), [1.0, 0.25, 0.75, 0.0])
    start = np.array([1.0, 0.0, 0.0, 0.0])  # none is free: the first with room
    np.testing.assert_allclose(problem.feasible(start), [1.0, 1.0, 0.0, 0.0])
    nearly = np.array([1.0 - 1e-14, 0.6, 0.4, 1e-14])
    assert problem.feasible(nearly)[[0, 3]].tolist() == [1.0, 0.0]
    assert problem.feasible(np.array([2.0, -1.0, 0.5, 0.5])).tolist() == [1.0, 0.0, 0.5, 0.5]
    for t in (2.0**-20, 2.0**20):  # near a bound is a matter of shares
        other = qp.one_class(np.full(4, t), 0.5)
        assert other.feasible(t * nearly)[[0, 3]].tolist() == [t, 0.0]
        apart = t * np.array([1.0 - 1e-12, 0.6, 0.4, 1e-12])
        assert other.feasible(apart)[[0, 3]].tolist() == apart[[0, 3]].tolist()


# ---- all parts at once, in coarse arithmetic -----------------------------------------------------


def by_loops(problem, beta, seen, biases, u):
    """Return the two bounds of rounding and the dual value, variable by variable."""
    count, m = len(seen.f), len(beta)
    rows, moved = np.zeros(count), np.zeros(count)
    change = problem.feasible(beta) - beta
    above = below = terms = price = linear = 0.0
    for i in range(m):
        row, bias = problem.row[i], biases[problem.group[i]]
        rows[row] += beta[i]
        moved[row] += change[i]
        p, f = problem.p[i], seen.f[row]
        off = seen.errors[row] + 4 * u * (abs(p) + abs(f) + abs(bias))
        above += max(abs(problem.lo[i]), abs(problem.hi[i])) * off
        rest = p - f - bias
        price += abs(rest * (problem.hi[i] if rest > 0 else problem.lo[i]))
        below += abs(change[i]) * off
        terms += abs(p * beta[i]) + abs((p - f) * change[i])
        linear += p * beta[i] + (p - f) * change[i]
    squares = np.abs(rows) @ seen.errors + (count + 4) * u * np.abs(rows * seen.f).sum()
    square = (np.abs(moved) @ seen.roots) ** 2
    constant = sum(abs(b * t) for b, t in zip(biases, problem.sums, strict=True))
    above += squares / 2 + (m + 4) * u * (price + constant)
    least, most = (problem.coefficients(end, count) for end in (problem.lo, problem.hi))
    far = np.maximum(rows - least, most - rows)
    above += seen.curvature.shift / 2 * (far @ far)
    below += squares / 2 + (m + 4) * u * (terms + square)
    return above, below, linear - rows @ seen.f / 2 - square / 2


BOXES = {
    "classes": lambda y, C: qp.classifier(np.sign(y), C),
    "tubes": lambda y, C: qp.regressor(y, C, 0.125),
    "one class": lambda y, C: qp.one_class(C, 0.4),
    "classes by ν": lambda y, C: qp.nu_classifier(np.sign(y), C, 0.4),
    "tubes by ν": lambda y, C: qp.nu_regressor(y, C, 0.4),
}


@pytest.mark.parametrize("shift", [0.0, 2.0**-12])
@pytest.mark.parametrize("error", [0.0, 2.0**-10])
@pytest.mark.parametrize("kind", BOXES)
def test_all_parts_of_the_bound(kind, error, shift, monkeypatch):
    set_unit(monkeypatch, COARSE)
    rng = np.random.default_rng(3)
    y, C = np.array([1.5, -1.0, 2.0, -0.5, -2.0, 1.0]), rng.uniform(0.5, 2.0, 6)
    problem = BOXES[kind](y, C)
    beta = problem.feasible(rng.normal(size=len(problem)))
    seen = product(rng.normal(size=6), error * rng.uniform(size=6), shift, rng.uniform(1, 2, 6))
    biases = np.array([0.25, -0.75])[: problem.groups]
    found = problem.prove(beta, seen, biases)
    above, below, dual = by_loops(problem, beta, seen, biases, COARSE)
    assert found.rounding == pytest.approx(max(above, below), rel=1e-9, abs=0)
    assert found.dual == pytest.approx(dual, rel=1e-12)


@pytest.mark.parametrize("spoilt", [0.0, 2.0**-22, -(2.0**-22)])
@pytest.mark.parametrize("error", [0.0, 2.0**-24])
def test_the_dual_value_is_the_uncertain_one(spoilt, error, monkeypatch):
    """All rows on their margins and all multipliers on their bounds: no loss, but long sums."""
    set_unit(monkeypatch, COARSE)
    signs = np.where(np.arange(12) % 2, -1.0, 1.0)
    problem = qp.classifier(signs, np.full(12, 2.0**-6))
    beta = signs * 2.0**-6
    beta[4] *= 1 + spoilt
    seen = product(signs, np.full(12, error), roots=np.full(12, 2.0**18))
    found = problem.prove(beta, seen, np.zeros(1))
    above, below, dual = by_loops(problem, beta, seen, np.zeros(1), COARSE)
    assert below > above
    assert found.rounding == pytest.approx(below, rel=1e-9, abs=0)
    assert found.dual == pytest.approx(dual, rel=1e-12)
