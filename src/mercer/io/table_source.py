"""The bytes of a data file: found, unpacked, decoded, and told apart by what is in them."""

from __future__ import annotations

import difflib
import re
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any

from mercer import _memory, data
from mercer._typing import DataSource, Frame
from mercer.exceptions import InvalidInput, InvalidType, MissingDependency, shown
from mercer.io.unpacked import PACKED, TABLES, unpacked
from mercer.kernels.encoders import as_narwhals, column_names, is_missing
from mercer.kernels.graphs.graph_forms import as_graph_mapping, is_graph

_TEXT_SAMPLE = 1 << 16
"""Bytes that show whether a file is text: 64 kB."""


@dataclass(frozen=True, eq=False)
class Source:
    """A data file: its name for messages, its suffix, its bytes, unpacked, its target if known."""

    name: str
    suffix: str
    content: bytes
    target: str | None = None

    def start(self) -> str:
        """Return the first lines as text, whatever the encoding."""
        return decode_start(self.content)


@dataclass(frozen=True, eq=False)
class RawTable:
    """What a reader makes of a file.

    ``frame`` is a pyarrow table or a CSR matrix. ``untyped`` says that all cells are text still.
    ``place`` gives the place of a row in words, for messages. ``target`` belongs to formats that
    carry one, ``separator`` to text in which it stands between values.
    """

    frame: Any
    place: Callable[[int], str]
    notes: tuple[str, ...] = ()
    untyped: bool = False
    target: Any = None
    separator: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


def find_source(source: DataSource) -> Source:
    """Return the bytes of a file, or of a data set that comes with mercer."""
    if not isinstance(source, str | PathLike):
        raise InvalidType(
            f"read_table: expected the path of a file, the name of a data set, or a data frame of "
            f"pandas, polars or pyarrow, got {type(source).__name__}."
        )
    name, path, target = str(source), Path(source), None
    try:
        is_folder, is_file = path.is_dir(), path.is_file()
    except (OSError, ValueError):
        is_folder = is_file = False
    if is_folder:
        return Source(name, ".zip", _zipped(path))
    if not is_file:
        if name not in data.TABLES:
            raise _not_found(name)
        path, target = data.table_path(name), data.TABLES[name][1]
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{name} cannot be read: {error.strerror}. Check the file.") from None
    suffixes = [suffix.lower() for suffix in path.suffixes]
    content, suffixes = unpacked(content, name, suffixes)
    if not content.strip():
        raise InvalidInput(f"{name} is empty. Give a file with a line for each object.")
    return Source(name, suffixes[-1] if suffixes else "", content, target)


def raw_frame(frame: Frame) -> RawTable:
    """Return a data frame as if it had been read from a file; its index is no column."""
    names = column_names(frame)
    several = next((name for name in names if isinstance(name, tuple)), None)
    if several is not None:
        raise InvalidInput(
            f"The data frame has names of several levels, such as {several!r}. Give each column "
            "one name, for example with frame.columns = frame.columns.map('_'.join)."
        )
    wrapped = as_narwhals(frame)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # names that are no texts become texts, as wanted
            found = as_arrow(wrapped)
    except (arrow().ArrowException, TypeError, ValueError) as error:
        raise _unreadable(wrapped, error) from None
    for name, dtype in zip(found.column_names, found.schema.types, strict=True):
        if isinstance(dtype, arrow().BaseExtensionType):
            held = dtype.extension_name.removeprefix("pandas.")
            raise InvalidInput(
                f"Column {shown(name)} of the data frame holds values of the type {held}, which is "
                "not read here. Turn them into dates, numbers or text, for example with "
                "astype(str)."
            )
    index = [name for name in getattr(getattr(frame, "index", None), "names", ()) if name]
    note = (
        f"The index ({', '.join(map(str, index))}) is left out; frame.reset_index() makes it part "
        "of the data."
    )
    kept = found.select([str(name) for name in names])
    return RawTable(kept, lambda row: f"row {row}", (note,) if index else ())


def _unreadable(frame: Any, error: Exception) -> InvalidInput:
    """Name the first column that Arrow does not take, and say what is in it."""
    for name in frame.columns:
        column = frame.get_column(name)
        try:
            column.to_arrow()
        except (arrow().ArrowException, TypeError, ValueError) as own:
            known = [value for value in column.to_list() if not is_missing(value)]
            types = list(dict.fromkeys(type(value).__name__ for value in known))
            if len(types) > 1:
                return InvalidInput(
                    f"Column {shown(name)} of the data frame holds values of mixed types "
                    f"({', '.join(types[:3])}). Give it one type, for example with astype(str)."
                )
            error = own
            break
    else:
        name = "?"
    cause = str(error).splitlines()[0][:150].rstrip(".")
    return InvalidInput(
        f"Column {shown(name)} of the data frame cannot be read: {cause}. Turn it into numbers or "
        "text, for example with astype(float) or astype(str)."
    )


