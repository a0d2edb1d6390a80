"""The alignment of two series in the page and in Python."""

from itertools import pairwise

import pytest

from tests.lab.reading import points, result, settle, value


@pytest.mark.parametrize("band", [13, 5, 2, 0])
def test_the_lines_of_python_give_the_numbers_of_the_page(lab, run_python, band):
    page = lab(f"#alignment?band={band}")
    names = run_python(page)
    assert value(page, "distance") == pytest.approx(names["distance"], rel=1e-10)
    assert value(page, "straight") == pytest.approx(names["straight"], rel=1e-10)
    a, b, path = result(page, "[r.a, r.b, r.path]")
    assert path[0] == [0, 0]
    assert path[-1] == [13, 13]
    steps = {(p[0] - q[0], p[1] - q[1]) for q, p in pairwise(path)}
    assert steps <= {(1, 0), (0, 1), (1, 1)}
    assert max(abs(i - j) for i, j in path) <= band
    paid = sum((a[i] - b[j]) ** 2 for i, j in path)
    assert paid == pytest.approx(names["distance"], rel=1e-10)


def test_values_move_up_and_down_only(lab):
    page = lab("#alignment")
    before, distance = points(page), value(page, "distance")
    mark = page.locator(".point").nth(20)
    box = mark.locator(".hit").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 80, y - 90, steps=4)
    page.mouse.up()
    page.keyboard.press("ArrowRight")
    settle(page)
    after = points(page)
    assert after[20][0] == before[20][0]
    assert after[20][1] > before[20][1] + 0.5
    assert value(page, "distance") != distance
