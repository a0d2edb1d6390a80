"""What a terminal shows: texts from data made harmless, rows of facts, a bar."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mercer.cli.first_run import compiling_in_words

if TYPE_CHECKING:
    from rich.console import Console

_LONGEST = 400
"""Characters of a text on the screen: about five lines."""


def safe(value: object, keep: str = "", limit: int = 0) -> str:
    """Return a text in which nothing acts on a terminal: control characters are spelt out."""
    text = str(value)
    if limit and len(text) > limit:
        text = text[: limit - 1].rstrip() + "…"
    return "".join(c if c in keep or _is_harmless(c) else _spelt(c) for c in text)


def one_line(value: object) -> str:
    """Return a message on one line."""
    return safe(" ".join(str(value).splitlines()))


def _is_harmless(character: str) -> bool:
    return unicodedata.category(character)[0] not in "CZ" or character == " "


def _spelt(character: str) -> str:
    if unicodedata.category(character) == "Zs":
        return " "
    return character.encode("unicode_escape").decode("ascii")


def consoles() -> tuple[Console, Console]:
    """Return the consoles for results and for everything else."""
    from rich.console import Console

    plain: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}
    return Console(**plain), Console(stderr=True, **plain)


def show_facts(console: Console, facts: Sequence[tuple[str, str]], indent: int = 2) -> None:
    """Print names and values in two columns; long values go on below themselves."""
    names = max(11, *(len(name) for name, _ in facts))
    for name, value in facts:
        _show_hanging(console, f"{'':{indent}}{safe(name):<{names}}  ", safe(value, limit=_LONGEST))


def show_list(console: Console, lines: Sequence[str], indent: int = 2) -> None:
    """Print sentences, one below the other."""
    for line in lines:
        _show_hanging(console, f"{'':{indent}}• ", safe(line, limit=_LONGEST))


def show_paths(console: Console, paths: Sequence[tuple[str, Any]], indent: int = 2) -> None:
    """Print paths on lines of their own, whole, so that they can be copied."""
    from rich.text import Text

    for name, path in paths:
        line = Text.assemble(" " * indent, (f"{safe(name):<11}  ", "bold"), safe(path))
        console.print(line, soft_wrap=True)


def _show_hanging(console: Console, start: str, value: str) -> None:
    from rich.text import Text

    width = max(20, console.width - len(start))
    for line in Text(value).wrap(console, width):
        line.rstrip()
        console.print(Text.assemble((start, "bold"), line), soft_wrap=True)
        start = " " * len(start)


@contextmanager
def bar(console: Console, title: str, shown: bool) -> Iterator[Callable[[int, int, str], None]]:
    """Show a bar while something long runs; nothing where there is no terminal."""
    if not (shown and console.is_terminal):
        yield lambda done, total, words: None
        return
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
    from rich.text import Text

    class Compiling(ProgressColumn):
        """What a first run does while the bar stands still."""

        def render(self, task: Any) -> Text:
            return Text(compiling())

    columns = (
        TextColumn("  {task.description}"),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[words]}"),
        Compiling(),
        TimeElapsedColumn(),
    )
    with (
        compiling_in_words() as compiling,
        Progress(*columns, console=console, transient=True) as progress,
    ):
        task = progress.add_task(safe(title), total=None, words="")

        def show(done: int, total: int, words: str) -> None:
            progress.update(task, completed=done, total=total, words=safe(words))

        yield show
