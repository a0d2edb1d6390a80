"""Fisher's discriminant of the page and of Python."""

import numpy as np
import pytest

from tests.lab.reading import result, settle, value, values


@pytest.mark.parametrize("data", ["slanted", "round", "uneven"])
def test_directions_and_quotients(lab, run_python, data):
    page = lab(f"#discriminant?data={data}&angle=35")
    names = run_python(page)
    model = names["model"]
    assert value(page, "best") == pytest.approx(model.separation_[0], rel=1e-10)
    assert value(page, "here") == pytest.approx(names["here"], rel=1e-10)
    np.testing.assert_allclose(values(page, "weights"), model.coef_[0], rtol=1e-9)
    assert value(page, "bias") == pytest.approx(model.intercept_[0], rel=1e-9, abs=1e-12)
    wrong = int((model.predict(names["X"]) != names["y"]).sum())
    assert result(page, "r.wrong") == wrong


def test_no_direction_beats_the_best(lab):
    page = lab("#discriminant")
    best = value(page, "best")
    slider = page.get_by_role("slider", name="Your direction")
    slider.focus()
    for _ in range(10):
        for _ in range(17):
            page.keyboard.press("ArrowRight")
        settle(page)
        assert value(page, "here") <= best * (1 + 1e-12)
    page.get_by_role("button", name="To the best direction").click()
    settle(page)
    assert value(page, "here") > 0.99 * best


def test_it_turns_with_a_point(lab):
    page = lab("#discriminant")
    before = value(page, "degrees")
    page.locator(".point").first.focus()
    for _ in range(15):
        page.keyboard.press("ArrowUp")
    settle(page)
    assert abs(value(page, "degrees") - before) > 0.2


def test_too_few_points(lab):
    page = lab("#discriminant?points=100,100,1;200,200,-1")
    assert "two points" in page.locator(".verdict").inner_text()
