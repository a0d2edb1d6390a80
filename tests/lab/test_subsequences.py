"""Subsequences of two words: a naive list in the page, a dynamic program in Python."""

import pytest

from tests.lab.reading import result, settle, value


@pytest.mark.parametrize(
    "place",
    [
        "",
        "?first=cat&second=cart&k=2",
        "?first=aaaa&second=aaa&k=2&decay=0.9",
        "?first=GATTACA&second=TACGATA&k=4&decay=1",
        "?first=kernel&second=colonel&k=3&decay=0",
        "?first=%C3%A4%C3%B6%C3%BC%22&second=%C3%BC%C3%A4%C3%B6%22&k=2",
    ],
)
def test_the_lines_of_python_give_the_numbers_of_the_page(lab, run_python, place):
    page = lab(f"#subsequences{place}")
    names = run_python(page)
    assert value(page, "kernel") == pytest.approx(names["value"], rel=1e-10)
    assert value(page, "first") == pytest.approx(names["K"][0, 0], rel=1e-10)
    assert value(page, "second") == pytest.approx(names["K"][1, 1], rel=1e-10)
    assert value(page, "similarity") == pytest.approx(names["alike"], rel=1e-10)
    products = result(page, "r.rows.map((row) => row.product)")
    assert sum(products) == pytest.approx(names["value"], rel=1e-10)


def test_words_are_typed(lab):
    page = lab("#subsequences")
    page.get_by_label("First word").fill("cat")
    page.get_by_label("Second word").fill("cart")
    page.get_by_label("Letters k").focus()
    page.keyboard.press("ArrowLeft")
    settle(page)
    assert value(page, "kernel") == 1.625  # ca 1·1, at 1·½, ct ½·¼
    page.get_by_label("Second word").fill("<b>x")
    settle(page)
    assert "No subsequence" in page.locator(".verdict").inner_text()
    assert page.locator("section b").count() == 0
    assert "second=%3Cb%3Ex" in page.evaluate("location.hash")
    page.get_by_label("Second word").fill("")
    settle(page)
    assert value(page, "kernel") == 0.0
