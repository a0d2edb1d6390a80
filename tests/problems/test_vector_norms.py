"""Norms: laws, duals, unit balls, and what is no norm."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from mercer import InvalidInput, InvalidParameter, NotPositiveDefinite, norms
from mercer.problems.vector_norms import as_norm

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


@pytest.mark.parametrize("norm", NORMS, ids=repr)
@pytest.mark.parametrize("g", [[3.0, -0.5], [-2.0, 0.0], [0.0, 1e-3], [1e200, 1e199]], ids=str)
def test_steepest_directions_fall_by_the_dual_norm(norm, g):
    v = norm.steepest(g)
    assert norm(v) == pytest.approx(1.0)
    assert v @ np.array(g) == pytest.approx(-norm.dual()(g))
    assert not norm.steepest([0.0, 0.0]).any()
    if not isinstance(norm, norms.Quadratic):  # what has no slope does not move
        assert (v[np.array(g) == 0] == 0).all()


def test_lengths_of_tiny_and_huge_vectors():
    norm, x = norms.Quadratic(np.diag([1.0, 4.0])), np.array([3.0, 2.0])
    for scale in (1e-200, 1e200):
        assert norm(scale * x) == pytest.approx(5 * scale)
        assert norms.Lp(3)(scale * x) == pytest.approx(scale * 35 ** (1 / 3))
    assert norm([0.0, 0.0]) == 0.0
    assert norms.mahalanobis([3.0, 4.0], [1.0, 1.0], np.diag([4.0, 9.0])) == pytest.approx(2**0.5)


def test_the_ball_of_counting_is_the_axes():
    ball = norms.L0().unit_ball()
    assert (norms.L0()(ball) <= 1).all()
    assert sorted(map(tuple, ball)) == [(-1, 0), (0, -1), (0, 0), (0, 1), (1, 0)]


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
    with pytest.raises(NotPositiveDefinite, match="eigenvalue 0"):
        norms.Quadratic(np.diag([1.0, 0.0]))
    with pytest.raises(InvalidParameter, match="square"):
        norms.Quadratic(np.ones((2, 3)))
    with pytest.raises(InvalidParameter, match="no steepest direction"):
        norms.Lp(0.5).steepest([1.0, 2.0])
    with pytest.raises(InvalidParameter, match="square"):
        norms.Quadratic([1.0, 2.0])
    with pytest.raises(InvalidInput, match="must match"):
        norms.Quadratic(P)([1.0, 2.0, 3.0])
    with pytest.raises(InvalidInput, match="must be equal"):
        norms.inner(np.eye(2), np.eye(3))


def test_numbers_and_matrices_stand_for_norms():
    assert as_norm(2).p == 2.0
    assert as_norm(np.inf).p == np.inf
    assert as_norm(norms.l1) is norms.l1
    np.testing.assert_array_equal(as_norm(P).P, P)
    for wrong in (True, False, "l2", [1.0, 2.0], None):
        with pytest.raises(InvalidParameter, match="has to be a norm"):
            as_norm(wrong)


@pytest.mark.parametrize("norm", NORMS, ids=repr)
def test_lengths_whose_squares_are_no_numbers(norm):
    x = np.array([3.0, -4.0])
    for size in (1e-200, 1e200):
        assert norm(size * x) == pytest.approx(size * norm(x), rel=1e-12, abs=0)
    assert norm(np.zeros(2)) == 0.0
