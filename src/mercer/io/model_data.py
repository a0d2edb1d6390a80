"""Data of other libraries in model files: texts, dates, sparse matrices, frames."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from mercer._files.container import AnyArray
from mercer._files.fields import COUNT, NONE, TEXT, A, ListOf, Number, Numbers, OneOf, WrongState
from mercer.exceptions import CannotSave
from mercer.io.model_values import Stored, Value
from mercer.kernels.encoders import as_narwhals, is_frame
from mercer.kernels.graphs.graph_forms import is_graph_mapping
from mercer.kernels.graphs.graph_points import Graph

Column: TypeAlias = AnyArray | list[Any]
"""A column of a frame: values, or an array or a graph for each row."""
Sparse: TypeAlias = sparse.spmatrix | sparse.sparray

SHAPE = ListOf(COUNT, tuple)
_LIBRARIES = ("pandas", "polars", "pyarrow")
_UNITS = ("D", "h", "m", "s", "ms", "us", "ns")
_WIDEST = 64
"""A text array takes its longest text for all; more than this factor above the file is refused."""


# ---- arrays of texts, dates, plain Python values ---------------------------------------------


def _texts_state(array: AnyArray) -> dict[str, Any]:
    try:
        encoded = [text.encode() for text in array.ravel().tolist()]
    except UnicodeEncodeError as error:
        raise CannotSave(f"a text cannot be written as UTF-8: {error.object[:40]!r}.") from None
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    letters = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    return {"letters": letters, "ends": ends, "shape": array.shape, "type": array.dtype.kind}


def _make_texts(state: dict[str, Any]) -> Any:
    ends, letters = state["ends"], state["letters"].tobytes()
    starts = np.concatenate([[0], ends[:-1]]).astype(np.int64) if len(ends) else ends
    if (ends < starts).any() or (int(ends[-1]) if len(ends) else 0) != len(letters):
        raise WrongState("the ends of its texts are not in order")
    edges = zip(starts.tolist(), ends.tolist(), strict=True)
    texts = [letters[start:end].decode() for start, end in edges]
    if state["type"] == "U":
        width = 4 * max(map(len, texts), default=0) * len(texts)
        if width > _WIDEST * (len(letters) + ends.nbytes) + (1 << 20):
            raise WrongState("its texts differ too much in length for a text array; use objects")
        array = np.array(texts, dtype=np.str_)
    else:
        array = _objects(texts)
    return _shaped(array, state["shape"])


def _make_dates(state: dict[str, Any]) -> Any:
    if state["unit"] not in _UNITS or state["type"] not in ("M", "m"):
        raise WrongState("its dates have an unknown unit")
    return state["values"].view(f"{state['type']}8[{state['unit']}]")


def _dates_state(array: AnyArray) -> dict[str, Any]:
    unit, step = np.datetime_data(array.dtype)
    if unit not in _UNITS or step != 1 or array.ndim != 1:
        raise CannotSave(f"an array of type {array.dtype} cannot be saved; use days or seconds.")
    return {"values": array.view(np.int64), "unit": unit, "type": array.dtype.kind}


def _objects(values: list[Any]) -> AnyArray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _shaped(array: AnyArray, shape: tuple[int, ...]) -> Any:
    if math.prod(shape) != array.size:
        raise WrongState("its shape does not fit its number of values")
    return array.reshape(shape)


TEXTS = Stored(
    np.ndarray,
    {
        "letters": Numbers("bytes", types="u"),
        "ends": Numbers("n", types="i", low=0),
        "shape": SHAPE,
        "type": TEXT,
    },
    _texts_state,
    _make_texts,
    expands=True,
    name="texts",
)
DATES = Stored(
    np.ndarray,
    {"values": Numbers("n", types="i"), "unit": TEXT, "type": TEXT},
    _dates_state,
    _make_dates,
    name="dates",
)
OBJECTS = Stored(
    np.ndarray,
    {"values": ListOf(OneOf(NONE, A((str, bool, int, float)))), "shape": SHAPE},
    lambda array: {"values": array.ravel().tolist(), "shape": array.shape},
    lambda state: _shaped(_objects(state["values"]), state["shape"]),
    name="values",
)


def row_of_array(array: AnyArray) -> Stored:
    """Return the row for an array that is not one of numbers."""
    if array.dtype.kind in "Mm":
        return DATES
    if array.dtype.kind == "U":
        return TEXTS
    if array.dtype.kind != "O":
        raise CannotSave(f"an array of type {array.dtype} cannot be saved.")
    kinds = {type(value) for value in array.ravel().tolist()}
    if not kinds <= {str, bool, int, float, type(None)}:
        odd = min((kinds - {str, bool, int, float, type(None)}), key=lambda kind: kind.__name__)
        raise CannotSave(f"an array of Python objects ({odd.__name__}) cannot be saved.")
    return TEXTS if kinds == {str} else OBJECTS


# ---- sparse matrices -------------------------------------------------------------------------


def _csr_state(matrix: Sparse) -> dict[str, Any]:
    rows = matrix.tocsr()
    return {"data": rows.data, "indices": rows.indices, "ends": rows.indptr, "shape": rows.shape}


def _csr(cls: type) -> Stored:
    def make(state: dict[str, Any]) -> Any:
        data, indices, ends, shape = (state[name] for name in fields)
        if len(shape) != 2 or len(ends) != shape[0] + 1 or ends[0] != 0:
            raise WrongState("its rows do not fit its shape")
        if (ends[1:] < ends[:-1]).any() or ends[-1] != len(data):
            raise WrongState("the ends of its rows are not in order")
        if indices.size and not indices.max() < shape[1]:
            raise WrongState("it has an entry in a column that is not there")
        return cls((data, indices, ends), shape=shape)

    fields = {
        "data": Numbers("entries", types="fiub"),
        "indices": Numbers("entries", types="i", low=0),
        "ends": Numbers("rows", types="i", low=0),
        "shape": SHAPE,
    }
    return Stored(cls, fields, _csr_state, make)


CSR_MATRIX, CSR_ARRAY = _csr(sparse.csr_matrix), _csr(sparse.csr_array)


# ---- frames ----------------------------------------------------------------------------------


class Frame:
    """The name under which files hold the frames of all libraries."""


def _frame_state(frame: Value) -> dict[str, Any]:
    table = as_narwhals(frame)
    library = table.implementation.name.lower()
    state: dict[str, Any] = {
        "library": library if library in _LIBRARIES else "pandas",
        "names": list(table.columns),
        "columns": [_column(table.get_column(name)) for name in table.columns],
        "index": None,
    }
    if library == "pandas":
        index = frame.index.to_numpy()
        state["index"] = index if index.dtype.kind in "iu" else None
    return state


def _column(column: Value) -> Column:
    """Return a column as an array; what stands for a missing text is None in all libraries."""
    values = column.to_numpy()
    if values.dtype.kind != "O":
        return np.asarray(values)
    if any(isinstance(value, np.ndarray | list) for value in values):
        tokens = any(isinstance(item, str) for value in values for item in value)
        # A column of lists of tokens, or one of series.
        return [np.asarray(value, dtype=object if tokens else np.float64) for value in values]
    if any(isinstance(value, Graph) or is_graph_mapping(value) for value in values):
        return [Graph(**value) if is_graph_mapping(value) else value for value in column.to_list()]
    return _objects([None if value is None or value != value else value for value in values])


def _make_frame(state: dict[str, Any]) -> Any:
    names, columns = state["names"], state["columns"]
    if len(names) != len(columns) or len(set(names)) < len(names):
        raise WrongState("its columns have not one name each")
    lengths = {len(column) for column in columns} | (
        set() if state["index"] is None else {len(state["index"])}
    )
    parts = [part for c in columns for part in (c if isinstance(c, list) else [c])]
    if len(lengths) > 1 or any(part.ndim != 1 for part in parts if isinstance(part, np.ndarray)):
        raise WrongState("its columns differ in length")
    table = dict(zip(names, columns, strict=True))
    # The library that the model was fitted with may not be here; any other will do.
    for library in sorted(_LIBRARIES, key=lambda library: library != state["library"]):
        try:
            return _built(library, table, state["index"])
        except ImportError:
            continue
        except (TypeError, ValueError, OverflowError):
            raise WrongState("its columns hold values of different kinds") from None
    return table


def _built(library: str, table: dict[str, Column], index: AnyArray | None) -> Value:
    module: Any = import_module(library)
    if library == "pandas":
        return module.DataFrame(table, index=index)
    plain = {name: _listed(column) for name, column in table.items()}
    return module.table(plain) if library == "pyarrow" else module.DataFrame(plain)


def _listed(column: Column) -> Any:
    if isinstance(column, list):
        return [part.tolist() if hasattr(part, "tolist") else _fields(part) for part in column]
    return column.tolist() if column.dtype.kind in "OU" else column


def _fields(graph: Graph | None) -> dict[str, Any] | None:
    """Return a graph as a frame holds it: plain lists by name, without what was not given."""
    if graph is None:
        return None
    given = {name: value for name, value in vars(graph).items() if value is not None}
    return {n: v.tolist() if isinstance(v, np.ndarray) else v for n, v in given.items()}


FRAME = Stored(
    Frame,
    {
        "library": TEXT,
        "names": ListOf(A((str, int))),
        "columns": ListOf(
            OneOf(A(np.ndarray), ListOf(A(np.ndarray)), ListOf(OneOf(NONE, A(Graph))))
        ),
        "index": OneOf(NONE, Numbers("n", types="iu")),
    },
    _frame_state,
    _make_frame,
    name="frame",
)


# ---- random numbers --------------------------------------------------------------------------


def _random_state(random: np.random.RandomState) -> dict[str, Any]:
    _, key, at, has_gauss, gauss = random.get_state()
    return {"key": key, "at": at, "has_gauss": has_gauss, "gauss": gauss}


def _make_random(state: dict[str, Any]) -> Any:
    if state["key"].dtype != np.uint32:
        raise WrongState("its key is not made of 32-bit words")
    random = np.random.RandomState(0)
    random.set_state(("MT19937", *(state[name] for name in ("key", "at", "has_gauss", "gauss"))))
    return random


RANDOM = Stored(
    np.random.RandomState,
    {
        "key": Numbers(624, types="u"),
        "at": Number(whole=True, low=0, high=624),
        "has_gauss": Number(whole=True, low=0, high=1),
        "gauss": Number(),
    },
    _random_state,
    _make_random,
)

ROWS = (TEXTS, DATES, OBJECTS, CSR_MATRIX, CSR_ARRAY, FRAME, RANDOM)


def find(value: Value) -> Stored | None:
    """Return the row for data of another library."""
    if isinstance(value, np.ndarray):
        return row_of_array(value)
    if sparse.issparse(value):
        return CSR_MATRIX if isinstance(value, sparse.spmatrix) else CSR_ARRAY
    if isinstance(value, np.random.RandomState):
        return RANDOM
    return FRAME if is_frame(value) and hasattr(value, "shape") else None
