"""Reports that somebody has changed: they are found out, or are still a proof of what they say."""

import numpy as np
import pytest

from mercer.gram.given import GivenGram
from mercer.kernels.definite import Definite
from mercer.kernels.expression import parse_kernel
from mercer.problems import qp
from mercer.problems.certificate import Certificate
from mercer.problems.multiclass import CrammerSinger, WestonWatkins
from mercer.problems.ridge import RidgeFunctions, RidgeProblem
from mercer.problems.unbiased import unbiased_classifier
from mercer.report.verifier.page import read_array, read_number
from mercer.report.verifier.verdict import verify, verify_page
from tests.report.proof import machines
from tests.report.proof.tampering import CLAIM, WAYS, proof_of, tampered

JOINT = {posed.name: posed for posed in (CrammerSinger, WestonWatkins)}
NAMES = [name for name in machines.CASES if name != "nusvc_hulls_meet"]


def judged_by_mercer(proof):
    """Return values by the problems of mercer itself; None for those that are not written here."""
    parts = []
    for problem in proof["problems"]:
        if "gram" not in problem or "matrix" in (gram := proof["grams"][problem["gram"]]):
            return None
        if "landmarks" in gram:
            return None
        data = {k: read_array(v) for k, v in problem.items() if isinstance(v, dict)}
        sample = gram["kernel"].get("sample")
        if sample is None:
            return None
        X, y = read_array(proof["samples"][sample]["values"]), data["targets"]
        rows = data.get("rows", np.arange(len(X))).astype(int)
        K = GivenGram(parse_kernel(gram["text"])(X)[np.ix_(rows, rows)], Definite.POSITIVE)
        beta, biases = data["multipliers"], data.get("biases")
        C = data.get("C", np.full(len(y), np.inf))  # a hard problem has no prices
        if problem["kind"] == "C-SVC":
            parts.append(qp.classifier(y, C).certify(beta, K, biases=biases))
        elif problem["kind"] == "ε-SVR":
            posed = qp.regressor(y, C, problem["epsilon"])
            parts.append(posed.certify(beta, K, biases=biases))
        elif problem["kind"] == "C-SVC without bias":
            parts.append(unbiased_classifier(y, C).certify(beta, K))
        elif problem["kind"] in JOINT and not problem["free"]:
            posed = JOINT[problem["kind"]](y.astype(int), C, beta.shape[1])
            parts.append(posed.certify(beta, K))
        elif problem["kind"] == "ridge" and "weights" in data:
            posed = RidgeProblem(
                y[:, None], np.array([problem["lambda"]]), data["weights"], problem["intercept"]
            )
            parts.append(posed.certify(RidgeFunctions(beta[:, None], biases), K))
        else:
            return None
    total = Certificate.total(parts)
    return {"primal": total.primal, "gap": total.gap}


def _caught_or_valid(number):
    """Tamper with one report; return whether it was caught, and fail if it is neither."""
    random = np.random.default_rng(number)
    name, way = NAMES[random.integers(len(NAMES))], WAYS[number % len(WAYS)]
    page = machines.page(name)
    changed, before, after = tampered(page, way, random)
    assert changed != page
    verdict = verify_page(changed)
    if not verdict.holds:
        return True
    # Nobody noticed: then it has to be as good a proof as before, of the data that it now holds.
    old, new = verify(before).numbers, judged_by_mercer(after) or verify(after).numbers
    scale = max(abs(old["primal"]), abs(old["dual"]))
    slack = 1e-9 * scale + 2 * sum(p.value_rounding for p in verdict.problems)
    assert abs(new["gap"] - old["gap"]) <= slack, (number, name, way)
    assert abs(new["primal"] - old["primal"]) <= slack, (number, name, way)
    if way == "printed":
        _still_true(changed, verdict)
    return False


def _still_true(page, verdict):
    """Assert that all that a page prints is right but for rounding, each in its own unit."""
    data = [
        {k: read_array(v) for k, v in problem.items() if isinstance(v, dict)}
        for whole in proof_of(page)["problems"]
        for problem in whole.get("parts", [whole])
    ]
    targets = max(1.0, *(np.abs(one["targets"]).max() for one in data))
    costs = max(1.0, *(np.abs(one["C"]).max() for one in data if "C" in one), 1.0)
    multipliers = max(np.abs(one.get("multipliers", one["targets"])).sum() for one in data)
    value = max(abs(verdict.numbers["primal"]), abs(verdict.numbers["dual"]))
    units = {
        **dict.fromkeys(("primal", "dual", "gap"), value),
        "relative_gap": 1.0,
        "stationarity": targets,
        "primal_feasibility": targets,
        "dual_feasibility": multipliers,
        "complementarity": targets * costs,
    }
    right = {**verdict.numbers, "relative_gap": verdict.relative_gap}
    for claim in CLAIM.finditer(page):
        if claim[3] in units:
            printed, half = read_number(claim[4])
            assert abs(printed - right[claim[3]]) <= 1.001 * half + 1e-9 * units[claim[3]], claim[0]


def test_tampered_reports():
    caught = [_caught_or_valid(number) for number in range(80)]
    assert sum(caught) >= 60


@pytest.mark.attack
def test_a_thousand_tampered_reports():
    caught = np.array([_caught_or_valid(number) for number in range(1000)])
    for k, way in enumerate(WAYS):
        own = caught[k :: len(WAYS)]  # they take turns
        print(f"{way}: {own.sum()} of {len(own)} caught, the others still hold a proof")
    assert caught.sum() >= 800
