"""What machines for few labels share: the graph on all points, the fit, and its judge."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_consistent_length

from mercer._typing import Array, IntArray
from mercer.estimators.choice import caller_level, check_definite, check_name
from mercer.estimators.machine import KernelMachine, _check_rows
from mercer.exceptions import DisconnectedGraphWarning, InvalidInput
from mercer.gram.neighbours import WEIGHTS, NeighbourGraph
from mercer.gram.operator import Gram, gram_of
from mercer.kernels.base import Kernel
from mercer.kernels.definite import Definite
from mercer.kernels.points import Points
from mercer.problems.certificate import Certificate
from mercer.problems.manifold import ManifoldProblem, Roughness
from mercer.solvers import manifold
from mercer.solvers.manifold import Limits
from mercer.solvers.neighbourhood import Neighbourhood, precision

Pose = Callable[[Roughness], list[ManifoldProblem]]

ADVICE = {
    "max_iter": "it stopped at max_iter: raise it, lower smoothness, or loosen tol",
    "time_limit": "it stopped at the time limit: raise it, lower smoothness, or loosen tol",
    "stalled": "rounding keeps it from its tolerance: lower smoothness, scale the data, or loosen "
    "tol",
    "nonconvex": "the kernel matrix has negative eigenvalues: the answer is stationary, no more",
}


class LaplacianMachine(KernelMachine):
    """What both machines share: the graph, the fit of several functions, and their values."""

    smoothness: float
    n_neighbors: int
    weights: str
    normalized: bool
    power: int
    fit_intercept: bool
    tol: float
    max_iter: int
    time_limit: float | None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "smoothness": [Interval(Real, 0, None, closed="left")],
        "kernel": [str, callable, Kernel],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="left")],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "weights": [StrOptions(set(WEIGHTS))],
        "normalized": ["boolean"],
        "power": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "strict": ["boolean"],
    }

    def _check_parameters(self) -> None:
        self._validate_params()
        check_name(self.kernel)

    def _read_pair(self, X: Any, y: Any) -> Any:
        """Return the checked training objects; the labels are read by each machine."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        X = self._read_training(X, None)
        check_consistent_length(X, y)
        _check_rows(X, type(self).__name__)
        return X

    def _fit_functions(self, X: Any, labelled: IntArray, pose: Pose) -> manifold.ManifoldSolution:
        """Solve the problems that ``pose`` makes of the roughness on the graph."""
        ends = math.inf if self.time_limit is None else time.perf_counter() + self.time_limit
        self.kernel_, self._fit_points = self._bind(X)
        check_definite(self.kernel_, Definite.POSITIVE, self.strict, type(self).__name__)
        ground = self._ground(self.kernel_, self._fit_points)
        self.graph_ = ground.graph.weights
        self.n_connected_components_ = self._count_components(ground.graph, labelled)
        problems = pose(self._roughness(ground.graph))
        bends = max(float(problem.weights.max()) for problem in problems)
        stiffness = (problems[0].roughness.norm() + bends) / problems[0].penalty
        found = manifold.solve(
            problems,
            ground.multiply,
            ground.exact,
            ground.sample(stiffness),
            Limits(self.tol, self.max_iter, ends),
        )
        self.certificate_ = found.certificate
        self.n_iter_ = found.certificate.iterations
        if not np.isfinite(found.coef).all():
            raise InvalidInput(
                f"{type(self).__name__}: the coefficients are not finite numbers. Scale the data."
            )
        self._warn(found.certificate)
        return found

    def _ground(self, kernel: Kernel, points: Points) -> Neighbourhood:
        gram = gram_of(kernel, points)
        cheap = self._mode == "kernel" and self._takes_vectors()
        # Products through features are as fast as those with a matrix that is held.
        dtype = precision(len(points), cheap)
        if isinstance(gram, Gram) and dtype is not None:
            return Neighbourhood.holding(gram, self.n_neighbors, self.weights, dtype)
        return Neighbourhood.of(gram, self.n_neighbors, self.weights)

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

    def _warn(self, certificate: Certificate) -> None:
        if certificate.status != "optimal":
            warnings.warn(
                f"{type(self).__name__}: {ADVICE[certificate.status]}. The relative gap is "
                f"{certificate.relative_gap:.2g} at tol={self.tol:g}.",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )

    def _columns(self) -> Array:
        """Return the coefficients, a column for each function."""
        raise NotImplementedError

    def _values(self, X: Any) -> Array:
        X = self._read_new(X)
        if self._told is not None:
            return self._told
        columns = self._columns()
        values = self._expand(X, np.arange(len(columns)), self._fit_points, columns)
        return np.asarray(values + self.intercept_)

    def _certify(self, X: Any, sample_weight: Any, pose: Pose) -> Certificate:
        """Judge functions from the training data alone: graph, matrix and values are made anew."""
        if sample_weight is not None:
            raise InvalidInput("certify: machines on a graph of neighbours take no sample_weight.")
        columns, bias = self._columns(), np.atleast_1d(self.intercept_)
        if self._mode == "kernel":
            points = self.kernel_.encode(X)
        else:
            points = self.kernel_.encode(np.arange(len(X)))
        if len(points) != len(columns):
            raise InvalidInput(
                f"certify: the model was fitted on {len(columns)} rows, and X has {len(points)}. "
                "Pass the training data."
            )
        gram = Gram(self.kernel_, points, dtype=np.float64)
        ground = Neighbourhood.of(gram, self.n_neighbors, self.weights)
        problems = pose(self._roughness(ground.graph))
        F = ground.exact(columns)
        duals = [p.dual_point(f) for p, f in zip(problems, F.T, strict=True)]
        images = ground.exact(np.stack([point.coef for point in duals], axis=1))
        parts = [
            p.certify(columns[:, j], F[:, j], float(bias[j]), duals[j], images[:, j], status="")
            for j, p in enumerate(problems)
        ]
        return Certificate.total(parts)
