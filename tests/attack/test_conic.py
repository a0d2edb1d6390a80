"""Attacks on certificates of all machines that are no plain box QP: conic programs of Clarabel."""

import warnings

import numpy as np
import pytest

from mercer import certify
from mercer.problems.certificate import OPTIMAL_GAP

pytest.importorskip("clarabel")
from tests.attack.conic import CASES

quick, long = range(4), range(4, 400)


@pytest.fixture(autouse=True)
def _calm():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def attack(case, seed):
    """Compare an interval with the reference; return whether the machine had an answer."""
    posed = case(np.random.default_rng(seed))
    data = dict(zip(("X", "y", "sample_weight"), posed.data, strict=False))
    try:
        model = posed.model.fit(**data)
    except ValueError:  # refused with a word
        return False
    found, again = model.certificate_, certify(model, **data)
    note = (case.__name__, seed, posed.lower, posed.upper, found)
    if found.rounding is not None:
        assert (again.primal, again.dual, again.rounding) == (
            found.primal, found.dual, found.rounding,
        ), note  # fmt: skip
    spare = 1e-6 * abs(found.primal) if found.rounding is None else 0.0
    for proof in (found, again):
        assert proof.lower <= float(posed.upper) + spare, note
        assert proof.upper >= posed.lower - spare, note
        if proof.status == "optimal":
            assert proof.relative_gap <= OPTIMAL_GAP or proof.within_rounding, note
        upper = float(posed.upper)
        solved = upper - posed.lower <= OPTIMAL_GAP * abs(upper)
        if solved and proof.optimal and not proof.within_rounding:
            # Both know the optimum: then what we say is about that, and not any interval.
            assert proof.primal == pytest.approx(upper, rel=3 * OPTIMAL_GAP), note
            assert proof.dual == pytest.approx(upper, rel=3 * OPTIMAL_GAP), note
            assert (proof.rounding or 0.0) <= OPTIMAL_GAP * upper, note
    return True


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_our_interval_overlaps_that_of_a_conic_program(case):
    assert sum(attack(case, seed) for seed in quick) >= len(quick) / 2


@pytest.mark.attack
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_our_intervals_overlap_those_of_many_conic_programs(case):
    assert sum(attack(case, seed) for seed in long) >= len(long) / 2
