"""Pictures: they show the numbers that they are of."""

import matplotlib as mpl
import numpy as np
import pytest

from mercer import norms
from mercer.optimize import gradient_descent
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
