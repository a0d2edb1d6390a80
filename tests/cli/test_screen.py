"""The bar of a terminal: what it shows, in how many columns, and that pipes get nothing."""

import io
import re

import pytest
from rich.console import Console

from mercer.cli.screen import bar
from mercer.study.plan import make_plan
from mercer.study.study import run


def frames(width, terminal=True):
    """Return the lines that a bar draws, without the signs that move the cursor."""
    stream = io.StringIO()
    console = Console(file=stream, width=width, force_terminal=terminal, markup=False)
    with bar(console, "contest", True) as show:
        show(12, 34, "12 of 34, best 0.983")
        show.refresh()
        show.now("usual methods")
        show.refresh()
    drawn = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())
    return [line for line in re.split(r"[\r\n]", drawn) if line.strip()]


@pytest.mark.parametrize("width", [10, 24, 40, 50, 70, 120])
def test_bars_fit_into_the_terminal_and_keep_their_words(width):
    lines = frames(width)
    assert max(map(len, lines)) <= width
    done, after = [line for line in lines if "usu" not in line][-1], lines[-1]
    if width >= 40:
        assert "contest" in done
        assert "12 of 34, best 0.983" in done
    if width >= 24:
        assert "12 of" in done
        assert "usual methods" in after
        assert "12 of" not in after
    assert ("━" in done) == (width >= 44)
    assert ("0:00:0" in done) == (width >= 66)


def test_without_a_terminal_there_is_no_bar():
    assert frames(80, terminal=False) == []


def test_studies_say_what_comes_after_the_contest():
    said = []
    run(make_plan("penguins"), stage=said.append)
    assert said == ["fitting", "usual methods", "explaining"]
