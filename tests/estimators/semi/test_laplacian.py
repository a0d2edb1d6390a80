"""Laplacian machines: against dense textbook solutions, plain machines, and bad input."""

import gzip

import numpy as np
import pandas
import pytest
from scipy import optimize, sparse
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from mercer import (
    RBF,
    SVC,
    DisconnectedGraphWarning,
    InvalidInput,
    KernelRidge,
    LaplacianRidge,
    LaplacianSVC,
    Linear,
    NotPositiveDefinite,
    Spectrum,
    certify,
    labelled_folds,
    load,
    save,
)
from mercer.solvers.manifold_newton import ManifoldNewton
from tests.estimators import cases
from tests.real_data import real_data

X, y = make_moons(120, noise=0.07, random_state=1)
X.flags.writeable = y.flags.writeable = False
KERNEL = RBF(gamma=2.0)
NEW = np.random.default_rng(3).uniform(-1, 2, size=(30, 2))


def few(y, count, seed=0):
    """Keep labels of so many points of each class."""
    random = np.random.default_rng(seed)
    kept = np.full(len(y), -1)
    for kind in np.unique(y):
        kept[random.choice(np.flatnonzero(y == kind), count, replace=False)] = kind
    return kept


def naive_laplacian(K, neighbours=10, weights="heat", normalized=True, power=1):
    """Return Lᵖ by loops over pairs."""
    n = len(K)
    d2 = np.array([[K[i, i] - 2 * K[i, j] + K[j, j] for j in range(n)] for i in range(n)])
    order = [[j for j in np.argsort(d2[i]) if j != i][:neighbours] for i in range(n)]
    mean = np.mean([d2[i, j] for i in range(n) for j in order[i]])
    W = np.zeros((n, n))
    for i in range(n):
        for j in order[i]:
            W[i, j] = W[j, i] = 1 if weights == "binary" else np.exp(-d2[i, j] / mean)
    degrees = W.sum(axis=1)
    L = np.diag(degrees) - W
    if normalized:
        L = L / np.sqrt(np.outer(degrees, degrees))
    return np.linalg.matrix_power(L, power)


# ---- the dense textbook solutions ----------------------------------------------------------------

GRAPHS = [
    {"weights": "heat"},
    {"weights": "binary", "n_neighbors": 6},
    {"normalized": False, "n_neighbors": 5},
    {"weights": "heat", "power": 2},
]


