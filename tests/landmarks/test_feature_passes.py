"""Passes over features that the choice has left say what passes over kernel values say."""

import numpy as np
import pytest

from mercer import RBF, KernelRidge
from mercer.landmarks.basis import LandmarkBasis
from mercer.landmarks.block_passes import BlockPasses
from mercer.landmarks.choose import Nystrom
from mercer.landmarks.landmark_gram import LandmarkGram
from mercer.problems.landmark_squares import RidgeErrors, RidgeWeights

X = np.random.default_rng(0).standard_normal((300, 3))
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1]])
WEIGHTS = np.random.default_rng(1).random(300) + 0.5
KERNEL = RBF(gamma=0.4)


def both(constant, weights, count=40):
    """Return a matrix whose features are known, and the same one without them."""
    points = KERNEL.encode(X)
    known = LandmarkGram.choose(KERNEL, points, Nystrom(count), by_passes=True)
    known = known.with_targets(Y, weights, constant)
    plain = LandmarkGram.of(known.basis, points, Y, weights, constant, known.index)
    assert known.passes.holds_features
    assert isinstance(plain.passes, BlockPasses)
    return known, plain


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("weights", [np.ones(300), WEIGHTS])
def test_the_same_sums_and_squares(constant, weights):
    known, plain = both(constant, weights)
    V = np.random.default_rng(2).standard_normal((known.passes.columns, 2))
    whole = known.basis.whitener(len(X))
    part = np.ascontiguousarray(whole[:7, :7])
    for whitener in (whole, part):
        ours = known.passes.sums(V, RidgeErrors(), True, whitener)
        others = plain.passes.sums(V, RidgeErrors(), True, whitener)
        np.testing.assert_allclose(ours.products, others.products, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(ours.totals, others.totals, rtol=1e-9)
        np.testing.assert_allclose(ours.unseen, others.unseen, rtol=1e-6)
    R = known.basis.R
    for other in (R, R + np.triu(np.full(R.shape, 0.1))):
        np.testing.assert_allclose(
            known.passes.square(V, RidgeWeights(), other, precise=True),
            plain.passes.square(V, RidgeWeights(), other, precise=True),
            rtol=1e-8,
            atol=1e-8,
        )


def test_the_same_features_and_residual():
    known, plain = both(False, np.ones(300))
    np.testing.assert_allclose(known.features(), plain.features(), atol=1e-8)
    np.testing.assert_allclose(known.residual, plain.residual, atol=1e-10)
    K = KERNEL(X[known.index])
    np.testing.assert_allclose(known.basis.factor @ known.basis.factor.T, K, atol=1e-12)


def test_dependent_landmarks_are_chosen_anew():
    flat = RBF(gamma=1e-4)
    gram = LandmarkGram.choose(flat, flat.encode(X), Nystrom(60), by_passes=True)
    assert not gram.passes.holds_features
    assert len(gram.basis) < 60
    bad = np.tril(np.ones((2, 2)) * 1e-9) + np.diag([1.0, 0.0])
    assert LandmarkBasis.of_pivots(flat, flat.encode(X[:2]), bad, by_passes=True) is None


@pytest.mark.parametrize("alpha", [1e-6, 1.0, [0.1, 10.0]])
def test_ridge_on_landmarks_is_exact(alpha):
    model = KernelRidge(alpha, kernel=KERNEL, approximation=40).fit(X, Y, WEIGHTS)
    K = KERNEL(X, model.X_fit_)
    M = KERNEL(model.X_fit_)
    for t, a in enumerate(np.broadcast_to(alpha, 2)):
        A = K.T @ (WEIGHTS[:, None] * K) + a * M
        c = np.linalg.solve(A, K.T @ (WEIGHTS * Y[:, t]))
        np.testing.assert_allclose(K @ model.dual_coef_[:, t], K @ c, atol=1e-6)
    assert abs(model.certificate_.relative_gap) < 1e-8
