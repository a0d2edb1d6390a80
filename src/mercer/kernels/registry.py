"""One row for each kernel: its name, its class, what it takes, and examples.

A row brings a kernel its tests, its line in the documentation and its name on the command line.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import Literal

from mercer.exceptions import InvalidParameter
from mercer.kernels.base import Kernel
from mercer.kernels.graphs.random_walk import RandomWalk
from mercer.kernels.graphs.refinement import (
    ShortestPath,
    WeisfeilerLehman,
    WeisfeilerLehmanOptimalAssignment,
)
from mercer.kernels.series.alignment import DTW, GlobalAlignment
from mercer.kernels.strings.kmers import GappyKmer, Mismatch, Spectrum
from mercer.kernels.strings.subsequences import Subsequence
from mercer.kernels.strings.substrings import Substrings
from mercer.kernels.strings.words import BagOfWords
from mercer.kernels.trees.subtrees import SubsetTree, Subtree
from mercer.kernels.vectors.categorical import Delta, Overlap
from mercer.kernels.vectors.constant import Constant, White
from mercer.kernels.vectors.dot import Cosine, Linear, Polynomial, Sigmoid
from mercer.kernels.vectors.explicit import GaussianBasis, Monomials, RandomFourierFeatures
from mercer.kernels.vectors.fisher import Fisher
from mercer.kernels.vectors.histogram import AdditiveChi2, Chi2, Intersection
from mercer.kernels.vectors.matern import (
    Matern,
    Periodic,
    RationalQuadratic,
)
from mercer.kernels.vectors.radial import (
    RBF,
    Laplacian,
    NegativeDistance,
)

Domain = Literal["vectors", "histograms", "categories", "strings", "graphs", "series", "trees"]


@dataclass(frozen=True)
class Row:
    """What the library knows of one kernel class."""

    name: str
    kernel: type[Kernel]
    domain: Domain
    examples: tuple[Kernel, ...]
    aliases: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The first sentence of the class's documentation."""
        return self._paragraphs()[0].rstrip(".")

    @property
    def formula(self) -> str:
        """The formula, which is the second paragraph of the class's documentation."""
        return self._paragraphs()[1]

    @property
    def plain_formula(self) -> str:
        """The formula without the marks that documentation is written with."""
        return re.sub(r"(?::\w+:)?`+~?([^`]*)`+", r"\1", self.formula)

    def _paragraphs(self) -> list[str]:
        text = inspect.cleandoc(self.kernel.__doc__ or "")
        return [" ".join(part.split()) for part in text.split("\n\n")]


