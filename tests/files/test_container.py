"""Files of arrays and JSON: everything comes back, to the bit and to the order in memory."""

import hashlib
import json
import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from mercer._files import container
from mercer._files.container import Content
from mercer.exceptions import CannotSave, InvalidModelFile

ARRAYS = st.sampled_from(list(container.TYPES)).flatmap(
    lambda name: hnp.arrays(name, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=20,
)


def parse(data):
    return container.parse(np.frombuffer(bytearray(data), dtype=np.uint8))


@given(JSON, st.lists(ARRAYS, max_size=5))
def test_everything_comes_back(document, arrays):
    arrays = [np.asfortranarray(a) if i % 2 else a for i, a in enumerate(arrays)]
    found = parse(container.to_bytes(Content(document, arrays)))
    assert found.document == document
    for given_, got in zip(arrays, found.arrays, strict=True):
        assert given_.dtype == got.dtype
        assert given_.shape == got.shape
        assert given_.tobytes() == got.tobytes()
        assert given_.flags.c_contiguous == got.flags.c_contiguous
        assert got.flags.writeable


@given(st.lists(ARRAYS, min_size=1, max_size=3), st.data())
def test_every_changed_byte_is_noticed(arrays, data):
    whole = bytearray(container.to_bytes(Content({"a": [1, "é"]}, arrays)))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(InvalidModelFile):
        parse(whole)


def test_the_format_is_what_the_documentation_says():
    data = container.to_bytes(Content("x", [np.array([1.5]), np.array([[1, 2]], dtype=np.int16)]))
    text = b'{"arrays":[["float64",[1],"C"],["int16",[1,2],"C"]],"document":"x"}'
    assert data[:8] == b"\x89mercer\n"
    assert data[8:16] == b"\x01" + bytes(7)
    assert int.from_bytes(data[16:24], "little") == len(text)
    assert int.from_bytes(data[24:32], "little") == len(data) == 260
    assert data[32:64] == hashlib.sha256(data[:32] + data[64:]).digest()
    assert data[64 : 64 + len(text)] == text
    assert not any(data[64 + len(text) : 192])
    assert data[192:200] == np.array([1.5], dtype="<f8").tobytes()
    assert data[256:260] == np.array([1, 2], dtype="<i2").tobytes()


def test_other_byte_orders_and_strides_become_plain():
    arrays = [
        np.arange(6, dtype=">i4").reshape(2, 3),
        np.arange(20.0)[::3],
        np.float64(2).reshape(()),
    ]
    for given_, got in zip(
        arrays, parse(container.to_bytes(Content(0, arrays))).arrays, strict=True
    ):
        np.testing.assert_array_equal(given_, got)
        assert got.dtype.byteorder in "<=|"


def test_arrays_lie_at_multiples_of_64(tmp_path):
    container.write(tmp_path / "f", Content(0, [np.arange(3, dtype=np.int8), np.arange(5.0)]))
    for array in container.read(tmp_path / "f").arrays:
        assert array.ctypes.data % 64 == 0


@pytest.mark.parametrize("array", [np.array([object()]), np.array(["a"]), np.array([1j])])
def test_arrays_of_other_types_are_not_written(array):
    with pytest.raises(CannotSave, match="cannot be saved"):
        container.to_bytes(Content(0, [array]))


def test_documents_that_are_too_large_are_not_written():
    with pytest.raises(CannotSave, match="too many parts"):
        container.to_bytes(Content([0] * (container.MOST_MARKS + 1), []))


# ---- files that were made by hand, with a right checksum ---------------------------------------


def by_hand(top, body=b"", *, version=1, zero=0, longer=0):
    """Return the bytes of a file with any JSON text, any bytes behind it, and any header."""
    text = top if isinstance(top, bytes) else json.dumps(top).encode()
    length = 64 + len(text) + len(body)
    start = struct.pack("<8sIIQQ", b"\x89mercer\n", version, zero, len(text) + longer, length)
    return start + hashlib.sha256(start + text + body).digest() + text + body


def table(*rows):
    return {"arrays": list(rows), "document": 0}


def padded(top, *parts):
    """Return a file with arrays where they belong."""
    body, start = b"", 64 + len(json.dumps(top))
    for part in parts:
        body += bytes(-(start + len(body)) % 64) + part
    return by_hand(top, body)


REFUSED = {
    "another version": (by_hand(table(), version=2), "version 2 of the format"),
    "no zero": (by_hand(table(), zero=1), "version 1 of the format"),
    "text beyond the end": (by_hand(table(), longer=1), "JSON text cannot have"),
    "nothing but a header": (by_hand(b""), "broken or nested too deeply"),
    "63 bytes": (by_hand(b"")[:63], "ends after 63 bytes"),
    "a list": (by_hand(["arrays", "document"]), "not the two parts"),
    "one part": (by_hand({"arrays": []}), "not the two parts"),
    "three parts": (by_hand({**table(), "more": 0}), "not the two parts"),
    "no table": (by_hand({"arrays": {}, "document": 0}), "is not a list"),
    "a text of three letters": (by_hand(table("abc")), "not described by type, shape and order"),
    "two of three": (by_hand(table(["int8", [0]])), "not described by type, shape and order"),
    "no type": (by_hand(table([5, [0], "C"])), "has the type '5'"),
    "a list of types": (by_hand(table([["int8"], [0], "C"])), "has the type"),
    "another type": (by_hand(table(["object", [0], "C"])), "has the type 'object'"),
    "no shape": (by_hand(table(["int8", 0, "C"])), "impossible shape"),
    "a text as shape": (by_hand(table(["int8", "00", "C"])), "impossible shape"),
    "nine dimensions": (by_hand(table(["int8", [0] * 9, "C"])), "impossible shape"),
    "half a row": (by_hand(table(["int8", [0.5], "C"])), "impossible shape"),
    "true rows": (by_hand(table(["int8", [False], "C"])), "impossible shape"),
    "fewer than no rows": (by_hand(table(["int8", [0, -1], "C"])), "impossible shape"),
    "rows beyond all files": (by_hand(table(["int8", [0, 2**40 + 1], "C"])), "impossible shape"),
    "no order": (by_hand(table(["int8", [0], 0])), "neither order"),
    "another order": (by_hand(table(["int8", [0], "A"])), "neither order"),
    "a list of orders": (by_hand(table(["int8", [0], ["C"]])), "neither order"),
    "no room": (padded(table(["int8", [3], "C"]), b"ab"), "array 0 of 3 bytes would end after"),
    "no room but for the gap": (by_hand(table(["int8", [3], "C"]), b"abc"), "would end after"),
    "bytes in the gap": (
        by_hand(table(["int8", [0], "C"]), b"x" * 17),  # the text has 47
        "bytes between its arrays, before array 0",
    ),
    "neither true nor false": (padded(table(["bool", [3], "C"]), b"\1\2\0"), "true nor false"),
    "bytes at the end": (padded(table(["int8", [2], "C"]), b"abcd"), "2 bytes at its end"),
    "a name twice": (by_hand(b'{"arrays":[],"document":0,"document":1}'), "a name twice"),
    "no JSON": (by_hand(b'{"arrays":[],"document":NaN}'), "holds NaN"),
    "no UTF-8": (by_hand(b'{"arrays":[],"document":"\xff"}'), "not UTF-8"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_files_made_by_hand_are_refused_with_a_word(name):
    data, word = REFUSED[name]
    with pytest.raises(InvalidModelFile, match=word):
        parse(data)


def test_what_is_just_allowed():
    top = table(["bool", [2], "C"], ["int8", [1, 1, 1, 1, 1, 1, 1, 1], "F"], ["int8", [0], "C"])
    first, second, third = parse(padded(top, b"\1\0", b"\7", b"")).arrays
    assert first.tolist() == [True, False]
    assert second.shape == (1,) * 8
    assert second.item() == 7
    assert third.shape == (0,)


def test_the_limits_themselves_are_allowed(monkeypatch, tmp_path):
    content = Content([1, {"é": 2}], [np.arange(3.0)])
    data = container.to_bytes(content)
    text = data[64 : 64 + int.from_bytes(data[16:24], "little")]
    assert "é".encode() in text
    (tmp_path / "f").write_bytes(data)
    limits = {"MOST_MARKS": sum(text.count(mark) for mark in b",[{:"), "LARGEST_TEXT": len(text)}
    for name, limit in limits.items():
        with monkeypatch.context() as patch:
            patch.setattr(container, name, limit)
            assert container.to_bytes(content) == data
            assert parse(data).document == content.document
            patch.setattr(container, name, limit - 1)
            with pytest.raises(CannotSave, match="too many parts"):
                container.to_bytes(content)
            with pytest.raises(InvalidModelFile):
                parse(data)
    monkeypatch.setattr(container, "LARGEST_FILE", len(data))
    assert container.read(tmp_path / "f").document == content.document
    monkeypatch.setattr(container, "LARGEST_FILE", len(data) - 1)
    with pytest.raises(InvalidModelFile, match="too large"):
        container.read(tmp_path / "f")


def test_numbers_that_are_not_json_are_not_written():
    with pytest.raises(ValueError, match="JSON compliant"):
        container.to_bytes(Content(float("nan"), []))


def test_the_cause_of_what_cannot_be_read(tmp_path):
    with pytest.raises(InvalidModelFile, match="cannot be read: No such file or directory"):
        container.read(tmp_path / "none")
    with pytest.raises(InvalidModelFile, match="cannot be read: embedded null byte"):
        container.read("a\0b")


def test_room_begins_at_multiples_of_64():
    held = [container._aligned(size) for size in range(1, 300, 7)]
    assert {room.ctypes.data % 64 for room in held} == {0}
    assert [len(room) for room in held] == list(range(1, 300, 7))


def test_a_large_file_of_another_kind_is_not_read(tmp_path):
    """Its first bytes say enough: no room is made for the others."""
    path = tmp_path / "other"
    path.write_bytes(b"no model" + bytes(8 << 20))
    tracemalloc.start()
    try:
        with pytest.raises(InvalidModelFile, match="begins with other bytes"):
            container.read(path)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 1 << 20
