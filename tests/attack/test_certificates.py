"""Attacks on certificates: nasty problems, corrupted answers, indefinite matrices.

A reference need not be trusted either: whatever point Clarabel returns is moved into the box and
its two values are taken in extended precision, so that the optimum lies between them. Our interval
has to overlap theirs.
"""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm

import mercer
from mercer import certify
from mercer.problems import qp
from mercer.problems.certificate import OPTIMAL_GAP, STATIONARY, UNKNOWN
from tests.attack.indefinite import KINDS, attack as indefinite_attack

NAMES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")
SPARE = 1e-15
"""What the sums of a reference in extended precision may be off by, as a share of their size."""

quick, long = range(12), range(12, 400)


@pytest.fixture(autouse=True)
def _calm():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# ---- nasty problems ----------------------------------------------------------------------------


def nasty(rng):
    """Return rows, a kernel matrix, weights and a C that no one would choose."""
    n = int(rng.choice([3, 4, 7, 15, 40]))
    X = rng.standard_normal((n, int(rng.integers(1, 4)))) * 10.0 ** rng.uniform(-6, 6)
    if rng.random() < 0.4:
        X = X[rng.integers(0, max(1, n // 3), n)]  # duplicates
    kind = rng.integers(4)
    if kind == 0:
        K = np.zeros((n, n))
    elif kind == 1:
        K = X @ X.T
    elif kind == 2:
        K = (X @ X.T / max(float(np.abs(X @ X.T).max()), 1e-300) + 1) ** 3
    else:
        squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        K = np.exp(-squares / max(float(np.median(squares)), 1e-300))
    weights = np.ones(n)
    if rng.random() < 0.5:
        weights = rng.uniform(0.1, 3, n) * (rng.random(n) < 0.8)
    return K, weights, float(10.0 ** rng.uniform(-6, 6))


def targets(name, weights, rng):
    """Return classes (both with weight), numbers, or nothing."""
    n = len(weights)
    if name == "OneClassSVM":
        weights[0] = 1.0
        return None
    if name.endswith("R"):
        weights[0] = 1.0
        return rng.standard_normal(n) * 10.0 ** rng.uniform(-3, 3)
    y = rng.integers(0, 2, n)
    y[:2], weights[:2] = (0, 1), 1.0
    return y


def fitted(name, seed):
    """Return a machine, what it was fitted on, and the box QP behind it; None where it refuses."""
    rng = np.random.default_rng(seed)
    K, weights, C = nasty(rng)
    y = targets(name, weights, rng)
    choice = {"kernel": "precomputed"}
    if name in ("SVC", "SVR", "NuSVR"):
        choice["C"] = C
    if name.startswith("Nu"):
        choice["nu"] = float(rng.uniform(0.05, 0.4))
    try:
        model = getattr(mercer, name)(**choice).fit(K, y, sample_weight=weights)
    except ValueError:
        return None
    rows = np.flatnonzero(weights > 0)
    w = weights[rows]
    if name in ("SVC", "NuSVC"):
        signs = np.where(y[rows] == 1, 1.0, -1.0)
    problem = {
        "SVC": lambda: qp.classifier(signs, C * w),
        "NuSVC": lambda: qp.nu_classifier(signs, w, choice["nu"]),
        "SVR": lambda: qp.regressor(y[rows], C * w, model.epsilon),
        "NuSVR": lambda: qp.nu_regressor(y[rows], C * w, choice["nu"]),
        "OneClassSVM": lambda: qp.one_class(w, 0.5),
    }[name]()
    return model, (K, y, weights), problem, K[np.ix_(rows, rows)]


def reference(problem, K):
    """Return a lower and an upper bound of the optimum, in extended precision."""
    clarabel = pytest.importorskip("clarabel")
    m = len(problem)
    place = sparse.csr_array((np.ones(m), (problem.row, np.arange(m))), shape=(len(K), m))
    P = sparse.triu(place.T @ K @ place, format="csc")
    sums = sparse.csr_array(
        (np.ones(m), (problem.group.astype(int), np.arange(m))), shape=(problem.groups, m)
    )
    identity = sparse.eye_array(m)
    A = sparse.vstack([sums, identity, -identity], format="csc")
    b = np.concatenate([problem.sums, problem.hi, -problem.lo])
    cones = [clarabel.ZeroConeT(problem.groups), clarabel.NonnegativeConeT(2 * m)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = 60
    answer = clarabel.DefaultSolver(P, -problem.p, A, b, cones, settings).solve()
    beta = np.nan_to_num(np.asarray(answer.x))
    beta = problem.feasible(beta)
    L = np.longdouble
    rows = np.zeros(len(K), L)
    np.add.at(rows, problem.row, beta.astype(L))
    f = K.astype(L) @ rows
    square, p = rows @ f, problem.p.astype(L)
    lower = p @ beta.astype(L) - square / 2
    biases = problem.biases(beta, f.astype(float)).astype(L)
    r = p - f[problem.row] - biases[problem.group]
    price = np.where(r > 0, problem.hi, problem.lo) * r
    upper = square / 2 + price.sum() + biases @ problem.sums
    drift = np.abs(np.bincount(problem.group, beta, problem.groups) - problem.sums).max()
    size = np.abs(p * beta).sum() + np.abs(rows * f).sum() + np.abs(price).sum()
    slopes = np.abs(p - f[problem.row]).max(initial=0)
    spare = float(SPARE * (size + np.abs(biases @ problem.sums)) + drift * slopes)
    return float(lower) - spare, float(upper) + spare


def attack(name, seed):
    """Compare an interval with the reference; return whether the machine had an answer."""
    found = fitted(name, seed)
    if found is None:
        return False
    model, (K, y, weights), problem, part = found
    certificate = model.certificate_
    lower, upper = reference(problem, part)
    assert certificate.lower <= upper
    assert certificate.upper >= lower
    if certificate.status == "optimal":
        assert certificate.relative_gap <= OPTIMAL_GAP or certificate.gap <= certificate.rounding
    again = certify(model, K, y, weights)
    assert (again.primal, again.dual) == (certificate.primal, certificate.dual)
    return True


@pytest.mark.parametrize("name", NAMES)
def test_our_interval_overlaps_that_of_a_reference(name):
    for seed in quick:
        attack(name, seed)


@pytest.mark.attack
@pytest.mark.parametrize("name", NAMES)
def test_our_interval_overlaps_that_of_a_reference_on_many(name):
    for seed in long:
        attack(name, seed)


def exact_ridge(K, y, weights, alpha):
    """Return the optimum of kernel ridge regression in rational arithmetic."""
    from fractions import Fraction

    used = [i for i in range(len(y)) if weights[i] > 0]
    n = len(used)
    rows = [
        [
            Fraction(float(K[i, j]))
            + (Fraction(alpha) / Fraction(float(weights[i])) if i == j else 0)
            for j in used
        ]
        + [Fraction(float(y[i]))]
        for i in used
    ]
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(rows[i][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(n):
            if i != k and rows[i][k]:
                factor = rows[i][k] / rows[k][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    c = [rows[k][n] / rows[k][k] for k in range(n)]
    # λ/2 · cᵀy is the optimum.
    return Fraction(alpha) / 2 * sum(c[k] * Fraction(float(y[i])) for k, i in enumerate(used))


@pytest.mark.parametrize("alpha", [1e-12, 1e-8, 1e-3, 1.0, 1e6])
def test_the_optimum_of_a_ridge_regression_is_in_the_interval(alpha):
    rng = np.random.default_rng(3)
    for _ in range(3):
        n = int(rng.integers(2, 9))
        X = rng.standard_normal((n, 2)) * 10.0 ** rng.uniform(-1, 1)
        K = mercer.RBF(gamma=0.5)(X)
        weights = rng.uniform(0.1, 2, n)
        y = rng.standard_normal(n) * 10.0 ** rng.uniform(-3, 3)
        model = mercer.KernelRidge(alpha, kernel="precomputed").fit(K, y, weights)
        optimum, judged = exact_ridge(K, y, weights, alpha), model.certificate_
        assert judged.curvature == "proven"
        assert judged.lower <= optimum <= judged.upper


# ---- corrupted answers -------------------------------------------------------------------------


def corrupt(name, seed):
    """Spoil an answer: it has to show, or the answer is as good as before."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 3))
    y = None if name == "OneClassSVM" else X[:, 0] + 0.3 * rng.standard_normal(40)
    if name in ("SVC", "NuSVC"):
        y = (y > 0).astype(int)
    choice = {"nu": 0.3} if name == "NuSVC" else {}
    model = getattr(mercer, name)(tol=1e-6, **choice).fit(X, y)
    before = certify(model, X, y)
    coefficients = np.array(model.dual_coef_)
    kind = rng.integers(4)
    if kind == 0:
        at = rng.integers(coefficients.shape[1])
        coefficients[0, at] *= 1 + rng.choice([-1, 1]) * 10.0 ** rng.uniform(-2, 1)
    elif kind == 1:
        coefficients *= 1 + rng.choice([-1, 1]) * 10.0 ** rng.uniform(-2, -0.5)
    elif kind == 2:
        coefficients = coefficients[:, rng.permutation(coefficients.shape[1])]
    else:
        model.intercept_ = model.intercept_ + rng.choice([-1, 1]) * 10.0 ** rng.uniform(-2, 1)
    model.dual_coef_ = coefficients
    after = certify(model, X, y)
    worse = (
        not after.bounds
        or after.gap > before.gap + after.rounding
        or after.dual_feasibility > before.dual_feasibility + 1e-9
    )
    as_good = after.primal <= before.primal + before.gap + before.rounding + after.rounding
    assert worse or as_good
    # Whatever was done to it, the interval holds the optimum.
    assert after.lower <= before.upper
    assert after.upper >= before.lower
    return worse


@pytest.mark.parametrize("name", NAMES)
def test_corrupted_answers_show(name):
    assert sum(corrupt(name, seed) for seed in range(8)) >= 6


@pytest.mark.attack
@pytest.mark.parametrize("name", NAMES)
def test_many_corrupted_answers_show(name):
    for seed in range(8, 300):
        corrupt(name, seed)


# ---- indefinite matrices -----------------------------------------------------------------------


def indefinite(rng, n):
    """Return a symmetric matrix that is negative on vectors whose sum is 0 in each half."""
    A = rng.standard_normal((n, n))
    Q = np.linalg.qr(A)[0]
    values = rng.uniform(0, 1, n)
    negative = max(1, int(n * rng.uniform(0.05, 0.6)))
    values[:negative] = -(10.0 ** rng.uniform(-4, 0, negative))
    K = Q @ np.diag(values) @ Q.T
    K = (K + K.T) / 2
    half = np.arange(n) < n // 2
    v = np.where(half, rng.standard_normal(n), 0.0)
    v[half] -= v[half].mean()
    v /= np.linalg.norm(v)
    return K - (v @ K @ v + 10.0 ** rng.uniform(-4, 0)) * np.outer(v, v)


def claims(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 40))
    K = indefinite(rng, n)
    y = (np.arange(n) >= n // 2).astype(int)
    numbers = rng.standard_normal(n)
    for name in NAMES:
        given = None if name == "OneClassSVM" else numbers if name.endswith("R") else y
        model = getattr(mercer, name)(kernel="precomputed").fit(K, given)
        for judged in (model.certificate_, certify(model, K, given)):
            assert judged.curvature == "refuted"
            assert judged.status == STATIONARY
            assert not judged.bounds
            assert "stationary point, no bound" in repr(judged)
            assert "stationary point, no bound" in judged._repr_html_()
    theirs = svm.SVC(kernel="precomputed").fit(K, y)
    assert certify(theirs, K, y).curvature == "refuted"
    ridge = mercer.KernelRidge(1e-3, kernel="precomputed").fit(K, numbers)
    assert not ridge.certificate_.bounds


def test_indefinite_matrices_are_never_bounded():
    for seed in range(6):
        claims(seed)


@pytest.mark.attack
def test_many_indefinite_matrices_are_never_bounded():
    for seed in range(6, 46):
        claims(seed)


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=lambda number: KINDS[number].__name__)
def test_no_kind_of_indefinite_matrix_is_bounded(kind):
    judged = [indefinite_attack(seed) for seed in range(kind, 30, len(KINDS))]
    assert any(judged)


@pytest.mark.attack
def test_a_thousand_indefinite_matrices_of_all_kinds_are_never_bounded():
    assert sum(indefinite_attack(seed) for seed in range(30, 1230)) >= 1000


def test_a_sigmoid_and_series_of_their_own():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)), rng.integers(0, 2, 60)
    for model in (svm.SVC(kernel="sigmoid", gamma=2.0), mercer.SVC(kernel="sigmoid", gamma=2.0)):
        judged = certify(model.fit(X, y), X, y)
        assert judged.status == STATIONARY
        assert judged.gap == np.inf


def test_a_large_matrix_of_unknown_kind_has_no_bound(monkeypatch):
    monkeypatch.setattr("mercer.problems.products.DENSE", 20)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)), rng.integers(0, 2, 60)
    sound = mercer.SVC(kernel="precomputed").fit(X @ X.T, y).certificate_
    assert sound.status == UNKNOWN
    assert not sound.bounds
    broken = mercer.SVC(kernel="precomputed").fit(X @ X.T - 5 * np.eye(60), y).certificate_
    assert broken.status == STATIONARY


def test_conditional_definiteness_is_enough_for_a_bias():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 2)), rng.integers(0, 2, 40)
    K = -(((X[:, None] - X[None]) ** 2).sum(axis=2) ** 0.5)
    assert mercer.SVC(kernel="precomputed").fit(K, y).certificate_.curvature == "proven"
    assert mercer.NuSVR(kernel="precomputed").fit(K, X[:, 0]).certificate_.curvature == "proven"
    joint = mercer.SVC(kernel="precomputed", multi_class="crammer_singer").fit(K, y)
    assert joint.certificate_.curvature == "refuted"
