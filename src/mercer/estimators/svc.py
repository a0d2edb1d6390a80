"""Support vector classification."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from mercer._typing import Array, IntArray
from mercer.estimators.binary import BinaryMachine
from mercer.estimators.classifier import Classifier
from mercer.exceptions import InvalidParameter, NotSeparable
from mercer.gram.operator import Gram
from mercer.kernels.definite import Definite
from mercer.problems import qp
from mercer.problems.multiclass import CrammerSinger, WestonWatkins
from mercer.problems.qp import BoxQP
from mercer.solvers.multiclass import solve_multiclass
from mercer.solvers.solution import Solution

JOINT = {"weston-watkins": WestonWatkins, "crammer-singer": CrammerSinger}


class SVC(Classifier):
    """C-support vector classification with any kernel.

    min ½‖w‖² + C Σ ξᵢ  subject to  yᵢ(⟨w, φ(xᵢ)⟩ + b) ≥ 1 − ξᵢ, ξᵢ ≥ 0

    A drop-in for ``sklearn.svm.SVC``: same parameters, attributes and results. ``kernel`` may also
    be any mercer kernel, on any data that it takes.

    Parameters
    ----------
    kernel : Kernel, str or callable
        A kernel, the name of one (``gamma``, ``degree`` and ``coef0`` are its parameters),
        ``"precomputed"``, or a function of two batches that returns their matrix.
    C : float or "auto"
        The price of slack; ``inf`` is the hard margin. ``"auto"`` finds it by cross-validation, as
        ``"auto"`` inside a kernel does for its width: ``SVC(C="auto", kernel=RBF("auto"))``. The
        values found are in ``C_`` and ``kernel_``, all scores in ``search_``.
    multi_class : {"ovo", "ovr", "weston-watkins", "crammer-singer"}
        One machine for each pair of classes, or for each class against the rest; or one joint
        problem of all classes, without bias, which needs a positive definite kernel.
    time_limit : float, optional
        Seconds after which the best answer so far is returned, with a warning.
    probability : bool
        Calibrate probabilities after the fit, by five more fits on parts of the data.
    strict : bool
        Refuse kernels that are not known to be (conditionally) positive definite.
    approximation : None, int or Nystrom
        Solve the problem of K̃ = K_nM K_MM⁺ K_Mn, for so many landmarks M, in place of that of K:
        time and memory then grow with n·M. ``certificate_.approximation_cost`` bounds how far the
        optimum of the one problem is from that of the other.

    Attributes
    ----------
    certificate_ : Certificate
        How far the answer is from the best one.
    residual_trace_ : float
        tr(K − K̃), with an approximation only.
    machines_ : list of BinaryMachine
        One for each binary problem; for two classes its attributes (``alpha_``, ``slack_``,
        ``margin_``, ``expansion_`` …) are those of the classifier too.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Classifier._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="right"), StrOptions({"auto"})],
        "multi_class": [StrOptions({"ovo", "ovr", *JOINT})],
        "approximation": "no_validation",
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        C: Any = 1.0,
        degree: float = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = False,
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        multi_class: str = "ovo",
        time_limit: float | None = None,
        strict: bool = False,
        approximation: Any = None,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.multi_class = multi_class
        self.time_limit = time_limit
        self.strict = strict
        self.approximation = approximation

    @property
    def _needs(self) -> Definite:
        return Definite.POSITIVE if self.multi_class in JOINT else super()._needs

    def _train(self, X: Any, y: Any, codes: IntArray, C: Array, start: Any) -> None:
        if self.multi_class in JOINT:
            self._train_jointly(X, codes, C, start)
        else:
            super()._train(X, y, codes, C, start)

    def _train_jointly(self, X: Any, codes: IntArray, C: Array, start: Any) -> None:
        """Fit one function for each class in a single problem."""
        if self._hard:
            raise InvalidParameter(
                f"SVC: multi_class={self.multi_class!r} needs a finite C; the hard margin is there "
                "for 'ovo' and 'ovr'."
            )
        rows = np.flatnonzero(C > 0)
        if len(np.unique(codes[rows])) < 2:
            self._refuse_one_class()
        problem = JOINT[self.multi_class](codes[rows], self.C * C[rows], len(self.classes_))
        settings = self._settings()
        kernel, points = self._solved_on()
        solution = solve_multiclass(
            problem,
            Gram(kernel, points.take(rows)),
            None if start is None else start._joint * (self.C / start.C),
            tol=settings.tol,
            max_iter=settings.max_iter,
            time_limit=settings.time_limit,
            cache_bytes=settings.cache_bytes,
        )
        self._joint = solution.alpha
        self._machines: list[BinaryMachine] = []
        self._certificate = problem.certify(
            solution.alpha,
            solution.f,
            iterations=solution.iterations,
            seconds=solution.seconds,
            kernel_evaluations=solution.kernel_evaluations,
            status="nonconvex" if solution.nonconvex else solution.status,
        )
        columns = np.zeros((len(codes), len(self.classes_)))
        columns[rows] = solution.alpha
        if self._view is not None:
            self._certificate = self._view.declare(self._certificate, columns)
        self._publish_functions(X, codes, columns, np.zeros(len(self.classes_)))
        self.fit_status_ = int(solution.status != "optimal")
        self.n_iter_ = np.array([solution.iterations], dtype=np.int32)
        self._warn([solution], [self._certificate])

    @property
    def _shares_matrix(self) -> bool:
        return super()._shares_matrix and not self._hard and self.multi_class not in JOINT

    @property
    def _hard(self) -> bool:
        return bool(math.inf == self.C)

    def _problem(self, signs: Array, C: Array) -> BoxQP:
        return qp.hulls(signs) if self._hard else qp.classifier(signs, self.C * C)

    def _solve_plan(
        self, problems: list[tuple[IntArray, BoxQP]], start: list[Array] | None
    ) -> list[Solution]:
        return self._solve_hulls(problems) if self._hard else self._solve(problems, start)

    def _solve_hulls(self, problems: list[tuple[IntArray, BoxQP]]) -> list[Solution]:
        """Solve ever more sharply, until the classes are seen to be apart or to meet."""
        kernel, points = self._solved_on()
        scale = float(np.abs(kernel.diag(points)).max())
        ends = time.perf_counter() + (math.inf if self.time_limit is None else self.time_limit)
        solutions: list[Solution] = []
        for rows, problem in problems:
            tol, start = self.tol * scale, None
            while True:
                solution = self._solve([(rows, problem)], start, tol, ends)[0]
                above, below = _ends(problem, solution)
                square = float(solution.beta @ solution.f)
                if above - below >= (1 - self.tol) * square > 0:
                    break
                if above > below and tol <= 1e-12 * scale:
                    break  # they are apart, as sharply as rounding lets us see
                if tol <= 1e-12 * scale or (above <= below and square <= 1e-12 * scale):
                    raise _not_separable(self, rows, solution, square)
                if solution.status != "optimal":
                    break
                tol, start = tol / 100, [solution.beta]
            solutions.append(solution)
        return solutions

    def _hyperplane(self, problem: BoxQP, solution: Solution, biases: Array) -> tuple[float, float]:
        if not self._hard:
            return float(biases[0]), 1.0
        above, below = _ends(problem, solution)
        half = (above - below) / 2
        if not half > 0:
            return -(above + below) / 2, 1.0
        return -(above + below) / 2 / half, 1.0 / half

    def _machine(
        self,
        pair: tuple[int, int],
        rows: IntArray,
        signs: Array,
        problem: BoxQP,
        solution: Solution,
    ) -> BinaryMachine:
        machine = super()._machine(pair, rows, signs, problem, solution)
        if not self._hard:
            return machine
        # Judged as what it is, a classifier without slack, not as a pair of nearest points.
        judged = qp.classifier(signs, np.full(len(rows), np.inf))
        certificate = judged.certify(
            signs * machine.alpha_,
            machine.values,
            np.array([machine.intercept_]),
            iterations=solution.iterations,
            seconds=solution.seconds,
            kernel_evaluations=solution.kernel_evaluations,
            status=solution.status,
        )
        bound = np.full(len(rows), np.inf)
        return replace(machine, bound=bound, certificate_=certificate)

    def _start_of(self, start: Any, problems: list[tuple[IntArray, BoxQP]]) -> list[Array] | None:
        return None if self._hard else super()._start_of(start, problems)

    def _start_scale(self, start: Any, machine: BinaryMachine, problem: BoxQP) -> float:
        C = getattr(start, "C", self.C)
        return 1.0 if math.isinf(C) else float(self.C / C)


