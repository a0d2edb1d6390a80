"""Colours of graphs round by round, and the kernel that counts them."""

import pytest

from tests.lab.reading import result, settle, value


@pytest.mark.parametrize("rounds", [0, 1, 4])
@pytest.mark.parametrize("pair", ["stars", "rings", "houses", "triangles"])
def test_the_lines_of_python_give_the_numbers_of_the_page(lab, run_python, pair, rounds):
    page = lab(f"#colours?pair={pair}&round={rounds}")
    K = run_python(page)["K"]
    assert value(page, "kernel") == K[0, 1]
    assert value(page, "first") == K[0, 0]
    assert value(page, "second") == K[1, 1]
    assert value(page, "similarity") == pytest.approx(K[0, 1] / (K[0, 0] * K[1, 1]) ** 0.5)


def test_what_colours_cannot_tell_apart(lab):
    page = lab("#colours?pair=triangles&round=4")
    assert "do not tell the graphs apart" in page.locator(".verdict").inner_text()
    assert value(page, "similarity") == 1.0
    page = lab("#colours?pair=stars")
    assert result(page, "r.apart") == 2


def test_graphs_are_typed(lab, run_python):
    page = lab("#colours")
    page.get_by_label("Edges of the first graph").fill("1-2 2-3 3-3 nonsense 9-1 2-1")
    page.get_by_role("slider", name="Round").focus()
    page.keyboard.press("ArrowRight")
    settle(page)
    assert result(page, "r.graphs[0].size") == 9  # nodes 4 to 8 have no edge
    assert result(page, "r.graphs[0].pairs.length") == 3
    assert value(page, "kernel") == run_python(page)["K"][0, 1]
    link = page.evaluate("location.hash")
    again = lab(link)
    assert value(again, "kernel") == value(page, "kernel")
    page.get_by_label("Edges of the first graph").fill("")
    settle(page)
    assert value(page, "kernel") == 0
