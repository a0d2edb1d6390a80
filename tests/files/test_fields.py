"""Fields say what they want, and sizes that share a name are one number."""

import numpy as np
import pytest

from mercer._files.fields import (
    COUNT,
    FLAG,
    NONE,
    TEXT,
    A,
    ListOf,
    Maybe,
    Number,
    Numbers,
    OneOf,
    WrongState,
    check_fields,
)

GOOD = [
    (Numbers("n"), np.zeros(3)),
    (Numbers("n", 2), np.zeros((0, 2))),
    (Numbers("n", types="iu", low=0), np.array([0, 5], dtype=np.uint8)),
    (Numbers("n", finite=False), np.array([np.nan])),
    (Numbers("n", "n", any_order=True), np.asfortranarray(np.ones((2, 2)))),
    (Number(), 1), (Number(), np.float32(2.5)), (Number(finite=False), np.nan),
    (Number(whole=True, low=-1, high=1), -1), (COUNT, np.int64(3)),
    (FLAG, True), (FLAG, np.True_), (TEXT, ""), (NONE, None),
    (A(dict, size="n"), {1: 2}), (ListOf(TEXT), ["a"]), (ListOf(COUNT, tuple), (1, 2)),
    (OneOf(NONE, TEXT), "a"), (OneOf(NONE, Numbers("n")), None), (Maybe(TEXT), "x"),
    (OneOf(TEXT), "a"), *((OneOf(NONE, COUNT, TEXT), value) for value in (None, 3, "a")),
    (Number(low=0, finite=False), np.nan), (Number(low=0, high=1), 1), (Number(low=0), 0.0),
]  # fmt: skip
BAD = [
    (Numbers("n"), [1.0]), (Numbers("n"), np.zeros((1, 1))), (Numbers("n"), np.zeros(3, dtype=int)),
    (Numbers("n"), np.array([np.nan])), (Numbers("n"), np.array([np.inf])),
    (Numbers("n"), np.zeros(6)[::2]), (Numbers("n", "n"), np.zeros((2, 3))),
    (Numbers(2), np.zeros(3)),
    (Numbers("n", types="i", low=0), np.array([3, -1])), (Numbers("n", low=0), np.array([-0.5])),
    (Numbers("n", 2), np.asfortranarray(np.ones((3, 2)))),
    (Number(), True), (Number(), "1"), (Number(), np.inf), (Number(), np.nan), (Number(), None),
    (Number(whole=True), 1.0), (COUNT, -1), (COUNT, 2**63), (COUNT, True), (Number(low=0), -1e-9),
    (FLAG, 1), (TEXT, b"a"), (NONE, 0), (A(dict), []), (ListOf(TEXT), ("a",)), (ListOf(TEXT), [1]),
    (OneOf(NONE, TEXT), 3), (Maybe(TEXT), None), (OneOf(NONE, COUNT, TEXT), 1.5),
    (Numbers("n"), np.array([1.0, np.nan])), (Number(low=0, finite=False), -1.0),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "value"), GOOD, ids=repr)
def test_what_fits(kind, value):
    check_fields({"field": value}, {"field": kind})


@pytest.mark.parametrize(("kind", "value"), BAD, ids=repr)
def test_what_does_not(kind, value):
    with pytest.raises(WrongState, match=r"^field "):
        check_fields({"field": value}, {"field": kind})


def test_sizes_hang_together():
    fields = {"points": A(list, size="n"), "rows": Numbers("r", types="i", below="n")}
    assert check_fields({"points": [1, 2], "rows": np.array([0, 1, 1])}, fields) == {"n": 2, "r": 3}
    with pytest.raises(WrongState, match="rows holds a number that is not below 2"):
        check_fields({"points": [1, 2], "rows": np.array([0, 2])}, fields)
    both = {"a": Numbers("n"), "b": OneOf(Numbers("n", "k"), Numbers("n"))}
    assert check_fields({"a": np.zeros(2), "b": np.zeros(2)}, both) == {"n": 2}
    with pytest.raises(WrongState, match="b has the size 3 where others have 2"):
        check_fields({"a": np.zeros(2), "b": np.zeros(3)}, both)


def test_missing_fields():
    assert check_fields({}, {"a": Maybe(TEXT)}) == {}
    with pytest.raises(WrongState, match="a is missing"):
        check_fields({}, {"a": TEXT})
