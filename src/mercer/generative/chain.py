"""Chains of hidden states: their parameters, and what is expected of them, given sequences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mercer import _fast
from mercer._parallel import run, thread_count
from mercer._typing import Array
from mercer.exceptions import InvalidParameter
from mercer.generative.emissions import Emissions
from mercer.generative.sequences import Sequences

_TIMES_AT_ONCE = 1 << 12
"""Times of a task for a thread: enough to outweigh its start, few enough to share out."""


@dataclass(frozen=True, eq=False)
class Chain:
    """The parameters of a hidden Markov model."""

    start: Array
    transitions: Array
    emissions: Emissions

    def logs(self) -> tuple[Array, Array]:
        """Return the logarithms of the start and of the transitions."""
        with np.errstate(divide="ignore"):
            return np.log(self.start), np.log(self.transitions)


@dataclass(frozen=True, eq=False)
class Posterior:
    """What is expected of the hidden states, given what was seen."""

    states: Array
    moves: Array
    log_likelihoods: Array


def posterior_of(model: Chain, sequences: Sequences) -> Posterior:
    """Return what is expected of the states of some sequences, on several threads."""
    k, n = len(model.start), len(sequences)
    log_b = model.emissions.log_densities(sequences.values)
    result = Posterior(np.empty((len(log_b), k)), np.empty((n, k, k)), np.empty(n))
    logs = model.logs()
    cuts = np.flatnonzero(np.diff(sequences.starts // _TIMES_AT_ONCE)) + 1
    bounds = [0, *cuts.tolist(), n]

    def task(number: int) -> None:
        part = slice(bounds[number], bounds[number + 1])
        _fast.forward_backward.posteriors(
            log_b,
            sequences.starts[part],
            sequences.lengths[part],
            *logs,
            result.states,
            result.moves[part],
            result.log_likelihoods[part],
        )

    run(task, range(len(bounds) - 1), thread_count())
    return result


def chain_of(start: ArrayLike, transitions: ArrayLike) -> tuple[Array, Array]:
    """Return a given start and given transitions, checked."""
    pi = stochastic(start, (np.size(start),), "start")
    return pi, stochastic(transitions, (len(pi), len(pi)), "transitions")


def stochastic(values: ArrayLike, shape: tuple[int, ...], name: str) -> Array:
    """Return given rows of probabilities, or raise :class:`InvalidParameter`."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape or not (array >= 0).all() or not np.allclose(array.sum(axis=-1), 1):
        raise InvalidParameter(
            f"HiddenMarkovModel: {name} has to be probabilities of shape {shape} whose rows add "
            "up to 1."
        )
    return array
