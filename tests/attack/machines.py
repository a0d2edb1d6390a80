"""Every machine of the registry, and what can be compared of it before and after."""

from dataclasses import replace

import joblib
import numpy as np
from scipy import sparse

import mercer
from mercer.estimators.registry import ROWS, MachineRow, of_class


def _sizes(X):
    """A feature map as users write them, with errors of its own."""
    return np.abs(np.asarray(X, dtype=float))


_CONFORMAL = MachineRow(
    "conformal", "intervals", "mercer.estimators.conformal.conformal", "Conformal", "number"
)
_WEIGHED = {"kernel": [mercer.RBF("scale"), mercer.Linear()], "method": "lp"}
VARIANTS = {
    "SVC-joint": (of_class("SVC"), {"multi_class": "crammer_singer"}),
    "SVC-hard": (of_class("SVC"), {"C": np.inf}),
    "SVC-map": (of_class("SVC"), {"kernel": mercer.MapKernel(_sizes, vectorized=True)}),
    "SVC-linear": (of_class("SVC"), {"kernel": "linear"}),
    "SVR-landmarks": (of_class("SVR"), {"approximation": 5}),
    "LinearSVC-joint": (of_class("LinearSVC"), {"multi_class": "crammer_singer"}),
    "LogisticRegression-l1": (of_class("LogisticRegression"), {"l1_ratio": 1.0, "solver": "saga"}),
    "LogisticRegression-bare": (of_class("LogisticRegression"), {"C": np.inf}),
    "KernelLogisticRegression-landmarks": (
        of_class("KernelLogisticRegression"),
        {"approximation": 5},
    ),
    "KernelRidge-landmarks": (of_class("KernelRidge"), {"kernel": "rbf", "approximation": 5}),
    "LaplacianSVC-hinge": (of_class("LaplacianSVC"), {"loss": "hinge", "unlabelled": None}),
    "MultipleKernelClassifier-lp": (of_class("MultipleKernelClassifier"), _WEIGHED),
    "MultipleKernelRegressor-lp": (of_class("MultipleKernelRegressor"), _WEIGHED),
    "NormRegressor-ball": (of_class("NormRegressor"), {"norm": 2, "radius": 1.0, "ball": 1}),
    "NormRegressor-box": (of_class("NormRegressor"), {"norm": 1, "radius": 1.0, "ball": np.inf}),
    "NormRegressor-p": (of_class("NormRegressor"), {"norm": 1.5}),
    "Conformal-numbers": (_CONFORMAL, {"estimator": mercer.KernelRidge(kernel="rbf")}),
    "Conformal-classes": (replace(_CONFORMAL, task="classes"), {"estimator": mercer.SVC()}),
}
"""Settings that take another way through a machine, and what is made of machines."""
MACHINES = {
    **{
        f"{row.class_name}-{number}": (row, parameters)
        for row in ROWS
        for number, parameters in enumerate(row.examples)
    },
    **VARIANTS,
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
