"""Naive references for kernels of strings: all patterns spelt out, all choices of places tried."""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache
from itertools import combinations, product
from typing import Any

from mercer._typing import Object
from mercer.kernels.strings.kmers import GappyKmer, Mismatch, Spectrum
from mercer.kernels.strings.subsequences import Subsequence
from mercer.kernels.strings.substrings import Substrings


def _text(row: Any) -> str:
    if isinstance(row, str):
        return row
    return str(next(iter(row.values())) if hasattr(row, "values") else row[0])


def _windows(text: str, width: int) -> list[str]:
    return [text[i : i + width] for i in range(len(text) - width + 1)]


def _shared(
    kernel: Any, left: Counter[str], right: Counter[str], windows: tuple[int, int]
) -> float:
    total = 0.0
    for pattern in left.keys() & right.keys():
        value = float(left[pattern] * right[pattern])
        if kernel.weighting == "frequency":
            value /= windows[0] * windows[1]
        total += 1.0 if kernel.weighting == "binary" else value
    return total


def _spectrum(kernel: Spectrum, x: Object, z: Object, *_: Any) -> float:
    left, right = (_windows(_text(row), kernel.k) for row in (x, z))
    return _shared(kernel, Counter(left), Counter(right), (len(left), len(right)))


@lru_cache(1024)
def _near(window: str, alphabet: str, m: int) -> list[str]:
    """Spell all strings of the alphabet and the window's own letters that are near enough."""
    choices = [sorted({letter, *alphabet}) for letter in window]
    return [
        "".join(letters)
        for letters in product(*choices)
        if sum(a != b for a, b in zip(letters, window, strict=True)) <= m
    ]


def _mismatch(kernel: Mismatch, x: Object, z: Object, *_: Any) -> float:
    left, right = (_windows(_text(row), kernel.k) for row in (x, z))
    counts = [
        Counter(u for window in side for u in _near(window, kernel.alphabet, kernel.m))
        for side in (left, right)
    ]
    return _shared(kernel, counts[0], counts[1], (len(left), len(right)))


def _gappy(kernel: GappyKmer, x: Object, z: Object, *_: Any) -> float:
    """Count (letters, places of the letters) of all windows."""
    left, right = (_windows(_text(row), kernel.k + kernel.g) for row in (x, z))
    counts = [
        Counter(u for window in side for u in _placed(window, kernel.k)) for side in (left, right)
    ]
    return _shared(kernel, counts[0], counts[1], (len(left), len(right)))


@lru_cache(1024)
def _placed(window: str, k: int) -> list[str]:
    """Spell all choices of k letters of a window together with their places."""
    chosen = combinations(range(len(window)), k)
    return [str([(j, window[j]) for j in places]) for places in chosen]


@lru_cache(1024)
def _occurrences(text: str, length: int, decay: float, weighting: str) -> dict[str, float]:
    """Return the weight of each word of one length in a text, over all choices of its places."""
    found: dict[str, float] = {}
    for places in combinations(range(len(text)), length):
        span = places[-1] - places[0] + 1
        cost = span if weighting == "length" else span - length
        word = "".join(text[i] for i in places)
        found[word] = found.get(word, 0.0) + decay**cost
    return found


def _subsequence(kernel: Subsequence, x: Object, z: Object, *_: Any) -> float:
    total = 0.0
    for length in range(1, kernel.k + 1):
        if kernel.lengths is None:
            weight = 1.0 if length == kernel.k else 0.0
        else:
            weight = 1.0 if isinstance(kernel.lengths, str) else float(kernel.lengths[length - 1])
        left, right = (
            _occurrences(_text(row), length, float(kernel.decay), kernel.weighting)
            for row in (x, z)
        )
        total += weight * math.fsum(left[word] * right[word] for word in left.keys() & right.keys())
    return total


def _substrings(kernel: Substrings, x: Object, z: Object, *_: Any) -> float:
    total = 0.0
    for word in kernel.words:
        left, right = (
            _occurrences(_text(row), len(word), float(kernel.decay), "gaps").get(word, 0.0)
            for row in (x, z)
        )
        both = left * right
        total += float(both > 0) if kernel.weighting == "binary" else both
    return total


FORMULAS: dict[type, Any] = {
    GappyKmer: _gappy,
    Mismatch: _mismatch,
    Spectrum: _spectrum,
    Subsequence: _subsequence,
    Substrings: _substrings,
}
"""The formula of each kernel; ``naive`` looks them up."""
