"""Gaussian process regression: densities, differences, coverage, scikit-learn, bad input."""

import warnings

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn import gaussian_process
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import kernels as theirs

from mercer import (
    GP,
    RBF,
    BagOfWords,
    Constant,
    GaussianBasis,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    Linear,
    Matern,
    Periodic,
    RationalQuadratic,
    White,
    certify,
    load,
    save,
)
from mercer.exceptions import InvalidInput, InvalidParameter
from tests.estimators.gp.coverage import covered

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (40, 2))
Y = np.c_[np.sin(2 * X[:, 0]) + 0.3 * X[:, 1], X[:, 0] ** 2] + 0.1 * RNG.standard_normal((40, 2))
y = Y[:, 0].copy()
NEW = RNG.uniform(-2, 2, (7, 2))
for array in (X, Y, y, NEW):
    array.flags.writeable = False

KERNELS = [
    1.5 * RBF(length_scale=[0.7, 1.3]) + White(0.1),
    Matern(nu=1.5, length_scale=0.8) * Constant(2.0) + White(0.2),
    RationalQuadratic(alpha=0.7, length_scale=1.2) + 0.3 * Linear() + White(0.1),
    (RBF(gamma=0.5).on(0) * RBF(sigma=2.0).on(1)) ** 2 + White(0.05),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("targets", [y, Y], ids=["one", "two"])
def test_evidence_is_the_density_and_its_gradient_that_of_differences(kernel, targets):
    noise = np.linspace(0.01, 0.1, len(y))
    model = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(X, targets)
    density = multivariate_normal(np.zeros(len(y)), kernel(X) + np.diag(noise))
    expected = density.logpdf(targets.T.reshape(-1, len(y))).sum()
    assert model.log_marginal_likelihood() == pytest.approx(expected, abs=1e-8)
    theta = np.log(list(kernel.free_parameters().values()))
    value, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    assert value == pytest.approx(expected, abs=1e-8)
    for j in range(len(theta)):
        step = 1e-5 * np.eye(len(theta))[j]
        ends = [model.log_marginal_likelihood(theta + s * step) for s in (1, -1)]
        assert gradient[j] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5, abs=1e-5)


def test_gradients_of_many_tiles_on_threads():
    random = np.random.default_rng(1)
    A = random.standard_normal((600, 3))
    b = np.sin(A[:, 0]) + 0.1 * random.standard_normal(600)
    kernel = 1.0 * RBF(length_scale=[1.0, 2.0, 3.0]) + White(0.1)
    model = GaussianProcessRegressor(kernel, optimizer=None).fit(A, b)
    theta = np.log(list(kernel.free_parameters().values()))
    _, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    K = kernel(A) + 1e-10 * np.eye(600)
    inverse = np.linalg.inv(K)
    M = np.outer(inverse @ b, inverse @ b) - inverse
    naive = [0.5 * np.sum(M * slope) for _, slope in kernel.gradients(A)]
    np.testing.assert_allclose(gradient, naive, rtol=1e-7)


PAIRS = [
    (None, None),
    (theirs.ConstantKernel(1.0) * theirs.RBF([1.0, 1.0]) + theirs.WhiteKernel(0.1),) * 2,
    (theirs.Matern(1.0, nu=2.5) + theirs.WhiteKernel(0.1),) * 2,
    (theirs.DotProduct(0.5) ** 2 + theirs.WhiteKernel(0.1),) * 2,
    (theirs.RationalQuadratic() + theirs.WhiteKernel(0.1, "fixed"),) * 2,
    (1.0 * RBF(length_scale=1.0) + White(0.1), 1.0 * theirs.RBF() + theirs.WhiteKernel(0.1)),
]


@pytest.mark.filterwarnings("ignore:.*(bound|did not converge|lbfgs)")
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize(("kernel", "other"), PAIRS, ids=lambda k: str(k))
def test_same_as_scikit_learn(kernel, other, normalize):
    options = {"alpha": 1e-3, "normalize_y": normalize}
    ours = GaussianProcessRegressor(kernel, **options).fit(X, Y)
    reference = gaussian_process.GaussianProcessRegressor(other, **options).fit(X, Y)
    theirs_value = reference.log_marginal_likelihood_value_
    assert ours.log_marginal_likelihood_value_ >= theirs_value - 1e-4 * abs(theirs_value)
    # At equal parameters all answers are equal.
    if other is not None and kernel is other:
        fixed = gaussian_process.GaussianProcessRegressor(
            ours.kernel_, optimizer=None, **options
        ).fit(X, Y)
        for option in ("return_std", "return_cov"):
            for a, b in zip(
                ours.predict(NEW, **{option: True}), fixed.predict(NEW, **{option: True}),
                strict=True,
            ):  # fmt: skip
                np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(ours.sample_y(NEW, 3), fixed.sample_y(NEW, 3), atol=1e-3)


