"""A Gram matrix held as its upper triangle is the matrix itself."""

from functools import partial

import numpy as np
import pytest

from mercer import RBF, Gram, Polynomial
from mercer.exceptions import InvalidInput
from mercer.gram import held as held_module
from mercer.gram.held import HeldGram, holdable


@pytest.fixture(scope="module")
def data():
    return np.random.default_rng(0).normal(size=(1100, 4)) + 5.0


@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Polynomial(2, gamma=0.1)], ids=str)
@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize("columns", [1, 3, 40])
def test_it_is_the_same_matrix(data, kernel, dtype, error, columns):
    gram = Gram(kernel, data)
    K = gram.dense()
    held = HeldGram(gram, dtype)
    V = np.random.default_rng(1).normal(size=(1100, columns))
    scale = np.abs(K).max()
    assert held.symmetric
    assert held.definite is gram.definite
    np.testing.assert_allclose(held.dense(), K, atol=error * scale)
    np.testing.assert_allclose(held @ V, K @ V, atol=error * 100 * scale)
    unit = V / np.linalg.norm(V, axis=0)
    assert 0 < np.linalg.norm(held @ unit - K @ unit, axis=0).max() <= held.rounding
    assert held.rounding <= error * 100 * scale
    np.testing.assert_allclose(held.diag(), np.diagonal(K), atol=error * scale)
    some = [1099, 3, 600, 3]
    np.testing.assert_allclose(held.rows(some), K[some], atol=error * scale)


@pytest.mark.parametrize("n", [1, 5, 513])
def test_any_size(data, n):
    held = HeldGram(Gram(RBF(gamma=0.3), data[:n]))
    K = RBF(gamma=0.3)(data[:n])
    for columns in (0, 2, 11):
        V = np.random.default_rng(1).normal(size=(n, columns))
        np.testing.assert_allclose(held @ V, K @ V, atol=1e-12)
    np.testing.assert_allclose(held.dense(), K, atol=1e-12)


def test_rounding_is_that_of_the_norm(data):
    for n in (5, 700, 1100):  # of one tile, and of several, whose other halves count too
        K = RBF(gamma=0.3)(data[:n])
        held = HeldGram(Gram(RBF(gamma=0.3), data[:n]))
        wanted = 8 * 2.0**-52 * np.linalg.norm(K) / n**0.5
        assert held.rounding == pytest.approx(wanted, rel=1e-12)
        assert HeldGram(Gram(RBF(gamma=0.3), data[:n]), np.float32).rounding == pytest.approx(
            wanted * 2**29, rel=1e-5
        )


def test_tiles_are_shown_in_the_precision_of_the_matrix(data):
    gram = Gram(RBF(gamma=0.3), data)
    K, seen = gram.dense(), np.zeros((1100, 1100))

    def watch(i, j, values):
        assert values.dtype == np.float64
        np.testing.assert_allclose(values, K[i, j], atol=1e-14)
        seen[i, j] += 1
        if i != j:
            seen[j, i] += 1

    held = HeldGram(gram, np.float32, watch)
    assert (seen == 1).all()
    assert held.dtype == np.float32
    assert HeldGram(gram).dtype == np.float64
    some = np.array([1099, 3])
    np.testing.assert_allclose(held.take(some).dense(), K[np.ix_(some, some)], atol=1e-6)
    part = held.take(some, slice(0, 4))
    assert not part.symmetric
    np.testing.assert_allclose(part.dense(), K[some, :4], atol=1e-6)
    assert held.in_precision(np.float32) is held
    assert held.in_precision(np.float64).dtype == np.float64


@pytest.mark.parametrize("n", [1, 5, 64, 65, 200])
def test_as_few_tiles_as_fit(data, n, monkeypatch):
    """⌈n/64⌉ parts of about one length, and a tile for each pair of them."""
    monkeypatch.setattr(held_module, "_TILE", 64)
    seen = []
    HeldGram(Gram(RBF(gamma=0.3), data[:n]), watch=lambda i, j, values: seen.append((i, j)))
    parts = -(-n // 64)
    assert len(seen) == parts * (parts + 1) // 2
    assert all(part.stop - part.start <= 64 for pair in seen for part in pair)
    rows = {part.start: part.stop for pair in seen for part in pair}
    assert sum(stop - start for start, stop in rows.items()) == n


def test_other_columns_cannot_be_held(data):
    with pytest.raises(InvalidInput):
        HeldGram(Gram(RBF(gamma=1.0), data[:10], data))


def test_precision_by_size():
    assert holdable(1_000) == np.float64
    assert holdable(5_000) == np.float32
    assert holdable(5_000, fine=True) == np.float64
    assert holdable(10_000_000) is None


def test_precision_by_memory(monkeypatch):
    n = 10_000
    share = held_module._SHARE
    for fine, size in ((False, 4), (True, 8)):
        needed = n * n // 2 * size * share
        monkeypatch.setattr(held_module._memory, "available_bytes", partial(int, needed))
        assert holdable(n, fine) == np.dtype(f"f{size}")
        monkeypatch.setattr(held_module._memory, "available_bytes", partial(int, needed - 1))
        assert holdable(n, fine) is None
    monkeypatch.setattr(held_module._memory, "available_bytes", lambda: None)
    assert holdable(n) == np.float32
    most = int((held_module._FULL_PRECISION / 4) ** 0.5)
    assert holdable(most) == np.float64
    assert holdable(most + 1) == np.float32
