"""One row for each kernel: its name, its class, what it takes, and examples.

A row brings a kernel its tests, its line in the documentation and its name on the command line.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Literal

from mercer.exceptions import InvalidParameter
from mercer.kernels.base import Kernel
from mercer.kernels.categorical import Delta, Overlap
from mercer.kernels.constant import Constant, White
from mercer.kernels.dot import Cosine, Linear, Polynomial, Sigmoid
from mercer.kernels.explicit import GaussianBasis, Monomials, RandomFourierFeatures
from mercer.kernels.histogram import AdditiveChi2, Chi2, Intersection
from mercer.kernels.radial import (
    RBF,
    Laplacian,
    Matern,
    NegativeDistance,
    Periodic,
    RationalQuadratic,
)

Domain = Literal["vectors", "histograms", "categories"]


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
        (RBF(0.3), RBF(sigma=1.5), RBF(length_scale="median"), RBF()),
        ("gaussian",),
    ),
    Row("laplacian", Laplacian, "vectors", (Laplacian(0.4), Laplacian(), Laplacian("median"))),
    Row(
        "matern",
        Matern,
        "vectors",
        (
            Matern(0.5, length_scale=1.2),
            Matern(1.5, sigma=2.0),
            Matern(2.5),
            Matern(0.8, length_scale=1.1),
            Matern(3.2, gamma=0.3),
            Matern(float("inf"), length_scale=1.3),
        ),
    ),
    Row(
        "rational_quadratic",
        RationalQuadratic,
        "vectors",
        (RationalQuadratic(length_scale=1.1), RationalQuadratic(0.7, gamma=0.2)),
    ),
    Row("periodic", Periodic, "vectors", (Periodic(1.7, 0.9), Periodic(3.0))),
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
        (RandomFourierFeatures(RBF(0.3), 40), RandomFourierFeatures(Matern(1.5, sigma=1.0), 40)),
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
