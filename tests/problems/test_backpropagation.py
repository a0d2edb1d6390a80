"""Networks: gradients by differences of a loss that is written down from its definition."""

import numpy as np
import pytest
from scipy import sparse

from mercer.problems.backpropagation import Backpropagation, Network

RANDOM = np.random.default_rng(0)
TARGETS = {
    "identity": RANDOM.normal(size=(7, 3)),
    "logistic": RANDOM.integers(0, 2, size=(7, 3)).astype(float),
    "softmax": np.eye(3)[RANDOM.integers(0, 3, size=7)],
    "exp": RANDOM.poisson(2.0, size=(7, 3)).astype(float),
}


def naive_loss(network, X, Y, weights):
    """The loss written down from its definition."""
    A = X
    for i, (W, b) in enumerate(zip(network.coefs, network.intercepts, strict=True)):
        A = A @ W + b
        if i < len(network.coefs) - 1:
            A = {
                "identity": lambda z: z,
                "logistic": lambda z: 1 / (1 + np.exp(-z)),
                "tanh": np.tanh,
                "relu": lambda z: np.maximum(z, 0),
            }[network.activation](A)
    if network.output == "identity":
        losses = 0.5 * (A - Y) ** 2
    elif network.output == "logistic":
        p = 1 / (1 + np.exp(-A))
        losses = -Y * np.log(p) - (1 - Y) * np.log(1 - p)
    elif network.output == "softmax":
        losses = -Y * np.log(np.exp(A) / np.exp(A).sum(axis=1, keepdims=True))
    else:
        losses = np.exp(A) - Y * A + np.where(Y > 0, Y * np.log(np.maximum(Y, 1)) - Y, 0)
    return float(weights @ losses.sum(axis=1))


@pytest.mark.parametrize("output", TARGETS)
@pytest.mark.parametrize("activation", ["identity", "logistic", "tanh", "relu"])
@pytest.mark.parametrize("hidden", [[], [5], [4, 6, 3]], ids=str)
def test_gradients_are_differences_of_the_loss(hidden, activation, output):
    random = np.random.RandomState(3)
    X, Y = random.normal(size=(7, 4)), TARGETS[output]
    network = Network([4, *hidden, 3], activation, output)
    network.start(random)
    slopes = Backpropagation(network, 9)
    for weights in (np.zeros(0), random.uniform(0.1, 2, size=7)):
        full = weights if len(weights) else np.ones(7)
        for data in (X, sparse.csr_array(X)):
            loss = slopes(data, Y, weights)
            assert loss == pytest.approx(naive_loss(network, X, Y, full), rel=1e-10)
        gradient = slopes.gradient.copy()
        theta = network.theta.copy()
        for k in range(len(theta)):
            ends = []
            for h in (1e-6, -1e-6):
                network.theta[:] = theta
                network.theta[k] += h
                ends.append(naive_loss(network, X, Y, full))
            network.theta[:] = theta
            assert gradient[k] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5, abs=1e-6)


def test_large_values_do_not_overflow():
    network = Network([1, 2], "relu", "softmax")
    network.load([np.array([[1e4, -1e4]])], [np.zeros(2)])
    X, Y = np.array([[1.0], [-1.0]]), np.array([[0.0, 1.0], [0.0, 1.0]])
    assert Backpropagation(network, 2)(X, Y, np.zeros(0)) == pytest.approx(2e4)
    np.testing.assert_array_equal(network.forward(X), [[1, 0], [0, 1]])


def test_slopes_of_layers_are_those_of_their_constants():
    """∂L/∂zˡ of all rows adds up to the gradient of the constants of the layer."""
    random = np.random.RandomState(1)
    network = Network([4, 5, 3], "tanh", "softmax")
    network.start(random)
    slopes = Backpropagation(network, 9)
    slopes(random.normal(size=(7, 4)), TARGETS["softmax"], np.zeros(0))
    found = slopes.slopes(7)
    assert [part.shape for part in found] == [(7, 5), (7, 3)]
    for part, sums in zip(found, slopes.intercepts, strict=True):
        np.testing.assert_allclose(part.sum(axis=0), sums, atol=1e-12)


@pytest.mark.parametrize("hidden", [[], [3]], ids=str)
@pytest.mark.parametrize("output", ["identity", "logistic", "tanh"])
def test_squares_of_bent_outputs(output, hidden):
    """½(φ(z) − y)², whose slopes go through the activation of the last layer too."""
    random = np.random.RandomState(3)
    X, Y, w = random.normal(size=(7, 4)), random.normal(size=(7, 2)), random.uniform(0.5, 2, 7)
    network = Network([4, *hidden, 2], "tanh", output, squares=True)
    network.start(random)
    slopes = Backpropagation(network, 9)

    def loss():
        return float(w @ (0.5 * (network.forward(X) - Y) ** 2).sum(axis=1))

    assert slopes(X, Y, w) == pytest.approx(loss(), rel=1e-10)
    gradient, theta = slopes.gradient.copy(), network.theta.copy()
    for k in range(len(theta)):
        ends = []
        for h in (1e-6, -1e-6):
            network.theta[:] = theta
            network.theta[k] += h
            ends.append(loss())
        network.theta[:] = theta
        assert gradient[k] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize(
    ("activation", "factor"), [("logistic", 2.0), ("tanh", 6.0), ("relu", 6.0)]
)
def test_weights_start_within_the_bound_of_glorot(activation, factor):
    network = Network([30, 50, 2], activation, "softmax")
    network.start(np.random.RandomState(0))
    for W, b in zip(network.coefs, network.intercepts, strict=True):
        bound = (factor / sum(W.shape)) ** 0.5
        assert 0.9 * bound < np.abs(W).max() <= bound
        assert np.abs(b).max() <= bound
        assert (W < 0).any()


def test_weights_from_elsewhere_have_to_be_all():
    network = Network([4, 3, 2], "tanh", "softmax")
    coefs, intercepts = [np.ones((4, 3)), np.ones((3, 2))], [np.ones(3), np.ones(2)]
    network.load(coefs, intercepts)
    assert (network.theta == 1).all()
    with pytest.raises(ValueError, match="zip"):
        network.load(coefs, intercepts[:1])
