"""Contenders within a limit of time: who runs, in what order, and what is said of the others."""

import time
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest

from mercer import compare
from mercer.cli.settings import as_options
from mercer.study import comparison
from mercer.study.contenders import TunedMachine
from mercer.study.judging import Judge
from mercer.study.others import METHODS, Method
from mercer.study.pacing import Clock, Turn, ask, in_turn
from mercer.study.plan import make_plan

FOLDS = [(np.arange(2), np.arange(1))] * 3
SECOND = Turn(1, 4)


@dataclass
class Fake:
    name: str
    seconds: float = 0.0
    adapts: bool = False
    given: list = field(default_factory=list)

    def expected(self, train):
        return self.seconds

    def fold(self, train, test, seconds):
        self.given.append(seconds)
        time.sleep(self.seconds)
        return self.name


def started(limit, seconds_ago=0.0):
    return Clock(limit, time.perf_counter() - seconds_ago)


def asked(run, clock, turn=SECOND, expected=None):
    return ask(run, run.seconds if expected is None else expected, FOLDS, clock, turn, print)


def test_without_a_limit_all_run_in_the_order_in_which_they_are_named():
    own, beside = [Fake("auto"), Fake("svc")], [Fake("slow", 9.0), Fake("fast", 1.0)]
    runs = list(in_turn(own, beside, FOLDS[0][0], Clock(None)))
    assert [run.name for run, _ in runs] == ["auto", "slow", "fast", "svc"]
    assert asked(own[0], Clock(None)) == ["auto"] * 3
    assert own[0].given == [None] * 3


def test_within_a_limit_the_fastest_of_the_others_comes_first():
    own, beside = [Fake("auto", 3.0), Fake("svc", 2.0)], [Fake("slow", 9.0), Fake("fast", 1.0)]
    runs = list(in_turn(own, beside, FOLDS[0][0], started(100.0)))
    assert [(run.name, expected) for run, expected in runs] == [
        ("auto", 0.0), ("fast", 1.0), ("slow", 9.0), ("svc", 2.0),
    ]  # fmt: skip


def test_nobody_begins_who_would_not_be_ready():
    assert asked(Fake("slow"), started(10.0), expected=20.0) == (
        "not tried: a fold takes about 20 s, and 10 s are left"
    )
    assert asked(Fake("any"), started(10.0, 11.0)) == "not tried: the time limit was reached"
    # The first one always runs, so that there is an answer.
    first = Fake("auto", adapts=True)
    assert asked(first, started(10.0, 11.0), Turn(0, 4)) == ["auto"] * 3
    assert first.given == [1e-3] * 3


def test_who_takes_longer_than_it_seemed_is_given_up():
    said = asked(Fake("slow", 0.2), started(0.3), expected=0.0)
    assert said.startswith("given up after 1 of 3 folds: the others take about 0.4")
    said = asked(Fake("own", 0.2, adapts=True), started(0.3))
    assert said == "given up after 2 of 3 folds: the time limit was reached"


def test_shares_of_the_time():
    run = Fake("own", adapts=True)
    asked(run, started(90.0), Turn(1, 4))
    assert run.given == pytest.approx([10.0, 11.25, 90 / 7], rel=0.01)
    first = Fake("auto", adapts=True)
    asked(first, started(120.0), Turn(0, 20))
    assert sum(first.given) == pytest.approx(120 / 4, rel=0.15)


@pytest.mark.parametrize(("rows", "known"), [(1_000, False), (1_200, True)])
def test_a_search_of_many_rows_takes_some_time_whatever_it_is_given(rows, known):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 2))
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": X.sum(axis=1)})
    plan = make_plan(frame, "y", machine="kernelridge")
    folds = comparison._folds(plan, 2, 0)
    notes = []
    run = TunedMachine(plan, Judge.of(plan.table, folds, None, 0), notes, False)
    assert (run.expected(np.arange(rows)) > 0) == known
    assert notes == []  # nobody is told of the trial


class Sleeper:
    """A method that takes long, the longer the more rows there are."""

    def fit(self, E, y):
        time.sleep(len(y) / 50)
        self.mean = y.mean()
        return self

    def predict(self, E):
        return np.full(len(E), self.mean)


@pytest.mark.filterwarnings("ignore:GridSearchCV reached its time limit")
def test_a_limit_bounds_other_methods_and_their_rows_say_so(monkeypatch):
    slow = Method("sleeper", "scikit-learn", lambda *_: Sleeper(), lambda *_: Sleeper())
    monkeypatch.setattr(comparison, "METHODS", (slow, METHODS[0]))
    began = time.perf_counter()
    found = compare("diabetes", machines=["ridge"], others=True, cv=5, time_limit=6.0)
    assert time.perf_counter() - began < 20  # all folds of it would take 35 s
    assert [c.machine for c in found.others] == ["linear model"]
    (skipped,) = found.skipped
    assert skipped.machine == "sleeper"
    assert skipped.reason.startswith("not tried: a fold takes about ")
    assert "sleeper" in repr(found)
    assert skipped.reason in found._repr_html_()


@pytest.mark.parametrize("machine", ["svc", "auto"])
def test_searches_that_time_ended_are_one_note_and_no_warning(machine):
    plan = make_plan("heart", None, machine=machine)
    folds, notes = comparison._folds(plan, 3, 0), []
    run = TunedMachine(plan, Judge.of(plan.table, folds, None, 0), notes, False)
    for train, test in folds:
        run.fold(train, test, 1e-3)
    (note,) = set(notes)
    assert note.startswith(f"{machine} had no time for its whole grid in some folds")
    assert "(time_limit=)" in note
    assert "(--time-limit)" in as_options(note)
