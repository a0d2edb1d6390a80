"""Spoil the source in one place, run the tests that reach it, and list what survives.

``python -m tests.attack.mutants --count 500`` draws places at random from the functions of
problems, solvers, files and Gram matrices. Nothing is written: a function gets its spoilt code in a
forked process, where the tests that reach the line run, the quickest first (see
:mod:`tests.attack.mutant_runs`). A mutant is killed when a test fails or takes too long. Survivors
are printed to be read one by one: some are as good as the original, and are named in
:mod:`tests.attack.equal_mutants`; the others show what no test looks at.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import random
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from math import sqrt
from pathlib import Path
from types import CodeType
from typing import Any

from tests.attack.equal_mutants import EQUAL

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "src" / "mercer"
PARTS = ("problems", "solvers", "_files", "gram")
TESTS = [
    *("tests/problems", "tests/solvers", "tests/files", "tests/gram", "tests/io/test_models.py"),
    *("tests/io/test_models_hostile.py", "tests/attack/test_linear_certificates.py"),
    *("tests/estimators/test_certify.py", "tests/estimators/test_judged.py"),
    *("tests/estimators/linear", "tests/estimators/ridge", "tests/estimators/semi"),
    *("tests/estimators/svm", "tests/estimators/sources", "tests/estimators/network"),
    *("tests/estimators/multiple_kernel", "tests/estimators/test_landmark_machines.py"),
    *("tests/estimators/gp", "tests/estimators/subspace", "tests/landmarks"),
    *("tests/estimators/test_landmark_regressions.py", "tests/estimators/test_landmark_others.py"),
]
"""Where the tests of these parts are."""
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.And: ast.Or,
    ast.Or: ast.And,
}  # fmt: skip
NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all",
         "all": "any", "argmin": "argmax", "argmax": "argmin"}  # fmt: skip


@dataclass
class Mutant:
    """One change of one function, and what became of it."""

    module: str
    line: int
    change: str
    place: int
    first: int
    """The first line of the function, decorators included."""
    text: str
    """The line as it is written."""
    end: str = ""
    """``killed``, ``survived`` or ``equal``."""
    by: str = ""
    """The test that failed."""
    seconds: float = 0.0

    @property
    def path(self) -> Path:
        """The file that it changes."""
        return LIBRARY / self.module

    def spoilt(self) -> CodeType:
        """Return the code of the function with the change."""
        tree = ast.parse(_text(self.path))
        _spoil(_places(tree)[self.place][0])
        found = compile(ast.fix_missing_locations(tree), str(self.path), "exec", dont_inherit=True)
        return next(code for code in codes(found) if code.co_firstlineno == self.first)


@cache
def _text(path: Path) -> str:
    """Return the source as it was when it was first asked for: others may be at work on it."""
    return path.read_text()


def codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code objects inside of one, the outermost first."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield inner
            yield from codes(inner)


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield every change of a module that the tests should notice."""
    text = _text(path)
    lines = text.splitlines()
    for place, (node, first) in enumerate(_places(ast.parse(text))):
        what = _spoil(copy.deepcopy(node))
        if what:
            module, line = str(path.relative_to(LIBRARY)), node.lineno
            yield Mutant(module, line, what, place, first, lines[line - 1].strip())


def _places(tree: ast.AST) -> list[tuple[Any, int]]:
    """Return what runs in functions, each part with the first line of its function."""
    found = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            found += _places(node)
        elif isinstance(node, ast.FunctionDef) and node.name != "__repr__":  # is for readers
            first = min([node.lineno, *(part.lineno for part in node.decorator_list)])
            inside = [part for line in node.body for part in [line, *_code(line)] if _runs(line)]
            found += [(part, first) for part in inside if hasattr(part, "lineno")]
    return found


def _code(tree: ast.AST) -> Iterator[ast.AST]:
    """Walk over what runs: no annotations, no texts of errors, no docstrings."""
    for node in ast.iter_child_nodes(tree):
        if _runs(node):
            inner = node.value if isinstance(node, ast.AnnAssign) else node
            yield inner  # type: ignore[misc]
            yield from _code(inner)  # type: ignore[arg-type]


