"""Conformal promises: against brute force, and over many draws."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.utils.estimator_checks import check_estimator

import mercer as m
from mercer.exceptions import InvalidInput, InvalidParameter

RIDGE = m.KernelRidge(0.3, kernel="rbf", gamma=0.5)


def draw(random, rows):
    X = random.normal(size=(rows, 2))
    noise = random.normal(size=rows) * (1 + X[:, 1] ** 2)
    return X, np.sin(2 * X[:, 0]) + 0.3 * noise


X, Y = draw(np.random.default_rng(0), 40)
NEW, _ = draw(np.random.default_rng(1), 4)


def without(machine, row):
    return clone(machine).fit(np.delete(X, row, axis=0), np.delete(Y, row))


@pytest.mark.parametrize(
    "machine",
    [
        RIDGE,
        m.KernelRidge(2.0, kernel="laplacian", gamma=0.3),
        m.GaussianProcessRegressor(m.RBF(length_scale=1.0), alpha=0.1, optimizer=None),
    ],
    ids=["rbf", "laplacian", "gp"],
)
def test_the_closed_form_is_that_of_n_fits(machine):
    found = m.Conformal(machine, 0.8, "jackknife+").fit(X, Y)
    machines = [without(machine, row) for row in range(len(X))]
    answers = np.array([each.predict(NEW) for each in machines])
    sizes = np.array([abs(Y[i] - each.predict(X[i : i + 1])[0]) for i, each in enumerate(machines)])
    low = np.sort(answers - sizes[:, None], axis=0)[int(0.2 * 41) - 1]
    high = np.sort(answers + sizes[:, None], axis=0)[int(np.ceil(0.8 * 41)) - 1]
    assert np.allclose(found.scores_, sizes, atol=1e-10)
    assert np.allclose(found.predict_interval(NEW), np.c_[low, high], atol=1e-10)


def test_machines_without_a_closed_form_are_fitted_n_times():
    machine = KNeighborsRegressor(3)
    found = m.Conformal(machine, 0.8, "jackknife+").fit(X, Y)
    sizes = [abs(Y[i] - without(machine, i).predict(X[i : i + 1])[0]) for i in range(len(X))]
    assert np.allclose(found.scores_, sizes)


def test_the_full_set_is_what_trying_every_target_gives():
    found = m.Conformal(RIDGE, 0.8, "full").fit(X, Y).predict_interval(NEW)
    for row in range(2):
        inside = []
        for target in np.linspace(-4, 4, 401):
            rows, targets = np.vstack([X, NEW[row]]), np.append(Y, target)
            sizes = np.abs(targets - clone(RIDGE).fit(rows, targets).predict(rows))
            if (sizes >= sizes[-1] - 1e-12).mean() > 0.2:
                inside.append(target)
        assert abs(found[row, 0] - min(inside)) <= 0.021
        assert abs(found[row, 1] - max(inside)) <= 0.021


def coverage_of_numbers(machine, draws, rows=25, new=20):
    random = np.random.default_rng(7)
    shares = []
    for _ in range(draws):
        (A, a), (B, b) = draw(random, rows), draw(random, new)
        low, high = machine.fit(A, a).predict_interval(B).T
        shares.append(((low <= b) & (b <= high)).mean())
    return np.mean(shares), np.std(shares) / np.sqrt(draws)


@pytest.mark.parametrize(
    ("options", "promise"),
    [
        ({"method": "split", "calibration_share": 0.5}, 0.8),
        ({"method": "split", "calibration_share": 0.5, "measure": "local"}, 0.8),
        ({"method": "cv+", "cv": 5}, 0.6),
        ({"method": "jackknife+"}, 0.6),
        ({"method": "full"}, 0.8),
    ],
    ids=lambda value: value.get("method", "") if isinstance(value, dict) else "",
)
def test_intervals_hold_the_truth_as_often_as_promised(options, promise):
    mean, deviation = coverage_of_numbers(m.Conformal(RIDGE, 0.8, random_state=0, **options), 100)
    assert mean >= promise - 3 * deviation
    assert mean >= 0.8 - 0.04  # what they all do in practice


@pytest.mark.attack
@pytest.mark.parametrize("method", ["split", "cv+", "jackknife+", "full"])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_intervals_hold_the_truth_over_a_thousand_draws(method, level):
    promise = level if method in ("split", "full") else 2 * level - 1
    machine = m.Conformal(RIDGE, level, method, calibration_share=0.5, cv=5, random_state=0)
    mean, deviation = coverage_of_numbers(machine, 1000, rows=40)
    assert mean >= promise - 3 * deviation


def classes_of(random, rows):
    A, a = draw(random, rows)
    return A, np.digitize(a, [-0.5, 0.5])


@pytest.mark.parametrize("method", ["split", "cv+"])
@pytest.mark.parametrize("measure", ["lac", "aps"])
def test_sets_hold_the_class_as_often_as_promised(method, measure):
    random, shares = np.random.default_rng(3), []
    machine = m.Conformal(
        LogisticRegression(),
        0.8,
        method,
        measure=measure,
        cv=4,
        calibration_share=0.5,
        random_state=0,
    )
    for _ in range(60):
        (A, a), (B, b) = classes_of(random, 50), classes_of(random, 20)
        shares.append(machine.fit(A, a).predict_set(B)[np.arange(20), b].mean())
    promise = 0.8 if method == "split" else 0.6
    assert np.mean(shares) >= promise - 3 * np.std(shares) / np.sqrt(60)
    assert np.mean(shares) >= 0.75


def test_each_class_has_its_own_promise():
    random, hits = np.random.default_rng(4), np.zeros((2, 2))
    machine = m.Conformal(
        m.SVC(), 0.8, "split", by_class=True, calibration_share=0.5, random_state=0
    )
    for _ in range(60):
        A, a = draw(random, 120)
        B, b = draw(random, 60)
        rare, new = (a > 0.8).astype(int), (b > 0.8).astype(int)
        inside = machine.fit(A, rare).predict_set(B)[np.arange(60), new]
        for c in range(2):
            hits[c] += inside[new == c].sum(), (new == c).sum()
    assert (hits[:, 0] / hits[:, 1] >= 0.77).all()


def test_outliers_have_p_values():
    random, small = np.random.default_rng(5), []
    machine = m.Conformal(m.OneClassSVM(), random_state=0)
    for _ in range(40):
        found = machine.fit(random.normal(size=(80, 2))).predict_pvalue(random.normal(size=(30, 2)))
        small.append((found <= 0.1).mean())
    assert np.mean(small) <= 0.1 + 3 * np.std(small) / np.sqrt(40)
    assert machine.predict_pvalue([[9.0, 9.0]]) == pytest.approx(1 / 21)


def test_ties_and_duplicates_keep_the_promise():
    random, shares = np.random.default_rng(6), []
    machine = m.Conformal(RIDGE, 0.8, "split", calibration_share=0.5, random_state=0)
    for _ in range(60):
        A = random.integers(0, 2, size=(60, 2)).astype(float)
        a = np.round(A[:, 0] + random.normal(size=60))
        low, high = machine.fit(A[:40], a[:40]).predict_interval(A[40:]).T
        shares.append(((low <= a[40:]) & (a[40:] <= high)).mean())
    assert np.mean(shares) >= 0.8 - 3 * np.std(shares) / np.sqrt(60)


def test_frames_and_strings_work():
    words = [("ac" * (1 + i % 3) + "gt")[: 3 + i % 4] for i in range(40)]
    found = m.Conformal(m.SVR(kernel=m.Spectrum(2)), 0.8, "cv+", cv=3).fit(words, Y)
    assert found.predict_interval(words[:3]).shape == (3, 2)
    assert found.predict(words[:3]).shape == (3,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 1.0}, "level"),
        ({"level": 0.0}, "level"),
        ({"level": 0.99}, "at least 99"),
        ({"method": "split"}, "at least 9"),
        ({"measure": "lac"}, "absolute, local"),
        ({"method": "other"}, "method"),
    ],
    ids=str,
)
def test_promises_that_cannot_be_held_are_refused(options, message):
    machine = m.Conformal(RIDGE, **{"level": 0.9, **options})
    with pytest.raises(ValueError, match=message):
        machine.fit(X[:30], Y[:30])


def test_bad_requests_are_refused():
    with pytest.raises(InvalidParameter, match="has to be an estimator"):
        m.Conformal("svc").fit(X, Y)
    with pytest.raises(InvalidParameter, match="no closed form for SVR"):
        m.Conformal(m.SVR(), method="full").fit(X, Y)
    with pytest.raises(InvalidParameter, match="no intercept"):
        m.Conformal(m.KernelRidge(fit_intercept=True), method="full").fit(X, Y)
    with pytest.raises(ValueError, match="1d array"):
        m.Conformal(RIDGE).fit(X, np.c_[Y, Y])
    with pytest.raises(ValueError, match="y to be passed"):
        m.Conformal(RIDGE).fit(X)
    with pytest.raises(InvalidInput, match="rows of class 1"):
        m.Conformal(m.SVC(), by_class=True).fit(X, np.r_[np.zeros(35), np.ones(5)].astype(int))
    with pytest.raises(AttributeError, match="take predict_interval"):
        m.Conformal(RIDGE).fit(X, Y).predict_set(X)
    with pytest.raises(NotFittedError):
        m.Conformal(RIDGE).predict_interval(X)


@pytest.mark.parametrize("machine", [RIDGE, m.SVC()], ids=["number", "classes"])
@pytest.mark.filterwarnings("ignore")
def test_it_is_an_estimator_of_scikit_learn(machine):
    results = check_estimator(m.Conformal(machine, 0.5, "split"), on_fail=None)
    assert [found["check_name"] for found in results if found["status"] == "failed"] == []
