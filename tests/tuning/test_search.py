"""The search against scikit-learn's own, on the same folds."""

import contextlib
import signal
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn import model_selection, svm
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, mean_absolute_error, roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import mercer
from mercer import (
    SVC,
    SVR,
    GridSearchCV,
    InvalidParameter,
    KernelRidge,
    NuSVC,
    NuSVR,
    OneClassSVM,
)
from mercer.estimators.svm.box_plan import BoxPlan

TOL = 1e-5
GRID = {"C": [0.01, 1.0, 100.0, 1e4], "gamma": [0.001, 0.05, 1.0, "scale"]}


@pytest.fixture(scope="module")
def two():
    X, y = make_classification(150, 6, flip_y=0.1, random_state=3)
    return X, y


def both(ours, theirs, grid, X, y, fit=None, **options):
    fit = fit or {}
    peer = model_selection.GridSearchCV(theirs, grid, **options).fit(X, y, **fit)
    mine = GridSearchCV(ours, grid, **options).fit(X, y, **fit)
    quick = GridSearchCV(ours, grid, exhaustive=False, **options).fit(X, y, **fit)
    assert list(mine.cv_results_) == list(peer.cv_results_)
    assert list(quick.cv_results_)[:-3] == list(peer.cv_results_)
    assert list(quick.cv_results_)[-3:] == ["dropped", "bound", "skipped"]
    for key, value in peer.cv_results_.items():
        if "score" in key and "time" not in key and "rank" not in key:
            np.testing.assert_allclose(mine.cv_results_[key], value, atol=2e-3, err_msg=key)
        elif key == "params" or key.startswith("param_"):
            assert np.all(mine.cv_results_[key] == value)
        assert np.shape(mine.cv_results_[key]) == np.shape(value)
    assert np.isfinite(means_of(mine)).all()
    assert quick.best_index_ == mine.best_index_
    assert quick.best_score_ == mine.best_score_
    check_dropped(quick, mine)
    return mine, peer


def means_of(search):
    return next(v for k, v in search.cv_results_.items() if k.startswith("mean_test"))


def check_dropped(quick, whole):
    """Scores that are there are the same to the bit, and bounds are bounds."""
    for name in whole.cv_results_:
        if name.startswith("split") and name.endswith("_score"):
            there = ~np.isnan(quick.cv_results_[name])
            assert np.array_equal(quick.cv_results_[name][there], whole.cv_results_[name][there])
    dropped = quick.cv_results_["dropped"]
    means = means_of(whole)
    assert (quick.cv_results_["bound"] >= means - 1e-12).all()
    if dropped.any():
        assert (quick.cv_results_["bound"][dropped] < quick.best_score_).all()
        last = next(v for k, v in quick.cv_results_.items() if k.startswith("rank_test"))
        assert last[dropped].min() == last.max()


def test_two_classes_like_scikit_learn(two):
    mine, peer = both(SVC(tol=TOL), svm.SVC(tol=TOL), GRID, *two, return_train_score=True)
    assert mine.best_params_ == peer.best_params_
    assert mine.n_splits_ == peer.n_splits_
    assert not mine.multimetric_
    assert mine.refit_time_ > 0
    assert np.array_equal(mine.predict(two[0]), peer.predict(two[0]))
    assert mine.score(*two) == pytest.approx(peer.score(*two))


@pytest.mark.parametrize("options", [{}, {"class_weight": "balanced"}])
def test_many_classes(options):
    X, y = load_iris(return_X_y=True)
    names = np.array(["c", "a", "b"])[y]
    ours, theirs = SVC(tol=TOL, **options), svm.SVC(tol=TOL, **options)
    both(ours, theirs, {"C": [0.1, 1, 10], "gamma": [0.1, 1.0]}, X, names)


def test_one_against_the_rest(two):
    X, y = load_iris(return_X_y=True)
    grid = {"C": [0.1, 1, 10], "gamma": [0.1, 1.0]}
    plain = model_selection.GridSearchCV(SVC(multi_class="ovr"), grid).fit(X, y)
    mine = GridSearchCV(SVC(multi_class="ovr"), grid, exhaustive=True).fit(X, y)
    expected = plain.cv_results_["mean_test_score"]
    np.testing.assert_allclose(mine.cv_results_["mean_test_score"], expected, atol=1e-9)


def test_nu_classifier(two):
    both(NuSVC(tol=TOL), svm.NuSVC(tol=TOL), {"nu": [0.2, 0.4], "gamma": [0.02, 0.5]}, *two)


