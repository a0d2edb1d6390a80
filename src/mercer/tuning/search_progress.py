"""What a search tells while it runs: lines on request, and tasks for scikit-learn's callbacks."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from joblib.logger import short_format_time
from sklearn.callback import AutoPropagatedCallback

from mercer._sklearn import callback_context, callbacks_of, check_method_params, safe_indexing
from mercer._typing import IntArray, Model, Objects, Targets

_WIDTH = 80
"""Columns of a line, as scikit-learn's search prints them."""


class SearchProgress:
    """The course of one search, for those who asked to hear of it.

    Callbacks see the tasks that scikit-learn's own search has: the fit, in it the search with one
    evaluation for each candidate and fold, and the refit.

    Parameters
    ----------
    search : estimator
        It has ``verbose``, ``refit`` and perhaps callbacks.
    X, y : data
    params : dict
        What ``fit`` was given beside them.
    splits : sequence of pairs of arrays
        The rows of the folds.
    """

    def __init__(
        self,
        search: Model,
        X: Objects,
        y: Targets,
        params: Mapping[str, Any],
        splits: Sequence[tuple[IntArray, IntArray]],
    ) -> None:
        self.search, self.X, self.y, self.splits = search, X, y, splits
        self.weights = {k: v for k, v in params.items() if k == "sample_weight" and v is not None}
        self.callbacks = callbacks_of(search)
        self._fit = callback_context(search, tasks=1 + (search.refit is not False))
        self._search: Any = None
        self._begin(self._fit)

    @property
    def listened_to(self) -> bool:
        """Whether anybody wants to hear of each evaluation."""
        return bool(self.callbacks) or self.search.verbose > 1

    @property
    def follows_fits(self) -> bool:
        """Whether a callback goes on into the fits of candidates, which must be fits of their own.

        Fits on shared matrices have no rounds of their own to tell of.
        """
        return any(
            isinstance(one, AutoPropagatedCallback) and one.max_propagation_depth != 0
            for one in self.callbacks
        )

    @contextmanager
    def searching(self, candidates: int | None) -> Iterator[None]:
        """Tell of a search over so many candidates, None where nobody knows before."""
        self._search = self._fit.subcontext(
            task_name="search",
            max_subtasks=None if candidates is None else candidates * len(self.splits),
            sequential_subtasks=False,
        ).call_on_fit_task_begin(estimator=self.search)
        yield
        self._search.call_on_fit_task_end(estimator=self.search)

    def entered(self, candidates: int) -> None:
        """Tell that candidates are about to be fitted."""
        if self.search.verbose > 0:
            folds = len(self.splits)
            _show(
                f"Fitting {folds} folds for each of {candidates} candidates, totalling "
                f"{candidates * folds} fits"
            )

    def job(self, cell: int, fold: int) -> dict[str, Any]:
        """Return what scikit-learn's function for one fit needs to tell callbacks of it."""
        if not self.callbacks:
            return {}
        return {"caller": self.search, "callback_ctx": self._evaluation(cell, fold)}

    def evaluated(
        self, cell: int, fold: int, candidate: Mapping[str, Any], result: Mapping[str, Any]
    ) -> None:
        """Tell of a result that came from a shared matrix."""
        if self.callbacks:
            task = self._evaluation(cell, fold)
            self._begin(task, self.splits[fold][0])
            self._end(task, self.splits[fold][0])
        if self.search.verbose > 1:
            _show(self._line(fold, candidate, result))

    @contextmanager
    def refitting(self, estimator: Model) -> Iterator[None]:
        """Tell of the fit of the best candidate to all rows."""
        if not self.callbacks:
            yield
            return
        task = self._fit.subcontext(task_name="refit-with-best-params")
        with task.propagate_callback_context(estimator):
            self._begin(task)
            yield
        self._end(task)

    def ended(self) -> None:
        """Tell that all is done."""
        self._end(self._fit)

    def _evaluation(self, cell: int, fold: int) -> Any:
        number = cell * len(self.splits) + fold
        return self._search.subcontext(task_name="candidate-split-evaluation", task_id=number)

    def _begin(self, task: Any, rows: IntArray | None = None) -> None:
        task.call_on_fit_task_begin(estimator=self.search, **self._data(rows))

    def _end(self, task: Any, rows: IntArray | None = None) -> None:
        task.call_on_fit_task_end(estimator=self.search, **self._data(rows))

    def _data(self, rows: IntArray | None) -> dict[str, Any]:
        """Return the data of a task as functions: callbacks that do not ask cost no copies."""
        if rows is None:
            return {"X": self.X, "y": self.y, "metadata": self.weights or None}
        weights = self.weights
        return {
            "X": lambda: safe_indexing(self.X, rows),
            "y": lambda: None if self.y is None else safe_indexing(self.y, rows),
            "metadata": lambda: check_method_params(self.X, weights, rows) if weights else None,
        }

    def _line(self, fold: int, candidate: Mapping[str, Any], result: Mapping[str, Any]) -> str:
        """Return the line of one evaluation, with as many details as scikit-learn prints."""
        many = self.search.verbose > 2
        begin = f"[CV {fold + 1}/{len(self.splits)}] END " if many else "[CV] END "
        names = ", ".join(f"{name}={candidate[name]}" for name in sorted(candidate))
        end = names + (";" if names else "")
        if many:
            end += _scores(result["test_scores"], result.get("train_scores"))
        end += f" total time={short_format_time(result['fit_time'] + result['score_time'])}"
        return begin + "." * (_WIDTH - len(begin) - len(end)) + end


def _scores(test: Any, train: Any) -> str:
    """Return the scores of one evaluation in words; with several measures those of each."""
    if isinstance(test, dict):
        parts = []
        for name in sorted(test):
            before = "" if train is None else f"train={train[name]:.3f}, "
            parts.append(f" {name}: ({before}test={test[name]:.3f})")
        return "".join(parts)
    return (
        f", score={test:.3f}" if train is None else f", score=(train={train:.3f}, test={test:.3f})"
    )


def _show(line: str) -> None:
    sys.stdout.write(f"{line}\n")
