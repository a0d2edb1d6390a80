"""The table of everything that a model file can hold.

Estimators and the objects inside them say themselves what they consist of (``STATE``): a new
estimator is a row of ``mercer.estimators.registry`` and is loaded when a file asks for it. Kernels,
points and data of other libraries have rows in the modules beside this one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from mercer._deprecated import current_names
from mercer._files.fields import (
    FLAG,
    NONE,
    TEXT,
    A,
    ListOf,
    Maybe,
    Number,
    Numbers,
    OneOf,
    Plain,
    State,
    WrongState,
    check_fields,
)
from mercer._sklearn import CALLBACK_ATTRIBUTES, check_parameters, check_step_names
from mercer.estimators import registry
from mercer.estimators.state import SEEN
from mercer.exceptions import CannotSave
from mercer.io import model_data, model_points
from mercer.io.model_graphs import with_own_graphs
from mercer.io.model_values import Stored, Value, check_parts
from mercer.kernels.base import is_kernel
from mercer.problems.penalties import NAMES

OLD_NAMES: Mapping[str, Mapping[str, str | None]] = {
    "Classifier": {"_certificate": "certificate_"}  # until 0.2
}
"""Attributes that older files have under another name: class → {name in files: name now}.

The name of a base class stands for all its classes. None drops what is not needed any more.
"""

# ---- estimators: parameters, and attributes once they are fitted -------------------------------


def _state(model: BaseEstimator) -> dict[str, Any]:
    params = model.get_params(deep=False)
    if "_training" in vars(model):  # a file holds the certificate, not what it is made of
        try:
            check_parts(model)
        except WrongState as error:
            raise CannotSave(
                f"the model is not in a state that can be saved: {error}. It was changed since it "
                "was fitted: fit it again, and save it as it is."
            ) from None
        model.settle()
    attributes = {
        name: value
        for name, value in vars(model).items()
        if name not in params and name not in CALLBACK_ATTRIBUTES
    }
    kernel = attributes.get("kernel_")
    if is_kernel(kernel):
        attributes = with_own_graphs(attributes, kernel)
    return {"params": params, **attributes}


def _renamed(cls: type, state: Mapping[str, Any]) -> dict[str, Any]:
    names = {
        old: new for base in cls.__mro__ for old, new in OLD_NAMES.get(base.__name__, {}).items()
    }
    pairs = ((names.get(name, name), value) for name, value in state.items())
    return {name: value for name, value in pairs if name is not None}


_VERBS = {
    *(
        "fit",
        "fit_transform",
        "fit_predict",
        "partial_fit",
        "predict",
        "predict_proba",
        "transform",
    ),
    *("predict_log_proba", "decision_function", "score", "score_samples", "inverse_transform"),
}
"""Methods that pipelines and searches ask any estimator for, whether it has them or not."""


def _means_more(cls: type, name: str) -> bool:
    """Whether an attribute of this name would be taken for a method or stand before one."""
    return name in _VERBS or hasattr(cls, name)


def estimator(
    cls: type, fields: State | None = None, check: Callable[[Any], None] | None = None
) -> Stored:
    """Return the row of an estimator: its parameters, and what ``STATE`` says of the others.

    Attributes that are not in ``STATE`` are stored too if they are plain data.
    """
    wanted: State = cls.STATE if fields is None else fields  # type: ignore[attr-defined]

    def make(state: dict[str, Any]) -> Any:
        model = cls(**current_names(cls, state["params"]))
        check_parameters(model)
        attributes = _renamed(cls, {n: value for n, value in state.items() if n != "params"})
        if attributes:
            check_fields(attributes, wanted)
            for name in set(attributes) - set(wanted):
                if not name.isidentifier() or name.startswith("__") or _means_more(cls, name):
                    raise WrongState(f"it cannot have the attribute {name[:40]!r}")
            vars(model).update(attributes)
            (check or check_parts)(model)
        return model

    return Stored(cls, {"params": A(dict)}, _state, make, open=True)


# ---- objects inside estimators -----------------------------------------------------------------

PARTS = {
    "mercer.tuning.auto": ("Tuned",),
    "mercer.estimators.automatic.auto_machine": ("Member",),
    "mercer.estimators.automatic.table_coding": ("ColumnCode", "TableCoding"),
    "mercer.estimators.gp.gp_classifier": ("Latent",),
    "mercer.estimators.gp.gp_landmarks": ("LandmarkPosterior", "LandmarkLatent"),
    "mercer.estimators.svm.binary": ("BinaryMachine",),
    "mercer.gram.expansion": ("Expansion",),
    "mercer.kernels.encoders": ("VectorEncoder", "CategoryEncoder", "RowNumberEncoder"),
    "mercer.kernels.graphs.graph_encoder": ("GraphEncoder",),
    "mercer.kernels.graphs.graph_points": ("Graph", "Graphs"),
    "mercer.kernels.points": ("Vectors", "Categories", "Objects"),
    "mercer.kernels.series.series_points": ("Series", "SeriesEncoder"),
    "mercer.kernels.strings.words": ("Strings", "StringEncoder", "TokenEncoder"),
    "mercer.kernels.tables.columns": ("PresenceEncoder", "Gappy", "ColumnEncoder"),
    "mercer.kernels.trees.tree_points": ("Trees", "TreeEncoder"),
    "mercer.problems.certificate": ("Certificate",),
    "mercer.solvers.ridge_path": ("RidgePath",),
    "mercer.solvers.network.stochastic": ("Adam", "Momentum"),
}
"""Classes with a ``STATE`` of their own, made by their constructors, by their modules."""
_HOME_OF = {name: home for home, names in PARTS.items() for name in names}
_FORMULAS = ("Gappy", "ColumnEncoder")


# ---- pipelines, scalers and mixtures of scikit-learn -------------------------------------------


def _pipeline_state(model: Pipeline) -> dict[str, Any]:
    # A cache of fits is a folder on this computer; it has no place in a file.
    return {name: v for name, v in model.get_params(deep=False).items() if name != "memory"}


def _make_pipeline(state: dict[str, Any]) -> Pipeline:
    steps = state["steps"]
    for number, step in enumerate(steps, start=1):
        if type(step) is not tuple or len(step) != 2 or not isinstance(step[0], str):
            raise WrongState("a step is not a name and an estimator")
        # Pipelines inside pipelines could be shared and so grow without bound.
        model = step[1]
        passed = model is None or (isinstance(model, str) and model == "passthrough")
        if not passed and not _is_step(type(model)):
            raise WrongState(f"a step is a {type(model).__name__}")
        if not passed and number < len(steps) and not hasattr(model, "transform"):
            raise WrongState(f"a step before the last is a {type(model).__name__}")
    if not steps or steps[-1][1] is None:
        raise WrongState("it has no last step")
    pipeline = Pipeline(**state)
    check_step_names(pipeline)
    return pipeline


def _is_step(cls: type) -> bool:
    row = registry.row_of(cls)
    return cls in _SCALERS or (row is not None and row.task != "density")


def _check_standard(model: StandardScaler) -> None:
    if (model.with_mean and model.mean_ is None) or (model.with_std and model.scale_ is None):
        raise WrongState("it has no means or scales")


def _unfitted_state(model: BaseEstimator) -> dict[str, Any]:
    if hasattr(model, "means_"):
        raise CannotSave(
            "a fitted GaussianMixture of scikit-learn cannot be saved. Use "
            "mercer.GaussianMixture.of(weights_, means_, covariances_, covariance_type)."
        )
    return {"params": model.get_params(deep=False)}


_COLUMNS = ("min_", "scale_", "data_min_", "data_max_", "data_range_")
_SCALERS = {
    StandardScaler: estimator(
        StandardScaler,
        {
            **SEEN,
            **dict.fromkeys(("mean_", "var_", "scale_"), OneOf(NONE, Numbers("features"))),
            "n_samples_seen_": Plain(),
        },
        _check_standard,
    ),
    MinMaxScaler: estimator(
        MinMaxScaler,
        {**SEEN, **dict.fromkeys(_COLUMNS, Numbers("features")), "n_samples_seen_": Plain()},
    ),
}
_OTHERS = (
    Stored(
        Pipeline,
        {
            "steps": ListOf(A(tuple)),
            "verbose": FLAG,
            "transform_input": Maybe(OneOf(NONE, ListOf(TEXT))),
        },
        _pipeline_state,
        _make_pipeline,
    ),
)
_MIXTURE = "sklearn.GaussianMixture"
_MIXTURES = "sklearn.mixture"
"""The module of mixtures; a tenth of a second to import, so only where there is one."""


def _mixture() -> Stored:
    """Return the row of a mixture that a kernel is to fit itself."""
    cls = import_module(_MIXTURES).GaussianMixture
    fields: State = {"params": A(dict)}
    return Stored(cls, fields, _unfitted_state, lambda state: cls(**state["params"]), name=_MIXTURE)


# ---- the table ---------------------------------------------------------------------------------


class StoredClasses(Mapping[str, Stored]):
    """The rows by the names of their classes; those of estimators are made when asked for."""

    def __init__(self) -> None:
        penalties = (Stored(p, dict.fromkeys(vars(p()), Number())) for p in NAMES.values())
        fixed = (*model_data.ROWS, *model_points.ROWS, *_SCALERS.values(), *_OTHERS)
        self._rows = {row.key: row for row in (*fixed, *penalties)}
        self._names = (*self._rows, _MIXTURE, *_HOME_OF, *(row.class_name for row in registry.ROWS))

    def __getitem__(self, name: str) -> Stored:
        if name not in self._rows:
            self._rows[name] = self._load(name)
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def _load(self, name: str) -> Stored:
        if name == _MIXTURE:
            return _mixture()
        if name in _HOME_OF:
            cls = getattr(import_module(_HOME_OF[name]), name)
            return Stored(cls, cls.STATE, formula=name in _FORMULAS)
        return estimator(registry.of_class(name).estimator)


ROWS = StoredClasses()


def find(value: Value) -> Stored | None:
    """Return the row for an object, None where there is none."""
    cls = type(value)
    mixtures = sys.modules.get(_MIXTURES)
    is_mixture = mixtures is not None and cls is mixtures.GaussianMixture
    row = ROWS.get(_MIXTURE if is_mixture else cls.__name__)
    if row is not None and row.cls is cls and cls is not np.ndarray:
        return row
    if is_kernel(value) and not value.is_function:
        raise CannotSave(
            f"a kernel of a class of your own, {cls.__name__}, cannot be saved: whoever "
            "loads the file would need its code. Fit with kernel='precomputed' on the matrix of "
            "its values, or keep the class and fit again."
        )
    if callable(value):
        raise CannotSave(
            "a function cannot be saved, since a model file holds data and never code. Fit with "
            "kernel='precomputed' on the matrix of its values, write it as a kernel of mercer's "
            "algebra, or keep the function and fit again."
        )
    return model_data.find(value)
