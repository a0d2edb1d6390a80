"""Gaussian processes through landmarks, beside exact ones."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    RBF,
    Constant,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    InvalidParameter,
    Linear,
    Matern,
    NotPositiveDefinite,
    Nystrom,
    RationalQuadratic,
    WeisfeilerLehman,
    White,
    certify,
    load,
    load_data,
    read_graphs,
    save,
)
from mercer.landmarks.basis import LandmarkBasis
from mercer.landmarks.choose import choose_landmarks
from mercer.landmarks.landmark_evidence import LandmarkEvidence, without_noise
from tests.estimators.cases import regression

KERNEL = 1.5 * RBF(length_scale=(1.2, 0.8)) + White(0.02)


def plane(n=120, seed=0):
    random = np.random.default_rng(seed)
    X = random.uniform(-3, 3, size=(n, 2))
    return X, np.sin(X[:, 0]) * np.cos(X[:, 1]) + 0.1 * random.normal(size=n)


def diabetes():
    data = load_data("diabetes")
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    return X, np.asarray(data.y, dtype=float)


@parametrize_with_checks(
    [GaussianProcessRegressor(alpha=1e-2, optimizer=None, approximation=1)],
    expected_failed_checks=lambda _: {"check_regressors_train": "one landmark learns too little"},
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "kernel",
    [
        KERNEL,
        1.5 * RBF(length_scale=0.9),
        0.5
        * Matern(nu=2.5, length_scale=(0.8, 2.0))
        * RationalQuadratic(alpha=1.2, length_scale=1.1)
        + 0.3 * White(0.4),
        Constant(0.7) * Linear() + 0.5 * RBF(length_scale=0.7) * (RBF(length_scale=2.0) + White()),
    ],
    ids=str,
)
def test_the_gradient_is_that_of_finite_differences(kernel):
    X, y = plane(60)
    points = kernel.encode(X)
    landmarks = choose_landmarks(without_noise(kernel), points, 15).points
    names = list(kernel.free_parameters())
    noise = np.random.default_rng(1).uniform(0.05, 0.2, size=60)
    evidence = LandmarkEvidence(kernel, points, landmarks, names, np.column_stack([y, y**2]), noise)
    theta = np.log(list(kernel.free_parameters().values()))
    value, slope = evidence.value_and_gradient(theta)
    assert value == evidence.value(theta)
    step = 1e-5
    steps = step * np.eye(len(theta))
    numeric = [(evidence.value(theta + e) - evidence.value(theta - e)) / (2 * step) for e in steps]
    np.testing.assert_allclose(slope, numeric, rtol=1e-5, atol=1e-5)


def test_the_bound_by_dense_linear_algebra():
    X, y = plane(50)
    points = KERNEL.encode(X)
    landmarks = choose_landmarks(without_noise(KERNEL), points, 12).points
    evidence = LandmarkEvidence(KERNEL, points, landmarks, [], y[:, None], np.full(50, 0.01))
    signal = 1.5 * RBF(length_scale=(1.2, 0.8))
    K, across, square = signal(X), signal(X, landmarks), signal(landmarks)
    Q = across @ np.linalg.solve(square, across.T)
    noise = 0.03

    def density(A):
        return -0.5 * (y @ np.linalg.solve(A, y) + np.linalg.slogdet(2 * np.pi * A)[1])

    lower, upper = evidence.ends(np.empty(0))
    expected = density(Q + noise * np.eye(50)) - np.trace(K - Q) / (2 * noise)
    assert lower == pytest.approx(expected, rel=1e-10)
    assert lower <= density(K + noise * np.eye(50)) <= upper


def test_all_rows_as_landmarks_give_the_exact_process():
    X, y = plane()
    Y = np.column_stack([y, y**2])
    new = np.random.default_rng(1).uniform(-5, 5, size=(30, 2))
    exact = GaussianProcessRegressor(KERNEL, normalize_y=True).fit(X, Y)
    whole = GaussianProcessRegressor(
        exact.kernel_, normalize_y=True, optimizer=None, approximation=len(X)
    ).fit(X, Y)
    for flag in ("return_std", "return_cov"):
        for mine, theirs in zip(
            whole.predict(new, **{flag: True}), exact.predict(new, **{flag: True}), strict=True
        ):
            np.testing.assert_allclose(mine, theirs, atol=1e-7)
    lower, upper = whole.evidence_bounds_
    assert lower == pytest.approx(exact.log_marginal_likelihood_value_, abs=1e-6)
    assert upper == pytest.approx(lower, abs=1e-3)
    left, right = whole.leave_one_out(), exact.leave_one_out()
    np.testing.assert_allclose(left.mean, right.mean, atol=1e-7)
    np.testing.assert_allclose(left.std, right.std, atol=1e-7)
    np.testing.assert_allclose(whole.alpha_, exact.alpha_, atol=1e-5)


@pytest.mark.parametrize("method", ["pivoted", "uniform", "leverage", "kmeans"])
def test_bounds_hold_and_close_on_real_data(method):
    X, y = diabetes()
    kernel = 0.6 * RBF(length_scale=5.0) + White(0.5)
    fixed = GaussianProcessRegressor(kernel, normalize_y=True, optimizer=None)
    exact = fixed.fit(X, y)
    widths = []
    for count in (5, 20, 80):
        model = clone(fixed).set_params(approximation=Nystrom(count, method)).fit(X, y)
        lower, upper = model.evidence_bounds_
        assert lower <= exact.log_marginal_likelihood_value_ + 1e-9 <= upper + 1e-6
        widths.append(upper - lower)
        apart = model.certificate_.dual - exact.certificate_.dual
        assert -1e-8 <= apart <= model.certificate_.approximation_cost + 1e-8
        assert abs(model.certificate_.relative_gap) < 1e-10
        assert model.residual_trace_ >= 0
    assert widths[2] < widths[1] < widths[0]
    judged = certify(model, X, y)
    assert judged.problem == "mean of a Gaussian process, Nyström with 80 landmarks"
    assert judged.dual == pytest.approx(model.certificate_.dual, rel=1e-10)
    assert np.sqrt(np.mean((model.predict(X) - exact.predict(X)) ** 2)) < 0.03 * y.std()


def test_parameters_are_learnt():
    X, y = plane(300)
    exact = GaussianProcessRegressor(KERNEL).fit(X, y)
    model = GaussianProcessRegressor(KERNEL, approximation=60).fit(X, y)
    # At its top the bound is at most the evidence there, which is at most the evidence's own top.
    assert model.log_marginal_likelihood_value_ <= exact.log_marginal_likelihood_value_ + 1e-6
    assert model.log_marginal_likelihood_value_ > exact.log_marginal_likelihood_value_ - 3
    for name, value in exact.theta_.items():
        assert model.theta_[name] == pytest.approx(value, rel=0.25)
    new = plane(100, seed=5)[0]
    np.testing.assert_allclose(model.predict(new), exact.predict(new), atol=0.05)
    theta = np.log(list(model.theta_.values()))
    assert model.log_marginal_likelihood(theta) == pytest.approx(
        model.log_marginal_likelihood_value_, rel=1e-9
    )
    _, slope = model.log_marginal_likelihood(theta, eval_gradient=True)
    assert np.abs(slope).max() < 0.1
    assert model.flat_parameters() == []


def test_variances_do_not_collapse():
    X, y = regression(80)
    kernel = 2.0 * RBF(length_scale=1.0) + White(0.05)
    model = GaussianProcessRegressor(kernel, optimizer=None, approximation=10).fit(X, y)
    _, far = model.predict(X[:3] + 1e3, return_std=True)
    np.testing.assert_allclose(far**2, 2.05, rtol=1e-6)
    # Nowhere does it claim to know what no landmark tells, nor the noise.
    new = np.vstack([X, X + 0.5, X - 2.0])
    _, std = model.predict(new, return_std=True)
    basis = LandmarkBasis(2.0 * RBF(length_scale=1.0), model._posterior.approximation.points)
    assert (std**2 > basis.residual(RBF().encode(new)) + 0.05 - 1e-9).all()
    assert model.sample_y(new[:4], 3).shape == (4, 3)
    assert model.distribution(new[:4]).mean.shape == (4,)


def test_molecules_and_model_files(tmp_path):
    data = read_graphs("solubility")
    graphs, y = list(data.graphs[:250]), np.asarray(data.target, dtype=float)[:250]
    kernel = 1.0 * WeisfeilerLehman(2).normalized() + White(0.1)
    machine = GaussianProcessRegressor(kernel, normalize_y=True)
    exact = machine.fit(graphs[:200], y[:200]).score(graphs[200:], y[200:])
    model = clone(machine).set_params(approximation=Nystrom(170, "leverage"))
    model.fit(graphs[:200], y[:200])
    assert model.score(graphs[200:], y[200:]) > exact - 0.1 > 0.1
    save(model, tmp_path / "process.mercer")
    again = load(tmp_path / "process.mercer")
    for mine, theirs in zip(
        again.predict(graphs[200:], return_std=True),
        model.predict(graphs[200:], return_std=True),
        strict=True,
    ):
        np.testing.assert_array_equal(mine, theirs)
    assert again.evidence_bounds_ == model.evidence_bounds_
    np.testing.assert_array_equal(again.leave_one_out().std, model.leave_one_out().std)
    plain = again.set_params(approximation=None, optimizer=None).fit(graphs[:50], y[:50])
    assert not hasattr(plain, "evidence_bounds_")
    assert plain.L_.shape == (50, 50)


@pytest.mark.parametrize("method", ["pivoted", "kmeans"])
def test_the_mean_as_a_sum_over_rows(method):
    X, y = plane(60)
    model = GaussianProcessRegressor(
        KERNEL, optimizer=None, normalize_y=True, approximation=Nystrom(20, method)
    ).fit(X, y)
    columns, mean = model.expansion_of_rows()
    new = plane(10, seed=3)[0]
    if method == "kmeans":
        assert not columns.any()  # centres are no rows
    else:
        assert np.count_nonzero(columns) == 20
        np.testing.assert_allclose(
            model.predict(new), (KERNEL(new, X) @ columns + mean)[:, 0], atol=1e-9
        )


def test_bad_input():
    X, y = plane(30)
    with pytest.raises(NotPositiveDefinite, match="needs noise: raise alpha, or add White"):
        GaussianProcessRegressor(RBF(gamma=1.0), alpha=0.0, optimizer=None, approximation=5).fit(
            X, y
        )
    with pytest.raises(InvalidParameter, match="there are 30 rows"):
        GaussianProcessRegressor(KERNEL, approximation=31).fit(X, y)
    with pytest.raises(InvalidParameter, match=r"approximation='many' has to be None"):
        GaussianProcessRegressor(KERNEL, approximation="many").fit(X, y)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("learns", [False, True])
def test_all_rows_as_landmarks_give_the_exact_classifier(classes, learns, tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(90, 2))
    y = np.digitize(
        X[:, 0] + X[:, 1] ** 2 + 0.3 * random.normal(size=90), [0.5, 1.5][: classes - 1]
    )
    settings = {"optimizer": "fmin_l_bfgs_b" if learns else None}
    kernel = 2.0 * RBF(length_scale=1.0)
    exact = GaussianProcessClassifier(kernel, **settings).fit(X, y)
    whole = GaussianProcessClassifier(kernel, **settings, approximation=90).fit(X, y)
    new = random.normal(size=(20, 2))
    np.testing.assert_allclose(whole.predict_proba(new), exact.predict_proba(new), atol=1e-6)
    assert whole.log_marginal_likelihood_value_ == pytest.approx(
        exact.log_marginal_likelihood_value_, rel=1e-6
    )
    if classes == 2:
        for a, b in zip(
            whole.latent_mean_and_variance(new), exact.latent_mean_and_variance(new), strict=True
        ):
            np.testing.assert_allclose(a, b, atol=1e-5)
    few = GaussianProcessClassifier(kernel, **settings, approximation=40).fit(X, y)
    assert np.abs(few.predict_proba(new) - exact.predict_proba(new)).max() < 0.05
    save(few, tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(new), few.predict_proba(new))
    theta = np.log([2.0, 1.0])
    assert again.log_marginal_likelihood(theta) == pytest.approx(few.log_marginal_likelihood(theta))


def test_a_classifier_on_landmarks_refuses_what_it_cannot_do():
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = X[:, 0] > 0
    with pytest.raises(InvalidParameter, match="there are 30 rows"):
        GaussianProcessClassifier(approximation=31).fit(X, y)
    with pytest.raises(InvalidParameter, match="has to be None, a number"):
        GaussianProcessClassifier(approximation="all").fit(X, y)
    model = GaussianProcessClassifier(2.0 * RBF(length_scale=1.0), approximation=10).fit(X, y)
    with pytest.raises(InvalidParameter, match="no gradient"):
        model.log_marginal_likelihood(np.zeros(2), eval_gradient=True)
    centres = GaussianProcessClassifier(approximation=Nystrom(8, "kmeans")).fit(X, y)
    assert centres.score(X, y) > 0.9
