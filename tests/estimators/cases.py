"""Data that support vector machines are compared on, all read-only."""

from functools import cache

import numpy as np
from sklearn import datasets

from mercer import load_data
from tests.real_data import real_data


def frozen(*arrays):
    for array in arrays:
        array.flags.writeable = False
    return arrays


@cache
def heart():
    data = load_data("heart")
    return frozen(data.X, data.y)


@cache
def iris():
    return frozen(*datasets.load_iris(return_X_y=True))


@cache
def wine():
    X, y = datasets.load_wine(return_X_y=True)
    return frozen((X - X.mean(axis=0)) / X.std(axis=0), y)


@cache
def digits():
    X, y = datasets.load_digits(return_X_y=True)
    return frozen(X[:500] / 16, y[:500])


@cache
def two_classes(n=200, d=4, seed=0):
    random = np.random.default_rng((seed, n, d))
    X = random.normal(size=(n, d))
    y = (X[:, 0] * X[:, 1] + 0.4 * random.normal(size=n) > 0).astype(int)
    return frozen(X, y)


@cache
def separable(n=60):
    random = np.random.default_rng(5)
    X = random.normal(size=(n, 2))
    y = (np.arange(n) % 2).astype(int)
    X[y == 1] += [5.0, 4.0]
    return frozen(X, y)


@cache
def regression(n=200):
    random = np.random.default_rng(3)
    X = random.uniform(-3, 3, size=(n, 2))
    return frozen(X, np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.2 * random.normal(size=n))


def _odd(change):
    random = np.random.default_rng(11)
    X, y = two_classes(160)
    X = np.array(X)
    return frozen(*change(X, np.array(y), random))


ODD = {
    "heavy-tailed": lambda X, y, r: (X * r.standard_t(1.5, size=(len(X), 1)), y),
    "duplicated": lambda X, y, r: (np.concatenate([X[:60]] * 3), np.concatenate([y[:60]] * 3)),
    "contradictory": lambda X, y, r: (np.concatenate([X, X]), np.concatenate([y, 1 - y])),
    "unscaled": lambda X, y, r: (X * [100.0, 1.0, 0.01, 10.0], y),
    "rank-deficient": lambda X, y, r: (X[:, :2] @ r.normal(size=(2, 12)), y),
    "imbalanced": lambda X, y, r: (X, np.where(np.cumsum(y) <= 6, y, 0)),
}


@cache
def odd(name):
    return _odd(ODD[name])


def shared(name):
    """Return a file of the real data; tests skip where it is not there."""
    return real_data(f"tabular_classification/{name}")