@pytest.mark.filterwarnings("ignore:.*bound")
def test_periodic_kernels_of_one_column():
    A = np.linspace(0, 6, 40)[:, None]
    b = np.sin(2 * np.pi * A[:, 0] / 1.5)
    kernel = theirs.ExpSineSquared(1.0, 1.45, periodicity_bounds=(1, 2)) + theirs.WhiteKernel(1e-2)
    ours = GaussianProcessRegressor(kernel).fit(A, b)
    assert ours.kernel_.k1.periodicity == pytest.approx(1.5, rel=1e-2)
    mine = GaussianProcessRegressor(
        Periodic(1.45) + White(1e-2), bounds={"left__period": (1.0, 2.0)}
    ).fit(A, b)
    assert mine.theta_["left__period"] == pytest.approx(1.5, rel=1e-2)
    with pytest.raises(InvalidParameter, match="Periodic"):
        GaussianProcessRegressor(kernel).fit(X, y)


def test_leave_one_out_is_brute_force():
    kernel = 1.5 * RBF(length_scale=0.8) + White(0.05)
    model = GaussianProcessRegressor(kernel, alpha=0.01, optimizer=None).fit(X, y)
    closed = model.leave_one_out()
    for i in range(0, 40, 5):
        rest = np.delete(np.arange(40), i)
        without = GaussianProcessRegressor(kernel, alpha=0.01, optimizer=None).fit(X[rest], y[rest])
        mean, std = without.predict(X[i : i + 1], return_std=True)
        assert closed.mean[i] == pytest.approx(mean[0], abs=1e-8)
        # alpha is noise of observations, which predict leaves away
        assert closed.std[i] ** 2 == pytest.approx(std[0] ** 2 + 0.01, abs=1e-8)
    scaled = GaussianProcessRegressor(kernel, alpha=0.01, optimizer=None, normalize_y=True)
    again = scaled.fit(X, 100 * y + 7).leave_one_out()
    other = scaled.fit(X, y).leave_one_out()
    np.testing.assert_allclose(again.mean, 100 * other.mean + 7, rtol=1e-9)
    np.testing.assert_allclose(again.std, 100 * other.std, rtol=1e-9)


def test_intervals_cover_what_they_promise():
    # A thousand sets are the work of the script.
    assert 0.93 < covered(12) < 0.97


def test_gp_in_three_lines():
    random = np.random.default_rng(3)
    A = random.uniform(-3, 3, (120, 3)) * [1, 100, 1]
    b = 1e4 + 500 * (np.sin(2 * A[:, 0]) + A[:, 1] / 100) + 50 * random.standard_normal(120)
    model = GP(A, b)
    assert model.score(A, b) > 0.97
    # the third column says nothing, and the model knows
    assert model.flat_parameters() == ["left__kernel__length_scale[2]"]
    noise = np.sqrt(model.theta_["right__noise"]) * model._y_train_std
    assert noise == pytest.approx(50, rel=0.2)
    inside = model.leave_one_out()
    low, high = inside.interval(0.9)
    assert 0.83 < np.mean((low < b) & (b < high)) < 0.97


def test_gp_of_texts():
    texts = ["good film", "bad film", "a good day", "a bad day", "bad", "good good", "good", "day"]
    stars = np.array([4.0, 1.0, 5.0, 2.0, 1.0, 5.0, 4.5, 3.0])
    model = GP(texts, stars, 1.0 * BagOfWords())
    good, bad = model.predict(["good film today", "bad film today"])
    assert good > bad + 1
    with pytest.raises(InvalidInput, match=r"GP\(X, y, kernel\)"):
        GP(texts, stars)


