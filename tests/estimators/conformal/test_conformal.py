"""Conformal promises: against brute force, and over many draws."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.utils.estimator_checks import check_estimator

import mercer as m
from mercer.exceptions import InvalidInput, InvalidParameter

RIDGE = m.KernelRidge(0.3, kernel="rbf", gamma=0.5)
ENDS = (m.PenaltyRegressor(m.Quantile(0.1)), m.PenaltyRegressor(m.Quantile(0.9)))


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
        ({"method": "split", "calibration_share": 0.5, "measure": "quantiles"}, 0.8),
        ({"method": "cv+", "cv": 5, "measure": "quantiles"}, 0.6),
    ],
    ids=lambda value: value.get("method", "") if isinstance(value, dict) else "",
)
def test_intervals_hold_the_truth_as_often_as_promised(options, promise):
    machine = m.Conformal(RIDGE, 0.8, random_state=0, quantile_estimators=ENDS, **options)
    mean, deviation = coverage_of_numbers(machine, 100)
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


def test_a_band_of_quantiles_is_widened_by_the_score_of_its_rank():
    machine = m.Conformal(
        RIDGE, 0.8, "split", measure="quantiles", quantile_estimators=ENDS,
        calibration_share=0.5, random_state=0,
    ).fit(X, Y)  # fmt: skip
    learn, rest = train_test_split(np.arange(40), test_size=20, random_state=0)
    ends = [clone(end).fit(X[learn], Y[learn]) for end in ENDS]

    def band(rows):  # lines that cross are a band all the same
        return np.sort([end.predict(rows) for end in ends], axis=0)

    low, high = band(X[rest])
    reach = np.sort(np.maximum(low - Y[rest], Y[rest] - high))[int(np.ceil(0.8 * 21)) - 1]
    wanted = band(NEW).T + np.array([-reach, reach])
    assert np.allclose(machine.predict_interval(NEW), wanted)
    assert np.allclose(machine.predict(NEW), clone(RIDGE).fit(X[learn], Y[learn]).predict(NEW))


def test_a_band_that_is_too_wide_by_far_is_narrowed_to_its_middle():
    wide = (ConstantOf(-9.0), ConstantOf(9.0))
    machine = m.Conformal(
        RIDGE, 0.5, "split", measure="quantiles", quantile_estimators=wide, random_state=0
    )
    low, high = machine.fit(X[:, :1], np.zeros(40)).predict_interval(X[:3, :1]).T
    assert np.allclose(low, 0)
    assert np.allclose(high, 0)


class ConstantOf(RegressorMixin, BaseEstimator):
    """The same answer to everything."""

    def __init__(self, value):
        self.value = value

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return np.full(len(X), self.value)


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


def coarse(random, rows):
    """Return rows of few kinds, half of them twice, with targets that are often equal."""
    A = random.integers(0, 3, size=(rows, 2)).astype(float)
    twice = random.permutation(rows)[: rows // 2]
    A[twice] = A[random.permutation(rows)[: rows // 2]]
    return A, np.round(A[:, 0] - A[:, 1] + random.normal(size=rows))


FAST = Ridge(1.0)
LINES = (m.PenaltyRegressor(m.Quantile(0.1)), m.PenaltyRegressor(m.Quantile(0.9)))


@pytest.mark.attack
@pytest.mark.parametrize("source", [draw, coarse], ids=["continuous", "ties and copies"])
@pytest.mark.parametrize(
    ("estimator", "options", "promise"),
    [
        (FAST, {"method": "split"}, 0.8),
        (FAST, {"method": "split", "measure": "local"}, 0.8),
        (FAST, {"method": "split", "measure": "quantiles", "quantile_estimators": LINES}, 0.8),
        (m.GaussianProcessRegressor(m.RBF(length_scale=1.0), alpha=0.3, optimizer=None),
         {"method": "split", "measure": "local"}, 0.8),
        (FAST, {"method": "cv+", "cv": 4}, 0.6),
        (RIDGE, {"method": "jackknife+"}, 0.6),
        (RIDGE, {"method": "full"}, 0.8),
    ],
    ids=["split", "local", "quantiles", "gp scale", "cv+", "jackknife+", "full"],
)  # fmt: skip
def test_numbers_over_a_thousand_draws_of_twenty_calibration_rows(
    estimator, options, promise, source
):
    random, shares = np.random.default_rng(11), []
    machine = m.Conformal(estimator, 0.8, calibration_share=0.5, random_state=0, **options)
    rows = 40 if machine.method == "split" else 20
    for _ in range(1000):
        A, a = source(random, rows + 20)
        mixed = random.permutation(rows + 20)
        learn, new = mixed[:rows], mixed[rows:]
        low, high = machine.fit(A[learn], a[learn]).predict_interval(A[new]).T
        slack = 1e-9 * (1 + np.abs(a[new]))  # a target on an end is inside
        shares.append(((low - slack <= a[new]) & (a[new] <= high + slack)).mean())
    assert np.mean(shares) >= promise - 3 * np.std(shares) / np.sqrt(1000)
    print(f"{options} {source.__name__}: {np.mean(shares):.4f} ± {np.std(shares) / 1000**0.5:.4f}")


@pytest.mark.attack
@pytest.mark.parametrize("source", [draw, coarse], ids=["continuous", "ties and copies"])
@pytest.mark.parametrize("measure", ["lac", "aps"])
@pytest.mark.parametrize(
    ("options", "promise"),
    [
        ({"method": "split"}, 0.8),
        ({"method": "split", "by_class": True}, 0.8),
        ({"method": "cv+", "cv": 4}, 0.6),
        ({"method": "cv+", "cv": 4, "by_class": True}, 0.6),
    ],
    ids=["split", "split by class", "cv+", "cv+ by class"],
)
def test_classes_over_a_thousand_draws(options, promise, measure, source):
    random, hits = np.random.default_rng(12), np.zeros((1000, 2, 2))
    machine = m.Conformal(
        GaussianNB(), 0.8, measure=measure, calibration_share=0.5, random_state=0, **options
    )
    by_class = options.get("by_class", False)
    rows = (80 if by_class else 40) // (1 if options["method"] == "split" else 2)
    for k in range(1000):
        A, a = source(random, rows + 30)
        a = (a > np.quantile(a, 0.6)).astype(int) if a.min() < a.max() else np.arange(len(a)) % 2
        mixed = random.permutation(len(A))
        learn, new = mixed[:rows], mixed[rows:]
        if np.bincount(a[learn], minlength=2).min() < (8 if by_class else 4):
            continue
        inside = machine.fit(A[learn], a[learn]).predict_set(A[new])[np.arange(30), a[new]]
        for c in range(2):
            hits[k, c] = inside[a[new] == c].sum(), (a[new] == c).sum()
    groups = hits if by_class else hits.sum(axis=1, keepdims=True)
    for c in range(groups.shape[1]):
        held, asked = groups[:, c].T
        share = held.sum() / asked.sum()
        deviation = np.std(held - share * asked) * np.sqrt(1000) / asked.sum()
        assert share >= promise - 3 * deviation
        print(f"{measure} {options} {source.__name__} class {c}: {share:.4f} ± {deviation:.4f}")


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
        ({"measure": "quantiles"}, "a pair of estimators"),
        ({"measure": "quantiles", "quantile_estimators": (RIDGE,)}, "a pair of estimators"),
        ({"measure": "quantiles", "method": "full"}, "goes with measure='absolute'"),
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
