"""Quick answers are scikit-learn's answers, and refuse what scikit-learn refuses."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model._base import LinearClassifierMixin, LinearModel

import mercer
from mercer.estimators.linear import quick_answers

VALUES = ["Ridge", "Lasso", "ElasticNet", "LinearSVR", "NormRegressor", "PenaltyRegressor"]
CLASSES = ["LogisticRegression", "LinearSVC", "Perceptron"]
random = np.random.default_rng(0)
X, NEW = random.normal(size=(40, 3)), random.normal(size=(7, 3))
TARGET = X @ [1.0, -2.0, 0.5] + 0.1 * random.normal(size=40)


def labels(count):
    return np.array(["a", "b", "c"])[np.digitize(TARGET, [-0.5, 1.0][: count - 1])]


def fitted(name, classes=2, dtype=np.float64):
    y = TARGET if name in VALUES else labels(classes)
    options = {"tol": None} if name == "Perceptron" and classes == 2 else {}
    return getattr(mercer, name)(**options).fit(X.astype(dtype), y)


@pytest.mark.parametrize("rows", [1, 7])
@pytest.mark.parametrize("name", VALUES)
def test_values_are_those_of_scikit_learn(name, rows):
    model = fitted(name)
    assert quick_answers._values(model, NEW) is not None
    np.testing.assert_allclose(model.predict(NEW[:rows]), LinearModel.predict(model, NEW[:rows]))


@pytest.mark.parametrize("rows", [1, 7])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", CLASSES)
def test_classes_are_those_of_scikit_learn(name, classes, rows):
    model, new = fitted(name, classes), NEW[:rows]
    assert quick_answers._values(model, new) is not None
    scores = LinearClassifierMixin.decision_function(model, new)
    assert model.decision_function(new).shape == scores.shape
    np.testing.assert_allclose(model.decision_function(new), scores, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(new), LinearClassifierMixin.predict(model, new))


@pytest.mark.parametrize("name", ["Ridge", "LogisticRegression"])
def test_short_numbers_stay_short(name):
    model = fitted(name, 3, np.float32)
    new = NEW.astype(np.float32)
    assert quick_answers._values(model, new) is not None
    answer = model.predict if name == "Ridge" else model.decision_function
    assert answer(new).dtype == np.float32
    assert quick_answers._values(model, NEW) is None


def test_several_targets():
    Y = np.column_stack([TARGET, -TARGET, X[:, 0]])
    for intercept in (True, False):
        model = mercer.Ridge(fit_intercept=intercept).fit(X, Y)
        np.testing.assert_allclose(model.predict(NEW), LinearModel.predict(model, NEW))


@pytest.mark.parametrize("name", ["Ridge", "LogisticRegression"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("hidden", [False, True])
def test_numbers_that_are_not_finite_are_refused(name, bad, hidden):
    model = fitted(name, 3)
    if hidden:  # whatever BLAS makes of zero times infinity
        model.coef_ = np.zeros_like(model.coef_)
    new = NEW.copy()
    new[2, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.predict(new)


def test_answers_beyond_float64_are_given():
    model = fitted("Ridge")
    model.coef_ = np.full(3, 1e200)
    huge = np.full((1, 3), 1e200)
    assert quick_answers._values(model, huge) is not None
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(model.predict(huge), [np.inf])


@pytest.mark.parametrize("name", ["Ridge", "LogisticRegression"])
def test_all_else_goes_the_way_of_scikit_learn(name):
    import pandas as pd

    with pytest.raises(NotFittedError):
        getattr(mercer, name)().predict(NEW)
    model = fitted(name)
    with pytest.raises(ValueError, match="2 features"):
        model.predict(NEW[:, :2])
    with pytest.raises(ValueError, match="minimum of 1"):
        model.predict(NEW[:0])
    with pytest.raises(ValueError, match="2D array"):
        model.predict(NEW[0])
    expected = model.predict(NEW)
    for form in (NEW.tolist(), sparse.csr_array(NEW), NEW.astype(object)):
        said = model.predict(form)
        assert (said == expected).all() if name in CLASSES else np.allclose(said, expected)
    named = getattr(mercer, name)()
    named.fit(pd.DataFrame(X, columns=list("uvw")), TARGET if name in VALUES else labels(2))
    with pytest.warns(UserWarning, match="feature names"):
        named.predict(NEW)


def test_sparse_weights():
    model = fitted("LogisticRegression")
    expected = model.predict(NEW)
    np.testing.assert_array_equal(model.sparsify().predict(NEW), expected)


@pytest.mark.parametrize("rows", [1, 2, 7])
def test_weights_without_a_second_axis(rows):
    """So scikit-learn's LogisticRegressionCV gives them to the machine that it scores by."""
    model, new = fitted("LogisticRegression"), NEW[:rows]
    expected = model.decision_function(new)
    model.coef_ = model.coef_[0]
    for intercept in (model.intercept_, float(model.intercept_[0])):
        model.intercept_ = intercept
        np.testing.assert_allclose(model.decision_function(new), expected, rtol=1e-12)
        np.testing.assert_array_equal(model.predict(new), LinearClassifierMixin.predict(model, new))
