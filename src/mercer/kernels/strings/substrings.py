"""The kernel of a chosen list of substrings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from mercer import _fast
from mercer._typing import Array, IntArray
from mercer.exceptions import InvalidParameter
from mercer.kernels.decaying import Decaying
from mercer.kernels.features import Features
from mercer.kernels.parameters import check_number
from mercer.kernels.points import Points, Vectors
from mercer.kernels.statistics import products
from mercer.kernels.strings.subsequences import CountedSlopes
from mercer.kernels.strings.words import StringEncoder, Strings, code_points
from mercer.kernels.vectors.explicit import Mapped


class Substrings(Mapped, Decaying):
    """A chosen list of substrings that two strings share, with gaps at a price.

    k(x, z) = Σ_s φ_s(x) φ_s(z) over the chosen s, φ_s(x) = Σ_i λ^(gaps of i) over all places
    i₁ < … < i_k with x_i = s

    Parameters
    ----------
    words : list of str
        The substrings s. Any character is a letter, and case counts.
    decay : float
        λ, the price of each letter between the first and the last one of an occurrence that is no
        part of it. 0 allows no gaps: φ_s(x) is how often s stands in x. With 1 gaps cost nothing.
    weighting : {"count", "binary"}
        ``"binary"`` takes 1 for every s that occurs.

    References
    ----------
    Lodhi, Saunders, Shawe-Taylor, Cristianini and Watkins, Text classification using string
    kernels, 2002.

    Examples
    --------
    >>> from mercer import Substrings
    >>> pairs = Substrings(["ca", "ct", "cr", "ar", "rt", "ba", "br"], decay=0.5)
    >>> pairs.features(["cat", "cart", "bar"]).toarray()
    array([[1.  , 0.5 , 0.  , 0.  , 0.  , 0.  , 0.  ],
           [1.  , 0.25, 0.5 , 1.  , 1.  , 0.  , 0.  ],
           [0.  , 0.  , 0.  , 1.  , 0.  , 1.  , 0.5 ]])
    >>> pairs(["cat"], ["cart", "bar"])  # 1 + λ³ and 0
    array([[1.125, 0.   ]])
    """

    encoder = StringEncoder()

    def __init__(self, words: Sequence[str], decay: float = 0.0, weighting: str = "count") -> None:
        self.words, self.decay, self.weighting = words, decay, weighting
        super().__init__()

    def check_parameters(self) -> None:
        words: Any = self.words
        good = isinstance(words, list | tuple | np.ndarray) and len(words) > 0
        if not good or not all(isinstance(word, str) and word for word in words):
            raise InvalidParameter(
                f"Substrings: words={words!r} has to be a list of strings of one letter or more."
            )
        if len(set(words)) < len(words):
            raise InvalidParameter(f"Substrings: words={list(words)} names a string twice.")
        check_number(self, "decay", low=0, high=1)
        if self.weighting not in ("count", "binary"):
            raise InvalidParameter(
                f"Substrings: weighting={self.weighting!r} has to be 'count' or 'binary'."
            )

    def feature_map(self, points: Points) -> Features:
        return Features.numbered(self._counts(cast(Strings, points[self.encoder])))

    def feature_width(self, points: Points) -> float:
        return float(len(self.words))

    def prepare(self, a: Strings, b: Strings) -> tuple[Vectors, Vectors]:
        left = Vectors(self._counts(a))
        return left, left if b is a else Vectors(self._counts(b))

    def compare(self, a: Vectors, b: Vectors) -> Array:
        return products(a.values, b.values)

    def compare_self(self, a: Vectors) -> Array:
        return a.squared_norms.copy()

    def free_parameters(self) -> dict[str, float]:
        # Whether a substring occurs does not depend on what its gaps cost.
        return super().free_parameters() if self.weighting == "count" else {}

    def prepare_slopes(self, a: Strings, b: Strings) -> tuple[CountedSlopes, CountedSlopes]:
        left = CountedSlopes(self._counts(a), self._count_slopes(a))
        if b is a:
            return left, left
        return left, CountedSlopes(self._counts(b), self._count_slopes(b))

    def compare_slopes(self, a: CountedSlopes, b: CountedSlopes) -> Array:
        return a.slopes_with(b)

    def own_slopes(self, a: CountedSlopes) -> Array:
        return a.own_slopes()

    def _count_slopes(self, strings: Strings) -> Array:
        slopes = np.empty((len(strings), len(self.words)))
        letters, starts = _joined(strings.items.tolist())
        words, ends = _joined(list(self.words))
        _fast.subsequence_slopes.find(letters, starts, words, ends, float(self.decay), slopes)
        return slopes

    def _counts(self, strings: Strings) -> Array:
        counts = np.empty((len(strings), len(self.words)))
        letters, starts = _joined(strings.items.tolist())
        words, ends = _joined(list(self.words))
        _fast.subsequences.find(letters, starts, words, ends, float(self.decay), counts)
        return counts if self.weighting == "count" else (counts > 0).astype(np.float64)


def _joined(texts: list[str]) -> tuple[IntArray, IntArray]:
    """Return the letters of all texts, one after the other, and where each text begins and ends."""
    ends = np.concatenate([[0], np.cumsum([len(text) for text in texts])])
    return code_points(texts).astype(np.int64), ends.astype(np.int64)
