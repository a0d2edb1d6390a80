"""How many training rows would have to be wrong before an answer is another one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._sklearn import num_samples
from mercer._typing import IntArray, Model, Objects, SampleWeights, Targets
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.explanations.answer_functions import unwrapped

CHANGES = ("any", "removed", "relabelled")


@dataclass(frozen=True, eq=False, repr=False)
class WrongRows:
    """How many training rows have to change before the class of each new row does.

    Attributes
    ----------
    counts : array of shape (m,)
        At least so many rows have to be wrong: with fewer of them changed the class is proven to
        stay. 1 says that no change at all was proven to be harmless, 0 that not even the exact
        optimum of the present data is proven to give this class.
    predictions : array of shape (m,)
        The classes.
    rows : int
        The number of training rows.
    change : str
        What may happen to a row.

    Examples
    --------
    >>> from mercer import KernelRidgeClassifier, Linear, wrong_rows
    >>> X, y = [[-3.0], [-2.0], [-1.0], [1.0], [2.0], [3.0]], [0, 0, 0, 1, 1, 1]
    >>> machine = KernelRidgeClassifier(1.0, kernel=Linear()).fit(X, y)
    >>> found = wrong_rows(machine, X, y, [[0.1], [3.0]])
    >>> bool(found.counts[0] < found.counts[1])
    True
    """

    counts: IntArray
    predictions: np.ndarray[Any, Any]
    rows: int
    change: str

    def sentence(self, row: int) -> str:
        """Say it of one new row."""
        count = int(self.counts[row])
        if count < 1:
            return "this answer is too close to call for the data as they are"
        wrong = {"any": "wrong", "removed": "left out"}.get(self.change, "relabelled")
        if count == 1:
            return f"this answer may hang on one row: it is not proven to stand if one is {wrong}"
        return f"this answer stands unless at least {count:,} of the {self.rows:,} rows are {wrong}"

    def __repr__(self) -> str:
        more = float((self.counts > 1).mean()) if len(self.counts) else 0.0
        return (
            f"WrongRows of {len(self.counts):,} answers, {self.rows:,} training rows; at least "
            f"{int(np.median(self.counts)) if len(self.counts) else 0} in the middle, more than "
            f"one for {more:.0%}"
        )


def wrong_rows(
    model: Model,
    X: Objects,
    y: Targets,
    new: Objects,
    sample_weight: SampleWeights = None,
    *,
    change: str = "any",
) -> WrongRows:
    r"""Return how many training rows would have to be wrong before each answer is another one.

    A proven lower bound: whichever fewer rows are removed or get another label, the machine that is
    fitted again gives the same class. Kernel, C, λ, weights, scaling and the steps of a pipeline
    stay as they are.

    Ridge machines are linear in their labels, f(x) + b = h(x)ᵀy. The most harmful labels are known
    exactly; a removed row is one whose label became what the others say of it, which differs from
    leave-one-out by no more than the changes of the other rows allow.

    For support vector machines let f, b, β be the answer and g, c an optimum after the rows M
    changed by δᵢ in their multipliers, Δ = f + b − g − c. For all η that keep the box of the other
    rows and have the sum μ + Σ_M δᵢ,

        μ Δ(x) ≤ ¼ ‖μ φ(x) + Σ_M δᵢ φ(xᵢ) − Σ ηⱼ φ(xⱼ)‖² + Σ gapⱼ(βⱼ + ηⱼ),

    by the strong convexity of ½‖f‖²; the unpenalised b is bounded by the sum of η. The page "What
    if the data are wrong" of the guide has the proof.

    Parameters
    ----------
    model : estimator
        A fitted ``SVC`` for two classes (finite C), ``KernelRidgeClassifier`` or
        ``AutoClassifier`` (no more rows than it learns from exactly), or a pipeline that ends with
        one.
    X, y, sample_weight : data
        What it was fitted on.
    new : data
        The rows whose answers are asked for.
    change : {"any", "removed", "relabelled"}
        What may happen to a row that is wrong; ``"any"`` is one or the other.

    Returns
    -------
    WrongRows
        ``counts``, ``predictions``, and ``sentence(row)``.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from mercer import KernelRidgeClassifier, load_data, wrong_rows
    >>> heart = load_data("heart")
    >>> X, y, new = heart.X[:200], heart.y[:200], heart.X[200:]
    >>> machine = make_pipeline(StandardScaler(), KernelRidgeClassifier(3.0)).fit(X, y)
    >>> found = wrong_rows(machine, X, y, new)
    >>> found.counts[:5]
    array([1, 6, 9, 2, 9])
    >>> found.sentence(2)
    'this answer stands unless at least 9 of the 200 rows are wrong'
    """
    if change not in CHANGES:
        raise InvalidParameter(
            f"wrong_rows: change={change!r} has to be one of {', '.join(CHANGES)}."
        )
    machine, data, _ = unwrapped(model, X)
    _, rows, _ = unwrapped(model, new)
    check_is_fitted(machine)
    count = num_samples(data)
    if num_samples(y) != count:
        raise InvalidInput(
            f"wrong_rows: X has {count} rows and y has {num_samples(y)}; both have to be those of "
            "the fit."
        )
    if not hasattr(machine, "harmless_changes"):
        raise InvalidParameter(
            f"wrong_rows: nothing is proven of {type(machine).__name__}. It takes SVC for two "
            "classes, KernelRidgeClassifier and AutoClassifier."
        )
    harmless = machine.harmless_changes(data, y, rows, sample_weight, change)
    counts = np.minimum(harmless + 1, count)
    return WrongRows(counts, np.asarray(machine.predict(rows)), count, change)
