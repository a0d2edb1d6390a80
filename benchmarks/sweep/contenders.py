"""One row for each machine, and in it one contender for each library that has the machine.

A contender has a ladder: settings to try in turn until its answer is as good as ours, the defaults
first. That is how a peer that stops early gets the tolerance that reaches ours, and we theirs.
A library may have several contenders, ``scikit-learn`` and ``scikit-learn, lsqr``; its time is
that of the fastest.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.job import OURS
from benchmarks.sweep import judge
from benchmarks.sweep.cases import Case
from benchmarks.sweep.gpytorch_machine import ExactRegressor
from benchmarks.sweep.judge import Judge

SKLEARN, INTELEX, CELER, SKGLM, GPYTORCH = "scikit-learn", "intelex", "celer", "skglm", "GPyTorch"

Build = Callable[..., Any]
Ladder = tuple[Mapping[str, Any], ...]
DEFAULTS: Ladder = ({},)

SVM_LADDER: Ladder = ({}, {"tol": 1e-4}, {"tol": 1e-5}, {"tol": 1e-6})
LINEAR_LADDER: Ladder = (
    {},
    {"max_iter": 10_000},
    {"max_iter": 10_000, "tol": 1e-5},
    {"max_iter": 100_000, "tol": 1e-6},
    {"max_iter": 100_000, "tol": 1e-8},
)


def _always(case: Case) -> bool:
    return True


@dataclass(frozen=True)
class Contender:
    """How a library makes a machine: ``build(**parameters)`` is an estimator that is not fitted."""

    build: Build
    ladder: Ladder = DEFAULTS
    suits: Callable[[Case], bool] = _always


@dataclass(frozen=True)
class Machine:
    """A machine, its family in the report, the data it takes, its judge and its contenders."""

    name: str
    family: str
    task: str
    judge: Judge
    contenders: Mapping[str, Contender]
    predict: Callable[[Any, Any], Any] = lambda model, new: model.predict(new)


PREDICTIONS = Judge(judge.predictions, absolute=0.02, compared=True)
"""The judge of predictions, whatever the machine."""


def library(contender: str) -> str:
    """Return the library of a contender: what stands before the comma."""
    return contender.split(",")[0]


def _named(path: str, **fixed: Any) -> Build:
    """Return what makes the class ``module:Class``, which is imported when it is first asked."""
    module, name = path.split(":")
    return lambda **parameters: getattr(import_module(module), name)(**{**fixed, **parameters})


def _alike(
    name: str, modules: Mapping[str, str], ladder: Ladder = DEFAULTS, **fixed: Any
) -> dict[str, Contender]:
    """Contenders that have the same class name and parameters as ours."""
    rows = {OURS: "mercer", **modules}
    return {
        who: Contender(_named(f"{module}:{name}", **fixed), ladder) for who, module in rows.items()
    }


def _svm(name: str, task: str, *, intelex: bool = True) -> Machine:
    modules = {SKLEARN: "sklearn.svm"} | ({INTELEX: "sklearnex.svm"} if intelex else {})
    return Machine(
        name, "kernel", task, Judge(judge.dual, relative=1e-4), _alike(name, modules, SVM_LADDER)
    )


def _sparse_linear(name: str) -> Machine:
    modules = {SKLEARN: "sklearn.linear_model", CELER: "celer", SKGLM: "skglm"}
    return Machine(
        name,
        "linear",
        "values",
        Judge(judge.elastic_net, relative=1e-5),
        _alike(name, modules, LINEAR_LADDER),
    )


# Gaussian processes: one width for each column and noise; classes with one width for all.


def _process(library: str, regression: bool) -> Build:
    def build(columns: int, **parameters: Any) -> Any:
        if library == OURS:
            from mercer import RBF, White

            noise = White(0.1)
        else:
            from sklearn.gaussian_process.kernels import RBF, WhiteKernel

            noise = WhiteKernel(0.1)
        width: Any = [1.0] * columns if regression else float(np.sqrt(columns))
        kernel = 1.0 * RBF(length_scale=width)
        module = "mercer" if library == OURS else "sklearn.gaussian_process"
        name = "GaussianProcessRegressor" if regression else "GaussianProcessClassifier"
        made = getattr(import_module(module), name)
        return made(kernel + noise if regression else kernel, **parameters)

    return build


# Landmarks: as many for everybody.


def _ours_on_landmarks(name: str) -> Build:
    def build(landmarks: int, **parameters: Any) -> Any:
        import mercer

        return getattr(mercer, name)(approximation=landmarks, **parameters)

    return build


def _pipeline_on_landmarks(module: str, name: str, strength: str) -> Build:
    def build(landmarks: int, kernel: str, gamma: float, **parameters: Any) -> Any:
        from sklearn.kernel_approximation import Nystroem
        from sklearn.pipeline import make_pipeline

        features = Nystroem(kernel=kernel, gamma=gamma, n_components=landmarks, random_state=0)
        given = {strength: parameters.pop(strength)}
        return make_pipeline(features, getattr(import_module(module), name)(**given, **parameters))

    return build


# Searches: the same grid and folds for everybody.

SVC_GRID = {"C": 2.0 ** np.arange(-3, 10, 3), "gamma": 2.0 ** np.arange(-11, 2, 3)}
RIDGE_GRID = {"alpha": np.geomspace(1e-4, 1e2, 7), "gamma": np.geomspace(1e-3, 1, 5)}


def _search(library: str, name: str, grid: Mapping[str, Any], jobs: int | None = None) -> Build:
    modules = {
        OURS: "mercer",
        INTELEX: "sklearnex.svm",
        SKLEARN: "sklearn.svm" if name == "SVC" else "sklearn.kernel_ridge",
    }

    def build(**parameters: Any) -> Any:
        machine = getattr(import_module(modules[library]), name)(**parameters)
        search = import_module("mercer" if library == OURS else "sklearn.model_selection")
        options = {"exhaustive": False} if library == OURS else {}  # the same winner, sooner
        return search.GridSearchCV(machine, dict(grid), cv=5, n_jobs=jobs, **options)

    return build


def _searches(name: str, grid: Mapping[str, Any], peers: tuple[str, ...]) -> dict[str, Contender]:
    rows = {OURS: Contender(_search(OURS, name, grid))}
    for peer in peers:
        rows[peer] = Contender(_search(peer, name, grid))
        rows[f"{peer}, 2 jobs"] = Contender(_search(peer, name, grid, 2))
    return rows


def _network(module: str) -> Contender:
    made = _named(f"{module}:MLPClassifier", random_state=0, tol=0.0)
    return Contender(lambda epochs, **parameters: made(max_iter=epochs, **parameters))


def _few_columns(case: Case) -> bool:
    """Newton steps need all second derivatives: scikit-learn advises them for many rows."""
    weights = case.columns * (1 if case.classes == 2 else case.classes)
    return weights <= 1_000 and case.rows > case.columns


def _few_components(case: Case) -> bool:
    return case.parameters["n_components"] < min(case.rows, case.columns)


def _large(case: Case) -> bool:
    return case.rows > 500


MACHINES = {
    machine.name: machine
    for machine in (
        _svm("SVC", "classes"),
        _svm("NuSVC", "classes"),
        _svm("SVR", "curves"),
        _svm("NuSVR", "curves"),
        _svm("OneClassSVM", "rows", intelex=False),
        Machine(
            "KernelRidge",
            "kernel",
            "curves",
            Judge(judge.ridge_in_kernel, relative=1e-6),
            _alike("KernelRidge", {SKLEARN: "sklearn.kernel_ridge"}),
        ),
        Machine(
            "GaussianProcessRegressor",
            "kernel",
            "curves",
            Judge(judge.evidence, absolute=0.05),
            {
                OURS: Contender(_process(OURS, regression=True)),
                SKLEARN: Contender(_process(SKLEARN, regression=True)),
                GPYTORCH: Contender(ExactRegressor, suits=_large),
            },
            predict=lambda model, new: model.predict(new, return_std=True),
        ),
        Machine(
            "GaussianProcessClassifier",
            "kernel",
            "classes",
            Judge(judge.evidence, absolute=0.05),
            {who: Contender(_process(who, regression=False)) for who in (OURS, SKLEARN)},
        ),
        Machine(
            "KernelPCA",
            "kernel",
            "rows",
            Judge(judge.variance, relative=1e-6),
            _alike("KernelPCA", {SKLEARN: "sklearn.decomposition"})
            | {
                f"{SKLEARN}, {solver}": Contender(
                    _named("sklearn.decomposition:KernelPCA", eigen_solver=solver, random_state=0),
                    ({}, {"iterated_power": 10}) if solver == "randomized" else DEFAULTS,
                )
                for solver in ("arpack", "randomized")
            },
            predict=lambda model, new: model.transform(new),
        ),
        Machine(
            "SVC on landmarks",
            "kernel",
            "classes",
            Judge(judge.error_on_new_rows, absolute=0.01),
            {
                OURS: Contender(_ours_on_landmarks("SVC"), SVM_LADDER),
                SKLEARN: Contender(_pipeline_on_landmarks("sklearn.svm", "LinearSVC", "C")),
            },
        ),
        Machine(
            "KernelRidge on landmarks",
            "kernel",
            "curves",
            Judge(judge.error_on_new_rows, relative=0.02),
            {
                OURS: Contender(_ours_on_landmarks("KernelRidge")),
                SKLEARN: Contender(
                    _pipeline_on_landmarks("sklearn.linear_model", "Ridge", "alpha")
                ),
            },
        ),
        Machine(
            "search of SVC",
            "kernel",
            "classes",
            Judge(judge.score_of_search, absolute=0.005),
            _searches("SVC", SVC_GRID, (SKLEARN, INTELEX)),
        ),
        Machine(
            "search of KernelRidge",
            "kernel",
            "curves",
            Judge(judge.score_of_search, absolute=1e-4),
            _searches("KernelRidge", RIDGE_GRID, (SKLEARN,)),
        ),
        _sparse_linear("Lasso"),
        _sparse_linear("ElasticNet"),
        Machine(
            "Ridge",
            "linear",
            "values",
            Judge(judge.ridge, relative=1e-6),
            _alike(
                "Ridge",
                {SKLEARN: "sklearn.linear_model", INTELEX: "sklearnex.linear_model"},
                ({}, {"tol": 1e-6}, {"tol": 1e-8}),
            ),
        ),
        Machine(
            "LogisticRegression",
            "linear",
            "classes",
            Judge(judge.logistic, relative=1e-5),
            _alike(
                "LogisticRegression",
                {SKLEARN: "sklearn.linear_model", INTELEX: "sklearnex.linear_model"},
                LINEAR_LADDER,
            )
            | {
                f"{SKLEARN}, newton-cholesky": Contender(
                    _named("sklearn.linear_model:LogisticRegression", solver="newton-cholesky"),
                    LINEAR_LADDER,
                    _few_columns,
                )
            },
        ),
        Machine(
            "LinearSVC",
            "linear",
            "classes",
            Judge(judge.linear_svc, relative=1e-5),
            _alike("LinearSVC", {SKLEARN: "sklearn.svm"}, LINEAR_LADDER, random_state=0),
        ),
        Machine(
            "LinearSVR",
            "linear",
            "values",
            Judge(judge.linear_svr, relative=1e-5),
            _alike("LinearSVR", {SKLEARN: "sklearn.svm"}, LINEAR_LADDER, random_state=0),
        ),
        Machine(
            "Perceptron",
            "linear",
            "classes",
            Judge(judge.errors_in_training, absolute=0.02),
            _alike("Perceptron", {SKLEARN: "sklearn.linear_model"}, random_state=0),
        ),
        Machine(
            "PCA",
            "linear",
            "rows",
            Judge(judge.variance, relative=1e-6),
            _alike(
                "PCA",
                {SKLEARN: "sklearn.decomposition", INTELEX: "sklearnex.decomposition"},
                random_state=0,
            )
            | {
                f"{who}, covariance_eigh": Contender(
                    _named(f"{module}:PCA", svd_solver="covariance_eigh")
                )
                for who, module in (
                    (SKLEARN, "sklearn.decomposition"),
                    (INTELEX, "sklearnex.decomposition"),
                )
            }
            | {
                f"{SKLEARN}, arpack": Contender(
                    _named("sklearn.decomposition:PCA", svd_solver="arpack", random_state=0),
                    suits=_few_components,
                )
            },
        ),
        Machine(
            "LinearDiscriminantAnalysis",
            "linear",
            "classes",
            Judge(judge.decisions, absolute=1e-4, compared=True),
            _alike("LinearDiscriminantAnalysis", {SKLEARN: "sklearn.discriminant_analysis"})
            | {
                f"{SKLEARN}, lsqr": Contender(
                    _named(
                        "sklearn.discriminant_analysis:LinearDiscriminantAnalysis", solver="lsqr"
                    ),
                    suits=lambda case: case.rows > 2 * case.columns,
                )
            },
        ),
        Machine(
            "FastICA",
            "linear",
            "mixtures",
            Judge(judge.contrast, relative=1e-5),
            _alike(
                "FastICA",
                {SKLEARN: "sklearn.decomposition"},
                ({}, {"max_iter": 1_000}, {"max_iter": 1_000, "tol": 1e-6}),
                random_state=0,
            )
            | {
                f"{SKLEARN}, eigh": Contender(
                    _named("sklearn.decomposition:FastICA", whiten_solver="eigh", random_state=0),
                    ({}, {"max_iter": 1_000}, {"max_iter": 1_000, "tol": 1e-6}),
                )
            },
        ),
        Machine(
            "MLPClassifier",
            "network",
            "classes",
            Judge(judge.last_loss, relative=1e-6),
            {OURS: _network("mercer"), SKLEARN: _network("sklearn.neural_network")},
        ),
    )
}


def contenders_of(case: Case) -> dict[str, Contender]:
    """Return the contenders that suit a case, ours first."""
    return {
        name: contender
        for name, contender in MACHINES[case.machine].contenders.items()
        if contender.suits(case)
    }


def call_of(
    case: Case, contender: Contender, data: Any, parameters: Mapping[str, Any], step: int
) -> Callable[[], Any]:
    """Return what is timed: a fit, or predictions of a machine that is fitted here."""
    machine = MACHINES[case.machine]
    given = {**parameters, **contender.ladder[step]}
    if case.machine.startswith("GaussianProcess"):
        given["columns"] = case.columns
    if case.action == "predict":
        fitted = contender.build(**given).fit(*data.supervised)
        return partial(machine.predict, fitted, data.new)
    return lambda: contender.build(**given).fit(*data.supervised)
