"""What the jobs on subspaces share: data, contenders, and the comparison of their answers."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from benchmarks.in_process import InProcess
from benchmarks.job import OURS, Disagreement


@cache
def cloud(rows: int, columns: int) -> np.ndarray:
    """Normal numbers whose columns have deviations from 1 to 3."""
    random = np.random.default_rng(0)
    return random.normal(size=(rows, columns)) * np.linspace(1, 3, columns)


@cache
def labelled(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Four classes of normal numbers with different means."""
    random = np.random.default_rng(1)
    y = random.integers(0, 4, rows)
    return random.normal(size=(rows, columns)) + 0.1 * random.normal(size=(4, columns))[y], y


def fit_case(
    label: str,
    ours: Any,
    theirs: Any,
    peer: str,
    data: Any,
    answer: Callable[[Any], np.ndarray],
    scale: float,
    growth_limit: int | None = None,
) -> InProcess:
    """Build the case "fit this estimator", judged by numbers that ``answer`` takes from it."""

    def factory(make: Any) -> Any:
        arguments = data()
        estimator = make()
        return lambda: estimator.fit(*arguments)

    return InProcess(
        label=label,
        contenders={OURS: partial(factory, ours), peer: partial(factory, theirs)},
        check=partial(_same, answer=answer),
        scale=scale,
        growth_limit=growth_limit,
    )


def _same(models: Mapping[str, Any], *, answer: Callable[[Any], np.ndarray]) -> str:
    values = {name: answer(model) for name, model in models.items()}
    ours = values[OURS]
    worst = max(float(np.abs(v - ours).max() / np.abs(ours).max()) for v in values.values())
    if worst > 1e-6:
        raise Disagreement(f"the answers differ by {worst:.1e} of the largest")
    return f"Largest relative difference: {worst:.1e}."
