"""Every machine of the registry, and what can be compared of it before and after."""

import joblib
import numpy as np
from scipy import sparse

from mercer.estimators.registry import ROWS

MACHINES = {
    f"{row.class_name}-{number}": (row, parameters)
    for row in ROWS
    for number, parameters in enumerate(row.examples)
}
"""Each example of each row by a name for tests."""


def make(name):
    """Return a machine, not fitted, and small data for it."""
    row, parameters = MACHINES[name]
    machine = row.estimator(**parameters)
    if "random_state" in machine.get_params():
        machine.set_params(random_state=0)
    return machine, row.data()


def fit(machine, data):
    """Fit a machine, with targets where it takes any."""
    return machine.fit(data.X) if data.y is None else machine.fit(data.X, data.y)


def state(machine):
    """Return the attributes of a machine, the very objects, and a hash of all that is in them."""
    return dict(vars(machine)), joblib.hash(vars(machine))


def answers(machine, X):
    """Return the answers of a fitted machine by the names of its methods."""
    methods = ("predict", "decision_function", "predict_proba", "transform", "score_samples")
    return {name: getattr(machine, name)(X) for name in methods if hasattr(machine, name)}


def same(found, expected):
    """Whether answers agree, up to the rounding of sums in another order."""
    return found.keys() == expected.keys() and all(
        _equal(found[name], expected[name]) for name in expected
    )


def _equal(found, expected):
    if isinstance(expected, list):
        return all(map(_equal, found, expected))
    found, expected = (
        value.toarray() if sparse.issparse(value) else np.asarray(value)
        for value in (found, expected)
    )
    if expected.dtype.kind != "f":
        return np.array_equal(found, expected)
    scale = float(np.abs(expected).max(initial=1.0))
    return found.shape == expected.shape and np.allclose(found, expected, 1e-5, 1e-5 * scale)
