"""The functions behind the answers of a machine, in a form whose columns can be told apart."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array, Model, Objects
from mercer.exceptions import NoExplanation
from mercer.gram.expansion import Expansion
from mercer.kernels.vectors.dot import Linear


@dataclass(frozen=True, eq=False)
class AnswerFunctions:
    """f_j(x) = Σᵢ aᵢⱼ k(xᵢ, x) + b_j: one function for a number or two classes, else one a class.

    Attributes
    ----------
    expansion : Expansion
        The sums; a linear machine is the sum over one point, its weights.
    constants : array of shape (functions,)
        The b_j.
    classes : list, optional
        What the functions speak for, where there are more than two classes.
    """

    expansion: Expansion
    constants: Array
    classes: list[Any] | None = None

    @property
    def coefficients(self) -> Array:
        """The aᵢⱼ, one column for each function."""
        return self.expansion.coefficients.reshape(len(self.expansion), -1)

    @classmethod
    def of(cls, model: Model) -> AnswerFunctions:
        """Return the functions of a fitted machine."""
        check_is_fitted(model)
        functions = _functions(model)
        classes = list(getattr(model, "classes_", []))
        if len(classes) < 3:
            return functions
        count = len(functions.constants)
        turned: Array = np.eye(count)
        if count != len(classes) or getattr(model, "multi_class", "") == "ovo":
            turned = _votes(len(classes))
        coefficients = functions.coefficients @ turned
        expansion = Expansion(functions.expansion.kernel, functions.expansion.points, coefficients)
        return cls(expansion, functions.constants @ turned, classes)


def _functions(model: Model) -> AnswerFunctions:
    if hasattr(model, "function_expansion"):
        return AnswerFunctions(*model.function_expansion())
    weights = getattr(model, "coef_", None)
    if weights is None:
        raise NoExplanation(
            f"explain: the answers of {type(model).__name__} are no sums of kernel values, so its "
            "columns have no exact shares. It takes support vector machines, kernel ridge, "
            "GaussianProcessRegressor, kernel logistic regression, linear machines and searches "
            "for one; permutation importance works for every machine: "
            "mercer.permutation_importance."
        )
    dense = np.atleast_2d(weights.toarray() if sparse.issparse(weights) else weights)
    expansion = Expansion(Linear(), dense, np.eye(len(dense)))
    constants = np.broadcast_to(np.asarray(model.intercept_, dtype=float), len(dense))
    return AnswerFunctions(expansion, constants)


def _votes(count: int) -> Array:
    """Return how the functions of all pairs of classes add up to those of the classes."""
    pairs = list(combinations(range(count), 2))
    votes = np.zeros((len(pairs), count))
    for row, (first, second) in enumerate(pairs):
        votes[row, first], votes[row, second] = 1.0, -1.0
    return votes


def unwrapped(model: Model, X: Objects) -> tuple[Model, Objects, list[str] | None]:
    """Return the machine at the end of a pipeline, the data that reach it and their names.

    A search that was fitted stands for the best machine that it found.
    """
    model = getattr(model, "best_estimator_", model)
    if not hasattr(model, "steps"):
        return model, X, None
    if len(model.steps) == 1:
        return model[-1], X, None
    before = model[:-1]
    try:
        names = [str(name) for name in before.get_feature_names_out()]
    except (AttributeError, ValueError):
        names = None
    return model[-1], before.transform(X), names
