"""Scores of candidates on folds: on shared matrices where a machine can, else one fit at a time."""

from __future__ import annotations

import math
import numbers
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
from joblib import hash as fingerprint
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed

from mercer._interrupts import interruptible
from mercer._sklearn import (
    BaseScorer,
    PassthroughScorer,
    check_method_params,
    fit_and_score,
    num_samples,
    safe_indexing,
    score_fitted,
    scorers_of,
)
from mercer._typing import IntArray, Model, Objects, Targets
from mercer.estimators.base import KernelMachine
from mercer.tuning.grids import Axes
from mercer.tuning.known_answers import KnownAnswers
from mercer.tuning.left_out_rows import leaves_one_out, left_out_fits
from mercer.tuning.pipeline_steps import taken_apart, transformed_rows
from mercer.tuning.race import Race, Scorer
from mercer.tuning.search_progress import SearchProgress
from mercer.tuning.shared_fits import Fitted, Fold, SharedFits, fits_memory

Result = dict[str, Any]
Watch = Callable[[int, int, float], None]
_INTERRUPTED = "was interrupted"


@dataclass(frozen=True, eq=False)
class Parts:
    """A candidate in two: the steps before its machine (None if there are none), and the machine.

    ``key`` is the same where the steps before are.
    """

    key: str
    before: Any
    machine: KernelMachine


class Stopped(Exception):
    """The time limit was reached, or someone pressed Ctrl-C."""


