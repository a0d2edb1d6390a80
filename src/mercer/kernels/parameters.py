"""Parameters of kernels: the scikit-learn protocol, equality, hashing, checks."""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, Self, TypeVar
from warnings import warn

import numpy as np

from mercer._docstrings import complete
from mercer._typing import Parameter
from mercer.exceptions import InvalidParameter

Kind = TypeVar("Kind", bound=Callable[..., Any])


class Parametrised:
    """An object that is nothing but its constructor's parameters.

    ``get_params`` and ``set_params`` follow scikit-learn, so clone and searches work, with nested
    names such as ``left__gamma``. Two objects are equal when class and parameters are. Parameters
    are checked when the object is made and when they are set.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        complete(cls, inspect.signature(cls).parameters)

    def __init__(self) -> None:
        self.check_parameters()

    def check_parameters(self) -> None:
        """Raise :class:`InvalidParameter` where a parameter has an impossible value."""

    @classmethod
    @cache
    def parameter_names(cls) -> tuple[str, ...]:
        """Return the names of the constructor's parameters, in their order."""
        found = inspect.signature(cls).parameters.values()
        return tuple(p.name for p in found if p.kind is not p.VAR_POSITIONAL)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, with those of parameters that have their own if ``deep``."""
        params: dict[str, Any] = {}
        for name in self.parameter_names():
            value = params[name] = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                params.update({f"{name}__{k}": v for k, v in value.get_params().items()})
        return params

    def set_params(self, **params: Parameter) -> Self:
        """Set parameters by name; ``left__gamma`` reaches the ``gamma`` of ``left``.

        Where one of them is refused, all stay as they were.
        """
        before = self.get_params(deep=False)
        try:
            return self._set_params(params)
        except InvalidParameter:
            self.__dict__.update(before)
            raise

    def _set_params(self, params: dict[str, Any]) -> Self:
        nested: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, _, rest = key.partition("__")
            if name not in self.parameter_names():
                raise InvalidParameter(
                    f"{type(self).__name__} has no parameter {name!r}. It has "
                    f"{', '.join(self.parameter_names()) or 'none'}."
                )
            if rest:
                nested.setdefault(name, {})[rest] = value
            else:
                setattr(self, name, value)
        for name, inner in nested.items():
            value = getattr(self, name)
            if not hasattr(value, "set_params"):
                raise InvalidParameter(
                    f"{type(self).__name__}: {name}={_short(value)} has no parameters of its own, "
                    f"so {name}__{next(iter(inner))} does not exist."
                )
            value.set_params(**inner)
        self.check_parameters()
        return self

    def replace(self, **params: Parameter) -> Self:
        """Return a copy with other parameters; nested names work as in ``set_params``."""
        if not params:
            return self
        # What is replaced as a whole need not be copied, and a new object need not be restored.
        clone = type(self).__new__(type(self))
        for name in self.parameter_names():
            if name not in params:
                clone.__dict__[name] = _copy(getattr(self, name))
        return clone._set_params(params)

    def __sklearn_clone__(self) -> Self:
        values = self.get_params(deep=False)
        copies = {name: _copy(value) for name, value in values.items()}
        clone = type(self).__new__(type(self))
        clone.__dict__.update(copies)
        return clone

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self is other or all(
            same_value(getattr(self, name), getattr(other, name)) for name in self.parameter_names()
        )

    def __hash__(self) -> int:
        values = (_hashable(getattr(self, name)) for name in self.parameter_names())
        return hash((type(self), *values))

    def __repr__(self) -> str:
        parameters = inspect.signature(type(self)).parameters
        shown = []
        for name in self.parameter_names():
            value = getattr(self, name)
            if not same_value(value, parameters[name].default):
                shown.append(f"{name}={_short(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"


def same_value(a: Parameter, b: Parameter) -> bool:
    """Tell whether two parameter values are equal; arrays are compared entry by entry."""
    if a is b:
        return True
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(same_value(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, np.ndarray | list | tuple) or isinstance(b, np.ndarray | list | tuple):
        try:
            return bool(np.array_equal(a, b))
        except (TypeError, ValueError):
            return False
    return (type(a) is type(b) and bool(a == b)) or (_is_number(a) and _is_number(b) and a == b)


def check_number(
    owner: object,
    name: str,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
    integer: bool = False,
) -> None:
    """Raise :class:`InvalidParameter` unless a parameter is a number within its bounds."""
    value = getattr(owner, name)
    kind = "a whole number" if integer else "a number"
    good = _is_number(value) and (not integer or float(value).is_integer())
    if good and math.isfinite(value) and low <= value <= high and not (open_low and value == low):
        return
    bound = ""
    if math.isfinite(low):
        bound = f" {'>' if open_low else '≥'} {low:g}"
    if math.isfinite(high):
        bound += f" and ≤ {high:g}" if bound else f" ≤ {high:g}"
    raise InvalidParameter(f"{type(owner).__name__}: {name}={value!r} has to be {kind}{bound}.")


def inverse_power(owner: object, width: float, power: int) -> float:
    """Return 1/ℓᵖ, or say that float64 does not hold it."""
    try:
        return float(width**-power)
    except OverflowError:
        raise InvalidParameter(
            f"{owner}: with a width of {width:.2g}, 1/ℓ^{power} is beyond the range of "
            "floating-point numbers. Scale the data, so that they have numbers of about 1."
        ) from None


def _is_number(value: Parameter) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _copy(value: Parameter) -> Any:
    """Copy what may change (nested kernels, lists); arrays and functions are shared."""
    if isinstance(value, Parametrised):
        return value.__sklearn_clone__()
    return list(value) if isinstance(value, list) else value


def _hashable(value: Parameter) -> Any:
    if isinstance(value, np.ndarray | list | tuple):
        array = np.asarray(value)
        # Equal numbers have equal hashes, whatever their types.
        first = array.ravel()[:16].tolist() if array.dtype.kind in "biuf" else []
        return array.shape, *map(float, first)
    try:
        # The number itself: kernels within kernels would be hashed once more at each level.
        return hash(value)
    except TypeError:
        return type(value)


def _short(value: Parameter) -> str:
    if isinstance(value, np.ndarray):
        if value.size > 8:
            return f"<array {' × '.join(map(str, value.shape))}>"
        return repr(value.tolist())
    if isinstance(value, np.generic):
        return repr(value.item())
    return getattr(value, "__name__", None) or repr(value)


def ambiguous_first(ours: str, bounds: tuple[str, ...]) -> Callable[[Kind], Kind]:
    """Ask for the name of a first argument that scikit-learn's kernel of the same name has too.

    There it is the length scale. A list can only be length scales and is taken as such; a number
    is still taken as ``ours``, with a warning. ``bounds`` are parameters that only exist there.
    """

    def accept(owner: Kind) -> Kind:
        method, name = "__init__", owner.__name__
        make = getattr(owner, method)

        @wraps(make)
        def call(self: Any, *args: Any, **given: Any) -> None:
            if len(args) > 1 or given.keys() & set(bounds):
                raise InvalidParameter(
                    f"{name}: what scikit-learn's {name} takes beside the length scale has another "
                    f"place here. Write {name}(length_scale=…), and give bounds to the machine: "
                    "GaussianProcessRegressor(kernel, bounds=(low, high))."
                )
            scales = args and isinstance(args[0], list | tuple | np.ndarray)
            if scales and np.ndim(args[0]) == 1:
                make(self, **{"length_scale": args[0], **given})
                return
            if args and isinstance(args[0], numbers.Real):
                warn(
                    f"{name}({args[0]!r}): a number without its name means {ours} here and "
                    f"length_scale in scikit-learn, so it will be refused. Write "
                    f"{name}({ours}={args[0]!r}) or {name}(length_scale={args[0]!r}).",
                    FutureWarning,
                    stacklevel=2,
                )
            make(self, *args, **given)

        setattr(owner, method, call)
        return owner

    return accept
