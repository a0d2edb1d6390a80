"""One row for each machine: its name, its class, its task, what it takes, and examples.

A row brings a machine scikit-learn's common checks, the tests of model files, its place in the
documentation and, with ``command_line``, its name there. Classes are imported when asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning, SkipTestWarning

from mercer.exceptions import GaussianSourcesWarning, InvalidParameter
from mercer.kernels.vectors.dot import Linear
from mercer.kernels.vectors.radial import RBF
from mercer.problems.penalties import LogBarrier

Task = Literal["classes", "number", "outliers", "features", "density"]
Takes = Literal["objects", "numbers", "table", "series"]

GROUPS = {
    "automatic": "Everything by itself",
    "svm": "Support vector machines",
    "multiple_kernel": "Weights of kernels",
    "ridge": "Kernel ridge regression",
    "gp": "Gaussian processes",
    "linear": "Linear models",
    "semi": "Few labels",
    "stream": "Data in pieces",
    "network": "Perceptrons and networks",
    "subspace": "Subspaces",
    "sources": "Independent sources",
    "features": "Maps and scaling",
    "generative": "Generative models",
}
"""The sections of the documentation, in their order: the packages of the classes."""


class SmallData(NamedTuple):
    """A few objects and their targets, None where a machine takes none."""

    X: Any
    y: Any


@dataclass(frozen=True)
class MachineRow:
    """What the library knows of one machine.

    Attributes
    ----------
    name, title : str
        What it is called on the command line, and in words; a name is one machine for each task.
    home, class_name : str
        The module and the class.
    task : str
        What it learns: classes, a number, what is an outlier, features or a density.
    takes : str
        ``objects`` is whatever its kernel takes, ``table`` numbers and categories in columns.
    examples : tuple of dict
        Parameters that tests make machines with.
    excused : dict
        scikit-learn's checks that it fails by design, and why.
    warns : tuple of classes
        Warnings that the data of those checks deserve.
    command_line : bool
        Whether it can be asked for on the command line: it has a search, and a certificate or a
        reason why there is none.
    unproven : str
        Why a fit has no certificate; empty where it has one.
    """

    name: str
    title: str
    home: str
    class_name: str
    task: Task
    takes: Takes = "objects"
    examples: tuple[Mapping[str, Any], ...] = ({},)
    excused: Mapping[str, str] = field(default_factory=dict)
    warns: tuple[type[Warning], ...] = ()
    command_line: bool = False
    unproven: str = ""

    @property
    def estimator(self) -> Any:
        """The class."""
        return getattr(import_module(self.home), self.class_name)

    @property
    def group(self) -> str:
        """The section of the documentation that it belongs to."""
        package = self.home.split(".")[1:-1][-1]
        return GROUPS[package if package in GROUPS else "features"]

    def machines(self) -> list[Any]:
        """Return the examples, not fitted."""
        return [self.estimator(**parameters) for parameters in self.examples]

    def data(self) -> SmallData:
        """Return a few objects that it can learn from."""
        random = np.random.default_rng(7)
        X = random.normal(size=(18, 3))
        y = np.sin(X[:, 0]) + X[:, 1]
        if self.takes == "series":
            return SmallData([X[:6], X[6:12], X[12:]], None)
        targets = {"classes": np.where(y > 0, "above", "below"), "number": y}
        return SmallData(X, targets.get(self.task))


EQUIVALENCES = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
"""scikit-learn's checks that a weight of two is the same as a row twice."""

