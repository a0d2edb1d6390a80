"""Machines that learn from a few labels and the shape of all data: Laplacian SVM and ridge."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import column_or_1d, compute_class_weight
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_consistent_length

from mercer import _parallel
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
    "nonconvex": "the kernel matrix has negative eigenvalues: the answer is a stationary point only",
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

    def _fit_functions(self, X: Any, labelled: Array, pose: Pose) -> manifold.ManifoldSolution:
        """Solve the problems that ``pose`` makes of the roughness on the graph."""
        ends = math.inf if self.time_limit is None else time.perf_counter() + self.time_limit
        self.kernel_, self._fit_points = self._bind(X)
        check_definite(self.kernel_, Definite.POSITIVE, self.strict, type(self).__name__)
        ground = self._ground(self.kernel_, self._fit_points)
        self.graph_ = ground.graph.weights
        self.n_connected_components_ = self._count_components(ground.graph, labelled)
        problems = pose(self._roughness(ground.graph))
        bends = max(float(problem.weights.max()) for problem in problems)
        stiffest = problems[0].roughness.norm() + bends
        # Most matrices are small, and products with the large one have threads of their own.
        with _parallel.one_blas_thread():
            found = manifold.solve(
                problems,
                ground.multiply,
                ground.exact,
                ground.span(problems[0].penalty / stiffest),
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
        dtype = precision(len(points), cheap) if isinstance(gram, Gram) else None
        return Neighbourhood(gram, self.n_neighbors, self.weights, dtype)

    def _roughness(self, graph: NeighbourGraph) -> Roughness:
        return Roughness(graph.laplacian(self.normalized), float(self.smoothness), self.power)

    def _count_components(self, graph: NeighbourGraph, labelled: Array) -> int:
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

    def _values(self, X: Any, columns: Array) -> Array:
        X = self._read_new(X)
        if self._told is not None:
            return self._told
        return self._expand(X, np.arange(len(columns)), self._fit_points, columns) + self.intercept_

    def _certify(self, X: Any, columns: Array, bias: Array, pose: Pose) -> Certificate:
        """Judge functions from the training data alone: graph, matrix and values are made anew."""
        if self._mode == "kernel":
            points = self.kernel_.encode(X)
        else:
            points = self.kernel_.encode(np.arange(len(X)))
        if len(points) != len(columns):
            raise InvalidInput(
                f"certify: the model was fitted on {len(columns)} rows, and X has {len(points)}. "
                "Pass the training data."
            )
        ground = Neighbourhood(
            Gram(self.kernel_, points, dtype=np.float64), self.n_neighbors, self.weights
        )
        problems = pose(self._roughness(ground.graph))
        F = ground.exact(columns)
        duals = [p.dual_point(f) for p, f in zip(problems, F.T, strict=True)]
        images = ground.exact(np.stack([point.coef for point in duals], axis=1))
        parts = [
            p.certify(columns[:, j], F[:, j], float(bias[j]), duals[j], images[:, j], status="")
            for j, p in enumerate(problems)
        ]
        return Certificate.total(parts)


class LaplacianSVC(ClassifierMixin, LaplacianMachine):
    r"""Support vector machine for few labels and many unlabelled points.

    min ½‖f‖² + C Σ max(0, 1 − yᵢ(f(xᵢ) + b))² + ½μ fᵀLf,  f = Σ cⱼ k(xⱼ, ·)

    The losses are those of the labelled points; the functions are spanned by all points, and fᵀLf
    adds up how much the values f(xⱼ) differ between neighbours in the data, labelled or not. The
    neighbours are the nearest in the kernel's own distance d²(x, z) = k(x, x) − 2k(x, z) + k(z, z),
    so any kernel on any data will do. The hinge is squared, which is what makes training in the
    primal exact and fast; several classes are told from the rest one by one, on the same graph.

    Parameters
    ----------
    C : float
        The weight of the losses. In the terms of the first reference, which divides the losses by
        their number l and fᵀLf by n², C = 1/(2lγ_A) and μ = γ_I/(γ_A n²).
    smoothness : float
        The weight μ ≥ 0 of the differences between neighbours. Without it the unlabelled points
        count for nothing.
    kernel : Kernel, str or function
        A kernel, the name of one, ``"precomputed"``, or a function of two batches.
    gamma, degree, coef0
        Parameters of kernels given by name, as in :class:`SVC`.
    n_neighbors : int
        How many nearest points each point is joined to.
    weights : {"binary", "heat"}
        All edges alike, or exp(−d²/m) with the mean m of d² over nearest neighbours.
    normalized : bool
        Whether L is the normalised Laplacian I − D^(−½)WD^(−½), or D − W.
    power : int
        Lᵖ takes the place of L; larger powers ask for smoother functions.
    fit_intercept : bool
        Whether there is a constant b, which costs nothing.
    class_weight : dict or "balanced" or None
        Factors of C for each class.
    unlabelled : object
        What marks points without a label: −1 as in scikit-learn. Choose another mark, ``None`` or
        NaN say, where −1 is a class.
    tol : float
        The relative gap at the end.
    max_iter : int
        The most products with the kernel matrix.
    time_limit : float, optional
        Seconds after which it stops.
    strict : bool
        Whether a kernel that is not known to be positive definite is an error.

    Attributes
    ----------
    classes_ : array
        The classes.
    dual_coef_ : array of shape (functions, n)
        The coefficients c; one function for two classes.
    intercept_ : array of shape (functions,)
        The constants b.
    transduction_ : array of shape (n,)
        The class of each training point, as the machine sees it.
    graph_ : sparse array of shape (n, n)
        The weights of the edges between neighbours.
    n_connected_components_ : int
        The parts of the graph that no edge joins.
    kernel_ : Kernel
        The kernel, settled on the training data.
    certificate_ : Certificate
        How far the answer is from the best one.

    References
    ----------
    M. Belkin, P. Niyogi and V. Sindhwani, Manifold regularization, JMLR 7 (2006).
    S. Melacci and M. Belkin, Laplacian support vector machines trained in the primal, JMLR 12
    (2011).
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LaplacianMachine._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "unlabelled": "no_validation",
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        smoothness: float = 1.0,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        n_neighbors: int = 10,
        weights: str = "binary",
        normalized: bool = True,
        power: int = 1,
        fit_intercept: bool = True,
        class_weight: Any = None,
        unlabelled: Any = -1,
        tol: float = 1e-8,
        max_iter: int = 1000,
        time_limit: float | None = None,
        strict: bool = False,
    ) -> None:
        self.C = C
        self.smoothness = smoothness
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.normalized = normalized
        self.power = power
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.unlabelled = unlabelled
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.strict = strict

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the machine to labelled and unlabelled points.

        Parameters
        ----------
        X : array, sparse matrix, frame or list of shape (n, …)
            Training objects, or their Gram matrix for ``kernel="precomputed"``.
        y : array of shape (n,)
            The classes, and −1 (or what ``unlabelled`` says) for points without a label.
        """
        self._check_parameters()
        X = self._read_pair(X, y)
        labels = column_or_1d(y, warn=True)
        labelled = np.flatnonzero(~is_marked(labels, self.unlabelled))
        self.classes_ = self._read_classes(labels[labelled], len(labels))
        pose = self._pose(labels, labelled)
        found = self._fit_functions(X, labelled, pose)
        self.dual_coef_, self.intercept_ = np.ascontiguousarray(found.coef.T), found.bias
        self.transduction_ = self._decide(found.values + found.bias)
        return self

    def decision_function(self, X: Any) -> Array:
        """Return f + b: shape (m,) for two classes, else (m, classes)."""
        values = self._values(X, self.dual_coef_.T)
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> Any:
        """Return the class of each object."""
        return self._decide(self.decision_function(X).reshape(-1, self.dual_coef_.shape[0]))

    def _decide(self, values: Array) -> Any:
        two = len(self.classes_) == 2
        return self.classes_[(values[:, 0] > 0).astype(int) if two else values.argmax(axis=1)]

    def _read_classes(self, labels: Any, count: int) -> Any:
        """Return the classes among the labels, or say why there are too few."""
        mark = f"{self.unlabelled!r} marks points without a label"
        if not len(labels):
            raise InvalidInput(
                f"{type(self).__name__}: none of the {count:,} points has a label ({mark}). Label "
                "at least one point of each class."
            )
        check_classification_targets(labels)
        classes = np.unique(labels)
        if len(classes) < 2:
            what = f"the labels are all of one class, {classes[0]!r}"
            remedy = "Label points of two or more classes."
            if len(labels) < count:
                remedy = (
                    f"{mark}: if that is a class of yours, choose another mark with unlabelled=None, "
                    "or rename the class."
                )
            raise InvalidInput(f"{type(self).__name__}: {what}. {remedy}")
        return classes

    def _pose(self, labels: Any, rows: IntArray) -> Pose:
        """Return what makes the problems, one for two classes, else one for each class."""
        kinds = labels[rows]
        codes = np.searchsorted(self.classes_, kinds)
        C = np.full(len(rows), float(self.C))
        if self.class_weight is not None:
            C *= compute_class_weight(self.class_weight, classes=self.classes_, y=kinds)[codes]
        used = C > 0
        wanted = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        intercept = bool(self.fit_intercept)

        def pose(roughness: Roughness) -> list[ManifoldProblem]:
            return [
                ManifoldProblem(
                    rows[used],
                    np.where(codes == c, 1.0, -1.0)[used],
                    2 * C[used],
                    1.0,
                    roughness,
                    True,
                    intercept,
                )
                for c in wanted
            ]

        return pose

    def _judge(self, X: Any, y: Any, sample_weight: Any) -> Certificate:
        _refuse_weights(sample_weight)
        labels = column_or_1d(y)
        labelled = np.flatnonzero(~is_marked(labels, self.unlabelled))
        if len(labels) != self.dual_coef_.shape[1] or not set(labels[labelled]) == set(
            self.classes_
        ):
            raise InvalidInput("certify: y has to hold what the model was fitted on.")
        return self._certify(
            X, self.dual_coef_.T, self.intercept_, self._pose(labels, labelled)
        )


class LaplacianRidge(MultiOutputMixin, RegressorMixin, LaplacianMachine):
    r"""Kernel ridge regression for few targets and many points without one.

    min ½ Σ (yᵢ − f(xᵢ) − b)² + ½λ‖f‖² + ½μ fᵀLf,  f = Σ cⱼ k(xⱼ, ·)

    The errors are those of points whose target is known, the rest as in :class:`LaplacianSVC`.
    Where all targets are known and μ = 0 this is :class:`KernelRidge`.

    Parameters
    ----------
    alpha : float
        λ > 0.
    smoothness : float
        The weight μ ≥ 0 of the differences between neighbours.
    kernel : Kernel, str or function
        A kernel, the name of one, ``"precomputed"``, or a function of two batches.
    gamma, degree, coef0
        Parameters of kernels given by name, as in :class:`SVC`.
    n_neighbors, weights, normalized, power
        The graph and its Laplacian, as in :class:`LaplacianSVC`.
    fit_intercept : bool
        Whether there is a constant b, which costs nothing.
    tol : float
        The relative gap at the end.
    max_iter : int
        The most products with the kernel matrix.
    time_limit : float, optional
        Seconds after which it stops.
    strict : bool
        Whether a kernel that is not known to be positive definite is an error.

    Attributes
    ----------
    dual_coef_ : array of shape (n,) or (n, targets)
        The coefficients c.
    intercept_ : float or array of shape (targets,)
        The constant b.
    transduction_ : array of shape (n,) or (n, targets)
        The values f + b at the training points.
    graph_ : sparse array of shape (n, n)
        The weights of the edges between neighbours.
    n_connected_components_ : int
        The parts of the graph that no edge joins.
    kernel_ : Kernel
        The kernel, settled on the training data.
    certificate_ : Certificate
        How far the answer is from the best one.

    References
    ----------
    M. Belkin, P. Niyogi and V. Sindhwani, Manifold regularization, JMLR 7 (2006).
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LaplacianMachine._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        smoothness: float = 1.0,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        n_neighbors: int = 10,
        weights: str = "binary",
        normalized: bool = True,
        power: int = 1,
        fit_intercept: bool = False,
        tol: float = 1e-10,
        max_iter: int = 1000,
        time_limit: float | None = None,
        strict: bool = False,
    ) -> None:
        self.alpha = alpha
        self.smoothness = smoothness
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.normalized = normalized
        self.power = power
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.strict = strict

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the machine to points with and without targets.

        Parameters
        ----------
        X : array, sparse matrix, frame or list of shape (n, …)
            Training objects, or their Gram matrix for ``kernel="precomputed"``.
        y : array of shape (n,) or (n, targets)
            The targets, NaN where one is not known.
        """
        self._check_parameters()
        X = self._read_pair(X, y)
        targets = self._read_targets(y)
        Y = targets.reshape(len(targets), -1)
        known = np.flatnonzero(np.isfinite(Y).any(axis=1))
        found = self._fit_functions(X, known, self._pose(Y))
        one = targets.ndim == 1
        self.dual_coef_ = found.coef[:, 0].copy() if one else found.coef
        self.intercept_ = float(found.bias[0]) if one else found.bias
        values = found.values + found.bias
        self.transduction_ = values[:, 0].copy() if one else values
        return self

    def predict(self, X: Any) -> Array:
        """Return f + b for each object: shape (m,) or (m, targets)."""
        values = self._values(X, self.dual_coef_.reshape(len(self.dual_coef_), -1))
        return values[:, 0] if self.dual_coef_.ndim == 1 else values

    def _read_targets(self, y: Any) -> Array:
        targets = np.asarray(
            check_array(
                y, ensure_2d=False, dtype=np.float64, ensure_all_finite="allow-nan", input_name="y"
            )
        )
        without = np.flatnonzero(np.isnan(targets.reshape(len(targets), -1)).all(axis=0))
        if len(without):
            which = "" if targets.ndim == 1 else f" in column {without[0]}"
            raise InvalidInput(
                f"{type(self).__name__}: none of the {len(targets):,} points has a target{which} "
                "(NaN marks points without one). Give at least one."
            )
        return targets

    def _pose(self, Y: Array) -> Pose:
        known = [np.flatnonzero(np.isfinite(column)) for column in Y.T]
        a, intercept = float(self.alpha), bool(self.fit_intercept)

        def pose(roughness: Roughness) -> list[ManifoldProblem]:
            return [
                ManifoldProblem(
                    rows, Y[rows, j], np.ones(len(rows)), a, roughness, False, intercept
                )
                for j, rows in enumerate(known)
            ]

        return pose

    def _judge(self, X: Any, y: Any, sample_weight: Any) -> Certificate:
        _refuse_weights(sample_weight)
        Y = np.asarray(y, dtype=np.float64)
        if Y.shape != self.dual_coef_.shape:
            raise InvalidInput(
                f"certify: y of shape {Y.shape} is not what the model was fitted on: "
                f"{self.dual_coef_.shape}."
            )
        columns = self.dual_coef_.reshape(len(Y), -1)
        return self._certify(
            X, columns, np.atleast_1d(self.intercept_), self._pose(Y.reshape(columns.shape))
        )


def is_marked(labels: Any, mark: Any) -> Any:
    """Return where labels are the mark of points without one."""
    labels = np.asarray(labels)
    if isinstance(mark, float) and math.isnan(mark):
        return np.array([isinstance(v, float) and math.isnan(v) for v in labels.tolist()])
    if labels.dtype.kind in "US":
        # An array of texts has made a text of the mark.
        mark = str(mark)
    return np.array([v is mark or bool(v == mark) for v in labels.tolist()], dtype=bool)


def labelled_folds(
    y: Any, n_splits: int = 5, *, unlabelled: Any = -1, random_state: Any = None
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield training and test rows of folds that test on labelled points only.

    Unlabelled points are part of every training set. Give ``list(labelled_folds(y))`` as ``cv`` to
    a search: ordinary folds would count unlabelled points as errors.

    Parameters
    ----------
    y : array of shape (n,)
        Classes, and ``unlabelled`` for points without one.
    n_splits : int
        The number of folds; classes have about equal shares in each.
    unlabelled : object
        The mark of points without a label.
    random_state : int, RandomState or None
        The shuffling.
    """
    labels = np.asarray(y)
    marked = is_marked(labels, unlabelled)
    known, rest = np.flatnonzero(~marked), np.flatnonzero(marked)
    folds = StratifiedKFold(n_splits, shuffle=True, random_state=random_state)
    for train, test in folds.split(known, labels[known]):
        yield np.sort(np.concatenate([known[train], rest])), known[test]


def _refuse_weights(sample_weight: Any) -> None:
    if sample_weight is not None:
        raise InvalidInput("certify: machines on a graph of neighbours take no sample_weight.")
