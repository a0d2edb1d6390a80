"""Kernels that count short patterns of letters: spectrum, mismatch and gappy k-mers."""

from __future__ import annotations

from itertools import combinations, pairwise
from math import comb
from typing import Any, NamedTuple, cast

import numpy as np
from scipy import sparse

from mercer import _fast, _memory, _parallel
from mercer._typing import Array, IntArray
from mercer.exceptions import InvalidParameter
from mercer.kernels.features import Features, Keys
from mercer.kernels.parameters import check_number
from mercer.kernels.points import Points, Vectors
from mercer.kernels.statistics import products
from mercer.kernels.strings.words import StringFeatures, Strings, code_points

_CHUNK = 1 << 21
"""Patterns counted at a time: 16 MiB of keys."""
_LARGE = 1 << 26
"""From 64 MiB on the memory of the counts is compared with what there is."""
_DENSE_SHARE, _DENSE_BYTES = 0.1, 1 << 27
_MOST_PATTERNS = 1 << 20
"""A window with more patterns than a million would take seconds by itself."""


class Patterns(NamedTuple):
    """The patterns that fit one window of letters; see ``_fast.kmers.count``."""

    weights: Keys
    replaced: IntArray
    letters: Keys
    most: int

    @classmethod
    def of(cls, width: int, wild: int = 0, exchanged: int = 0, alphabet: str = "") -> Patterns:
        """Make the patterns of windows of ``width`` letters.

        Each has ``wild`` wildcards, and up to ``exchanged`` letters that others of the alphabet
        stand for.
        """
        places = np.array([pow(_fast.kmers.BASE, width - 1 - j, 1 << 64) for j in range(width)],
                          dtype=np.uint64)  # fmt: skip
        holes = list(combinations(range(width), wild))
        changes = [c for size in range(exchanged + 1) for c in combinations(range(width), size)]
        left_out = changes if exchanged else holes
        weights = np.tile(places, (len(left_out), 1))
        replaced = np.full((len(left_out), max(1, exchanged)), -1, dtype=np.int64)
        for p, chosen in enumerate(left_out):
            weights[p, list(chosen)] = 0
            if exchanged:
                replaced[p, : len(chosen)] = chosen
        letters = _fast.kmers.scramble(code_points([alphabet]))
        most = sum(len(alphabet) ** len(c) for c in changes) if exchanged else len(holes)
        return cls(weights, replaced, letters, most)

    @property
    def width(self) -> int:
        return int(self.weights.shape[1])


