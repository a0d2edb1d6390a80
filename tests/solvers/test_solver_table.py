"""All solvers on all their problems: one contract, the same assertions for each.

A new solver is one more line in ``TABLE``: the solver, the problem it is shown, the matrix, and
where it cannot do what all others do, why. A solver without a line fails a test.
"""

import importlib
import inspect
import pkgutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import mercer.solvers
from mercer import RBF
from mercer.exceptions import InvalidInput
from mercer.gram.base import GramMatrix
from mercer.gram.feature_gram import FeatureGram
from mercer.gram.given import GivenGram
from mercer.gram.kernel_family import KernelFamily
from mercer.gram.sums import SumGram
from mercer.kernels.definite import Definite
from mercer.kernels.features import Features
from mercer.landmarks.basis import LandmarkBasis
from mercer.landmarks.landmark_gram import LandmarkGram
from mercer.linalg.covariance import whiten
from mercer.problems import linear, qp
from mercer.problems.backpropagation import Network, NetworkLoss
from mercer.problems.biased_multiclass import BiasedMulticlass
from mercer.problems.contrasts import CONTRASTS
from mercer.problems.elastic_net import Design, LassoProblem
from mercer.problems.entropy import SumOfEntropies
from mercer.problems.landmark_losses import LandmarkClasses, Logistic, SquaredHinge
from mercer.problems.landmark_squares import LandmarkRidge
from mercer.problems.logistic import LinearLogisticProblem, LogisticProblem
from mercer.problems.manifold import ManifoldProblem, ManifoldProblems, Roughness
from mercer.problems.manifold_hinge import HingeManifoldProblem
from mercer.problems.mistakes import SignedRows
from mercer.problems.multi_task import MultiTaskProblem
from mercer.problems.multiclass import CrammerSinger, WestonWatkins
from mercer.problems.multiple_kernels import MultipleKernelProblem
from mercer.problems.norm_regression import NormProblem
from mercer.problems.penalties import (
    L1,
    L2,
    DeadZone,
    Huber,
    LogBarrier,
    Quantile,
)
from mercer.problems.penalty_problems import (
    ChebyshevProblem,
    PenaltyProblem,
)
from mercer.problems.ridge import RidgeProblem
from mercer.problems.sparse_logistic import SparseLogisticProblem
from mercer.problems.unbiased import unbiased_classifier
from mercer.problems.vector_norms import Lp
from mercer.solvers.base import Budget, Solution, Solver, Status
from mercer.solvers.gp.evidence import EvidenceSolver, RegressionEvidence
from mercer.solvers.gp.laplace import LaplaceEvidence
from mercer.solvers.landmarks.landmark_newton import LandmarkNewton
from mercer.solvers.landmarks.landmark_ridge import LandmarkConjugateGradients
from mercer.solvers.linear.block_descent import BlockDescent
from mercer.solvers.linear.coordinate import (
    ClassDescent,
    ColumnDescent,
    DescentThenNewton,
    DigitsThenNewton,
    DualDescent,
)
from mercer.solvers.linear.kinked_newton import KinkedNewton
from mercer.solvers.linear.lasso import ElasticNetDescent, WorkingSets
from mercer.solvers.linear.least_norm import LeastNorm, WeightsInBall
from mercer.solvers.linear.least_squares import (
    LeastSquaresRounds,
    PlainLeastSquares,
    RidgeFactors,
)
from mercer.solvers.linear.linear_newton import LinearNewton
from mercer.solvers.linear.logistic_newton import KernelLogisticNewton, LinearLogisticNewton
from mercer.solvers.linear.penalised_regression import (
    ChebyshevProgram,
    LeastPenalties,
    TiltedVertices,
)
from mercer.solvers.linear.proximal_newton import ProximalNewton
from mercer.solvers.linear.squared_newton import SquaredNewton
from mercer.solvers.manifold_newton import ManifoldNewton
from mercer.solvers.network.online_rules import KernelPerceptronRule, OnlineRule
from mercer.solvers.network.stochastic import LBFGS, Adam, LineSearchDescent, MiniBatchDescent
from mercer.solvers.ridge_systems import RidgeSolver
from mercer.solvers.sources.fixed_point import (
    DeflationFixedPoint,
    DeflationRows,
    ParallelRows,
    SymmetricFixedPoint,
)
from mercer.solvers.sources.ica_newton import QuasiNewtonICA
from mercer.solvers.sources.rotations import PairRotations
from mercer.solvers.svm.biased_multiclass_smo import BiasedJointSolver
from mercer.solvers.svm.box_qp import BoxQPSolver
from mercer.solvers.svm.coordinate_ascent import KernelCoordinateAscent
from mercer.solvers.svm.growing_rows import GrowingRows
from mercer.solvers.svm.interior import InteriorPoint
from mercer.solvers.svm.multiclass_smo import JointMulticlassSolver
from mercer.solvers.svm.smo import SMO
from mercer.solvers.svm.weight_newton import WeightNewton
from mercer.solvers.warped_kernel import WarpedKernelSolver

