"""The seam of all machines: what a fit is (a plan), and what kernel machines share.

A machine says how its data and parameters become problems (``plan``), and how answers to these
become fitted attributes. ``fit`` runs one plan. Whoever has many plans of machines with one kernel
solves them together on one matrix, and needs neither the machines nor their attributes.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from importlib import import_module
from inspect import signature
from numbers import Real
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar, cast

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from mercer._atomic_fit import AtomicFit
from mercer._sklearn import Interval, StrOptions, num_samples, validate_parameter_constraints
from mercer._typing import Array, IntArray, Model, Objects, Parameter, SampleWeights, Targets
from mercer.estimators.constructor import parameters
from mercer.estimators.kernel_argument import KernelArgument, check_name, kernel_argument
from mercer.estimators.shown import ShownMachine
from mercer.gram.computed import Gram
from mercer.gram.expansion import Expansion
from mercer.kernels.base import Kernel
from mercer.kernels.definite import Definite
from mercer.kernels.encoders import as_narwhals, is_frame
from mercer.kernels.points import Points
from mercer.landmarks.landmark_gram import LandmarkGram, approximate
from mercer.solvers.svm.box_qp import Scratch

Made = TypeVar("Made")
Plan = TypeVar("Plan", bound="FitPlan[Any]")


class DecisionRule(Protocol):
    """How values of the functions, one column for each, become answers."""

    def predict(self, values: Array) -> Any:
        """Return the answer for each row of values."""
        ...


RuleKind = TypeVar("RuleKind", bound=DecisionRule, covariant=True)


@dataclass(frozen=True, eq=False)
class Functions:
    """What the answers to a plan come to: Σ aᵢ k(xᵢ, x) + b, one column for each function."""

    coefficients: Array
    intercepts: Array
    status: str
    seconds: float


class FitData:
    """Targets and weights of ``count`` rows. What several plans make of them is made once."""

    def __init__(self, y: Targets, sample_weight: SampleWeights, count: int) -> None:
        self.y, self.sample_weight, self.count = y, sample_weight, count
        self._made: dict[Hashable, Any] = {}

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what ``make`` returned when this key was first asked for."""
        if key not in self._made:
            self._made[key] = make()
        return cast(Made, self._made[key])


class FitPlan(ABC, Generic[RuleKind]):
    """The problems of one fit, apart from the kernel: each with the training rows it is about."""

    rule: RuleKind
    """What turns values of the functions into answers."""
    position: tuple[float, ...]
    """Where this plan stands on a path of plans with the same kernel."""

    @abstractmethod
    def continues(self: Plan, other: Plan) -> bool:
        """Whether the problems are those of another plan but for numbers on the path."""

    @classmethod
    @abstractmethod
    def solve_path(
        cls: type[Plan],
        plans: Sequence[Plan],
        K: Array,
        train: IntArray,
        memory: Scratch,
        deadline: float,
    ) -> list[Functions | None]:
        """Solve plans that continue each other, on the rows ``train`` of a matrix in float64.

        None stands for answers that are no use; what the time does not suffice for is missing.
        """

    @classmethod
    def solve_paths(
        cls: type[Plan],
        paths: Sequence[tuple[Sequence[Plan], IntArray]],
        K: Array,
        memory: Scratch,
        deadline: float,
    ) -> list[list[Functions | None]]:
        """Solve several paths, each on its own rows of the matrix."""
        return [cls.solve_path(plans, K, train, memory, deadline) for plans, train in paths]


class CheckedParameters(AtomicFit):
    """Parameters are checked in the way of scikit-learn, but for those that are their defaults."""

    _parameter_constraints: ClassVar[dict[str, Any]]

    @classmethod
    @cache
    def default_parameters(cls) -> dict[str, Any]:
        """Return the defaults of the constructor's parameters by name."""
        return {p.name: p.default for p in signature(cls).parameters.values()}

    def _validate_params(self) -> None:
        """Check the parameters that are not their defaults, in the way of scikit-learn."""
        values, changed = vars(self), {}
        for name, default in self.default_parameters().items():
            if values.get(name, default) is not default:
                changed[name] = values[name]
        if changed:
            validate_parameter_constraints(
                self._parameter_constraints, changed, caller_name=type(self).__name__
            )


