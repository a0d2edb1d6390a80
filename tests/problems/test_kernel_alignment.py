"""Centred alignment: the closed form and its certificate against plain NumPy."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose

from mercer.estimators.multiple_kernel.weight_rules import alignment_weights
from mercer.gram.feature_gram import FeatureGram
from mercer.gram.given import GivenGram
from mercer.gram.sums import SumGram
from mercer.kernels.definite import Definite
from mercer.problems.kernel_alignment import AlignmentProblem

seeds = st.integers(0, 10_000)


def random_matrices(seed):
    random = np.random.default_rng(seed)
    n, count = int(random.integers(4, 20)), int(random.integers(1, 6))
    roots = [random.normal(size=(n, random.integers(1, 4))) + 1 for _ in range(count)]
    y = roots[0][:, 0] + 0.5 * random.normal(size=n)
    return np.array([root @ root.T for root in roots]), y[:, None]


def gram_of(K):
    return SumGram([GivenGram(each, Definite.POSITIVE) for each in K])


def centred(K):
    n = len(K)
    H = np.eye(n) - np.ones((n, n)) / n
    return H @ K @ H


def naive_value(K, Y, v):
    apart = sum(w * centred(each) for w, each in zip(v, K, strict=True)) - centred(Y @ Y.T)
    return (apart**2).sum() / 2


def naive_optimum(K, Y):
    """Return the least squares with the best set of kernels that gets no negative weight."""
    columns = np.array([centred(each).ravel() for each in K]).T
    wanted = centred(Y @ Y.T).ravel()
    best = (wanted @ wanted) / 2
    for size in range(1, len(K) + 1):
        for chosen in map(list, combinations(range(len(K)), size)):
            v = np.linalg.lstsq(columns[:, chosen], wanted, rcond=None)[0]
            if v.min() >= 0:
                best = min(best, ((columns[:, chosen] @ v - wanted) ** 2).sum() / 2)
    return best


@given(seed=seeds)
def test_alignments_are_those_of_centred_matrices(seed):
    K, Y = random_matrices(seed)
    M, a = AlignmentProblem(Y).alignments(gram_of(K))
    for i, j in np.ndindex(M.shape):
        assert_allclose(M[i, j], (centred(K[i]) * centred(K[j])).sum(), rtol=1e-9, atol=1e-9)
    for m, each in enumerate(K):
        assert_allclose(a[m], (centred(each) * centred(Y @ Y.T)).sum(), rtol=1e-9, atol=1e-9)


@given(seed=seeds)
def test_the_closed_form_is_the_best_of_all_sets_of_kernels(seed):
    K, Y = random_matrices(seed)
    weights, (v,) = alignment_weights(gram_of(K), Y)
    best = naive_optimum(K, Y)
    scale = (centred(Y @ Y.T) ** 2).sum()
    assert_allclose(naive_value(K, Y, v), best, atol=1e-9 * scale)
    assert_allclose(weights.sum(), 1.0)
    judged = AlignmentProblem(Y).certify(v, gram_of(K))
    assert_allclose(judged.primal, best, atol=1e-9 * scale)
    assert_allclose(judged.dual, best, atol=1e-8 * scale)


@given(seed=seeds)
def test_any_weights_bound_the_optimum(seed):
    K, Y = random_matrices(seed)
    v = np.random.default_rng(seed).exponential(size=len(K))
    judged = AlignmentProblem(Y).certify(v, gram_of(K))
    best, slack = naive_optimum(K, Y), 1e-9 * (centred(Y @ Y.T) ** 2).sum()
    assert_allclose(judged.primal, naive_value(K, Y, v), rtol=1e-9)
    assert judged.dual <= best + slack
    assert judged.primal >= best - slack


@given(seed=seeds, factor=st.floats(0.01, 100))
def test_a_factor_of_a_kernel_goes_into_its_weight(seed, factor):
    K, Y = random_matrices(seed)
    v = alignment_weights(gram_of(K), Y).answer[0]
    scaled = K.copy()
    scaled[0] *= factor
    u = alignment_weights(gram_of(scaled), Y).answer[0]
    same = np.tensordot(v, K, 1) - np.tensordot(u, scaled, 1)
    assert_allclose(centred(same), 0.0, atol=1e-6 * np.abs(K).max() * max(v.max(), 1))


def test_targets_without_a_difference_leave_all_weights_equal():
    K, _ = random_matrices(1)
    weights, (v,) = alignment_weights(gram_of(K), np.ones((len(K[0]), 1)))
    assert_allclose(weights, 1 / len(K))
    assert_allclose(v, 0.0, atol=1e-12)


def test_no_bound_without_definite_matrices():
    K, Y = random_matrices(2)
    far = np.array([K[0], -K[0]])
    assert AlignmentProblem(Y).certify(np.zeros(2), gram_of(far)).curvature == "open"


@pytest.mark.parametrize("c", [0.25, 1.0, 4.0])
def test_products_below_zero_by_rounding_alone_prove_definiteness(c):
    """⟨caaᵀ, bbᵀ − saaᵀ⟩ = −cs of two kernels, beside a largest product of max(c², 1)."""
    a, b = np.array([1.0, -1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0, -1.0])
    A, B = np.outer(a, a) / 2, np.outer(b, b) / 2
    rounding = 2 * 1e-10 * max(c * c, 1.0)
    for share, curvature in ((0.99, "proven"), (1.01, "open")):
        s = share * rounding / c
        gram = SumGram([GivenGram(c * A, Definite.UNKNOWN), GivenGram(B - s * A, Definite.UNKNOWN)])
        found = AlignmentProblem(b[:, None]).certify(np.array([0.0, 2.0]), gram)
        assert found.curvature == curvature
        assert found.stationarity < 1e-8


def test_factors_count_as_their_products():
    random = np.random.default_rng(2)
    X, Z, Y = random.normal(size=(9, 2)) + 3, random.normal(size=(9, 3)), random.normal(size=(9, 1))
    A = random.normal(size=(9, 9))
    mixed = [FeatureGram.of_rows(X), GivenGram(A @ A.T), FeatureGram.of_rows(Z)]
    dense = [GivenGram(X @ X.T), GivenGram(A @ A.T), GivenGram(Z @ Z.T)]
    problem = AlignmentProblem(Y)
    for one, other in zip(
        problem.alignments(SumGram(mixed)), problem.alignments(SumGram(dense)), strict=True
    ):
        assert_allclose(one, other, rtol=1e-10, atol=1e-10)
