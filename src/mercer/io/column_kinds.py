"""What the columns of a table hold, and a kernel that suits them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Literal, get_args

import numpy as np
from scipy import sparse

from mercer._typing import Column as Cells, Frame, Label, Matrix, Objects
from mercer.exceptions import InvalidInput, InvalidParameter, MissingDependency, shown
from mercer.io.derived_columns import are_compact_dates, are_dates
from mercer.kernels.base import Kernel
from mercer.kernels.encoders import as_narwhals, is_frame, is_missing, row_count
from mercer.kernels.graphs.refinement import WeisfeilerLehman
from mercer.kernels.series.alignment import GlobalAlignment
from mercer.kernels.strings.kmers import Spectrum
from mercer.kernels.strings.words import BagOfWords
from mercer.kernels.vectors.categorical import Delta, Overlap
from mercer.kernels.vectors.dot import Linear
from mercer.kernels.vectors.radial import HEURISTICS, RBF

Kind = Literal[
    "number",
    "category",
    "text",
    "phrase",
    "sequence",
    "series",
    "graph",
    "molecule",
    "identifier",
    "constant",
    "empty",
    "date",
    "other",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
USED: tuple[Kind, ...] = (
    *("number", "category", "text", "phrase", "sequence", "series", "graph", "molecule"),
)

SAID = "said so"
"""Why a column is of a kind that the user chose."""

_SEQUENCE = re.compile(r"[A-Z*-]+\Z|[a-z]{30,}\Z")
_ATOM = r"\[[^\[\]\s]+\]|Br|Cl|[BCNOPSFIbcnops*]"
_SMILES = re.compile(rf"({_ATOM})({_ATOM}|[-=#$:/\\.+()~]|\d|%\d\d)*\Z")
_BONDED = re.compile(r"[(=#\[]|c\d")
_KEY = re.compile(r"(?i)(.*[_ .-])?(id|index|uuid|guid|row|key|nr)\Z|.*[a-z]I[dD]\Z|unnamed: 0\Z")
_MEASURED = re.compile(r"[+-]?\d+([.,]\d+)?\s?([A-Za-zµ°²³/]{1,6}|[\"'])\Z")
_NEARLY_ALL = 0.9
"""From this share on, texts are of a kind: a few were written otherwise by mistake."""
_SAMPLE = 2000
"""About how many rows of a column are looked at."""


@dataclass(frozen=True)
class Column:
    """A column of a table: what it holds, and how that was found."""

    name: Any
    kind: Kind
    reason: str

    @property
    def used(self) -> bool:
        """Whether a kernel can be put on the column; others are set aside."""
        return self.kind in USED


@dataclass(frozen=True)
class Proposal:
    """A kernel for a table, with the reasons for it in plain words.

    Attributes
    ----------
    kernel : Kernel
        Its widths are heuristics, settled on training data.
    reasons : tuple of str
        One sentence for each group of columns, and for those that were set aside.
    tunable : tuple of str
        The parameters that a search should try, named as in an estimator (``kernel__gamma``).
    weights : tuple of str
        The weights of the parts, likewise; equal ones are a fair start.

    Examples
    --------
    >>> from mercer import auto_kernel, load_data
    >>> proposal = auto_kernel(load_data("diabetes").X)
    >>> proposal.kernel, proposal.tunable
    (RBF(gamma='median'), ('kernel__gamma',))
    """

    kernel: Kernel
    reasons: tuple[str, ...]
    tunable: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()

    @classmethod
    def of(cls, kernel: Kernel, reasons: Iterable[str]) -> Proposal:
        """Find what is tunable in a kernel."""
        params = kernel.get_params()
        heuristic = [n for n, v in params.items() if isinstance(v, str) and v in HEURISTICS]
        factors = [name for name in params if name.split("__")[-1] == "factor"]
        names = ([f"kernel__{name}" for name in found] for found in (heuristic, factors))
        tunable, weights = (tuple(found) for found in names)
        return cls(kernel, tuple(reasons), tunable, weights)


def auto_kernel(frame: Frame, *, kinds: Mapping[Any, str] | None = None) -> Proposal:
    """Propose a kernel for the columns of a table, and say why.

    Numbers get a Gaussian kernel, categories the share of equal ones, texts the cosine of their
    words. Each group of columns has k(x, x) = 1 and the same weight. Columns from which nothing can
    be learnt (constant, identifiers, empty) are set aside.

    Parameters
    ----------
    frame : data frame, array, sparse matrix, or list
        A pandas, polars or pyarrow table; an array of numbers or objects; a list of texts.
    kinds : dict, optional
        What columns hold, by name or position, where you know better: ``{"zip": "category"}``.

    Examples
    --------
    >>> from mercer import auto_kernel, format_kernel, read_table
    >>> table = read_table("penguins").frame.select(["body_mass_g", "island", "sex"])
    >>> format_kernel(auto_kernel(table).kernel)
    '0.5 * rbf(body_mass_g, gamma="median") + 0.5 * overlap(island, sex)'
    """
    if row_count(frame) == 0:
        raise InvalidInput("auto_kernel: the table has no rows; at least one is needed.")
    if sparse.issparse(frame):
        return _for_sparse(frame)
    if not is_frame(frame) and _is_numeric(frame):
        text = f"{np.shape(frame)[-1]} columns of numbers: a Gaussian kernel on their distances."
        return Proposal.of(RBF("median"), [text])
    columns = describe_columns(frame, kinds)
    groups: dict[Kind, list[Any]] = {}
    for column in columns:
        groups.setdefault(column.kind, []).append(column.name)
    parts = [part(groups[kind]) for kind, part in _PARTS.items() if kind in groups]
    reasons = [text for _, text in parts]
    aside = [c for c in columns if c.kind not in _PARTS]
    reasons += [f"{listed_columns([c.name])} is set aside: {c.reason}." for c in aside]
    if not parts:
        raise InvalidInput(
            "auto_kernel: no column is left to learn from. " + " ".join(reasons)
            if reasons
            else "auto_kernel: the table has no columns."
        )
    if len(parts) > 1:
        reasons.append(f"Each of these {len(parts)} groups has the same weight.")
    weighted = [_weighted(kernels, len(parts)) for kernels, _ in parts]
    total: Kernel = reduce(lambda a, b: a + b, [k for group in weighted for k in group])
    if not is_frame(frame) and np.ndim(np.asarray(frame, dtype=object)) == 1:
        total = _without_column(total)
    return Proposal.of(total, reasons)


def describe_columns(frame: Frame, kinds: Mapping[Any, Any] | None = None) -> tuple[Column, ...]:
    """Say what each column of a frame (or of an array of objects) holds."""
    named = dict(_named_columns(frame))
    positions = dict(enumerate(named))
    given = (kinds or {}).items()
    chosen = {key if key in named else positions.get(key, key): kind for key, kind in given}
    for name, kind in chosen.items():
        if name not in named:
            known = ", ".join(map(shown, list(named)[:8]))
            raise InvalidParameter(f"kinds: there is no column {shown(name)}. There are {known}.")
        if kind not in KINDS:
            raise InvalidParameter(
                f"kinds: {kind!r} for column {shown(name)} is none of {', '.join(KINDS)}."
            )
    return tuple(
        Column(name, chosen[name], SAID)
        if name in chosen
        else Column(name, *column_kind(name, column))
        for name, column in named.items()
    )


def column_kind(name: Label, column: Cells) -> tuple[Kind, str]:
    """Say what one column holds, a narwhals series, and why."""
    dtype = str(column.dtype)
    if re.fullmatch(r"(List|Array)\((Float|U?Int)\d+.*\)", dtype):
        return "series", "it holds lists of numbers"
    if dtype.startswith("Struct") and "edges" in {field.name for field in column.dtype.fields}:
        return "graph", "it holds graphs"
    if column.dtype.is_nested() or dtype.startswith(("Binary", "Object")):
        return "other", f"it holds {dtype.lower()} values, for which there is no kernel here"
    count = len(column) - int(column.null_count())
    if count == 0:
        return "empty", "it holds no value"
    if column.dtype.is_temporal():
        return "date", "it holds dates or times; turn them into numbers to use them"
    distinct = int(column.n_unique()) - (count < len(column))
    if distinct == 1 and len(column) > 1 and count == len(column):
        return "constant", "all its values are the same"
    if column.dtype.is_numeric():
        return _number_kind(name, column, count, distinct)
    if dtype == "Boolean" or dtype.startswith(("Categorical", "Enum")):
        return "category", f"{distinct} categories"
    return _text_kind(column.drop_nulls(), count, distinct)


def _number_kind(name: Label, column: Cells, count: int, distinct: int) -> tuple[Kind, str]:
    if column.dtype.is_integer() and count == len(column) and distinct == count and count >= 10:
        steps = column.diff().drop_nulls()
        if bool((steps == 1).all()) and column[0] in (0, 1):
            return "identifier", "it numbers the rows"
        if _KEY.match(str(name)):
            return "identifier", "its name and its values, all different, look like a key"
    if column.dtype.is_integer():
        known = column.drop_nulls()
        if are_compact_dates(known.to_list()[:: max(1, count // _SAMPLE)]):
            return "date", "it holds dates; turn them into numbers to use them"
    return "number", "numbers"


def _text_kind(column: Cells, count: int, distinct: int) -> tuple[Kind, str]:
    step = max(1, count // _SAMPLE)
    sample = [str(value) for value in column.to_list()[::step]]
    words = sum(len(value.split()) for value in sample) / len(sample)
    length = sum(map(len, sample)) / len(sample)
    varied = distinct > count / 2
    if are_dates(sample):
        return "date", "it holds dates or times; turn them into numbers to use them"
    long = sum(len(value) >= 8 for value in sample) >= 0.95 * len(sample)
    if varied and length >= 15 and long and all(_SEQUENCE.match(value) for value in sample):
        return "sequence", f"sequences of {length:.0f} letters on average"
    if varied and _are_smiles(sample):
        return "molecule", "molecules, written as SMILES"
    if words >= 6:
        return "text", f"texts of {words:.0f} words on average"
    if varied and words >= 2 and count >= 10:
        return "phrase", f"short texts of {words:.0f} words on average"
    if distinct > 0.9 * count and count >= 10:
        return "identifier", f"{distinct} of its {count} values are different, as in a key"
    return "category", f"{distinct} categories"


def measured_columns(frame: Frame, columns: Sequence[Column]) -> list[str]:
    """Name columns of numbers with units, which are compared as texts or not at all."""
    notes, wrapped = [], as_narwhals(frame)
    for column in columns:
        if column.kind not in ("category", "phrase", "identifier"):
            continue
        cells = wrapped.get_column(column.name)
        if str(cells.dtype) == "String":
            found = first_measured(cells.head(_SAMPLE).drop_nulls().to_list())
            if found:
                notes.append(
                    f"{column.name} holds numbers with a unit, such as {found!r}; write the "
                    "numbers alone to learn from their size."
                )
    return notes


def first_measured(texts: Sequence[str]) -> str | None:
    """Return the first text that is a number with a unit, if nearly all texts are."""
    found = [text for text in texts if _MEASURED.match(text)]
    return found[0] if found and len(found) >= _NEARLY_ALL * len(texts) else None


def _are_smiles(sample: list[str]) -> bool:
    """Tell molecules from codes such as C10: all are made of atoms, and most show a bond."""
    if not all(_SMILES.match(value) for value in sample):
        return False
    return sum(bool(_BONDED.search(value)) for value in sample) > len(sample) / 2


# ---- kernels of groups -------------------------------------------------------------------------


_Comparison = Callable[[Sequence[Any]], tuple[list[Kernel], str]]
"""From the names of columns to their kernels, and why."""


def _numbers(names: Sequence[Any]) -> tuple[list[Kernel], str]:
    text = f"{listed_columns(names)}: numbers, so a Gaussian kernel on their distances"
    return [RBF("median").on(*names)], f"{text} (width to be tuned)."


def _categories(names: Sequence[Any]) -> tuple[list[Kernel], str]:
    if len(names) == 1:
        return [Delta().on(*names)], f"{listed_columns(names)}: categories, which are equal or not."
    return [
        Overlap().on(*names)
    ], f"{listed_columns(names)}: categories, so the share that is equal."


def _series(names: Sequence[Any]) -> tuple[list[Kernel], str]:
    what = "a series" if len(names) == 1 else f"{len(names)} channels of a series"
    text = f"{listed_columns(names)}: {what}, compared over all alignments in time."
    return [GlobalAlignment().on(*names)], text


def _one_each(kernel: Callable[[], Kernel], words: str) -> _Comparison:
    """Return how columns are compared that have a kernel each."""

    def part(names: Sequence[Any]) -> tuple[list[Kernel], str]:
        return [
            kernel().normalized().on(name) for name in names
        ], f"{listed_columns(names)}: {words}"

    return part


_PARTS: dict[Kind, _Comparison] = {
    "number": _numbers,
    "category": _categories,
    "text": _one_each(BagOfWords, "text, so the cosine of the words in it."),
    "phrase": _one_each(
        lambda: Spectrum(3), "short texts, so the cosine of their pieces of 3 letters."
    ),
    "series": _series,
    "sequence": _one_each(
        lambda: Spectrum(4), "sequences, so the cosine of their pieces of 4 letters."
    ),
    "graph": _one_each(
        lambda: WeisfeilerLehman(3),
        "graphs, so the cosine of the neighbourhoods in them, up to 3 steps wide.",
    ),
    "molecule": _one_each(
        lambda: WeisfeilerLehman(3),
        "molecules, so the cosine of the groups of atoms in them, up to 3 bonds wide.",
    ),
}
"""How each kind of column is compared; a kind without an entry is set aside."""


def _weighted(kernels: list[Kernel], groups: int) -> list[Kernel]:
    weight = round(1 / (groups * len(kernels)), 3)
    return kernels if weight == 1 else [weight * kernel for kernel in kernels]


def _without_column(kernel: Kernel) -> Kernel:
    """Take ``on`` away from the kernel of a list, which has no columns."""
    inner: Kernel = kernel.get_params(deep=False)["kernel"]
    return inner


def _for_sparse(matrix: Matrix) -> Proposal:
    n, d = matrix.shape
    if d > n:
        text = f"{d} sparse columns for {n} rows: a linear kernel, as there are more than enough."
        return Proposal.of(Linear(), [text])
    text = f"{d} sparse columns of numbers: a Gaussian kernel on their distances."
    return Proposal.of(RBF("median"), [text])


def listed_columns(names: Sequence[Any]) -> str:
    """Name columns, the first five of many."""
    shown = ", ".join(str(name) for name in names[:5])
    return f"{shown} and {len(names) - 5} more" if len(names) > 5 else shown


# ---- columns -----------------------------------------------------------------------------------


def _is_numeric(X: Objects) -> bool:
    try:
        array = np.asarray(X)
    except ValueError:
        return False
    return array.dtype.kind in "fiub" and array.ndim == 2


def _named_columns(frame: Frame) -> Iterable[tuple[Any, Any]]:
    if is_frame(frame):
        wrapped = as_narwhals(frame)
        return [(name, wrapped.get_column(name)) for name in wrapped.columns]
    import narwhals.stable.v2 as nw

    series = frame.to_list() if hasattr(frame, "to_list") else frame
    series = frame.to_pylist() if hasattr(frame, "to_pylist") else series
    table = np.asarray(series, dtype=object)
    if table.ndim not in (1, 2):
        raise InvalidInput(f"auto_kernel: expected a table, got an array of shape {table.shape}.")
    if table.ndim == 1 and any(isinstance(row, list | tuple | np.ndarray) for row in table):
        raise InvalidInput("auto_kernel: the rows have different lengths; make them equal.")
    backend = _backend()
    columns = table[:, None].T if table.ndim == 1 else table.T
    return [
        (j, nw.new_series(str(j), _plain(column), backend=backend))
        for j, column in enumerate(columns)
    ]


def _backend() -> Literal["pyarrow", "polars", "pandas"]:
    """Return a data frame library that is there; any will do."""
    from importlib.util import find_spec

    libraries: tuple[Literal["pyarrow", "polars", "pandas"], ...] = ("pyarrow", "polars", "pandas")
    for name in libraries:
        if find_spec(name):
            return name
    raise MissingDependency(
        "auto_kernel: arrays of objects need pyarrow, polars or pandas. Install one of them, for "
        "example with pip install 'mercer[cli]'."
    )


def _plain(column: Cells) -> list[Any]:
    """Return the values of an array of objects as ones of one type."""
    values = [None if is_missing(value) else value for value in column]
    known = [value for value in values if value is not None]
    if all(isinstance(value, bool | np.bool_) for value in known):
        return values
    if all(isinstance(value, int | float | np.number) for value in known):
        whole = all(float(value).is_integer() for value in known)
        return [None if v is None else int(v) if whole else float(v) for v in values]
    return [None if value is None else str(value) for value in values]
