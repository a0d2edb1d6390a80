"""Classification of data larger than memory."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.extmath import softmax
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from mercer._files.fields import LABELS, Numbers, State
from mercer._sklearn import Interval, StrOptions, check_targets
from mercer._typing import Array, IntArray, Objects, SampleWeights, Targets
from mercer.estimators.constructor import parameters
from mercer.estimators.drawn import DrawnClassifier
from mercer.estimators.on_landmarks import judge_classes, publish_classes, solve_classes
from mercer.estimators.progress import watching, with_callbacks
from mercer.estimators.ridge.ridge_plan import read_weights
from mercer.estimators.state import check_classes
from mercer.estimators.stream.stream_judge import judge_class_pieces
from mercer.estimators.stream.streamed import StreamedMachine
from mercer.exceptions import InvalidInput
from mercer.landmarks.chunks import Chunk, Chunks
from mercer.problems.certificate import Certificate
from mercer.problems.landmark_losses import LOSSES
from mercer.solvers.base import Budget


@dataclass(frozen=True, eq=False)
class _Labelling:
    """Replace the targets of a piece by the numbers of their classes; let weights count classes."""

    classes: Any
    factors: Array | None

    def __call__(self, chunk: Chunk) -> Chunk:
        labels = np.searchsorted(self.classes, chunk.y)
        weights = chunk.weights
        if self.factors is not None:
            mine = self.factors[labels]
            weights = mine if weights is None else weights * mine
        return Chunk(chunk.X, labels, weights, chunk.first)


def _count_classes(chunk: Chunk) -> tuple[Any, Any] | None:
    """Return the classes in a piece and the weight of each; None where y has other columns."""
    labels = np.asarray(chunk.y)
    if labels.ndim != 1:
        return None
    values, codes = np.unique(labels, return_inverse=True)
    return values, np.bincount(codes, chunk.weights, len(values))


@parameters
class StreamedClassifier(DrawnClassifier, ClassifierMixin, StreamedMachine):
    """Kernel classification on landmarks, for more rows than memory holds.

    min ½ Σ_c ‖f_c‖² + C Σ sᵢ ℓ(yᵢ, f(xᵢ) + b),  f_c = Σⱼ aⱼ_c k(zⱼ, ·) over M landmarks zⱼ

    ``loss="squared_hinge"`` is max(0, 1 − tf)², a support vector machine, with one class against
    the rest where there are several; ``loss="logistic"`` is −log p_y with probabilities p, the
    softmax of f. Two classes share one function. Newton's method needs some passes over the data;
    the last one, in float64, gives the certificate.

    Parameters
    ----------
    C : float
        The weight of the losses against the penalty.
    loss : {"squared_hinge", "logistic"}
    kernel : Kernel or str
        A kernel or the name of one.
    gamma, degree, coef0
        Parameters of kernels given by name, as in :class:`SVC`.
    approximation : int or Nystrom
        The number of landmarks, or how to choose them. They are chosen from a sample of the rows.
    fit_intercept : bool
        Whether there are constants b, which have no penalty.
    class_weight : dict or "balanced" or None
        Factors of C for each class.
    tol : float
        The relative error at which it stops; the relative gap is about its square.
    max_iter : int
        Most passes over the data.
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
    classes_ : array
    kernel_ : Kernel
        The kernel, settled on a sample of the data.
    dual_coef_ : array of shape (functions, landmarks)
        The coefficients a.
    intercept_ : array of shape (functions,)
        The constants b.
    certificate_ : Certificate
        How far the answer is from the best one among functions of the landmarks, and how far that
        may be from the best one of all: ``approximation_cost``. For data in pieces it is that of
        the last pass, whose rounding is not bounded; :func:`certify` bounds it.
    n_iter_, n_rows_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> from mercer import ArrayChunks, StreamedClassifier, load_data
    >>> heart = load_data("heart")
    >>> machine = StreamedClassifier(approximation=50).fit(ArrayChunks(heart.X, heart.y))
    >>> bool(machine.score(heart.X, heart.y) > 0.8), machine.certificate_.optimal
    (True, True)
    """

    STATE: ClassVar[State] = {
        **StreamedMachine.STATE,
        "classes_": LABELS,
        "dual_coef_": Numbers("functions", "landmarks", any_order=True),
        "intercept_": Numbers("functions"),
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` where landmarks, coefficients and classes do not fit."""
        super().check_state()
        check_classes(self.classes_, len(self._constants))

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "loss": [StrOptions(set(LOSSES))],
        **StreamedMachine._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    C: float = 1.0
    _: KW_ONLY
    loss: str = "squared_hinge"
    class_weight: dict[Any, float] | str | None = None
    tol: float = 1e-3

    @with_callbacks
    def fit(self, X: Objects, y: Targets = None, sample_weight: SampleWeights = None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : array, memory map, sparse matrix, frame or list; or Chunks
            Training objects, or a source that brings them in pieces with their classes.
        y : array of shape (n,)
            The classes; left away where ``X`` is a source of chunks.
        sample_weight : array of shape (n,), optional
            Factors of C for each row.
        """
        self._check_parameters()
        budget = Budget.within(self.time_limit, tol=self.tol, max_iter=self.max_iter)

        def read() -> Chunks:
            objects = self._check_objects(X, True)
            labels = check_targets(y, multi_output=False, estimator=self)
            check_classification_targets(labels)
            weights = None if sample_weight is None else read_weights(sample_weight, len(labels))
            return self._pieces(objects, labels, weights)

        gram = self._plan(self._read_classes(self._source(X, y, read)))
        loss = LOSSES[self.loss](len(self.classes_))
        # One preconditioner for each class, where the budget has room for them.
        shared = 16 * gram.passes.columns**2 * (2 + loss.functions) > self.memory
        with watching(self, X, y, self.tol, self.verbose) as monitor:
            limits = budget.but(monitor=monitor)
            found = solve_classes(gram, loss, float(self.C), limits, shared)
        self._publish(found, gram, X, y, sample_weight)
        publish_classes(self, found, gram)
        return self

    def judge(self, X: Objects, y: Targets, sample_weight: SampleWeights) -> Certificate:
        loss = LOSSES[self.loss](len(self.classes_))
        chunks = self._judged_pieces(X, y, sample_weight)
        if chunks is not None:
            return judge_class_pieces(self, self._landmark_points, loss, self._labelled(chunks))
        X = self._check_objects(X, False)
        labels = np.searchsorted(self.classes_, np.asarray(y).ravel())
        weights = self.weights_of(labels, sample_weight)
        return judge_classes(self, self._landmark_points, loss, X, labels, weights)

    def weights_of(self, labels: IntArray, sample_weight: SampleWeights) -> Array:
        """Return the weights of rows with these numbers of classes, those of classes included."""
        weights = read_weights(sample_weight, len(labels))
        totals = np.bincount(labels, weights, len(self.classes_))
        factors = self._class_factors(totals.tolist())
        return weights if factors is None else weights * factors[labels]

    def decision_function(self, X: Objects) -> Array:
        """Return f + b: shape (m,) for two classes, else (m, classes)."""
        values = self._values(X)
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Objects) -> Any:
        """Return the class of each object."""
        scores = self.decision_function(X)
        places = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[places]

    @available_if(lambda self: _gives_probabilities(self))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Objects) -> Array:
        """Return the probability of each class, in the order of ``classes_``."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        return np.asarray(softmax(scores, copy=True))

    @available_if(lambda self: _gives_probabilities(self))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Objects) -> Array:
        """Return the logarithms of the probabilities."""
        return np.asarray(np.log(self.predict_proba(X)))

    def _read_classes(self, chunks: Chunks) -> Chunks:
        """Find the classes in one pass, and return the pieces with their numbers as targets."""
        counts, kind = self._count(chunks)
        self.classes_ = np.array(sorted(counts), dtype=kind)
        weighty = [value for value in sorted(counts) if counts[value] > 0]
        if len(weighty) < 2:
            raise ValueError(
                f"{type(self).__name__}: there is only one class with weight, {weighty[:1]}; at "
                "least two are needed."
            )
        return self._numbered(chunks, counts)

    def _labelled(self, chunks: Chunks) -> Chunks:
        """Return pieces with the numbers of classes that are known already."""
        counts, _ = self._count(chunks)
        if sorted(counts) != self.classes_.tolist():
            raise InvalidInput(
                "certify: the chunks hold other classes than the model was fitted on."
            )
        return self._numbered(chunks, counts)

    def _count(self, chunks: Chunks) -> tuple[dict[Any, float], np.dtype[Any]]:
        """Return the weight of each class, and the type of the classes."""
        counts: dict[Any, float] = {}
        types = []
        for found in chunks.each(_count_classes):
            if found is None:
                raise InvalidInput(f"{type(self).__name__}: y has to have one class for each row.")
            values, sums = found
            types.append(values.dtype)
            for value, total in zip(values.tolist(), sums.tolist(), strict=True):
                counts[value] = counts.get(value, 0.0) + total
        return counts, np.result_type(*types)

    def _numbered(self, chunks: Chunks, counts: dict[Any, float]) -> Chunks:
        factors = self._class_factors([counts[value] for value in sorted(counts)])
        return chunks.mapped(_Labelling(self.classes_, factors))

    def _class_factors(self, totals: list[float]) -> Array | None:
        if self.class_weight is None:
            return None
        if isinstance(self.class_weight, str):
            whole = np.maximum(np.array(totals), 1e-300)
            return np.asarray(whole.sum() / (len(whole) * whole))
        known = dict(self.class_weight)
        unknown = [label for label in known if label not in self.classes_.tolist()]
        if unknown:
            raise ValueError(f"class_weight names the class {unknown[0]!r}, which y does not hold.")
        return np.array([float(known.get(label, 1.0)) for label in self.classes_.tolist()])


def _gives_probabilities(machine: StreamedClassifier) -> bool:
    if machine.loss == "logistic":
        return True
    raise AttributeError(
        f"StreamedClassifier(loss={machine.loss!r}) has no probabilities; loss='logistic' has."
    )
