import warnings

import numpy as np
import pytest
import sklearn.svm
from scipy import optimize, sparse
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning

from mercer import LinearSVC, LinearSVR
from mercer.gram.feature_gram import FeatureGram
from mercer.problems.certificate import Certificate
from mercer.problems.linear import LinearAnswer, classifier, regressor
from mercer.solvers.base import Budget
from mercer.solvers.linear.coordinate import (
    DescentThenNewton,
    DigitsThenNewton,
    DualDescent,
    linear_solver,
)
from mercer.solvers.linear.linear_newton import LinearNewton
from tests.estimators import cases

LOSSES = ["hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive"]
METHODS = {
    "newton": LinearNewton,
    "descent": DualDescent,
    "both": DescentThenNewton,
    "digits": DigitsThenNewton,
}


def machine(loss, **parameters):
    cls = LinearSVR if "epsilon" in loss else LinearSVC
    return cls(loss=loss, **parameters)


def data(seed, rows=None, columns=None):
    rng = np.random.default_rng(seed)
    n = rows or int(rng.integers(5, 80))
    d = columns or int(rng.integers(1, 12))
    X = rng.normal(size=(n, d))
    value = X @ rng.normal(size=d) + 0.5 + rng.normal(size=n) * rng.choice([0.1, 1.0, 5.0])
    signs = np.where(value > 0, 1.0, -1.0)
    signs[:2] = -1, 1
    C = 10 ** rng.uniform(-2, 0.5) * rng.exponential(size=n)
    return X, value, signs, C


def problem_of(loss, value, signs, C, epsilon=0.2, constant=0.0):
    squared = loss.startswith("squared")
    if "epsilon" in loss:
        return regressor(value, C, epsilon, squared, constant)
    return classifier(signs, C, squared, constant)


def objective(loss, X, y, C, w, b, scaling=1.0, epsilon=0.2):
    """The primal value, written as in the textbook."""
    f = X @ w + b
    excess = np.abs(y - f) - epsilon if "epsilon" in loss else 1 - y * f
    excess = np.maximum(0, excess)
    losses = excess**2 if loss.startswith("squared") else excess
    return (w @ w + (b / scaling) ** 2) / 2 + C @ losses


def optimum(loss, X, y, C, scaling=1.0, epsilon=0.2):
    """The best value, from SciPy: of the primal where it is smooth, else of the dual in α ≥ 0."""
    if loss.startswith("squared"):

        def primal(v):
            return objective(loss, X, y, C, v[:-1], scaling * v[-1], scaling, epsilon)

        return optimize.minimize(primal, np.zeros(X.shape[1] + 1), tol=1e-10).fun
    rows = np.column_stack([X, np.full(len(X), scaling)])
    if "epsilon" in loss:
        A = np.vstack([rows, -rows])
        p, C = np.concatenate([y - epsilon, -y - epsilon]), np.tile(C, 2)
    else:
        A, p = rows * y[:, None], np.ones(len(X))

    def negative_dual(alpha):
        w = alpha @ A
        return w @ w / 2 - p @ alpha, A @ w - p

    found = optimize.minimize(
        negative_dual,
        np.zeros(len(C)),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, c) for c in C],
        options={"maxiter": 100_000, "maxfun": 1_000_000, "ftol": 1e-15, "gtol": 1e-9},
    )
    return -found.fun


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("loss", LOSSES)
def test_optimum_agrees_with_scipy(loss, seed):
    X, value, signs, C = data(seed)
    y = value if "epsilon" in loss else signs
    extra = {"epsilon": 0.2} if "epsilon" in loss else {}
    model = machine(loss, intercept_scaling=2.0, **extra).fit(X, y, sample_weight=C)
    w, b = model.coef_.ravel(), float(model.intercept_[0])
    primal = objective(loss, X, y, C, w, b, scaling=2.0)
    certificate = model.certificate_
    assert primal == pytest.approx(certificate.primal, rel=1e-10)
    assert certificate.relative_gap < 1e-6
    assert optimum(loss, X, y, C, scaling=2.0) == pytest.approx(primal, rel=1e-5)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("loss", LOSSES)