class Evaluation:
    """The results of all candidates of a search, on the same folds.

    ``results[candidate][fold]`` is a dictionary as scikit-learn's own search makes it, or None
    where a fit was not needed or not reached.
    """

    def __init__(
        self,
        estimator: Model,
        X: Objects,
        y: Targets,
        splits: Sequence[tuple[IntArray, IntArray]],
        scorers: Scorer,
        fit_params: dict[str, Any],
        score_params: dict[str, Any],
        race: Race,
        metric: str | None,
        *,
        options: dict[str, Any],
        n_jobs: int | None,
        ends: float,
        watch: Watch | None,
        progress: SearchProgress | None = None,
    ) -> None:
        self.estimator, self.X, self.y, self.splits = estimator, X, y, splits
        self.scorers, self.fit_params, self.score_params = scorers, fit_params, score_params
        self.race, self.metric, self.progress = race, metric, progress
        self.options, self.n_jobs, self.ends, self.watch = options, n_jobs, ends, watch
        self.candidates: list[dict[str, Any]] = []
        self.results: list[list[Result | None]] = []
        self.stopped = ""
        self.early_stops: set[str] = set()
        self._before, self._machine, self._prefix = taken_apart(estimator)
        own = self._machine.get_params(deep=False) if is_kernel_machine(self._machine) else ()
        self._own_parameters = {self._prefix + name for name in own}
        self._untold: list[tuple[int, int]] = []
        self._asked: dict[tuple[int, bool], tuple[Any, Any, Any]] = {}
        self._seen: dict[int, Any] = {}

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the search."""
        return self.stopped == _INTERRUPTED

    @property
    def complete(self) -> int:
        """How many candidates have a result on every fold."""
        return sum(all(result is not None for result in row) for row in self.results)

    def add(self, candidates: Sequence[dict[str, Any]]) -> None:
        """Evaluate more candidates; after a stop nothing is evaluated any more."""
        first = len(self.candidates)
        self.candidates += candidates
        self.results += [[None] * len(self.splits) for _ in candidates]
        self.race.enter(len(candidates))
        if self.stopped:
            return
        new = range(first, len(self.candidates))
        if self.progress is not None:
            self.progress.entered(len(candidates))
        try:
            rest = self._share(self._leave_out(new))
            self._alone(rest)
        except KeyboardInterrupt:
            self.stopped = _INTERRUPTED
        except Stopped:
            self.stopped = "reached its time limit"
        self.race.settle()
        self._tell()
        self._warn_early_stops()

    def axes(self) -> Axes:
        """Return the automatic grid for these data."""
        return Axes.of(self.estimator, self.X)

    def fitted(self, estimator: Model) -> Any:
        """Fit an estimator to all rows, and return it."""
        wanted = (self.X,) if self.y is None else (self.X, self.y)
        estimator.fit(*wanted, **self.fit_params)
        return estimator

    def _warn_early_stops(self) -> None:
        for text in sorted(self.early_stops):
            warnings.warn(text, ConvergenceWarning, stacklevel=5)
        self.early_stops.clear()

    # ---- one row left out --------------------------------------------------------------------

    def _leave_out(self, cells: Sequence[int]) -> list[int]:
        """Score by exact leave-one-out where folds are single rows; return who needs its fits."""
        single = leaves_one_out(self.splits, num_samples(self.X))
        if not single or self.fit_params or self.options["return_train_score"] or self.y is None:
            return list(cells)
        if not self._answers_suffice:
            return list(cells)
        rest = []
        for cell in cells:
            parts, found = self._parts(cell), None
            if parts is not None and parts.before is None:
                found = left_out_fits(
                    parts.machine, self.X, self.y, self.splits, cell, _threads(self.n_jobs)
                )
            if found is None:
                rest.append(cell)
                continue
            for fitted in found:
                self._score([fitted])
            self._between()
        return rest

    # ---- on shared matrices ------------------------------------------------------------------

    def _share(self, cells: Sequence[int]) -> list[tuple[int, int]]:
        """Do all fits that can share matrices; return those that cannot."""
        groups: dict[str, dict[int, KernelMachine]] = defaultdict(dict)
        steps: dict[str, Any] = {}
        alone: list[int] = []
        shareable = self._answers_suffice
        for cell in cells:
            parts = self._parts(cell) if shareable else None
            if parts is None:
                alone.append(cell)
            else:
                steps.setdefault(parts.key, parts.before)
                groups[parts.key][cell] = parts.machine
        failed: list[tuple[int, int]] = []
        for key, machines in groups.items():
            folds = self._folds(steps[key])
            if folds is None:
                alone += machines
            else:
                failed += self._share_group(machines, folds)
        return failed + [(cell, k) for cell in alone for k in range(len(self.splits))]

    @property
    def _answers_suffice(self) -> bool:
        """Whether nobody looks at the fits themselves, and the matrices fit into the memory."""
        if self.progress is not None and self.progress.follows_fits:
            return False
        return _known_scorer(self.scorers) and fits_memory(num_samples(self.X))

    def _parts(self, cell: int) -> Parts | None:
        """Return the parts of a candidate that is fitted by a plan; None of any other."""
        given = self.candidates[cell]
        before, machine, prefix = self._before, self._machine, self._prefix
        key = ""
        if is_kernel_machine(machine) and given.keys() <= self._own_parameters:
            own = {name.removeprefix(prefix): value for name, value in given.items()}
            machine = machine.with_parameters(**own)
        else:
            try:
                made = clone(self.estimator).set_params(**clone(given, safe=False))
            except Exception:  # raised again when it is fitted alone
                return None
            before, machine, prefix = taken_apart(made)
            others = {k: v for k, v in given.items() if not k.startswith(prefix)}
            key = str(fingerprint(others)) if before is not None and others else ""
        if not is_kernel_machine(machine) or not machine.fits_by_plan:
            return None
        # Rows of a precomputed kernel are no rows of data, which steps could change.
        if prefix and machine.kernel_argument.precomputed:
            return None
        if self.fit_params.keys() - {f"{prefix}sample_weight"}:
            return None
        return Parts(key, before, machine)

    def _share_group(
        self, machines: dict[int, KernelMachine], folds: Sequence[Fold]
    ) -> list[tuple[int, int]]:
        fits = SharedFits(
            machines,
            folds,
            self._score,
            self.race,
            train_too=self.options["return_train_score"],
            threads=_threads(self.n_jobs),
            deadline=self._deadline,
            between=self._between,
            stepwise=self._watched or math.isfinite(self.ends),
        )
        fits.run()
        return fits.failed

    @property
    def _watched(self) -> bool:
        """Whether anybody follows the course of the search."""
        told = self.progress is not None and self.progress.listened_to
        return told or self.watch is not None

    def _tell(self) -> None:
        """Tell of results that are new, in one thread: callbacks need not expect several."""
        new, self._untold = self._untold, []
        if self.progress is None or not self.progress.listened_to:
            return
        for cell, fold in sorted(new):
            result = self.results[cell][fold]
            assert result is not None
            self.progress.evaluated(cell, fold, self.candidates[cell], result)

    def _between(self) -> None:
        """Look up between two rounds of fits: the race, the clock, and whoever watches."""
        self.race.settle()
        self._tell()
        if self.watch is not None:
            settled = sum(
                all(r is not None for r in row) or not self.race.can_win(cell)
                for cell, row in enumerate(self.results)
            )
            self.watch(settled, len(self.results), self.race.best)
        if time.perf_counter() > self._deadline():
            raise Stopped

    def _deadline(self) -> float:
        """Return when to stop: never before there is something to return."""
        return self.ends if self.race.best > -math.inf else math.inf

    def _folds(self, before: Model) -> list[Fold] | None:
        """Return the folds, transformed by the steps before the machine; None if that fails."""
        folds = []
        for train, test in self.splits:
            y = None if self.y is None else safe_indexing(self.y, train)
            weights = [
                check_method_params(self.X, {"sample_weight": w}, indices=train)["sample_weight"]
                for w in self.fit_params.values()
            ]
            weight = weights[0] if weights else None
            if before is None:
                folds.append(Fold.of(self.X, y, weight, np.asarray(train), np.asarray(test)))
                continue
            joined = transformed_rows(before, self.X, self.y, train, test)
            if joined is None:
                return None
            rows = np.arange(len(train) + len(test))
            folds.append(Fold.of(joined, y, weight, rows[: len(train)], rows[len(train) :]))
        return folds

    def _score(self, fits: Sequence[Fitted]) -> None:
        """Score fits to one fold."""
        began = time.perf_counter()
        fold = fits[0].fold
        scores = self._ask([fitted.on_test for fitted in fits], fold)
        seconds = (time.perf_counter() - began) / len(fits)
        trained = [fitted.on_train for fitted in fits if fitted.on_train is not None]
        on_train = self._ask(trained, fold, train=True) if trained else []
        for j, fitted in enumerate(fits):
            result: Result = {
                "fit_error": None,
                "fit_time": fitted.seconds,
                "n_test_samples": len(self.splits[fold][1]),
                "test_scores": scores[j],
                "score_time": seconds,
            }
            if on_train:
                result["train_scores"] = on_train[j]
            if fitted.status == "time_limit":
                continue
            if fitted.status != "optimal":
                self.early_stops.add(
                    f"Some fits of the search stopped early ({fitted.status}): scale the data, "
                    "lower C, or loosen tol."
                )
            self._keep(fitted.cell, fold, result)

    def _ask(
        self, machines: Sequence[KnownAnswers[Any]], fold: int, train: bool = False
    ) -> list[Any]:
        """Return the scores of machines that know their answers on a part of a fold."""
        known = self._asked.get((fold, train))
        if known is None:
            rows = self.splits[fold][0 if train else 1]
            y = None if self.y is None else safe_indexing(self.y, rows)
            params = check_method_params(self.X, self.score_params, indices=rows)
            known = self._asked[fold, train] = np.empty((len(rows), 0)), y, params
        X, y, params = known
        at_once = None
        if isinstance(self.scorers, PassthroughScorer) and not params:
            at_once = machines[0].scores(machines, y)
        if at_once is not None:
            return at_once
        rest = (self.scorers, params, self.options["error_score"])
        return [score_fitted(machine, X, y, *rest) for machine in machines]

    def _keep(self, cell: int, fold: int, result: Result, told: bool = False) -> None:
        """Note a result; ``told`` says that those who listen know of it."""
        self.results[cell][fold] = result
        if not told:
            self._untold.append((cell, fold))
        scores = result["test_scores"]
        value = scores.get(self.metric) if isinstance(scores, dict) else scores
        if isinstance(value, numbers.Real):
            self.race.record(cell, fold, float(value))

    # ---- one fit at a time -------------------------------------------------------------------

    def _alone(self, fits: list[tuple[int, int]]) -> None:
        """Fit and score as scikit-learn's search does, candidate by candidate if time is short."""
        if not fits:
            return
        fits = sorted(fits)
        careful = self.watch is not None or math.isfinite(self.ends)
        size = len(self.splits) if careful else max(1, len(fits))
        with Parallel(n_jobs=self.n_jobs, pre_dispatch=self.options["pre_dispatch"]) as parallel:
            for s in range(0, len(fits), size):
                part = fits[s : s + size]
                out = parallel(delayed(_fit_and_score)(**self._job(c, k)) for c, k in part)
                for (cell, fold), result in zip(part, out, strict=True):
                    self._keep(cell, fold, result, told=True)
                self._between()

    def _job(self, cell: int, fold: int) -> dict[str, Any]:
        train, test = self.splits[fold]
        told = {} if self.progress is None else self.progress.job(cell, fold)
        job = {
            **told,
            "estimator": clone(self.estimator),
            "X": self.X,
            "y": self.y,
            "train": train,
            "test": test,
            "parameters": self.candidates[cell],
            "scorer": self.scorers,
            "fit_params": self.fit_params,
            "score_params": self.score_params,
            "return_train_score": self.options["return_train_score"],
            "return_n_test_samples": True,
            "return_times": True,
            "return_parameters": False,
            "error_score": self.options["error_score"],
            "verbose": self.options["verbose"],
            "split_progress": (fold, len(self.splits)),
            "candidate_progress": (cell, len(self.candidates)),
        }
        return job | self._after_steps(cell, fold)

    def _after_steps(self, cell: int, fold: int) -> dict[str, Any]:
        """Return what differs in a job for the machine alone, whose steps are done once a fold."""
        given, prefix = self.candidates[cell], self._prefix
        alike = self._before is not None and all(name.startswith(prefix) for name in given)
        if not alike or self.fit_params or self.score_params or not self._answers_suffice:
            return {}
        train, test = self.splits[fold]
        if fold not in self._seen:
            self._seen[fold] = transformed_rows(self._before, self.X, self.y, train, test)
        if self._seen[fold] is None:
            return {}
        rows = np.concatenate([train, test])
        return {
            "estimator": clone(self._machine),
            "X": self._seen[fold],
            "y": None if self.y is None else safe_indexing(self.y, rows),
            "train": np.arange(len(train)),
            "test": np.arange(len(train), len(rows)),
            "parameters": {name.removeprefix(prefix): value for name, value in given.items()},
        }


def _fit_and_score(**job: Any) -> Result:
    """Fit and score; after Ctrl-C machines end with what they have, and no search would."""
    with interruptible():
        result: Result = fit_and_score(**job)
        return result


def _known_scorer(scorers: Scorer) -> bool:
    """Whether scorers look at nothing but the answers of an estimator."""
    several = scorers_of(scorers)
    if several is not None:
        return all(map(_known_scorer, several.values()))
    return isinstance(scorers, BaseScorer | PassthroughScorer)


def is_kernel_machine(estimator: object) -> TypeGuard[KernelMachine]:
    """Tell our kernel machines from all other estimators that a search may be given."""
    return isinstance(estimator, KernelMachine)


def _threads(n_jobs: int | None) -> int | None:
    return n_jobs if n_jobs is not None and n_jobs > 0 else None
