"""Smoother and rougher kernels of a distance: Matérn, rational quadratic, periodic."""

from __future__ import annotations

import math
import numbers

import numpy as np
from scipy import special

from mercer._typing import Array, Parameter
from mercer.kernels.base import Kernel
from mercer.kernels.coalitions import Game, Over
from mercer.kernels.pairs import Values
from mercer.kernels.parameters import ambiguous_first, check_number
from mercer.kernels.points import Points
from mercer.kernels.statistics import PeriodSlope, SquaredDistance
from mercer.kernels.vectors.radial import RBF, Radial


@ambiguous_first("nu", ("length_scale_bounds",))
class Matern(Radial):
    """Matérn kernel, whose functions are ⌈ν⌉ − 1 times differentiable.

    k(r) = 2^(1−ν)/Γ(ν) · (√(2ν) r/ℓ)^ν K_ν(√(2ν) r/ℓ), r = ‖x − z‖; for ν = ½ it is exp(−r/ℓ),
    for ν = 3/2 (1 + √3 r/ℓ) exp(−√3 r/ℓ), for ν → ∞ the Gaussian kernel.

    Parameters
    ----------
    nu : float
        The smoothness ν > 0.

    Examples
    --------
    >>> from mercer import Matern
    >>> x, z = [[0.0]], [[2.0]]
    >>> Matern(nu=0.5, length_scale=2.0)(x, z).round(4)  # exp(−1)
    array([[0.3679]])
    >>> Matern(nu=1.5, length_scale=2.0)(x, z).round(4)  # (1 + √3) exp(−√3)
    array([[0.4834]])
    """

    def __init__(
        self,
        nu: float = 1.5,
        *,
        gamma: float | str | None = None,
        sigma: float | str | None = None,
        length_scale: Parameter = None,
    ) -> None:
        self.nu = nu
        super().__init__(gamma, sigma=sigma, length_scale=length_scale)

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.nu != math.inf:
            check_number(self, "nu", low=0, open_low=True)

    @property
    def bounded(self) -> bool:  # type: ignore[override]
        # (1 + t) exp(−t) is ∞ · 0 where t overflows.
        return self.nu in (0.5, math.inf)

    def profile(self, s: Array) -> Array:
        if self.nu == math.inf:
            return RBF.profile(self, s)  # type: ignore[arg-type]
        return _matern(self._argument(s), self.nu)

    def derivative(self, s: Array) -> Array:
        if self.nu == math.inf:
            return RBF.derivative(self, s)  # type: ignore[arg-type]
        t = self._argument(s)
        if self.nu > 1:
            # d/ds of the ν-profile is a multiple of the (ν−1)-profile at the same argument.
            lower = _matern(t, self.nu - 1)
            lower *= lower.dtype.type(-self.nu / (2 * (self.nu - 1)))
            return lower
        where = t > 0
        safe = np.where(where, t, 1)
        if self.nu == 0.5:
            return np.where(where, -np.exp(-safe) / (2 * safe), 0)
        factor = 2 ** (1 - self.nu) / special.gamma(self.nu)
        slope = -factor * self.nu * safe ** (self.nu - 1) * special.kv(1 - self.nu, safe)
        return np.where(where, slope, 0).astype(s.dtype)

    def mixture(self) -> tuple[Array, Array]:
        """Return rates and weights of Gaussian kernels: ν/u for u with the Γ(ν) distribution."""
        if self.nu == math.inf:
            return np.ones(1), np.ones(1)
        u, weights = gamma_quadrature(self.nu)
        return self.nu / u, weights

    def frequencies(self, random: np.random.Generator, shape: tuple[int, int]) -> Array:
        normal = random.standard_normal(shape)
        if self.nu == math.inf:
            return normal
        chi2 = random.chisquare(2 * self.nu, (shape[0], 1))
        return normal * np.sqrt(2 * self.nu / chi2)

    def _argument(self, s: Array) -> Array:
        s *= s.dtype.type(2 * self.nu)
        return np.sqrt(s, out=s)


def _matern(t: Array, nu: float) -> Array:
    """Return 2^(1−ν)/Γ(ν) · t^ν K_ν(t), and 1 at t = 0; ``t`` may be overwritten."""
    if nu not in (0.5, 1.5, 2.5):
        return _matern_by_bessel(t, nu)
    one = t.dtype.type(1)
    polynomial = t + one if nu == 1.5 else None
    if nu == 2.5:
        polynomial = t * t.dtype.type(1 / 3)
        polynomial += one
        polynomial *= t
        polynomial += one
    np.negative(t, out=t)
    np.exp(t, out=t)
    return t if polynomial is None else np.multiply(t, polynomial, out=t)


