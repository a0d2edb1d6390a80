"""Files of arrays and JSON: everything comes back, to the bit and to the order in memory."""

import hashlib

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