def test_regression():
    X, y = load_diabetes(return_X_y=True)
    y = (y - y.mean()) / y.std()
    X, y = X[:150], y[:150]
    grid = {"C": [1.0, 10.0], "gamma": [1.0, 10.0], "epsilon": [0.1, 0.3]}
    both(SVR(tol=TOL), svm.SVR(tol=TOL), grid, X, y)
    both(
        SVR(tol=TOL), svm.SVR(tol=TOL), grid, X, y, scoring="neg_mean_absolute_error",
        cv=model_selection.KFold(3, shuffle=True, random_state=0),
    )  # fmt: skip
    both(NuSVR(tol=TOL), svm.NuSVR(tol=TOL), {"nu": [0.3, 0.6], "C": [1.0, 10.0]}, X, y)


def test_one_class_with_a_scorer(two):
    X, _ = two
    y = np.where(np.linalg.norm(X, axis=1) > 4, -1, 1)
    grid = {"nu": [0.1, 0.3, 0.5], "gamma": [0.01, 0.1]}
    both(OneClassSVM(tol=TOL), svm.OneClassSVM(tol=TOL), grid, X, y, scoring="balanced_accuracy")


def test_precomputed_matrix(two):
    X, y = two
    K = rbf_kernel(X, gamma=0.1)
    grid = {"C": [0.1, 1.0, 10.0]}
    both(SVC("precomputed", tol=TOL), svm.SVC(kernel="precomputed", tol=TOL), grid, K, y)


def test_pipeline_and_several_metrics(two):
    X, y = two
    scaled = X * [1, 10, 100, 1, 1, 1]
    ours = make_pipeline(StandardScaler(), SVC(tol=TOL))
    theirs = make_pipeline(StandardScaler(), svm.SVC(tol=TOL))
    grid = {"svc__C": [0.1, 10.0], "svc__gamma": [0.01, 1.0], "standardscaler__with_std": [True]}
    grid["standardscaler__with_std"].append(False)
    options = {"scoring": ["accuracy", "roc_auc", "f1"], "refit": "roc_auc"}
    mine, peer = both(ours, theirs, grid, scaled, y, **options)
    assert mine.multimetric_
    assert set(mine.scorer_) == {"accuracy", "roc_auc", "f1"}
    assert mine.best_params_ == peer.best_params_


def test_refit_function_and_refit_off(two):
    def last(results):
        return len(results["params"]) - 1

    search = GridSearchCV(SVC(), {"C": [1.0, 2.0, 3.0]}, refit=last).fit(*two)
    assert search.best_index_ == 2
    assert not hasattr(search, "best_score_")
    assert search.best_estimator_.C == 3.0
    search = GridSearchCV(SVC(), {"C": [1.0, 2.0]}, refit=False).fit(*two)
    assert search.best_index_ in (0, 1)
    assert not hasattr(search, "best_estimator_")
    with pytest.raises(AttributeError):
        search.predict(two[0])


def test_groups_and_weights(two):
    X, y = two
    groups, weight = np.arange(len(y)) // 7, np.random.default_rng(0).uniform(0.2, 3, len(y))
    cv = model_selection.GroupKFold(4)
    fit = {"groups": groups, "sample_weight": weight}
    both(SVC(tol=TOL), svm.SVC(tol=TOL), {"C": [0.1, 1, 10]}, X, y, fit, cv=cv)
    with pytest.raises(ValueError, match="groups"):
        GridSearchCV(SVC(), {"C": [1.0]}, cv=cv).fit(X, y)


def test_folds_as_a_list(two):
    X, y = two
    splits = [(np.arange(0, 100), np.arange(100, 150)), (np.arange(50, 150), np.arange(0, 40))]
    mine, _ = both(SVC(tol=TOL), svm.SVC(tol=TOL), {"C": [0.1, 1.0]}, X, y, cv=splits)
    assert mine.n_splits_ == 2


def test_failing_candidates_are_told_as_usual(two):
    X, y = two
    unequal = np.where(np.arange(len(y)) < 20, 1, 0)
    options = {"cv": model_selection.StratifiedKFold(3)}
    with (
        pytest.warns(FitFailedWarning, match="3 fits failed"),
        pytest.warns(UserWarning, match="non-finite"),
    ):
        search = GridSearchCV(NuSVC(), {"nu": [0.1, 0.9]}, **options).fit(X, unequal)
    assert np.isnan(search.cv_results_["mean_test_score"][1])
    assert search.best_params_ == {"nu": 0.1}
    with pytest.raises(ValueError, match="infeasible"):
        GridSearchCV(NuSVC(), {"nu": [0.1, 0.9]}, error_score="raise", **options).fit(X, unequal)
    with pytest.raises(ValueError, match="All the 3 fits failed"):
        GridSearchCV(SVC(), {"C": [-1.0]}, **options).fit(X, y)
    with pytest.raises(ValueError, match="Invalid parameter"):
        GridSearchCV(SVC(), {"wrong": [1.0]}).fit(X, y)


