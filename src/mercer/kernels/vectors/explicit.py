"""Kernels that are given by their feature map."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Self, cast

import numpy as np

from mercer import _memory
from mercer._deprecated import renamed
from mercer._typing import Array, Parameter
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.kernels.base import Kernel
from mercer.kernels.definite import Definite
from mercer.kernels.encoders import VectorEncoder
from mercer.kernels.features import Features
from mercer.kernels.parameters import check_number
from mercer.kernels.points import Points, Vectors
from mercer.kernels.statistics import check_dimensions, products
from mercer.kernels.vectors.dot import monomials
from mercer.kernels.vectors.radial import RBF, Radial

_LARGE = 1 << 26
"""From 64 MiB on the memory of a feature map is compared with what there is."""


class Mapped(Kernel):
    """k(x, z) = φ(x)·φ(z): positive definite, whatever φ is."""

    definite = Definite.POSITIVE
    has_features = True


class KeyedFeatures(Mapped):
    """Sparse rows φ(x) with hashed keys, which a subclass defines in ``phi``."""

    def phi(self, leaf: Any) -> Features:
        """Return the rows φ(x) with their keys; each depends on its own object only."""
        raise NotImplementedError

    def sides(self, *matrices: Any) -> list[Any]:
        """Return rows in the form that ``compare`` takes; all have the same columns."""
        raise NotImplementedError

    def feature_map(self, points: Points) -> Features:
        return self.phi(points[self.encoder])

    def prepare(self, a: Any, b: Any) -> tuple[Any, Any]:
        return self.prepare_rows(a, b, self.phi)

    def prepare_rows(self, a: Any, b: Any, phi: Callable[[Any], Features]) -> tuple[Any, Any]:
        """Return the rows of a map of both leaves, as ``compare`` takes them."""
        left = phi(a)
        if b is a:
            [side] = self.sides(left.values)
            return side, side
        right = phi(b)
        # Coordinates that one side alone has count in its norm.
        keys = np.union1d(left.keys, right.keys)
        first, second = self.sides(left.aligned(keys).values, right.aligned(keys).values)
        return first, second


class FeatureKernel(Mapped):
    """k(x, z) = φ(x)·φ(z) for a map φ of vectors that a subclass defines in ``phi``.

    :class:`MapKernel` takes a function instead, of any objects.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import FeatureKernel
    >>> class Angles(FeatureKernel):
    ...     def phi(self, vectors):
    ...         return np.hstack([np.cos(vectors.dense()), np.sin(vectors.dense())])
    >>> Angles()([[0.0], [np.pi]]).round(4)  # cos(x − z)
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    encoder = VectorEncoder()

    def phi(self, vectors: Vectors) -> Array:
        """Return the rows φ(x)."""
        raise NotImplementedError

    def feature_map(self, points: Points) -> Features:
        return Features.numbered(self.phi(cast(Vectors, points[self.encoder])))

    def prepare(self, a: Vectors, b: Vectors) -> tuple[Vectors, Vectors]:
        check_dimensions(a, b)
        left = Vectors(self.phi(a))
        return left, left if b is a else Vectors(self.phi(b))

    def compare(self, a: Vectors, b: Vectors) -> Array:
        return products(a.values, b.values)

    def compare_self(self, a: Vectors) -> Array:
        return a.squared_norms.copy()


class Monomials(FeatureKernel):
    """All monomials up to a degree, each with weight 1.

    φ(x) = (1, x₁, x₂, …, x₁², x₁x₂, …), k(x, z) = φ(x)·φ(z)

    Parameters
    ----------
    degree : int
        The largest degree.

    Examples
    --------
    >>> from mercer import Monomials
    >>> Monomials(degree=2).features([[2.0, 3.0]]).toarray()  # 1, x₁, x₂ and their products
    array([[1., 2., 3., 4., 6., 9.]])
    >>> Monomials(degree=2)([[2.0, 3.0]], [[1.0, 1.0]])
    array([[25.]])
    """

    def __init__(self, degree: int = 2) -> None:
        self.degree = degree
        super().__init__()

    def check_parameters(self) -> None:
        check_number(self, "degree", low=0, integer=True)

    def phi(self, vectors: Vectors) -> Array:
        ones = np.ones((len(vectors), 1), dtype=vectors.dtype)
        return monomials(np.hstack([ones, vectors.dense()]), int(self.degree), weighted=False)

    def feature_width(self, points: Points) -> float:
        d = cast(Vectors, points[self.encoder]).dimension
        return float(math.comb(d + int(self.degree), int(self.degree)))


