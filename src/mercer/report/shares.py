"""Which columns make the answers: importance, effects, and the shares in single answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from mercer._typing import Array, IntArray, Model, Objects, Targets
from mercer.estimators.base import take_objects
from mercer.estimators.certify import certify
from mercer.exceptions import MercerError
from mercer.explanations.answer_functions import AnswerFunctions
from mercer.explanations.explanation import Explanation
from mercer.explanations.shapley import explain
from mercer.explanations.wrong_rows import wrong_rows
from mercer.kernels.base import Kernel
from mercer.kernels.encoders import as_narwhals, is_frame, row_count
from mercer.kernels.vectors.radial import Radial
from mercer.report import table, text
from mercer.report.anatomy import Anatomy
from mercer.report.predicted import Predicted
from mercer.report.reasons import Effect, Shares

COLUMNS = 12
"""Columns that are shown, the strongest first: as many bars as can be read."""
EFFECTS = 5
"""Columns whose effects are drawn."""
CATEGORIES = 8
"""Categories of a column that have room beside each other; a column with more has no drawing."""
IMPORTANCE_ROWS = 200
"""Rows behind the importance of columns: means of so many are steady to a few per cent."""
MOST_WORK, FEWEST_ROWS, TOO_MUCH_WORK = 1e7, 10, 1e8
"""Products for all rows together, about a second; rows that are explained all the same; and
what is too much for any report, ten seconds."""
EFFECT_ROWS = 150
"""Points in the drawing of an effect: enough to see its shape, few enough for a small page."""
STANDING_ROWS = 1500
"""Training rows up to which it is said how many would have to be wrong: products of matrices of
them are needed, which take seconds beyond."""
OTHER_WEIGHTS = 0.01
"""A relative gap above which the training data are not those of the fit: it had weights, say."""


def shares(
    anatomy: Anatomy,
    answers: Predicted,
    train: tuple[Objects, Targets],
    X_test: Objects,
    rows: tuple[IntArray, IntArray],
    columns: list[str],
    row_names: Sequence[Any] | None,
    effort: float = 1.0,
) -> Shares | None:
    """Return the shares of columns in the answers, None where the machine has no exact ones.

    ``rows`` are the test rows that are shown one by one, and those behind importance and effects;
    ``effort`` is the part of the usual work that there is time for.
    """
    if not anatomy.objects_are_seen:
        return None
    try:
        work = _work(anatomy.machine) * max(len(columns), _players(anatomy.machine))
        most = max(FEWEST_ROWS, int(effort * MOST_WORK / work))
        if most * work > effort * TOO_MUCH_WORK:
            return None
        shown, some = rows[0][:most], _thinned(rows[1], min(IMPORTANCE_ROWS, most))
        asked, places = np.unique(np.concatenate([shown, some]), return_inverse=True)
        found = explain(anatomy.model, take_objects(X_test, asked))
    except MercerError:
        return None
    single = replace(found, values=found.values[places[: len(shown)]])
    many = replace(found, values=found.values[places[len(shown) :]])
    several = many.values.ndim == 3
    if len(many.names) < 2 or single.names != many.names or (several and many.classes is None):
        return None
    size = many.importance.mean(axis=1) if several else many.importance
    order = np.argsort(-size, kind="stable")
    top, rest = order[:COLUMNS], order[COLUMNS:]
    seen = _Seen(X_test, columns, many.names)
    values, base = _for_answers(single, answers.winners[shown])
    towards, _ = _for_answers(many, answers.winners[some] if several else None)
    drawn = _thinned(np.arange(len(some)), EFFECT_ROWS)
    cells = table.cells(X_test, shown, len(columns))
    return Shares(
        columns=[seen.name(j) for j in top],
        importance=size[top],
        rest=float(size[rest].sum()),
        hidden=len(rest),
        counted=len(some),
        direction=_direction(anatomy, answers, several),
        effects=[
            effect
            for j in top[:EFFECTS]
            if (effect := seen.effect(j, some[drawn], towards[drawn])) is not None
        ],
        rows=table.row_names(X_test, row_names, shown),
        question=[_question(anatomy, answers, i) for i in shown],
        cells=[[_cell(seen.place(j), line) for j in top] for line in cells],
        values=values[:, top],
        others=values[:, rest].sum(axis=1),
        base=base,
        total=base + values.sum(axis=1),
        standing=_standing(anatomy, *train, take_objects(X_test, shown)),
    )


def _work(machine: Model) -> float:
    """Return how many products one row needs for each column."""
    if hasattr(machine, "voter_functions"):
        expansions = [voter.expansion for voter in machine.voter_functions()[0]]
    else:
        expansions = [AnswerFunctions.of(machine).expansion]
    return float(sum(max(1, len(e.points)) * _gaussians(e.kernel) for e in expansions))


def _players(machine: Model) -> int:
    """Return how many players the explanation of a vote has: a column may be several."""
    if not hasattr(machine, "voter_functions"):
        return 1
    return max(len(set(voter.owners)) for voter in machine.voter_functions()[0])


def _gaussians(kernel: Kernel) -> int:
    """Return how many Gaussians stand for a kernel that is no product over columns."""
    if not isinstance(kernel, Radial) or kernel.over_columns is not None:
        return 1
    mixture = kernel.mixture()
    return 1 if mixture is None else len(mixture[0])


def _thinned(rows: IntArray, most: int) -> IntArray:
    """Return some of the rows, evenly spread over them."""
    return rows[np.unique(np.linspace(0, len(rows) - 1, most).astype(np.intp))]


class _Seen:
    """The columns of a table as the explanation calls them."""

    def __init__(self, X: Objects, columns: list[str], names: list[str]) -> None:
        self.X, self.columns, self.names = X, columns, names
        self._same = len(columns) == len(names)

    def place(self, j: int) -> int | None:
        """Return the column of the table behind a player, None where there is not one."""
        name = text.clean(self.names[j], 48)
        if name in self.columns:
            return self.columns.index(name)
        return int(j) if self._same and name == f"x{j}" else None

    def name(self, j: int) -> str:
        """Return what a player is called."""
        place = self.place(j)
        return text.clean(self.names[j], 48) if place is None else self.columns[place]

    def effect(self, j: int, rows: IntArray, values: Array) -> Effect | None:
        """Return the shares of a player beside the values of its column."""
        place = self.place(j)
        if place is None:
            return None
        found = self._column(place, rows)
        name = self.columns[place]
        try:
            places = np.array([np.nan if v is None else float(v) for v in found])
        except (TypeError, ValueError):
            texts = [text.cell(value, 24) for value in found]
            categories = sorted(set(texts))
            if len(categories) > CATEGORIES:
                return None
            codes = np.array([categories.index(t) for t in texts], dtype=float)
            return Effect(name, categories, codes, values[:, j])
        known = np.isfinite(places)
        return Effect(name, [], places[known], values[known, j]) if known.any() else None

    def _column(self, place: int, rows: IntArray) -> list[Any]:
        part = take_objects(self.X, rows)
        if is_frame(part):
            frame = as_narwhals(part)
            return list(frame.get_column(frame.columns[place]).to_list())
        if hasattr(part, "toarray"):
            part = part.toarray()
        return [line[place] for line in part]


def _cell(place: int | None, line: list[str]) -> str:
    return line[place] if place is not None and place < len(line) else ""


def _for_answers(why: Explanation, winners: IntArray | None) -> tuple[Array, Array]:
    """Return values (rows × columns) and bases that speak for the answers that were given.

    Without winners those of two classes speak for the second one.
    """
    count = len(why.values)
    if why.values.ndim == 3:
        assert winners is not None
        at = np.arange(count)
        return why.values[at, :, winners], np.asarray(why.base)[winners]
    base = np.full(count, float(why.base))
    if winners is None:
        return why.values, base
    signs = np.where(winners == 0, -1.0, 1.0)
    return why.values * signs[:, None], base * signs


def _direction(anatomy: Anatomy, answers: Predicted, several: bool) -> str:
    if anatomy.classes is None:
        return "being inside" if anatomy.one_class else "a larger number"
    return "the class that is predicted" if several else answers.names[1]


def _question(anatomy: Anatomy, answers: Predicted, row: int) -> str:
    if anatomy.classes is None:
        return "being inside" if anatomy.one_class else "the predicted number"
    return answers.names[int(answers.winners[row])]


def _standing(anatomy: Anatomy, X: Objects, y: Targets, new: Objects) -> list[str]:
    """Return how many training rows would have to be wrong for another answer to each row."""
    silent = [""] * row_count(new)
    if (
        y is None
        or anatomy.rows > STANDING_ROWS
        or not hasattr(anatomy.machine, "harmless_changes")
    ):
        return silent
    try:
        if has_fit_parameter(anatomy.machine, "sample_weight"):
            judged = certify(anatomy.machine, anatomy.train, y)
            if not judged.relative_gap < OTHER_WEIGHTS:
                return silent
        found = wrong_rows(anatomy.model, X, y, new)
    except MercerError:
        return silent
    return [found.sentence(i) for i in range(len(found.counts))]
