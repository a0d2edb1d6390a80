"""The box QP: its mathematics against an independent solver, and what a certificate proves."""

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mercer import Certificate
from mercer.gram.given import GivenGram
from mercer.landmarks.landmark_gram import landmark_cost
from mercer.problems import qp
from mercer.solvers.base import Budget
from mercer.solvers.svm.smo import SMO
from tests.problems.reference import KINDS, Case, optimum, random_case

kinds = st.sampled_from(KINDS)
seeds = st.integers(0, 10**6)


def solved(case, tol=1e-3, max_iter=200_000):
    return SMO().solve(case.problem, GivenGram(case.K), Budget(tol=tol, max_iter=max_iter))


def check_bracket(kind, seed):
    """Whatever the solver found, the optimum lies between its dual and its primal value."""
    case = random_case(kind, seed)
    low, high = optimum(case)
    solution = solved(case, tol=10.0 ** -(seed % 5))
    certificate = case.certify(solution.value)
    assert certificate.dual <= high
    assert certificate.primal >= low
    scale = np.abs(case.problem.start).sum() + np.abs(solution.value).sum()
    assert certificate.dual_feasibility <= 1e-12 * max(1, scale)
    if solution.status == "optimal":
        assert certificate.stationarity <= 10.0 ** -(seed % 5)
    return solution.status == "optimal"


@pytest.mark.parametrize("kind", KINDS)
def test_the_optimum_lies_in_the_gap(kind):
    done = [check_bracket(kind, seed) for seed in range(17)]
    assert np.mean(done) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_optimum_lies_in_the_gap_of_thousands(kind):
    done = [check_bracket(kind, seed) for seed in range(1000, 1334)]
    assert np.mean(done) > 0.95


@settings(max_examples=100)
@given(kinds, seeds)
def test_the_optimum_lies_in_the_gap_of_any_point(kind, seed):
    """Not the solver's answers alone: any feasible β with any biases brackets the optimum."""
    case = random_case(kind, seed, most=12)
    random = np.random.default_rng(seed)
    beta = case.move(case.problem.start, random)
    low, high = optimum(case)
    for biases in (None, random.normal(size=case.problem.groups) * 10):
        certificate = case.certify(beta, biases)
        assert certificate.dual <= high
        assert certificate.primal >= low


@settings(max_examples=100)
@given(kinds, seeds)
def test_the_gap_is_the_sum_of_room_times_residual(kind, seed):
    case = random_case(kind, seed)
    problem, random = case.problem, np.random.default_rng(seed)
    beta = case.move(problem.start, random, pairs=40)
    biases = random.normal(size=problem.groups)
    residual = problem.p - case.quadratic @ beta - biases[problem.group]
    above, below = np.maximum(residual, 0), np.maximum(-residual, 0)
    products = (problem.hi - beta) * above + (beta - problem.lo) * below
    certificate = case.certify(beta, biases)
    scale = abs(certificate.primal) + abs(certificate.dual) + float(products.sum())
    assert_allclose(certificate.gap, products.sum(), rtol=0, atol=1e-10 * scale)
    assert_allclose(certificate.complementarity, products.max(), rtol=1e-9, atol=1e-10 * scale)
    assert_allclose(certificate.dual, case.value(beta), rtol=0, atol=1e-10 * scale)
    assert certificate.gap >= -1e-10 * scale


@settings(max_examples=150)
@given(kinds, seeds, st.floats(1e-3, 1))
def test_a_corrupted_answer_shows_a_larger_gap(kind, seed, share):
    case = random_case(kind, seed)
    answer = solved(case, tol=1e-9)
    best = case.certify(answer.value)
    worse = case.move(answer.value, np.random.default_rng(seed), share)
    certificate = case.certify(worse)
    lost = best.dual - certificate.dual
    scale = max(abs(best.primal), abs(best.dual), abs(certificate.primal), 1e-9)
    if answer.status != "optimal" or best.gap > 1e-7 * scale:
        return
    # The gap knows at least of what the dual lost; only another optimum would lose nothing.
    assert certificate.gap >= lost - 1e-9 * scale
    if lost > 1e-6 * scale:
        assert certificate.gap > best.gap


@pytest.mark.parametrize("kind", KINDS)
def test_infeasible_answers_are_seen(kind):
    case = random_case(kind, 3)
    start = case.problem.start
    assert case.certify(start).dual_feasibility <= 1e-12 * max(1, np.abs(start).sum())
    drifted = start.copy()
    drifted[np.argmax(case.problem.hi - start)] += 1e-3
    assert case.certify(drifted).dual_feasibility >= 1e-3 * (1 - 1e-9)
    outside = start.copy()
    outside[0] = case.problem.hi[0] + 0.5
    assert case.certify(outside).dual_feasibility >= 0.5 - 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_starts_are_feasible(kind):
    for seed in range(30):
        problem = random_case(kind, seed).problem
        assert (problem.lo <= problem.start).all()
        assert (problem.start <= problem.hi).all()
        assert set(problem.group) == set(range(problem.groups))
        assert len(problem) == len(problem.p)