@pytest.mark.parametrize("noise", [0.0, 1e-8, 0.1])
@pytest.mark.parametrize("targets", [y, Y], ids=["one", "two"])
def test_the_mean_is_certified(targets, noise):
    model = GaussianProcessRegressor(KERNELS[0], alpha=noise, optimizer=None, normalize_y=True)
    model.fit(X, targets)
    for certificate in (model.certificate_, certify(model, X, targets)):
        assert certificate.relative_gap < 1e-9
        assert certificate.stationarity < 1e-9
    if noise == 0.1:
        K = KERNELS[0](X)
        scaled = model.y_train_.reshape(len(X), -1)
        # The value of the problem at its optimum, ½yᵀ(K + noise)⁻¹y.
        solved = np.linalg.solve(K + noise * np.eye(len(X)), scaled)
        assert model.certificate_.primal == pytest.approx(0.5 * np.sum(scaled * solved))
        model.alpha_ = model.alpha_ * 1.1
        assert certify(model, X, targets).relative_gap > 1e-4
    with pytest.raises(InvalidInput, match="fitted on"):
        certify(model, X[:-1], targets[:-1])


def test_what_is_fixed_stays_and_bounds_hold():
    kernel = 1.0 * RBF(length_scale=1.0) + White(0.1)
    model = GaussianProcessRegressor(kernel, fixed=["right__noise"]).fit(X, y)
    assert model.kernel_.right.noise == 0.1
    with pytest.warns(ConvergenceWarning, match="ended at its bound 0.5; the evidence still rises"):
        model = GaussianProcessRegressor(
            kernel, fixed=["right__noise"], bounds={"left__kernel__length_scale": (0.1, 0.5)}
        ).fit(X, y)
    assert model.theta_["left__kernel__length_scale"] == pytest.approx(0.5)
    with pytest.raises(InvalidParameter, match="no free parameter"):
        GaussianProcessRegressor(kernel, fixed=["noise"]).fit(X, y)


def test_flat_directions_are_told():
    kernel = 1.0 * RBF(length_scale=[1.0, 1.0, 1.0]) + White(0.1)
    A = np.c_[X, np.full(40, 5.0)]
    model = GaussianProcessRegressor(kernel).fit(A, y)
    assert model.flat_parameters() == ["left__kernel__length_scale[2]"]
    at = 100 * np.eye(3)[1] + 1.0
    far = 1.0 * RBF(length_scale=list(at)) + White(0.1)
    with pytest.warns(ConvergenceWarning, match=r"length_scale\[1\] ended.*(flat|rises)"):
        GaussianProcessRegressor(far, bounds={"left__kernel__length_scale[1]": (101, 1e3)}).fit(
            A, y
        )


def test_more_starts_are_never_worse():
    kernel = 1.0 * RBF(length_scale=1.0) + White(1e-3)
    last = -np.inf
    for starts in (0, 2, 4):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = GaussianProcessRegressor(
                kernel, n_restarts_optimizer=starts, random_state=0
            ).fit(X, y)
        assert model.log_marginal_likelihood_value_ >= last - 1e-6
        last = model.log_marginal_likelihood_value_


def test_prior_before_fit_and_samples_after():
    kernel = 2.0 * RBF(length_scale=1.0)
    prior = GaussianProcessRegressor(kernel)
    mean, covariance = prior.predict(NEW, return_cov=True)
    assert not mean.any()
    np.testing.assert_allclose(covariance, kernel(NEW))
    model = GaussianProcessRegressor(kernel, alpha=0.01, optimizer=None).fit(X, y)
    draws = model.sample_y(NEW, 20_000, random_state=0)
    mean, covariance = model.predict(NEW, return_cov=True)
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=0.02)
    np.testing.assert_allclose(np.cov(draws), covariance, atol=0.02)
    joint = model.distribution(NEW)
    np.testing.assert_allclose(joint.mean, mean)
    np.testing.assert_allclose(joint.covariance, covariance, atol=1e-10)


def test_singular_matrices_take_jitter_and_say_so():
    twice = np.vstack([X, X])
    with pytest.warns(UserWarning, match="was added to its diagonal"):
        model = GaussianProcessRegressor(RBF(length_scale=1.0), alpha=0.0, optimizer=None).fit(
            twice, np.r_[y, y]
        )
    assert 0 < model.jitter_ < 1e-6
    np.testing.assert_allclose(model.predict(X), y, atol=1e-2)
    assert GaussianProcessRegressor(KERNELS[0], optimizer=None).fit(X, y).jitter_ == 0


