"""Why a machine decides as it does: support vectors, neighbours, parts of the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from mercer._typing import Array, IntArray, Objects
from mercer.estimators.base import take_objects
from mercer.gram.computed import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.encoders import row_count
from mercer.report import table, text
from mercer.report.anatomy import Anatomy
from mercer.report.predicted import Predicted
from mercer.report.record import Flags, Neighbours, Part, Support, SupportGroup

NEAREST = 5
"""Training rows that are shown beside an answer."""
COLUMNS = 16
"""Columns of a row that are shown beside an answer."""
PARTS = 20
"""Parts of an answer that are shown, the largest first."""
PART_ROWS = 500
"""Rows for which the parts of a sum of kernels are computed."""
NORM_ROWS = 5000
"""Support points up to which a norm is computed: its cost is quadratic in them."""


# ---- support vectors -------------------------------------------------------------------------


def support(anatomy: Anatomy, codes: IntArray | None, names: list[str]) -> Support | None:
    """Count what kind of points the support vectors are; None where there are none to tell."""
    if anatomy.uses_all or not len(anatomy.support):
        return None
    used = np.zeros(anatomy.rows, dtype=bool)
    used[anatomy.support] = True
    if codes is not None:
        free, bound, wrong = _classifier_kinds(anatomy, used)
        groups = [_group(names[c], codes == c, used, free, bound, wrong) for c in np.unique(codes)]
        several = len(getattr(anatomy.machine, "machines_", [])) > 1
        words = (
            "on the margin: 0 < α < C",
            "inside the margin or beyond it: α = C" + (", in one machine at least" * several),
            "on the wrong side of the boundary" + (" of one machine at least" * several),
        )
    else:
        signed = np.zeros(anatomy.rows)
        signed[anatomy.support] = anatomy.coefficients[:, 0]
        free, bound = _at_bound(anatomy, signed)
        wrong = None
        if anatomy.one_class:
            groups = [_group("training rows", np.ones(anatomy.rows, bool), used, free, bound, None)]
            words = ("on the edge of the region: 0 < α < 1", "outliers outside of it: α = 1", "")
        else:
            groups = [
                _group("above the tube", signed > 0, used, free, bound, None),
                _group("below the tube", signed < 0, used, free, bound, None),
                _group("inside the tube", signed == 0, used, free, bound, None),
            ]
            words = ("on the edge of the tube: 0 < ∣β∣ < C", "outside of it: ∣β∣ = C", "")
    return Support(groups, anatomy.rows, int(used.sum()), *words)


def _group(name: str, members: Any, used: Any, free: Any, bound: Any, wrong: Any) -> SupportGroup:
    def count(kind: Any) -> int | None:
        return None if kind is None else int((kind & members).sum())

    support_rows = int((used & members).sum())
    return SupportGroup(
        name, int(members.sum()), support_rows, count(free), count(bound), count(wrong)
    )


def _classifier_kinds(anatomy: Anatomy, used: Any) -> tuple[Any, Any, Any]:
    """Return which rows are free, at a bound, misclassified; in some machine of several."""
    machines = getattr(anatomy.machine, "machines_", [])
    if machines:
        bound, wrong = np.zeros_like(used), np.zeros_like(used)
        for machine in machines:
            bound[machine.rows] |= machine.bound_
            wrong[machine.rows] |= machine.misclassified_
        return used & ~bound, bound, wrong
    if hasattr(anatomy.machine, "support_"):
        return None, None, None  # one joint problem of all classes: its bounds are not one a row
    signed = np.zeros((anatomy.rows, anatomy.coefficients.shape[1]))
    signed[anatomy.support] = anatomy.coefficients
    free, bound = _at_bound(anatomy, np.abs(signed).max(axis=1))
    return free, bound, None


def _at_bound(anatomy: Anatomy, multipliers: Array) -> tuple[Flags | None, Flags | None]:
    machine = anatomy.machine
    if str(getattr(machine, "loss", "")).startswith("squared"):
        return multipliers != 0, np.zeros(len(multipliers), dtype=bool)
    C = 1.0 if anatomy.one_class else anatomy.parameter("C")
    if not isinstance(C, int | float | np.number):
        return None, None
    bound = np.abs(multipliers) >= float(C) * (1 - 1e-9)
    return (multipliers != 0) & ~bound, bound


# ---- neighbours ------------------------------------------------------------------------------


def neighbours(
    anatomy: Anatomy,
    X_train: Objects,
    X_test: Objects,
    rows: IntArray,
    names: tuple[list[str], Sequence[Any] | None, Sequence[Any] | None],
    answers: Predicted,
) -> Neighbours | None:
    """Return the nearest support vectors of test rows and what each adds to the decision.

    Near is small ‖φ(x) − φ(xᵢ)‖² = k(x, x) − 2k(x, xᵢ) + k(xᵢ, xᵢ); the contribution is aᵢk(xᵢ, x).
    """
    support_rows = anatomy.support
    if not len(support_rows) or anatomy.kernel is None:
        return None
    columns, train_names, test_names = names
    objects = anatomy.transform(take_objects(X_test, rows))
    K = anatomy.cross(objects, support_rows)
    squares = anatomy.train_diag(support_rows) - 2 * K
    pairs = list(zip(answers.winners[rows], answers.seconds[rows], strict=True))
    mixes = np.stack([anatomy.combination(winner, second) for winner, second in pairs])
    coefficients = mixes @ anatomy.coefficients.T
    contributions = anatomy.contributions(objects, K, mixes)
    # Support vectors of other pairs of classes have no say here; they come last.
    nearest = np.lexsort((squares, coefficients == 0), axis=1)[:, :NEAREST]
    at = np.arange(len(rows))[:, None]
    shown, near = np.unique(nearest, return_inverse=True)
    picked = support_rows[shown]
    width = 0 if anatomy.precomputed else min(len(columns), COLUMNS)
    bias = mixes @ anatomy.biases
    total = contributions.sum(axis=1)
    near_parts = contributions[at, nearest]
    return Neighbours(
        columns=columns[:width],
        rows=table.row_names(X_test, test_names, rows),
        cells=table.cells(X_test, rows, width) if width else [[] for _ in rows],
        actual=[answers.actual_text(i) for i in rows],
        predicted=[answers.predicted_text(i) for i in rows],
        decision=total + bias,
        wrong=np.asarray(answers.wrong[rows], dtype=bool),
        question=[_question(anatomy, answers.names, *pair) for pair in pairs],
        support_rows=table.row_names(X_train, train_names, picked),
        support_cells=table.cells(X_train, picked, width) if width else [[] for _ in picked],
        support_labels=[answers.train_texts[i] for i in picked],
        near=near.reshape(nearest.shape).astype(np.intp),
        similarity=K[at, nearest],
        distance=np.sqrt(np.maximum(squares[at, nearest] + anatomy.diag(objects)[:, None], 0)),
        contribution=near_parts,
        rest=total - near_parts.sum(axis=1),
        bias=np.asarray(bias, dtype=float),
        total=row_count(X_test),
        hidden_columns=0 if anatomy.precomputed else len(columns) - width,
    )


def _question(anatomy: Anatomy, names: list[str], winner: int, second: int) -> str:
    if anatomy.classes is None:
        return "inside rather than outside" if anatomy.one_class else "the predicted number"
    return f"{names[winner]} rather than {names[second]}"


# ---- parts of the kernel ---------------------------------------------------------------------


def parts(anatomy: Anatomy, X_test: Objects, rows: IntArray) -> list[Part]:
    """Return the summands of the kernel with their shares in the decision functions.

    f = Σ_p f_p over the summands k_p; the share of one is cov(f_p, f) / var(f) over test rows,
    summed over functions where there are several. Shares add up to 1 and may be negative.
    """
    kernel = anatomy.kernel
    if kernel is None or not len(anatomy.support) or not anatomy.objects_are_seen:
        return []
    terms = kernel.terms()
    if len(terms) < 2:
        return []
    objects = anatomy.transform(take_objects(X_test, rows))
    values = np.stack([
        weight * (anatomy.cross(objects, anatomy.support, term) @ anatomy.coefficients)
        for weight, term in terms
    ])  # fmt: skip
    shares = _shares(values)
    if shares is None:
        return []
    return [
        Part(text.formula(term, 120), weight, float(share), _norm(anatomy, term, weight))
        for (weight, term), share in zip(terms, shares, strict=True)
    ]


def column_parts(
    anatomy: Anatomy, X_test: Objects, rows: IntArray, columns: list[str]
) -> list[Part]:
    """Return the same for the columns of a linear machine: f(x) = Σ_j w_j x_j + b."""
    weights = anatomy.weights
    if weights is None:
        return []
    X = anatomy.transform(take_objects(X_test, rows))
    X = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)
    shares = _shares(X.T[:, :, None] * weights.T[:, None, :])
    if shares is None:
        return []
    if len(columns) != len(shares):
        columns = [f"column {j + 1}" for j in range(len(shares))]
    single = len(weights) == 1
    order = np.argsort(-np.abs(shares), kind="stable")[:PARTS]
    return [
        Part(columns[j], float(weights[0, j]) if single else None, float(shares[j]), None)
        for j in order
    ]


def _shares(values: Array) -> Array | None:
    """Return cov(f_p, f)/var(f) for values of shape parts × rows × functions."""
    centred = values - values.mean(axis=1, keepdims=True)
    whole = centred.sum(axis=0)
    spread = float((whole**2).sum())
    scale = float((centred**2).sum())
    return (centred * whole).sum(axis=(1, 2)) / spread if spread > 1e-20 * scale else None


def _norm(anatomy: Anatomy, term: Kernel, weight: float) -> float | None:
    """Return ‖f_p‖ of one summand, over all functions."""
    if len(anatomy.support) > NORM_ROWS:
        return None
    A = anatomy.coefficients
    squares = A * (Gram(term, take_objects(anatomy.train, anatomy.support)) @ A)
    return float(np.sqrt(max(0.0, weight * float(squares.sum()))))
