"""Hypothesis strategies: tables of data, kernels on them, and composites of those kernels.

The values are moderate on purpose (multiples of 0.001 between −3 and 3):
what is tested is the algebra, not the range of floating-point numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from mercer.kernels.base import Kernel
from mercer.kernels.definite import Definite
from mercer.kernels.registry import ROWS
from mercer.kernels.strings.words import BagOfWords
from mercer.kernels.trees.subtrees import SubsetTree, Subtree
from mercer.kernels.vectors.categorical import Delta, Overlap
from mercer.kernels.vectors.constant import Constant
from mercer.kernels.vectors.dot import Cosine, Linear, Polynomial, Sigmoid
from mercer.kernels.vectors.explicit import GaussianBasis, Monomials
from mercer.kernels.vectors.histogram import AdditiveChi2, Chi2, Intersection
from mercer.kernels.vectors.matern import (
    Matern,
    Periodic,
    RationalQuadratic,
)
from mercer.kernels.vectors.radial import (
    RBF,
    Laplacian,
    NegativeDistance,
)

Table = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Case:
    """A kernel and data that it takes."""

    kernel: Kernel
    X: Any
    Y: Any


# ---- data --------------------------------------------------------------------------------------


def tables(
    rows: tuple[int, int] = (1, 7),
    columns: tuple[int, int] | int = (1, 4),
    *,
    nonnegative: bool = False,
) -> st.SearchStrategy[Table]:
    """Return arrays of numbers, often with equal rows, rows of zeros and constant columns."""
    low, high = (columns, columns) if isinstance(columns, int) else columns
    return st.integers(low, high).flatmap(lambda d: _tables(rows, d, nonnegative))


@st.composite
def _tables(draw: st.DrawFn, rows: tuple[int, int], d: int, nonnegative: bool) -> Table:
    n = draw(st.integers(*rows))
    thousandths = st.integers(0 if nonnegative else -3000, 3000)
    values = draw(st.lists(thousandths, min_size=n * d, max_size=n * d))
    table = np.array(values, dtype=np.float64).reshape(n, d) / 1000
    for defect in draw(st.lists(st.sampled_from(["equal", "zero", "constant"]), max_size=2)):
        row, column = draw(st.integers(0, n - 1)), draw(st.integers(0, d - 1))
        if defect == "equal":
            table[row] = table[0]
        elif defect == "zero":
            table[row] = 0.0
        else:
            table[:, column] = table[0, column]
    return table


@st.composite
def frames(draw: st.DrawFn, rows: tuple[int, int] = (2, 6)) -> Any:
    """Return pandas and polars frames with the columns age, bmi (numbers), city, smoker."""
    numbers_ = draw(tables(rows, 2))
    n = len(numbers_)
    cities = draw(
        st.lists(st.sampled_from(["Rome", "Oslo", "1", "São Paulo"]), min_size=n, max_size=n)
    )
    smokers = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    columns = {
        "age": numbers_[:, 0],
        "bmi": numbers_[:, 1],
        "city": cities,
        "smoker": np.array(smokers),
    }
    if draw(st.booleans()):
        import polars

        return polars.DataFrame(columns)
    import pandas

    return pandas.DataFrame(columns)


def texts(rows: tuple[int, int] = (1, 6)) -> st.SearchStrategy[list[str]]:
    """Return lists of short texts that share words, some empty, some in capitals."""
    words = st.sampled_from(["cat", "Cat", "cart", "bar", "the", "é", "1", ",", ""])
    text = st.lists(words, max_size=6).map(" ".join)
    return st.lists(text, min_size=rows[0], max_size=rows[1])


# ---- leaves ------------------------------------------------------------------------------------


def registry_examples(domain: str | None = None) -> st.SearchStrategy[Kernel]:
    """Return one of the examples of the registry, of one domain or of all."""
    return st.sampled_from(
        [kernel for row in ROWS if domain in (None, row.domain) for kernel in row.examples]
    )


def widths(columns: int | None = None) -> st.SearchStrategy[dict[str, Any]]:
    """Return one bandwidth as keyword arguments: any of its names, a heuristic, or a vector."""
    positive = st.floats(0.2, 3.0).map(lambda value: round(value, 3))
    choices: list[st.SearchStrategy[dict[str, Any]]] = [
        st.fixed_dictionaries({"gamma": positive}),
        st.fixed_dictionaries({"sigma": positive}),
        st.fixed_dictionaries({"length_scale": positive}),
    ]
    if columns is not None:
        vector = st.lists(positive, min_size=columns, max_size=columns)
        choices.append(st.fixed_dictionaries({"length_scale": vector}))
    return st.one_of(choices)


def bounded_kernels(columns: int) -> st.SearchStrategy[Kernel]:
    """Return kernels with values between 0 and 1 whose every power is positive semi-definite."""
    width = widths(columns)
    return st.one_of(
        width.map(lambda w: RBF(**w)),
        width.map(lambda w: Laplacian(**w)),
        st.builds(lambda nu, w: Matern(nu=nu, **w), st.sampled_from([0.5, 0.9, 1.5, 2.5]), width),
        st.builds(lambda alpha, w: RationalQuadratic(alpha=alpha, **w), st.floats(0.3, 3.0), width),
        st.builds(Periodic, st.floats(0.5, 4.0), st.floats(0.5, 2.0)),
    )


def vector_kernels(columns: int, *, positive: bool = False) -> st.SearchStrategy[Kernel]:
    """Return kernels of vectors; ``positive`` leaves out all but positive semi-definite ones."""
    centres = st.lists(
        st.lists(st.sampled_from([-1.0, 0.0, 0.5]), min_size=columns, max_size=columns),
        min_size=1,
        max_size=3,
    )
    choices: list[st.SearchStrategy[Kernel]] = [
        bounded_kernels(columns),
        st.just(Linear()),
        st.just(Cosine()),
        st.builds(Constant, st.floats(0.0, 3.0)),
        st.builds(Polynomial, st.integers(1, 3), st.floats(0.1, 1.0), st.floats(0.0, 2.0)),
        st.builds(Monomials, st.integers(1, 3)),
        st.builds(GaussianBasis, centres, st.floats(0.5, 2.0)),
    ]
    if not positive:
        choices.append(st.builds(Sigmoid, st.floats(0.1, 1.0), st.floats(-1.0, 1.0)))
        choices.append(st.builds(NegativeDistance, st.floats(0.5, 2.0)))
    return st.one_of(choices)


def histogram_kernels(*, positive: bool = False) -> st.SearchStrategy[Kernel]:
    """Return kernels of vectors without negative entries."""
    choices: list[st.SearchStrategy[Kernel]] = [
        st.just(Intersection()),
        st.builds(Chi2, st.floats(0.2, 2.0)),
    ]
    return st.one_of(choices if positive else [*choices, st.just(AdditiveChi2())])


def string_kernels() -> st.SearchStrategy[Kernel]:
    """Return kernels of strings."""
    return st.builds(
        BagOfWords,
        st.sampled_from(["count", "frequency", "binary"]),
        pattern=st.sampled_from([r"\w+", "[a-z]", r"\S+", "(c)(a)"]),
        lowercase=st.booleans(),
    )


def tree_lists(rows: tuple[int, int] = (1, 6)) -> st.SearchStrategy[list[Any]]:
    """Return lists of small trees: nested tuples over two labels, some of one node."""
    label = st.sampled_from(["a", "b"])
    tree = st.recursive(
        label,
        lambda inner: st.builds(
            lambda name, children: (name, *children), label, st.lists(inner, max_size=3)
        ),
        max_leaves=6,
    )
    return st.lists(tree, min_size=rows[0], max_size=rows[1])


def tree_kernels() -> st.SearchStrategy[Kernel]:
    """Return kernels of trees."""
    decay = st.sampled_from([0.1, 0.5, 1.0])
    return st.one_of(
        st.builds(Subtree, decay, leaves=st.booleans(), ordered=st.booleans()),
        st.builds(SubsetTree, decay, leaves=st.booleans()),
    )


# ---- composites --------------------------------------------------------------------------------


def combined(
    inner: st.SearchStrategy[Kernel], bounded: st.SearchStrategy[Kernel]
) -> st.SearchStrategy[Kernel]:
    """Return kernels made of one or two others by every operation there is."""
    factor = st.floats(0.0, 3.0)
    coefficients = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=4)
    return st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a * b, inner, inner),
        st.builds(lambda c, a: c * a, factor, inner),
        st.builds(lambda a, p: a**p, inner, st.integers(0, 2)),
        st.builds(lambda a, p: a**p, bounded, st.floats(0.25, 2.5)),
        st.builds(lambda a: a.exp(), bounded),
        st.builds(lambda a, c: a.power_series(c), inner, coefficients),
        st.builds(lambda a: a.normalized(), inner.filter(_can_be_normalised)),
    )


def _can_be_normalised(kernel: Kernel) -> bool:
    return kernel.definite is Definite.POSITIVE


def composites(columns: int, *, positive: bool = False) -> st.SearchStrategy[Kernel]:
    """Return composites two levels deep of kernels of vectors, some on a few columns only."""
    bounded = bounded_kernels(columns)
    leaves = vector_kernels(columns, positive=positive)
    on_columns = st.lists(
        st.integers(0, columns - 1), min_size=1, max_size=columns, unique=True
    ).flatmap(
        lambda chosen: vector_kernels(len(chosen), positive=positive).map(lambda k: k.on(chosen))
    )
    parts = st.one_of(leaves, on_columns)
    return combined(st.one_of(parts, combined(parts, bounded)), bounded)


def cases(
    rows: tuple[int, int] = (1, 6), columns: tuple[int, int] = (1, 3), *, positive: bool = False
) -> st.SearchStrategy[Case]:
    """Return composites of kernels together with two tables that they take."""
    return st.integers(*columns).flatmap(
        lambda d: st.builds(
            Case, composites(d, positive=positive), tables(rows, d), tables(rows, d)
        )
    )


def table_kernels(
    names: Sequence[Any] = ("age", "bmi", "city", "smoker"),
) -> st.SearchStrategy[Kernel]:
    """Return kernels on frames: two columns of numbers and two of categories, mixed."""
    first, second, third, fourth = names
    numbers_ = st.one_of(
        vector_kernels(2, positive=True).map(lambda k: k.on(first, second)),
        vector_kernels(1, positive=True).map(lambda k: k.on(second)),
    )
    categories = st.sampled_from(
        [
            Delta().on(third),
            Delta().on(fourth),
            Overlap().on(third, fourth),
            Delta().on(third, fourth),
        ]
    )
    either = st.one_of(numbers_, categories)
    mixed = st.one_of(
        st.builds(lambda a, b: a * b, numbers_, categories),
        st.builds(lambda a, b: a + b, numbers_, categories),
    )
    return st.one_of(
        mixed,
        st.builds(lambda a, b: a * b, mixed, either),
        st.builds(lambda a, b: a + b, either, mixed),
        st.builds(lambda a: a.normalized(), mixed),
        st.builds(lambda a, p: a**p, mixed, st.integers(1, 2)),
    )


def table_cases() -> st.SearchStrategy[Case]:
    """Return kernels with two frames, perhaps of different libraries."""
    return st.builds(Case, table_kernels(), frames(), frames())
