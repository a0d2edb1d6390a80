"""How sure an answer to a new row is: intervals and sets of classes with a promise.

The rows of the test are rows that the model never saw, as new ones are. How unlikely the truth was
to the model there says how far it may be from an answer: split conformal prediction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._typing import Array, BoolArray, Labels, Model, Objects, Targets
from mercer.estimators.conformal.class_scores import class_scores, likelihoods, of_each_class
from mercer.estimators.conformal.order_statistics import needed_rows, threshold
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.report.paired import Said
from mercer.report.record import Fact, Record
from mercer.report.text import number, percent

LEVEL = 0.9
"""How often the truth has to be inside where nobody says otherwise, as in ``Conformal``."""
SURE = "How sure"
"""The name of the promise among the facts of a report."""
BETWEEN = " | "
"""What stands between the classes of a set."""


def answers_to(model: Model, X: Objects) -> Said:
    """Return what a model says of rows that it never saw, with how likely it finds each class."""
    if getattr(model, "classes_", None) is None:
        return Said(np.asarray(model.predict(X), dtype=float))
    likely = likelihoods(model, X)
    return Said(likely.argmax(axis=1), None, likely)


def scores_of(said: Said, y: Targets, classes: Labels | None) -> Array:
    """Return how unlikely the truth was to a model at rows that it never saw, in order.

    Of numbers that is ∣y − f(x)∣, of classes one minus the probability of the true one.
    """
    if classes is None:
        return np.sort(np.abs(np.asarray(y, dtype=float) - said.predicted.ravel()))
    scores = class_scores(_likely(said))
    places = {label: j for j, label in enumerate(np.asarray(classes).tolist())}
    codes = np.array([places.get(label, -1) for label in np.asarray(y).tolist()], dtype=np.intp)
    own = scores[np.arange(len(codes)), codes]
    return np.sort(np.where(codes < 0, np.inf, own))  # a class that it never saw is never likely


def reach(scores: Array, level: float | None, source: str) -> float | None:
    """Return the score that new rows do not exceed with this level.

    Without a level that is ``LEVEL``, and None where the rows are too few for it.
    """
    wanted = LEVEL if level is None else level
    if not 0 < wanted < 1:
        raise InvalidParameter(f"level={wanted!r} has to be a share between 0 and 1, such as 0.9.")
    if len(scores) >= needed_rows(wanted):
        return threshold(scores, wanted)
    if level is None:
        return None
    if not len(scores):
        raise InvalidInput(
            f"The model of {source} keeps no errors on test rows, so that no level can be "
            "promised. Fit it again."
        )
    raise InvalidInput(
        f"The model of {source} was judged on {len(scores):,} test rows, which cannot promise a "
        f"level of {wanted:g}: that takes at least {needed_rows(wanted):,}. Choose a level of at "
        f"most {np.floor(1000 * len(scores) / (len(scores) + 1)) / 1000:g}, or fit it again with "
        "a larger --test-share."
    )


def promised(reach: float, predictions: Sequence[Any], likely: Array | None, labels: Labels) -> Any:
    """Return columns: the ends of intervals, or the classes that are in the set of each row."""
    if likely is None:
        centre = np.asarray(predictions, dtype=float)
        return {"low": (centre - reach).tolist(), "high": (centre + reach).tolist()}
    inside = _sets(of_each_class(likely), reach)
    names = [str(label) for label in labels]
    return {"set": [BETWEEN.join(names[j] for j in np.flatnonzero(row)) for row in inside]}


def in_words(said: Said, scores: Array) -> str:
    """Say how sure answers to new rows are; nothing where the rows are too few for a promise."""
    found = reach(scores, None, "")
    if found is None:
        return ""
    often = f"with {percent(LEVEL, 0)} certainty"
    if said.probabilities is None and said.decisions is None:
        return f"{often} the true number is within {number(found)} of the prediction"
    sizes = _sets(_likely(said), found).sum(axis=1)
    single = percent(float((sizes == 1).mean()))
    return f"{often} the true class is in a set, of one class alone for {single} of the rows"


def _sets(likely: Array, reach: float) -> BoolArray:
    """Return which classes are in the set of each row, the most probable one always.

    A model that is right more often than the level says would have rows without any class, which
    tells nobody anything; one class more can only hold the truth more often.
    """
    inside = class_scores(likely) <= reach
    inside[np.arange(len(likely)), likely.argmax(axis=1)] = True
    return np.asarray(inside)


def _likely(said: Said) -> Array:
    """Return how likely each class was found: probabilities, or decision values."""
    if said.probabilities is not None:
        return said.probabilities
    assert said.decisions is not None
    return of_each_class(said.decisions)


def with_promise(record: Record, words: str) -> Record:
    """Return the record with the promise among its facts."""
    return replace(record, facts=[*record.facts, Fact(SURE, words)]) if words else record
