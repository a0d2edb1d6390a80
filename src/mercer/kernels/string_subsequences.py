"""The gap-weighted subsequence kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer import _fast, _memory
from mercer._typing import Array, Index, IntArray
from mercer.exceptions import InvalidParameter
from mercer.kernels.base import Kernel
from mercer.kernels.definite import Definite
from mercer.kernels.parameters import check_number
from mercer.kernels.strings import StringEncoder, Strings, code_points

_LARGE = 1 << 26


@dataclass(frozen=True, eq=False)
class LetterStrings:
    """Strings of letters that are numbered 0, 1 …, one after the other."""

    codes: IntArray
    starts: IntArray
    lengths: IntArray
    letters: int

    def __len__(self) -> int:
        return len(self.lengths)

    def take(self, index: Index) -> LetterStrings:
        """Return some of the strings."""
        return LetterStrings(self.codes, self.starts[index], self.lengths[index], self.letters)

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


class Subsequence(Kernel):
    """Letters that two strings share in the same order, with gaps at a price.

    k(x, z) = Σ_u φ_u(x) φ_u(z), φ_u(x) = Σ_i λ^(gaps of i) over all places i₁ < … < i_k with
    x_i = u, u any string of k letters

    The gaps of an occurrence are the letters between its first and its last one that it leaves
    out: i_k − i₁ + 1 − k. ``weighting="length"`` takes its whole length i_k − i₁ + 1 instead, the
    classic form, which is λ^(2k) times this one. λ is ``decay``: with 1 gaps cost nothing, with 0
    none is allowed. ``lengths`` weighs subsequences of 1, 2 … k letters, all found in one pass:
    ``None`` counts those of k letters alone, ``"all"`` each length with 1. Any character is a
    letter, case counts, and a string shorter than k has no subsequences of k letters.

    References
    ----------
    Lodhi, Saunders, Shawe-Taylor, Cristianini and Watkins, Text classification using string
    kernels, 2002.
    """

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

    @property
    def definite(self) -> Definite:
        return Definite.POSITIVE

    def prepare(self, a: Strings, b: Strings) -> tuple[LetterStrings, LetterStrings]:
        both = a if b is a else a.join(b)
        lengths = np.fromiter(map(len, both.items), np.int64, len(both))
        letters, codes = np.unique(code_points(both.items), return_inverse=True)
        starts = np.cumsum(lengths) - lengths
        whole = LetterStrings(codes.astype(np.int64), starts, lengths, len(letters))
        longest = int(lengths.max(initial=0))
        size = 8 * (int(self.k) + 64) * _fast.subsequences.LANES * longest
        if size > _LARGE:
            _memory.require(size, f"{self} of strings of {longest:,} letters", "Cut the strings.")
        left = whole.take(slice(0, len(a)))
        return left, left if b is a else whole.take(slice(len(a), len(both)))

    def compare(self, a: LetterStrings, b: LetterStrings) -> Array:
        codes, ends = a.packed()
        weights, lanes = self._weights(), _fast.subsequences.LANES
        out = np.empty((len(a), len(b)))
        group_values = np.empty((len(a), lanes))
        # Strings of like lengths stand together, so that little is wasted on filling up.
        order = np.argsort(b.lengths, kind="stable")
        for first in range(0, len(b), lanes):
            group = order[first : first + lanes]
            _fast.subsequences.compare(
                codes,
                ends,
                b.side_by_side(group, lanes),
                a.letters,
                float(self.decay),
                weights,
                group_values,
            )
            out[:, group] = group_values[:, : len(group)]
        return out

    def compare_self(self, a: LetterStrings) -> Array:
        out = np.empty(len(a))
        order = np.argsort(a.lengths, kind="stable")
        for first in range(0, len(a), _fast.subsequences.LANES):
            group = order[first : first + _fast.subsequences.LANES]
            some = a.take(group)
            out[group] = np.diagonal(self.compare(some, some))
        return out

    def _weights(self) -> Array:
        """Return the weight of each length from 1 to k, for occurrences that cost their gaps."""
        k = int(self.k)
        weights = np.zeros(k)
        if self.lengths is None:
            weights[-1] = 1.0
        else:
            weights[:] = 1.0 if isinstance(self.lengths, str) else np.asarray(self.lengths)
        if self.weighting == "length":
            weights *= float(self.decay) ** (2.0 * np.arange(1, k + 1))
        return weights
