"""Logistic regression against scikit-learn, closed forms and its own dual."""

import warnings

import numpy as np
import pytest
from scipy import optimize, sparse
from scipy.special import softmax
from sklearn import linear_model
from sklearn.callback.tests._utils import RecordingCallback
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from mercer import InvalidInput, InvalidParameter, LogisticRegression, certify
from mercer.gram.feature_gram import FeatureGram
from mercer.problems.logistic import LinearLogisticProblem
from mercer.solvers.base import Budget
from mercer.solvers.linear.logistic_newton import LinearLogisticNewton
from tests.estimators import cases


def reference(X, y, **options):
    return linear_model.LogisticRegression(
        solver="newton-cg", tol=1e-10, max_iter=10_000, **options
    ).fit(X, y)


DATA = {"heart": cases.heart, "iris": cases.iris, "wine": cases.wine, "digits": cases.digits}


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("name", ["heart", "iris", "wine"])
def test_it_agrees_with_scikit_learn(name, C, intercept):
    X, y = DATA[name]()
    model = LogisticRegression(C=C, fit_intercept=intercept, tol=1e-8).fit(X, y)
    theirs = reference(X, y, C=C, fit_intercept=intercept)
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    assert model.coef_.shape == theirs.coef_.shape
    assert model.intercept_.shape == theirs.intercept_.shape


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, np.float32])
@pytest.mark.parametrize("name", DATA)
def test_the_gap_is_small_at_the_default_tolerance(name, form):
    X, y = DATA[name]()
    model = LogisticRegression().fit(form(X), y)
    assert model.certificate_.status == "optimal"
    assert -1e-12 <= model.certificate_.relative_gap <= 1e-8
    assert model.certificate_.dual_feasibility <= 1e-9


def naive_values(X, y, W, b, C):
    """Return the primal value, and the dual value at the shares of the best biases, by SciPy."""
    K = W.shape[0]
    onehot = np.eye(K)[y]

    def losses(b):
        Z = X @ W.T + b
        return (np.logaddexp.reduce(Z, axis=1) - (Z * onehot).sum(axis=1)).sum()

    best = optimize.minimize(losses, b, tol=1e-12).x
    Z = X @ W.T + best
    P = np.exp(Z - np.logaddexp.reduce(Z, axis=1)[:, None])
    V = (C * (onehot - P)).T @ X
    entropy = -(P * np.log(P)).sum()
    return (W**2).sum() / 2 + C * losses(b), C * entropy - (V**2).sum() / 2


def test_the_certificate_is_true():
    X, y = cases.iris()
    for steps in (1, 2, 20):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = LogisticRegression(C=2.0, max_iter=steps).fit(X, y)
        primal, dual = naive_values(X, y, model.coef_, model.intercept_, 2.0)
        assert model.certificate_.primal == pytest.approx(primal, rel=1e-12)
        # No loss is below 0, which is a bound as well.
        assert model.certificate_.dual == pytest.approx(max(dual, 0.0), rel=1e-6)
    optimum = model.certificate_.primal
    # Wherever one stands, the optimum lies between the dual and the primal value.
    random = np.random.default_rng(0)
    for scale in (1e-3, 0.1, 1.0):
        model.coef_ = model.coef_ + scale * random.normal(size=model.coef_.shape)
        judged = certify(model, X, y)
        assert judged.dual <= optimum + 1e-9
        assert optimum <= judged.primal + 1e-9


@pytest.mark.parametrize("options", [{}, {"C": 0.1, "class_weight": "balanced"}, {"C": np.inf},
                                     {"solver": "liblinear"}], ids=repr)  # fmt: skip
def test_certify_judges_both_libraries(options):
    X, y = cases.two_classes()
    weights = np.random.default_rng(0).uniform(0, 2, size=len(y))
    weights[:5] = 0
    ours = LogisticRegression(**options).fit(X, y, weights)
    theirs = linear_model.LogisticRegression(tol=1e-6, **options).fit(X, y, weights)
    for model in (ours, theirs):
        judged = certify(model, X, y, weights)
        assert judged.status == ""
        # Without a penalty the dual value pays for the slopes that are left.
        assert judged.relative_gap <= (1e-4 if options.get("C") == np.inf else 1e-6)
        assert judged.primal == pytest.approx(ours.certificate_.primal, rel=1e-6)
    assert ours.certificate_.stationarity == pytest.approx(
        certify(ours, X, y, weights).stationarity, abs=1e-8
    )


