"""What the parts of a stored object may be: kinds, types, shapes and how shapes hang together.

A class says what it consists of by a table of fields, for example ``points`` with a weight each::

    {"points": A(Points, size="n"), "weights": Numbers("n", low=0)}

Names of sizes (``"n"``) stand for one number within an object.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

Sizes = dict[str, int]


class WrongState(Exception):
    """A part of an object is not what its class says it is, or parts do not fit together."""


class Kind:
    """What a field may be."""

    required = True

    def check(self, value: object, sizes: Sizes) -> None:
        """Raise :class:`WrongState` where ``value`` is something else."""


@dataclass(frozen=True)
class Plain(Kind):
    """Any plain data; the class looks at it itself."""


@dataclass(frozen=True, init=False)
class Numbers(Kind):
    """An array of numbers with a given shape."""

    shape: tuple[int | str, ...]
    types: str = "f"
    finite: bool = True
    low: float | None = None
    below: str | None = None
    any_order: bool = False

    def __init__(
        self,
        *shape: int | str,
        types: str = "f",
        finite: bool = True,
        low: float | None = None,
        below: str | None = None,
        any_order: bool = False,
    ) -> None:
        values = locals()
        for name in ("shape", "types", "finite", "low", "below", "any_order"):
            object.__setattr__(self, name, values[name])

    def check(self, value: object, sizes: Sizes) -> None:
        if not isinstance(value, np.ndarray) or value.dtype.kind not in self.types:
            raise WrongState("is not an array of the type it should have")
        if value.ndim != len(self.shape):
            raise WrongState(f"has {value.ndim} dimensions, not {len(self.shape)}")
        for size, wanted in zip(value.shape, self.shape, strict=True):
            match_size(size, wanted, sizes)
        if not (self.any_order or value.flags.c_contiguous):
            raise WrongState("lies in memory in an order that it cannot have")
        if not value.size:
            return
        if self.finite and value.dtype.kind == "f" and not np.isfinite(value).all():
            raise WrongState("holds NaN or infinity")
        if self.low is not None and not value.min() >= self.low:
            raise WrongState(f"holds a number below {self.low}")
        if self.below is not None and not value.max() < sizes[self.below]:
            raise WrongState(f"holds a number that is not below {sizes[self.below]:,}")


@dataclass(frozen=True)
class Number(Kind):
    """One number."""

    whole: bool = False
    low: float = -math.inf
    high: float = math.inf
    finite: bool = True

    def check(self, value: object, sizes: Sizes) -> None:
        types = (int, np.integer) if self.whole else (int, float, np.integer, np.floating)
        if not isinstance(value, types) or isinstance(value, bool):
            raise WrongState("is not a number of the type it should have")
        # Bounds come first: of a whole number beyond all floats nothing else can be asked.
        if not self.low <= value <= self.high and not (math.isnan(value) and not self.finite):
            raise WrongState("is a number out of its bounds")
        if self.finite and not self.whole and not math.isfinite(value):
            raise WrongState("is not a finite number")


@dataclass(frozen=True)
class A(Kind):
    """An object of a class, perhaps with a given number of items."""

    cls: Any
    size: str | None = None

    def check(self, value: object, sizes: Sizes) -> None:
        if not isinstance(value, self.cls):
            raise WrongState(f"is of the class {type(value).__name__}, which it cannot be")
        if self.size is not None:
            match_size(len(value), self.size, sizes)


@dataclass(frozen=True)
class ListOf(Kind):
    """A list whose items are all of one kind."""

    item: Kind
    cls: type[list[Any]] | type[tuple[Any, ...]] = list

    def check(self, value: object, sizes: Sizes) -> None:
        if type(value) is not self.cls:
            raise WrongState(f"is not a {self.cls.__name__}")
        items: Iterable[object] = value
        for item in items:
            self.item.check(item, sizes)


@dataclass(frozen=True, init=False)
class OneOf(Kind):
    """One of several kinds."""

    kinds: tuple[Kind, ...] = field(default=())

    def __init__(self, *kinds: Kind) -> None:
        object.__setattr__(self, "kinds", kinds)

    def check(self, value: object, sizes: Sizes) -> None:
        for kind in self.kinds[:-1]:
            tried = dict(sizes)
            try:
                kind.check(value, tried)
            except WrongState:
                continue
            sizes.update(tried)
            return
        self.kinds[-1].check(value, sizes)


@dataclass(frozen=True)
class Maybe(Kind):
    """A field that need not be there."""

    kind: Kind
    required = False

    def check(self, value: object, sizes: Sizes) -> None:
        self.kind.check(value, sizes)


State: TypeAlias = Mapping[str, Kind]
"""What an object consists of. A class that can be stored has such a table, ``STATE``, and where
its parts have to fit together a method ``check_state`` that raises :class:`WrongState`."""

FLAG = A((bool, np.bool_))
TEXT = A(str)
NONE = A(type(None))
LABELS = A(np.ndarray, size="classes")
CSR = A((sparse.csr_matrix, sparse.csr_array))
COUNT = Number(whole=True, low=0, high=1 << 62)
"""No file has more parts than this; it is far from where 64-bit integers overflow."""


def match_size(size: int, wanted: int | str, sizes: Sizes) -> None:
    """Give a size its name, or check that it is what the name stands for."""
    expected = wanted if isinstance(wanted, int) else sizes.setdefault(wanted, size)
    if size != expected:
        raise WrongState(f"has the size {size:,} where others have {expected:,}")


def check_fields(state: Mapping[str, Any], fields: Mapping[str, Kind]) -> Sizes:
    """Raise :class:`WrongState` unless a state has what the fields ask for; return the sizes."""
    sizes: Sizes = {}
    for name, kind in fields.items():
        if name not in state:
            if kind.required:
                raise WrongState(f"{name} is missing")
            continue
        try:
            kind.check(state[name], sizes)
        except WrongState as error:
            raise WrongState(f"{name} {error}") from None
    return sizes
