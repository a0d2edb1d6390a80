"""What errors cost: rows of one class that are missed may count more than those of another."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from mercer.exceptions import InvalidParameter
from mercer.study.plan import Plan


def class_costs(plan: Plan, cost: Mapping[Any, Any] | None) -> dict[Any, float] | None:
    """Return what it costs to miss a row of each class, 1 where nothing is said.

    Labels are compared as text, so that those of a command line will do.
    """
    if not cost:
        return None
    if plan.table.task == "number":
        raise InvalidParameter("cost: errors have costs where classes are predicted, not a number.")
    if "class_weight" not in plan.machine.row.estimator().get_params(deep=False):
        raise InvalidParameter(
            f"cost: the machine {plan.machine.name!r} does not weigh classes. Choose another one."
        )
    labels = np.unique(plan.y[plan.train]).tolist()
    known = {str(label): label for label in labels}
    for label, value in cost.items():
        if str(label) not in known:
            named = ", ".join(map(repr, list(known)[:8]))
            raise InvalidParameter(f"cost: there is no class {str(label)!r}. There are {named}.")
        if isinstance(value, bool | str) or not (math.isfinite(value) and value > 0):
            raise InvalidParameter(f"cost: {value!r} for {str(label)!r} has to be a number > 0.")
    given = {known[str(label)]: float(value) for label, value in cost.items()}
    return {label: given.get(label, 1.0) for label in labels}


def costs_in_words(costs: Mapping[Any, float]) -> str:
    """Say what errors cost."""
    dear = ", ".join(f"{value:g} for {str(label)!r}" for label, value in costs.items())
    return f"To miss a row costs {dear}: the answer is the class that costs least on average."