N = 60
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(N, 3))
SIGNS = np.where(X[:, 0] * X[:, 1] + 0.3 * RANDOM.normal(size=N) > 0, 1.0, -1.0)
TARGETS = X[:, 0] + np.sin(X[:, 1])
BOTH = np.column_stack([TARGETS, np.cos(X[:, 1])])
LABELS = np.arange(N) % 3
ONES = np.ones(N)
TOL = 1e-4
COLUMNS = np.column_stack([X, X**2, X[:, [0]] * X])
KERNEL = RBF(gamma=0.5)


def matrix():
    """Return exp(−‖x − z‖²/2) by its definition, which no kernel and no cache has touched."""
    return np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 2)


def dense(value=None):
    return GivenGram(matrix(), Definite.POSITIVE)


def features(value=None):
    return FeatureGram(Features.numbered(COLUMNS))


def plain(value=None):
    return FeatureGram(Features.numbered(X))


def sources(value=None):
    """White mixtures of a sharp and a flat source."""
    random = np.random.default_rng(0)
    S = np.column_stack([random.laplace(size=600), random.uniform(-1, 1, 600)])
    return FeatureGram(Features.numbered(whiten(S @ [[1.0, -0.3], [0.4, 1.0]]).X.T))


def several(value=None, definite=Definite.POSITIVE):
    """Three kernels, one of them of no use."""
    noise = np.random.default_rng(1).normal(size=(N, 1))
    matrices = (matrix(), X @ X.T, noise @ noise.T)
    return SumGram([GivenGram(K, definite) for K in matrices])


def several_unknown():
    return several(definite=Definite.INDEFINITE)


def landmarks(y):
    basis = LandmarkBasis.for_passes(KERNEL, KERNEL.encode(X[:15]))
    return lambda value=None: LandmarkGram.of(basis, KERNEL.encode(X), y, None, True)


def manifold(hinge, kind=ManifoldProblem, intercept=True):
    """A few labels, and a graph of all points that are near each other."""
    near = matrix() - np.eye(N)
    laplacian = sparse.csr_array(np.diag(near.sum(axis=1)) - near)
    rows = np.arange(0, N, 4)
    y = (SIGNS if hinge else TARGETS)[rows]
    part = kind(rows, y, np.ones(15), 0.1, Roughness(laplacian, 0.01), hinge, intercept)
    return ManifoldProblems([part])


PROCESS = 1.5 * RBF(length_scale=1.0)
FAMILY = KernelFamily(PROCESS, PROCESS.encode(X), list(PROCESS.free_parameters()))


def of_process(value=None):
    """The matrix of the parameters that were learnt, which the certificate is of."""
    return dense() if value is None else GivenGram(FAMILY.matrix(value.theta))


def network():
    """A network without hidden layers: ridge regression."""
    layers = Network([3, 1], "identity", "identity")
    layers.start(np.random.RandomState(0))
    return NetworkLoss(layers, TARGETS[:, None], np.zeros(0), 0.5)


def box(problem, beta):
    """Return how far β lies outside of its box, and its sums are off."""
    outside = max((problem.lo - beta).max(), (beta - problem.hi).max(), 0.0)
    return max(outside, np.abs(np.bincount(problem.group, beta) - problem.sums).max())