class KernelMachine(ShownMachine, CheckedParameters, BaseEstimator):
    """A machine whose answer is f(x) = Σ aᵢ k(xᵢ, x) + b.

    ``kernel`` is a kernel, the name of one, ``"precomputed"`` or a function of two batches.
    """

    kernel: Any
    gamma: Any
    degree: float
    coef0: float
    approximation: Any
    time_limit: float | None
    kernel_: Any
    _condensed: Expansion | None = None
    """The functions as sums over landmarks, without their biases, where a machine keeps them so."""
    strict = False
    """Whether a kernel that is not known to be what the problems need is an error."""
    _learnt: ClassVar[str] = "kernel_"
    """An attribute that a machine has when it is fitted."""
    learns_kernel: ClassVar[bool] = False
    """Whether a fit learns the parameters of the kernel by itself."""
    usual_values: ClassVar[Mapping[str, Sequence[float]]] = {}
    """Values worth trying of parameters that a machine has besides C and ν."""

    # ---- what a machine says -------------------------------------------------------------------

    def plan(self, data: FitData) -> FitPlan[DecisionRule]:
        """Return the problems of a fit to these targets and weights."""
        raise NotImplementedError(f"{type(self).__name__} has no plan apart from its fit.")

    @property
    def fits_by_plan(self) -> bool:
        """Whether a fit is its plan and no more: no landmarks, no limits, nothing calibrated."""
        return False

    @property
    def solves_paths_together(self) -> bool:
        """Whether paths on several parts of one matrix cost less together than apart."""
        return False

    @property
    def needed_definite(self) -> Definite:
        """What the problems need of a kernel."""
        return Definite.POSITIVE

    def _check_parameters(self) -> None:
        """Raise where a parameter is not what it can be."""
        self._validate_params()

    # ---- what others ask -----------------------------------------------------------------------

    @property
    def kernel_argument(self) -> KernelArgument:
        """What was given as ``kernel``, and how data reach it."""
        return kernel_argument(
            self.kernel, self.gamma, self.degree, self.coef0, type(self).__name__
        )

    def accepts_parameters(self) -> bool:
        """Whether all parameters are what they can be; ``fit`` says what is wrong with them."""
        try:
            self._check_parameters()
        except (ValueError, TypeError):
            return False
        return True

    def with_parameters(self, **params: Parameter) -> Self:
        """Return a copy with other values of its own parameters, not checked and not fitted."""
        # ``copy`` goes through pickling, which takes its time.
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, **params)
        return other

    def read(self, X: Objects) -> Objects:
        """Return data as a fit reads them; nothing is kept."""
        return self.with_parameters()._read_training(X, None)

    # ---- what machines share -------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        precomputed = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.input_tags.pairwise = precomputed
        tags.input_tags.sparse = not precomputed
        return tags

    def _read_training(self, X: Objects, y: Targets) -> Objects:
        """Check the training data and return them in the form the kernel takes."""
        argument = self.kernel_argument
        self._sparse = sparse.issparse(X) and argument.compares_objects
        if sparse.issparse(X) and argument.precomputed:
            raise TypeError("Sparse precomputed kernels are not supported.")
        plain = _plain_rows(X) if argument.takes_vectors else None
        if plain is not None and (y is None or _are_targets(y, len(X))):
            X = plain
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
        elif argument.takes_vectors:
            wanted = {} if y is None else {"y": y}
            read = validate_data(self, X, **wanted, **_VECTORS)
            X = read if y is None else read[0]
        elif y is not None:
            check_consistent_length(X, y)
            _check_rows(X, type(self).__name__)
        argument.check_training(X)
        self.shape_fit_ = X.shape if hasattr(X, "shape") else (num_samples(X),)
        return X

    def _require_targets(self, y: Targets) -> None:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )

    def _bind(self, X: Objects) -> tuple[Kernel, Points]:
        """Return the kernel, settled on the training data, and the training data as points."""
        kernel, points = self._encode(X)
        settled = kernel.resolve(points)
        self._gamma = getattr(settled, "gamma", 0.0)
        return settled, points

    def _approximated(
        self, kernel: Kernel, points: Points, by_passes: bool = False
    ) -> LandmarkGram | None:
        """Return the matrix on landmarks, where an approximation is asked for, else None."""
        if self.approximation is None:
            return None
        return approximate(
            kernel,
            points,
            self.approximation,
            type(self).__name__,
            objects=self.kernel_argument.compares_objects,
            by_passes=by_passes,
        )

    def _bind_approximated(self, X: Objects) -> tuple[Kernel, Points]:
        """Return what ``_bind`` does, with the kernel on landmarks where that is asked for."""
        self.__dict__.pop("residual_trace_", None)
        kernel, points = self._bind(X)
        view = self._approximated(kernel, points)
        if view is None:
            return kernel, points
        self.residual_trace_ = view.residual_trace
        return view.kernel, points

    def _encode(self, X: Objects) -> tuple[Kernel, Points]:
        """Return the kernel, not yet settled on any data, and the read data as points."""
        return self.kernel_argument.encode(X)

    def _read_new(self, X: Objects) -> Objects:
        """Check new data against the training data and return them in the form needed."""
        known = vars(self)
        columns = None if "feature_names_in_" in known else known.get("n_features_in_")
        if self._learnt in known and columns is not None:
            plain = _plain_rows(X)
            if plain is not None and plain.shape[1] == columns:
                return plain
        check_is_fitted(self)
        argument = self.kernel_argument
        if argument.takes_vectors:
            X = validate_data(self, X, reset=False, **_VECTORS)
            if sparse.issparse(X) and not self._sparse:
                raise ValueError(
                    f"cannot use sparse input in {type(self).__name__!r} trained on dense data"
                )
        argument.check_new(X, self.shape_fit_[0])
        return X

    def _expand(self, X: Objects, points: Points, coefficients: Array) -> Array:
        """Return Σ aᵢ k(x, xᵢ) for read data; ``coefficients`` has one column for each function."""
        kernel: Kernel = self.kernel_
        rows = points.rows if type(X) is np.ndarray else None
        if rows is not None and kernel.is_direct(X.shape[0] * rows.size):
            return kernel.direct(X, rows) @ coefficients
        return Gram(kernel, X, points).multiply(coefficients)

    def _takes_vectors(self) -> bool:
        """Whether the data are plain vectors, which scikit-learn's validation knows."""
        return self.kernel_argument.takes_vectors


