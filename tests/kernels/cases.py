"""What the tests of kernels share: the examples of the registry with data that suit them."""

import numpy as np

from mercer import (
    RBF,
    Constant,
    Cosine,
    GaussianBasis,
    Graph,
    Laplacian,
    Linear,
    Matern,
    Monomials,
    NegativeDistance,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    White,
)
from mercer.kernels.registry import ROWS

# What takes rows of numbers, in arrays and frames of any kind; strings have tests of their own.
TABULAR = [row for row in ROWS if row.domain in ("vectors", "histograms", "categories")]
EXAMPLES = [(row.domain, kernel) for row in TABULAR for kernel in row.examples]
IDS = [f"{row.name}-{i}" for row in TABULAR for i in range(len(row.examples))]
KERNELS = [kernel for row in ROWS for kernel in row.examples]

# Radial kernels with every way to write a width, for X of three columns.
RADIAL = [
    RBF(gamma=0.4),
    RBF(sigma=1.3),
    RBF(length_scale=[0.7, 1.5, 2.0]),
    Laplacian(0.6),
    Laplacian(sigma=1.4),
    Laplacian(length_scale=[0.7, 1.5, 2.0]),
    Matern(nu=0.5, length_scale=1.2),
    Matern(nu=0.8, length_scale=[0.7, 1.5, 2.0]),
    Matern(nu=1.0, length_scale=0.9),
    Matern(nu=1.5, length_scale=[0.7, 1.5, 2.0]),
    Matern(nu=2.5, gamma=0.3),
    Matern(nu=4.1, length_scale=1.2),
    Matern(nu=float("inf"), length_scale=[0.7, 1.5, 2.0]),
    RationalQuadratic(alpha=0.7, sigma=1.2),
    RationalQuadratic(alpha=1.0, length_scale=[0.7, 1.5, 2.0]),
    Periodic(2.3, 0.8),
    Periodic(2.3, [0.7, 1.5, 2.0]),
    Periodic([2.3, 1.9, 3.1], 0.8),
    Periodic([2.3, 1.9, 3.1], [0.7, 1.5, 2.0]),
]

# Two levels and mixed, for X of three columns.
COMPOSITES = [
    RBF(gamma=0.3) * Linear() + Constant(0.5),
    RBF(gamma=0.3) * (Linear() + Constant(0.5)),
    (RBF(gamma=0.3) + Laplacian(0.4)) * (Linear() + Matern(nu=1.5, sigma=1.2)),
    2.5 * (RBF(sigma=1.2) * Polynomial(2, 0.5, 1.0)),
    2.0 * (3.0 * RBF(gamma=0.3)),
    (2 * Polynomial(2, 0.5, 1.0) + RBF(gamma=0.7)).normalized(),
    (Linear() + Constant(0.3)) ** 2,
    (RBF(gamma=0.3) * Laplacian(0.2)) ** 0.5,
    (0.5 * RBF(gamma=0.3) + Cosine()).exp(),
    (RBF(gamma=0.3) ** 2).exp().normalized(),
    (Cosine() * RBF(gamma=0.2)).power_series([0.5, 0.0, 1.5, 0.25]),
    (0.5 * Cosine()).power_series([1.0, 1.0, 1.0], radius=1.0),
    RBF(gamma=0.3).on(0, 2) * Linear().on(1),
    (RBF(length_scale=[0.6, 1.4]).on([0, 2]) + Periodic(2.0, 1.1).on(1)) ** 2,
    (RBF(gamma=0.4) + White(0.3)).normalized(),
    RBF(gamma=0.4) * White(0.3) + 1,
    NegativeDistance(1.3) + 2.0 * Linear(),
    NegativeDistance(1.3).exp() * Sigmoid(0.3, 0.1),
    Linear().on(1).exp() + RationalQuadratic(alpha=0.8, length_scale=1.5).normalized(),
    (Monomials(2) * RBF(gamma=0.5)).on(2, 1),
    GaussianBasis([[0.0, 1.0]], 0.9).on(0, 1) + Monomials(1),
]


def data(domain, rows, seed=0, dtype=np.float64):
    """Return data that suit a domain: a list of strings, or else a read-only table.

    The table has three columns and two equal rows.
    """
    random = np.random.default_rng(seed)
    if domain == "graphs":
        return graphs(rows, random)
    if domain == "trees":
        return trees(rows, random)
    if domain == "series":
        made = [random.normal(size=(2, int(random.integers(1, 9)))) for _ in range(rows)]
        made[rows // 2] = made[0]
        return made
    if domain == "strings":
        return random.choice(["a cat", "a cart, a cat", "", "Bar"], size=rows).tolist()
    if domain == "categories":
        table = random.integers(0, 3, size=(rows, 3)).astype(dtype)
    elif domain == "histograms":
        table = random.gamma(1.0, 1.0, size=(rows, 3)).astype(dtype)
        table[0, 1] = 0.0
    else:
        table = random.normal(size=(rows, 3)).astype(dtype)
    table[rows // 2] = table[0]
    table.flags.writeable = False
    return table


def graphs(rows, random):
    """Return small graphs, with and without labels and directions, two of them equal."""
    made = []
    for _ in range(rows):
        n = int(random.integers(0, 6))
        ends = random.integers(0, n, size=(n, 2)) if n else []
        edges = sorted({(min(e), max(e)) for e in np.asarray(ends).tolist()})
        labels = random.choice(["C", "N"], size=n) if random.random() < 0.7 else None
        bonds = random.integers(1, 3, size=len(edges)) if random.random() < 0.5 else None
        weights = random.choice([0.5, 1.0], size=len(edges))
        made.append(Graph(edges, labels, bonds, weights, n, bool(random.random() < 0.3)))
    made[rows // 2] = made[0]
    return made


def trees(rows, random, depth=3):
    """Return small trees as nested tuples, two of them equal, some of one node."""

    def grow(depth):
        children = [grow(depth - 1) for _ in range(random.integers(0, 4) if depth else 0)]
        label = str(random.choice(["a", "b"]))
        return (label, *children) if children else label

    made = [grow(depth) for _ in range(rows)]
    made[rows // 2] = made[0]
    return made


def parts(kernel):
    """Yield a kernel and all kernels inside it."""
    yield kernel
    for value in kernel.get_params(deep=False).values():
        if hasattr(value, "get_params"):
            yield from parts(value)


def has_white(kernel):
    return any(isinstance(part, White) for part in parts(kernel))


def close(actual, expected, tolerance=1e-10):
    """Assert that two matrices agree relative to the largest entry."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * scale)
