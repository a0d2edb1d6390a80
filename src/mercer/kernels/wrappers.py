"""Kernels around other things: a kernel normalised, a kernel on columns, a function, a matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from mercer._typing import Array, BoolArray, Matrix, Object
from mercer.exceptions import InvalidInput, InvalidParameter, InvalidType, NoExplanation
from mercer.kernels import definite
from mercer.kernels.base import Kernel
from mercer.kernels.coalitions import WHOLE, Game, Player
from mercer.kernels.definite import Definite
from mercer.kernels.encoders import Encoder, ObjectEncoder, RowNumberEncoder
from mercer.kernels.features import Features
from mercer.kernels.nodes import Wrapper, bracketed
from mercer.kernels.pairs import Values
from mercer.kernels.points import Objects, Points
from mercer.kernels.statistics import DotProduct, Statistic
from mercer.kernels.tables.columns import ColumnEncoder, Gappy, PresenceEncoder


class Normalized(Wrapper):
    """A kernel scaled to k(x, x) = 1; 0 where a diagonal value is 0.

    k(x, z)/√(k(x, x) k(z, z)); of an exponential k = exp(g) it is
    exp(g(x, z) − ½g(x, x) − ½g(z, z)), which cannot overflow.
    """

    @property
    def definite(self) -> Definite:
        return definite.of_normalisation(self.kernel.definite)

    @property
    def divisible(self) -> bool:
        return self.kernel.divisible

    def evaluate(self, values: Values) -> Array:
        if self.kernel.is_exponential:
            return self._evaluate_exponential(values)
        result = self.kernel.evaluate(values)
        result *= self._inverse_root(values.left)
        result *= self._inverse_root(values.right)
        return result

    def gradient(self, values: Values, name: str) -> Array:
        inner = name.partition("__")[2]
        if self.kernel.is_exponential:
            slope = self.kernel.log_gradient(values, inner)
            for side in (values.left, values.right):
                slope = slope - slope.dtype.type(0.5) * self.kernel.log_gradient(side, inner)
            return self._evaluate_exponential(values) * slope
        result = self.kernel.gradient(values, inner) * self._inverse_root(values.left)
        result = result * self._inverse_root(values.right)
        share = self._diagonal_slope(values.left, inner) + self._diagonal_slope(values.right, inner)
        return np.asarray(result - 0.5 * self.evaluate(values) * share)

    def feature_map(self, points: Points) -> Features:
        return self.kernel.feature_map(points).normalized()

    def place_shares(self, point: Points) -> Features:
        return self.kernel.place_shares(point)

    def _evaluate_exponential(self, values: Values) -> Array:
        logs = self.kernel.log_values(values)
        for side in (values.left, values.right):
            logs -= logs.dtype.type(0.5) * self.kernel.log_values(side)
        if self.definite is Definite.POSITIVE:
            # A definite kernel has no normalised value above 1; what is there is rounding.
            np.minimum(logs, 0, out=logs)
        return np.exp(logs, out=logs)

    def _inverse_root(self, side: Values) -> Array:
        diagonal = self.kernel.evaluate(side)
        if (diagonal < 0).any():
            raise InvalidInput(
                f"{self}: k(x, x) = {diagonal.min():g} is negative; only kernels with k(x, x) ≥ 0 "
                "can be normalised."
            )
        inverse = np.zeros_like(diagonal)
        np.divide(1, np.sqrt(diagonal), out=inverse, where=diagonal > 0)
        return inverse

    def _diagonal_slope(self, side: Values, name: str) -> Array:
        diagonal = self.kernel.evaluate(side)
        slope = self.kernel.gradient(side, name)
        return np.divide(slope, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)

    def __repr__(self) -> str:
        return f"{bracketed(self.kernel, 3)}.normalized()"


class On(Wrapper):
    """A kernel on some columns of a table or an array.

    k(x, z) = k'(x[columns], z[columns])

    ``missing`` says what becomes of rows in which a value of these columns is missing: ``"error"``,
    they are refused; ``"zero"``, they have k(x, z) = 0 with all rows, so this kernel is silent
    about them; ``"own"``, they are like each other, k(x, z) = 1, and unlike the rest, 0.
    """

    def __init__(self, kernel: Kernel, columns: Sequence[Any], missing: str = "error") -> None:
        self.columns, self.missing = columns, missing
        super().__init__(kernel)

    def check_parameters(self) -> None:
        super().check_parameters()
        if isinstance(self.columns, str) or not len(self.columns):
            raise InvalidParameter(
                f"On: columns={self.columns!r} has to be a list of names or positions, not empty."
            )
        if len(set(self._key)) < len(self._key):
            raise InvalidParameter(f"On: columns={list(self.columns)} names a column twice.")
        if self.missing not in ("error", "zero", "own"):
            raise InvalidParameter(
                f"On: missing={self.missing!r} has to be 'error', 'zero' or 'own'."
            )

    @property
    def _key(self) -> tuple[Any, ...]:
        return tuple(map(Gappy, self.columns)) if self._forgiving else tuple(self.columns)

    @property
    def _forgiving(self) -> bool:
        return self.missing != "error"

    @property
    def _presence(self) -> Statistic:
        """Whether both rows of a pair are complete."""
        return DotProduct(PresenceEncoder()).within(tuple(self.columns))

    @property
    def definite(self) -> Definite:
        own = self.kernel.definite
        return definite.of_product(own, Definite.POSITIVE) if self._forgiving else own

    @property
    def divisible(self) -> bool:
        return self.kernel.divisible

    def resolve(self, points: Points) -> Self:
        inside = points.within(self._key)
        if self._forgiving:
            complete = np.flatnonzero(self._complete(points))
            inside = inside.take(complete) if complete.size else inside
        inner = self.kernel.resolve(inside)
        return self if inner is self.kernel else self.replace(kernel=inner)

    def encoders(self) -> dict[Encoder, str]:
        inner = self.kernel.encoders()
        found: dict[Encoder, str] = {
            ColumnEncoder(encoder, self._key): owner for encoder, owner in inner.items()
        }
        if self._forgiving:
            found[self._presence.encoder] = type(self).__name__
        return found

    def statistics(self) -> Sequence[Statistic]:
        inner = [statistic.within(self._key) for statistic in self.kernel.statistics()]
        return [*inner, self._presence] if self._forgiving else inner

    def evaluate(self, values: Values) -> Array:
        result = self.kernel.evaluate(values.within(self._key))
        if not self._forgiving:
            return result
        both = values[self._presence]
        result = result * both
        if self.missing == "own":
            result += 1 - values.left[self._presence] - values.right[self._presence] + both
        return result

    def gradient(self, values: Values, name: str) -> Array:
        inner = self.kernel.gradient(values.within(self._key), name.partition("__")[2])
        return inner * values[self._presence] if self._forgiving else inner

    def parameter_limits(self, points: Points) -> dict[str, float]:
        return super().parameter_limits(points.within(self._key))

    def feature_map(self, points: Points) -> Features:
        inner = self.kernel.feature_map(points.within(self._key))
        if not self._forgiving:
            return inner
        complete = self._complete(points)[:, None]
        shown = Features.outer(inner, Features.numbered(complete))
        if self.missing == "zero":
            return shown
        return Features.concatenate(shown, Features.numbered(1 - complete))

    def place_shares(self, point: Points) -> Features:
        if self._forgiving:
            return super().place_shares(point)
        return self.kernel.place_shares(point.within(self._key))

    def has_gaps(self, points: Points) -> BoolArray:
        if self._forgiving:
            return np.asarray(self._complete(points) == 0)
        return self.kernel.has_gaps(points.within(self._key))

    def games(self, a: Points, b: Points) -> list[Game]:
        columns = tuple(self.columns)
        names: dict[Player, Player] = dict(enumerate(columns))
        names[WHOLE] = columns[0] if len(columns) == 1 else columns
        whole = self.one_game(a, b).renamed(names)
        if self.has_gaps(a).any() or self.has_gaps(b).any():
            return [whole]  # a row that lacks one value is compared by none of them
        try:
            inner = self.kernel.games(a.within(self._key), b.within(self._key))
        except NoExplanation:  # the columns act together, as one player
            return [whole]
        return [game.renamed(names) for game in inner]

    def feature_width(self, points: Points) -> float:
        return self.kernel.feature_width(points.within(self._key))

    def _complete(self, points: Points) -> Array:
        """Return 1 for each row without missing values, 0 for the others."""
        leaf: Any = points[self._presence.encoder]
        return np.asarray(leaf.values[:, 0], dtype=points.dtype)

    def __repr__(self) -> str:
        names = ", ".join(repr(column) for column in self.columns)
        names += f", missing={self.missing!r}" if self._forgiving else ""
        return f"{bracketed(self.kernel, 3)}.on({names})"


class FunctionKernel(Kernel):
    """A plain Python function as a kernel.

    k(x, z) = f(x, z), called for each pair; with ``vectorized=True`` f takes two batches and
    returns the matrix of all pairs. Say ``positive=True`` if you know that it is positive
    semi-definite.

    Parameters
    ----------
    function : callable
        f, of two objects, or of two batches.
    vectorized : bool
        Whether f takes two batches.
    positive : bool
        Whether k is known to be positive semi-definite.

    Examples
    --------
    >>> from mercer import FunctionKernel
    >>> common = FunctionKernel(lambda x, z: len(x & z), positive=True)
    >>> common([{1, 2, 3}, {2, 3}, {9}])
    array([[3., 2., 0.],
           [2., 2., 0.],
           [0., 0., 1.]])
    """

    encoder = ObjectEncoder()
    is_function = True

    def __init__(
        self,
        function: Callable[[Any, Any], Any],
        vectorized: bool = False,
        positive: bool = False,
    ) -> None:
        self.function, self.vectorized, self.positive = function, vectorized, positive
        super().__init__()

    def check_parameters(self) -> None:
        if not callable(self.function):
            raise InvalidParameter(
                f"FunctionKernel: function={self.function!r} has to be a function of two objects."
            )

    @property
    def definite(self) -> Definite:
        return Definite.POSITIVE if self.positive else Definite.UNKNOWN

    def compare(self, a: Objects, b: Objects) -> Array:
        if self.vectorized:
            matrix = np.asarray(self.function(a.items, b.items))
            if matrix.shape != (len(a), len(b)):
                raise InvalidInput(
                    f"{self}: the function returned an array of shape {matrix.shape} for "
                    f"{len(a)} × {len(b)} objects."
                )
            if matrix.dtype.kind not in "fiub":
                raise InvalidInput(
                    f"{self}: the function returned values of type {matrix.dtype}, not real "
                    "numbers."
                )
            return matrix.astype(np.float64)
        result = np.empty((len(a), len(b)))
        for i, x in enumerate(a.items):
            for j, z in enumerate(b.items):
                result[i, j] = self._value(x, z)
        return result

    def compare_self(self, a: Objects) -> Array:
        if self.vectorized:
            return super().compare_self(a)
        return np.array([self._value(x, x) for x in a.items])

    def _value(self, x: Object, z: Object) -> float:
        value = self.function(x, z)
        try:
            if getattr(value, "ndim", 0):  # NumPy 2.0 would make a number of one value in an array
                raise TypeError
            return float(value)
        except (TypeError, ValueError):
            raise InvalidInput(
                f"{self}: the function returned {value!r}, not a number. A function of whole "
                "batches needs vectorized=True."
            ) from None


class Precomputed(Kernel):
    """A matrix of kernel values as a kernel over its row numbers.

    k(i, j) = K[i, j]

    An object that is none of its rows is given by its values against all of them.

    Parameters
    ----------
    matrix : array of shape (n, n)
        K.

    Examples
    --------
    >>> from mercer import Precomputed
    >>> k = Precomputed([[2.0, 1.0], [1.0, 3.0]])
    >>> k([0, 1, 1])
    array([[2., 1., 1.],
           [1., 3., 3.],
           [1., 3., 3.]])
    """

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix
        super().__init__()

    def check_parameters(self) -> None:
        matrix = np.asarray(self.matrix)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
            raise InvalidParameter(
                f"Precomputed: the matrix has shape {matrix.shape}; it has to be square."
            )
        if matrix.dtype.kind not in "fiub":
            raise InvalidParameter(f"Precomputed: a matrix of type {matrix.dtype} is not real.")
        if not np.isfinite(matrix).all():
            i, j = np.argwhere(~np.isfinite(matrix))[0]
            raise InvalidParameter(f"Precomputed: entry ({i}, {j}) is not a finite number.")
        gap = np.abs(matrix.astype(np.float64) - matrix.T)
        if gap.max() > 1e-6 * np.abs(matrix).max():
            i, j = np.unravel_index(gap.argmax(), gap.shape)
            raise InvalidParameter(
                f"Precomputed: entries ({i}, {j}) and ({j}, {i}) differ by {gap[i, j]:g}; a kernel "
                "is symmetric. Take (K + K.T) / 2 if you mean that."
            )

    @property
    def encoder(self) -> Encoder:  # type: ignore[override]
        return RowNumberEncoder(len(self.matrix))

    def compare(self, a: Objects, b: Objects) -> Array:
        if a.items.ndim == b.items.ndim == 2:
            self._refuse_new_pairs()
        if b.items.ndim == 2:
            return self.compare(b, a).T
        if a.items.ndim == 2:
            return np.asarray(a.items[:, b.items], dtype=self._dtype)
        return np.asarray(np.asarray(self.matrix)[np.ix_(a.items, b.items)], dtype=self._dtype)

    def compare_self(self, a: Objects) -> Array:
        if a.items.ndim == 2:
            self._refuse_new_pairs()
        return np.asarray(np.asarray(self.matrix)[a.items, a.items], dtype=self._dtype)

    def training_points(self, X: Objects) -> Points:
        """Return all rows of the matrix, whatever ``X`` is."""
        return self.all_rows()

    @property
    def known_rows(self) -> int:
        return len(self.matrix)

    def all_rows(self) -> Points:
        """Return the rows of the matrix as points."""
        return Kernel.encode(self, np.arange(len(self.matrix)))

    def _refuse_new_pairs(self) -> None:
        n = len(self.matrix)
        raise InvalidType(
            f"{type(self).__name__}: values of two new objects with each other are not known, only "
            f"those with the rows of its {n} × {n} matrix. Pass np.arange({n}) for these rows."
        )

    @property
    def _dtype(self) -> np.dtype[Any]:
        own = np.asarray(self.matrix).dtype
        return own if own == np.float32 else np.dtype(np.float64)
