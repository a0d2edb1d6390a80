"""Files larger than memory, in pieces: Parquet, Arrow and LIBSVM."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from mercer._typing import Array, Column, DataSource
from mercer.exceptions import InvalidInput, shown
from mercer.io.read_formats import bad_libsvm
from mercer.io.table_source import arrow
from mercer.landmarks.chunks import CHUNK_ROWS, ArrayChunks, Chunk, Chunks

_PARQUET = (".parquet", ".pq", ".parq")
_ARROW = (".arrow", ".feather", ".ipc")
_LINES_AT_ONCE = 1 << 24
"""Bytes of a text file that are read at once."""


def open_chunks(
    source: DataSource,
    target: str | None = None,
    *,
    columns: Sequence[str] | None = None,
    weights: str | None = None,
    table: bool = False,
    rows: int = CHUNK_ROWS,
) -> Chunks:
    """Open data that are larger than memory; machines read them piece by piece.

    Parameters
    ----------
    source : path, pyarrow.dataset.Dataset, or arrays (X, y)
        A Parquet or Arrow (Feather) file, a folder of Parquet files, a LIBSVM file, a dataset of
        pyarrow; or a pair of arrays or memory maps.
    target : str, optional
        The column of the targets. LIBSVM files have them in front; without it there are none.
    columns : list of str, optional
        The columns to learn from; all others by default.
    weights : str, optional
        The column of weights of the rows.
    table : bool
        Whether the kernel gets a table with the names of the columns, which may then hold texts,
        and not an array of numbers.
    rows : int
        Rows of a piece, at most.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import StreamedRidge, open_chunks
    >>> X = np.linspace(0, 6, 500)[:, None]
    >>> chunks = open_chunks((X, np.sin(X).ravel()), rows=100)
    >>> model = StreamedRidge(alpha=1e-3, approximation=30).fit(chunks)
    >>> model.predict([[1.0]]).round(2)
    array([0.84])
    """
    if rows < 1:
        raise InvalidInput(f"open_chunks: rows={rows!r} has to be a whole number, 1 or more.")
    if isinstance(source, tuple):
        X, y, given = (*source, None, None)[:3]
        return ArrayChunks(X, y, given, rows)
    if not isinstance(source, str | os.PathLike):
        pieces = _dataset_pieces(source, str(getattr(source, "files", ["dataset"])[0]))
        return TableChunks(pieces, target, columns, weights, table, rows)
    path = Path(source)
    if not path.exists():
        raise InvalidInput(f"open_chunks: there is no file {path}.")
    if path.suffix in _ARROW and not path.is_dir():
        return TableChunks(_arrow_pieces(path), target, columns, weights, table, rows)
    if path.is_dir() or path.suffix in _PARQUET or _starts(path, b"PAR1"):
        return TableChunks(_parquet_pieces(path), target, columns, weights, table, rows)
    if target is not None or columns is not None or weights is not None:
        raise InvalidInput(
            f"open_chunks: {path} is read as a LIBSVM file, which has no named columns: its "
            "targets are the first numbers of the lines."
        )
    return LibsvmChunks(path, rows)


class Piece:
    """A part of a table that is read as one: its name for messages, its length, how to read it."""

    def __init__(
        self, name: str, first: int, rows: int, names: Sequence[str], read: Callable[..., Any]
    ) -> None:
        self.name, self.first, self.rows, self.names, self.read = name, first, rows, names, read


class TableChunks(Chunks):
    """Pieces of a table with named columns."""

    def __init__(
        self,
        pieces: Sequence[Piece],
        target: str | None,
        columns: Sequence[str] | None,
        weights: str | None,
        table: bool,
        rows: int,
    ) -> None:
        pieces = [piece for piece in pieces if piece.rows]
        if not pieces:
            raise InvalidInput("open_chunks: the table has no rows.")
        names = list(pieces[0].names)
        for wanted in (target, weights, *(columns or ())):
            if wanted is not None and wanted not in names:
                raise InvalidInput(
                    f"{pieces[0].name} has no column {shown(wanted)}; it has "
                    f"{', '.join(name[:60] for name in names[:20])}."
                )
        for piece in pieces:
            if list(piece.names) != names:
                raise InvalidInput(
                    f"{piece.name} has other columns than {pieces[0].name}; all parts of a table "
                    "need the same ones in the same order."
                )
        self.target, self.weights, self._table = target, weights, table
        self.columns = list(columns or [n for n in names if n not in (target, weights)])
        if not self.columns:
            raise InvalidInput(f"{pieces[0].name} has no columns to learn from.")
        # A row group may be larger than a piece: it is read once and cut.
        self._parts = [
            (piece, start, min(start + rows, piece.rows))
            for piece in pieces
            for start in range(0, piece.rows, rows)
        ]
        counts = [stop - start for _, start, stop in self._parts]
        self.starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
        self._held: tuple[Piece, Any] | None = None
        self._lock = Lock()

    def read(self, number: int) -> Chunk:
        piece, start, stop = self._parts[number]
        with self._lock:
            if self._held is None or self._held[0] is not piece:
                self._held = None
                needed = [*self.columns, *(n for n in (self.target, self.weights) if n)]
                self._held = piece, piece.read(list(dict.fromkeys(needed)))
            part = self._held[1].slice(start, stop - start)
        first = piece.first + start
        X: Any = part.select(self.columns)
        if not self._table:
            X = self._matrix(part, piece, first)
        y = None if self.target is None else self._targets(part, piece, first)
        weights = None if self.weights is None else self._column(part, self.weights, piece, first)
        if weights is not None and weights.min() < 0:
            row = int(weights.argmin())
            raise InvalidInput(f"{piece.name}, row {first + row}: the weight is negative.")
        return Chunk(X, y, weights)

    def _matrix(self, part: Any, piece: Piece, first: int) -> Array:
        X = np.empty((part.num_rows, len(self.columns)))
        for j, name in enumerate(self.columns):
            X[:, j] = self._column(part, name, piece, first)
        return X

    def _targets(self, part: Any, piece: Piece, first: int) -> Any:
        assert self.target is not None
        column = part.column(self.target)
        if column.null_count:
            row = int(np.flatnonzero(column.is_null().to_numpy())[0])
            raise InvalidInput(
                f"{piece.name}, row {first + row}, column {shown(self.target)}: the target is "
                "missing."
            )
        if _is_number(column):
            return self._column(part, self.target, piece, first)
        return np.asarray(column.to_numpy(), dtype=object).astype(str)

    def _column(self, part: Any, name: str, piece: Piece, first: int) -> Array:
        column = part.column(name)
        if not _is_number(column):
            raise InvalidInput(
                f"{piece.name}, column {shown(name)} holds {column.type}, not numbers. Leave "
                "it out by "
                "columns=, or take a kernel on tables with table=True."
            )
        values = np.asarray(column.to_numpy(), dtype=np.float64)
        bad = ~np.isfinite(values)
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            what = "missing" if np.isnan(values[row]) else "infinite"
            raise InvalidInput(
                f"{piece.name}, row {first + row}, column {shown(name)}: the value is {what}. "
                "Fill in "
                "or drop such rows first."
            )
        return values


class LibsvmChunks(Chunks):
    """Lines of a LIBSVM file: a first look checks all of them and notes where pieces begin."""

    def __init__(self, path: Path, rows: int) -> None:
        self._path = path
        self._places: list[tuple[int, int, int]] = []
        counts, width, zero = [0], 1, False
        for at, line, text in _lines(path, rows):
            X, _ = self._parse(text, line, None)
            if X.shape[0]:
                width = max(width, X.shape[1])
                zero = zero or bool(X.indices.size and X.indices.min() == 0)
                self._places.append((at, len(text), line))
                counts.append(X.shape[0])
        if not self._places:
            raise InvalidInput(f"{path} has no rows. Give a line for each object.")
        # Parsed as if counted from 0: a file that never says 0 counts from 1.
        self._shift = 0 if zero else 1
        self._width = max(1, width - self._shift)
        self.starts = np.cumsum(counts).astype(np.intp)

    def read(self, number: int) -> Chunk:
        at, size, line = self._places[number]
        with open(self._path, "rb") as file:
            file.seek(at)
            text = file.read(size)
        X, y = self._parse(text, line, self._width + self._shift)
        X = X[:, self._shift :]
        dense = X.nnz * 4 > X.shape[0] * X.shape[1]
        return Chunk(X.toarray() if dense else X.tocsr(), y)

    def _parse(self, text: bytes, line: int, width: int | None) -> tuple[Any, Array]:
        from sklearn.datasets import load_svmlight_file

        try:
            X, y = load_svmlight_file(BytesIO(text), n_features=width, zero_based=True)
        except (ValueError, OverflowError, MemoryError) as error:
            if not any(part.partition(b"#")[0].strip() for part in text.split(b"\n")):
                from scipy import sparse

                return sparse.csr_matrix((0, width or 1)), np.zeros(0)
            decoded = text.decode("utf-8", "replace")
            raise bad_libsvm(decoded, str(self._path), line) or InvalidInput(
                f"{self._path}, after line {line}: {error}."
            ) from None
        bad = ~np.isfinite(X.data)
        if bad.any() or not np.isfinite(y).all():
            at = np.searchsorted(X.indptr, np.flatnonzero(bad)[0], "right") - 1 if bad.any() else 0
            row = int(at if bad.any() else np.flatnonzero(~np.isfinite(y))[0])
            parts = enumerate(text.split(b"\n"), line + 1)
            filled = [i for i, part in parts if part.partition(b"#")[0].strip()]
            raise InvalidInput(
                f"{self._path}, line {filled[row]}: a value is not finite. Leave it out."
            )
        return X, y


def _lines(path: Path, rows: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield pieces of a text file of at most so many lines: where, lines before, and the bytes."""
    with open(path, "rb") as file:
        at = line = 0
        left = b""
        while True:
            block = file.read(_LINES_AT_ONCE)
            left += block
            ends = np.flatnonzero(np.frombuffer(left, dtype=np.uint8) == 10) + 1
            start = 0
            for number in range(rows, len(ends) + 1, rows):
                stop = int(ends[number - 1])
                yield at, line, left[start:stop]
                at, line, start = at + stop - start, line + rows, stop
            left = left[start:]
            if not block:
                break
        if left:
            yield at, line, left


