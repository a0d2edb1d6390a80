"""Attacks on certificates of linear machines: their optima in exact arithmetic are in the interval.

Ridge regression, the lasso and the squared hinge are solved in rational numbers, given which
weights or rows are in use; the optimality conditions are then checked exactly. Of other machines a
better answer in extended precision has to cost no less than the lower bound.
"""

import warnings
from fractions import Fraction

import numpy as np
import pytest

import mercer
from mercer import certify
from mercer.exceptions import MercerError

quick, long = range(12), range(12, 512)


@pytest.fixture(autouse=True)
def _calm():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def nasty(seed):
    """Return rows, numbers and weights that no one would choose."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(3, 12)), int(rng.integers(1, 4))
    X = rng.standard_normal((n, p)) * 10.0 ** rng.uniform(-3, 3, p)
    if rng.random() < 0.5:
        X += rng.standard_normal(p) * 10.0 ** rng.uniform(0, 7)
    if rng.random() < 0.3:
        X = X[rng.integers(0, max(2, n // 2), n)]
    y = rng.standard_normal(n) * 10.0 ** rng.uniform(-3, 3) + float(rng.choice([0.0, 1e6]))
    weights = np.ones(n) if rng.random() < 0.5 else rng.uniform(0.1, 3, n)
    return X, y, weights, rng


def exact(values):
    return np.vectorize(lambda value: Fraction(float(value)), otypes=[object])(values)


def solve(A, b):
    """Solve A x = b in rational numbers; None where A is singular."""
    M, n = [[*row, right] for row, right in zip(A.tolist(), b.tolist(), strict=True)], len(b)
    for i in range(n):
        pivot = next((k for k in range(i, n) if M[k][i] != 0), None)
        if pivot is None:
            return None
        M[i], M[pivot] = M[pivot], M[i]
        for k in range(n):
            if k != i and M[k][i] != 0:
                factor = M[k][i] / M[i][i]
                M[k] = [a - factor * b for a, b in zip(M[k], M[i], strict=True)]
    return np.array([M[i][n] / M[i][i] for i in range(n)], dtype=object)


def least_squares(X, y, s, l1, l2, intercept):
    """Return the optimum of penalised least squares, l1 being signed slopes of the weights."""
    A = np.column_stack([X, np.full(len(X), Fraction(1))]) if intercept else X
    H = A.T @ (s[:, None] * A)
    g = A.T @ (s * y)
    for j in range(X.shape[1]):
        H[j, j] += l2
        g[j] -= l1[j]
    x = solve(H, g)
    if x is None:
        return None
    r = y - A @ x
    return x, r


def check(model, optimum, *data):
    """The optimum is in the interval, and what certify says is what the machine says."""
    found = model.certificate_
    assert Fraction(found.lower) <= optimum <= Fraction(found.upper)
    assert found.relative_gap <= 1e-3 or found.status != "optimal" or found.within_rounding
    again = certify(model, *data)
    assert (again.primal, again.dual, again.rounding) == (found.primal, found.dual, found.rounding)


def ridge(seed):
    X, y, weights, rng = nasty(seed)
    alpha, intercept = float(10.0 ** rng.uniform(-6, 6)), bool(rng.random() < 0.7)
    model = mercer.Ridge(alpha, fit_intercept=intercept).fit(X, y, sample_weight=weights)
    s, zeros = exact(weights), [Fraction(0)] * X.shape[1]
    found = least_squares(exact(X), exact(y), s, zeros, Fraction(alpha), intercept)
    if found is None:
        return False
    (x, r), p = found, X.shape[1]
    optimum = (s * r * r).sum() + Fraction(alpha) * (x[:p] * x[:p]).sum()
    check(model, optimum, X, y, weights)
    return True


def lasso(seed):
    X, y, weights, rng = nasty(seed)
    n, intercept = len(y), bool(rng.random() < 0.7)
    slopes = np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max() / n
    alpha, share = float(slopes * 10.0 ** rng.uniform(-4, 0.1)), float(rng.choice([1.0, 0.5]))
    if not alpha > 0:
        return False
    model = mercer.ElasticNet(alpha, l1_ratio=share, fit_intercept=intercept)
    model.fit(X, y, sample_weight=weights)
    s = exact(weights) * n / exact(weights).sum()
    l1, l2 = Fraction(alpha) * Fraction(share) * n, Fraction(alpha) * (1 - Fraction(share)) * n
    used, A, b = np.flatnonzero(model.coef_), exact(X), exact(y)
    signs = [Fraction(float(np.sign(model.coef_[j]))) for j in used]
    found = least_squares(A[:, used], b, s, [l1 * sign for sign in signs], l2, intercept)
    if found is None:
        return False
    (x, r), k = found, len(used)
    pull = A.T @ (s * r)
    others = np.setdiff1d(np.arange(X.shape[1]), used)
    kept = all(x[i] * signs[i] >= 0 for i in range(k)) and all(abs(pull[j]) <= l1 for j in others)
    if not kept:
        return False
    price = l1 * sum(abs(x[i]) for i in range(k)) + l2 * sum(x[i] ** 2 for i in range(k)) / 2
    check(model, ((s * r * r).sum() / 2 + price) / n, X, y, weights)
    return True


def squared_hinge(seed):
    X, y, weights, rng = nasty(seed)
    C, classes = float(10.0 ** rng.uniform(-3, 3)), np.arange(len(y)) % 2
    model = mercer.LinearSVC(C=C, tol=1e-8, max_iter=10_000, random_state=0)
    model.fit(X, classes, sample_weight=weights)
    A = np.column_stack([exact(X), np.full(len(X), Fraction(1))])
    signs, costs = np.where(classes == 1, 1, -1), Fraction(C) * exact(weights)
    active = np.flatnonzero(signs * model.decision_function(X) < 1)
    for _ in range(20):
        part = A[active]
        H = 2 * part.T @ (costs[active][:, None] * part)
        for j in range(len(H)):
            H[j, j] += 1
        w = solve(H, 2 * part.T @ (costs[active] * signs[active]))
        excess = 1 - signs * (A @ w)
        now = np.flatnonzero(np.array([value > 0 for value in excess]))
        if np.array_equal(now, active):
            break
        active = now
    else:
        return False
    optimum = (w * w).sum() / 2 + (costs[active] * excess[active] ** 2).sum()
    check(model, optimum, X, classes, weights)
    return True


def logistic(seed):
    """Newton's method in extended precision from our answer on: it can only be better."""
    X, y, weights, rng = nasty(seed)
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    C, classes = float(10.0 ** rng.uniform(-3, 3)), np.arange(len(y)) % 2
    model = mercer.LogisticRegression(C=C).fit(X, classes, sample_weight=weights)
    L, signs = np.longdouble, np.where(classes == 1, 1.0, -1.0).astype(np.longdouble)
    A = np.column_stack([X, np.ones(len(X))]).astype(L)
    x = np.append(model.coef_.ravel(), model.intercept_).astype(L)
    penalised, costs = np.append(np.ones(X.shape[1]), 0.0).astype(L), (C * weights).astype(L)

    def value(x):
        return (penalised * x * x).sum() / 2 + costs @ np.logaddexp(L(0), -signs * (A @ x))

    for _ in range(10):
        p = 1 / (1 + np.exp(signs * (A @ x)))
        slope = penalised * x - A.T @ (costs * signs * p)
        H = np.diag(penalised) + A.T @ ((costs * p * (1 - p))[:, None] * A)
        step = x - np.linalg.solve(H.astype(float), slope.astype(float))
        if not value(step) < value(x):
            break
        x = step
    check(model, Fraction(float(value(x))), X, classes, weights)
    return True


