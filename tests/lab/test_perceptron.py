"""The perceptron step by step, with the mistakes and the bound of Python."""

import numpy as np
import pytest

from tests.lab.reading import points, result, settle, value, values


@pytest.mark.parametrize(
    "place",
    ["#perceptron", "#perceptron?points=100,100,1;50,-120,-1;-200,30,1;120,-30,-1;-100,-210,-1"],
)
def test_the_lines_of_python_give_the_numbers_of_the_page(lab, run_python, place):
    page = lab(place)
    page.get_by_role("button", name="To the end").click()
    settle(page)
    machine = run_python(page)["machine"]
    assert value(page, "mistakes") == machine.mistakes_[0]
    assert value(page, "bound") == pytest.approx(machine.mistake_bound_[0], rel=1e-6)
    assert value(page, "mistakes") <= value(page, "bound")
    np.testing.assert_allclose(values(page, "weights"), machine.coef_[0], rtol=1e-12, atol=1e-12)
    assert value(page, "bias") == machine.intercept_[0]

    assert "All rows are right" in page.locator(".verdict").inner_text()


def test_step_by_step(lab):
    page = lab("#perceptron?step=0")
    assert values(page, "weights") == [0.0, 0.0]
    w, b = np.zeros(2), 0.0
    for update in result(page, "r.updates")[:5]:
        page.get_by_role("button", name="Next mistake").click()
        settle(page)
        x, y, side = points(page)[update["row"]]
        assert side * (w @ [x, y] + b) <= 0  # it was a mistake
        w, b = w + side * np.array([x, y]), b + side
        np.testing.assert_allclose(values(page, "weights"), w, atol=1e-12)
        assert value(page, "bias") == b
    page.get_by_role("button", name="One back").click()
    settle(page)
    assert result(page, "r.step") == 4
    page.get_by_role("slider", name="Mistakes so far").focus()
    page.keyboard.press("End")
    settle(page)
    assert result(page, "r.step") == value(page, "mistakes")


def test_what_no_line_separates(lab, run_python):
    page = lab("#perceptron?points=100,100,1;-100,-100,1;100,-100,-1;-100,100,-1")
    assert "no line separates" in page.locator(".verdict").inner_text()
    assert value(page, "bound") == np.inf
    machine = run_python(page)["machine"]
    assert value(page, "mistakes") == machine.mistakes_[0]
    assert machine.mistake_bound_[0] == np.inf
