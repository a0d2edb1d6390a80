"""Series as points: any number of channels, any lengths, from what people have."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
from scipy import sparse

from mercer._files.fields import TEXT, Numbers, State, WrongState
from mercer._typing import Array, Index, Object, Objects
from mercer.exceptions import InvalidInput, InvalidType
from mercer.kernels.encoders import Encoder, as_narwhals, is_frame, is_missing

Whole = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, eq=False)
class Series:
    """Series one after the other: ``values`` (all times, channel), and the length of each."""

    values: Array
    lengths: Whole

    STATE: ClassVar[State] = {
        "values": Numbers("times", "channels"),
        "lengths": Numbers("n", types="i", low=1),
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` unless the lengths are those of the values."""
        if self.dtype not in (np.float32, np.float64) or self.lengths.dtype != np.int64:
            raise WrongState("its numbers are of an impossible type")
        total, longest = len(self.values), self.lengths.max(initial=0)
        if not self.channels or longest > total or self.lengths.sum() != total:
            raise WrongState("its series do not follow one another")

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def channels(self) -> int:
        return int(self.values.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype

    @cached_property
    def starts(self) -> Whole:
        """Where each series begins in ``values``."""
        return np.cumsum(self.lengths) - self.lengths

    def times(self, index: Index) -> Index:
        """Return the rows of ``values`` that belong to some of the series."""
        if isinstance(index, slice):
            if index.stop <= index.start:
                return slice(0, 0)
            last = index.stop - 1
            return slice(int(self.starts[index.start]), int(self.starts[last] + self.lengths[last]))
        lengths = self.lengths[index]
        shifts = self.starts[index] - (np.cumsum(lengths) - lengths)
        times: Index = np.arange(lengths.sum()) + np.repeat(shifts, lengths)
        return times

    def take(self, index: Index) -> Series:
        return replace(self, values=self.values[self.times(index)], lengths=self.lengths[index])

    def join(self, other: Series) -> Series:
        check_channels(self, other)
        values = np.concatenate([self.values, other.values])
        return Series(values, np.concatenate([self.lengths, other.lengths]))

    def astype(self, dtype: np.dtype[Any]) -> Series:
        return Series(self.values.astype(dtype, copy=False), self.lengths)

    def same_as(self, other: Series) -> bool:
        """Tell whether both are one and the same part of the data."""
        return self is other or (
            self.values.ctypes.data == other.values.ctypes.data
            and np.array_equal(self.lengths, other.lengths)
        )


def check_channels(a: Series, b: Series) -> None:
    """Refuse to compare series of different numbers of channels."""
    if a.channels != b.channels:
        raise InvalidInput(
            f"The series of X have {_channels(a.channels)} and those of Y {b.channels}: series can "
            "be compared only when they have the same channels."
        )


@dataclass(frozen=True)
class SeriesEncoder(Encoder):
    """Series of numbers: lists of arrays of any lengths, 2-D and 3-D arrays, columns of lists.

    ``time`` says which axis of a series with several channels is time: "last", as aeon has it, or
    "first", as tslearn has it. NaN at the end of a series is padding and goes.
    """

    STATE: ClassVar[State] = {"time": TEXT}
    makes = Series

    def is_own(self, leaf: Any) -> bool:
        return super().is_own(leaf) and self.time in ("last", "first")

    by_column: ClassVar[bool] = False
    time: str = "last"
    stand_in = (0.0,)

    def encode(self, X: Objects, owner: str) -> Series:
        if sparse.issparse(X):
            raise InvalidType(f"{owner}: expected series, got a sparse matrix. Use X.toarray().")
        table = self._table(X, owner)
        if table is None:
            cells = _cells(X)
            if cells is None:
                parts = [self._series(row, i, owner) for i, row in enumerate(_rows(X))]
            else:
                parts = [_from_cells(row, i, owner) for i, row in enumerate(cells)]
            return _joined([_trimmed(part, i, owner) for i, part in enumerate(parts)], owner)
        if table.size and np.isfinite(table).all():
            n, length, channels = table.shape
            lengths = np.full(n, length, dtype=np.int64)
            return Series(np.ascontiguousarray(table.reshape(n * length, channels)), lengths)
        return _joined([_trimmed(row, i, owner) for i, row in enumerate(table)], owner)

    def identity(self, leaf: Series, row: int) -> Hashable:
        return (leaf.take(slice(row, row + 1)).values + 0.0).tobytes()

    def _table(self, X: Objects, owner: str) -> Array | None:
        """Return series of one length as (series, time, channel), or None where they are not."""
        if not isinstance(X, np.ndarray) or X.dtype.kind not in "fiub":
            return None
        if X.ndim not in (2, 3):
            raise InvalidInput(
                f"{owner}: expected series, got an array of shape {X.shape}. Give one of shape "
                "(series, time) or (series, channels, time), or a list of arrays."
            )
        values = X if X.dtype in _FLOATS else X.astype(np.float64)
        if X.ndim == 2:
            return values[:, :, None]
        return values.transpose(0, 2, 1) if self.time == "last" else values

    def _series(self, row: Object, number: int, owner: str) -> Array:
        """Return one series as (time, channel)."""
        values = _numbers(row, number, owner)
        if values.ndim == 1:
            return values[:, None]
        if values.ndim != 2:
            raise InvalidInput(
                f"{owner}: series {number} has shape {values.shape}. Give a series as an array of "
                "numbers, or of shape (channels, time)."
            )
        return values.T if self.time == "last" else values


def _cells(X: Objects) -> Iterable[Sequence[Any]] | None:
    """Return the rows of a table: channels of a series, or its values; None of anything else."""
    if is_frame(X):
        frame = as_narwhals(X)
        return zip(*(frame.get_column(name).to_list() for name in frame.columns), strict=True)
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2:
        return (list(cells) for cells in X)
    return None


def _from_cells(cells: Sequence[Any], number: int, owner: str) -> Array:
    """Return one series as (time, channel)."""
    if not any(hasattr(cell, "__len__") for cell in cells):
        return _numbers(cells, number, owner)[:, None]
    return _stacked([_numbers(cell, number, owner) for cell in cells], number, owner)


def _rows(X: Objects) -> Iterable[Any]:
    """Return what stands for each series."""
    return cast(Iterable[Any], X.to_pylist() if hasattr(X, "to_pylist") else X)


def _numbers(row: Object, number: int, owner: str) -> Array:
    if row is None or (not hasattr(row, "__len__") and is_missing(row)):
        raise InvalidInput(f"{owner}: series {number} is missing. Fill it in or drop it.")
    try:
        values = np.asarray(row)
        if values.dtype == object:
            values = np.array([math.nan if is_missing(v) else v for v in row], dtype=np.float64)
    except (TypeError, ValueError):
        values = np.asarray("")
    if values.dtype.kind not in "fiub" or values.ndim == 0:
        shown = repr(row)
        raise InvalidType(
            f"{owner}: series {number} is no series of numbers: "
            f"{shown if len(shown) <= 40 else shown[:39] + '…'}. Give lists or arrays of numbers, "
            "all channels of a series of one length."
        )
    return values if values.dtype in _FLOATS else values.astype(np.float64)


def _stacked(channels: list[Array], number: int, owner: str) -> Array:
    lengths = {channel.shape for channel in channels}
    if len(lengths) > 1 or channels[0].ndim != 1:
        raise InvalidInput(
            f"{owner}: the channels of series {number} have different lengths or are no series. "
            "Give each channel as many values."
        )
    return np.stack(channels, axis=1)


def _trimmed(values: Array, number: int, owner: str) -> Array:
    """Return a series without the NaN at its end, which is padding."""
    there = np.flatnonzero(~np.isnan(values).all(axis=1))
    if not there.size or not values.shape[1]:
        raise InvalidInput(f"{owner}: series {number} is empty. Drop it, or give it a value.")
    values = values[: there[-1] + 1]
    if not np.isfinite(values).all():
        time, channel = np.argwhere(~np.isfinite(values))[0]
        what = "NaN (a missing value)" if np.isnan(values[time, channel]) else "an infinite value"
        where = f", channel {channel}" if values.shape[1] > 1 else ""
        raise InvalidInput(
            f"{owner}: series {number} has {what} at time {time}{where}. Fill it in; NaN may only "
            "pad the end of a series."
        )
    return values


def _joined(parts: list[Array], owner: str) -> Series:
    channels = parts[0].shape[1]
    for number, part in enumerate(parts):
        if part.shape[1] != channels:
            raise InvalidInput(
                f"{owner}: series {number} has {_channels(part.shape[1])} and series 0 has "
                f"{channels}. Give all series the same; an array of a series with several channels "
                "has the shape (channels, time), or (time, channels) with time='first'."
            )
    lengths = np.array([len(part) for part in parts], dtype=np.int64)
    return Series(np.ascontiguousarray(np.concatenate(parts)), lengths)


def _channels(count: int) -> str:
    return f"{count} channel{'s' if count != 1 else ''}"


_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
