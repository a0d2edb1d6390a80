"""Penalties of residuals, one class each."""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from mercer._typing import Array
from mercer.exceptions import InvalidParameter
from mercer.problems.tangents import conjugate_bound, farthest_slopes, slope_differences


class Penalty:
    """A function φ of a residual, the sum of which is to be least.

    A penalty has a value, a slope and, if it is convex, the conjugate that a certificate needs,
    φ*(ν) = max over r of νr − φ(r).
    ``method`` says what suits it: ``squares``, ``vertices`` (a linear program whose answer
    interpolates), ``program`` (any other linear program), ``newton``, ``tangents`` for a convex one
    of which only value and slope are known, or ``starts`` where it is not convex.

    A convex penalty of one's own is a subclass with ``value`` and ``slope``, both of arrays. Its
    conjugate is then bounded from above by tangents, so that the dual value stays a bound; whoever
    knows ``curvature``, ``conjugate`` and ``box`` may add them. ``convex = False`` says that it is
    not convex.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Penalty, PenaltyRegressor
    >>> class LogCosh(Penalty):
    ...     def value(self, r):
    ...         return np.logaddexp(r, -r) - np.log(2)
    ...
    ...     def slope(self, r):
    ...         return np.tanh(r)
    >>> LogCosh()(np.array([0.0, 1.0])).round(3)
    array([0.   , 0.434])
    >>> X, y = np.arange(6.0)[:, None], np.array([0.0, 1.1, 1.9, 3.2, 3.9, 50.0])
    >>> model = PenaltyRegressor(LogCosh()).fit(X, y)
    >>> bool(model.certificate_.relative_gap < 1e-6)
    True
    """

    method = "tangents"
    convex = True
    a: float = np.inf
    """The length of penalties that have one."""

    def value(self, r: Array) -> Array:
        """Return φ(r)."""
        raise NotImplementedError

    def slope(self, r: Array) -> Array:
        """Return φ′(r), any of the slopes at a kink."""
        raise NotImplementedError

    def __call__(self, r: ArrayLike) -> Array:
        """Return φ(r) of each residual."""
        return self.value(np.asarray(r, dtype=np.float64))

    def curvature(self, r: Array) -> Array:
        """Return φ″(r), by differences of slopes where a subclass knows no better."""
        return slope_differences(self, r)

    def conjugate(self, nu: Array) -> Array:
        """Return φ*(ν), or a bound from above that tangents give."""
        return conjugate_bound(self, nu)

    @property
    def box(self) -> tuple[float, float]:
        """The slopes that φ can have; outside, φ* is infinite."""
        return farthest_slopes(self)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *sorted(vars(self).items())))

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({inside})"


class _Known(Penalty):
    """A penalty of which all derivatives and the conjugate are known."""

    method = "newton"

    def curvature(self, r: Array) -> Array:
        return np.zeros_like(r)

    @property
    def box(self) -> tuple[float, float]:
        return -np.inf, np.inf


class _Width(_Known):
    """A penalty with one length a > 0."""

    def __init__(self, a: float = 1.0) -> None:
        if not (isinstance(a, Real) and 0 < float(a) < np.inf):
            raise InvalidParameter(f"{type(self).__name__}(a={a!r}): a has to be a number above 0.")
        self.a = float(a)


class L2(_Known):
    """Least squares: φ(r) = r².

    Examples
    --------
    >>> from mercer import L2
    >>> L2()([-2.0, 3.0])
    array([4., 9.])
    """

    method = "squares"

    def value(self, r: Array) -> Array:
        return r * r

    def slope(self, r: Array) -> Array:
        return 2 * r

    def curvature(self, r: Array) -> Array:
        return np.full_like(r, 2.0)

    def conjugate(self, nu: Array) -> Array:
        return nu * nu / 4


class Quantile(_Known):
    """The pinball penalty: φ(r) = τr for r > 0, (τ − 1)r else, so that a share τ lies below.

    Parameters
    ----------
    tau : float
        τ in (0, 1).

    Examples
    --------
    >>> from mercer import Quantile
    >>> Quantile(0.9)([-1.0, 1.0]).round(6)  # too low a prediction costs nine times as much
    array([0.1, 0.9])
    """

    method = "vertices"

    def __init__(self, tau: float = 0.5) -> None:
        if not (isinstance(tau, Real) and 0 < float(tau) < 1):
            raise InvalidParameter(f"Quantile(tau={tau!r}): tau has to lie between 0 and 1.")
        self.tau: float = float(tau)

    def value(self, r: Array) -> Array:
        return np.asarray(np.maximum(self.tau * r, (self.tau - 1) * r))

    def slope(self, r: Array) -> Array:
        return np.where(r > 0, self.tau, self.tau - 1)

    def conjugate(self, nu: Array) -> Array:
        return np.zeros_like(nu)

    @property
    def box(self) -> tuple[float, float]:
        return self.tau - 1, self.tau


