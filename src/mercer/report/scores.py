"""Scores on test rows, with 95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_softmax, ndtri

from mercer._typing import Array, BoolArray, IntArray, Label
from mercer.report.record import MeasuredScore

Z = float(ndtri(0.975))
RESAMPLES = 2000
"""Resamples of a bootstrap interval; its ends are quantiles at 2.5 and 97.5 %."""
FEWEST_ROWS = 8
"""With fewer rows an interval would say nothing."""
_CELLS = 4_000_000
"""Weights of resamples at a time: 32 MB of float64."""

BOOTSTRAP = f"bootstrap, {RESAMPLES:,} resamples"


def wilson(successes: Any, count: Any) -> tuple[Any, Any]:
    """Return Wilson's interval for a share: p with ∣p̂ − p∣ ≤ z √(p(1 − p)/n)."""
    n = np.asarray(count, dtype=float)
    share = np.asarray(successes, dtype=float) / n
    middle = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    # At the ends the formula gives 0 and 1 up to rounding.
    low = np.where(share == 0, 0.0, np.maximum(middle - half, 0.0))
    high = np.where(share == 1, 1.0, np.minimum(middle + half, 1.0))
    return low, high


def auc(scores: Array, positive: Label) -> float:
    """Return the chance that a positive row has a higher score than a negative one."""
    return float(weighted_auc(scores, positive, np.ones((1, len(scores))))[0])


def auc_interval(value: float, positives: int, negatives: int) -> tuple[float, float]:
    """Return the AUCs θ with ∣A − θ∣ ≤ z √V(θ), which stays within 0 … 1 and is honest at 1.

    V(θ) = θ(1 − θ)[1 + (N/2 − 1)((1 − θ)/(2 − θ) + θ/(1 + θ))] / (n₊n₋), N = n₊ + n₋.

    Newcombe (2006), Statistics in Medicine 25, 559–573, method 5.
    """
    extra = (positives + negatives) / 2 - 1

    def excess(theta: float) -> float:
        spread = 1 + extra * ((1 - theta) / (2 - theta) + theta / (1 + theta))
        variance = theta * (1 - theta) * spread / (positives * negatives)
        return (value - theta) ** 2 - Z**2 * variance

    # At 0 and 1 the variance vanishes, and with it the excess: the end sought lies inside.
    inner = min(max(value, 1e-12), 1 - 1e-12)
    low = 0.0 if value <= 0 else float(brentq(excess, 0.0, inner))
    high = 1.0 if value >= 1 else float(brentq(excess, inner, 1.0))
    return low, high


def bootstrap(
    statistics: Array, finish: Callable[[Array], Array], seed: int
) -> tuple[float, float]:
    """Return the 2.5 % and 97.5 % quantiles of a measure over resampled rows.

    ``finish`` turns means of the columns of ``statistics`` (resamples × columns) into values. Of
    very few rows resamples tell nothing: no interval, NaN.
    """
    if len(statistics) < FEWEST_ROWS:
        return math.nan, math.nan
    values = [finish(W @ statistics / len(statistics)) for W in resamples(len(statistics), seed)]
    return quantiles(np.concatenate(values))


