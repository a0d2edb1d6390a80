"""Least squares with penalties on the weights: lasso, elastic net, ridge."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mercer import _fast, _memory
from mercer._typing import Array, IntArray, Matrix
from mercer.gram.base import GramMatrix
from mercer.linalg.scatter import scatter
from mercer.problems.certificate import Certificate

_ROUNDING = 1e-12
"""By how much squared lengths of columns may be wrong, as a share of the sum of squares."""
_BLOCK = 1 << 20
"""Entries of a matrix that are centred at a time: they stay in the cache of a core."""
_FEW_STORED = 1 << 17
"""Entries of a sparse matrix that take less time than a choice of some of its columns: 0.1 ms."""
_LITTLE_WORK = 1 << 21
"""Products of numbers of dense columns that take less time than products of sparse ones: 0.1 ms."""


@dataclass(frozen=True, eq=False)
class Design:
    """The columns √s (xⱼ − mⱼ) of a dense or CSC matrix X, without a copy of it.

    Parameters
    ----------
    X : array or CSC matrix
        One row for each sample.
    means : array or None
        What columns count from, their weighted means where there is an intercept.
    weights : array or None
        The weights s of the rows, 1 where there are none.
    short : array or None
        The same X in the float32 that it came in, for products that are refined afterwards.
    """

    X: Matrix
    means: Array | None = None
    weights: Array | None = None
    short: Array | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return int(self.X.shape[0]), int(self.X.shape[1])

    @cached_property
    def roots(self) -> Array | None:
        """The square roots of the weights."""
        return None if self.weights is None else np.sqrt(self.weights)

    @cached_property
    def _transposed(self) -> Matrix:
        return self.X.T  # of sparse data a new object, which takes as long as a product with few

    def dot(self, w: Array) -> Array:
        """Return the combination of the columns with weights w."""
        used = np.flatnonzero(w)
        quick = sparse.issparse(self.X) and self.X.nnz <= _FEW_STORED
        if 4 * used.size < w.size and not quick:
            total: Array = self.X[:, used] @ w[used]
        else:
            total = self.X @ w
        if self.means is not None:
            total = total - self.means[used] @ w[used]
        return total if self.roots is None else self.roots * total

    def correlate(self, r: Array) -> Array:
        """Return the inner product of each column with r."""
        if self.roots is not None:
            r = self.roots * r
        c: Array = self._transposed @ r
        return c if self.means is None else c - self.means * r.sum()

    def norms(self) -> Array:
        """Return the length of each column, or a little more where rounding leaves it open."""
        n, X, s = self.shape[0], self.X, self.weights
        if sparse.issparse(X):
            if not X.has_canonical_format:  # entries of one place add up before they are squared
                X = X.copy()
                X.sum_duplicates()
            if s is None:
                squares: Array = _fast.column_lasso.squares(X.data, X.indptr)
            else:
                squares = X.power(2).T @ s
        elif s is not None:
            squares = np.einsum("i,ij,ij->j", s, X, X)
        elif X.flags.f_contiguous:
            squares = np.vecdot(X.T, X.T)
        else:
            squares = np.einsum("ij,ij->j", X, X)
        spread = squares * (1 + _ROUNDING)
        if self.means is not None:
            spread -= (n if s is None else s.sum()) * self.means**2
        return np.asarray(np.sqrt(np.maximum(spread, 0.0)))

    def gram(self, rows: IntArray, columns: IntArray) -> Array:
        """Return the inner products of some columns with some others."""
        if sparse.issparse(self.X):
            return self._sparse_gram(rows, columns)
        same = rows is columns
        if same and self.means is not None and self.roots is None and self._is_all(rows):
            return scatter(self.X, self.means)
        if self.means is None and self.roots is None:
            A = self.part(slice(None), rows)
            return np.asarray(A.T @ (A if same else self.part(slice(None), columns)))
        G = np.zeros((len(rows), len(columns)))
        n = self.shape[0]
        step = max(64, _BLOCK // (len(rows) + len(columns)))
        for start in range(0, n, step):
            A = self.part(slice(start, start + step), rows)
            G += A.T @ (A if same else self.part(slice(start, start + step), columns))
        return G

    def dense(self) -> Array:
        """Return the columns as they count: dense, centred, weighted."""
        n, p = self.shape
        _memory.require(
            8 * n * p, f"A dense copy of the {n:,} × {p:,} data", "Use fewer rows or columns."
        )
        whole = replace(self, X=self.X.toarray()) if sparse.issparse(self.X) else self
        return whole.part(slice(None), np.arange(p))

    def columns(self) -> tuple[Array, IntArray, IntArray, Array]:
        """Return the columns as ``_fast.column_lasso`` reads them, and what they count from.

        Sparse ones as they are, which have no weights; dense ones as they count.
        """
        X, nothing = self.X, np.empty(0)
        none: IntArray = np.empty(0, np.int32)
        if sparse.issparse(X):
            return X.data, X.indices, X.indptr, nothing if self.means is None else self.means
        Z: Array = X if self.means is None else np.subtract(X, self.means, order="F")
        if self.roots is not None:
            Z = Z * self.roots[:, None]
        data: Array = np.asfortranarray(Z).T.reshape(-1)
        return data, none, none, nothing

    def part(self, rows: slice, columns: IntArray) -> Array:
        """Return some columns of a dense matrix as they count, in some rows."""
        part: Array = self.X[rows]
        whole = self._is_all(columns)
        if not whole:
            part = part.take(columns, axis=1) if part.flags.c_contiguous else part[:, columns]
        if self.means is not None:  # what was taken is ours to change
            part = np.subtract(part, self.means[columns], out=None if whole else part)
        return part if self.roots is None else part * self.roots[rows, None]

    def _is_all(self, columns: IntArray) -> bool:
        """Whether these are all columns in their order."""
        return len(columns) == self.shape[1] and np.array_equal(columns, np.arange(len(columns)))

    def _sparse_gram(self, rows: IntArray, columns: IntArray) -> Array:
        left = self.X if self._is_all(rows) else self.X[:, rows]
        right = left if rows is columns else self.X[:, columns]
        if self.weights is not None:
            right = sparse.csc_array(right.multiply(self.weights[:, None]))
        if self.shape[0] * len(rows) * len(columns) <= _LITTLE_WORK:
            dense = left.toarray()
            G: Array = dense.T @ (dense if right is left else right.toarray())
        elif right is left:
            by_rows = left.tocsr()
            G = np.zeros((len(rows), len(rows)))
            _fast.sparse_rows.add_column_products(by_rows.indptr, by_rows.indices, by_rows.data, G)
        else:
            G = (left.T @ right).toarray()
        if self.means is not None:
            mass = self.shape[0] if self.weights is None else self.weights.sum()
            G -= mass * np.outer(self.means[rows], self.means[columns])
        return G


@dataclass(frozen=True)
class Bounds:
    """The primal and the dual value at some weights."""

    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """How far the weights are from the optimum, at most."""
        return self.primal - self.dual


@dataclass(frozen=True, eq=False)
class LassoAnswer:
    """Weights w with what the data say of them: Xᵀr, ‖r‖² and yᵀr of the residual r, the bounds.

    The lower bound is proved by a dual point, a residual times ``scale``; ``pull`` is its Xᵀr.
    """

    w: Array
    c: Array
    rr: float
    yr: float
    bounds: Bounds
    pull: Array
    scale: float

    @property
    def slopes(self) -> Array:
        """Xᵀν of the dual point ν."""
        return self.scale * self.pull

    def proved_by(self, other: LassoAnswer) -> LassoAnswer:
        """Take over the dual point of other weights for the same problem, if it is better."""
        if other.bounds.dual <= self.bounds.dual:
            return self
        bounds = Bounds(self.bounds.primal, other.bounds.dual)
        return replace(self, bounds=bounds, pull=other.pull, scale=other.scale)


@dataclass(frozen=True, eq=False)
class LassoProblem:
    r"""Least squares with an ℓ₁ and a squared ℓ₂ penalty.

    primal: min ½‖y − Xw‖² + λ₁‖w‖₁ + ½λ₂‖w‖²,  w ≥ 0 if ``positive``

    dual:   max yᵀν − ½‖ν‖² − Σⱼ max(0, |xⱼᵀν| − λ₁)² / 2λ₂

    With λ₂ = 0 the last sum is a constraint, |xⱼᵀν| ≤ λ₁. If ``positive``, xⱼᵀν stands for |xⱼᵀν|.
    At the optimum ν = y − Xw; a dual point is this residual, scaled down until it is feasible.

    The dual is strongly concave: its best point is within √(2 gap) of any other. So a column with
    |xⱼᵀν| + ‖xⱼ‖√(2 gap) < λ₁ has the weight 0 at every optimum, and can be left out (a gap-safe
    sphere; O. Fercoq, A. Gramfort and J. Salmon, Mind the duality gap, ICML 2015). For an elastic
    net this is the test of the lasso on (X, √λ₂ I), its second part of ν at its best value.

    Columns count from ``means`` and rows by ``weights``, see :class:`Design`; y is centred and
    weighted already.
    """

    y: Array
    l1: float
    l2: float = 0.0
    positive: bool = False
    yy: float = field(default=-1.0)
    means: Array | None = None
    weights: Array | None = None

    def __post_init__(self) -> None:
        if self.yy < 0:
            object.__setattr__(self, "yy", float(self.y @ self.y))

    @property
    def name(self) -> str:
        """What the problem is called."""
        kinds = {(0, 0): "least squares", (1, 0): "lasso", (0, 1): "ridge", (1, 1): "elastic net"}
        kind = kinds[int(self.l1 > 0), int(self.l2 > 0)]
        return f"{kind}, weights ≥ 0" if self.positive else kind

    def design(self, gram: GramMatrix) -> Design:
        """Return the columns as they count."""
        return Design(gram.features(), self.means, self.weights)

    def _scales(self, w: Array, c: Array) -> tuple[float, ...]:
        if self.l1 == 0.0 and self.l2 == 0.0:
            return (1.0,)
        slopes = c - self.l2 * w
        worst = float((slopes if self.positive else np.abs(slopes)).max(initial=0.0))
        inside = 1.0 if worst <= self.l1 else self.l1 / worst
        return (inside,) if self.l2 == 0.0 else (inside, 1.0)

    def _dual(self, s: float, c: Array, rr: float, yr: float) -> float:
        value = s * yr - s * s * rr / 2
        if self.l2 > 0.0:
            excess = (s * c if self.positive else np.abs(s * c)) - self.l1
            excess = excess[excess > 0]
            value -= float(excess @ excess) / (2 * self.l2)
        return value

    def evaluate(self, design: Design, w: Array) -> LassoAnswer:
        """Judge weights from the data alone."""
        r = self.y - design.dot(w) if w.any() else self.y
        return self.judge_residual(w, r, design)

    def judge_residual(self, w: Array, r: Array, design: Design) -> LassoAnswer:
        """Judge weights of which the residual r = y − Xw is known."""
        return self.judge(w, design.correlate(r), float(r @ r), float(self.y @ r))

    def judge(self, w: Array, c: Array, rr: float, yr: float) -> LassoAnswer:
        """Judge weights of which Xᵀr, ‖r‖² and yᵀr are known, r = y − Xw."""
        primal = rr / 2 + self.l1 * float(np.abs(w).sum())
        if self.l2 > 0.0:  # the squares of huge weights count only then
            primal += self.l2 * float(w @ w) / 2
        dual, scale = max([(self._dual(s, c, rr, yr), s) for s in self._scales(w, c)])
        return LassoAnswer(w, c, rr, yr, Bounds(primal, dual), c, scale)

    def again(self, at: LassoAnswer) -> LassoAnswer:
        """Judge weights that another problem on the same data has evaluated."""
        return self.judge(at.w, at.c, at.rr, at.yr)

    def with_penalty(self, l1: float, l2: float | None = None) -> LassoProblem:
        """Return the problem with other penalties on the same data."""
        return replace(self, l1=l1, l2=self.l2 if l2 is None else l2)

    @property
    def rounding(self) -> float:
        """The gap that rounding alone can leave."""
        return 1e-14 * self.yy

    def target(self, at: LassoAnswer, tol: float) -> float:
        """Return the gap at which weights are optimal within ``tol``."""
        return max(tol * at.bounds.primal, self.rounding)

    def optimal(self, at: LassoAnswer, tol: float) -> bool:
        """Tell whether the relative gap is at most ``tol``."""
        return at.bounds.gap <= self.target(at, tol)

    def screened(self, at: LassoAnswer, norms: Array) -> NDArray[np.bool_]:
        """Tell which columns, of these lengths, are proved to have the weight 0 at the optimum."""
        radius = math.sqrt(2 * max(at.bounds.gap, self.rounding))
        slopes = at.slopes
        most = slopes if self.positive else np.abs(slopes, out=slopes)
        most += norms * radius
        return np.asarray(most < self.l1)

    def violations(self, w: Array, c: Array) -> Array:
        """Return by how much each weight breaks its optimality condition."""
        slopes = c - self.l2 * w
        if self.positive:
            return np.where(w > 0, np.abs(slopes - self.l1), np.maximum(slopes - self.l1, 0.0))
        still = np.maximum(np.abs(slopes) - self.l1, 0.0)
        return np.where(w != 0, np.abs(slopes - self.l1 * np.sign(w)), still)

    def certify(
        self, value: LassoAnswer, gram: GramMatrix, product: Array | None = None
    ) -> Certificate:
        """Judge weights by what the answer says of the data; see :meth:`evaluate` for a fresh one.

        Neither the matrix nor a product is asked: the answer comes with Xᵀr in float64.
        """
        w, c = value.w, value.c
        free = self.l1 == 0.0 and self.l2 == 0.0
        outside = float((c if self.positive else np.abs(c)).max(initial=0.0)) if free else 0.0
        slack = np.abs(self.l1 - np.abs(c - self.l2 * w)) * np.abs(w)
        return Certificate(
            problem=self.name,
            primal=value.bounds.primal,
            dual=value.bounds.dual,
            stationarity=float(self.violations(w, c).max(initial=0.0)),
            primal_feasibility=max(0.0, -float(w.min(initial=0.0))) if self.positive else 0.0,
            dual_feasibility=outside,
            complementarity=float(slack.max(initial=0.0)),
        )


def in_units(certificate: Certificate, factor: float) -> Certificate:
    """Return the certificate of the same problem with its objective times a factor."""
    scaled = ("primal", "dual", "stationarity", "dual_feasibility", "complementarity")
    numbers = {name: getattr(certificate, name) * factor for name in scaled}
    rounding = certificate.rounding
    return replace(certificate, rounding=None if rounding is None else rounding * factor, **numbers)
