"""Newton's step with signs held: the minimum in closed form, and what stops it."""

import numpy as np
import pytest

from mercer.solvers.linear.signed_newton import signed_newton

G = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 2.0]])


def value(l1, l2, G, q, w):
    return w @ G @ w / 2 - q @ w + l1 * np.abs(w).sum() + l2 * w @ w / 2


@pytest.mark.parametrize("l2", [0.0, 0.5])
def test_the_minimum_for_the_signs(l2):
    q, l1 = np.array([5.0, -4.0, 3.0]), 0.5
    w = np.array([1e-3, -1e-3, 1e-3])
    assert signed_newton(l1, l2, G, q, w)
    np.testing.assert_allclose(w, np.linalg.solve(G + l2 * np.eye(3), q - l1 * np.sign(w)))
    w = np.array([1e-3, 0.0, 1e-3])  # what is 0 stays
    assert signed_newton(l1, l2, G, q, w)
    part = np.ix_([0, 2], [0, 2])
    np.testing.assert_allclose(
        w[[0, 2]], np.linalg.solve((G + l2 * np.eye(3))[part], q[[0, 2]] - l1)
    )
    assert w[1] == 0.0


def test_weights_that_would_change_their_sign_end_at_0():
    q, l1 = np.array([5.0, 0.1, 3.0]), 0.5
    w = np.array([1.0, 0.2, 1.0])
    before = value(l1, 0.0, G, q, w)
    assert not signed_newton(l1, 0.0, G, q, w)
    assert w[1] == 0.0
    assert (w[[0, 2]] > 0).all()
    assert value(l1, 0.0, G, q, w) <= before


def test_nothing_to_do():
    w = np.zeros(3)
    assert not signed_newton(0.5, 0.0, G, np.ones(3), w)
    assert not w.any()


def test_columns_that_depend_on_each_other():
    D = np.ones((2, 2))
    w = np.array([1.0, 1.0])
    signed_newton(0.5, 0.0, D, np.array([3.0, 3.0]), w)
    assert w.sum() == pytest.approx(2.5)  # the minimum, however it is shared
    assert (w >= 0).all()
    bad = -np.eye(2)
    w = np.array([1.0, 1.0])
    assert not signed_newton(0.5, 0.0, bad, np.ones(2), w)
    assert w.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("seed", range(20))
def test_the_objective_never_rises(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(6, 4))
    H, q, w = A.T @ A, rng.normal(size=4) * 3, rng.normal(size=4)
    l1, l2 = rng.uniform(0, 2), rng.uniform(0, 1)
    before, signs = value(l1, l2, H, q, w), np.sign(w)
    reached = signed_newton(l1, l2, H, q, w)
    assert value(l1, l2, H, q, w) <= before + 1e-12 * abs(before)
    assert ((np.sign(w) == signs) | (w == 0)).all()
    if reached:
        np.testing.assert_allclose(H @ w + l2 * w + l1 * signs, q, atol=1e-9)


def test_a_minimum_that_is_there_already_is_reached():
    # (q − l1)/2 = 2 exactly: the step is zero, and the value is no lower than before.
    w = np.array([2.0, -2.0])
    assert signed_newton(1.0, 0.0, 2 * np.eye(2), np.array([5.0, -5.0]), w)
    assert w.tolist() == [2.0, -2.0]


def test_a_weight_that_becomes_exactly_zero_has_crossed():
    w = np.array([1.0, 1.0])
    assert not signed_newton(1.0, 0.0, np.eye(2), np.array([1.0, 4.0]), w)
    assert w.tolist() == [0.0, 3.0]


def test_a_step_ends_at_the_first_zero_where_all_at_once_would_rise():
    # Both weights would cross: at the first zero the objective is below, at both it is above.
    H, q = np.array([[1.0, -0.9], [-0.9, 1.0]]), np.array([0.0, 0.0])
    w = np.array([4.0, 0.1])
    reached = signed_newton(0.0, 0.0, H, q - 1.0, w)
    step = np.linalg.solve(H, q - 1.0) - [4.0, 0.1]
    assert not reached
    both = value(0.0, 0.0, H, q - 1.0, np.zeros(2))
    assert value(0.0, 0.0, H, q - 1.0, w) <= max(both, 0.0)
    assert step.max() < 0


def test_columns_that_depend_get_a_trace_of_their_mean():
    # G = vvᵀ with l2 = 0: any step along the null space would do, the jitter takes the shortest.
    v = np.array([1.0, 2.0])
    w = np.array([1.0, 1.0])
    assert signed_newton(0.0, 0.0, np.outer(v, v), 5.0 * v, w)
    np.testing.assert_allclose(w, [1.0 + 0.4, 1.0 + 0.8], rtol=1e-3)


def plain_step(l1, l2, H, q, w):
    """Return the weights that the description leads to, and whether the minimum was reached."""
    used = np.flatnonzero(w)
    signs = np.sign(w[used])
    best = np.linalg.solve(H[np.ix_(used, used)] + l2 * np.eye(len(used)), q[used] - l1 * signs)
    crossed = best * signs <= 0
    all_at_once, first = w.copy(), w.copy()
    all_at_once[used] = np.where(crossed, 0.0, best)
    if crossed.any():
        shares = np.array([o / (o - b) if c else 1.0 for o, b, c in zip(w[used], best, crossed, strict=True)])  # fmt: skip  # noqa: E501
        at = shares.min()
        first[used] = np.where(shares == at, 0.0, w[used] + at * (best - w[used]))
    for trial in (all_at_once, first):
        if value(l1, l2, H, q, trial) <= value(l1, l2, H, q, w):
            return trial, not crossed.any(), trial is first
    return w, False, False


def test_steps_are_those_of_the_description():
    taken = []
    for seed in range(300):
        random = np.random.default_rng(seed)
        A = random.normal(size=(5, 4)) @ random.normal(size=(4, 4))
        H, q, w = A.T @ A, 3 * random.normal(size=4), 2 * random.normal(size=4)
        w[random.integers(4)] *= random.integers(2)
        l1, l2 = random.uniform(0, 2), random.uniform(0, 0.1)
        wanted, reached, cut = plain_step(l1, l2, H, q, w)
        found = w.copy()
        assert signed_newton(l1, l2, H, q, found) == reached
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-8)
        np.testing.assert_array_equal(found == 0, wanted == 0)
        taken.append((reached, cut))
    assert len(set(taken)) == 3  # the minimum, all zeros at once, and the first one
