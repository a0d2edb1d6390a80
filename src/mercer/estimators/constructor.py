"""Constructors in scikit-learn's grammar: each parameter is stated once, as an annotated attribute.

``__init__`` does nothing but keep its arguments, so it follows from their names and defaults.
"""

from __future__ import annotations

import inspect
from dataclasses import MISSING, field, fields, make_dataclass
from typing import Any, TypeVar, dataclass_transform

from mercer._docstrings import complete
from mercer._sklearn import StrOptions

IMPLIED: dict[str, list[Any]] = {
    "bool": ["boolean"],
    "Seed": ["random_state"],
    "ClassWeights": [dict, StrOptions({"balanced"}), None],
}
"""What scikit-learn's validation has to know of a parameter whose annotation says it all."""

Estimator = TypeVar("Estimator")


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def parameters(cls: type[Estimator]) -> type[Estimator]:
    """Give a class the constructor of a dataclass with its annotated attributes.

    What follows ``_: KW_ONLY`` is given by name only; parameters of base classes come first, and
    are stated again where a class has another default or another place for them. What is annotated
    and no parameter, or none any more, is a ``field(init=False)``. ``_parameter_constraints`` need
    not say what an annotation does.

    The class itself is none of :mod:`dataclasses`: others take instances of those for their fields
    and no more (Dask does so when it names its tasks), and a fitted machine is more than its
    parameters.
    """
    annotated = inspect.get_annotations(cls)
    listed: list[Any] = [
        (name, kind, vars(cls)[name]) if name in vars(cls) else (name, kind)
        for name, kind in annotated.items()
    ]
    bases = tuple(base._listing for base in cls.__bases__ if hasattr(base, "_listing"))
    namespace = {"__module__": cls.__module__, "__qualname__": cls.__qualname__}
    listing = make_dataclass(
        cls.__name__, listed, bases=bases, namespace=namespace, eq=False, repr=False
    )
    for each in fields(listing):
        # The default of a parameter is the constructor's, not the class's.
        if each.name in vars(cls):
            delattr(cls, each.name)
        if not each.init and each.default is not MISSING:
            setattr(cls, each.name, each.default)
    stated = getattr(cls, "_parameter_constraints", None)
    if stated is not None:
        implied = {name: IMPLIED[kind] for name, kind in annotated.items() if kind in IMPLIED}
        cls._parameter_constraints = {**implied, **stated}  # type: ignore[attr-defined]
    cls.__init__ = listing.__init__  # type: ignore[misc, method-assign]
    cls._listing = listing  # type: ignore[attr-defined]
    complete(cls, [each.name for each in fields(listing) if each.init])
    return cls
