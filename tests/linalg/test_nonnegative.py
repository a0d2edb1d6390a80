"""Non-negative least squares by its conditions, also where SciPy's active sets end too early."""

import numpy as np
import pytest
from scipy import optimize

from mercer.linalg.nonnegative import nonnegative_least_squares


def problems():
    random = np.random.default_rng(0)
    for rows, columns in ((5, 30), (40, 8), (12, 12)):
        for _ in range(20):
            yield random.normal(size=(rows, columns)), random.normal(size=rows)


def check(A, b, x):
    slopes = A.T @ (b - A @ x)
    assert (x >= 0).all()
    assert slopes.max() <= 1e-10
    assert np.abs(slopes[x > 0]).max(initial=0.0) <= 1e-10


def test_the_conditions_of_the_optimum_hold():
    for A, b in problems():
        check(A, b, nonnegative_least_squares(A, b))


@pytest.mark.parametrize("spoil", [lambda x: 0 * x, lambda x: 0.9 * x, lambda x: x + 0.1])
def test_an_answer_that_is_none_is_replaced(spoil, monkeypatch):
    plain = optimize.nnls
    monkeypatch.setattr(optimize, "nnls", lambda A, b, maxiter=None: (spoil(plain(A, b)[0]), 0.0))
    for A, b in problems():
        check(A, b, nonnegative_least_squares(A, b))