def simplex(problem, alpha):
    """Return how far the multipliers of a point are from those of a joint problem."""
    rivals = np.where(np.arange(problem.classes) == problem.labels[:, None], 0.0, -alpha)
    total = rivals.sum(axis=1) if problem.bound_on_total else rivals.max(axis=1)
    return max(-rivals.min(), (total - problem.C).max(), np.abs(alpha.sum(axis=1)).max())


def joint_box(problem, answer):
    """Return how far weights are from the ball, and multipliers from their boxes."""
    pairs = zip(problem.parts, answer.multipliers, strict=True)
    off = max(box(part, beta) for (_, part), beta in pairs)
    return max(off, -answer.weights.min(), np.linalg.norm(answer.weights, problem.p) - 1)


def weights_and_multipliers(answer):
    return np.concatenate([answer.weights, *answer.multipliers])


@dataclass(frozen=True)
class Row:
    """A solver, a problem for it, a matrix, and what is different about it.

    ``broken`` says how far an answer breaks the constraints of a box or joint problem, ``read``
    gives the numbers of an answer, and from an ``exact_start`` no step is taken. ``unknown`` is the
    matrix of a box or joint problem with nothing known of it. All texts are reasons why the solver
    does not do what all others do.
    """

    solver: Solver[Any, Any]
    problem: Any
    gram: Callable[..., GramMatrix] = dense
    broken: Callable[[Any, Any], float] | None = None
    read: Callable[[Any], Any] = np.asarray
    tol: float = TOL
    ends: Status = Status.OPTIMAL
    exact_start: bool = False
    unknown: Callable[..., GramMatrix] = lambda: GivenGram(matrix())
    direct: str = ""
    no_count: str = ""
    no_start: str = ""

    def __str__(self):
        return f"{type(self.solver).__name__}-{self.stated().name}"

    def stated(self):
        """Return the problem; a network of its own where solvers work in it."""
        return self.problem() if inspect.isfunction(self.problem) else self.problem

    def solve(self, start=None, gram=None, problem=None, **limits) -> Solution[Any]:
        stated = self.stated() if problem is None else problem
        given = self.gram() if gram is None else gram
        return self.solver.solve(stated, given, Budget(**{"tol": self.tol, **limits}), start)

    def check_stopped(self, solution, status):
        """An early answer is feasible, and its bound holds."""
        assert isinstance(solution, Solution)
        assert solution.status is status
        assert solution.status.advice != ""
        if self.broken is not None:
            assert self.broken(self.stated(), solution.value) <= 1e-10
        if self.solver.certified:
            assert solution.certificate.status == str(status)
            assert solution.certificate.gap >= -1e-9
            assert np.isfinite(solution.certificate.primal)


BOXES = (
    qp.classifier(SIGNS, 10 * ONES),
    qp.regressor(TARGETS, 10 * ONES, 0.1),
    qp.one_class(ONES, 0.2),
    qp.nu_classifier(SIGNS, ONES, 0.3),
    qp.nu_regressor(TARGETS, ONES, 0.3),
)
JOINT = (WestonWatkins(LABELS, ONES, 3), CrammerSinger(LABELS, ONES, 3))
EVERYTHING = np.arange(N)
PAIRS = [np.flatnonzero(LABELS - c) for c in range(3)]
WEIGHTED = (
    MultipleKernelProblem([(EVERYTHING, BOXES[0])]),
    MultipleKernelProblem([(EVERYTHING, BOXES[1])], 1.5),
    MultipleKernelProblem(
        [(rows, qp.classifier(SIGNS[rows], np.ones(40))) for rows in PAIRS],
        2.0,
    ),
)
RIDGE = RidgeProblem(TARGETS[:, None], np.array([0.5]), ONES, True)
THETA = np.log(list(PROCESS.free_parameters().values()))
BOUNDS = np.log([[1e-5, 1e5]] * len(THETA))


def seeded():
    return np.random.RandomState(0)


def coef(answer):
    return answer.coef


def weights(answer):
    return answer.w


def weights_of(answer):
    return answer.x


def up_to_signs(unmixing):
    return unmixing.W[:, :, None] * unmixing.W[:, None, :]


FACTOR = "a factorisation has no steps between which to stop"
VERTICES = "the limit of vertices is its own: few steps make no answer"
HIGHS = "HiGHS is called once"
OWN_START = "the start is a parameter: weights of the network, or θ"