def test_constant_targets():
    model = GP(X, np.full(len(y), 3.0), n_init=1)
    np.testing.assert_allclose(model.predict(NEW), 3.0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": np.full(40, -1.0)}, "≥ 0"),
        ({"alpha": np.ones(3)}, "same number"),
        ({"kernel": "rbf"}, "kernel"),
        ({"n_targets": 2}, "n_targets"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        GaussianProcessRegressor(**parameters).fit(X, y)


def test_a_saved_process_answers_the_same(tmp_path):
    model = GaussianProcessRegressor(KERNELS[0], normalize_y=True).fit(X, Y)
    save(model, tmp_path / "process.mercer")
    again = load(tmp_path / "process.mercer")
    for a, b in zip(
        again.predict(NEW, return_std=True), model.predict(NEW, return_std=True), strict=True
    ):
        np.testing.assert_array_equal(a, b)
    theta = np.zeros(len(model.theta_))
    assert again.log_marginal_likelihood(theta) == model.log_marginal_likelihood(theta)
    assert again.theta_ == model.theta_
    single = GP(X, y, n_init=1)
    save(single, tmp_path / "single.mercer")
    np.testing.assert_array_equal(
        load(tmp_path / "single.mercer").predict(NEW), single.predict(NEW)
    )


def test_predict_asks_for_one_thing():
    with pytest.raises(RuntimeError, match="At most one"):
        GaussianProcessRegressor().predict(X, return_std=True, return_cov=True)


def test_a_time_limit_gives_the_best_parameters_until_then():
    random = np.random.default_rng(0)
    X = random.uniform(-2, 2, (40, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * random.standard_normal(40)
    kernel = RBF(length_scale=[1.0, 1.0]) + White(0.1)
    whole = GaussianProcessRegressor(kernel).fit(X, y)
    for more in ({}, {"approximation": 10}):
        with pytest.warns(ConvergenceWarning, match="time limit"):
            model = GaussianProcessRegressor(kernel, time_limit=1e-9, **more).fit(X, y)
        assert np.isfinite(model.log_marginal_likelihood_value_)
        assert model.log_marginal_likelihood_value_ < whole.log_marginal_likelihood_value_
        assert model.certificate_.relative_gap < 1e-8
        assert model.predict(X).shape == (40,)
    enough = GaussianProcessRegressor(kernel, time_limit=1e6).fit(X, y)
    assert enough.log_marginal_likelihood_value_ == whole.log_marginal_likelihood_value_
    with pytest.raises(ValueError, match="'time_limit' parameter"):
        GaussianProcessRegressor(kernel, time_limit=0).fit(X, y)


@pytest.mark.parametrize("n_targets", [1, 2])
def test_few_new_rows_are_predicted_as_many_are(n_targets):
    random = np.random.default_rng(5)
    X, Y = random.standard_normal((40, 3)), random.standard_normal((40, n_targets))
    kernel = 2.0 * RBF(length_scale=[1.0, 2.0, 0.5]) + White(0.1)
    model = GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True).fit(X, Y)
    new = random.standard_normal((7, 3))
    mean, deviation = model.predict(new, return_std=True)
    # Rows that are not contiguous, and covariances, go the general way.
    other_mean, other_deviation = model.predict(np.asfortranarray(new), return_std=True)
    np.testing.assert_allclose(mean, other_mean, rtol=1e-10)
    np.testing.assert_allclose(deviation, other_deviation, rtol=1e-10)
    _, covariance = model.predict(new, return_cov=True)
    variances = np.einsum("ii...->i...", covariance)
    np.testing.assert_allclose(deviation**2, variances, rtol=1e-10)
    np.testing.assert_array_equal(model.predict(new), mean)


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (2.0 * GaussianBasis([[0.0], [1.0]], 0.7), "kernel__sigma"),
        (GaussianBasis([[0.0], [1.0]], 0.7), "sigma"),
    ],
    ids=["scaled", "plain"],
)
def test_parameters_that_cannot_be_learnt_are_named(kernel, name):
    objects = np.linspace(0, 1, 6)[:, None]
    targets = np.array([0.0, 1.0, 0.5, 0.1, 0.9, 0.4])
    for kind, y in (
        (GaussianProcessRegressor, targets),
        (GaussianProcessClassifier, targets > 0.4),
    ):
        parameters = {"alpha": 0.1} if kind is GaussianProcessRegressor else {}
        bounds = {"value": (0.5, 4.0)}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            kind(kernel, bounds=bounds, **parameters).fit(objects, y)
            said = [str(one.message) for one in caught if "stay as they are" in str(one.message)]
            assert len(said) == 1
            assert said[0].startswith(f"{kind.__name__}: {name} of ")
            assert f"fixed=['{name}']" in said[0]
            caught.clear()
            kind(kernel, bounds=bounds, fixed=[name], **parameters).fit(objects, y)
            kind(kernel, optimizer=None, **parameters).fit(objects, y)
            assert not [one for one in caught if "stay as they are" in str(one.message)]


class Letters(theirs.GenericKernelMixin, theirs.Kernel):
    """A kernel of one's own, written for scikit-learn: how often the letters of words agree."""

    def __init__(self, alike=0.5, alike_bounds=(1e-5, 1.0)):
        self.alike, self.alike_bounds = alike, alike_bounds

    @property
    def hyperparameter_alike(self):
        return theirs.Hyperparameter("alike", "numeric", self.alike_bounds)

    def __call__(self, X, Y=None, eval_gradient=False):
        value = {True: 1.0, False: self.alike}
        return np.array(
            [[sum(value[a == b] for a in x for b in y) for y in (X if Y is None else Y)] for x in X]
        )

    def diag(self, X):
        return np.diagonal(self(X))

    def is_stationary(self):
        return False


def test_kernels_of_ones_own_for_scikit_learn_are_taken_as_they_are():
    words, y = ["A", "B", "CA"], np.array([1.0, 2.0, 4.0])
    fixed = Letters(alike_bounds="fixed")
    ours = GaussianProcessRegressor(fixed).fit(words, y)
    other = gaussian_process.GaussianProcessRegressor(fixed).fit(words, y)
    np.testing.assert_allclose(ours.predict(["AB", "C"]), other.predict(["AB", "C"]), rtol=1e-6)
    assert isinstance(ours.kernel_, Letters)
    with pytest.warns(UserWarning, match=r"k2__alike of .* not learnt"):
        mixed = GaussianProcessRegressor(theirs.WhiteKernel(0.1) + Letters()).fit(words, y)
    assert mixed.kernel_.k2.alike == 0.5
    assert mixed.kernel_.k1.noise_level != 0.1


def test_a_kernel_that_mercer_lacks_is_taken_as_it_is():
    kernel = theirs.PairwiseKernel(metric="laplacian", gamma=0.5)
    reference = gaussian_process.GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None)
    with pytest.warns(UserWarning, match="stay (what|as) they are"):
        model = GaussianProcessRegressor(kernel, alpha=0.1).fit(X, y)
    expected = reference.fit(X, y).predict(X)
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-9)


