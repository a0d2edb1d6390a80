"""Kernels of strings: texts, and later sequences."""

from __future__ import annotations

import hashlib
import re
import warnings
from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from scipy import sparse

from mercer._files.fields import A, State, WrongState
from mercer._typing import Array, Index, Object, Objects
from mercer.exceptions import InvalidInput, InvalidParameter, InvalidType
from mercer.kernels.encoders import Encoder, is_missing
from mercer.kernels.features import Features
from mercer.kernels.parameters import check_number
from mercer.kernels.points import Points, Vectors
from mercer.kernels.statistics import products
from mercer.kernels.tables.columns import check_single, single_column
from mercer.kernels.vectors.explicit import KeyedFeatures


@dataclass(frozen=True, eq=False)
class Strings:
    """Strings, one an object."""

    items: np.ndarray[Any, np.dtype[np.object_]]

    STATE: ClassVar[State] = {"items": A(np.ndarray, size="n")}

    def check_state(self) -> None:
        """Raise :class:`WrongState` unless the items are strings."""
        items = self.items
        if items.dtype != object or items.ndim != 1 or set(map(type, items.tolist())) - {str}:
            raise WrongState("its items are not strings")

    def __len__(self) -> int:
        return len(self.items)

    def take(self, index: Index) -> Strings:
        return Strings(self.items[index])

    def join(self, other: Strings) -> Strings:
        return Strings(np.concatenate([self.items, other.items]))


@dataclass(frozen=True)
class StringEncoder(Encoder):
    """Strings in a list, an array, a column of a frame, or a table of one column."""

    makes = Strings

    stand_in = ""

    def encode(self, X: Objects, owner: str) -> Strings:
        items = np.empty(len(X) if not hasattr(X, "shape") else X.shape[0], dtype=object)
        for i, item in enumerate(_single_column(X, owner)):
            if not isinstance(item, str):
                raise _not_a_string(item, i, owner)
            items[i] = str(item)
        return Strings(items)


_SEPARATOR = "\x1f"
"""What stands between the tokens of a list: ASCII's unit separator, made for that."""


@dataclass(frozen=True)
class TokenEncoder(Encoder):
    """Lists of tokens, one a row: as strings in which a separator stands between the tokens."""

    makes = Strings

    stand_in = ()

    def encode(self, X: Objects, owner: str) -> Strings:
        if sparse.issparse(X):
            raise InvalidType(f"{owner}: expected lists of tokens, got a sparse matrix of numbers.")
        remedy = f"Choose one, as in {owner}(pattern=None).on('tokens')."
        rows = X if isinstance(X, list | tuple) else single_column(X, owner, "tokens", remedy)
        items = np.empty(len(rows), dtype=object)
        for i, tokens in enumerate(rows):
            items[i] = _SEPARATOR.join(_checked_tokens(tokens, i, owner))
        return Strings(items)


def _checked_tokens(tokens: Object, row: int, owner: str) -> list[str]:
    if isinstance(tokens, str) or not hasattr(tokens, "__iter__"):
        raise InvalidType(
            f"{owner}: row {row} holds {_short(tokens)}, not a list of tokens. Without a pattern "
            "each object is a list of words; leave pattern out for texts."
        )
    found = list(tokens)
    for token in found:
        if not isinstance(token, str):
            raise InvalidType(
                f"{owner}: the token {_short(token)} in row {row} is not a string but of type "
                f"{type(token).__name__}. Turn it into text with str(...)."
            )
        if not token or _SEPARATOR in token:
            raise InvalidInput(
                f"{owner}: the token {token!r} in row {row} is empty or holds the character "
                f"{_SEPARATOR!r}, which separates tokens. Leave it out."
            )
    return found


def _single_column(X: Objects, owner: str) -> Iterable[Any]:
    """Return the strings of ``X``, which may stand in a table of one column."""
    if sparse.issparse(X):
        raise InvalidType(f"{owner}: expected strings, got a sparse matrix of numbers.")
    remedy = f"Choose one, as in {owner}().on('text')."
    items = single_column(X, owner, "strings", remedy)
    if isinstance(X, list | tuple) and X and all(isinstance(row, list | tuple) for row in X):
        check_single(max(len(row) for row in X), owner, "strings", remedy)
        return [row[0] if row else None for row in X]
    return cast(Iterable[Any], items.tolist() if isinstance(items, np.ndarray) else items)


def _not_a_string(item: Object, row: int, owner: str) -> Exception:
    if is_missing(item):
        return InvalidInput(
            f"{owner}: the string in row {row} is missing. Fill it in (for example with '') or "
            "drop the row."
        )
    remedy = "Decode it first." if isinstance(item, bytes) else "Turn it into text with str(...)."
    return InvalidType(
        f"{owner}: {_short(item)} in row {row} is not a string but of type "
        f"{type(item).__name__}. {remedy}"
    )


def _short(item: Object) -> str:
    shown = repr(item)
    return shown if len(shown) <= 40 else shown[:39] + "…"


