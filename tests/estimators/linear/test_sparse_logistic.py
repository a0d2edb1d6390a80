"""Logistic regression with ℓ₁ and elastic-net penalties, against scikit-learn and its own dual."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize, sparse
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning

from mercer import InvalidParameter, LogisticRegression, certify
from mercer.gram.feature_gram import FeatureGram
from mercer.problems.sparse_logistic import SparseLogisticProblem
from mercer.solvers.base import Budget, Status
from mercer.solvers.linear.proximal_newton import ProximalNewton
from tests.estimators import cases

DATA = {"heart": cases.heart, "iris": cases.iris, "wine": cases.wine}


def losses(model, X, y, weights):
    """Return Σ s (log Σ exp z − z_y) by its definition."""
    Z = X @ model.coef_.T + model.intercept_
    if Z.shape[1] == 1:
        Z = np.column_stack([np.zeros(len(Z)), Z])
    at = np.searchsorted(model.classes_, y)
    return float(weights @ (np.logaddexp.reduce(Z, axis=1) - Z[np.arange(len(Z)), at]))


def objective(model, X, y, C, ratio, weights=None, bias_too=False):
    weights = np.ones(len(y)) if weights is None else weights
    W = np.column_stack([model.coef_, model.intercept_]) if bias_too else model.coef_
    penalty = ratio * np.abs(W).sum() + (1 - ratio) * (W**2).sum() / 2
    return penalty + C * losses(model, X, y, weights)


def fit(X, y, **options):
    return LogisticRegression(solver="saga", **options).fit(X, y)


@pytest.mark.parametrize("ratio", [1.0, 0.5])
@pytest.mark.parametrize("C", [0.02, 1.0, 50.0])
@pytest.mark.parametrize("name", DATA)
def test_no_answer_of_saga_is_better(name, C, ratio):
    X, y = DATA[name]()
    model = fit(X, y, C=C, l1_ratio=ratio)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs = linear_model.LogisticRegression(
            solver="saga", C=C, l1_ratio=ratio, max_iter=300, tol=1e-6, random_state=0
        ).fit(X, y)
    value = objective(model, X, y, C, ratio)
    assert value <= objective(theirs, X, y, C, ratio) * (1 + 1e-8)
    assert model.certificate_.primal == pytest.approx(value, rel=1e-12)
    assert model.certificate_.status == "optimal"
    assert -1e-14 <= model.certificate_.relative_gap <= 1e-8
    assert model.coef_.shape == theirs.coef_.shape
    assert model.intercept_.shape == theirs.intercept_.shape
    judged = certify(theirs, X, y)
    assert judged.dual <= value
    assert judged.primal == pytest.approx(objective(theirs, X, y, C, ratio), rel=1e-12)


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_liblinear_penalises_the_bias_too(C):
    X, y = cases.heart()
    theirs = linear_model.LogisticRegression(
        l1_ratio=1, solver="liblinear", C=C, tol=1e-10, max_iter=10_000
    ).fit(X, y)
    model = LogisticRegression(l1_ratio=1, solver="liblinear", C=C, tol=1e-8).fit(X, y)
    assert_allclose(model.coef_, theirs.coef_, atol=1e-5)
    assert_allclose(model.intercept_, theirs.intercept_, atol=1e-5)
    mine = objective(model, X, y, C, 1.0, bias_too=True)
    assert mine <= objective(theirs, X, y, C, 1.0, bias_too=True) * (1 + 1e-10)


@pytest.mark.parametrize("ratio", [1.0, 0.3])
@pytest.mark.parametrize("name", ["heart", "iris"])
def test_the_certificate_is_true_before_the_end(name, ratio):
    X, y = DATA[name]()
    optimum = fit(X, y, C=0.7, l1_ratio=ratio, tol=1e-8).certificate_
    for steps in (0, 1, 2, 3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = fit(X, y, C=0.7, l1_ratio=ratio, max_iter=steps)
        assert model.n_iter_[0] == steps
        assert model.certificate_.primal == pytest.approx(objective(model, X, y, 0.7, ratio))
        assert model.certificate_.dual <= optimum.primal * (1 + 1e-12)
        assert model.certificate_.primal >= optimum.dual * (1 - 1e-12)
        assert model.certificate_.gap > 1e-6
    assert certify(model, X, y).dual == pytest.approx(model.certificate_.dual, rel=1e-9)


def test_the_dual_value_is_that_of_its_definition():
    X, y = cases.heart()
    with pytest.warns(ConvergenceWarning):
        model = fit(X, y, C=2.0, l1_ratio=1.0, max_iter=3)
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    F = X @ model.coef_[0]
    # By its slope: values of the loss tell the best bias to the root of float64's digits only.
    best = optimize.brentq(
        lambda b: ((signs > 0) - 1 / (1 + np.exp(-(F + b)))).sum(), -30, 30, xtol=1e-15
    )
    p = 1 / (1 + np.exp(-(F + best)))
    beta = 2.0 * ((signs > 0) - p)
    share = min(1.0, 1 / np.abs(X.T @ beta).max())
    q = (signs > 0) * (1 - share) + share * p
    entropy = -2.0 * (q * np.log(q) + (1 - q) * np.log(1 - q)).sum()
    # The certificate's point is a little inside, so that rounding cannot make it infeasible.
    assert model.certificate_.dual == pytest.approx(entropy, rel=1e-10)
    assert model.certificate_.dual <= entropy * (1 + 1e-12)


@pytest.mark.parametrize("name", ["heart", "iris"])
def test_the_penalty_from_which_all_weights_are_zero(name):
    X, y = DATA[name]()
    classes, labels = np.unique(y, return_inverse=True)
    onehot = np.eye(len(classes))[labels]
    slopes = np.abs(X.T @ (onehot - onehot.mean(axis=0))).max()
    assert not fit(X, y, C=0.999 / slopes, l1_ratio=1.0).coef_.any()
    assert fit(X, y, C=1.01 / slopes, l1_ratio=1.0).coef_.any()


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("form", [sparse.csr_array, np.float32, np.asfortranarray])
def test_forms_of_data_do_not_matter(form, k):
    random = np.random.default_rng(k)
    X = (random.normal(size=(80, 12)) * (random.random((80, 12)) < 0.4)).astype(np.float32)
    y = np.digitize(X[:, 0] - X[:, 1] + 0.3 * random.normal(size=80), [-0.2, 0.4])[:80] % k
    plain = fit(X.astype(np.float64), y, C=3.0, l1_ratio=0.8, tol=1e-7)
    model = fit(form(X), y, C=3.0, l1_ratio=0.8, tol=1e-7)
    assert_allclose(model.coef_, plain.coef_, atol=1e-5)
    assert model.coef_.dtype == form(X).dtype


@pytest.mark.parametrize("name", ["heart", "iris"])
def test_weights_of_rows_and_classes_are_repetitions(name):
    X, y = DATA[name]()
    random = np.random.default_rng(0)
    counts = random.integers(0, 3, len(y))
    classes = np.unique(y)
    factors = dict(zip(classes, [2, 1, 3], strict=False))
    times = counts * np.array([factors[c] for c in y])
    options = {"C": 0.5, "l1_ratio": 0.9, "tol": 1e-8}
    model = LogisticRegression(solver="saga", class_weight=factors, **options)
    model.fit(X, y, sample_weight=counts)
    repeated = fit(np.repeat(X, times, axis=0), np.repeat(y, times), **options)
    assert_allclose(model.coef_, repeated.coef_, atol=1e-6)
    assert certify(model, X, y, counts).relative_gap <= 1e-8


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
def test_large_sets_of_weights_go_by_columns_and_end_at_the_same_point(k, thin, intercept):
    random = np.random.default_rng(k)
    X = random.normal(size=(60, 40)) + (not thin)
    X *= random.random(X.shape) < (0.3 if thin else 1.0)
    y = (X[:, :k] + random.gumbel(size=(60, k))).argmax(axis=1)
    problem = SparseLogisticProblem(y, np.full(60, 2.0), k, intercept, l1=0.9)
    gram = FeatureGram.of_rows(sparse.csr_array(X) if thin else X)
    budget = Budget(tol=1e-8, max_iter=100)
    by_hessian = ProximalNewton().solve(problem, gram, budget)
    by_columns = ProximalNewton(small_system=0, largest_system=0).solve(problem, gram, budget)
    assert by_hessian.status is by_columns.status is Status.OPTIMAL
    assert_allclose(by_columns.value.coef, by_hessian.value.coef, atol=1e-5)
    assert by_columns.certificate.relative_gap <= 1e-9


def test_columns_that_depend_on_each_other_are_solved():
    X, y = cases.heart()
    twice = np.hstack([X, X, X[:, :3] + X[:, 3:6], np.zeros((len(X), 2))])
    model, plain = (fit(part, y, C=5.0, l1_ratio=1.0) for part in (twice, X))
    assert model.certificate_.relative_gap <= 1e-8
    assert model.certificate_.primal <= plain.certificate_.primal * (1 + 1e-8)


def test_wide_data_that_a_plane_separates():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 600))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    for ratio in (1.0, 0.2):
        model = fit(X, y, C=100.0, l1_ratio=ratio)
        assert model.certificate_.relative_gap <= 1e-8
        assert model.score(X, y) == 1.0


def test_a_warm_start_needs_fewer_steps():
    X, y = cases.wine()
    model = LogisticRegression(solver="saga", l1_ratio=0.7, C=1.0, warm_start=True).fit(X, y)
    first, coef = model.n_iter_[0], model.coef_
    assert model.fit(X, y).n_iter_[0] == 0 < first
    assert_array_equal(model.coef_, coef)
    assert model.set_params(C=1.1).fit(X, y).n_iter_[0] < first


def test_the_old_names_of_penalties_warn_and_work():
    X, y = cases.heart()
    plain = fit(X, y, l1_ratio=1.0)
    with pytest.warns(FutureWarning, match="l1_ratio=1 instead of penalty='l1'"):
        old = fit(X, y, penalty="l1", l1_ratio=1.0)
    assert_array_equal(old.coef_, plain.coef_)
    with (
        pytest.warns(FutureWarning, match="deprecated"),
        pytest.raises(InvalidParameter, match="l1_ratio must be specified"),
    ):
        fit(X, y, penalty="elasticnet", l1_ratio=None)
    for solver, ratio in (("lbfgs", 1.0), ("liblinear", 0.5)):
        with pytest.raises(InvalidParameter, match="penalt"):
            LogisticRegression(solver=solver, l1_ratio=ratio).fit(X, y)
    with pytest.raises(InvalidParameter, match="dual=True"):
        LogisticRegression(solver="liblinear", l1_ratio=1.0, dual=True).fit(X, y)
    free = fit(X, y, l1_ratio=1.0, C=np.inf)
    assert "without penalty" in free.certificate_.problem


@pytest.mark.parametrize(
    ("solver", "words"),
    [
        ("lbfgs", "lbfgs failed to converge"),
        ("liblinear", "Liblinear failed to converge, increase the number of iterations."),
        ("newton-cg", "newton-cg failed to converge.* Increase the number of iterations."),
        ("newton-cholesky", "Newton solver did not converge after [0-9]* iterations"),
        ("saga", "The max_iter was reached which means the coef_ did not converge"),
    ],
)
def test_an_early_end_is_said_in_scikit_learns_words(solver, words):
    X, y = cases.heart()
    with pytest.warns(ConvergenceWarning, match=words):
        LogisticRegression(solver=solver, max_iter=1).fit(X, y)
    with pytest.warns(ConvergenceWarning, match=words):
        model = LogisticRegression(solver=solver, max_iter=0).fit(X, y)
    assert not model.coef_.any()
    assert not model.intercept_.any()