def classification(
    codes: IntArray,
    predicted: IntArray,
    decisions: Array | None,
    probabilities: Array | None,
    shares: Array,
    baseline: IntArray,
    seed: int,
    positive: tuple[int, str] | None = None,
) -> list[MeasuredScore]:
    """Return accuracy, balanced accuracy, AUC and log loss.

    ``decisions`` has one column for two classes, else one for each class; ``shares`` are the
    classes' shares in training; ``baseline`` is what the baseline predicts. ``positive``, the
    number and name of one of two classes, adds sensitivity and specificity.
    """
    n, count = len(codes), len(shares)
    hits = int((codes == predicted).sum())
    low, high = wilson(hits, n)
    result = [
        MeasuredScore(
            "Accuracy", hits / n, float(low), float(high), float((codes == baseline).mean()),
            "percent", True, "Wilson", "share of test rows with the right answer",
        )
    ]  # fmt: skip
    present = np.unique(codes)
    if len(present) < 2:
        return result
    true = np.eye(count)[codes][:, present]
    table = np.hstack([true * (codes == predicted)[:, None], true])
    ends = bootstrap(table, balanced, seed)
    always = np.hstack([true * (codes == baseline)[:, None], true]).mean(axis=0, keepdims=True)
    result.append(
        MeasuredScore(
            "Balanced accuracy", float(balanced(table.mean(axis=0, keepdims=True))[0]), *ends,
            float(balanced(always)[0]), "percent", True, BOOTSTRAP,
            "accuracy in each class, then the mean over classes",
        )
    )  # fmt: skip
    if decisions is not None:
        result.append(_auc_score(codes, decisions, seed))
    if probabilities is not None:
        result.append(_log_loss(codes, probabilities, shares, seed))
    if positive is not None:
        wanted, name = positive
        found = (codes == wanted, f"share of the rows of “{name}”, the positive class, found")
        spared = (codes != wanted, f"share of the other rows not taken for “{name}”")
        for title, (rows, meaning) in {"Sensitivity": found, "Specificity": spared}.items():
            right = codes[rows] == predicted[rows]
            low, high = wilson(int(right.sum()), len(right))
            always = float((codes[rows] == baseline[rows]).mean())
            result.append(
                MeasuredScore(
                    title, float(right.mean()), float(low), float(high), always, "percent", True,
                    "Wilson", meaning,
                )
            )  # fmt: skip
    return result


def regression(actual: Array, predicted: Array, baseline: Array, seed: int) -> list[MeasuredScore]:
    """Return R², mean absolute error and root mean squared error."""
    errors, others = predicted - actual, baseline - actual
    # Far from zero, squares of the target would cancel.
    shifted = actual - actual.mean()
    table = np.column_stack([errors**2, np.abs(errors), shifted, shifted**2])
    spread = float((shifted**2).mean())
    result = []
    if spread > 0:
        reached = 1 - float((errors**2).mean()) / spread
        ends = bootstrap(table, r_squared, seed)
        result.append(
            MeasuredScore(
                "R²", reached, *ends, 1 - float((others**2).mean()) / spread, "share", True,
                BOOTSTRAP, "share of the target's variance that is explained",
            )
        )  # fmt: skip
    ends = bootstrap(table, lambda means: means[:, 1], seed)
    result.append(
        MeasuredScore(
            "Mean absolute error", float(np.abs(errors).mean()), *ends,
            float(np.abs(others).mean()), "number", False, BOOTSTRAP,
            "how far a prediction is off, on average, in units of the target",
        )
    )  # fmt: skip
    ends = bootstrap(table, lambda means: np.sqrt(means[:, 0]), seed)
    result.append(
        MeasuredScore(
            "Root mean squared error", math.sqrt(float((errors**2).mean())), *ends,
            math.sqrt(float((others**2).mean())), "number", False, BOOTSTRAP,
            "the same, with large errors counting more",
        )
    )  # fmt: skip
    return result


def acceptance(inside: BoolArray, expected: float) -> MeasuredScore:
    """Return the share of test rows that a one-class machine takes for its own."""
    low, high = wilson(int(inside.sum()), len(inside))
    return MeasuredScore(
        "Accepted", float(inside.mean()), float(low), float(high), expected, "percent", True,
        "Wilson", "share of test rows inside the region; 1 − ν is what training allows for",
    )  # fmt: skip


def balanced(means: Array) -> Array:
    """Return balanced accuracies from shares of right answers and of rows in each class."""
    count = means.shape[1] // 2
    right, share = means[:, :count], means[:, count:]
    seen = share > 0
    recall = np.divide(right, share, out=np.zeros_like(right), where=seen)
    return np.asarray(recall.sum(axis=1) / np.maximum(seen.sum(axis=1), 1))