def test_certify_refuses_what_it_cannot_judge():
    X, y = cases.two_classes()
    model = LogisticRegression().fit(X, y)
    with pytest.raises(InvalidInput, match="rows"):
        certify(model, X[:-1], y)
    with pytest.raises(InvalidInput, match="classes"):
        certify(model, X, y + 7)
    sparse_model = linear_model.LogisticRegression(l1_ratio=1, solver="liblinear").fit(X, y)
    sparse_model.l1_ratio, sparse_model.penalty = None, "elasticnet"
    with pytest.raises(InvalidParameter, match="l1_ratio must be specified"):
        certify(sparse_model, X, y)


@pytest.mark.parametrize("name", ["heart", "iris"])
def test_weights_are_copies(name):
    X, y = DATA[name]()
    counts = np.random.default_rng(0).integers(0, 3, size=len(y))
    weighted = LogisticRegression(tol=1e-9).fit(X, y, counts)
    copied = LogisticRegression(tol=1e-9).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.coef_, copied.coef_, atol=1e-7)


def test_without_a_penalty_the_slopes_vanish():
    X, y = cases.two_classes()
    model = LogisticRegression(C=np.inf, tol=1e-10).fit(X, y)
    errors = y - model.predict_proba(X)[:, 1]
    assert np.abs(X.T @ errors).max() < 1e-6
    assert abs(errors.sum()) < 1e-8
    assert model.certificate_.relative_gap == pytest.approx(0, abs=1e-9)
    assert model.certificate_.dual_feasibility < 1e-6


def test_separable_data_without_a_penalty_end():
    X, y = cases.separable()
    model = LogisticRegression(C=np.inf).fit(X, y)
    assert (model.predict(X) == y).all()
    assert model.certificate_.primal < 0.1


def test_two_equal_columns_share_their_weight():
    X, y = cases.two_classes()
    twice = LogisticRegression(tol=1e-10).fit(np.hstack([X, X]), y).coef_
    np.testing.assert_allclose(twice[:, : X.shape[1]], twice[:, X.shape[1] :], atol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_more_columns_than_rows(classes):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(30, 2_000)), np.arange(30) % classes
    model = LogisticRegression(tol=1e-8).fit(X, y)
    # The dual has as many unknowns as rows: weights are combinations of rows.
    assert model.certificate_.relative_gap <= 1e-8
    theirs = reference(X, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-6)


@pytest.mark.parametrize("classes", [2, 4])
def test_conjugate_gradients_and_factorisation_agree(classes):
    random = np.random.default_rng(1)
    X = random.normal(size=(300, 12)) * 10.0 ** random.integers(-2, 3, size=12) + 5
    y = random.integers(0, classes, size=300)
    direct = LogisticRegression(tol=1e-9).fit(X, y)
    iterative = LinearLogisticNewton(largest_system=0).solve(
        LinearLogisticProblem(y, np.ones(300), classes),
        FeatureGram.of_rows(X),
        Budget(1e-9, max_iter=100),
    )
    scores = X @ iterative.value.coef + iterative.value.bias
    shares = softmax(np.hstack([0 * scores, scores]) if classes == 2 else scores, axis=1)
    np.testing.assert_allclose(shares, direct.predict_proba(X), rtol=1e-5, atol=1e-7)
    assert iterative.certificate.relative_gap < 1e-10


def test_a_class_without_weight_has_no_share():
    X, y = cases.iris()
    model = LogisticRegression().fit(X, y, (y < 2).astype(float))
    assert model.predict_proba(X)[:, 2].max() < 1e-6
    two = LogisticRegression(C=2.0, tol=1e-8).fit(X[y < 2], y[y < 2])
    joint = LogisticRegression(tol=1e-8).fit(X, y, (y < 2).astype(float))
    # ½‖w‖² of one function is twice the penalty of two opposite halves of it.
    np.testing.assert_allclose(joint.coef_[1] - joint.coef_[0], two.coef_[0], atol=1e-3)


