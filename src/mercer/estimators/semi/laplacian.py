"""What machines for few labels share: the graph on all points, the fit, and its judge."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_consistent_length

from mercer._files.fields import COUNT, CSR, A, Maybe, Number, State, WrongState
from mercer._sklearn import Interval, StrOptions
from mercer._typing import Array, IntArray, Objects, SampleWeights, Targets
from mercer.estimators.base import NamedKernelMachine, _check_rows
from mercer.estimators.constructor import parameters
from mercer.estimators.judged import JudgedMachine, Training
from mercer.estimators.kernel_argument import (
    caller_level,
    check_definite,
)
from mercer.estimators.state import KERNEL, check_points
from mercer.exceptions import DisconnectedGraphWarning, InvalidInput
from mercer.gram.base import GramMatrix
from mercer.gram.computed import Gram
from mercer.gram.expansion import Expansion
from mercer.gram.feature_gram import gram_of
from mercer.gram.neighbours import (
    WEIGHTS,
    NeighbourGraph,
    held_precision,
    held_with_graph,
    neighbour_graph,
)
from mercer.kernels.base import Kernel
from mercer.kernels.definite import Definite
from mercer.kernels.points import Points
from mercer.problems.certificate import OPTIMAL_GAP, Certificate
from mercer.problems.manifold import (
    ManifoldFunctions,
    ManifoldProblem,
    ManifoldProblems,
    Roughness,
)
from mercer.solvers.base import Budget, Solver, Status
from mercer.solvers.manifold_newton import ManifoldNewton

KernelParameter: TypeAlias = Kernel | str | Callable[[Any, Any], Any]
"""What users give as ``kernel``: one of ours, a name, or a function of two batches."""
Pose = Callable[[Roughness], list[ManifoldProblem]]
"""Makes the problems of a machine, given the roughness on its graph."""


@dataclass(frozen=True, eq=False)
class FittedFunctions:
    """Coefficients and constants, a column for each function, and f + b at all training points."""

    coef: Array
    bias: Array
    values: Array


class StatedFunctions(NamedTuple):
    """The matrix and the graph of all points, the problems on them, and the published answers."""

    gram: Gram
    graph: NeighbourGraph
    problems: list[ManifoldProblem]
    answer: ManifoldFunctions


@parameters
class LaplacianMachine(JudgedMachine, NamedKernelMachine):
    """What both machines share: the graph, the fit of several functions, and their values."""

    STATE: ClassVar[State] = {
        **KERNEL,
        "_fit_points": A(Points, size="rows"),
        "graph_": CSR,
        "n_connected_components_": COUNT,
        "certificate_": A(Certificate),
        "n_iter_": COUNT,
        "residual_trace_": Maybe(Number(low=0)),
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` where the graph does not fit the training rows."""
        rows = len(self._fit_points)
        check_points(self, self._fit_points, rows)
        if self.graph_.shape != (rows, rows):
            raise WrongState("its graph has not one node for each training row")

    _: KW_ONLY
    smoothness: float = 1.0
    n_neighbors: int = 10
    weights: str = "heat"
    normalized: bool = True
    power: int = 1
    fit_intercept: bool = False
    tol: float = 1e-10
    max_iter: int = 1000
    strict: bool = False

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **NamedKernelMachine._parameter_constraints,
        "smoothness": [Interval(Real, 0, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "weights": [StrOptions(set(WEIGHTS))],
        "power": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def _read_pair(self, X: Objects, y: Targets) -> Objects:
        """Return the checked training objects; the labels are read by each machine."""
        self._require_targets(y)
        X = self._read_training(X, None)
        check_consistent_length(X, y)
        _check_rows(X, type(self).__name__)
        return X

    def _fit_functions(
        self, X: Objects, labels: Any, labelled: IntArray, pose: Pose
    ) -> FittedFunctions:
        """Solve the problems that ``pose`` makes of the roughness on the graph."""
        budget = Budget.within(self.time_limit, tol=self.tol, max_iter=self.max_iter)
        self.kernel_, self._fit_points = self._bind_approximated(X)
        check_definite(self.kernel_, Definite.POSITIVE, self.strict, type(self).__name__)
        gram, graph = self._matrix_and_graph(self.kernel_, self._fit_points)
        self.graph_ = graph.weights
        self.n_connected_components_ = self._count_components(graph, labelled)
        problems = ManifoldProblems(pose(self._roughness(graph)))
        found = self._solver().solve(problems, gram, budget)
        assert found.product is not None
        self.__dict__.pop("certificate_", None)  # that of an earlier fit
        runs = [(found.statistics, found.status)]
        self._training = Training(self._fit_points, labels, np.ones(1), runs, OPTIMAL_GAP)
        self.n_iter_ = found.statistics.iterations
        coef, bias = found.value.coef, found.value.bias
        if not np.isfinite(coef).all():
            raise InvalidInput(
                f"{type(self).__name__}: the coefficients are not finite numbers. Scale the data."
            )
        if found.status is not Status.OPTIMAL:
            warnings.warn(
                f"{type(self).__name__}: {found.status.advice} The relative gap is "
                f"{found.certificate.relative_gap:.2g} at tol={self.tol:g}.",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )
        return FittedFunctions(coef, bias, found.product[:, : coef.shape[1]] + bias)

    def _solver(self) -> Solver[ManifoldProblems, ManifoldFunctions]:
        return ManifoldNewton()

    def _matrix_and_graph(
        self, kernel: Kernel, points: Points
    ) -> tuple[GramMatrix, NeighbourGraph]:
        """Return K, held where it fits and that is faster, and the graph of its neighbours."""
        gram = gram_of(kernel, points)
        cheap = self.kernel_argument.compares_objects and self._takes_vectors()
        dtype = held_precision(len(points), cheap)
        # Products through features are as fast as those with a matrix that is held.
        if dtype is None or gram.features() is not None:
            return gram, neighbour_graph(gram, self.n_neighbors, self.weights)
        computed = Gram(kernel, points, dtype=np.float64)
        return held_with_graph(computed, self.n_neighbors, self.weights, dtype)

    def _roughness(self, graph: NeighbourGraph) -> Roughness:
        return Roughness(graph.laplacian(self.normalized), float(self.smoothness), self.power)

    def _count_components(self, graph: NeighbourGraph, labelled: IntArray) -> int:
        parts = graph.components()
        count = int(parts.max()) + 1
        bare = np.setdiff1d(np.arange(count), parts[labelled])
        if len(bare) and self.smoothness > 0:
            sizes = np.bincount(parts)[bare]
            warnings.warn(
                f"{type(self).__name__}: the graph of neighbours falls into {count:,} components, "
                f"and {len(bare):,} of them, with {int(sizes.sum()):,} points, hold no label; "
                "there only the kernel speaks, not the graph. Raise n_neighbors (it is "
                f"{self.n_neighbors}), or label a point of each.",
                DisconnectedGraphWarning,
                stacklevel=caller_level(),
            )
        return count

    def _columns(self) -> Array:
        """Return the coefficients, a column for each function."""
        raise NotImplementedError

    def function_expansion(self) -> tuple[Expansion, Array]:
        """Return the functions of the machine as sums over points, and their constants."""
        constants = np.atleast_1d(self.intercept_)
        return Expansion(self.kernel_, self._fit_points, self._columns()), constants

    def _values(self, X: Objects) -> Array:
        X = self._read_new(X)
        return np.asarray(self._expand(X, self._fit_points, self._columns()) + self.intercept_)

    def _certify(self, X: Objects, sample_weight: SampleWeights, pose: Pose) -> Certificate:
        """Judge functions from the training data alone: graph, matrix and values are made anew."""
        if sample_weight is not None:
            raise InvalidInput("certify: machines on a graph of neighbours take no sample_weight.")
        columns = self._columns()
        points = self.kernel_.training_points(self.read(X))
        if len(points) != len(columns):
            raise InvalidInput(
                f"certify: the model was fitted on {len(columns)} rows, and X has {len(points)}. "
                "Pass the training data."
            )
        return self._judge_points(points, pose).under("")

    def _judge_points(self, points: Points, pose: Pose) -> Certificate:
        stated = self.state_functions(points, pose)
        return ManifoldProblems(stated.problems).certify(stated.answer, stated.gram)

    def state_functions(self, points: Points, pose: Pose) -> StatedFunctions:
        """State the problems of the machine and its answers, on a matrix and a graph made anew."""
        gram = Gram(self.kernel_, points, dtype=np.float64)
        graph = neighbour_graph(gram, self.n_neighbors, self.weights)
        answer = ManifoldFunctions(self._columns(), np.atleast_1d(self.intercept_))
        return StatedFunctions(gram, graph, pose(self._roughness(graph)), answer)