TABLE = [
    *(Row(SMO(), problem, broken=box, exact_start=True) for problem in BOXES),
    *(Row(InteriorPoint(), problem, broken=box, exact_start=True) for problem in BOXES),
    *(Row(BoxQPSolver(), problem, broken=box, exact_start=True) for problem in BOXES),
    *(
        Row(GrowingRows(), problem, features, broken=box, exact_start=True, unknown=features)
        for problem in BOXES
    ),
    Row(
        KernelCoordinateAscent(),
        unbiased_classifier(SIGNS, 10 * ONES),
        broken=lambda problem, beta: max((problem.lo - beta).max(), (beta - problem.hi).max(), 0.0),
        exact_start=True,
    ),
    *(Row(JointMulticlassSolver(), problem, broken=simplex, exact_start=True) for problem in JOINT),
    *(
        Row(BiasedJointSolver(), BiasedMulticlass(problem), read=lambda answer: answer.alpha)
        for problem in JOINT
    ),
    *(
        Row(
            WeightNewton(),
            problem,
            several,
            joint_box,
            weights_and_multipliers,
            exact_start=True,
            unknown=several_unknown,
        )
        for problem in WEIGHTED
    ),
    Row(RidgeSolver(), RIDGE, direct=FACTOR),
    Row(
        RidgeSolver("mixed"),
        RIDGE,
        no_count="a float64 factor follows where refinements are not enough",
        no_start="every λ starts from zero",
    ),
    Row(RidgeSolver("eigen"), RIDGE, direct=FACTOR),
    Row(RidgeSolver("cg"), RIDGE, no_start="every λ starts from zero"),
    *(
        Row(solver, problem(LABELS % classes, ONES, classes), gram, read=coef, exact_start=True)
        for solver, problem, gram in (
            (KernelLogisticNewton(), LogisticProblem, dense),
            (LinearLogisticNewton(), LinearLogisticProblem, features),
        )
        for classes in (2, 3)
    ),
    *(
        Row(
            ProximalNewton(small_system=most),
            SparseLogisticProblem(LABELS % classes, ONES, classes, l1=share),
            features,
            read=coef,
            exact_start=True,
        )
        for most, share, classes in ((400, 1.0, 2), (400, 0.5, 3), (0, 0.9, 3))
    ),
    Row(LinearNewton(0), linear.classifier(SIGNS, ONES, False, 1.0), features),
    Row(LinearNewton(0), linear.regressor(TARGETS, ONES, 0.1, False, 1.0), features),
    *(
        Row(KinkedNewton(LinearNewton(0)), problem, features)
        for problem in (
            linear.classifier(SIGNS, ONES, False, 1.0),
            linear.regressor(TARGETS, ONES, 0.1, False, 1.0),
        )
    ),
    Row(SquaredNewton(LinearNewton(0)), linear.classifier(SIGNS, ONES, True, 1.0), features),
    Row(SquaredNewton(LinearNewton(0)), linear.regressor(TARGETS, ONES, 0.1, True, 1.0), features),
    Row(DualDescent(0), linear.classifier(SIGNS, ONES, True, 1.0), features),
    Row(DualDescent(0), linear.regressor(TARGETS, 0.1 * ONES, 0.1, True), plain),
    Row(DescentThenNewton(0), linear.classifier(SIGNS, 1e3 * ONES, True, 1.0), features),
    Row(DigitsThenNewton(0), linear.classifier(SIGNS, 0.1 * ONES, False, 1.0), features),
    Row(DigitsThenNewton(0), linear.regressor(TARGETS, 10 * ONES, 0.1, False), features),
    Row(ClassDescent(0), linear.LinearCrammerSinger(LABELS, 0.1 * ONES, 3), plain),
    Row(ColumnDescent(0), linear.SparseClassifier(SIGNS, ONES), features),
    *(
        Row(solver, problem, features, read=weights, exact_start=True)
        for solver, problem in (
            (WorkingSets(), LassoProblem(TARGETS, 2.0)),
            (WorkingSets(), LassoProblem(TARGETS, 2.0, positive=True)),
            (ElasticNetDescent(), LassoProblem(TARGETS, 2.0, 1.0)),
        )
    ),
    *(
        Row(BlockDescent(), MultiTaskProblem(BOTH, 2.0, ridge), features, exact_start=True)
        for ridge in (0.0, 1.0)
    ),
    Row(PlainLeastSquares(), LassoProblem(TARGETS, 0.0), features, direct=FACTOR),
    Row(RidgeFactors(Design(COLUMNS)), LassoProblem(TARGETS, 0.0, 1.0), features, direct=FACTOR),
    Row(
        LeastSquaresRounds(),
        LassoProblem(TARGETS, 0.0, 1.0),
        features,
        read=weights,
        no_start="LSQR starts from zero",
    ),
    Row(ManifoldNewton(), manifold(hinge=True)),
    Row(ManifoldNewton(), manifold(hinge=False)),
    *(
        Row(
            WarpedKernelSolver(),
            manifold(True, HingeManifoldProblem, intercept),
            no_count="the matrix is factorised once, and steps after that cost next to nothing",
            no_start="the multipliers start from zero",
        )
        for intercept in (False, True)
    ),
    Row(LandmarkNewton(), LandmarkClasses(Logistic(3), 1.0, True), landmarks(LABELS)),
    Row(LandmarkNewton(), LandmarkClasses(SquaredHinge(3), 1.0, True), landmarks(LABELS)),
    Row(
        LandmarkConjugateGradients(),
        LandmarkRidge(0.5, True),
        landmarks(TARGETS[:, None]),
        no_start="the size of the answer is seen from 0 alone",
    ),
    *(
        Row(LeastPenalties(4, seeded()), PenaltyProblem(TARGETS, penalty), features, **reasons)
        for penalty, reasons in (
            (L2(), {"direct": FACTOR}),
            (L1(), {"no_count": VERTICES, "no_start": VERTICES}),
            (DeadZone(0.1), {"direct": HIGHS}),
            (Huber(0.1), {"no_start": "squares are a start that costs next to nothing"}),
            (LogBarrier(3.0), {"no_start": "the start has to be inside of the barrier"}),
        )
    ),
    *(
        Row(TiltedVertices(), PenaltyProblem(TARGETS, penalty), features, no_start=VERTICES)
        for penalty in (L1(), Quantile(0.7))
    ),
    Row(ChebyshevProgram(), ChebyshevProblem(TARGETS), features, direct=HIGHS),
    *(Row(LeastNorm(), NormProblem(TARGETS, Lp(p)), features, read=weights_of) for p in (1.5, 5.0)),
    *(
        Row(
            WeightsInBall(),
            NormProblem(TARGETS, Lp(p), 0.5, Lp(q), COLUMNS.shape[1]),
            features,
            direct="each is one call of a factorisation, a path or HiGHS",
        )
        for p, q in ((2.0, 1.0), (2.0, 2.0), (1.0, np.inf))
    ),
    Row(
        EvidenceSolver([THETA], BOUNDS),
        RegressionEvidence(FAMILY, TARGETS[:, None], 0.01),
        of_process,
        no_start=OWN_START,
    ),
    Row(
        EvidenceSolver([THETA], BOUNDS),
        LaplaceEvidence(FAMILY, (SIGNS > 0).astype(float)),
        of_process,
        no_start=OWN_START,
    ),
    *(
        Row(solver, CONTRASTS["logcosh"], sources, read=up_to_signs, tol=1e-8)
        for solver in (
            SymmetricFixedPoint(),
            DeflationFixedPoint(),
            ParallelRows(),
            DeflationRows(),
            QuasiNewtonICA(seeded()),
        )
    ),
    Row(PairRotations(seeded()), SumOfEntropies(), sources, read=up_to_signs),
    Row(
        OnlineRule(),
        SignedRows(np.sign(X[:, 0] - X[:, 1]), ONES),
        plain,
        read=lambda found: np.append(found.w, found.b),
        tol=-np.inf,
    ),
    Row(
        KernelPerceptronRule(),
        SignedRows(SIGNS, ONES),
        read=lambda found: found.counts,
        tol=-np.inf,
    ),
    *(
        Row(solver, network, plain, read=lambda found: found.loss, no_start=OWN_START)
        for solver in (LBFGS(), LineSearchDescent())
    ),
    Row(
        MiniBatchDescent(Adam(np.zeros(4), np.zeros(4), 0.01, 0.9, 0.999, 1e-8), N, seeded()),
        network,
        plain,
        read=lambda found: found.loss,
        ends=Status.STALLED,  # where batches hover around the optimum, patience ends it
        no_start=OWN_START,
    ),
]
rows = pytest.mark.parametrize("row", TABLE, ids=str)
certified = pytest.mark.parametrize("row", [r for r in TABLE if r.solver.certified], ids=str)
boxes = pytest.mark.parametrize("row", [r for r in TABLE if r.broken is not None], ids=str)


