"""Docstrings of classes that share parameters."""

from mercer import SVR, Lasso, NuSVC, Radial
from mercer._docstrings import complete


class Base:
    """A base.

    Parameters
    ----------
    first, second : float
        Two numbers.
    third : float
        Another.

    Attributes
    ----------
    found_ : float
        What was found.
    """

    __module__ = "mercer.tests"


def test_bases_say_what_a_class_does_not():
    class Own(Base):
        """A class.

        Parameters
        ----------
        own : int
            Its own.

        Examples
        --------
        >>> 1
        1
        """

    complete(Own, ("third", "own"))
    assert Own.__doc__ == (
        "A class.\n\nParameters\n----------\nthird : float\n    Another.\n"
        "own : int\n    Its own.\n\n"
        "Attributes\n----------\nfound_ : float\n    What was found.\n\n"
        "Examples\n--------\n>>> 1\n1\n"
    )


def test_a_class_may_say_it_better():
    class Own(Base):
        """A class.

        Parameters
        ----------
        third : int
            A whole number here.
        """

    complete(Own, ("first", "second", "third"))
    assert "A whole number here." in Own.__doc__
    assert "Another." not in Own.__doc__
    assert Own.__doc__.index("first, second") < Own.__doc__.index("third")


def test_a_class_without_a_docstring_stays_so():
    class Own(Base):
        pass

    complete(Own, ("third",))
    assert Own.__doc__ is None


def test_machines_and_kernels_show_what_they_inherit():
    assert "tol : float" in SVR.__doc__
    assert "class_weight" not in SVR.__doc__
    assert "class_weight : dict" in NuSVC.__doc__
    assert "warm_start : bool" in Lasso.__doc__
    assert "length_scale : float" in Radial.__doc__