ROWS = (
    Row("linear", Linear, "vectors", (Linear(),)),
    Row(
        "polynomial",
        Polynomial,
        "vectors",
        (Polynomial(2), Polynomial(3, 0.5, 0.0), Polynomial(2, "scale", 2.0)),
        ("poly",),
    ),
    Row(
        "rbf",
        RBF,
        "vectors",
        (RBF(gamma=0.3), RBF(sigma=1.5), RBF(length_scale="median"), RBF()),
        ("gaussian",),
    ),
    Row("laplacian", Laplacian, "vectors", (Laplacian(0.4), Laplacian(), Laplacian("median"))),
    Row(
        "matern",
        Matern,
        "vectors",
        (
            Matern(nu=0.5, length_scale=1.2),
            Matern(nu=1.5, sigma=2.0),
            Matern(nu=2.5),
            Matern(nu=0.8, length_scale=1.1),
            Matern(nu=3.2, gamma=0.3),
            Matern(nu=float("inf"), length_scale=1.3),
        ),
    ),
    Row(
        "rational_quadratic",
        RationalQuadratic,
        "vectors",
        (RationalQuadratic(length_scale=1.1), RationalQuadratic(alpha=0.7, gamma=0.2)),
    ),
    Row(
        "periodic",
        Periodic,
        "vectors",
        (Periodic(1.7, 0.9), Periodic(3.0), Periodic([1.7, 3.0, 2.2], [0.9, 0.5, 2.0])),
    ),
    Row("cosine", Cosine, "vectors", (Cosine(),)),
    Row("sigmoid", Sigmoid, "vectors", (Sigmoid(0.3, -0.2), Sigmoid("scale", 0.1)), ("tanh",)),
    Row("distance", NegativeDistance, "vectors", (NegativeDistance(), NegativeDistance(1.5))),
    Row("chi2", Chi2, "histograms", (Chi2(), Chi2(0.3))),
    Row("additive_chi2", AdditiveChi2, "histograms", (AdditiveChi2(),)),
    Row("intersection", Intersection, "histograms", (Intersection(),)),
    Row("delta", Delta, "categories", (Delta(),)),
    Row("overlap", Overlap, "categories", (Overlap(),)),
    Row("constant", Constant, "vectors", (Constant(), Constant(2.5))),
    Row("white", White, "vectors", (White(), White(0.2)), ("noise",)),
    Row("monomials", Monomials, "vectors", (Monomials(2), Monomials(3))),
    Row(
        "gaussian_basis",
        GaussianBasis,
        "vectors",
        (GaussianBasis(((0.0, 0.5, 1.0), (1.0, -1.0, 0.0)), 0.8),),
    ),
    Row(
        "random_fourier",
        RandomFourierFeatures,
        "vectors",
        (
            RandomFourierFeatures(RBF(gamma=0.3), 40),
            RandomFourierFeatures(Matern(nu=1.5, sigma=1.0), 40),
        ),
    ),
    Row(
        "bag_of_words",
        BagOfWords,
        "strings",
        (
            BagOfWords(),
            BagOfWords("frequency"),
            BagOfWords("binary", pattern="[a-z]"),
            BagOfWords("frequency", k=2),
        ),
        ("words",),
    ),
    Row(
        "spectrum",
        Spectrum,
        "strings",
        (Spectrum(2), Spectrum(3, "frequency"), Spectrum(1, "binary")),
        ("kmers",),
    ),
    Row(
        "mismatch",
        Mismatch,
        "strings",
        (Mismatch(3, 1, "act"), Mismatch(2, 2, "r t", "frequency"), Mismatch(2, 0, "北")),
    ),
    Row("gappy", GappyKmer, "strings", (GappyKmer(2, 1), GappyKmer(1, 2, "binary"))),
    Row(
        "subsequence",
        Subsequence,
        "strings",
        (
            Subsequence(2, 0.5),
            Subsequence(3, 0.7, "length", "all"),
            Subsequence(2, 0.0, lengths=(0.5, 2.0)),
            Subsequence(1, 1.0),
        ),
        ("subsequences",),
    ),
    Row(
        "substrings",
        Substrings,
        "strings",
        (
            Substrings(["at", "a", "rt"]),
            Substrings(["ca", "ct", "at"], 0.5),
            Substrings(["ac", "北"], 1.0, "binary"),
        ),
    ),
    Row(
        "weisfeiler_lehman",
        WeisfeilerLehman,
        "graphs",
        (WeisfeilerLehman(), WeisfeilerLehman(2, start="degrees"), WeisfeilerLehman(0)),
        ("wl",),
    ),
    Row(
        "optimal_assignment",
        WeisfeilerLehmanOptimalAssignment,
        "graphs",
        (WeisfeilerLehmanOptimalAssignment(),),
        ("wl_oa",),
    ),
    Row("shortest_path", ShortestPath, "graphs", (ShortestPath(), ShortestPath(weight="weight"))),
    Row(
        "random_walk",
        RandomWalk,
        "graphs",
        (
            RandomWalk(0.02),
            RandomWalk(0.02, label=None, edge_label=None),
            RandomWalk(0.5, degree_normalized=True),
            RandomWalk(0.02, tottering=False, weight=None),
        ),
    ),
    Row("dtw", DTW, "series", (DTW(), DTW(2, 0.3), DTW(0.2, "scale"), DTW(0, 0.5))),
    Row(
        "global_alignment",
        GlobalAlignment,
        "series",
        (
            GlobalAlignment(),
            GlobalAlignment(1.5),
            GlobalAlignment("median", 3),
            GlobalAlignment(0.7, 1.5),
        ),
        ("gak", "alignment"),
    ),
    Row(
        "subtree",
        Subtree,
        "trees",
        (Subtree(), Subtree(0.5, leaves=False), Subtree(0.8, ordered=False)),
    ),
    Row("subset_tree", SubsetTree, "trees", (SubsetTree(), SubsetTree(0.9, leaves=True))),
    Row(
        "fisher",
        Fisher,
        "vectors",
        (
            Fisher("mixture(reg_covar=0.1)"),
            Fisher("mixture(n_components=2, reg_covar=0.1, random_state=0)", False),
            Fisher("mixture(n_components=2, reg_covar=0.1, random_state=0)", "diagonal"),
        ),
    ),
)


def find(name: str) -> Row:
    """Return the row of a kernel by its name or one of its aliases."""
    for row in ROWS:
        if name == row.name or name in row.aliases:
            return row
    raise InvalidParameter(
        f"There is no kernel {name!r}. There are {', '.join(row.name for row in ROWS)}."
    )
