"""Gaussian mixtures: against scikit-learn from equal starts, against sums, and their ascent."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn import mixture
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from mercer import GaussianMixture, InvalidInput, InvalidParameter, load_data
from mercer.generative.expectation_maximisation import Ascent
from tests.kernels.cases import close
from tests.oracles.naive_fisher import naive_log_likelihood, naive_scores

KINDS = ("full", "tied", "diag", "spherical")


@pytest.fixture(scope="module")
def X():
    random = np.random.default_rng(0)
    parts = [random.normal(size=(60, 3)), random.normal(size=(90, 3)) * [1, 2, 0.5] + 3]
    X = np.vstack([*parts, random.normal(size=(50, 3)) - [4, 0, 2]])
    X.flags.writeable = False
    return X


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("start", ["kmeans", "random", "given"])
def test_equal_starts_equal_scikit_learn(X, kind, start):
    options = {"covariance_type": kind, "tol": 1e-7, "max_iter": 1000, "random_state": 3}
    if start == "given":
        options |= {"means_init": X[[0, 80, 180]], "weights_init": [0.2, 0.5, 0.3]}
    else:
        options["init_params"] = start
    ours = GaussianMixture(3, reg_covar=1e-9, **options).fit(X)
    theirs = mixture.GaussianMixture(3, reg_covar=1e-9, **options).fit(X)
    assert ours.n_iter_ == theirs.n_iter_
    assert ours.converged_
    names = ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_")
    for name in names:
        close(getattr(ours, name), getattr(theirs, name), 1e-5)
    close(ours.score_samples(X), theirs.score_samples(X), 1e-5)
    close(ours.predict_proba(X), theirs.predict_proba(X), 1e-5)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    for name in ("bic", "aic", "score"):
        assert getattr(ours, name)(X) == pytest.approx(getattr(theirs, name)(X), rel=1e-6)
    assert ours.lower_bound_ == pytest.approx(theirs.lower_bound_, abs=1e-9)
    assert ours.ascent_.is_monotone
    assert len(ours.trace_) == ours.n_iter_ + 1
    assert ours.trace_[-1] == pytest.approx(ours.score(X), abs=1e-12)


@given(st.integers(0, 10_000), st.sampled_from(KINDS), st.integers(1, 4))
def test_every_step_raises_the_likelihood(seed, kind, components):
    random = np.random.default_rng(seed)
    X = random.normal(size=(int(random.integers(components + 1, 30)), 2))
    X[::3] *= 5
    X[1::4] = X[0]  # components may collapse on equal rows: the floor holds them
    model = GaussianMixture(
        components, covariance_type=kind, reg_covar=1e-3, init_params="random", tol=0.0,
        max_iter=15, random_state=seed,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    assert model.ascent_.is_monotone, model.ascent_.largest_drop
    assert model.ascent_.gain >= -1e-9
    smallest = (
        np.linalg.eigvalsh(model.covariances_) if kind in ("full", "tied") else model.covariances_
    )
    assert smallest.min() >= 1e-3 * (1 - 1e-9)


def test_a_descent_would_be_seen():
    fallen = Ascent(np.array([-3.0, -2.0, -2.1, -1.9]))
    assert not fallen.is_monotone
    assert fallen.largest_drop == pytest.approx(0.1)
    assert fallen.gain == pytest.approx(0.2)
    assert Ascent(np.array([-3.0, -2.0, -2.0 - 1e-12])).is_monotone


def test_more_starts_are_never_worse(X):
    scores = [
        GaussianMixture(4, init_params="random", n_init=n, random_state=0, max_iter=500)
        .fit(X)
        .score(X)
        for n in (1, 4)
    ]
    assert scores[1] >= scores[0]


@pytest.mark.parametrize("kind", KINDS)
def test_density_is_the_sum_over_components(X, kind):
    model = GaussianMixture(2, covariance_type=kind, random_state=0).fit(X)
    expected = [naive_log_likelihood(model, x) for x in X[:5]]
    close(model.score_samples(X[:5]), expected, 1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weights", ["softmax", "plain"])
def test_scores_are_derivatives(X, kind, weights):
    model = GaussianMixture(2, covariance_type=kind, random_state=0).fit(X)
    expected = np.array([naive_scores(model, x, weights) for x in X[:6]])
    close(model.fisher_scores(X[:6], weights), expected, 1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_scores_add_up_to_zero_at_the_optimum(X, kind):
    model = GaussianMixture(2, covariance_type=kind, tol=1e-13, max_iter=5000, random_state=0)
    scores = model.fit(X).fisher_scores(X)
    assert np.abs(scores.mean(axis=0)).max() < 1e-4


@pytest.mark.parametrize("kind", KINDS)
def test_information_of_one_gaussian(kind):
    random = np.random.default_rng(1)
    A = np.array([[2.0, 0.5], [0.0, 1.0]])
    X = random.normal(size=(500, 2)) @ A
    model = GaussianMixture(covariance_type=kind).fit(X)
    X, _ = model.set_params(random_state=0).sample(50_000)
    scores = model.fisher_scores(X)
    close(model.fisher_information(), scores.T @ scores / len(X), 0.05)
    assert GaussianMixture(2, random_state=0).fit(X[:100]).fisher_information() is None


def test_samples_have_the_moments_of_the_mixture():
    model = GaussianMixture.of([0.3, 0.7], [[0.0, 0.0], [5.0, 1.0]], [[1.0, 4.0], [0.5, 0.25]],
                               "diag").set_params(random_state=0)  # fmt: skip
    X, labels = model.sample(40_000)
    assert np.mean(labels == 1) == pytest.approx(0.7, abs=0.01)
    close(X[labels == 1].mean(axis=0), [5.0, 1.0], 0.02)
    close(X[labels == 0].std(axis=0), [1.0, 2.0], 0.03)
    with pytest.raises(InvalidParameter, match="n_samples=0"):
        model.sample(0)


def test_warm_start_goes_on(X):
    model = GaussianMixture(3, max_iter=2, tol=1e-9, warm_start=True, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter=2 steps"):
        first = model.fit(X).score(X)
    with pytest.warns(ConvergenceWarning):
        assert model.fit(X).score(X) > first


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_single_steps_see_that_they_have_converged(X):
    """As scikit-learn's: the gain of a warm start counts from the fit before."""
    ours, theirs = (
        kind(3, max_iter=1, warm_start=True, random_state=0)
        for kind in (GaussianMixture, mixture.GaussianMixture)
    )
    fits = [next(n for n in range(1, 100) if m.fit(X).converged_) for m in (ours, theirs)]
    assert fits[0] == fits[1] > 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(5))
