"""What a report shows, as plain data: texts, numbers and arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array, IntArray, Objects
from mercer.exceptions import InvalidInput
from mercer.report import codec
from mercer.report.reasons import Inside, Shares, Vote
from mercer.report.threshold_curves import ThresholdCurves

Flags: TypeAlias = NDArray[np.bool_]
Levels: TypeAlias = NDArray[np.uint8]

VERSION = 1
"""The version of written reports; a reader refuses others."""


@dataclass(frozen=True, eq=False)
class MeasuredScore:
    """One measure on the test rows, with its interval and what the baseline reaches.

    ``form`` says how to write it: ``percent``, ``share`` (0 … 1) or ``number``.
    """

    name: str
    value: float
    low: float
    high: float
    baseline: float
    form: str
    higher_is_better: bool
    method: str
    meaning: str


@dataclass(frozen=True, eq=False)
class Reference:
    """A usual method, fitted to the same training rows and asked about the same test rows.

    ``value`` is its main score; ``difference`` is the model's score minus that, with its interval
    over resamples of the test rows, the same for both.
    """

    name: str
    value: float
    difference: float
    low: float
    high: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Confusion:
    """Counts of test rows: true class (rows) × predicted class (columns)."""

    labels: list[str]
    counts: IntArray
    hidden: int

    def __post_init__(self) -> None:
        codec.check(self.counts.shape == (len(self.labels), len(self.labels)), "confusion")


@dataclass(frozen=True, eq=False)
class Residuals:
    """True and predicted numbers of (a sample of) the test rows; ``tube`` is ε."""

    rows: list[str]
    actual: Array
    predicted: Array
    tube: float | None
    total: int

    def __post_init__(self) -> None:
        codec.check_lengths("residuals", self.rows, self.actual, self.predicted)


@dataclass(frozen=True, eq=False)
class Calibration:
    """What happened (``share``, with its interval) where the model said ``said``, bin by bin."""

    probabilities: bool
    said_name: str
    share_name: str
    said: Array
    share: Array
    low: Array
    high: Array
    count: IntArray
    error: float | None

    def __post_init__(self) -> None:
        codec.check_lengths("calibration", self.said, self.share, self.low, self.high, self.count)


@dataclass(frozen=True, eq=False)
class Surface:
    """Cross-validated scores of a search, one entry for each combination that was looked at.

    ``places`` holds the position of each entry's values in ``values``, one column a parameter.
    """

    scoring: str
    folds: int
    parameters: list[str]
    values: list[list[str]]
    places: IntArray
    mean: Array
    std: Array
    dropped: Flags
    bound: Array
    best: int
    total: int

    def __post_init__(self) -> None:
        n, p = len(self.mean), len(self.parameters)
        codec.check_lengths("search", self.mean, self.std, self.dropped, self.bound)
        codec.check(self.places.shape == (n, p) and len(self.values) == p, "search")
        codec.check(0 <= self.best < n, "search")
        sizes = np.array([len(values) for values in self.values], dtype=np.intp)
        codec.check(bool((self.places >= 0).all() and (self.places < sizes).all()), "search")


@dataclass(frozen=True, eq=False)
class Proof:
    """The certificate of the fit."""

    problem: str
    status: str
    primal: float
    dual: float
    gap: float
    relative_gap: float
    stationarity: float
    primal_feasibility: float
    dual_feasibility: float
    complementarity: float
    iterations: int
    seconds: float
    kernel_evaluations: int


@dataclass(frozen=True, eq=False)
class SupportGroup:
    """How many training rows of one class (or side of the tube) are of which kind."""

    name: str
    rows: int
    support: int
    free: int | None
    bound: int | None
    wrong: int | None


@dataclass(frozen=True, eq=False)
class Support:
    """What kind of points the support vectors are."""

    groups: list[SupportGroup]
    rows: int
    support: int
    free_meaning: str
    bound_meaning: str
    wrong_meaning: str


@dataclass(frozen=True, eq=False)
class Part:
    """One summand of the kernel and its share in the decision function."""

    name: str
    weight: float | None
    share: float
    norm: float | None


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nearest support vectors of a sample of test rows.

    ``near`` (points × nearest) numbers the entries of ``support_cells``; ``similarity``,
    ``distance`` and ``contribution`` have its shape.
    """

    columns: list[str]
    rows: list[str]
    cells: list[list[str]]
    actual: list[str]
    predicted: list[str]
    decision: Array
    wrong: Flags
    question: list[str]
    support_rows: list[str]
    support_cells: list[list[str]]
    support_labels: list[str]
    near: IntArray
    similarity: Array
    distance: Array
    contribution: Array
    rest: Array
    bias: Array
    total: int
    hidden_columns: int

    def __post_init__(self) -> None:
        per_point = [self.rows, self.cells, self.actual, self.predicted, self.decision, self.wrong]
        codec.check_lengths(
            "neighbours", *per_point, self.question, self.near, self.rest, self.bias
        )
        codec.check_lengths(
            "neighbours", self.support_rows, self.support_cells, self.support_labels
        )
        shapes = {x.shape for x in (self.near, self.similarity, self.distance, self.contribution)}
        codec.check(len(shapes) == 1 and self.near.ndim == 2, "neighbours")
        widths = {len(cells) for cells in (*self.cells, *self.support_cells)}
        codec.check(widths <= {len(self.columns)}, "neighbours")
        known = (self.near >= 0) & (self.near < len(self.support_rows))
        codec.check(bool(known.all()), "neighbours")


