"""scikit-learn's kernels of Gaussian processes in terms of mercer's, and back."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.gaussian_process import kernels as theirs

from mercer._typing import Array
from mercer.estimators.kernel_argument import caller_level
from mercer.exceptions import InvalidParameter
from mercer.kernels.algebra import Power, Product, Scaled, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.points import Points
from mercer.kernels.vectors.constant import Constant, White
from mercer.kernels.vectors.dot import Linear
from mercer.kernels.vectors.matern import (
    Matern,
    Periodic,
    RationalQuadratic,
)
from mercer.kernels.vectors.radial import (
    RBF,
)
from mercer.kernels.wrappers import FunctionKernel

BOUNDS = (1e-5, 1e5)
"""scikit-learn's own bounds of its kernels' parameters."""
Bounds: TypeAlias = tuple[float, float] | Sequence[float] | dict[str, tuple[float, float]]
"""Bounds of all parameters, or of each by name."""


@dataclass(frozen=True, eq=False)
class Parameters:
    """A kernel and its parameters to learn.

    ``names`` are the names of mercer's parameters, in the order of θ. Their logarithms are
    ``scales`` · θ; ``bounds`` has the two ends of each θ. ``limits`` are the largest values that
    some parameters can have at all, by name.
    """

    kernel: Kernel
    names: list[str]
    scales: Array
    bounds: Array
    original: theirs.Kernel | None = None
    start: Array | None = None
    limits: dict[str, float] = field(default_factory=dict)

    @property
    def theta(self) -> Array:
        """The θ to start from: that of the kernel as it is, or a better one that is known."""
        if self.start is not None:
            return self.start
        values = self.kernel.free_parameters()
        return np.array([np.log(values[name]) for name in self.names]) / self.scales

    def named(self, theta: Array) -> Kernel:
        """Return mercer's kernel with the parameters θ."""
        values = dict(zip(self.names, np.exp(self.scales * theta).tolist(), strict=True))
        return self.kernel.with_parameters(values) if values else self.kernel

    def published(self, theta: Array) -> Any:
        """Return the kernel with the parameters θ, as scikit-learn's where it was given so."""
        return self.named(theta) if self.original is None else self.original.clone_with_theta(theta)


def prior_kernel(given: Kernel | theirs.Kernel | None) -> Kernel:
    """Return what was given as a kernel of mercer's, before it is settled on data."""
    if given is None:
        return usual_kernel()
    return _translated(given) if isinstance(given, theirs.Kernel) else given


def parameters_of(
    given: Kernel | theirs.Kernel | None,
    settled: Kernel,
    points: Points,
    fixed: Sequence[str],
    bounds: Bounds,
) -> Parameters:
    """Return what there is to learn of a kernel, given as mercer's or as scikit-learn's.

    ``settled`` is mercer's kernel with its heuristic parameters settled on training points.
    """
    if isinstance(given, theirs.Kernel):
        return _parameters_of_theirs(_settled_original(given))
    names = list(settled.free_parameters())
    unknown = [name for name in fixed if name not in (*names, *unlearnt_parameters(settled))]
    if unknown:
        raise InvalidParameter(
            f"fixed={unknown[0]!r} is no free parameter of {settled}. There are "
            f"{', '.join(names) or 'none'}."
        )
    free = [name for name in names if name not in fixed]
    wanted = bounds if isinstance(bounds, dict) else dict.fromkeys(free, bounds)
    limits = settled.parameter_limits(points) if free else {}
    ends = []
    for name in free:
        low, high = wanted.get(name, BOUNDS)
        most = limits.get(name, np.inf)
        if low > most:
            raise InvalidParameter(
                f"bounds: {name} would begin at {low:g}, and {settled} takes no more than "
                f"{most:.4g} for these data."
            )
        ends.append([np.log(low), np.log(min(high, most))])
    end_points: Array = np.reshape(ends, (len(free), 2))
    return Parameters(settled, free, np.ones(len(free)), end_points, limits=limits)


_CONTINUOUS = ("gamma", "sigma", "length_scale", "decay")
"""Names that widths and decays have in all kernels."""


def unlearnt_parameters(kernel: Kernel) -> list[str]:
    """Return the widths and decays of a settled kernel that have no derivative to learn them by."""
    free = {name.partition("[")[0] for name in kernel.free_parameters()}
    return [
        name
        for name, value in kernel.get_params().items()
        if name.rpartition("__")[2] in _CONTINUOUS and name not in free and _is_positive(value)
    ]


def _is_positive(value: Any) -> bool:
    """Whether a parameter is a number above zero."""
    return isinstance(value, Real) and float(value) > 0


def _parameters_of_theirs(kernel: theirs.Kernel) -> Parameters:
    rows = _rows(kernel, "")
    ends = [end for row in rows for end in row[2]]
    return Parameters(
        _translated(kernel),
        [name for row in rows for name in row[0]],
        np.array([scale for row in rows for scale in row[1]], dtype=float),
        np.reshape(ends, (-1, 2)),
        kernel,
    )


