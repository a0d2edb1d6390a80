"""Nearest points of two hulls by Newton's method: those of the box QP."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose

from mercer import RBF
from mercer.gram.given import GivenGram
from mercer.kernels.definite import Definite
from mercer.problems import qp
from mercer.solvers.base import Budget
from mercer.solvers.svm.box_qp import BoxQPSolver
from mercer.solvers.svm.hull_newton import RidgedFactor, RidgedMatrix, nearest_points


def drawn(seed, n, columns):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, columns))
    signs = np.where(X[:, 0] + 0.5 * random.normal(size=n) > 0.4, 1.0, -1.0)
    signs[:2] = 1.0, -1.0
    return X, signs


def judged(K, ridge, signs, beta):
    return qp.hulls(signs).certify(beta, GivenGram(K + ridge * np.eye(len(K)), Definite.POSITIVE))


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 1000),
    n=st.integers(5, 900),
    columns=st.integers(1, 120),
    ridge=st.sampled_from([1e-3, 0.05, 1.0]),
    dense=st.booleans(),
)
def test_answers_have_the_gap_that_was_asked_for(seed, n, columns, ridge, dense):
    X, signs = drawn(seed, n, columns)
    Phi = X * 0.7 ** np.arange(columns)  # the last columns hold next to nothing
    K = Phi @ Phi.T
    system = RidgedMatrix(K, ridge) if dense else RidgedFactor.of(Phi, ridge)
    beta = nearest_points(system, signs, 1e-6)
    assert beta is not None
    assert (signs * beta >= 0).all()
    assert_allclose([beta[signs > 0].sum(), beta[signs < 0].sum()], [1, -1], rtol=1e-12)
    found = judged(K, ridge, signs, beta)
    assert found.relative_gap <= 2e-6
    assert found.dual_feasibility <= 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_a_class_of_one_or_two_rows_stays_in_play(seed):
    X, signs = drawn(seed, 5, 16)
    system = RidgedFactor.of(X * 0.7 ** np.arange(16), 1e-3)
    assert nearest_points(system, signs, 1e-6) is not None


@pytest.mark.parametrize("n", [300, 1200])
def test_answers_are_those_of_the_box_qp(n):
    X, signs = drawn(1, n, 3)
    K, ridge = RBF(gamma=0.5)(X), 0.02
    budget = Budget(1e-9, gap=1e-9)
    gram = GivenGram(K + ridge * np.eye(n), Definite.POSITIVE)
    naive = BoxQPSolver().solve(qp.hulls(signs), gram, budget).value
    found = nearest_points(RidgedMatrix(K, ridge), signs, 1e-9)
    assert_allclose(found, naive, atol=1e-8)


def test_what_is_singular_has_no_answer():
    X, signs = drawn(0, 200, 3)
    K = RBF(gamma=0.1)(X)
    assert nearest_points(RidgedMatrix(K, 1e-14), signs, 1e-6) is None
    assert nearest_points(RidgedFactor.of(X, 1e-14), signs, 1e-6) is None
