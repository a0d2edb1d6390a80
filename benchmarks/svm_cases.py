"""What the jobs on support vector machines share: data sets, contenders, comparison."""

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from benchmarks.gram_cases import scaled
from benchmarks.in_process import InProcess
from benchmarks.job import OURS, Disagreement

CACHE_MB = 4000


@cache
def classification(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes with 5 % of the labels flipped, standardised."""
    from sklearn.datasets import make_classification
    from sklearn.preprocessing import StandardScaler

    X, y = make_classification(rows, columns, flip_y=0.05, random_state=0)
    return StandardScaler().fit_transform(X), y


@cache
def checkerboard(rows: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """A board of 4 × 4 fields, with a share of the labels flipped."""
    random = np.random.default_rng(0)
    X = random.uniform(0, 4, (rows, 2))
    y = np.floor(X).sum(axis=1).astype(int) % 2
    return X, np.where(random.random(rows) < noise, 1 - y, y)


@cache
def regression(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """A noisy linear target, standardised."""
    from sklearn.datasets import make_regression
    from sklearn.preprocessing import StandardScaler

    X, y = make_regression(rows, columns, noise=10.0, random_state=0)
    return StandardScaler().fit_transform(X), y / y.std()


@cache
def digits() -> tuple[np.ndarray, np.ndarray]:
    """Handwritten digits, 1,797 × 64, ten classes."""
    from sklearn.datasets import load_digits

    return load_digits(return_X_y=True)


def machine(library: str, name: str) -> Any:
    """Return a class by its name from mercer, scikit-learn or scikit-learn-intelex."""
    if library == OURS:
        import mercer

        return getattr(mercer, name)
    if library == "scikit-learn":
        import sklearn.svm

        return getattr(sklearn.svm, name)
    import sklearnex.svm

    return getattr(sklearnex.svm, name)


def fit_case(
    label: str,
    name: str,
    data: Any,
    scale: float,
    peers: tuple[str, ...] = ("scikit-learn", "intelex"),
    **parameters: Any,
) -> InProcess:
    """Build the case "fit this machine to these data"."""

    def factory(library: str) -> Any:
        X, y = data()
        made = machine(library, name)
        return lambda: made(cache_size=CACHE_MB, **parameters).fit(X, y)

    return InProcess(
        label=label,
        contenders={library: partial(factory, library) for library in (OURS, *peers)},
        check=partial(_same_dual, data=data),
        scale=scale,
    )


def predict_case(label: str, data: Any, rows: int, scale: float) -> InProcess:
    """Build the case "predict new rows", with a machine fitted by each library."""

    def factory(library: str) -> Any:
        X, y = data()
        fitted = machine(library, "SVC")(cache_size=CACHE_MB).fit(X, y)
        new = np.random.default_rng(1).standard_normal((rows, X.shape[1]))
        return lambda: fitted.decision_function(new)

    return InProcess(
        label=label,
        contenders={
            library: partial(factory, library) for library in (OURS, "scikit-learn", "intelex")
        },
        check=_same_decisions,
        scale=scale,
    )


def _same_dual(models: Mapping[str, Any], *, data: Any) -> str:
    """Compare dual objectives, all computed by ``certify`` from the data."""
    from mercer import certify

    X, y = data()
    values = {}
    for name, model in models.items():
        if len(X) <= 20_000 and name != "intelex":
            values[name] = certify(model, X, y).dual
    ours = values.get(OURS)
    for name, value in values.items():
        if ours is not None and abs(value - ours) > 1e-4 * abs(ours):
            raise Disagreement(f"the dual value of {name} is {value:.8g}, ours {ours:.8g}")
    gap = models[OURS].certificate_.relative_gap
    shown = ", ".join(f"{name} {value:.8g}" for name, value in values.items())
    return f"Dual values: {shown or 'not computed'}. Our relative gap: {gap:.1e}."


def _same_decisions(values: Mapping[str, Any]) -> str:
    ours = values[OURS]
    worst = max(float(np.abs(theirs - ours).max()) for theirs in values.values())
    if worst > 0.05:
        raise Disagreement(f"decision values differ by {worst:.2g}")
    return f"Largest difference between decision values: {worst:.1e}."


def sizes(rows: int, scale: float) -> int:
    """Return the number of rows at this scale, enough for both classes to appear."""
    return max(200, scaled(rows, scale))
