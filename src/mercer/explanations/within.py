"""Which places of one string or graph make its answer: letters, nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._deprecated import renamed
from mercer._typing import Array, Axes, IntArray, Model, Object, Objects
from mercer.estimators.base import take_objects
from mercer.exceptions import InvalidInput, InvalidParameter, NoExplanation
from mercer.explanations.answer_functions import AnswerFunctions, unwrapped
from mercer.kernels.base import Kernel
from mercer.kernels.encoders import as_narwhals, is_frame
from mercer.kernels.graphs.graph_forms import as_arcs


@dataclass(frozen=True, eq=False, repr=False)
class Within:
    """How much each place of one object gives to its answer.

    Attributes
    ----------
    values : array of shape (places,) or (places, c)
        The shares of letters or nodes, for each of c classes where there are more than two; with
        ``base`` they add up to the answer.
    base : float, or array of shape (c,)
        The answer to an object without any place.
    item : object
        The string or graph.
    classes : list, optional
        The classes, where there are more than two.
    edges : array of shape (edges, 2), optional
        The pairs of nodes of a graph.
    labels : list of str, optional
        What the nodes of a graph are called.

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


def explain_within(model: Model, X: Objects) -> list[Within]:
    """Return how much each letter of a string, or each node of a graph, gives to its answer.

    For a kernel that counts, k(x, z) = Σ_u φ_u(x) φ_u(z), a machine is
    f(x) + b = Σ_u w_u φ_u(x) + b with w_u = Σᵢ aᵢ φ_u(xᵢ). What the k-mer, word or refined label u
    adds, w_u φ_u(x), goes in equal parts to the places where u occurs in x, and within a k-mer or
    word in equal parts to its letters. The shares add up to f(x): nothing is sampled or left out.

    Parameters
    ----------
    model : estimator
        A fitted machine (see :func:`explain`) with a kernel that counts: ``Spectrum``,
        ``Mismatch``, ``GappyKmer``, ``BagOfWords``, ``WeisfeilerLehman``, their sums, scaled and
        normalised too.
    X : data
        The strings or graphs to explain, as ``predict`` takes them.

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
    functions = AnswerFunctions.of(machine)
    kernel, points = functions.expansion.kernel, functions.expansion.points
    if len(points) == 0:
        raise InvalidInput(
            "explain_within: the machine has no support vectors; its answer is constant."
        )
    rows = kernel.encode(data)
    first = kernel.place_shares(rows.take(slice(0, 1)))  # refuses before anything is computed
    known = kernel.feature_map(points)
    weights = np.asarray(known.values.T @ functions.coefficients)
    single = functions.classes is None and weights.shape[1] == 1
    if functions.classes is None and not single:
        raise NoExplanation("explain_within: a machine with several targets has no one answer.")
    found = []
    for i in range(len(rows)):
        row = rows.take(slice(i, i + 1))
        shares = first if i == 0 else kernel.place_shares(row)
        own = kernel.feature_map(row).aligned(known.keys).toarray()[0]
        values = np.asarray(shares.aligned(known.keys).values @ (own[:, None] * weights))
        item = _only(take_objects(data, np.array([i])))
        found.append(
            Within(
                values[:, 0] if single else values,
                float(functions.constants[0]) if single else functions.constants,
                item,
                functions.classes,
                *_drawn(kernel, item),
            )
        )
    return found


def _drawn(kernel: Kernel, item: Object) -> tuple[IntArray | None, list[str] | None]:
    """Return the edges of a graph, each once, and the names of its nodes."""
    encoder: Any
    for encoder in kernel.encoders():
        if hasattr(encoder, "edge_label"):
            graph = as_arcs(item, encoder.label, encoder.edge_label, None)
            u, v = np.divmod(np.asarray(graph.places, dtype=np.intp), max(graph.size, 1))
            edges = np.unique(np.column_stack([np.minimum(u, v), np.maximum(u, v)]), axis=0)
            labels = None if graph.labels is None else [str(label) for label in graph.labels]
            return edges, labels
    return None, None


def _only(items: Objects) -> Object:
    """Return the one object of a batch; of a table with one column, what stands there."""
    if is_frame(items):
        row = as_narwhals(items).row(0)
        return row[0] if len(row) == 1 else row
    if hasattr(items, "iloc"):  # a series of pandas
        items = items.to_numpy()
    item = items[0]
    return item[0] if isinstance(item, np.ndarray) and item.size == 1 else item
