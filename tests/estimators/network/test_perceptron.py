"""Perceptrons: the rule, the bound on mistakes, scikit-learn's answers, any data."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import sparse
from scipy.optimize import linprog
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from mercer import (
    RBF,
    SVC,
    Adaline,
    InvalidInput,
    KernelPerceptron,
    Linear,
    Perceptron,
    Polynomial,
    Spectrum,
    load,
    save,
)
from mercer.estimators.network.perceptron import separation
from tests.estimators.cases import digits, heart, iris, separable, wine

# ---- scikit-learn's answers --------------------------------------------------------------------

OPTIONS = [
    {},
    {"shuffle": False},
    {"fit_intercept": False, "eta0": 0.3},
    {"random_state": 7, "max_iter": 3, "tol": None},
    {"penalty": "l2", "alpha": 1e-3},
    # scikit-learn stops by an L1 norm from before the weights were cut off.
    {"penalty": "l1", "alpha": 1e-3, "tol": None, "max_iter": 7},
    {"penalty": "elasticnet", "alpha": 1e-2, "l1_ratio": 0.4, "tol": None, "max_iter": 7},
    {"class_weight": "balanced"},
    {"class_weight": {0: 3.0, 1: 0.5}},
    {"early_stopping": True, "random_state": 3},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("data", [heart, iris, digits, wine])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_same_weights_as_scikit_learn(data, options):
    X, y = data()
    y = np.unique(y, return_inverse=True)[1]
    weights = 1 + np.arange(len(y)) % 3
    for sample_weight in (None, weights):
        one = Perceptron(**options).fit(X, y, sample_weight=sample_weight)
        two = linear_model.Perceptron(**options).fit(X, y, sample_weight=sample_weight)
        np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(one.intercept_, two.intercept_, rtol=1e-9, atol=1e-9)
        # Ours may end earlier: when all rows are right, nothing changes any more.
        assert one.n_iter_ <= two.n_iter_


def test_partial_fit_and_warm_start_as_in_scikit_learn():
    X, y = wine()
    one, two = Perceptron(), linear_model.Perceptron()
    for part in (slice(0, 60), slice(60, 178), slice(10, 90)):
        one.partial_fit(X[part], y[part], classes=[0, 1, 2])
        two.partial_fit(X[part], y[part], classes=[0, 1, 2])
        np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-9)
        assert one.t_ == two.t_
    options = {"warm_start": True, "max_iter": 2, "tol": None}
    one, two = Perceptron(**options), linear_model.Perceptron(**options)
    for _ in range(2):
        np.testing.assert_allclose(one.fit(X, y).coef_, two.fit(X, y).coef_, rtol=1e-9)
    start = {"coef_init": np.ones((3, 13)), "intercept_init": np.ones(3)}
    np.testing.assert_allclose(
        Perceptron().fit(X, y, **start).coef_, linear_model.Perceptron().fit(X, y, **start).coef_
    )


def test_mistakes_of_partial_fits_add_up():
    X, y = wine()
    machine = Perceptron().partial_fit(X, y, classes=[0, 1, 2])
    first = machine.mistakes_
    machine.partial_fit(X[::-1], y[::-1])
    assert (machine.mistakes_ > first).any()
    again = machine.fit(X, y).mistakes_
    np.testing.assert_array_equal(again, Perceptron().fit(X, y).mistakes_)


@pytest.mark.filterwarnings("ignore:.*rows still wrong:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("machine", [Perceptron(), Perceptron(penalty="l2"), Adaline()], ids=str)
def test_sparse_and_dense_rows_give_the_same_machine(machine):
    X, y = digits()
    dense = machine.fit(X, y)
    coef, intercept = dense.coef_, dense.intercept_
    thin = machine.fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.coef_, coef, atol=1e-10)
    np.testing.assert_allclose(thin.intercept_, intercept, atol=1e-10)
    np.testing.assert_array_equal(thin.predict(sparse.csr_array(X)), dense.predict(X))
    thinner = thin.sparsify().predict(sparse.csr_array(X))
    np.testing.assert_array_equal(thinner, dense.predict(X))


# ---- the bound on mistakes ---------------------------------------------------------------------


def cloud(seed, n, d, gap):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) * 10 ** random.uniform(-1, 1)
    w, b = random.normal(size=d), random.normal()
    values = X @ w + b
    y = np.where(values > 0, 1, 0)
    if len(set(y)) < 2:
        y[np.argmax(values)], y[np.argmin(values)] = 1, 0
        X[y == 1] += 10 * w / (w @ w)
    X += np.outer(np.where(y == 1, gap, -gap), w) / np.linalg.norm(w)
    return X, y


def separable_by_a_program(X, y, intercept):
    """Whether yᵢ(w·xᵢ + b) ≥ 1 has a solution, by a linear program."""
    Z = np.column_stack([X, np.ones(len(X))]) if intercept else X
    signs = np.where(y == 1, 1.0, -1.0)
    unit = Z / np.linalg.norm(Z, axis=0)
    found = linprog(
        np.zeros(Z.shape[1]), -signs[:, None] * unit, -np.ones(len(Z)), bounds=(None, None)
    )
    return found.status == 0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 80),
    d=st.integers(1, 6),
    gap=st.sampled_from([0.05, 0.5, 3.0]),
    intercept=st.booleans(),
)
def test_no_perceptron_makes_more_mistakes_than_the_bound(seed, n, d, gap, intercept):
    X, y = cloud(seed, n, d, gap)
    options = {"fit_intercept": intercept, "tol": None, "max_iter": 3000, "random_state": seed}
    linear = Perceptron(**options).fit(X, y)
    kernel = KernelPerceptron(Linear(), **options).fit(X, y) if n < 40 else None
    for machine in (linear, kernel):
        if machine is None or not np.isfinite(machine.mistake_bound_[0]):
            continue
        assert machine.score(X, y) == 1 or machine.status_ == "max_iter"
        assert separable_by_a_program(X, y, intercept)
        assert machine.mistakes_[0] <= machine.mistake_bound_[0] * (1 + 1e-9)
    if intercept and linear.score(X, y) == 1:
        assert np.isfinite(linear.mistake_bound_[0])
        # The widest separator of (x, 1) has no larger bound than the widest one of x.
        hard = SVC(Linear(), C=np.inf, tol=1e-10).fit(X, y)
        w, b = hard.coef_[0], hard.intercept_[0]
        rho = (np.where(y == 1, 1, -1) * (X @ w + b)).min() / np.linalg.norm(w)
        bias = b / np.linalg.norm(w)
        textbook = (1 + bias**2) * (1 + (X**2).sum(axis=1).max()) / rho**2
        assert linear.mistake_bound_[0] <= textbook * (1 + 1e-4)


def test_the_margin_is_the_widest():
    X, y = separable()
    signs = np.where(y == 1, 1.0, -1.0)
    machine = Perceptron().fit(X, y)
    found = separation(X, signs, machine.coef_[0], machine.intercept_[0], True)
    assert found.margin == pytest.approx(found.widest, rel=1e-5)
    assert machine.mistake_bound_[0] == pytest.approx((found.radius / found.margin) ** 2)
    # Another road to it: the hard margin between the rows z and −z, whose bias is zero.
    Z = signs[:, None] * np.column_stack([X, np.ones(len(X))])
    hard = SVC(Linear(), C=np.inf, tol=1e-10).fit(np.vstack([Z, -Z]), np.repeat([1, 0], len(Z)))
    assert 1 / np.linalg.norm(hard.coef_) == pytest.approx(found.margin, rel=1e-5)


def test_a_sharp_hard_margin_is_found_wherever_a_perceptron_finds_one():
    X, y = cloud(7, 79, 4, 0.05)
    assert Perceptron(tol=None, max_iter=3000).fit(X, y).score(X, y) == 1
    assert SVC(Linear(), C=np.inf, tol=1e-10).fit(X, y).score(X, y) == 1


def test_many_rows_and_columns():
    random = np.random.default_rng(0)
    X = random.normal(size=(20_000, 50))
    w = random.normal(size=50)
    values = X @ w
    X, y = X[np.abs(values) > 2], values[np.abs(values) > 2] > 0
    machine = Perceptron(tol=None).fit(X, y)
    assert machine.score(X, y) == 1
    assert machine.mistakes_[0] <= machine.mistake_bound_[0]


def test_the_bound_is_made_when_it_is_read(tmp_path):
    X, y = separable()
    machine = Perceptron().fit(X, y)
    assert "mistake_bound_" not in vars(machine)
    bound = machine.mistake_bound_
    assert np.isfinite(bound).all()
    assert not any(part is X for part in vars(machine).values())
    # Copies and files are made of machines that know theirs, and hold no rows.
    fresh = Perceptron().fit(X, y)
    save(fresh, tmp_path / "model.mercer")
    for again in (
        pickle.loads(pickle.dumps(Perceptron().fit(X, y))),
        load(tmp_path / "model.mercer"),
    ):
        assert "_training" not in vars(again)
        np.testing.assert_array_equal(again.mistake_bound_, bound)
    # A later fit, or a part of one, has a bound of its own.
    np.testing.assert_array_equal(machine.fit(2 * X, y).mistake_bound_ == bound, False)
    assert np.isinf(machine.partial_fit(X, y).mistake_bound_).all()
    with pytest.raises(NotFittedError, match="not fitted"):
        _ = Perceptron().mistake_bound_


def test_there_is_no_bound_where_there_is_no_separator():
    X, y = heart()
    overlapping = Perceptron().fit(X, y)
    assert np.isinf(overlapping.mistake_bound_[0])
    X, y = separable()
    for options in ({"penalty": "l2"}, {"class_weight": "balanced"}, {"early_stopping": True}):
        assert np.isinf(Perceptron(**options).fit(X, y).mistake_bound_[0])
    assert np.isinf(Perceptron().fit(X, y, sample_weight=np.arange(len(y)) + 1).mistake_bound_[0])
    assert np.isfinite(Perceptron().fit(X, y).mistake_bound_[0])


def test_an_end_before_all_rows_are_right_is_said():
    random = np.random.default_rng(2)
    X = random.normal(size=(300, 5))
    values = X @ random.normal(size=5)
    X, y = X[np.abs(values) > 0.05], values[np.abs(values) > 0.05] > 0
    assert separable_by_a_program(X, y, True)
    with pytest.warns(ConvergenceWarning, match=r"rows still wrong.*tol=None") as caught:
        early = Perceptron().fit(X, y)
    assert len(caught) == 1
    assert early.score(X, y) < 1
    assert early.status_ == "stalled"
    # There is a separator, so there is a bound, and the mistakes so far keep it.
    assert early.mistakes_[0] <= early.mistake_bound_[0] < np.inf
    assert early.criterion(X, y) > 0
    # The remedy is one, and the weights are still those of scikit-learn.
    whole = Perceptron(tol=None, max_iter=5000).fit(X, y)
    assert (whole.score(X, y), whole.status_, whole.criterion(X, y)) == (1.0, "optimal", 0.0)
    assert whole.mistake_bound_[0] == pytest.approx(early.mistake_bound_[0], rel=1e-4)
    theirs = linear_model.Perceptron().fit(X, y)
    np.testing.assert_array_equal(early.coef_, theirs.coef_)
    with pytest.warns(ConvergenceWarning, match="tol=None"):
        kernel = KernelPerceptron(Linear()).fit(X, y)
    assert kernel.status_ == "stalled"
    assert KernelPerceptron(Linear(), tol=None, max_iter=5000).fit(X, y).status_ == "optimal"


@pytest.mark.parametrize("make", [Perceptron, lambda: KernelPerceptron(Linear())])
def test_the_criterion_by_hand(make):
    X, y = wine()
    machine = make().fit(X, y)
    F = machine.decision_function(X)
    total = 0.0
    for f, label in zip(F, y, strict=True):
        for c, value in zip(machine.classes_, f, strict=True):
            sign = 1.0 if label == c else -1.0
            if sign * value < 0:
                total -= sign * value
    assert machine.criterion(X, y) == pytest.approx(total)
    with pytest.raises(InvalidInput, match="never saw"):
        machine.criterion(X[:1], ["another"])
    X, y = separable()
    two = make().fit(X, y)
    signs = np.where(y == two.classes_[1], 1.0, -1.0)
    noisy = -X
    expected = np.maximum(0, -signs * two.decision_function(noisy)).sum()
    assert two.criterion(noisy, y) == pytest.approx(expected)


def test_it_ends_when_all_rows_are_right():
    X, y = separable()
    machine = Perceptron(tol=None, max_iter=1000).fit(X, y)
    assert machine.score(X, y) == 1
    assert machine.n_iter_ < 50


# ---- Adaline -----------------------------------------------------------------------------------


def test_adaline_comes_near_to_least_squares():
    X, y = heart()
    targets = np.where(y == np.unique(y)[1], 1.0, -1.0)
    A = np.column_stack([X, np.ones(len(X))])
    best = np.linalg.lstsq(A, targets)[0]
    far = []
    for eta in (3e-2, 1e-2, 1e-3):
        machine = Adaline(eta0=eta, tol=None, max_iter=int(8 / eta)).fit(X, y)
        w = np.r_[machine.coef_[0], machine.intercept_]
        far.append(np.linalg.norm(w - best) / np.linalg.norm(best))
        assert len(machine.loss_curve_) == machine.n_iter_
    assert far[0] > far[1] > far[2]
    assert far[2] < 0.05


def test_adalines_rule_by_hand():
    X, y = separable()
    machine = Adaline(eta0=0.01, shuffle=False, max_iter=2, tol=None).fit(X, y)
    w, b = np.zeros(2), 0.0
    for _ in range(2):
        for x, sign in zip(X, np.where(y == 1, 1, -1), strict=True):
            error = sign - w @ x - b
            w, b = w + 0.01 * error * x, b + 0.01 * error
    np.testing.assert_allclose(machine.coef_[0], w)
    np.testing.assert_allclose(machine.intercept_, b)


def test_the_automatic_step_never_overshoots():
    X, y = heart()
    for scale in (1e-3, 1.0, 1e4):
        machine = Adaline().fit(X * scale, y)
        assert machine.eta_ <= 0.1 / (np.square(X * scale).sum(axis=1).max() + 1) * (1 + 1e-9)
        assert machine.loss_curve_[-1] <= 0.5 * 1.1  # weights of zero have a loss of ½
    assert Adaline().fit(X, y).score(X, y) > 0.8
    with pytest.raises(InvalidInput, match="eta0"):
        Adaline(eta0=100.0).fit(X, y)


# ---- kernels -----------------------------------------------------------------------------------


def test_a_linear_kernel_is_the_perceptron():
    for data in (heart, iris):
        X, y = data()
        options = {"shuffle": False, "max_iter": 5, "tol": None}
        with pytest.warns(ConvergenceWarning):
            plain = Perceptron(**options).set_params(tol=0.0, n_iter_no_change=9).fit(X, y)
        with pytest.warns(ConvergenceWarning):
            kernel = KernelPerceptron(Linear(), **options).fit(X, y)
        np.testing.assert_allclose(kernel.decision_function(X), plain.decision_function(X))
        np.testing.assert_array_equal(kernel.mistakes_, plain.mistakes_)


def test_the_function_by_hand():
    X, y = iris()
    X, y = X[y > 0], y[y > 0]
    signs = np.where(y == 2, 1.0, -1.0)
    K = Polynomial(2, 1.0, 1.0)(X)
    counts = np.zeros(len(y))
    for _ in range(4):
        for i in range(len(y)):
            if signs[i] * ((K[i] + 1) @ (counts * signs)) <= 0:
                counts[i] += 1
    with pytest.warns(ConvergenceWarning, match="max_iter=4"):
        machine = KernelPerceptron(Polynomial(2, 1.0, 1.0), shuffle=False, max_iter=4).fit(X, y)
    full = np.zeros(len(y))
    full[machine.support_] = machine.dual_coef_[0]
    np.testing.assert_array_equal(full, counts * signs)
    assert machine.intercept_[0] == (counts * signs).sum()
    assert machine.mistakes_[0] == counts.sum()
    np.testing.assert_array_equal(machine.support_vectors_, X[machine.support_])


def test_rows_on_demand_are_the_whole_matrix():
    X, y = wine()
    whole = KernelPerceptron(RBF(gamma=0.3)).fit(X, y)
    rows = KernelPerceptron(RBF(gamma=0.3), cache_size=1e-3).fit(X, y)
    np.testing.assert_array_equal(rows.support_, whole.support_)
    np.testing.assert_array_equal(rows.dual_coef_, whole.dual_coef_)
    np.testing.assert_allclose(rows.mistake_bound_, whole.mistake_bound_, rtol=1e-6)


@pytest.mark.parametrize("cache_size", [512, 1e-3])
def test_a_time_limit_gives_the_machine_so_far(cache_size):
    X, y = wine()
    machine = KernelPerceptron(RBF(gamma=1e-3), tol=None, cache_size=cache_size, time_limit=1e-9)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        machine.fit(X, y)
    assert machine.n_iter_ == 1
    assert np.isfinite(machine.decision_function(X)).all()


def test_bounds_in_feature_space():
    X, y = wine()
    machine = KernelPerceptron(RBF(gamma=0.3)).fit(X, y)
    assert machine.score(X, y) == 1
    assert np.isfinite(machine.mistake_bound_).all()
    assert (machine.mistakes_ <= machine.mistake_bound_).all()


def test_strings_and_precomputed_matrices():
    words = ["abab", "baba", "ababab", "xyxy", "yxyx", "xyxyxy"]
    y = ["ab", "ab", "ab", "xy", "xy", "xy"]
    machine = KernelPerceptron(Spectrum(2)).fit(words, y)
    np.testing.assert_array_equal(machine.predict(["bab", "yx"]), ["ab", "xy"])
    K = Spectrum(2)(words)
    matrix = KernelPerceptron("precomputed").fit(K, y)
    np.testing.assert_allclose(matrix.decision_function(K), machine.decision_function(words))


def test_bad_input():
    X, y = heart()
    with pytest.raises(InvalidInput, match="got 1 class"):
        KernelPerceptron().fit(X, np.ones(len(y)))
    with pytest.raises(InvalidInput, match="coef_init has the shape"):
        Perceptron().fit(X, y, coef_init=np.ones(3))
    with pytest.raises(InvalidInput, match="intercept_init"):
        Perceptron().fit(X, y, intercept_init=np.ones(3))
    with pytest.raises(InvalidInput, match="early_stopping"):
        Perceptron(early_stopping=True).partial_fit(X, y, classes=np.unique(y))
    with pytest.warns(ConvergenceWarning, match="may not be separable"):
        Perceptron(max_iter=2).fit(X, y)
    with pytest.raises(ValueError, match="eta0"):
        Perceptron(eta0=0.0).fit(X, y)