def test_both_methods_close_the_gap(loss, layout, method, seed):
    X, value, signs, C = data(100 + seed)
    C = C / C.mean() + 0.01
    gram = FeatureGram.of_rows(layout(X))
    problem = problem_of(loss, value, signs, C, constant=seed % 2)
    method = METHODS[method](seed)
    found = method.solve(problem, gram, Budget(tol=1e-6, max_iter=200_000))
    certificate = problem.certify(found.value, gram)
    assert found.status == "optimal"
    assert certificate.stationarity < 2e-6
    assert abs(certificate.relative_gap) < 1e-5
    assert certificate.dual_feasibility == 0


@pytest.mark.parametrize("loss", LOSSES)
def test_certificate_is_the_textbooks_and_sees_corruption(loss):
    X, value, signs, C = data(3, rows=40, columns=4)
    gram, problem = FeatureGram.of_rows(X), problem_of(loss, value, signs, C, constant=1.0)
    method = linear_solver(problem, gram, 0)
    w, beta = method.solve(problem, gram, Budget(tol=1e-8, max_iter=1000)).value
    y = value if "epsilon" in loss else signs
    good = problem.certify(LinearAnswer(w, beta), gram)
    assert good.primal == pytest.approx(objective(loss, X, y, C, w[:-1], w[-1]))
    assert good.gap < 1e-8 * good.primal
    np.testing.assert_allclose(problem.rows(gram).combine(beta), w, atol=1e-7)
    rng = np.random.default_rng(0)
    for _ in range(20):
        worse = np.clip(beta + 0.1 * C * rng.normal(size=len(C)), problem.lo, problem.hi)
        assert problem.certify(LinearAnswer(w, worse), gram).gap > good.gap
        moved = LinearAnswer(w + 0.1 * rng.normal(size=len(w)), beta)
        assert problem.certify(moved, gram).gap > good.gap


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(),
        LinearSVC(loss="hinge"),
        LinearSVC(penalty="l1", tol=1e-9, max_iter=100_000),
        LinearSVC(multi_class="crammer_singer", tol=1e-9, max_iter=100_000),
        LinearSVR(epsilon=0.1),
        LinearSVR(loss="squared_epsilon_insensitive"),
    ],
    ids=str,
)
def test_weight_is_repetition_and_sparse_is_dense(model):
    X, value, signs, _ = data(5, rows=50, columns=4)
    y = value if isinstance(model, LinearSVR) else signs
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = model.fit(X, y, sample_weight=weights)
    w, b = weighted.coef_, weighted.intercept_
    repeated = model.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(w, repeated.coef_, atol=1e-6)
    np.testing.assert_allclose(b, repeated.intercept_, atol=1e-6)
    thin = model.fit(sparse.csr_matrix(X), y, sample_weight=weights)
    np.testing.assert_allclose(w, thin.coef_, atol=1e-6)


def test_start_from_a_sample_and_iterative_systems_change_nothing():
    X, value, signs, _ = data(7, rows=2000, columns=6)
    direct = LinearSVC(loss="hinge").fit(X, signs)
    problem = problem_of("hinge", value, signs, np.ones(2000), constant=1.0)
    for largest in (2000, 3):
        method = LinearNewton(0, least_sample=50, largest_system=largest)
        found = method.solve(problem, FeatureGram.of_rows(X), Budget(direct.tol))
        assert found.certificate.relative_gap < 1e-6
        np.testing.assert_allclose(found.value.w[None, :-1], direct.coef_, atol=1e-4)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 3.0}])
