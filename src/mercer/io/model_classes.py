"""The table of everything that a model file can hold; a new class is one row here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn import mixture
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from mercer._files.fields import (
    COUNT,
    FLAG,
    NONE,
    TEXT,
    A,
    Kind,
    ListOf,
    Maybe,
    Mismatch,
    Number,
    Numbers,
    OneOf,
    Plain,
    check_fields,
)
from mercer.estimators.binary import BinaryMachine
from mercer.estimators.discriminant import LinearDiscriminantAnalysis
from mercer.estimators.features import FeatureMap
from mercer.estimators.gaussian_process import GaussianProcessRegressor
from mercer.estimators.gp_classifier import GaussianProcessClassifier
from mercer.estimators.kernel_discriminant import KernelDiscriminant
from mercer.estimators.kernel_logistic import KernelLogisticRegression
from mercer.estimators.kernel_pca import KernelPCA
from mercer.estimators.kernel_perceptron import KernelPerceptron
from mercer.estimators.kernel_ridge import KernelRidge
from mercer.estimators.linear import ElasticNet, Lasso
from mercer.estimators.linear_svm import LinearSVC, LinearSVR
from mercer.estimators.logistic import LogisticRegression
from mercer.estimators.mlp import MLPClassifier, MLPRegressor
from mercer.estimators.norm_regressor import NormRegressor
from mercer.estimators.nystrom_map import NystromMap
from mercer.estimators.pca import PCA, Whitening
from mercer.estimators.penalty_regressor import PenaltyRegressor
from mercer.estimators.perceptron import Adaline, Perceptron
from mercer.estimators.ridge import Ridge
from mercer.estimators.scaling import NumericScaler
from mercer.estimators.streamed import StreamedRidge
from mercer.estimators.streamed_classifier import StreamedClassifier
from mercer.estimators.svc import SVC, NuSVC
from mercer.estimators.svr import SVR, NuSVR, OneClassSVM
from mercer.exceptions import CannotSave
from mercer.generative.hidden_markov import HiddenMarkovModel
from mercer.generative.mixture import GaussianMixture
from mercer.gram.expansion import Expansion
from mercer.gram.nystrom_kernel import NystromKernel
from mercer.io import (
    model_answers,
    model_data,
    model_generative,
    model_linear,
    model_networks,
    model_points,
    model_regression,
    model_streamed,
    model_subspaces as subspaces,
)
from mercer.io.model_points import MATRIX, SEEN, check_points
from mercer.io.model_values import Stored
from mercer.kernels.base import Kernel
from mercer.kernels.points import Points
from mercer.kernels.wrappers import FunctionKernel, Precomputed
from mercer.problems.certificate import Certificate

# ---- estimators: parameters, and attributes once they are fitted -------------------------------

_FORGOTTEN = frozenset({
    "_metadata_request", "_skl_callbacks", "_skl_callbacks_to_teardown", "_callback_fit_ctx",
    "_parent_callback_ctx", "_propagated_callbacks",
})  # fmt: skip
"""What scikit-learn hangs on estimators for fits to come."""


def estimator(
    cls: type, fields: Mapping[str, Kind], check: Callable[[Any], None] | None = None
) -> Stored:
    """Return the row of an estimator that follows scikit-learn.

    ``fields`` are the attributes that a fit sets, ``check`` looks at the whole. Attributes that
    are not among the fields are stored too if they are plain data.
    """

    def state(model: Any) -> dict[str, Any]:
        params = model.get_params(deep=False)
        attributes = {
            name: value
            for name, value in vars(model).items()
            if name not in params and name not in _FORGOTTEN
        }
        return {"params": params, **attributes}

    def make(state: dict[str, Any]) -> Any:
        model = cls(**state["params"])
        if hasattr(cls, "_parameter_constraints"):
            getattr(model, "_check_parameters", model._validate_params)()
        attributes = {name: value for name, value in state.items() if name != "params"}
        if attributes:
            check_fields(attributes, fields)
            for name in set(attributes) - set(fields):
                if not name.isidentifier() or name.startswith("__") or hasattr(cls, name):
                    raise Mismatch(f"it cannot have the attribute {name[:40]!r}")
            vars(model).update(attributes)
            if check is not None:
                check(model)
        return model

    return Stored(cls, {"params": A(dict)}, state, make, open=True)


_LABELS = A(np.ndarray, size="classes")

_SUPPORT: dict[str, Kind] = {
    **SEEN,
    "kernel_": A(Kernel),
    "shape_fit_": ListOf(COUNT, tuple),
    "_sparse": FLAG,
    "_gamma": Maybe(OneOf(NONE, TEXT, Number(finite=False))),
    "fit_status_": COUNT,
    "_num_iter": Maybe(Numbers("problems", types="i")),
    "n_iter_": OneOf(COUNT, Numbers("solves", types="i")),
    "support_": Numbers("support", types="i", low=0),
    "_support_points": A(Points, size="support"),
    "support_vectors_": Plain(),
    **dict.fromkeys(("intercept_", "_intercept_"), Numbers("functions")),
    **dict.fromkeys(
        ("dual_coef_", "_dual_coef_"), OneOf(Numbers("rows", "support", any_order=True), MATRIX)
    ),
}


def _check_points(model: Any, points: Points) -> None:
    check_points(model.kernel_, points)
    for encoder, leaf in points.leaves.items():
        columns = getattr(leaf, "dimension", None) if encoder.inner is None else None
        if columns is not None and columns != getattr(model, "n_features_in_", columns):
            raise Mismatch("its points have not as many columns as its training data")


def _check_support(model: Any) -> None:
    _check_points(model, model._support_points)
    support, shape = model.support_, model.shape_fit_
    if not shape or (support.size and not int(support.max()) < shape[0]):
        raise Mismatch("a support vector is none of its training rows")
    vectors = model.support_vectors_
    count = vectors.shape[0] if hasattr(vectors, "shape") else len(vectors)
    # Without a library for frames, columns come as a dictionary.
    if count != len(support) and model._mode != "matrix" and not isinstance(vectors, dict):
        raise Mismatch("its support vectors are not as many as their row numbers")
    for matrix in (model.dual_coef_, model._dual_coef_):
        if matrix.shape[1] != len(support):
            raise Mismatch("it has not one coefficient for each support vector")
    if model._mode == "matrix" and not (
        isinstance(model.kernel_, Precomputed) and len(model.kernel_.matrix) == shape[0]
    ):
        raise Mismatch("its kernel matrix has not one row for each training row")


def _check_classifier(model: Any) -> None:
    _check_support(model)
    classes, codes, counts = model.classes_, model._support_codes, model._n_support
    k = len(classes)
    if k < 2 or classes.ndim != 1 or not (classes[:-1] < classes[1:]).all():
        raise Mismatch("its classes are not two or more in order")
    if not np.array_equal(np.bincount(codes, minlength=k), counts) or (np.diff(codes) < 0).any():
        raise Mismatch("its support vectors are not counted or sorted by class")
    pairs = k * (k - 1) // 2 if model.multi_class == "ovo" else k
    functions = len(model._intercept_)
    if functions != pairs and not (k == 2 and functions in (1, 2)):
        raise Mismatch(f"it has {functions} functions for {k} classes")
    rows = k - 1 if k > 2 and model.multi_class == "ovo" else functions
    if model._dual_coef_.shape[0] != rows:
        raise Mismatch(f"it has coefficients of {model._dual_coef_.shape[0]} functions, not {rows}")
    for machine in model._machines:
        if machine.kernel is not model.kernel_ or machine.points is not model._machines[0].points:
            raise Mismatch("its machines differ in kernel or points")
    if model._machines:
        _check_points(model, model._machines[0].points)
    if model.probability is True and not hasattr(model, "_slope"):
        raise Mismatch("it has no calibration for its probabilities")


def _check_function(model: Any) -> None:
    _check_support(model)
    _check_points(model, model.expansion_.points)
    if len(model._intercept_) != 1 or model._dual_coef_.shape[0] != 1:
        raise Mismatch("it has not one function")


def _check_landmarks(model: Any) -> None:
    _check_points(model, model.approximation_.points)
    index = model.component_indices_
    if index is not None and len(index) != len(model.approximation_):
        raise Mismatch("its landmarks are not as many as their row numbers")


_CLASSIFIER: dict[str, Kind] = {
    "classes_": _LABELS,
    "class_weight_": Numbers("classes"),
    **_SUPPORT,
    "_support_codes": Numbers("support", types="i", low=0, below="classes"),
    "_n_support": Numbers("classes", types="i", low=0),
    "_machines": ListOf(A(BinaryMachine)),
    "_certificate": A(Certificate),
    "_condensed": Maybe(A(Expansion)),
    "residual_trace_": Maybe(Number(low=0)),
    "_joint": Maybe(Numbers("used", "classes", any_order=True)),
    "_slope": Maybe(Number()),
}
_FUNCTION: dict[str, Kind] = {
    **_SUPPORT,
    "_n_support": Numbers(1, types="i", low=0),
    "certificate_": A(Certificate),
    "multipliers_": Numbers("used"),
    "expansion_": A(Expansion),
    "biases_": Numbers("biases"),
    "_beta": Maybe(Numbers("variables")),
}

_LINEAR: dict[str, Kind] = {
    **SEEN,
    "n_features_in_": COUNT,
    "coef_": OneOf(Numbers("functions", "features", any_order=True), Numbers("features"), MATRIX),
    "intercept_": OneOf(Number(), Numbers("functions")),
    "dual_coef_": Numbers("machines", "rows", any_order=True),
    "certificates_": ListOf(A(Certificate)),
    "certificate_": Maybe(A(Certificate)),
    "n_iter_": COUNT,
}


def _check_linear(model: Any) -> None:
    functions = 1
    shape: tuple[int, ...] = (model.n_features_in_,)
    if hasattr(model, "classes_"):
        classes = model.classes_
        if len(classes) < 2 or classes.ndim != 1:
            raise Mismatch("it has not two or more classes")
        functions = 1 if len(classes) == 2 else len(classes)
        shape = (functions, model.n_features_in_)
    if model.coef_.shape != shape or np.size(model.intercept_) not in (1, functions):
        raise Mismatch("its weights do not fit its columns and classes")


# ---- pipelines and scalers of scikit-learn -----------------------------------------------------


def _pipeline_state(model: Pipeline) -> dict[str, Any]:
    # A cache of fits is a folder on this computer; it has no place in a file.
    return {name: v for name, v in model.get_params(deep=False).items() if name != "memory"}


def _make_pipeline(state: dict[str, Any]) -> Pipeline:
    steps = state["steps"]
    for step in steps:
        if type(step) is not tuple or len(step) != 2 or not isinstance(step[0], str):
            raise Mismatch("a step is not a name and an estimator")
        # Pipelines inside pipelines could be shared and so grow without bound.
        if not (step[1] is None or isinstance(step[1], (*_STEPS, str))):
            raise Mismatch(f"a step is a {type(step[1]).__name__}")
        if isinstance(step[1], str) and step[1] != "passthrough":
            raise Mismatch("a step is a text")
    if not steps or steps[-1][1] is None:
        raise Mismatch("it has no last step")
    model = Pipeline(**state)
    model._validate_names([name for name, _ in steps])
    return model


PIPELINE = Stored(
    Pipeline,
    {
        "steps": ListOf(A(tuple)),
        "verbose": FLAG,
        "transform_input": Maybe(OneOf(NONE, ListOf(TEXT))),
    },
    _pipeline_state,
    _make_pipeline,
)

_COLUMNS = OneOf(NONE, Numbers("features"))


def _check_standard(model: Any) -> None:
    if (model.with_mean and model.mean_ is None) or (model.with_std and model.scale_ is None):
        raise Mismatch("it has no means or scales")


def _check_scaler(model: Any) -> None:
    mean, scale = model.mean_, model.scale_
    if type(mean) is not type(scale):
        raise Mismatch("its means and scales are not of one kind")
    if isinstance(scale, dict):
        if mean.keys() != scale.keys():
            raise Mismatch("it has not one mean and one scale for each column")
        for name in scale:
            TEXT.check(name, {})
            Number().check(mean[name], {})
            Number().check(scale[name], {})
    if np.any(np.array(list(scale.values()) if isinstance(scale, dict) else scale) == 0):
        raise Mismatch("it divides by zero")


ESTIMATORS = (
    estimator(SVC, _CLASSIFIER, _check_classifier),
    estimator(NuSVC, _CLASSIFIER, _check_classifier),
    estimator(SVR, _FUNCTION, _check_function),
    estimator(NuSVR, {**_FUNCTION, "biases_": Numbers(2)}, _check_function),
    estimator(OneClassSVM, {**_FUNCTION, "offset_": Numbers(1)}, _check_function),
    estimator(LinearSVC, {"classes_": _LABELS, **_LINEAR}, _check_linear),
    estimator(LinearSVR, _LINEAR, _check_linear),
    estimator(FeatureMap, {**SEEN, "kernel_": A(Kernel), "keys_": Numbers("keys", types="u")}),
    estimator(
        NystromMap,
        {
            **SEEN,
            "kernel_": A(Kernel),
            "approximation_": A(NystromKernel),
            "component_indices_": OneOf(NONE, Numbers("landmarks", types="i", low=0)),
            "residual_trace_": Number(low=0),
        },
        _check_landmarks,
    ),
    estimator(Lasso, model_linear.MANY, model_linear.check),
    estimator(ElasticNet, model_linear.MANY, model_linear.check),
    estimator(Ridge, model_linear.MANY, model_linear.check),
    estimator(NormRegressor, model_linear.NORM, model_linear.check),
    estimator(PenaltyRegressor, model_linear.PENALTY, model_linear.check),
    estimator(LogisticRegression, model_linear.LOGISTIC, _check_linear),
    estimator(KernelLogisticRegression, model_regression.LOGISTIC, model_regression.check_logistic),
    estimator(KernelRidge, model_regression.RIDGE, model_regression.check_ridge),
    estimator(StreamedRidge, model_streamed.RIDGE, model_streamed.check),
    estimator(StreamedClassifier, model_streamed.CLASSIFIER, model_streamed.check),
    estimator(GaussianProcessRegressor, model_regression.PROCESS, model_regression.check_process),
    estimator(GaussianProcessClassifier, model_regression.CLASSES, model_regression.check_classes),
    estimator(Perceptron, model_networks.PERCEPTRON, model_networks.check_linear),
    estimator(Adaline, model_networks.ADALINE, model_networks.check_linear),
    estimator(KernelPerceptron, model_networks.KERNEL_PERCEPTRON, model_networks.check_kernel),
    estimator(MLPClassifier, model_networks.CLASSIFIER, model_networks.check_classes),
    estimator(MLPRegressor, model_networks.REGRESSOR, model_networks.check_network),
    estimator(
        NumericScaler,
        {**SEEN, **dict.fromkeys(("mean_", "scale_"), OneOf(A(dict), Numbers("features")))},
        _check_scaler,
    ),
    estimator(
        StandardScaler,
        {
            **SEEN,
            **dict.fromkeys(("mean_", "var_", "scale_"), _COLUMNS),
            "n_samples_seen_": Plain(),
        },
        _check_standard,
    ),
    estimator(
        MinMaxScaler,
        {
            **SEEN,
            **dict.fromkeys(
                ("min_", "scale_", "data_min_", "data_max_", "data_range_"), Numbers("features")
            ),
            "n_samples_seen_": Plain(),
        },
    ),
)

SUBSPACES = (
    estimator(PCA, {**SEEN, **subspaces.PCA_FIELDS}, subspaces.check_columns),
    estimator(Whitening, {**SEEN, **subspaces.WHITENING_FIELDS}, subspaces.check_columns),
    estimator(KernelPCA, {**SEEN, **subspaces.KERNEL_PCA_FIELDS}, subspaces.check_expansion),
    estimator(
        LinearDiscriminantAnalysis, {**SEEN, **subspaces.LDA_FIELDS}, subspaces.check_classes
    ),
    estimator(
        KernelDiscriminant,
        {**SEEN, **subspaces.KERNEL_DISCRIMINANT_FIELDS},
        subspaces.check_classes,
    ),
)

GENERATIVE = (
    estimator(GaussianMixture, model_generative.MIXTURE, model_generative.check_mixture),
    estimator(HiddenMarkovModel, model_generative.CHAIN, model_generative.check_chain),
    Stored(
        mixture.GaussianMixture,
        {"params": A(dict)},
        model_generative.unfitted_state,
        lambda state: mixture.GaussianMixture(**state["params"]),
        name="sklearn.GaussianMixture",
    ),
)

_STEPS = tuple(row.cls for row in (*ESTIMATORS, *SUBSPACES))

ROWS = {
    row.key: row
    for row in (
        *model_data.ROWS,
        *model_points.ROWS,
        *model_answers.ROWS,
        *model_regression.ROWS,
        *model_linear.ROWS,
        *model_networks.ROWS,
        PIPELINE,
        *ESTIMATORS,
        *SUBSPACES,
        *GENERATIVE,
    )
}
_ROW_OF = {row.cls: row for row in ROWS.values() if row.cls is not np.ndarray}


def find(value: Any) -> Stored | None:
    """Return the row for an object, None where there is none."""
    row = _ROW_OF.get(type(value))
    if row is not None:
        return row
    if isinstance(value, Kernel) and not isinstance(value, FunctionKernel):
        raise CannotSave(
            f"a kernel of a class of your own, {type(value).__name__}, cannot be saved: whoever "
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