def test_every_solver_has_a_row():
    for module in pkgutil.walk_packages(mercer.solvers.__path__, "mercer.solvers."):
        importlib.import_module(module.name)
    found, waiting = set(), [Solver]
    while waiting:
        parts = waiting.pop().__subclasses__()
        waiting += parts
        found |= {part for part in parts if part.__module__.startswith("mercer.solvers.")}
    bases = {base for solver in found for base in solver.__mro__[1:]}
    shown = {type(row.solver) for row in TABLE}
    missing = found - bases - shown
    assert not missing, f"no row for {sorted(solver.__name__ for solver in missing)}"


@rows
def test_an_answer_is_optimal_and_its_certificate_anybody_can_recompute(row):
    problem = row.stated()
    solution = row.solve(problem=problem)
    assert isinstance(solution, Solution)
    assert solution.status is row.ends
    assert solution.status.advice == "" or row.ends is not Status.OPTIMAL
    assert solution.statistics.seconds > 0
    if not row.solver.certified:
        assert solution.certificate is None
        with pytest.raises(InvalidInput, match="no dual"):
            problem.certify(solution.value, row.gram())
        return
    certificate = solution.certificate
    assert certificate.status == "optimal"
    nystrom = ", Nyström with 15 landmarks" if row.gram().landmarks() is not None else ""
    assert certificate.problem == problem.name + nystrom
    assert -1e-9 <= certificate.gap <= row.tol * max(1.0, N * 10)
    assert certificate.dual <= certificate.primal + 1e-9
    assert certificate.relative_gap <= 100 * row.tol
    assert max(certificate.primal_feasibility, certificate.dual_feasibility) <= 1e-6
    fresh = problem.certify(solution.value, row.gram(solution.value))
    for name in ("primal", "dual", "stationarity", "complementarity"):
        mine, theirs = getattr(certificate, name), getattr(fresh, name)
        assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9, err_msg=name)
    assert certificate.iterations == solution.statistics.iterations
    assert certificate.seconds == solution.statistics.seconds


