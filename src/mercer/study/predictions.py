"""Answers of a model to new rows, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._typing import Array, Column, Frame, Labels, Model, Objects
from mercer.estimators.base import take_objects
from mercer.exceptions import InvalidInput, MissingDependency
from mercer.explanations.explanation import Explanation
from mercer.explanations.within import Within
from mercer.kernels.encoders import row_count
from mercer.study.nonconformity import promised

_BLOCK = 50_000
"""Rows that are answered at a time, so that memory stays bounded."""


@dataclass(frozen=True, eq=False)
class PredictionTable:
    """Named columns of equal length: what rows are called, the prediction, and how sure it is."""

    columns: dict[str, list[Any]]

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield each row as a dictionary."""
        for values in zip(*self.columns.values(), strict=True):
            yield dict(zip(self.columns, values, strict=True))

    def beside(self, frame: Frame) -> PredictionTable:
        """Return the answers after the columns of a pyarrow table; those of the same name go."""
        if not hasattr(frame, "column_names"):
            raise InvalidInput(
                "The columns of a sparse table cannot stand beside the answers. Leave that away."
            )
        given = {name: frame[name].to_pylist() for name in frame.column_names}
        own = {name: values for name, values in self.columns.items() if name != "row"}
        kept = {name: values for name, values in given.items() if name not in own}
        return PredictionTable({**kept, **own})

    def to_pandas(self) -> Any:
        """Return the table as a frame of pandas."""
        try:
            import pandas
        except ImportError:
            raise MissingDependency(
                "to_pandas needs the package pandas, which is not installed. Install it with "
                "pip install pandas, or take the columns as they are."
            ) from None
        return pandas.DataFrame(self.columns)


def with_columns(answers: PredictionTable, **columns: list[Any]) -> PredictionTable:
    """Return answers with more columns at their end."""
    named = {_free(name, answers.columns): values for name, values in columns.items()}
    return PredictionTable({**answers.columns, **named})


def answers_of(
    model: Model,
    X: Objects,
    table: Frame,
    identifiers: tuple[str, ...],
    reach: float | None = None,
) -> PredictionTable:
    """Ask a model for its answers, and how sure it is where it can say so.

    With ``reach``, the score that the truth does not exceed at a level, intervals or sets follow.
    """
    n = row_count(X)
    blocks = [take_objects(X, np.arange(s, min(s + _BLOCK, n))) for s in range(0, n, _BLOCK)]
    columns = _named(table, identifiers, n)
    columns["prediction"] = np.concatenate([model.predict(part) for part in blocks]).tolist()
    labels = getattr(model, "classes_", None)
    what, likely = _certainty(model, blocks)
    sure = {} if likely is None else _by_class(what, likely, labels)
    if reach is not None:
        sure.update(promised(reach, columns["prediction"], likely, labels))
    for name, values in sure.items():
        columns[_free(name, columns)] = values
    return PredictionTable(columns)


def shares_of(answers: PredictionTable, why: Explanation) -> PredictionTable:
    """Put beside each answer where it starts, and what each column gives to it.

    Of more than two classes, the shares are those in the function of the class that is predicted.
    """
    values, base = why.values, np.broadcast_to(why.base, np.shape(why.answers))
    if why.classes is not None:
        places = {label: j for j, label in enumerate(why.classes)}
        chosen = np.array([places[label] for label in answers.columns["prediction"]])
        rows = np.arange(len(chosen))
        values, base = values[rows, :, chosen], base[rows, chosen]
    kept = {n: v for n, v in answers.columns.items() if not n.startswith(("probability_", "dec"))}
    shares = {f"share_{name}": values[:, j].tolist() for j, name in enumerate(why.names)}
    return PredictionTable({**kept, "base": base.tolist(), **shares})


def places_of(answers: PredictionTable, found: Sequence[Within]) -> PredictionTable:
    """Return a row for each letter or node of the objects: where it stands, and what it gives.

    Of more than two classes, the shares are those in the function of the class that is predicted.
    """
    named = next(iter(answers.columns))
    columns: dict[str, list[Any]] = {
        name: [] for name in (named, "prediction", "base", "column", "place", "what", "share")
    }
    for i, within in enumerate(found):
        answer = answers.columns["prediction"][i]
        why = within if within.classes is None else within.of_class(answer)
        labels = why.labels if why.labels is not None else list(_letters(why))
        for place, (label, share) in enumerate(zip(labels, why.values.tolist(), strict=True)):
            line = (answers.columns[named][i], answer, float(why.base), why.column, place + 1,
                    label, share)  # fmt: skip
            for name, value in zip(columns, line, strict=True):
                columns[name].append(value)
    return PredictionTable(columns)


def _letters(why: Within) -> Sequence[str]:
    return why.item if isinstance(why.item, str) else [""] * len(why.values)


def _named(table: Frame, identifiers: tuple[str, ...], n: int) -> dict[str, list[Any]]:
    frame: Frame = getattr(table, "frame", table)
    there = getattr(frame, "column_names", None) or list(getattr(frame, "columns", ()))
    kept = [name for name in identifiers if name in there and name != "prediction"]
    if not kept:
        return {"row": list(range(1, n + 1))}
    return {name: _values(frame[name]) for name in kept}


def _values(column: Column) -> list[Any]:
    convert = getattr(column, "to_pylist", None) or column.to_list
    values: list[Any] = convert()
    return values


def _certainty(model: Model, blocks: list[Any]) -> tuple[str, Array | None]:
    """Return probabilities, or decision values; numbers have neither."""
    if not hasattr(model, "classes_"):
        return "", None
    if hasattr(model, "predict_proba"):
        return "probability", np.concatenate([model.predict_proba(part) for part in blocks])
    return "decision", np.concatenate([model.decision_function(part) for part in blocks])


def _by_class(what: str, table: Array, labels: Labels) -> dict[str, list[Any]]:
    if table.ndim == 1:
        return {f"{what}_{labels[1]}": table.tolist()}
    return {f"{what}_{label}": table[:, j].tolist() for j, label in enumerate(labels)}


def _free(name: str, taken: dict[str, Any]) -> str:
    while name in taken:
        name += "_"
    return name
