"""Fisher kernels: two objects are alike when they pull the parameters of a model alike."""

from __future__ import annotations

import copy
from typing import Any, Self, cast

import numpy as np

from mercer import _memory
from mercer._typing import Array, Model, Objects, Parameter
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.generative.named import form_of, read_model
from mercer.kernels.encoders import Encoder, VectorEncoder
from mercer.kernels.parameters import same_value
from mercer.kernels.points import Points, Vectors
from mercer.kernels.series.series_points import SeriesEncoder
from mercer.kernels.statistics import check_dimensions
from mercer.kernels.strings.words import StringEncoder
from mercer.kernels.vectors.explicit import FeatureKernel

_CHOICES = (True, False, "empirical", "diagonal")
_RELATIVE_RANK = 1e-10
"""Eigenvalues of the information below this share of the largest count as zero."""


class Fisher(FeatureKernel):
    """Fisher kernel of a generative model: objects that pull its parameters alike are alike.

    k(x, z) = u(x)ᵀ I⁻¹ u(z), u(x) = ∇ log p(x | θ), I = E[u uᵀ]

    ``model`` is a :class:`GaussianMixture` (of vectors), a :class:`HiddenMarkovModel` (of series or
    strings), a ``GaussianMixture`` of scikit-learn, or a text such as ``"mixture(n_components=3)"``
    or ``"hmm(n_states=3, emissions='discrete')"``. A model that was fitted before stays as it is;
    any other is fitted to the training points when the kernel is resolved, so inside the training
    fold. θ are logits of weights and probabilities, means, and logarithms of covariances; see
    ``fisher_scores`` of the models.

    Parameters
    ----------
    model : GaussianMixture, HiddenMarkovModel or str
        The generative model, or its text.
    information : bool, {"empirical", "diagonal"} or array
        True takes I exactly where it has a closed form and else its estimate, the mean of u uᵀ over
        the training points; ``"empirical"`` always that one, ``"diagonal"`` its diagonal alone,
        for models with thousands of parameters. False leaves I out: k = u(x)·u(z). An array is I
        itself, or its diagonal. The inverse is a pseudo-inverse: u has directions in which no
        object pulls.
    weights : {"softmax", "plain"}
        Scores of probabilities as functions of logits, r − π, or as if they were free, r/π.

    References
    ----------
    Jaakkola and Haussler, Exploiting generative models in discriminative classifiers, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Fisher
    >>> X = np.random.default_rng(0).normal(size=(50, 1))
    >>> k = Fisher("mixture(n_components=1)", "empirical")
    >>> round(float(k(X).diagonal().mean()), 6)  # two parameters: a mean and a variance
    2.0
    """

    def __init__(
        self, model: Model = "mixture", information: Parameter = True, *, weights: str = "softmax"
    ) -> None:
        self.model, self.information, self.weights = model, information, weights
        super().__init__()

    def check_parameters(self) -> None:
        if isinstance(self.model, str):
            form_of(self.model)
        elif not (hasattr(self.model, "fit") and _is_known(self.model)):
            raise InvalidParameter(
                f"Fisher: model={self.model!r} is no generative model. Use GaussianMixture, "
                "HiddenMarkovModel or scikit-learn's GaussianMixture."
            )
        if self.weights not in ("softmax", "plain"):
            raise InvalidParameter(
                f"Fisher: weights={self.weights!r} has to be 'softmax' or 'plain'."
            )
        if isinstance(self.information, bool | str | None):
            if self.information not in _CHOICES:
                raise InvalidParameter(
                    f"Fisher: information={self.information!r} has to be True, False, "
                    "'empirical', 'diagonal', or an array."
                )
        else:
            _check_information(np.asarray(self.information))

    # ---- the model ---------------------------------------------------------------------------

    def set_params(self, **params: Parameter) -> Self:
        frozen = not isinstance(self.model, str) and _is_fitted(self.model)
        inner = [name for name in params if name.startswith("model__")]
        if frozen and inner and "model" not in params:
            raise InvalidParameter(
                f"Fisher: {inner[0]} cannot be set: the model was fitted before and stays as it "
                "is. Pass a model that was not fitted."
            )
        return super().set_params(**params)

    def __sklearn_clone__(self) -> Self:
        clone = super().__sklearn_clone__()
        clone.model = self._copy_of_model()
        return clone

    def __eq__(self, other: object) -> bool:
        if type(other) is not Fisher:
            return NotImplemented
        return (
            same_value(self.information, other.information)
            and self.weights == other.weights
            and _same_model(self.model, other.model)
        )

    def __hash__(self) -> int:
        kind = self.model if isinstance(self.model, str) else type(self.model)
        return hash((Fisher, kind, self.weights))

    def resolve(self, points: Points) -> Self:
        data = _given(points[self.encoder])
        model = self.model
        if isinstance(model, str) or not _is_fitted(model):
            model = self._unfitted()
            model.fit(data)
        model = _adopted(model)
        if model is self.model and self._is_settled:
            return self
        information: Any = self.information
        if not self._is_settled:
            information = self._information(model, data)
        return self.replace(model=model, information=information)

    @property
    def _is_settled(self) -> bool:
        """Whether the information is left out or given."""
        return self.information is False or not isinstance(self.information, bool | str | None)

    def _unfitted(self) -> Any:
        if isinstance(self.model, str):
            return read_model(self.model)
        from sklearn.base import clone

        return clone(self.model)

    def _copy_of_model(self) -> Any:
        if isinstance(self.model, str):
            return self.model
        return copy.copy(self.model) if _is_fitted(self.model) else self._unfitted()

    def _information(self, model: Model, data: Objects) -> Array:
        exact = model.fisher_information() if self.information is True else None
        if exact is not None and self.weights == "softmax":
            return np.asarray(exact)
        scores = model.fisher_scores(data, self.weights)
        if self.information == "diagonal":
            return np.asarray((scores**2).mean(axis=0))
        width = scores.shape[1]
        _memory.require(
            3 * 8 * width**2,
            f"The information of {width:,} parameters",
            "Use information='diagonal', or a smaller model.",
        )
        return np.asarray(scores.T @ scores / len(scores))

    # ---- the kernel --------------------------------------------------------------------------

    @property
    def encoder(self) -> Encoder:  # type: ignore[override]
        model = form_of(self.model) if isinstance(self.model, str) else self.model
        takes = getattr(model, "takes", "vectors")
        encoder: Encoder = _ENCODERS[takes](model)
        return encoder

    def phi(self, leaf: Any) -> Array:
        """Return the rows I^(−1/2) u(x)."""
        if isinstance(self.model, str) or not (self._is_settled and _is_fitted(self.model)):
            raise InvalidParameter(
                f"{self}: the model has to be settled on training points first: "
                "kernel.resolve(points)."
            )
        scores = _adopted(self.model).fisher_scores(_given(leaf), self.weights)
        if self.information is not False:
            scores = _whitened(scores, np.asarray(self.information, dtype=np.float64))
        kind = getattr(leaf, "dtype", np.dtype(np.float64))
        return np.ascontiguousarray(scores, dtype=kind)

    def prepare(self, a: Any, b: Any) -> tuple[Vectors, Vectors]:
        if hasattr(a, "dimension") and hasattr(b, "dimension"):
            check_dimensions(a, b)
        left = Vectors(self.phi(a))
        return left, left if b is a else Vectors(self.phi(b))