def absolute(seed):
    """The vertex of least absolute deviations in rational numbers."""
    X, y, _, _ = nasty(seed)
    model = mercer.NormRegressor(1).fit(X, y)
    A, b = np.column_stack([exact(X), np.full(len(X), Fraction(1))]), exact(y)
    rows = model.interpolated_
    x = solve(A[rows], b[rows]) if len(rows) == A.shape[1] else None
    if x is None:
        return False
    found = model.certificate_
    # The value of any weights bounds the optimum from above.
    assert Fraction(found.lower) <= sum(abs(value) for value in b - A @ x)
    again = certify(model, X, y)
    assert (again.primal, again.dual) == (found.primal, found.dual)
    return True


def landmarks(seed):
    """Kernel ridge regression on landmarks, of which some are nearly the same."""
    X, y, weights, rng = nasty(seed)
    X = np.concatenate([X, X + 10.0 ** rng.uniform(-6, -1)]) / np.abs(X).max()
    y, weights = np.tile(y, 2), np.tile(weights, 2)
    alpha, kernel = float(10.0 ** rng.uniform(-3, 3)), mercer.RBF(gamma=float(rng.uniform(0.1, 3)))
    model = mercer.KernelRidge(alpha, kernel=kernel, approximation=4).fit(X, y, weights)
    points = model.expansion_points
    K, M = exact(model.kernel_(X, points)), exact(model.kernel_(points, points))
    s, b = exact(weights), exact(y)
    a = solve(K.T @ (s[:, None] * K) + Fraction(alpha) * M, K.T @ (s * b))
    if a is None:
        return False
    r = b - K @ a
    check(model, (s * r * r).sum() / 2 + Fraction(alpha) * (a @ M @ a) / 2, X, y, weights)
    return True


ATTACKS = [ridge, lasso, squared_hinge, logistic, absolute, landmarks]


def run(attack, seeds):
    """Return how many of the problems had an exact answer to compare with."""
    compared = 0
    for seed in seeds:
        try:
            compared += attack(seed)
        except MercerError:  # refused with a word
            continue
        except AssertionError as error:
            raise AssertionError(f"{attack.__name__}, seed {seed}: {error}") from error
    return compared


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_the_exact_optimum_is_in_the_interval(attack):
    assert run(attack, quick) >= len(quick) / 3


@pytest.mark.attack
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_the_exact_optimum_of_many_is_in_the_interval(attack):
    assert run(attack, long) >= len(long) / 3
