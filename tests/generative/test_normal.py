"""Gaussians: against scipy, sampling, integrals, and laws that hold for all of them."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import integrate, stats

from mercer import Gaussian
from mercer.exceptions import InvalidInput, InvalidParameter, NotPositiveDefinite


def some(seed, d=3, rank=None):
    random = np.random.default_rng(seed)
    root = random.standard_normal((d, d if rank is None else rank))
    extra = 0.1 * np.eye(d) if rank is None else 0.0
    return Gaussian(random.standard_normal(d), root @ root.T + extra)


seeds = st.integers(0, 10**6)


@given(seeds)
def test_density_entropy_and_distance_are_scipys(seed):
    g = some(seed)
    X = np.random.default_rng(seed).standard_normal((5, 3))
    theirs = stats.multivariate_normal(g.mean, g.covariance)
    np.testing.assert_allclose(g.log_density(X), theirs.logpdf(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(g.density(X[0]), theirs.pdf(X[0]))
    assert g.entropy() == pytest.approx(theirs.entropy())
    inverse = np.linalg.inv(g.covariance)
    squares = np.einsum("ij,jk,ik->i", X - g.mean, inverse, X - g.mean)
    np.testing.assert_allclose(g.mahalanobis(X) ** 2, squares, rtol=1e-7)


@given(seeds)
def test_singular_covariances_are_scipys_too(seed):
    g = some(seed, d=4, rank=2)
    assert g.rank == 2
    inside = g.sample(3, seed)
    theirs = stats.multivariate_normal(g.mean, g.covariance, allow_singular=True)
    np.testing.assert_allclose(g.log_density(inside), theirs.logpdf(inside), rtol=1e-6, atol=1e-6)
    assert g.entropy() == pytest.approx(theirs.entropy(), rel=1e-6, abs=1e-6)
    outside = inside + np.linalg.svd(g.covariance)[0][:, -1]
    assert (g.log_density(outside) == -np.inf).all()
    assert (g.mahalanobis(outside) == np.inf).all()


@given(seeds)
def test_marginal_times_conditional_is_joint(seed):
    g = some(seed, d=4)
    x = np.random.default_rng(seed + 1).standard_normal(4)
    b, a = [2, 0], [1, 3]
    conditional = g.condition(b, x[b])
    joint = g.marginal(b).log_density(x[b]) + conditional.log_density(x[a])
    assert joint == pytest.approx(g.log_density(x), rel=1e-8, abs=1e-8)


@given(seeds)
def test_bayes_rule_of_a_linear_observation(seed):
    g = some(seed)
    random = np.random.default_rng(seed)
    A, b, y = random.standard_normal((2, 3)), random.standard_normal(2), random.standard_normal(2)
    noise = np.diag(random.uniform(0.1, 1, 2))
    found = g.observe(y, A, noise, b)
    # p(x) p(y | x) = p(y) p(x | y), at any x
    x = random.standard_normal(3)
    likelihood = Gaussian(A @ x + b, noise).log_density(y)
    left = g.log_density(x) + likelihood
    assert left == pytest.approx(found.log_evidence + found.posterior.log_density(x), rel=1e-7)
    precision = np.linalg.inv(g.covariance) + A.T @ np.linalg.inv(noise) @ A
    np.testing.assert_allclose(np.linalg.inv(found.posterior.covariance), precision, rtol=1e-6,
                               atol=1e-7)  # fmt: skip


@given(seeds)
def test_product_of_densities(seed):
    p, q = some(seed), some(seed + 1)
    x = np.random.default_rng(seed).standard_normal(3)
    product = p * q
    together = product.log_scale + product.gaussian.log_density(x)
    assert together == pytest.approx(p.log_density(x) + q.log_density(x), rel=1e-7, abs=1e-7)


@given(seeds)
def test_divergence(seed):
    p, q = some(seed), some(seed + 1)
    inverse = np.linalg.inv(q.covariance)
    step = q.mean - p.mean
    logs = np.linalg.slogdet(q.covariance)[1] - np.linalg.slogdet(p.covariance)[1]
    formula = 0.5 * (np.trace(inverse @ p.covariance) + step @ inverse @ step - 3 + logs)
    assert p.kl(q) == pytest.approx(formula, rel=1e-7)
    assert p.kl(p) == pytest.approx(0, abs=1e-10)


def test_divergence_is_an_integral_and_infinite_between_subspaces():
    p, q = Gaussian([0.3], [[0.5]]), Gaussian([-0.2], [[2.0]])

    def inner(x):
        return p.density([x]) * (p.log_density([x]) - q.log_density([x]))

    assert p.kl(q) == pytest.approx(integrate.quad(inner, -10, 10)[0])
    line = Gaussian([0.0, 0.0], [[1.0, 1.0], [1.0, 1.0]])
    assert line.kl(Gaussian([0.0, 0.0])) == math.inf
    assert Gaussian([0.0, 0.0]).kl(line) == math.inf
    assert line.kl(Gaussian([0.0, 1.0], line.covariance)) == math.inf
    assert line.kl(Gaussian([1.0, 1.0], 2 * line.covariance)) == pytest.approx(
        0.5 * (0.5 + 0.5 - 1 + math.log(2))
    )


def test_samples_have_the_moments():
    g = some(3)
    X = g.sample(200_000, 0)
    again = Gaussian.estimate(X)
    np.testing.assert_allclose(again.mean, g.mean, atol=0.02)
    np.testing.assert_allclose(again.covariance, g.covariance, atol=0.15)
    np.testing.assert_allclose(again.covariance, np.cov(X.T, bias=True))
    np.testing.assert_allclose(Gaussian.estimate(X[:5], unbiased=True).covariance, np.cov(X[:5].T))
    assert (g.sample(4, 7) == g.sample(4, 7)).all()


def test_affine_images_and_sums():
    g = some(4)
    A = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0], [1.0, 3.0, -1.0]])
    image = g.affine(A, [1.0, 0.0, 0.0])
    np.testing.assert_allclose(image.covariance, A @ g.covariance @ A.T)
    assert image.rank == 2
    total = g + some(5)
    np.testing.assert_allclose(total.covariance, g.covariance + some(5).covariance)


def test_axes_and_contour():
    g = Gaussian([1.0, 2.0], [[4.0, 0.0], [0.0, 1.0]])
    axes = g.principal_axes()
    np.testing.assert_allclose(axes.variances, [4, 1])
    np.testing.assert_allclose(np.abs(axes.directions), np.eye(2))
    ring = g.contour(0.9)
    distance = g.mahalanobis(ring)
    np.testing.assert_allclose(stats.chi2(2).cdf(distance**2), 0.9)
    np.testing.assert_allclose(g.factor @ g.factor.T, g.covariance)


def test_conditioning_on_what_is_certain():
    line = Gaussian([0.0, 1.0], [[1.0, 2.0], [2.0, 4.0]])
    after = line.condition([0], [3.0])
    assert after.mean == pytest.approx([7.0])
    assert after.rank == 0
    assert after.log_density([7.0]) == 0
    fixed = Gaussian([1.0, 2.0], [[0.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(fixed.condition([0], [1.0]).covariance, [[1.0]])
    with pytest.raises(InvalidInput, match="probability 0"):
        fixed.condition([0], [1.5])
    with pytest.raises(InvalidInput, match="probability 0"):
        Gaussian([0.0], 0.0) * Gaussian([1.0], 0.0)


def test_units_do_not_make_a_covariance_singular():
    g = Gaussian([0.0, 0.0], [[1e-12, 0.0], [0.0, 1e12]])
    assert g.rank == 2
    assert g.entropy() == pytest.approx(1 + math.log(2 * math.pi))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Gaussian([0, 0], [[1, 2], [2, 1]]), NotPositiveDefinite, "eigenvalue"),
        (lambda: Gaussian([0, 0], [[1, 0.5], [0, 1]]), InvalidParameter, "symmetric"),
        (lambda: Gaussian([0, np.nan]), InvalidParameter, "finite"),
        (lambda: Gaussian([0, 0], np.eye(3)), InvalidParameter, "2 × 2"),
        (lambda: Gaussian.estimate(np.ones((1, 2)), unbiased=True), InvalidInput, "two"),
        (lambda: some(0).marginal([3]), InvalidParameter, "0 to 2"),
        (lambda: some(0).marginal([1, 1]), InvalidParameter, "different"),
        (lambda: some(0).condition([0, 1, 2], np.zeros(3)), InvalidParameter, "left"),
        (lambda: some(0).condition([0], [1.0, 2.0]), InvalidInput, "1 finite"),
        (lambda: some(0).log_density(np.zeros(2)), InvalidInput, "rows of 3"),
        (lambda: some(0) + some(0, d=2), InvalidInput, "go together"),
        (lambda: some(0).contour(), InvalidParameter, "2 coordinates"),
        (lambda: some(0).affine(np.ones((2, 2))), InvalidParameter, "3 columns"),
    ],
)
def test_bad_input(make, error, message):
    with pytest.raises(error, match=message):
        make()


# ---- precision -----------------------------------------------------------------------------------


def test_the_precision_and_its_blocks_are_those_of_the_inverse():
    random = np.random.default_rng(0)
    root = random.normal(size=(5, 5))
    g = Gaussian(random.normal(size=5), root @ root.T)
    Lambda = np.linalg.inv(root @ root.T)
    np.testing.assert_allclose(g.precision, Lambda, rtol=1e-9)
    b, a = [3, 1], [0, 2, 4]
    blocks = g.precision_blocks(b)
    np.testing.assert_allclose(blocks.aa, Lambda[np.ix_(a, a)], rtol=1e-9)
    np.testing.assert_allclose(blocks.ab, Lambda[np.ix_(a, b)], rtol=1e-9)
    np.testing.assert_allclose(blocks.ba, blocks.ab.T)
    np.testing.assert_allclose(blocks.bb, Lambda[np.ix_(b, b)], rtol=1e-9)
    parts = g.covariance_blocks(b)
    np.testing.assert_array_equal(parts.ab, g.covariance[np.ix_(a, b)])
    # The inverse by blocks (Schur): Λaa = (Σaa − ΣabΣbb⁻¹Σba)⁻¹.
    schur = parts.aa - parts.ab @ np.linalg.solve(parts.bb, parts.ba)
    np.testing.assert_allclose(np.linalg.inv(blocks.aa), schur, rtol=1e-8)
    # What is left given x_b, from the precision alone.
    x = random.normal(size=2)
    given = g.condition(b, x)
    mean = g.mean[a] - np.linalg.solve(blocks.aa, blocks.ab @ (x - g.mean[b]))
    np.testing.assert_allclose(given.mean, mean, rtol=1e-8)
    np.testing.assert_allclose(given.covariance, np.linalg.inv(blocks.aa), rtol=1e-8)


def test_a_chain_has_zeros_in_its_precision():
    # x₃ depends on x₁ through x₂ alone.
    g = Gaussian(np.zeros(3), [[1.0, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 1.0]])
    assert abs(g.precision[0, 2]) < 1e-12


def test_a_singular_covariance_has_no_precision():
    g = Gaussian([0.0, 0.0], np.ones((2, 2)))
    with pytest.raises(NotPositiveDefinite, match="singular, of rank 1 in 2 coordinates"):
        _ = g.precision
    with pytest.raises(InvalidParameter, match="coordinates"):
        Gaussian([0.0, 0.0]).precision_blocks([5])
