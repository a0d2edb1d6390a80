"""Pictures: they show the numbers that they are of."""

import matplotlib as mpl
import numpy as np
import pytest

from mercer import SVC, explain, norms
from mercer.optimize import gradient_descent, smo
from tests.solvers.test_descent import bowl, soft, soft_gradient

mpl.use("Agg")


def test_descents():
    found = gradient_descent(soft, [-1.0, 1.0], soft_gradient)
    axes = found.plot()
    assert axes.lines[0].get_xydata() == pytest.approx(found.trace.points)
    assert axes.collections  # contours
    values = gradient_descent(bowl(1)[0], np.ones(3)).trace.plot()
    assert values.get_yscale() == "log"


def test_unit_balls():
    import matplotlib.pyplot as plt

    axes = norms.l1.plot()
    assert norms.L0().plot(axes) is axes
    assert len(axes.lines) == 2
    np.testing.assert_allclose(np.abs(axes.lines[0].get_xydata()).sum(axis=1), 1)
    plt.close(axes.figure)


def test_axes_are_given_as_everywhere():
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    assert norms.l2.plot(ax=ax) is ax
    with pytest.warns(FutureWarning, match="'axes' is now called 'ax'"):
        assert norms.l1.plot(axes=ax) is ax
    found = gradient_descent(soft, [-1.0, 1.0], soft_gradient)
    assert found.plot(ax=ax, contours=False) is ax
    plt.close(ax.figure)


def _pictures():
    """Yield the colour of the main line or bar of each picture, and the axes."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(20, 2)), np.repeat([-1, 1], 10)
    ball = norms.l2.plot()
    yield ball.lines[0].get_color(), ball
    values = gradient_descent(bowl(1)[0], np.ones(3)).trace.plot()
    yield values.lines[0].get_color(), values
    rise, _ = smo(X @ X.T, y, C=1.0).plot()
    yield rise.lines[0].get_color(), rise
    sizes = explain(SVC("linear").fit(X, y), X).plot_importance()
    yield sizes.patches[0].get_facecolor(), sizes


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_lines_can_be_read_on_light_and_dark_paper(style):
    import matplotlib.pyplot as plt

    with plt.style.context(style):
        for colour, axes in _pictures():
            paper = np.mean(mpl.colors.to_rgb(axes.get_facecolor()))
            assert abs(np.mean(mpl.colors.to_rgb(colour)) - paper) > 0.5
            plt.close(axes.figure)
