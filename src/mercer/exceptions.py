"""Every error and warning of mercer; each message gives the cause, the place and the remedy."""

from typing import Any


class MercerError(Exception):
    """Base of all errors that mercer raises on purpose."""


class InvalidParameter(MercerError, ValueError):
    """A parameter of a kernel or a machine has a value that it cannot have."""


class InvalidInput(MercerError, ValueError):
    """The data cannot be used as they are."""


class InvalidType(InvalidInput, TypeError):
    """The data are of a kind that the kernel does not take."""


class NumericalOverflow(MercerError, ArithmeticError):
    """A kernel value left the range of floating-point numbers."""


class NoFeatureMap(MercerError, TypeError):
    """The kernel has no finite feature map."""


class NoGradient(MercerError, TypeError):
    """The kernel has no derivative with respect to the parameter."""


class NotEnoughMemory(MercerError, MemoryError):
    """The job would need more memory than the machine has; nothing was allocated."""


class NotPositiveDefinite(MercerError, ValueError):
    """A matrix or a kernel is not positive semi-definite where it must be."""


class NotSeparable(MercerError, ValueError):
    """No hyperplane separates two classes; the error carries the proof.

    Attributes
    ----------
    rows : array
        The training rows of the two classes.
    weights : array
        Weights ≥ 0 that add up to 1 in each class: both weighted means are the same point.
    distance : float
        The distance of the two means in feature space, zero up to rounding.
    """

    def __init__(self, message: str, rows: Any, weights: Any, distance: float) -> None:
        super().__init__(message)
        self.rows, self.weights, self.distance = rows, weights, distance


class IndefiniteKernelWarning(UserWarning):
    """The kernel is not positive semi-definite in general."""
