"""Weights of kernels by a rule that needs no machine: centred alignment, and EasyMKL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mercer import _parallel
from mercer._typing import Array, IntArray
from mercer.estimators.multiple_kernel.base_kernels import BaseKernels, HeldKernels
from mercer.estimators.svm.classes import binary_parts
from mercer.gram.base import GramMatrix
from mercer.gram.computed import Gram
from mercer.gram.given import GivenGram
from mercer.gram.sums import SumGram, weighted_terms
from mercer.kernels.points import Points
from mercer.kernels.vectors.constant import White
from mercer.linalg.nonnegative import nonnegative_least_squares
from mercer.problems import qp
from mercer.problems.certificate import Certificate
from mercer.problems.kernel_alignment import AlignmentProblem
from mercer.problems.qp import BoxQP
from mercer.solvers.base import Budget
from mercer.solvers.svm.box_qp import BoxQPSolver
from mercer.solvers.svm.hull_newton import (
    RidgedFactor,
    RidgedMatrix,
    RidgedSystem,
    nearest_points,
)

_RANK = 1e-13
"""Eigenvalues of the matrix of alignments up to this share of the largest are rounding."""
_WIDE = 1.0
"""Features for each row from which on nearest points are found on the matrix."""
_TOL, _NEWTON_TOL = 1e-6, 5e-8
"""The relative gap of the problems of EasyMKL, whose multipliers the weights are made of: by the
box QP, and by Newton's method, which has it for a step more."""


class RuleWeights(NamedTuple):
    """Weights whose sum is 1, and the values of the problem that they come from."""

    weights: Array
    answer: list[Array]


def indicators(codes: IntArray, count: int) -> Array:
    """Return a column of 0 and 1 for each class."""
    return np.asarray(codes[:, None] == np.arange(count), dtype=np.float64)


def shared_out(sizes: Array) -> Array:
    """Return sizes ≥ 0 divided by their sum; equal weights where all are 0."""
    total = float(sizes.sum())
    return sizes / total if total > 0 else np.full(len(sizes), 1 / len(sizes))


def alignment_weights(gram: GramMatrix, Y: Array) -> RuleWeights:
    """Solve :class:`AlignmentProblem` in closed form, by non-negative least squares of M^½."""
    M, a = AlignmentProblem(Y).alignments(gram)
    values, vectors = np.linalg.eigh(M)
    kept = values > _RANK * max(float(values[-1]), 0.0)
    if not kept.any():
        return RuleWeights(shared_out(np.zeros(len(a))), [np.zeros(len(a))])
    roots = np.sqrt(values[kept])
    root = (vectors[:, kept] * roots).T
    found = nonnegative_least_squares(root, (vectors[:, kept] / roots).T @ a)
    return RuleWeights(shared_out(found), [found])


def judge_alignment(
    base: BaseKernels, points: Points, Y: Array, answer: list[Array]
) -> Certificate:
    """Judge the least squares on matrices of its own."""
    return AlignmentProblem(Y).certify(answer[0], base.fresh(points))


def easy_problems(codes: IntArray, count: int) -> list[BoxQP]:
    """Return the nearest points of the hulls of each class and the rest; of two, one problem."""
    parts = binary_parts(codes, np.arange(len(codes)), count, "ovr")
    return [replace(qp.hulls(part.signs), name="EasyMKL") for part in parts]


def easy_weights(held: HeldKernels, codes: IntArray, count: int, balance: float) -> RuleWeights:
    r"""Return the weights of EasyMKL: d_m ∝ γᵀYK_mYγ, the distances between two points.

    γ are the weights of the nearest points of the hulls of two classes, with the mean of all
    kernels: min (1 − λ) γᵀY K̄ Yγ + λ‖γ‖². Of several classes, each against the rest, sums count.

    References
    ----------
    F. Aiolli and M. Donini, EasyMKL: a scalable multiple kernel learning algorithm, Neurocomputing
    169 (2015).
    """
    answer = _nearest_points(held.gram, easy_problems(codes, count), balance)
    sizes = sum(_squares(held.gram, beta) for beta in answer)
    return RuleWeights(shared_out(np.maximum(sizes, 0.0)), answer)


def _squares(gram: SumGram, beta: Array) -> Array:
    """Return βᵀK_mβ of each term in float64, of the rows that have a weight alone."""
    at = np.flatnonzero(beta)
    stacked = gram.stacked()
    if stacked is not None:
        squares = (stacked[at].T @ beta[at]) ** 2
        return np.add.reduceat(squares, np.cumsum(gram.widths()) - gram.widths())
    parts = [term.take(at).in_precision(np.float64) for term in gram.terms()]
    return np.array([float(beta[at] @ part.multiply(beta[at, None])[:, 0]) for part in parts])


def _nearest_points(gram: SumGram, problems: Sequence[BoxQP], balance: float) -> list[Array]:
    """Solve the problems of EasyMKL with the mean of all kernels."""
    terms = gram.terms()
    n, share = gram.shape[0], (1 - balance) / len(terms)
    stacked = gram.stacked()
    K: Array | None = None
    if stacked is None or stacked.shape[1] >= _WIDE * n:
        K = weighted_terms(terms, np.full(len(terms), share))
    found: list[Array | None] = [None] * len(problems)
    if balance > 0:
        system: RidgedSystem
        if K is None:
            assert stacked is not None
            # K + λI with λ in units of the share, and answers are the same.
            system = RidgedFactor.of(stacked, balance / share)
        else:
            system = RidgedMatrix(K, balance)

        def task(j: int) -> None:
            found[j] = nearest_points(system, problems[j].hi + problems[j].lo, _NEWTON_TOL)

        _parallel.run(task, range(len(problems)), _parallel.thread_count())
    left = [j for j, beta in enumerate(found) if beta is None]
    if left:
        if K is None:
            K = weighted_terms(terms, np.full(len(terms), share))
        K.flat[:: n + 1] += balance
        parts = [(np.arange(n), problems[j]) for j in left]
        budget = Budget(_TOL, gap=_TOL)
        solved = BoxQPSolver().solve_all(parts, GivenGram(K, gram.definite), budget)
        for j, each in zip(left, solved, strict=True):
            found[j] = each.value
    return [beta for beta in found if beta is not None]


def judge_easy(
    base: BaseKernels,
    points: Points,
    codes: IntArray,
    count: int,
    balance: float,
    answer: list[Array],
) -> Certificate:
    """Judge the nearest points of EasyMKL on a matrix of its own."""
    mean = base.weighted(np.full(len(base.kernels), (1 - balance) / len(base.kernels)))
    gram = Gram(mean + White(balance), points, dtype=np.float64)
    problems = zip(easy_problems(codes, count), answer, strict=True)
    return Certificate.total([problem.certify(beta, gram) for problem, beta in problems])