@pytest.mark.parametrize("graph", GRAPHS, ids=str)
@pytest.mark.parametrize("smoothness", [0.3, 30.0])
def test_ridge_is_the_textbook_solution(graph, smoothness):
    targets = np.where(few(y, 10) >= 0, np.sin(3 * X[:, 0]), np.nan)
    model = LaplacianRidge(0.1, smoothness=smoothness, kernel=KERNEL, tol=0, **graph)
    model.fit(X, targets)
    K = KERNEL(X)
    L = naive_laplacian(
        K, **{"neighbours" if k == "n_neighbors" else k: v for k, v in graph.items()}
    )
    J = np.isfinite(targets).astype(float)
    c = np.linalg.solve(
        J[:, None] * K + 0.1 * np.eye(len(K)) + smoothness * L @ K, np.nan_to_num(targets)
    )
    scale = np.abs(KERNEL(NEW, X) @ c).max()
    np.testing.assert_allclose(model.predict(NEW), KERNEL(NEW, X) @ c, atol=1e-10 * scale)
    np.testing.assert_allclose(model.transduction_, K @ c, atol=1e-10 * scale)
    assert model.certificate_.status == "optimal"


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("C", [0.5, 50.0])
def test_svc_is_the_minimum_that_a_dense_method_finds(C, intercept):
    """In the warped kernel K̃ = K_l(1 + μLK)⁻¹ it is a machine on labelled points alone."""
    labels = few(y, 12)
    rows = np.flatnonzero(labels >= 0)
    signs = 2.0 * labels[rows] - 1
    options = {"smoothness": 2.0, "kernel": KERNEL, "fit_intercept": intercept}
    model = LaplacianSVC(C, tol=1e-16, **options).fit(X, labels)
    K = KERNEL(X)
    inverse = np.linalg.inv(np.eye(len(K)) + 2.0 * naive_laplacian(K) @ K)
    warped = K[rows] @ inverse[:, rows]
    Q = signs[:, None] * (warped + np.eye(len(rows)) / (2 * C)) * signs
    ends = {"constraints": {"type": "eq", "fun": lambda a: a @ signs}} if intercept else {}
    found = optimize.minimize(
        lambda a: a @ Q @ a / 2 - a.sum(),
        np.full(len(rows), 0.1),
        jac=lambda a: Q @ a - 1,
        bounds=[(0, None)] * len(rows),
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
        **ends,
    )
    assert model.certificate_.primal == pytest.approx(-found.fun, rel=1e-8)
    assert model.certificate_.dual == pytest.approx(-found.fun, rel=1e-8)
    c = inverse[:, rows] @ (signs * found.x)
    np.testing.assert_allclose(
        model.decision_function(NEW) - model.intercept_, KERNEL(NEW, X) @ c, atol=1e-4
    )


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("C", [0.5, 50.0])
def test_the_plain_hinge_is_the_minimum_that_a_dense_method_finds(C, intercept):
    labels = few(y, 12)
    rows = np.flatnonzero(labels >= 0)
    signs = 2.0 * labels[rows] - 1
    options = {"smoothness": 2.0, "kernel": KERNEL, "fit_intercept": intercept, "loss": "hinge"}
    model = LaplacianSVC(C, tol=1e-9, **options).fit(X, labels)
    K = KERNEL(X)
    inverse = np.linalg.inv(np.eye(len(K)) + 2.0 * naive_laplacian(K) @ K)
    Q = signs[:, None] * (K[rows] @ inverse[:, rows]) * signs
    ends = {"constraints": {"type": "eq", "fun": lambda a: a @ signs}} if intercept else {}
    found = optimize.minimize(
        lambda a: a @ Q @ a / 2 - a.sum(),
        np.full(len(rows), 0.1),
        jac=lambda a: Q @ a - 1,
        bounds=[(0, C)] * len(rows),
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
        **ends,
    )
    assert model.certificate_.status == "optimal"
    assert model.certificate_.primal == pytest.approx(-found.fun, rel=1e-6)
    assert model.certificate_.dual == pytest.approx(-found.fun, rel=1e-6)
    c = inverse[:, rows] @ (signs * found.x)
    np.testing.assert_allclose(
        model.decision_function(NEW) - model.intercept_, KERNEL(NEW, X) @ c, atol=1e-3
    )
    # The objective as the lectures write it, for the published function.
    f = K @ model.dual_coef_[0]
    L = naive_laplacian(K)
    losses = np.maximum(0, 1 - signs * (f[rows] + model.intercept_[0])).sum()
    primal = C * losses + model.dual_coef_[0] @ f / 2 + f @ L @ f
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-9)
    again = certify(model, X, labels)
    assert again.relative_gap <= 1e-6


def test_the_plain_hinge_without_smoothness_is_a_support_vector_machine(tmp_path):
    labels = few(y, 15)
    rows = np.flatnonzero(labels >= 0)
    model = LaplacianSVC(
        3.0, loss="hinge", smoothness=0.0, kernel=KERNEL, fit_intercept=True, tol=1e-9
    ).fit(X, labels)
    plain = SVC(KERNEL, C=3.0, tol=1e-7).fit(X[rows], labels[rows])
    np.testing.assert_allclose(
        model.decision_function(NEW), plain.decision_function(NEW), atol=1e-4
    )
    save(model, tmp_path / "hinge.mercer")
    np.testing.assert_array_equal(load(tmp_path / "hinge.mercer").predict(NEW), model.predict(NEW))


def test_the_plain_hinge_for_several_classes_and_approximations():
    kinds = np.digitize(X[:, 0], [-0.2, 0.9])
    labels = few(kinds, 8)
    model = LaplacianSVC(10.0, loss="hinge", kernel=KERNEL).fit(X, labels)
    assert model.certificate_.optimal
    assert (model.transduction_ == kinds).mean() > 0.85
    fewer = LaplacianSVC(10.0, loss="hinge", kernel=KERNEL, approximation=60).fit(X, labels)
    assert (fewer.predict(X) == model.predict(X)).mean() > 0.95
    with pytest.raises(ValueError, match="loss"):
        LaplacianSVC(loss="logistic").fit(X, labels)