def _matern_by_bessel(t: Array, nu: float) -> Array:
    work = t.astype(np.float64)
    tiny = work < 1e-12
    work[tiny] = 1
    log = (1 - nu) * math.log(2) - special.gammaln(nu) + nu * np.log(work)
    log += _log_bessel(work, nu) if nu > _LARGE_ORDER else np.log(special.kve(nu, work)) - work
    values = np.exp(np.minimum(log, 0))
    values[tiny] = 1
    return np.asarray(values, dtype=t.dtype)


_LARGE_ORDER = 50
"""From this order on K_ν overflows near 0 and is taken from its expansion for large orders."""


def _log_bessel(x: Array, nu: float) -> Array:
    """Return log K_ν(x) by the uniform expansion for large ν; relative error below 1e-9.

    References
    ----------
    NIST Digital Library of Mathematical Functions, 10.41.4.
    """
    z = x / nu
    root = np.sqrt(1 + z * z)
    t = 1 / root
    eta = root + np.log(z / (1 + root))
    s = t * t
    terms = (
        1.0,
        t * (3 - 5 * s) / 24,
        s * (81 - s * (462 - 385 * s)) / 1152,
        t * s * (30375 - s * (369603 - s * (765765 - 425425 * s))) / 414720,
        s
        * s
        * (4465125 - s * (94121676 - s * (349922430 - s * (446185740 - 185910725 * s))))
        / 39813120,
    )
    series = sum(term * (-1 / nu) ** k for k, term in enumerate(terms))
    result: Array = 0.5 * np.log(np.pi / (2 * nu) * t) - nu * eta + np.log(series)
    return result


def gamma_quadrature(shape: float) -> tuple[Array, Array]:
    """Return nodes and weights of the mean over the gamma distribution with this shape.

    The trapezoidal rule in v = log u: for functions such as exp(−tu) and exp(−t/u), t ≥ 0, its
    error falls exponentially with 1/h, and what is cut off is rounding, for all but tiny shapes.
    """
    step = min(_STEP, 0.6 / math.sqrt(shape))
    lowest = max(math.log(shape) - 27 / min(shape, 27.0) - 27 / math.sqrt(shape), -150.0)
    highest = math.log(shape + 40 + 10 * math.sqrt(shape))
    v = np.arange(lowest, highest, step)
    weights = np.exp(shape * v - np.exp(v) - special.gammaln(shape))
    used = weights > 1e-18 * weights.max()
    return np.exp(v[used]), weights[used] / weights[used].sum()


_STEP = 0.35
"""Largest distance of nodes: the error e^(−π²/h) of smooth mixtures is 6e-13."""


