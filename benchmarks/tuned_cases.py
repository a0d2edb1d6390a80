"""What the jobs on tuned machines share: the grid, the contenders, the comparison."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from benchmarks.in_process import InProcess
from benchmarks.job import OURS, Disagreement
from benchmarks.svm_cases import CACHE_MB, classification, machine

GRID = {"C": 2.0 ** np.linspace(-5, 15, 8), "gamma": 2.0 ** np.linspace(-15, 3, 8)}
FOLDS = 5


def search_case(label: str, rows: int, scale: float, exhaustive: bool) -> InProcess:
    """Build the case "tune an RBF machine by grid search", with the same grid and folds for all."""

    def factory(library: str) -> Any:
        from sklearn.model_selection import GridSearchCV, StratifiedKFold

        X, y = classification(rows, 20)
        estimator = machine(library, "SVC")(cache_size=CACHE_MB)
        options: dict[str, Any] = {"cv": StratifiedKFold(FOLDS), "n_jobs": 2}
        kind: Any = GridSearchCV
        if library == OURS:
            import mercer

            kind, options["exhaustive"] = mercer.GridSearchCV, exhaustive
        return lambda: kind(estimator, GRID, **options).fit(X, y)

    return InProcess(
        label=label,
        contenders={
            library: partial(factory, library) for library in (OURS, "scikit-learn", "intelex")
        },
        check=_same_winner,
        scale=scale,
    )


def _same_winner(searches: Mapping[str, Any]) -> str:
    """Compare the winners, and all scores where all were computed."""
    ours = searches[OURS]
    known = ~np.isnan(ours.cv_results_["mean_test_score"])
    worst = 0.0
    for name, other in searches.items():
        theirs = other.cv_results_["mean_test_score"]
        difference = np.abs(theirs - ours.cv_results_["mean_test_score"])[known]
        worst = max(worst, float(difference.max()))
        if other.best_params_ != ours.best_params_:
            raise Disagreement(
                f"{name} chose {other.best_params_} ({other.best_score_:.5f}), "
                f"we {ours.best_params_} ({ours.best_score_:.5f})"
            )
    return (
        f"Same winner, score {ours.best_score_:.4f}; {known.sum()} of {known.size} cells computed, "
        f"largest difference of mean scores {worst:.1e}."
    )
