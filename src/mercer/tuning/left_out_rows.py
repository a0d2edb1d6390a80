"""Folds of one row: a search then fits each candidate once, and has the answers to rows left out.

That is exact where nothing of a candidate but its coefficients depends on the rows: a width that
is found from them would be another one without each of them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from mercer._sklearn import num_samples
from mercer._typing import Array, IntArray, Objects, Targets
from mercer.estimators.base import FitData, KernelMachine
from mercer.exceptions import MercerError
from mercer.tuning.known_answers import KINDS
from mercer.tuning.shared_fits import Fitted


def leaves_one_out(splits: Sequence[tuple[IntArray, IntArray]], count: int) -> bool:
    """Tell whether each fold tests one row, another one each time, and learns from all others."""
    if len(splits) != count or count < 2:
        return False
    single = all(len(test) == 1 and len(train) == count - 1 for train, test in splits)
    return single and len({int(test[0]) for _, test in splits}) == count


def left_out_fits(
    machine: KernelMachine,
    X: Objects,
    y: Targets,
    splits: Sequence[tuple[IntArray, IntArray]],
    cell: int,
    threads: int | None = None,
) -> list[Fitted] | None:
    """Return what a machine says of each row that it never saw, None where that takes n fits.

    It is exact for ``SVC``, ``SVR`` and ``KernelRidge`` with a fixed kernel.
    """
    began = time.perf_counter()
    try:
        if not _is_the_same_without_a_row(machine, X, y):
            return None
        found = _rule_and_values(machine.with_parameters(), X, y, threads)
    except (MercerError, ValueError, TypeError, ArithmeticError):
        return None  # raised again by the fits, where it is an error of theirs too
    if found is None:
        return None
    rule, values = found
    kind = KINDS[get_tags(machine).estimator_type]
    seconds = (time.perf_counter() - began) / len(splits)
    return [
        Fitted(cell, fold, kind(rule, values[test]), None, "optimal", seconds)
        for fold, (_, test) in enumerate(splits)
    ]


def _is_the_same_without_a_row(machine: KernelMachine, X: Objects, y: Targets) -> bool:
    if getattr(machine, "class_weight", None) == "balanced":
        return False
    if get_tags(machine).estimator_type == "classifier":
        counts = np.unique(np.asarray(y), return_counts=True)[1]
        if counts.min() < 2:
            return False  # without its last row a class is none
    kernel, points = machine.kernel_argument.encode(machine.read(X))
    return bool(kernel.resolve(points) == kernel)


def _rule_and_values(
    machine: KernelMachine, X: Objects, y: Targets, threads: int | None
) -> tuple[Any, Array] | None:
    """Fit once; return the rule of answers, and values at each row without it."""
    count = num_samples(X)
    leave_out = getattr(machine, "left_out_functions", None)
    closed_form = getattr(machine, "leave_one_out", None)
    if leave_out is not None:
        machine.fit(X, y)
        found = leave_out(X, y, None, threads)
        return found.rule, np.column_stack([function.values for function in found.functions])
    if closed_form is not None:
        machine.fit(X, y)
        values = np.asarray(y, dtype=np.float64) - closed_form()
        return machine.plan(FitData(y, None, count)).rule, values.reshape(count, -1)
    return None
