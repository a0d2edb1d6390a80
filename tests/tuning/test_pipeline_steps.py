"""Steps before a machine: done once for each fold, with the scores of fits of whole pipelines."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV as SklearnSearch
from sklearn.pipeline import Pipeline, make_pipeline

import mercer
from mercer import KernelLogisticRegression, NumericScaler
from mercer.tuning.pipeline_steps import taken_apart, transformed_rows

RANDOM = np.random.default_rng(4)
X = RANDOM.standard_normal((60, 4)) * [1, 10, 0.1, 1]
Y = (X[:, 0] + X[:, 1] / 10 > 0).astype(int)
GRID = {"machine__C": [0.1, 1.0, 10.0]}
FITS: list[int] = []


class CountedScaler(TransformerMixin, BaseEstimator):
    """Scales, and counts how often it is fitted."""

    def fit(self, X, y=None):
        FITS.append(len(X))
        self.scale_ = np.std(X, axis=0)
        return self

    def transform(self, X):
        return X / self.scale_


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame])
def test_scores_are_those_of_whole_pipelines_and_steps_are_fitted_once_a_fold(form):
    machine = KernelLogisticRegression()
    pipeline = Pipeline([("scale", CountedScaler()), ("machine", machine)])
    rows = form(X)
    FITS.clear()
    ours = mercer.GridSearchCV(pipeline, GRID, cv=4, scoring="neg_log_loss").fit(rows, Y)
    assert FITS == [45, 45, 45, 45, 60]  # the last is the refit
    theirs = SklearnSearch(pipeline, GRID, cv=4, scoring="neg_log_loss").fit(rows, Y)
    for name in ("mean_test_score", "std_test_score"):
        np.testing.assert_allclose(ours.cv_results_[name], theirs.cv_results_[name], atol=1e-12)
    np.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows))


def test_steps_with_parameters_of_their_own_are_fitted_anew():
    pipeline = Pipeline([("best", SelectKBest()), ("machine", KernelLogisticRegression())])
    grid = {"best__k": [1, 3], **GRID}
    ours = mercer.GridSearchCV(pipeline, grid, cv=3).fit(X, Y)
    theirs = SklearnSearch(pipeline, grid, cv=3).fit(X, Y)
    np.testing.assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"]
    )


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, sparse.csr_array])
def test_rows_of_training_come_first(form):
    train, test = np.arange(10, 60), np.arange(10)
    found = transformed_rows(NumericScaler(), form(X), Y, train, test)
    scaler = NumericScaler().fit(form(X[train]))
    expected = scaler.transform(form(X[np.r_[train, test]]))
    if sparse.issparse(found):
        found, expected = found.toarray(), expected.toarray()
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected))


def test_steps_that_fail_are_left_to_the_fit_of_the_pipeline():
    assert transformed_rows(SelectKBest(k=2), X, None, np.arange(9), np.arange(9, 12)) is None


def test_pipelines_with_a_memory_stay_whole(tmp_path):
    machine = KernelLogisticRegression()
    assert taken_apart(machine) == (None, machine, "")
    steps = make_pipeline(NumericScaler(), machine)
    assert taken_apart(steps)[2] == "kernellogisticregression__"
    assert taken_apart(steps.set_params(memory=str(tmp_path))) == (None, None, "")
