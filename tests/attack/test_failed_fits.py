"""A fit that fails, wherever it fails, leaves the estimator as it was."""

import sys
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer.exceptions import InvalidType, NotEnoughMemory
from tests.attack.machines import MACHINES, fit, make, state

_LIBRARY = str(Path(mercer.__file__).parent)

pytestmark = pytest.mark.filterwarnings("ignore")


class _FailAt:
    """Raise an error at a call of a function of mercer's, counted from the start of a block."""

    def __init__(self, number, error):
        self.number, self.error, self.calls = number, error, 0

    def __enter__(self):
        sys.setprofile(self._count)
        return self

    def __exit__(self, *exc):
        sys.setprofile(None)

    def _count(self, frame, event, argument):
        if event == "call" and frame.f_code.co_filename.startswith(_LIBRARY):
            self.calls += 1
            if self.calls == self.number:
                raise self.error


def fails_whole(machine, learn, error, moments):
    """Let a fitted machine learn and fail at some of its calls; return how often it failed."""
    with _FailAt(0, None) as counted:
        learn()
    attributes, hashed = state(machine)
    failed = 0
    for number in np.unique(np.linspace(2, counted.calls, moments).astype(int)):
        try:
            with _FailAt(number, error):
                learn()
        except type(error):
            failed += 1
            after, hashed_after = state(machine)
            assert after.keys() == attributes.keys(), number
            changed = [key for key in after if after[key] is not attributes[key]]
            assert not changed, (number, changed)
            assert hashed_after == hashed, (number, "changed in place")
        else:  # it ended sooner this time, or something took the error for an answer
            attributes, hashed = state(machine)
    return failed


FIRST = [name for name in MACHINES if name.endswith("-0")]


@pytest.mark.parametrize("name", FIRST)
def test_a_failed_fit_leaves_the_estimator_as_it_was(name):
    machine, data = make(name)
    fit(machine, data)
    assert fails_whole(machine, lambda: fit(machine, data), KeyboardInterrupt(), 3)


@pytest.mark.attack
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, MemoryError])
@pytest.mark.parametrize("name", MACHINES)
def test_wherever_it_fails(name, error):
    machine, data = make(name)
    fit(machine, data)
    assert fails_whole(machine, lambda: fit(machine, data), error(), 40)


@pytest.mark.parametrize("name", FIRST)
def test_a_machine_that_was_never_fitted_has_its_parameters_only(name):
    machine, _ = make(name)
    parameters = dict(vars(machine))
    with pytest.raises((ValueError, TypeError)):
        machine.fit(np.array([[np.inf, 1.0], [2.0, 3.0]]), np.array([1.0, 2.0]))
    assert vars(machine) == parameters


@pytest.mark.parametrize("name", ["Perceptron-0", "Adaline-0", "MLPClassifier-0", "MLPRegressor-0"])
def test_learning_from_a_piece_happens_whole(name):
    machine, data = make(name)
    options = {"classes": np.unique(data.y)} if data.y.dtype.kind == "U" else {}
    machine.partial_fit(data.X, data.y, **options)
    learn = partial(machine.partial_fit, data.X, data.y)
    assert fails_whole(machine, learn, KeyboardInterrupt(), 20) > 3


def test_memory_that_runs_out_has_a_clear_error():
    machine, data = make("PCA-0")
    with (
        pytest.raises(NotEnoughMemory, match=r"PCA: the fit needs more memory .* as it was"),
        _FailAt(4, MemoryError()),
    ):
        fit(machine, data)
    assert not hasattr(machine, "components_")


@pytest.mark.parametrize("name", [name for name in FIRST if name != "HiddenMarkovModel-0"])
@pytest.mark.parametrize("kind", ["datetime64[D]", "timedelta64[h]"])
def test_dates_are_no_numbers(name, kind):
    """A fit that took their numbers would compare days with the nanoseconds of a prediction."""
    machine, data = make(name)
    with pytest.raises(InvalidType, match="X holds dates or durations"):
        machine.fit(np.arange(36).reshape(18, 2).astype(kind), data.y)


def test_dates_beside_numbers_are_no_numbers():
    """NumPy has no type for both, and says so in words of its own."""
    frame = pd.DataFrame({"a": np.arange(18.0), "b": pd.date_range("2020-01-01", periods=18)})
    for name in ("SVC-0", "Ridge-0", "PCA-0"):
        machine, data = make(name)
        with pytest.raises(InvalidType, match="X holds dates or durations"):
            machine.fit(frame, np.resize(data.y, 18))


@pytest.mark.parametrize("name", ["SVC-0", "Ridge-0", "PCA-0", "LogisticRegression-0"])
def test_dates_among_new_data_are_no_numbers(name):
    """Also where the method that takes them is scikit-learn's own."""
    machine, data = make(name)
    numbers = np.random.default_rng(0).normal(size=(18, 2))
    machine.fit(numbers, np.resize(data.y, 18))
    mixed = pd.DataFrame({"a": np.arange(18.0), "b": pd.date_range("2020-01-01", periods=18)})
    dates = np.arange(36).reshape(18, 2).astype("datetime64[D]")
    methods = ("predict", "decision_function", "transform")
    for method in (getattr(machine, name) for name in methods if hasattr(machine, name)):
        for new in (mixed, dates):
            with pytest.raises(InvalidType, match="X holds dates or durations"):
                method(new)


def test_dates_are_categories_to_a_kernel_that_compares_those():
    days = np.arange(6).astype("datetime64[D]")[:, None]
    y = [0, 1, 0, 1, 0, 1]
    assert mercer.SVC(mercer.Delta()).fit(days, y).predict(days).tolist() == y