def r_squared(means: Array) -> Array:
    """Return R² from means of (errors², ∣errors∣, target, target²)."""
    spread = means[:, 3] - means[:, 2] ** 2
    keep = spread > 1e-12 * means[:, 3].max()
    return np.asarray(1 - means[keep, 0] / spread[keep])


def _auc_score(codes: IntArray, decisions: Array, seed: int) -> MeasuredScore:
    if decisions.ndim == 1:
        positive = codes == 1
        value = auc(decisions, positive)
        ends = auc_interval(value, int(positive.sum()), int((~positive).sum()))
        meaning = "chance that a row of the second class gets a higher score than one of the first"
        return MeasuredScore("AUC", value, *ends, 0.5, "share", True, "Newcombe", meaning)

    value = float(macro_auc(codes, decisions, np.ones((1, len(codes))))[0])
    ends = (math.nan, math.nan)
    if len(codes) >= FEWEST_ROWS:
        some = resamples(len(codes), seed, 400)
        ends = quantiles(np.concatenate([macro_auc(codes, decisions, W) for W in some]))
    meaning = "one class against the rest, then the mean over classes"
    return MeasuredScore(
        "AUC", value, *ends, 0.5, "share", True, "bootstrap, 400 resamples", meaning
    )


def _log_loss(codes: IntArray, probabilities: Array, shares: Array, seed: int) -> MeasuredScore:
    tiny = np.finfo(np.float64).eps
    losses = surprise(codes, probabilities)
    ends = bootstrap(losses[:, None], lambda means: means[:, 0], seed)
    always = -log_softmax(np.log(np.maximum(shares, tiny)))[codes]
    return MeasuredScore(
        "Log loss", float(losses.mean()), *ends, float(always.mean()), "share", False, BOOTSTRAP,
        "mean of −ln p of the right class: wrong certainty costs most",
    )  # fmt: skip


def surprise(codes: IntArray, probabilities: Array) -> Array:
    """Return −ln p of the right class of each row, bounded by that of the smallest float64 step."""
    right = probabilities[np.arange(len(codes)), codes]
    return np.asarray(-np.log(np.clip(right, np.finfo(np.float64).eps, 1.0)))


def macro_auc(codes: IntArray, decisions: Array, W: Array) -> Array:
    """Return the AUC of each class against the rest, averaged, for each row of weights."""
    present = np.unique(codes)
    each = np.stack([weighted_auc(decisions[:, c], codes == c, W) for c in present])
    seen = np.isfinite(each)
    return np.asarray(np.where(seen, each, 0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1))


def weighted_auc(scores: Array, positive: Label, W: Array) -> Array:
    """Return the AUC for each row of weights; NaN where a side has no weight."""
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    weights = W[:, order]
    up = np.add.reduceat(weights * np.asarray(positive, dtype=float)[order], starts, axis=1)
    down = np.add.reduceat(weights, starts, axis=1) - up
    below = np.cumsum(down, axis=1) - down / 2
    pairs = up.sum(axis=1) * down.sum(axis=1)
    wins = (up * below).sum(axis=1)
    return np.asarray(np.divide(wins, pairs, out=np.full(len(W), np.nan), where=pairs > 0))


def resamples(n: int, seed: int, count: int = RESAMPLES) -> list[Array] | Any:
    """Yield how often each row is drawn, some resamples at a time."""
    random = np.random.default_rng(seed)
    step = max(1, min(count, _CELLS // n))
    for start in range(0, count, step):
        some = min(step, count - start)
        drawn = random.integers(n, size=(some, n)) + n * np.arange(some)[:, None]
        yield np.bincount(drawn.ravel(), minlength=some * n).reshape(some, n).astype(float)


def quantiles(values: Array) -> tuple[float, float]:
    """Return the ends of a 95 % interval."""
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)
