"""How independent components are stored."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._files.fields import COUNT, A, Kind, Maybe, Mismatch, Number, Numbers

_MATRICES: dict[str, Kind] = {
    "n_features_in_": COUNT,
    "feature_names_in_": Maybe(A(np.ndarray, size="features")),
    "components_": Numbers("sources", "features", any_order=True),
    "mixing_": Numbers("features", "sources", any_order=True),
    "n_iter_": COUNT,
}

ICA: dict[str, Kind] = {
    **_MATRICES,
    "mean_": Numbers("features"),
    "whitening_": Numbers("sources", "features", any_order=True),
    "gradient_": Number(low=0),
    "gaussian_": A(np.ndarray, size="sources"),
}
FAST: dict[str, Kind] = {
    **_MATRICES,
    "mean_": Maybe(Numbers("features")),
    "whitening_": Maybe(Numbers("sources", "features", any_order=True)),
    "_unmixing": Numbers("sources", "sources", any_order=True),
}


def check(model: Any) -> None:
    """Refuse matrices that do not belong to the columns, or a whitening without its mean."""
    if model.components_.shape[1] != model.n_features_in_:
        raise Mismatch("its components have not as many columns as its training data")
    if hasattr(model, "mean_") != (getattr(model, "whiten", True) is not False):
        raise Mismatch("it has a mean where it does not whiten, or none where it does")
    if hasattr(model, "gaussian_") and model.gaussian_.dtype != np.bool_:
        raise Mismatch("what it says of Gaussian sources is not true or false")