@boxes
def test_an_answer_keeps_its_constraints_and_tol_bounds_the_violation(row):
    solution = row.solve()
    assert row.broken(row.problem, solution.value) <= 1e-10
    assert solution.certificate.stationarity <= TOL * (1 + 1e-6)


@certified
def test_a_product_that_is_handed_over_is_that_of_the_matrix(row):
    solution = row.solve()
    if solution.product is None:
        return
    gram = row.gram(solution.value)
    again = row.problem.certify(solution.value, gram, solution.product)
    fresh = row.problem.certify(solution.value, gram)
    assert_allclose(again.primal, fresh.primal, rtol=1e-9)


@rows
def test_a_start_at_the_answer_stays_there(row):
    problem = row.stated()
    first = row.solve(problem=problem)
    if row.solver.certified:
        again = row.solve(start=first.value, problem=problem)
        gap = max(first.certificate.gap, again.certificate.gap)
        assert abs(again.certificate.primal - first.certificate.primal) <= gap + 1e-9
    else:
        before = np.copy(row.read(first.value))
        again = row.solve(start=first.value, problem=problem)
        assert_allclose(row.read(again.value), before, atol=10 * TOL)
    assert again.status is row.ends
    if not (row.no_start or row.direct):
        assert again.statistics.iterations <= first.statistics.iterations


