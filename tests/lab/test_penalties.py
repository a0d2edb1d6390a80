"""Six penalties: the costs of the page are those of Python, and who follows an outlier."""

import numpy as np
import pytest

from tests.lab.reading import result, settle, value

SCATTER = "points=-300,100,0;-210,-20,0;-100,130,0;20,-90,0;150,40,0;210,220,0;330,-130,0"


@pytest.mark.parametrize("points", ["", f"&{SCATTER}"], ids=["line", "scatter"])
@pytest.mark.parametrize(
    "penalty", ["L2", "L1", "Huber&a=0.5", "DeadZone&a=0.3", "LogBarrier&a=3", "LargeError&a=0.8"]
)
def test_the_lines_of_python_give_the_numbers_of_the_page(lab, run_python, penalty, points):
    page = lab(f"#penalties?penalty={penalty}{points}")
    names = run_python(page)
    model, x, y = names["model"], names["x"][:, 0], names["y"]
    w, b = result(page, "r.line")
    theirs = float(names["penalty"].value(y - model.predict(names["x"])).sum())
    ours = float(names["penalty"].value(y - w * x - b).sum())
    assert result(page, "r.value") == pytest.approx(ours, rel=1e-10)
    if penalty.startswith("LargeError"):
        assert ours <= theirs + 1e-9  # all local optima are tried here
    else:
        assert ours == pytest.approx(theirs, rel=1e-8)
    if penalty[:2] in ("L2", "Hu", "Lo"):  # one line alone is the best
        assert [w, b] == pytest.approx([model.coef_[0], model.intercept_], rel=1e-5, abs=1e-6)


def test_no_line_of_a_grid_is_better(lab):
    """An oracle for the penalty that is not convex."""
    page = lab(f"#penalties?penalty=LargeError&a=0.8&{SCATTER}")
    x, y, least = result(page, "[r.X, r.y, r.value]")
    slopes, shifts = np.meshgrid(np.linspace(-4, 4, 401), np.linspace(-4, 4, 401))
    r = np.array(y)[:, None, None] - np.array(x)[:, None, None] * slopes - shifts
    assert least <= np.minimum(r**2, 0.64).sum(axis=0).min()


def test_who_follows_the_outlier(lab):
    page = lab("#penalties?a=0.5")
    before = {k: value(page, k) for k in ("L2", "L1", "Huber", "LargeError")}
    page.locator(".point").last.focus()
    for _ in range(6):
        page.keyboard.press("ArrowDown")
    settle(page)
    moved = {k: abs(value(page, k) - before[k]) for k in before}
    assert moved["L2"] > 0.02
    for robust in ("L1", "Huber", "LargeError"):
        assert moved[robust] < 1e-9


def test_a_barrier_that_is_too_narrow(lab):
    page = lab("#penalties?penalty=LogBarrier&a=0.5")
    assert "Take a larger a" in page.locator(".verdict").inner_text()
    page = lab("#penalties?points=100,0,0;100,50,0")
    assert "different places" in page.locator(".verdict").inner_text()
