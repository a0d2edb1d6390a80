"""Hidden Markov models: sums and maxima over all paths of states, in the log domain.

Sequences lie one after the other: sequence s has the times ``starts[s]`` to ``starts[s] +
lengths[s]`` of ``log_b``, the log densities of what was seen, given each state (columns).
"""

import numpy as np

from mercer._fast.jit import jit
from mercer._typing import Array, IntArray


@jit
def log_sum(values: Array) -> float:
    """Return log Σ exp(vᵢ)."""
    largest = values.max()
    if largest == -np.inf:
        return -np.inf
    total = 0.0
    for value in values:
        total += np.exp(value - largest)
    return float(largest + np.log(total))


@jit
def forward(log_b: Array, log_start: Array, log_move: Array, alpha: Array) -> float:
    """Fill ``alpha[t, i]`` = log p(x₀ … x_t, state i at t) of one sequence; return log p(x)."""
    states = len(log_start)
    terms = np.empty(states)
    for i in range(states):
        alpha[0, i] = log_start[i] + log_b[0, i]
    for t in range(1, len(log_b)):
        for j in range(states):
            for i in range(states):
                terms[i] = alpha[t - 1, i] + log_move[i, j]
            alpha[t, j] = log_sum(terms) + log_b[t, j]
    return log_sum(alpha[len(log_b) - 1])


@jit
def log_likelihoods(
    log_b: Array,
    starts: IntArray,
    lengths: IntArray,
    log_start: Array,
    log_move: Array,
    out: Array,
) -> None:
    """Write log p(x) of each sequence; 0 for an empty one."""
    alpha = np.empty((max(1, lengths.max()), len(log_start)))
    for s in range(len(starts)):
        if lengths[s] == 0:
            out[s] = 0.0
            continue
        part = log_b[starts[s] : starts[s] + lengths[s]]
        out[s] = forward(part, log_start, log_move, alpha)


@jit
def posteriors(
    log_b: Array,
    starts: IntArray,
    lengths: IntArray,
    log_start: Array,
    log_move: Array,
    states_at: Array,
    moves: Array,
    out: Array,
) -> None:
    """Write p(state at t | x) of each time, the expected moves of each sequence, and log p(x).

    A sequence that the model cannot make has ``out[s]`` = −∞ and zeros elsewhere.
    """
    states = len(log_start)
    alpha = np.empty((max(1, lengths.max()), states))
    beta, weight = np.empty(states), np.empty(states)
    for s in range(len(starts)):
        moves[s] = 0.0
        out[s] = 0.0
        length, begin = lengths[s], starts[s]
        if length == 0:
            continue
        total = forward(log_b[begin : begin + length], log_start, log_move, alpha)
        out[s] = total
        if total == -np.inf:
            states_at[begin : begin + length] = 0.0
            continue
        beta[:] = 0.0
        for i in range(states):
            states_at[begin + length - 1, i] = np.exp(alpha[length - 1, i] - total)
        for t in range(length - 2, -1, -1):
            for j in range(states):
                weight[j] = beta[j] + log_b[begin + t + 1, j]
            for i in range(states):
                beta[i] = log_sum(log_move[i] + weight)
                here = 0.0
                for j in range(states):
                    share = np.exp(alpha[t, i] + log_move[i, j] + weight[j] - total)
                    moves[s, i, j] += share
                    here += share
                states_at[begin + t, i] = here


@jit
def best_paths(
    log_b: Array,
    starts: IntArray,
    lengths: IntArray,
    log_start: Array,
    log_move: Array,
    out: IntArray,
) -> None:
    """Write the likeliest path of states of each sequence (Viterbi)."""
    states = len(log_start)
    longest = max(1, lengths.max())
    best, before = np.empty(states), np.empty(states)
    back = np.empty((longest, states), np.int64)
    for s in range(len(starts)):
        length, begin = lengths[s], starts[s]
        if length == 0:
            continue
        for i in range(states):
            best[i] = log_start[i] + log_b[begin, i]
        for t in range(1, length):
            before[:] = best
            for j in range(states):
                chosen = 0
                for i in range(1, states):
                    if before[i] + log_move[i, j] > before[chosen] + log_move[chosen, j]:
                        chosen = i
                back[t, j] = chosen
                best[j] = before[chosen] + log_move[chosen, j] + log_b[begin + t, j]
        state = best.argmax()
        for t in range(length - 1, -1, -1):
            out[begin + t] = state
            if t > 0:
                state = back[t, state]
