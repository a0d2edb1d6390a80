"""Lasso and elastic net: working sets of columns, coordinate descent and Newton steps on each.

Columns that a gap-safe sphere proves to be zero are left out, and extrapolated residuals prove
answers earlier; see ``LassoProblem`` and ``_fast.lasso``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mercer import _fast, _parallel
from mercer._typing import Array
from mercer.gram.base import GramMatrix
from mercer.problems.elastic_net import Bounds, LassoAnswer, LassoProblem
from mercer.solvers.base import Budget, FeatureSolver, Outcome, Solution, Status
from mercer.solvers.linear.gram_cache import ColumnBlock, GramCache
from mercer.solvers.linear.signed_newton import signed_newton

FIRST_COLUMNS, FEW_COLUMNS = 100, 20
"""Columns of the first working set; the same where there are more of them than rows, so that most
have the weight 0: sets then grow with the weights."""
EPOCHS = 40
"""Rounds of coordinate descent between two Newton steps."""
NEWTON_STEPS = 10
"""Newton steps in a row; each but the last lets go of weights that would change their sign."""
EASY_EPOCHS = 10
"""Rounds after which one Newton step between rounds has shown to be too few."""
FEW_EPOCHS = 30
"""Rounds over all columns before Newton steps begin, where the whole Gram matrix is at hand."""
DENSE_EPOCHS, SPARSE_EPOCHS = 150, 600
"""Rounds over dense or sparse columns themselves at most: Newton steps end sooner where these go
on, and their Gram matrix costs less if the columns are dense."""
_COLUMN_SHARE = 0.6
"""The share of all rounds that these may use up."""
_VANISHING = 1e-3
"""Penalties, as a share of the smallest that gives zeros only, below which wide data need hundreds
of these rounds."""
_FINER = 1e-4
"""The gap at their end as a share of ``tol``: weights have the digits that a Newton step gives, for
a fifth of the rounds more."""
_EXACT = 1e-12
"""Slopes of used columns, as a share of λ₁, that say that a Newton step has landed."""
_SHARES = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
"""Penalties on the way to a small one, as shares of the smallest that gives zeros only."""
_FEW_WEIGHTS = 500
"""Weights for which a last Newton step costs next to nothing."""
_LANDING = 64
"""Columns for which compiled code takes that step in less time than the calls for it."""
_EARLY = 1e-2
"""The relative gap that is good enough on the way."""


@dataclass(frozen=True)
class WorkingSets(FeatureSolver[LassoProblem, LassoAnswer]):
    """Grow the set of columns and solve on it, in turn, until the relative gap is at most ``tol``.

    Parameters
    ----------
    cache : GramCache, optional
        The Gram matrix of columns, shared by problems on the same design.
    """

    cache: GramCache | None = None

    def run(
        self, problem: LassoProblem, gram: GramMatrix, budget: Budget, start: LassoAnswer | None
    ) -> Outcome[LassoAnswer]:
        cache = self._columns(problem, gram)
        at = _first(problem, cache, start)
        return _solve(problem, cache, budget, at)

    def path(
        self,
        problem: LassoProblem,
        gram: GramMatrix,
        penalties: list[tuple[float, float]],
        budget: Budget,
        start: LassoAnswer | None = None,
    ) -> Iterator[Solution[LassoAnswer]]:
        """Solve for each pair (λ₁, λ₂) in turn, each from the answer before."""
        cache = self._columns(problem, gram)
        method = WorkingSets(cache)
        n, p = cache.design.shape
        at = _first(problem, cache, start)
        if n >= 2 * p and len(penalties) > 2:
            cache.add(np.flatnonzero(~cache.inside))
        before: tuple[float, LassoAnswer] | None = None
        last = 0.0
        for l1, l2 in penalties:
            step = problem.with_penalty(l1, l2)
            guess = at
            if before is not None and len(cache) == p and last != before[0]:
                way = (l1 - last) / (last - before[0])
                guess = _further(step, cache, before[1], step.again(at), way)
            before, last = (last, at), l1
            found = method.solve(step, gram, budget, guess)
            at = found.value
            yield found

    def _columns(self, problem: LassoProblem, gram: GramMatrix) -> GramCache:
        return GramCache(problem.design(gram)) if self.cache is None else self.cache


class ElasticNetDescent(WorkingSets):
    """Working sets, with larger penalties on the way and a Newton step at the end.

    Without a start, or with zeros, the way leads over a few larger penalties: each of these answers
    is a good start for the next one, and the sets of columns stay small.
    """

    def run(
        self, problem: LassoProblem, gram: GramMatrix, budget: Budget, start: LassoAnswer | None
    ) -> Outcome[LassoAnswer]:
        cache = self._columns(problem, gram)
        design, epochs = cache.design, 0
        at = _first(problem, cache, start)
        wide = design.shape[1] > design.shape[0]
        largest = float(np.abs(at.c).max(initial=0.0))
        hard = problem.l1 <= (_VANISHING * largest if wide else 0.0)
        quick = not hard and cache.quick(problem.l1 / max(largest, problem.l1))
        if quick and budget.stop(at.bounds.gap, 0) is None:
            at, epochs = _descend_on_columns(problem, cache, budget, at)
        elif cache.pays_whole(int(np.count_nonzero(np.abs(at.c) > problem.l1))):
            cache.add(np.flatnonzero(~cache.inside))
        elif wide and not at.w.any():
            for share in _SHARES:
                if share * largest <= 1.5 * problem.l1:
                    break
                if problem.optimal(problem.again(at), budget.tol):
                    break
                easier = problem.with_penalty(share * largest)
                early = _solve(easier, cache, budget.but(tol=_EARLY), easier.again(at), epochs)
                at, epochs = early.value, early.iterations
        # A single fit to tall data is over before screening would pay.
        found = _solve(problem, cache, budget, problem.again(at), epochs, screens=wide)
        return replace(found, value=_landed(problem, cache, found.value, budget.tol))


def _first(problem: LassoProblem, cache: GramCache, start: LassoAnswer | None) -> LassoAnswer:
    """Return where to start, and note the products of the columns with y."""
    if start is None:
        at = problem.evaluate(cache.design, np.zeros(cache.design.shape[1]))
    else:
        at = problem.again(start)
    if cache.y is not problem.y:
        cache.y, cache.Xy = problem.y, cache.design.correlate(problem.y) if at.w.any() else at.c
    return at


def _solve(
    problem: LassoProblem,
    cache: GramCache,
    budget: Budget,
    at: LassoAnswer,
    epochs: int = 0,
    screens: bool = True,
) -> Outcome[LassoAnswer]:
    """Grow the set of columns and solve on it, in turn, without those that are screened, if any.

    ``epochs`` were used up before; they count.
    """
    tol, most = budget.tol, budget.max_iter if budget.max_iter >= 0 else sys.maxsize
    kept = np.ones(len(at.w), bool)
    whole = len(cache) == len(at.w) and problem.l1 > 0
    if whole and budget.stop(at.bounds.gap, epochs) is None:
        at, spent = _descend_on_all(problem, cache, tol, most - epochs, at)
        epochs += spent
    if screens:
        _screen(problem, cache, at, kept)
    best, tight = np.inf, False
    status = Status.OPTIMAL
    while not problem.optimal(at, tol):
        gap = at.bounds.gap
        stopped = budget.stop(gap, epochs)
        if stopped is not None:
            status = stopped
            break
        added = _grow(cache, problem, at, kept)
        if tight and not added and not gap <= 0.5 * best:
            status = Status.STALLED
            break
        best, tight = min(gap, best), not added
        block = cache.block(kept)
        w = at.w[block.columns]
        goal = max(0.3 * problem.target(at, tol), 0.3 * gap if added else 0.0)
        with _parallel.one_blas_thread():  # the matrices are small
            # While columns are missing no dual point is good.
            spent, proof = _descend(problem, block, w, goal, most - epochs, not added)
        epochs += spent
        at = cache.evaluate(problem, block.columns, w, proof, tol)
        if screens:
            _screen(problem, cache, at, kept)
    screened = len(kept) - int(np.count_nonzero(kept))
    return Outcome(at, status, epochs, details={"screened": screened})


def _landed(problem: LassoProblem, cache: GramCache, at: LassoAnswer, tol: float) -> LassoAnswer:
    """Take one more Newton step from an answer whose slopes show that it did not land.

    A dual point that looks ahead proves an answer before it has all the digits that it could have.
    """
    used = cache.columns[at.w[cache.columns] != 0]
    slopes = at.c[used] - problem.l2 * at.w[used] - problem.l1 * np.sign(at.w[used])
    if not 0 < len(used) <= _FEW_WEIGHTS or np.abs(slopes).max() <= _EXACT * problem.l1:
        return at
    block = cache.block(at.w != 0, exactly=True)
    v = at.w[block.columns]
    if not signed_newton(problem.l1, problem.l2, block.G, block.q, v):
        return at
    found = cache.evaluate(problem, block.columns, v, v, tol)
    return found if problem.optimal(found, tol) else at


def _screen(
    problem: LassoProblem, cache: GramCache, at: LassoAnswer, kept: NDArray[np.bool_]
) -> None:
    """Take columns that are proved to have the weight zero out of those that are kept."""
    if cache.norms is not None:
        kept &= ~problem.screened(at, cache.norms)


def _descend_on_all(
    problem: LassoProblem, cache: GramCache, tol: float, max_iter: int, at: LassoAnswer
) -> tuple[LassoAnswer, int]:
    """With the whole Gram matrix at hand, a few rounds over all columns are often enough."""
    columns, m = cache.columns, len(cache)
    w, g = at.w[columns], at.c[columns]
    proof = np.empty_like(w)
    penalty = problem.l1, problem.l2, problem.positive
    goal, most = 0.5 * problem.rounding, min(FEW_EPOCHS, max_iter)
    spent, _ = _fast.lasso.descend_to_gap(
        cache.G[:m, :m], cache.q, problem.yy, *penalty, w, g, proof, goal, 0.5 * tol, most
    )
    if not spent:
        return at, 0
    if m <= _LANDING:
        _fast.lasso.land(cache.G[:m, :m], problem.l1, problem.l2, w, g)
    return cache.evaluate(problem, columns, w, proof if spent < most else w, tol), spent


def _descend_on_columns(
    problem: LassoProblem, cache: GramCache, budget: Budget, at: LassoAnswer
) -> tuple[LassoAnswer, int]:
    """Solve with the residual at hand and no Gram matrix, in one call."""
    design, w = cache.design, at.w.copy()
    data, indices, starts, means = design.columns()
    u = problem.y.copy()
    if w.any():
        u -= design.X @ w if starts.size else w @ data.reshape(len(w), -1)
    proof = np.empty_like(w)
    most = DENSE_EPOCHS if starts.size == 0 else SPARSE_EPOCHS
    if budget.max_iter >= 0:  # what comes after may need its share
        most = min(most, int(_COLUMN_SHARE * budget.max_iter))
    spent = _fast.column_lasso.descend_to_gap(
        data, indices, starts, means, cache.lengths**2, problem.y,
        problem.l1, problem.l2, problem.positive, w, u, proof,
        0.5 * problem.rounding, _FINER * budget.tol, 0.5 * budget.tol, most,
    )  # fmt: skip
    found = problem.evaluate(design, w)
    if not problem.optimal(found, budget.tol):
        found = found.proved_by(problem.evaluate(design, proof))
    # Where numbers overflow the rounds lead nowhere.
    return (found if found.bounds.primal <= at.bounds.primal else at), spent


def _further(
    problem: LassoProblem, cache: GramCache, a: LassoAnswer, b: LassoAnswer, share: float
) -> LassoAnswer:
    """Go on as from a to b, by this share of the way: between two kinks the path is straight."""
    w, c = b.w + share * (b.w - a.w), b.c + share * (b.c - a.c)
    crossed = np.flatnonzero((w * b.w <= 0) & (w != 0))
    if crossed.size:
        at = np.empty_like(cache.columns)
        at[cache.columns] = np.arange(len(at))
        c[cache.columns] += w[crossed] @ cache.G[at[crossed], : len(w)]
        w[crossed] = 0.0
    guess = cache.judge(problem, w, c)
    return guess if guess.bounds.primal < b.bounds.primal else b


def _grow(cache: GramCache, problem: LassoProblem, at: LassoAnswer, kept: NDArray[np.bool_]) -> int:
    """Add the columns that break their optimality condition most; return how many."""
    support = np.flatnonzero((at.w != 0) & kept & ~cache.inside)
    cache.add(support)
    (n, p), used = cache.design.shape, int(np.count_nonzero(at.w))
    if p > n:  # a lasso has no more weights than rows
        room = max(FEW_COLUMNS, 2 * used if problem.l2 > 0 else min(2 * used, n))
    else:
        room = max(FIRST_COLUMNS, used)
    pull = (at.c if problem.positive else np.abs(at.c)).copy()
    pull[cache.inside | ~kept] = -np.inf
    violators = np.flatnonzero(pull > problem.l1)
    if len(violators) > room:
        violators = violators[np.argpartition(-pull[violators], room)[:room]]
    cache.add(np.sort(violators))
    return len(support) + len(violators)


def _descend(
    problem: LassoProblem, block: ColumnBlock, w: Array, goal: float, most: int, ahead: bool
) -> tuple[int, Array]:
    """Solve on the columns of the block, in place, to a gap of ``goal``.

    Returns the rounds, and the weights whose residual gives the best dual point: ``w`` itself, or
    those that were met on the way or extrapolated, if it should look ``ahead``.
    """
    _, buffer, q = block
    G = buffer[: len(w), : len(w)]
    epochs, best = 0, np.inf
    proof, lower = w, -np.inf
    g = q - G @ w
    penalty = problem.l1, problem.l2, problem.positive
    everyone = np.arange(len(w))

    def judge(v: Array, slopes: Array) -> Bounds:
        rr = max(problem.yy - float(v @ (q + slopes)), 0.0)
        return problem.judge(v, slopes, rr, problem.yy - float(v @ q)).bounds

    while epochs < most:
        rounds = min(2, most - epochs)
        epochs += _fast.lasso.descend(buffer, *penalty, w, g, everyone, rounds, 0.0)
        used = np.flatnonzero(w)
        landed = True
        if used.size:
            A, v, slopes = G[np.ix_(used, used)], w[used], g[used]
            hint = np.empty_like(v)
            _fast.lasso.descend_to_gap(
                A, q[used], problem.yy, *penalty, v, slopes, hint, 0.0, 0.0, EPOCHS
            )
            for _ in range(NEWTON_STEPS if epochs > EASY_EPOCHS else 1):
                landed = signed_newton(problem.l1, problem.l2, A, q[used], v)
                if landed:
                    break
            w[used] = v
            g = q - G @ w
        bounds = judge(w, g)
        gap = bounds.gap
        if ahead:
            if bounds.dual >= lower:
                lower, proof = bounds.dual, w.copy()
            if not landed and bounds.primal - lower > goal:
                other = np.zeros_like(w)
                other[used] = hint
                dual = judge(other, q - G @ other).dual
                if dual > lower:
                    lower, proof = dual, other
            gap = bounds.primal - lower
        # Near rounding the gap falls no further.
        stuck = gap >= 0.999 * best and best <= 1e-10 * problem.yy
        if not gap > max(goal, problem.rounding) or stuck:
            break
        best = min(best, gap)
    return epochs, proof