class GaussianBasis(FeatureKernel):
    """Gaussian basis functions at given centres.

    φⱼ(x) = exp(−‖x − cⱼ‖²/(2σ²)), k(x, z) = φ(x)·φ(z)

    Parameters
    ----------
    centres : array of shape (m, d)
        The centres cⱼ.
    sigma : float
        The width σ > 0.

    Examples
    --------
    >>> from mercer import GaussianBasis
    >>> basis = GaussianBasis(centres=[[0.0], [2.0]], sigma=1.0)
    >>> basis.features([[0.0], [1.0]]).toarray().round(4)
    array([[1.    , 0.1353],
           [0.6065, 0.6065]])
    >>> basis([[0.0]], [[1.0]]).round(4)  # (1 + exp(−2)) exp(−½)
    array([[0.6886]])
    """

    def __init__(self, centres: Parameter, sigma: float = 1.0) -> None:
        self.centres, self.sigma = centres, sigma
        super().__init__()

    def check_parameters(self) -> None:
        check_number(self, "sigma", low=0, open_low=True)
        centres = np.asarray(self.centres)
        if centres.ndim != 2 or not centres.size or centres.dtype.kind not in "fiu":
            raise InvalidParameter(
                "GaussianBasis: centres has to be a table of numbers with one centre a row, got "
                f"shape {centres.shape}."
            )
        if not np.isfinite(centres).all():
            row = int(np.argwhere(~np.isfinite(centres))[0, 0])
            raise InvalidParameter(f"GaussianBasis: centres: centre {row} is not finite.")

    def phi(self, vectors: Vectors) -> Array:
        centres = np.asarray(self.centres, dtype=vectors.dtype)
        if centres.shape[1] != vectors.dimension:
            raise InvalidInput(
                f"GaussianBasis: the centres have {centres.shape[1]} columns and X has "
                f"{vectors.dimension}."
            )
        return RBF(sigma=self.sigma)(vectors.values, centres)


@renamed(seed="random_state")
class RandomFourierFeatures(FeatureKernel):
    """Random Fourier features: an approximation of a radial kernel, not the kernel itself.

    φ(x) = √(2/m) (cos ω₁·x, sin ω₁·x, …) with m/2 frequencies ω drawn from the spectral density;
    φ(x)·φ(z) → k(x, z) with an error of about 1/√m.

    Parameters
    ----------
    kernel : Radial
        The kernel that is approximated.
    components : int
        m.
    random_state : int
        Of the draws of ω.

    References
    ----------
    Rahimi and Recht, Random features for large-scale kernel machines, 2007.

    Examples
    --------
    >>> from mercer import RBF, RandomFourierFeatures
    >>> X, Z = [[0.0, 0.0]], [[1.0, 1.0]]
    >>> RBF(gamma=0.5)(X, Z).round(3)
    array([[0.368]])
    >>> RandomFourierFeatures(RBF(gamma=0.5), components=20_000)(X, Z).round(2)
    array([[0.37]])
    """

    def __init__(self, kernel: Radial, components: int = 500, random_state: int = 0) -> None:
        self.kernel, self.components, self.random_state = kernel, components, random_state
        super().__init__()

    def check_parameters(self) -> None:
        if not getattr(self.kernel, "has_spectrum", False):
            raise InvalidParameter(
                f"RandomFourierFeatures: {self.kernel!r} has no spectral density to draw from. Use "
                "RBF, Laplacian, Matern or RationalQuadratic."
            )
        check_number(self, "components", low=2, integer=True)
        check_number(self, "random_state", low=0, integer=True)

    def resolve(self, points: Points) -> Self:
        inner = self.kernel.resolve(points)
        return self if inner is self.kernel else self.replace(kernel=inner)

    def phi(self, vectors: Vectors) -> Array:
        d = vectors.dimension
        count = int(self.components) // 2
        size = 8 * int(self.components) * (2 * len(vectors) + d)
        if size > _LARGE:
            _memory.require(size, f"{self} of {len(vectors):,} rows", "Use fewer components.")
        random = np.random.default_rng(int(self.random_state))
        omega = self.kernel.frequencies(random, (count, d))
        scales = self.kernel.scales
        if scales is None:
            omega = omega * self.kernel.rate ** (1 / self.kernel.power)
        elif len(scales) != d:
            raise InvalidInput(f"{self}: {len(scales)} length scales for {d} columns.")
        else:
            omega = omega / np.asarray(scales)
        angles = products(vectors.values, omega.astype(vectors.dtype))
        result = np.hstack([np.cos(angles), np.sin(angles)])
        result *= result.dtype.type(count**-0.5)
        return result
