"""From data to a tuned machine in one call, and machines that tune themselves."""

import _thread
import threading
import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import (
    RBF,
    SVC,
    SVR,
    GlobalAlignment,
    InvalidParameter,
    NumericScaler,
    NuSVC,
    OneClassSVM,
    Spectrum,
    tune,
)
from mercer.tuning.grids import WIDTHS, Axes


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def test_result_is_a_fitted_search(iris):
    search = tune(SVC(), *iris)
    assert set(search.best_params_) == {"machine__C", "machine__gamma"}
    assert search.best_score_ > 0.95
    assert isinstance(search.best_estimator_.steps[0][1], NumericScaler)
    assert search.score(*iris) > 0.95
    machine = search.best_estimator_[-1]
    assert machine.certificate_.relative_gap < 1e-2
    folds = cross_val_score(clone(search.best_estimator_), *iris)
    assert folds.mean() == pytest.approx(search.best_score_, abs=1e-9)


def test_scaling_sees_the_training_fold_only():
    """One huge row in the test fold must not change how training rows are scaled."""
    X, y = make_classification(60, 3, n_informative=3, n_redundant=0, random_state=0)
    train, test = np.arange(40), np.arange(40, 60)
    grid = {"C": [1.0], "gamma": [0.5]}
    wild = X.copy()
    wild[59] *= 1e6
    scores = [
        tune(SVC(), data, y, grid=grid, cv=[(train, test[:-1])]).best_score_ for data in (X, wild)
    ]
    assert scores[0] == scores[1]
    peer = make_pipeline(StandardScaler(), SVC(C=1.0, gamma=0.5)).fit(X[train], y[train])
    assert scores[0] == peer.score(X[test[:-1]], y[test[:-1]])


def test_grid_names_and_no_scaling(iris):
    search = tune(SVC(), *iris, grid={"C": [1.0, 10.0]})
    assert list(search.cv_results_["param_machine__C"]) == [1.0, 10.0]
    search = tune(SVC(), *iris, grid=[{"C": [1.0]}, {"gamma": [0.1]}], scale=False)
    assert search.cv_results_["params"] == [{"C": 1.0}, {"gamma": 0.1}]
    pipeline = make_pipeline(StandardScaler(), SVC())
    search = tune(pipeline, *iris, grid={"svc__C": [1.0, 2.0]})
    assert search.best_estimator_.steps[0][0] == "standardscaler"


def test_no_numbers_no_scaler(iris):
    X, y = iris
    K = X @ X.T
    search = tune(SVC("precomputed"), K, y, grid={"C": [0.1, 1.0]})
    assert isinstance(search.best_estimator_, SVC)
    words = [["red", "green"], ["blue", "green"], ["red", "blue"], ["blue", "blue"]] * 10
    labels = [int(row[0] == "red") for row in words]
    search = tune(SVC(mercer.Overlap()), words, labels, grid={"C": [0.1, 1.0]})
    assert search.best_score_ == 1.0
    assert isinstance(search.best_estimator_, SVC)


