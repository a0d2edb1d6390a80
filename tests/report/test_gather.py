"""What is gathered, against the model itself and plain formulas."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.decomposition import KernelPCA
from sklearn.dummy import DummyClassifier
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import GridSearchCV

from mercer import (
    RBF,
    SVC,
    SVR,
    FunctionKernel,
    InvalidInput,
    Linear,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Record,
    describe,
)
from mercer.report import text
from mercer.report.sampling import sample
from mercer.report.surface import _short_names
from mercer.report.view import render
from tests.report import cases

(X, X_TEST, Y, Y_TEST), COLUMNS = cases.heart()


def test_headline_and_verdict():
    record = cases.two_classes()
    assert record.headline.startswith(f"Accuracy {text.percent(record.scores[0].value)} on 81 test")
    assert record.trust == "yes"
    assert "can be trusted" in record.verdict
    assert "always answering “healthy”" in record.verdict


def test_a_useless_model_is_not_trusted():
    rng = np.random.default_rng(0)
    noise, coin = rng.normal(size=(200, 2)), rng.integers(2, size=200)
    model = SVC(gamma=100.0).fit(noise[:100], coin[:100])
    record = describe(model, noise[:100], coin[:100], noise[100:], coin[100:])
    assert record.trust == "no"
    assert "Do not rely" in record.verdict
    assert "by heart" in record.remarks[0]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_unfinished_fit_needs_care():
    model = SVC(C=100.0, max_iter=150).fit(X, Y)
    record = describe(model, X, Y, X_TEST, Y_TEST)
    assert record.proof.status == "max_iter"
    assert record.trust == "caution"
    assert "stopped early" in record.verdict


def test_confusion_is_that_of_scikit_learn():
    model = SVC().fit(X, Y)
    record = describe(model, X, Y, X_TEST, Y_TEST)
    expected = confusion_matrix(Y_TEST, model.predict(X_TEST))
    np.testing.assert_array_equal(record.confusion.counts, expected)
    assert record.confusion.labels == ["disease", "healthy"]


MACHINES = [
    SVC(),
    SVC(RBF(gamma=0.1) + 0.5 * Linear()),
    NuSVC(nu=0.4),
    LinearSVC(C=0.1),
    LinearSVC(C=0.1, loss="hinge"),
]


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_contributions_add_up_to_the_decision_of_two_classes(machine):
    model = machine.fit(X, Y)
    record = describe(model, X, Y, X_TEST, Y_TEST)
    near = record.neighbours
    rows = [int(row) - 1 for row in near.rows]
    decision = np.abs(model.decision_function(X_TEST[rows]))
    np.testing.assert_allclose(near.decision, decision, atol=1e-5)
    parts = near.contribution.sum(axis=1) + near.rest + near.bias
    np.testing.assert_allclose(parts, near.decision, atol=1e-9)
    assert near.predicted == model.predict(X_TEST[rows]).tolist()
    assert near.wrong.tolist() == (model.predict(X_TEST[rows]) != Y_TEST[rows]).tolist()


@pytest.mark.parametrize("kind", ["ovo", "ovr", "crammer_singer", "weston_watkins"])
def test_contributions_add_up_with_many_classes(kind):
    A, b = load_iris(return_X_y=True)
    model = SVC(multi_class=kind, decision_function_shape="ovr").fit(A[::2], b[::2])
    record = describe(model, A[::2], b[::2], A[1::2], b[1::2])
    near = record.neighbours
    rows = [int(row) - 1 for row in near.rows]
    pairs = [question.split(" rather than ") for question in near.question]
    winners, seconds = np.array(pairs, dtype=int).T
    assert winners.tolist() == model.predict(A[1::2][rows]).tolist()
    at = np.arange(len(rows))
    if kind == "ovo":
        model.decision_function_shape = "ovo"
        values = model.decision_function(A[1::2][rows])
        column = {(0, 1): 0, (0, 2): 1, (1, 2): 2}
        signs = np.where(winners < seconds, 1, -1)
        places = [column[min(p), max(p)] for p in zip(winners, seconds, strict=True)]
        expected = signs * values[at, places]
    else:
        values = model.decision_function(A[1::2][rows])
        expected = values[at, winners] - values[at, seconds]
    np.testing.assert_allclose(near.decision, expected, atol=1e-6)
    render(record)


def test_the_nearest_are_the_nearest():
    model = SVC(RBF(gamma=0.2)).fit(X, Y)
    near = describe(model, X, Y, X_TEST, Y_TEST, columns=COLUMNS).neighbours
    rows = [int(row) - 1 for row in near.rows]
    distances = RBF(gamma=0.2).distance(X_TEST[rows], X[model.support_])
    np.testing.assert_allclose(near.distance, np.sort(distances, axis=1)[:, :5], atol=1e-7)
    assert near.columns == list(COLUMNS)
    # The cells are those of the rows that are named.
    first = int(near.support_rows[near.near[0, 0]]) - 1
    assert near.support_cells[near.near[0, 0]] == [text.cell(v) for v in X[first].tolist()]
    assert near.cells[0] == [text.cell(value) for value in X_TEST[rows[0]].tolist()]


def test_support_vectors_are_counted_by_the_machine():
    model = SVC(C=2.0).fit(X, Y)
    kinds = describe(model, X, Y, X_TEST, Y_TEST).support
    assert kinds.support == len(model.support_)
    assert [group.support for group in kinds.groups] == model.n_support_.tolist()
    assert sum(group.free for group in kinds.groups) == model.free_.sum()
    assert sum(group.bound for group in kinds.groups) == model.bound_.sum()
    wrong = (model.predict(X) != Y).sum()
    assert sum(group.wrong for group in kinds.groups) == wrong


def test_tube_and_outliers_are_counted():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(80, 2))
    y = A[:, 0] + 0.3 * rng.normal(size=80)
    model = SVR(epsilon=0.2, tol=1e-6).fit(A[:60], y[:60])
    above, below, inside = describe(model, A[:60], y[:60], A[60:], y[60:]).support.groups
    error = y[:60] - model.predict(A[:60])
    assert above.bound == (error > 0.2 + 1e-4).sum()
    assert below.bound == (error < -0.2 - 1e-4).sum()
    assert above.rows + below.rows + inside.rows == 60
    record = cases.one_class()
    assert record.support.groups[0].rows == 40
    assert record.trust == "caution"
    assert "fewer test rows" in record.verdict


def test_shares_of_parts_add_up():
    record = cases.many_classes()
    assert [part.name for part in record.parts] == ["RBF(gamma=0.5)", "Linear()"]
    assert [part.weight for part in record.parts] == [1.0, 0.5]
    assert sum(part.share for part in record.parts) == pytest.approx(1)
    A = cases.linear()
    assert A.parts_are_columns
    assert sum(part.share for part in A.parts) == pytest.approx(1)


def test_the_norm_of_a_part_by_hand():
    model = SVC(RBF(gamma=0.1) + 0.5 * Linear()).fit(X, Y)
    record = describe(model, X, Y, X_TEST, Y_TEST)
    a, S = model.dual_coef_[0], model.support_vectors_
    assert record.parts[0].norm == pytest.approx(np.sqrt(a @ RBF(gamma=0.1)(S) @ a))
    assert record.parts[1].norm == pytest.approx(np.sqrt(0.5 * a @ (S @ S.T) @ a))
    f = [RBF(gamma=0.1)(X_TEST, S) @ a, 0.5 * X_TEST @ S.T @ a]
    covariance = np.cov(f[0], sum(f))
    assert record.parts[0].share == pytest.approx(covariance[0, 1] / covariance[1, 1])


def test_the_map_is_that_of_scikit_learn():
    record = describe(SVC(RBF(gamma=0.1)).fit(X, Y), X, Y, X_TEST, Y_TEST)
    theirs = KernelPCA(2, kernel="rbf", gamma=0.1).fit(X)
    train = record.map.point < 0
    assert train.sum() == len(X)  # no sample was needed
    place = np.column_stack([record.map.x, record.map.y])
    expected = theirs.transform(X)
    signs = np.sign((place[train] * expected).sum(axis=0))
    np.testing.assert_allclose(place[train], expected * signs, atol=1e-7)
    rows = [int(row) - 1 for row in record.neighbours.rows]
    np.testing.assert_allclose(place[~train], theirs.transform(X_TEST[rows]) * signs, atol=1e-7)
    assert record.map.support.sum() == len(SVC(RBF(gamma=0.1)).fit(X, Y).support_)


def test_the_gram_picture_is_sorted_by_class():
    picture = describe(SVC(RBF(gamma=0.1)).fit(X, Y), X, Y, X_TEST, Y_TEST).gram
    order = np.argsort(Y, kind="stable")
    K = RBF(gamma=0.1)(X[order])
    span = picture.high - picture.low
    np.testing.assert_allclose(picture.low + picture.levels / 255 * span, K, atol=span / 400)
    same = K[: picture.sizes[0], : picture.sizes[0]].mean()
    assert picture.means[0, 0] == pytest.approx(same)
    assert picture.labels == ["disease", "healthy"]


def test_the_search_is_read_as_it_is():
    record = cases.two_classes()
    surface = record.search
    assert surface.parameters == ["C", "gamma"]
    assert surface.values[1] == ["0.001", "0.01", "0.1", "1"]
    assert surface.places.shape == (12, 2)
    assert surface.dropped.any()
    assert np.isnan(surface.mean[surface.dropped]).all()
    assert (surface.bound[surface.dropped] == 0.75).all()
    assert surface.mean[surface.best] == np.nanmax(surface.mean)
    assert cases.regression().search.parameters == ["C"]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["param_svc__C", "param_svc__kernel__gamma"], ["C", "gamma"]),
        (["param_kernel__left__kernel__gamma", "param_kernel__right__gamma"],
         ["left gamma", "right gamma"]),
        (["param_a__C", "param_b__C"], ["a C", "b C"]),
    ],
)  # fmt: skip
def test_parameters_have_short_names(names, expected):
    assert _short_names(names) == expected


def test_a_search_over_three_parameters_is_a_table():
    grid = {"C": [1.0, 10.0], "kernel": ["rbf", "linear"], "shrinking": [True, False]}
    search = GridSearchCV(SVC(), grid, cv=2).fit(X, Y)
    record = describe(search.best_estimator_, X, Y, X_TEST, Y_TEST, search=search)
    assert len(record.search.parameters) == 3
    assert "All numbers" in render(record)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, lambda d: pa.table(dict(d))])
def test_frames_of_all_kinds(make):
    data = {name: X[:, j] for j, name in enumerate(COLUMNS)}
    test = {name: X_TEST[:, j] for j, name in enumerate(COLUMNS)}
    frame, other = make(data), make(test)
    model = SVC(RBF(gamma=0.1).on(*COLUMNS[:4]) + RBF(gamma=0.2).on(*COLUMNS[4:])).fit(frame, Y)
    record = describe(model, frame, Y, other, Y_TEST)
    assert record.neighbours.columns == list(COLUMNS)
    assert len(record.parts) == 2
    render(record)


def test_rows_keep_their_names():
    names = [f"patient {i}" for i in range(len(X_TEST))]
    model = SVC().fit(X, Y)
    given = describe(model, X, Y, X_TEST, Y_TEST, test_rows=names)
    assert set(given.neighbours.rows) <= set(names)
    frame, other = pd.DataFrame(X, columns=COLUMNS), pd.DataFrame(X_TEST, names, COLUMNS)
    indexed = describe(SVC().fit(frame, Y), frame, Y, other, Y_TEST)
    assert indexed.neighbours.rows == given.neighbours.rows


def test_precomputed_sparse_and_function_kernels():
    K, K_test = RBF(gamma=0.1)(X), RBF(gamma=0.1)(X_TEST, X)
    record = describe(SVC("precomputed").fit(K, Y), K, Y, K_test, Y_TEST)
    assert record.neighbours.columns == []
    assert np.isnan(record.neighbours.distance).all()
    render(record)
    thin, thin_test = sparse.csr_matrix(X), sparse.csr_matrix(X_TEST)
    record = describe(SVC().fit(thin, Y), thin, Y, thin_test, Y_TEST)
    assert len(record.neighbours.columns) == 13
    render(record)
    model = SVC(lambda A, B: A @ B.T).fit(X, Y)
    render(describe(model, X, Y, X_TEST, Y_TEST))


def test_unknown_answers_and_new_classes():
    model = SVC().fit(X, Y)
    record = describe(model, X, Y, X_TEST, None)
    assert record.scores == []
    assert record.trust == "unknown"
    assert set(record.neighbours.actual) == {"unknown"}
    render(record)
    strange = np.where(np.arange(len(Y_TEST)) < 5, "unheard of", Y_TEST)
    record = describe(model, X, Y, X_TEST, strange)
    assert record.confusion.labels[-1] == "unheard of"
    assert record.confusion.counts[-1].sum() == 5
    render(record)


def test_a_baseline_of_ones_own():
    other = DummyClassifier(strategy="constant", constant="disease").fit(X, Y)
    record = describe(SVC().fit(X, Y), X, Y, X_TEST, Y_TEST, baseline=other)
    assert record.scores[0].baseline == pytest.approx((Y_TEST == "disease").mean())
    assert "DummyClassifier" in record.baseline


def test_wrong_input():
    model = SVC().fit(X, Y)
    with pytest.raises(InvalidInput, match="X_test has 81 rows and its answers number 80"):
        describe(model, X, Y, X_TEST, Y_TEST[1:])
    with pytest.raises(InvalidInput, match="y_train is missing"):
        describe(model, X, None, X_TEST, Y_TEST)
    with pytest.raises(InvalidInput, match="X_test has no rows"):
        describe(model, X, Y, X_TEST[:0], Y_TEST[:0])
    outside = OneClassSVM().fit(X)
    assert describe(outside, X, None, X_TEST, np.ones(81)).confusion.counts.sum() == 81


@pytest.mark.parametrize("limit", [10, 40])
def test_samples_forget_no_group(limit):
    groups = np.repeat([0, 1, 2], [1000, 30, 4])
    rows = sample(groups, limit, 0)
    assert len(rows) == limit
    assert set(groups[rows]) == {0, 1, 2}
    assert (np.diff(rows) > 0).all()
    wrong = np.zeros(1034, dtype=bool)
    wrong[[7, 500]] = True
    assert {7, 500} <= set(sample(groups, limit, 0, always=wrong))


def test_a_large_page_stays_small():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6000, 30))
    y = A[:, 0] + A[:, 1] ** 2 > 1
    model = SVC(gamma=0.02, tol=0.1).fit(A[:3000], y[:3000])
    record = describe(model, A[:3000], y[:3000], A[3000:], y[3000:])
    page = render(record)
    assert len(page.encode()) < 1_000_000
    assert "A sample of 40 of 3,000 test rows" in page
    assert "A sample of 300 of 3,000 training rows" in page
    assert "(a sample of 3,000)" in page


def test_a_machine_that_tunes_itself_brings_its_search():
    machine = SVC(RBF("auto"), C="auto").fit(X, Y)
    record = describe(machine, X, Y, X_TEST, Y_TEST)
    assert set(record.search.parameters) == {"C", "gamma"}
    best = record.search.places[record.search.best]
    chosen = dict(zip(record.search.parameters, best, strict=True))
    values = dict(zip(record.search.parameters, record.search.values, strict=True))
    assert values["C"][chosen["C"]] == text.number(machine.C_, 3)
    assert values["gamma"][chosen["gamma"]] == text.number(machine.kernel_.gamma, 3)
    assert record.search.folds == 5
    assert sum(group.bound for group in record.support.groups) == machine.bound_.sum()
    assert any(fact.name == "C" for fact in record.facts)


_RNG = np.random.default_rng(3)
A = _RNG.normal(size=(60, 3))
NUMBERS = A[:, 0] + 0.1 * _RNG.normal(size=60)
CODES = (NUMBERS > 0).astype(int)
MANY = np.arange(60) % 30
EDGES = {
    "no support vectors": (SVR(epsilon=100.0), A, NUMBERS, A, NUMBERS),
    "constant answers": (SVR(), A, NUMBERS, A[:4], np.ones(4)),
    "one row": (SVR(), A, NUMBERS, A[:1], NUMBERS[:1]),
    "two rows": (NuSVR(), A, NUMBERS, A[:2], NUMBERS[:2]),
    "hard margin": (SVC("linear", C=np.inf), A, CODES, A, CODES),
    "l1": (LinearSVC(penalty="l1", dual=False), A, CODES, A, CODES),
    "linear regression": (LinearSVR(), A, NUMBERS, A, NUMBERS),
    "lists": (SVC(), A.tolist(), CODES.tolist(), A.tolist(), CODES.tolist()),
    "equal rows": (SVC(), np.ones_like(A), CODES, np.ones_like(A), CODES),
    "two training rows": (SVC(RBF(gamma=1.0)), A[:2], [0, 1], A, CODES),
    "thirty classes": (SVC(), A, MANY, A, MANY),
    "votes": (SVC(decision_function_shape="ovo"), A, MANY % 4, A, MANY % 4),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges(name):
    machine, train, answers, test, truth = EDGES[name]
    record = describe(machine.fit(train, answers), train, answers, test, truth)
    page = render(Record.from_dict(record.to_dict()))
    assert record.headline in page
    if len(test) < 30:
        assert record.trust == "caution"
    if len(test) < 3:
        assert "too few rows for an interval" in record.headline


def test_objects_that_are_texts():
    words = ["ab", "cd", "abc", "de"] * 5
    kernel = FunctionKernel(lambda a, b: float(len(set(a) & set(b))))
    model = SVC(kernel).fit(words, [0, 1, 0, 1] * 5)
    record = describe(model, words, [0, 1, 0, 1] * 5, ["ab", "xd"], [0, 1])
    assert record.neighbours.columns == ["object"]
    assert record.neighbours.cells == [["ab"], ["xd"]]
    render(record)


def test_the_old_name_of_random_state():
    X, y = load_iris(return_X_y=True)
    model = SVC().fit(X[::2], y[::2])
    with pytest.warns(FutureWarning, match="describe: 'seed' is now called 'random_state'"):
        old = describe(model, X[::2], y[::2], X[1::2], y[1::2], seed=3)
    new = describe(model, X[::2], y[::2], X[1::2], y[1::2], random_state=3)
    assert ("Seed", "3") in [(fact.name, fact.value) for fact in old.reproduction]
    assert old.to_dict()["scores"] == new.to_dict()["scores"]
