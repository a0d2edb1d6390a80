"""Probabilities: they agree with the decisions, and they are worth having."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from mercer import RBF, SVC, FunctionKernel, NuSVC
from mercer.estimators.svm.calibration import fit_slope, probabilities
from tests.estimators.cases import digits, heart, iris, two_classes, wine


def check_consistent(model, X):
    chances = model.predict_proba(X)
    assert_allclose(chances.sum(axis=1), 1, rtol=1e-12)
    assert (chances >= 0).all()
    assert_array_equal(model.classes_[chances.argmax(axis=1)], model.predict(X))
    with np.errstate(divide="ignore"):
        expected = np.maximum(np.log(chances), np.log(np.finfo(float).tiny))
    assert_allclose(model.predict_log_proba(X), expected)


@pytest.mark.parametrize("machine", [SVC, NuSVC])
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("data", [two_classes, iris, wine, digits])
def test_the_most_probable_class_is_the_predicted_one(data, multi_class, machine):
    X, y = data()
    choice = {"probability": True, "multi_class": multi_class, "random_state": 0}
    if machine is NuSVC:
        choice["nu"] = 0.1 if multi_class == "ovr" else 0.2
    model = machine(**choice).fit(X, y)
    random = np.random.default_rng(0)
    wide = random.normal(size=(500, X.shape[1])) * X.std(axis=0) * 2 + X.mean(axis=0)
    for rows in (X, wide, X * 100, X[:1]):
        check_consistent(model, rows)
    shape = clone(model).set_params(decision_function_shape="ovo").fit(X, y)
    assert_allclose(shape.predict_proba(X), model.predict_proba(X))
    if multi_class == "ovo":
        broken = clone(model).set_params(break_ties=True).fit(X, y)
        check_consistent(broken, wide)


@pytest.mark.parametrize("multi_class", ["weston_watkins", "crammer_singer"])
def test_joint_machines_agree_too(multi_class):
    for data in (wine, two_classes):
        X, y = data()
        model = SVC(multi_class=multi_class, probability=True, random_state=0).fit(X, y)
        check_consistent(model, X)
        check_consistent(model, X * 10)


@settings(max_examples=200)
@given(
    st.integers(2, 6),
    st.floats(1e-3, 1e3),
    st.lists(st.sampled_from([0.0, 1e-300, 1e-17, -1e-17, 0.1, 0.1 + 2e-17, 3.0, 1e3, -1e6]),
             min_size=6, max_size=6),
    st.integers(0, 5),
)  # fmt: skip
def test_ties_and_rounding_never_change_the_winner(count, factor, values, winner):
    scores = np.array(values[:count])[None]
    winner = np.array([winner % count])
    if count == 2:
        scores = scores[:, 0]
        winner = (scores > 0).astype(int)
    chances = probabilities(scores, winner, factor)
    assert chances.argmax(axis=1) == winner
    assert_allclose(chances.sum(), 1, rtol=1e-12)
    assert (chances >= 0).all()


def test_one_half_lies_on_the_boundary():
    X, y = two_classes()
    model = SVC(probability=True, random_state=0).fit(X, y)
    f = model.decision_function(X)
    chance = model.predict_proba(X)[:, 1]
    assert_array_equal(chance > 0.5, f > 0)
    order = np.argsort(f)
    assert (np.diff(chance[order]) >= 0).all()
    # σ(a f): the log-odds are proportional to the decision.
    odds = np.log(chance / (1 - chance))
    assert_allclose(odds / f, odds[0] / f[0], rtol=1e-6)
    assert_allclose(probabilities(np.zeros(1), np.zeros(1, int), 2.0), [[0.5, 0.5]])


@pytest.mark.parametrize("data", [heart, wine, digits, two_classes])
def test_they_beat_the_base_rate(data):
    X, y = data()
    X, T, y, t = train_test_split(X, y, random_state=0, stratify=y)
    model = SVC(probability=True, random_state=0).fit(X, y)
    base = np.tile([(y == c).mean() for c in model.classes_], (len(t), 1))
    assert log_loss(t, model.predict_proba(T)) < 0.95 * log_loss(t, base)


def test_the_seed_decides():
    X, y = heart()
    one, two, other = (
        SVC(probability=True, random_state=seed).fit(X, y).predict_proba(X) for seed in (0, 0, 1)
    )
    assert_array_equal(one, two)
    assert not np.array_equal(one, other)
    assert_allclose(one, other, atol=0.1)


def test_hasattr_follows_the_parameter():
    X, y = two_classes()
    for machine in (SVC, NuSVC):
        model = machine().fit(X, y)
        for name in ("predict_proba", "predict_log_proba"):
            assert not hasattr(model, name)
            assert hasattr(machine(probability=True), name)
        with pytest.raises(NotFittedError):
            machine(probability=True).predict_proba(X)
        with pytest.raises(NotFittedError, match="fitted with probability=False"):
            model.set_params(probability=True).predict_proba(X)


def test_rare_classes():
    """A class of one object cannot be held out; classes of two make two folds."""
    X, y = (np.array(a) for a in two_classes(40))
    for few in (1, 2):
        labels = np.where(np.arange(40) < few, 2, y)
        model = SVC(probability=True, random_state=0).fit(X, labels)
        assert model.predict_proba(X).shape == (40, 3)
        check_consistent(model, X)


def test_weights_count():
    X, y = two_classes()
    weights = np.where(y == 1, 5.0, 0.1)
    model = SVC(probability=True, random_state=0).fit(X, y, weights)
    plain = SVC(probability=True, random_state=0).fit(X, y)
    assert model.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean()
    check_consistent(model, X)
    # Rows without weight are as good as not there, in the folds too.
    zero = np.where(np.arange(len(y)) < 190, 1.0, 0.0)
    check_consistent(SVC(probability=True, random_state=0).fit(X, y, zero), X)
    few = np.zeros(len(y))
    few[[np.argmax(y == 0), np.argmax(y == 1)]] = 1.0
    check_consistent(SVC(probability=True, random_state=0).fit(X, y, few), X)


def test_any_kernel_and_data():
    X, y = two_classes(80)
    K = RBF(gamma=0.5)(X)
    direct = SVC(RBF(gamma=0.5), probability=True, random_state=0, tol=1e-8).fit(X, y)
    matrix = SVC("precomputed", probability=True, random_state=0, tol=1e-8).fit(K, y)
    assert_allclose(matrix.predict_proba(K), direct.predict_proba(X), atol=1e-5)
    words = ["aab", "aba", "baa", "aaa", "abab", "aaab"] * 2 + ["ccd", "dcd", "ddd", "cdc"] * 3
    labels = ["ab"] * 12 + ["cd"] * 12
    kernel = FunctionKernel(lambda a, b: float(len(set(a) & set(b))))
    model = SVC(kernel, probability=True, random_state=0).fit(words, labels)
    check_consistent(model, ["aa", "cc", "ad"])


def test_the_factor_maximises_the_likelihood():
    random = np.random.default_rng(0)
    f = random.normal(size=5000)
    y = (random.uniform(size=5000) < 1 / (1 + np.exp(-2.5 * f))).astype(int)
    assert fit_slope(f, y, np.ones(5000)) == pytest.approx(2.5, rel=0.1)
    assert fit_slope(np.column_stack([-f / 2, f / 2]), y, np.ones(5000)) == pytest.approx(
        2.5, rel=0.1
    )


def deprecated(model, name):
    with pytest.warns(FutureWarning, match=f"`{name}` was deprecated"):
        return getattr(model, name)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_platts_parameters_give_the_probabilities(multi_class):
    X, y = iris()
    two = SVC(probability=True, random_state=0).fit(X[50:], y[50:])
    three = SVC(probability=True, random_state=0, multi_class=multi_class).fit(X, y)
    A, B = deprecated(two, "probA_"), deprecated(two, "probB_")
    many = deprecated(three, "probA_")
    assert deprecated(SVC().fit(X, y), "probA_").shape == (0,)
    chance = 1 / (1 + np.exp(A * two.decision_function(X[50:]) + B))
    assert_allclose(chance, two.predict_proba(X[50:])[:, 1])
    scores = three.decision_function(X)
    odds = np.log(three.predict_proba(X))
    assert many.shape == (3,)
    clear = np.ptp(scores, axis=1) > 0.5  # not where the winner was put right
    assert_allclose(
        (odds[:, 0] - odds[:, 2])[clear], -(many[1] * (scores[:, 0] - scores[:, 2]))[clear]
    )
