"""Joint multi-class problems with free biases: a few joint problems with penalised ones."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mercer.gram.base import GramMatrix
from mercer.gram.feature_gram import FeatureGram
from mercer.gram.sums import SumGram
from mercer.problems.biased_multiclass import BiasedMulticlass, JointAnswer
from mercer.solvers.base import Budget, Outcome, Solver, Status
from mercer.solvers.svm.multiclass_smo import JointMulticlassSolver

_MOST_ROUNDS = 60
"""Rounds after which it gives up: each at least halves how far the sums are from 0."""
_SHARPER = 0.3
"""Each problem is solved to this share of the tolerance: the gap has other parts besides."""
_GROWTH = 4.0
"""The factor of ρ where the sums over points fall too slowly."""


@dataclass(frozen=True)
class BiasedJointSolver(Solver[BiasedMulticlass, JointAnswer]):
    """The proximal point method in the biases.

    b ← argmin_b min_w P(w, b) + ‖b − b₀‖²/2ρ: a joint problem with the kernel K + ρ, whose margins
    have b₀ in them, and b = b₀ + ρ Σᵢ αᵢ. It ends when the duality gap of the problem with free
    biases is within ``tol``, after the sums Σᵢ αᵢ_c were brought to 0.

    Reference: R. T. Rockafellar (1976), SIAM Journal on Control and Optimization 14.
    """

    def run(
        self,
        problem: BiasedMulticlass,
        gram: GramMatrix,
        budget: Budget,
        start: JointAnswer | None,
    ) -> Outcome[JointAnswer]:
        joint, n = problem.joint, len(problem.joint)
        biases = np.zeros(joint.classes) if start is None else start.biases - start.biases.mean()
        alpha = None if start is None else start.alpha
        rho = max(float(np.abs(gram.diag()).mean()), 1e-300)
        exact, steps, best, least = gram.in_precision(np.float64), 0, None, np.inf
        inner, worst, status = budget.but(tol=_SHARPER * budget.tol), np.inf, Status.STALLED
        nonconvex = False
        for _ in range(_MOST_ROUNDS):
            ones = FeatureGram.of_rows(np.full((n, 1), np.sqrt(rho)))
            stated = replace(joint, biases=biases, free=False)
            if budget.max_iter >= 0:
                inner = inner.but(max_iter=max(budget.max_iter - steps, 0))
            found = JointMulticlassSolver().run(stated, SumGram([gram, ones]), inner, alpha)
            alpha, steps = found.value, steps + found.iterations
            nonconvex |= bool(found.details["nonconvex"])
            sums = alpha.sum(axis=0)
            biases = biases + rho * sums
            freed = problem.with_biases(biases)
            inside = freed.feasible(alpha)
            product = np.asarray(exact @ inside, dtype=np.float64)
            gap = abs(freed.judge(inside, product).relative_gap)
            gap = np.inf if freed.unbalanced(inside) else gap
            if gap < least or best is None:
                least, best = gap, (JointAnswer(inside, biases), product)
            if gap <= budget.tol:
                status = Status.OPTIMAL
                break
            if found.status in (Status.TIME_LIMIT, Status.INTERRUPTED, Status.MAX_ITER):
                status = found.status
                break
            size = float(np.abs(sums).max())
            if size > 0.3 * worst:
                rho *= _GROWTH
                inner = inner.but(tol=_SHARPER * inner.tol)
            worst = min(worst, size)
        assert best is not None
        details = {"violation": worst, "relative_gap": least, "nonconvex": nonconvex}
        return Outcome(best[0], status, steps, best[1], details)