_SCALE = dict.fromkeys(
    EQUIVALENCES, "gamma='scale' looks at the rows without their weights, as in scikit-learn"
)
_LANDMARKS = dict.fromkeys(
    EQUIVALENCES, "gamma='scale' and the landmarks look at the rows without their weights"
)
_BOUNDARY = {
    name: f"{reason}; and points on the boundary have decisions of 0, whose sign is that of "
    "rounding"
    for name, reason in _SCALE.items()
}
_ORDER = dict.fromkeys(
    EQUIVALENCES,
    "rows come in an order of their own, in which a repeated row is no row with twice the step",
)
_LEFT_OUT = dict.fromkeys(
    EQUIVALENCES,
    "gamma='scale' looks at the rows without their weights, and leave-one-out leaves out a row "
    "with all of its weight",
)
_SPREAD = dict.fromkeys(
    EQUIVALENCES, "gamma='scale' and the spread of a kernel look at the rows without their weights"
)
_MINIMA = "its loss has many minima, and nothing bounds how far this one is from the lowest"
_ONE_CLASS = "check_class_weight_classifiers"

_SVM = "mercer.estimators.svm"
_WEIGHTS = "mercer.estimators.multiple_kernel"
_KERNELS = RBF() + Linear()
"""A sum whose terms get weights."""
_LINEAR = "mercer.estimators.linear"
_NETWORK = "mercer.estimators.network"
_SUBSPACE = "mercer.estimators.subspace"

