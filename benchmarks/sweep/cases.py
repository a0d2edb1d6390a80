"""The cases of the sweep, drawn at random: a seed gives the same ones again, another seed others.

Each row of ``PLAN`` is a kind of case with ranges. Rows and columns are drawn evenly on a
logarithmic scale; the rows of one kind are spread over their whole range, so that every seed has
small and large ones.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

Range = tuple[float, float]

KERNEL_CELLS = 2_000_000
"""Numbers in X at most, for machines that compare all pairs of rows: 100,000 × 20."""
LINEAR_CELLS = 10_000_000
"""The same for machines that look at X a few times: 80 MB."""
GROWTH_STEPS = 5
"""Sizes from which an exponent is fitted, each about twice the one before."""


@dataclass(frozen=True)
class Case:
    """One machine, one thing to do with it, one size: plain data, as it is written to a file.

    ``parameters`` may hold ``width`` (γ times the mean squared norm of the rows) and ``share``
    (α as a part of the smallest one that gives zeros only), which become γ and α when the data
    are there. ``density`` is 0 for dense data.
    """

    machine: str
    action: str
    rows: int
    columns: int
    classes: int
    parameters: Mapping[str, Any]
    density: float
    dtype: str
    new_rows: int
    data_seed: int
    growth: bool = False

    @property
    def name(self) -> str:
        """What the tables call it."""
        kernel = self.parameters.get("kernel")
        words = [self.machine if kernel is None else f"{self.machine} {kernel}"]
        if self.action == "predict":
            words[0] += f", predict {self.new_rows:,} row{'s' * (self.new_rows > 1)}"
        words.append(f"{self.rows:,} × {self.columns:,}")
        if self.classes:
            words.append(f"{self.classes} classes")
        for key, value in self.parameters.items():
            if key != "kernel":
                words.append(f"{key} = {value}" if isinstance(value, str) else f"{key} = {value:g}")
        if self.density:
            words.append(f"sparse {self.density:g}")
        if self.dtype == "float32":
            words.append(self.dtype)
        return ", ".join(words)

    @property
    def key(self) -> str:
        """The name and the seed of the data: what tells a resumed run that it is done."""
        return f"{self.name} [{self.data_seed}{', growth' if self.growth else ''}]"

    def as_json(self) -> dict[str, Any]:
        """Return the case as plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Kind:
    """A row of the plan: how many cases of this kind there are, and from which ranges."""

    machine: str
    count: int
    rows: Range
    columns: Range
    classes: tuple[int, int] = (0, 0)
    choices: Mapping[str, Range] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    action: str = "fit"
    cells: int = KERNEL_CELLS
    density: Range | None = None
    dtype: str = "float64"
    new_rows: Sequence[int] = (1_000,)


RBF = {"kernel": "rbf"}
PREDICTED = (1, 100, 20_000)
"""A service that answers one row at a time, a screen of rows, a file."""
EASY = {"C": (0.1, 10), "width": (0.3, 3)}
HARD = {"C": (100, 10_000), "width": (1, 10)}
TWO, SOME, MANY = (2, 2), (2, 5), (3, 10)