def test_several_classes_as_scikit_learn(loss, class_weight):
    X, y = load_iris(return_X_y=True)
    settings = {"loss": loss, "class_weight": class_weight, "random_state": 0}
    ours = LinearSVC(**settings).fit(X, y)
    theirs = sklearn.svm.LinearSVC(**settings, dual=True, tol=1e-8, max_iter=1_000_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert len(ours.certificates_) == 3
    assert ours.certificate_ == Certificate.total(ours.certificates_)
    assert max(c.relative_gap for c in ours.certificates_) < 1e-6
    np.testing.assert_allclose(ours.dual_coef_ @ X, ours.coef_, atol=1e-4)


def test_crammer_singer_as_scikit_learn():
    X, y = load_iris(return_X_y=True)
    settings = {"multi_class": "crammer_singer", "tol": 1e-7, "max_iter": 1_000_000}
    ours = LinearSVC(**settings, random_state=0).fit(X, y)
    theirs = sklearn.svm.LinearSVC(**settings, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    assert ours.certificate_.relative_gap < 1e-6
    assert ours.certificate_.stationarity < 1e-6
    assert ours.certificate_.dual_feasibility < 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_l1_penalty_as_scikit_learn(seed):
    X, y = make_classification(100, 15, random_state=seed)
    settings = {"penalty": "l1", "dual": False, "tol": 1e-8, "max_iter": 1_000_000, "C": 0.1}
    ours = LinearSVC(**settings, random_state=0).fit(X, y)
    theirs = sklearn.svm.LinearSVC(**settings, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert (ours.coef_ == 0).any()
    assert ours.certificate_.relative_gap < 1e-5
    assert ours.certificate_.dual_feasibility < 1e-9


def degenerate():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    yield "constant column", np.column_stack([X, np.ones(30)])
    yield "column of zeros", np.column_stack([X, np.zeros(30)])
    yield "all equal", np.ones((30, 3))
    yield "all zero", np.zeros((30, 3))
    yield "unscaled", X * [1e6, 1.0, 1e-6]
    yield "duplicates", np.repeat(X[:3], 10, axis=0)
    yield "one column twice", X[:, [0, 0]]


@pytest.mark.parametrize("C", [1e-10, 1.0, 1e10])
@pytest.mark.parametrize(("name", "X"), list(degenerate()))
@pytest.mark.parametrize("loss", LOSSES)
def test_degenerate_data_end_with_an_answer(loss, name, X, C):
    y = np.where(np.arange(30) == 0, 1.0, -1.0)  # one point in a class
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = machine(loss, C=C).fit(X, y)
    assert np.isfinite(model.coef_).all()
    certificate = model.certificate_
    assert certificate.gap >= -1e-6 * max(abs(certificate.primal), 1e-300)
    if C <= 1:
        assert certificate.status == "optimal"


def test_stopping_early_warns_with_the_gap():
    X, _, signs, _ = data(9, rows=200, columns=10)
    with pytest.warns(ConvergenceWarning, match="relative gap is"):
        model = LinearSVC(loss="hinge", max_iter=2).fit(X, signs)
    assert model.n_iter_ == 2
    assert model.certificate_.status == "max_iter"
    assert model.certificate_.gap > 0
    with pytest.warns(ConvergenceWarning, match="increase the number of iterations"):
        LinearSVC(max_iter=0).fit(X, signs)


def test_wrong_use_has_clear_errors():
    X, _, signs, _ = data(9, rows=20, columns=3)
    for parameters in ({"penalty": "l1", "loss": "hinge"}, {"loss": "hinge", "dual": False}):
        with pytest.raises(ValueError, match="Unsupported set of arguments"):
            LinearSVC(**parameters).fit(X, signs)
    with pytest.raises(ValueError, match="only one class"):
        LinearSVC().fit(X, np.ones(20))
    with pytest.raises(ValueError, match="NaN"):
        LinearSVC().fit(np.full((20, 3), np.nan), signs)
    with pytest.raises(ValueError, match="positive weight"):
        LinearSVR().fit(X, signs, sample_weight=np.full(20, -1.0))
    with pytest.raises(ValueError, match="epsilon"):
        LinearSVR(epsilon=-1.0).fit(X, signs)


def test_threads_do_not_change_the_answer(monkeypatch):
    X, y = load_iris(return_X_y=True)
    monkeypatch.setenv("MERCER_THREADS", "1")
    alone = LinearSVC(loss="hinge", random_state=0).fit(X, y)
    monkeypatch.setenv("MERCER_THREADS", "8")
    together = LinearSVC(loss="hinge", random_state=0).fit(X, y)
    np.testing.assert_allclose(alone.coef_, together.coef_, atol=1e-6)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("C", [1e-6, 1e-9, 1e-14, 1e-20])
def test_a_tiny_C_gives_the_weights_of_the_first_slopes(C, squared):
    # For C → 0 no loss changes with the weights any more: w = C Σ φ′(pᵢ) x̃ᵢ.
    X, y = cases.two_classes()
    ones = np.column_stack([X, np.ones(len(X))])
    signs = np.where(y > 0, 1.0, -1.0)
    model = LinearSVC(C=C, loss="squared_hinge" if squared else "hinge").fit(X, y)
    slopes = (2.0 if squared else 1.0) * signs
    found = np.append(model.coef_, model.intercept_)
    np.testing.assert_allclose(found, C * (slopes @ ones), rtol=2e-3)
    assert model.n_iter_ >= 1
    targets = 3 * X[:, 0] + 2
    loss = f"{'squared_' if squared else ''}epsilon_insensitive"
    model = LinearSVR(C=C, loss=loss, epsilon=0.1).fit(X, targets)
    excess = np.sign(targets) * np.maximum(np.abs(targets) - 0.1, 0)
    slopes = 2 * excess if squared else np.sign(excess)
    found = np.append(model.coef_, model.intercept_)
    np.testing.assert_allclose(found, C * (slopes @ ones), rtol=2e-2)
    assert model.certificate_.relative_gap <= 1e-10


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_wide_data_whose_multipliers_end_far_inside_the_box(C):
    random = np.random.default_rng(1)
    X = random.normal(size=(200, 2_000))
    y = X[:, 0] + 0.5 * random.normal(size=200) > 0
    model = LinearSVC(C=C, loss="hinge").fit(X, y)
    assert model.certificate_.status == "optimal"
    assert model.certificate_.relative_gap <= 1e-8
    assert model.n_iter_ <= 100
    theirs = sklearn.svm.LinearSVC(C=C, loss="hinge", tol=1e-9, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-6)


@pytest.mark.parametrize("C", [0.1, 100.0])
@pytest.mark.parametrize("shape", [(700, 260), (260, 700)])
def test_sparse_systems_without_a_factor_give_the_answer_of_dense_ones(shape, C):
    """Large enough for conjugate gradients, which a large C makes too slow to be the only way."""
    random = np.random.default_rng(0)
    X = random.normal(size=shape) * (random.random(shape) < 0.03)
    signs = np.where(
        X @ random.normal(size=shape[1]) + 0.3 * random.normal(size=shape[0]) > 0, 1, -1
    )
    for loss in ("squared_hinge", "hinge"):
        dense = LinearSVC(C=C, loss=loss, tol=1e-6, random_state=0).fit(X, signs)
        thin = LinearSVC(C=C, loss=loss, tol=1e-6, random_state=0).fit(sparse.csr_matrix(X), signs)
        assert thin.certificate_.relative_gap <= 1e-6
        assert thin.certificate_.primal == pytest.approx(dense.certificate_.primal, rel=2e-6)
        np.testing.assert_allclose(thin.coef_, dense.coef_, atol=1e-3 * np.abs(dense.coef_).max())


@pytest.mark.parametrize("loss", LOSSES[2:])
@pytest.mark.parametrize("rows", [5, 300, 6000])
def test_the_least_price_of_errors_still_gives_the_right_weights(loss, rows):
    """As C → 0 no error shrinks, and w = C Σ ℓ′(yᵢ)xᵢ: the gap does not see it, the weights do."""
    rng = np.random.default_rng(rows)
    X, y = rng.normal(size=(rows, 4)), rng.normal(size=rows) + 3
    for C in (1e-8 / rows, 1e-12 / rows):
        model = LinearSVR(C=C, loss=loss, epsilon=0.01).fit(X, y)
        beyond = np.sign(y) * np.maximum(np.abs(y) - 0.01, 0)
        slopes = np.sign(beyond) if loss == "epsilon_insensitive" else 2 * beyond
        np.testing.assert_allclose(model.coef_, C * X.T @ slopes, rtol=0, atol=2e-4 * C * rows)
        np.testing.assert_allclose(model.intercept_, C * slopes.sum(), rtol=2e-4)


def test_seeds_that_numpy_refuses_are_refused():
    X, y = np.eye(4), [0, 1, 0, 1]
    for seed in (-1, 2**32):
        with pytest.raises(ValueError):  # noqa: PT011
            LinearSVC(loss="hinge", random_state=seed).fit(X, y)
    LinearSVC(loss="hinge", random_state=2**32 - 1).fit(X, y)
