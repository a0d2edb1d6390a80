"""The loop of expectation maximisation by itself, and the proof that it ascends."""

import numpy as np
import pytest

from mercer.generative.expectation_maximisation import Ascent, expectation_maximisation


def halfway(x):
    """Return an objective with its maximum at 0, and a step that halves the distance."""
    return -(x**2), lambda: x / 2


def test_it_goes_on_until_a_step_gains_little():
    found = expectation_maximisation(1.0, halfway, 100, 1e-6)
    assert found.converged
    assert found.trace[0] == -1.0
    assert found.trace[-1] == -(found.parameters**2)
    assert len(found.trace) == found.steps + 1
    assert Ascent(found.trace).is_monotone
    # The last gain that was compared is the first below the tolerance.
    gains = np.diff(found.trace[:-1])
    assert (gains[:-1] >= 1e-6).all()
    assert gains[-1] < 1e-6


@pytest.mark.parametrize("steps", [0, 1, 5])
def test_it_ends_after_max_iter_steps(steps):
    found = expectation_maximisation(1.0, halfway, steps, 0.0)
    assert not found.converged
    assert found.steps == steps
    assert found.parameters == 0.5**steps


def test_a_drop_is_seen():
    assert Ascent(np.array([0.0, 1.0, 0.5])).largest_drop == 0.5
    assert not Ascent(np.array([0.0, 1.0, 0.5])).is_monotone
    assert Ascent(np.array([0.0, 1.0, 1.0 - 1e-12])).is_monotone
