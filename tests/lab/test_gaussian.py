"""Conditional and marginal of the page and of Python."""

import pytest

from tests.lab.reading import settle, value


@pytest.mark.parametrize(
    "place", ["", "?s1=0.5&s2=1.8&rho=-0.6", "?points=100,-50,0;-200,-250,-1&rho=0.95"]
)
def test_the_lines_of_python_give_the_numbers_of_the_page(lab, run_python, place):
    page = lab(f"#gaussian{place}")
    names = run_python(page)
    given, alone = names["given"], names["alone"]
    assert value(page, "conditional-mean") == pytest.approx(given.mean[0], abs=1e-12)
    deviation = given.covariance[0, 0] ** 0.5
    assert value(page, "conditional-deviation") == pytest.approx(deviation, rel=1e-10)
    assert value(page, "marginal-mean") == pytest.approx(alone.mean[0], abs=1e-12)
    assert value(page, "marginal-deviation") == pytest.approx(alone.covariance[0, 0] ** 0.5)


def test_the_cut_moves_the_mean_and_not_the_deviation(lab):
    page = lab("#gaussian")
    mean, deviation = value(page, "conditional-mean"), value(page, "conditional-deviation")
    page.locator(".point").last.focus()
    page.keyboard.press("ArrowRight")
    settle(page)
    assert value(page, "conditional-mean") == pytest.approx(mean + 0.1 * value(page, "slope"))
    assert value(page, "conditional-deviation") == deviation
