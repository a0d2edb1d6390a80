"""Support vector machines for few labels and many points without one."""

from __future__ import annotations

from dataclasses import KW_ONLY
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from mercer._files.fields import LABELS, A, Numbers, State
from mercer._plot import Cloud
from mercer._plot.edges import draw_edges
from mercer._sklearn import Interval, StrOptions
from mercer._typing import (
    Array,
    ClassWeights,
    IntArray,
    Label,
    Labels,
    Objects,
    SampleWeights,
    Targets,
)
from mercer.estimators.constructor import parameters
from mercer.estimators.drawn import DrawnClassifier, Held
from mercer.estimators.judged import Training
from mercer.estimators.semi.laplacian import LaplacianMachine, Pose
from mercer.estimators.semi.unlabelled import PartialLabels, partial_labels
from mercer.estimators.state import check_classes
from mercer.exceptions import InvalidInput
from mercer.problems.certificate import Certificate
from mercer.problems.manifold import (
    ManifoldFunctions,
    ManifoldProblem,
    ManifoldProblems,
    Roughness,
)
from mercer.problems.manifold_hinge import HingeManifoldProblem
from mercer.solvers.base import Solver
from mercer.solvers.warped_kernel import WarpedKernelSolver


@parameters
class LaplacianSVC(DrawnClassifier, ClassifierMixin, LaplacianMachine):
    r"""Support vector machine for few labels and many unlabelled points.

    min ½‖f‖² + C Σ max(0, 1 − yᵢ(f(xᵢ) + b))² + ½μ fᵀLf,  f = Σ cⱼ k(xⱼ, ·); with
    ``loss="hinge"`` the losses are not squared

    The losses are those of the labelled points; the functions are spanned by all points, and fᵀLf
    adds up how much the values f(xⱼ) differ between neighbours in the data, labelled or not. The
    neighbours are the nearest in the kernel's own distance d²(x, z) = k(x, x) − 2k(x, z) + k(z, z),
    so any kernel on any data will do. The squared hinge makes training in the primal exact and
    fast; each of several classes is separated from the rest, on the same graph.

    Parameters
    ----------
    C : float
        The weight of the losses. In the terms of the first reference, which divides the losses by
        their number l and fᵀLf by n², C = 1/(2lγ_A) and μ = γ_I/(γ_A n²).
    loss : {"squared_hinge", "hinge"}
        The loss of a labelled point. The plain hinge is that of :class:`SVC` and of the first
        reference; it is solved by its dual, with a matrix of all n points in memory.
    smoothness : float
        The weight μ ≥ 0 of the differences between neighbours. Without it the unlabelled points
        count for nothing.
    kernel : Kernel, str or function
        A kernel, the name of one, ``"precomputed"``, or a function of two batches.
    gamma, degree, coef0
        Parameters of kernels given by name, as in :class:`SVC`.
    n_neighbors : int
        How many nearest points each point is joined to.
    weights : {"heat", "binary"}
        exp(−d²/m) with the mean m of d² over nearest neighbours, or 1 for each edge.
    normalized : bool
        Whether L is the normalised Laplacian I − D^(−½)WD^(−½), or D − W.
    power : int
        Lᵖ takes the place of L; larger powers ask for smoother functions.
    fit_intercept : bool
        Whether there is a constant b, which costs nothing, not even in smoothness. A few labels
        say little about it, so there is none by default.
    class_weight : dict or "balanced" or None
        Factors of C for each class.
    unlabelled : object
        What marks points without a label: −1 as in scikit-learn. Choose another mark where −1 is a
        class: ``None``, NaN, ``"?"``, any will do beside labels of any type. None, NaN and pandas'
        NA stand for each other.
    tol : float
        The relative gap at the end.
    max_iter : int
        The most products with the kernel matrix.
    time_limit : float, optional
        Seconds after which it stops.
    strict : bool
        Whether a kernel that is not known to be positive definite is an error.
    approximation : None, int or Nystrom
        Take K_nM K_MM⁺ K_Mn, for so many landmarks M, in place of K, for the function and for the
        graph. ``residual_trace_`` is the trace of what that leaves out.

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

    Examples
    --------
    Two labels and two clusters:

    >>> import numpy as np
    >>> from mercer import LaplacianSVC
    >>> X = np.concatenate([np.linspace(0, 1, 20), np.linspace(3, 4, 20)])[:, None]
    >>> y = np.full(40, -1)
    >>> y[0], y[39] = 0, 1
    >>> LaplacianSVC(n_neighbors=3).fit(X, y).transduction_.reshape(2, 20).mean(axis=1)
    array([0., 1.])
    """

    STATE: ClassVar[State] = {
        **LaplacianMachine.STATE,
        "classes_": LABELS,
        "dual_coef_": Numbers("functions", "rows", any_order=True),
        "intercept_": Numbers("functions"),
        "transduction_": A(np.ndarray, size="rows"),
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` where graph, classes and functions do not fit."""
        super().check_state()
        check_classes(self.classes_, len(self.dual_coef_))

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LaplacianMachine._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither")],
        "loss": [StrOptions({"squared_hinge", "hinge"})],
        "unlabelled": "no_validation",
    }

    C: float = 1.0
    _: KW_ONLY
    loss: str = "squared_hinge"
    smoothness: float = 10.0
    class_weight: ClassWeights = None
    unlabelled: Label = -1
    tol: float = 1e-6

    def fit(self, X: Objects, y: Targets) -> Self:
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
        labels, labelled = partial_labels(y, self.unlabelled)
        assert_all_finite(labels[labelled], input_name="y")
        self.classes_ = self._read_classes(labels[labelled], len(labels))
        pose = self._pose(labels, labelled)
        kept = PartialLabels(labels.copy(), labelled)
        found = self._fit_functions(X, kept, labelled, pose)
        self.dual_coef_, self.intercept_ = np.ascontiguousarray(found.coef.T), found.bias
        self.transduction_ = self._decide(found.values)
        return self

    def decision_function(self, X: Objects) -> Array:
        """Return f + b: shape (m,) for two classes, else (m, classes)."""
        values = self._values(X)
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Objects) -> Labels:
        """Return the class of each object."""
        return self._decide(self._values(X))

    def _held(self) -> Held:
        return Held(self._fit_points.rows, self.transduction_)

    def _draw_below(self, ax: Any, cloud: Cloud) -> None:
        rows = self._fit_points.rows
        if rows is not None and rows.shape[1] == 2:
            draw_edges(ax, rows, self.graph_)

    @property
    def _plain(self) -> bool:
        return self.loss == "hinge"

    def _solver(self) -> Solver[ManifoldProblems, ManifoldFunctions]:
        return WarpedKernelSolver() if self._plain else super()._solver()

    def _columns(self) -> Array:
        return self.dual_coef_.T

    def _decide(self, values: Array) -> Labels:
        two = len(self.classes_) == 2
        return self.classes_[(values[:, 0] > 0).astype(int) if two else values.argmax(axis=1)]

    def _read_classes(self, labels: Labels, count: int) -> Labels:
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
                    f"{mark}: if that is a class of yours, choose another mark with "
                    "unlabelled=None, or rename the class."
                )
            raise InvalidInput(f"{type(self).__name__}: {what}. {remedy}")
        return classes

    def _pose(self, labels: Labels, rows: IntArray) -> Pose:
        """Return what makes the problems, one for two classes, else one for each class."""
        kinds = labels[rows]
        codes = np.searchsorted(self.classes_, kinds)
        C = np.full(len(rows), float(self.C))
        if self.class_weight is not None:
            C *= compute_class_weight(self.class_weight, classes=self.classes_, y=kinds)[codes]
        used = C > 0
        wanted = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        intercept = bool(self.fit_intercept)
        # Squares count half there.
        problem, factor = (HingeManifoldProblem, 1.0) if self._plain else (ManifoldProblem, 2.0)

        def pose(roughness: Roughness) -> list[ManifoldProblem]:
            return [
                problem(
                    rows[used],
                    np.where(codes == c, 1.0, -1.0)[used],
                    factor * C[used],
                    1.0,
                    roughness,
                    True,
                    intercept,
                )
                for c in wanted
            ]

        return pose

    def _judge_training(self, training: Training) -> list[Certificate]:
        labels, labelled = training.targets
        return [self._judge_points(training.points, self._pose(labels, labelled))]

    def judge(self, X: Objects, y: Targets, sample_weight: SampleWeights) -> Certificate:
        """Return the certificate of the fitted machine, computed from its training data."""
        return self._certify(X, sample_weight, self.pose_targets(y))

    def pose_targets(self, y: Targets) -> Pose:
        """Return what makes the problems of the labels that the machine was fitted on."""
        labels, labelled = partial_labels(y, self.unlabelled)
        if len(labels) != self.dual_coef_.shape[1]:
            raise InvalidInput(
                f"certify: the model was fitted on {self.dual_coef_.shape[1]} rows, and y has "
                f"{len(labels)}. Pass the training data."
            )
        if set(labels[labelled].tolist()) != set(self.classes_.tolist()):
            raise InvalidInput("certify: y has to hold the classes that the model was fitted on.")
        return self._pose(labels, labelled)
