"""Weights of kernels by Newton's method: the joint optimum against Clarabel's, and laws."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose

from mercer.problems import qp
from mercer.problems.multiple_kernels import MultipleKernelProblem, WeightedMultipliers
from mercer.solvers.base import Budget, Status
from mercer.solvers.svm.weight_model import least_weights
from mercer.solvers.svm.weight_newton import WeightNewton
from tests.problems.weights_reference import (
    gram_of,
    joint_optimum,
    low_rank_problem,
    random_weights_problem,
)

seeds = st.integers(0, 10_000)
few = settings(max_examples=10)


def solve(problem, K, tol=1e-8):
    return WeightNewton().solve(problem, gram_of(K), Budget(tol))


def check_against_clarabel(problem, K):
    found = solve(problem, K)
    judged = found.certificate
    assert found.status is Status.OPTIMAL
    assert judged.curvature == "proven"
    assert -1e-9 <= judged.relative_gap <= 1e-7
    for value in joint_optimum(problem, K):
        assert abs(judged.primal - value) <= 1e-6 * value
        assert abs(judged.dual - value) <= 1e-6 * value


@pytest.mark.parametrize("seed", range(10))
def test_the_joint_optimum_is_that_of_clarabel(seed):
    check_against_clarabel(*random_weights_problem(seed))


@pytest.mark.attack
@pytest.mark.parametrize("seed", range(10, 110))
def test_the_joint_optimum_is_that_of_clarabel_on_many_problems(seed):
    check_against_clarabel(*random_weights_problem(seed))


@pytest.mark.parametrize("seed", range(6))
def test_kernels_of_few_features_whose_multipliers_are_not_unique(seed):
    check_against_clarabel(*low_rank_problem(seed))


@pytest.mark.attack
@pytest.mark.parametrize("seed", range(6, 106))
def test_many_problems_of_kernels_of_few_features(seed):
    check_against_clarabel(*low_rank_problem(seed))


@few
@given(seed=seeds)
def test_the_order_of_kernels_does_not_matter(seed):
    problem, K = random_weights_problem(seed, 25)
    order = np.random.default_rng(seed).permutation(len(K))
    one, two = solve(problem, K), solve(problem, K[order])
    assert_allclose(one.certificate.primal, two.certificate.primal, rtol=1e-7)


@few
@given(seed=seeds)
def test_a_kernel_twice_is_a_kernel_once_for_the_sum_of_norms(seed):
    problem, K = random_weights_problem(seed, 25)
    problem = MultipleKernelProblem(problem.parts, 1.0)
    once, twice = solve(problem, K), solve(problem, np.concatenate([K, K[:1]]))
    assert_allclose(once.certificate.primal, twice.certificate.primal, rtol=1e-7)


@few
@given(seed=seeds, factor=st.floats(0.1, 10))
def test_all_kernels_times_a_factor_is_another_C(seed, factor):
    """With cK and C/c the multipliers are 1/c of what they were, and so is the optimum."""
    problem, K = random_weights_problem(seed, 25)
    parts = [(rows, scaled(part, 1 / factor)) for rows, part in problem.parts]
    one = solve(problem, K).certificate
    two = solve(MultipleKernelProblem(parts, problem.p), factor * K).certificate
    assert_allclose(two.primal, one.primal / factor, rtol=1e-6)


def scaled(part, factor):
    """Return a box QP whose intervals are multiplied; sums are 0 in all of these."""
    return type(part)(
        part.name, part.p, factor * part.lo, factor * part.hi, part.start, part.row, part.group
    )


@few
@given(seed=seeds)
def test_one_more_kernel_never_makes_the_optimum_worse(seed):
    problem, K = random_weights_problem(seed, 25)
    whole, part = solve(problem, K).certificate, solve(problem, K[:1]).certificate
    assert whole.primal <= part.primal * (1 + 1e-7)


@few
@given(seed=seeds)
def test_any_weights_and_multipliers_bound_the_optimum(seed):
    problem, K = random_weights_problem(seed, 25)
    random = np.random.default_rng(seed)
    best = solve(problem, K).certificate
    weights = problem.on_sphere(random.uniform(size=len(K)))
    wild = [
        part.feasible(random.uniform(size=len(part)) * (part.hi - part.lo) / 2 + part.lo / 2)
        for _, part in problem.parts
    ]
    judged = problem.certify(WeightedMultipliers(weights, wild), gram_of(K))
    assert judged.dual <= best.upper * (1 + 1e-9) + judged.rounding
    assert judged.primal >= best.lower * (1 - 1e-9) - judged.rounding


def test_a_kernel_of_noise_gets_no_weight():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    problem = MultipleKernelProblem([(np.arange(60), qp.classifier(y, np.full(60, 0.1)))])
    K = np.array([np.outer(x, x) / (x @ x) * 60 for x in X.T])
    weights = solve(problem, K).value.weights
    assert weights[0] == pytest.approx(1.0)
    assert (weights[1:] == 0).all()


@given(seed=seeds, p=st.sampled_from([1.0, 1.3, 2.0, 5.0]))
def test_the_minimum_of_the_model_is_that_of_random_points(seed, p):
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 6))
    root = random.normal(size=(count, count)) * random.choice([0.1, 1.0, 10.0])
    H, g = root @ root.T, -random.exponential(size=count)
    d = random.uniform(size=count)
    d /= np.linalg.norm(d, p)

    def model(x):
        return g @ x + (x - d) @ H @ (x - d) / 2

    found = least_weights(g, H, d, p)
    assert found.min() >= 0
    assert (found**p).sum() <= 1 + 1e-9
    for _ in range(50):
        other = random.exponential(size=count) * (random.uniform(size=count) > 0.3)
        other *= random.uniform() / max(np.linalg.norm(other, p), 1e-12)
        near = found + 0.01 * (other - found)
        assert model(found) <= min(model(other), model(near)) + 1e-8
