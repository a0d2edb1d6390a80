"""Batches of sequences, from what people have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mercer._typing import Array, IntArray, Objects
from mercer.exceptions import InvalidInput, InvalidType

Values: TypeAlias = NDArray[Any]
"""One row for each time: channels of a series (floats), or a code (whole numbers)."""


@dataclass(frozen=True, eq=False)
class Sequences:
    """Sequences one after the other: a row of ``values`` for each time, the length of each.

    Rows are the channels of a series (floats), or one code (a whole number; −1 is unknown).
    """

    values: Values
    lengths: IntArray

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def starts(self) -> IntArray:
        """Where each sequence begins."""
        return np.asarray(np.cumsum(self.lengths) - self.lengths)

    def part(self, index: slice) -> Sequences:
        """Return neighbouring sequences."""
        ends = np.concatenate([self.starts, [len(self.values)]])
        first, last, _ = index.indices(len(self))
        return Sequences(self.values[ends[first] : ends[last]], self.lengths[index])

    def totals(self, rows: Array) -> Array:
        """Return the sums over the times of each sequence of something with a row for each time."""
        indptr = np.concatenate([self.starts, [len(self.values)]])
        ones, times = np.ones(len(rows)), np.arange(len(rows))
        adding = sparse.csr_array((ones, times, indptr), shape=(len(self), len(rows)))
        return np.asarray(adding @ rows)

    def split(self, rows: Values) -> list[Values]:
        """Return the part of each sequence of something with a row for each time."""
        return np.split(rows, self.starts[1:]) if len(self) else []


def read_series(X: Objects, time: str, owner: str) -> Sequences:
    """Return series of numbers: a list of arrays, a table, or a 3-D array of one length.

    An array of two dimensions inside a list, or the last two of three, are (channels, time) where
    ``time`` is "last", and (time, channels) where it is "first".
    """
    if isinstance(X, Sequences):
        return X
    _check_batch(X, owner)
    parts = []
    for number, row in enumerate(X):
        if np.iscomplexobj(row):
            raise InvalidType(
                f"{owner}: Complex data not supported, and sequence {number} has complex numbers. "
                "Give their real and imaginary parts as two channels."
            )
        why = ""
        try:
            part = np.asarray(row, dtype=np.float64)
        except (TypeError, ValueError) as error:
            part, why = np.empty(()), f" ({error})"
        if part.ndim not in (1, 2):
            raise InvalidType(
                f"{owner}: sequence {number} is no series of numbers{why}. Give arrays of numbers, "
                "or HiddenMarkovModel(emissions='discrete') for strings and symbols."
            )
        if not np.isfinite(part).all():
            raise InvalidInput(
                f"{owner}: sequence {number} has a value that is missing or infinite."
            )
        part = part[:, None] if part.ndim == 1 else part
        parts.append(part.T if np.ndim(row) == 2 and time == "last" else part)
    channels = parts[0].shape[1]
    for number, part in enumerate(parts):
        if part.shape[1] != channels or not channels:
            raise InvalidInput(
                f"{owner}: sequence {number} has {part.shape[1]} channels and sequence 0 has "
                f"{channels}. Arrays are (channels, time), or (time, channels) with time='first'."
            )
    lengths = np.array([len(part) for part in parts], dtype=np.intp)
    return Sequences(np.ascontiguousarray(np.concatenate(parts)), lengths)


def read_symbols(
    X: Objects, alphabet: Sequence[Any] | None, unknown: str, owner: str
) -> tuple[Sequences, tuple[Any, ...]]:
    """Return strings, or lists of symbols, as codes, and the alphabet (by default what occurs)."""
    _check_batch(X, owner)
    rows = [_symbols(row, number, owner) for number, row in enumerate(X)]
    if alphabet is None:
        alphabet = _sorted({symbol for row in rows for symbol in row})
        if not alphabet:
            raise InvalidInput(f"{owner}: all sequences are empty; there is nothing to learn.")
    code_of = {symbol: code for code, symbol in enumerate(alphabet)}
    lengths = np.array([len(row) for row in rows], dtype=np.intp)
    codes = np.fromiter(
        (code_of.get(symbol, -1) for row in rows for symbol in row), np.int64, lengths.sum()
    )
    if unknown == "error" and (codes < 0).any():
        at = int(np.flatnonzero(codes < 0)[0])
        number = int(np.searchsorted(np.cumsum(lengths), at, side="right"))
        symbol = rows[number][at - int(lengths[:number].sum())]
        raise InvalidInput(
            f"{owner}: {symbol!r} in sequence {number} is not in the alphabet of the model. Give "
            "alphabet= with all symbols, or unknown='skip' to learn nothing from strange ones."
        )
    return Sequences(codes, lengths), tuple(alphabet)


def _check_batch(X: Objects, owner: str) -> None:
    if sparse.issparse(X):
        raise InvalidType(
            f"{owner}: sparse data are not supported, as a series has a value at each time. Give "
            "X.toarray(), or a list of arrays."
        )
    if isinstance(X, str | bytes) or not hasattr(X, "__len__"):
        raise InvalidType(f"{owner}: expected a list of sequences, got {type(X).__name__}.")
    if len(X) == 0:
        raise InvalidInput(f"{owner}: there are no sequences; at least one is needed.")
    shape: tuple[int, ...] = X.shape if isinstance(X, np.ndarray) else ()
    if len(shape) == 1 and X.dtype.kind in "biufc":
        raise InvalidInput(
            f"{owner}: expected a list of series, got an array of {len(X):,} numbers. Reshape your "
            "data: X[None] is a batch of this one series."
        )
    if len(shape) == 2 and shape[1] == 0:
        raise InvalidInput(
            f"{owner}: all sequences are empty: 0 feature(s) (shape={shape}) while a minimum of 1 "
            "is required."
        )


def _symbols(row: Objects, number: int, owner: str) -> Sequence[Any]:
    if isinstance(row, str):
        return row
    symbols = row.tolist() if isinstance(row, np.ndarray) else row
    if isinstance(symbols, list | tuple) and all(isinstance(s, str | int) for s in symbols):
        return symbols
    raise InvalidType(
        f"{owner}: sequence {number} is no string and no list of symbols (texts or whole numbers)."
    )


def _sorted(symbols: set[Any]) -> tuple[Any, ...]:
    return tuple(sorted(symbols, key=lambda symbol: (isinstance(symbol, str), symbol)))
