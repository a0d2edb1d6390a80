"""Networks of layers: values forwards, gradients backwards, in buffers that are made once."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse, special

from mercer import _fast
from mercer._typing import Array, Matrix
from mercer.problems.base import WithoutDual

ACTIVATIONS = {
    "identity": _fast.network.IDENTITY,
    "logistic": _fast.network.LOGISTIC,
    "tanh": _fast.network.TANH,
    "relu": _fast.network.RELU,
}
OUTPUTS = {
    "identity": _fast.network.SQUARES,
    "logistic": _fast.network.TWO_CLASSES,
    "softmax": _fast.network.CLASSES,
    "exp": _fast.network.COUNTS,
}
"""Activations of the last layer; each has its loss."""


@dataclass(eq=False)
class Network:
    """Layers of neurons, their weights in one vector.

    A⁰ = X,  Zˡ = Aˡ⁻¹Wˡ + bˡ,  Aˡ = φ(Zˡ);  the last layer has an activation of its own.

    Attributes
    ----------
    squares : bool
        Whether the loss is ½‖y − Aᴸ‖² whatever the activation of the last layer; otherwise each
        activation has its own.
    theta : array
        All weights: the matrices Wˡ one after the other, then the biases.
    coefs, intercepts : lists of arrays
        Wˡ and bˡ, views of ``theta``.
    """

    sizes: list[int]
    activation: str
    output: str
    dtype: DTypeLike = np.float64
    squares: bool = False
    theta: Array = field(init=False)

    def __post_init__(self) -> None:
        self.matrices = sum(a * b for a, b in pairwise(self.sizes))
        self.theta = np.zeros(self.matrices + sum(self.sizes[1:]), self.dtype)
        self.coefs, self.intercepts = self.split(self.theta)

    def split(self, flat: Array) -> tuple[list[Array], list[Array]]:
        """Return the matrices and the biases in a vector of weights or derivatives, as views."""
        coefs, intercepts, at = [], [], 0
        for a, b in pairwise(self.sizes):
            coefs.append(flat[at : at + a * b].reshape(a, b))
            at += a * b
        for b in self.sizes[1:]:
            intercepts.append(flat[at : at + b])
            at += b
        return coefs, intercepts

    def start(self, random: np.random.RandomState) -> None:
        """Draw weights: uniform, as wide as layers of this size and kind ask for.

        X. Glorot and Y. Bengio, Understanding the difficulty of training deep feedforward neural
        networks, International Conference on Artificial Intelligence and Statistics (2010).
        """
        factor = 2.0 if self.activation == "logistic" else 6.0
        for W, b in zip(self.coefs, self.intercepts, strict=True):
            wide = np.sqrt(factor / sum(W.shape))
            W[:] = random.uniform(-wide, wide, W.shape)
            b[:] = random.uniform(-wide, wide, b.shape)

    def load(self, coefs: list[Array], intercepts: list[Array]) -> None:
        """Take weights from elsewhere."""
        for mine, given in zip([*self.coefs, *self.intercepts], [*coefs, *intercepts], strict=True):
            mine[:] = given

    def forward(self, X: Matrix) -> Array:
        """Return the values of the last layer."""
        A = X
        for W, b in zip(self.coefs[:-1], self.intercepts[:-1], strict=True):
            A = np.asarray(A @ W)
            self.activate(A, b)
        A = np.asarray(A @ self.coefs[-1])
        A += self.intercepts[-1]
        if self.output == "softmax":
            return np.asarray(special.softmax(A, axis=1))
        if self.output == "exp":
            return np.asarray(np.exp(A, out=A))
        bend(A, self.output)
        return np.asarray(A)

    def activate(self, Z: Array, b: Array) -> None:
        """Add the biases of an inner layer and apply its activation, in place."""
        _fast.network.add_bias(Z, b, self.activation == "relu")
        if self.activation != "relu":
            bend(Z, self.activation)


def bend(Z: Array, activation: str) -> None:
    """Apply an activation to each number, in place."""
    if activation == "tanh":
        np.tanh(Z, out=Z)
    elif activation == "logistic":
        special.expit(Z, out=Z)
    elif activation == "relu":
        np.maximum(Z, 0, out=Z)


class Backpropagation:
    """Gradients for batches of at most ``rows`` rows; all buffers are made here."""

    def __init__(self, network: Network, rows: int) -> None:
        self.network = network
        dtype = network.dtype
        self.gradient = np.zeros_like(network.theta)
        self.coefs, self.intercepts = network.split(self.gradient)
        self.layers = [np.empty((rows, size), dtype) for size in network.sizes[1:]]
        self.deltas = [np.empty((rows, size), dtype) for size in network.sizes[1:-1]]

    def __call__(self, X: Matrix, Y: Array, weights: Array) -> float:
        """Set ``gradient`` to the sum of gradients over the rows; return the sum of losses.

        ``weights`` are those of the rows, or empty. Neither sum has penalties.
        """
        network, m = self.network, X.shape[0]
        kind = ACTIVATIONS[network.activation]
        layers = [layer[:m] for layer in self.layers]
        A = X
        for W, b, Z in zip(network.coefs, network.intercepts, layers, strict=True):
            _multiply(A, W, Z)
            if Z is layers[-1]:
                _fast.network.add_bias(Z, b, False)
            else:
                network.activate(Z, b)
            A = Z
        last = len(layers) - 1
        D = layers[-1]
        if network.squares:
            bend(D, network.output)
            values = D.copy()
            loss = _fast.network.loss_gradient(
                D, Y, weights, _fast.network.SQUARES, self.intercepts[-1]
            )
            # (a − y)φ′(z): the chain rule through the activation of the last layer.
            _fast.network.back(D, values, ACTIVATIONS[network.output], self.intercepts[-1])
        else:
            loss = _fast.network.loss_gradient(
                D, Y, weights, OUTPUTS[network.output], self.intercepts[-1]
            )
        for i in range(last, 0, -1):
            _multiply(layers[i - 1].T, D, self.coefs[i])
            ahead = self.deltas[i - 1][:m]
            np.matmul(D, network.coefs[i].T, out=ahead)
            _fast.network.back(ahead, layers[i - 1], kind, self.intercepts[i - 1])
            D = ahead
        _multiply(X.T, D, self.coefs[0])
        return float(loss)

    def slopes(self, count: int) -> list[Array]:
        """Return ∂L/∂zˡ of each layer, of the last ``count`` rows that were shown; not to keep."""
        return [delta[:count] for delta in (*self.deltas, self.layers[-1])]


@dataclass(frozen=True, eq=False)
class NetworkLoss(WithoutDual):
    """min (Σᵢ cᵢ L(yᵢ, f(xᵢ)) + α/2 Σₗ‖Wˡ‖²)/Σᵢ cᵢ over the weights of a network f.

    Attributes
    ----------
    network : Network
        Its layers; solvers work in its ``theta``, and leave their answer there.
    Y : array of shape (n, outputs)
    weights : array of shape (n,)
        cᵢ; empty where all are 1.
    alpha : float
    """

    network: Network
    Y: Array
    weights: Array
    alpha: float
    name: str = "network"

    def rows(self, weights: Array, count: int) -> float:
        """Return Σ cᵢ of some rows."""
        return float(weights.sum()) if len(weights) else float(count)


def _multiply(A: Matrix, B: Array, out: Array) -> None:
    if sparse.issparse(A):
        out[:] = A @ B
    else:
        np.matmul(A, B, out=out)
