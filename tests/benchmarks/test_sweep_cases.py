"""The cases of the sweep: reproducible, many, of all machines and over the whole range."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from benchmarks.job import OURS
from benchmarks.sweep.cases import draw, subset
from benchmarks.sweep.contenders import MACHINES, contenders_of
from benchmarks.sweep.problem_data import make_data, settings


def grid(seed):
    return [case for case in draw(seed) if not case.growth]


def test_a_seed_gives_the_same_cases_again_and_another_seed_others():
    assert draw(7) == draw(7)
    first, second = ({case.key for case in grid(seed)} for seed in (7, 8))
    assert not first & second


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_there_are_many_cases_of_every_machine(seed):
    cases = grid(seed)
    assert len(cases) >= 150
    assert len({case.key for case in cases}) == len(cases)
    assert {case.machine for case in cases} == set(MACHINES)
    assert all(len(contenders_of(case)) >= 2 for case in cases)
    assert all(next(iter(contenders_of(case))) == OURS for case in cases)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_they_cover_the_ranges(seed):
    cases = grid(seed)
    rows, columns = ([getattr(case, name) for case in cases] for name in ("rows", "columns"))
    assert 50 <= min(rows) < 100
    assert 50_000 < max(rows) <= 100_000
    assert min(columns) == 2
    assert 1_000 < max(columns) <= 3_000
    assert {2, 10} <= {case.classes for case in cases}
    assert {1, 100, 20_000} <= {case.new_rows for case in cases if case.action == "predict"}
    assert {"float32", "float64"} == {case.dtype for case in cases}
    assert any(case.density for case in cases)


def test_growth_doubles_the_rows_and_nothing_else():
    series = {}
    for case in draw(3):
        if case.growth:
            series.setdefault(case.machine, []).append(case)
    assert set(series) == {
        "SVC",
        "SVR",
        "KernelRidge",
        "GaussianProcessRegressor",
        "LogisticRegression",
    }
    for cases in series.values():
        rows = [case.rows for case in cases]
        assert all(after == 2 * before for before, after in pairwise(rows))
        assert len({(case.columns, str(case.parameters)) for case in cases}) == 1


def test_a_subset_is_a_fair_draw_wherever_it_ends():
    cases = grid(0)
    chosen = subset(cases, 20, 5)
    assert chosen == subset(cases, 40, 5)[:20]
    assert len({case.key for case in chosen}) == 20
    everything = subset(cases, 10_000, 5)
    assert sorted(map(cases.index, everything)) == list(range(len(cases)))


def test_the_data_are_those_of_the_case():
    for case in grid(4):
        if case.rows * case.columns > 100_000 or case.new_rows > 1_000:
            continue
        task = MACHINES[case.machine].task
        data, again = (make_data(case, task) for _ in range(2))
        assert data.X.shape == (case.rows, case.columns)
        assert data.X.dtype == case.dtype
        assert data.new.shape == (case.new_rows, case.columns)
        assert sparse.issparse(data.X) == bool(case.density)
        if task == "classes":
            np.testing.assert_array_equal(np.unique(data.y), np.arange(case.classes))
        if data.y is not None:
            np.testing.assert_array_equal(data.y, again.y)
        assert not {"width", "share"} & set(settings(case, data))