@dataclass(frozen=True, eq=False)
class GramPicture:
    """Kernel values of a sample of training rows, ordered by class, in 256 levels."""

    levels: Levels
    low: float
    high: float
    labels: list[str]
    sizes: IntArray
    means: Array
    total: int
    ordered_by: str

    def __post_init__(self) -> None:
        n, k = int(self.sizes.sum()), len(self.labels)
        codec.check(self.levels.shape == (n, n) and 0 < n <= 2000, "Gram picture")
        codec.check(len(self.sizes) == k and self.means.shape == (k, k), "Gram picture")
        codec.check(bool((self.sizes > 0).all()), "Gram picture")


@dataclass(frozen=True, eq=False)
class Map:
    """The first two kernel principal components of a sample of the data.

    ``point`` is the number of a test row in :class:`Neighbours`, or −1 for a training row.
    """

    x: Array
    y: Array
    group: IntArray
    support: Flags
    point: IntArray
    rows: list[str]
    groups: list[str]
    ordered: bool
    explained: Array
    total: int

    def __post_init__(self) -> None:
        codec.check_lengths("map", self.x, self.y, self.group, self.support, self.point, self.rows)
        known = (self.group >= 0) & (self.group < len(self.groups))
        codec.check(bool(known.all()) and len(self.explained) == 2, "map")


@dataclass(frozen=True, eq=False)
class Fact:
    """A name with its value, both as text."""

    name: str
    value: str


@dataclass(frozen=True, eq=False)
class Record:
    """Everything that a report shows about one fitted model; see :func:`describe`.

    ``to_dict`` gives dictionaries, lists, texts, numbers and arrays, which can travel inside a
    model file; ``from_dict`` checks them and makes the record again.

    Attributes
    ----------
    version : int
        Of the form of the record; a reader refuses others.
    title, machine, kernel, task, target : str
        What was learnt, by what, from what.
    headline, trust, verdict, remarks
        The answer in a sentence, ``"yes"``, ``"caution"``, ``"no"`` or ``"unknown"``, why that, and
        what should be known beside.
    facts, reproduction : list of Fact
        Names with values: of the model, and of what makes the run again.
    kernel_reasons : list of str
        Why this kernel and this machine.
    scores, baseline, train_score
        The measures on the test rows, what the simplest answer is, and the main score in training.
    confusion, residuals, calibration, curves : or None
        True against predicted classes or numbers, what happened where the model said how sure it
        is, and what other thresholds would give.
    references : list of Reference
        The usual methods on the same rows.
    suspicions : list of str
        Leaks, copies, order in time and the like.
    search, vote : or None
        All that was tried, and the members of a vote.
    proof, support : or None
        The certificate, and the kinds of support vectors.
    parts, parts_are_columns
        Summands of the kernel with their shares, and whether each is a column.
    neighbours, gram, map : or None
        Nearest support vectors, a picture of the matrix, two components.
    shares, insides
        How much columns give to the answers, and letters or nodes inside of some.
    folds : int
        Of cross-validation, where the scores are from there and there are no test rows; else 0.
    created : str
        The date.

    Examples
    --------
    >>> from mercer import Record, Study
    >>> record = Study.fit("diabetes", machine="linear").record
    >>> record.task, [score.name for score in record.scores][:1]
    ('number', ['R²'])
    >>> Record.from_dict(record.to_dict()).headline == record.headline
    True
    """

    version: int
    title: str
    machine: str
    kernel: str
    task: str
    target: str
    headline: str
    trust: str
    verdict: str
    remarks: list[str]
    facts: list[Fact]
    kernel_reasons: list[str]
    baseline: str
    train_score: float | None
    scores: list[MeasuredScore]
    confusion: Confusion | None
    residuals: Residuals | None
    calibration: Calibration | None
    search: Surface | None
    proof: Proof | None
    support: Support | None
    parts: list[Part]
    parts_are_columns: bool
    neighbours: Neighbours | None
    gram: GramPicture | None
    map: Map | None
    reproduction: list[Fact]
    created: str
    references: list[Reference] = field(default_factory=list)
    suspicions: list[str] = field(default_factory=list)
    vote: Vote | None = None
    shares: Shares | None = None
    insides: list[Inside] = field(default_factory=list)
    folds: int = 0
    curves: ThresholdCurves | None = None

    def __post_init__(self) -> None:
        codec.check(self.trust in ("yes", "caution", "no", "unknown"), "trust")
        if self.map is not None:
            points = 0 if self.neighbours is None else len(self.neighbours.rows)
            codec.check(bool((self.map.point < points).all()), "map")

    def to_dict(self) -> dict[str, Any]:
        """Return the record as dictionaries, lists, texts, numbers and arrays."""
        encoded: dict[str, Any] = codec.encode(self)
        return encoded

    @classmethod
    def from_dict(cls, data: Objects) -> Record:
        """Make a record of what ``to_dict`` gave; anything else is refused."""
        version = data.get("version") if isinstance(data, Mapping) else None
        if version != VERSION:
            raise InvalidInput(
                f"Report record: version {version!r} is not known; this mercer writes and reads "
                f"version {VERSION}. Make the report again from the data."
            )
        return codec.decode(cls, data, "record")

    def __repr__(self) -> str:
        return f"Record({self.title!r}: {self.headline})"
