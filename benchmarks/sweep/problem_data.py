"""The data of a case: classes, values or mixtures, with rows that no machine is fitted on."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.sweep.cases import Case

NOISE = 0.05
"""Labels that are drawn anew, and half of the noise of values next to their deviation."""
INFORMATIVE = 10
"""Columns at most that have to do with the target."""
CLUSTERS = 2
"""Groups of rows that make up a class."""


@dataclass(frozen=True)
class ProblemData:
    """What the machines get: rows, targets (None without), new rows and what is true of them."""

    X: Any
    y: Any
    new: Any
    truth: Any

    @property
    def supervised(self) -> tuple[Any, ...]:
        """The arguments of ``fit``."""
        return (self.X,) if self.y is None else (self.X, self.y)


def make_data(case: Case, task: str) -> ProblemData:
    """Return the data of a case.

    ``task`` is ``classes``, ``values`` (linear), ``curves`` (not linear), ``rows`` (no target) or
    ``mixtures`` (of independent sources).
    """
    random = np.random.default_rng(case.data_seed)
    total = case.rows + case.new_rows
    if task == "mixtures":
        sources = random.laplace(size=(total, case.columns))
        X, y = sources @ random.normal(size=(case.columns, case.columns)), None
    else:
        X = random.standard_normal((total, case.columns))
        if case.density:
            X *= random.random(X.shape) < case.density
        if task == "rows":
            # A few directions matter more than others, as in data that one takes components of.
            factors = min(case.columns, INFORMATIVE)
            X += random.standard_normal((total, factors)) @ random.standard_normal(
                (factors, case.columns)
            )
        if task == "classes":
            y = _classes(X, case, random)
        else:
            y = None if task == "rows" else _values(X, task == "curves", random)
    if task != "mixtures" and not case.density:
        X -= X[: case.rows].mean(axis=0)
        X /= np.maximum(X[: case.rows].std(axis=0), 1e-12)
    X = X.astype(case.dtype)
    rows, new = X[: case.rows], X[case.rows :]
    if case.density:
        rows, new = sparse.csr_matrix(rows), sparse.csr_matrix(new)
    if y is None:
        return ProblemData(rows, None, new, None)
    return ProblemData(rows, y[: case.rows], new, y[case.rows :])


def settings(case: Case, data: ProblemData) -> dict[str, Any]:
    """Return the parameters of a case with γ and α in place of ``width`` and ``share``."""
    given = dict(case.parameters)
    if "width" in given:
        squares = data.X.multiply(data.X).sum() if sparse.issparse(data.X) else (data.X**2).sum()
        given["gamma"] = float(given.pop("width") * case.rows / squares)
    if "share" in given:
        centred = data.y - data.y.mean()
        largest = float(np.abs(data.X.T @ centred).max()) / case.rows
        given["alpha"] = given.pop("share") * largest / given.get("l1_ratio", 1.0)
    return given


def _classes(X: np.ndarray, case: Case, random: np.random.Generator) -> np.ndarray:
    """Move rows towards centres, a few for each class; some labels are wrong."""
    informative = min(case.columns, INFORMATIVE)
    y = random.integers(case.classes, size=len(X))
    # Every class is there, whatever was drawn.
    y[: case.classes * CLUSTERS] = np.arange(case.classes * CLUSTERS) % case.classes
    if case.density:
        # Rows stay sparse: the label is the largest of a few linear functions.
        W = random.standard_normal((case.columns, case.classes))
        scores = X @ W
        y = np.argmax(scores - scores.mean(axis=0), axis=1)
        y[: case.classes * CLUSTERS] = np.arange(case.classes * CLUSTERS) % case.classes
    else:
        # The more columns, the nearer the centres: all sizes are about as hard.
        spread = 2.5 / informative**0.25
        centres = spread * random.standard_normal((case.classes, CLUSTERS, informative))
        X[:, :informative] += centres[y, random.integers(CLUSTERS, size=len(X))]
    wrong = np.flatnonzero(random.random(len(X)) < NOISE)
    wrong = wrong[wrong >= case.classes * CLUSTERS]
    y[wrong] = random.integers(case.classes, size=len(wrong))
    return y


def _values(X: np.ndarray, curved: bool, random: np.random.Generator) -> np.ndarray:
    """Return a target of a few columns, linear or not, of unit variance and with noise."""
    informative = min(X.shape[1], INFORMATIVE)
    chosen = random.choice(X.shape[1], informative, replace=False)
    Z = X[:, chosen]
    y = Z @ random.standard_normal(informative) / informative**0.5
    if curved:
        y += np.sin(2 * Z[:, 0]) + Z[:, 0] * Z[:, -1] / 2
    y = y / max(float(y.std()), 1e-12) + 2 * NOISE * random.standard_normal(len(X))
    return y / y.std()
