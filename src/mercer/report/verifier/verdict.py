"""The check of a whole proof: everything is computed anew and compared with what is printed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mercer.report.verifier.findings import FEASIBLE, Found
from mercer.report.verifier.page import NoProof, Page, Printed, read_number
from mercer.report.verifier.proof_data import ProofData

FORMAT = 1
"""The version of the data in a report; a verifier refuses others."""
AGREEMENT = 1e-9
"""How far a printed number may be from the computed one, as a share of the values."""
CLAIMS = (
    *("primal", "dual", "gap", "stationarity"),
    *("primal_feasibility", "dual_feasibility", "complementarity"),
)
"""The numbers that a page has to print."""


@dataclass(frozen=True)
class Verdict:
    """What was found, and everything that is wrong with it.

    ``numbers`` are of all problems together: values add, the worst residual counts.
    """

    holds: bool
    faults: tuple[str, ...]
    numbers: Mapping[str, float] = field(default_factory=dict)
    problems: tuple[Found, ...] = ()
    digest: str = ""
    rows: int = 0

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the values."""
        scale = max(abs(self.numbers["primal"]), abs(self.numbers["dual"]))
        return self.numbers["gap"] / scale if scale > 0 else self.numbers["gap"]


def verify_page(text: str) -> Verdict:
    """Check the page of a report: its proof, and the numbers that it prints."""
    page = Page(text)
    if page.proof is None:
        return _refused("the page carries no proof; mercer fit --proof writes one that does")
    try:
        proof = json.loads(page.proof)
    except (ValueError, RecursionError):
        return _refused("the proof of the page cannot be read: it is not JSON")
    return verify(proof, page.printed)


def verify(proof: Any, printed: Sequence[Printed] | None = None) -> Verdict:
    """Compute everything of a proof anew, and compare it with printed numbers where given."""
    try:
        if not isinstance(proof, dict) or proof.get("format") != FORMAT:
            raise NoProof(f"the proof has not the format {FORMAT}")
        data = ProofData(proof)
        problems = data.judge()
    except NoProof as error:
        return _refused(str(error))
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError) as error:
        return _refused(f"a part of the proof is not what it should be ({type(error).__name__})")
    numbers = total(problems)
    faults = [*data.faults, *_broken(problems, numbers)]
    if printed is not None:
        faults += _misprints(problems, numbers, data.digest, printed)
    return Verdict(not faults, tuple(faults), numbers, problems, data.digest, data.rows)


def _refused(why: str) -> Verdict:
    return Verdict(False, (why,))


def total(problems: Sequence[Found]) -> dict[str, float]:
    """Return the numbers of all problems together."""
    sums = {name: sum(getattr(p, name) for p in problems) for name in ("primal", "dual")}
    worst = {name: max(getattr(p, name) for p in problems) for name in (CLAIMS[3:])}
    return {**sums, "gap": sums["primal"] - sums["dual"], **worst}


def _broken(problems: Sequence[Found], numbers: Mapping[str, float]) -> list[str]:
    """Return why problems are no proofs: constraints that do not hold, gaps below 0."""
    faults = []
    scale = max(abs(numbers["primal"]), abs(numbers["dual"]))
    for i, found in enumerate(problems, 1):
        which = f"problem {i}: " if len(problems) > 1 else ""
        faults += [which + fault for fault in found.faults]
        broken = found.dual_feasibility if found.broken is None else found.broken
        if not broken <= FEASIBLE * max(found.mass, 1e-300):
            faults.append(f"{which}multipliers break a constraint by {broken:.2g}")
        if not found.gap >= -AGREEMENT * scale - found.value_rounding:
            faults.append(f"{which}the dual value is above the primal one")
    return faults


def _misprints(
    problems: Sequence[Found],
    numbers: Mapping[str, float],
    digest: str,
    printed: Sequence[Printed],
) -> list[str]:
    """Return which printed numbers are no right roundings of the computed ones."""
    scale = max(abs(numbers["primal"]), abs(numbers["dual"]))
    values = AGREEMENT * scale + sum(p.value_rounding for p in problems)
    residuals = max(p.residual_rounding for p in problems)
    products = max(p.product_rounding for p in problems)
    allowed = {
        **dict.fromkeys(("primal", "dual", "gap"), values),
        "relative_gap": values / scale if scale > 0 else values,
        "stationarity": AGREEMENT * numbers["stationarity"] + residuals,
        "primal_feasibility": AGREEMENT * numbers["primal_feasibility"] + residuals,
        "dual_feasibility": AGREEMENT * max(p.mass for p in problems),
        "complementarity": AGREEMENT * numbers["complementarity"] + products,
    }
    computed = {**numbers, "relative_gap": numbers["gap"] / scale if scale > 0 else numbers["gap"]}
    faults, seen = [], {claim.name for claim in printed}
    faults += [f"{name.replace('_', ' ')} is not printed" for name in CLAIMS if name not in seen]
    if "digest" not in seen:
        faults.append("the digest of the data is not printed")
    for name, text in printed:
        if name == "digest":
            if text != digest:
                faults.append("the data are not those of the printed digest")
            continue
        words = name.replace("_", " ")
        try:
            value, half = read_number(text)
        except NoProof as error:
            faults.append(f"{words}: {error}")
            continue
        if name == "most_relative_gap":
            if not computed["relative_gap"] <= value + half + allowed["relative_gap"]:
                faults.append(f"the fit is said to be within {text} of the best one, and is not")
        elif name not in computed:
            faults.append(f"{words} is printed, and nobody knows what it is")
        elif not abs(value - computed[name]) <= allowed[name] + half * (1 + 1e-9):
            faults.append(f"{words}: {text} is printed, and {computed[name]:.12g} is right")
    return faults
