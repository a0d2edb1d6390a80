"""What Gaussian processes find, against minimisers that know nothing of them."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer import RBF, Gram
from mercer.problems.processes import MeanProblem, ModeProblem

RANDOM = np.random.default_rng(4)
X = RANDOM.standard_normal((25, 2))
GRAM = Gram(RBF(gamma=0.5), X)
K = GRAM.dense()


def test_the_mean_solves_its_equations_and_every_other_has_a_gap():
    Y = RANDOM.standard_normal((25, 2))
    noise = np.where(np.arange(25) % 5, 0.3, 0.0)
    problem = MeanProblem(Y, noise)
    c = np.linalg.solve(K + np.diag(noise), Y)
    best = problem.certify(c, GRAM)
    assert best.gap == pytest.approx(0, abs=1e-9)
    assert best.stationarity < 1e-9
    assert best.primal_feasibility < 1e-9
    assert problem.certify(c, GRAM, K @ c).primal == pytest.approx(best.primal)
    wrong = problem.certify(c + 0.1 * RANDOM.standard_normal(c.shape), GRAM)
    assert wrong.primal_feasibility > 1e-3
    assert wrong.dual < best.dual


def test_the_mode_is_the_minimum_and_every_other_has_a_gap():
    y = (RANDOM.random(25) > 0.4).astype(float)
    s = 2 * y - 1

    def objective(c):
        f = K @ c
        return np.logaddexp(0, -s * f).sum() + 0.5 * c @ f

    found = minimize(objective, np.zeros(25), method="BFGS", options={"gtol": 1e-9})
    problem = ModeProblem(y)
    c = y - 1 / (1 + np.exp(-K @ found.x))
    judged = problem.certify(c, GRAM)
    assert judged.primal == pytest.approx(found.fun, rel=1e-7)
    assert 0 <= judged.gap + 1e-12 < 1e-5
    assert judged.stationarity < 1e-4
    for step in (0.1, 3.0):
        other = problem.certify(c + step * RANDOM.standard_normal(25), GRAM)
        assert other.primal >= judged.primal
        assert other.dual <= judged.primal + 1e-9
        assert other.gap > 1e-3
