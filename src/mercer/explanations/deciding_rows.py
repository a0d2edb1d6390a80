"""Which training rows decide the answers: what each of them adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import _memory
from mercer._typing import Array, Axes, IntArray, Model, Objects
from mercer.exceptions import NoExplanation
from mercer.explanations.answer_functions import AnswerFunctions, unwrapped
from mercer.gram.computed import Gram
from mercer.gram.expansion import Expansion


@dataclass(frozen=True, eq=False, repr=False)
class DecidingRows:
    """What each training row adds to each answer.

    Attributes
    ----------
    values : array of shape (m, rows) or (m, rows, c)
        The summands aᵢ k(xᵢ, x) of the answers to m objects, for each of c classes where there are
        more than two; with ``base`` they add up to the decision function.
    base : float, or array of shape (c,)
        The constant b of the machine.
    rows : array of shape (rows,)
        The places of these rows among the training rows: of a support vector machine its support
        vectors, since all others add nothing.
    classes : list, optional
        The classes, where there are more than two.

    Examples
    --------
    >>> from mercer import SVC, deciding_rows
    >>> machine = SVC(kernel="linear").fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> found = deciding_rows(machine, [[2.5]])
    >>> sorted(found.order.tolist())  # those at the margin
    [1, 2]
    """

    values: Array
    base: Any
    rows: IntArray
    classes: list[Any] | None = None

    @property
    def answers(self) -> Array:
        """What values and base add up to."""
        return np.asarray(self.values.sum(axis=1) + self.base)

    @property
    def influence(self) -> Array:
        """The mean size of what each row adds, over all answers and classes."""
        sizes = np.abs(self.values)
        return np.asarray(sizes.mean(axis=0) if sizes.ndim == 2 else sizes.mean(axis=(0, 2)))

    @property
    def order(self) -> IntArray:
        """The training rows, the most influential first."""
        return np.asarray(self.rows[np.argsort(-self.influence, kind="stable")])

    def plot(self, count: int = 12, *, ax: Axes = None) -> Any:
        """Draw the most influential rows as bars.

        Parameters
        ----------
        count : int
            How many rows.
        ax : matplotlib axes, optional
            Where to draw.
        """
        from mercer._plot.attributions import draw_sizes

        sizes = np.sort(self.influence)[::-1][:count]
        names = [f"row {row}" for row in self.order[:count]]
        return draw_sizes(names, sizes, "mean size of what the row adds to an answer", ax)

    def __repr__(self) -> str:
        total = float(self.influence.sum()) or 1.0
        top = ", ".join(f"{row}" for row in self.order[:3])
        share = float(np.sort(self.influence)[::-1][:3].sum()) / total
        return (
            f"DecidingRows: {len(self.rows):,} training rows add to {len(self.values):,} answers; "
            f"rows {top} make {share:.0%} of it"
        )


def deciding_rows(model: Model, X: Objects) -> DecidingRows:
    """Return what each training row adds to each answer: f(x) = Σᵢ aᵢ k(xᵢ, x) + b, term by term.

    Parameters
    ----------
    model : estimator
        A fitted kernel machine, a vote of such, or a pipeline that ends with one; not on landmarks,
        whose sums are over landmarks.
    X : data
        The objects, as ``predict`` takes them.

    Returns
    -------
    DecidingRows
        ``values``, ``rows``, ``influence``, ``order``, ``plot()``.

    Examples
    --------
    >>> from mercer import SVC, deciding_rows, load_data
    >>> heart = load_data("heart")
    >>> machine = SVC().fit(heart.X, heart.y)
    >>> found = deciding_rows(machine, heart.X)
    >>> found.values.shape == (270, len(machine.support_))
    True
    >>> bool(abs(found.answers - machine.decision_function(heart.X)).max() < 1e-9)
    True
    """
    machine, data, _ = unwrapped(model, X)
    if hasattr(machine, "voter_functions"):
        voters, constants = machine.voter_functions()
        classes = list(getattr(machine, "classes_", ()))
        parts = [(voter.expansion, voter.coordinates(data)) for voter in voters]
    else:
        functions = AnswerFunctions.of(machine)
        constants, classes = functions.constants, functions.classes or []
        parts = [(functions.expansion, data)]
    rows = _training_rows(machine, [expansion for expansion, _ in parts])
    values = np.sum([_summands(expansion, objects) for expansion, objects in parts], axis=0)
    single = values.shape[2] == 1
    return DecidingRows(
        values[:, :, 0] if single else values,
        float(constants[0]) if single else np.asarray(constants),
        rows,
        classes if len(classes) > 2 else None,
    )


def _training_rows(machine: Model, expansions: list[Expansion]) -> IntArray:
    """Return the places of the points of a machine among its training rows."""
    count = len(expansions[0])
    support = getattr(machine, "support_", None)
    if support is not None and len(support) == count:
        return np.asarray(support, dtype=np.intp)
    landmarks = getattr(machine, "approximation", None) is not None
    linear = not hasattr(machine, "function_expansion") and not hasattr(machine, "voter_functions")
    if landmarks or linear or any(len(expansion) != count for expansion in expansions):
        raise NoExplanation(
            f"deciding_rows: the answers of this {type(machine).__name__} are no sum over its "
            "training rows, but over landmarks, columns or rows that differ from member to member. "
            "Fit a kernel machine without an approximation."
        )
    return np.arange(count, dtype=np.intp)


def _summands(expansion: Expansion, X: Objects) -> Array:
    kernel, points = expansion.kernel, expansion.points
    rows = kernel.encode(X)
    coefficients = expansion.coefficients.reshape(len(expansion), -1)
    needed = 8 * len(rows) * coefficients.size
    _memory.require(needed, "deciding_rows: all summands", "Ask for fewer rows at a time.")
    K = Gram(kernel, rows, points, dtype=np.float64).dense()
    return np.asarray(K[:, :, None] * coefficients)
