"""Every error and warning of mercer; each message gives the cause, the place and the remedy."""

from collections.abc import Iterable
from typing import Any

LONGEST_NAME = 60
"""Characters of a name in a message: more are no help, and hide the rest of it."""


def shown(name: Any) -> str:
    """Return a name from the data as messages quote it: shortened where it is long."""
    text = repr(name)
    if len(text) <= LONGEST_NAME:
        return text
    return f"{text[:LONGEST_NAME]}… ({len(str(name)):,} characters)"


def meant(word: Any, names: Iterable[str]) -> str:
    """Return a question with the name that is spelt most like a word; nothing if none is near."""
    import difflib  # for errors alone

    known = {name.lower(): name for name in reversed([*names])}
    near = difflib.get_close_matches(str(word).lower(), known, n=1)
    return f" Did you mean {shown(known[near[0]])}?" if near else ""


class MercerError(Exception):
    """Base of all errors that mercer raises on purpose."""


class InvalidParameter(MercerError, ValueError):
    """A parameter of a kernel or a machine has a value that it cannot have."""


class InvalidExpression(InvalidParameter):
    """A kernel written as text cannot be read; the message points at the character.

    Attributes
    ----------
    position : int
        The character at which reading stopped, counted from 0.
    """

    def __init__(self, message: str, position: int = 0) -> None:
        super().__init__(message)
        self.position = position


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


class NoExplanation(MercerError, TypeError):
    """A machine or its kernel cannot be split into parts of its columns."""


class NotEnoughMemory(MercerError, MemoryError):
    """The job would need more memory than the machine has; nothing was allocated."""


class MissingDependency(MercerError, ImportError):
    """A library is needed that is not installed; the message says how to get it."""


class ClusterFailure(MercerError, RuntimeError):
    """The Dask cluster cannot do the work: there is no client, or there are no workers."""


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


class Infeasible(InvalidInput):
    """No point meets all constraints; the error carries the proof where there is one.

    Attributes
    ----------
    violation : float
        The least violation that was found, the largest fᵢ(x) and |hⱼ(x)| of a point.
    lambda_, nu : arrays
        Multipliers λ ≥ 0 and ν of the constraints.
    bound : float
        The least Σ λᵢfᵢ(x) + Σ νⱼhⱼ(x) over all x. Above 0 it is the proof: at a feasible point the
        sum would be at most 0. −inf where nothing is proven.
    """

    def __init__(self, message: str, violation: float, lambda_: Any, nu: Any, bound: float) -> None:
        super().__init__(message)
        self.violation, self.bound = violation, bound
        self.lambda_, self.nu = lambda_, nu


class InvalidModelFile(MercerError, ValueError):
    """A file is not a model file, was damaged, or holds what no model can hold."""


class InvalidCheckpoint(MercerError, ValueError):
    """A checkpoint is damaged or belongs to another fit."""


class CannotSave(MercerError, TypeError):
    """A model has a part that a file of plain data cannot hold, such as a function."""


class IndefiniteKernelWarning(UserWarning):
    """The kernel is not positive semi-definite in general."""


class DisconnectedGraphWarning(UserWarning):
    """A graph of neighbours falls apart, and labels do not reach all of its parts."""


class GaussianSourcesWarning(UserWarning):
    """Several sources look Gaussian, and no method can tell rotations of those apart."""
