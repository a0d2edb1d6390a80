"""A kernel from a feature map of the user's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from scipy import sparse

from mercer._typing import Array
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.kernels.encoders import ObjectEncoder
from mercer.kernels.features import Features
from mercer.kernels.points import Objects, Points, Vectors
from mercer.kernels.statistics import products
from mercer.kernels.vectors.explicit import Mapped


class MapKernel(Mapped):
    """The kernel of a feature map of one's own.

    k(x, z) = φ(x)·φ(z), positive semi-definite whatever φ is

    Parameters
    ----------
    phi : function
        Takes one object, of any kind, and returns φ(x): a list of numbers, as many for every
        object.
    vectorized : bool
        Whether φ takes a batch instead and returns a matrix, dense or sparse, with a row for each
        object. That is faster. A row may depend on its own object only.

    References
    ----------
    B. Schölkopf and A. Smola, Learning with Kernels, MIT Press 2002, section 2.1.

    Examples
    --------
    A circle is no line in the plane, and one in the space of squares:

    >>> import numpy as np
    >>> from mercer import SVC, MapKernel
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> inside = (X**2).sum(axis=1) < 1
    >>> squares = MapKernel(lambda x: [x[0] ** 2, x[1] ** 2])
    >>> SVC(squares, C=1000).fit(X, inside).score(X, inside)
    1.0
    """

    encoder = ObjectEncoder()
    is_function = True

    def __init__(self, phi: Callable[[Any], Any], vectorized: bool = False) -> None:
        self.phi, self.vectorized = phi, vectorized
        super().__init__()

    def check_parameters(self) -> None:
        if not callable(self.phi):
            raise InvalidParameter(
                f"MapKernel: phi={self.phi!r} has to be a function of an object."
            )

    def feature_map(self, points: Points) -> Features:
        rows = self._rows(cast(Objects, points[self.encoder]))
        return Features.numbered(rows.astype(points.dtype))

    def prepare(self, a: Objects, b: Objects) -> tuple[Vectors, Vectors]:
        left = Vectors(self._rows(a))
        if b is a:
            return left, left
        right = Vectors(self._rows(b))
        if left.dimension != right.dimension:
            raise InvalidInput(
                f"{self}: φ has {left.dimension} coordinates for X and {right.dimension} for Y. It "
                "has to give as many for every object."
            )
        if left.is_sparse != right.is_sparse:
            left, right = (Vectors(sparse.csr_array(side.values)) for side in (left, right))
        return left, right

    def compare(self, a: Vectors, b: Vectors) -> Array:
        return products(a.values, b.values)

    def compare_self(self, a: Vectors) -> Array:
        return a.squared_norms.copy()

    def _rows(self, objects: Objects) -> Any:
        """Return φ(x) of all objects as the rows of a matrix of float64, dense or CSR."""
        found: Any = self.phi(objects.items) if self.vectorized else self._one_by_one(objects.items)
        rows: Any = sparse.csr_array(found) if sparse.issparse(found) else np.asarray(found)
        if rows.ndim != 2 or rows.shape[0] != len(objects) or not rows.shape[1]:
            raise InvalidInput(
                f"{self}: φ returned an array of shape {rows.shape} for {len(objects)} objects; "
                "with vectorized=True it has to return a matrix with one row for each."
            )
        if rows.dtype.kind not in "fiub":
            raise InvalidInput(f"{self}: φ returned values of type {rows.dtype}, not real numbers.")
        rows = rows.astype(np.float64)
        bad = ~np.isfinite(rows.data if sparse.issparse(rows) else rows)
        if bad.any():
            places = rows.tocoo().row[bad] if sparse.issparse(rows) else np.nonzero(bad)[0]
            raise InvalidInput(f"{self}: φ of the object in row {places[0]} is not finite.")
        return rows

    def _one_by_one(self, items: Any) -> list[Array]:
        rows: list[Array] = []
        for i, item in enumerate(items):
            row = np.atleast_1d(np.asarray(self.phi(item)))
            if row.ndim != 1 or row.dtype.kind not in "fiub":
                raise InvalidInput(
                    f"{self}: φ of the object in row {i} is no list of numbers. A map of whole "
                    "batches needs vectorized=True."
                )
            if rows and len(row) != len(rows[0]):
                raise InvalidInput(
                    f"{self}: φ has {len(rows[0])} coordinates for the first object and {len(row)} "
                    f"for that in row {i}. It has to give as many for every object."
                )
            rows.append(row)
        return rows
