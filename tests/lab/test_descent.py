"""The way down is Python's, step for step."""

import numpy as np
import pytest

from tests.lab.reading import result, settle, value


@pytest.mark.parametrize("start", ["", "&points=100,-120,0"])
@pytest.mark.parametrize("method", ["2", "1", "inf", "quadratic", "newton"])
def test_the_lines_of_python_give_the_numbers_of_the_page(lab, run_python, method, start):
    page = lab(f"#descent?method={method}&step=999{start}")
    down = run_python(page)["down"]
    assert value(page, "steps") == down.iterations
    np.testing.assert_allclose(result(page, "r.path"), down.trace.points, atol=1e-8)
    assert value(page, "value") == pytest.approx(down.value, rel=1e-12)
    assert value(page, "x1") == pytest.approx(-np.log(2) / 2, abs=1e-5)


def test_newton_takes_fewer_steps_and_buttons_go_along(lab):
    page = lab("#descent")
    gradient = value(page, "steps")
    page.get_by_label("Norm", exact=True).select_option("newton")
    settle(page)
    assert value(page, "steps") < gradient / 2
    before = value(page, "value")
    page.get_by_role("button", name="Next step").click()
    settle(page)
    assert value(page, "value") < before
    page.get_by_role("button", name="One back").click()
    settle(page)
    assert value(page, "value") == before
    page.get_by_role("button", name="To the end").click()
    settle(page)
    assert value(page, "excess") < 1e-10