def test_with_all_labels_and_no_smoothness_it_is_kernel_ridge():
    targets = np.column_stack([np.sin(3 * X[:, 0]), X[:, 1] ** 2])
    for intercept in (False, True):
        options = {"kernel": KERNEL, "fit_intercept": intercept}
        plain = KernelRidge(0.1, **options).fit(X, targets)
        model = LaplacianRidge(0.1, smoothness=0, tol=0, **options).fit(X, targets)
        np.testing.assert_allclose(model.predict(NEW), plain.predict(NEW), atol=1e-10)
        assert model.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=1e-12)


def test_without_smoothness_unlabelled_points_do_not_count():
    labels = few(y, 8)
    known = labels >= 0
    whole = LaplacianSVC(5.0, smoothness=0, kernel=KERNEL, tol=1e-16).fit(X, labels)
    alone = LaplacianSVC(5.0, smoothness=0, kernel=KERNEL, tol=1e-16).fit(X[known], labels[known])
    np.testing.assert_allclose(
        whole.decision_function(NEW), alone.decision_function(NEW), atol=1e-6
    )
    assert whole.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=1e-12)


def test_several_classes_are_told_apart_one_by_one():
    points, kinds = cases.iris()
    labels = few(kinds, 5)
    options = {"kernel": RBF(gamma=0.5), "tol": 1e-16}
    model = LaplacianSVC(3.0, **options).fit(points, labels)
    assert model.dual_coef_.shape == (3, 150)
    for kind in range(3):
        two = np.where(labels < 0, -1, labels == kind)
        one = LaplacianSVC(3.0, **options).fit(points, two)
        np.testing.assert_allclose(
            model.decision_function(points)[:, kind], one.decision_function(points), atol=1e-6
        )
    np.testing.assert_array_equal(model.predict(points), model.transduction_)
    assert (model.predict(points) == kinds).mean() > 0.9


def test_targets_may_be_missing_one_by_one():
    Y = np.column_stack([np.sin(3 * X[:, 0]), X[:, 1]])
    Y[::2, 0] = Y[1::3, 1] = np.nan
    both = LaplacianRidge(kernel=KERNEL, tol=0).fit(X, Y)
    for j in range(2):
        one = LaplacianRidge(kernel=KERNEL, tol=0).fit(X, Y[:, j])
        np.testing.assert_allclose(both.predict(NEW)[:, j], one.predict(NEW), atol=1e-10)


# ---- certificates --------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-10])
def test_the_gap_is_what_was_asked_for(tol, intercept):
    points, kinds = cases.digits()
    labels = few(kinds, 3)
    options = {"kernel": RBF(gamma=0.05), "fit_intercept": intercept}
    best = LaplacianSVC(10.0, tol=1e-14, **options).fit(points, labels).certificate_.primal
    proof = LaplacianSVC(10.0, tol=tol, **options).fit(points, labels).certificate_
    assert proof.status == "optimal"
    assert proof.relative_gap <= tol
    assert proof.dual <= best * (1 + 1e-12)
    assert proof.primal >= best * (1 - 1e-12)
    assert proof.dual_feasibility < 1e-10


def test_certify_judges_from_the_data():
    points, kinds = cases.iris()
    labels = few(kinds, 4)
    targets = np.where(labels >= 0, points[:, 0], np.nan)
    models = [
        (LaplacianSVC(2.0, kernel=RBF(gamma=0.3), fit_intercept=True), labels),
        (LaplacianRidge(0.5, kernel=RBF(gamma=0.3), weights="binary", fit_intercept=True), targets),
    ]
    for model, known in models:
        model.fit(points, known)
        judged = certify(model, points, known)
        assert judged.primal == pytest.approx(model.certificate_.primal, rel=1e-12)
        assert judged.relative_gap <= 2 * model.tol + 1e-14
        model.dual_coef_ = model.dual_coef_ * 0.9
        assert certify(model, points, known).gap > 1e-4
        with pytest.raises(InvalidInput, match="fitted on"):
            certify(model, points[:-1], known[:-1])
        with pytest.raises(InvalidInput, match="sample_weight"):
            certify(model, points, known, np.ones(len(points)))


