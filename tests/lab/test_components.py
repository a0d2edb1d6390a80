"""Principal components of the page and of Python."""

import numpy as np
import pytest

from tests.lab.reading import result, settle, value, values


@pytest.mark.parametrize("data", ["cigar", "arc", "clusters"])
def test_axes(lab, run_python, data):
    page = lab(f"#components?data={data}")
    model = run_python(page)["model"]
    found = [value(page, "variance-1"), value(page, "variance-2")]
    np.testing.assert_allclose(found, model.explained_variance_, rtol=1e-10)
    axes = result(page, "r.axes")
    np.testing.assert_allclose(axes, model.components_, atol=1e-8)
    np.testing.assert_allclose(values(page, "axis"), model.components_[0], atol=1e-8)
    np.testing.assert_allclose(result(page, "r.mean"), model.mean_, atol=1e-12)


@pytest.mark.parametrize("component", [1, 2, 3])
@pytest.mark.parametrize(
    "kernel", ["kernel=rbf&width=0.8", "kernel=rbf&width=2", "kernel=polynomial&degree=3"]
)
def test_axes_in_feature_space(lab, run_python, kernel, component):
    page = lab(f"#components?data=arc&method=kernel&{kernel}&component={component}")
    names = run_python(page)
    model, X = names["model"], names["X"]
    found = [value(page, f"eigenvalue-{k}") for k in (1, 2, 3)]
    np.testing.assert_allclose(found, model.eigenvalues_, rtol=1e-9)
    theirs = model.transform(X)[:, component - 1]
    ours = np.array(result(page, "r.projection"))
    np.testing.assert_allclose(ours, theirs, atol=1e-8)
    # Between the points too, where the picture shows it.
    between = np.array([[0.3, -1.2], [2.5, 2.5], [-3.0, 0.0]])
    drawn = page.evaluate(
        """(places) => {
          const { kernel, X, c, shift } = lab.stage.result;
          return places.map(([x, y]) => lab.kernels.onGrid(kernel, X, c, shift, [x], [y])[0]);
        }""",
        between.tolist(),
    )
    np.testing.assert_allclose(drawn, model.transform(between)[:, component - 1], atol=1e-8)


def test_the_axis_turns_with_a_point(lab):
    page = lab("#components")
    before = value(page, "angle")
    page.locator(".point").first.focus()
    for _ in range(15):
        page.keyboard.press("ArrowUp")
    settle(page)
    assert abs(value(page, "angle") - before) > 0.2


def test_few_points_and_few_directions(lab):
    page = lab("#components?points=1,1,0;2,2,0")
    assert "four points" in page.locator(".verdict").inner_text()
    page = lab("#components?method=kernel&kernel=linear&component=3")
    assert "fewer directions" in page.locator(".verdict").inner_text()
