"""Screening and dual extrapolation of the lasso: what they claim must be true of every problem."""

import numpy as np
import pytest
import sklearn.linear_model as reference
from hypothesis import given, strategies as st
from scipy import sparse

from mercer import ElasticNet, Lasso, _fast, enet_path
from mercer.gram.feature_gram import FeatureGram
from mercer.problems import elastic_net
from mercer.problems.elastic_net import Design, LassoProblem
from mercer.solvers.base import Budget
from mercer.solvers.linear.gram_cache import GramCache
from mercer.solvers.linear.lasso import ElasticNetDescent, WorkingSets
from mercer.solvers.linear.least_squares import PlainLeastSquares


def correlated(n, p, seed=0, nearness=0.9):
    """Columns each of which resembles its neighbours, and a target of a few of them."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, p))
    for j in range(1, p):
        X[:, j] = nearness * X[:, j - 1] + np.sqrt(1 - nearness**2) * X[:, j]
    return X, X[:, :: max(p // 4, 1)].sum(axis=1) + random.normal(size=n)


def penalised(X, y, share, l2_share, positive):
    slopes = X.T @ y
    l1 = share * max((slopes if positive else np.abs(slopes)).max(), 1e-3)
    return LassoProblem(y, l1, l2_share * l1, positive)


def precise(X, problem):
    """Return the optimum by scikit-learn, to nearly all digits."""
    n, total = len(problem.y), problem.l1 + problem.l2
    model = reference.ElasticNet(
        alpha=total / n,
        l1_ratio=problem.l1 / total,
        fit_intercept=False,
        positive=problem.positive,
        tol=1e-14,
        max_iter=10**6,
    )
    return model.fit(X, problem.y).coef_


def dual_value(X, problem, nu):
    """Return the value of a dual point by the formula, −∞ where it is not feasible."""
    slopes = X.T @ nu if problem.positive else np.abs(X.T @ nu)
    excess = np.maximum(slopes - problem.l1, 0.0)
    value = problem.y @ nu - nu @ nu / 2
    if problem.l2 > 0:
        return value - excess @ excess / (2 * problem.l2)
    return value if excess.max() <= 1e-12 * problem.l1 else -np.inf


PROBLEMS = st.tuples(
    st.integers(0, 10_000),
    st.integers(4, 25),
    st.integers(1, 40),
    st.floats(0.05, 0.95),
    st.sampled_from([0.0, 0.5]),
    st.booleans(),
)


@given(PROBLEMS, st.floats(-8, 0), st.sampled_from([np.asarray, sparse.csc_array]))
def test_no_screened_column_has_a_weight_at_the_optimum(case, closeness, layout):
    seed, n, p, share, l2_share, positive = case
    X, y = correlated(n, p, seed)
    problem = penalised(X, y, share, l2_share, positive)
    best = precise(X, problem)
    noise = np.random.default_rng(seed).normal(size=p) * 10**closeness
    design = Design(layout(X))
    for w in (best, best + noise, best * (1 + noise), np.zeros(p)):
        at = problem.evaluate(design, np.maximum(w, 0.0) if positive else w)
        screened = problem.screened(at, design.norms())
        assert not best[screened].any()
        # The optimum of the dual is inside the sphere, which is why.
        away = np.linalg.norm(X.T @ (y - X @ best) - at.slopes, ord=np.inf)
        radius = np.sqrt(2 * max(at.bounds.gap, 0.0))
        assert away <= design.norms().max() * radius + 1e-5 * problem.l1


def test_the_sphere_closes_in():
    X, y = correlated(40, 200)
    problem = penalised(X, y, 0.2, 0.0, False)
    design, best = Design(X), precise(X, problem)
    counts = []
    for noise in (1e-1, 1e-3, 1e-5, 0.0):
        at = problem.evaluate(design, best * (1 + noise))
        counts.append(np.count_nonzero(problem.screened(at, design.norms())))
    assert counts == sorted(counts)
    assert counts[0] < counts[-1] == 200 - np.count_nonzero(best)


@given(PROBLEMS, st.integers(1, 40))
def test_extrapolated_dual_points_are_feasible_and_never_worse(case, rounds):
    seed, n, p, share, l2_share, positive = case
    X, y = correlated(n, p, seed)
    problem = penalised(X, y, share, l2_share, positive)
    G, q = X.T @ X, X.T @ y
    w, g, proof = np.zeros(p), q.copy(), np.empty(p)
    penalty = problem.l1, problem.l2, positive
    _, gap = _fast.lasso.descend_to_gap(G, q, problem.yy, *penalty, w, g, proof, 0.0, 0.0, rounds)
    np.testing.assert_allclose(g, X.T @ (y - X @ w), atol=1e-9 * problem.yy)
    design = Design(X)
    own, other = problem.evaluate(design, w), problem.evaluate(design, proof)
    assert other.bounds.dual >= own.bounds.dual - 1e-12 * problem.yy
    both = own.proved_by(other)
    assert both.bounds.dual == max(own.bounds.dual, other.bounds.dual)
    assert both.bounds.gap <= gap + 1e-12 * problem.yy
    # From scratch: the point that the slopes belong to has this value, and is feasible.
    r = y - X @ proof
    scale = max(s for s in (0.0, *other.slopes[other.c != 0] / other.c[other.c != 0]))
    value = dual_value(X, problem, scale * r)
    assert value == pytest.approx(other.bounds.dual, abs=1e-10 * problem.yy)
    best = precise(X, problem)
    rest = y - X @ best
    optimum = rest @ rest / 2 + problem.l1 * np.abs(best).sum() + problem.l2 * best @ best / 2
    assert value <= optimum + 1e-12 * problem.yy


def test_extrapolation_finds_the_fixed_point_of_few_columns():
    X, y = correlated(50, 4, nearness=0.95)
    problem = penalised(X, y, 0.01, 0.3, False)
    G, w, g = X.T @ X, np.zeros(4), X.T @ y
    W, S = [], []
    for _ in range(30 + _fast.lasso.LAST):
        _fast.lasso.descend(G, problem.l1, problem.l2, False, w, g, np.arange(4), 1, 0.0)
        W.append(w.copy())
        S.append(g.copy())
    far, slopes = np.empty(4), np.empty(4)
    last = np.array(W[-_fast.lasso.LAST :]), np.array(S[-_fast.lasso.LAST :])
    assert _fast.lasso.extrapolate(*last, problem.l2, far, slopes)
    best = precise(X, problem)
    assert np.abs(far - best).max() < 1e-3 * np.abs(w - best).max()
    np.testing.assert_allclose(slopes, X.T @ (y - X @ far), atol=1e-9)
    same = np.tile(w, (_fast.lasso.LAST, 1))
    assert not _fast.lasso.extrapolate(same, np.tile(g, (len(same), 1)), 0.0, far, slopes)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_lengths_of_columns(weighted, centred, offset):
    X, _ = correlated(30, 7)
    X += offset
    s = np.random.default_rng(1).uniform(0.1, 2.0, size=30) if weighted else None
    means = np.average(X, axis=0, weights=s) if centred else None
    columns = X - means if centred else X
    exact = np.linalg.norm(columns if s is None else columns * np.sqrt(s)[:, None], axis=0)
    for layout in (np.ascontiguousarray, np.asfortranarray, sparse.csc_array):
        norms = Design(layout(X), means, s).norms()
        np.testing.assert_allclose(norms, exact, rtol=1e-3)
        assert (norms >= exact * (1 - 1e-14)).all()


@pytest.mark.parametrize("shape", [(30, 120), (200, 40)])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.6])
@pytest.mark.parametrize("layout", [np.asfortranarray, sparse.csc_array])
def test_answers_to_many_digits(shape, positive, l1_ratio, layout):
    X, y = correlated(*shape, nearness=0.8)
    options = {"l1_ratio": l1_ratio, "positive": positive}
    strict = {"tol": 1e-14, "max_iter": 10**6}
    for intercept in (False, True):
        ours = ElasticNet(0.05, fit_intercept=intercept, tol=1e-11, **options).fit(layout(X), y)
        theirs = reference.ElasticNet(0.05, fit_intercept=intercept, **strict, **options).fit(X, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-6)
        assert np.array_equal(ours.coef_ != 0, theirs.coef_ != 0)
        assert ours.n_screened_ + np.count_nonzero(ours.coef_) <= shape[1]
    alphas, coefs, _ = enet_path(layout(X), y, alphas=12, eps=1e-2, tol=1e-11, **options)
    _, expected, _ = reference.enet_path(X, y, alphas=alphas, **strict, **options)
    np.testing.assert_allclose(coefs, expected, atol=2e-6)


@pytest.mark.parametrize("shape", [(40, 300), (400, 60)])
def test_paths_count_what_they_screen(shape):
    X, y = correlated(*shape, nearness=0.5)
    p = shape[1]
    most = np.abs(X.T @ y).max()
    penalties = [(most * share, 0.0) for share in np.geomspace(1, 0.05, 15)]
    problem = LassoProblem(y, 0.0)
    budget = Budget(tol=1e-8, max_iter=10_000)
    path = WorkingSets().path(problem, FeatureGram.of_rows(X), penalties, budget)
    for solution, (l1, l2) in zip(path, penalties, strict=True):
        support = np.count_nonzero(precise(X, problem.with_penalty(l1, l2)))
        assert solution.certificate.status == solution.status == "optimal"
        screened = solution.statistics.details["screened"]
        assert p - support >= screened > 0.5 * (p - support)


def test_fits_count_what_they_screen():
    X, y = correlated(40, 300, nearness=0.5)
    wide = Lasso(0.3).fit(X, np.column_stack([y, X[:, 3]]))
    assert all(0 < count < 300 for count in wide.n_screened_)
    assert Lasso(0.3).fit(X, y).n_screened_ == wide.n_screened_[0]
    assert Lasso(0.3).fit(X[:, :10], y).n_screened_ == 0


def test_few_columns_at_once_give_the_same_as_working_sets():
    random = np.random.default_rng(3)
    X = random.normal(size=(200, 8))
    y = X[:, 0] - 2 * X[:, 3] + random.normal(size=200)
    gram, budget = FeatureGram.of_rows(X), Budget(tol=1e-8)
    for l1, l2, positive in [(5.0, 0.0, False), (5.0, 3.0, False), (20.0, 0.0, True)]:
        problem = LassoProblem(y, l1, l2, positive)
        at_once = ElasticNetDescent().solve(problem, gram, budget)
        in_sets = WorkingSets().solve(problem, gram, budget)
        np.testing.assert_allclose(at_once.value.w, in_sets.value.w, atol=1e-6)
        assert at_once.certificate.relative_gap <= 1e-8
        assert at_once.statistics.details["screened"] == 0


def test_dependent_columns_without_penalties_have_a_short_answer():
    # Whether rounding leaves 1e-16 or 0 of a singular value depends on the data and on BLAS.
    for seed in range(100):
        random = np.random.default_rng(seed)
        X, y = random.normal(size=(10 + seed // 2, 4)), random.normal(size=10 + seed // 2)
        X = np.column_stack([X, X[:, 0], X[:, 1] + X[:, 2]])
        X -= X.mean(axis=0)
        gram = FeatureGram.of_rows(X)
        w = PlainLeastSquares().solve(LassoProblem(y, 0.0), gram, Budget()).value.w
        np.testing.assert_allclose(w, np.linalg.pinv(X, rcond=1e-12) @ y, atol=1e-9)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize(("n", "p"), [(300, 40), (60, 400)])
def test_all_columns_at_once_and_working_sets_find_the_same_weights(n, p, positive):
    X, y = correlated(n, p)
    gram, budget = FeatureGram.of_rows(X), Budget(tol=1e-9, max_iter=10_000)
    problem = penalised(X, y, 0.005, 0.1, positive)
    kept, dense = (GramCache(Design(X)) for _ in range(2))
    dense.add(np.arange(p))
    dense.parts = None
    parts = WorkingSets(kept).solve(problem, gram, budget)
    whole = WorkingSets(dense).solve(problem, gram, budget)
    assert parts.status == whole.status == "optimal"
    np.testing.assert_allclose(
        parts.value.w, whole.value.w, atol=1e-4 * np.abs(whole.value.w).max()
    )
    m = len(kept)
    np.testing.assert_allclose(
        kept.G[:m, :m], X[:, kept.columns].T @ X[:, kept.columns], atol=1e-9 * n
    )


@pytest.mark.parametrize("little", [0, 1 << 30])
def test_products_of_sparse_columns_are_those_of_dense_ones(little, monkeypatch):
    monkeypatch.setattr(elastic_net, "_LITTLE_WORK", little)
    monkeypatch.setattr(elastic_net, "_FEW_STORED", little)
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 9)) * (random.random((40, 9)) < 0.4)
    some, others, w = np.array([1, 4, 8]), np.array([0, 4, 5, 6]), np.zeros(9)
    w[4] = 2.0
    for weights in (None, random.uniform(0.5, 2, size=40)):
        for means in (None, np.average(X, axis=0, weights=weights)):
            thin, dense = (Design(A, means, weights) for A in (sparse.csc_array(X), X))
            for columns in (some, others):
                found, wanted = (design.gram(some, columns) for design in (thin, dense))
                np.testing.assert_allclose(found, wanted, atol=1e-12)
            np.testing.assert_allclose(thin.dot(w), dense.dot(w), atol=1e-12)


@pytest.mark.parametrize("l2", [0.0, 0.7])
def test_landing_is_exact_and_holds_signs(l2):
    random = np.random.default_rng(4)
    A = random.normal(size=(9, 5))
    G, q, l1 = A.T @ A, random.normal(size=5) * 9, 0.3
    w = np.sign(q) * 0.5
    w[2] = 0.0
    before, used = w.copy(), np.array([0, 1, 3, 4])
    g = q - G @ w
    slopes = q[used] - l1 * np.sign(w[used])
    exact = np.linalg.solve(G[np.ix_(used, used)] + l2 * np.eye(4), slopes)
    stays = bool((exact * w[used] > 0).all())
    assert _fast.lasso.land(G, l1, l2, w, g) == stays
    np.testing.assert_allclose(w[used], exact if stays else before[used], rtol=1e-10)
    assert w[2] == 0.0
    np.testing.assert_allclose(g, q - G @ w, atol=1e-10)


def test_landing_needs_weights_and_definite_columns():
    G, q, g = np.ones((2, 2)), np.ones(2), np.ones(2)
    for w in (np.zeros(2), np.array([0.2, 0.3])):
        before = w.copy()
        assert not _fast.lasso.land(G, 0.1, 0.0, w, g)
        np.testing.assert_array_equal(w, before)
    # One sign would change: nothing moves.
    w, G = np.array([1.0, 1.0]), np.eye(2)
    q = np.array([2.0, -2.0])
    g = q - w
    assert not _fast.lasso.land(G, 0.1, 0.0, w, g)
    np.testing.assert_array_equal(w, [1.0, 1.0])
    # All signs stay.
    q = np.array([2.0, 3.0])
    g = q - w
    assert _fast.lasso.land(G, 0.1, 0.0, w, g)
    np.testing.assert_allclose(w, [1.9, 2.9])
    np.testing.assert_allclose(g, [0.1, 0.1])