PLAN = (
    # Support vector machines.
    Kind("SVC", 12, (50, 100_000), (2, 3_000), TWO, EASY, RBF),
    Kind("SVC", 8, (50, 10_000), (2, 300), TWO, HARD, RBF),
    Kind("SVC", 10, (100, 10_000), (2, 1_000), MANY, EASY, RBF),
    Kind("SVC", 4, (100, 20_000), (2, 300), SOME, EASY, RBF, dtype="float32"),
    Kind("SVC", 4, (100, 5_000), (100, 3_000), SOME, EASY, RBF, density=(0.005, 0.1)),
    Kind("SVC", 6, (50, 5_000), (2, 1_000), SOME, {"C": (0.01, 10)}, {"kernel": "linear"}),
    Kind("SVC", 5, (50, 5_000), (2, 300), SOME, EASY, {"kernel": "poly", "coef0": 1.0}),
    Kind("NuSVC", 6, (50, 10_000), (2, 300), SOME, {"nu": (0.1, 0.4), "width": (0.3, 3)}, RBF),
    Kind("SVR", 9, (50, 30_000), (2, 1_000), (0, 0), {**EASY, "epsilon": (0.02, 0.3)}, RBF),
    Kind("SVR", 2, (100, 10_000), (2, 100), (0, 0), EASY, RBF, dtype="float32"),
    Kind("NuSVR", 5, (50, 10_000), (2, 300), (0, 0), {**EASY, "nu": (0.1, 0.7)}, RBF),
    Kind("OneClassSVM", 5, (50, 30_000), (2, 300), (0, 0),
         {"nu": (0.02, 0.5), "width": (0.3, 3)}, RBF),
    # Kernel ridge, Gaussian processes, components.
    Kind("KernelRidge", 9, (50, 8_000), (2, 1_000), (0, 0),
         {"alpha": (1e-4, 10), "width": (0.3, 10)}, RBF),
    Kind("KernelRidge", 2, (100, 5_000), (2, 300), (0, 0),
         {"alpha": (1e-2, 10), "width": (0.3, 10)}, RBF, dtype="float32"),
    Kind("GaussianProcessRegressor", 8, (50, 1_500), (2, 8)),
    Kind("GaussianProcessClassifier", 5, (50, 400), (2, 10), (2, 3)),
    Kind("KernelPCA", 6, (50, 8_000), (2, 300), (0, 0),
         {"n_components": (2, 20), "width": (0.3, 3)}, RBF),
    Kind("SVC on landmarks", 5, (2_000, 100_000), (2, 100), TWO,
         {**EASY, "landmarks": (50, 500)}, RBF),
    Kind("KernelRidge on landmarks", 5, (2_000, 100_000), (2, 100), (0, 0),
         {"alpha": (1e-3, 10), "width": (0.3, 3), "landmarks": (50, 500)}, RBF),
    # Searches.
    Kind("search of SVC", 6, (80, 2_000), (2, 100), SOME, fixed=RBF),
    Kind("search of KernelRidge", 5, (80, 1_000), (2, 100), fixed=RBF),
    # Linear machines.
    Kind("Lasso", 10, (50, 100_000), (2, 3_000), (0, 0), {"share": (3e-3, 0.3)},
         cells=LINEAR_CELLS),
    Kind("Lasso", 4, (200, 20_000), (100, 3_000), (0, 0), {"share": (1e-2, 0.3)},
         cells=LINEAR_CELLS, density=(0.005, 0.1)),
    Kind("ElasticNet", 6, (50, 100_000), (2, 3_000), (0, 0),
         {"share": (3e-3, 0.3), "l1_ratio": (0.2, 0.9)}, cells=LINEAR_CELLS),
    Kind("Ridge", 6, (50, 100_000), (2, 3_000), (0, 0), {"alpha": (1e-2, 100)}, cells=LINEAR_CELLS),
    Kind("Ridge", 2, (200, 50_000), (2, 1_000), (0, 0), {"alpha": (1e-2, 100)},
         cells=LINEAR_CELLS, dtype="float32"),
    Kind("Ridge", 2, (200, 20_000), (100, 3_000), (0, 0), {"alpha": (1e-2, 100)},
         cells=LINEAR_CELLS, density=(0.005, 0.1)),
    Kind("LogisticRegression", 8, (50, 100_000), (2, 3_000), TWO, {"C": (1e-2, 100)},
         cells=LINEAR_CELLS),
    Kind("LogisticRegression", 5, (100, 20_000), (2, 500), MANY, {"C": (1e-2, 100)},
         cells=LINEAR_CELLS),
    Kind("LogisticRegression", 2, (200, 50_000), (2, 300), SOME, {"C": (1e-2, 100)},
         cells=LINEAR_CELLS, dtype="float32"),
    Kind("LogisticRegression", 4, (200, 20_000), (100, 3_000), SOME, {"C": (1e-2, 100)},
         cells=LINEAR_CELLS, density=(0.005, 0.1)),
    Kind("LinearSVC", 8, (50, 100_000), (2, 3_000), SOME, {"C": (1e-2, 10)}, cells=LINEAR_CELLS),
    Kind("LinearSVC", 3, (50, 20_000), (2, 300), TWO, {"C": (1e-2, 10)}, {"loss": "hinge"},
         cells=LINEAR_CELLS),
    Kind("LinearSVC", 3, (200, 20_000), (100, 3_000), TWO, {"C": (1e-2, 10)},
         cells=LINEAR_CELLS, density=(0.005, 0.1)),
    Kind("LinearSVR", 6, (50, 50_000), (2, 1_000), (0, 0),
         {"C": (1e-2, 10), "epsilon": (0.02, 0.3)}, cells=LINEAR_CELLS),
    Kind("Perceptron", 5, (50, 50_000), (2, 1_000), SOME, cells=LINEAR_CELLS),
    Kind("PCA", 8, (50, 100_000), (2, 3_000), (0, 0), {"n_components": (1, 20)},
         cells=LINEAR_CELLS),
    Kind("PCA", 2, (100, 50_000), (10, 1_000), (0, 0), {"n_components": (1, 20)},
         cells=LINEAR_CELLS, dtype="float32"),
    Kind("LinearDiscriminantAnalysis", 6, (100, 100_000), (2, 500), (2, 10), cells=LINEAR_CELLS),
    Kind("FastICA", 5, (500, 50_000), (2, 20), cells=LINEAR_CELLS),
    # Networks, by epochs.
    Kind("MLPClassifier", 5, (100, 20_000), (2, 784), (2, 10), {"epochs": (2, 20)},
         cells=LINEAR_CELLS),
    Kind("MLPClassifier", 2, (100, 20_000), (2, 784), (2, 10), {"epochs": (2, 20)},
         cells=LINEAR_CELLS, dtype="float32"),
    # Predictions.
    Kind("SVC", 6, (100, 5_000), (2, 300), SOME, EASY, RBF, "predict", new_rows=PREDICTED),
    Kind("SVR", 3, (100, 5_000), (2, 100), (0, 0), EASY, RBF, "predict", new_rows=PREDICTED),
    Kind("OneClassSVM", 3, (100, 5_000), (2, 100), (0, 0), {"nu": (0.05, 0.5), "width": (0.3, 3)},
         RBF, "predict", new_rows=PREDICTED),
    Kind("KernelRidge", 3, (100, 3_000), (2, 100), (0, 0), {"alpha": (1e-2, 10), "width": (0.3, 3)},
         RBF, "predict", new_rows=PREDICTED),
    Kind("GaussianProcessRegressor", 3, (50, 500), (2, 8), action="predict", new_rows=PREDICTED),
    Kind("GaussianProcessClassifier", 3, (50, 200), (2, 8), (2, 3), action="predict",
         new_rows=PREDICTED),
    Kind("KernelPCA", 3, (100, 2_000), (2, 100), (0, 0), {"n_components": (2, 20),
         "width": (0.3, 3)}, RBF, "predict", new_rows=PREDICTED),
    Kind("LogisticRegression", 3, (100, 5_000), (2, 300), SOME, {"C": (0.1, 10)}, {}, "predict",
         new_rows=PREDICTED),
    Kind("Ridge", 3, (100, 5_000), (2, 300), (0, 0), {"alpha": (0.1, 10)}, {}, "predict",
         new_rows=PREDICTED),
    Kind("MLPClassifier", 3, (100, 2_000), (2, 300), SOME, {"epochs": (2, 5)}, {}, "predict",
         new_rows=PREDICTED),
)  # fmt: skip

