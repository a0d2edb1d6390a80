"""The list of differences from scikit-learn that the documentation shows, made by the test run.

``python -m tests.estimators.stand_in_list`` runs scikit-learn's tests with mercer's classes and
writes the list; with names of test modules it runs these alone.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import NamedTuple, Protocol

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "scikit_learn_differences.md"
HOW = "Write the list anew: python -m tests.estimators.stand_in_list"
_HEAD = re.compile(r"<!-- Made by .* with scikit-learn (\S+)\. -->")
_ROW = re.compile(r"^\| .* \| `(\S+)` \| ([\d,]+) \| ([\d,]+) \|$", re.M)


class Suite(Protocol):
    """What the list needs to know of a test module."""

    module: str
    places: str
    known: Mapping[str, str]


class Count(NamedTuple):
    """How many tests passed, of how many."""

    passed: int
    total: int


@dataclass(frozen=True)
class Counts:
    """The counts of all test modules, and the version of scikit-learn that has them."""

    version: str
    counts: dict[str, Count]


def version() -> str:
    """Return the version of scikit-learn that is installed."""
    return metadata.version("scikit-learn")


def read_counts() -> Counts:
    """Return the counts that the list has."""
    text = PAGE.read_text(encoding="utf-8")
    head = _HEAD.search(text)
    assert head is not None, HOW
    rows = _ROW.findall(text)
    number = lambda word: int(word.replace(",", ""))  # noqa: E731
    return Counts(head[1], {module: Count(number(a), number(b)) for module, a, b in rows})


def page_of(suites: Sequence[Suite], known: Counts) -> str:
    """Return the list as a part of the documentation."""
    total = Count(*map(sum, zip(*known.counts.values(), strict=True)))
    lines = [
        f"<!-- Made by tests/estimators/stand_in_list.py with scikit-learn {known.version}. -->",
        "",
        f"With mercer's classes in the place of its own, {total.passed:,} of {total.total:,} tests "
        f"of scikit-learn {known.version} pass ({_percent(total)}). Left out are tests of classes "
        "and functions that mercer does not have, and of arrays of other libraries.",
        "",
        "| classes | tests of scikit-learn | passed | of |",
        "| --- | --- | --- | --- |",
    ]
    for suite in suites:
        count = known.counts[suite.module]
        lines.append(
            f"| {_classes(suite)} | `{suite.module}` | {count.passed:,} | {count.total:,} |"
        )
    lines += ["", "Each test that does not pass, and why:", ""]
    for suite in suites:
        for name, reason in sorted(suite.known.items()):
            lines.append(f"- `{suite.module}::{name}`: {reason}.")
    return "\n".join(lines) + "\n"


def _classes(suite: Suite) -> str:
    names = dict.fromkeys(place.split(":")[1] for place in suite.places.split())
    return ", ".join(f"`{name}`" for name in names)


def _percent(count: Count) -> str:
    return f"{100 * count.passed / count.total:.1f} %"


def main(modules: Sequence[str]) -> None:
    from tests.estimators.test_stand_in import SUITES, outcome_of

    counts = dict(read_counts().counts) if modules else {}
    for suite in SUITES:
        if not modules or suite.module in modules:
            outcome = outcome_of(suite)
            counts[suite.module] = Count(outcome.passed, outcome.total)
    ordered = {suite.module: counts[suite.module] for suite in SUITES}
    PAGE.write_text(page_of(SUITES, Counts(version(), ordered)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