def _runs(node: ast.AST) -> bool:
    if isinstance(node, ast.Raise | ast.Assert | ast.arguments | ast.Import | ast.ImportFrom):
        return False
    if isinstance(node, ast.JoinedStr):  # is for readers
        return False
    if isinstance(node, ast.AnnAssign) and node.value is None:
        return False
    return not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _spoil(node: ast.AST) -> str:
    """Change a node in place and return what was done, nothing where there is nothing to do."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        old = node.ops[0]
        node.ops[0] = SWAPS[type(old)]()  # type: ignore[call-overload]
        return f"{type(old).__name__} → {type(node.ops[0]).__name__}"
    if isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in SWAPS:
        before = type(node.op)
        node.op = SWAPS[before]()  # type: ignore[assignment]
        return f"{before.__name__} → {type(node.op).__name__}"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        plain = isinstance(node.op, ast.Not)
        node.op = ast.UAdd() if not plain else ast.Not()
        if plain:
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
        return "not x → x" if plain else "−x → x"
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        node.value = not node.value
        return f"→ {node.value}"
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        node.value = node.value + 1
        return f"{node.value - 1} → {node.value}"
    if isinstance(node, ast.Name | ast.Attribute):
        name = node.id if isinstance(node, ast.Name) else node.attr
        if name in NAMES:
            setattr(node, "id" if isinstance(node, ast.Name) else "attr", NAMES[name])
            return f"{name} → {NAMES[name]}"
    return ""


def main() -> None:
    """Draw mutants, run their tests and print how many were killed."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--count", type=int, default=100)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--only", default="", help="modules whose path has this pattern")
    options.add_argument("--output", help="a line of JSON for each mutant; known ones are skipped")
    options.add_argument("--again", action="store_true", help="try those that survived again")
    options.add_argument("--jobs", type=int, default=1, help="processes at once")
    options.add_argument("--survey", type=Path, help="keeps which test reaches which lines")
    options.add_argument("tests", nargs="*", default=TESTS, help="where to look for tests")
    given = options.parse_args()
    from tests.attack.mutant_runs import run

    paths = [path for part in PARTS for path in sorted((LIBRARY / part).rglob("*.py"))]
    chosen = [
        m
        for path in paths
        if re.search(given.only, str(path.relative_to(LIBRARY)))
        for m in mutants_of(path)
    ]
    random.Random(given.seed).shuffle(chosen)
    known = _known(given.output)
    if given.again:
        known = {key: mutant for key, mutant in known.items() if mutant.end != "survived"}
    print(f"{len(chosen):,} changes, of which {given.count:,} are drawn", flush=True)
    chosen = chosen[: given.count]
    new = [mutant for mutant in chosen if _key(mutant) not in known]
    for mutant in new:
        mutant.end = "equal" if (mutant.module, mutant.text, mutant.change) in EQUAL else ""
    new = [mutant for mutant in new if not mutant.end]
    run(new, given.tests, lambda mutant: _note(mutant, given.output), given.jobs, given.survey)
    ends = [known.get(_key(mutant), mutant).end for mutant in chosen]
    killed, equal, known_ends = ends.count("killed"), ends.count("equal"), len(ends)
    print(f"{known_ends} mutants, {equal} as good as the original, {killed} killed:", end=" ")
    print("{:.1%}, {:.1%} to {:.1%} of all (95 %)".format(*share(killed, known_ends - equal)))


def share(part: int, whole: int) -> tuple[float, float, float]:
    """Return a share and Wilson's interval of 95 %."""
    p, z = part / max(whole, 1), 1.96
    middle, width = p + z * z / (2 * whole), z * sqrt(p * (1 - p) / whole + (z / whole / 2) ** 2)
    return p, (middle - width) / (1 + z * z / whole), (middle + width) / (1 + z * z / whole)


def _key(mutant: Mutant) -> tuple[str, int, str]:
    return mutant.module, mutant.place, mutant.change


def _known(output: str | None) -> dict[tuple[str, int, str], Mutant]:
    if output is None or not Path(output).exists():
        return {}
    rows = [Mutant(**json.loads(line)) for line in Path(output).read_text().splitlines()]
    return {_key(row): row for row in rows}


def _note(mutant: Mutant, output: str | None) -> None:
    print(f"{mutant.end} {mutant.module}:{mutant.line} {mutant.change} by {mutant.by or 'none'} ({mutant.seconds:.1f} s)  {mutant.text}", flush=True)  # fmt: skip  # noqa: E501
    if output is not None:
        with Path(output).open("a") as file:
            file.write(json.dumps(asdict(mutant)) + "\n")


if __name__ == "__main__":
    main()