def _translated(kernel: theirs.Kernel) -> Kernel:
    kind = type(kernel)
    if kind is theirs.Sum:
        return Sum(_translated(kernel.k1), _translated(kernel.k2))
    if kind is theirs.Product:
        return Product(_translated(kernel.k1), _translated(kernel.k2))
    if kind is theirs.Exponentiation:
        return Power(_translated(kernel.kernel), kernel.exponent)
    if kind is theirs.ConstantKernel:
        return Constant(kernel.constant_value)
    if kind is theirs.WhiteKernel:
        return White(kernel.noise_level)
    if kind is theirs.RBF:
        return RBF(length_scale=_lengths(kernel.length_scale))
    if kind is theirs.Matern:
        return Matern(nu=kernel.nu, length_scale=_lengths(kernel.length_scale))
    if kind is theirs.RationalQuadratic:
        return RationalQuadratic(alpha=kernel.alpha, length_scale=kernel.length_scale)
    if kind is theirs.ExpSineSquared:
        return Periodic(kernel.periodicity, kernel.length_scale)
    if kind is theirs.DotProduct:
        return Sum(Constant(kernel.sigma_0**2), Linear())
    # A class of the user's own: its values are taken as they are, and its θ is not learnt.
    return FunctionKernel(kernel, vectorized=True, positive=True)


def _settled_original(given: theirs.Kernel) -> theirs.Kernel:
    """Return a copy whose parts of the user's own classes have fixed parameters, with a warning."""
    kernel = clone(given)
    unlearnt: list[str] = []
    for name, part in [("", kernel), *kernel.get_params(deep=True).items()]:
        if not isinstance(part, theirs.Kernel) or type(part) in _KNOWN:
            continue
        free = [each.name for each in part.hyperparameters if not each.fixed]
        part.set_params(**{f"{each}_bounds": "fixed" for each in free})
        unlearnt += [f"{name}__{each}".lstrip("_") for each in free]
    if unlearnt:
        warnings.warn(
            f"The parameters {', '.join(unlearnt)} of {given!r} have no translation, so they are "
            "not learnt and stay what they are. Take a kernel of mercer's to learn them.",
            stacklevel=caller_level(),
        )
    return kernel


def _lengths(value: float | Sequence[float]) -> float | list[float]:
    return [float(v) for v in value] if np.iterable(value) else float(value)


_Row = tuple[list[str], list[float], list[list[float]]]

_NAMES: dict[type, dict[str, tuple[str, float]]] = {
    theirs.ConstantKernel: {"constant_value": ("value", 1.0)},
    theirs.WhiteKernel: {"noise_level": ("noise", 1.0)},
    theirs.RBF: {"length_scale": ("length_scale", 1.0)},
    theirs.Matern: {"length_scale": ("length_scale", 1.0)},
    theirs.RationalQuadratic: {"alpha": ("alpha", 1.0), "length_scale": ("length_scale", 1.0)},
    theirs.ExpSineSquared: {"length_scale": ("length_scale", 1.0), "periodicity": ("period", 1.0)},
    # σ₀² is the value of a constant kernel.
    theirs.DotProduct: {"sigma_0": ("left__value", 2.0)},
}

_KNOWN = {*_NAMES, theirs.Sum, theirs.Product, theirs.Exponentiation}
"""scikit-learn's classes that have a translation."""


def _rows(kernel: theirs.Kernel, prefix: str) -> list[_Row]:
    """Return names, scales and bounds of the free parameters, in scikit-learn's order."""
    if isinstance(kernel, theirs.KernelOperator):
        return _rows(kernel.k1, prefix + "left__") + _rows(kernel.k2, prefix + "right__")
    if isinstance(kernel, theirs.Exponentiation):
        return _rows(kernel.kernel, prefix + "kernel__")
    rows = []
    for parameter in kernel.hyperparameters:
        if parameter.fixed:
            continue
        name, scale = _NAMES[type(kernel)][parameter.name]
        count = parameter.n_elements
        names = [prefix + name] if count == 1 else [f"{prefix}{name}[{j}]" for j in range(count)]
        if count == 1 and np.iterable(getattr(kernel, parameter.name)):
            names = [f"{prefix}{name}[0]"]
        rows.append((names, [scale] * count, _logs(parameter.bounds)))
    return rows


def _logs(bounds: ArrayLike) -> list[list[float]]:
    with np.errstate(divide="ignore"):
        logs: list[list[float]] = np.log(bounds).tolist()
    return logs


def is_periodic(kernel: Kernel | theirs.Kernel | None) -> bool:
    """Whether scikit-learn's periodic kernel is a part of a kernel."""
    parts = () if kernel is None else kernel.get_params(deep=True).values()
    return any(isinstance(part, theirs.ExpSineSquared) for part in (kernel, *parts))


def usual_kernel() -> Kernel:
    """Return scikit-learn's default, 1 · RBF(length_scale=1)."""
    return Scaled(RBF(length_scale=1.0), 1.0)
