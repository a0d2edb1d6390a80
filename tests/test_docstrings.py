"""Docstrings: shared parameters, and whether those of public names are complete and true."""

import doctest
import inspect
import re
from enum import Enum
from importlib import import_module
from importlib.util import find_spec

import pytest

import mercer
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


FACES = ["mercer", "mercer.norms", "mercer.optimize", "mercer.independence"]
"""Modules whose names are public."""
if find_spec("distributed"):
    FACES.append("mercer.distributed")


def _public(face):
    module = import_module(face)
    names = mercer.__all__ if module is mercer else vars(module)
    found = {name: getattr(module, name) for name in names if not name.startswith("_")}
    place = "" if module is mercer else f"{face.removeprefix('mercer.')}."
    return {
        place + name: value
        for name, value in found.items()
        if inspect.isclass(value) or inspect.isfunction(value)
    }


PUBLIC = {name: value for face in FACES for name, value in _public(face).items()}


def _needs_no_example(value):
    protocol = getattr(value, "_is_protocol", False)
    return inspect.isclass(value) and (protocol or issubclass(value, Exception))


def _undescribed(value):
    """Return the parameters that no head of "Parameters" or "Attributes" names."""
    if inspect.isclass(value) and (issubclass(value, Enum) or _needs_no_example(value)):
        return []
    given = inspect.signature(value).parameters.values()
    asked = [p.name for p in given if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    doc = inspect.getdoc(value) or ""
    sections = re.split(r"^(\w[\w ]*)\n-{3,}\n", doc, flags=re.MULTILINE)
    described = set()
    for title, text in zip(sections[1::2], sections[2::2], strict=True):
        if title in ("Parameters", "Attributes"):
            heads = [line.partition(":")[0] for line in text.splitlines() if line[:1].strip()]
            described.update(name.strip(" *") for head in heads for name in head.split(","))
    return [name for name in asked if name not in described and not name.startswith("_")]


def test_every_parameter_is_described():
    missing = {name: _undescribed(value) for name, value in PUBLIC.items()}
    missing = {name: lacking for name, lacking in missing.items() if lacking}
    assert not missing


def test_every_name_has_an_example():
    asked = {name: value for name, value in PUBLIC.items() if not _needs_no_example(value)}
    missing = {name for name, value in asked.items() if ">>>" not in (value.__doc__ or "")}
    assert not missing


@pytest.mark.parametrize(
    "name", [name for name, value in PUBLIC.items() if ">>>" in (value.__doc__ or "")]
)
def test_examples_say_what_happens(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    doc = inspect.getdoc(PUBLIC[name])
    example = doctest.DocTestParser().get_doctest(doc, {"__name__": "__main__"}, name, None, 0)
    said = []
    doctest.DocTestRunner(verbose=False).run(example, out=said.append)
    assert not said, "".join(said)