@settings(max_examples=60)
@given(kinds, seeds, st.floats(0.01, 100))
def test_feasible_mends_any_start(kind, seed, factor):
    """Scaled along C, of another ν, or plain wrong: the nearest start that keeps the rules."""
    case = random_case(kind, seed)
    problem, random = case.problem, np.random.default_rng(seed)
    good = case.move(problem.start, random, pairs=30)
    width = np.abs(problem.hi - problem.lo).max()
    noise = random.normal(size=len(problem)) * width
    for start in (good * factor, noise, np.zeros(len(problem)), good + 1e-15 * noise):
        beta = problem.feasible(start)
        assert (problem.lo <= beta).all()
        assert (beta <= problem.hi).all()
        assert_allclose(np.bincount(problem.group, beta), problem.sums, atol=1e-12 * width * 100)
    assert_allclose(problem.feasible(good), good, atol=1e-11 * width)


def test_feasible_makes_no_support_vectors_out_of_rounding():
    C = np.full(40, 0.1)
    problem = qp.classifier(np.where(np.arange(40) < 20, 1.0, -1.0), 3 * C)
    alpha = np.zeros(40)
    alpha[[3, 7, 25, 30]] = 0.1
    beta = problem.feasible(problem.p * alpha * (0.3 / 0.1))
    assert_array_equal(np.flatnonzero(beta), [3, 7, 25, 30])
    assert_array_equal(np.abs(beta[[3, 7, 25, 30]]), problem.hi[0])


def test_the_bias_is_the_mean_over_free_variables_or_the_middle():
    signs, C = np.array([1.0, 1.0, -1.0, -1.0]), np.ones(4)
    problem = qp.classifier(signs, C)
    f = np.array([0.5, 0.1, -0.3, -0.6])
    beta = np.array([0.5, 1.0, -1.0, -0.5])
    assert_allclose(problem.biases(beta, f), [((1 - 0.5) + (-1 + 0.6)) / 2])
    # None free: F of those that can go up is at most b, of those that can go down at least b.
    beta = np.array([0.0, 1.0, -1.0, 0.0])
    F = signs - f
    up, down = max(F[0], F[2]), min(F[1], F[3])
    assert_allclose(problem.biases(beta, f), [(up + down) / 2])
    assert_allclose(problem.extremes(beta, f), [[up, down]])
    # One end only: all may go up, none down.
    assert_allclose(problem.biases(np.array([0.0, 0.0, -1.0, -1.0]), f), [F.max()])


def test_one_class_start_of_libsvm():
    problem = qp.one_class(np.ones(10), 0.37)
    assert_allclose(problem.start, [1, 1, 1, 0.7, 0, 0, 0, 0, 0, 0])
    assert_allclose(problem.sums, [3.7])


def test_hard_constraints_are_faults_not_prices():
    """C = inf: a violation has no price in the primal value, it is an infeasible primal point."""
    problem = qp.classifier(np.array([1.0, -1.0]), np.array([np.inf, np.inf]))
    K = np.array([[1.0, -1.0], [-1.0, 1.0]])
    best = Case(problem, K).certify(np.array([0.5, -0.5]), [0.0])
    assert best.primal == best.dual == 0.5
    assert best.primal_feasibility == best.dual_feasibility == best.complementarity == 0
    short = Case(problem, K).certify(np.array([0.25, -0.25]), [0.0])
    assert short.primal_feasibility == 0.5
    assert np.isfinite([short.primal, short.dual, short.complementarity]).all()


CERTIFICATE = Certificate("C-SVC <&>", 10.0, 9.0, 1e-3, 0.0, 1e-16, 0.25, 1234567, 0.5, 98765)


def test_certificates_read_well():
    text = repr(CERTIFICATE)
    assert text.startswith("Certificate of C-SVC <&>: within 0.1 of the optimum, optimal\n")
    for line in ("primal               10", "dual                 9", "gap                  1"):
        assert re.search(rf"^{line}$", text, re.M)
    assert "relative gap         0.1\n" in text
    assert "1,234,567" in text
    assert "98,765" in text
    assert "approximation" not in text
    text = repr(dataclasses.replace(CERTIFICATE, approximation_cost=0.25))
    for field in dataclasses.fields(Certificate)[1:-1]:
        assert field.name.replace("_", " ") in text
    assert "approximation cost   0.25" in text


