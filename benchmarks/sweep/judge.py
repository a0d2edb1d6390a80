"""Whether answers are equally good: by the objective, computed afresh, or by what they say.

A judge gives each contender a number, lower is better. Answers are equally good when their
numbers differ by no more than the judge's slack.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.sweep.problem_data import ProblemData

SINGLE = 1e-4
"""Relative slack of data in float32, whose sums have about four digits that all agree on."""


@dataclass(frozen=True)
class Judge:
    """A number for an answer and how far numbers of equally good answers may be apart.

    The value of a ``compared`` judge is how far an answer is from mercer's, which it gets too.
    """

    value: Callable[..., Any]
    relative: float = 0.0
    absolute: float = 0.0
    compared: bool = False

    def number(
        self, answer: Any, ours: Any, data: ProblemData, parameters: dict[str, Any]
    ) -> float:
        """Return the number of an answer; ``ours`` is mercer's, None when it has none."""
        if not self.compared:
            return float(self.value(answer, data, parameters))
        return 0.0 if ours is None else float(self.value(answer, ours, data))

    def as_good(self, number: float, reference: float, dtype: str) -> bool:
        """Return whether ``number`` is as good as ``reference``, or better."""
        relative = max(self.relative, SINGLE) if dtype == "float32" else self.relative
        return number <= reference + self.absolute + relative * abs(reference)


def dual(model: Any, data: ProblemData, parameters: dict[str, Any]) -> float:
    """The negative dual value of a support vector machine."""
    from mercer import certify

    return -certify(model, data.X, data.y).dual


def ridge_in_kernel(model: Any, data: ProblemData, parameters: dict[str, Any]) -> float:
    """The objective of kernel ridge regression."""
    from mercer import certify

    return certify(model, data.X, data.y).primal


def evidence(model: Any, data: ProblemData, parameters: dict[str, Any]) -> float:
    """The negative log evidence of a Gaussian process, in nats."""
    return -float(model.log_marginal_likelihood_value_)


def variance(model: Any, data: ProblemData, parameters: dict[str, Any]) -> float:
    """The variance that the components leave out, up to a constant."""
    kept = getattr(model, "explained_variance_", None)
    return -float(np.sum(model.eigenvalues_ if kept is None else kept))


def elastic_net(model: Any, data: ProblemData, parameters: dict[str, Any]) -> float:
    """‖y − Xw − b‖²/2n + α (l ‖w‖₁ + (1 − l) ‖w‖²/2)."""
    alpha, part = parameters["alpha"], parameters.get("l1_ratio", 1.0)
    w = np.asarray(model.coef_, dtype=float).ravel()
    residual = _residual(w, data)
    penalty = part * np.abs(w).sum() + (1 - part) / 2 * (w @ w)
    return float(residual @ residual) / (2 * len(residual)) + alpha * float(penalty)


def ridge(model: Any, data: ProblemData, parameters: dict[str, Any]) -> float:
    """‖y − Xw − b‖² + α ‖w‖²."""
    w = np.asarray(model.coef_, dtype=float).ravel()
    residual = _residual(w, data)
    return float(residual @ residual + parameters["alpha"] * (w @ w))


def logistic(model: Any, data: ProblemData, parameters: dict[str, Any]) -> float:
    """C Σ log loss + ‖W‖²/2."""
    from scipy.special import logsumexp

    W = np.asarray(model.coef_, dtype=float)
    F = np.asarray(data.X @ W.T, dtype=float) + model.intercept_
    if F.shape[1] == 1:
        F = np.column_stack([np.zeros(len(F)), F])
    codes = np.searchsorted(model.classes_, data.y)
    loss = (logsumexp(F, axis=1) - F[np.arange(len(F)), codes]).sum()
    return float(parameters["C"] * loss + (W**2).sum() / 2)