class Majority(ClassifierMixin, BaseEstimator):
    """A classifier that shares nothing with mercer's machines."""

    def __init__(self, shift=0):
        self.shift = shift

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.winner_ = self.classes_[(counts.argmax() + self.shift) % len(counts)]
        return self

    def predict(self, X):
        return np.full(len(X), self.winner_)


@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (LogisticRegression(), {"C": [0.1, 1.0]}),
        (Majority(), {"shift": [0, 1]}),
        (SVC(multi_class="crammer_singer"), {"C": [0.1, 1.0]}),
        (SVC(kernel=rbf_kernel), {"C": [0.1, 1.0]}),
        (SVC(probability=True, random_state=0), {"C": [0.1, 1.0]}),
        (mercer.LinearSVC(random_state=0), {"C": [0.1, 1.0]}),
    ],
    ids=["logistic", "majority", "joint", "function", "probability", "linear"],
)
def test_any_estimator(estimator, grid, two):
    options = {"cv": 3, "scoring": "accuracy"}
    peer = model_selection.GridSearchCV(estimator, grid, **options).fit(*two)
    mine = GridSearchCV(estimator, grid, **options).fit(*two)
    assert mine.best_index_ == peer.best_index_
    for key in ("split0_test_score", "mean_test_score", "rank_test_score"):
        assert np.array_equal(mine.cv_results_[key], peer.cv_results_[key])


def test_scorer_that_looks_at_the_model_gets_a_fitted_one(two):
    def sparseness(estimator, X, y):
        return {"few": -len(estimator.support_), "right": estimator.score(X, y)}

    search = GridSearchCV(SVC(), {"C": [0.1, 10.0]}, scoring=sparseness, refit="few").fit(*two)
    assert search.multimetric_
    assert search.best_score_ < -5


def test_kernels_as_parameters(two):
    X, y = two
    kernels = [
        mercer.RBF(gamma=0.1),
        mercer.Matern(nu=1.5, gamma=0.1),
        mercer.RBF(gamma=0.1) + mercer.Linear(),
    ]
    grid = {"kernel": kernels, "C": [0.1, 1.0, 10.0]}
    plain = model_selection.GridSearchCV(SVC(tol=TOL), grid).fit(X, y)
    mine = GridSearchCV(SVC(tol=TOL), grid, exhaustive=True).fit(X, y)
    expected = plain.cv_results_["mean_test_score"]
    np.testing.assert_allclose(mine.cv_results_["mean_test_score"], expected, atol=1e-9)
    nested = {"kernel__gamma": [0.01, 0.1], "C": [1.0]}
    assert GridSearchCV(SVC(mercer.RBF()), nested).fit(X, y).best_estimator_.kernel.gamma in (
        0.01,
        0.1,
    )


def test_frames_with_categories():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.normal(size=90), "kind": random.choice(list("xyz"), 90)})
    y = ((frame["a"] > 0) ^ (frame["kind"] == "x")).astype(int)
    kernel = mercer.RBF(gamma=0.5).on("a") * (mercer.Delta().on("kind") + 0.1)
    grid = {"C": [0.1, 1.0, 10.0]}
    plain = model_selection.GridSearchCV(SVC(kernel), grid).fit(frame, y)
    mine = GridSearchCV(SVC(kernel), grid, exhaustive=True).fit(frame, y)
    expected = plain.cv_results_["mean_test_score"]
    np.testing.assert_allclose(mine.cv_results_["mean_test_score"], expected, atol=1e-9)


@pytest.mark.parametrize("seed", range(30))
def test_dropping_never_changes_the_winner(seed):
    random = np.random.default_rng(seed)
    scoring = [None, "balanced_accuracy", "f1_macro", "mean distance"][seed % 4]
    X, y = make_classification(
        int(random.integers(40, 80)), 5, n_informative=3, n_redundant=0, random_state=seed,
        n_classes=int(random.integers(2, 4)), n_clusters_per_class=1,
        flip_y=float(random.uniform(0, 0.3)),
    )  # fmt: skip
    if scoring == "mean distance":
        scoring = make_scorer(mean_absolute_error, greater_is_better=False)
    grid = {"C": np.logspace(-2, 3, 4), "gamma": np.logspace(-3, 1, 3)}
    folds = model_selection.StratifiedKFold(4, shuffle=True, random_state=seed)
    whole = GridSearchCV(SVC(), grid, cv=folds, exhaustive=True, scoring=scoring).fit(X, y)
    quick = GridSearchCV(SVC(), grid, cv=folds, scoring=scoring, exhaustive=False).fit(X, y)
    assert quick.best_index_ == whole.best_index_
    assert quick.best_score_ == whole.best_score_
    check_dropped(quick, whole)