def test_one_length_scale_in_a_list_is_that_of_all_columns():
    """As in scikit-learn, whose example with irises writes it so."""
    kernel = 1.0 * theirs.RBF([1.0])
    model = GaussianProcessRegressor(kernel, alpha=0.1).fit(X, y)
    other = gaussian_process.GaussianProcessRegressor(kernel, alpha=0.1).fit(X, y)
    np.testing.assert_allclose(model.kernel_.theta, other.kernel_.theta, atol=1e-3)


def test_the_evidence_at_the_parameters_of_the_kernel():
    model = GaussianProcessRegressor(alpha=0.1).fit(X, y)
    value = model.log_marginal_likelihood(model.kernel_.theta)
    assert value == pytest.approx(model.log_marginal_likelihood_value_)


def test_parameters_without_a_derivative_are_searched_in_one_call():
    random = np.random.default_rng(3)
    x = np.sort(random.uniform(0, 10, size=(60, 1)), axis=0)
    target = np.sin(x).ravel() + 0.05 * random.normal(size=60)

    def kernel(sigma):
        return 1.0 * GaussianBasis(np.arange(11.0)[:, None], sigma) + White(0.1)

    def evidence(sigma):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = GaussianProcessRegressor(kernel(sigma), normalize_y=True, alpha=1e-8)
            return model.fit(x, target).log_marginal_likelihood_value_

    found = GP(x, target, kernel(0.2), n_init=1)
    best = max(evidence(sigma) for sigma in np.geomspace(0.1, 10.0, 19))
    assert found.log_marginal_likelihood_value_ > best - 0.2
    assert evidence(0.2) < best - 30
    with pytest.warns(UserWarning, match=r"no derivative.*GP\(X, y, kernel\) search them"):
        GaussianProcessRegressor(kernel(0.2)).fit(x, target)
