"""Subsequence Gram matrix against a plain compiled loop of the textbook recursion."""

from functools import cache, partial

import numpy as np

from benchmarks.gram_cases import agree, scaled
from benchmarks.in_process import InProcess
from benchmarks.job import OURS, Job
from benchmarks.string_cases import dna

K, DECAY = 3, 0.5


def _mercer(rows):
    from mercer import Subsequence

    return partial(Subsequence(K, DECAY, "length"), dna(rows))


@cache
def _textbook():
    """Return the recursion of Lodhi et al., pair by pair, each pair once."""
    from numba import njit

    @njit(nogil=True, error_model="numpy")
    def value(x, z, k, decay):
        before = np.ones((len(x) + 1, len(z) + 1))
        for _ in range(1, k):
            after = np.zeros((len(x) + 1, len(z) + 1))
            for i in range(1, len(x) + 1):
                inner = 0.0
                for j in range(1, len(z) + 1):
                    inner *= decay
                    if x[i - 1] == z[j - 1]:
                        inner += decay * decay * before[i - 1, j - 1]
                    after[i, j] = decay * after[i - 1, j] + inner
            before = after
        total = 0.0
        for i in range(1, len(x) + 1):
            for j in range(1, len(z) + 1):
                if x[i - 1] == z[j - 1]:
                    total += decay * decay * before[i - 1, j - 1]
        return total

    @njit(nogil=True, error_model="numpy")
    def gram(codes, k, decay):
        out = np.empty((len(codes), len(codes)))
        for i in range(len(codes)):
            for j in range(i + 1):
                out[i, j] = out[j, i] = value(codes[i], codes[j], k, decay)
        return out

    return gram


def _loop(rows):
    codes = np.array([[ord(letter) for letter in x] for x in dna(rows)])
    gram = _textbook()
    gram(codes[:2], K, DECAY)
    return partial(gram, codes, K, DECAY)


def _cases(scale):
    rows = scaled(500, scale)
    return [
        InProcess(
            label=f"k = {K}, {rows} strings of 200 letters",
            contenders={OURS: partial(_mercer, rows), "plain loop": partial(_loop, rows)},
            check=partial(agree, tolerance=1e-6),
            scale=scale,
        )
    ]


JOB = Job(
    "string_subsequences", "Subsequence Gram matrix, 500 strings of 200 letters", _cases, repeats=2
)
