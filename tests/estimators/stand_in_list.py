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
_ROW = re.compile(r"^\| .* \| `(\S+)` \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", re.M)

_MANY = 12
"""More classes than one module of scikit-learn has: then all of them are replaced."""


class Suite(Protocol):
    """What the list needs to know of a test module."""

    module: str
    places: str
    known: Mapping[str, str]
    limits: Mapping[str, str]
    private: Mapping[str, str]
    left_out: Mapping[str, str]


class Count(NamedTuple):
    """How many tests passed, of how many; and how many of the others are no difference in use."""

    passed: int
    total: int
    limits: int
    private: int


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
    return Counts(head[1], {module: Count(*map(number, counts)) for module, *counts in rows})


def page_of(suites: Sequence[Suite], known: Counts, never: Mapping[str, str]) -> str:
    """Return the list as a part of the documentation."""
    total = Count(*map(sum, zip(*known.counts.values(), strict=True)))
    failed = total.total - total.passed
    lines = [
        f"<!-- Made by tests/estimators/stand_in_list.py with scikit-learn {known.version}. -->",
        "",
        f"With mercer's classes in the place of its own, {total.passed:,} of {total.total:,} tests "
        f"of scikit-learn {known.version} pass ({_percent(total.passed, total.total)}). Counted is "
        "every test of these modules in which one of the classes takes part, in each of its "
        f"variants. Of the {failed} that do not pass, {total.limits} ask for a refusal or a "
        "warning that scikit-learn's own solvers or deprecations need and mercer's do not, "
        f"{total.private} look at private parts of scikit-learn, and "
        f"{failed - total.limits - total.private} are differences. Without the private parts "
        f"{_percent(total.passed, total.total - total.private)} pass, without both "
        f"{_percent(total.passed, total.total - total.private - total.limits)}.",
        "",
        "| classes | tests of scikit-learn | passed | of | limits | private |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for suite in suites:
        numbers = " | ".join(f"{number:,}" for number in known.counts[suite.module])
        lines.append(f"| {_classes(suite)} | `{suite.module}` | {numbers} |")
    parts = {
        "Differences": lambda suite: suite.known,
        "Limits and deprecations of scikit-learn's own": lambda suite: suite.limits,
        "Private parts": lambda suite: suite.private,
        "Not run": lambda suite: suite.left_out,
    }
    for title, part in parts.items():
        lines += ["", f"{title}:", ""]
        lines += [f"- all modules, `{name}`: {why}." for name, why in never.items()
                  if title == "Not run"]  # fmt: skip
        lines += [
            f"- `{suite.module}::{name}`: {reason}."
            for suite in suites
            for name, reason in sorted(part(suite).items())
        ]
    return "\n".join(lines) + "\n"


def _classes(suite: Suite) -> str:
    """Return the classes that are replaced, or one word where it is all of them."""
    names = dict.fromkeys(place.split(":")[1] for place in suite.places.split())
    return "all of them" if len(names) > _MANY else ", ".join(f"`{name}`" for name in names)


def _percent(passed: int, total: int) -> str:
    return f"{100 * passed / total:.1f} %"


def main(modules: Sequence[str]) -> None:
    from tests.estimators.test_stand_in import NEVER, SUITES, outcome_of

    counts = dict(read_counts().counts) if modules else {}
    for suite in SUITES:
        if not modules or suite.module in modules:
            outcome = outcome_of(suite)
            counts[suite.module] = outcome.count(suite)
    ordered = {suite.module: counts[suite.module] for suite in SUITES}
    PAGE.write_text(page_of(SUITES, Counts(version(), ordered), NEVER), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