@parameters
class NamedKernelMachine(KernelMachine):
    """A machine whose kernel may be given by its name, with parameters that names go with.

    Parameters
    ----------
    kernel : Kernel, str or callable
        A kernel, the name of one (``gamma``, ``degree`` and ``coef0`` are its parameters),
        ``"precomputed"``, or a function of two batches that returns their matrix.
    gamma : {"scale", "auto"} or float
        γ of a kernel that is given by its name: a number, 1/(d·Var X) or 1/d, with d columns.
    degree : float
        The degree of ``kernel="poly"``.
    coef0 : float
        The constant of ``kernel="poly"`` and ``"sigmoid"``.
    time_limit : float, optional
        Seconds after which the best answer so far is returned, with a warning.
    approximation : None, int or Nystrom
        Solve the problem of K̃ = K_nM K_MM⁺ K_Mn, for so many landmarks M, in place of that of K:
        time and memory then grow with n·M. ``certificate_.approximation_cost`` bounds how far the
        optimum of the one problem is from that of the other.
    """

    _: KW_ONLY
    kernel: Any = "rbf"
    gamma: Any = "scale"
    degree: float = 3
    coef0: float = 0.0
    time_limit: float | None = None
    approximation: Any = None
    kernel_: Kernel = field(init=False)

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [str, callable, Kernel],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="left")],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "approximation": "no_validation",
    }

    def _check_parameters(self) -> None:
        self._validate_params()
        check_name(self.kernel)


_VECTORS: dict[str, Any] = {
    "dtype": np.float64,
    "order": "C",
    "accept_sparse": "csr",
    "accept_large_sparse": False,
}


def _plain_rows(X: Objects) -> Array | None:
    """Return arrays of numbers in the very form that validation would give them, else None."""
    if type(X) is not np.ndarray or X.ndim != 2 or X.size == 0 or X.dtype.char not in "fdil":
        return None
    rows: Array = np.asarray(X, dtype=np.float64, order="C")
    with np.errstate(over="ignore", invalid="ignore"):
        return rows if math.isfinite(rows.sum()) else None


def _are_targets(y: Targets, count: int) -> bool:
    """Whether targets are whole numbers or finite ones, one for each row."""
    plain = type(y) is np.ndarray and y.shape == (count,) and y.dtype.kind in "iubf"
    return plain and (y.dtype.kind != "f" or math.isfinite(y.sum()))


def _check_rows(X: Objects, machine: str) -> None:
    if num_samples(X) == 0:
        raise ValueError(f"{machine}: X has no rows; at least one object is needed.")


def take_objects(objects: Objects, index: IntArray) -> Objects:
    """Return some objects of a batch, in the form that it has."""
    if type(objects) is np.ndarray:
        return objects[index]
    if is_frame(objects):
        return as_narwhals(objects)[index].to_native()
    if hasattr(objects, "iloc"):
        return objects.iloc[index]
    if hasattr(objects, "shape"):
        return objects[index]
    return [objects[i] for i in index]


def open_parameters(machine: Model) -> list[str]:
    """Return the parameters that a machine is to find by itself, those of its kernel included.

    ``gamma="auto"`` is a rule of scikit-learn's, and no search.
    """
    values = vars(machine)
    for name in machine.default_parameters():
        if hasattr(values.get(name), "get_params"):  # it has parameters of its own
            values = machine.get_params()
            break
    return [n for n, v in values.items() if isinstance(v, str) and v == "auto" and n != "gamma"]


class Tuner(Protocol):
    """The layer above, which finds parameters that are given as ``"auto"``."""

    def fit_tuned(
        self, machine: Model, X: Objects, y: Targets, sample_weight: SampleWeights
    ) -> None:
        """Fit a machine whose open parameters are chosen by cross-validation."""
        ...

    def choose_ridge(
        self, machine: Model, X: Objects, points: Points, Y: Array, weights: Array, alphas: Array
    ) -> Any:
        """Choose λ and the width of a kernel by leave-one-out."""
        ...


def tuner() -> Tuner:
    """Return the layer above this one.

    It is asked for by its name, when a parameter is ``"auto"``: machines know that somebody can
    find parameters, and import nothing of it.
    """
    return cast(Tuner, import_module("mercer.tuning.auto"))
