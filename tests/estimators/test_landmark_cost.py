"""What landmarks cost: bounds in certificates against the optima of exact problems."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone

from mercer import (
    RBF,
    SVC,
    KernelLogisticRegression,
    KernelRidge,
    Nystrom,
    StreamedClassifier,
    StreamedRidge,
    certify,
    load_data,
)
from mercer.landmarks import basis as landmark_basis
from tests.estimators.cases import heart, wine

KERNEL = RBF(gamma=0.05)


def diabetes():
    data = load_data("diabetes")
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    y = (data.y - data.y.mean()) / data.y.std()
    return X, np.column_stack([y, np.abs(y)]), np.random.default_rng(0).random(len(y))


def check(found, exact, landmarks, name):
    """The optima are no further apart than the certificate says."""
    assert found.problem == f"{name}, Nyström with {landmarks:,} landmarks"
    apart = found.primal - exact.primal
    slack = 1e-9 * exact.primal
    assert -exact.gap - slack <= apart
    assert apart <= found.approximation_cost + found.gap + slack
    assert found.approximation_cost <= found.dual + slack
    return found.approximation_cost


# ---- ridge ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("machine", [KernelRidge, StreamedRidge])
@pytest.mark.parametrize("method", ["pivoted", "uniform", "kmeans"])
def test_ridge(machine, method, constant):
    X, Y, weights = diabetes()
    settings = {"alpha": 3.0, "kernel": KERNEL, "fit_intercept": constant}
    exact = KernelRidge(**settings).fit(X, Y, weights).certificate_
    costs = []
    for count in (10, 100, 300):
        few = Nystrom(count, method)
        model = machine(**settings, approximation=few).fit(X, Y, weights)
        costs.append(check(model.certificate_, exact, count, "kernel ridge regression"))
        judged = certify(model, X, Y, weights)
        assert judged.problem == model.certificate_.problem
        assert judged.approximation_cost == pytest.approx(costs[-1], rel=1e-5)
    assert costs[0] > costs[1] > costs[2]
    assert costs[2] < 0.05 * exact.primal


@pytest.mark.parametrize("machine", [KernelRidge, StreamedRidge])
def test_the_cost_of_ridge_is_that_of_its_formula(machine):
    X, Y, w = diabetes()
    alpha, few = 3.0, Nystrom(60, "uniform")
    model = machine(alpha, kernel=KERNEL, approximation=few, fit_intercept=True, tol=1e-9)
    model.fit(X, Y, w)
    landmarks = getattr(model, "_landmark_points", None) or model.X_fit_
    K, KM = KERNEL(X), KERNEL(X, landmarks)
    seen = KM @ np.linalg.solve(KERNEL(landmarks), KM.T)
    root = np.sqrt(np.maximum(np.diag(K - seen), 0.0))
    cost = 0.0
    for y, f in zip(Y.T, model.predict(X).T, strict=True):
        c = w * (y - f)
        unseen = (np.abs(c) @ root) ** 2
        assert c @ (K - seen) @ c <= unseen <= (c @ c) * np.trace(K - seen)
        t = np.linspace(0, 1, 20_001)
        square = c @ (c / w) + c @ seen @ c / alpha
        lower = t * (c @ y) - t**2 * (square + unseen / alpha) / 2
        cost += c @ y - square / 2 - lower.max()
    assert model.certificate_.approximation_cost == pytest.approx(cost, rel=1e-6)


def test_every_target_may_have_its_own_lambda():
    X, Y, weights = diabetes()
    machine = KernelRidge([1.0, 20.0], kernel=KERNEL, approximation=80)
    model = clone(machine).fit(X, Y, weights)
    alone = [
        clone(machine).set_params(alpha=alpha).fit(X, y, weights).certificate_.approximation_cost
        for alpha, y in zip([1.0, 20.0], Y.T, strict=True)
    ]
    assert model.certificate_.approximation_cost == pytest.approx(sum(alone), rel=1e-6)
    judged = certify(model, X, Y, weights)
    assert judged.approximation_cost == pytest.approx(sum(alone), rel=1e-5)
    assert judged.problem == model.certificate_.problem


# ---- classes -------------------------------------------------------------------------------------


def labels_and_weights(data):
    X, y = data()
    return X, y, np.random.default_rng(1).uniform(0.5, 2, len(y))


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("data", [heart, wine], ids=lambda data: data.__name__)
def test_logistic(data, constant):
    X, y, weights = labels_and_weights(data)
    settings = {"C": 0.5, "kernel": KERNEL, "fit_intercept": constant}
    exact = KernelLogisticRegression(**settings, tol=1e-8).fit(X, y, weights).certificate_
    machines = [
        KernelLogisticRegression(**settings),
        StreamedClassifier(**settings, loss="logistic", tol=1e-5),
    ]
    for machine in machines:
        costs = []
        for count in (8, 60, 150):
            model = clone(machine).set_params(approximation=Nystrom(count, "uniform"))
            found = model.fit(X, y, weights).certificate_
            costs.append(check(found, exact, count, "logistic classification"))
            judged = certify(model, X, y, weights)
            assert judged.problem == found.problem
            assert judged.approximation_cost == pytest.approx(costs[-1], rel=1e-4)
        assert costs[0] > costs[1] > costs[2]
        assert costs[2] < 0.1 * exact.primal


def squared_hinge(X, t, s, C, constant):
    """Return the best value: the dual has K + I/2Cs in place of K, and no upper bounds."""
    Q = KERNEL(X) + np.diag(1 / (2 * C * s))
    if constant:
        found = SVC("precomputed", C=np.inf, tol=1e-6).fit(Q, t).certificate_
        assert found.relative_gap < 1e-6
        return found.dual
    P = t[:, None] * Q * t
    found = minimize(
        lambda a: (0.5 * a @ P @ a - a.sum(), P @ a - 1),
        np.full(len(t), 0.1),
        jac=True,
        bounds=[(0, None)] * len(t),
        method="L-BFGS-B",
        options={"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-9},
    )
    return -found.fun


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("data", [heart, wine], ids=lambda data: data.__name__)
def test_squared_hinge(data, constant):
    X, y, weights = labels_and_weights(data)
    C = 0.5
    highs = np.unique(y)[1:] if data is heart else np.unique(y)
    signs = [np.where(y == high, 1.0, -1.0) for high in highs]
    best = sum(squared_hinge(X, t, weights, C, constant) for t in signs)
    costs = []
    for count in (8, 60, 150):
        model = StreamedClassifier(
            C, kernel=KERNEL, fit_intercept=constant, approximation=count, tol=1e-5
        ).fit(X, y, weights)
        found = model.certificate_
        assert found.problem == f"squared hinge classification, Nyström with {count} landmarks"
        assert -1e-6 * best <= found.primal - best
        assert found.primal - best <= found.approximation_cost + found.gap + 1e-6 * best
        judged = certify(model, X, y, weights)
        assert judged.problem == found.problem
        assert judged.approximation_cost == pytest.approx(found.approximation_cost, rel=1e-4)
        costs.append(found.approximation_cost)
    assert costs[0] > costs[1] > costs[2]
    assert costs[2] < 0.2 * best


# ---- all, few, and cut short ---------------------------------------------------------------------


def machines(approximation):
    settings = {"kernel": RBF(gamma=1.0), "approximation": approximation}
    return [
        KernelRidge(1.0, **settings, fit_intercept=True),
        KernelLogisticRegression(**settings),
        StreamedRidge(**settings),
        StreamedClassifier(**settings),
        StreamedClassifier(**settings, loss="logistic"),
    ]


@pytest.mark.parametrize("number", range(5))
def test_all_rows_as_landmarks_cost_nothing(number):
    X, y = wine()
    model = machines(len(X))[number].fit(X, y)
    assert 0 <= model.certificate_.approximation_cost < 1e-6 * model.certificate_.dual


@pytest.mark.parametrize("number", range(5))
def test_a_part_of_the_landmarks_gives_a_bound_too(monkeypatch, number):
    X, y = wine()
    whole = machines(150)[number].fit(X, y)
    least = whole.certificate_.approximation_cost  # read before fewer landmarks are looked at
    monkeypatch.setattr(landmark_basis, "_WHITENING", 0)
    monkeypatch.setattr(landmark_basis, "_SOME_WHITENING", 0)
    costs = []
    for share in (32, 100):
        monkeypatch.setattr(landmark_basis, "_WHITENING_A_VALUE", share)
        part = machines(150)[number].fit(X, y)
        np.testing.assert_array_equal(part.dual_coef_, whole.dual_coef_)
        assert part.certificate_.approximation_cost <= part.certificate_.dual
        costs.append(part.certificate_.approximation_cost)
        judged = certify(part, X, y)
        assert judged.approximation_cost == pytest.approx(costs[-1], rel=1e-4)
    assert costs[0] > costs[1] > least


@pytest.mark.parametrize("number", range(2, 5))
def test_a_fit_that_was_cut_short_has_the_bound_too(number):
    X, y = heart()
    y = (y == "disease").astype(int)
    machine = machines(100)[number].set_params(kernel=KERNEL, tol=1e-7)
    best = clone(machine).set_params(approximation=len(X)).fit(X, y).certificate_
    for limit in ({"max_iter": 1}, {"time_limit": 1e-9}):
        with pytest.warns(match="it stopped at"):
            found = clone(machine).set_params(**limit).fit(X, y).certificate_
        # Where the dual value is below that of doing nothing, the gap has it all.
        assert (found.approximation_cost > 0) == (found.dual > 0)
        assert found.primal - best.primal <= found.gap + found.approximation_cost
