"""Exact Shapley values of kernel machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mercer import _parallel
from mercer._typing import Array, BoolArray, IntArray, Model, Objects
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.explanations.answer_functions import AnswerFunctions, unwrapped
from mercer.explanations.explanation import Explanation
from mercer.kernels.base import Kernel
from mercer.kernels.coalitions import WHOLE, Game, Player
from mercer.kernels.encoders import column_names, is_frame
from mercer.kernels.points import Points

GAMES = ("kernel", "interventional")
_BLOCK = 1 << 20
"""Values of single columns that are held at a time by one thread: 8 MiB."""
_BACKGROUND = 100
"""Training points that stand for unknown columns, as many as users of shap are used to."""


def explain(
    model: Model,
    X: Objects,
    *,
    game: str = "kernel",
    background: Objects = None,
    threads: int | None = None,
) -> Explanation:
    """Return how much each column gives to each answer: exact Shapley values.

    For f(x) = Σᵢ aᵢ Πⱼ kⱼ(xᵢⱼ, xⱼ) + b and the game v(S) = Σᵢ aᵢ Π_{j∈S} kᵢⱼ + b, column j gets

        φⱼ = Σᵢ aᵢ (kᵢⱼ − 1) ∫₀¹ Π_{l≠j} (1 − q + q kᵢₗ) dq,

    a polynomial in q, which Gauss–Legendre nodes integrate without error. Sums over columns
    (linear kernels), powers of them (polynomial kernels) and sums of kernels have closed forms
    too. Matérn and rational quadratic kernels are mixtures of Gaussian kernels, taken at finitely
    many widths: ``error`` bounds what that costs. A kernel of a whole object, such as a string or
    a graph in one column of a table, makes that column one player. The shares of a vote are the
    sums of those of its members; a column is one player with all coordinates that it was given.

    Parameters
    ----------
    model : estimator
        A fitted support vector machine, kernel ridge, Gaussian process, kernel logistic regression,
        linear or automatic machine, or a pipeline that ends with one.
    X : data
        The rows to explain, as ``predict`` takes them.
    game : {"kernel", "interventional"}
        What a column that is not known is worth. ``"kernel"``: its factor is 1 and its term 0, as
        if nothing were compared there. ``"interventional"``: it is what the rows of ``background``
        have there, on average, as in shap.
    background : data, optional
        For the interventional game; at most 100 points of the machine by default.
    threads : int, optional
        Number of threads; all cores by default.

    Returns
    -------
    Explanation
        ``values`` (rows × columns, × classes where there are more than two), ``base``, ``names``.
        Values and base add up to the decision function (numbers, two classes), or to one function
        for each class; where a machine has one for each pair of classes, they are added with
        their signs.

    Examples
    --------
    >>> from mercer import SVC, explain, load_data
    >>> heart = load_data("heart")
    >>> machine = SVC().fit(heart.X, heart.y)
    >>> why = explain(machine, heart.X[:5])
    >>> why.values.shape
    (5, 13)
    >>> bool(
    ...     abs(why.base + why.values.sum(axis=1) - machine.decision_function(heart.X[:5])).max()
    ...     < 1e-12
    ... )
    True

    References
    ----------
    S. L. Chau, K. Muandet and D. Sejdinovic, Explaining the uncertain: stochastic Shapley values
    for Gaussian process models, NeurIPS 2023.
    """
    if game not in GAMES:
        raise InvalidParameter(f"explain: game={game!r} has to be one of {', '.join(GAMES)}.")
    if background is not None and game == "kernel":
        raise InvalidParameter(
            'explain: background is for game="interventional"; the kernel game needs none.'
        )
    given = X
    model, X, names = unwrapped(model, X)
    if hasattr(model, "voter_functions"):
        return _of_vote(model, X, game, background, _parallel.thread_count(threads))
    functions = AnswerFunctions.of(model)
    kernel, points = functions.expansion.kernel, functions.expansion.points
    rows = kernel.encode(X)
    if len(points) == 0:
        raise InvalidInput("explain: the machine has no support vectors; its answer is constant.")
    others = None
    if game == "interventional":
        others = _background(kernel, points, background, model)
    players = _players(kernel, rows, points, names or _names(model, given if X is given else X))
    shares = _Shares(functions, rows, others, list(players))
    values, base = shares.compute(_parallel.thread_count(threads))
    several = functions.classes is not None or values.shape[2] > 1
    return Explanation(
        values if several else values[:, :, 0],
        base if several else base[0],
        list(players.values()),
        given,
        functions.classes,
        shares.error,
    )


def _of_vote(model: Model, X: Objects, game: str, background: Objects, threads: int) -> Explanation:
    """Explain the mean of machines, each of which sees the columns as coordinates of its own."""
    voters, constants = model.voter_functions()
    columns = list(dict.fromkeys(owner for voter in voters for owner in voter.owners))
    values: Any = 0.0
    base, error = np.asarray(constants), 0.0
    for voter in voters:
        kernel, points = voter.expansion.kernel, voter.expansion.points
        rows, others = kernel.encode(voter.coordinates(X)), None
        if game == "interventional":
            usual = None if background is None else voter.coordinates(background)
            others = _background(kernel, points, usual, model)
        functions = AnswerFunctions(voter.expansion, np.zeros(len(base)))
        owners: dict[Player, Player] = dict(enumerate(voter.owners))
        shares = _Shares(functions, rows, others, list(columns), owners)
        added, start = shares.compute(threads)
        values, base, error = values + added, base + start, error + shares.error
    classes = list(getattr(model, "classes_", ()))
    several = len(classes) > 2
    named = is_frame(X) or hasattr(model, "feature_names_in_")
    return Explanation(
        values if several else values[:, :, 0],
        base if several else base[0],
        columns if named else [f"x{column}" for column in columns],
        X,
        classes if several else None,
        error,
    )


class _Shares:
    """Shapley values of all rows, block by block.

    With ``owners`` the players of the kernel, its coordinates, belong to the players of the game.
    """

    def __init__(
        self,
        functions: AnswerFunctions,
        rows: Points,
        background: Points | None,
        players: list[Player],
        owners: Mapping[Player, Player] | None = None,
    ) -> None:
        self.functions, self.rows, self.background = functions, rows, background
        self.kernel, self.points = functions.expansion.kernel, functions.expansion.points
        self.coefficients = np.ascontiguousarray(functions.coefficients, dtype=np.float64)
        self.place = {player: j for j, player in enumerate(players)}
        self.owners = owners
        self._worst = 0.0

    def compute(self, threads: int) -> tuple[Array, Array]:
        """Return the values (rows × players × functions) and the base of each function."""
        count = self.coefficients.shape[1]
        values = np.zeros((len(self.rows), len(self.place), count))
        first = self._games(self.rows.take(slice(0, 1)))
        others = None if self.background is None else self._games(self.background)
        held = sum(game.values[0].size for game in first) or 1
        size = max(1, min(_BLOCK // held, -(-len(self.rows) // threads)))

        def block(chosen: IntArray) -> None:
            rows = self.rows.take(chosen)
            games = self._games(rows)
            self._worst = max(self._worst, sum(game.error for game in games))
            for position, game in enumerate(games):
                at = [self.place[player] for player in game.players]
                for i in range(len(rows)):
                    shares: Array
                    if others is None:
                        shares = game.shapley(i).T @ self.coefficients
                    else:
                        shares = self._against(game, i, others[position])
                    values[chosen[i], at] += shares

        blocks = _alike(self.kernel.has_gaps(self.rows), size)
        _parallel.run(block, blocks, threads)
        base = self.functions.constants + (
            sum(game.empty()[0] @ self.coefficients for game in first)
            if others is None
            else sum(game.full().mean(axis=0) @ self.coefficients for game in others)
        )
        return values, np.asarray(base)

    def _against(self, game: Game, row: int, other: Game) -> Array:
        count = len(other.values)
        total = np.zeros((len(game.players), self.coefficients.shape[1]))
        for b in range(count):
            total += game.shapley(row, other, b).T @ self.coefficients
        return total / count

    def _games(self, rows: Points) -> list[Game]:
        games = self.kernel.games(rows, self.points)
        return games if self.owners is None else [game.grouped(self.owners) for game in games]

    @property
    def error(self) -> float:
        """A bound on the error of the values besides rounding: twice that of a coalition."""
        return 2 * self._worst * float(np.abs(self.coefficients).sum(axis=0).max())


def _alike(gaps: BoolArray, size: int) -> list[IntArray]:
    """Return blocks of rows; a row in which values are missing has players of its own."""
    whole = np.flatnonzero(~gaps)
    blocks = [whole[begin : begin + size] for begin in range(0, len(whole), size)]
    return [*blocks, *np.flatnonzero(gaps)[:, None]]


def _background(kernel: Kernel, points: Points, given: Objects, model: Model) -> Points:
    if given is not None:
        return kernel.encode(given)
    if len(points) < 2:
        raise InvalidInput(
            f"explain: {type(model).__name__} keeps no training rows. Pass background=, some rows "
            "that are usual."
        )
    few = np.unique(np.linspace(0, len(points) - 1, _BACKGROUND).astype(np.intp))
    return points.take(few)


def _players(
    kernel: Kernel, rows: Points, points: Points, names: Sequence[str] | None
) -> dict[Player, str]:
    """Return the players in the order of the columns, with their names."""
    alike = _alike(kernel.has_gaps(rows), len(rows))
    games = (kernel.games(rows.take(some[:1]), points) for some in alike)
    found = {player for sum_of_games in games for game in sum_of_games for player in game.players}
    order = {name: j for j, name in enumerate(names or ())}

    def place(player: Player) -> tuple[int, str]:
        first: Any = player[0] if isinstance(player, tuple) and player else player
        return (first if isinstance(first, int) else order.get(first, len(order)), str(player))

    return {player: _called(player, names) for player in sorted(found, key=place)}


def _called(player: Player, names: Sequence[str] | None) -> str:
    if player == WHOLE:
        return "object"
    if isinstance(player, tuple):
        return " + ".join(_called(part, names) for part in player)
    if isinstance(player, int):
        return names[player] if names is not None and player < len(names) else f"x{player}"
    return str(player)


def _names(model: Model, X: Objects) -> list[str] | None:
    known = getattr(model, "feature_names_in_", None)
    if known is not None:
        return [str(name) for name in known]
    return [str(name) for name in column_names(X)] if is_frame(X) else None
