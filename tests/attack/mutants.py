"""Spoil the source in one place, run the tests that belong to it, and list what survives.

``python -m tests.attack.mutants --count 100 --seed 0`` draws places at random from problems,
solvers, files and Gram matrices. It works on a copy of the source, so that nothing here changes. A
mutant is killed when a test fails or takes too long; survivors are printed to be read one by one:
some are as good as the original, the others show what no test looks at.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PARTS = {
    "problems": ["tests/problems", "tests/estimators/test_certify.py", "tests/solvers"],
    "solvers": ["tests/solvers", "tests/estimators/svm", "tests/estimators/linear"],
    "_files": ["tests/files", "tests/io", "tests/attack/test_files.py"],
    "gram": ["tests/gram", "tests/solvers"],
}
"""The tests of each part, the nearest first."""
SECONDS = 150.0
"""A mutant that runs for longer hangs: the tests of a part take less."""
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
    """One change of one file."""

    module: str
    line: int
    change: str
    place: int
    killed: bool = False
    seconds: float = 0.0


def mutants_of(path: Path, library: Path) -> Iterator[Mutant]:
    """Yield every change of a module that the tests should notice."""
    for number, node in enumerate(_places(ast.parse(path.read_text()))):
        what = _spoil(copy.deepcopy(node))
        if what:
            yield Mutant(str(path.relative_to(library)), node.lineno, what, number)


def spoilt(text: str, mutant: Mutant) -> str:
    """Return the text of a module with the change of a mutant."""
    tree = ast.parse(text)
    _spoil(_places(tree)[mutant.place])
    return ast.unparse(ast.fix_missing_locations(tree))


def _places(tree: ast.AST) -> list[Any]:
    return [node for node in _code(tree) if hasattr(node, "lineno")]


def _code(tree: ast.AST) -> Iterator[ast.AST]:
    """Walk over what runs: no annotations, no texts of errors, no docstrings, no constants above.

    Abstract methods and ``__repr__`` are for readers.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Raise | ast.Assert | ast.arguments | ast.Import | ast.ImportFrom):
            continue
        if isinstance(node, ast.FunctionDef) and node.name in ("__repr__", "__sklearn_tags__"):
            continue
        if isinstance(node, ast.AnnAssign) and node.value is None:
            continue
        inner = node.value if isinstance(node, ast.AnnAssign) else node
        if isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Constant):
            continue
        if not isinstance(inner, ast.AST):
            continue
        yield inner
        yield from _code(inner)


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
    options.add_argument("--only", default="", help="modules with this in their path")
    options.add_argument("--output", help="a line of JSON for each mutant; known ones are skipped")
    given = options.parse_args()
    library = ROOT / "src" / "mercer"
    paths = [path for part in PARTS for path in sorted((library / part).rglob("*.py"))]
    chosen = [m for path in paths if given.only in str(path) for m in mutants_of(path, library)]
    random.Random(given.seed).shuffle(chosen)
    known = _known(given.output)
    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder) / "src"
        shutil.copytree(ROOT / "src", copied)
        results = []
        for mutant in chosen[: given.count]:
            key = (mutant.module, mutant.line, mutant.change)
            if key not in known:
                _judge(mutant, copied)
                _note(mutant, given.output)
                known[key] = mutant.killed
            results.append(known[key])
    print(f"{sum(results)} of {len(results)} killed ({sum(results) / len(results):.1%})")


def _judge(mutant: Mutant, copied: Path) -> None:
    """Put a mutant into the copy, run its tests, and take it back."""
    began = time.perf_counter()
    path = copied / "mercer" / mutant.module
    original = path.read_text()
    path.write_text(spoilt(original, mutant))
    part = mutant.module.split("/")[0]
    environment = {**os.environ, "PYTHONPATH": str(copied), "OMP_NUM_THREADS": "1"}
    try:
        for tests in _tests_of(mutant.module, part):
            command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", tests]  # fmt: skip  # noqa: E501
            run = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, timeout=SECONDS
            )
            if run.returncode not in (0, 5):  # 5: there was no test
                mutant.killed = True
                break
    except subprocess.TimeoutExpired:
        mutant.killed = True
    finally:
        path.write_text(original)
    mutant.seconds = time.perf_counter() - began


def _tests_of(module: str, part: str) -> list[str]:
    """Return the file that bears the name of the module, then all tests of its part."""
    stem = Path(module).stem
    named = sorted((ROOT / "tests").rglob(f"test_{stem}.py"))
    return [*(str(path.relative_to(ROOT)) for path in named), *PARTS[part]]


def _known(output: str | None) -> dict[tuple[str, int, str], bool]:
    if output is None or not Path(output).exists():
        return {}
    rows = [json.loads(line) for line in Path(output).read_text().splitlines()]
    return {(row["module"], row["line"], row["change"]): row["killed"] for row in rows}


def _note(mutant: Mutant, output: str | None) -> None:
    word = "killed  " if mutant.killed else "SURVIVED"
    print(
        f"{word} {mutant.module}:{mutant.line} {mutant.change} ({mutant.seconds:.0f} s)", flush=True
    )
    if output is not None:
        with Path(output).open("a") as file:
            file.write(json.dumps(asdict(mutant)) + "\n")


if __name__ == "__main__":
    main()
