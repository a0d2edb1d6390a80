"""How unlikely each class is to a machine: what sets of classes are made of."""

from __future__ import annotations

import numpy as np

from mercer._typing import Array, Model, Objects


def likelihoods(machine: Model, X: Objects) -> Array:
    """Return how likely each class is for each object, by decision values without probabilities."""
    if hasattr(machine, "predict_proba"):
        return np.asarray(machine.predict_proba(X), dtype=float)
    return of_each_class(np.asarray(machine.decision_function(X), dtype=float))


def of_each_class(values: Array) -> Array:
    """Return one column for each class; of two classes, decision values are for the second one."""
    return np.column_stack([-values, values]) if values.ndim == 1 else values


def class_scores(likely: Array, measure: str = "lac") -> Array:
    """Return how unlikely each class is for each object.

    ``"lac"``: one minus its likelihood; ``"aps"``: that of it and all that are likelier.
    """
    if measure == "lac":
        return np.asarray(1 - likely)
    # Of equally likely classes each counts the others too: sets are a little larger then.
    return np.asarray((likely[:, None, :] * (likely[:, None, :] >= likely[:, :, None])).sum(2))