_ENCODERS: dict[str, Any] = {
    "vectors": lambda model: VectorEncoder(),
    "series": lambda model: SeriesEncoder(model.time),
    "strings": lambda model: StringEncoder(),
}


def _given(leaf: Any) -> Any:
    """Return encoded objects in the form that models take."""
    if hasattr(leaf, "items"):
        return leaf.items
    if hasattr(leaf, "lengths"):
        from mercer.generative.sequences import Sequences

        return Sequences(leaf.values.astype(np.float64, copy=False), leaf.lengths.astype(np.intp))
    return cast(Vectors, leaf).dense().astype(np.float64, copy=False)


def _is_known(model: Model) -> bool:
    """Tell whether scores of a model can be had: it gives them, or is a Gaussian mixture."""
    return hasattr(model, "fisher_scores") or hasattr(model, "covariance_type")


def _is_fitted(model: Model) -> bool:
    return any(name.endswith("_") and not name.startswith("_") for name in vars(model))


def _adopted(model: Model) -> Any:
    """Return a fitted model that gives scores: a mixture of scikit-learn becomes one of ours."""
    if hasattr(model, "fisher_scores"):
        return model
    from mercer.generative.mixture import GaussianMixture

    return GaussianMixture.of(
        model.weights_ / np.sum(model.weights_),
        model.means_,
        model.covariances_,
        model.covariance_type,
    )


def _same_model(a: Any, b: Any) -> bool:
    if a is b or isinstance(a, str) or isinstance(b, str):
        return bool(a == b)
    left, right = vars(a), vars(b)
    return (
        type(a) is type(b)
        and left.keys() == right.keys()
        and all(same_value(value, right[name]) for name, value in left.items())
    )


def _whitened(scores: Array, information: Array) -> Array:
    """Return rows I^(−1/2) u; directions without information are left out."""
    sizes = information.shape[0]
    if sizes != scores.shape[1]:
        raise InvalidInput(
            f"Fisher: information is for {sizes:,} parameters and the model has "
            f"{scores.shape[1]:,}."
        )
    if information.ndim == 1:
        return scores * _inverse_roots(information)
    values, vectors = np.linalg.eigh(information)
    roots = _inverse_roots(values)
    used = roots > 0
    # The symmetric root does not depend on how eigenvectors are chosen.
    inverse = (vectors[:, used] * roots[used]) @ vectors[:, used].T
    return np.asarray(scores @ inverse)


def _inverse_roots(values: Array) -> Array:
    large = values > _RELATIVE_RANK * max(float(values.max(initial=0.0)), 0.0)
    return np.where(large, 1 / np.sqrt(np.where(large, values, 1.0)), 0.0)


def _check_information(information: Parameter) -> None:
    good = information.dtype.kind in "fiu" and information.ndim in (1, 2) and information.size
    if not good or not np.isfinite(information).all():
        raise InvalidParameter(
            "Fisher: information has to be a matrix of numbers, one row for each parameter of the "
            "model, or its diagonal."
        )
    if information.ndim == 2 and not (
        information.shape[0] == information.shape[1] and np.allclose(information, information.T)
    ):
        raise InvalidParameter("Fisher: the matrix information has to be symmetric.")
