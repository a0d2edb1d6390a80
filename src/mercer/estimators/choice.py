"""From what scikit-learn's users write (names, functions, gamma) to kernel objects."""

from __future__ import annotations

import inspect
import sys
import warnings
from typing import Any

from mercer.exceptions import IndefiniteKernelWarning, InvalidParameter, NotPositiveDefinite
from mercer.kernels import registry
from mercer.kernels.base import Kernel
from mercer.kernels.constant import Constant
from mercer.kernels.definite import Definite
from mercer.kernels.dot import Linear, Polynomial, Sigmoid
from mercer.kernels.radial import RBF


def kernel_named(name: str, gamma: Any, degree: float, coef0: float, columns: int) -> Kernel:
    """Return the kernel of a name, with the parameters of scikit-learn's machines.

    ``gamma="scale"`` is settled later on the training points; ``"auto"`` is 1/columns, as there.
    """
    width: Any = 1.0 / columns if isinstance(gamma, str) and gamma == "auto" else gamma
    if name == "linear":
        return Linear()
    if name in ("poly", "polynomial"):
        return Polynomial(degree, width, coef0)
    if name == "sigmoid":
        return Sigmoid(width, coef0)
    if name == "rbf":
        return Constant(1.0) if width == 0 else RBF(width)
    kernel: Any = registry.find(name).kernel
    asked = inspect.signature(kernel).parameters.get("gamma")
    # A rule such as "scale" is for kernels that have one; others keep a width of their own.
    takes = asked is not None and (asked.default is None or not isinstance(width, str))
    made: Kernel = kernel(gamma=width) if takes else kernel()
    return made


def check_definite(kernel: Kernel, needed: Definite, strict: bool, machine: str) -> None:
    """Warn (or raise, if ``strict``) where a kernel is known not to be what a machine needs."""
    if kernel.definite is Definite.INDEFINITE or (strict and kernel.definite < needed):
        message = (
            f"{machine}: the kernel {kernel} is {kernel.definite.words}. The problem may then not "
            "be convex and the certificate holds for a local optimum only; check_kernel(kernel, X) "
            "shows how far it is off, repair(...) mends a matrix."
        )
        if strict:
            raise NotPositiveDefinite(message)
        warnings.warn(message, IndefiniteKernelWarning, stacklevel=caller_level())


def caller_level() -> int:
    """Return the ``stacklevel`` at which a warning shows the line that called mercer."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals["__name__"].startswith(_OWN):
        level, frame = level + 1, frame.f_back
    return level


_OWN = ("mercer.", "sklearn.")


def check_name(kernel: Any) -> None:
    """Raise where ``kernel`` is neither a kernel, nor a name of one, nor a function."""
    if isinstance(kernel, str):
        if kernel != "precomputed":
            registry.find(kernel)
    elif not callable(kernel):
        raise InvalidParameter(
            f"kernel={kernel!r} has to be a mercer kernel, the name of one, 'precomputed' or a "
            "function of two batches that returns their matrix."
        )
