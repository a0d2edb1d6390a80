"""Gaussian process classification: differences, scikit-learn, exact averages, bad input."""

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import expit
from sklearn import gaussian_process
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import kernels as theirs

from mercer import RBF, BagOfWords, GaussianProcessClassifier, Matern, load, save
from mercer.exceptions import InvalidParameter
from mercer.solvers.gp.laplace import logistic_mean

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (60, 2))
y = np.where(np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * RNG.standard_normal(60) > 0, "yes", "no")
NEW = RNG.uniform(-2, 2, (9, 2))
for array in (X, y, NEW):
    array.flags.writeable = False


@pytest.mark.parametrize(
    "kernel", [
        2.0 * RBF(length_scale=[0.7, 1.3]), Matern(nu=2.5, length_scale=0.9) + 0.5 * RBF(gamma=0.1),
    ],
    ids=str,
)  # fmt: skip
def test_gradient_is_that_of_differences(kernel):
    model = GaussianProcessClassifier(kernel, optimizer=None).fit(X, y)
    theta = np.log(list(kernel.free_parameters().values()))
    value, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    assert value == pytest.approx(model.log_marginal_likelihood_value_, abs=1e-8)
    for j in range(len(theta)):
        step = 1e-4 * np.eye(len(theta))[j]
        ends = [model.log_marginal_likelihood(theta + s * step) for s in (1, -1)]
        assert gradient[j] == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize(
    "kernel", [None, 1.0 * theirs.RBF(1.0), theirs.Matern([1.0, 1.0])], ids=str
)
def test_same_as_scikit_learn(kernel):
    ours = GaussianProcessClassifier(kernel).fit(X, y)
    reference = gaussian_process.GaussianProcessClassifier(kernel).fit(X, y)
    assert ours.log_marginal_likelihood_value_ == pytest.approx(
        reference.log_marginal_likelihood_value_, abs=1e-4
    )
    fixed = gaussian_process.GaussianProcessClassifier(
        None if kernel is None else ours.kernel_, optimizer=None
    ).fit(X, y)
    for a, b in zip(
        ours.latent_mean_and_variance(NEW), fixed.latent_mean_and_variance(NEW), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)
    # scikit-learn replaces σ by a sum of five error functions
    np.testing.assert_allclose(ours.predict_proba(NEW), fixed.predict_proba(NEW), atol=2e-4)
    assert (ours.predict(NEW) == fixed.predict(NEW)).all()


@pytest.mark.parametrize("mode", ["one_vs_rest", "one_vs_one"])
def test_several_classes(mode):
    A, species = load_iris(return_X_y=True)
    A, species = A[::2], species[::2]
    kernel = 5.0 * RBF(length_scale=1.0)
    ours = GaussianProcessClassifier(kernel, optimizer=None, multi_class=mode).fit(A, species)
    reference = gaussian_process.GaussianProcessClassifier(
        5.0 * theirs.RBF(1.0), optimizer=None, multi_class=mode
    ).fit(A, species)
    assert np.mean(ours.predict(A) == reference.predict(A)) > 0.97
    assert ours.log_marginal_likelihood_value_ == pytest.approx(
        reference.log_marginal_likelihood_value_
    )
    if mode == "one_vs_rest":
        np.testing.assert_allclose(ours.predict_proba(A), reference.predict_proba(A), atol=1e-3)
    else:
        with pytest.raises(ValueError, match="one_vs_rest"):
            ours.predict_proba(A)
    with pytest.raises(ValueError, match="binary"):
        ours.latent_mean_and_variance(A)


def test_averages_of_the_logistic_function_are_integrals():
    means = np.array([0.0, 1.0, -3.0, 10.0, 2.0])
    variances = np.array([0.0, 1.0, 4.0, 25.0, 400.0])
    found = logistic_mean(means, variances)
    for mean, variance, value in zip(means, variances, found, strict=True):
        expected = expit(mean)
        if variance > 0:
            normal = stats.norm(mean, np.sqrt(variance))
            ends = mean + 10 * np.sqrt(variance) * np.array([-1, 1])
            expected = integrate.quad(
                lambda f, n=normal: expit(f) * n.pdf(f), *ends, points=[0.0, mean], limit=200
            )[0]
        assert value == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("deviation", [0.0, 0.1, 0.5, 0.7, 1.0, 1.5, 3.0, 7.0])
def test_the_nodes_of_such_averages_are_as_many_as_it_takes(deviation):
    means, z = np.linspace(-6, 6, 25), np.linspace(-9, 9, 20_001)
    found = logistic_mean(means, np.full(25, deviation**2))
    weights = np.exp(-0.5 * z**2) / np.exp(-0.5 * z**2).sum()
    np.testing.assert_allclose(found, expit(means[:, None] + deviation * z) @ weights, atol=1e-12)


def test_texts():
    texts = ["good film", "bad film", "a good day", "a bad day", "bad bad", "good good"]
    model = GaussianProcessClassifier(2.0 * BagOfWords(), optimizer=None).fit(
        texts, [1, 0] * 2 + [0, 1]
    )
    good, bad = model.predict_proba(["good", "bad"])[:, 1]
    assert good > 0.55 > 0.45 > bad


@pytest.mark.parametrize(
    ("parameters", "targets", "message"),
    [
        ({}, np.zeros(60), "2 or more"),
        ({}, np.linspace(0, 1, 60), "Unknown label type"),
        ({"kernel": theirs.CompoundKernel([theirs.RBF()])}, y, "CompoundKernel"),
        ({"multi_class": "all"}, y, "multi_class"),
    ],
)
def test_bad_input(parameters, targets, message):
    with pytest.raises(ValueError, match=message):
        GaussianProcessClassifier(**parameters).fit(X, targets)