class KmerKernel(StringFeatures):
    """k(x, z) = Σ_p n_p(x) n_p(z) over the patterns p that a subclass defines in ``patterns``."""

    def patterns(self) -> Patterns:
        """Return what is counted in each window."""
        raise NotImplementedError

    def phi(self, strings: Strings) -> Features:
        patterns = self.patterns()
        lengths = np.fromiter(map(len, strings.items), np.int64, len(strings))
        windows = np.maximum(lengths - patterns.width + 1, 0)
        chunks = _chunks(windows * patterns.most)
        self._require_memory(int(windows.sum()) * patterns.most)
        counted: list[Any] = [None] * len(chunks)

        def count(number: int) -> None:
            part = strings.items[chunks[number]]
            starts = np.concatenate([[0], np.cumsum(lengths[chunks[number]])])
            values = _fast.kmers.scramble(code_points(part))
            counted[number] = _fast.kmers.count(values, starts, *patterns)

        threads = _parallel.thread_count()
        _parallel.run(count, range(len(chunks)), threads)
        keys = np.unique(np.concatenate([part[3] for part in counted]))
        # Strings without any window still have one coordinate, and are zero there.
        keys = keys if len(keys) else np.zeros(1, dtype=np.uint64)
        firsts = np.concatenate([[0], np.cumsum([len(part[0]) for part in counted])])
        # scikit-learn takes 32-bit indices only, which are enough nearly always.
        index = np.int32 if firsts[-1] < 2**31 else np.int64
        indices, data = np.empty(firsts[-1], dtype=index), np.empty(firsts[-1])
        ends = np.zeros(len(strings) + 1, dtype=index)

        def settle(number: int) -> None:
            found, counts, stops, own_keys = counted[number]
            counted[number] = None
            rows, entries = chunks[number], slice(firsts[number], firsts[number + 1])
            ends[rows.start + 1 : rows.stop + 1] = stops[1:] + firsts[number]
            order, columns = np.argsort(own_keys), np.searchsorted(keys, own_keys)
            _fast.kmers.settle(
                found,
                counts,
                stops,
                order,
                columns,
                self._factors(windows[rows]),
                indices[entries],
                data[entries],
            )

        _parallel.run(settle, range(len(chunks)), threads)
        return Features(sparse.csr_array((data, indices, ends), (len(strings), len(keys))), keys)

    def place_shares(self, point: Points) -> Features:
        # A window is a string of its own, with the patterns that occur in it; each letter of it
        # gets the same part of them.
        [text] = cast(Strings, point[self.encoder]).items
        width = self.patterns().width
        count = max(len(text) - width + 1, 0)
        windows = np.array([text[i : i + width] for i in range(count)] or [""], dtype=object)
        letters = np.arange(count)[:, None] + np.arange(width)
        cover = sparse.csr_array(
            (
                np.full(letters.size, 1 / width),
                (letters.ravel(), np.repeat(np.arange(count), width)),
            ),
            shape=(len(text), len(windows)),
        )
        return Features.shared(self.replace(weighting="count").phi(Strings(windows)), cover)

    def prepare(self, a: Strings, b: Strings) -> tuple[Vectors, Vectors]:
        whole = self.phi(a if b is a else a.join(b)).values
        size = whole.shape[0] * whole.shape[1]
        if whole.nnz > _DENSE_SHARE * size and 8 * size <= _DENSE_BYTES:
            whole = whole.toarray()
        left = Vectors(whole[: len(a)])
        return left, left if b is a else Vectors(whole[len(a) :])

    def compare(self, a: Vectors, b: Vectors) -> Array:
        if not a.is_sparse:
            return products(a.values, b.values)
        out = np.zeros((len(a), len(b)))
        sides = [(s.indptr[:-1], s.indptr[1:], s.indices, s.data) for s in (a.values, b.values)]
        _fast.sparse_rows.add_products(*sides[0], *sides[1], a.dimension, out)
        return out

    def _factors(self, windows: IntArray) -> Array:
        """Return what the counts of each string are multiplied by; nothing if they are all 1."""
        if self.weighting == "binary":
            return np.empty(0)
        if self.weighting == "frequency":
            return 1.0 / np.maximum(windows, 1)
        return np.ones(len(windows))

    def _require_memory(self, entries: int) -> None:
        if 20 * entries > _LARGE:
            _memory.require(
                20 * entries,
                f"{self}: up to {entries:,} counts of patterns",
                "Use fewer or shorter strings, or patterns with fewer mismatches or gaps.",
            )


class Spectrum(KmerKernel):
    """k-mers (runs of k letters) that two strings share, wherever they stand.

    k(x, z) = Σ_u n_u(x) n_u(z), n_u(x) = how often the k-mer u occurs in x

    ``weighting="frequency"`` divides n_u(x) by the number of windows of x, ``"binary"`` takes 1
    for every k-mer that occurs. Any character is a letter, and case counts: turn DNA to capitals
    first if case means nothing in it. A string shorter than k has no k-mers. Counting takes time
    in proportion to the length of the strings.

    Parameters
    ----------
    k : int
        The number of letters in a k-mer.
    weighting : {"count", "frequency", "binary"}
        What stands for a k-mer: how often it occurs, its share, or 1.

    References
    ----------
    Leslie, Eskin and Noble, The spectrum kernel: a string kernel for SVM protein classification,
    2002.

    Examples
    --------
    >>> from mercer import Spectrum
    >>> Spectrum(k=2)(["ACAC", "CACA", "GGGG"])  # ACAC holds AC twice and CA once
    array([[5., 4., 0.],
           [4., 5., 0.],
           [0., 0., 9.]])
    """

    def __init__(self, k: int = 3, weighting: str = "count") -> None:
        self.k, self.weighting = k, weighting
        super().__init__()

    def check_parameters(self) -> None:
        check_number(self, "k", low=1, high=10_000, integer=True)
        super().check_parameters()

    def patterns(self) -> Patterns:
        return Patterns.of(int(self.k))