def test_times_of_a_series_are_not_columns_to_scale():
    """A table of series of one length looks like a table of numbers; the kernel knows better."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 6)).cumsum(axis=1) * np.arange(1, 7), np.arange(24) % 2
    grid = {"C": [1.0]}
    expected = tune(SVC(GlobalAlignment()), list(X[:, None]), y, grid=grid, cv=3)
    for rows in (X, X.tolist(), pd.DataFrame(X)):
        search = tune(SVC(GlobalAlignment()), rows, y, grid=grid, cv=3)
        assert isinstance(search.best_estimator_, SVC)
        assert search.best_estimator_.kernel_ == expected.best_estimator_.kernel_
        assert search.best_score_ == expected.best_score_
    # Beside series, numbers are scaled.
    frame = pd.DataFrame({"series": X.tolist(), "age": rng.normal(50, 9, size=24)})
    kernel = GlobalAlignment().on("series") + RBF().on("age")
    assert "scale" in tune(SVC(kernel), frame, y, grid=grid, cv=3).best_estimator_.named_steps


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_frames(kind):
    random = np.random.default_rng(0)
    data = {"a": random.normal(size=80) * 1e4, "kind": random.choice(list("xyz"), 80).tolist()}
    y = ((data["a"] > 0) ^ (np.array(data["kind"]) == "x")).astype(int)
    kernel = RBF(gamma=1.0).on("a") * (mercer.Delta().on("kind") + 0.1)
    search = tune(SVC(kernel), kind(data), y, grid={"C": [1.0, 100.0]})
    assert search.best_score_ > 0.85
    assert search.predict(kind(data)).shape == (80,)


def test_sparse_weights_groups_and_seeds(iris):
    X, y = iris
    grid = {"C": [0.1, 1.0, 10.0]}
    assert tune(SVC(), sparse.csr_matrix(X), y, grid=grid).best_score_ > 0.9
    weight = np.linspace(0.5, 2, len(y))
    assert tune(SVC(), X, y, grid=grid, sample_weight=weight).best_score_ > 0.9
    groups = np.arange(len(y)) % 10
    search = tune(SVC(), X, y, grid=grid, groups=groups, cv=GroupKFold(3))
    assert search.n_splits_ == 3
    first, second, other = (
        tune(SVC(), X, y, grid=grid, random_state=s, exhaustive=True).cv_results_["mean_test_score"]
        for s in (1, 1, 2)
    )
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


def test_automatic_grid_grows_at_its_edge():
    """Radial data far finer than the first widths: the best width lies beyond the grid."""
    random = np.random.default_rng(1)
    X = random.uniform(0, 1, (200, 1))
    y = (np.sin(60 * X[:, 0]) > 0).astype(int)
    search = tune(SVC(), X, y)
    gammas = np.unique(np.asarray(search.cv_results_["param_machine__gamma"], dtype=float))
    assert len(gammas) > 7
    assert gammas.max() > 64 * 1.01
    assert search.best_score_ > 0.85
    ratios = np.diff(np.log(gammas))
    np.testing.assert_allclose(ratios, ratios[0])


def test_a_grid_of_the_user_stays(iris):
    search = tune(SVC(), *iris, grid={"C": [1e-3, 1e-2]})
    assert len(search.cv_results_["params"]) == 2


def test_callback_and_bar(iris, capsys):
    seen = []
    tune(SVC(), *iris, grid={"C": [0.1, 1.0]}, callback=lambda *state: seen.append(state))
    done, total, best = seen[-1]
    assert (done, total) == (2, 2)
    assert best > 0.9
    assert capsys.readouterr().err == ""
    tune(SVC(), *iris, grid={"C": [0.1, 1.0]}, verbose=True)
    assert "tuning SVC" in capsys.readouterr().err


def test_time_limit_returns_the_best_so_far():
    X, y = make_classification(400, 10, flip_y=0.2, random_state=0)
    with pytest.warns(UserWarning, match=r"time limit: \d+ of 400 candidates"):
        search = tune(
            SVC(), X, y, grid={"C": np.logspace(-2, 4, 20), "gamma": np.logspace(-4, 1, 20)},
            exhaustive=True, time_limit=0.3,
        )  # fmt: skip
    skipped = search.cv_results_["skipped"]
    assert 0 < skipped.sum() < 400
    means = search.cv_results_["mean_test_score"]
    assert np.isnan(means[skipped]).all()
    assert search.best_score_ == np.nanmax(means)
    assert search.predict(X).shape == (400,)


def test_ctrl_c_returns_the_best_so_far():
    X, y = make_classification(600, 10, flip_y=0.2, random_state=0)

    def interrupt(done, total, best):
        if done > 0 and not stopped.is_set():
            stopped.set()
            _thread.interrupt_main()
            time.sleep(0.01)

    stopped = threading.Event()
    with pytest.warns(UserWarning, match="interrupted"):
        search = tune(
            SVC(), X, y, grid={"C": np.logspace(-2, 4, 20), "gamma": np.logspace(-4, 1, 20)},
            exhaustive=True, callback=interrupt,
        )  # fmt: skip
    assert 0 < search.cv_results_["skipped"].sum() < 400
    assert search.best_score_ > 0.7


def test_ctrl_c_before_the_first_score_ends_the_search():
    X, y = make_classification(100, 4, random_state=0)

    def interrupted(A, B):
        raise KeyboardInterrupt

    for machine in (SVC(kernel=interrupted), make_pipeline(NumericScaler(), SVC(interrupted))):
        with pytest.raises(KeyboardInterrupt, match="no score yet"):
            tune(machine, X, y, grid={f"{'svc__' if hasattr(machine, 'steps') else ''}C": [1.0]})


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, dict])
def test_widths_of_scaled_frames(library):
    """The grid lies around the width that the scaled columns ask for, not around 1."""
    random = np.random.default_rng(0)
    columns = {"age": random.normal(40, 10, 300), "pay": random.normal(3e4, 5e3, 300)}
    kernel = RBF("median").on("age", "pay") + Spectrum(2).on("dna")
    columns["dna"] = ["".join(random.choice(list("ACGT"), 8)) for _ in range(300)]
    frame = pa.table(columns) if library is dict else library(columns)
    pipe = make_pipeline(NumericScaler(), SVC(kernel))
    widths = Axes.of(pipe, frame).values["svc__kernel__left__kernel__gamma"]
    scaled = NumericScaler().fit_transform(frame)
    centre = kernel.resolve(kernel.encode(scaled)).left.kernel.gamma
    assert widths == pytest.approx([centre * factor for factor in WIDTHS])
    assert 0.1 < centre < 0.6


def test_regression():
    X, y = load_diabetes(return_X_y=True)
    search = tune(SVR(), X, y, time_limit=60)
    assert search.best_score_ > 0.45


# ---- machines that tune themselves -----------------------------------------------------------


def test_automatic_parameters_of_a_classifier(iris):
    X, y = iris
    machine = SVC(C="auto", kernel=RBF("auto")).fit(X, y)
    assert machine.get_params()["C"] == "auto"
    assert machine.kernel == RBF("auto")
    assert machine.search_.best["C"] == machine.C_
    assert machine.kernel_.gamma == machine.search_.best["kernel__gamma"]
    means = machine.search_.scores.mean(axis=1)
    assert machine.search_.candidates[int(np.nanargmax(means))] == machine.search_.best
    plain = SVC(C=machine.C_, kernel=machine.kernel_).fit(X, y)
    assert np.array_equal(machine.decision_function(X), plain.decision_function(X))
    best = cross_val_score(SVC(C=machine.C_, kernel=machine.kernel_), X, y).mean()
    assert best == pytest.approx(np.nanmax(means), abs=1e-9)


def test_one_automatic_parameter(iris):
    machine = SVC(C="auto", gamma="auto").fit(*iris)
    assert machine.kernel_.gamma == 0.25
    assert set(machine.search_.best) == {"C"}
    assert NuSVC(nu="auto").fit(*iris).nu_ < 0.6
    width = SVC(kernel=RBF("auto").on(2) + RBF(gamma=0.1).on(0)).fit(*iris)
    assert len(width.search_.best) == 1


def test_automatic_regression_and_joint_classes(iris):
    X, y = load_diabetes(return_X_y=True)
    machine = SVR(C="auto", kernel=mercer.Matern(gamma="auto"), epsilon=10.0).fit(X[:200], y[:200])
    assert machine.score(X[200:], y[200:]) > 0.3
    joint = SVC(C="auto", multi_class="crammer_singer").fit(iris[0][::5], iris[1][::5])
    assert joint.C_ > 0
    weights = np.linspace(0.1, 1, len(iris[1]))
    assert SVC(C="auto").fit(*iris, sample_weight=weights).score(*iris) > 0.9


def test_automatic_width_without_a_machine_is_scale(iris):
    X, _ = iris
    assert np.array_equal(RBF("auto")(X), RBF("scale")(X))


def test_automatic_parameters_that_make_no_sense(iris):
    with pytest.raises(ValueError, match="C"):
        SVC(C="best").fit(*iris)
    assert OneClassSVM(RBF("auto")).fit(iris[0]).kernel_ == RBF("scale").resolve(
        RBF().encode(iris[0])
    )


def test_a_machine_that_tuned_itself_can_be_judged(iris):
    machine = SVC(C="auto", kernel=RBF("auto")).fit(*iris)
    judged = mercer.certify(machine, *iris)
    assert judged.dual == pytest.approx(machine.certificate_.dual, rel=1e-6)


@pytest.mark.parametrize(
    ("machine", "names"),
    [
        (mercer.Ridge(), {"alpha"}),
        (mercer.Lasso(), {"alpha"}),
        (mercer.ElasticNet(), {"alpha"}),
        (mercer.NuSVR(), {"nu", "C", "gamma"}),
        (mercer.NuSVC(), {"nu", "gamma"}),
    ],
    ids=lambda part: type(part).__name__,
)
def test_automatic_grids_of_other_machines(machine, names):
    X, y = load_diabetes(return_X_y=True)
    y = y[:80] > 140 if is_classifier(machine) else y[:80]
    search = tune(machine, X[:80], y, cv=3)
    assert {name.removeprefix("machine__") for name in search.best_params_} == names
    start = cross_val_score(make_pipeline(NumericScaler(), machine), X[:80], y, cv=3).mean()
    assert search.best_score_ >= start - 1e-9


class _NoScore(BaseEstimator):
    def fit(self, X, y=None):
        return self


def test_a_machine_without_a_score_needs_one():
    with pytest.raises(InvalidParameter, match=r"_NoScore has no score to choose by\. Give scor"):
        tune(_NoScore(), np.zeros((9, 2)))


def test_what_has_no_automatic_grid_is_told_where_to_give_one():
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(InvalidParameter, match=r"grid of tune, param_grid of\s+GridSearchCV"):
        mercer.GridSearchCV(mercer.GaussianProcessRegressor()).fit(X[:40], y[:40])