@pytest.mark.parametrize("row", [row for row in TABLE if row.exact_start], ids=str)
def test_a_start_at_the_answer_ends_at_once(row):
    first = row.solve()
    before = row.read(first.value).copy()
    again = row.solve(start=first.value)
    assert again.status is Status.OPTIMAL
    assert again.statistics.iterations == 0
    assert_allclose(row.read(again.value), before, rtol=1e-12, atol=1e-12)
    assert_array_equal(row.read(first.value), before)  # the caller's own


@rows
def test_a_deadline_in_the_past_gives_an_answer(row):
    solution = row.solve(deadline=time.perf_counter() - 1)
    if row.direct:
        assert solution.status is Status.OPTIMAL, row.direct
        return
    row.check_stopped(solution, Status.TIME_LIMIT)
    assert "time limit" in solution.status.advice


@rows
def test_a_budget_of_no_steps_gives_an_answer(row):
    solution = row.solve(max_iter=0)
    if row.direct or row.no_count:
        assert solution.status is Status.OPTIMAL, row.direct or row.no_count
        return
    row.check_stopped(solution, Status.MAX_ITER)


@rows
def test_a_monitor_can_stop_it(row):
    solution = row.solve(monitor=lambda violation: True)
    if row.direct:
        assert solution.status is Status.OPTIMAL, row.direct
        return
    row.check_stopped(solution, Status.INTERRUPTED)


@rows
def test_a_matrix_with_other_columns_is_refused(row):
    gram = row.gram()
    n = gram.shape[0]
    with pytest.raises(InvalidInput, match="other columns"):
        row.solve(gram=gram.take(np.arange(n), np.arange(n - 1)))


@boxes
def test_any_precision_of_the_matrix_is_judged_in_float64(row):
    exact = row.solve()
    solution = row.solve(gram=row.unknown().in_precision(np.float32))
    assert solution.status is Status.OPTIMAL
    gap = max(solution.certificate.gap, exact.certificate.gap)
    assert abs(solution.certificate.dual - exact.certificate.dual) <= gap + 1e-9


BEYOND = {
    "JointMulticlassSolver": lambda k: k + N,
    "BiasedJointSolver": lambda k: k + N,
    "ManifoldNewton": lambda k: k + 1,
    "LandmarkNewton": lambda k: k + 3,
    "EvidenceSolver": lambda k: 2 * k,
}
"""What the last step of some may add: a product counts as one for each point, a line search or a
judgement needs passes of its own, and an evidence is climbed in two ways."""
ONE_LESS = {"TiltedVertices"}
"""A look at a vertex counts, a step from it does not."""


@rows
def test_no_more_steps_are_taken_than_the_budget_has(row):
    if row.direct or row.no_count:
        return
    name = type(row.solver).__name__
    whole = row.solve().statistics.iterations
    for most in sorted({1, 2, 3, max(whole // 2, 1), max(whole - 1, 1)}):
        solution = row.solve(max_iter=most)
        taken = solution.statistics.iterations
        assert solution.status in (Status.MAX_ITER, row.ends)
        assert taken <= BEYOND.get(name, lambda k: k)(most)
        if solution.status is Status.MAX_ITER:
            assert taken >= most - (name in ONE_LESS)


ENDLESS = {"DualDescent", "ClassDescent", "ColumnDescent", "WeightNewton"}
"""Passes that nothing ends but their tolerance, or whoever counts them; the last one ends, and its
machines take a second until then."""
ROUGH_END = {"InteriorPoint": 1e-3, "LeastNorm": 1e-9, "LeastPenalties": 1e-9}
"""What rounding leaves of the relative gap where answers are judged by their dual value alone, or
by squares."""


@certified
def test_rounding_ends_what_no_tolerance_does(row):
    name = type(row.solver).__name__
    if name in ENDLESS:
        return
    solution = row.solve(tol=0.0, max_iter=200_000)
    assert solution.status in (Status.OPTIMAL, Status.STALLED)
    assert abs(solution.certificate.relative_gap) <= ROUGH_END.get(name, 1e-10)
    usual = row.solve()
    assert solution.statistics.iterations <= 60 * (usual.statistics.iterations + 5)
    if name != "EvidenceSolver":  # whose certificate is of the parameters that were learnt
        gap = max(usual.certificate.gap, solution.certificate.gap)
        assert abs(solution.certificate.primal - usual.certificate.primal) <= gap + 1e-9
