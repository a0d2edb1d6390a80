"""The gap-weighted subsequence kernel."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer import _fast, _memory, _parallel
from mercer._typing import Array, Index, IntArray
from mercer.exceptions import InvalidParameter
from mercer.kernels.decaying import Decaying
from mercer.kernels.definite import Definite
from mercer.kernels.parameters import check_number
from mercer.kernels.statistics import products
from mercer.kernels.strings.words import StringEncoder, Strings, code_points

_LARGE = 1 << 26
"""Counts of subsequences stay below 64 MiB; beyond it memory is compared with what there is."""
_ROWS = 64
"""Rows of the matrix for each task of a thread."""
_SPELLED_BITS = 18
"""Up to 2¹⁸ words of k letters are spelled out."""
# A matrix product does about as many multiplications while the other loops do one.
_PRODUCTS_PER_STEP = 8


@dataclass(frozen=True, eq=False)
class Counted:
    """Strings as rows of √w φ_u(x), one column for each u that their letters can spell."""

    values: Array

    def take(self, index: Index) -> Counted:
        return Counted(self.values[index])

    def compare(self, other: Counted) -> Array:
        return products(self.values, other.values)

    def compare_self(self) -> Array:
        return np.asarray(np.einsum("ij,ij->i", self.values, self.values))


@dataclass(frozen=True, eq=False)
class CountedSlopes:
    """Strings as rows of √w φ_u(x), with those of λ ∂/∂λ of them."""

    values: Array
    slopes: Array

    def take(self, index: Index) -> CountedSlopes:
        return CountedSlopes(self.values[index], self.slopes[index])

    def slopes_with(self, other: CountedSlopes) -> Array:
        """Return λ ∂k/∂λ of all pairs."""
        return products(self.slopes, other.values) + products(self.values, other.slopes)

    def own_slopes(self) -> Array:
        return np.asarray(2 * np.einsum("ij,ij->i", self.values, self.slopes))


@dataclass(frozen=True, eq=False)
class LetterStrings:
    """Strings of letters that are numbered 0, 1 …, one after the other.

    ``weights`` are those of subsequences of 1, 2 … letters, and ``powers`` says how often each
    counts λ by itself.
    """

    codes: IntArray
    starts: IntArray
    lengths: IntArray
    letters: int
    decay: float
    weights: Array
    powers: Array

    def take(self, index: Index) -> LetterStrings:
        return replace(self, starts=self.starts[index], lengths=self.lengths[index])

    def compare(self, other: LetterStrings) -> Array:
        """Return the kernel of all pairs, by dynamic programming."""

        def fill(codes: IntArray, ends: IntArray, group: IntArray, out: Array) -> None:
            _fast.subsequences.compare(
                codes, ends, group, self.letters, self.decay, self.weights, out
            )

        return self._by_groups(other, fill)

    def slopes_with(self, other: LetterStrings) -> Array:
        """Return λ ∂k/∂λ of all pairs, by the same recursion."""
        changes = self.powers * self.weights

        def fill(codes: IntArray, ends: IntArray, group: IntArray, out: Array) -> None:
            _fast.subsequence_slopes.compare(
                codes, ends, group, self.decay, self.weights, changes, out
            )

        return self._by_groups(other, fill)

    def _by_groups(self, other: LetterStrings, fill: Callable[..., None]) -> Array:
        """Return what ``fill`` finds for all pairs, with a group of the other strings at a time."""
        codes, ends = self.packed()
        lanes = _fast.subsequences.LANES
        out = np.empty((len(self.lengths), len(other.lengths)))
        group_values = np.empty((len(out), lanes))
        # Strings of like lengths stand together, so that little is wasted on filling up.
        order = np.argsort(other.lengths, kind="stable")
        for first in range(0, len(order), lanes):
            group = order[first : first + lanes]
            fill(codes, ends, other.side_by_side(group, lanes), group_values)
            out[:, group] = group_values[:, : len(group)]
        return out

    def compare_self(self) -> Array:
        return self._own(LetterStrings.compare)

    def own_slopes(self) -> Array:
        return self._own(LetterStrings.slopes_with)

    def _own(self, compare: Callable[[LetterStrings, LetterStrings], Array]) -> Array:
        """Return a comparison of each string with itself."""
        out = np.empty(len(self.lengths))
        order = np.argsort(self.lengths, kind="stable")
        for first in range(0, len(out), _fast.subsequences.LANES):
            group = order[first : first + _fast.subsequences.LANES]
            some = self.take(group)
            out[group] = np.diagonal(compare(some, some))
        return out

    def packed(self) -> tuple[IntArray, IntArray]:
        """Return the letters of these strings alone, and where each string begins and ends."""
        ends = np.concatenate([[0], np.cumsum(self.lengths)])
        places = np.arange(ends[-1]) + np.repeat(self.starts - ends[:-1], self.lengths)
        return self.codes[places], ends

    def side_by_side(self, rows: IntArray, lanes: int) -> IntArray:
        """Return a few strings as (place, lane), filled up with −1."""
        longest = int(self.lengths[rows].max(initial=0))
        group = np.full((longest, lanes), -1, dtype=np.int64)
        for lane, row in enumerate(rows):
            start, length = self.starts[row], self.lengths[row]
            group[:length, lane] = self.codes[start : start + length]
        return group.reshape(-1)

    def columns(self) -> int:
        """Return how many subsequences these letters can spell that count."""
        return sum(self.letters ** int(size) for size in np.flatnonzero(self.weights) + 1)

    def spell(self) -> Counted:
        """Return φ_u of all strings and of all u."""
        roots = np.sqrt(self.weights)

        def fill(codes: IntArray, stops: IntArray, out: Array) -> None:
            _fast.subsequences.spell(codes, stops, self.letters, self.decay, roots, out)

        return Counted(self._spelled(fill))

    def spell_slopes(self) -> CountedSlopes:
        """Return φ_u of all strings and of all u, with λ ∂φ_u/∂λ."""
        roots = np.sqrt(self.weights)
        changes = self.powers * roots / 2

        def fill(codes: IntArray, stops: IntArray, out: Array) -> None:
            _fast.subsequence_slopes.spell(
                codes, stops, self.letters, self.decay, roots, changes, out
            )

        return CountedSlopes(self.spell().values, self._spelled(fill))

    def _spelled(self, fill: Callable[..., None]) -> Array:
        """Return what ``fill`` adds to rows of zeros, one for each string, in several threads."""
        codes, ends = self.packed()
        out = np.zeros((len(self.lengths), self.columns()))

        def task(rows: slice) -> None:
            fill(codes, ends[rows.start : rows.stop + 1], out[rows])

        parts = [slice(i, min(i + _ROWS, len(out))) for i in range(0, len(out), _ROWS)]
        _parallel.run(task, parts, _parallel.thread_count())
        return out


class Subsequence(Decaying):
    """Letters that two strings share in the same order, with gaps at a price.

    k(x, z) = Σ_u φ_u(x) φ_u(z), φ_u(x) = Σ_i λ^(gaps of i) over all places i₁ < … < i_k with
    x_i = u, u any string of k letters

    The gaps of an occurrence are the letters between its first and its last one that it leaves
    out: i_k − i₁ + 1 − k. ``weighting="length"`` takes its whole length i_k − i₁ + 1 instead, the
    classic form, which is λ^(2k) times this one. λ is ``decay``: with 1 gaps cost nothing, with 0
    none is allowed. ``lengths`` weighs subsequences of 1, 2 … k letters, all found in one pass:
    ``None`` counts those of k letters alone, ``"all"`` each length with 1. Any character is a
    letter, case counts, and a string shorter than k has no subsequences of k letters.

    Where the letters can spell few strings of k letters, as in DNA, φ is written out for each
    string, which takes time in proportion to its length; else each pair takes k times the product
    of both lengths.

    Parameters
    ----------
    k : int
        The number of letters of u.
    decay : float
        λ in [0, 1], the price of each letter that is left out.
    weighting : {"gaps", "length"}
        What λ is the price of.
    lengths : {"all"}, list or None
        The weights of subsequences of 1, 2 … k letters.

    References
    ----------
    Lodhi, Saunders, Shawe-Taylor, Cristianini and Watkins, Text classification using string
    kernels, 2002.

    Examples
    --------
    >>> from mercer import Subsequence
    >>> k = Subsequence(k=2, decay=0.5)
    >>> k(["cat"], ["cat", "cart"])  # ca, at and, with one gap, ct: 1 + 1 + ¼ and 1 + ½ + ⅛
    array([[2.25 , 1.625]])
    """

    definite = Definite.POSITIVE
    encoder = StringEncoder()

    def __init__(
        self,
        k: int = 3,
        decay: float = 0.5,
        weighting: str = "gaps",
        lengths: str | Sequence[float] | None = None,
    ) -> None:
        self.k, self.decay, self.weighting, self.lengths = k, decay, weighting, lengths
        super().__init__()

    def check_parameters(self) -> None:
        check_number(self, "k", low=1, high=10_000, integer=True)
        if self.weighting not in ("gaps", "length"):
            raise InvalidParameter(
                f"Subsequence: weighting={self.weighting!r} has to be 'gaps' or 'length'."
            )
        # A decay of 0 would leave nothing where letters cost as well.
        check_number(self, "decay", low=0, high=1, open_low=self.weighting == "length")
        if self.lengths is None or (isinstance(self.lengths, str) and self.lengths == "all"):
            return
        try:
            weights = np.asarray(self.lengths, dtype=np.float64)
        except (TypeError, ValueError):
            weights = np.empty(0)
        if weights.shape != (int(self.k),) or not (np.isfinite(weights) & (weights >= 0)).all():
            raise InvalidParameter(
                f"Subsequence: lengths={self.lengths!r} has to be None, 'all', or {self.k} numbers "
                "≥ 0, one for each length from 1 to k."
            )

    def prepare(self, a: Strings, b: Strings) -> tuple[Any, Any]:
        return self._prepared(a, b, LetterStrings.spell)

    def prepare_slopes(self, a: Strings, b: Strings) -> tuple[Any, Any]:
        return self._prepared(a, b, LetterStrings.spell_slopes)

    def _prepared(
        self, a: Strings, b: Strings, spell: Callable[[LetterStrings], Any]
    ) -> tuple[Any, Any]:
        """Return both sides as letters, or spelled out where that pays."""
        both = a if b is a else a.join(b)
        lengths = np.fromiter(map(len, both.items), np.int64, len(both))
        letters, codes = np.unique(code_points(both.items), return_inverse=True)
        whole: Any = LetterStrings(
            codes.astype(np.int64),
            np.cumsum(lengths) - lengths,
            lengths,
            len(letters),
            float(self.decay),
            self._weights(),
            self._powers(),
        )
        if self._spelling_pays(whole, len(a), len(b)):
            whole = spell(whole)
        else:
            self._require_memory(int(lengths.max(initial=0)))
        left = whole.take(slice(0, len(a)))
        return left, left if b is a else whole.take(slice(len(a), len(both)))

    def compare(self, a: Any, b: Any) -> Array:
        return a.compare(b)  # type: ignore[no-any-return]

    def compare_self(self, a: Any) -> Array:
        return a.compare_self()  # type: ignore[no-any-return]

    def compare_slopes(self, a: Any, b: Any) -> Array:
        return a.slopes_with(b)  # type: ignore[no-any-return]

    def own_slopes(self, a: Any) -> Array:
        return a.own_slopes()  # type: ignore[no-any-return]

    def _spelling_pays(self, strings: LetterStrings, rows: int, columns: int) -> bool:
        """Whether writing out all subsequences takes fewer steps than going through all pairs."""
        k, letters, lengths = int(self.k), strings.letters, strings.lengths
        if k * math.log2(max(letters, 1)) > _SPELLED_BITS:
            return False
        width = strings.columns()
        if 8 * width * len(lengths) > _LARGE:
            return False
        steps: int = 2 * sum(letters**size for size in range(k))
        spelling = int(lengths.sum()) * steps + rows * columns * width // _PRODUCTS_PER_STEP
        pairs = int(lengths[:rows].sum()) * int(lengths[-columns:].sum()) * k
        return spelling < pairs

    def _require_memory(self, longest: int) -> None:
        size = 8 * (int(self.k) + 64) * _fast.subsequences.LANES * longest
        if size > _LARGE:
            _memory.require(size, f"{self} of strings of {longest:,} letters", "Cut the strings.")

    def _weights(self) -> Array:
        """Return the weight of each length from 1 to k, for occurrences that cost their gaps."""
        k = int(self.k)
        weights = np.zeros(k)
        if self.lengths is None:
            weights[-1] = 1.0
        else:
            weights[:] = 1.0 if isinstance(self.lengths, str) else np.asarray(self.lengths)
        return np.asarray(weights * float(self.decay) ** self._powers())

    def _powers(self) -> Array:
        """Return how often λ is a factor of the weight of each length from 1 to k."""
        per_letter = 2.0 if self.weighting == "length" else 0.0
        return per_letter * np.arange(1, int(self.k) + 1)