def as_arrow(frame: Any) -> Any:
    """Return a frame as a table of Arrow, in which graphs are mappings of their fields."""
    pa = arrow()
    graphs = {}
    for name, dtype in frame.schema.items():
        values = frame.get_column(name).to_list() if str(dtype) == "Object" else []
        there = [value for value in values if value is not None]
        if there and all(map(is_graph, there)):
            plain = [None if value is None else as_graph_mapping(value) for value in values]
            graphs[str(name)] = pa.array(plain)
    if not graphs:
        return frame.to_arrow()
    others = [name for name in frame.columns if str(name) not in graphs]
    kept = frame.select(others).to_arrow() if others else None
    columns = {} if kept is None else {name: kept[name] for name in kept.column_names}
    return pa.table({**columns, **graphs})


def _zipped(folder: Path) -> bytes:
    """Return the text files of a folder as the bytes of a zip file: a set of graphs is either."""
    packed = BytesIO()
    try:
        sets = [file.name.removesuffix("A.txt") for file in folder.glob("*_A.txt")]
        if not sets:
            inside = [file for file in folder.iterdir() if file.suffix.lower() in TABLES + PACKED]
            such = f", such as {min(inside)}" if inside else ""
            raise InvalidInput(
                f"The folder {folder} holds no set of graphs: exactly one pair of files "
                "NAME_A.txt and NAME_graph_indicator.txt is needed. For a table, give its file"
                f"{such}."
            )
        files = sorted(file for file in folder.glob("*.txt") if file.name.startswith(tuple(sets)))
        size = sum(file.stat().st_size for file in files)
        _memory.require(4 * size, f"Reading {folder}", "Give a part of it.")
        with zipfile.ZipFile(packed, "w") as archive:
            for file in files:
                archive.writestr(file.name, file.read_bytes())
    except OSError as error:
        raise InvalidInput(f"{folder} cannot be read: {error.strerror}. Check it.") from None
    return packed.getvalue()


def _not_found(name: str) -> InvalidInput:
    if "://" in name:
        return InvalidInput(f"{name} is an address, which is not fetched. Download the file first.")
    try:
        beside = [path.name for path in Path(name).parent.iterdir()]
    except (OSError, ValueError):
        beside = []
    near = difflib.get_close_matches(Path(name).name, [*beside, *data.TABLES], n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    return InvalidInput(
        f"There is no file {name[:200]}, and no data set of that name comes with mercer (there are "
        f"{', '.join(data.TABLES)}).{hint}"
    )


# ---- text --------------------------------------------------------------------------------------

_BOMS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}
_ODD = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def encoding_of(content: bytes) -> str:
    """Return the encoding that the first bytes announce, else UTF-8."""
    return next((name for mark, name in _BOMS.items() if content.startswith(mark)), "utf-8")


def is_text(content: bytes) -> bool:
    """Tell text from binary data: no control characters, unless it is UTF-16."""
    return encoding_of(content) == "utf-16" or not _ODD.search(content[:_TEXT_SAMPLE])


def decode_start(content: bytes) -> str:
    """Return the first lines, with a mark for what cannot be decoded."""
    return content[:_TEXT_SAMPLE].decode(encoding_of(content), errors="replace")


def decode(source: Source, encoding: str | None) -> str:
    """Return the whole text, or say where it is not what it is said to be."""
    chosen = encoding or encoding_of(source.content)
    try:
        return source.content.decode(chosen)
    except LookupError:
        raise InvalidInput(f"There is no encoding {chosen!r}. Try 'utf-8' or 'latin-1'.") from None
    except UnicodeDecodeError as error:
        line = source.content[: error.start].count(b"\n") + 1
        raise InvalidInput(
            f"{source.name}, line {line}: the bytes there are not {chosen.upper()} text. Save the "
            "file as UTF-8, or give its encoding, for example encoding='latin-1'."
        ) from None


def arrow() -> Any:
    """Return pyarrow, or say how to get it."""
    try:
        import pyarrow
    except ImportError:
        raise MissingDependency(
            "Data files are read with pyarrow, which is not installed. Install it with "
            "pip install 'mercer[cli]'."
        ) from None
    return pyarrow