def code_points(strings: Iterable[str]) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Return the characters of all strings, one after the other, as numbers."""
    return np.frombuffer("".join(strings).encode("utf-32-le", "surrogatepass"), dtype="<u4")


WEIGHTINGS = ("count", "frequency", "binary")


class StringFeatures(KeyedFeatures):
    """k(x, z) = φ(x)·φ(z) for a sparse map of strings that a subclass defines in ``phi``."""

    encoder = StringEncoder()
    weighting: str

    def check_parameters(self) -> None:
        if self.weighting not in WEIGHTINGS:
            raise InvalidParameter(
                f"{type(self).__name__}: weighting={self.weighting!r} has to be 'count', "
                "'frequency' or 'binary'."
            )

    def sides(self, *matrices: Any) -> list[Vectors]:
        return [Vectors(matrix) for matrix in matrices]

    def compare(self, a: Vectors, b: Vectors) -> Array:
        return products(a.values, b.values)

    def compare_self(self, a: Vectors) -> Array:
        return a.squared_norms.copy()


class BagOfWords(StringFeatures):
    """Words, or runs of k words, that two texts share, whatever their order.

    k(x, z) = Σ_w n_w(x) n_w(z), n_w(x) = how often the word w, or the run of k words, occurs in x

    Parameters
    ----------
    weighting : {"count", "frequency", "binary"}
        ``"frequency"`` divides n_w(x) by the number of words (of runs) of x, ``"binary"`` takes 1
        for every word that occurs.
    k : int
        How many words stand in a run: the k-spectrum with words in the place of letters.
    pattern : str or None
        A word is a match of this regular expression. With ``None`` each object is a list of
        tokens, which may hold any characters.
    lowercase : bool
        Whether words are turned to lower case.

    Notes
    -----
    ``BagOfWords().normalized()`` is the cosine of two texts.

    References
    ----------
    Joachims, Text categorization with support vector machines, 1998.

    Examples
    --------
    >>> from mercer import BagOfWords
    >>> texts = ["the cat sat", "the cat ran", "ran the cat"]
    >>> BagOfWords()(texts)
    array([[3., 2., 2.],
           [2., 3., 3.],
           [2., 3., 3.]])
    >>> BagOfWords(k=2)(texts)  # the order of neighbours counts
    array([[2., 1., 1.],
           [1., 2., 1.],
           [1., 1., 2.]])
    >>> BagOfWords(pattern=None)([["open", "read"], ["open", "write", "open"]])
    array([[2., 2.],
           [2., 5.]])
    """

    def __init__(
        self,
        weighting: str = "count",
        *,
        k: int = 1,
        pattern: str | None = r"\w+",
        lowercase: bool = True,
    ) -> None:
        self.weighting, self.k = weighting, k
        self.pattern, self.lowercase = pattern, lowercase
        super().__init__()

    @property
    def encoder(self) -> Encoder:  # type: ignore[override]
        return TokenEncoder() if self.pattern is None else StringEncoder()

    def check_parameters(self) -> None:
        super().check_parameters()
        check_number(self, "k", low=1, high=10_000, integer=True)
        if not isinstance(self.lowercase, bool | np.bool_):
            raise InvalidParameter(f"BagOfWords: lowercase={self.lowercase!r} has to be a bool.")
        self._expression()

    def phi(self, strings: Strings) -> Features:
        words = self._expression()
        known: dict[str, int] = {}
        at, counts, ends = array("i"), array("d"), array("q", [0])
        for text in strings.items:
            text = text.lower() if self.lowercase else text
            found = Counter(self._runs([m.group() for m in words.finditer(text) if m.group()]))
            at.extend(known.setdefault(word, len(known)) for word in found)
            counts.extend(self._weights(found))
            ends.append(len(at))
        # scikit-learn takes 32-bit indices only, which are enough nearly always.
        index = np.int32 if len(at) < 2**31 else np.int64
        keys = np.fromiter(map(_word_key, known), np.uint64, len(known))
        # Texts without any word still have one coordinate, and are zero there.
        keys = keys if len(keys) else np.zeros(1, dtype=np.uint64)
        parts = np.array(counts), np.array(at, dtype=index), np.array(ends, dtype=index)
        return Features(sparse.csr_array(parts, shape=(len(strings), len(keys))), keys)

    def place_shares(self, point: Points) -> Features:
        [text] = cast(Strings, point[self.encoder]).items
        text = text.lower() if self.lowercase else text
        words = [match.span() for match in self._expression().finditer(text) if match.group()]
        # The places of a list are its tokens, those of a text its letters.
        is_list, k = self.pattern is None, int(self.k)
        places = [[n] if is_list else list(range(*word)) for n, word in enumerate(words)]
        runs = [words[i : i + k] for i in range(len(words) - k + 1)]
        pieces = [text[run[0][0] : run[-1][1]] for run in runs] or [""]
        cover = sparse.lil_array((len(words) if is_list else len(text), len(pieces)))
        for piece in range(len(runs)):
            covered = [place for word in places[piece : piece + k] for place in word]
            cover[covered, piece] = 1 / len(covered)
        parts = Strings(np.array(pieces, dtype=object))
        return Features.shared(self.replace(weighting="count").phi(parts), cover)

    def _runs(self, words: list[str]) -> Iterable[str]:
        """Return all runs of k words."""
        k = int(self.k)
        if k == 1:
            return words
        return [_SEPARATOR.join(words[i : i + k]) for i in range(len(words) - k + 1)]

    def _weights(self, found: Counter[str]) -> Iterable[float]:
        if self.weighting == "binary":
            return [1.0] * len(found)
        if self.weighting == "frequency":
            total = found.total()
            return [count / total for count in found.values()]
        return found.values()

    def _expression(self) -> re.Pattern[str]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return re.compile(f"[^{_SEPARATOR}]+" if self.pattern is None else self.pattern)
        except (re.error, TypeError, OverflowError, RecursionError) as error:
            raise InvalidParameter(
                f"BagOfWords: pattern={self.pattern!r} is not a regular expression: {error}."
            ) from None


def _word_key(word: str) -> int:
    digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")
