"""Kernels of series: dynamic time warping and global alignment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from mercer import _fast, _parallel
from mercer._typing import Array, IntArray, Object, Objects
from mercer.exceptions import InvalidParameter, NoExplanation
from mercer.kernels.definite import Definite
from mercer.kernels.encoders import Encoder
from mercer.kernels.evaluation import Evaluator
from mercer.kernels.features import Features
from mercer.kernels.pairs import Pairs, Values
from mercer.kernels.parameters import check_number
from mercer.kernels.points import Points
from mercer.kernels.series.series_pairs import all_pairs
from mercer.kernels.series.series_points import Series, SeriesEncoder, check_channels
from mercer.kernels.statistics import Statistic
from mercer.kernels.vectors.radial import Bandwidth

_SAMPLE_SERIES = 100
"""Series among which the median distance is taken: some five thousand pairs."""
_SAMPLE_POINTS = 1000
"""Points among which the median distance is taken: half a million pairs."""
_WIDEST = 2.0**40  # steps; a wider band is no band, and larger numbers would overflow


class _SeriesKernel(Bandwidth):
    """What kernels of series share: how they look at objects, and their widths."""

    bounded = True
    gamma: float | str | None = None
    sigma: float | str | None = None
    length_scale: Any = None
    time: str

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.time not in ("last", "first"):
            raise InvalidParameter(
                f"{type(self).__name__}: time={self.time!r} has to be 'last' (channels, time) or "
                "'first' (time, channels)."
            )

    @property
    def encoder(self) -> Encoder:  # type: ignore[override]
        return SeriesEncoder(self.time)

    def place_shares(self, point: Points) -> Features:
        raise NoExplanation(
            f"{self} compares a series along alignments, in which all its steps take part "
            "together: the answer is no sum over steps, so a step has no exact share. For series "
            "of one length as rows of numbers, a kernel of vectors makes each step a column: "
            "explain gives its share, and permutation_importance what the error of any machine "
            "gains when it is shuffled."
        )

    def _scale(self, series: Object) -> float:
        """Return ℓ with 2ℓ² = T·c·Var: as for vectors of as many numbers as a series has."""
        variance = float(np.mean(series.values.var(axis=0, dtype=np.float64)))
        size = float(series.lengths.mean()) * series.channels
        return math.sqrt(size * variance / 2) if variance > 0 else 1 / math.sqrt(2)


@dataclass(frozen=True)
class WarpingDistance(Statistic):
    """D(x, z), the least sum of squared distances along any warping path within a band."""

    encoder: Encoder = SeriesEncoder()
    band: float | None = None

    def prepare(self, A: Points, B: Points) -> tuple[Series, Series]:
        a, b = cast(Series, A[self.encoder]), cast(Series, B[self.encoder])
        check_channels(a, b)
        # Moved to a common origin, so that rounding to float32 keeps the digits that matter.
        origin = b.values.mean(axis=0, dtype=np.float64)
        dtype = np.result_type(a.dtype, b.dtype)
        left = _moved(a, origin, dtype)
        return left, left if b is a else _moved(b, origin, dtype)

    def compute(self, a: Series, b: Series, out: Array | None = None) -> Array:
        return all_pairs(a, b, self._warp)

    def diagonal(self, a: Series) -> Array:
        return np.zeros(len(a), dtype=a.dtype)

    def _warp(self, rows: Series, lanes: Array, lengths: IntArray, out: Array) -> None:
        band = -1.0 if self.band is None else min(float(self.band), _WIDEST)
        steps, share = (int(band), 0.0) if band < 0 or band >= 1 else (0, band)
        _fast.alignment.warp(
            rows.values, rows.starts, rows.lengths, lanes, lengths, steps, share, out
        )


def _moved(series: Series, origin: Array, dtype: np.dtype[Any]) -> Series:
    values = np.asarray(series.values - origin, dtype=dtype)
    return Series(np.ascontiguousarray(values), series.lengths)


class DTW(_SeriesKernel):
    """Gaussian of the dynamic time warping distance; not positive semi-definite in general.

    k(x, z) = exp(−γ D(x, z)), D(x, z) = min over warping paths of Σ ‖xᵢ − zⱼ‖²

    A warping path goes from the first points of both series to the last ones, one step in x, in z
    or in both at a time; all channels warp together. D is the sum without a square root, as in
    aeon (tslearn gives √D). ``dtw_distances`` gives D itself.

    ``band`` keeps paths near the diagonal (Sakoe and Chiba): 1 or more is a number of steps, less
    is a share of the longer series; of series of different lengths, the difference comes on top.
    With ``band=0`` and series of one length this is the RBF kernel. ``gamma`` is a number,
    ``"median"`` (1/(2 median D) of the training series) or ``"scale"`` (1/(T·c·Var X) for series of
    T points and c channels; warped distances are often far below that scale). ``time`` is the axis
    of time of an array with several
    channels: ``"last"`` (channels, time) or ``"first"``.

    Parameters
    ----------
    band : float or None
        How far paths may stray from the diagonal; None sets no limit.
    gamma : float or str
        γ; a number, ``"median"`` or ``"scale"``.
    time : {"last", "first"}
        The axis of time.

    References
    ----------
    Sakoe and Chiba, Dynamic programming algorithm optimization for spoken word recognition, 1978.

    Examples
    --------
    >>> from mercer import DTW
    >>> early, late, flat = [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]
    >>> DTW(gamma=1.0)([early, late, flat]).round(4)  # a shifted bump costs nothing
    array([[1.    , 1.    , 0.3679],
           [1.    , 1.    , 0.3679],
           [0.3679, 0.3679, 1.    ]])
    """

    definite = Definite.INDEFINITE

    def __init__(
        self,
        band: float | None = None,
        gamma: float | str = "median",
        *,
        time: str = "last",
    ) -> None:
        self.band, self.gamma, self.time = band, gamma, time
        super().__init__()

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.gamma is None:
            raise InvalidParameter("DTW: gamma=None has to be a number > 0, 'scale' or 'median'.")
        check_band(self)

    @property
    def statistic(self) -> WarpingDistance:
        """The distance that this is a kernel of."""
        return WarpingDistance(self.encoder, None if self.band is None else float(self.band))

    def statistics(self) -> Sequence[Statistic]:
        return [self.statistic]

    def evaluate(self, values: Values) -> Array:
        s = values.scaled(self.statistic, -0.5 * self.rate)
        return np.exp(s, out=s)

    def gradient(self, values: Values, name: str) -> Array:
        if name != "gamma":
            return super().gradient(values, name)
        return self.evaluate(values) * values.scaled(self.statistic, -0.5 * self.rate)

    def _median(self, series: Object) -> float:
        rows = np.unique(np.linspace(0, len(series) - 1, _SAMPLE_SERIES).astype(np.intp))
        sample = series.take(rows)
        distances = self.statistic.compute(sample, sample)[np.triu_indices(len(rows), 1)]
        positive = distances[distances > 0]
        return math.sqrt(float(np.median(positive))) if positive.size else 1.0


def dtw_distances(
    X: Objects, Y: Objects = None, *, band: float | None = None, time: str = "last"
) -> Array:
    """Return the warping distances D(x, z) of all series of ``X`` and ``Y`` (default X).

    D is the least Σ ‖xᵢ − zⱼ‖² over warping paths, without a square root; see :class:`DTW`.

    Parameters
    ----------
    X, Y : list or array
        Series, of any lengths.
    band : float or None
        How far paths may stray from the diagonal, as in :class:`DTW`.
    time : {"last", "first"}
        The axis of time of arrays with several channels.

    Examples
    --------
    >>> from mercer import dtw_distances
    >>> dtw_distances([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0]])
    array([[0., 0., 1.],
           [0., 0., 1.],
           [1., 1., 0.]])
    """
    kernel = DTW(band, gamma=1.0, time=time)
    A = kernel.encode(X)
    pairs = Pairs(A, None if Y is None else kernel.encode(Y))
    statistic = kernel.statistic
    return Evaluator(kernel, pairs, lambda values: values.fresh(statistic)).dense()


def check_band(kernel: DTW) -> None:
    """Refuse bands that are neither a share nor a number of steps."""
    if kernel.band is None:
        return
    check_number(kernel, "band", low=0)
    if kernel.band >= 1 and not float(kernel.band).is_integer():
        raise InvalidParameter(
            f"DTW: band={kernel.band!r} has to be None, a whole number of steps, or a share of the "
            "length below 1."
        )


@dataclass(frozen=True, eq=False)
class _Aligned(Series):
    """Series with a last column for the alignment with themselves; always in float64."""

    def astype(self, dtype: np.dtype[Any]) -> _Aligned:
        return self


class GlobalAlignment(_SeriesKernel):
    """Global alignment kernel, normalised: all alignments of two series count, not only the best.

    k(x, z) = K(x, z)/√(K(x, x) K(z, z)), K(x, z) = Σ over alignments of Π k₀(i, j),
    k₀ = ωκ/(2 − ωκ), κ = exp(−‖xᵢ − zⱼ‖²/(2σ²)), ω = max(0, 1 − ∣i − j∣/band)

    An alignment is a warping path as in :class:`DTW`, and k₀ is taken at all of its points.
    K itself spans thousands of orders of magnitude, so that only its normalised form is a number
    for every length; ``log_values`` gives log K. ``band`` is a number of steps, the same for all
    series: with these triangular weights the kernel stays positive semi-definite, which a hard
    band would not. Series whose lengths differ by ``band`` or more have the value 0.

    ``sigma`` is a number, ``"scale"`` (2σ² = T·c·Var X for series of T points and c channels) or
    ``"median"`` (the median distance of two points, times √T). ``time`` is the axis of time of an
    array with several channels: ``"last"`` (channels, time) or ``"first"``.

    Parameters
    ----------
    sigma : float or str
        σ; a number, ``"scale"`` or ``"median"``.
    band : float or None
        The width of the triangular weights; None gives all pairs of points the weight 1.
    time : {"last", "first"}
        The axis of time.

    References
    ----------
    Cuturi, Fast global alignment kernels, 2011.

    Examples
    --------
    >>> from mercer import GlobalAlignment
    >>> k = GlobalAlignment(sigma=1.0)
    >>> k([[0, 1, 0, 0]], [[0, 1, 0, 0], [0, 0, 1, 0], [5, 5, 5, 5]]).round(3)
    array([[1.   , 0.698, 0.   ]])
    """

    definite = Definite.POSITIVE

    def __init__(
        self,
        sigma: float | str = "scale",
        band: float | None = None,
        *,
        time: str = "last",
    ) -> None:
        self.sigma, self.band, self.time = sigma, band, time
        super().__init__()

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.sigma is None:
            raise InvalidParameter(
                "GlobalAlignment: sigma=None has to be a number > 0, 'scale' or 'median'."
            )
        if self.band is not None:
            check_number(self, "band", low=0, open_low=True)

    def gradient(self, values: Values, name: str) -> Array:
        if name not in self.free_parameters():
            return super().gradient(values, name)
        statistic = AlignmentSlope(self.encoder, self)
        slopes = values[statistic] - values.left[statistic] / 2 - values.right[statistic] / 2
        return np.asarray(self.evaluate(values) * slopes)

    def log_slopes(self, a: Series, b: Series) -> Array:
        """Return ∂ log K/∂ log σ of all pairs of series, not normalised."""
        out = np.empty((len(a), len(b)))
        points = np.ascontiguousarray(b.values[:, :-1])
        penalties = self._penalties(max(int(a.lengths.max()), int(b.lengths.max())))
        whole = (points, b.starts, b.lengths, penalties)

        def task(part: slice) -> None:
            some = a.take(part)
            rows = np.ascontiguousarray(some.values[:, :-1])
            _fast.alignment_slopes.log_slopes(
                rows, some.starts, some.lengths, *whole, False, out[part]
            )

        if a.same_as(b):
            _fast.alignment_slopes.log_slopes(points, a.starts, a.lengths, *whole, True, out)
            return out
        parts = [slice(i, min(i + 8, len(a))) for i in range(0, len(a), 8)]
        _parallel.run(task, parts, _parallel.thread_count())
        return out

    def prepare(self, a: Series, b: Series) -> tuple[_Aligned, _Aligned]:
        check_channels(a, b)
        left = self._aligned(a)
        return left, left if b is a else self._aligned(b)

    def compare(self, a: _Aligned, b: _Aligned) -> Array:
        return all_pairs(a, b, self._align)

    def compare_self(self, a: _Aligned) -> Array:
        return np.ones(len(a))

    def log_values(self, X: Objects, Y: Objects = None) -> Array:
        """Return log K(x, z), not normalised, for x in ``X`` and z in ``Y`` (default X).

        It is −∞ where a band allows no alignment.
        """
        kernel, pairs = self._bind(X, Y)
        normalised = kernel.dense(pairs).astype(np.float64)
        a, b = pairs.sides(kernel.statistics()[0])
        with np.errstate(divide="ignore"):
            logs = np.log(normalised)
        logs += _log_self(a)[:, None] / 2
        logs += _log_self(b) / 2
        for i, j in np.argwhere(normalised < _fast.alignment.TINY):
            x, z = (_values(side, number) for side, number in ((a, i), (b, j)))
            logs[i, j] = _fast.alignment.log_align(x, z, kernel._penalties(max(len(x), len(z))))
        return logs

    def _penalties(self, longest: int) -> Array:
        """Return the squared distances that have the effect of the weights ω, by ∣i − j∣.

        A band that is wider than the longest series is long needs no more of them than that.
        """
        if self.band is None:
            return np.empty(0)
        band = float(self.band)
        return -np.log2(1 - np.arange(math.ceil(min(band, longest))) / band)

    def _aligned(self, series: Series) -> _Aligned:
        values = np.empty((len(series.values), series.channels + 1))
        # Compiled code has κ = 2**−‖x − z‖².
        values[:, :-1] = series.values * math.sqrt(0.5 * self.rate / math.log(2))
        side = _Aligned(values, series.lengths)
        ratios = np.empty(len(values))
        penalties = self._penalties(int(series.lengths.max()))

        def task(part: slice) -> None:
            times = series.times(part)
            some = side.take(part)
            _fast.alignment.self_ratios(
                np.ascontiguousarray(some.values[:, :-1].T),
                some.starts,
                some.lengths,
                penalties,
                ratios[times],
            )

        parts = [slice(i, min(i + 32, len(series))) for i in range(0, len(series), 32)]
        _parallel.run(task, parts, _parallel.thread_count())
        values[:, -1] = ratios
        return side

    def _align(self, rows: Series, lanes: Array, lengths: IntArray, out: Array) -> None:
        _fast.alignment.align(
            rows.values,
            rows.starts,
            rows.lengths,
            lanes,
            lengths,
            self._penalties(max(int(rows.lengths.max()), int(lengths.max()))),
            out,
        )

    def _median(self, series: Object) -> float:
        from scipy.spatial.distance import pdist

        rows = np.unique(np.linspace(0, len(series.values) - 1, _SAMPLE_POINTS).astype(np.intp))
        distances = pdist(series.values[rows].astype(np.float64))
        positive = distances[distances > 0]
        middle = float(np.median(positive)) if positive.size else 1.0
        return middle * math.sqrt(float(np.median(series.lengths)))


@dataclass(frozen=True)
class AlignmentSlope(Statistic):
    """∂ log K/∂ log σ of a global alignment, not normalised."""

    kernel: GlobalAlignment

    def prepare(self, A: Points, B: Points) -> tuple[_Aligned, _Aligned]:
        a, b = cast(Series, A[self.encoder]), cast(Series, B[self.encoder])
        return self.kernel.prepare(a, b)

    def compute(self, a: _Aligned, b: _Aligned, out: Array | None = None) -> Array:
        return self.kernel.log_slopes(a, b)

    def diagonal(self, a: _Aligned) -> Array:
        singles = (a.take(slice(i, i + 1)) for i in range(len(a)))
        return np.array([self.kernel.log_slopes(one, one)[0, 0] for one in singles])


def _values(side: _Aligned, number: int) -> Array:
    """Return one series without the column of its own alignment."""
    return np.ascontiguousarray(side.take(slice(number, number + 1)).values[:, :-1])


def _log_self(side: Series) -> Array:
    """Return log K(x, x) of each series."""
    return np.add.reduceat(-2 * np.log(side.values[:, -1]), side.starts)
