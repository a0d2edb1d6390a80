"""Box QPs on features by rows that are added: the answers of the whole matrix from a part of it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.gram.feature_gram import FeatureGram
from mercer.gram.given import GivenGram
from mercer.kernels.definite import Definite
from mercer.problems import qp
from mercer.solvers.base import Budget, Status
from mercer.solvers.svm import growing_rows
from mercer.solvers.svm.box_qp import BoxQPSolver
from mercer.solvers.svm.growing_rows import GrowingRows

RANDOM = np.random.default_rng(0)
PHI = RANDOM.normal(size=(900, 12))
VALUES = PHI[:, 0] + 0.3 * RANDOM.normal(size=900)
SIGNS = np.where(VALUES > 0, 1.0, -1.0)
FINE = Budget(1e-8, gap=1e-8)
PROBLEMS = {
    "few support vectors": qp.classifier(SIGNS, np.full(900, 0.5)),
    "a tube that most are in": qp.regressor(VALUES, np.ones(900), 0.8),
    "all at a bound": qp.classifier(SIGNS, np.full(900, 1e-5)),
    "sums that are not 0": qp.nu_classifier(SIGNS, np.ones(900), 0.1),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_answers_are_those_of_the_whole_matrix(name):
    problem, gram = PROBLEMS[name], FeatureGram.of_rows(PHI)
    found = GrowingRows().solve(problem, gram, FINE)
    naive = BoxQPSolver().solve(problem, GivenGram(PHI @ PHI.T, Definite.POSITIVE), FINE)
    assert found.status is Status.OPTIMAL
    assert_allclose(found.f, naive.f, atol=1e-5)
    judged = problem.certify(found.value, gram)
    assert judged.primal - judged.dual <= 1e-7 * max(1.0, abs(judged.primal))
    assert_allclose(found.f, PHI @ (PHI.T @ problem.coefficients(found.value, 900)), atol=1e-9)


def test_a_part_of_the_matrix_is_enough(monkeypatch):
    sizes = []

    class Watched(BoxQPSolver):
        def run(self, problem, gram, budget, start):
            sizes.append(gram.shape[0])
            return super().run(problem, gram, budget, start)

    monkeypatch.setattr(growing_rows, "BoxQPSolver", Watched)
    GrowingRows().solve(PROBLEMS["few support vectors"], FeatureGram.of_rows(PHI), Budget(gap=1e-3))
    assert 1 < len(sizes) < 9
    assert max(sizes) < 450


def test_an_answer_to_begin_with_is_used():
    problem, gram = PROBLEMS["few support vectors"], FeatureGram.of_rows(PHI)
    first = GrowingRows().solve(problem, gram, FINE)
    again = GrowingRows().solve(problem, gram, FINE, first.value)
    assert again.statistics.iterations < first.statistics.iterations
    assert_allclose(again.f, first.f, atol=1e-6)
