"""KernelRidge and KernelLogisticRegression on landmarks."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer import (
    RBF,
    KernelLogisticRegression,
    KernelRidge,
    Nystrom,
    Spectrum,
    StreamedRidge,
    certify,
    load,
    save,
)
from mercer.exceptions import InvalidParameter, NotEnoughMemory
from mercer.landmarks import landmark_gram


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    X = random.standard_normal((400, 3))
    return X, np.sin(X[:, 0]) + 0.1 * random.standard_normal(400), random.random(400)


@pytest.mark.parametrize("method", ["pivoted", "uniform", "kmeans"])
def test_ridge_is_that_of_the_streamed_machine_and_comes_with_a_proof(data, method, tmp_path):
    X, y, weights = data
    machine = KernelRidge(
        0.1, kernel=RBF(gamma=0.3), fit_intercept=True, approximation=Nystrom(50, method)
    ).fit(X, y, weights)
    other = StreamedRidge(0.1, kernel=RBF(gamma=0.3), approximation=Nystrom(50, method), tol=1e-9)
    assert np.allclose(machine.predict(X), other.fit(X, y, weights).predict(X), atol=1e-6)
    judged = certify(machine, X, y, weights)
    assert judged.primal == pytest.approx(machine.certificate_.primal, rel=1e-9)
    assert abs(judged.relative_gap) < 1e-8
    save(machine, tmp_path / "m")
    assert np.array_equal(load(tmp_path / "m").predict(X), machine.predict(X))
    assert len(machine.X_fit_) == len(machine.dual_coef_) <= 50


def test_targets_with_a_lambda_each(data):
    X, y, _ = data
    Y = np.column_stack([y, y**2])
    machine = KernelRidge([0.1, 3.0], kernel=RBF(gamma=0.3), approximation=40)
    both = clone(machine).fit(X, Y).predict(X)
    for j, alpha in enumerate([0.1, 3.0]):
        alone = clone(machine).set_params(alpha=alpha).fit(X, Y[:, j]).predict(X)
        assert np.allclose(both[:, j], alone, atol=1e-8)


def test_the_cost_of_landmarks_is_bounded(data):
    X, y, _ = data
    whole = KernelRidge(0.5, kernel=RBF(gamma=0.3)).fit(X, y).certificate_
    for count in (20, 60, 150):
        proof = KernelRidge(0.5, kernel=RBF(gamma=0.3), approximation=count).fit(X, y).certificate_
        assert 0 <= proof.primal - whole.primal <= proof.approximation_cost
    labels = y > 0
    whole = KernelLogisticRegression(kernel=RBF(gamma=0.3), tol=1e-6).fit(X, labels).certificate_
    on = (
        KernelLogisticRegression(kernel=RBF(gamma=0.3), approximation=60)
        .fit(X, labels)
        .certificate_
    )
    assert 0 <= on.primal - whole.primal <= on.approximation_cost


@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_regression(data, classes, tmp_path):
    X, y, weights = data
    labels = np.digitize(y, [0.0] if classes == 2 else [-0.4, 0.4])
    settings = {"kernel": RBF(gamma=0.3), "C": 2.0, "tol": 1e-4}
    whole = KernelLogisticRegression(**settings).fit(X, labels, weights)
    on = KernelLogisticRegression(**settings, approximation=400).fit(X, labels, weights)
    assert np.abs(on.predict_proba(X) - whole.predict_proba(X)).max() < 1e-3
    judged = certify(on, X, labels, weights)
    assert judged.primal == pytest.approx(on.certificate_.primal, rel=1e-9)
    assert judged.relative_gap < 1e-7
    save(on, tmp_path / "m")
    assert np.array_equal(load(tmp_path / "m").predict(X), on.predict(X))


def test_strings_and_refusals(data):
    X, y, _ = data
    words = ["banana", "ananas", "bandana", "anna", "nab", "can", "cannon", "bat"] * 4
    lengths = np.array([len(word) for word in words], dtype=float)
    machine = KernelRidge(1e-3, kernel=Spectrum(2), approximation=8).fit(words, lengths)
    assert machine.X_fit_[0] in words
    with pytest.raises(InvalidParameter, match="alpha > 0"):
        KernelRidge(0.0, kernel="rbf", approximation=10).fit(X, y)
    with pytest.raises(InvalidParameter, match="in place of a kernel"):
        KernelRidge(kernel="precomputed", approximation=10).fit(X @ X.T, y)
    with pytest.raises(InvalidParameter, match="approximation='many'"):
        KernelLogisticRegression(approximation="many").fit(X, y > 0)
    with pytest.raises(InvalidParameter, match="leave_one_out"):
        KernelRidge(kernel="rbf", approximation=10).fit(X, y).leave_one_out()


def test_the_penalty_is_chosen_on_landmarks(data):
    X, y, weights = data
    settings = {"kernel": RBF(gamma=0.3), "fit_intercept": True}
    exact = KernelRidge("auto", **settings).fit(X, y, weights)
    whole = KernelRidge("auto", approximation=400, **settings).fit(X, y, weights)
    assert whole.alpha_ == pytest.approx(exact.alpha_, rel=1e-3)
    assert np.abs(whole.predict(X) - exact.predict(X)).max() < 1e-3
    few = KernelRidge("auto", approximation=100, **settings).fit(X, y, weights)
    errors = few.path_.errors[:, 0]
    assert errors.min() == pytest.approx(exact.path_.errors.min(), rel=0.1)
    # No other penalty does better by refits without a few rows, judged on these.
    folds = np.arange(len(X)) % 10

    def judged(alpha):
        total = 0.0
        for k in range(10):
            rest, out = folds != k, folds == k
            machine = KernelRidge(alpha, approximation=100, **settings)
            machine.fit(X[rest], y[rest], weights[rest])
            total += weights[out] @ (machine.predict(X[out]) - y[out]) ** 2
        return total

    chosen = judged(few.alpha_)
    assert chosen < 1.02 * min(judged(few.alpha_ * factor) for factor in (0.01, 0.1, 10, 100))


def test_landmarks_are_chosen_once(data, monkeypatch):
    X, y, _ = data
    chosen = []
    choose = landmark_gram.choose_landmarks
    monkeypatch.setattr(
        landmark_gram, "choose_landmarks", lambda *given: chosen.append(1) or choose(*given)
    )
    KernelRidge("auto", kernel=RBF(gamma=0.3), approximation=40).fit(X, y)
    assert len(chosen) == 1


def test_widths_are_chosen_on_landmarks(data):
    X, y, _ = data
    found = KernelRidge("auto", kernel=RBF("auto"), approximation=60).fit(X, y)
    exact = KernelRidge("auto", kernel=RBF("auto")).fit(X, y)
    assert found.kernel_.gamma == pytest.approx(exact.kernel_.gamma, rel=1.0)
    assert np.abs(found.predict(X) - exact.predict(X)).max() < 0.1
    assert found.certificate_.status == "optimal"


def test_a_path_on_landmarks(data):
    X, y, _ = data
    alphas = np.array([0.01, 1.0, 100.0])
    on = KernelRidge(kernel=RBF(gamma=0.3), approximation=400).path(X, y, alphas)
    exact = KernelRidge(kernel=RBF(gamma=0.3)).path(X, y, alphas)
    assert np.abs(on.residuals - exact.residuals).max() < 1e-5
    few = KernelRidge(kernel=RBF(gamma=0.3), approximation=20).path(X, y, alphas)
    assert few.errors.shape == (3,)
    assert few.freedoms.max() <= 20


def test_features_that_do_not_fit_are_refused(data, monkeypatch):
    X, y, _ = data
    monkeypatch.setattr("mercer.landmarks.landmark_gram._FEATURE_BYTES", 1000)
    with pytest.raises(NotEnoughMemory, match=r"400 rows and 30 landmarks need .* fewer landmarks"):
        KernelRidge("auto", kernel=RBF(gamma=0.3), approximation=30).fit(X, y)
