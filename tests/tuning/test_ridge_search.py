"""The search for kernel ridge regressions: scikit-learn's scores, from one factorisation."""

import numpy as np
import pytest
from sklearn import kernel_ridge, model_selection
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import RBF, BagOfWords, GridSearchCV, KernelRidge, tune
from mercer.tuning.shared_fits import SharedFits

X, y = load_diabetes(return_X_y=True)
X, y = X[:160] * 20, y[:160] - 150
Y = np.c_[y, np.sin(y / 30)]
WEIGHTS = np.random.default_rng(0).uniform(0.1, 2, len(y))
WEIGHTS[::7] = 0
FEW, REST = np.arange(3, 43), np.r_[0:3, 43:160]
GRID = {"gamma": [1e-3, 0.02, 3.0], "alpha": [1e-4, 0.1, 10.0]}
X.flags.writeable = y.flags.writeable = Y.flags.writeable = False


@pytest.fixture
def no_fit_alone(monkeypatch):
    """Fail where a fit of the search was not done on shared matrices."""
    run = SharedFits.run

    def watched(self):
        run(self)
        assert not self.failed

    monkeypatch.setattr(SharedFits, "run", watched)


@pytest.mark.usefixtures("no_fit_alone")
@pytest.mark.parametrize("targets", [y, Y], ids=["one", "two"])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_same_scores_as_scikit_learn(kernel, weights, targets):
    fit = {} if weights is None else {"sample_weight": weights}
    options = {"cv": KFold(4, shuffle=True, random_state=0), "return_train_score": True}
    ours = GridSearchCV(KernelRidge(kernel=kernel), GRID, exhaustive=True, **options)
    ours.fit(X, targets, **fit)
    theirs = model_selection.GridSearchCV(kernel_ridge.KernelRidge(kernel=kernel), GRID, **options)
    theirs.fit(X, targets, **fit)
    assert ours.best_params_ == theirs.best_params_
    for part in ("test", "train"):
        name = f"split2_{part}_score"
        np.testing.assert_allclose(
            ours.cv_results_[name], theirs.cv_results_[name], rtol=1e-7, atol=1e-7
        )
    np.testing.assert_allclose(ours.predict(X[:5]), theirs.predict(X[:5]), rtol=1e-6, atol=1e-6)
    racing = GridSearchCV(KernelRidge(kernel=kernel), GRID, cv=options["cv"], exhaustive=False)
    racing.fit(X, targets, **fit)
    assert racing.best_params_ == theirs.best_params_


@pytest.mark.usefixtures("no_fit_alone")
@pytest.mark.parametrize("intercept", [False, True])
def test_scores_are_those_of_fits_alone(intercept):
    machine = KernelRidge(kernel=RBF("median"), fit_intercept=intercept)
    pipeline = make_pipeline(StandardScaler(), machine)
    grid = {"kernelridge__kernel__gamma": [0.01, 0.1], "kernelridge__alpha": [0.1, 1.0]}
    search = GridSearchCV(pipeline, grid, cv=3, exhaustive=True).fit(X, y + 150)
    for cell, params in enumerate(search.cv_results_["params"]):
        for k, (train, test) in enumerate(KFold(3).split(X)):
            model = pipeline.set_params(**params).fit(X[train], y[train] + 150)
            score = search.cv_results_[f"split{k}_test_score"][cell]
            assert score == pytest.approx(model.score(X[test], y[test] + 150), abs=1e-8)


@pytest.mark.usefixtures("no_fit_alone")
def test_tune_knows_the_machine():
    found = tune(KernelRidge(kernel=RBF("scale"), fit_intercept=True), X, y + 150, random_state=0)
    assert set(found.best_params_) == {"machine__alpha", "machine__kernel__gamma"}
    assert found.best_score_ > 0.4
    texts = ["good film", "bad film", "a good day", "a bad day", "bad", "good good"] * 3
    stars = np.array([4.0, 1.0, 5.0, 2.0, 1.0, 5.0] * 3)
    words = tune(KernelRidge(kernel=BagOfWords()), texts, stars, cv=3, grid={"alpha": [0.01, 100]})
    assert words.best_params_ == {"alpha": 0.01}


def test_what_cannot_be_shared_is_fitted_alone():
    grid = {"alpha": [0.0, 1.0], "solver": ["cholesky"]}
    rows = np.arange(12.0)[:, None]
    targets = np.sin(rows[:, 0])
    search = GridSearchCV(KernelRidge(kernel=RBF(gamma=0.5)), grid, cv=3).fit(rows, targets)
    alone = model_selection.GridSearchCV(KernelRidge(kernel=RBF(gamma=0.5)), grid, cv=3)
    alone.fit(rows, targets)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"], rtol=1e-8
    )


def test_wrong_cells_say_why():
    with pytest.raises(ValueError, match="2 values for 1 targets"):
        GridSearchCV(
            KernelRidge(kernel="rbf"), {"alpha": [[1.0, 2.0]]}, cv=3, error_score="raise"
        ).fit(X, y)


@pytest.mark.usefixtures("no_fit_alone")
@pytest.mark.parametrize("jobs", [1, 2, 8])
@pytest.mark.parametrize(
    "splits", [KFold(5), ShuffleSplit(4, random_state=0), [(FEW, REST)], [(REST, FEW), (FEW, REST)]]
)
def test_scores_depend_neither_on_threads_nor_on_what_is_solved_together(splits, jobs):
    grid = {"alpha": GRID["alpha"]}
    ours = GridSearchCV(
        KernelRidge(kernel="rbf", gamma=0.02), grid, cv=splits, n_jobs=jobs, exhaustive=True
    ).fit(X, y)
    theirs = model_selection.GridSearchCV(
        kernel_ridge.KernelRidge(kernel="rbf", gamma=0.02), grid, cv=splits
    ).fit(X, y)
    np.testing.assert_allclose(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-9
    )


def test_a_race_solves_all_folds_together():
    grid = {"gamma": [1e-3, 0.02, 30.0], "alpha": [1e-4, 0.1, 1e4]}
    signal = np.sin(X[:, 2]) + X[:, 3]
    racing = GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=5, exhaustive=False, n_jobs=1)
    racing.fit(X, signal)
    assert np.isfinite(racing.cv_results_["mean_test_score"]).all()
