"""The contest of kernels, weights of columns, widths and penalties, judged by leave-one-out.

A candidate is a kernel with a width on columns with weights. All its penalties, and the answers for
rows that were left out, come from one eigendecomposition: no fold is ever fitted. The grid is
searched from coarse to fine, so that most of it is never looked at. At last the weights of the
columns are learnt, from those that were best so far.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock

import numpy as np

from mercer import _parallel
from mercer._typing import Array, IntArray
from mercer.estimators.automatic.column_weights import (
    MOST_ROWS as ALIGNED_ROWS,
    centred_alignments,
    powers_of,
)
from mercer.estimators.automatic.learnt_weights import MOST_COLUMNS, learnt_weights
from mercer.estimators.automatic.measures import Judged, Measure
from mercer.estimators.ridge.ridge_matrix import spectrum_of
from mercer.gram.base import GramMatrix
from mercer.gram.computed import Gram
from mercer.gram.feature_gram import gram_of
from mercer.kernels.base import Kernel
from mercer.kernels.vectors.dot import Linear
from mercer.kernels.vectors.matern import Matern
from mercer.kernels.vectors.radial import RBF, Laplacian, Radial
from mercer.landmarks.choose import Nystrom
from mercer.landmarks.landmark_gram import approximate
from mercer.solvers.ridge_path import ridge_path

EXACT_ROWS = 600
"""Rows up to which the whole matrix is decomposed: a tenth of a second."""
LANDMARKS = 400
"""Landmarks through which more rows are judged: as long as 600 rows exactly."""
POWERS = (0.0, 0.5, 1.0, 2.0)
"""Powers of the alignments: from equal weights to a choice of columns."""
_PENALTIES = 10.0 ** np.arange(-3, 2.1, 0.5)
"""λ beside the mean of the diagonal of K: from next to interpolation to next to the mean."""
_LEARNT_PENALTIES = 10.0 ** np.arange(-4, 2.1, 0.5)
"""The same for weights that were learnt, which often leave little noise."""
_LEARNT_EXACT_ROWS = 1500
"""Rows up to which these few are judged exactly: a second."""
_PARTS = 3
"""Parts of the rows, each judged by weights that were learnt from the others."""
_FIRST_WIDTHS = (0.3, 3.0)
"""Beside 1, the widths that the first few are tried with, in median distances."""
_LEADERS = 3
"""Candidates of width 1 that are tried with other widths."""
_FINER = 1.8
"""Between two widths of the first grid, whose steps are about 3."""
_MOST_GROWTH = 3
"""Times that the widths grow beyond the grid, while the best is at its end."""
_NEAR = 4
"""Candidates near the best two, and those of other kernels, in a contest of usual length."""
_NOISES = 2.0
"""Standard errors of a difference that a voter may be behind: chosen on half of the tables."""
_STATISTIC_BYTES = 1 << 28
"""Memory for distances that all widths share: those of 5,000 rows."""

Watch = Callable[[int, int, float], None]
"""Is told how many candidates were judged, of about how many, and the best score so far."""
TIME_LIMIT, INTERRUPTED = "time limit", "interrupted"
"""Why a contest ended before it was through."""

RADIAL: Mapping[str, Callable[[float | str], Radial]] = {
    "Laplacian": lambda width: Laplacian(length_scale=width),
    "L2 Laplacian": lambda width: Matern(nu=0.5, length_scale=width),
    "Matern": lambda width: Matern(nu=1.5, length_scale=width),
    "RBF": lambda width: RBF(length_scale=width),
}
"""Kernels with a width: of the L1 distance, and three of the Euclidean one, rough to smooth."""
_LAPLACIANS = ("Laplacian", "L2 Laplacian")
"""The kernels that are tried first, with all weights; the others start from what suits these."""
_UNSEEN_KERNELS = ("Laplacian", "Matern")
"""The kernels, one of each distance, whose weights are learnt for every part and for all rows."""


@dataclass(frozen=True)
class Candidate:
    """A kernel by its name, on one coding of the table, with aᵖ as weights of the columns.

    Weights that are ``learnt`` started from these, and hold the width.
    """

    coding: int
    power: float
    kernel: str
    width: float = 1.0
    learnt: bool = False

    @property
    def has_equal_weights(self) -> bool:
        """Whether all columns count alike."""
        return self.power == 0 and not self.learnt

    def wider(self, factor: float) -> Candidate:
        """Return the same with another width."""
        return Candidate(self.coding, self.power, self.kernel, self.width * factor)


@dataclass(frozen=True, eq=False)
class Entry:
    """A candidate with its best penalty, and how it did on rows that were left out."""

    candidate: Candidate
    kernel: Kernel
    alpha: float
    judged: Judged
    left_out: Array
    seconds: float


class Coordinates:
    """Rows of numbers that one coding gives, and the weights that their columns earn."""

    def __init__(self, Z: Array, Y: Array) -> None:
        self.Z, self._Y = Z, Y
        self._grams: dict[tuple[str, float], Gram] = {}
        self._starts: dict[Candidate, Entry] = {}
        self._learnt: dict[Candidate, tuple[Array, float]] = {}

    @cached_property
    def alignments(self) -> Array:
        """The centred alignment of each column."""
        return centred_alignments(self.Z[:ALIGNED_ROWS], self._Y[:ALIGNED_ROWS])

    def weights(self, candidate: Candidate) -> Array:
        """Return the factors of the columns: aᵖ of an L1 distance, √aᵖ where squares are summed."""
        if candidate.learnt:
            return self._learn(candidate)[0]
        weights = powers_of(self.alignments, candidate.power)
        return weights if candidate.kernel == "Laplacian" else np.sqrt(weights)

    def start_from(self, entry: Entry, kernel: str) -> Candidate:
        """Return a candidate that will learn its weights from those of an entry."""
        candidate = Candidate(entry.candidate.coding, entry.candidate.power, kernel, learnt=True)
        self._starts[candidate] = entry
        return candidate

    def _learn(self, candidate: Candidate) -> tuple[Array, float]:
        """Return factors of the columns, the greatest 1, and the width that belongs to them."""
        if candidate not in self._learnt:
            self._learnt[candidate] = self._learn_from(slice(None), candidate)
        return self._learnt[candidate]

    def _learn_from(self, rows: IntArray | slice, candidate: Candidate) -> tuple[Array, float]:
        start, kernel = self._starts[candidate], RADIAL[candidate.kernel](1.0)
        factors = self.weights(start.candidate) / _width(start.kernel)
        found = learnt_weights(
            kernel, self.Z[rows], self._Y[rows], factors**kernel.power, start.alpha
        )
        factors = found ** (1 / kernel.power)
        top = float(factors.max())
        return factors / top, 1 / top

    def gram_learnt_from(self, rows: IntArray, candidate: Candidate) -> Gram:
        """Return the matrix of all rows, with weights that were learnt from some of them."""
        return self._learnt_gram(candidate, *self._learn_from(rows, candidate))

    def _learnt_gram(self, candidate: Candidate, factors: Array, width: float) -> Gram:
        rows = np.ascontiguousarray(self.Z * factors)
        return Gram(RADIAL[candidate.kernel](width), rows, dtype=np.float64)

    def gram(self, candidate: Candidate) -> Gram:
        """Return the matrix of a candidate; all widths share their distances."""
        if candidate.learnt:
            return self._learnt_gram(candidate, *self._learn(candidate))
        key = (candidate.kernel, candidate.power)
        if key not in self._grams:
            rows = np.ascontiguousarray(self.Z * self.weights(candidate))
            first = RADIAL[candidate.kernel]("median") if candidate.kernel in RADIAL else Linear()
            held = _STATISTIC_BYTES if len(rows) <= EXACT_ROWS else 0
            made = Gram(first, rows, statistic_bytes=held, dtype=np.float64)
            self._grams.setdefault(key, made)  # another thread may have been faster
        gram = self._grams[key]
        if candidate.kernel not in RADIAL:
            return gram
        return gram.with_kernel(RADIAL[candidate.kernel](candidate.width * _width(gram.kernel)))


class Contest:
    """Candidates that were judged on the same rows.

    Parameters
    ----------
    codings : sequence of arrays of shape (n, columns)
        The rows, as the codings of the table give them.
    Y : array of shape (n, functions)
        The targets.
    measure : function
        Judges the values of left-out rows.
    deadline : float
        The time after which no candidate is tried any more; one always is.
    watch : function, optional
        Called after each candidate.
    groups : array of shape (n,), optional
        Rows with the same number are left out together.
    unseen : bool
        Whether weights that are learnt are judged on rows that they were not learnt from.

    Attributes
    ----------
    stopped : str
        Why it ended early: ``"time limit"``, ``"interrupted"``, or nothing.
    """

    def __init__(
        self,
        codings: Sequence[Array],
        Y: Array,
        measure: Measure,
        deadline: float,
        watch: Watch | None = None,
        groups: IntArray | None = None,
        unseen: bool = False,
    ) -> None:
        self.Y, self._measure, self._deadline, self._watch = Y, measure, deadline, watch
        self._groups, self._unseen = groups, unseen
        self.stopped = ""
        self._coordinates = [Coordinates(Z, Y) for Z in codings]
        self._entries: dict[Candidate, Entry] = {}

    @property
    def entries(self) -> list[Entry]:
        """All that were tried, the best first."""
        return sorted(self._entries.values(), key=lambda entry: -entry.judged.score)

    def weights(self, candidate: Candidate) -> Array:
        """Return the factors of the columns of a candidate."""
        return self._coordinates[candidate.coding].weights(candidate)

    def alignments(self, coding: int) -> Array:
        """Return the alignments of the columns of a coding."""
        return self._coordinates[coding].alignments

    @property
    def usual_length(self) -> int:
        """About how many candidates are judged, unless widths have to grow."""
        first = len(POWERS) * len(_LAPLACIANS) * len(self._coordinates)
        learnt = len(_UNSEEN_KERNELS if self._unseen else RADIAL)
        return first + _LEADERS * len(_FIRST_WIDTHS) + 2 * _NEAR + learnt

    def run(self) -> None:
        """Judge candidates; Ctrl-C ends it as a deadline does, once there is one to choose."""
        try:
            self._search()
        except KeyboardInterrupt:
            if not self._entries:
                raise
            self.stopped = INTERRUPTED

    def _search(self) -> None:
        """Try kernels and weights at one width, then widths of the best, then what is near."""
        codings = range(len(self._coordinates))
        self.try_all(Candidate(c, p, k) for p in POWERS for c in codings for k in _LAPLACIANS)
        self.try_all(
            entry.candidate.wider(factor)
            for entry in self.entries[:_LEADERS]
            for factor in _FIRST_WIDTHS
        )
        best = self.entries[0].candidate
        for power in dict.fromkeys((best.power, 0.0)):
            self.try_all(Candidate(best.coding, power, kernel) for kernel in ("RBF", "linear"))
        self.try_all(
            entry.candidate.wider(factor)
            for entry in self.entries[:2]
            for factor in (1 / _FINER, _FINER)
        )
        self._grow()
        self._learn()

    def try_all(self, candidates: Iterable[Candidate]) -> None:
        """Judge candidates that were not tried yet, one on each core, while there is time."""
        new = [
            candidate
            for candidate in dict.fromkeys(candidates)
            if candidate not in self._entries
            and (candidate.kernel in RADIAL or candidate.width == 1.0)
        ]
        found: list[Entry | None] = [None] * len(new)
        telling = Lock()

        def task(at: int) -> None:
            if (self._entries or at > 0) and time.perf_counter() > self._deadline:
                self.stopped = TIME_LIMIT
                return
            found[at] = self._judge(new[at])
            if self._watch is not None:
                with telling:
                    there = [*self._entries.values(), *(e for e in found if e is not None)]
                    best = max(entry.judged.score for entry in there)
                    self._watch(len(there), max(len(there), self.usual_length), best)

        try:
            _parallel.run(task, range(len(new)), _parallel.thread_count())
        finally:  # in their order, whoever was ready first: of equals the first one wins
            self._entries |= {entry.candidate: entry for entry in found if entry is not None}

    def voters(self, most: int) -> list[Entry]:
        """Return the best one, and a few more whose distance to it may be noise.

        Of these the closest to the targets come first: areas under curves differ by luck where they
        are near each other, and squared errors say more of what they do not see. Voters that err on
        different rows are worth more than the best few, which are nearly the same: each kernel
        takes part once with equal weights of the columns and once with others, and half of the
        places are for equal weights, which cannot be wrong about what counts.

        Learnt weights that have seen the answers that judge them look better than they are: they
        make up half of the vote at most.
        """
        best, *others = self.entries
        near = [entry for entry in others if _may_be_as_good(entry.judged, best.judged)]
        near = [best, *sorted(near, key=lambda entry: -entry.judged.closeness)]
        if not self._unseen:
            learnt = [entry for entry in near if entry.candidate.learnt][: (most + 1) // 2]
            near = [entry for entry in near if not entry.candidate.learnt or entry in learnt]
        kinds: dict[tuple[str, bool], Entry] = {}
        for entry in near:
            kinds.setdefault((entry.candidate.kernel, entry.candidate.has_equal_weights), entry)
        varied = list(kinds.values())
        equal = [entry for entry in varied if entry.candidate.has_equal_weights][: most // 2]
        rest = [entry for entry in varied if entry not in equal][: most - len(equal)]
        return [entry for entry in varied if entry in equal or entry in rest]

    def _grow(self) -> None:
        """Go on to wider or narrower kernels while the best one is at the end of its widths."""
        for _ in range(_MOST_GROWTH):
            best = self.entries[0].candidate
            if best.kernel not in RADIAL:
                return
            line = Candidate(best.coding, best.power, best.kernel)
            widths = [c.width for c in self._entries if c.wider(1 / c.width) == line]
            if best.width == max(widths):
                self.try_all([best.wider(_FINER)])
            elif best.width == min(widths):
                self.try_all([best.wider(1 / _FINER)])
            else:
                return

    def _learn(self) -> None:
        """Let the errors of rows that were left out move the weights of what was best so far."""
        coding = self.entries[0].candidate.coding
        coordinates = self._coordinates[coding]
        # Rows are left out one by one there, which is no good where groups matter.
        if coordinates.Z.shape[1] > MOST_COLUMNS or self._groups is not None:
            return
        tried = [e for e in self.entries if e.candidate.coding == coding]
        kernels = _UNSEEN_KERNELS if self._unseen else tuple(RADIAL)
        starts = {kernel: _nearest(kernel, tried) for kernel in kernels}
        self.try_all(
            coordinates.start_from(start, kernel) for kernel, start in starts.items() if start
        )

    def _judge(self, candidate: Candidate) -> Entry:
        """Return the best penalty of a candidate, by leave-one-out from one spectrum."""
        began = time.perf_counter()
        coordinates = self._coordinates[candidate.coding]
        gram = coordinates.gram(candidate)
        if candidate.learnt and self._unseen:
            alphas, left_out = self._left_out_unseen(candidate)
        else:
            alphas, left_out = self._left_out(gram, candidate)
        found = [self._measure(values, self.Y) for values in left_out]
        at = int(np.argmax([judged.score for judged in found]))
        seconds = time.perf_counter() - began
        return Entry(candidate, gram.kernel, float(alphas[at]), found[at], left_out[at], seconds)

    def _left_out(self, gram: Gram, candidate: Candidate) -> tuple[Array, Array]:
        """Return penalties, and the values of rows that were left out, for each of them."""
        n = len(self.Y)
        spectrum = spectrum_of(self._matrix(gram, candidate), np.ones(n))
        scale = float(gram.diag().mean()) or 1.0
        penalties = _LEARNT_PENALTIES if candidate.learnt else _PENALTIES
        alphas = np.maximum(penalties * scale, 10 * spectrum.rounding)
        path = ridge_path(spectrum, self.Y, alphas, np.ones(n), True, self._groups)
        return alphas, self.Y - path.residuals

    def _left_out_unseen(self, candidate: Candidate) -> tuple[Array, Array]:
        """Return the same, each part of the rows by weights that were learnt from the others.

        Rows are dealt out in the order of their targets and values: every part has its share of
        each class, and nothing depends on the order in which the rows are given.
        """
        coordinates = self._coordinates[candidate.coding]
        part_of = np.empty(len(self.Y), dtype=np.intp)
        part_of[np.lexsort((*coordinates.Z.T, *self.Y.T))] = np.arange(len(self.Y)) % _PARTS
        alphas = np.zeros(len(_LEARNT_PENALTIES))
        values = np.empty((len(alphas), *self.Y.shape))
        for part in range(_PARTS):
            gram = coordinates.gram_learnt_from(np.flatnonzero(part_of != part), candidate)
            own, found = self._left_out(gram, candidate)
            np.maximum(alphas, own, out=alphas)
            values[:, part_of == part] = found[:, part_of == part]
        return alphas, values

    def _matrix(self, gram: Gram, candidate: Candidate) -> GramMatrix:
        """Return the matrix that judges a candidate: exact, of few features, or on landmarks."""
        if candidate.kernel not in RADIAL:
            return gram_of(gram.kernel, gram.points)
        seen = candidate.learnt and not self._unseen
        if gram.shape[0] <= (_LEARNT_EXACT_ROWS if seen else EXACT_ROWS):
            return gram
        found = approximate(gram.kernel, gram.points, Nystrom(LANDMARKS, "uniform"), "contest")
        assert found is not None
        return found


def _may_be_as_good(judged: Judged, best: Judged) -> bool:
    """Whether a score is behind the best one by noise, and by no more than its size.

    A few large errors make much noise: a loss that is twice the least one is worse all the same.
    """
    behind = best.score - judged.score
    return behind <= _NOISES * best.noise(judged) and behind <= abs(best.score)


def _nearest(kernel: str, entries: Sequence[Entry]) -> Entry | None:
    """Return the best entry with the distance of a kernel."""
    power = RADIAL[kernel](1.0).power
    near = [name for name, make in RADIAL.items() if make(1.0).power == power]
    return next((entry for entry in entries if entry.candidate.kernel in near), None)


def _width(kernel: Kernel) -> float:
    return float(getattr(kernel, "length_scale"))  # noqa: B009