ROWS = (
    MachineRow(
        "auto", "contest of kernel machines and vote of the best few",
        "mercer.estimators.automatic.auto_classifier", "AutoClassifier", "classes", "table",
        command_line=True,
    ),
    MachineRow(
        "svc", "support vector machine", f"{_SVM}.svc", "SVC", "classes",
        # The checks allow 1,000 steps, in which a weight of 1,000 is not solved to a gap of 1e-3.
        examples=({}, {"approximation": 5, "tol": 1e-2}), excused=_SCALE, command_line=True,
    ),
    MachineRow(
        "nusvc", "ν-support vector machine", f"{_SVM}.svc", "NuSVC", "classes",
        examples=({}, {"approximation": 10}),
        # scikit-learn itself ignores the class weights of NuSVC.
        excused={
            **_SCALE,
            _ONE_CLASS: "a class whose weight is next to nothing makes nu = 0.5 infeasible, and "
            "fit says so",
        },
        command_line=True,
    ),
    MachineRow(
        "multiplekernel", "support vector machine that weighs kernels",
        f"{_WEIGHTS}.weighing_machines", "MultipleKernelClassifier", "classes",
        examples=({"kernel": _KERNELS}, {"kernel": _KERNELS, "method": "easymkl"}),
        excused=_SPREAD,
    ),
    MachineRow(
        "linear", "linear support vector machine", f"{_LINEAR}.linear_svm", "LinearSVC", "classes",
        "numbers", ({}, {"loss": "hinge"}, {"penalty": "l1"}), warns=(ConvergenceWarning,),
        command_line=True,
    ),
    MachineRow(
        "logistic", "logistic regression", f"{_LINEAR}.logistic_regression", "LogisticRegression",
        "classes", "numbers", command_line=True,
    ),
    MachineRow(
        "klr", "kernel logistic regression", f"{_LINEAR}.kernel_logistic",
        "KernelLogisticRegression", "classes", excused=_SCALE, command_line=True,
    ),
    MachineRow(
        "kernelridge", "kernel ridge classifier",
        "mercer.estimators.ridge.kernel_ridge_classifier", "KernelRidgeClassifier", "classes",
        examples=({}, {"alpha": 0.5, "approximation": 5}),
        excused=_LEFT_OUT,
    ),
    MachineRow(
        "gp", "Gaussian process", "mercer.estimators.gp.gp_classifier",
        "GaussianProcessClassifier", "classes",
    ),
    MachineRow(
        "laplacian", "support vector machine on a graph of neighbours",
        "mercer.estimators.semi.laplacian_svc", "LaplacianSVC", "classes",
        examples=({"unlabelled": None},),
    ),
    MachineRow(
        "streamed", "machine on landmarks", "mercer.estimators.stream.streamed_classifier",
        "StreamedClassifier", "classes", examples=({}, {"loss": "logistic"}), excused=_LANDMARKS,
        # Weights of 1,000 and 0.0001 in one problem leave no digits to descend by.
        warns=(ConvergenceWarning,),
    ),
    MachineRow(
        "perceptron", "perceptron", f"{_NETWORK}.perceptron", "Perceptron", "classes", "numbers",
        excused=_ORDER, warns=(ConvergenceWarning,),
    ),
    MachineRow(
        "adaline", "adaline", f"{_NETWORK}.perceptron", "Adaline", "classes", "numbers",
        # The weights 1000 and 0.0001 leave one class, whose squared errors a slanted plane makes
        # nearly as small as the flat one; that one is reached only after many more epochs.
        excused={
            **_ORDER,
            _ONE_CLASS: "with one class alone in effect, least squares is reached too slowly",
        },
        warns=(ConvergenceWarning,),
    ),
    MachineRow(
        "kernelperceptron", "kernel perceptron", f"{_NETWORK}.kernel_perceptron",
        "KernelPerceptron", "classes", excused=_ORDER, warns=(ConvergenceWarning,),
    ),
    MachineRow(
        "mlp", "multilayer perceptron", f"{_NETWORK}.mlp", "MLPClassifier", "classes", "numbers",
        ({"max_iter": 100},), warns=(ConvergenceWarning,), command_line=True, unproven=_MINIMA,
    ),
    MachineRow(
        "lda", "linear discriminant analysis", f"{_SUBSPACE}.discriminant",
        "LinearDiscriminantAnalysis", "classes", "numbers", command_line=True,
        unproven="it follows from means and a covariance in closed form, with nothing to optimise",
    ),
    MachineRow(
        "kerneldiscriminant", "kernel discriminant", f"{_SUBSPACE}.kernel_discriminant",
        "KernelDiscriminant", "classes",
    ),
    MachineRow(
        "auto", "contest of kernel machines and mean of the best few",
        "mercer.estimators.automatic.auto_regressor", "AutoRegressor", "number", "table",
        command_line=True,
    ),
    MachineRow(
        "svr", "support vector regression", f"{_SVM}.svr", "SVR", "number",
        excused=_SCALE, command_line=True,
    ),
    MachineRow(
        "nusvr", "ν-support vector regression", f"{_SVM}.svr", "NuSVR", "number",
        excused=_SCALE, command_line=True,
    ),
    MachineRow(
        "multiplekernel", "support vector regression that weighs kernels",
        f"{_WEIGHTS}.weighing_machines", "MultipleKernelRegressor", "number",
        examples=({"kernel": _KERNELS}, {"kernel": _KERNELS, "method": "alignment"}),
        excused=_SPREAD,
    ),
    MachineRow(
        "linear", "linear support vector regression", f"{_LINEAR}.linear_svm", "LinearSVR",
        "number", "numbers", ({}, {"loss": "squared_epsilon_insensitive"}),
        warns=(ConvergenceWarning,), command_line=True,
    ),
    MachineRow(
        "kernelridge", "kernel ridge regression", "mercer.estimators.ridge.kernel_ridge",
        "KernelRidge", "number", command_line=True,
    ),
    MachineRow(
        "gp", "Gaussian process", "mercer.estimators.gp.gaussian_process",
        "GaussianProcessRegressor", "number",
        # There is nothing to learn in the data of the checks: parameters end at their bounds.
        warns=(ConvergenceWarning,), command_line=True,
    ),
    MachineRow(
        "lasso", "lasso", f"{_LINEAR}.sparse", "Lasso", "number", "numbers", command_line=True,
    ),
    MachineRow(
        "elasticnet", "elastic net", f"{_LINEAR}.sparse", "ElasticNet", "number", "numbers",
        command_line=True,
    ),
    MachineRow(
        "ridge", "ridge regression", f"{_LINEAR}.ridge_regression", "Ridge", "number", "numbers",
        excused={
            "check_non_transformer_estimators_n_iter": "n_iter_ is None where a factorisation "
            "solves it, as in scikit-learn"
        },
        command_line=True,
    ),
    MachineRow(
        "norm", "regression in a norm", f"{_LINEAR}.norm_regressor", "NormRegressor", "number",
        "numbers", ({}, {"norm": 1}, {"norm": np.inf}),
    ),
    MachineRow(
        "penalty", "regression with a penalty", f"{_LINEAR}.penalty_regressor",
        "PenaltyRegressor", "number", "numbers",
        (
            {}, {"penalty": "l1"}, {"penalty": "dead_zone"}, {"penalty": "quantile"},
            {"penalty": "large_error"}, {"penalty": LogBarrier(1e4)},
        ),
    ),
    MachineRow(
        "laplacian", "ridge regression on a graph of neighbours",
        "mercer.estimators.semi.laplacian_ridge", "LaplacianRidge", "number",
    ),
    MachineRow(
        "streamed", "ridge regression on landmarks", "mercer.estimators.stream.streamed",
        "StreamedRidge", "number", excused=_LANDMARKS,
    ),
    MachineRow(
        "mlp", "multilayer perceptron", f"{_NETWORK}.mlp", "MLPRegressor", "number", "numbers",
        ({"max_iter": 100},), warns=(ConvergenceWarning,), command_line=True, unproven=_MINIMA,
    ),
    MachineRow(
        "oneclass", "one-class machine", f"{_SVM}.svr", "OneClassSVM", "outliers",
        excused=_BOUNDARY,
    ),
    MachineRow("pca", "principal components", f"{_SUBSPACE}.pca", "PCA", "features", "numbers"),
    MachineRow(
        "whitening", "whitening", f"{_SUBSPACE}.whitening", "Whitening", "features", "numbers",
    ),
    MachineRow(
        "kernelpca", "kernel principal components", f"{_SUBSPACE}.kernel_pca", "KernelPCA",
        "features", examples=({}, {"approximation": 1}),
    ),
    MachineRow(
        "ica", "independent components", "mercer.estimators.sources.ica", "ICA", "features",
        "numbers", warns=(ConvergenceWarning, GaussianSourcesWarning),
    ),
    MachineRow(
        "fastica", "independent components by fixed points", "mercer.estimators.sources.fast_ica",
        "FastICA", "features", "numbers", warns=(ConvergenceWarning, GaussianSourcesWarning),
    ),
    MachineRow(
        "featuremap", "features of a kernel", "mercer.estimators.feature_map", "FeatureMap",
        "features", warns=(SkipTestWarning,),
    ),
    MachineRow(
        "nystrom", "features on landmarks", "mercer.estimators.nystrom_map", "NystromMap",
        "features", examples=({}, {"n_components": 1, "method": "uniform"}),
    ),
    MachineRow(
        "scaler", "scaling of numbers", "mercer.estimators.scaling", "NumericScaler", "features",
        "numbers", warns=(SkipTestWarning,),
    ),
    MachineRow(
        "mixture", "Gaussian mixture", "mercer.generative.mixture", "GaussianMixture", "density",
        "numbers", ({"max_iter": 500},),
    ),
    MachineRow(
        "hmm", "hidden Markov model", "mercer.generative.hidden_markov", "HiddenMarkovModel",
        "density", "series",
        excused=dict.fromkeys(
            ("check_n_features_in", "check_n_features_in_after_fitting"),
            "a row is a series of any length: there are no columns to count",
        ),
        warns=(ConvergenceWarning,),
    ),
)  # fmt: skip


def find(name: str, task: Task) -> MachineRow:
    """Return the row of a machine by its name and its task."""
    for row in ROWS:
        if (row.name, row.task) == (name, task):
            return row
    raise InvalidParameter(
        f"There is no machine {name!r} for {task}. There are "
        f"{', '.join(row.name for row in ROWS if row.task == task)}."
    )


def of_class(name: str) -> MachineRow:
    """Return the row of a class by its name; a KeyError where there is none."""
    for row in ROWS:
        if row.class_name == name:
            return row
    raise KeyError(name)


def row_of(cls: type) -> MachineRow | None:
    """Return the row of a class, None where it has none."""
    named = (row for row in ROWS if (row.home, row.class_name) == (cls.__module__, cls.__name__))
    return next(named, None)