@ambiguous_first("alpha", ("length_scale_bounds", "alpha_bounds"))
class RationalQuadratic(Radial):
    """Rational quadratic kernel, a mixture of Gaussian kernels of many widths.

    k(x, z) = (1 + ‖x − z‖²/(2αℓ²))^(−α)

    Parameters
    ----------
    alpha : float
        α > 0: the smaller, the more the widths differ; for α → ∞ it is the Gaussian kernel.

    Examples
    --------
    >>> from mercer import RationalQuadratic
    >>> k = RationalQuadratic(alpha=1.0, length_scale=1.0)
    >>> k([[0.0]], [[0.0], [2.0], [4.0]]).round(4)  # 1/(1 + r²/2)
    array([[1.    , 0.3333, 0.1111]])
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        gamma: float | str | None = None,
        sigma: float | str | None = None,
        length_scale: Parameter = None,
    ) -> None:
        self.alpha = alpha
        super().__init__(gamma, sigma=sigma, length_scale=length_scale)

    def check_parameters(self) -> None:
        super().check_parameters()
        check_number(self, "alpha", low=0, open_low=True)

    def profile(self, s: Array) -> Array:
        if self.alpha > 10:
            # 1 + s/(2α) drops digits of s, which the power brings back as errors.
            s *= s.dtype.type(1 / (2 * self.alpha))
            np.log1p(s, out=s)
            s *= s.dtype.type(-self.alpha)
            return np.exp(s, out=s)
        base = self._base(s)
        if self.alpha == 1:
            return np.reciprocal(base, out=base)
        return np.power(base, base.dtype.type(-self.alpha), out=base)

    def derivative(self, s: Array) -> Array:
        base = self._base(s)
        return np.power(base, base.dtype.type(-self.alpha - 1)) * base.dtype.type(-0.5)

    def free_parameters(self) -> dict[str, float]:
        return {"alpha": float(self.alpha)} | super().free_parameters()

    def gradient(self, values: Values, name: str) -> Array:
        if name != "alpha":
            return super().gradient(values, name)
        base = self._base(self._scaled(values))
        log_term: Array = (base - 1) / base - np.log(base)
        log_term *= base.dtype.type(self.alpha)
        log_term *= self.profile(self._scaled(values))
        return log_term

    def mixture(self) -> tuple[Array, Array]:
        """Return rates and weights of Gaussian kernels: u/α for u with the Γ(α) distribution."""
        u, weights = gamma_quadrature(self.alpha)
        return u / self.alpha, weights

    def frequencies(self, random: np.random.Generator, shape: tuple[int, int]) -> Array:
        mixture = random.gamma(self.alpha, 1 / self.alpha, (shape[0], 1))
        return random.standard_normal(shape) * np.sqrt(mixture)

    def _base(self, s: Array) -> Array:
        s *= s.dtype.type(1 / (2 * self.alpha))
        s += s.dtype.type(1)
        return s


class Periodic(Radial):
    """Periodic kernel: a Gaussian kernel on the circle, for each coordinate.

    k(x, z) = exp(−2 Σⱼ sin²(π(xⱼ − zⱼ)/pⱼ)/ℓⱼ²)

    Parameters
    ----------
    period : float or list
        p of all columns, or one for each.
    length_scale : float or list
        ℓ of all columns, or one for each: the larger, the less a column counts.

    References
    ----------
    D. MacKay, Introduction to Gaussian processes, 1998, section 5.2.

    Examples
    --------
    The hour of the day and the day of the year:

    >>> from mercer import Periodic
    >>> k = Periodic(period=[24, 365], length_scale=[1.0, 2.0])
    >>> k([[23.0, 364.0]], [[1.0, 1.0], [11.0, 180.0]]).round(2)
    array([[0.87, 0.08]])
    """

    gamma = None
    sigma = None
    over_columns = Over.PRODUCT

    def __init__(self, period: Parameter = 1.0, length_scale: Parameter = 1.0) -> None:
        self.period, self.length_scale = period, length_scale
        Kernel.__init__(self)

    def check_parameters(self) -> None:
        for name in ("period", "length_scale"):
            if isinstance(getattr(self, name), list | tuple | np.ndarray):
                self._check_list(name, "")
            else:
                check_number(self, name, low=0, open_low=True)

    @property
    def periods(self) -> tuple[float, ...] | None:
        """The periods of the columns, or None where all have one."""
        return None if isinstance(self.period, numbers.Real) else tuple(map(float, self.period))

    @property
    def statistic(self) -> SquaredDistance:
        # |e^{2πix/p} − e^{2πiz/p}|² = 4 sin²(π(x − z)/p)
        period = float(self.period) if self.periods is None else self.periods
        return SquaredDistance(self.encoder, self.scales, period)

    def games(self, a: Points, b: Points) -> list[Game]:
        return Kernel.games(self, a, b)  # no powers of differences

    def along(self, column: int) -> Radial:
        one = super().along(column)
        return one if self.periods is None else one.replace(period=self.periods[column])

    def profile(self, s: Array) -> Array:
        return RBF.profile(self, s)  # type: ignore[arg-type]

    def derivative(self, s: Array) -> Array:
        return RBF.derivative(self, s)  # type: ignore[arg-type]

    def free_parameters(self) -> dict[str, float]:
        if self.periods is None:
            own = {"period": float(self.period)}
        else:
            own = {f"period[{j}]": period for j, period in enumerate(self.periods)}
        return own | super().free_parameters()

    def gradient(self, values: Values, name: str) -> Array:
        if not name.startswith("period") or name not in self.free_parameters():
            return super().gradient(values, name)
        if self.periods is None:
            statistic = PeriodSlope(self.encoder, float(self.period), self.scales)
        else:
            column = int(name[len("period[") : -1])
            statistic = PeriodSlope(self.encoder, self.periods[column], self.scales, column)
        slope = values[statistic]
        return slope * self.evaluate(values) * slope.dtype.type(self.rate)