class Mismatch(KmerKernel):
    """k-mers that two strings share up to m wrong letters.

    k(x, z) = Σ_u n_u(x) n_u(z), n_u(x) = how many windows of x differ from u in m letters at most

    The letters that stand in for others are those of ``alphabet``. A letter of a string that is
    not among them, such as N in DNA, matches itself, and any other letter at the price of a
    mismatch; case counts. ``weighting`` is that of :class:`Spectrum`. Each window has
    Σᵢ C(k, i)(a − 1)ⁱ patterns in an alphabet of a letters.

    Parameters
    ----------
    k : int
        The number of letters in a k-mer.
    m : int
        The most wrong letters, 0 ≤ m < k.
    alphabet : str
        The letters that stand in for others.
    weighting : {"count", "frequency", "binary"}
        As in :class:`Spectrum`.

    References
    ----------
    Leslie, Eskin, Cohen, Weston and Noble, Mismatch string kernels for discriminative protein
    classification, 2004.

    Examples
    --------
    >>> from mercer import Mismatch, Spectrum
    >>> Spectrum(k=3)(["ACG"], ["ACT", "TTT"])
    array([[0., 0.]])
    >>> Mismatch(k=3, m=1)(["ACG"], ["ACT", "TTT"])  # ACA, ACC, ACG and ACT are near both
    array([[4., 0.]])
    """

    def __init__(
        self, k: int = 4, m: int = 1, alphabet: str = "ACGT", weighting: str = "count"
    ) -> None:
        self.k, self.m, self.alphabet, self.weighting = k, m, alphabet, weighting
        super().__init__()

    def check_parameters(self) -> None:
        check_number(self, "k", low=1, high=10_000, integer=True)
        check_number(self, "m", low=0, high=self.k, integer=True)
        letters: Any = self.alphabet
        if not isinstance(letters, str) or not letters or len(set(letters)) < len(letters):
            raise InvalidParameter(
                f"Mismatch: alphabet={letters!r} has to be a string of different letters, such as "
                "'ACGT'."
            )
        k, m, a = int(self.k), int(self.m), len(letters)
        _check_patterns(self, sum(comb(k, i) * a**i for i in range(m + 1)), "m")
        super().check_parameters()

    def patterns(self) -> Patterns:
        return Patterns.of(int(self.k), exchanged=int(self.m), alphabet=self.alphabet)


class GappyKmer(KmerKernel):
    """k letters at fixed places of a window of k + g letters, whatever stands between them.

    k(x, z) = Σ_p n_p(x) n_p(z), n_p(x) = how many windows of x fit p, k letters and g wildcards

    ``weighting`` is that of :class:`Spectrum`; any character is a letter, and case counts. A
    string shorter than k + g has no windows.

    Parameters
    ----------
    k : int
        The number of letters that count.
    g : int
        The number of letters of the window that do not.
    weighting : {"count", "frequency", "binary"}
        As in :class:`Spectrum`.

    References
    ----------
    Ghandi, Lee, Mohammad-Noori and Beer, Enhanced regulatory sequence prediction using gapped
    k-mer features, 2014.

    Examples
    --------
    >>> from mercer import GappyKmer
    >>> GappyKmer(k=2, g=1)(["ACG"], ["ACG", "ATG"])  # of AC·, A·G and ·CG they share A·G
    array([[3., 1.]])
    """

    def __init__(self, k: int = 3, g: int = 1, weighting: str = "count") -> None:
        self.k, self.g, self.weighting = k, g, weighting
        super().__init__()

    def check_parameters(self) -> None:
        check_number(self, "k", low=1, high=10_000, integer=True)
        check_number(self, "g", low=0, high=10_000, integer=True)
        width = int(self.k) + int(self.g)
        # Long windows are limited too: each pattern is a row of their width.
        _check_patterns(self, comb(width, int(self.k)) * max(8, width) // 8, "g")
        super().check_parameters()

    def patterns(self) -> Patterns:
        return Patterns.of(int(self.k) + int(self.g), wild=int(self.g))


def _check_patterns(kernel: KmerKernel, count: int, name: str) -> None:
    if count > _MOST_PATTERNS:
        raise InvalidParameter(
            f"{type(kernel).__name__}: {name}={getattr(kernel, name)} makes more than "
            f"{_MOST_PATTERNS:,} patterns of each window. Take a smaller {name}, or a smaller k."
        )


def _chunks(sizes: IntArray) -> list[slice]:
    """Cut rows into parts of about ``_CHUNK`` patterns; larger rows are parts of their own."""
    parts = (np.cumsum(sizes) - 1) // _CHUNK
    borders = [0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), len(sizes)]
    return [slice(i, j) for i, j in pairwise(borders)]
