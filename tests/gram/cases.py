"""Kernels, plain and composite, and data on which Gram matrices are compared with themselves."""

import numpy as np
from hypothesis import strategies as st

from mercer import (
    RBF,
    Chi2,
    Constant,
    Cosine,
    Delta,
    FunctionKernel,
    Intersection,
    Laplacian,
    Linear,
    Matern,
    Monomials,
    NegativeDistance,
    Overlap,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    White,
)


def dot(x, z):
    return float(np.dot(x, z))


LEAVES = (
    RBF(gamma=0.4),
    RBF(length_scale=(0.7, 1.1, 2.0)),
    Laplacian(0.3),
    Matern(nu=1.5, length_scale=1.2),
    RationalQuadratic(alpha=0.7, gamma=0.2),
    Periodic(1.7, 0.9),
    Linear(),
    Polynomial(3, 0.5, 1.0),
    Cosine(),
    Sigmoid(0.3, -0.2),
    NegativeDistance(),
    Monomials(2),
)
COMPOSITES = (
    (Linear() * RBF(gamma=0.3)) + Laplacian(0.2),
    Linear() * (RBF(gamma=0.3) + Constant(0.5)),
    (2.5 * Linear() + 1.0).normalized() * RBF(sigma=1.5),
    (Polynomial(2) + RBF(gamma=0.2)).normalized() ** 2,
    (0.1 * (Linear() + Matern(nu=2.5, sigma=1.0))).exp(),
    (RBF(gamma=0.5) * Cosine()).power_series([0.5, 1.0, 0.25]),
    RBF(gamma=0.4).on(0, 2) * Linear().on(1) + Laplacian(0.1).on(1, 2),
    (RBF(gamma=0.4).on(0) + Linear().on([1, 2])).normalized(),
    RBF(gamma=0.2) + 0.3 * White(0.5),
    FunctionKernel(dot) + RBF(gamma=0.3),
)
KERNELS = LEAVES + COMPOSITES
POSITIVE_WITH_FEATURES = (
    Linear(),
    Polynomial(2),
    Cosine(),
    Monomials(3),
    Constant(2.0) + 0.5 * Linear(),
    Linear() * Polynomial(2, 0.5, 1.0),
    (Linear() + 1.0) ** 3,
    (Linear().on(0) + Polynomial(2).on(1, 2)).normalized(),
    Linear().power_series([1.0, 0.5, 0.0, 0.25]),
)


def vectors(n, d=3, seed=0, dtype=np.float64):
    """Return rows of numbers, read-only, with a pair of equal rows where there are three."""
    X = np.random.default_rng((seed, n, d)).normal(size=(n, d)).astype(dtype)
    if n >= 3:
        X[2] = X[0]
    X.flags.writeable = False
    return X


def close(dtype):
    """Return the tolerances of values that were computed along different ways."""
    # Some statistics (White, FunctionKernel) mix types; float32 values cancel in distances.
    return {"rtol": 2e-4, "atol": 2e-4} if dtype == np.float32 else {"rtol": 1e-9, "atol": 1e-10}


kernels = st.sampled_from(KERNELS)
sizes = st.integers(1, 70)
dtypes = st.sampled_from([np.float64, np.float32])


def table_columns(n=60, seed=3):
    """Return the columns of a table with numbers, histograms and categories."""
    random = np.random.default_rng(seed)
    return {
        "age": random.normal(50, 10, n),
        "bmi": random.normal(25, 4, n),
        "city": random.choice(["Oslo", "Rome", "Lima"], n).tolist(),
        "smokes": random.choice(["yes", "no"], n).tolist(),
        "h1": random.random(n),
        "h2": random.random(n),
    }


TABLE_KERNELS = (
    RBF(length_scale=12.0).on("age") * Delta().on("city") + 0.5 * Overlap().on("city", "smokes"),
    (RBF().on("age", "bmi") + Chi2(0.5).on("h1", "h2")).normalized() * (1.0 + Delta().on("smokes")),
    (0.01 * Linear().on("age") + Intersection().on("h1", "h2")) ** 2 + White(0.3),
)
