"""What a search tells while it runs: as scikit-learn's does, on shared matrices too."""

import re

import numpy as np
import pytest
from sklearn import model_selection, svm
from sklearn.callback import ProgressBar
from sklearn.datasets import make_classification
from sklearn.exceptions import FitFailedWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, GridSearchCV, KernelRidge, tune
from mercer.tuning.shared_fits import SharedFits

GRID = {"C": [0.1, 1.0], "gamma": [0.01, 0.1, 1.0]}


@pytest.fixture(scope="module")
def two():
    return make_classification(60, 4, random_state=0)


@pytest.fixture
def on_shared_matrices(monkeypatch):
    """Fail where a search did fits one at a time."""
    runs = []
    run = SharedFits.run

    def watched(self):
        run(self)
        assert not self.failed
        runs.append(len(self.machines))

    monkeypatch.setattr(SharedFits, "run", watched)
    yield
    assert runs


class Recorder:
    """Notes the tasks that it hears of."""

    def __init__(self):
        self.tasks, self.rows, self.weights, self.down = [], [], [], 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        self.down += 1

    def on_fit_task_begin(self, estimator, context):
        self.tasks.append(("begin", type(estimator).__name__, context.task_name, context.task_id))

    def on_fit_task_end(self, estimator, context, *, X, y, metadata):
        self.tasks.append(("end", type(estimator).__name__, context.task_name, context.task_id))
        if context.task_name == "candidate-split-evaluation":
            self.rows.append((context.task_id, X.tolist(), y.tolist()))
            self.weights.append(None if metadata is None else metadata["sample_weight"].tolist())


class Follower(Recorder):
    """A recorder that goes on into the fits of candidates."""

    max_propagation_depth = None


def heard(search, kind, X, y, **fit):
    recorder = kind()
    search.set_callbacks(recorder).fit(X, y, **fit)
    return recorder


@pytest.mark.parametrize("refit", [True, False])
def test_callbacks_hear_of_the_tasks_that_scikit_learn_has(two, refit, on_shared_matrices):
    weights = np.linspace(1, 2, 60)
    peer = heard(
        model_selection.GridSearchCV(svm.SVC(), GRID, cv=3, refit=refit),
        Recorder, *two, sample_weight=weights,
    )  # fmt: skip
    mine = heard(
        GridSearchCV(SVC(), GRID, cv=3, refit=refit), Recorder, *two, sample_weight=weights
    )
    assert sorted(mine.tasks) == sorted(peer.tasks)
    assert mine.tasks[0] == peer.tasks[0]
    assert mine.tasks[-1] == peer.tasks[-1]
    assert sorted(mine.rows) == sorted(peer.rows)
    assert sorted(mine.weights) == sorted(peer.weights)
    assert mine.down == 1


def test_a_callback_that_follows_fits_hears_of_their_rounds(two):
    mine = heard(GridSearchCV(SVC(), {"C": [1.0, 2.0]}, cv=2), Follower, *two)
    names = {(estimator, task) for _, estimator, task, _ in mine.tasks}
    assert ("SVC", "round") in names
    assert ("GridSearchCV", "search") in names
    assert mine.down == 1


def test_callbacks_of_a_pipeline_and_of_a_growing_grid(two):
    for estimator in (make_pipeline(StandardScaler(), SVC()), SVC()):
        mine = heard(GridSearchCV(estimator, cv=2), Recorder, *two)
        ends = [task for task in mine.tasks if task[0] == "end" and "evaluation" in task[2]]
        search = GridSearchCV(estimator, cv=2).fit(*two)
        assert len(ends) == 2 * len(search.cv_results_["params"])


def test_callbacks_of_a_search_that_is_dropped_in_part_and_of_failed_fits(two):
    X, y = two
    search = GridSearchCV(SVC(), {"C": [1.0, -1.0]}, cv=2, error_score=0.0)
    with pytest.warns(FitFailedWarning):
        mine = heard(search, Recorder, X, y)
    assert sum("evaluation" in task[2] for task in mine.tasks) == 2 * 4


@pytest.mark.usefixtures("on_shared_matrices")
def test_a_progress_bar_of_the_search_alone_leaves_fits_shared(two, capsys):
    bar = ProgressBar(max_propagation_depth=0)
    GridSearchCV(SVC(), GRID, cv=2, refit=False).set_callbacks(bar).fit(*two)
    assert "search" in capsys.readouterr().out


@pytest.mark.parametrize("verbose", [0, 1, 2, 3])
@pytest.mark.parametrize(
    "options", [{}, {"return_train_score": True}, {"scoring": ["f1", "recall"]}]
)
def test_lines_are_those_of_scikit_learn(two, capsys, verbose, options):
    def lines(search):
        search.set_params(verbose=verbose, refit=False, cv=2, **options).fit(*two)
        out = re.sub(r"total time=.*", "total time", capsys.readouterr().out)
        return sorted(re.sub(r"\.{3,}", "...", line) for line in out.splitlines())

    mine = lines(GridSearchCV(SVC(tol=1e-6), {"C": [0.1, 1.0]}))
    peer = lines(model_selection.GridSearchCV(svm.SVC(tol=1e-6), {"C": [0.1, 1.0]}))
    assert mine == peer
    assert len(mine) == {0: 0, 1: 1, 2: 5, 3: 5}[verbose]


def test_every_cell_has_a_score_by_default_and_tune_drops(two):
    grid = {"C": np.logspace(-2, 2, 5), "gamma": np.logspace(-3, 2, 6)}
    assert np.isfinite(GridSearchCV(SVC(), grid).fit(*two).cv_results_["mean_test_score"]).all()
    assert tune(SVC(), *two, grid=grid).cv_results_["dropped"].any()


@pytest.mark.parametrize("scoring", [["accuracy", "f1"], lambda m, X, y: {"a": 1.0, "b": m.C}])
def test_a_function_chooses_among_several_measures(two, scoring):
    search = GridSearchCV(SVC(), GRID, scoring=scoring, cv=2, refit=lambda results: 3).fit(*two)
    assert search.best_index_ == 3
    assert search.best_params_ == search.cv_results_["params"][3]
    assert not hasattr(search, "best_score_")
    assert search.best_params_["C"] == search.best_estimator_.C


def test_a_function_chooses_for_a_regression():
    X = np.linspace(0, 1, 30)[:, None]
    search = GridSearchCV(
        KernelRidge(kernel="rbf"), {"alpha": [1e-3, 1.0]}, refit=lambda results: 1,
        scoring=("r2", "neg_mean_squared_error"),
    ).fit(X, X[:, 0] ** 2)  # fmt: skip
    assert search.best_params_ == {"alpha": 1.0}
