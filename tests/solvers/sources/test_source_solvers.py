"""Solvers of independent component analysis: one contract, one answer, no certificate."""

import numpy as np
import pytest

from mercer.exceptions import InvalidInput
from mercer.gram.feature_gram import FeatureGram
from mercer.independence import amari_distance
from mercer.kernels.features import Features
from mercer.linalg.covariance import whiten
from mercer.problems.contrasts import CONTRASTS
from mercer.problems.entropy import SumOfEntropies
from mercer.solvers.base import Budget, Status
from mercer.solvers.sources.fixed_point import (
    DeflationFixedPoint,
    DeflationRows,
    ParallelRows,
    SymmetricFixedPoint,
    Unmixing,
)
from mercer.solvers.sources.ica_newton import QuasiNewtonICA
from mercer.solvers.sources.rotations import PairRotations

METHODS = {
    "symmetric": (SymmetricFixedPoint(), CONTRASTS["logcosh"]),
    "deflation": (DeflationFixedPoint(), CONTRASTS["logcosh"]),
    "parallel rows": (ParallelRows(), CONTRASTS["logcosh"]),
    "deflation rows": (DeflationRows(), CONTRASTS["logcosh"]),
    "quasi-Newton": (QuasiNewtonICA(np.random.RandomState(0)), CONTRASTS["logcosh"]),
    "rotations": (PairRotations(np.random.RandomState(0)), SumOfEntropies()),
}


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(0)
    S = np.column_stack([rng.laplace(size=4000), rng.uniform(-1, 1, 4000)])
    A = np.array([[1.0, 0.4], [-0.3, 1.0]])
    white = whiten(S @ A.T)
    return FeatureGram(Features.numbered(white.X.T)), white.K, A


@pytest.mark.parametrize("name", METHODS)
def test_every_method_finds_the_sources(mixed, name):
    gram, K, A = mixed
    method, problem = METHODS[name]
    start = Unmixing(np.array([[0.9, 0.5], [-0.4, 1.0]]), np.inf)
    found = method.solve(problem, gram, Budget(tol=1e-8, max_iter=200), start)
    assert found.status is Status.OPTIMAL
    assert found.certificate is None
    assert found.statistics.iterations >= 1
    assert amari_distance(found.value.W @ K, A) < 0.03
    W = found.value.W
    np.testing.assert_allclose(W @ W.T, np.eye(2), atol=1e-8)


@pytest.mark.parametrize("name", [name for name in METHODS if name != "rotations"])
def test_a_budget_of_one_step_is_kept(mixed, name):
    gram, _, _ = mixed
    method, problem = METHODS[name]
    start = Unmixing(np.array([[1.0, 1.0], [-1.0, 1.0]]), np.inf)
    small = gram.take(np.arange(600))
    found = method.solve(problem, small, Budget(tol=1e-12, max_iter=1), start)
    assert found.status is Status.MAX_ITER
    assert found.statistics.iterations == 1


@pytest.mark.parametrize("name", METHODS)
def test_a_deadline_gives_the_best_so_far(mixed, name):
    gram, _, _ = mixed
    method, problem = METHODS[name]
    start = Unmixing(np.array([[1.0, 1.0], [-1.0, 1.0]]), np.inf)
    found = method.solve(problem, gram.take(np.arange(600)), Budget(tol=0.0, deadline=0.0), start)
    assert found.status in (Status.TIME_LIMIT, Status.OPTIMAL)
    assert np.isfinite(found.value.W).all()


def test_a_contrast_cannot_be_certified(mixed):
    with pytest.raises(InvalidInput, match="no dual"):
        CONTRASTS["logcosh"].certify(Unmixing(np.eye(2), 0.0), mixed[0])