def test_single_precision_and_no_matrix_at_all_give_the_same(monkeypatch):
    labels = few(y, 5)
    double = LaplacianSVC(10.0, kernel=KERNEL, tol=1e-12).fit(X, labels)
    # Room for half of the matrix in float32, and not in float64; then for nothing.
    monkeypatch.setattr("mercer.gram.neighbours._memory.available_bytes", lambda: 5 * len(X) ** 2)
    single = LaplacianSVC(10.0, kernel=KERNEL, tol=1e-12).fit(X, labels)
    monkeypatch.setattr("mercer.gram.neighbours._memory.available_bytes", lambda: 1000)
    lazy = LaplacianSVC(10.0, kernel=KERNEL, tol=1e-12).fit(X, labels)
    for other in (single, lazy):
        assert other.certificate_.relative_gap <= 1e-12
        np.testing.assert_allclose(
            other.decision_function(NEW), double.decision_function(NEW), atol=1e-5
        )


# ---- what it is for ------------------------------------------------------------------------------


def test_two_labels_are_enough_for_two_moons():
    ours, plain = [], []
    for seed in range(6):
        points, kinds = make_moons(200, noise=0.05, random_state=seed)
        labels = few(kinds, 1, seed)
        known = labels >= 0
        model = LaplacianSVC(kernel=RBF(gamma=4.0), smoothness=100.0).fit(points, labels)
        ours.append((model.predict(points) == kinds).mean())
        machine = SVC(RBF(gamma=4.0)).fit(points[known], labels[known])
        plain.append((machine.predict(points) == kinds).mean())
    assert np.mean(ours) > 0.97
    assert np.mean(plain) < 0.85


def usps(rows=1000):
    with gzip.open(real_data("images/usps/zip.train.gz"), "rt") as lines:
        table = np.loadtxt([line for line, _ in zip(lines, range(rows), strict=False)])
    return table[:, 1:], table[:, 0].astype(int)