def linear_svc(model: Any, data: ProblemData, parameters: dict[str, Any]) -> float:
    """C Σ max(0, 1 − y f(x))² + (‖w‖² + b²)/2, summed over one-vs-rest machines."""
    W, b = np.asarray(model.coef_, dtype=float), np.asarray(model.intercept_, dtype=float)
    F = np.asarray(data.X @ W.T, dtype=float) + b
    classes = model.classes_ if len(model.classes_) > 2 else model.classes_[1:]
    signs = np.where(np.asarray(data.y)[:, None] == classes, 1, -1)
    excess = np.maximum(0, 1 - signs * F)
    power = 1 if parameters.get("loss") == "hinge" else 2
    return float(parameters["C"] * (excess**power).sum() + ((W**2).sum() + (b**2).sum()) / 2)


def linear_svr(model: Any, data: ProblemData, parameters: dict[str, Any]) -> float:
    """C Σ max(0, |y − f(x)| − ε) + (‖w‖² + b²)/2."""
    w, b = np.asarray(model.coef_, dtype=float).ravel(), np.asarray(model.intercept_, dtype=float)
    errors = np.abs(data.y - data.X @ w - b)
    loss = np.maximum(0, errors - parameters["epsilon"]).sum()
    return float(parameters["C"] * loss + (w @ w + (b**2).sum()) / 2)


def last_loss(model: Any, data: ProblemData, parameters: dict[str, Any]) -> float:
    """The loss of a network after its last epoch."""
    return float(model.loss_)


def contrast(model: Any, data: ProblemData, parameters: dict[str, Any]) -> float:
    """Σ E log cosh of the sources at unit variance: the lower, the heavier their tails."""
    S = (data.X - data.X.mean(axis=0)) @ np.asarray(model.components_).T
    S = np.abs(S / S.std(axis=0))
    return float((S + np.log1p(np.exp(-2 * S)) - np.log(2)).mean(axis=0).sum())


def score_of_search(search: Any, data: ProblemData, parameters: dict[str, Any]) -> float:
    """The negative cross-validation score of the winner."""
    return -float(search.best_score_)


def error_on_new_rows(model: Any, data: ProblemData, parameters: dict[str, Any]) -> float:
    """The error rate of a classifier; of a regression the root of the mean squared error."""
    said = model.predict(data.new)
    if np.issubdtype(np.asarray(data.truth).dtype, np.integer):
        return float(np.mean(said != data.truth))
    return float(np.mean((said - data.truth) ** 2) ** 0.5)


def decisions(model: Any, ours: Any, data: ProblemData) -> float:
    """The largest difference of decision values, less what all classes share, of the largest."""
    theirs, mine = (np.asarray(one.decision_function(data.X), dtype=float) for one in (model, ours))
    if mine.ndim == 2:
        theirs, mine = (F - F.mean(axis=1, keepdims=True) for F in (theirs, mine))
    return float(np.abs(theirs - mine).max() / np.abs(mine).max())


def errors_in_training(model: Any, data: ProblemData, parameters: dict[str, Any]) -> float:
    """The error rate on the training rows."""
    return float(np.mean(model.predict(data.X) != data.y))


def predictions(said: Any, ours: Any, data: ProblemData) -> float:
    """The share of predictions that differ by more than 5 % of the largest one.

    Machines that stop at a tolerance differ a little, and a few labels lie on a boundary.
    Components count up to their sign.
    """
    theirs, mine = (_as_numbers(one) for one in (said, ours))
    return float(np.mean(np.abs(theirs - mine) > 0.05 * np.abs(mine).max()))


def _as_numbers(said: Any) -> np.ndarray:
    parts = said if isinstance(said, tuple) else (said,)
    return np.concatenate([np.abs(np.asarray(part, dtype=float)).ravel() for part in parts])


def _residual(w: np.ndarray, data: ProblemData) -> np.ndarray:
    """Return y − Xw with the best intercept."""
    residual = np.asarray(data.y - data.X @ w, dtype=float)
    return residual - residual.mean()
