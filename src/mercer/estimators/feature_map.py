"""The finite feature map of a kernel as a transformer, for linear machines."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import FLOAT_DTYPES, check_is_fitted, validate_data

from mercer._atomic_fit import AtomicFit
from mercer._files.fields import A, Numbers, State
from mercer._typing import Objects, Parameter, Targets
from mercer.estimators.constructor import parameters
from mercer.estimators.state import SEEN
from mercer.exceptions import InvalidParameter, NoFeatureMap
from mercer.kernels.base import Kernel, is_kernel
from mercer.kernels.features import Features
from mercer.kernels.vectors.dot import Linear


@parameters
class FeatureMap(AtomicFit, TransformerMixin, BaseEstimator):
    """The rows φ(x) of a kernel with finite features, k(x, z) = φ(x)·φ(z).

    Sparse maps, such as those of strings and graphs, give CSR matrices, others arrays.
    ``fit`` keeps the coordinates that occur in the training data; ``transform`` drops all others,
    after normalising where the kernel does. ``make_pipeline(FeatureMap(kernel), LinearSVC())`` is
    then a kernel machine whose time and memory grow with the data, not with their square.

    Parameters
    ----------
    kernel : Kernel or None
        The kernel; ``None`` is :class:`Linear`, which changes nothing.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with parameters such as ``"scale"`` settled on the training data.
    keys_ : array of uint64
        The name of each column.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from mercer import FeatureMap, LinearSVC, Spectrum
    >>> machine = make_pipeline(FeatureMap(Spectrum(k=2)), LinearSVC())
    >>> machine = machine.fit(["ACACAC", "CACACA", "GTGTGT", "TGTGTG"], [0, 0, 1, 1])
    >>> machine[0].transform(["ACAC"]).shape, machine.predict(["CCACAA"])  # AC, CA, GT, TG
    ((1, 4), array([0]))
    """

    STATE: ClassVar[State] = {**SEEN, "kernel_": A(Kernel), "keys_": Numbers("keys", types="u")}

    kernel: Kernel | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Objects, y: Targets = None) -> Self:
        """Find the coordinates that the rows of X have; ``y`` is ignored."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Objects, y: Targets = None) -> Any:
        """Do ``fit`` and ``transform`` in one pass."""
        del y
        kernel = Linear() if self.kernel is None else self.kernel
        if not is_kernel(kernel):
            raise InvalidParameter(
                f"FeatureMap: kernel={kernel!r} has to be a kernel, such as Polynomial(2)."
            )
        if not kernel.has_features:
            raise NoFeatureMap(
                f"FeatureMap: {kernel} has no finite feature map. Use a machine with the kernel "
                "itself, or RandomFourierFeatures."
            )
        X = self._read(X, kernel, reset=True)
        points = kernel.encode(X)
        self.kernel_ = kernel.resolve(points)
        features = self.kernel_.feature_map(points)
        self.keys_ = features.keys
        return _matrix(features)

    def transform(self, X: Objects) -> Any:
        """Return φ of the rows of X over the coordinates of the training data."""
        check_is_fitted(self)
        X = self._read(X, self.kernel_, reset=False)
        features = self.kernel_.feature_map(self.kernel_.encode(X))
        return _matrix(features.aligned(self.keys_))

    def get_feature_names_out(self, input_features: Parameter = None) -> np.ndarray[Any, Any]:
        """Return the names of the columns: their keys in hexadecimal digits."""
        del input_features
        check_is_fitted(self)
        return np.array([f"x{int(key):x}" for key in self.keys_], dtype=object)

    def _read(self, X: Objects, kernel: Kernel, reset: bool) -> Any:
        """Check rows of numbers as scikit-learn does; kernels read everything else themselves."""
        if kernel.takes_vectors:
            return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=FLOAT_DTYPES)
        return X


def _matrix(features: Features) -> Any:
    values = features.values
    return sparse.csr_array(values) if features.is_sparse else values
