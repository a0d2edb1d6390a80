"""Support vector machines and principal components on landmarks, beside the exact ones."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    RBF,
    SVC,
    SVR,
    BagOfWords,
    InvalidParameter,
    KernelPCA,
    LinearSVC,
    Matern,
    NotPositiveDefinite,
    NuSVC,
    NuSVR,
    Nystrom,
    NystromKernel,
    NystromMap,
    OneClassSVM,
    WeisfeilerLehman,
    certify,
    load,
    read_graphs,
    read_table,
    save,
)
from mercer.estimators import registry
from mercer.gram.computed import Gram
from tests.estimators.cases import digits, heart, iris, regression, separable, wine


@pytest.mark.parametrize("multi_class", ["ovo", "ovr", "weston_watkins", "crammer_singer"])
@pytest.mark.parametrize("data", [heart, wine], ids=lambda data: data.__name__)
def test_all_rows_as_landmarks_give_the_exact_machine(data, multi_class):
    X, y = data()
    kernel = Matern(nu=1.5, length_scale=3.0)
    machine = SVC(kernel, C=2.0, multi_class=multi_class, tol=1e-7)
    exact = machine.fit(X, y)
    approximate = clone(machine).set_params(approximation=len(X)).fit(X, y)
    np.testing.assert_allclose(
        approximate.decision_function(X), exact.decision_function(X), atol=2e-5
    )
    assert approximate.certificate_.dual == pytest.approx(exact.certificate_.dual, rel=1e-8)
    assert approximate.certificate_.approximation_cost < 1e-6
    assert approximate.residual_trace_ < 1e-8


FAMILY = [
    (NuSVC(RBF(gamma=0.1), nu=0.3), wine),
    (NuSVC(RBF(gamma=0.1), nu=0.3, multi_class="ovr"), wine),
    (SVR(RBF(gamma=0.5), C=3.0), regression),
    (SVR(RBF(gamma=0.5), C=3.0, epsilon=100.0), regression),
    (NuSVR(RBF(gamma=0.5), C=3.0, nu=0.4), regression),
    (OneClassSVM(RBF(gamma=0.1), nu=0.2), wine),
]


def _values(machine, X):
    decide = getattr(machine, "decision_function", machine.predict)
    return decide(X)


def _excused(machine):
    reasons = {} if isinstance(machine, NuSVR) else dict(registry.row_of(type(machine)).excused)
    if not isinstance(machine, OneClassSVM):
        reasons["check_regressors_train"] = "one landmark learns too little"
    return reasons


@parametrize_with_checks(
    [SVR(approximation=1), NuSVR(approximation=1, tol=1e-10), OneClassSVM(approximation=1)],
    expected_failed_checks=_excused,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("machine", "data"), FAMILY, ids=lambda given: getattr(given, "__name__", str(given))
)
def test_the_whole_family_takes_landmarks(machine, data, tmp_path):
    X, y = data()
    machine = clone(machine).set_params(tol=1e-7)
    exact = clone(machine).fit(X, y)
    whole = clone(machine).set_params(approximation=len(X)).fit(X, y)
    np.testing.assert_allclose(_values(whole, X), _values(exact, X), atol=2e-5)
    assert whole.certificate_.dual == pytest.approx(exact.certificate_.dual, rel=1e-8)
    assert whole.certificate_.approximation_cost < 1e-6
    assert whole.residual_trace_ < 1e-8
    for count in (10, 40):
        few = clone(machine).set_params(approximation=count).fit(X, y)
        found = few.certificate_
        apart, rounding = found.dual - exact.certificate_.dual, found.gap + exact.certificate_.gap
        assert -rounding - 1e-9 <= apart <= found.approximation_cost + rounding + 1e-9
        assert found.approximation_cost >= 0
        assert f"Nyström with {count} landmarks" in found.problem
        assert few.residual_trace_ > 0
        # The same machine as that of the matrix on landmarks.
        K = few.kernel_(X)
        other = clone(machine).set_params(kernel="precomputed", approximation=None).fit(K, y)
        np.testing.assert_allclose(_values(few, X), _values(other, K), atol=2e-5)
        judged = certify(few, X, y)
        for name in ("primal", "dual", "approximation_cost"):
            assert getattr(judged, name) == pytest.approx(getattr(found, name), rel=1e-6, abs=1e-9)
    save(few, tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(_values(again, X), _values(few, X))
    assert again.certificate_ == few.certificate_
    assert again.residual_trace_ == few.residual_trace_
    warm = clone(few).fit(X, y, start=few)
    np.testing.assert_allclose(_values(warm, X), _values(few, X), atol=2e-5)
    assert not hasattr(few.set_params(approximation=None).fit(X, y), "residual_trace_")


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("method", ["pivoted", "uniform", "leverage", "kmeans"])
@pytest.mark.parametrize("data", [heart, digits], ids=lambda data: data.__name__)
def test_the_cost_bounds_how_far_the_optima_are_apart(data, method, C):
    X, y = data()
    machine = SVC(RBF(gamma=0.1), C=C, tol=1e-6)
    exact = machine.fit(X, y).certificate_
    costs = []
    for count in (5, 20, 80):
        model = clone(machine).set_params(approximation=Nystrom(count, method)).fit(X, y)
        found = model.certificate_
        apart = found.dual - exact.dual
        assert -exact.gap - 1e-9 <= apart <= found.approximation_cost + found.gap + exact.gap
        assert found.relative_gap < 1e-4
        # The cruder bound of the theory, by the trace of the residual.
        squares = sum(float((m.alpha_**2).sum()) for m in model.machines_)
        assert found.approximation_cost <= 0.5 * squares * model.residual_trace_ + 1e-9
        costs.append(found.approximation_cost)
    assert costs[2] < costs[0]


def test_the_bound_without_the_exact_square(monkeypatch):
    X, y = heart()
    model = SVC(RBF(gamma=0.1), approximation=60, tol=1e-6).fit(X, y)
    monkeypatch.setattr("mercer.landmarks.landmark_gram._AFFORDABLE", 0)
    cheap = SVC(RBF(gamma=0.1), approximation=60, tol=1e-6).fit(X, y)
    exact = SVC(RBF(gamma=0.1), tol=1e-6).fit(X, y).certificate_.dual
    assert cheap.certificate_.dual - exact <= model.certificate_.approximation_cost
    assert model.certificate_.approximation_cost <= cheap.certificate_.approximation_cost
    assert cheap.certificate_.approximation_cost <= cheap.certificate_.dual


def test_the_answer_is_that_of_the_approximated_problem():
    X, y = heart()
    model = SVC(RBF(gamma=0.1), C=3.0, approximation=Nystrom(40, "uniform"), tol=1e-8).fit(X, y)
    kernel = model.kernel_
    assert isinstance(kernel, NystromKernel)
    matrix = Gram(kernel, X).dense()
    other = SVC("precomputed", C=3.0, tol=1e-8).fit(matrix, y)
    np.testing.assert_allclose(
        model.decision_function(X), other.decision_function(matrix), atol=1e-6
    )
    # From scratch, by the judge; and through the features and a linear machine.
    judged = certify(model, X, y)
    assert judged.problem == "C-SVC, Nyström with 40 landmarks"
    assert "Nyström with 40 landmarks" in repr(model.certificate_)
    assert "approximation cost" in repr(model.certificate_)
    for name in ("primal", "dual", "approximation_cost"):
        assert getattr(judged, name) == pytest.approx(getattr(model.certificate_, name), rel=1e-6)
    Z = NystromMap(RBF(gamma=0.1), 40, method="uniform").fit_transform(X)
    linear = LinearSVC(
        loss="hinge", C=3.0, intercept_scaling=1e3, tol=1e-9, max_iter=10**6, random_state=0
    ).fit(Z, y)
    np.testing.assert_allclose(linear.decision_function(Z), model.decision_function(X), atol=1e-2)
    assert "approximation" not in repr(certify(SVC().fit(X, y), X, y))


def test_many_rows_are_solved_on_features():
    X, y = digits()
    X, y = np.tile(X, (6, 1)), np.tile(y % 2, 6)
    X = X + 0.05 * np.random.default_rng(0).normal(size=X.shape)
    for count in (50, 300):
        model = SVC(RBF(gamma=0.1), approximation=count).fit(X, y)
        assert model.certificate_.relative_gap < 1e-2
        assert model.score(X, y) > 0.97
        assert len(model._condensed) == count
    with pytest.warns(match="time|stopped"):
        SVC(RBF(gamma=0.1), C=1e4, approximation=300, time_limit=1e-3).fit(X, y)


def test_hard_margin():
    X, y = separable()
    exact = SVC(RBF(gamma=0.1), C=np.inf).fit(X, y)
    model = SVC(RBF(gamma=0.1), C=np.inf, approximation=20).fit(X, y)
    assert (model.predict(X) == y).all()
    apart = model.certificate_.dual - exact.certificate_.dual
    assert -1e-3 <= apart <= model.certificate_.approximation_cost + model.certificate_.gap + 1e-3


def test_texts_and_graphs(tmp_path):
    table = read_table("reviews")
    texts, y = np.array(table.frame["text"].to_pylist())[:300], np.asarray(table.target)[:300]
    kernel = BagOfWords().normalized()
    exact = SVC(kernel).fit(texts[:200], y[:200]).score(texts[200:], y[200:])
    model = SVC(kernel, approximation=150).fit(texts[:200], y[:200])
    assert model.score(texts[200:], y[200:]) > exact - 0.08
    molecules = read_graphs("solubility")
    graphs = list(molecules.graphs[:200])
    soluble = np.asarray(molecules.target)[:200] > np.median(molecules.target)
    model = SVC(WeisfeilerLehman(2).normalized(), C=5.0, approximation=60)
    model.fit(graphs[:150], soluble[:150])
    assert model.score(graphs[150:], soluble[150:]) > 0.75
    save(model, tmp_path / "graphs.mercer")
    again = load(tmp_path / "graphs.mercer")
    np.testing.assert_array_equal(
        again.decision_function(graphs[150:]), model.decision_function(graphs[150:])
    )
    assert again.certificate_ == model.certificate_


def test_fits_follow_each_other_and_searches_see_the_parameter():
    X, y = heart()
    model = SVC(RBF(gamma=0.1), approximation=30).fit(X, y)
    model.set_params(approximation=None).fit(X, y)
    assert not hasattr(model, "residual_trace_")
    plain = SVC(RBF(gamma=0.1)).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))
    search = GridSearchCV(SVC(RBF(gamma=0.1)), {"approximation": [2, Nystrom(80)]}, cv=3).fit(X, y)
    assert search.best_params_["approximation"] == Nystrom(80)
    probable = SVC(RBF(gamma=0.1), approximation=30, probability=True).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(probable.sum(axis=1), 1)
    tuned = SVC(RBF(gamma=0.1), C="auto", approximation=30).fit(X, y)
    assert tuned.score(X, y) > 0.8
    assert isinstance(tuned.kernel_, NystromKernel)


@pytest.mark.parametrize(
    "machine", [SVC(), NuSVC(nu=0.2), SVR(), OneClassSVM(), KernelPCA(kernel="rbf")], ids=str
)
def test_bad_input(machine):
    X, y = heart()
    y = np.unique(y, return_inverse=True)[1]  # regressions want numbers
    for bad in (0, -1, 2.5, "all", True):
        with pytest.raises(InvalidParameter, match=r"approximation=.* has to be None, a number"):
            clone(machine).set_params(approximation=bad).fit(X, y)
    with pytest.raises(InvalidParameter, match="there are 270 rows"):
        clone(machine).set_params(approximation=300).fit(X, y)
    small = clone(machine).set_params(approximation=5)
    with pytest.raises(InvalidParameter, match="a matrix or a function in place of a kernel"):
        clone(small).set_params(kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(NotPositiveDefinite, match="need a positive definite kernel"):
        clone(small).set_params(kernel="sigmoid").fit(X, y)


def test_components():
    X, _ = iris()
    kernel = RBF(gamma=0.3)
    exact = KernelPCA(4, kernel=kernel).fit(X)
    whole = KernelPCA(4, kernel=kernel, approximation=len(X)).fit(X)
    np.testing.assert_allclose(whole.eigenvalues_, exact.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(
        np.abs(whole.transform(X[:9])), np.abs(exact.transform(X[:9])), atol=1e-8
    )
    for method in ("pivoted", "uniform", "leverage", "kmeans"):
        model = KernelPCA(4, kernel=kernel, approximation=Nystrom(25, method)).fit(X)
        # Weyl: K = K̃ + E with E ⪰ 0, so no eigenvalue falls, and none rises by more than tr E.
        rise = exact.eigenvalues_ - model.eigenvalues_
        assert (rise > -1e-9).all()
        assert (rise < model.residual_trace_ + 1e-9).all()
        np.testing.assert_allclose(model.transform(X), model.fit_transform(X), atol=1e-9)
        gram = model.kernel_(X)
        centred = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
        np.testing.assert_allclose(
            np.linalg.eigvalsh(centred)[::-1][:4], model.eigenvalues_, rtol=1e-9
        )
        assert (model.residuals_ < 1e-9).all()
    every = KernelPCA(kernel=kernel, approximation=10).fit(X)
    assert every.eigenvalues_.shape == (10,)
    assert "landmarks" in every.choice_
    again = every.set_params(approximation=None, n_components=4).fit(X)
    np.testing.assert_allclose(again.eigenvalues_, exact.eigenvalues_, rtol=1e-9)
    back = KernelPCA(5, kernel="rbf", approximation=40, fit_inverse_transform=True, alpha=1e-3)
    T = back.fit_transform(X)
    assert np.abs(back.inverse_transform(T) - X).mean() < 0.3
