"""Ridge and lasso: where the ball touches is where Python's answer is."""

import pytest

from tests.lab.reading import points, result, settle, value


@pytest.mark.parametrize("penalty", ["ridge", "lasso"])
@pytest.mark.parametrize(
    "place", ["", "&lambda=0.1&rho=-0.8", "&lambda=3&points=-200,150,0", "&rho=0.9&lambda=0.5"]
)
def test_the_lines_of_python_give_the_numbers_of_the_page(lab, run_python, penalty, place):
    page = lab(f"#balls?penalty={penalty}{place}")
    model = run_python(page)["model"]
    found = [value(page, "w1"), value(page, "w2")]
    assert found == pytest.approx(list(model.coef_), abs=1e-8)
    if penalty == "lasso":
        assert [w == 0 for w in found] == [w == 0 for w in model.coef_]


def test_a_corner_holds_the_answer(lab):
    page = lab("#balls")
    strength = result(page, "lab.stage.state.lambda")
    assert value(page, "w1") == 0.0
    assert abs(value(page, "pull1")) < strength
    assert value(page, "pull2") == pytest.approx(strength)
    assert "One weight is exactly zero" in page.locator(".verdict").inner_text()
    page.get_by_label("ridge", exact=True).check()
    settle(page)
    assert value(page, "w1") != 0.0


def test_there_is_one_point_and_it_moves(lab):
    page = lab("#balls")
    page.locator(".picture").click(position={"x": 60, "y": 60})
    page.locator(".point").focus()
    for key in ("Delete", "+", "Space", "ArrowRight"):
        page.keyboard.press(key)
    settle(page)
    assert points(page) == [[0.8, 1.9, 0]]
    page = lab("#balls?points=1,1,0;2,2,0")  # two make no sense
    assert points(page) == [[0.7, 1.9, 0]]
