"""Linear machines as problems: margins, logistic losses, squares, norms and penalties."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer._typing import Array, Model
from mercer.estimators.linear.linear_judge import (
    read_rows,
    state_margins as stated_margins,
)
from mercer.estimators.linear.logistic_penalty import read_price
from mercer.estimators.linear.logistic_regression import pose
from mercer.estimators.linear.penalty_judge import penalty_of, residual_norm
from mercer.problems.penalties import NAMES
from mercer.problems.penalty_problems import PenaltyProblem
from mercer.problems.vector_norms import as_norm
from mercer.report.proof.document import Document
from mercer.report.proof.training_data import TrainingData, unprovable


def state_margins(document: Document, machine: Model, data: TrainingData) -> None:
    """State LinearSVC and LinearSVR."""
    stated = stated_margins(machine, *read_rows(data.X, data.y, data.sample_weight))
    sample = document.add_sample(_dense(stated.gram.features()))
    joint = getattr(machine, "multi_class", "") == "crammer_singer"
    for posed, (w, multipliers) in stated.parts:
        problem: Any = posed
        own = {"sample": sample, "constant": float(problem.constant)}
        if joint:
            arrays = {"targets": problem.labels, "C": problem.C, "multipliers": multipliers, "w": w}
            document.add_problem("linear, Crammer–Singer", arrays=arrays, **own)
        elif getattr(machine, "penalty", "l2") == "l1":
            arrays = {"targets": problem.signs, "C": problem.C, "w": w}
            document.add_problem("linear, ℓ₁", arrays=arrays, **own)
        else:
            squared = bool((problem.D > 0).any())
            C = 0.5 / problem.D if squared else np.maximum(problem.hi, -problem.lo)
            arrays = {"targets": problem.p, "C": C, "multipliers": multipliers, "w": w}
            document.add_problem(
                "linear",
                squared=squared,
                classes=hasattr(machine, "classes_"),
                epsilon=float(problem.epsilon),
                arrays=arrays,
                **own,
            )


def state_logistic(document: Document, machine: Model, data: TrainingData) -> None:
    """State LogisticRegression with any penalty."""
    rows = np.asarray(_dense(data.X), dtype=np.float64)
    codes, weights = data.codes(machine), data.class_weights(machine)
    used = np.flatnonzero(weights > 0)
    gram, problem = pose(rows, codes, weights, read_price(machine), machine, used)
    W = _dense(machine.coef_).astype(np.float64).T
    bias = np.ravel(np.asarray(machine.intercept_, dtype=np.float64))
    if problem.constant:
        W, bias = np.concatenate([W, bias[None] / problem.constant]), np.zeros(len(bias))
    best = problem.with_best_bias(problem.rows(gram).dot(W), bias)
    document.add_problem(
        "linear logistic",
        sample=document.add_sample(rows[used]),
        intercept=bool(problem.intercept),
        penalised=bool(problem.penalised),
        l1=float(getattr(problem, "l1", 0.0)),
        constant=float(problem.constant),
        arrays={
            "targets": codes[used],
            "C": problem.C,
            "multipliers": best.beta,
            "biases": np.broadcast_to(bias, best.beta.shape[1]),
            "w": W,
        },
    )


def state_squares(document: Document, machine: Model, data: TrainingData) -> None:
    """State Ridge, Lasso and ElasticNet, each target, in scikit-learn's units.

    These divide the squares of a lasso by 2n, and take twice those of a ridge regression.
    """
    X, y, weights = read_rows(data.X, data.y, data.sample_weight)
    n, used = len(weights), np.flatnonzero(weights > 0)
    rows, Y = np.asarray(_dense(X), np.float64), np.asarray(y, np.float64).reshape(n, -1)
    ridge = not hasattr(machine, "precompute")
    share = 0.0 if ridge else float(getattr(machine, "l1_ratio", 1.0))
    unit, factor = (1.0, 2.0) if ridge else (float(n), 1 / n)
    weights = weights if ridge else weights * (n / weights.sum())
    W = np.atleast_2d(_dense(machine.coef_)).astype(np.float64)
    penalties = np.broadcast_to(np.asarray(machine.alpha, np.float64), len(W))
    biases = np.broadcast_to(np.asarray(machine.intercept_, np.float64), len(W))
    sample = document.add_sample(rows[used])
    for j, penalty in enumerate(penalties):
        document.add_problem(
            "squares",
            sample=sample,
            constant=0.0,
            intercept=bool(machine.fit_intercept),
            positive=bool(getattr(machine, "positive", False)),
            l1=float(penalty) * share * unit,
            l2=float(penalty) * (1 - share) * unit,
            factor=factor,
            arrays={
                "targets": Y[used, j],
                "weights": weights[used],
                "biases": biases[j : j + 1],
                "w": W[j],
            },
        )


# ---- norms and penalties of residuals ----------------------------------------------------------


def state_norm(document: Document, machine: Model, data: TrainingData) -> None:
    """State NormRegressor, with weights in a ball or not."""
    X, y, weights = _regression(machine, data)
    p, root = residual_norm(machine.norm, len(y))
    rows = np.column_stack([X, np.ones(len(X))]) if machine.fit_intercept else X
    if root is not None:
        rows, y = root @ rows, root @ y
    if machine.radius is None and p in (1, 2):
        _state_penalty(document, rows, y, weights, "l1" if p == 1 else "l2", machine.multipliers_)
        return
    ball = float(getattr(as_norm(machine.ball), "p", 2.0))
    document.add_problem(
        "norm",
        sample=document.add_sample(rows),
        constant=0.0,
        p=None if p == math.inf else p,
        radius=None if machine.radius is None else float(machine.radius),
        ball=None if ball == math.inf else ball,
        in_ball=X.shape[1],
        arrays={"targets": y, "w": weights, "multipliers": machine.multipliers_},
    )


def state_penalties(document: Document, machine: Model, data: TrainingData) -> None:
    """State PenaltyRegressor with a penalty that has a name."""
    X, y, weights = _regression(machine, data)
    penalty = penalty_of(machine.penalty)
    if not penalty.convex:
        raise unprovable(f"{penalty!r} is not convex, so that nothing bounds the least sum but 0.")
    names = [name for name, known in NAMES.items() if type(penalty) is known]
    if not names:
        raise unprovable(f"{penalty!r} is a penalty of your own, which verifiers do not know.")
    rows = np.column_stack([X, np.ones(len(X))]) if machine.fit_intercept else X
    multipliers = getattr(machine, "multipliers_", None)
    if multipliers is None:
        multipliers = PenaltyProblem(y, penalty).multipliers(rows, y - rows @ weights)
    parameter = float(getattr(penalty, "tau", penalty.a))
    own = parameter if math.isfinite(parameter) else 1.0
    _state_penalty(document, rows, y, weights, names[0], multipliers, own)


def _state_penalty(
    document: Document,
    rows: Array,
    y: Array,
    w: Array,
    name: str,
    multipliers: Array,
    parameter: float = 1.0,
) -> None:
    document.add_problem(
        "penalty",
        sample=document.add_sample(rows),
        constant=0.0,
        penalty=name,
        parameter=parameter,
        arrays={"targets": y, "w": w, "multipliers": multipliers},
    )


def _regression(machine: Model, data: TrainingData) -> tuple[Array, Array, Array]:
    """Return rows, targets, and the weights with the intercept."""
    X, y, _ = read_rows(data.X, data.y, None)
    w = np.asarray(machine.coef_, np.float64)
    w = np.append(w, float(machine.intercept_)) if machine.fit_intercept else w
    return np.asarray(_dense(X), np.float64), np.asarray(y, np.float64), w


def _dense(X: Any) -> Array:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X)
