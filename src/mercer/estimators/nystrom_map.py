"""Features through landmarks as a transformer, for any kernel on any data."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import FLOAT_DTYPES, check_is_fitted, validate_data

from mercer._atomic_fit import AtomicFit
from mercer._deprecated import renamed
from mercer._files.fields import NONE, A, Number, Numbers, OneOf, State, WrongState
from mercer._sklearn import num_samples
from mercer._typing import Array, Objects, Targets
from mercer.estimators.constructor import parameters
from mercer.estimators.state import SEEN, check_points
from mercer.exceptions import InvalidParameter
from mercer.kernels.base import Kernel, is_kernel
from mercer.kernels.vectors.radial import RBF
from mercer.landmarks.basis import LandmarkBasis
from mercer.landmarks.choose import Nystrom, choose_landmarks
from mercer.landmarks.nystrom_kernel import NystromKernel

_USUAL = 100
"""Landmarks where nothing is said, as in scikit-learn's Nystroem."""


@renamed(seed="random_state")
@parameters
class NystromMap(AtomicFit, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
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
    random_state : int or None
        Of the choice.
    seed : int or None
        The old name of ``random_state``.

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

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NystromMap, RBF
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> rows = NystromMap(RBF(length_scale=1.0), 8).fit_transform(X)
    >>> rows.shape, bool(abs(rows @ rows.T - RBF(length_scale=1.0)(X)).max() < 1e-6)
    ((50, 8), True)
    """

    STATE: ClassVar[State] = {
        **SEEN,
        "kernel_": A(Kernel),
        "approximation_": A(NystromKernel),
        "component_indices_": OneOf(NONE, Numbers("landmarks", types="i", low=0)),
        "residual_trace_": Number(low=0),
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` where landmarks, rows and kernel do not fit."""
        check_points(self, self.approximation_.points)
        index = self.component_indices_
        if index is not None and len(index) != len(self.approximation_):
            raise WrongState("its landmarks are not as many as their row numbers")

    kernel: Kernel | None = None
    n_components: int | None = None
    _: KW_ONLY
    method: str = "pivoted"
    random_state: int | None = 0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.approximation_)

    def fit(self, X: Objects, y: Targets = None) -> Self:
        """Choose landmarks among the rows of X; ``y`` is ignored."""
        self._map(X)
        return self

    def fit_transform(self, X: Objects, y: Targets = None) -> Array:
        """Do ``fit`` and ``transform`` in one pass."""
        del y
        return self._map(X)

    def transform(self, X: Objects) -> Array:
        """Return the rows z(x)."""
        check_is_fitted(self)
        X = self._read(X, reset=False)
        return self.approximation_.basis.features(self.kernel_.encode(X))

    def _map(self, X: Objects) -> Array:
        kernel = self._given()
        X = self._read(X, reset=True)
        points = kernel.encode(X)
        count = min(_USUAL, num_samples(X)) if self.n_components is None else self.n_components
        spec = Nystrom(count, self.method, self.random_state)
        self.kernel_ = kernel.resolve(points)
        landmarks = choose_landmarks(self.kernel_, points, spec)
        basis = LandmarkBasis(self.kernel_, landmarks.points)
        self.approximation_ = NystromKernel(self.kernel_, basis.points, basis.factor)
        self.component_indices_ = None if landmarks.index is None else landmarks.index[basis.kept]
        Z = basis.features(points)
        self.residual_trace_ = basis.residual_trace(points, Z)
        return Z

    def _given(self) -> Kernel:
        if self.kernel is None:
            return RBF()
        if not is_kernel(self.kernel):
            raise InvalidParameter(
                f"NystromMap: kernel={self.kernel!r} has to be a kernel, such as RBF()."
            )
        return self.kernel

    def _read(self, X: Objects, reset: bool) -> Objects:
        """Check rows of numbers as scikit-learn does; kernels read everything else themselves."""
        if self._takes_vectors():
            return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=FLOAT_DTYPES)
        return X

    def _takes_vectors(self) -> bool:
        return self._given().takes_vectors
