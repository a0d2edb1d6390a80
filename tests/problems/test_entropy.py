"""Entropy, kurtosis, negentropy and mutual information against closed forms and SciPy."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import digamma

from mercer import InvalidInput, InvalidParameter
from mercer.independence import (
    amari_distance,
    differential_entropy,
    kurtosis,
    mutual_information,
    negentropy,
)

LAWS = {
    "Gaussian": stats.norm(2, 3), "Laplace": stats.laplace(1, 2), "uniform": stats.uniform(0, 5),
    "exponential": stats.expon(), "logistic": stats.logistic(),
}  # fmt: skip


@pytest.mark.parametrize("name", LAWS)
def test_entropy_of_known_laws(name):
    law = LAWS[name]
    x = law.rvs(size=20_000, random_state=0)
    assert differential_entropy(x) == pytest.approx(float(law.entropy()), abs=0.03)
    gaussian = 0.5 * np.log(2 * np.pi * np.e * law.var())
    assert negentropy(x) == pytest.approx(gaussian - float(law.entropy()), abs=0.04)
    assert kurtosis(x) == pytest.approx(stats.kurtosis(x), rel=1e-9)


def test_entropy_of_a_gaussian_in_three_dimensions():
    cov = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 1.5]])
    X = np.random.default_rng(0).multivariate_normal(np.zeros(3), cov, size=8000)
    true = stats.multivariate_normal(cov=cov).entropy()
    assert differential_entropy(X) == pytest.approx(true, abs=0.06)


def test_entropy_follows_scale_and_place():
    x = np.random.default_rng(1).normal(size=500)
    assert differential_entropy(3 * x + 7) == pytest.approx(differential_entropy(x) + np.log(3))
    assert negentropy(3 * x + 7) == pytest.approx(negentropy(x), abs=1e-9)


@pytest.mark.parametrize("method", ["cumulants", "logcosh", "exp"])
def test_approximations_are_right_near_a_gaussian(method):
    # A Gaussian with a little of the fourth Hermite polynomial: J = κ²/48 to first order.
    law = stats.t(60)
    x = law.ppf((np.arange(400_000) + 0.5) / 400_000)
    true = 0.5 * np.log(2 * np.pi * np.e * law.var()) - float(law.entropy())
    assert negentropy(x, method) == pytest.approx(true, rel=0.25)
    gaussian = stats.norm.ppf((np.arange(400_000) + 0.5) / 400_000)
    assert negentropy(gaussian, method) < true / 100


def test_kurtosis_of_columns():
    X = np.random.default_rng(2).laplace(size=(1000, 3))
    np.testing.assert_allclose(kurtosis(X), stats.kurtosis(X))


def naive_mutual_information(X, Y, k):
    """The formula of Kraskov, Stögbauer and Grassberger, with all distances written out."""
    X, Y = (stats.zscore(Z.reshape(len(Z), -1)) for Z in (X, Y))
    dx, dy = (np.abs(Z[:, None] - Z).max(axis=2) for Z in (X, Y))
    radius = np.sort(np.maximum(dx, dy), axis=1)[:, k]  # the first is the row itself
    nx, ny = ((d < radius[:, None]).sum(axis=1) - 1 for d in (dx, dy))
    return digamma(k) + digamma(len(X)) - np.mean(digamma(nx + 1) + digamma(ny + 1))


@pytest.mark.parametrize("k", [1, 3, 8])
@pytest.mark.parametrize("columns", [(1, 1), (2, 1), (2, 3)])
def test_mutual_information_is_the_formula(k, columns):
    random = np.random.default_rng(k)
    X, Y = (random.laplace(size=(300, d)) for d in columns)
    Y[:, 0] += X[:, 0]
    true = naive_mutual_information(X, Y, k)
    assert mutual_information(X, Y, neighbours=k) == pytest.approx(true, abs=1e-12)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_mutual_information_of_gaussians(rho):
    random = np.random.default_rng(3)
    samples = random.multivariate_normal([0, 0], [[1, rho], [rho, 1]], size=(40, 1000))
    found = [mutual_information(*sample.T) for sample in samples]
    error = np.std(found, ddof=1) / np.sqrt(len(found))
    assert error < 0.01
    # The mean of the samples is the truth, up to three of its own deviations.
    assert np.mean(found) == pytest.approx(-0.5 * np.log(1 - rho**2), abs=3 * error)
    X, Y = samples[0].T
    assert mutual_information(X, Y) == pytest.approx(mutual_information(Y, X), abs=1e-12)
    assert mutual_information(5 * X + 1, Y) == pytest.approx(mutual_information(X, Y), abs=1e-9)


def test_mutual_information_of_vectors_sees_what_correlation_does_not():
    random = np.random.default_rng(4)
    X = random.normal(size=(2000, 2))
    radius = np.linalg.norm(X, axis=1) + 0.1 * random.normal(size=2000)
    assert mutual_information(X, radius) > 0.5
    assert abs(mutual_information(X, random.normal(size=2000))) < 0.05


def test_amari_distance():
    random = np.random.default_rng(5)
    A = random.normal(size=(4, 4))
    P = np.diag([2.0, -1.0, 0.5, 3.0])[[2, 0, 3, 1]]
    assert amari_distance(P @ np.linalg.inv(A), A) == pytest.approx(0, abs=1e-12)
    assert amari_distance(np.ones((4, 4)), np.eye(4)) == pytest.approx(1)
    assert amari_distance([[2.0]], [[3.0]]) == 0
    for bad in (np.ones((2, 3)), np.full((4, 4), np.nan), np.zeros((4, 4))):
        with pytest.raises(InvalidInput, match="amari"):
            amari_distance(bad, np.eye(bad.shape[1]))


def test_bad_input():
    x = np.arange(10.0)
    with pytest.raises(InvalidInput, match="not finite"):
        differential_entropy([1, 2, 3, np.inf, 5])
    with pytest.raises(InvalidInput, match="no density"):
        differential_entropy(np.repeat(x, 5))
    with pytest.raises(InvalidInput, match="constant"):
        kurtosis(np.ones(10))
    with pytest.raises(InvalidInput, match="four or more"):
        kurtosis([1.0, 2.0])
    with pytest.raises(InvalidInput, match="one column"):
        negentropy(np.random.default_rng(0).normal(size=(10, 2)))
    with pytest.raises(InvalidParameter, match="method"):
        negentropy(x, "parzen")
    with pytest.raises(InvalidInput, match="same objects"):
        mutual_information(x, x[:5])
    for k in (0, 10, 1.5):
        with pytest.raises(InvalidParameter, match="neighbours"):
            mutual_information(x, x, neighbours=k)


# ---- several components --------------------------------------------------------------------------


@pytest.mark.parametrize("d", [2, 3, 4])
def test_several_gaussian_components_have_the_closed_form(d):
    # Of Gaussians I = −½ log det of the correlations.
    random = np.random.default_rng(d)
    root = random.normal(size=(d, d))
    covariance = root @ root.T + np.eye(d)
    X = random.multivariate_normal(np.zeros(d), covariance, size=6000)
    scale = np.sqrt(np.diagonal(covariance))
    exact = -0.5 * np.linalg.slogdet(covariance / np.outer(scale, scale))[1]
    assert mutual_information(X) == pytest.approx(exact, abs=0.05)
    assert mutual_information(*X.T) == mutual_information(X)


def test_the_chain_rule_and_groups_of_columns():
    random = np.random.default_rng(0)
    x = random.normal(size=5000)
    y = x + random.normal(size=5000)
    z = x + y + random.normal(size=5000)
    # I(x; y; z) = I(x; y) + I((x, y); z)
    both = mutual_information(x, y) + mutual_information(np.column_stack([x, y]), z)
    assert mutual_information(x, y, z) == pytest.approx(both, abs=0.06)
    free = random.normal(size=(4000, 4))
    assert abs(mutual_information(free)) < 0.05


def test_components_that_do_not_go_together():
    x = np.random.default_rng(0).normal(size=30)
    with pytest.raises(InvalidInput, match="two components or more"):
        mutual_information(x)
    with pytest.raises(InvalidInput, match="two components or more"):
        mutual_information()
    with pytest.raises(InvalidInput, match="30 rows and sample 2 has 29"):
        mutual_information(x, x, x[:29])


@pytest.mark.parametrize("shape", ["skew", "flat"])
def test_approximations_by_loops(shape):
    """Each of them written out, of a skew sample and of a flat one."""
    rng = np.random.default_rng(5)
    x = rng.exponential(size=60) if shape == "skew" else rng.uniform(size=60)
    z = stats.zscore(x).tolist()
    third, fourth = (sum(v**k for v in z) / 60 for k in (3, 4))
    assert negentropy(x, "cumulants") == pytest.approx(third**2 / 12 + (fourth - 3) ** 2 / 48)
    nu = stats.norm.ppf((np.arange(100_000) + 0.5) / 100_000)
    for method, f in (
        ("logcosh", lambda v: np.log(np.cosh(v))),
        ("exp", lambda v: np.exp(-(v**2) / 2)),
    ):
        values, square = f(nu), (nu**2 - 1) / np.sqrt(2)
        rest = values - values.mean()
        rest -= (rest * square).mean() * square
        mean = sum(float(f(np.float64(v))) for v in z) / 60
        expected = (mean - values.mean()) ** 2 / (2 * (rest**2).mean())
        assert negentropy(x, method) == pytest.approx(expected, rel=0.01)


def test_four_rows_are_enough_and_three_are_not():
    x = np.array([0.0, 1.0, 3.0, 4.0])
    assert kurtosis(x) == pytest.approx(stats.kurtosis(x))
    with pytest.raises(InvalidInput, match="four or more"):
        kurtosis(x[:3])


def test_lost_sources_and_small_numbers():
    lost = np.array([[1.0, 2.0], [0.0, 0.0]])
    for wrong in (lost, lost.T):
        with pytest.raises(InvalidInput, match="a source is lost"):
            amari_distance(np.eye(2), wrong)
    x = np.random.default_rng(0).normal(size=50)
    for size in (1e-9, 1e9):  # what is constant is a matter of shares
        assert kurtosis(size * x) == pytest.approx(kurtosis(x))
        with pytest.raises(InvalidInput, match="constant"):
            kurtosis(np.full(50, size))
