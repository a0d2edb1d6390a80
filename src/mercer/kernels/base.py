"""The base of all kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeGuard

import numpy as np

from mercer import _memory
from mercer._notebook import table_in_html
from mercer._typing import Array, BoolArray, Column, Objects
from mercer.exceptions import InvalidInput, NoExplanation, NoFeatureMap, NoGradient
from mercer.kernels.coalitions import WHOLE, Game, Over, PowerGame, ProductGame
from mercer.kernels.definite import Definite
from mercer.kernels.encoders import Encoder, row_count
from mercer.kernels.evaluation import Evaluator
from mercer.kernels.pairs import Pairs, Values
from mercer.kernels.parameters import Parametrised
from mercer.kernels.points import Points, is_points
from mercer.kernels.statistics import Compared, Side, Statistic

if TYPE_CHECKING:
    from mercer.kernels import algebra, wrappers
    from mercer.kernels.features import Features

_LARGE = 1 << 26
"""From 64 MiB on the memory of a matrix is compared with what there is."""


def is_kernel(value: object) -> TypeGuard[Kernel]:
    """Tell a kernel from the numbers, names, functions and matrices that may stand in its place."""
    return isinstance(value, Kernel)


class Kernel(Parametrised):
    """A symmetric similarity k(x, z) of two objects: parameters only, no fitted state.

    ``k(X)`` and ``k(X, Y)`` give matrices of values, ``k.diag(X)`` the values k(x, x). Kernels
    combine: ``k1 + k2``, ``k1 * k2``, ``2 * k``, ``k ** 3``, ``k.exp()``,
    ``k.power_series([...])``, ``k.normalized()``, ``k.on("age", "bmi")``.

    A kernel of one's own says what it looks at (``encoder``) and compares two batches
    (``compare``, ``compare_self``), or is a formula over statistics (``statistics``,
    ``evaluate``). Everything else follows.

    Examples
    --------
    >>> from mercer import RBF, Linear
    >>> k = 2 * Linear() + RBF(gamma=1.0)
    >>> k([[1.0], [2.0]]).round(4)  # 2·1·2 + exp(−1) between the two
    array([[3.    , 4.3679],
           [4.3679, 9.    ]])
    >>> k.diag([[1.0], [2.0]])
    array([3., 9.])
    >>> k.normalized()([[1.0], [2.0]]).round(4)
    array([[1.    , 0.8406],
           [0.8406, 1.    ]])
    """

    # Binary operators of NumPy scalars give way to ours.
    __array_ufunc__ = None

    binds: ClassVar[int] = 3
    """How tightly a kernel holds together as text: sums 0, products 1, powers 2, all others 3."""

    # ---- what a user calls -------------------------------------------------------------------

    def __call__(self, X: Objects, Y: Objects = None) -> Array:
        """Return the matrix of k(x, z) for x in ``X`` (rows) and z in ``Y`` (columns, default X).

        Heuristic parameters (``"scale"``, ``"median"``) are settled on ``Y``, or on ``X`` alone.
        """
        kernel, pairs = self._bind(X, Y)
        return kernel.dense(pairs)

    def diag(self, X: Objects) -> Array:
        """Return k(x, x) for every x in ``X``, without the matrix."""
        kernel, pairs = self._bind(X, None)
        return Evaluator(kernel, pairs).diagonal()

    def features(self, X: Objects) -> Features:
        """Return the finite feature map φ(x) of every x, with k(x, z) = φ(x)·φ(z) exactly."""
        if not self.has_features:
            raise NoFeatureMap(
                f"{self} has no finite feature map. RandomFourierFeatures approximates the map of "
                "a radial kernel."
            )
        points = self.encode(X)
        return self.resolve(points).feature_map(points)

    def gradients(self, X: Objects, Y: Objects = None) -> Iterator[tuple[str, Array]]:
        """Yield (name, ∂K/∂log θ) for each free parameter θ, one matrix at a time."""
        kernel, pairs = self._bind(X, Y)
        for name in kernel.free_parameters():

            def formula(values: Values, name: str = name) -> Array:
                return kernel.gradient(values, name)

            yield name, kernel.dense(pairs, formula)

    def distance(self, X: Objects, Y: Objects = None) -> Array:
        """Return ‖φ(x) − φ(z)‖ = √(k(x,x) + k(z,z) − 2 k(x,z)), the distance in feature space."""
        kernel, pairs = self._bind(X, Y)

        def formula(values: Values) -> Array:
            ends = kernel.evaluate(values.left) + kernel.evaluate(values.right)
            squared: Array = ends - 2 * kernel.evaluate(values)
            return np.sqrt(np.maximum(squared, 0))

        distances = kernel.dense(pairs, formula)
        if Y is None:
            # Rounding left the square roots of tiny differences.
            np.fill_diagonal(distances, 0)
        return distances

    # ---- the face for machines ---------------------------------------------------------------

    def encode(self, X: Objects) -> Points:
        """Return ``X`` as points: validated, compact, each distinct view of it made once."""
        if is_points(X):
            return X
        count = row_count(X)
        if count == 0:
            raise InvalidInput(f"{self}: X has no rows; at least one object is needed.")
        leaves, types = {}, []
        for encoder, owner in self.encoders().items():
            leaf: Any = encoder.encode(X, owner)
            leaves[encoder] = leaf
            dtype = getattr(leaf, "dtype", None)
            if dtype is not None:
                types.append(dtype)
        if not types:
            single = getattr(X, "dtype", None) == np.float32
            types = [np.dtype(np.float32 if single else np.float64)]
        return Points.of(leaves, count, np.result_type(*types))

    def training_points(self, X: Objects) -> Points:
        """Return training data as points; a kernel that holds them all does not need ``X``."""
        return self.encode(X)

    def resolve(self, points: Points) -> Self:
        """Return a kernel whose heuristic parameters are settled on training points."""
        settled = {
            name: value.resolve(points)
            for name, value in self.get_params(deep=False).items()
            if is_kernel(value)
        }
        changed = {n: kernel for n, kernel in settled.items() if kernel is not getattr(self, n)}
        return self.replace(**changed)

    @property
    def takes_vectors(self) -> bool:
        """Whether objects are rows of numbers and nothing else."""
        return all(encoder.takes_vectors for encoder in self.encoders())

    is_function: ClassVar[bool] = False
    """Whether the values are what a function of the user's returns."""

    @property
    def known_rows(self) -> int | None:
        """How many objects the kernel knows the values of, None where it computes them of any."""
        return None

    def terms(self) -> list[tuple[float, Kernel]]:
        """Return the summands w · k of this kernel, each as (w, k)."""
        return [(1.0, self)]

    def _repr_html_(self) -> str:
        """Show the kernel and its parameters in a notebook."""
        parameters = self.get_params(deep=False).items()
        definite = f"Definiteness: {self.definite.name.lower()}."
        return table_in_html(("parameter", "value"), list(parameters), title=repr(self),
                             below=[definite])  # fmt: skip

    @property
    def definite(self) -> Definite:
        """What is known of the definiteness of this kernel."""
        return Definite.UNKNOWN

    @property
    def divisible(self) -> bool:
        """Whether every power k^p with p > 0 is positive semi-definite."""
        return False

    @property
    def as_exponential(self) -> tuple[Statistic, float] | None:
        """The statistic s and the factor c with k = exp(c s), of kernels that have this form."""
        return None

    @property
    def is_exponential(self) -> bool:
        """Whether k = exp(g) was built from g, which ``log_values`` gives."""
        return False

    def log_values(self, values: Values) -> Array:
        """Return g = log k up to a constant, where ``is_exponential``."""
        raise NotImplementedError

    def log_gradient(self, values: Values, name: str) -> Array:
        """Return ∂g/∂log θ of the free parameter ``name``, where ``is_exponential``."""
        raise NotImplementedError

    @property
    def bounded(self) -> bool:
        """Whether no data can make a value overflow, so that nobody needs to look."""
        return False

    @property
    def isotropic(self) -> bool:
        """Whether k is a smooth function of the Euclidean distance alone, with ``derivative``."""
        return False

    @property
    def has_features(self) -> bool:
        """Whether a finite feature map exists."""
        return False

    def feature_map(self, points: Points) -> Features:
        """Return φ of encoded points; see ``features``."""
        raise NotImplementedError

    def place_shares(self, point: Points) -> Features:
        """Return which part of each coordinate of φ(x) each place of one object x makes.

        Rows are places: letters of a string, nodes of a graph. Each column that x has adds up to 1.
        """
        raise NoExplanation(
            f"{self} does not count what stands at the places of an object, so a place has no "
            "share of its own. Spectrum, Mismatch, GappyKmer, BagOfWords and WeisfeilerLehman do, "
            "their sums, and these normalised."
        )

    def feature_width(self, points: Points) -> float:
        """Return about how many numbers a row of the feature map holds; zeros do not count."""
        few = points.take(np.linspace(0, len(points) - 1, 8).astype(np.intp))
        return float(self.feature_map(few).values.size / len(few))

    def free_parameters(self) -> dict[str, float]:
        """Return the positive real parameters that can be learnt, by their (nested) names."""
        return {}

    @property
    def theta(self) -> Array:
        """The logarithms of the free parameters in their order, as kernels of scikit-learn have."""
        return np.log(list(self.free_parameters().values()))

    def parameter_limits(self, points: Points) -> dict[str, float]:
        """Return the largest values of those free parameters that have one, for some points."""
        return {}

    def with_parameters(self, values: dict[str, float]) -> Self:
        """Return a kernel with other values of free parameters, named as in free_parameters."""
        return self.replace(**values)

    def is_direct(self, differences: int) -> bool:
        """Whether ``direct`` is there and fast, for pairs with so many coordinates to compare."""
        return False

    def direct(self, a: Array, b: Array) -> Array:
        """Return the values of few rows of numbers in one compiled call, where ``is_direct``.

        The values of a row do not depend on the rows beside it.
        """
        raise NotImplementedError

    # ---- what a new kernel defines -----------------------------------------------------------

    encoder: Encoder
    """How a leaf kernel looks at objects."""

    def compare(self, a: Any, b: Any) -> Array:
        """Return k of all pairs of two leaves (of a kernel that is no formula of statistics)."""
        raise NotImplementedError

    def compare_self(self, a: Any) -> Array:
        """Return k(x, x) for every x of a leaf."""
        return np.array([self.compare(a.take(one), a.take(one))[0, 0] for one in _singles(len(a))])

    def prepare(self, a: Any, b: Any) -> tuple[Side, Side]:
        """Return both leaves in the form that ``compare`` wants; done once, not for each block."""
        return a, b

    def encoders(self) -> dict[Encoder, str]:
        """Return the ways in which this kernel looks at objects, and who asks for each."""
        return {self.encoder: type(self).__name__}

    def statistics(self) -> Sequence[Statistic]:
        """Return the statistics that ``evaluate`` asks for, each as often as it does."""
        return [Compared(self.encoder, self)]

    def evaluate(self, values: Values) -> Array:
        """Return k as a formula over the statistics of some pairs."""
        return values.fresh(Compared(self.encoder, self))

    def gradient(self, values: Values, name: str) -> Array:
        """Return ∂k/∂log θ of the free parameter ``name`` as a formula over statistics."""
        raise NoGradient(f"{self} has no derivative with respect to {name!r}.")

    def slopes(
        self, values: Values, names: Sequence[str], factor: Any = 1.0
    ) -> Iterator[tuple[str, Array]]:
        """Yield factor · ∂k/∂log θ of some free parameters; kernels may share work between them."""
        for name in names:
            yield name, self.gradient(values, name) * factor

    # ---- columns apart -------------------------------------------------------------------------

    over_columns: ClassVar[Over | None] = None
    """Whether k of rows is the product or the sum of k of their single columns."""

    def along(self, column: int) -> Kernel:
        """Return the kernel of one column, where ``over_columns`` says that there is one."""
        return self

    def games(self, a: Points, b: Points) -> list[Game]:
        """Return the summands of k(x, z) for all pairs as games of columns.

        See :mod:`mercer.kernels.coalitions`. A kernel that looks at an object as one thing has
        one player.
        """
        columns, known = (getattr(side[self.encoder], "dimension", 1) for side in (a, b))
        if columns != known:
            raise InvalidInput(f"{self}: the rows have {columns} columns, the points {known}.")
        if self.over_columns is None:
            if columns == 1:
                return [self.one_game(a, b)]
            raise NoExplanation(
                f"{self} is neither a product nor a sum over columns, so there is no exact "
                "share of a column. Permutation importance works for every machine: "
                "mercer.permutation_importance."
            )
        values = np.empty((len(a), len(b), columns))
        for j in range(columns):
            pairs = Pairs(a.column(self.encoder, j), b.column(self.encoder, j))
            values[:, :, j] = self.along(j).dense(pairs)
        players = tuple(range(columns))
        whole = ProductGame if self.over_columns is Over.PRODUCT else PowerGame
        return [whole(players, values)]

    def has_gaps(self, points: Points) -> BoolArray:
        """Tell the points in which a value is missing that this kernel would look at."""
        return np.zeros(len(points), dtype=bool)

    def one_game(self, a: Points, b: Points) -> Game:
        """Return the game of one player, who brings k itself."""
        return ProductGame((WHOLE,), self.dense(Pairs(a, b)).astype(np.float64)[:, :, None])

    # ---- algebra -----------------------------------------------------------------------------

    def __add__(self, other: Kernel | float) -> algebra.Sum:
        from mercer.kernels import algebra

        right = algebra.as_kernel(other)
        return NotImplemented if right is None else algebra.Sum(self, right)

    def __radd__(self, other: float) -> algebra.Sum:
        from mercer.kernels import algebra

        left = algebra.as_kernel(other)
        return NotImplemented if left is None else algebra.Sum(left, self)

    def __mul__(self, other: Kernel | float) -> algebra.Product | algebra.Scaled:
        from mercer.kernels import algebra

        node: algebra.Product | algebra.Scaled = algebra.product(self, other)
        return node

    __rmul__ = __mul__

    def __pow__(self, exponent: float) -> algebra.Power:
        from mercer.kernels import algebra

        return algebra.Power(self, exponent)

    def exp(self) -> algebra.Exp:
        """Return exp(k(x, z))."""
        from mercer.kernels import algebra

        return algebra.Exp(self)

    def power_series(
        self, coefficients: Sequence[float], radius: float = float("inf")
    ) -> algebra.PowerSeries:
        """Return Σᵢ aᵢ k(x, z)ⁱ with coefficients aᵢ ≥ 0, valid for ∣k∣ < ``radius``."""
        from mercer.kernels import algebra

        return algebra.PowerSeries(self, coefficients, radius)

    def normalized(self) -> wrappers.Normalized:
        """Return k(x, z) / √(k(x, x) k(z, z)), with 0 where a diagonal value is 0."""
        from mercer.kernels import wrappers

        return wrappers.Normalized(self)

    def on(self, *columns: Column, missing: str = "error") -> wrappers.On:
        """Return this kernel on some columns of a table (names) or of an array (positions).

        Rows in which one of these values is missing are refused (``missing="error"``), have k = 0
        with all rows (``"zero"``), or k = 1 with each other and 0 with the rest (``"own"``).
        """
        from mercer.kernels import wrappers

        if len(columns) == 1 and isinstance(columns[0], list | tuple | range | np.ndarray):
            columns = tuple(np.asarray(columns[0], dtype=object).tolist())
        return wrappers.On(self, columns, missing)

    # ---- helpers -----------------------------------------------------------------------------

    def _bind(self, X: Objects, Y: Objects) -> tuple[Self, Pairs]:
        A = self.encode(X)
        B = A if Y is None else self.encode(Y)
        return self.resolve(B), Pairs(A, B)

    def dense(self, pairs: Pairs, formula: Callable[[Values], Array] | None = None) -> Array:
        """Return the values of all pairs, or another formula of theirs, as one array."""
        n, m = pairs.shape
        size = n * m * pairs.dtype.itemsize
        if size > _LARGE:
            _memory.require(
                size,
                f"A matrix of {n:,} × {m:,} kernel values",
                "Use Gram(kernel, X), which multiplies without forming the matrix, float32 input, "
                "or fewer rows.",
            )
        return Evaluator(self, pairs, formula).dense()


def _singles(count: int) -> Iterator[slice]:
    return (slice(i, i + 1) for i in range(count))