def test_unlabelled_digits_help():
    """5 % of the labels; both machines choose their parameters by the same folds of these."""
    points, kinds = usps()
    gains = []
    for seed in range(2):
        random = np.random.default_rng(seed)
        labels = np.full(len(kinds), -1)
        kept = random.choice(len(kinds), len(kinds) // 20, replace=False)
        labels[kept] = kinds[kept]
        rest = np.setdiff1d(np.arange(len(kinds)), kept)
        folds = list(labelled_folds(labels, 3, random_state=seed))
        search = GridSearchCV(
            LaplacianSVC(10.0, kernel=RBF(gamma=0.005), tol=1e-4),
            {"smoothness": [10.0, 100.0], "power": [1, 2]},
            cv=folds,
        )
        ours = search.fit(points, labels).best_estimator_
        alone = [(train[labels[train] >= 0], test) for train, test in folds]
        plain = GridSearchCV(SVC(RBF(gamma=0.005)), {"C": [1.0, 10.0, 100.0]}, cv=alone)
        plain.fit(points, labels)
        machine = SVC(RBF(gamma=0.005), C=plain.best_params_["C"]).fit(points[kept], kinds[kept])
        scores = [(m.predict(points[rest]) == kinds[rest]).mean() for m in (ours, machine)]
        gains.append(scores[0] - scores[1])
    assert min(gains) > 0
    assert np.mean(gains) > 0.02


# ---- data, files, folds --------------------------------------------------------------------------


def test_any_kernel_on_any_data(tmp_path):
    labels = few(y, 3)
    plain = LaplacianSVC(kernel=KERNEL).fit(X, labels)
    matrix = LaplacianSVC(kernel="precomputed").fit(KERNEL(X), labels)
    function = LaplacianSVC(kernel=lambda A, B: KERNEL(A, B)).fit(X, labels)
    ridge = LaplacianRidge(kernel=KERNEL).fit(X, np.where(labels < 0, np.nan, labels))
    np.testing.assert_allclose(
        matrix.decision_function(KERNEL(X)), plain.decision_function(X), atol=1e-8
    )
    np.testing.assert_allclose(function.decision_function(X), plain.decision_function(X), atol=1e-8)
    words = ["banana", "ananas", "bandana", "cabana", "kernel", "mercer", "merger", "kerning"]
    kinds = np.array(["fruit", -1, -1, -1, "name", -1, -1, -1], dtype=object)
    strings = LaplacianSVC(kernel=Spectrum(2).normalized(), n_neighbors=3).fit(words, kinds)
    assert list(strings.transduction_) == ["fruit"] * 4 + ["name"] * 4
    for model, data in ((plain, X), (matrix, KERNEL(X)), (strings, words), (ridge, X)):
        save(model, tmp_path / "model.mercer")
        again = load(tmp_path / "model.mercer")
        np.testing.assert_array_equal(again.predict(data), model.predict(data))
        np.testing.assert_array_equal(again.graph_.toarray(), model.graph_.toarray())
        assert repr(again.certificate_) == repr(model.certificate_)


def test_few_features_serve_many_rows():
    points = np.random.default_rng(0).normal(size=(600, 3))
    labels = np.full(600, -1)
    labels[:20] = points[:20, 0] > 0
    dense = LaplacianSVC(kernel="precomputed", tol=1e-12).fit(points @ points.T, labels)
    features = LaplacianSVC(kernel=Linear(), tol=1e-12).fit(points, labels)
    np.testing.assert_allclose(
        features.decision_function(points), dense.decision_function(points @ points.T), atol=1e-6
    )
    np.testing.assert_allclose(features.graph_.toarray(), dense.graph_.toarray(), atol=1e-9)


def test_marks_of_unlabelled_points():
    texts = np.array(["a", "b"])[y]
    labels = few(y, 3)
    expected = LaplacianSVC(kernel=KERNEL).fit(X, labels).predict(NEW)
    objects = np.where(labels < 0, -1, texts.astype(object))
    nothing = np.where(labels < 0, None, texts.astype(object))
    for mark, known in (
        (-1, objects),
        (-1, np.where(labels < 0, "-1", texts)),
        ("?", np.where(labels < 0, "?", texts)),
        (None, nothing),
        (np.nan, np.where(labels < 0, np.nan, texts.astype(object))),
    ):
        model = LaplacianSVC(kernel=KERNEL, unlabelled=mark).fit(X, known)
        np.testing.assert_array_equal(model.predict(NEW), np.array(["a", "b"])[expected])
    floats = np.where(labels < 0, np.nan, labels)
    model = LaplacianSVC(kernel=KERNEL, unlabelled=np.nan).fit(X, floats)
    np.testing.assert_array_equal(model.predict(NEW), expected)
    signs = 2 * y - 1
    model = LaplacianSVC(kernel=KERNEL, unlabelled=None).fit(X, signs)
    assert list(model.classes_) == [-1, 1]


def test_folds_test_on_labelled_points_only():
    labels = few(y, 10)
    folds = list(labelled_folds(labels, 5, random_state=0))
    assert len(folds) == 5
    tested = np.concatenate([test for _, test in folds])
    np.testing.assert_array_equal(np.sort(tested), np.flatnonzero(labels >= 0))
    for train, test in folds:
        assert not set(train) & set(test)
        assert len(train) + len(test) == len(labels)
        assert set(np.flatnonzero(labels < 0)) <= set(train)
        assert sorted(labels[test]) == [0, 0, 1, 1]


# ---- bad input -----------------------------------------------------------------------------------


def test_no_labels_or_one_class():
    with pytest.raises(InvalidInput, match=r"none of the 120 points has a label.*-1 marks"):
        LaplacianSVC().fit(X, np.full(120, -1))
    with pytest.raises(InvalidInput, match=r"one class, .*1.*unlabelled=None"):
        LaplacianSVC().fit(X, 2 * y - 1)
    with pytest.raises(InvalidInput, match="one class"):
        LaplacianSVC().fit(X, np.ones(120))
    with pytest.raises(InvalidInput, match="none of the 120 points has a target"):
        LaplacianRidge().fit(X, np.full(120, np.nan))
    Y = np.column_stack([X[:, 0], np.full(120, np.nan)])
    with pytest.raises(InvalidInput, match="target in column 1"):
        LaplacianRidge().fit(X, Y)


def test_a_graph_in_pieces():
    apart = np.concatenate([X[:40], X[40:80] + 50, X[80:] - 50])
    labels = np.array(y)
    labels[40:] = -1
    with pytest.warns(
        DisconnectedGraphWarning, match=r"3 components, and 2 of them, with 80 points"
    ):
        model = LaplacianSVC(kernel=RBF(gamma=1.0), n_neighbors=12).fit(apart, labels)
    assert model.n_connected_components_ == 3
    labels[[45, 46, 85, 86]] = y[[45, 46, 85, 86]]
    # Labels reach all parts: nothing to warn of.
    assert (
        LaplacianSVC(kernel=RBF(gamma=1.0), n_neighbors=12)
        .fit(apart, labels)
        .n_connected_components_
    )


def test_the_subspace_saves_products(monkeypatch):
    points, kinds = make_moons(600, noise=0.1, random_state=0)
    labels = few(kinds, 5)
    machine = LaplacianSVC(smoothness=30.0, kernel=RBF(gamma=1.0))
    with_it = machine.fit(points, labels).n_iter_
    whole = ManifoldNewton.sample
    monkeypatch.setattr(
        ManifoldNewton, "sample", lambda self, gram, stiff: whole(self, gram, stiff)[:, :1]
    )
    without = machine.fit(points, labels).n_iter_
    assert with_it < without / 2


def test_a_kernel_that_is_zero_everywhere():
    model = LaplacianRidge(kernel="linear", n_neighbors=2).fit(np.zeros((9, 2)), np.arange(9.0))
    assert model.certificate_.status == "optimal"
    np.testing.assert_array_equal(model.predict(np.ones((2, 2))), 0.0)


def test_duplicates_and_tiny_sets():
    points = np.repeat(X[:6], 5, axis=0)
    labels = few(np.repeat(y[:6], 5), 1)
    with pytest.warns(DisconnectedGraphWarning):
        LaplacianSVC(n_neighbors=3, kernel=KERNEL).fit(points, labels)
    model = LaplacianSVC(kernel=KERNEL).fit(X[:2], [0, 1])
    assert model.graph_.nnz == 2
    assert LaplacianRidge(kernel=KERNEL).fit(X[:1], [2.0]).predict(X[:1])[0] == pytest.approx(1.0)


def test_limits_and_kernels_that_are_none():
    labels = few(y, 5)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        LaplacianSVC(1e4, smoothness=1e4, kernel=KERNEL, max_iter=3).fit(X, labels)
    with pytest.warns(ConvergenceWarning, match="time limit"):
        LaplacianSVC(1e4, smoothness=1e4, kernel=KERNEL, time_limit=1e-9).fit(X, labels)
    with pytest.raises(NotPositiveDefinite, match="Sigmoid"):
        LaplacianSVC(kernel="sigmoid", strict=True).fit(X, labels)
    for wrong in ({"C": 0}, {"smoothness": -1}, {"n_neighbors": 0}, {"weights": "cosine"}):
        with pytest.raises(ValueError, match=f"'{next(iter(wrong))}' parameter"):
            LaplacianSVC(**wrong).fit(X, labels)
    with pytest.raises(ValueError, match="infinity"):
        LaplacianRidge().fit(X, np.full(120, np.inf))
    with pytest.raises(ValueError, match="inconsistent"):
        LaplacianSVC().fit(X, labels[:-1])


def test_sparse_data():
    labels = few(y, 4)
    dense = LaplacianSVC(kernel=KERNEL).fit(X, labels)
    thin = LaplacianSVC(kernel=KERNEL).fit(sparse.csr_matrix(X), labels)
    np.testing.assert_allclose(
        thin.decision_function(sparse.csr_matrix(NEW)), dense.decision_function(NEW), atol=1e-8
    )


MARKS = [None, float("nan"), "?", "", -1, -99, pandas.NA]


@pytest.mark.parametrize("mark", MARKS, ids=repr)
@pytest.mark.parametrize(
    "classes", [(0, 1), ("a", "b"), (False, True), (2.0, 3.0), (10, -7)], ids=repr
)
def test_any_mark_stands_beside_any_labels(classes, mark):
    random = np.random.default_rng(0)
    truth = np.repeat([0, 1], 15)
    X = random.normal(size=(30, 2)) + 5.0 * truth[:, None]
    marked = [classes[t] if i % 5 == 0 else mark for i, t in enumerate(truth)]
    objects = np.empty(30, object)
    objects[:] = marked
    expected = np.array([classes[t] for t in truth])
    for y in (marked, tuple(marked), objects, pandas.Series(marked)):
        model = LaplacianSVC(unlabelled=mark).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), expected)
        np.testing.assert_array_equal(model.transduction_, expected)
        assert sorted(model.classes_.tolist()) == sorted(classes)
        assert certify(model, X, y).relative_gap < 1e-4
        for train, test in labelled_folds(y, 2, unlabelled=mark):
            assert {i % 5 for i in test} == {0}
            assert len(train) + len(test) == 30
