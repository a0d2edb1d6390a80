"""The margin in a real browser: by mouse, by keys, by its address; and its numbers in Python."""

import numpy as np
import pytest

from mercer import NotSeparable
from tests.lab.reading import points, settle, value


@pytest.mark.parametrize(
    "place",
    [
        "#margin",
        "#margin?data=overlap&C=0.1",
        "#margin?data=xor&kernel=rbf&width=0.7",
        "#margin?data=rings&kernel=polynomial&degree=2&C=10",
        "#margin?hard=true",
        "#margin?data=rings&kernel=rbf&hard=true",
    ],
)
def test_the_lines_of_python_give_the_numbers_of_the_page(lab, run_python, place):
    page = lab(place)
    model = run_python(page)["model"]
    proof = model.certificate_
    assert value(page, "primal") == pytest.approx(proof.primal, rel=1e-7)
    assert value(page, "dual") == pytest.approx(proof.dual, rel=1e-7)
    assert value(page, "slack") == pytest.approx(model.slack_.sum(), rel=1e-5, abs=1e-6)
    assert abs(value(page, "gap")) <= 1e-6
    alpha = page.evaluate("[...lab.stage.result.alpha]")
    np.testing.assert_allclose(alpha, model.alpha_, rtol=1e-4, atol=1e-5 * max(alpha))
    for key in ("stationarity", "primal-feasibility", "dual-feasibility", "complementarity"):
        assert value(page, key) <= 1e-6


def test_classes_that_no_line_separates(lab, run_python):
    page = lab("#margin?data=rings&hard=true")
    assert "convex hulls meet" in page.locator(".verdict").inner_text()
    with pytest.raises(NotSeparable):
        run_python(page)


def test_a_drag_changes_the_answer(lab):
    page = lab("#margin")
    before, primal = points(page), value(page, "primal")
    box = page.locator(".point").nth(0).locator(".hit").bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] - 100, middle[1] - 50, steps=5)
    page.mouse.up()
    settle(page)
    after = points(page)
    assert len(after) == len(before)
    assert after[1:] == before[1:]
    assert after[0][0] < before[0][0] - 0.5
    assert after[0][1] > before[0][1] + 0.2
    assert value(page, "primal") > primal + 1e-3
    assert abs(value(page, "gap")) <= 1e-6


def test_a_click_adds_and_removes(lab):
    page = lab("#margin")
    frame = page.locator(".picture")
    count = len(points(page))
    frame.click(position={"x": 300, "y": 40})
    settle(page)
    assert len(points(page)) == count + 1
    assert points(page)[-1][2] == 1
    page.get_by_label("adds ■").check()
    frame.click(position={"x": 40, "y": 500})
    settle(page)
    assert points(page)[-1][2] == -1
    page.get_by_label("removes").check()
    page.locator(".point").last.click()
    settle(page)
    assert len(points(page)) == count + 1
    frame.click(position={"x": 300, "y": 300})
    settle(page)
    assert len(points(page)) == count + 1


def test_keys_alone(lab):
    page = lab("#margin")
    page.get_by_label("C, the price of slack").focus()
    before = value(page, "primal")
    page.keyboard.press("ArrowRight")
    settle(page)
    assert value(page, "primal") > before
    # One stop for Tab among the points; everything else is a key away.
    assert page.locator(".point[tabindex='0']").count() == 1
    page.locator(".point[tabindex='0']").focus()
    x, y, kind = points(page)[0]
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Shift+ArrowUp")
    settle(page)
    assert points(page)[0] == [round(x + 0.1, 2), round(y + 0.11, 2), kind]
    page.keyboard.press("Space")
    settle(page)
    assert points(page)[0][2] == -kind
    page.keyboard.press("PageDown")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("Point 2")
    count = len(points(page))
    page.keyboard.press("+")
    settle(page)
    assert len(points(page)) == count + 1
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith(
        f"Point {count + 1} of {count + 1}"
    )
    page.keyboard.press("Delete")
    settle(page)
    assert len(points(page)) == count


def test_one_class_alone_is_said(lab):
    page = lab("#margin?points=100,100,1;50,20,1")
    assert "Both classes need a point" in page.locator(".verdict").inner_text()
    page = lab("#margin?points=")
    assert page.locator(".point").count() == 0
