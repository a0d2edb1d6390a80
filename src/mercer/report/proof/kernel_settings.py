"""Kernels as plain settings that a verifier with formulas of its own can read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.kernels.algebra import Product, Scaled, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.points import Points
from mercer.kernels.vectors.categorical import Delta, Overlap
from mercer.kernels.vectors.constant import Constant, White
from mercer.kernels.vectors.dot import Linear, Polynomial
from mercer.kernels.vectors.matern import Matern, RationalQuadratic
from mercer.kernels.vectors.radial import RBF, Laplacian
from mercer.kernels.wrappers import On

MOST_NUMBERS = 50_000_000
"""Numbers of the rows that a page may hold (400 MB before they are compressed)."""

Settings = dict[str, Any]
AddSample = Callable[[Array], int]


class NotOnVectors(Exception):
    """The kernel is none that a verifier knows: its Gram matrix has to do."""


def settings(kernel: Kernel, points: Points, add: AddSample) -> Settings:
    """Return a kernel as a tree of names, numbers and samples; ``add`` numbers a sample.

    Raises :class:`NotOnVectors` for kernels of strings, graphs and series, for those that are not
    known to be positive definite, and for rows that are too many numbers.
    """
    write = _WRITERS.get(type(kernel))
    if write is None:
        raise NotOnVectors
    found: Settings = write(kernel, points, add)
    return found


def _pair(name: str) -> Callable[..., Settings]:
    def write(kernel: Any, points: Points, add: AddSample) -> Settings:
        parts = [settings(part, points, add) for part in (kernel.left, kernel.right)]
        return {"name": name, "parts": parts}

    return write


def _scaled(kernel: Scaled, points: Points, add: AddSample) -> Settings:
    part = settings(kernel.kernel, points, add)
    return {"name": "scaled", "factor": float(kernel.factor), "part": part}


def _on(kernel: On, points: Points, add: AddSample) -> Settings:
    if kernel.missing != "error":
        raise NotOnVectors
    return settings(kernel.kernel, points.within(tuple(kernel.columns)), add)


def _radial(name: str, *numbers: str) -> Callable[..., Settings]:
    def write(kernel: Any, points: Points, add: AddSample) -> Settings:
        own: Settings = {number: float(getattr(kernel, number)) for number in numbers}
        if kernel.scales is not None:
            own["scales"] = [float(scale) for scale in kernel.scales]
        return {"name": name, "sample": _vectors(kernel, points, add), "rate": kernel.rate, **own}

    return write


def _matern(kernel: Matern, points: Points, add: AddSample) -> Settings:
    if kernel.nu == np.inf:
        return _radial("rbf")(kernel, points, add)
    if kernel.nu not in (0.5, 1.5, 2.5):  # others are no formula without Bessel functions
        raise NotOnVectors
    return _radial("matern", "nu")(kernel, points, add)


def _dot(name: str, *numbers: str) -> Callable[..., Settings]:
    def write(kernel: Any, points: Points, add: AddSample) -> Settings:
        own = {number: float(getattr(kernel, number)) for number in numbers}
        return {"name": name, "sample": _vectors(kernel, points, add), **own}

    return write


def _polynomial(kernel: Polynomial, points: Points, add: AddSample) -> Settings:
    if not float(kernel.degree).is_integer() or float(kernel.gamma) < 0 or kernel.coef0 < 0:
        raise NotOnVectors
    return _dot("polynomial", "degree", "gamma", "coef0")(kernel, points, add)


def _categories(name: str) -> Callable[..., Settings]:
    def write(kernel: Any, points: Points, add: AddSample) -> Settings:
        codes = points[kernel.encoder].codes  # type: ignore[attr-defined]
        places = [np.unique(column, return_inverse=True)[1] for column in codes.T]
        return {"name": name, "sample": add(np.stack(places, axis=1).astype(np.float64))}

    return write


def _constant(kernel: Constant, points: Points, add: AddSample) -> Settings:
    return {"name": "constant", "value": float(kernel.value)}


def _white(kernel: White, points: Points, add: AddSample) -> Settings:
    return {"name": "white", "noise": float(kernel.noise)}


def _vectors(kernel: Any, points: Points, add: AddSample) -> int:
    leaf: Any = points[kernel.encoder]
    if len(leaf) * leaf.dimension > MOST_NUMBERS:
        raise NotOnVectors
    return add(np.asarray(leaf.dense(), dtype=np.float64))


_WRITERS: dict[type, Callable[..., Settings]] = {
    Sum: _pair("sum"),
    Product: _pair("product"),
    Scaled: _scaled,
    On: _on,
    RBF: _radial("rbf"),
    Laplacian: _radial("laplacian"),
    Matern: _matern,
    RationalQuadratic: _radial("rational_quadratic", "alpha"),
    Linear: _dot("linear"),
    Polynomial: _polynomial,
    Overlap: _categories("overlap"),
    Delta: _categories("delta"),
    Constant: _constant,
    White: _white,
}
"""How each kernel that a verifier knows is written; all are positive definite."""
