"""Numbers that are too large to be squared: refused before a solver meets them."""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from mercer._typing import Array, Matrix
from mercer.exceptions import InvalidInput
from mercer.problems.certificate import Certificate

LARGEST_SQUARES = 1e300
"""The largest sum of squares: float64 ends at 1.8e308, and sums of such sums need some room."""


def sum_of_squares(values: Array) -> float:
    """Return Σ v², infinite or NaN where float64 does not hold it or a number is not finite.

    By one thread and without a copy: BLAS would wake up its threads for this.
    """
    flat = values.ravel(order="K")
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.einsum("i,i->", flat, flat))


def check_squares(
    values: Matrix, name: str, weights: Array | None = None, known_as: str = ""
) -> None:
    """Refuse data whose squares, times the weights of rows, float64 does not hold.

    Inner products of columns, of rows and with targets are then finite too. ``known_as`` is what
    scikit-learn says of such data.
    """
    stored = values.data if sparse.issparse(values) else values
    if stored.dtype != np.float64:
        return  # float64 holds the squares of all shorter numbers
    total = sum_of_squares(stored)
    total *= 1.0 if weights is None else float(weights.max(initial=0.0))
    if total <= LARGEST_SQUARES:
        return
    largest = float(np.abs(stored).max())
    raise InvalidInput(
        f"{name} has numbers up to {largest:.2g}, and the squares of its numbers"
        f"{'' if weights is None else ', times sample_weight,'} add up to more than "
        f"{LARGEST_SQUARES:g}, which floating-point numbers cannot compute with. Scale {name}, for "
        f"example by {1 / largest:.0e}." + (f' In scikit-learn: "{known_as}".' if known_as else "")
    )


def check_range(certificates: list[Certificate]) -> None:
    """Refuse answers that left the range of float64 although the data did not."""
    if not all(math.isfinite(certificate.gap) for certificate in certificates):
        raise InvalidInput(
            "The weights that fit y by X, or their squares, are beyond the range of floating-point "
            "numbers: the numbers of X are too small next to those of y. Scale X or y, so that "
            "both have numbers of about 1."
        )