@given(st.floats(-5, 100), st.floats(0, 100), st.floats(0, 1000))
def test_the_cost_of_landmarks_is_what_no_smaller_step_regains(dual, square, unseen):
    t = np.linspace(0, 1, 2001)
    regained = t * (dual + square / 2) - t**2 * (square + unseen) / 2
    cost = landmark_cost(dual, square, unseen)
    assert_allclose(cost, max(0.0, dual - regained.max()), atol=1e-3)
    assert cost <= min(max(dual, 0.0), unseen / 2) + 1e-9
    assert landmark_cost(dual, square, unseen + 1) >= cost - 1e-9
    both = landmark_cost(np.array([dual, 3.0]), np.array([square, 2.0]), np.array([unseen, 1.0]))
    assert_allclose(both, cost + landmark_cost(3.0, 2.0, 1.0), atol=1e-9)
    if dual >= square / 2:
        assert landmark_cost(dual, square, 0.0) <= 1e-9


def test_a_certificate_says_through_how_many_landmarks():
    certificate = CERTIFICATE.on_landmarks(1500, 0.5)
    assert certificate.problem == "C-SVC <&>, Nyström with 1,500 landmarks"
    assert certificate.approximation_cost == 0.5
    assert certificate.gap == CERTIFICATE.gap


def test_certificates_in_notebooks_are_escaped():
    html = CERTIFICATE._repr_html_()
    assert "C-SVC &lt;&amp;&gt;" in html
    assert "<&>" not in html
    assert html.count("<tr>") == html.count("</tr>") == len(repr(CERTIFICATE).splitlines()) - 1
    odd = dataclasses.replace(CERTIFICATE, status="<b>")
    assert "&lt;b&gt;" in odd._repr_html_()


def test_gaps_of_certificates():
    assert CERTIFICATE.gap == 1
    assert CERTIFICATE.relative_gap == pytest.approx(0.1)
    nothing = dataclasses.replace(CERTIFICATE, primal=0.0, dual=0.0)
    assert nothing.gap == nothing.relative_gap == 0
    below = dataclasses.replace(CERTIFICATE, primal=-9.0, dual=-10.0)
    assert below.relative_gap == pytest.approx(0.1)
    rounding = dataclasses.replace(CERTIFICATE, primal=9.0, dual=np.nextafter(9.0, 10))
    assert "within 2e-16 of" in repr(rounding)
    with pytest.raises(dataclasses.FrozenInstanceError):
        CERTIFICATE.primal = 3.0


def test_totals_add_values_and_keep_the_worst():
    other = Certificate("C-SVC", 4.0, 3.5, 1e-2, 0.5, 0.0, 0.1, 3, 0.25, 100, status="max_iter")
    total = Certificate.total([CERTIFICATE, other, CERTIFICATE])
    assert (total.primal, total.dual) == (24, 21.5)
    assert (total.stationarity, total.primal_feasibility) == (1e-2, 0.5)
    assert (total.dual_feasibility, total.complementarity) == (1e-16, 0.25)
    assert total.iterations == 2 * 1234567 + 3
    assert total.seconds == 1.25
    assert total.kernel_evaluations == 2 * 98765 + 100
    assert total.status == "max_iter"
    assert total.problem.startswith("3 problems")
    assert Certificate.total([other]) is other
    assert Certificate.total([CERTIFICATE, CERTIFICATE]).status == "optimal"


def test_a_gap_that_rounding_explains_is_none():
    gap = qp.Gap(1e-6, 2.0, 10.0)
    assert gap.relative() == 5e-7
    assert gap.relative(1e-7) == 5e-7
    assert gap.relative(1e-6) == 0.0
    assert qp.Gap(1e-6, 2.0, 1e9).relative() == 0.0  # of sums of that size it is rounding
    assert qp.Gap(float("inf"), 2.0, 1.0).relative(1e9) == float("inf")


def test_what_a_margin_costs_that_is_kept_by_a_larger_function():
    hard = qp.classifier(np.array([1.0, -1.0]), np.full(2, np.inf))
    off = np.zeros(2)
    # Where the worst margin is off by t = ½, f/(1 − t) keeps all: its square is four times larger.
    assert hard._hardness(np.array([0.5, 0.0]), off, 2.0) == pytest.approx(3.0)
    assert hard._hardness(np.array([0.0, 0.0]), off, 2.0) == 0.0
    assert hard._hardness(np.array([1.0, 0.0]), off, 2.0) == float("inf")
    soft = qp.classifier(np.array([1.0, -1.0]), np.ones(2))
    assert soft._hardness(np.array([0.5, 0.0]), off, 2.0) == 0.0
