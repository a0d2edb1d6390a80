"""Losses of rows by loops and differences, and what rounding does to machines on landmarks."""

import math

import numpy as np
import pytest

from mercer.problems.landmark_bounds import LandmarkRounding
from mercer.problems.landmark_losses import LOSSES

U = 2.0**-52
LABELS = {2: np.array([0, 1, 1, 0]), 3: np.array([2, 0, 1, 2])}


def loss_by_hand(name, u, label, classes):
    """Return the losses of one row: one for each function, or one of all."""
    if classes == 2:
        t = 1.0 if label else -1.0
        if name == "logistic":
            return [math.log1p(math.exp(-t * u[0]))]
        return [max(0.0, 1 - t * u[0]) ** 2]
    if name == "logistic":
        return [math.log(sum(math.exp(v) for v in u)) - u[label]]
    return [max(0.0, 1 - (1 if c == label else -1) * u[c]) ** 2 for c in range(classes)]


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("classes", [2, 3])
def test_losses_by_hand_and_their_derivatives(name, classes):
    loss, labels = LOSSES[name](classes), LABELS[classes]
    rng = np.random.default_rng(0)
    U0 = 2 * rng.normal(size=(4, loss.functions))
    assert loss.functions == (1 if classes == 2 else 3)
    truth = [loss_by_hand(name, u, y, classes) for u, y in zip(U0.tolist(), labels, strict=True)]
    np.testing.assert_allclose(loss.values(U0, labels), truth)
    h, step = 1e-5, rng.normal(size=U0.shape)
    ahead, behind = (loss.values(U0 + t * step, labels).sum() for t in (h, -h))
    slope = loss.negative_gradient(U0, labels)
    assert (slope * step).sum() == pytest.approx(-(ahead - behind) / (2 * h), rel=1e-7)
    turned = loss.negative_gradient(U0 + h * step, labels)
    turned -= loss.negative_gradient(U0 - h * step, labels)
    product = loss.hessian_product(U0, step, labels)
    np.testing.assert_allclose(product, -turned / (2 * h), atol=1e-7)
    diagonal = loss.hessian_diagonal(U0, labels)
    for c in range(loss.functions):
        unit = np.zeros_like(U0)
        unit[:, c] = 1.0
        np.testing.assert_allclose(
            diagonal[:, c], loss.hessian_product(U0, unit, labels)[:, c], atol=1e-12
        )
    # Fenchel and Young: the loss and its conjugate add up to the product at a slope.
    paired = loss.values(U0, labels).reshape(4, -1).sum(axis=1) + (slope * U0).sum(axis=1)
    np.testing.assert_allclose(loss.dual_value(slope, labels), paired, atol=1e-12)
    other = loss.negative_gradient(U0 + step, labels)
    below = loss.values(U0, labels).reshape(4, -1).sum(axis=1) + (other * U0).sum(axis=1)
    assert (loss.dual_value(other, labels) <= below + 1e-12).all()


class Basis:
    """Landmarks whose matrix K_MM has the factor L."""

    def __init__(self, factor):
        self.factor = factor

    def __len__(self):
        return len(self.factor)

    def coefficients(self, W):
        return np.linalg.solve(self.factor.T, W)


def test_bounds_are_sums_over_landmarks_and_rows():
    L = np.array([[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [-0.5, 0.25, 1.0]])
    found = LandmarkRounding(Basis(L), 100, 1.5, 250.0)
    of_sum, of_landmarks = 4 * 116 * U, 4 * 19 * U
    assert found.of_sum == pytest.approx(of_sum)
    W = np.array([[1.0, -2.0], [0.5, 0.0], [3.0, 1.0]])
    lengths = np.sqrt(np.diag(L @ L.T))
    sizes = lengths @ np.abs(np.linalg.solve(L.T, W))
    np.testing.assert_allclose(found.sizes(W), sizes)
    constants = np.array([0.25, -4.0])
    expected = of_landmarks * (1.5 * sizes + np.abs(constants))
    np.testing.assert_allclose(found.of_values(W, constants), expected)
    np.testing.assert_allclose(found.of_norms(W), of_landmarks * sizes**2)
    G, most = np.array([[1.0, 2.0], [-3.0, 0.5], [0.25, -1.0]]), np.array([10.0, 20.0])
    # Sums over rows, and the solution of a triangular system, both through ∣L⁻¹∣.
    sums = of_sum * 1.5 * np.outer(lengths, most)
    off = np.abs(np.linalg.inv(L)) @ (sums + of_landmarks * np.abs(L) @ np.abs(G))
    squares = 2 * of_landmarks * (lengths @ np.abs(np.linalg.solve(L.T, G))) ** 2
    expected = (off * (2 * np.abs(G) + off)).sum(axis=0) + squares
    np.testing.assert_allclose(found.of_combined(G, most), expected)
