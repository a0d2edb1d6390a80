import time

import numpy as np
import pytest

from mercer.linalg.pcg import (
    LowRank,
    conjugate_gradients,
    residual_above,
    whole_product,
)


def system(n=30, columns=3, seed=0):
    random = np.random.default_rng(seed)
    F = random.normal(size=(n, n))
    return F @ F.T + np.eye(n), random.normal(size=(n, columns))


@pytest.mark.parametrize("preconditioned", [False, True])
@pytest.mark.parametrize("columns", [None, 1, 4])
def test_solves_columns_side_by_side(columns, preconditioned):
    A, B = system(columns=columns or 1)
    B = B[:, 0] if columns is None else B
    G = np.diag(1 / np.diag(A))
    found = conjugate_gradients(
        lambda P: A @ P,
        B,
        going=residual_above(1e-10, B),
        precondition=(lambda R: G @ R) if preconditioned else None,
        max_iter=500,
    )
    assert found.status == "optimal"
    np.testing.assert_allclose(A @ found.x, B, atol=1e-8)
    np.testing.assert_allclose(found.residual, B - A @ found.x, atol=1e-8)


def test_a_finished_column_waits_for_the_others():
    A, B = system(columns=2)
    B[:, 0] = 0.0
    found = conjugate_gradients(lambda P: A @ P, B, going=residual_above(1e-10, B), max_iter=500)
    assert found.status == "optimal"
    assert not found.x[:, 0].any()
    np.testing.assert_allclose(A @ found.x, B, atol=1e-8)


def test_an_exact_preconditioner_needs_one_step():
    F = np.random.default_rng(0).normal(size=(40, 5))
    A, B = F @ F.T + 0.1 * np.eye(40), np.ones((40, 1))
    found = conjugate_gradients(
        lambda P: A @ P,
        B,
        going=residual_above(1e-8, B),
        precondition=LowRank(F, 0.1),
        max_iter=10,
    )
    assert found.steps == 1
    np.testing.assert_allclose(A @ found.x, B, atol=1e-8)


def test_one_product_of_all_columns_solves_the_joint_system():
    A, B = system(n=24, columns=1)

    def multiply(P):
        return (A @ P.T.reshape(-1)).reshape(2, 12).T

    right = B.reshape(2, 12).T
    found = conjugate_gradients(
        multiply,
        right,
        going=lambda at: at.rho > 1e-22,
        pair=whole_product,
        max_iter=500,
    )
    np.testing.assert_allclose(found.x.T.reshape(-1), np.linalg.solve(A, B[:, 0]), atol=1e-8)


def test_directions_carry_their_images_in_another_inner_product():
    """In ⟨a, b⟩ = aᵀKb the matrix I + DK is symmetric; K is multiplied with once in each step."""
    K, B = system(n=20, columns=2)
    d = np.linspace(0, 1, 20)[:, None]
    count = 0

    def lift(R):
        nonlocal count
        count += 1
        return np.concatenate([R, K @ R])

    found = conjugate_gradients(
        lambda P: P[:20] + d * P[20:],
        B,
        going=lambda at: at.rho > 1e-20,
        precondition=lift,
        pair=lambda R, Z: np.einsum("ij,ij->j", R, Z[20:]),
        max_iter=200,
    )
    np.testing.assert_allclose(found.x[:20], np.linalg.solve(np.eye(20) + d * K, B), atol=1e-7)
    np.testing.assert_allclose(found.x[20:], K @ found.x[:20], atol=1e-6)
    assert count == found.steps + 1


def test_ends_by_steps_by_time_and_by_negative_curvature():
    A, B = system(columns=1)
    going = residual_above(1e-14, B)
    few = conjugate_gradients(lambda P: A @ P, B, going=going, max_iter=2)
    assert (few.status, few.steps) == ("max_iter", 2)
    late = conjugate_gradients(
        lambda P: A @ P, B, going=going, max_iter=99, deadline=time.perf_counter() - 1
    )
    assert (late.status, late.steps) == ("time_limit", 0)
    stuck = conjugate_gradients(lambda P: -A @ P, B, going=going, max_iter=99)
    assert (stuck.status, stuck.steps) == ("stalled", 0)
    assert not stuck.x.any()
