"""The Gram matrix of the columns that a lasso has used, which grows with its working sets."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mercer import _memory
from mercer._typing import Array, IntArray
from mercer.problems.elastic_net import Design, LassoAnswer, LassoProblem

_NEXT_TO_NO_WORK = 1 << 19
"""Products of numbers in a whole Gram matrix up to which it takes less than the calls to choose
columns for a part of it: some 0.1 ms."""
_LITTLE_WORK = 1 << 25
"""The same up to which it takes less than rounds that choose columns, if most will be chosen: a
millisecond or two. Each round has two passes over the data."""
_ALL_AT_ONCE = 32
"""Columns whose Gram matrix is always at hand: its Newton steps end with all digits."""
_FEW_ENTRIES = 1 << 20
"""Entries of columns up to which passes over them cost less than calls that choose some: with 1e4
to 1e6, sparse, fits took 0.1 to 0.9 of the time. A dense copy of as many takes 8 MB."""
_FEW_TALL_ENTRIES = 1 << 18
"""The same for dense columns that are fewer than rows."""
_MORE_ENTRIES = 1 << 23
"""The same where a small penalty leaves many dense columns in use: a copy takes 64 MB."""
_TINY, _SMALL = 0.015, 0.04
"""Penalties, as a share of the smallest that gives zeros only, below which a fifth of the columns
of tall data are in use, and of data with less than two rows for a column. There rounds over the
columns took 0.4 to 1.1 of the time, with 10⁶ to 8·10⁶ entries."""
_TALLEST, _WIDEST = 20, 10
"""Rows for a column, and columns for a row, up to which that is so: Gram matrices of fewer columns
cost little, and of more columns few are ever in use."""
_FEW_NUMBERS = 1 << 22
"""Numbers in the columns of a working set up to which they are kept: 32 MB."""
_WORTH_ASKING = 1 << 24
"""Bytes from which it is asked whether there is memory: to ask takes as long as a small fit."""

_WORTH_A_COPY = 0.7
"""A share of the Gram matrix that is small enough to be copied out."""


class ColumnBlock(NamedTuple):
    """The least squares of some columns: which, their Gram matrix, and their products with y.

    G may be a buffer, of which the first rows and columns count: compiled loops are fast on whole
    arrays only.
    """

    columns: IntArray
    G: Array
    q: Array


class GramCache:
    """The Gram matrix of the columns that were ever in a working set.

    It grows and never shrinks, since a column at rest costs coordinate descent next to nothing.
    ``Xy`` are the inner products of all columns with the target ``y`` of the present problem.
    """

    def __init__(self, design: Design) -> None:
        self.design = design
        self.columns: IntArray = np.empty(0, np.intp)
        self.inside = np.zeros(design.shape[1], bool)
        self.G = np.empty((0, 0))
        thin = sparse.issparse(design.X)
        self.parts: Array | None = None if thin else np.empty((0, design.shape[0]))
        """The columns themselves, one in each row; None where they are sparse or too many."""
        self.y: Array | None = None
        self.Xy: Array | None = None

    def __len__(self) -> int:
        return len(self.columns)

    def add(self, new: IntArray) -> None:
        """Take in columns that are not there yet."""
        if not new.size:
            return
        old, size = len(self), len(self) + len(new)
        if size > len(self.G):
            self._enlarge(min(max(size, 2 * len(self.G)), self.design.shape[1]))
        if self.parts is not None:
            part = self.parts[old:size]
            part[:] = self.design.part(slice(None), new).T
            cross: Array = part @ self.parts[:old].T
            own: Array = part @ part.T
        else:
            cross = self.design.gram(new, self.columns) if old else np.empty((size, 0))
            own = self.design.gram(new, new)
        if old:
            self.G[old:size, :old] = cross
            self.G[:old, old:size] = cross.T
        self.G[old:size, old:size] = own
        self.columns = np.concatenate([self.columns, new])
        self.inside[new] = True

    def _enlarge(self, capacity: int) -> None:
        """Make room for so many columns."""
        old, n = len(self), self.design.shape[0]
        if 8 * capacity**2 >= _WORTH_ASKING:
            _memory.require(
                8 * capacity**2,
                f"The Gram matrix of {capacity:,} columns",
                "Raise the penalty, so that fewer columns are in use.",
            )
        G = np.empty((capacity, capacity))
        G[:old, :old] = self.G[:old, :old]
        self.G = G
        if self.parts is None or n * capacity > _FEW_NUMBERS or self.few:
            self.parts = None
            return
        parts = np.empty((capacity, n))
        parts[:old] = self.parts[:old]
        self.parts = parts

    def block(self, kept: NDArray[np.bool_], exactly: bool = False) -> ColumnBlock:
        """Return the problem of the columns here that are kept, or of all if most are.

        ``exactly`` those that are kept, whatever the copy costs.
        """
        at = np.flatnonzero(kept[self.columns])
        if len(at) > _WORTH_A_COPY * len(self) and not exactly:
            return ColumnBlock(self.columns, self.G, self.q)
        columns = self.columns[at]
        return ColumnBlock(columns, self.G[np.ix_(at, at)], self.q[at])

    def evaluate(
        self, problem: LassoProblem, columns: IntArray, w: Array, proof: Array, tol: float
    ) -> LassoAnswer:
        """Judge weights of some columns here; those of the proof too, where it is needed."""
        found = self._evaluate(problem, columns, w)
        if proof is w or problem.optimal(found, tol):
            return found
        return found.proved_by(self._evaluate(problem, columns, proof))

    def _evaluate(self, problem: LassoProblem, columns: IntArray, w: Array) -> LassoAnswer:
        everything = np.zeros(self.design.shape[1])
        everything[columns] = w
        if len(self) < len(everything):
            if self.parts is None:
                return problem.evaluate(self.design, everything)
            r = problem.y - everything[self.columns] @ self.parts[: len(self)]
            return problem.judge_residual(everything, r, self.design)
        # With all columns here the data need not be read again.
        c = np.empty_like(everything)
        c[self.columns] = self.q - self.G[: len(c), : len(c)] @ everything[self.columns]
        return self.judge(problem, everything, c)

    def judge(self, problem: LassoProblem, w: Array, c: Array) -> LassoAnswer:
        """Judge weights of which c = Xᵀr is known."""
        assert self.Xy is not None
        wq = float(w @ self.Xy)
        rr = max(problem.yy - wq - float(w @ c), 0.0)
        if rr < 1e-6 * problem.yy:  # too many digits cancel
            return problem.evaluate(self.design, w)
        return problem.judge(w, c, rr, problem.yy - wq)

    @property
    def norms(self) -> Array | None:
        """The lengths of all columns, if the Gram matrix has them or the data are wide.

        A single fit to tall data is over before they would be of use, and few columns cost nothing.
        """
        n, p = self.design.shape
        whole = len(self) == p and n * p**2 > _NEXT_TO_NO_WORK
        return self.lengths if p > n or whole else None

    def pays_whole(self, violators: int) -> bool:
        """Whether to take all columns at once, so many of which break their conditions at first."""
        n, p = self.design.shape
        return self.few and (n * p**2 <= _NEXT_TO_NO_WORK or 2 * violators > p)

    def quick(self, share: float) -> bool:
        """Whether passes over the columns themselves cost less than calls to choose some.

        A penalty that is a small ``share`` of the smallest that gives zeros only leaves so many
        columns in use that their Gram matrix costs more.
        """
        X, (n, p) = self.design.X, self.design.shape
        if p <= _ALL_AT_ONCE:
            return False
        if sparse.issparse(X):
            few = X.nnz <= _FEW_ENTRIES
            return few and self.design.weights is None and bool(X.has_canonical_format)
        small = share < (_SMALL if 2 * p > n else _TINY)
        if small and n <= _TALLEST * p and p <= _WIDEST * n:
            return n * p <= _MORE_ENTRIES
        return n * p <= (_FEW_ENTRIES if p > n else _FEW_TALL_ENTRIES)

    @property
    def few(self) -> bool:
        """Whether columns are no more than rows, and their Gram matrix costs next to nothing."""
        n, p = self.design.shape
        return p <= n and n * p**2 <= _LITTLE_WORK

    @cached_property
    def lengths(self) -> Array:
        """The lengths of all columns."""
        p = self.design.shape[1]
        if len(self) < p:
            return self.design.norms()
        norms = np.empty(p)
        norms[self.columns] = np.sqrt(np.diag(self.G)[:p])
        return norms

    @property
    def q(self) -> Array:
        """Xᵀy of the columns."""
        assert self.Xy is not None, "solve sets Xᵀy of all columns first"
        return self.Xy[self.columns]
