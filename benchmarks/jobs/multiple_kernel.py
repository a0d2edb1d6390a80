"""Weights of 20 kernels learnt with a machine: beside one fit with equal weights, and MKLpy."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from benchmarks.in_process import InProcess
from benchmarks.job import OURS, Disagreement, Job
from benchmarks.svm_cases import CACHE_MB, classification, sizes

KERNELS = 20
"""One RBF kernel for each column."""
RELATIVE_GAP = 1e-3
"""Of the joint problem: the default of the machine."""
LAMBDA = 0.1
"""λ of EasyMKL in MKLpy: its default."""
BALANCE = LAMBDA / (LAMBDA + KERNELS * (1 - LAMBDA))
"""λ of the same problem in ours: MKLpy adds up kernels of which we take the mean."""
AGREEMENT = 1e-3
"""How far the weights of the two may be apart."""


def _ours(method: str, rows: int) -> Callable[[], Any]:
    from mercer import RBF, MultipleKernelClassifier

    X, y = classification(rows, KERNELS)
    kernels = [RBF(gamma=1.0).on(j) for j in range(KERNELS)]
    normalise = method != "easymkl"  # MKLpy takes kernels as they are
    return lambda: MultipleKernelClassifier(
        kernels, method=method, p=1.5, balance=BALANCE, normalise=normalise, cache_size=CACHE_MB
    ).fit(X, y)


def _one_machine(rows: int) -> Callable[[], Any]:
    from mercer import RBF, SVC

    X, y = classification(rows, KERNELS)
    kernel = sum((RBF(gamma=1.0).on(j) for j in range(1, KERNELS)), RBF(gamma=1.0).on(0))
    return lambda: SVC(kernel=kernel, cache_size=CACHE_MB).fit(X, y)


def _peer(rows: int) -> Callable[[], Any]:
    """Return a fit with its matrices, which ours computes too."""
    import torch
    from MKLpy.algorithms import EasyMKL
    from sklearn.metrics.pairwise import rbf_kernel
    from sklearn.svm import SVC

    X, y = classification(rows, KERNELS)

    def fit() -> Any:
        matrices = [torch.tensor(rbf_kernel(column[:, None], gamma=1.0)) for column in X.T]
        return EasyMKL(lam=LAMBDA, learner=SVC(C=1.0)).fit(matrices, y)

    return fit


def _solved(models: Mapping[str, Any]) -> str:
    gap = models[OURS].certificate_.relative_gap
    if gap > RELATIVE_GAP:
        raise Disagreement(f"the relative gap is {gap:.1e}")
    said = f"Our relative gap: {gap:.1e}."
    peer = models.get("MKLpy")
    if peer is not None:
        theirs = np.asarray(peer.solution.weights, dtype=np.float64)
        ours = models[OURS].weights_
        off = float(np.abs(ours / ours.sum() - theirs / theirs.sum()).max())
        if off > AGREEMENT:
            raise Disagreement(f"weights differ by {off:.1e}")
        said += f" Weights differ by {off:.1e} at most."
    return said


def _cases(scale: float) -> list[InProcess]:
    rows = sizes(2_000, scale)
    label = f"{KERNELS} kernels, {rows:,} rows"
    joint = [
        InProcess(
            label=f"{method}, {label}",
            contenders={OURS: partial(_ours, method, rows), "our SVC": partial(_one_machine, rows)},
            check=_solved,
            scale=scale,
        )
        for method in ("l1", "lp")
    ]
    peer = InProcess(
        label=f"EasyMKL, {label}",
        contenders={OURS: partial(_ours, "easymkl", rows), "MKLpy": partial(_peer, rows)},
        check=_solved,
        scale=scale,
    )
    return [*joint, peer]


JOB = Job("multiple_kernel", "Weights of kernels, beside one fit and MKLpy", _cases, repeats=3)
