"""Everything of scikit-learn that is not public there, in one place.

Other modules import these names from here. A test asks for each of them, with the oldest and the
newest version of scikit-learn that is supported.
"""

from importlib import import_module
from typing import Any

from mercer._typing import Model

HOMES = {
    "fit_context": ("sklearn.base", "_fit_context"),
    "LinearClassifierMixin": ("sklearn.linear_model._base", "LinearClassifierMixin"),
    "LinearModel": ("sklearn.linear_model._base", "LinearModel"),
    "SparseCoefMixin": ("sklearn.linear_model._base", "SparseCoefMixin"),
    "check_precomputed_gram_matrix": (
        "sklearn.linear_model._base",
        "_check_precomputed_gram_matrix",
    ),
    "BaseScorer": ("sklearn.metrics._scorer", "_BaseScorer"),
    "MultimetricScorer": ("sklearn.metrics._scorer", "_MultimetricScorer"),
    "PassthroughScorer": ("sklearn.metrics._scorer", "_PassthroughScorer"),
    "fit_and_score": ("sklearn.model_selection._validation", "_fit_and_score"),
    "insert_error_scores": ("sklearn.model_selection._validation", "_insert_error_scores"),
    "score_fitted": ("sklearn.model_selection._validation", "_score"),
    "warn_or_raise_about_fit_failures": (
        "sklearn.model_selection._validation",
        "_warn_or_raise_about_fit_failures",
    ),
    "safe_indexing": ("sklearn.utils", "_safe_indexing"),
    "HasMethods": ("sklearn.utils._param_validation", "HasMethods"),
    "Hidden": ("sklearn.utils._param_validation", "Hidden"),
    "Interval": ("sklearn.utils._param_validation", "Interval"),
    "Options": ("sklearn.utils._param_validation", "Options"),
    "RealNotInt": ("sklearn.utils._param_validation", "RealNotInt"),
    "StrOptions": ("sklearn.utils._param_validation", "StrOptions"),
    "validate_parameter_constraints": (
        "sklearn.utils._param_validation",
        "validate_parameter_constraints",
    ),
    "safe_split": ("sklearn.utils.metaestimators", "_safe_split"),
    "check_partial_fit_first_call": ("sklearn.utils.multiclass", "_check_partial_fit_first_call"),
    "ovr_decision_function": ("sklearn.utils.multiclass", "_ovr_decision_function"),
    "check_method_params": ("sklearn.utils.validation", "_check_method_params"),
    "check_psd_eigenvalues": ("sklearn.utils.validation", "_check_psd_eigenvalues"),
    "check_sample_weight": ("sklearn.utils.validation", "_check_sample_weight"),
    "check_targets": ("sklearn.utils.validation", "_check_y"),
    "num_samples": ("sklearn.utils.validation", "_num_samples"),
}
"""Our name for each, the module that has it, and its name there."""


def check_parameters(estimator: Model) -> None:
    """Raise where a parameter of an estimator is none that it takes, as its fit would."""
    if hasattr(estimator, "_parameter_constraints"):
        getattr(estimator, "_check_parameters", estimator._validate_params)()


def fitted_gamma(machine: Model) -> float:
    """Return the gamma that a support vector machine of scikit-learn was fitted with."""
    return float(machine._gamma)


def callback_context(machine: Model, tasks: int | None = None) -> Any:
    """Return the context of callbacks for one fit of an estimator; None is for any many rounds."""
    return machine._init_callback_context(max_subtasks=tasks)


def callbacks_of(estimator: Model) -> list[Any]:
    """Return the callbacks that an estimator was given."""
    return list(getattr(estimator, "_skl_callbacks", ()))


def scorers_of(scorer: Any) -> dict[str, Any] | None:
    """Return the scorers of one that measures several things, by name; None of any other."""
    several: bool = isinstance(scorer, __getattr__("MultimetricScorer"))
    return dict(scorer._scorers) if several else None


def sign_of(scorer: Any) -> int:
    """Return 1 where a scorer's measure is better when larger, −1 where it is worse."""
    sign: int = scorer._sign
    return sign


def check_step_names(pipeline: Model) -> None:
    """Raise where the steps of a pipeline cannot have their names."""
    pipeline._validate_names([name for name, _ in pipeline.steps])


CALLBACK_ATTRIBUTES = frozenset({
    "_metadata_request", "_skl_callbacks", "_skl_callbacks_to_teardown", "_callback_fit_ctx",
    "_parent_callback_ctx", "_propagated_callbacks",
})  # fmt: skip
"""What scikit-learn hangs on estimators for fits to come; no part of what was learnt."""


def __getattr__(name: str) -> Any:
    """Import a name when it is first asked for: some of these modules take long to load."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, original = HOMES[name]
    try:
        value = getattr(import_module(module), original)
    except (ImportError, AttributeError) as error:
        from importlib.metadata import version

        raise ImportError(
            f"scikit-learn {version('scikit-learn')} has no {module}.{original}, which mercer "
            "needs. Install a version that mercer was tested with: see its dependencies."
        ) from error
    globals()[name] = value
    return value


def check_kernel_bounds(kernel: Any) -> None:
    """Let a kernel of Gaussian processes warn of parameters at their bounds."""
    kernel._check_bounds_params()