def _parquet_pieces(path: Path) -> list[Piece]:
    pa = arrow()
    import pyarrow.dataset as ds

    try:
        return _dataset_pieces(ds.dataset(path, format="parquet"), str(path))
    except (pa.ArrowException, OSError) as error:
        cause = str(error).splitlines()[0][:150].rstrip(".")
        raise InvalidInput(f"{path} is no Parquet data, or damaged: {cause}.") from None


def _dataset_pieces(dataset: Any, name: str) -> list[Piece]:
    """Return the row groups of the files of a dataset, or its files where they have none."""
    if not hasattr(dataset, "get_fragments"):
        raise InvalidInput(
            f"open_chunks takes a path, a dataset of pyarrow or a pair of arrays, not "
            f"{type(dataset).__name__}. Fit on data in memory directly."
        )
    pieces = []
    for file in dataset.get_fragments():
        first = 0
        groups = file.split_by_row_group() if hasattr(file, "split_by_row_group") else [file]
        for group in groups:
            # A row group would count all rows of its file.
            known = getattr(group, "row_groups", None)
            rows = sum(part.num_rows for part in known) if known else group.count_rows()
            names = file.physical_schema.names
            place = str(getattr(file, "path", name))
            pieces.append(Piece(place, first, rows, names, _reader(group)))
            first += rows
    return pieces


def _reader(group: Any) -> Callable[..., Any]:
    return lambda columns: group.to_table(columns=columns)


def _arrow_pieces(path: Path) -> list[Piece]:
    pa = arrow()
    try:
        file = pa.ipc.open_file(pa.memory_map(str(path)))
    except (pa.ArrowException, OSError) as error:
        cause = str(error).splitlines()[0][:150].rstrip(".")
        raise InvalidInput(f"{path} is no Arrow file, or damaged: {cause}.") from None
    pieces, first = [], 0
    for number in range(file.num_record_batches):
        rows = file.get_batch(number).num_rows

        def read(columns: Sequence[str], number: int = number) -> Any:
            return pa.Table.from_batches([file.get_batch(number)]).select(list(columns))

        pieces.append(Piece(str(path), first, rows, file.schema.names, read))
        first += rows
    return pieces


def _is_number(column: Column) -> bool:
    kind = str(column.type)
    return kind.startswith(("int", "uint", "float", "double", "halffloat", "bool", "decimal"))


def _starts(path: Path, magic: bytes) -> bool:
    with open(path, "rb") as file:
        return file.read(len(magic)) == magic
