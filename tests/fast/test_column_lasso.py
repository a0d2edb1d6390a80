"""The lasso on the columns themselves, against its definition and against scikit-learn."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model as reference

from mercer import ElasticNet
from mercer._fast import column_lasso
from mercer.problems.elastic_net import Design, LassoProblem

KINDS = ["sparse", "centred sparse", "dense"]


def columns(kind, n=70, p=110, seed=0):
    """Return a design, its compiled form, the same as a dense matrix, and a target."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, p)) * (random.random((n, p)) < 0.2)
    X[:, 3] = 0.0
    means = X.mean(axis=0) if kind != "sparse" else None
    design = Design(X if kind == "dense" else sparse.csc_array(X), means)
    plain = X if means is None else X - means
    y = plain[:, :6].sum(axis=1) + random.normal(size=n)
    return design, design.columns(), plain, y if means is None else y - y.mean()


def stored_residual(design, y, w):
    """Return y − Xw with columns as they are stored."""
    return y - (design.X if sparse.issparse(design.X) else design.X - design.means) @ w


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("l2", [0.0, 2.0])
@pytest.mark.parametrize("positive", [False, True])
def test_bounds_are_those_of_the_problem(kind, l2, positive):
    design, stored, plain, y = columns(kind)
    random = np.random.default_rng(1)
    w = np.abs(random.normal(size=plain.shape[1])) * (random.random(plain.shape[1]) < 0.1)
    problem = LassoProblem(y, 3.0, l2, positive, means=design.means)
    expected = problem.evaluate(Design(plain), w)
    c = np.empty_like(w)
    u = stored_residual(design, y, w)
    found = column_lasso.bounds(*stored, y, 3.0, l2, positive, w, u, np.arange(len(w)), c)
    np.testing.assert_allclose(found, [expected.bounds.primal, expected.bounds.dual], rtol=1e-12)
    np.testing.assert_allclose(c, plain.T @ (y - plain @ w), atol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("l2", [0.0, 2.0])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("warm", [False, True])
def test_it_finds_the_optimum(kind, l2, positive, warm):
    design, stored, plain, y = columns(kind)
    n, p = plain.shape
    l1 = 0.05 * float(np.abs(plain.T @ y).max())
    w = np.full(p, 0.1) if warm else np.zeros(p)
    w[3] = 0.0  # a column without content keeps what it has
    u, proof = stored_residual(design, y, w), np.empty(p)
    squares = (plain**2).sum(axis=0)
    spent = column_lasso.descend_to_gap(
        *stored, squares, y, l1, l2, positive, w, u, proof, 0.0, 1e-10, 1e-6, 2_000
    )
    assert 0 < spent < 2_000
    np.testing.assert_allclose(u, stored_residual(design, y, w), atol=1e-11)
    problem = LassoProblem(y, l1, l2, positive)
    found = problem.evaluate(Design(plain), w)
    found = found.proved_by(problem.evaluate(Design(plain), proof))
    assert found.bounds.gap <= 1.001e-10 * found.bounds.primal
    alpha = (l1 + l2) / n
    theirs = reference.ElasticNet(
        alpha, l1_ratio=l1 / (l1 + l2), positive=positive, fit_intercept=False, tol=1e-12,
        max_iter=100_000,
    ).fit(plain, y)  # fmt: skip
    np.testing.assert_allclose(w, theirs.coef_, atol=1e-5)


def test_it_ends_after_its_rounds_and_at_the_gap_that_is_enough():
    _, stored, plain, y = columns("dense")
    squares, l1 = (plain**2).sum(axis=0), 0.01 * float(np.abs(plain.T @ y).max())

    def run(tol, enough, epochs):
        w = np.zeros(plain.shape[1])
        rest = w, y.copy(), np.empty_like(w), 0.0, tol, enough, epochs
        spent = column_lasso.descend_to_gap(*stored, squares, y, l1, 0.0, False, *rest)
        return spent, w

    assert run(1e-10, 1e-6, 7)[0] == 7
    spent, w = run(0.0, 1e-6, 100_000)  # a gap of zero cannot be reached
    assert spent < 5_000
    problem = LassoProblem(y, l1)
    assert problem.optimal(problem.evaluate(Design(plain), w), 1e-6)


def test_squares_of_sparse_columns():
    design, (data, _, starts, _), plain, _ = columns("sparse")
    np.testing.assert_allclose(column_lasso.squares(data, starts), (plain**2).sum(axis=0))
    np.testing.assert_allclose(design.norms(), np.sqrt((plain**2).sum(axis=0)), rtol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_that_are_no_numbers_end(kind):
    _, stored, plain, y = columns(kind)
    w, bad = np.zeros(plain.shape[1]), np.full_like(y, np.nan)
    squares = (plain**2).sum(axis=0)
    rest = 1.0, 0.0, False, w, bad.copy(), np.empty_like(w), 0.0, 1e-6, 1e-6, 100
    assert column_lasso.descend_to_gap(*stored, squares, bad, *rest) == 0


@pytest.mark.parametrize("shape", [(90, 200), (300, 60)])
def test_weights_and_formats_agree(shape):
    """Weighted sparse data take another way, dense ones and repeated rows this one or a third."""
    random = np.random.default_rng(4)
    X = random.normal(size=shape) * (random.random(shape) < 0.1)
    y = X[:, :5].sum(axis=1) + random.normal(size=shape[0])
    counts = random.integers(1, 4, size=shape[0])
    options = {"alpha": 0.05, "l1_ratio": 0.7}
    models = [
        ElasticNet(**options).fit(sparse.csr_array(X), y, counts.astype(float)),
        ElasticNet(**options).fit(X, y, counts.astype(float)),
        ElasticNet(**options).fit(sparse.csr_array(np.repeat(X, counts, 0)), np.repeat(y, counts)),
        ElasticNet(**options).fit(np.repeat(X, counts, 0), np.repeat(y, counts)),
    ]
    for model in models:
        assert model.certificate_.relative_gap <= 1e-6
        np.testing.assert_allclose(model.coef_, models[0].coef_, atol=1e-4)


def test_entries_of_one_place_add_up():
    """A sparse matrix may hold a number as a sum of two; its columns are no shorter for that."""
    random = np.random.default_rng(5)
    X = random.normal(size=(40, 70)) * (random.random((40, 70)) < 0.3)
    y = X[:, :4].sum(axis=1) + 0.1 * random.normal(size=40)
    whole = sparse.csc_array(X)
    rows = np.repeat(whole.indices, 2)
    halves = sparse.csc_array((np.repeat(whole.data / 2, 2), rows, 2 * whole.indptr), X.shape)
    assert not halves.has_canonical_format
    np.testing.assert_allclose(Design(halves).norms(), Design(whole).norms(), rtol=1e-11)
    found, expected = (ElasticNet(0.01, l1_ratio=0.9).fit(Z, y) for Z in (halves, whole))
    assert found.certificate_.relative_gap <= 1e-6
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-5)
