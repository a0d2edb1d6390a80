"""The type names that the whole library shares; each says what is meant where no class can."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Index: TypeAlias = slice | NDArray[np.intp]
"""Which rows or columns: a range of them, or their numbers."""

Array: TypeAlias = NDArray[np.floating[Any]]
"""Numbers of either precision."""

IntArray: TypeAlias = NDArray[np.intp]
"""Numbers of rows, columns or classes."""

BoolArray: TypeAlias = NDArray[np.bool_]
"""A mark for each row or column."""

Dtype: TypeAlias = np.dtype[Any] | type[np.generic] | str
"""The precision of an array, as NumPy accepts it."""

Scalar: TypeAlias = float | np.floating[Any]
"""One number, Python's or NumPy's."""

# What a user hands over has no common class: arrays, sparse matrices, data frames, lists of texts,
# series, graphs or trees. These names say which of them a parameter takes.
Objects: TypeAlias = Any
"""Data of any kind, one object a row: what ``encode`` of a kernel or ``fit`` takes as X."""

Object: TypeAlias = Any
"""One object of such data: a row, a text, a series, a graph or a tree."""

Targets: TypeAlias = Any
"""What to predict, one value (or row of values) for each object: y."""

Labels: TypeAlias = Any
"""Classes as a user names them: numbers, texts or truth values."""

Label: TypeAlias = Any
"""One class as a user names it, or a mark in its place."""

SampleWeights: TypeAlias = Any
"""A weight for each object (array-like), or None for equal weights."""

RowGroups: TypeAlias = Any
"""The group that each object belongs to (array-like), or None where each is its own."""

ClassWeights: TypeAlias = Any
"""A weight for each class as a mapping, ``"balanced"``, or None for equal weights."""

Frame: TypeAlias = Any
"""A data frame of pandas, Polars or PyArrow, or what narwhals makes of it."""

Column: TypeAlias = Any
"""One column of such a data frame, or an array-like that stands for one."""

DataSource: TypeAlias = Any
"""Where data come from: a path or an address, or a table that is in memory already."""

Model: TypeAlias = Any
"""A machine with scikit-learn's methods, ours or another's."""

Parameter: TypeAlias = Any
"""The value of a parameter before it was validated: whatever a user wrote."""

Seed: TypeAlias = int | np.random.RandomState | np.random.Generator | None
"""Where randomness comes from, as scikit-learn spells ``random_state``."""

Axes: TypeAlias = Any
"""Axes of matplotlib, which is an optional dependency."""

Client: TypeAlias = Any
"""A client of a Dask cluster, which is an optional dependency."""

Matrix: TypeAlias = Any
"""Numbers in rows and columns: a NumPy array, or a sparse matrix of SciPy."""

Flags: TypeAlias = BoolArray
"""A mark for each entry, in compiled code."""

Groups: TypeAlias = NDArray[np.uint8]
"""The number of the group that each variable belongs to."""

Offsets: TypeAlias = NDArray[np.uint64]
"""Places in flat memory; unsigned, which spares compiled code the check for negative ones."""

Rows: TypeAlias = ArrayLike | slice
"""Which rows: their numbers (negative ones count from the end), a slice, or a mask."""

Whole: TypeAlias = int | np.integer[Any]
"""A whole number in compiled code, whatever its size."""

Real: TypeAlias = float | np.floating[Any]
"""A real number in compiled code, whatever its size."""
