"""What a terminal shows: texts from data made harmless, rows of facts, a bar."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mercer.cli.first_run import compiling_in_words

if TYPE_CHECKING:
    from rich.console import Console

_LONGEST = 400
"""Characters of a text on the screen: about five lines."""
_WIDE, _NARROW = 66, 44
"""Columns of a terminal that a bar with its words and the time needs, and a short bar without."""


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


class Bar:
    """What shows how far something long is; by itself it shows nothing."""

    def __call__(self, done: int, total: int, words: str) -> None:
        """Show how much of it is done."""

    def now(self, title: str) -> None:
        """Say what is done next; how long that takes is not known."""

    def refresh(self) -> None:
        """Draw it at once, and not only when it is due."""


@contextmanager
def bar(console: Console, title: str, shown: bool) -> Iterator[Bar]:
    """Show a bar while something long runs; nothing where there is no terminal.

    In a narrow terminal the words come first: the time goes, then the bar itself.
    """
    if not (shown and console.is_terminal):
        yield Bar()
        return
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
    from rich.table import Column
    from rich.text import Text

    class Compiling(ProgressColumn):
        """What a first run does while the bar stands still."""

        def render(self, task: Any) -> Text:
            return Text(compiling())

    wide = console.width >= _WIDE
    stripe = [BarColumn(bar_width=30 if wide else 10)] if console.width >= _NARROW else []
    one_line = Column(no_wrap=True, overflow="ellipsis")
    columns = (
        TextColumn("  {task.description}", markup=False, table_column=one_line),
        *stripe,
        TextColumn("{task.fields[words]}", markup=False, table_column=one_line),
        Compiling(table_column=one_line),
        *([TimeElapsedColumn()] if wide else []),
    )
    with (
        compiling_in_words() as compiling,
        Progress(*columns, console=console, transient=True) as progress,
    ):
        task = progress.add_task(safe(title), total=None, words="")

        class Live(Bar):
            """The bar of the terminal."""

            def __call__(self, done: int, total: int, words: str) -> None:
                progress.update(task, completed=done, total=total, words=safe(words))

            def now(self, title: str) -> None:
                # A bar whose end nobody knows moves to and fro.
                progress.update(task, description=safe(title), words="")
                progress.tasks[0].total = None

            def refresh(self) -> None:
                progress.refresh()

        yield Live()
