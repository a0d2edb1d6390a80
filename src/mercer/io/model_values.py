"""Values as JSON and arrays, and back: plain data, and objects of the classes in a table.

Plain values are JSON where JSON has them; the others are written as

=================================== =====================================
``{"float": "inf"}``                 a float that is not finite
``{"tuple": […]}``                   a tuple
``{"set": […]}``                     a set, or with ``frozenset`` one that cannot change
``{"dict": [[key, value], …]}``      a dictionary
``{"array": 3}``, ``{"scalar": 3}``  array number 3, or its only entry
``{"list": 3}``                      array number 3 as a list of numbers
``{"object": 5}``                    object number 5
=================================== =====================================

An object is ``[class, {name: value, …}]`` and stands after all objects that it refers to, so there
are no cycles, and reading needs no recursion however deep a model is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from mercer._files.container import TYPES, Content
from mercer._files.fields import Kind, WrongState, check_fields
from mercer.exceptions import CannotSave, InvalidModelFile

Value: TypeAlias = Any
"""Plain data, arrays, and objects of the classes in the table."""
Json: TypeAlias = Any
"""What a JSON text holds, not checked."""

DEEPEST = 250
"""Levels of objects inside objects."""
DEEPEST_VALUE = 50
"""Levels of lists and dictionaries inside each other."""
LARGEST_FORMULA = 5_000
"""Parts of a formula written out; a shared part counts as often as it occurs."""
MOST_WORK = 1_000_000
"""Parts of all objects, counted in the same way."""
_FLOATS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_SETS: dict[str, type] = {"set": set, "frozenset": frozenset}
_LONG_LIST = 16
"""Lists of numbers from this length on are arrays in the file: shorter ones are smaller as JSON."""
_LISTED = (np.float64, np.int64, np.bool_)
_MOST_PENDING = 1_000_000
"""Objects that wait for others; only an object that refers to itself gets there."""


@dataclass(frozen=True)
class Stored:
    """How the objects of one class become data and come back.

    Parameters
    ----------
    cls : type
        The class; subclasses need a row of their own.
    fields : dict of Kind
        What the state of an object consists of.
    state : function
        Takes an object, returns its state; by default the attributes that ``fields`` names.
    make : function
        Takes a state whose fields were checked, returns the object; by default ``cls(**state)``.
        Errors that it raises make the file an invalid one.
    open : bool
        Whether the state may have more fields, of plain data.
    formula : bool
        Whether objects are formulas, which take time for each part whenever they are used.
    expands : bool
        Whether an object takes more memory than its arrays, which then belong to it alone.
    name : str
        The name in files, by default the name of the class.
    """

    cls: type
    fields: Mapping[str, Kind] = field(default_factory=dict)
    state: Callable[[Any], dict[str, Any]] | None = None
    make: Callable[[dict[str, Any]], Any] | None = None
    open: bool = False
    formula: bool = False
    expands: bool = False
    name: str = ""

    @property
    def key(self) -> str:
        """The name of the class in files."""
        return self.name or self.cls.__name__

    def take(self, value: Value) -> dict[str, Any]:
        """Return the state of an object."""
        if self.state is not None:
            return self.state(value)
        return {name: getattr(value, name) for name in self.fields if hasattr(value, name)}

    def restore(self, state: dict[str, Any]) -> Any:
        """Return the object of a state, or raise :class:`WrongState`."""
        if not self.open and not set(state) <= set(self.fields):
            raise WrongState(f"it has no {min(set(state) - set(self.fields))!r}")
        check_fields(state, self.fields)
        if self.make is not None:
            return self.make(state)
        made = self.cls(**state)
        check_parts(made)
        return made


def check_parts(value: Value) -> None:
    """Ask an object that can tell whether its parts fit together."""
    check = getattr(value, "check_state", None)
    if check is not None:
        check()


Finder = Callable[[Any], "Stored | None"]
"""Returns the row of the table for an object, or None where its class has none."""


class ObjectWriter:
    """Turns values into JSON and arrays."""

    def __init__(self, find: Finder) -> None:
        self.find = find
        self.arrays: list[np.ndarray[Any, Any]] = []
        self.objects: list[list[Any]] = []
        self._known: dict[int, tuple[Any, dict[str, int]]] = {}

    def write(self, value: Value, place: str) -> Any:
        """Return the JSON of a value; its arrays and objects are kept.

        Objects are written after the objects inside them, without recursion: kernels may be deep.
        """
        pending: list[tuple[Any, str, Stored | None, dict[str, Any]]]
        pending = [(inner, where, None, {}) for inner, where in _objects_in(value, place)]
        while pending:
            found, where, row, state = pending.pop()
            if id(found) in self._known:
                continue
            if row is not None:
                encoded = {name: self._encode(v, f"{where}.{name}") for name, v in state.items()}
                self.objects.append([row.key, encoded])
                # The object is kept with its reference, so that no other can get its id.
                self._known[id(found)] = (found, {"object": len(self.objects) - 1})
                continue
            row, state = self._state(found, where)
            pending.append((found, where, row, state))
            pending += [
                (inner, at, None, {})
                for name, item in state.items()
                for inner, at in _objects_in(item, f"{where}.{name}")
            ]
            if len(pending) > _MOST_PENDING:
                raise CannotSave(f"{where}: an object refers to itself, or is nested too deeply.")
        return self._encode(value, place)

    def _state(self, value: Value, place: str) -> tuple[Stored, dict[str, Any]]:
        try:
            row = self.find(value)
            if row is not None:
                return row, row.take(value)
        except CannotSave as error:
            raise CannotSave(f"{place}: {error}") from None
        raise CannotSave(
            f"{place}: an object of the class {type(value).__name__} cannot be saved. A model file "
            "holds numbers, texts, arrays and the machines and kernels of mercer."
        )

    def _encode(self, value: Value, place: str) -> Any:
        # NumPy's float64 is a float and its text is a text, so the order matters here.
        if value is None or isinstance(value, bool | str):
            return str(value) if isinstance(value, str) else value
        if isinstance(value, np.generic):
            return {"scalar": self._array(np.asarray(value), place)}
        if type(value) is int:
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": str(value)}
        if type(value) is list:
            return self._list(value, place)
        if type(value) is tuple:
            return {"tuple": [self._encode(v, f"{place}[{i}]") for i, v in enumerate(value)]}
        if type(value) in (set, frozenset):
            # In an order of their own, so that equal models are equal files.
            items = sorted(value, key=repr)
            return {type(value).__name__: [self._encode(v, f"{place}[{v!r}]") for v in items]}
        if type(value) is dict:
            pairs = [(k, self._encode(v, f"{place}[{k!r}]")) for k, v in value.items()]
            return {"dict": [[self._encode(key, place), item] for key, item in pairs]}
        if id(value) not in self._known and isinstance(value, np.ndarray):
            self._known[id(value)] = (value, {"array": self._array(value, place)})
        if id(value) not in self._known:
            raise CannotSave(f"{place}: an object refers to itself.")
        return self._known[id(value)][1]

    def _list(self, values: list[Any], place: str) -> Any:
        if len(values) >= _LONG_LIST and type(values[0]) in (float, int, bool):
            kind = type(values[0])
            if all(type(value) is kind for value in values):
                array = np.array(values)
                if array.dtype in _LISTED:
                    return {"list": self._array(array, place)}
        return [self._encode(item, f"{place}[{i}]") for i, item in enumerate(values)]

    def _array(self, array: np.ndarray[Any, Any], place: str) -> int:
        if array.dtype.name not in TYPES:
            raise CannotSave(f"{place}: values of type {array.dtype.name} cannot be saved.")
        self.arrays.append(np.asarray(array))
        return len(self.arrays) - 1


def _objects_in(value: Value, place: str, depth: int = 0) -> Iterator[tuple[Any, str]]:
    """Yield the objects inside plain data, and where they are."""
    if depth > DEEPEST_VALUE:
        raise CannotSave(f"{place}: the data are nested too deeply, or contain themselves.")
    if type(value) in (list, tuple, set, frozenset):
        for i, item in enumerate(value):
            yield from _objects_in(item, f"{place}[{i}]", depth + 1)
    elif type(value) is dict:
        for key, item in value.items():
            yield from _objects_in(item, f"{place}[{key!r}]", depth + 1)
    elif not (_is_plain(value) or (isinstance(value, np.ndarray) and value.dtype.name in TYPES)):
        yield value, place


def _is_plain(value: Value) -> bool:
    return (
        value is None or isinstance(value, bool | str | np.generic) or type(value) in (int, float)
    )


class ObjectReader:
    """Turns JSON and arrays into values; refuses what ``ObjectWriter`` does not write."""

    def __init__(self, content: Content, rows: Mapping[str, Stored]) -> None:
        self.arrays = content.arrays
        self.rows = rows
        self.objects: list[Any] = []
        self._depths: list[int] = []
        self._weights: list[int] = []
        self._depth = self._weight = self._work = 0
        # Each use of an array may look at all of it: more uses than a model has are an attack.
        self._budget = 16 * sum(array.nbytes for array in self.arrays) + (1 << 16)
        self._used: set[int] = set()
        self._expands = False

    def read_objects(self, entries: Json) -> None:
        """Make all objects, each from those before it."""
        if not isinstance(entries, list):
            raise InvalidModelFile("its objects are not a list.")
        for number, entry in enumerate(entries):
            self._depth = self._weight = 0
            try:
                self.objects.append(self._object(entry))
            except WrongState as error:
                raise InvalidModelFile(f"object {number} {_named(entry)}: {error}.") from None
            self._work += self._weight + 1
            if self._depth >= DEEPEST or self._work > MOST_WORK:
                raise InvalidModelFile("its objects are nested too deeply or shared too often.")
            self._depths.append(self._depth + 1)
            self._weights.append(self._weight + 1)

    def _object(self, entry: Json) -> Any:
        if not (isinstance(entry, list) and len(entry) == 2 and isinstance(entry[1], dict)):
            raise WrongState("it is not a class and a state")
        row = self.rows.get(entry[0]) if isinstance(entry[0], str) else None
        if row is None:
            raise WrongState("there is no such class; perhaps a newer mercer has it")
        self._expands = row.expands
        state = {name: self.decode(value) for name, value in entry[1].items()}
        self._expands = False
        if row.formula and self._weight >= LARGEST_FORMULA:
            raise WrongState("the formula has too many parts")
        try:
            return row.restore(state)
        except WrongState:
            raise
        except Exception as error:
            # Constructors refuse impossible parameters in many ways, and each means the same here.
            cause = " ".join(str(error).split())[:300].rstrip(".")
            raise WrongState(f"{type(error).__name__}: {cause}") from None

    def decode(self, value: Json, depth: int = 0) -> Any:
        """Return the value of its JSON."""
        if depth > DEEPEST_VALUE:
            raise WrongState("values are nested too deeply")
        if isinstance(value, float) and not math.isfinite(value):
            raise WrongState("a number is too large for a float")
        if isinstance(value, list):
            return [self.decode(item, depth + 1) for item in value]
        if not isinstance(value, dict):
            return value
        if len(value) != 1:
            raise WrongState("a value has more than one form")
        ((form, inner),) = value.items()
        if form == "float" and isinstance(inner, str) and inner in _FLOATS:
            return _FLOATS[inner]
        if form == "tuple" and isinstance(inner, list):
            return tuple(self.decode(item, depth + 1) for item in inner)
        if form in _SETS and isinstance(inner, list):
            items = [_hashable(self.decode(item, depth + 1)) for item in inner]
            made = _SETS[form](items)
            if len(made) != len(items):
                raise WrongState("a set has an item twice")
            return made
        if form == "dict" and isinstance(inner, list):
            return self._dict(inner, depth + 1)
        if form in ("array", "scalar", "list"):
            array = self._array(inner, once=self._expands or form == "list")
            if form == "array":
                return array
            if array.ndim != (form == "list") or (form == "list" and array.dtype not in _LISTED):
                raise WrongState(f"an array of shape {array.shape} is no {form}")
            return array[()] if form == "scalar" else array.tolist()
        if form == "object":
            return self.reference(inner)
        raise WrongState("a value has an unknown form")

    def _dict(self, pairs: list[Any], depth: int) -> dict[Any, Any]:
        result = {}
        for pair in pairs:
            if not (isinstance(pair, list) and len(pair) == 2):
                raise WrongState("a dictionary is not made of pairs")
            key = _hashable(self.decode(pair[0], depth))
            if key in result:
                raise WrongState("a dictionary has a key twice")
            result[key] = self.decode(pair[1], depth)
        return result

    def _array(self, number: Json, once: bool) -> np.ndarray[Any, Any]:
        if type(number) is not int or not 0 <= number < len(self.arrays):
            raise WrongState("it refers to an array that is not there")
        array = self.arrays[number]
        self._budget -= array.nbytes
        if self._budget < 0 or (once and number in self._used):
            raise WrongState("arrays are used again and again")
        self._used.add(number)
        return array

    def reference(self, number: Json) -> Any:
        """Return an object by its number."""
        if type(number) is not int or not 0 <= number < len(self.objects):
            raise WrongState("it refers to an object that does not stand before it")
        self._depth = max(self._depth, self._depths[number])
        self._weight += self._weights[number]
        return self.objects[number]


def _hashable(value: Value) -> Value:
    """Return a key of a dictionary or an item of a set: a plain value, or a tuple of such."""
    if isinstance(value, tuple | frozenset):
        for item in value:
            _hashable(item)
    elif not isinstance(value, str | int | float | bool | np.generic | None):
        raise WrongState("a dictionary has an impossible key, or a set an impossible item")
    return value


def _named(entry: Json) -> str:
    name = entry[0] if isinstance(entry, list) and entry else ""
    return f"({name[:40]})" if isinstance(name, str) else ""
