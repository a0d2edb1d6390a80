"""Weights of kernels from data, as a function: a weighted sum for any machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import type_of_target

from mercer._typing import Array, Objects, Targets
from mercer.estimators.multiple_kernel.base_kernels import HeldKernels, summed, terms_of
from mercer.estimators.multiple_kernel.weighing_machines import (
    MultipleKernelClassifier,
    MultipleKernelRegressor,
)
from mercer.estimators.multiple_kernel.weight_rules import judge_alignment, judge_easy
from mercer.estimators.multiple_kernel.weighted_machine import JOINT, METHODS, Wanted, rule_weights
from mercer.estimators.svm.classes import ClassLabels
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.kernels.base import Kernel, is_kernel
from mercer.problems.certificate import Certificate


@dataclass(frozen=True, eq=False)
class LearntWeights:
    """A sum of kernels with weights that were learnt.

    Attributes
    ----------
    kernel : Kernel
        The weighted sum Σ w_m k_m, for any machine.
    weights : array of shape (kernels,)
        The factors w; 0 for kernels that are left out.
    shares : array of shape (kernels,)
        The share of each kernel in the spread tr(HKH)/n of the sum: how much it counts.
    kernels : list of Kernel
        The terms, settled on the data.
    certificate : Certificate
        How far the weights are from the optimum of the problem that they solve.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import RBF, learn_weights
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> found = learn_weights([RBF().on(0), RBF().on(1)], X, X[:, 0] > 0)
    >>> int(found.shares.argmax()), found.certificate.optimal
    (0, True)
    """

    kernel: Kernel
    weights: Array
    shares: Array
    kernels: list[Kernel]
    certificate: Certificate

    def __repr__(self) -> str:
        lines = [
            f"{share:6.1%}  {kernel}"
            for share, kernel in sorted(
                zip(self.shares.tolist(), self.kernels, strict=True), key=lambda pair: -pair[0]
            )
        ]
        return "\n".join([f"LearntWeights of {len(self.kernels)} kernels", *lines])


def learn_weights(
    kernels: Kernel | Sequence[Kernel],
    X: Objects,
    y: Targets,
    method: str = "alignment",
    *,
    p: float = 2.0,
    C: float = 1.0,
    epsilon: float = 0.1,
    balance: float = 0.1,
    normalise: bool = True,
    tol: float = 1e-3,
) -> LearntWeights:
    r"""Learn the weights of a sum of kernels from objects and their classes or numbers.

    k = Σ_m w_m k_m, w ≥ 0. ``"alignment"`` solves min ‖Σ v_m HK_mH − HYYᵀH‖² over v ≥ 0 in closed
    form, ``"easymkl"`` has weights d_m ∝ γᵀYK_mYγ from the nearest points of the classes, and
    ``"l1"`` and ``"lp"`` are those of the optimal support vector machine, as in
    :class:`MultipleKernelClassifier`. The weights depend on the targets: inside of a
    cross-validation, learn them from training rows alone, as that machine does.

    Parameters
    ----------
    kernels : list of kernels, or a sum of them
    X : array, frame or list of n objects
    y : array of shape (n,)
        Classes, or numbers where they are floats with fractions.
    method : {"alignment", "easymkl", "l1", "lp"}
    p : float
        The norm of the weights for ``"lp"``, at least 1.
    C, epsilon : float
        The price of slack and the tube of the support vector machine of ``"l1"`` and ``"lp"``.
    balance : float
        λ of EasyMKL, 0 ≤ λ < 1.
    normalise : bool
        Bring all kernels to one spread first.
    tol : float
        The relative gap of the joint problem.

    Returns
    -------
    LearntWeights
        The weighted ``kernel``, ``weights``, ``shares``, ``kernels`` and a ``certificate``.

    Examples
    --------
    >>> from mercer import RBF, SVC, learn_weights, load_data
    >>> heart = load_data("heart")
    >>> found = learn_weights([RBF().on(j) for j in range(13)], heart.X, heart.y)
    >>> found.certificate.optimal
    True
    >>> machine = SVC(kernel=found.kernel).fit(heart.X, heart.y)
    """
    if method not in METHODS:
        raise InvalidParameter(
            f"learn_weights: method={method!r} is none of {', '.join(map(repr, METHODS))}."
        )
    kernel: Any = kernels if is_kernel(kernels) else summed(_listed(kernels), "learn_weights")
    classes = _are_classes(y)
    if method in JOINT:
        options: dict[str, Any] = {"method": method, "p": p, "C": C, "normalise": normalise}
        machine: Any = (
            MultipleKernelClassifier(kernel, tol=tol, **options)
            if classes
            else MultipleKernelRegressor(kernel, tol=tol, epsilon=epsilon, **options)
        )
        machine.fit(X, y)
        return LearntWeights(
            machine.kernel_,
            machine.weights_,
            machine.shares_,
            machine.kernels_,
            machine.certificate_,
        )
    check_consistent_length(X, y)
    if method == "easymkl" and not classes:
        raise InvalidInput(
            "learn_weights: EasyMKL needs classes, and y holds numbers. Take method='alignment', "
            "'l1' or 'lp'."
        )
    if not 0 <= balance < 1:
        raise InvalidParameter(f"learn_weights: balance={balance!r} has to be in [0, 1).")
    if classes:
        labels = ClassLabels.of(y)
        wanted = Wanted.of_classes(labels.codes, len(labels.classes))
    else:
        wanted = Wanted(np.asarray(y, dtype=np.float64).reshape(-1, 1))
    points = kernel.encode(X)
    terms = terms_of(kernel.resolve(points))
    held = HeldKernels.of(terms, points, normalise, tol, "learn_weights")
    d, answer = rule_weights(method, held, wanted, balance)
    if wanted.codes is not None and method == "easymkl":
        count = wanted.Y.shape[1]
        judged = judge_easy(held.base, points, wanted.codes, count, balance, answer)
    else:
        judged = judge_alignment(held.base, points, wanted.Y, answer)
    return LearntWeights(held.base.weighted(d), held.base.weights(d), held.shares(d), terms, judged)


def _listed(kernels: object) -> Sequence[Kernel]:
    if isinstance(kernels, str) or not isinstance(kernels, Sequence):
        raise InvalidParameter(
            f"learn_weights: kernels={kernels!r} has to be a list of kernels, or a sum of them."
        )
    return kernels


def _are_classes(y: Targets) -> bool:
    """Tell classes from numbers, as scikit-learn does: floats with fractions are numbers."""
    kind = type_of_target(y, input_name="y")
    if kind in ("binary", "multiclass"):
        return True
    if kind == "continuous":
        return False
    raise InvalidInput(
        f"learn_weights: y holds {kind} targets; one class or number for each object is needed."
    )