def test_the_best_start_has_the_greatest_lower_bound(X, seed):
    few = GaussianMixture(2, n_init=1, max_iter=1, random_state=seed).fit(X)
    many = GaussianMixture(2, n_init=8, max_iter=1, random_state=seed).fit(X)
    assert many.lower_bound_ >= few.lower_bound_


def test_real_data_prefer_more_than_one_component():
    X = load_data("heart").X[:, [0, 3, 7]]
    one, two = (GaussianMixture(k, random_state=0).fit(X) for k in (1, 2))
    assert two.score(X) > one.score(X)


@pytest.mark.parametrize(
    ("model", "X", "message"),
    [
        (GaussianMixture(5), np.ones((3, 2)), "n_components=5 needs as many rows"),
        (GaussianMixture(2), [[1.0], [math.nan]], "NaN"),
        (GaussianMixture(2), [[1.0], [math.inf]], "infinity"),
        (GaussianMixture(0), np.ones((3, 2)), "n_components"),
        (GaussianMixture(covariance_type="round"), np.ones((3, 2)), "covariance_type"),
        (GaussianMixture(2, means_init=[[1.0]]), np.eye(4), "'means' should have the shape"),
        (GaussianMixture(2, weights_init=[[1.0]]), np.eye(4), "'weights' should have the shape"),
        (
            GaussianMixture(1, precisions_init=[np.ones((2, 2))]),
            np.eye(4)[:, :2],
            "'full precision' should be symmetric, positive-definite",
        ),
        (GaussianMixture(1, reg_covar=0.0), np.ones((4, 2)), "collapsed.*reg_covar"),
        (GaussianMixture(1), np.ones(3), "2D array"),
    ],
)
def test_what_cannot_be_fitted(model, X, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (([0.5, 0.4], [[0.0], [1.0]], [1.0, 1.0], "spherical"), "add up to 1"),
        (([1.0], [0.0], [1.0], "spherical"), "means has to be a table"),
        (([1.0], [[0.0]], [1.0], "round"), "covariance_type='round'"),
        (([1.0], [[0.0, 0.0]], [[1.0, -1.0]], "diag"), "positive definite"),
        (([1.0], [[0.0, 0.0]], [[[1.0, 2.0], [2.0, 1.0]]], "full"), "positive definite"),
        (([1.0], [[0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], "full"), r"shape \(1, 2, 2\)"),
    ],
)
def test_impossible_parameters(parameters, message):
    with pytest.raises(InvalidParameter, match=message):
        GaussianMixture.of(*parameters)


def test_before_the_fit_and_after():
    with pytest.raises(NotFittedError):
        GaussianMixture().score_samples([[0.0]])
    with pytest.raises(NotFittedError):
        GaussianMixture().ascent_  # noqa: B018
    model = GaussianMixture().fit(np.random.default_rng(0).normal(size=(9, 2)))
    with pytest.raises(ValueError, match="3 features"):
        model.predict(np.ones((2, 3)))
    assert issubclass(InvalidInput, ValueError)
