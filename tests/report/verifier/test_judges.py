"""The judges are sound: values bound the optimum, and formulas are the naive ones."""

import copy
import json

import numpy as np
import pytest

from mercer.report.proof.document import stored
from mercer.report.verifier.findings import Multiplied
from mercer.report.verifier.loss_judges import MANIFOLDS, GraphRoughness
from mercer.report.verifier.margin_judges import judge_box
from mercer.report.verifier.page import read_array
from mercer.report.verifier.residual_judges import PENALTIES
from mercer.report.verifier.verdict import verify
from tests.report.proof import machines

ANSWERS = ("multipliers", "coefficients", "w", "biases", "values")


def _moved(problem, random, size):
    """Change the answers of a problem: multipliers shrink, the rest moves at random."""
    for name in ANSWERS:
        if name in problem:
            values = read_array(problem[name])
            if name == "multipliers":
                values = (1 - size) * values
            else:
                values = values * (1 + size * random.normal(size=values.shape))
            problem[name] = stored(values)


@pytest.mark.parametrize("name", machines.CASES)
def test_any_answer_bounds_the_optimum(name):
    """The optimum is between the values of the fit: no primal value is below, no dual above."""
    proof = json.loads(machines.proof(name).text)
    best = verify(proof)
    low, high = best.numbers["dual"], best.numbers["primal"]
    slack = 1e-9 * max(abs(low), abs(high)) + 2 * sum(p.value_rounding for p in best.problems)
    random, seen = np.random.default_rng(0), 0
    for size in (0.01, 0.1, 0.5):
        other = copy.deepcopy(proof)
        for problem in other["problems"]:
            for part in problem.get("parts", [problem]):
                _moved(part, random, size)
        found = verify(other)
        if not found.numbers:
            continue
        seen += 1
        if not any("without a price" in fault for fault in found.faults):
            assert found.numbers["primal"] >= low - slack
        if found.holds:
            assert found.numbers["dual"] <= high + slack
    assert seen or name == "penalty_barrier"  # whose residuals may leave what is allowed


@pytest.mark.parametrize("name", PENALTIES)
def test_conjugates_of_penalties(name):
    phi = PENALTIES[name](0.7)
    low, high = (np.clip(end, -3.0, 3.0) for end in phi.box)
    end = 0.699999 if name == "log_barrier" else 9.0
    r = np.append(np.linspace(-end, end, 40_001), [-0.6, 0.6] if end < 9 else [-0.7, 0.7])
    for nu in np.linspace(low, high, 9):
        best = float((nu * r - phi.value(r)).max())
        assert float(phi.conjugate(np.array([nu]))[0]) == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("power", [1, 2])
def test_the_graph_is_that_of_dense_matrices(normalized, power):
    random = np.random.default_rng(0)
    W = np.triu(random.uniform(0.1, 1, (8, 8)) * (random.uniform(size=(8, 8)) < 0.5), 1)
    edges = np.argwhere(W > 0)
    W = W + W.T
    D = W.sum(axis=1)
    L = np.diag(D) - W
    if normalized:
        there = np.where(D > 0, D, 1.0) ** -0.5
        L = np.diag((D > 0).astype(float)) - there[:, None] * W * there
    problem = {"kind": MANIFOLDS[0], "smoothness": 3.0, "power": power, "normalized": normalized}
    data = {"edges": edges.astype(float), "edge_weights": W[edges[:, 0], edges[:, 1]]}
    rough, v = GraphRoughness(problem, data, 8), random.normal(size=8)
    expected = 3.0 * np.linalg.matrix_power(L, power) @ v
    np.testing.assert_allclose(rough(v), expected, atol=1e-12)
    assert (rough(np.abs(v), size=True) >= np.abs(expected) - 1e-12).all()


def test_a_hard_margin_pays_for_what_it_breaks():
    """Of two points at ±1 the best is f = x; f = 0.9 x has to be stretched by 1/0.9."""
    x = np.array([1.0, -1.0])
    problem = {"kind": "C-SVC", "hard": True}
    for share in (1.0, 0.9995):
        beta = share * x / 2
        f = x * float(beta @ x)
        data = {"targets": x, "multipliers": beta, "biases": np.zeros(1)}
        found = judge_box(problem, data, [Multiplied(f[:, None], np.abs(f)[:, None])])
        assert found.primal == pytest.approx(0.5, rel=1e-12)
        assert found.primal_feasibility == pytest.approx(1 - share, abs=1e-12)
        assert found.dual <= 0.5