class NuSVC(Classifier):
    """ν-support vector classification with any kernel.

    ν bounds the share of margin errors from above and that of support vectors from below.
    A drop-in for ``sklearn.svm.NuSVC``; parameters and attributes as in :class:`SVC`.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Classifier._parameter_constraints,
        "nu": [Interval(Real, 0.0, 1.0, closed="right"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        nu: Any = 0.5,
        degree: float = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = False,
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        multi_class: str = "ovo",
        time_limit: float | None = None,
        strict: bool = False,
    ) -> None:
        self.kernel = kernel
        self.nu = nu
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.multi_class = multi_class
        self.time_limit = time_limit
        self.strict = strict

    def _problem(self, signs: Array, C: Array) -> BoxQP:
        total = self.nu * C.sum() / 2
        if min(C[signs > 0].sum(), C[signs < 0].sum()) < total * (1 - 1e-12):
            raise ValueError(
                f"specified nu is infeasible: nu={self.nu} asks each class for more weight than "
                "the smaller one has. Lower nu."
            )
        return qp.nu_classifier(signs, C, self.nu)

    def _hyperplane(self, problem: BoxQP, solution: Solution, biases: Array) -> tuple[float, float]:
        above, below = biases
        rho = (below - above) / 2
        if not rho > 0:
            return float((above + below) / 2), 1.0
        return float((above + below) / 2 / rho), 1.0 / rho

    def _start_scale(self, start: Any, machine: BinaryMachine, problem: BoxQP) -> float:
        total = float(machine.alpha_[machine.signs > 0].sum())
        return float(problem.sums[0]) / total if total > 0 else 1.0

    def _refuse_one_class(self) -> None:
        raise ValueError("specified nu is infeasible: all weight belongs to one class.")


def _ends(problem: BoxQP, solution: Solution) -> tuple[float, float]:
    """Return the least f of the positive class and the greatest f of the negative class."""
    positive = problem.group == 0
    return float(solution.f[positive].min()), float(solution.f[~positive].max())


def _not_separable(machine: SVC, rows: IntArray, solution: Solution, square: float) -> NotSeparable:
    weights = np.abs(solution.beta)
    return NotSeparable(
        f"SVC(C=inf): no hyperplane separates the classes with the kernel {machine.kernel_}: the "
        f"convex hulls of the two classes meet (weighted means of {np.count_nonzero(weights)} "
        f"points are {math.sqrt(max(square, 0.0)):.2g} apart; see the error's rows and weights). "
        "Use a finite C, or a kernel that can tell these points apart.",
        rows,
        weights,
        math.sqrt(max(square, 0.0)),
    )