GROWTH = (
    Kind("SVC", 1, (1_000, 1_500), (10, 20), TWO, {"C": (0.5, 2), "width": (0.5, 2)}, RBF),
    Kind("SVR", 1, (1_000, 1_500), (10, 20), (0, 0), {"C": (0.5, 2), "width": (0.5, 2)}, RBF),
    Kind("KernelRidge", 1, (300, 500), (10, 20), (0, 0), {"alpha": (0.1, 1), "width": (0.5, 2)},
         RBF),
    Kind("GaussianProcessRegressor", 1, (60, 100), (3, 5)),
    Kind("LogisticRegression", 1, (2_000, 4_000), (20, 50), TWO, {"C": (0.5, 2)},
         cells=LINEAR_CELLS),
)  # fmt: skip
"""Where the growth of time with the rows starts; everything else stays as it is drawn."""

WHOLE = ("n_components", "landmarks", "epochs")
"""Parameters that count something."""


def draw(seed: int) -> list[Case]:
    """Return all cases of a seed, in the order of the plan; those on growth come last."""
    cases = [case for kind in PLAN for case in _draw_kind(kind, seed)]
    for kind in GROWTH:
        (first,) = _draw_kind(kind, seed)
        cases += _larger(first)
    return cases


def subset(cases: Sequence[Case], count: int, seed: int) -> list[Case]:
    """Return ``count`` of the cases in random order: a run that ends early is still a fair draw."""
    chosen = np.random.default_rng(seed).permutation(len(cases))[:count]
    return [cases[place] for place in chosen]


def _draw_kind(kind: Kind, seed: int) -> list[Case]:
    # A generator for each kind: a row that is added to the plan leaves the others as they are.
    random = np.random.default_rng([seed, zlib.crc32(repr(kind).encode())])
    # One size from each of ``count`` equal parts of the range, in random order.
    parts = (random.permutation(kind.count) + random.random(kind.count)) / kind.count
    return [_draw_case(kind, random, part, place) for place, part in enumerate(parts)]


def _draw_case(kind: Kind, random: np.random.Generator, part: float, place: int) -> Case:
    low, high = kind.rows
    rows = round(low * (high / low) ** part)
    fewest, most = kind.columns
    columns = round(_between((fewest, max(fewest, min(most, kind.cells // rows))), random))
    parameters: dict[str, Any] = dict(kind.fixed)
    for key, limits in kind.choices.items():
        value = _between(limits, random)
        parameters[key] = round(value) if key in WHOLE else float(f"{value:.2g}")
    if "n_components" in parameters:
        # A kernel machine has as many components as rows, a linear one as columns.
        most_components = rows if kind.cells == KERNEL_CELLS else min(rows, columns)
        parameters["n_components"] = min(parameters["n_components"], most_components)
    return Case(
        machine=kind.machine,
        action=kind.action,
        rows=rows,
        columns=columns,
        classes=int(random.integers(kind.classes[0], kind.classes[1] + 1)),
        parameters=parameters,
        density=0.0 if kind.density is None else float(f"{_between(kind.density, random):.2g}"),
        dtype=kind.dtype,
        new_rows=kind.new_rows[place % len(kind.new_rows)],
        data_seed=int(random.integers(2**31)),
    )


def _larger(first: Case) -> list[Case]:
    """Return the case at sizes that double."""
    return [
        Case(**{**asdict(first), "rows": first.rows * 2**step, "growth": True})
        for step in range(GROWTH_STEPS)
    ]


def _between(limits: Range, random: np.random.Generator) -> float:
    """Draw evenly on a logarithmic scale."""
    low, high = limits
    return float(low * (high / low) ** random.random())
