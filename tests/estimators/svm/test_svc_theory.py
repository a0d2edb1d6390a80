"""What the theory promises of SVC: margins, slacks, multipliers, the hard margin."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn import svm
from sklearn.exceptions import NotFittedError

from mercer import RBF, SVC, BinaryMachine, Linear, Polynomial, certify
from mercer.exceptions import NotSeparable
from tests.estimators.cases import separable, two_classes, wine


def test_what_the_theory_promises():
    X, y = two_classes()
    model = SVC(C=2.0, gamma=0.5, tol=1e-6).fit(X, y)
    signs = np.where(y == 1, 1.0, -1.0)
    f = model.decision_function(X)
    alpha = np.zeros(len(X))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    assert_array_equal(model.alpha_, alpha)
    assert_allclose((signs * alpha).sum(), 0, atol=1e-10)
    assert_allclose(model.functional_margins_, signs * f, atol=1e-9)
    assert_allclose(model.slack_, np.maximum(0, 1 - signs * f), atol=1e-9)
    K = RBF(gamma=0.5)(X)
    norm = np.sqrt(signs * alpha @ K @ (signs * alpha))
    assert model.norm_ == pytest.approx(norm)
    assert model.margin_ == pytest.approx(2 / norm)
    assert model.expansion_.norm() == pytest.approx(norm)
    assert_allclose(model.geometric_margins_, signs * f / norm, atol=1e-9)
    assert_allclose(model.expansion_(X), f - model.intercept_, atol=1e-9)
    assert_array_equal(model.free_, (alpha > 0) & (alpha < 2))
    assert_array_equal(model.bound_, alpha == 2)
    assert_array_equal(model.misclassified_, model.predict(X) != y)
    assert_allclose(model.functional_margins_[model.free_], 1, atol=1e-5)
    assert (model.slack_[~model.bound_] < 1e-5).all()
    # b is the mean over the free vectors.
    b = (signs - K @ (signs * alpha))[model.free_].mean()
    assert_allclose(model.intercept_, b)
    certificate = model.certificate_
    assert certificate.primal == pytest.approx(norm**2 / 2 + 2 * model.slack_.sum())
    assert certificate.dual == pytest.approx(alpha.sum() - norm**2 / 2)
    # Both values are sums over n vectors: each is off by n · 2⁻⁵³ of the sum of all sizes at most.
    rounding = len(X) * 2.0**-52 * (alpha.sum() + certificate.primal + alpha @ K @ alpha)
    assert -rounding <= certificate.gap < 1e-4 * certificate.primal


@pytest.mark.parametrize(
    "make", [lambda: SVC(), lambda: SVC(multi_class="ovr"), lambda: SVC(C=np.inf, gamma=5.0)]
)
def test_machines_are_made_when_they_are_asked_for(make):
    X, y = wine()
    first, second = make().fit(X, y), make().fit(X, y)
    assert "_machines" not in vars(first)
    first.set_params(C=7.0)  # it is none of the fit that was
    copied = pickle.loads(pickle.dumps(second))
    assert "_answers" not in vars(second)
    assert "_answers" not in vars(copied)
    for mine, other, again in zip(first._machines, second.machines_, copied.machines_, strict=True):
        for name in ("alpha_", "bound", "values", "rows", "signs", "intercept_"):
            assert_array_equal(getattr(mine, name), getattr(other, name))
            assert_array_equal(getattr(again, name), getattr(other, name))
        assert mine.classes == other.classes == again.classes
        assert other.certificate_.relative_gap == again.certificate_.relative_gap < 1e-3
    # Another fit has machines of its own, or none where the problem is a joint one.
    second.fit(X[y > 0], y[y > 0])
    assert [len(machine.rows) for machine in second.machines_] == [np.count_nonzero(y > 0)]
    joint = second.set_params(C=1.0, multi_class="crammer_singer").fit(X, y)
    assert joint.machines_ == []


def test_pairs_stated_at_once_are_those_stated_one_by_one():
    X, y = wine()
    weights = np.where(np.arange(len(y)) % 5, 1 + np.arange(len(y)) / 100, 0.0)
    model = SVC(C=3.0, class_weight="balanced").fit(X, y, weights)
    costs = 3.0 * weights * model.class_weight_[y]
    for machine, (a, b) in zip(model.machines_, [(0, 1), (0, 2), (1, 2)], strict=True):
        rows = np.flatnonzero(((y == a) | (y == b)) & (weights > 0))
        assert_array_equal(np.sort(machine.rows), rows)
        assert_allclose(machine.bound, costs[machine.rows])
        assert_array_equal(machine.signs, np.where(y[machine.rows] == a, 1, -1))


def test_machines_of_several_classes():
    X, y = wine()
    model = SVC(tol=1e-6).fit(X, y)
    assert len(model.machines_) == 3
    values = SVC(tol=1e-6, decision_function_shape="ovo").fit(X, y).decision_function(X)
    for j, (machine, (a, b)) in enumerate(
        zip(model.machines_, [(0, 1), (0, 2), (1, 2)], strict=True)
    ):
        assert isinstance(machine, BinaryMachine)
        assert machine.classes == (b, a)
        assert_array_equal(machine.rows, np.flatnonzero((y == a) | (y == b)))
        assert_array_equal(machine.signs, np.where(y[machine.rows] == a, 1, -1))
        assert_allclose(machine.expansion_(X) + machine.intercept_, values[:, j], atol=1e-8)
        assert_allclose(
            machine.functional_margins_, machine.signs * values[machine.rows, j], atol=1e-8
        )
        assert f"{b} against {a}" in repr(machine)
        assert machine.certificate_.relative_gap < 1e-4
    assert model.certificate_.dual == pytest.approx(
        sum(machine.certificate_.dual for machine in model.machines_)
    )
    for name in ("alpha_", "slack_", "margin_", "expansion_"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match="Each of the 3 machines_"):
            getattr(model, name)
    assert not hasattr(SVC(), "alpha_")
    with pytest.raises(NotFittedError):
        SVC().machines_  # noqa: B018
    with pytest.raises(AttributeError, match="nothing"):
        model.nothing  # noqa: B018


def hull_distance(X, y):
    """Return the distance of two convex hulls, by a general-purpose optimiser."""
    A, B = X[y == 1], X[y == 0]

    def square(weights):
        a, b = np.exp(weights[: len(A)]), np.exp(weights[len(A) :])
        return (((a / a.sum()) @ A - (b / b.sum()) @ B) ** 2).sum()

    found = minimize(square, np.zeros(len(X)), method="L-BFGS-B", options={"maxiter": 5000})
    return np.sqrt(found.fun)


def test_the_hard_margin():
    X, y = separable()
    model = SVC("linear", C=np.inf, tol=1e-6).fit(X, y)
    soft = svm.SVC(kernel="linear", C=1e5, tol=1e-8).fit(X, y)
    assert_allclose(model.coef_, soft.coef_, atol=1e-4)
    assert_allclose(model.intercept_, soft.intercept_, atol=1e-4)
    assert model.margin_ == pytest.approx(hull_distance(X, y), rel=1e-3)
    assert model.functional_margins_.min() >= 1 - 1e-5
    assert not model.bound_.any()
    assert (model.slack_ < 1e-5).all()
    assert model.certificate_.relative_gap < 1e-4
    assert model.certificate_.primal_feasibility < 1e-5
    assert certify(model, X, y).relative_gap < 1e-4
    assert certify(model, X, y).primal_feasibility < 1e-5


def test_the_hard_margin_of_several_classes():
    random = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = random.normal(size=(60, 2)) + 9 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    for multi_class in ("ovo", "ovr"):
        model = SVC("rbf", C=np.inf, multi_class=multi_class).fit(X, y)
        assert_array_equal(model.predict(X), y)
        assert model.n_iter_.shape == (3,)
        for machine in model.machines_:
            assert machine.functional_margins_.min() > 0.99


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2, 1.0, 0.0), RBF(gamma=0.5)], ids=repr)
def test_what_cannot_be_separated_is_proved(kernel):
    X, y = two_classes(80, 2)
    if isinstance(kernel, RBF):  # it separates all that differs
        X, y = np.concatenate([X, X[:1]]), np.append(y, 1 - y[0])
    with pytest.raises(NotSeparable, match="no hyperplane separates") as caught:
        SVC(kernel, C=np.inf).fit(X, y)
    error = caught.value
    signs = np.where(y[error.rows] == 1, 1.0, -1.0)
    assert (error.weights >= 0).all()
    assert_allclose(error.weights[signs > 0].sum(), 1)
    assert_allclose(error.weights[signs < 0].sum(), 1)
    K = kernel(X[error.rows])
    between = signs * error.weights
    assert between @ K @ between <= 1e-8 * K.diagonal().max()
    assert error.distance == pytest.approx(0, abs=1e-4 * np.sqrt(K.diagonal().max()))
    assert isinstance(error, ValueError)


def test_hard_margins_in_a_rich_space():
    X, y = two_classes(80)
    model = SVC(RBF(gamma=1.0), C=np.inf, tol=1e-4).fit(X, y)
    assert_array_equal(model.predict(X), y)
    large = SVC(RBF(gamma=1.0), C=1e6, tol=1e-6).fit(X, y)
    assert_allclose(model.decision_function(X), large.decision_function(X), atol=1e-2)
    assert model.margin_ == pytest.approx(large.margin_, rel=1e-3)
