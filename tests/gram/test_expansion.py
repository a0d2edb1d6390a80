"""Functions of the reproducing-kernel Hilbert space."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose

from mercer import (
    RBF,
    Cosine,
    Delta,
    Expansion,
    Gram,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    White,
)
from mercer.exceptions import InvalidInput
from tests.gram.cases import POSITIVE_WITH_FEATURES, vectors

POSITIVE = (
    RBF(gamma=0.4),
    Laplacian(0.3),
    Matern(nu=1.5, sigma=1.2),
    Polynomial(2, 0.5, 1.0),
    Linear() * RBF(gamma=0.2) + Laplacian(0.1),
    (Linear() + 0.5 * RBF(gamma=0.3)).normalized(),
    RBF(gamma=0.4).on(0) * Linear().on(1, 2) + Cosine(),
)
kernels = st.sampled_from(POSITIVE)
seeds = st.integers(0, 2**32 - 1)


def random_function(kernel, seed, size=7, outputs=None):
    random = np.random.default_rng(seed)
    shape = size if outputs is None else (size, outputs)
    return Expansion(kernel, random.normal(size=(size, 3)), random.normal(size=shape))


@settings(max_examples=30, deadline=None)
@given(kernel=kernels, seed=seeds)
def test_reproducing_property(kernel, seed):
    """⟨f, k(x, ·)⟩ = f(x)."""
    f = random_function(kernel, seed)
    X = np.random.default_rng(seed + 1).normal(size=(4, 3))
    values = f(X)
    naive = [
        sum(a * kernel(x[None], z[None])[0, 0] for a, z in zip(f.coefficients, Z, strict=True))
        for x in X
        for Z in [np.random.default_rng(seed).normal(size=(7, 3))]
    ]
    assert_allclose(values, naive, rtol=1e-8, atol=1e-8)
    for x, value in zip(X, values, strict=True):
        section = Expansion(kernel, x[None], [1.0])
        assert f.inner(section) == pytest.approx(value, rel=1e-8, abs=1e-8)
        assert section.norm() == pytest.approx(np.sqrt(kernel.diag(x[None])[0]), rel=1e-8, abs=1e-8)


@settings(max_examples=30, deadline=None)
@given(kernel=kernels, seed=seeds)
def test_evaluation_is_bounded(kernel, seed):
    """∣f(x)∣ ≤ ‖f‖ √k(x, x)."""
    f = random_function(kernel, seed)
    X = np.random.default_rng(seed + 1).normal(size=(20, 3))
    assert (np.abs(f(X)) <= f.norm() * np.sqrt(kernel.diag(X)) + 1e-7).all()
    # ... with equality for f = k(x, ·) at x.
    section = Expansion(kernel, X[:1], [-2.0])
    bound = section.norm() * np.sqrt(kernel.diag(X[:1]))
    assert_allclose(np.abs(section(X[:1])), bound, rtol=1e-7, atol=1e-7)


@settings(max_examples=30, deadline=None)
@given(kernel=kernels, seed=seeds, a=st.floats(-3, 3), b=st.floats(-3, 3))
def test_a_vector_space_with_an_inner_product(kernel, seed, a, b):
    f, g, h = (random_function(kernel, seed + i, size=4 + i) for i in range(3))
    X = np.random.default_rng(seed + 5).normal(size=(6, 3))
    near = {"rel": 1e-7, "abs": 1e-6}
    assert_allclose((a * f + g * b)(X), a * f(X) + b * g(X), rtol=1e-8, atol=1e-7)
    assert_allclose((f - g)(X), f(X) - g(X), rtol=1e-8, atol=1e-8)
    assert_allclose((-f)(X), -f(X), rtol=1e-12)
    assert f.inner(g) == pytest.approx(g.inner(f), **near)
    assert (a * f + b * g).inner(h) == pytest.approx(a * f.inner(h) + b * g.inner(h), **near)
    assert f.norm() ** 2 == pytest.approx(f.inner(f), **near)
    # Parallelogram law, Cauchy–Schwarz, the triangle.
    parallelogram = (f + g).norm() ** 2 + (f - g).norm() ** 2
    assert parallelogram == pytest.approx(2 * f.norm() ** 2 + 2 * g.norm() ** 2, **near)
    assert abs(f.inner(g)) <= f.norm() * g.norm() + 1e-7
    assert f.distance(h) <= f.distance(g) + g.distance(h) + 1e-6
    assert f.distance(g) == pytest.approx((f - g).norm(), **near)
    assert f.distance(f) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("kernel", POSITIVE, ids=repr)
def test_matrix_formulas(kernel):
    X, Z = vectors(12), vectors(9, seed=1)
    random = np.random.default_rng(0)
    A, B = random.normal(size=(12, 3)), random.normal(size=(9, 3))
    f, g = Expansion(kernel, X, A), Expansion(kernel, Z, B)
    new = vectors(5, seed=2)
    assert f(new).shape == (5, 3)
    assert_allclose(f(new), kernel(new, X) @ A, rtol=1e-9, atol=1e-9)
    assert_allclose(f.inner(g), A.T @ kernel(X, Z) @ B, rtol=1e-8, atol=1e-8)
    assert_allclose(f.norm(), np.sqrt(np.diagonal(A.T @ kernel(X) @ A)), rtol=1e-8)
    for j in range(3):
        single = Expansion(kernel, X, A[:, j])
        assert single.norm() == pytest.approx(f.norm()[j])
        assert isinstance(single.norm(), float)
        assert isinstance(single.inner(single), float)
        other = Expansion(kernel, Z, B[:, j])
        assert f.distance(g)[j] == pytest.approx(single.distance(other), rel=1e-7)
    assert len(f) == 12
    assert len(f + g) == 21
    assert len(f + f) == 12  # the same points: coefficients are added
    assert_allclose((f + f).coefficients, 2 * A)


@pytest.mark.parametrize("kernel", POSITIVE_WITH_FEATURES, ids=repr)
def test_against_explicit_features(kernel):
    X, Z = vectors(15), vectors(10, seed=1)
    phi, psi = np.asarray(kernel.features(X)), np.asarray(kernel.features(Z))
    a, b = np.linspace(-1, 1, 15), np.linspace(0, 2, 10)
    f, g = Expansion(kernel, X, a), Expansion(kernel, Z, b)
    w, u = phi.T @ a, psi.T @ b
    assert_allclose(f(Z), psi @ w, rtol=1e-9, atol=1e-9)
    assert f.inner(g) == pytest.approx(w @ u)
    assert f.norm() == pytest.approx(np.linalg.norm(w))
    assert f.distance(g) == pytest.approx(np.linalg.norm(w - u))
    # The distance of two points in feature space is that of their sections.
    expected = np.linalg.norm(phi[:, None] - psi, axis=2)
    # Distances are roots of differences: rounding of 1e-16 becomes 1e-8 of the scale.
    assert_allclose(kernel.distance(X, Z), expected, rtol=1e-6, atol=1e-7 * expected.max())
    own = np.linalg.norm(phi[:, None] - phi, axis=2)
    assert_allclose(kernel.distance(X), own, rtol=1e-6, atol=1e-7 * own.max())
    assert not np.diagonal(kernel.distance(X)).any()
    sections = [Expansion(kernel, side, [1.0]) for side in (X[:1], Z[:1])]
    assert sections[0].distance(sections[1]) == pytest.approx(expected[0, 0], rel=1e-6)


def test_feature_distance_of_a_gaussian():
    X = vectors(20)
    squared = ((X[:, None] - X) ** 2).sum(axis=2)
    expected = np.sqrt(2 - 2 * np.exp(-0.4 * squared))
    assert_allclose(RBF(gamma=0.4).distance(X), expected, rtol=1e-6, atol=1e-7)
    assert RBF(gamma=0.4).distance(X.astype(np.float32)).dtype == np.float32


def test_white_noise_keeps_its_objects():
    """Adding a function to itself over joined points is not mistaken for other noise."""
    X = vectors(6)
    kernel = RBF(gamma=0.4) + White(0.5)
    f = Expansion(kernel, X, np.ones(6))
    assert (f + f).norm() == pytest.approx(2 * f.norm())
    again = Expansion(kernel, f.points.take([0, 1, 2]), np.ones(3))
    assert f.inner(again) == pytest.approx(kernel(X)[:, :3].sum())
    assert f.distance(Expansion(kernel, X, np.ones(6))) == pytest.approx(np.sqrt(2 * 6 * 0.5))
    assert (f + again).norm() ** 2 == pytest.approx(
        f.norm() ** 2 + 2 * f.inner(again) + again.norm() ** 2
    )


def test_heuristics_are_settled_once():
    X = vectors(20)
    f = Expansion(RBF(), X, np.ones(20))
    assert f.kernel == RBF().resolve(RBF().encode(X))
    assert_allclose(f(X[:3]), f.kernel(X[:3], X).sum(axis=1))
    assert (f + f).kernel == f.kernel


def test_encoded_points_are_taken_as_they_are():
    gram = Gram(RBF(gamma=0.4), vectors(20))
    f = Expansion(gram.kernel, gram.points, np.ones(20))
    assert f.points is gram.points
    assert f.norm() ** 2 == pytest.approx(gram.dense().sum())


def test_types():
    X = vectors(8, dtype=np.float32)
    f = Expansion(RBF(gamma=0.4), X, np.ones(8, dtype=np.float32))
    assert f(X).dtype == np.float32
    assert Expansion(RBF(gamma=0.4), X, [1] * 8).coefficients.dtype == np.float64
    assert Expansion(RBF(gamma=0.4), X, [True] * 8).coefficients.tolist() == [1.0] * 8


def test_categories():
    f = Expansion(Delta(), [["a"], ["b"], ["a"]], [1.0, 2.0, 4.0])
    assert f([["a"], ["b"], ["c"]]).tolist() == [5.0, 2.0, 0.0]
    assert f.norm() == pytest.approx(np.sqrt(25 + 4))


@pytest.mark.parametrize(
    "bad",
    [np.ones(5), np.ones((6, 2, 2)), 1.0, [1, 2, 3, 4, 5, np.nan], [np.inf] * 6, ["a"] * 6,
     [1j] * 6, [None] * 6],
    ids=str,
)  # fmt: skip
def test_bad_coefficients_are_refused(bad):
    with pytest.raises(InvalidInput, match="coefficients"):
        Expansion(RBF(gamma=0.4), vectors(6), bad)


def test_other_spaces_are_refused():
    X = vectors(6)
    f = Expansion(RBF(gamma=0.4), X, np.ones(6))
    g = Expansion(RBF(gamma=0.5), X, np.ones(6))
    for mix in (f.inner, f.distance, lambda other: f + other, lambda other: f - other):
        with pytest.raises(InvalidInput, match=r"different spaces.*gamma=0\.4.*gamma=0\.5"):
            mix(g)
        with pytest.raises(InvalidInput, match="different numbers of values"):
            mix(Expansion(RBF(gamma=0.4), X, np.ones((6, 2))))
        with pytest.raises(InvalidInput, match="columns"):
            mix(Expansion(RBF(gamma=0.4), vectors(6, 5), np.ones(6)))
    with pytest.raises(InvalidInput, match="columns"):
        f(vectors(3, 2))


def test_only_numbers_and_functions_combine():
    f = Expansion(RBF(gamma=0.4), vectors(6), np.ones(6))
    for wrong in (lambda: f + 1, lambda: f - 1, lambda: f * f, lambda: 1 + f, lambda: f * "2",
                  lambda: np.ones(6) * f):  # fmt: skip
        with pytest.raises(TypeError):
            wrong()
    assert (np.float64(2) * f).norm() == pytest.approx(2 * f.norm())
    assert (np.float32(2) * f).norm() == pytest.approx((f * 2).norm())


def test_repr():
    f = Expansion(RBF(gamma=0.4), vectors(6), np.ones((6, 2)))
    assert repr(f) == "Expansion(RBF(gamma=0.4), 6 points, 2 outputs)"
    g = Expansion(RBF(gamma=0.4), vectors(6), np.ones(6))
    assert repr(g) == "Expansion(RBF(gamma=0.4), 6 points)"


def test_inner_products_of_single_functions_are_plain_numbers():
    X = np.random.default_rng(0).normal(size=(5, 2))
    one = Expansion(RBF(gamma=0.5), X, np.ones(5))
    assert type(one.inner(one)) is float
    assert type(one.norm()) is float
    several = Expansion(RBF(gamma=0.5), X, np.ones((5, 2)))
    assert several.inner(several).shape == (2, 2)
    assert several.norm().shape == (2,)
