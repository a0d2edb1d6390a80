"""Model files of perceptrons and networks."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import (
    RBF,
    Adaline,
    CannotSave,
    KernelPerceptron,
    MLPClassifier,
    MLPRegressor,
    Perceptron,
    Spectrum,
    load,
    save,
)
from tests.estimators.cases import heart, iris, regression

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
CLASSES = [
    Perceptron(),
    Perceptron(early_stopping=True),
    Adaline(),
    KernelPerceptron(RBF(gamma=0.5)),
    KernelPerceptron("linear", fit_intercept=False),
    MLPClassifier(max_iter=20, random_state=0),
    MLPClassifier([5, 4], solver="sgd", early_stopping=True, random_state=0),
    MLPClassifier(solver="lbfgs", n_iter_no_change=np.inf, random_state=0),
    make_pipeline(StandardScaler(), MLPClassifier(max_iter=20, random_state=0)),
]


@pytest.mark.parametrize("data", [heart, iris])
@pytest.mark.parametrize("machine", CLASSES, ids=str)
def test_classifiers_come_back(machine, data, tmp_path):
    X, y = data()
    machine.fit(X, y)
    save(machine, tmp_path / "model.mercer")
    again = load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(again.predict(X), machine.predict(X))
    for name in ("decision_function", "predict_proba"):
        if hasattr(machine, name):
            np.testing.assert_array_equal(getattr(again, name)(X), getattr(machine, name)(X))
    assert again.get_params().keys() == machine.get_params().keys()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_regressors_come_back_and_learn_on(dtype, tmp_path):
    X, y = regression(60)
    X = X.astype(dtype)
    for solver in ("adam", "sgd"):
        machine = MLPRegressor(hidden_layer_sizes=8, solver=solver, max_iter=5, random_state=0).fit(
            X, y
        )
        save(machine, tmp_path / "model.mercer")
        again = load(tmp_path / "model.mercer")
        np.testing.assert_array_equal(again.predict(X), machine.predict(X))
        # The state of the optimiser is in the file: the next steps are the same.
        machine.partial_fit(X, y)
        again.partial_fit(X, y)
        np.testing.assert_array_equal(again.predict(X), machine.predict(X))


def test_strings_come_back(tmp_path):
    words = ["abab", "baba", "xyxy", "yxyx"]
    machine = KernelPerceptron(Spectrum(2)).fit(words, [0, 0, 1, 1])
    save(machine, tmp_path / "model.mercer")
    again = load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(again.predict(words), machine.predict(words))
    np.testing.assert_array_equal(again.mistake_bound_, machine.mistake_bound_)


def test_parts_that_do_not_fit_are_refused(tmp_path):
    X, y = iris()
    path = tmp_path / "model.mercer"

    def spoil(machine, **parts):
        machine.fit(X, y)
        vars(machine).update({k: v(machine) for k, v in parts.items()})
        # What a file could not bring back is not written either; both use the same checks.
        with pytest.raises(CannotSave, match="not in a state that can be saved"):
            save(machine, path)

    network = MLPClassifier(max_iter=3, random_state=0)
    spoil(network, coefs_=lambda m: [m.coefs_[0].T.copy(), m.coefs_[1]])
    spoil(network, coefs_=lambda m: [m.coefs_[0] * np.nan, m.coefs_[1]])
    spoil(network, intercepts_=lambda m: m.intercepts_[:1])
    spoil(network, classes_=lambda m: m.classes_[:2])
    spoil(network, out_activation_=lambda m: "step")
    spoil(network, n_features_in_=lambda m: 5)
    spoil(Perceptron(), coef_=lambda m: m.coef_[:, :2])
    spoil(Perceptron(), intercept_=lambda m: m.intercept_[:2])
    spoil(KernelPerceptron(), support_=lambda m: m.support_ + 1000)
    spoil(KernelPerceptron(), dual_coef_=lambda m: m.dual_coef_[:1])
