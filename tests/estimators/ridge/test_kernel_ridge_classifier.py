"""Classes by kernel ridge regression: brute force, closed forms, probabilities, files, errors."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import log_loss

from mercer import (
    RBF,
    BagOfWords,
    KernelRidge,
    KernelRidgeClassifier,
    Laplacian,
    Linear,
    certify,
    load,
    save,
)
from mercer.exceptions import InvalidInput

IRIS = load_iris()
X, SPECIES = IRIS.data[::2], IRIS.target_names[IRIS.target][::2]
TWO = np.where(SPECIES == "setosa", "b", "a")
WEIGHTS = np.random.default_rng(0).uniform(0.2, 2, len(X))
X.flags.writeable = False


@pytest.mark.parametrize("y", [SPECIES, TWO], ids=["three", "two"])
def test_same_as_scikit_learn_with_a_linear_kernel(y):
    ours = KernelRidgeClassifier(0.5, kernel=Linear()).fit(X, y, WEIGHTS)
    theirs = RidgeClassifier(alpha=0.5).fit(X, y, WEIGHTS)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), rtol=1e-7, atol=1e-9
    )
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("y", [SPECIES, TWO], ids=["three", "two"])
def test_leave_one_out_is_that_of_fits_without_the_row(y, constant):
    machine = KernelRidgeClassifier(0.3, kernel=RBF(gamma=0.4), fit_intercept=constant)
    loo = machine.fit(X, y, WEIGHTS).loo_decision_.reshape(len(X), -1)
    for left_out in (0, 30, 74):
        rest = np.delete(np.arange(len(X)), left_out)
        without = KernelRidgeClassifier(0.3, kernel=RBF(gamma=0.4), fit_intercept=constant)
        value = without.fit(X[rest], y[rest], WEIGHTS[rest]).decision_function(X[[left_out]])
        np.testing.assert_allclose(loo[left_out], value.ravel(), rtol=1e-8)


def test_lambda_is_chosen_by_the_squares_of_leave_one_out():
    machine = KernelRidgeClassifier(kernel=Laplacian(0.3)).fit(X, SPECIES)
    Y = np.where(SPECIES[:, None] == machine.classes_, 1.0, -1.0)
    path = KernelRidge(kernel=Laplacian(0.3), fit_intercept=True).path(X, Y)
    best = path.errors.mean(axis=1).argmin()
    assert machine.alpha_ == pytest.approx(path.alphas[best])
    np.testing.assert_allclose(machine.loo_decision_, Y - path.residuals[best], rtol=1e-6)


def test_an_open_width_is_chosen_too():
    machine = KernelRidgeClassifier(kernel=RBF("auto")).fit(X, SPECIES)
    fixed = KernelRidgeClassifier(kernel=RBF(gamma=1e-4)).fit(X, SPECIES)
    Y = np.where(SPECIES[:, None] == machine.classes_, 1.0, -1.0)
    error, plain = (((m.loo_decision_ - Y) ** 2).mean() for m in (machine, fixed))
    assert error < plain
    assert KernelRidgeClassifier(2.0, kernel=RBF("auto")).fit(X, SPECIES).alpha_ == 2.0


@pytest.mark.parametrize("approximation", [None, 20])
def test_the_certificate_is_that_of_a_fresh_judge(approximation):
    machine = KernelRidgeClassifier(
        0.1, kernel=RBF(gamma=0.4), class_weight="balanced", approximation=approximation
    ).fit(X, TWO, WEIGHTS)
    judged = certify(machine, X, TWO, WEIGHTS)
    assert judged.relative_gap < 1e-9
    assert judged.primal == pytest.approx(machine.certificate_.primal, rel=1e-9)
    worse = KernelRidgeClassifier(0.1, kernel=RBF(gamma=0.4)).fit(X, TWO)
    worse.dual_coef_ = worse.dual_coef_ * 1.1
    assert certify(worse, X, TWO).relative_gap > 1e-3


def test_probabilities_are_calibrated_on_rows_that_were_left_out():
    random = np.random.default_rng(3)
    Z = random.normal(size=(600, 4))
    y = (Z[:, 0] + 0.7 * random.normal(size=600) > 0.8).astype(int)
    machine = KernelRidgeClassifier(kernel=RBF(gamma=0.1)).fit(Z[:300], y[:300])
    proba = machine.predict_proba(Z[300:])
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(machine.classes_[proba.argmax(axis=1)], machine.predict(Z[300:]))
    np.testing.assert_allclose(machine.predict_log_proba(Z[300:]), np.log(proba))
    share = np.full((300, 2), [1 - y[:300].mean(), y[:300].mean()])
    assert log_loss(y[300:], proba) < 0.75 * log_loss(y[300:], share)
    # In and out of the training rows they are as good: nothing was calibrated on what was learnt.
    narrow = KernelRidgeClassifier(1e-6, kernel=RBF(gamma=20.0)).fit(Z[:300], y[:300])
    assert log_loss(y[300:], narrow.predict_proba(Z[300:])) < 0.8


def test_landmarks_that_are_all_rows_are_the_exact_machine():
    exact = KernelRidgeClassifier(0.2, kernel=RBF(gamma=0.4)).fit(X, SPECIES)
    through = KernelRidgeClassifier(0.2, kernel=RBF(gamma=0.4), approximation=75).fit(X, SPECIES)
    np.testing.assert_allclose(
        through.decision_function(X), exact.decision_function(X), rtol=1e-4, atol=1e-5
    )
    np.testing.assert_allclose(through.loo_decision_, exact.loo_decision_, rtol=1e-3, atol=1e-4)
    few = KernelRidgeClassifier(kernel=RBF("auto"), approximation=10).fit(X, SPECIES)
    assert few.dual_coef_.shape == (3, 10)
    assert few.score(X, SPECIES) > 0.9


def test_rows_without_weight_are_not_there():
    weights = np.ones(len(X))
    weights[::3] = 0
    some = KernelRidgeClassifier(kernel=RBF(gamma=0.4)).fit(X, SPECIES, weights)
    rest = KernelRidgeClassifier(kernel=RBF(gamma=0.4)).fit(X[weights > 0], SPECIES[weights > 0])
    np.testing.assert_allclose(some.decision_function(X), rest.decision_function(X), rtol=1e-7)
    assert np.isnan(some.loo_decision_[::3]).all()
    assert some.calibration_ == pytest.approx(rest.calibration_, rel=1e-6)


def test_words_matrices_and_files(tmp_path):
    texts = ["red wine", "white wine", "dark beer", "light beer", "sweet wine", "cold beer"]
    kinds = ["w", "w", "b", "b", "w", "b"]
    machine = KernelRidgeClassifier(kernel=BagOfWords()).fit(texts, kinds)
    assert list(machine.predict(["old wine", "new beer"])) == ["w", "b"]
    save(machine, tmp_path / "drinks.mercer")
    again = load(tmp_path / "drinks.mercer")
    np.testing.assert_array_equal(again.predict_proba(texts), machine.predict_proba(texts))
    np.testing.assert_array_equal(again.loo_decision_, machine.loo_decision_)
    K = RBF(gamma=0.4)(X)
    given = KernelRidgeClassifier(0.3, kernel="precomputed").fit(K, SPECIES)
    direct = KernelRidgeClassifier(0.3, kernel=RBF(gamma=0.4)).fit(X, SPECIES)
    np.testing.assert_allclose(given.decision_function(K), direct.decision_function(X), rtol=1e-7)


def test_bad_input_is_named():
    with pytest.raises(InvalidInput, match="only one class"):
        KernelRidgeClassifier().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="'alpha' parameter"):
        KernelRidgeClassifier(0.0).fit(X, SPECIES)
    machine = KernelRidgeClassifier().fit(X, SPECIES)
    with pytest.raises(InvalidInput, match="hold the classes"):
        certify(machine, X, np.full(len(X), "rose"))
    with pytest.raises(InvalidInput, match="fitted on 75 rows"):
        certify(machine, X[:70], SPECIES[:70])
