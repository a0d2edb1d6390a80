"""Norms: laws, duals, unit balls, and what is no norm."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from mercer import InvalidInput, InvalidParameter, NotPositiveDefinite, norms

P = np.array([[2.0, 0.5], [0.5, 1.0]])
NORMS = [norms.Lp(1), norms.Lp(1.5), norms.Lp(2), norms.Lp(7), norms.linf, norms.Quadratic(P)]
vectors = arrays(np.float64, 2, elements=st.floats(-1e6, 1e6, allow_subnormal=False))


@pytest.mark.parametrize("norm", NORMS, ids=repr)
@given(x=vectors, z=vectors, c=st.floats(-100, 100))
def test_the_laws_of_norms(norm, x, z, c):
    assert norm.is_norm
    assert norm(x) >= 0
    assert norm(x + z) <= (norm(x) + norm(z)) * (1 + 1e-9) + 1e-9
    assert norm(c * x) == pytest.approx(abs(c) * norm(x), rel=1e-9, abs=1e-200)
    # Hölder's inequality, and the dual of the dual.
    assert x @ z <= norm(x) * norm.dual()(z) * (1 + 1e-9) + 1e-9
    assert norm.dual().dual()(x) == pytest.approx(norm(x), rel=1e-9)


@pytest.mark.parametrize("norm", NORMS, ids=repr)
def test_the_dual_is_attained_on_the_ball(norm):
    ball = norm.unit_ball(20_001)
    np.testing.assert_allclose(norm(ball), 1)
    for z in np.random.default_rng(0).normal(size=(5, 2)):
        assert (ball @ z).max() == pytest.approx(norm.dual()(z), rel=1e-4)


def test_values():
    x = np.array([3.0, -4.0, 0.0])
    assert norms.l1(x) == 7
    assert norms.l2(x) == pytest.approx(5)
    assert norms.linf(x) == 4
    assert norms.L0()(x) == 2
    assert norms.l2(1e300 * x) == pytest.approx(5e300)
    np.testing.assert_allclose(norms.l1(np.stack([x, 2 * x])), [7, 14])
    assert norms.Quadratic(np.diag([1.0, 4.0]))([3.0, 2.0]) == pytest.approx(5)
    assert norms.mahalanobis([3.0, 4.0], [0.0, 0.0], np.diag([1.0, 4.0])) == pytest.approx(13**0.5)
    X, Y = np.random.default_rng(0).normal(size=(2, 3, 4))
    assert norms.inner(X, Y) == pytest.approx(np.trace(X.T @ Y))


def test_what_is_no_norm():
    half = norms.Lp(0.5)
    x, z = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    assert not half.is_norm
    assert half(x + z) > half(x) + half(z)
    assert not norms.L0().is_norm
    assert norms.L0()(2 * x) == norms.L0()(x)
    for length in (half, norms.L0()):
        assert "no norm" in repr(length)
        with pytest.raises(InvalidParameter, match="has no dual norm"):
            length.dual()


def test_bad_input():
    with pytest.raises(InvalidParameter, match="above 0"):
        norms.Lp(0)
    with pytest.raises(NotPositiveDefinite, match="eigenvalue -1"):
        norms.Quadratic(np.diag([1.0, -1.0]))
    with pytest.raises(InvalidParameter, match="symmetric"):
        norms.Quadratic([[1.0, 2.0], [0.0, 1.0]])
    with pytest.raises(InvalidParameter, match="square"):
        norms.Quadratic([1.0, 2.0])
    with pytest.raises(InvalidInput, match="must match"):
        norms.Quadratic(P)([1.0, 2.0, 3.0])
    with pytest.raises(InvalidInput, match="must be equal"):
        norms.inner(np.eye(2), np.eye(3))
