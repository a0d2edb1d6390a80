"""Old names of keywords work, with a warning that gives the new one."""

import inspect
import warnings

import pytest

from mercer import InvalidParameter
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
