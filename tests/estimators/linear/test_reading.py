"""Data and parameters that are read quickly are read as others are."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from mercer import ElasticNet, Lasso, LinearSVC, LinearSVR, LogisticRegression, Ridge

REGRESSORS = [Lasso(0.1), ElasticNet(0.1), Ridge(), LinearSVR(random_state=0)]
CLASSIFIERS = [LogisticRegression(), LinearSVC(random_state=0)]
MACHINES = [*REGRESSORS, *CLASSIFIERS]


def _data(model):
    random = np.random.default_rng(0)
    X = random.standard_normal((60, 4))
    y = X[:, 0] + 0.1 * random.standard_normal(60)
    return X, (y > 0).astype(int) if model in CLASSIFIERS else y


@pytest.mark.parametrize("model", MACHINES, ids=str)
def test_plain_and_other_data_give_the_same_answer(model):
    X, y = _data(model)
    plain = model.fit(X, y).coef_.copy()
    others = [
        (X.tolist(), y.tolist()),
        (np.asfortranarray(X), y),
        (X, y.astype(object) if model in REGRESSORS else y.astype(float)),
        (pd.DataFrame(X, columns=list("abcd")), y),
    ]
    for rows, targets in others:
        np.testing.assert_allclose(model.fit(rows, targets).coef_, plain, rtol=1e-8, atol=1e-10)
    assert list(model.feature_names_in_) == list("abcd")
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 4


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("model", MACHINES, ids=str)
def test_numbers_that_are_not_finite_are_refused(model, bad):
    X, y = _data(model)
    X[3, 1] = bad
    with pytest.raises(ValueError, match="Input X contains"):
        model.fit(X, y)
    if model in REGRESSORS:
        X, y = _data(model)
        y[3] = bad
        with pytest.raises(ValueError, match="Input y contains"):
            model.fit(X, y)


@pytest.mark.parametrize("model", MACHINES, ids=str)
def test_lengths_and_shapes_are_checked(model):
    X, y = _data(model)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y[:-1])
    with pytest.raises(ValueError, match="Expected 2D array"):
        model.fit(X[0], y)
    with pytest.raises((ValueError, NotFittedError)):
        model.fit(X[:0], y[:0])


@pytest.mark.parametrize("model", MACHINES, ids=str)
def test_parameters_that_are_changed_are_checked(model):
    X, y = _data(model)
    wrong = type(model)(tol=-1.0)
    with pytest.raises(ValueError, match=f"'tol' parameter of {type(model).__name__}"):
        wrong.fit(X, y)
