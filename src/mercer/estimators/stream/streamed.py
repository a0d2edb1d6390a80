"""Machines for data larger than memory: what they share, and ridge regression."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._files.fields import COUNT, A, Number, Numbers, OneOf, State, WrongState
from mercer._memory import readable
from mercer._sklearn import Interval
from mercer._typing import Array, Objects, SampleWeights, Targets
from mercer.estimators.base import NamedKernelMachine
from mercer.estimators.constructor import parameters
from mercer.estimators.drawn import DrawnRegressor
from mercer.estimators.judged import JudgedMachine, Training
from mercer.estimators.kernel_argument import check_definite
from mercer.estimators.on_landmarks import (
    judge_regression,
    publish_regression,
    solve_ridge,
    warn_early,
)
from mercer.estimators.progress import CallbackSupportMixin, watching, with_callbacks
from mercer.estimators.ridge.ridge_plan import read_targets, read_weights
from mercer.estimators.state import SEEN, check_points
from mercer.estimators.stream.stream_judge import judge_ridge_pieces
from mercer.exceptions import InvalidInput, InvalidParameter, NotEnoughMemory
from mercer.gram.expansion import Expansion
from mercer.kernels.base import Kernel, is_kernel
from mercer.kernels.definite import Definite
from mercer.kernels.encoders import is_frame
from mercer.kernels.points import Points
from mercer.kernels.vectors.radial import RBF
from mercer.landmarks.basis import LandmarkBasis
from mercer.landmarks.checkpoint import CheckpointedPasses
from mercer.landmarks.choose import Nystrom, choose_landmarks
from mercer.landmarks.chunks import CHUNK_ROWS, ArrayChunks, Chunk, Chunks, chunks_in, join_rows
from mercer.landmarks.landmark_gram import LandmarkGram
from mercer.landmarks.passes import Passes
from mercer.problems.certificate import OPTIMAL_GAP, Certificate
from mercer.problems.landmark_squares import LandmarkFunctions
from mercer.solvers.base import Budget, Solution

_LARGE_VALUES = 1 << 23
"""Numbers from which an array is checked piece by piece, 64 MB: a check as a whole copies it."""
_SAMPLE_ROWS = 20_000
"""Rows at least on which a kernel is settled and from which landmarks are chosen."""
_SAMPLE_A_LANDMARK = 10
"""Rows of the sample for each landmark."""
_FEW_CANDIDATES = 5_000
"""Rows at least among which "pivoted" chooses; more landmarks take more."""
_FLOATS = (np.float64, np.float32)


@dataclass(frozen=True)
class EncodingCheck:
    """Encode the objects of a piece, to see whether they can be."""

    kernel: Kernel

    def __call__(self, chunk: Chunk) -> None:
        chunk.encode(self.kernel)


@parameters
class StreamedMachine(CallbackSupportMixin, JudgedMachine, NamedKernelMachine):
    """A machine whose answer is f(x) = Σⱼ aⱼ k(zⱼ, x) + b over landmarks zⱼ.

    It sees its data in pieces, again and again, and keeps the landmarks only. Data in memory are
    judged as a whole when somebody asks; others by the last pass over them.
    """

    STATE: ClassVar[State] = {
        **SEEN,
        "kernel_": A(Kernel),
        "_landmark_points": A(Points, size="landmarks"),
        "_coefficients": Numbers("landmarks", "functions", any_order=True),
        "_constants": Numbers("functions"),
        "certificate_": A(Certificate),
        "n_iter_": COUNT,
        "n_rows_": COUNT,
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` where landmarks and coefficients do not fit."""
        check_points(self, self._landmark_points)
        if self.dual_coef_.size != self._coefficients.size:
            raise WrongState("it has not one coefficient for each landmark and target")

    _: KW_ONLY
    kernel: str | Kernel = "rbf"
    approximation: int | Nystrom = 1000
    fit_intercept: bool = True
    tol: float = 1e-6
    max_iter: int = 500
    memory: int = 1 << 31
    checkpoint: str | os.PathLike[str] | None = None
    verbose: bool = False
    takes_chunks: ClassVar[bool] = True
    """Whether ``fit`` takes data in pieces, wherever these are."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **NamedKernelMachine._parameter_constraints,
        "kernel": [str, Kernel],
        "approximation": [Interval(Integral, 1, None, closed="left"), Nystrom],
        "tol": [Interval(Real, 0, 1, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "memory": [Interval(Integral, 1, None, closed="left")],
        "checkpoint": [str, os.PathLike, None],
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            raise InvalidParameter(
                f"{type(self).__name__}: kernel='precomputed' needs the whole matrix, and this is "
                "for data without one. Use KernelRidge, SVC or KernelLogisticRegression."
            )

    # ---- data ----------------------------------------------------------------------------------

    def _check_objects(self, X: Objects, reset: bool) -> Objects:
        """Return a batch in the form that the kernel takes; large ones are checked in pieces."""
        if not self._takes_vectors():
            return X
        plain = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype in _FLOATS
        if plain and (X.size > _LARGE_VALUES or isinstance(X, np.memmap)):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        return validate_data(
            self, X, reset=reset, dtype=list(_FLOATS), order="C", accept_sparse="csr"
        )

    def _pieces(self, X: Objects, y: Targets = None, weights: SampleWeights = None) -> ArrayChunks:
        return ArrayChunks(X, y, weights, self._piece_rows(X))

    def _piece_rows(self, X: Objects) -> int:
        """Return how many rows of a batch may be read at once: an eighth of the budget."""
        width = X.shape[1] if len(getattr(X, "shape", ())) == 2 else 1
        return int(max(256, min(CHUNK_ROWS, self.memory // 8 // (48 * max(1, width)))))

    def _source(self, X: Objects, y: Targets, read: Callable[[], Chunks]) -> Chunks:
        """Return the training data in pieces; ``read`` checks data that are in memory."""
        name, chunks = type(self).__name__, chunks_in(X)
        if chunks is None:
            self._require_targets(y)
            chunks = read()
        else:
            if y is not None:
                raise InvalidInput(f"{name}: a source of chunks brings its own targets; leave y.")
            first = chunks.first()
            if first.y is None:
                raise InvalidInput(
                    f"{name}: the chunks have no targets. Say which column they are."
                )
            self._check_objects(first.X, reset=True)
        self.n_rows_ = chunks.rows
        return chunks

    # ---- landmarks -----------------------------------------------------------------------------

    def _plan(self, chunks: Chunks) -> LandmarkGram:
        """Settle the kernel and choose landmarks on a sample; return the matrix of all rows."""
        spec = Nystrom.of(self.approximation, type(self).__name__)
        assert spec is not None
        count = min(spec.count, chunks.rows)
        self._check_memory(count)
        wanted = max(_SAMPLE_ROWS, _SAMPLE_A_LANDMARK * count)
        random = np.random.default_rng(spec.random_state)
        sample = join_rows([chunk.X for chunk in chunks.sample(wanted, random)])
        try:
            if is_frame(sample):
                sample = self._check_objects(sample, reset=False)
            kernel, points = self._encode(sample)
        except InvalidInput:
            # Which row it is of all the data, and not of the sample, the pieces know.
            chunks.each(EncodingCheck(self.kernel if is_kernel(self.kernel) else RBF()))
            raise
        kernel = kernel.resolve(points)
        check_definite(kernel, Definite.POSITIVE, False, type(self).__name__)
        candidates = max(_FEW_CANDIDATES, _SAMPLE_A_LANDMARK * count)
        budget = min(max(self.memory // 2, 16 * count * count), 8 * count * candidates)
        chosen = choose_landmarks(
            kernel, points, Nystrom(count, spec.method, spec.random_state), budget
        )
        self.kernel_ = kernel
        basis = LandmarkBasis.for_passes(kernel, chosen.points)
        return LandmarkGram(basis, self._passes(basis, chunks))

    def _check_memory(self, count: int) -> None:
        needed = 8 * 5 * count**2
        if needed > self.memory:
            most = math.isqrt(self.memory // 40)
            raise NotEnoughMemory(
                f"{type(self).__name__}: the matrices of {count:,} landmarks need "
                f"{readable(needed)}, and memory= allows {readable(self.memory)}. Raise it, or "
                f"take {most:,} landmarks at most."
            )

    def _passes(self, basis: LandmarkBasis, chunks: Chunks) -> Passes:
        # What matrices and pieces leave of the budget keeps kernel values.
        constant = bool(self.fit_intercept)
        columns = len(basis) + constant
        hold = max(0, self.memory - 40 * columns**2 - self.memory // 8)
        passes = chunks.passes(basis.kernel, basis.points, constant, hold)
        if self.checkpoint is None:
            return passes
        return CheckpointedPasses(passes, self.checkpoint, self._identity(basis, chunks))

    def _identity(self, basis: LandmarkBasis, chunks: Chunks) -> dict[str, str | int]:
        """Return what the passes of this fit depend on, in words and digests."""
        ends = [chunks.first(), *chunks.at(np.array([chunks.rows - 1]))]
        few = [basis.kernel(end.X, basis.points) for end in ends]
        targets = [np.asarray(end.y) for end in ends]
        weights = [end.weights for end in ends if end.weights is not None]
        skip = ("checkpoint", "verbose", "time_limit", "max_iter", "kernel", "memory")
        settings = {
            name: repr(value) for name, value in self.get_params().items() if name not in skip
        }
        return {
            "machine": type(self).__name__,
            "kernel": repr(basis.kernel),
            **{f"{name}": text for name, text in settings.items() if "__" not in name},
            "rows": chunks.rows,
            "chunks": _digest([chunks.starts]),
            "landmarks": _digest([basis.R]),
            "data": _digest(few),
            "targets": _digest(targets),
            "sample_weight": _digest(weights),
        }

    # ---- answers -------------------------------------------------------------------------------

    def function_expansion(self) -> tuple[Expansion, Array]:
        """Return the functions of the machine as sums over landmarks, and their constants."""
        return Expansion(self.kernel_, self._landmark_points, self._coefficients), self._constants

    def _values(self, X: Objects) -> Array:
        """Return f + b, one column for each function, piece by piece."""
        check_is_fitted(self)
        chunks = chunks_in(X)
        if chunks is None:
            chunks = self._pieces(self._check_objects(X, False))
        return np.concatenate(list(self._values_of(chunks)))

    def _values_of(self, chunks: Chunks) -> Iterator[Array]:
        f, constants = self.function_expansion()
        for _, chunk in chunks.ahead(range(len(chunks))):
            yield f(chunk.X) + constants

    def _publish(
        self,
        found: Solution[LandmarkFunctions],
        gram: LandmarkGram,
        X: Objects,
        y: Targets,
        sample_weight: SampleWeights,
    ) -> None:
        gram.passes.close()
        self._landmark_points = gram.basis.points
        self._coefficients, self._constants = found.value.coefficients(gram), found.value.constants
        self.n_iter_ = found.certificate.iterations
        if y is None or isinstance(X, np.memmap) or getattr(X, "size", 0) > _LARGE_VALUES:
            self.__dict__.pop("_training", None)  # that of an earlier fit
            last = found.certificate
            self.certificate_ = replace(last, problem=f"{last.problem}, by the last pass")
        else:
            weights = read_weights(sample_weight, self.n_rows_)
            runs = Training.runs_of([found])
            self._await_judgement(Training(X, y, weights, runs, OPTIMAL_GAP))
        warn_early(type(self).__name__, found.status)

    @property
    def expansion_points(self) -> Points:
        """The landmarks, over which the functions are sums."""
        return self._landmark_points

    def judge(self, X: Objects, y: Targets, sample_weight: SampleWeights) -> Certificate:
        """Return the certificate of the fitted machine, computed from its training data."""
        raise NotImplementedError

    def _judged_pieces(self, X: Objects, y: Targets, weights: SampleWeights) -> Chunks | None:
        """Return the pieces to judge by, None where the rows are in memory."""
        chunks = chunks_in(X)
        if chunks is not None and not (y is None and weights is None):
            raise InvalidInput("certify: a source of chunks brings its own targets; leave y.")
        if chunks is not None and chunks.rows != self.n_rows_:
            raise InvalidInput(
                f"certify: the model was fitted on {self.n_rows_:,} rows, and the chunks have "
                f"{chunks.rows:,}. Pass the training data."
            )
        return chunks

    def _judge_training(self, training: Training) -> list[Certificate]:
        return [self.judge(training.points, training.targets, training.weights)]


@parameters
class StreamedRidge(DrawnRegressor, MultiOutputMixin, RegressorMixin, StreamedMachine):
    """Kernel ridge regression on landmarks, for more rows than memory holds.

    min ½ Σ wᵢ(yᵢ − f(xᵢ) − b)² + ½λ‖f‖²,  f = Σⱼ aⱼ k(zⱼ, ·) over M landmarks zⱼ

    The data are read in passes: kernel values with the landmarks exist a block at a time, in
    float32, and are summed in float64. Preconditioned conjugate gradients need a handful of passes,
    and the last one, in float64, gives the certificate.

    Parameters
    ----------
    alpha : float
        λ > 0.
    kernel : Kernel or str
        A kernel or the name of one.
    gamma, degree, coef0
        Parameters of kernels given by name, as in :class:`SVR`.
    approximation : int or Nystrom
        The number of landmarks, or how to choose them. They are chosen from a sample of the rows.
    fit_intercept : bool
        Whether there is a constant b, which has no penalty.
    tol : float
        The relative error at which it stops; the gap is about its square.
    max_iter : int
        Most steps, which are passes over the data.
    time_limit : float, optional
        Seconds after which it stops.
    memory : int
        Bytes that the fit may take besides its input. What it does not need keeps kernel values.
    checkpoint : path, optional
        A file from which a fit that was killed goes on.
    verbose : bool
        Whether to show a bar with the error and the time left.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel, settled on a sample of the data.
    dual_coef_ : array of shape (landmarks,) or (landmarks, targets)
        The coefficients a.
    intercept_ : float or array of shape (targets,)
        The constant b.
    certificate_ : Certificate
        How far the answer is from the best one among functions of the landmarks, and how far that
        may be from the best one of all: ``approximation_cost``. For data in pieces it is that of
        the last pass, and says so: its rounding is not bounded. ``certify(model, chunks)`` reads
        the pieces once more, and bounds it.
    n_iter_, n_rows_, n_features_in_, feature_names_in_

    References
    ----------
    Rudi, Carratino and Rosasco, Falkon: an optimal large scale kernel method, NIPS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import StreamedRidge
    >>> X = np.linspace(0, 6, 500)[:, None]
    >>> model = StreamedRidge(alpha=1e-3, approximation=30).fit(X, np.sin(X).ravel())
    >>> model.predict([[1.0], [5.0]]).round(3), np.sin([1.0, 5.0]).round(3)
    (array([ 0.842, -0.959]), array([ 0.841, -0.959]))
    """

    STATE: ClassVar[State] = {
        **StreamedMachine.STATE,
        "dual_coef_": OneOf(
            Numbers("landmarks", any_order=True), Numbers("landmarks", "functions", any_order=True)
        ),
        "intercept_": OneOf(Number(), Numbers("functions")),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [Interval(Real, 0, None, closed="neither")],
        **StreamedMachine._parameter_constraints,
    }

    alpha: float = 1.0
    _: KW_ONLY
    tol: float = 1e-6

    @with_callbacks
    def fit(self, X: Objects, y: Targets = None, sample_weight: SampleWeights = None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : array, memory map, sparse matrix, frame or list; or Chunks
            Training objects, or a source that brings them in pieces with their targets.
        y : array of shape (n,) or (n, targets)
            Left away where ``X`` is a source of chunks.
        sample_weight : array of shape (n,), optional
            Weights wᵢ ≥ 0.
        """
        self._check_parameters()
        budget = Budget.within(self.time_limit, tol=self.tol, max_iter=self.max_iter)

        def read() -> Chunks:
            objects, targets = self._check_objects(X, True), read_targets(y)
            weights = None if sample_weight is None else read_weights(sample_weight, len(targets))
            return self._pieces(objects, targets, weights)

        chunks = self._source(X, y, read)
        shape = np.shape(chunks.first().y)
        flat = len(shape) == 1
        gram = self._plan(chunks)
        with watching(self, X, y, self.tol, self.verbose) as monitor:
            limits = budget.but(monitor=monitor)
            found = solve_ridge(gram, 1 if flat else shape[1], self.alpha, limits)
        self._publish(found, gram, X, y, sample_weight)
        publish_regression(self, found, gram, flat)
        return self

    def judge(self, X: Objects, y: Targets, sample_weight: SampleWeights) -> Certificate:
        chunks = self._judged_pieces(X, y, sample_weight)
        if chunks is not None:
            return judge_ridge_pieces(self, self._landmark_points, self.alpha, chunks)
        X = self._check_objects(X, False)
        return judge_regression(self, self._landmark_points, self.alpha, X, y, sample_weight)

    def predict(self, X: Objects) -> Array:
        """Return f(x) + b for each object: shape (m,) or (m, targets)."""
        values = self._values(X)
        return values[:, 0] if self.dual_coef_.ndim == 1 else values


def _digest(arrays: Sequence[ArrayLike]) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        values = np.ascontiguousarray(array)
        digest.update(repr((values.shape, values.dtype.str)).encode())
        digest.update(values.astype("U").tobytes() if values.dtype == object else values.tobytes())
    return digest.hexdigest()[:32]
