"""Features through landmarks as a transformer, for any kernel on any data."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import FLOAT_DTYPES, _num_samples, check_is_fitted, validate_data

from mercer._typing import Array, IntArray
from mercer.exceptions import InvalidParameter
from mercer.gram.landmarks import Nystrom, choose_landmarks
from mercer.gram.nystrom import NystromBasis
from mercer.gram.nystrom_kernel import NystromKernel
from mercer.kernels.base import Kernel
from mercer.kernels.encoders import VectorEncoder
from mercer.kernels.radial import RBF

_USUAL = 100


class NystromMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Rows z(x) with z(x)·z(x′) ≈ k(x, x′), for any kernel and any data.

    z(x) = L⁻¹ (k(m₁, x), …, k(m_r, x)),  LLᵀ = K_MM

    The mᵢ are landmarks, chosen among the training objects. ``make_pipeline(NystromMap(kernel,
    500), LinearSVC())`` is a machine whose time grows with the number of rows, not with its
    square. scikit-learn's ``Nystroem`` gives the same rows, up to a rotation, where it draws the
    same landmarks.

    Parameters
    ----------
    kernel : Kernel or None
        A positive definite kernel; ``None`` is ``RBF()``.
    n_components : int or None
        The number of landmarks, at most that of the rows; ``None`` is 100, or all rows where
        there are fewer. Landmarks that the others explain give no feature.
    method : {"pivoted", "uniform", "kmeans", "leverage"}
        How landmarks are chosen; see :class:`Nystrom`.
    seed : int or None
        Of the choice.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with parameters such as ``"scale"`` settled on the training data.
    approximation_ : NystromKernel
        The kernel z(x)·z(x′), with the landmarks.
    component_indices_ : array or None
        The training rows that are landmarks; None for the centres of clusters.
    residual_trace_ : float
        tr(K − ZZᵀ) over the training data: the sum of the squared distances of all φ(xᵢ) from the
        span of the landmarks.
    """

    kernel_: Kernel
    approximation_: NystromKernel
    component_indices_: IntArray | None
    residual_trace_: float

    def __init__(
        self,
        kernel: Kernel | None = None,
        n_components: int | None = None,
        *,
        method: str = "pivoted",
        seed: int | None = 0,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.method = method
        self.seed = seed

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.approximation_)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose landmarks among the rows of X; ``y`` is ignored."""
        self._map(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Do ``fit`` and ``transform`` in one pass."""
        del y
        return self._map(X)

    def transform(self, X: Any) -> Array:
        """Return the rows z(x)."""
        check_is_fitted(self)
        X = self._read(X, reset=False)
        return self.approximation_.basis.features(self.kernel_.encode(X))

    def _map(self, X: Any) -> Array:
        kernel = self._given()
        X = self._read(X, reset=True)
        points = kernel.encode(X)
        count = min(_USUAL, _num_samples(X)) if self.n_components is None else self.n_components
        spec = Nystrom(count, self.method, self.seed)
        self.kernel_ = kernel.resolve(points)
        landmarks = choose_landmarks(self.kernel_, points, spec)
        basis = NystromBasis(self.kernel_, landmarks.points)
        self.approximation_ = NystromKernel(self.kernel_, basis.points, basis.factor)
        self.component_indices_ = None if landmarks.index is None else landmarks.index[basis.kept]
        Z = basis.features(points)
        self.residual_trace_ = basis.residual_trace(points, Z)
        return Z

    def _given(self) -> Kernel:
        if self.kernel is None:
            return RBF()
        if not isinstance(self.kernel, Kernel):
            raise InvalidParameter(
                f"NystromMap: kernel={self.kernel!r} has to be a kernel, such as RBF()."
            )
        return self.kernel

    def _read(self, X: Any, reset: bool) -> Any:
        """Check rows of numbers as scikit-learn does; kernels read everything else themselves."""
        if all(isinstance(encoder, VectorEncoder) for encoder in self._given().encoders()):
            return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=FLOAT_DTYPES)
        return X
