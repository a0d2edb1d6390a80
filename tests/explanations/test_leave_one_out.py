"""Machines that never saw one of their rows, against machines that were fitted without it."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import mercer as m
from mercer.exceptions import InvalidInput, InvalidParameter

random = np.random.default_rng(0)
X = random.normal(size=(40, 3))
Y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * random.normal(size=40)
TWO = (Y > 0).astype(int)
THREE = np.digitize(Y, [-0.5, 0.5])
WEIGHTS = random.uniform(0.2, 2.0, size=40)


def without_each(machine, X, y, weights=None, answer="decision_function"):
    """Return what machines with the kernel of the fitted one say of the row that they lack."""
    found = []
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        w = {} if weights is None else {"sample_weight": weights[rest]}
        other = clone(machine).set_params(kernel=machine.kernel_)
        if hasattr(machine, "tol"):
            other.set_params(tol=1e-9)
        other.fit([X[j] for j in rest] if isinstance(X, list) else X[rest], y[rest], **w)
        found.append(getattr(other, answer)(X[i : i + 1])[0])
    return np.array(found)


def real(name, rows):
    data = m.load_data(name)
    some = np.random.default_rng(1).permutation(len(data.y))[:rows]
    return StandardScaler().fit_transform(np.asarray(data.X, dtype=float)[some]), data.y[some]


SETS = {
    "rbf": (m.SVC(), X, TWO, None),
    "large C": (m.SVC(C=100.0), X, TWO, None),
    "small C, all at a bound": (m.SVC(C=1e-3), X, TWO, None),
    "narrow": (m.SVC(kernel=m.RBF(gamma=20.0)), X, TWO, None),
    "linear": (m.SVC(kernel="linear"), X, TWO, None),
    "polynomial": (m.SVC(kernel=m.Polynomial(2)), X, TWO, None),
    "weights": (m.SVC(C=3.0), X, TWO, WEIGHTS),
    "rows twice": (m.SVC(), np.repeat(X[:20], 2, axis=0), np.repeat(TWO[:20], 2), None),
    "contradictions": (m.SVC(), np.repeat(X[:20], 2, axis=0), TWO, None),
    "heart": (m.SVC(), *real("heart", 60), None),
}
for cost in (0.1, 10.0, 100.0):
    SETS[f"heart, C={cost:g}"] = (m.SVC(C=cost), *real("heart", 60), None)
MOONS = make_moons(60, noise=0.2, random_state=0)
SETS["moons"] = (m.SVC(C=1.0, gamma=2.0), *MOONS, None)
SETS["moons, nearly apart"] = (m.SVC(C=1000.0, gamma=2.0), *MOONS, None)
SETS["rare class"] = (m.SVC(C=5.0), X, (np.sort(Y)[-5] < Y).astype(int), None)
SETS["laplacian"] = (m.SVC(kernel=m.Laplacian(gamma=0.5), C=4.0), X, TWO, None)
SETS["many columns"] = (m.SVC(C=2.0), np.random.default_rng(5).normal(size=(40, 80)), TWO, None)
SETS["few places"] = (m.SVC(C=3.0, gamma=0.5), np.round(X), TWO, None)
words = np.random.default_rng(2).choice(list("ab"), size=(30, 8))
SETS["strings"] = (
    m.SVC(kernel=m.Spectrum(2)),
    ["".join(word) for word in words],
    (words[:, 0] == "a").astype(int),
    None,
)


@pytest.mark.parametrize("name", SETS)
def test_two_classes_against_fits(name):
    machine, X, y, weights = SETS[name]
    machine = clone(machine).fit(X, y, sample_weight=weights)
    found = m.leave_one_out(machine, X, y, weights)
    brute = without_each(machine, X, y, weights)
    labels = machine.classes_[(brute > 0).astype(int)]
    assert (found.predictions == labels)[found.certified].all()
    assert (found.low <= found.decisions).all()
    assert (found.decisions <= found.high).all()
    assert (found.low - 1e-6 <= brute).all()
    assert (brute <= found.high + 1e-6).all()
    assert (found.gaps < 1e-5 * machine.C).all()
    # Without free multipliers many biases are optimal; else only values next to 0 are in doubt.
    if name not in ("small C, all at a bound", "contradictions"):
        assert found.certified[abs(found.decisions) > 0.01].all()


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_several_classes_against_fits(multi_class):
    machine = m.SVC(C=2.0, multi_class=multi_class, decision_function_shape="ovo").fit(X, THREE)
    found = m.leave_one_out(machine, X, THREE)
    np.testing.assert_allclose(found.decisions, without_each(machine, X, THREE), atol=1e-5)
    labels = without_each(machine, X, THREE, answer="predict")
    assert found.certified.mean() > 0.9
    assert (found.predictions == labels)[found.certified].all()
    # Values, not votes alone, break ties.
    ties = m.SVC(C=2.0, break_ties=True).fit(X, THREE)
    assert not m.leave_one_out(ties, X, THREE).certified.any()


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_numbers_against_fits(weights):
    machine = m.SVR(C=5.0).fit(X, Y, sample_weight=weights)
    found = m.leave_one_out(machine, X, Y, weights)
    brute = without_each(machine, X, Y, weights, "predict")
    np.testing.assert_allclose(found.predictions, brute, atol=1e-5)
    assert (found.low - 1e-6 <= brute).all()
    assert (brute <= found.high + 1e-6).all()
    assert found.certified.all()
    assert (found.high - found.low).max() < 0.01


@pytest.mark.parametrize("weights", [None, WEIGHTS, np.where(np.arange(40) < 3, 0.0, 1.0)])
@pytest.mark.parametrize("alpha", [0.0, 1.0, 50.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_least_squares_against_fits(alpha, fit_intercept, weights):
    machine = m.Ridge(alpha, fit_intercept=fit_intercept)
    rows = X + 3.0
    found = m.leave_one_out(machine.fit(rows, Y, sample_weight=weights), rows, Y, weights)
    brute = m.leave_one_out(machine, rows, Y, weights, refit=True)
    np.testing.assert_allclose(found.predictions, brute.predictions, rtol=0, atol=1e-12)
    assert found.certified.all()


def test_least_squares_of_several_targets():
    machine, targets = m.Ridge([1.0, 3.0]), np.c_[Y, -2 * Y]
    found = m.leave_one_out(machine.fit(X, targets), X, targets)
    brute = m.leave_one_out(machine, X, targets, refit=True)
    np.testing.assert_allclose(found.predictions, brute.predictions, rtol=0, atol=1e-12)


def test_a_row_that_is_alone_in_a_column_has_no_answer_without_it():
    alone = np.c_[X, np.arange(40) == 0]
    found = m.leave_one_out(m.Ridge(0.0).fit(alone, Y), alone, Y)
    assert np.isnan(found.predictions[0])
    assert found.certified.tolist() == [False] + [True] * 39


def test_other_rows_than_those_of_the_fit_are_refused():
    machine = m.Ridge().fit(X, Y)
    with pytest.raises(InvalidInput, match="other rows"):
        m.leave_one_out(machine, X[:30], Y[:30])
    with pytest.raises(InvalidInput, match="other rows"):
        m.leave_one_out(machine, X, Y, WEIGHTS)
    with pytest.raises(InvalidParameter, match="positive"):
        m.leave_one_out(m.Ridge(positive=True).fit(X, Y), X, Y)
    with pytest.raises(InvalidParameter, match="OneClassSVM"):
        m.leave_one_out(m.OneClassSVM().fit(X), X, None)


def test_rows_without_a_multiplier_keep_their_values():
    machine = m.SVC(C=5.0, tol=1e-9).fit(X[:, :1] + 2.0 * TWO[:, None], TWO)
    inputs = X[:, :1] + 2.0 * TWO[:, None]
    found = m.leave_one_out(machine, inputs, TWO)
    rest = np.setdiff1d(np.arange(40), machine.support_)
    assert rest.size
    np.testing.assert_allclose(
        found.decisions[rest], machine.decision_function(inputs)[rest], atol=1e-6
    )


def test_rows_without_weight_have_the_value_of_the_machine():
    weights = np.where(np.arange(40) < 5, 0.0, 1.0)
    machine = m.SVC(tol=1e-9).fit(X, TWO, sample_weight=weights)
    found = m.leave_one_out(machine, X, TWO, weights)
    np.testing.assert_allclose(found.decisions[:5], machine.decision_function(X[:5]), atol=1e-6)


def test_the_last_row_of_a_class():
    y = np.zeros(40, int)
    y[7] = 1
    found = m.leave_one_out(m.SVC().fit(X, y), X, y)
    assert found.predictions[7] == 0
    assert found.certified[7]
    assert found.low[7] == -np.inf


def test_gaps_are_those_of_the_problem():
    machine = m.SVC().fit(X, TWO)
    found = m.leave_one_out(machine, X, TWO)
    # A loose answer of the same machine is no farther from the exact one than its own gap says.
    loose = m.SVC(tol=0.5).fit(X, TWO)
    again = m.leave_one_out(loose, X, TWO)
    np.testing.assert_allclose(again.decisions, found.decisions, atol=1e-5)
    assert (found.gaps >= 0).all()


def test_threads_change_nothing():
    machine = m.SVC(C=5.0).fit(X, TWO)
    one, two = (m.leave_one_out(machine, X, TWO, threads=count) for count in (1, 2))
    np.testing.assert_array_equal(one.decisions, two.decisions)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_kernel_ridge(fit_intercept):
    machine = m.KernelRidge(0.3, kernel=m.RBF(gamma=0.5), fit_intercept=fit_intercept).fit(X, Y)
    found = m.leave_one_out(machine, X, Y)
    np.testing.assert_allclose(found.predictions, without_each(machine, X, Y, answer="predict"))
    assert found.certified.all()
    assert not found.gaps.any()


@pytest.mark.parametrize("y", [TWO, THREE])
def test_kernel_ridge_classifier(y):
    machine = m.KernelRidgeClassifier(0.3, kernel=m.RBF(gamma=0.5)).fit(X, y)
    found = m.leave_one_out(machine, X, y)
    np.testing.assert_allclose(found.decisions, without_each(machine, X, y))
    np.testing.assert_array_equal(found.predictions, without_each(machine, X, y, answer="predict"))


def test_gaussian_process():
    machine = m.GaussianProcessRegressor(m.RBF(gamma=0.5), alpha=0.1, optimizer=None).fit(X, Y)
    np.testing.assert_allclose(
        m.leave_one_out(machine, X, Y).predictions, machine.leave_one_out().mean
    )


def test_pipelines_matrices_landmarks_and_searched_parameters():
    scaled = make_pipeline(StandardScaler(), m.SVC()).fit(X, TWO)
    inside = m.leave_one_out(scaled[-1], scaled[:-1].transform(X), TWO)
    np.testing.assert_array_equal(m.leave_one_out(scaled, X, TWO).decisions, inside.decisions)

    machine = m.SVC().fit(X, TWO)
    K = m.Gram(machine.kernel_, X).dense()
    plain, given = m.leave_one_out(machine, X, TWO), m.SVC(kernel="precomputed").fit(K, TWO)
    of_matrix = m.leave_one_out(given, K, TWO)
    np.testing.assert_allclose(of_matrix.decisions, plain.decisions, atol=1e-6)
    assert of_matrix.certified.mean() > 0.9

    rough = m.SVC(approximation=39).fit(X, TWO)
    np.testing.assert_allclose(m.leave_one_out(rough, X, TWO).decisions, plain.decisions, atol=0.1)
    chosen = m.SVC(C="auto").fit(X, TWO)
    same = m.SVC(C=chosen.C_).fit(X, TWO)
    np.testing.assert_allclose(
        m.leave_one_out(chosen, X, TWO).decisions,
        m.leave_one_out(same, X, TWO).decisions,
        atol=1e-6,
    )


def test_nothing_is_certified_where_the_matrix_is_indefinite():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = m.SVC(kernel="sigmoid", gamma=5.0, coef0=-2.0).fit(X, TWO)
        assert not m.leave_one_out(machine, X, TWO).certified.any()


def test_any_machine_by_fits():
    few, y = X[:12], np.tile([0, 1], 6)
    found = m.leave_one_out(m.SVC(), few, y, np.ones(12), refit=True)
    machine = m.SVC(kernel=m.SVC().fit(few, y).kernel_)
    assert found.decisions.shape == (12,)
    assert not found.certified.any()
    kept = m.leave_one_out(m.SVC(kernel=machine.kernel), few, y, refit=True)
    quick = m.leave_one_out(machine.fit(few, y), few, y)
    np.testing.assert_allclose(kept.decisions, quick.decisions, atol=5e-3)
    trees = m.leave_one_out(DecisionTreeClassifier(random_state=0), few, y, refit=True)
    assert trees.predictions.shape == (12,)
    assert np.isnan(trees.decisions).all()
    numbers = m.leave_one_out(m.NuSVR(), few, few[:, 0], refit=True)
    np.testing.assert_array_equal(numbers.decisions, numbers.predictions)


def test_refusals_say_why():
    with pytest.raises(InvalidParameter, match="DecisionTreeClassifier has no way"):
        m.leave_one_out(DecisionTreeClassifier().fit(X, TWO), X, TWO)
    for machine in (m.NuSVC(nu=0.3), m.SVC(kernel=m.RBF(gamma=50.0), C=np.inf)):
        with pytest.raises(InvalidParameter, match="depend on the number of rows"):
            m.leave_one_out(machine.fit(X, TWO), X, TWO)
    joint = m.SVC(multi_class="weston_watkins").fit(X, THREE)
    with pytest.raises(InvalidParameter, match="joint problem"):
        m.leave_one_out(joint, X, THREE)
    machine = m.SVC().fit(X, TWO)
    with pytest.raises(InvalidInput, match="X has 39 rows, but SVC was fitted on 40"):
        m.leave_one_out(machine, X[1:], TWO[1:])
    with pytest.raises(InvalidInput, match="X has 40 rows and y has 39"):
        m.leave_one_out(machine, X, TWO[1:])
    with pytest.raises(InvalidInput, match="other classes"):
        m.leave_one_out(machine, X, THREE)
    ridge = m.KernelRidge(1.0).fit(X, Y)
    with pytest.raises(InvalidInput, match="X has 39 rows, but the machine was fitted on 40"):
        m.leave_one_out(ridge, X[1:], Y[1:])
