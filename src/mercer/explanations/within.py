"""Which places of one string or graph make its answer: letters, nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from mercer._deprecated import renamed
from mercer._typing import Array, Axes, IntArray, Model, Object, Objects
from mercer.estimators.base import take_objects
from mercer.exceptions import InvalidInput, InvalidParameter, NoExplanation
from mercer.explanations.answer_functions import AnswerFunctions, unwrapped
from mercer.explanations.shapley import explain
from mercer.gram.expansion import Expansion
from mercer.kernels.base import Kernel
from mercer.kernels.encoders import as_narwhals, is_frame
from mercer.kernels.graphs.graph_forms import as_arcs
from mercer.kernels.points import Points
from mercer.kernels.tables.columns import select_columns


@dataclass(frozen=True, eq=False, repr=False)
class Within:
    """How much each place of one object gives to its answer.

    Attributes
    ----------
    values : array of shape (places,) or (places, c)
        The shares of letters or nodes, for each of c classes where there are more than two; with
        ``base`` they add up to the answer.
    base : float, or array of shape (c,)
        The answer to an object without any place, beside the other columns of its row.
    item : object
        The string or graph.
    classes : list, optional
        The classes, where there are more than two.
    edges : array of shape (edges, 2), optional
        The pairs of nodes of a graph.
    labels : list of str, optional
        What the nodes of a graph are called.
    column : str or int, optional
        The column of a table that the object stands in; what the other columns say of the row is
        in ``base``.

    Examples
    --------
    >>> from mercer import SVC, Spectrum, explain_within
    >>> machine = SVC(Spectrum(k=2)).fit(["ACACAC", "GTGTGT"], [1, 0])
    >>> [why] = explain_within(machine, ["TTACTT"])
    >>> sorted(why.values.argsort()[-2:].tolist())  # A and C stand there
    [2, 3]
    """

    values: Array
    base: Any
    item: Object
    classes: list[Any] | None = None
    edges: IntArray | None = None
    labels: list[str] | None = None
    column: Any = None

    @property
    def answer(self) -> Any:
        """What values and base add up to."""
        return self.values.sum(axis=0) + self.base

    def of_class(self, label: Any) -> Within:
        """Return the shares in the function of one class."""
        if self.classes is None or label not in self.classes:
            known = "there are no classes to choose from" if self.classes is None else "not one of"
            raise InvalidParameter(f"explain_within: {label!r}: {known} {self.classes or ''}")
        at = self.classes.index(label)
        return replace(self, values=self.values[:, at], base=self.base[at], classes=None)

    @renamed(axes="ax")
    def plot(self, *, label: Any = None, ax: Axes = None) -> Any:
        """Draw the shares: letters or nodes of a graph on colours.

        Parameters
        ----------
        label : optional
            The class to draw, where there are more than two; by default the one that the answer is
            largest for.
        ax : matplotlib axes, optional
            Where to draw.
        """
        from mercer._plot.places import draw_graph, draw_letters, draw_nodes

        if self.classes is not None:
            chosen = self.classes[int(np.argmax(self.answer))] if label is None else label
            return self.of_class(chosen).plot(ax=ax)
        if self.edges is not None:
            return draw_graph(self.edges, self.labels, self.values, ax)
        if isinstance(self.item, str):
            return draw_letters(self.item, self.values, ax)
        return draw_nodes(self.values, ax)

    def __repr__(self) -> str:
        return f"Within an object of {len(self.values):,} places, answer {self.answer!s:.12}"


def explain_within(model: Model, X: Objects, *, column: Any = None) -> list[Within]:
    """Return how much each letter of a string, or each node of a graph, gives to its answer.

    For a kernel that counts, k(x, z) = Σ_u φ_u(x) φ_u(z), a machine is
    f(x) + b = Σ_u w_u φ_u(x) + b with w_u = Σᵢ aᵢ φ_u(xᵢ). What the k-mer, word or refined label u
    adds, w_u φ_u(x), goes in equal parts to the places where u occurs in x, and within a k-mer or
    word in equal parts to its letters. The shares add up to f(x): nothing is sampled or left out.

    In a table, where such a kernel on one column and kernels on others are added, what the others
    say of the row belongs to ``base``. A vote on sequences of one length compares them place by
    place: its letters get their Shapley values (:func:`explain`).

    Parameters
    ----------
    model : estimator
        A fitted machine (see :func:`explain`) with a kernel that counts: ``Spectrum``,
        ``Mismatch``, ``GappyKmer``, ``BagOfWords``, ``WeisfeilerLehman``, their sums, scaled and
        normalised too; or an automatic machine on sequences of one length. Kernels of whole
        alignments (``GlobalAlignment``, ``DTW``) are refused: they are no sum over places.
    X : data
        The strings or graphs to explain, as ``predict`` takes them.
    column : str or int, optional
        The column of a table whose places are asked for, where there are several to choose from.

    Returns
    -------
    list of Within
        One for each object: ``values``, ``base``, ``plot()``.

    Examples
    --------
    >>> from mercer import SVC, Spectrum, explain_within
    >>> words = ["GATTACA", "TTACATT", "GGCCGGC", "CCGGGCC"]
    >>> machine = SVC(kernel=Spectrum(3).normalized()).fit(words, [1, 1, 0, 0])
    >>> [why] = explain_within(machine, ["GGATTACC"])
    >>> int(why.values.argmax())  # the middle of TTA, which both of the first class have
    4
    >>> bool(abs(why.answer - machine.decision_function(["GGATTACC"])[0]) < 1e-12)
    True
    """
    machine, data, _ = unwrapped(model, X)
    if hasattr(machine, "voter_functions"):
        return _within_vote(machine, data, column)
    functions = AnswerFunctions.of(machine)
    kernel, points = functions.expansion.kernel, functions.expansion.points
    if len(points) == 0:
        raise InvalidInput(
            "explain_within: the machine has no support vectors; its answer is constant."
        )
    rows = kernel.encode(data)
    counted = _Counted.of(kernel, rows.take(slice(0, 1)), column)
    known = counted.kernel.feature_map(points)
    weights = np.asarray(known.values.T @ functions.coefficients)
    single = functions.classes is None and weights.shape[1] == 1
    if functions.classes is None and not single:
        raise NoExplanation("explain_within: a machine with several targets has no one answer.")
    bases = np.tile(functions.constants, (len(rows), 1))
    if counted.rest is not None:
        bases += Expansion(counted.rest, points, functions.coefficients)(rows)
    found = []
    for i in range(len(rows)):
        row = rows.take(slice(i, i + 1))
        own = counted.kernel.feature_map(row).aligned(known.keys).toarray()[0]
        shares = counted.kernel.place_shares(row).aligned(known.keys)
        values = np.asarray(shares.values @ (own[:, None] * weights))
        item = _item(data, i, counted.column)
        found.append(
            Within(
                values[:, 0] if single else values,
                float(bases[i, 0]) if single else bases[i],
                item,
                functions.classes,
                *_drawn(counted.kernel, item),
                counted.column,
            )
        )
    return found


@dataclass(frozen=True, eq=False)
class _Counted:
    """The summands of a kernel that count what stands in one object, and the others."""

    kernel: Kernel
    rest: Kernel | None
    column: Any

    @classmethod
    def of(cls, kernel: Kernel, row: Points, column: Any) -> _Counted:
        """Return the summands on a column, or on the only one that has kernels which count."""
        groups: dict[Any, list[Kernel]] = {}
        for weight, term in kernel.terms():
            groups.setdefault(frozenset(term.encoders()), []).append(weight * term)
        names = [_column(terms[0]) for terms in groups.values()]
        if column is not None and column not in names:
            raise InvalidParameter(
                f"explain_within: column={column!r} is not one of those that the kernel looks at "
                f"by themselves: {', '.join(repr(n) for n in names if n is not None) or 'none'}."
            )
        sums = [reduce(add, terms) for terms in groups.values()]
        places = [i for i, name in enumerate(names) if column is None or name == column]
        if len(places) > 1:
            places = [i for i in places if _counts(sums[i], row)]
        if not places:
            raise NoExplanation(
                f"explain_within: no summand of {kernel} counts what stands at the places of one "
                "column. explain gives the share of each column as a whole, and "
                "permutation_importance works for every machine."
            )
        if len(places) > 1:
            several = ", ".join(repr(names[i]) for i in places)
            raise InvalidParameter(
                f"explain_within: the kernel counts in several columns: {several}. Pass one of "
                "them as column=."
            )
        [at] = places
        rest = [part for i, part in enumerate(sums) if i != at]
        sums[at].place_shares(row)  # refuses before anything is computed
        return cls(sums[at], reduce(add, rest) if rest else None, names[at])


def _counts(kernel: Kernel, row: Points) -> bool:
    try:
        kernel.place_shares(row)
    except NoExplanation:
        return False
    return True


def _column(kernel: Kernel) -> Any:
    """Return the column that a kernel looks at, None where that is a whole row or several."""
    columns = [encoder.columns or (None,) for encoder in kernel.encoders()]
    found = {column for some in columns for column in some}
    return found.pop() if len(found) == 1 else None


def _within_vote(model: Model, X: Objects, column: Any) -> list[Within]:
    """Return the Shapley values of the letters of sequences that a vote compares by places."""
    places: dict[str, dict[int, str]] = {}
    for voter in model.voter_functions()[0]:
        for code in voter.coding.codes:
            if code.place:
                places.setdefault(code.name, {})[code.place] = code.owner
    if column is None and len(places) == 1:
        [column] = places
    if column not in places:
        choice = ", ".join(map(repr, places)) or "none"
        raise NoExplanation(
            f"explain_within: {type(model).__name__} compares place by place only sequences of one "
            f"length: {choice} of its columns. Pass one of them as column=; explain gives the "
            "shares of whole columns."
        )
    why = explain(model, X)
    owners = [owner for _, owner in sorted(places[column].items())]
    at = [why.names.index(owner) for owner in owners]
    letters = why.values[:, at]
    bases = why.answers - letters.sum(axis=1)
    return [
        Within(letters[i], bases[i], _item(X, i, column), why.classes, column=column)
        for i in range(len(letters))
    ]


def _drawn(kernel: Kernel, item: Object) -> tuple[IntArray | None, list[str] | None]:
    """Return the edges of a graph, each once, and the names of its nodes."""
    encoder: Any
    for encoder in kernel.encoders():
        inner = encoder if encoder.inner is None else encoder.inner
        if hasattr(inner, "edge_label"):
            graph = as_arcs(item, inner.label, inner.edge_label, None)
            u, v = np.divmod(np.asarray(graph.places, dtype=np.intp), max(graph.size, 1))
            edges = np.unique(np.column_stack([np.minimum(u, v), np.maximum(u, v)]), axis=0)
            labels = None if graph.labels is None else [str(label) for label in graph.labels]
            return edges, labels
    return None, None


def _item(X: Objects, row: int, column: Any) -> Object:
    """Return the object of a row, or what stands in one of its columns."""
    one = take_objects(X, np.array([row]))
    return _only(one if column is None else select_columns(one, (column,), "explain_within"))


def _only(items: Objects) -> Object:
    """Return the one object of a batch; of a table with one column, what stands there."""
    if is_frame(items):
        row = as_narwhals(items).row(0)
        return row[0] if len(row) == 1 else row
    if hasattr(items, "iloc"):  # a series of pandas
        items = items.to_numpy()
    item = items[0]
    return item[0] if isinstance(item, np.ndarray) and item.size == 1 else item