def test_theta_of_the_wrong_size():
    model = GaussianProcessClassifier(RBF(length_scale=1.0), optimizer=None).fit(X, y)
    with pytest.raises(ValueError, match="Shape of theta"):
        model.log_marginal_likelihood(np.zeros(3))
    with pytest.raises(InvalidParameter, match="no free parameter"):
        GaussianProcessClassifier(RBF(length_scale=1.0), fixed=["width"]).fit(X, y)


def test_a_saved_classifier_answers_the_same(tmp_path):
    A, species = load_iris(return_X_y=True)
    model = GaussianProcessClassifier(5.0 * RBF(length_scale=1.0), optimizer=None)
    model.fit(A[::3], species[::3])
    save(model, tmp_path / "classes.mercer")
    again = load(tmp_path / "classes.mercer")
    np.testing.assert_array_equal(again.predict_proba(A), model.predict_proba(A))
    assert again.kernel_ == model.kernel_


def test_modes_are_certified_and_a_time_limit_is_kept():
    random = np.random.default_rng(0)
    X = random.standard_normal((50, 2))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
    kernel = 1.0 * RBF(length_scale=1.0)
    for labels in (y > 0, y):
        model = GaussianProcessClassifier(kernel).fit(X, labels)
        assert 0 <= model.certificate_.relative_gap + 1e-12 < 1e-5
        assert "mode of a Gaussian process" in model.certificate_.problem
    with pytest.warns(ConvergenceWarning, match="time limit"):
        model = GaussianProcessClassifier(kernel, time_limit=1e-9).fit(X, y)
    assert model.predict(X).shape == (50,)


def parabola_rows():
    """Eight rows on both sides of x₁ = 5 − x₀²/2, as scikit-learn's gallery has them."""
    rows = np.array([
        [-4.616, -6.001], [4.105, 5.328], [0.0, -0.5], [-6.173, -4.698],
        [1.311, -6.933], [-5.038, 3.106], [-2.876, 6.743], [5.213, 4.264],
    ])  # fmt: skip
    return rows, 5 - rows[:, 1] - rows[:, 0] ** 2 / 2 > 0


def test_an_ascent_is_not_led_to_a_constant_answer():
    rows, inside = parabola_rows()
    kernel = theirs.ConstantKernel(0.1, (1e-5, np.inf)) * theirs.DotProduct(sigma_0=0.1) ** 2
    ours = GaussianProcessClassifier(kernel).fit(rows, inside)
    reference = gaussian_process.GaussianProcessClassifier(kernel).fit(rows, inside)
    # A constant probability of one half has the evidence 8 log ½ = −5.545.
    assert ours.log_marginal_likelihood_value_ > -5.33
    best = reference.log_marginal_likelihood_value_
    assert ours.log_marginal_likelihood_value_ == pytest.approx(best, abs=1e-5)
    np.testing.assert_allclose(ours.predict_proba(rows), reference.predict_proba(rows), atol=2e-3)
    assert np.ptp(ours.predict_proba(rows)[:, 1]) > 0.5


def xor_rows(count):
    rows = np.random.RandomState(0).randn(count, 2)
    return rows, np.logical_xor(rows[:, 0] > 0, rows[:, 1] > 0)


@pytest.mark.parametrize("theta", [[10.18, 0.3], [11.42, 0.44], [11.5, -0.5]], ids=str)
def test_modes_and_gradients_under_large_kernel_values(theta):
    """Whole Newton steps overshoot here: the evidence was −279 and −77 instead of −25 and −24."""
    rows, crossed = xor_rows(200)
    kernel = np.exp(theta[0]) * RBF(length_scale=float(np.exp(theta[1])))
    model = GaussianProcessClassifier(kernel, optimizer=None).fit(rows, crossed)
    latent = model.latents_[0]
    # At the mode K⁻¹f = y − π.
    K, f = kernel(rows), latent.mode
    np.testing.assert_allclose(K @ latent.weights, f, rtol=1e-5, atol=1e-5)
    W = np.diag(expit(f) * expit(-f))
    naive = (
        -latent.weights @ f / 2
        - np.logaddexp(0, np.where(crossed, -f, f)).sum()
        - np.linalg.slogdet(np.eye(200) + np.sqrt(W) @ K @ np.sqrt(W))[1] / 2
    )
    assert model.log_marginal_likelihood_value_ == pytest.approx(naive, rel=1e-6)
    at = np.log(list(kernel.free_parameters().values()))
    _, gradient = model.log_marginal_likelihood(at, eval_gradient=True)
    for j, step in enumerate(1e-4 * np.eye(2)):
        ends = [model.log_marginal_likelihood(at + s * step) for s in (1, -1)]
        assert gradient[j] == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize(
    ("kernel", "least"),
    [(1.0 * theirs.RBF(1.15), -23.68), (1.0 * theirs.DotProduct() ** 2, -9.28)],
    ids=str,
)
def test_crossed_classes_reach_a_higher_evidence_than_scikit_learn_does(kernel, least):
    rows, crossed = xor_rows(200)  # scikit-learn reaches −24.24 and −9.284
    with pytest.warns(ConvergenceWarning, match="close to the specified upper bound"):
        model = GaussianProcessClassifier(kernel).fit(rows, crossed)
    assert model.log_marginal_likelihood_value_ > least
    assert model.score(rows, crossed) > 0.98
