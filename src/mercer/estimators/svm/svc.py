"""Support vector classification."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY
from numbers import Real
from typing import Any, ClassVar, cast

import numpy as np

from mercer._sklearn import Interval, StrOptions
from mercer._typing import Array, IntArray, Model, Objects, Parameter, SampleWeights, Targets
from mercer.estimators.base import FitData
from mercer.estimators.constructor import parameters
from mercer.estimators.kernel_argument import caller_level
from mercer.estimators.svm.binary import BinaryMachine
from mercer.estimators.svm.box_plan import Problems
from mercer.estimators.svm.classes import JOINT, RENAMED, BinaryPart, joint_problem
from mercer.estimators.svm.classifier import Classifier
from mercer.estimators.svm.left_out_functions import unchanged_answers
from mercer.exceptions import InvalidParameter, NotSeparable
from mercer.gram.computed import Gram
from mercer.kernels.definite import Definite
from mercer.problems import qp
from mercer.problems.biased_multiclass import BiasedMulticlass, JointAnswer
from mercer.problems.multiclass import JointMulticlass
from mercer.problems.qp import BoxQP
from mercer.problems.unbiased import UnbiasedQP, unbiased_classifier
from mercer.solvers.base import Solution, Status
from mercer.solvers.svm.biased_multiclass_smo import BiasedJointSolver
from mercer.solvers.svm.coordinate_ascent import KernelCoordinateAscent
from mercer.solvers.svm.multiclass_smo import JointMulticlassSolver


@parameters
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
    multi_class : {"ovo", "ovr", "weston_watkins", "crammer_singer"}
        One machine for each pair of classes, or for each class against the rest; or one joint
        problem of all classes, without bias unless ``joint_intercepts``, which needs a positive
        definite kernel.
    fit_intercept : bool
        Whether there is a bias b. Without it the dual problem has no constraint Σ yᵢαᵢ = 0 and is
        solved by coordinate ascent, one multiplier at a time; the kernel has to be positive
        definite.
    joint_intercepts : bool
        Whether the functions of a joint problem have biases b_c, which cost nothing.
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

    Examples
    --------
    >>> from mercer import SVC, Spectrum
    >>> words = ["ACACAC", "CACACA", "GTGTGT", "TGTGTG"]
    >>> machine = SVC(Spectrum(k=2)).fit(words, ["ac", "ac", "gt", "gt"])
    >>> machine.predict(["CCACAA", "GGTGTT"])
    array(['ac', 'gt'], dtype='<U2')
    >>> machine.certificate_.optimal
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Classifier._parameter_constraints,
        "C": [Interval(Real, 0.0, None, closed="right"), StrOptions({"auto"})],
        "multi_class": [StrOptions({"ovo", "ovr", *JOINT, *RENAMED}, deprecated=set(RENAMED))],
        "fit_intercept": ["boolean"],
        "joint_intercepts": ["boolean"],
    }

    _: KW_ONLY
    C: Parameter = 1.0
    fit_intercept: bool = True
    joint_intercepts: bool = False

    @property
    def needed_definite(self) -> Definite:
        free = joint_problem(self.multi_class) is not None or not self.fit_intercept
        return Definite.POSITIVE if free else super().needed_definite

    def _warn_of_parameters(self) -> None:
        if self.multi_class in RENAMED:
            warnings.warn(
                f"SVC: multi_class={self.multi_class!r} is now spelt "
                f"{RENAMED[self.multi_class]!r}, as scikit-learn spells it. The old spelling will "
                "go in a later version.",
                FutureWarning,
                stacklevel=caller_level(),
            )

    def _train(self, X: Objects, data: FitData, start: Model) -> None:
        joint = joint_problem(self.multi_class)
        if self._hard and not self.fit_intercept:
            raise InvalidParameter(
                "SVC: fit_intercept=False needs a finite C; the hard margin is there with a bias."
            )
        if joint is None:
            super()._train(X, data, start)
        else:
            self._train_jointly(joint, X, data, start)

    def _train_jointly(
        self, joint: type[JointMulticlass], X: Objects, data: FitData, start: Model
    ) -> None:
        """Fit one function for each class in a single problem."""
        codes, C = self._labels(data).codes, self._costs(data)
        if self._hard:
            raise InvalidParameter(
                f"SVC: multi_class={self.multi_class!r} needs a finite C; the hard margin is there "
                "for 'ovo' and 'ovr'."
            )
        rows = np.flatnonzero(C > 0)
        if len(np.unique(codes[rows])) < 2:
            self._refuse_one_class()
        problem = joint(codes[rows], self.C * C[rows], len(self.classes_))
        view = self._view
        gram = Gram(self.kernel_, self._points.take(rows)) if view is None else view.take(rows)
        begin = None if start is None else start._joint * (self.C / start.C)
        solution: Solution[Any]
        if self.joint_intercepts:
            first = None if begin is None else JointAnswer(begin, np.asarray(start.intercept_))
            stated = BiasedMulticlass(problem)
            solution = BiasedJointSolver().solve(stated, gram, self._budget(), first)
            self._joint, biases = solution.value
        else:
            solution = JointMulticlassSolver().solve(problem, gram, self._budget(), begin)
            self._joint, biases = solution.value, np.zeros(len(self.classes_))
        self._keep(None)
        columns = np.zeros((len(codes), len(self.classes_)))
        columns[rows] = self._joint
        self._remember(codes, C, [solution])
        self._publish_functions(X, codes, columns, biases)
        self._count_steps([solution])
        self.n_iter_ = self._num_iter
        self._warn([solution])

    def harmless_changes(
        self,
        X: Objects,
        y: Targets,
        new: Objects,
        sample_weight: SampleWeights,
        change: str,
    ) -> IntArray:
        """Return how many training rows may change before the class of each new row does."""
        if self.kernel_argument.precomputed:
            raise InvalidParameter(
                "wrong_rows: it needs k(x, x) of the new rows, which a given matrix does not have; "
                "give SVC the kernel."
            )
        if len(self.classes_) > 2:
            raise InvalidParameter(
                f"wrong_rows: SVC has {len(self.classes_)} classes, and its bound is for two; "
                "KernelRidgeClassifier has one for several."
            )
        fit = self.restate(X, y, sample_weight, "wrong_rows")
        return unchanged_answers(
            fit,
            self._encode(self._read_new(new))[1],
            self.decision_function(new),
            change == "removed",
        )

    @property
    def fits_by_plan(self) -> bool:
        binary = joint_problem(self.multi_class) is None
        return super().fits_by_plan and not self._hard and binary and self.fit_intercept

    @property
    def _hard(self) -> bool:
        return bool(math.inf == self.C)

    def _problems(self, parts: Sequence[BinaryPart], C: Array) -> Problems:
        if len(parts) == 1 or self._hard or not self.fit_intercept:
            return super()._problems(parts, C)
        # One problem of all variables is stated, and cut: pairs of classes are many and small.
        rows = np.concatenate([part.rows for part in parts])
        whole = self._problem(np.concatenate([part.signs for part in parts]), C[rows])
        return list(zip([part.rows for part in parts], _cut(whole, parts), strict=True))

    def _problem(self, signs: Array, C: Array) -> BoxQP:
        if not self.fit_intercept:
            return unbiased_classifier(signs, self.C * C)
        return qp.hulls(signs) if math.inf == self.C else qp.classifier(signs, self.C * C)

    def _solve_problems(
        self, problems: Problems, start: Sequence[Array] | None
    ) -> Sequence[Solution[Array]]:
        if not self.fit_intercept:
            return self._solve_unbiased(problems, start)
        return self._solve_hulls(problems) if self._hard else self._solve(problems, start)

    def _solve_unbiased(
        self, problems: Problems, start: Sequence[Array] | None
    ) -> list[Solution[Array]]:
        if not self.kernel_.bounded:
            self._refuse_large_values()
        budget, solver = self._budget(), KernelCoordinateAscent()
        gram = self._matrix_for(problems, budget)
        begins = [None] * len(problems) if start is None else start
        return [
            solver.solve(
                cast(UnbiasedQP, problem),
                gram if len(rows) == gram.shape[0] else gram.take(rows),
                budget,
                begin,
            )
            for (rows, problem), begin in zip(problems, begins, strict=True)
        ]

    def _solve_hulls(self, problems: Problems) -> list[Solution[Array]]:
        """Solve ever more sharply, until the classes are seen to be apart or to meet."""
        scale = self._largest_value()
        budget = self._budget().but(gap=math.inf)  # this loop knows better when it is done
        solutions: list[Solution[Array]] = []
        for rows, problem in problems:
            tol, start = self.tol * scale, None
            while True:
                solution = self._solve([(rows, problem)], start, budget.but(tol=tol))[0]
                above, below = _ends(problem, solution.f)
                square = float(solution.value @ solution.f)
                if above - below >= (1 - self.tol) * square > 0:
                    break
                if above > below and tol <= 1e-12 * scale:
                    break  # they are apart, as sharply as rounding lets us see
                if tol <= 1e-12 * scale or (above <= below and square <= 1e-12 * scale):
                    raise _not_separable(self, rows, solution.value, square)
                if solution.status is not Status.OPTIMAL:
                    break
                tol, start = tol / 100, [solution.value]
            solutions.append(solution)
        return solutions

    def _hyperplane(self, problem: BoxQP, f: Array, biases: Array) -> tuple[float, float]:
        if math.inf != self.C:
            return float(biases[0]), 1.0
        above, below = _ends(problem, f)
        half = (above - below) / 2
        if not half > 0:
            return -(above + below) / 2, 1.0
        return -(above + below) / 2 / half, 1.0 / half

    def _start_of(self, start: Model, problems: Problems) -> list[Array] | None:
        return None if self._hard else super()._start_of(start, problems)

    def _start_scale(self, start: Model, machine: BinaryMachine, problem: BoxQP) -> float:
        C: Any = getattr(start, "C", self.C)
        return 1.0 if math.isinf(C) else float(self.C / C)


@parameters
class NuSVC(Classifier):
    """ν-support vector classification with any kernel.

    ν bounds the share of margin errors from above and that of support vectors from below.
    A drop-in for ``sklearn.svm.NuSVC``; parameters, ``approximation`` among them, and attributes as
    in :class:`SVC`.

    Parameters
    ----------
    nu : float or "auto"
        ν in (0, 1].

    Examples
    --------
    >>> from mercer import NuSVC, load_data
    >>> heart = load_data("heart")
    >>> machine = NuSVC(nu=0.3).fit(heart.X, heart.y)
    >>> bool(machine.n_support_.sum() >= 0.3 * len(heart.y))
    True
    >>> machine.certificate_.optimal
    True
    """

    _path = ("nu",)
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Classifier._parameter_constraints,
        "nu": [Interval(Real, 0.0, 1.0, closed="right"), StrOptions({"auto"})],
    }

    _: KW_ONLY
    nu: Parameter = 0.5

    def _problem(self, signs: Array, C: Array) -> BoxQP:
        total = self.nu * C.sum() / 2
        if min(C[signs > 0].sum(), C[signs < 0].sum()) < total * (1 - 1e-12):
            raise ValueError(
                f"specified nu is infeasible: nu={self.nu} asks each class for more weight than "
                "the smaller one has. Lower nu."
            )
        return qp.nu_classifier(signs, C, self.nu)

    def _hyperplane(self, problem: BoxQP, f: Array, biases: Array) -> tuple[float, float]:
        above, below = biases
        rho = (below - above) / 2
        if not rho > 0:
            return float((above + below) / 2), 1.0
        return float((above + below) / 2 / rho), 1.0 / rho

    def _start_scale(self, start: Model, machine: BinaryMachine, problem: BoxQP) -> float:
        total = float(machine.alpha_[machine.signs > 0].sum())
        return float(problem.sums[0]) / total if total > 0 else 1.0

    def _refuse_one_class(self) -> None:
        raise ValueError("specified nu is infeasible: all weight belongs to one class.")


def _cut(whole: BoxQP, parts: Sequence[BinaryPart]) -> list[BoxQP]:
    """Return the problems of parts of the variables of C-SVC, which stand one after the other."""
    problems, begin = [], 0
    for part in parts:
        end = begin + len(part.rows)
        problems.append(
            BoxQP(
                whole.name,
                whole.p[begin:end],
                whole.lo[begin:end],
                whole.hi[begin:end],
                whole.start[begin:end],
                whole.row[: end - begin],
                whole.group[begin:end],
            )
        )
        begin = end
    return problems


def _ends(problem: BoxQP, f: Array) -> tuple[float, float]:
    """Return the least f of the positive class and the greatest f of the negative class."""
    positive = problem.group == 0
    return float(f[positive].min()), float(f[~positive].max())


def _not_separable(machine: SVC, rows: IntArray, beta: Array, square: float) -> NotSeparable:
    weights = np.abs(beta)
    return NotSeparable(
        f"SVC(C=inf): no hyperplane separates the classes with the kernel {machine.kernel_}: the "
        f"convex hulls of the two classes meet (weighted means of {np.count_nonzero(weights)} "
        f"points are {math.sqrt(max(square, 0.0)):.2g} apart; see the error's rows and weights). "
        "Use a finite C, or a kernel that can tell these points apart.",
        rows,
        weights,
        math.sqrt(max(square, 0.0)),
    )
