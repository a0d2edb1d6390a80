"""A network that learns on the page as in Python."""

import numpy as np
import pytest

from tests.lab.reading import result, settle, value


@pytest.mark.parametrize(
    "place", ["", "?data=corners&hidden=3&rate=0.5&step=60", "?data=halves&hidden=1&step=0&seed=4"]
)
def test_loss_and_gradient(lab, run_python, place):
    page = lab(f"#network{place}")
    names = run_python(page)
    assert value(page, "loss") == pytest.approx(names["loss"], rel=1e-9)
    ours = list(result(page, "Array.from(r.slopes)"))
    np.testing.assert_allclose(ours, names["gradient"], atol=1e-9)
    theta = list(result(page, "Array.from(r.theta)"))
    np.testing.assert_allclose(theta, names["network"].theta, rtol=1e-7, atol=1e-9)
    differences = list(result(page, "Array.from(r.differences)"))
    np.testing.assert_allclose(differences, names["gradient"], atol=1e-8)
    assert value(page, "apart") < 1e-8
    inside = names["network"].forward(names["X"])[:, 0] > 0.5
    assert value(page, "wrong") == int((inside != (names["y"][:, 0] > 0)).sum())


def test_steps_go_downhill(lab):
    page = lab("#network?rate=0.2&step=20")
    before = value(page, "loss")
    page.get_by_role("button", name="One step").focus()
    for _ in range(5):
        page.keyboard.press("Enter")
        settle(page)
    assert value(page, "loss") < before
    page.get_by_role("button", name="Other first weights").click()
    settle(page)
    assert "seed=2" in page.evaluate("location.hash")


def test_both_classes_are_needed(lab):
    page = lab("#network?points=100,100,1;200,200,1")
    assert "Both classes" in page.locator(".verdict").inner_text()