def test_warm_starts_and_limits():
    X, y = cases.wine()
    model = LogisticRegression(warm_start=True).fit(X, y)
    again = model.fit(X, y)
    assert again.n_iter_[0] <= 1
    with pytest.warns(ConvergenceWarning, match="failed to converge.*max_iter"):
        LogisticRegression(max_iter=1).fit(X, y)


def test_bad_input():
    X, y = cases.two_classes()
    with pytest.raises(InvalidInput, match="one class"):
        LogisticRegression().fit(X, np.zeros(len(y)))
    with pytest.raises(InvalidInput, match=r"0 or more.*row 3"):
        LogisticRegression().fit(X, y, np.where(np.arange(len(y)) == 3, -1.0, 1.0))
    with pytest.raises(ValueError, match="at least one non-zero"):
        LogisticRegression().fit(X, y, np.zeros(len(y)))
    with pytest.raises(InvalidParameter, match="supports only 'l2' or None penalties"):
        LogisticRegression(l1_ratio=1).fit(X, y)
    with pytest.raises(InvalidParameter, match="multiclass"):
        LogisticRegression(solver="liblinear").fit(*cases.iris())
    with pytest.raises(InvalidInput, match="choose another solver or rescale"):
        LogisticRegression(solver="liblinear").fit(1e32 * X, y)
    with pytest.raises(ValueError, match="'C' parameter"):
        LogisticRegression(C=-1.0).fit(X, y)
    constant = LogisticRegression().fit(np.ones((20, 2)), np.arange(20) % 2)
    np.testing.assert_allclose(constant.predict_proba(np.ones((1, 2))), 0.5)


@pytest.mark.parametrize(
    "options", [{}, {"fit_intercept": False}, {"solver": "liblinear"}], ids=str
)
def test_more_columns_than_rows_are_solved_by_rows(options):
    random = np.random.default_rng(0)
    X = random.normal(size=(30, 90))
    y = (X[:, 0] + random.normal(size=30) > 0).astype(int)
    wide = LogisticRegression(tol=1e-8, **options).fit(X, y)
    # Sparse data are solved by columns.
    other = LogisticRegression(tol=1e-8, **options).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(wide.coef_, other.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(wide.intercept_, other.intercept_, rtol=1e-6, atol=1e-9)
    assert wide.certificate_.relative_gap <= 1e-8


@pytest.mark.parametrize("solver", ["liblinear", "sag", "saga", "lbfgs", "newton-cg"])
def test_long_indices_of_sparse_rows_are_for_the_solvers_that_take_them(solver):
    X, y = cases.two_classes()
    long = sparse.csr_array(X)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    if solver in ("lbfgs", "newton-cg"):
        short = LogisticRegression(solver=solver).fit(sparse.csr_array(X), y)
        found = LogisticRegression(solver=solver).fit(long, y)
        np.testing.assert_allclose(found.coef_, short.coef_, rtol=1e-12)
        return
    with pytest.raises(ValueError, match="32-bit integer indices"):
        LogisticRegression(solver=solver).fit(long, y)


def test_callbacks_hear_of_every_step(capfd):
    X, y = cases.iris()
    heard = RecordingCallback()
    model = LogisticRegression().set_callbacks(heard).fit(X, y)
    # The fit, its steps, and the point that they end at, as with scikit-learn's L-BFGS.
    for hook in ("on_fit_task_begin", "on_fit_task_end"):
        assert heard.count_hooks(hook) == 1 + model.n_iter_[0] + 1
    assert heard.count_hooks("teardown") == 1
    LogisticRegression(verbose=1).fit(X, y)
    assert "LogisticRegression" in capfd.readouterr().err


def test_few_sparse_rows_have_the_answer_of_dense_ones():
    """To the last digit: ensembles and searches that are given one or the other agree."""
    X, y = load_iris(return_X_y=True)
    dense = LogisticRegression(max_iter=1000).fit(X, y)
    few = LogisticRegression(max_iter=1000).fit(sparse.csr_matrix(X), y)
    np.testing.assert_array_equal(few.coef_, dense.coef_)
    np.testing.assert_array_equal(few.intercept_, dense.intercept_)
