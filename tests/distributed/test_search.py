import dask.array as da
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, GridSearchCV, KernelRidge, distributed


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X)[:300], np.array(["no", "yes"])[y[:300]]


def agree(here, there):
    assert here.best_params_ == there.best_params_
    assert here.best_index_ == there.best_index_
    assert here.cv_results_["params"] == there.cv_results_["params"]
    for name, column in here.cv_results_.items():
        if name.startswith(("split", "mean_test", "mean_train", "rank", "std_test", "bound")):
            np.testing.assert_allclose(there.cv_results_[name], column, atol=1e-9, err_msg=name)
    assert list(there.cv_results_) == list(here.cv_results_)
    assert np.isfinite(there.cv_results_["mean_test_score"]).all()


def test_scores_of_a_grid(client, cancer):
    X, y = cancer
    grid = {"C": [0.1, 1, 10], "gamma": [0.01, 0.1]}
    make = lambda: GridSearchCV(SVC(), grid, cv=3, exhaustive=True, return_train_score=True)  # noqa: E731
    here = make().fit(X, y)
    there = distributed.fit(make(), X, y, client=client)
    agree(here, there)
    np.testing.assert_allclose(there.decision_function(X), here.decision_function(X), atol=2e-3)


def test_rows_on_the_workers(client, cancer):
    X, y = cancer
    grid = {"svc__C": [0.1, 1, 10]}
    make = lambda: GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid, cv=3)  # noqa: E731
    here = make().fit(X, y)
    data = da.from_array(X, chunks=(90, 8)), da.from_array(y, chunks=120)
    there = distributed.fit(make(), *data, client=client)
    assert here.best_params_ == there.best_params_
    assert here.best_score_ == pytest.approx(there.best_score_, abs=1e-12)
    np.testing.assert_array_equal(there.predict(X), here.predict(X))


def test_automatic_grid_weights_and_groups(client, cancer):
    X, y = cancer
    params = {
        "sample_weight": np.linspace(0.5, 2, len(y)),
        "groups": np.arange(len(y)) // 10,
    }
    make = lambda: GridSearchCV(  # noqa: E731
        KernelRidge(kernel="rbf"), {"alpha": [0.1, 1, 10]}, cv=GroupKFold(3), exhaustive=True
    )
    target = X[:, 0] + (y == "yes")
    here = make().fit(X[:, 1:], target, **params)
    there = distributed.fit(make(), X[:, 1:], target, client=client, **params)
    agree(here, there)
    weights = da.from_array(params.pop("sample_weight"), chunks=100)
    again = distributed.fit(
        make(), X[:, 1:], da.from_array(target), client=client, sample_weight=weights, **params
    )
    agree(here, again)
    small = X[:120], y[:120]
    auto = GridSearchCV(SVC(), cv=2, exhaustive=True).fit(*small)
    there = distributed.fit(GridSearchCV(SVC(), cv=2), *small, client=client)
    agree(auto, there)


def test_estimators_that_share_nothing(client, cancer):
    X, y = cancer
    grid = {"C": [0.01, 1.0]}
    here = GridSearchCV(LogisticRegression(), grid, cv=3).fit(X, y)
    there = distributed.fit(GridSearchCV(LogisticRegression(), grid, cv=3), X, y, client=client)
    agree(here, there)


def test_time_limit_and_errors_come_here(client, cancer):
    X, y = cancer
    search = GridSearchCV(SVC(), {"gamma": [1.0, -1.0]}, cv=3, error_score="raise")
    with pytest.raises(ValueError, match="gamma"):
        distributed.fit(search, X, y, client=client)
    assert "_evaluation" not in vars(search)
    search = GridSearchCV(SVC(), {"gamma": np.geomspace(1e-3, 1, 40)}, cv=3, time_limit=1e-3)
    with pytest.warns(UserWarning, match="reached its time limit"):
        distributed.fit(search, X, y, client=client)
    assert search.cv_results_["skipped"].sum() > 0
    assert search.best_score_ > 0.5
