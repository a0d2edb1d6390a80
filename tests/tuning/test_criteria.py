"""Machines of one class and processes: what is tried, and what a search chooses by."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.datasets import load_diabetes
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold

import mercer
from mercer import OneClassSVM, tune
from mercer.exceptions import InvalidParameter
from mercer.tuning.criteria import log_density, room_scorer

RANDOM = np.random.default_rng(0)
ANGLES = RANDOM.uniform(0, 2 * np.pi, 150)
RING = np.c_[np.cos(ANGLES), np.sin(ANGLES)] + 0.08 * RANDOM.normal(size=(150, 2))
ELSEWHERE = RANDOM.uniform(-1.5, 1.5, (400, 2))
ELSEWHERE = ELSEWHERE[np.abs(np.hypot(*ELSEWHERE.T) - 1) > 0.3]
KNOWN = np.r_[np.ones(len(RING)), -np.ones(len(ELSEWHERE))]


def area(machine, inside, outside):
    values = np.r_[machine.decision_function(inside), machine.decision_function(outside)]
    return roc_auc_score(np.r_[np.ones(len(inside)), np.zeros(len(outside))], values)


def test_without_labels_the_width_is_the_one_that_needs_the_least_room():
    search = tune(OneClassSVM(nu=0.1), RING)
    [name] = search.best_params_
    assert name == "machine__gamma"
    # The widest of the grid takes the ring for a disc, as its middle shows.
    found = area(search.best_estimator_, RING, ELSEWHERE)
    assert found > 0.97
    assert found > area(OneClassSVM(nu=0.1, gamma=0.01).fit(RING), RING, ELSEWHERE) + 0.1
    assert search.best_estimator_.predict([[0.0, 0.0]])[0] == -1


def test_the_score_is_the_area_over_the_mass_volume_curve():
    machine = OneClassSVM(nu=0.2, gamma=3.0).fit(RING[:100])
    scorer = room_scorer(RING)
    inside = machine.decision_function(RING[100:])
    drawn = machine.decision_function(scorer.anywhere)
    # V(m): the share of the box above the level that m of the left-out rows are above.
    volumes = [np.mean(drawn > level) + np.mean(drawn == level) / 2 for level in inside]
    assert scorer(machine, RING[100:]) == pytest.approx(1 - np.mean(volumes), rel=1e-12)


def test_frames_are_drawn_as_frames():
    frame = pd.DataFrame(RING, columns=["x", "y"])
    one, other = (tune(OneClassSVM(nu=0.1), X, cv=3) for X in (frame, RING))
    assert one.best_params_ == pytest.approx(other.best_params_, rel=1e-12)
    assert one.best_score_ == pytest.approx(other.best_score_, rel=1e-9)


def test_with_labels_by_the_area_under_the_curve():
    X = np.vstack([RING, ELSEWHERE[:40]])  # in a row, so that plain folds would lack one kind
    y = KNOWN[: len(X)]
    search = tune(OneClassSVM(), X, y, cv=3)
    assert set(search.best_params_) == {"machine__nu", "machine__gamma"}
    assert search.scoring == "roc_auc"
    assert search.best_score_ > 0.95
    search = tune(
        OneClassSVM(), X, y, scoring="balanced_accuracy", cv=KFold(3, shuffle=True, random_state=0)
    )
    assert search.best_score_ > 0.7


@pytest.mark.parametrize(
    ("machine", "X", "y", "message"),
    [
        (OneClassSVM(), RING, ["a", "b"] * 75, "1 for rows that belong and −1"),
        (OneClassSVM(), RING, np.ones(150), "and have both"),
        (OneClassSVM(mercer.BagOfWords()), ["a b", "b"] * 9, None, "needs rows of numbers"),
        (OneClassSVM(), np.where(RING > 1, np.nan, RING), None, "without gaps"),
        (OneClassSVM(kernel="linear"), RING, None, "no width to choose"),
        (mercer.GaussianProcessRegressor(), ["a b", "b"] * 9, np.arange(18), "Give it a kernel"),
    ],
)  # fmt: skip
def test_what_cannot_be_chosen_is_refused(machine, X, y, message):
    with pytest.raises(InvalidParameter, match=message):
        tune(machine, X, y)


@pytest.mark.filterwarnings("ignore:.*ended at its bound.*")  # a plane has no use for |x|
def test_the_form_of_a_process_by_densities():
    x = np.sort(RANDOM.uniform(-3, 3, 60))[:, None]
    y = 100 + np.abs(x[:, 0]) + 0.05 * RANDOM.normal(size=60)
    folds = KFold(3, shuffle=True, random_state=0)
    search = tune(mercer.GaussianProcessRegressor(), x, y, cv=folds)
    assert set(search.best_params_) == {"machine__kernel", "machine__normalize_y"}
    assert search.predict([[0.0]])[0] == pytest.approx(100, abs=0.5)
    forms = [str(cell["machine__kernel"]) for cell in search.cv_results_["params"]]
    assert len(forms) == 4
    # A kink is rough: of the forms the smoothest and the straight ones are not the best.
    assert search.best_index_ in (1, 2)
    best = search.best_estimator_.named_steps["machine"].kernel_
    assert best != search.best_params_["machine__kernel"], "its parameters are learnt"


def test_a_kernel_that_is_given_is_kept():
    X, y = load_diabetes(return_X_y=True)
    kernel = 1.0 * mercer.RBF(length_scale=3.0) + mercer.White(0.1)
    search = tune(mercer.GaussianProcessClassifier(kernel.left), X[:60], y[:60] > 140, cv=3)
    assert len(search.cv_results_["params"]) == 1
    assert -1 < search.best_score_ < 0


def test_log_densities():
    X, y = load_diabetes(return_X_y=True)
    kernel = 1.0 * mercer.RBF(length_scale=0.3) + mercer.White(0.1)
    model = mercer.GaussianProcessRegressor(kernel, normalize_y=True).fit(X[:60], y[:60])
    mean, std = model.predict(X[60:80], return_std=True)
    expected = norm.logpdf(y[60:80], mean, std).mean()
    assert log_density(model, X[60:80], y[60:80]) == pytest.approx(expected, rel=1e-12)
