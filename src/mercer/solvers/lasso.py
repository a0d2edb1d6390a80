"""Lasso and elastic net: working sets of columns, coordinate descent and Newton steps on each."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from mercer import _fast, _memory, _parallel
from mercer._typing import Array, IntArray
from mercer.problems.certificate import Certificate
from mercer.problems.lasso import Design, Evaluation, LassoProblem

FIRST_COLUMNS = 200
"""Columns of the first working set."""
EPOCHS = 40
"""Rounds of coordinate descent between two Newton steps."""
FEW_EPOCHS = 30
"""Rounds over all columns before Newton steps begin, where the whole Gram matrix is at hand."""
MOST_NEWTON = 2_000
"""Weights up to which Newton steps are cheap."""
_JITTER = 1e-12
_SHARES = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
"""Penalties on the way to a small one, as shares of the smallest that gives zeros only."""
_EARLY = 1e-2
"""The relative gap that is good enough on the way."""


class GramCache:
    """The Gram matrix of the columns that were ever in a working set.

    It grows and never shrinks, since a column at rest costs coordinate descent next to nothing.
    ``Xy`` are the inner products of all columns with y.
    """

    def __init__(self, design: Design) -> None:
        self.design = design
        self.columns: IntArray = np.empty(0, np.intp)
        self.inside = np.zeros(design.shape[1], bool)
        self.G = np.empty((0, 0))
        self.Xy: Array | None = None

    def __len__(self) -> int:
        return len(self.columns)

    def add(self, new: IntArray) -> None:
        """Take in columns that are not there yet."""
        if not new.size:
            return
        old, size = len(self), len(self) + len(new)
        if size > len(self.G):
            capacity = min(max(size, 2 * len(self.G)), self.design.shape[1])
            _memory.require(
                8 * capacity**2,
                f"The Gram matrix of {capacity:,} columns",
                "Raise the penalty, so that fewer columns are in use.",
            )
            G = np.empty((capacity, capacity))
            G[:old, :old] = self.G[:old, :old]
            self.G = G
        if old:
            cross = self.design.gram(new, self.columns)
            self.G[old:size, :old] = cross
            self.G[:old, old:size] = cross.T
        self.G[old:size, old:size] = self.design.gram(new, new)
        self.columns = np.concatenate([self.columns, new])
        self.inside[new] = True

    def evaluate(self, problem: LassoProblem, w: Array) -> Evaluation:
        """Judge weights of the columns, the others being zero."""
        everything = np.zeros(self.design.shape[1])
        everything[self.columns] = w
        if len(self) < len(everything):
            return problem.evaluate(self.design, everything)
        # With all columns here the data need not be read again.
        c = np.empty_like(everything)
        c[self.columns] = self.q - self.G[: len(w), : len(w)] @ w
        return self.judge(problem, everything, c)

    def judge(self, problem: LassoProblem, w: Array, c: Array) -> Evaluation:
        """Judge weights of which c = Xᵀr is known."""
        assert self.Xy is not None
        wq = float(w @ self.Xy)
        rr = max(problem.yy - wq - float(w @ c), 0.0)
        if rr < 1e-6 * problem.yy:  # too many digits cancel
            return problem.evaluate(self.design, w)
        return problem.judge(w, c, rr, problem.yy - wq)

    @property
    def q(self) -> Array:
        """Xᵀy of the columns."""
        assert self.Xy is not None, "solve sets Xᵀy of all columns first"
        return self.Xy[self.columns]


@dataclass(frozen=True, eq=False)
class LassoSolution:
    """Weights, what the data say of them, and the proof."""

    problem: LassoProblem
    w: Array
    evaluation: Evaluation
    certificate: Certificate


def solve(
    problem: LassoProblem,
    cache: GramCache,
    tol: float,
    max_iter: int,
    start: Array | None = None,
) -> LassoSolution:
    """Solve until the gap is at most ``tol`` of the primal value.

    Without a start, or with zeros, the way leads over a few larger penalties: each of these answers
    is a good start for the next one, and the sets of columns stay small.
    """
    began = time.perf_counter()
    design, epochs = cache.design, 0
    at = problem.evaluate(design, np.zeros(design.shape[1]) if start is None else start)
    cache.Xy = design.correlate(problem.y) if at.w.any() else at.c
    if not at.w.any() and design.shape[1] > design.shape[0]:
        largest = float(np.abs(at.c).max(initial=0.0))
        for share in _SHARES:
            if share * largest > 1.5 * problem.l1 and not problem.optimal(problem.again(at), tol):
                easier = problem.with_penalty(share * largest)
                at, spent, _ = _solve(easier, cache, _EARLY, max_iter - epochs, easier.again(at))
                epochs += spent
    at, spent, status = _solve(problem, cache, tol, max_iter - epochs, problem.again(at))
    cost = {"iterations": epochs + spent, "seconds": time.perf_counter() - began}
    return LassoSolution(problem, at.w, at, problem.certify(at, status=status, **cost))


def solve_path(
    problem: LassoProblem,
    cache: GramCache,
    penalties: list[tuple[float, float]],
    tol: float,
    max_iter: int,
    start: Array | None = None,
) -> Iterator[LassoSolution]:
    """Solve for each pair (λ₁, λ₂) in turn, each from the answer before."""
    n, p = cache.design.shape
    at = problem.evaluate(cache.design, np.zeros(p) if start is None else start)
    cache.Xy = cache.design.correlate(problem.y) if at.w.any() else at.c
    if n >= 2 * p and len(penalties) > 2:
        cache.add(np.arange(p))
    before: tuple[float, Evaluation] | None = None
    last = 0.0
    for l1, l2 in penalties:
        began = time.perf_counter()
        step = problem.with_penalty(l1, l2)
        guess = step.again(at)
        if before is not None and len(cache) == p and last != before[0]:
            guess = _further(step, cache, before[1], guess, (l1 - last) / (last - before[0]))
        before, last = (last, at), l1
        at, spent, status = _solve(step, cache, tol, max_iter, guess)
        cost = {"iterations": spent, "seconds": time.perf_counter() - began}
        yield LassoSolution(step, at.w, at, step.certify(at, status=status, **cost))


def _solve(
    problem: LassoProblem, cache: GramCache, tol: float, max_iter: int, at: Evaluation
) -> tuple[Evaluation, int, str]:
    """Grow the set of columns and solve on it, in turn; return the answer, rounds and status."""
    if len(cache) == len(at.w) and problem.l1 > 0:
        at, epochs = _descend_on_all(problem, cache, tol, max_iter, at)
    else:
        epochs = 0
    best, tight = np.inf, False
    while not problem.optimal(at, tol):
        gap = at.bounds.gap
        if epochs >= max_iter:
            return at, epochs, "max_iter"
        added = _grow(cache, problem, at)
        if tight and not added and gap > 0.5 * best:
            return at, epochs, "stalled"
        best, tight = min(gap, best), not added
        w = at.w[cache.columns]
        goal = max(0.3 * problem.target(at, tol), 0.3 * gap if added else 0.0)
        with _parallel.one_blas_thread():  # the matrices are small
            epochs += _descend(problem, cache, w, goal, max_iter - epochs)
        at = cache.evaluate(problem, w)
    return at, epochs, "optimal"


def _descend_on_all(
    problem: LassoProblem, cache: GramCache, tol: float, max_iter: int, at: Evaluation
) -> tuple[Evaluation, int]:
    """With the whole Gram matrix at hand, a few rounds over all columns are often enough."""
    order = cache.columns
    w, g = at.w[order], at.c[order]
    penalty = problem.l1, problem.l2, problem.positive
    goal, most = 0.5 * problem.target(at, tol), min(FEW_EPOCHS, max_iter)
    m = len(order)
    spent, _ = _fast.lasso.descend_to_gap(
        cache.G[:m, :m], cache.q, problem.yy, *penalty, w, g, goal, most
    )
    return (cache.evaluate(problem, w), spent) if spent else (at, 0)


def _further(
    problem: LassoProblem, cache: GramCache, a: Evaluation, b: Evaluation, share: float
) -> Evaluation:
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


def _grow(cache: GramCache, problem: LassoProblem, at: Evaluation) -> int:
    """Add the columns that break their optimality condition most; return how many."""
    support = np.flatnonzero((at.w != 0) & ~cache.inside)
    cache.add(support)
    n, p = cache.design.shape
    room = max(FIRST_COLUMNS if p > n else FIRST_COLUMNS // 2, int(np.count_nonzero(at.w)))
    pull = (at.c if problem.positive else np.abs(at.c)).copy()
    pull[cache.inside] = -np.inf
    violators = np.flatnonzero(pull > problem.l1)
    if len(violators) > room:
        violators = violators[np.argpartition(-pull[violators], room)[:room]]
    cache.add(np.sort(violators))
    return len(support) + len(violators)


def _descend(problem: LassoProblem, cache: GramCache, w: Array, goal: float, most: int) -> int:
    """Solve on the columns of the cache, in place, to a gap of ``goal``; return the rounds."""
    m, epochs, best = len(cache), 0, np.inf
    G, q = cache.G, cache.q
    g = q - G[:m, :m] @ w
    penalty = problem.l1, problem.l2, problem.positive
    everyone = np.arange(m)
    while epochs < most:
        epochs += _fast.lasso.descend(G, *penalty, w, g, everyone, min(2, most - epochs), 0.0)
        used = np.flatnonzero(w)
        if used.size:
            A, v, slopes = G[np.ix_(used, used)], w[used], g[used]
            _fast.lasso.descend(A, *penalty, v, slopes, everyone[: used.size], EPOCHS, 0.0)
            _newton(problem, A, q[used], v)
            w[used] = v
            g = q - G[:m, :m] @ w
        rr = max(problem.yy - float(w @ (q + g)), 0.0)
        gap = problem.bounds(w, g, rr, problem.yy - float(w @ q)).gap
        # Near rounding the gap falls no further.
        stuck = gap >= 0.999 * best and best <= 1e-10 * problem.yy
        if gap <= max(goal, problem.rounding) or stuck:
            break
        best = min(best, gap)
    return epochs


def _newton(problem: LassoProblem, G: Array, q: Array, w: Array) -> None:
    """Go to the minimum for the present signs, in place, or until a weight changes its sign.

    Weights that would change their sign become zero if the objective falls with that.
    """
    S = np.flatnonzero(w)
    if not 0 < S.size <= MOST_NEWTON:
        return
    old, signs, g = w[S], np.sign(w[S]), q - G @ w
    A = G[np.ix_(S, S)]
    A[np.diag_indices_from(A)] += problem.l2
    try:
        factor = linalg.cho_factor(A, check_finite=False)
    except linalg.LinAlgError:
        # Columns depend on each other: the step leads far along their null space, to where the
        # first weight becomes zero.
        A[np.diag_indices_from(A)] += _JITTER * float(A.trace()) / S.size
        try:
            factor = linalg.cho_factor(A, check_finite=False)
        except linalg.LinAlgError:
            return
    slopes = g[S] - problem.l2 * old - problem.l1 * signs
    step = linalg.cho_solve(factor, slopes, check_finite=False)
    crossed = (old + step) * signs <= 0
    shares = np.divide(-old, step, out=np.ones_like(old), where=crossed)
    first = np.where(shares <= shares.min(), 0.0, old + shares.min() * step)
    value = _value(problem, q, w, g)
    for trial in (np.where(crossed, 0.0, old + step), first):
        w[S] = trial
        if _value(problem, q, w, q - G @ w) <= value:
            return
    w[S] = old


def _value(problem: LassoProblem, q: Array, w: Array, g: Array) -> float:
    """Return the objective without ½‖y‖²."""
    quadratic = -float(w @ (q + g)) / 2
    return quadratic + problem.l1 * float(np.abs(w).sum()) + problem.l2 * float(w @ w) / 2
