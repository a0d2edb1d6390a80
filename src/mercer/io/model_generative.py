"""How generative models are stored: their parameters, which have to make sense together."""

from __future__ import annotations

from typing import Any

from mercer._files.fields import COUNT, FLAG, A, Kind, ListOf, Maybe, Mismatch, Number, Numbers
from mercer.exceptions import CannotSave
from mercer.generative.gaussian import SHAPES
from mercer.generative.hidden_markov import HiddenMarkovModel
from mercer.generative.mixture import GaussianMixture

_FIT: dict[str, Kind] = {
    "trace_": Maybe(Numbers("steps")),
    "converged_": Maybe(FLAG),
    "n_iter_": Maybe(COUNT),
}

MIXTURE: dict[str, Kind] = {
    **_FIT,
    "weights_": Numbers("components", low=0),
    "means_": Numbers("components", "features"),
    "covariances_": A(object),
    "n_features_in_": COUNT,
    "lower_bounds_": Maybe(ListOf(Number())),
    "lower_bound_": Maybe(Number()),
}

CHAIN: dict[str, Kind] = {
    **_FIT,
    "start_": Numbers("states", low=0),
    "transitions_": Numbers("states", "states", low=0),
    "probabilities_": Maybe(Numbers("states", "symbols", low=0)),
    "alphabet_": Maybe(A(tuple, size="symbols")),
    "means_": Maybe(Numbers("states", "features")),
    "covariances_": Maybe(A(object)),
}


def check_mixture(model: Any) -> None:
    """Raise :class:`Mismatch` unless the parameters are those of a mixture."""
    _check_numbers(model.covariances_, model)
    GaussianMixture.of(model.weights_, model.means_, model.covariances_, model.covariance_type)
    if model.n_features_in_ != model.means_.shape[1]:
        raise Mismatch("it has not one mean for each column")


def check_chain(model: Any) -> None:
    """Raise :class:`Mismatch` unless the parameters are those of a hidden Markov model."""
    chain = model.start_, model.transitions_
    if model.emissions == "gaussian":
        _check_numbers(model.covariances_, model)
        HiddenMarkovModel.gaussian(
            *chain, model.means_, model.covariances_, model.covariance_type, model.time
        )
    else:
        if not all(isinstance(symbol, str | int) for symbol in model.alphabet_):
            raise Mismatch("its alphabet is not made of symbols")
        HiddenMarkovModel.discrete(*chain, model.probabilities_, model.alphabet_)


def unfitted_state(model: Any) -> dict[str, Any]:
    """Return the parameters of a mixture of scikit-learn, which a kernel fits itself."""
    if hasattr(model, "means_"):
        raise CannotSave(
            "a fitted GaussianMixture of scikit-learn cannot be saved. Use "
            "mercer.GaussianMixture.of(weights_, means_, covariances_, covariance_type)."
        )
    return {"params": model.get_params(deep=False)}


def _check_numbers(covariances: Any, model: Any) -> None:
    dimensions = len(SHAPES[model.covariance_type].shape(1, 1))
    Numbers(*[f"axis {i}" for i in range(dimensions)]).check(covariances, {})