def test_something_is_dropped(two):
    grid = {"C": np.logspace(-2, 2, 5), "gamma": np.logspace(-3, 2, 6)}
    quick = GridSearchCV(SVC(), grid, exhaustive=False).fit(*two)
    dropped = quick.cv_results_["dropped"]
    assert 3 < dropped.sum() < 29
    assert np.isnan(quick.cv_results_["mean_test_score"][dropped]).all()


def test_unbounded_scores_drop_nothing(two):
    scoring = make_scorer(lambda y, p: 5.0 * np.mean(y == p))
    grid = {"C": [1e-3, 1.0], "gamma": [1e-3, 0.1]}
    quick = GridSearchCV(SVC(), grid, scoring=scoring, exhaustive=False).fit(*two)
    assert not quick.cv_results_["dropped"].any()


def test_threads_do_not_change_scores(two):
    results = [
        GridSearchCV(SVC(), GRID, n_jobs=threads, exhaustive=True).fit(*two).cv_results_
        for threads in (1, 2)
    ]
    for key in results[0]:
        if "score" in key and "time" not in key:
            assert np.array_equal(results[0][key], results[1][key])


def test_ranking_measure(two):
    search = GridSearchCV(SVC(), {"C": [0.1, 1.0]}, scoring="roc_auc", cv=3).fit(*two)
    train, test = next(iter(model_selection.StratifiedKFold(3).split(*two)))
    fitted = SVC(C=0.1).fit(two[0][train], two[1][train])
    expected = roc_auc_score(two[1][test], fitted.decision_function(two[0][test]))
    assert search.cv_results_["split0_test_score"][0] == pytest.approx(expected, abs=1e-3)


def test_bad_arguments(two):
    with pytest.raises(ValueError, match="exhaustive"):
        GridSearchCV(SVC(), GRID, exhaustive="no").fit(*two)
    with pytest.raises(ValueError, match="param_grid"):
        GridSearchCV(SVC(), "all").fit(*two)
    with pytest.raises(InvalidParameter, match="automatic grid"):
        GridSearchCV(Majority()).fit(*two)
    with pytest.raises(ValueError, match="NaN"):
        GridSearchCV(SVC(), {"C": [1.0]}, error_score="raise").fit(two[0] * np.nan, two[1])


@pytest.mark.parametrize("values", [[1.0, -1.0], [-1.0]])
@pytest.mark.parametrize(("machine", "name"), [(SVC(), "C"), (KernelRidge(kernel="rbf"), "alpha")])
def test_a_value_that_no_fit_takes_is_an_error_in_a_search_too(two, machine, name, values):
    X, y = two
    with pytest.raises(ValueError, match=name):
        GridSearchCV(machine, {name: values}, cv=2, error_score="raise").fit(X, y)
    if len(values) > 1:
        with pytest.warns(FitFailedWarning), pytest.warns(UserWarning, match="non-finite"):
            search = GridSearchCV(machine, {name: values}, cv=2).fit(X, y)
        assert np.isnan(search.cv_results_["mean_test_score"]).tolist() == [False, True]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_common_checks_as_scikit_learns_search():
    search = GridSearchCV(SVC(), {"C": [1.0, 2.0]}, cv=2, error_score="raise")
    results = check_estimator(search, on_fail=None, on_skip=None)
    failed = {r["check_name"] for r in results if r["status"] == "failed"}
    # This one fails for scikit-learn's search over our SVC too: it asks for words in a message.
    assert failed <= {"check_classifiers_one_label_sample_weights"}


# ---- Ctrl-C that a fit takes for its own ---------------------------------------------------------


class InterruptedPlan(BoxPlan):
    """A plan whose solver was interrupted, and gives the best answer until then."""

    @classmethod
    def solve_path(cls, plans, *args):
        return [
            replace(answer, status="interrupted") for answer in super().solve_path(plans, *args)
        ]


class InterruptedSVC(SVC):
    def plan(self, data):
        return InterruptedPlan(**vars(super().plan(data)))


def test_an_interrupted_solver_ends_the_search():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(KeyboardInterrupt, match="no score yet"):
        GridSearchCV(InterruptedSVC(), {"C": [1, 10]}).fit(X, y)
    with pytest.raises(KeyboardInterrupt):
        InterruptedSVC(C="auto").fit(X, y)


class DeafClassifier(ClassifierMixin, BaseEstimator):
    """Someone presses Ctrl-C in its fit, and the fit goes on."""

    def __init__(self, a=1):
        self.a = a

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_an_interrupted_fit_ends_the_search():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(KeyboardInterrupt, match="no score yet"):
        GridSearchCV(DeafClassifier(), {"a": [1, 2]}).fit(X, y)
