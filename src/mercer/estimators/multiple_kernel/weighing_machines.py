"""Support vector machines that learn the weights of their kernels: classes and numbers."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from mercer._files.fields import State
from mercer._sklearn import Interval, StrOptions
from mercer._typing import Array, Model, Objects, Parameter
from mercer.estimators.base import DecisionRule, FitData
from mercer.estimators.constructor import parameters
from mercer.estimators.judged import Training
from mercer.estimators.multiple_kernel.weighted_machine import (
    METHODS,
    PublishedAnswer,
    Wanted,
    WeightedMachine,
)
from mercer.estimators.svm.box_plan import BoxPlan
from mercer.estimators.svm.svc import SVC
from mercer.estimators.svm.svm_judge import (
    binary_coefficients,
    binary_problems,
    chosen_value,
    split_multipliers,
)
from mercer.estimators.svm.svr import SVR
from mercer.exceptions import InvalidInput
from mercer.problems import qp

_FINITE_C = [Interval(Real, 0.0, math.inf, closed="neither"), StrOptions({"auto"})]


@parameters
class MultipleKernelClassifier(WeightedMachine, SVC):
    r"""A support vector classifier on a sum of kernels whose weights are learnt with it.

    k = Σ_m w_m k_m, w ≥ 0. With ``method="l1"`` and ``"lp"``, weights and machine are the optimum
    of one convex problem,

    min ½ Σ_m ‖f_m‖²/d_m + C Σ ξᵢ  subject to  yᵢ(Σ_m f_m(xᵢ) + b) ≥ 1 − ξᵢ, ξᵢ ≥ 0, ‖d‖_p ≤ 1,

    and ``certificate_`` says how far both together are from it. ``"alignment"`` and ``"easymkl"``
    find the weights by a rule first, and fit the machine to them.

    Parameters
    ----------
    kernel : Kernel, list of kernels, or str
        A sum in the kernel algebra, whose terms get weights, or a list of these terms. Anything
        else that :class:`SVC` takes is a single kernel.
    method : {"l1", "lp", "alignment", "easymkl"}
        ``"l1"`` (p = 1) leaves out kernels that do not help; ``"lp"`` keeps all, the more equally
        the greater p. ``"alignment"`` takes the sum that is nearest to the kernel of the classes,
        both centred, ``"easymkl"`` the distances between the nearest points of the classes.
    p : float
        The norm of the weights for ``"lp"``, at least 1.
    balance : float
        λ of EasyMKL, from 0 (nearest points of the hulls) towards 1 (means of the classes).
    normalise : bool
        Divide each kernel by its spread on the training data, tr(HKH)/n with H = I − 11ᵀ/n, before
        weights are compared: then no factor of a kernel matters.
    C, tol, class_weight, probability, …
        As in :class:`SVC`; C is finite, ``multi_class`` is ``"ovo"`` or ``"ovr"``, and all binary
        machines share the weights. ``tol`` is the relative gap of the joint problem, and
        ``max_iter`` counts steps of the weights for ``"l1"`` and ``"lp"``.

    Attributes
    ----------
    weights_ : array of shape (kernels,)
        The factors w of the kernels, 0 for those left out.
    shares_ : array of shape (kernels,)
        The share of each kernel in the spread of the weighted sum.
    kernels_ : list of Kernel
        The terms, settled on the training data.
    kernel_ : Kernel
        The weighted sum.
    certificate_ : Certificate
        Of the joint problem for ``"l1"`` and ``"lp"``, else of the machine with its weights.

    Examples
    --------
    >>> from mercer import MultipleKernelClassifier, RBF, load_data
    >>> heart = load_data("heart")
    >>> columns = [RBF().on(j) for j in range(heart.X.shape[1])]
    >>> machine = MultipleKernelClassifier(columns, C=1.0).fit(heart.X, heart.y)
    >>> machine.certificate_.optimal
    True
    >>> heart.columns[machine.shares_.argmax()]
    'vessels'

    References
    ----------
    A. Rakotomamonjy, F. Bach, S. Canu and Y. Grandvalet, SimpleMKL, Journal of Machine Learning
    Research 9 (2008); M. Kloft, U. Brefeld, S. Sonnenburg and A. Zien, ℓp-norm multiple kernel
    learning, JMLR 12 (2011); C. Cortes, M. Mohri and A. Rostamizadeh, Algorithms for learning
    kernels based on centered alignment, JMLR 13 (2012); F. Aiolli and M. Donini, EasyMKL,
    Neurocomputing 169 (2015).
    """

    STATE: ClassVar[State] = {**SVC.STATE, **WeightedMachine.STATE}

    kernel: Parameter = "rbf"
    _: KW_ONLY

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SVC._parameter_constraints,
        **WeightedMachine._parameter_constraints,
        "C": _FINITE_C,
        "multi_class": [StrOptions({"ovo", "ovr"})],
    }

    def _train(self, X: Objects, data: FitData, start: Model) -> None:
        labels = self._labels(data)
        self._wanted = Wanted.of_classes(labels.codes, len(labels.classes))
        super()._train(X, data, start)
        del self._wanted

    def _published(self, training: Training) -> PublishedAnswer:
        codes, C = training.targets, training.weights
        columns = binary_coefficients(self, codes, np.asarray(self.support_, dtype=np.intp))
        rows_and_signs = binary_problems(self, codes, C > 0)
        C = chosen_value(self, "C") * C
        return PublishedAnswer(
            [(rows, qp.classifier(signs, C[rows])) for rows, signs in rows_and_signs],
            [columns[rows, j] for j, (rows, _) in enumerate(rows_and_signs)],
            [np.array([bias]) for bias in self.intercept_],
        )

    def _stated_targets(self, data: FitData) -> tuple[Any, Array]:
        labels = self._labels(data)
        if not np.array_equal(labels.classes, self.classes_):
            raise InvalidInput(
                f"certify: y has to hold the {data.count} classes that the model was fitted on."
            )
        return labels.codes, self._costs(data)


@parameters
class MultipleKernelRegressor(WeightedMachine, SVR):
    r"""Support vector regression on a sum of kernels whose weights are learnt with it.

    k = Σ_m w_m k_m, w ≥ 0. With ``method="l1"`` and ``"lp"``, weights and machine are the optimum
    of one convex problem,

    min ½ Σ_m ‖f_m‖²/d_m + C Σ max(0, ∣yᵢ − Σ_m f_m(xᵢ) − b∣ − ε),  ‖d‖_p ≤ 1.

    Parameters, attributes and references as in :class:`MultipleKernelClassifier`, without
    ``"easymkl"``, which needs classes; C, epsilon and the rest as in :class:`SVR`.

    Parameters
    ----------
    C, epsilon
        As in :class:`SVR`.
    method, p, balance, normalise
        As in :class:`MultipleKernelClassifier`.

    Examples
    --------
    >>> from mercer import MultipleKernelRegressor, RBF, load_data
    >>> table = load_data("diabetes")
    >>> y = (table.y - table.y.mean()) / table.y.std()
    >>> columns = [RBF().on(j) for j in range(table.X.shape[1])]
    >>> machine = MultipleKernelRegressor(columns).fit(table.X, y)
    >>> machine.certificate_.optimal
    True
    """

    STATE: ClassVar[State] = {**SVR.STATE, **WeightedMachine.STATE}

    kernel: Parameter = "rbf"
    _: KW_ONLY

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SVR._parameter_constraints,
        **WeightedMachine._parameter_constraints,
        "C": _FINITE_C,
        "method": [StrOptions(set(METHODS) - {"easymkl"})],
    }

    def _fit_plan(
        self, X: Objects, data: FitData, plan: BoxPlan[DecisionRule], start: Model
    ) -> None:
        self._wanted = Wanted(self._targets(data)[:, None])
        super()._fit_plan(X, data, plan, start)
        del self._wanted

    def _published(self, training: Training) -> PublishedAnswer:
        rows = np.flatnonzero(training.weights > 0)
        C = chosen_value(self, "C") * training.weights[rows]
        problem = qp.regressor(training.targets[rows], C, self.epsilon)
        coefficients = np.zeros(len(training.points))
        coefficients[self.support_] = np.asarray(self.dual_coef_).ravel()
        beta = split_multipliers(coefficients[rows], problem)
        return PublishedAnswer([(rows, problem)], [beta], [np.asarray(self.intercept_)])

    def _stated_targets(self, data: FitData) -> tuple[Any, Array]:
        weights = np.zeros(data.count)
        rows, used = self._weighted_rows(data)
        weights[rows] = used
        return self._targets(data), weights
