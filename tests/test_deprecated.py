"""Old names of keywords work, with a warning that gives the new one."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import kernels

from mercer import RBF, InvalidParameter, Matern, RationalQuadratic
from mercer._deprecated import renamed


@renamed(seed="random_state")
def draw(count, *, random_state=0):
    """Return what was given."""
    return count, random_state


def test_the_old_name_means_the_new_one():
    with pytest.warns(FutureWarning, match="draw: 'seed' is now called 'random_state'") as caught:
        assert draw(3, seed=7) == (3, 7)
    assert caught[0].filename == __file__


def test_the_new_name_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert draw(3, random_state=7) == (3, 7)
        assert draw(3) == (3, 0)


def test_both_names_at_once():
    with pytest.raises(InvalidParameter, match="'seed' is the old name of 'random_state'"):
        draw(3, seed=7, random_state=7)


def test_documentation_shows_the_new_name_alone():
    assert list(inspect.signature(draw).parameters) == ["count", "random_state"]
    assert draw.__doc__ == "Return what was given."


@pytest.mark.parametrize(
    ("kernel", "name"), [(RBF, "gamma"), (Matern, "nu"), (RationalQuadratic, "alpha")]
)
def test_a_number_that_scikit_learn_takes_for_a_length_scale_needs_its_name(kernel, name):
    with pytest.warns(FutureWarning, match=rf"means {name} here and length_scale in sc") as caught:
        given = kernel(0.7)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert given == kernel(**{name: 0.7})
        assert clone(kernel(length_scale=0.3)) == kernel(length_scale=0.3)
        assert kernel() == kernel(**kernel().get_params())
    assert next(iter(inspect.signature(kernel).parameters)) == name


@pytest.mark.parametrize("kernel", [RBF, Matern])
@pytest.mark.parametrize("scales", [[1.0], [0.5, 2.0], (0.5, 2.0), np.array([0.5, 2.0])], ids=repr)
def test_a_list_alone_has_length_scales_as_in_scikit_learn(kernel, scales):
    X = np.random.default_rng(0).standard_normal((5, len(scales)))
    theirs = getattr(kernels, kernel.__name__)(scales)
    np.testing.assert_allclose(kernel(scales)(X), theirs(X), rtol=1e-12, atol=1e-12)
    assert kernel(scales) == kernel(length_scale=scales)


@pytest.mark.parametrize(
    "make",
    [
        lambda: RBF(1.0, (1e-2, 1e2)),
        lambda: RBF(length_scale=1.0, length_scale_bounds="fixed"),
        lambda: Matern(1.0, (1e-5, 1e5), 2.5),
        lambda: RationalQuadratic(1.0, 2.0),
        lambda: RationalQuadratic(alpha_bounds=(1, 2)),
    ],
)
def test_what_only_scikit_learns_kernels_have_is_refused_with_its_place_here(make):
    with pytest.raises(InvalidParameter, match=r"\(length_scale=…\), and give bounds to the mach"):
        make()
