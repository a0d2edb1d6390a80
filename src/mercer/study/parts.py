"""Tables that mix kinds: how much each part of the kernel counts, and whether parts are added."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import mul
from typing import Any

import numpy as np

from mercer._typing import Model, Objects, Targets
from mercer.estimators.base import take_objects
from mercer.estimators.scaling import NumericScaler
from mercer.kernels.base import Kernel
from mercer.kernels.encoders import is_frame
from mercer.kernels.expression import format_kernel

WEIGHED_ROWS = 1_000
"""Rows that weights are learnt from: each part needs a matrix of them."""
LEAST_SHARE = 0.05
"""The least weight of a part among all: what says little alone may help beside others."""

JOINED = 3
"""Ways in which parts are joined: learnt weights, equal ones, a product."""

PARTS = "The parts of the kernel are joined by "
"""How a note begins which says what the folds prefer."""

Tune = Callable[[Kernel, int], Any]
"""From a kernel and its number to a search."""


def best_of_parts(kernel: Kernel, X: Objects, y: Targets, tune: Tune) -> tuple[Any, str]:
    """Tune a machine with learnt weights, equal weights, and the product of the parts.

    Weights are those of centred alignment on the training rows (Cortes, Mohri and Rostamizadeh,
    2012). Return the search of what the folds prefer, and words for it. Nothing is tried after a
    search that was stopped.
    """
    parts = [part for _, part in kernel.terms()]
    weights = learnt_weights(parts, X, y)
    candidates = {
        "learnt weights": weighted_sum(parts, weights),
        "equal weights": kernel,
        "a product": reduce(mul, parts),
    }
    found: dict[str, Any] = {}
    for number, (words, candidate) in enumerate(candidates.items()):
        found[words] = tune(candidate, number)
        if found[words].cv_results_["skipped"].any():
            break
    best = max(found, key=lambda words: float(found[words].best_score_))
    scores = ", ".join(f"{words} {found[words].best_score_:.3f}" for words in found)
    named = ", ".join(
        f"{_name(part)} {weight:.2f}" for part, weight in zip(parts, weights, strict=True)
    )
    return found[best], (
        f"{PARTS}{best}, which the folds prefer ({scores}); the weights learnt from training rows "
        f"are {named}."
    )


def learnt_weights(parts: list[Kernel], X: Objects, y: Targets) -> list[float]:
    """Return weights of kernels that add up to 1, by centred alignment with the answers."""
    # Support vector machines come with it, which other studies do without.
    from mercer.estimators.multiple_kernel.learn_weights import learn_weights

    some = np.unique(np.linspace(0, len(y) - 1, WEIGHED_ROWS).astype(np.intp))
    rows = take_objects(X, some)
    scaled = NumericScaler().fit(rows).transform(rows) if is_frame(rows) else rows
    answers = y[some]
    if answers.dtype.kind == "f":  # whole numbers would be taken for classes
        answers = (answers - answers.mean()) / (answers.std() or 1.0)
    found = np.asarray(learn_weights(parts, scaled, answers).weights, dtype=float)
    shares = found / found.sum() if found.sum() > 0 else np.full(len(parts), 1 / len(parts))
    raised = np.maximum(shares, LEAST_SHARE)
    return [round(float(share), 3) for share in raised / raised.sum()]


def weighted_sum(parts: list[Kernel], weights: list[float]) -> Kernel:
    """Return Σ w_m k_m."""
    weighted: list[Kernel] = [w * part for w, part in zip(weights, parts, strict=True)]
    return reduce(lambda a, b: a + b, weighted)


def are_parts(kernel: Kernel | None, machine: Model) -> bool:
    """Whether a kernel is a sum of several parts, and a search can try others in its place."""
    return kernel is not None and len(kernel.terms()) > 1 and not machine.learns


def _name(part: Kernel) -> str:
    text = format_kernel(part)
    return text if len(text) <= 60 else text[:59] + "…"
