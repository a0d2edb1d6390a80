"""Cases of the sweep that really run, in processes of their own."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.job import OURS
from benchmarks.sweep.cases import Case
from benchmarks.sweep.contenders import MACHINES
from benchmarks.sweep.judge import Judge
from benchmarks.sweep.outcomes import read
from benchmarks.sweep.problem_data import make_data, settings
from benchmarks.sweep.run import Session, measure

ROOT = Path(__file__).parents[2]


def tiny(machine, **changes):
    given = {
        "action": "fit",
        "rows": 60,
        "columns": 3,
        "classes": 2 if MACHINES[machine].task == "classes" else 0,
        "parameters": {},
        "density": 0.0,
        "dtype": "float64",
        "new_rows": 5,
        "data_seed": 0,
    }
    return Case(machine, **{**given, **changes})


RIDGE = {"parameters": {"kernel": "rbf", "width": 1.0, "alpha": 0.5}}


def test_a_case_from_its_data_to_its_times():
    outcome = measure(tiny("KernelRidge", **RIDGE), limit=60)
    assert set(outcome.seconds) == {OURS, "scikit-learn"}
    assert all(len(runs) >= 5 and min(runs) > 0 for runs in outcome.seconds.values())
    assert outcome.counts
    assert not outcome.worse
    assert outcome.numbers["scikit-learn"] == pytest.approx(outcome.numbers[OURS])


def test_who_takes_too_long_is_stopped_and_the_others_go_on():
    case = tiny("KernelRidge", rows=1_500, **RIDGE)
    # Nothing is done in so short a time; ours has the time of a first compilation on top.
    outcome = measure(case, limit=1e-6)
    assert outcome.at_least["scikit-learn"] == 1e-6


def test_a_worse_answer_gets_the_tolerance_that_reaches_ours():
    case = tiny("Lasso", rows=100, columns=200, parameters={"share": 0.01})
    session = Session(case, [OURS, "scikit-learn"], 60, lambda message: None)
    session._prepare(OURS, 0)
    session._prepare("scikit-learn", 0)
    # As if the first step had stopped early.
    session.result.numbers["scikit-learn"] *= 2
    session._make_equal()
    assert session.result.step == {OURS: 0, "scikit-learn": 1}
    assert not session.result.worse


def test_the_objectives_are_those_that_the_machines_minimise():
    """No step in a random direction from the answer makes the number of the judge smaller."""
    random = np.random.default_rng(0)
    for machine, parameters in (
        ("Lasso", {"share": 0.1}),
        ("ElasticNet", {"share": 0.1, "l1_ratio": 0.5}),
        ("Ridge", {"alpha": 2.0}),
        ("LogisticRegression", {"C": 0.7}),
        ("LinearSVC", {"C": 0.7}),
        ("LinearSVR", {"C": 0.7, "epsilon": 0.1}),
    ):
        case = tiny(machine, parameters=parameters)
        data = make_data(case, MACHINES[machine].task)
        given = settings(case, data)
        model = MACHINES[machine].contenders[OURS].build(**given, tol=1e-10)
        model.fit(*data.supervised)
        judge = MACHINES[machine].judge
        best = judge.number(model, model, data, given)
        coefficients = model.coef_
        for _ in range(20):
            model.coef_ = coefficients + 0.01 * random.standard_normal(coefficients.shape)
            assert judge.number(model, model, data, given) > best


def test_slack():
    judge = Judge(lambda *_: 0.0, relative=1e-6)
    assert judge.as_good(-1.0, 1.0, "float64")
    assert judge.as_good(1.0 + 5e-7, 1.0, "float64")
    assert not judge.as_good(1.0 + 5e-6, 1.0, "float64")
    assert judge.as_good(1.0 + 5e-6, 1.0, "float32")


def command(*arguments):
    """Run the command in a process of its own: it sets the threads of its whole process."""
    call = [sys.executable, "-m", "benchmarks", "sweep", *arguments]
    return subprocess.run(call, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


@pytest.mark.slow
def test_the_command_lists_runs_and_resumes(tmp_path):
    path = tmp_path / "out.jsonl"
    chosen = ["--only", "Ridge rbf, predict 1 row,", "--seed", "5", "--output", str(path)]
    assert command(*chosen, "--list").startswith("KernelRidge rbf, predict 1 row,")
    said = command(*chosen)
    assert "Cases: 1;" in said
    assert "geometric mean of the ratios, kernel machines" in said
    written = path.read_text(encoding="utf-8")
    assert "Cases: 1;" in command(*chosen)
    assert path.read_text(encoding="utf-8") == written
    assert len(read(path)) == 1
