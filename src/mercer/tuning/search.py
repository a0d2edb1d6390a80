"""Grid search that knows kernel machines: a drop-in for scikit-learn's."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn import model_selection
from sklearn.base import clone, is_classifier
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, indexable

from mercer._plot.searches import draw_search
from mercer._sklearn import (
    Interval,
    StrOptions,
    check_method_params,
    fit_context,
    insert_error_scores,
    scorers_of,
    warn_or_raise_about_fit_failures,
)
from mercer._typing import Axes, Model, Objects, Parameter, Targets
from mercer.estimators.kernel_argument import caller_level
from mercer.exceptions import InvalidParameter
from mercer.tuning.race import Race, Scorer, highest_score
from mercer.tuning.scoring import Evaluation, Watch
from mercer.tuning.search_progress import SearchProgress


class GridSearchCV(model_selection.GridSearchCV):
    """Exhaustive search over a grid of parameters, with all that kernel machines can share.

    A drop-in for ``sklearn.model_selection.GridSearchCV``: same parameters, attributes and scores,
    for any estimator. For mercer's machines, alone or at the end of a pipeline, distances are
    computed once for all widths and a Gram matrix once for all values of C and all folds, each C
    starts from the last answer, and all cores work. With ``cv=LeaveOneOut()`` a candidate of
    ``SVC``, ``SVR`` or ``KernelRidge`` with a fixed kernel is fitted once: all its scores come from
    exact leave-one-out (:func:`leave_one_out`).

    Parameters
    ----------
    estimator : estimator
    param_grid : dict, list of dict or "auto"
        ``"auto"`` makes a logarithmic grid for the estimator, which grows where its best point
        lies on an edge.
    exhaustive : bool
        Compute every score, as scikit-learn does. With ``False`` cells that provably cannot win
        are dropped: the winner is the same, but the mean of a dropped cell is NaN.
    time_limit : float, optional
        Seconds after which the best cell so far wins, with a warning.
    n_jobs : int, optional
        Threads for shared fits, all cores by default; processes for other estimators.
    scoring, refit, cv, verbose, pre_dispatch, error_score, return_train_score
        As in scikit-learn. So are callbacks (``set_callbacks``). One that follows the fits of the
        candidates too, such as ``ProgressBar()``, needs each of them to be a fit of its own, which
        takes longer; ``ProgressBar(max_propagation_depth=0)`` does not.

    Attributes
    ----------
    cv_results_ : dict
        As in scikit-learn. Where cells may be missing (``exhaustive=False``, a ``time_limit``,
        Ctrl-C), also ``dropped`` (cells that could not win), ``bound`` (the mean score that a cell
        can have at most; its own where it is complete) and ``skipped`` (cells that the time did
        not suffice for). Cells without a complete score have the mean NaN.

    Examples
    --------
    >>> from mercer import SVC, GridSearchCV, load_data
    >>> heart = load_data("heart")
    >>> search = GridSearchCV(SVC(), {"C": [0.1, 1.0, 10.0], "gamma": [1e-5, 1e-4, 1e-3]}, cv=3)
    >>> search = search.fit(heart.X, heart.y)
    >>> len(search.cv_results_["params"]), search.best_estimator_.certificate_.optimal
    (9, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **model_selection.GridSearchCV._parameter_constraints,
        "param_grid": [dict, list, StrOptions({"auto"})],
        "exhaustive": ["boolean"],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    }
    _watch: Watch | None = None
    _evaluation: Callable[..., Evaluation] = Evaluation
    """Where scores come from: the cores of this machine, or others."""

    def __init__(
        self,
        estimator: Model,
        param_grid: Parameter = "auto",
        *,
        scoring: Parameter = None,
        n_jobs: int | None = None,
        refit: Parameter = True,
        cv: Parameter = None,
        verbose: int = 0,
        pre_dispatch: Parameter = "2*n_jobs",
        error_score: Parameter = np.nan,
        return_train_score: bool = False,
        exhaustive: bool = True,
        time_limit: float | None = None,
    ) -> None:
        super().__init__(
            estimator=estimator,
            param_grid=param_grid,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.exhaustive = exhaustive
        self.time_limit = time_limit

    @fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Objects, y: Targets = None, **params: Parameter) -> Self:
        """Evaluate all candidates on all folds, and fit the best one to all data.

        Parameters
        ----------
        X, y
            The data.
        **params
            ``groups`` for the splitter, ``sample_weight`` and others for the estimator's ``fit``;
            arrays with one entry for each row are cut into folds as the data are.
        """
        began = time.perf_counter()
        scorers, metric = self._get_scorers()
        X, y = indexable(X, y)
        params = check_method_params(X, params=params)
        routed = self._get_routed_params_for_fit(params)
        splitter = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        self.n_splits_ = splitter.get_n_splits(X, y, **routed.splitter.split)
        splits = list(splitter.split(X, y, **routed.splitter.split))
        if len(splits) != self.n_splits_:
            raise ValueError(
                "cv.split and cv.get_n_splits return inconsistent results. "
                f"Expected {self.n_splits_} splits, got {len(splits)}"
            )
        if not splits:
            raise ValueError("No fits were performed. Was the CV iterator empty?")
        progress = SearchProgress(self, X, y, params, splits)
        evaluation = self._evaluation(
            clone(self.estimator),
            X,
            y,
            splits,
            scorers,
            routed.estimator.fit,
            routed.scorer.score,
            Race(len(splits), self._highest(scorers, metric)),
            metric,
            options=self._options(),
            n_jobs=self.n_jobs,
            ends=math.inf if self.time_limit is None else began + self.time_limit,
            watch=self._watch,
            progress=progress,
        )
        known = None if isinstance(self.param_grid, str) else len(ParameterGrid(self.param_grid))
        with progress.searching(known):
            self._evaluate(evaluation)
        if evaluation.interrupted and not evaluation.complete:
            raise KeyboardInterrupt(f"{type(self).__name__}: there is no score yet to choose by.")
        results = self._tabulate(evaluation)
        self._choose(results, scorers, metric)
        if self.refit:
            self._refit(evaluation, progress)
        several = scorers_of(scorers)
        self.scorer_ = scorers if several is None else several
        self.cv_results_ = results
        progress.ended()
        return self

    def plot(self, X: Objects = None, y: Targets = None, ax: Axes = None) -> Any:
        """Draw the mean scores: a curve for one parameter of the grid, a grid for two.

        Of more parameters the two with most values are drawn, each cell with the best score over
        the others. The winner is marked.

        Parameters
        ----------
        X, y
            Ignored; all scores are those of the search.
        ax : matplotlib axes, optional
            Where to draw; new axes by default.
        """
        del X, y
        check_is_fitted(self, "cv_results_")
        metric = self.refit if self.multimetric_ and isinstance(self.refit, str) else "score"
        if f"mean_test_{metric}" not in self.cv_results_:
            raise InvalidParameter(
                f"{type(self).__name__}.plot: there are several scores. Say by refit= which one "
                "decides."
            )
        return draw_search(
            self.cv_results_["params"],
            self.cv_results_[f"mean_test_{metric}"],
            self.cv_results_[f"std_test_{metric}"],
            ax,
        )

    @contextmanager
    def using(
        self, watch: Watch | None = None, evaluation: Callable[..., Evaluation] = Evaluation
    ) -> Iterator[None]:
        """Let someone watch the fits inside, or compute their scores elsewhere."""
        self._watch, self._evaluation = watch, evaluation
        try:
            yield
        finally:
            del self._watch, self._evaluation

    def _options(self) -> dict[str, Any]:
        names = ("return_train_score", "error_score", "verbose", "pre_dispatch")
        return {name: getattr(self, name) for name in names}

    def _highest(self, scorers: Scorer, metric: str | None) -> float:
        """Return the highest score there is in what decides; infinity where that is not known."""
        if self.exhaustive or callable(self.refit):
            return math.inf
        several = scorers_of(scorers)
        scorer = scorers if several is None else several.get(str(metric))
        return highest_score(scorer, get_tags(self.estimator).estimator_type)

    def _evaluate(self, evaluation: Evaluation) -> None:
        if not isinstance(self.param_grid, str):
            evaluation.add(list(ParameterGrid(self.param_grid)))
            return
        axes = evaluation.axes()
        evaluation.add(axes.cells())
        while not evaluation.stopped:
            more = axes.extended(evaluation.candidates, evaluation.race.scores.mean(axis=1))
            if not more:
                break
            evaluation.add(more)

    def _tabulate(self, evaluation: Evaluation) -> dict[str, Any]:
        """Make ``cv_results_``."""
        complete = [None not in row for row in evaluation.results]
        done = [r for row in evaluation.results for r in row if r is not None]
        if not done:
            raise InvalidParameter(
                f"{type(self).__name__}: the search {evaluation.stopped or 'had no candidates'} "
                "before the first score was known. Raise time_limit, or give a grid with points."
            )
        warn_or_raise_about_fit_failures(done, self.error_score)
        if callable(self.scoring):
            insert_error_scores(done, self.error_score)
        filler = _without_scores(done[0])
        out = [filler if r is None else r for row in evaluation.results for r in row]
        self.multimetric_ = isinstance(done[0]["test_scores"], dict)
        race, cells = evaluation.race, range(len(complete))
        dropped = np.array([not complete[c] and not race.can_win(c) for c in cells])
        skipped = ~np.array(complete) & ~dropped
        results: dict[str, Any]
        with warnings.catch_warnings():
            if not all(complete):
                warnings.filterwarnings("ignore", "One or more of the t.* scores are non-finite")
            results = self._format_results(evaluation.candidates, self.n_splits_, out)
        if skipped.any():
            self._warn_stopped(evaluation.stopped, complete)
        if not self.exhaustive or self.time_limit is not None or not all(complete):
            results["dropped"] = dropped
            results["bound"] = np.array([race.bound(c) for c in cells])
            results["skipped"] = skipped
        return results

    def _warn_stopped(self, why: str, complete: Sequence[bool]) -> None:
        warnings.warn(
            f"{type(self).__name__} {why or 'stopped'}: {sum(complete)} of {len(complete)} "
            "candidates were evaluated, and the best of these is taken. Give it more time, or a "
            "smaller grid.",
            UserWarning,
            stacklevel=caller_level(),
        )

    def _choose(self, results: dict[str, Any], scorers: Scorer, metric: str | None) -> None:
        if callable(self.scoring) and self.multimetric_:
            first = {name[10:]: 0 for name in results if name.startswith("mean_test_")}
            self._check_refit_for_multimetric(first)
            metric = self.refit
        if not (self.refit or not self.multimetric_):
            return
        # A function chooses by the whole table: with several measures no single one decides.
        means = results.get(f"mean_test_{metric}")
        missing = "skipped" in results and results["skipped"].any()
        if missing and means is not None and np.isnan(means).all():
            raise InvalidParameter(
                f"{type(self).__name__}: no candidate was evaluated on all folds before the search "
                "stopped. Raise time_limit, or give a smaller grid."
            )
        self.best_index_ = self._select_best_index(self.refit, metric, results)
        if not callable(self.refit):
            self.best_score_ = results[f"mean_test_{metric}"][self.best_index_]
        self.best_params_ = results["params"][self.best_index_]

    def _refit(self, evaluation: Evaluation, progress: SearchProgress) -> None:
        # Parameters may be estimators or kernels, which the fit must not change.
        chosen = clone(self.best_params_, safe=False)
        best = clone(clone(self.estimator).set_params(**chosen))
        with progress.refitting(best):
            began = time.perf_counter()
            self.best_estimator_ = evaluation.fitted(best)
            self.refit_time_ = time.perf_counter() - began
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_


def _without_scores(pattern: dict[str, Any]) -> dict[str, Any]:
    """Return a result like another one, with NaN for its numbers."""
    blank: dict[str, Any] = {}
    for key, value in pattern.items():
        if isinstance(value, dict):
            blank[key] = dict.fromkeys(value, np.nan)
        else:
            blank[key] = None if key == "fit_error" else np.nan
    return blank
