"""A study in short: as plain data for programs, and its certificate in words for people."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from mercer._typing import Model, Parameter
from mercer.problems.certificate import STATIONARY, UNKNOWN, WITHIN, Certificate
from mercer.problems.curvature import PROVEN, REFUTED
from mercer.report.record import MeasuredScore
from mercer.report.text import number, percent

SUMMARY_VERSION = 1
"""The version of the JSON summary, for programs that read it."""
_LOOSE = 0.01
"""A distance from the optimum beyond which it matters whether rounding is what makes it up."""
_ROUNDING = 1e-6
"""A violation below this share of the scale is rounding in float32."""


def summary(study: Any) -> dict[str, Any]:
    """Return what a study found, as dictionaries, lists, texts and numbers for JSON."""
    record = study.record
    plain: dict[str, Any] = _finite(
        {
            "version": SUMMARY_VERSION,
            "data": study.source,
            "rows": study.rows,
            "train_rows": len(study.train_rows),
            "test_rows": study.rows - len(study.train_rows),
            "target": study.target,
            "task": study.task,
            "classes": list(study.schema.labels),
            "machine": study.machine,
            "machine_reason": study.why,
            "kernel": study.kernel,
            "kernel_reasons": list(study.reasons),
            "parameters": dict(study.parameters),
            "search": _search(study.search),
            "scores": [plain_score(score) for score in record.scores],
            "baseline": record.baseline,
            "references": [asdict(reference) for reference in record.references],
            "suspicions": list(record.suspicions),
            "trust": record.trust,
            "verdict": record.verdict,
            "certificate": None
            if study.certificate is None
            else plain_certificate(study.certificate),
            "unproven": study.unproven or None,
            "stopped": study.stopped,
            "notes": list(study.notes),
            "seed": study.random_state,
            "seconds": study.seconds,
        }
    )
    return plain


def plain_score(score: MeasuredScore) -> dict[str, Any]:
    """Return a score as plain data."""
    return {
        "name": score.name,
        "value": score.value,
        "low": score.low,
        "high": score.high,
        "baseline": score.baseline,
        "higher_is_better": score.higher_is_better,
        "interval": score.method,
    }


def plain_certificate(certificate: Certificate) -> dict[str, Any]:
    """Return a certificate as plain data."""
    gaps = {"gap": certificate.gap, "relative_gap": certificate.relative_gap}
    plain: dict[str, Any] = _finite({**asdict(certificate), **gaps})
    return plain


def certificate_in_words(certificate: Certificate) -> str:
    """Say in one line how far a fit is from the best possible one."""
    status = certificate.status
    if certificate.curvature != PROVEN:
        return (
            f"{STATIONARY if certificate.curvature == REFUTED else UNKNOWN}: the kernel is not "
            "known to be positive semi-definite on these data"
        )
    stopped = status not in ("optimal", WITHIN, "")
    early = f" (stopped early: {status.replace('_', ' ')})" if stopped else ""
    if not certificate.bounds:
        return f"not proven to be near the best possible fit{early}"
    best = "the best possible fit" + (" on its landmarks" if certificate.approximation_cost else "")
    gap = f"{number(100 * certificate.distance, 2)} %"
    if certificate.within_rounding:
        gap = "rounding"
    elif certificate.distance > _LOOSE > certificate.relative_gap:
        seen = f"{number(100 * abs(certificate.relative_gap), 2)} %"
        return (
            f"computed to be within {seen} of {best}{early}; with all that rounding could hide, "
            f"proven to be within {gap}"
        )
    return f"proven to be within {gap} of {best}{early}"


def judge(found: Certificate, claimed: Certificate) -> tuple[bool, str]:
    """Say whether a certificate that was computed again confirms the one of the model.

    It does if the constraints hold and the gap is about as small as it was claimed to be.
    """
    if found.curvature != PROVEN:
        return claimed.curvature == found.curvature, (
            f"There is nothing to hold: {certificate_in_words(found)}."
        )
    scale = max(1.0, abs(found.primal))
    broken = max(
        found.primal_feasibility - 2 * claimed.primal_feasibility,
        found.dual_feasibility - 2 * claimed.dual_feasibility,
    )
    if not broken <= _ROUNDING * scale:
        return False, (
            f"The certificate does not hold: a constraint is broken by {number(broken, 2)}. These "
            "are not the data that the model was fitted to, or the model was changed."
        )
    allowed = 2 * max(claimed.relative_gap, 0.0) + 1e-4
    if not -_ROUNDING <= found.relative_gap <= allowed:
        return False, (
            f"The certificate does not hold: on these data the fit is only within "
            f"{percent(found.relative_gap)} of the best possible one, and the model claims "
            f"{number(100 * claimed.relative_gap, 2)} %. These are not the data that it was "
            "fitted to, or the model was changed."
        )
    return True, f"The certificate holds: the fit is {certificate_in_words(found)}."


def _search(search: Model) -> dict[str, Any] | None:
    if search is None:
        return None
    results = search.cv_results_
    return {
        "candidates": len(results["params"]),
        "dropped": int(np.sum(results["dropped"])),
        "skipped": int(np.sum(results["skipped"])),
        "folds": int(search.n_splits_),
        "best_score": float(search.best_score_),
    }


def _finite(value: Parameter) -> Any:
    """Return plain data in which numbers that JSON does not know are None."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