class L1(_Known):
    """Least absolute deviations: φ(r) = |r|.

    Examples
    --------
    >>> from mercer import L1
    >>> L1()([-2.0, 3.0])
    array([2., 3.])
    """

    method = "vertices"

    def value(self, r: Array) -> Array:
        return np.abs(r)

    def slope(self, r: Array) -> Array:
        return np.sign(r)

    def conjugate(self, nu: Array) -> Array:
        return np.zeros_like(nu)

    @property
    def box(self) -> tuple[float, float]:
        return -1.0, 1.0


class DeadZone(_Width):
    """Residuals up to a cost nothing: φ(r) = max(0, |r| − a).

    Parameters
    ----------
    a : float
        The half width a > 0 of the zone.

    Examples
    --------
    >>> from mercer import DeadZone
    >>> DeadZone(2.0)([0.0, 1.0, 3.0])
    array([0., 0., 1.])
    """

    method = "program"

    def value(self, r: Array) -> Array:
        return np.maximum(np.abs(r) - self.a, 0.0)

    def slope(self, r: Array) -> Array:
        return np.where(np.abs(r) > self.a, np.sign(r), 0.0)

    def conjugate(self, nu: Array) -> Array:
        return self.a * np.abs(nu)

    @property
    def box(self) -> tuple[float, float]:
        return -1.0, 1.0


class Huber(_Width):
    """Huber's penalty: φ(r) = r² for |r| ≤ a, and a(2|r| − a) beyond.

    Parameters
    ----------
    a : float
        Where squares end, a > 0.

    Examples
    --------
    >>> from mercer import Huber
    >>> Huber(2.0)([0.0, 1.0, 3.0])
    array([0., 1., 8.])
    """

    def value(self, r: Array) -> Array:
        inner = np.minimum(np.abs(r), self.a)
        return np.asarray(inner * (2 * np.abs(r) - inner))

    def slope(self, r: Array) -> Array:
        return 2 * np.clip(r, -self.a, self.a)

    def curvature(self, r: Array) -> Array:
        return np.where(np.abs(r) <= self.a, 2.0, 0.0)

    def conjugate(self, nu: Array) -> Array:
        return nu * nu / 4

    @property
    def box(self) -> tuple[float, float]:
        return -2 * self.a, 2 * self.a


class LogBarrier(_Width):
    """The logarithmic barrier: φ(r) = −a² log(1 − (r/a)²) for |r| < a, infinite beyond.

    Parameters
    ----------
    a : float
        The wall, a > 0: no residual may be as large.

    Examples
    --------
    >>> from mercer import LogBarrier
    >>> LogBarrier(2.0)([0.0, 1.0, 3.0]).round(4)
    array([0.    , 1.1507,    inf])
    """

    def value(self, r: Array) -> Array:
        share = (r / self.a) ** 2
        inside = np.minimum(share, 0.5)
        safe = np.where(share < 1, share, inside)
        return np.where(share < 1, -(self.a**2) * np.log1p(-safe), np.inf)

    def slope(self, r: Array) -> Array:
        return 2 * r / (1 - (r / self.a) ** 2)

    def curvature(self, r: Array) -> Array:
        share = (r / self.a) ** 2
        return 2 * (1 + share) / (1 - share) ** 2

    def conjugate(self, nu: Array) -> Array:
        # The residual with slope ν, in a form that does not cancel near zero.
        r = nu / (1 + np.sqrt(1 + (nu / self.a) ** 2))
        return np.asarray(nu * r - self.value(r))


class LargeError(_Width):
    """Squares up to a, constant beyond: φ(r) = min(r², a²). Not convex: many local optima.

    Parameters
    ----------
    a : float
        Where the cost stops to grow, a > 0.

    Examples
    --------
    >>> from mercer import LargeError
    >>> LargeError(2.0)([0.0, 1.0, 3.0])
    array([0., 1., 4.])
    """

    method = "starts"
    convex = False

    def value(self, r: Array) -> Array:
        return np.minimum(r * r, self.a**2)

    def slope(self, r: Array) -> Array:
        return np.where(np.abs(r) <= self.a, 2 * r, 0.0)


NAMES = {"l1": L1, "l2": L2, "quantile": Quantile, "dead_zone": DeadZone, "huber": Huber,
         "log_barrier": LogBarrier, "large_error": LargeError}  # fmt: skip
"""Penalties by name, with their default parameters."""
