"""Fitted machines can be written by others than pickle: skops, and what it needs of them."""

import warnings
from collections.abc import Mapping

import numpy as np
import pytest

from mercer.estimators import registry

MACHINES = [
    pytest.param(machine, row, id=f"{row.class_name}-{i}")
    for row in registry.ROWS
    for i, machine in enumerate(row.machines())
]


def fitted(machine, row):
    X, y = row.data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of so few rows
        return machine.fit(X, y)


def keys_within(thing, seen):
    """Yield the keys of all dictionaries that a dump of an object would contain."""
    if id(thing) in seen or isinstance(thing, str | bytes | type):
        return
    seen[id(thing)] = thing  # keeps it alive, so that its number stays its own
    if isinstance(thing, Mapping):
        yield from thing
        parts = list(thing.values())
    elif isinstance(thing, list | tuple | set | frozenset):
        parts = list(thing)
    elif isinstance(thing, np.ndarray):
        parts = list(thing.flat) if thing.dtype == object else []
    else:
        ours = type(thing).__module__.startswith("mercer")
        parts = [thing.__getstate__()] if ours else []
    for part in parts:
        yield from keys_within(part, seen)


@pytest.mark.parametrize(("machine", "row"), MACHINES)
def test_dictionaries_of_fitted_machines_have_words_as_keys(machine, row):
    wrong = [key for key in keys_within(fitted(machine, row), {}) if not isinstance(key, str)]
    assert not wrong


@pytest.mark.parametrize(("machine", "row"), MACHINES)
def test_skops_writes_and_reads_fitted_machines(machine, row):
    io = pytest.importorskip("skops.io", reason="skops is not installed: its format is not tested")
    model = fitted(machine, row)
    written = io.dumps(model)
    again = io.loads(written, trusted=io.get_untrusted_types(data=written))
    X, _ = row.data()
    for name in ("predict", "transform", "score_samples"):
        if hasattr(model, name):
            np.testing.assert_array_equal(getattr(again, name)(X), getattr(model, name)(X))
