"""The plane between lifted classes, and how it is turned."""

import numpy as np
import pytest

from tests.lab.reading import result, settle, value, values


@pytest.mark.parametrize("place", ["", "?data=ring", "?data=ring&C=0.05", "?C=0.1"])
def test_the_lines_of_python_give_the_numbers_of_the_page(lab, run_python, place):
    page = lab(f"#lift{place}")
    model = run_python(page)["model"]
    assert value(page, "primal") == pytest.approx(model.certificate_.primal, rel=1e-7)
    assert abs(value(page, "gap")) <= 1e-6
    np.testing.assert_allclose(values(page, "normal"), model.coef_[0], atol=1e-5)
    assert value(page, "bias") == pytest.approx(model.intercept_[0], abs=1e-5)


def test_a_drag_turns_it(lab):
    page = lab("#lift")
    box = page.locator(".picture").bounding_box()
    page.mouse.move(box["x"] + 300, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 360, box["y"] + 260, steps=4)
    page.mouse.up()
    settle(page)
    assert result(page, "[lab.stage.state.turn, lab.stage.state.tilt]") == [60, 40]
    page.mouse.move(box["x"] + 100, box["y"] + 100)  # it was let go
    settle(page)
    assert result(page, "lab.stage.state.turn") == 60
    page.get_by_label("Turn, in degrees").focus()
    page.keyboard.press("ArrowLeft")
    settle(page)
    assert "turn=59" in page.evaluate("location.hash")
