"""SVC and NuSVC on every kind of data and kernel, and what they refuse."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import (
    RBF,
    SVC,
    Delta,
    FunctionKernel,
    Laplacian,
    NuSVC,
    Precomputed,
    Sigmoid,
    certify,
    load,
    save,
)
from mercer.estimators.svm.classes import ClassLabels
from mercer.exceptions import IndefiniteKernelWarning, InvalidParameter, NotPositiveDefinite
from tests.estimators.cases import heart, iris, two_classes


@pytest.mark.parametrize("machine", [SVC, NuSVC])
def test_indefinite_kernels(machine):
    X, y = two_classes(120)
    with pytest.warns(IndefiniteKernelWarning, match="not positive semi-definite") as caught:
        machine("sigmoid", gamma=0.01).fit(X, y)
    assert caught[0].filename == __file__
    with (
        pytest.warns(IndefiniteKernelWarning),
        pytest.warns(ConvergenceWarning, match="negative curvature"),
    ):
        model = machine(Sigmoid(5.0, -2.0)).fit(X, y)
    assert model.certificate_.status == "stationary point, no bound"
    with pytest.raises(NotPositiveDefinite, match="not positive semi-definite in general"):
        machine("sigmoid", strict=True).fit(X, y)
    A = np.random.default_rng(0).normal(size=(120, 120))
    with pytest.warns(ConvergenceWarning, match="negative curvature"):
        model = machine("precomputed").fit(A + A.T, y)
    assert model.certificate_.status == "stationary point, no bound"
    with pytest.raises(NotPositiveDefinite):
        machine("precomputed", strict=True).fit(RBF(gamma=0.5)(X), y)
    machine(RBF(gamma=0.5), strict=True).fit(X, y)


def test_kernels_of_every_kind_agree():
    X, y = two_classes(150)
    new = two_classes(50, seed=1)[0]
    model = SVC(gamma=0.5, tol=1e-8).fit(X, y)
    expected = model.decision_function(new)

    def rbf(A, B):
        A, B = (M.toarray() if sparse.issparse(M) else np.asarray(M) for M in (A, B))
        return np.exp(-0.5 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    def one_pair(x, z):
        return float(np.exp(-0.5 * ((x - z) ** 2).sum()))

    tight = {"tol": 1e-8}
    for other in (
        SVC(RBF(gamma=0.5), **tight).fit(X, y),
        SVC(rbf, **tight).fit(X, y),
        SVC(FunctionKernel(rbf, vectorized=True), **tight).fit(X, y),
        SVC(FunctionKernel(one_pair), **tight).fit(X, y),
        SVC(RBF(gamma=0.5).on(0, 1, 2, 3), **tight).fit(X, y),
        SVC(0.5 * RBF(gamma=0.5) + 0.5 * RBF(gamma=0.5), **tight).fit(X, y),
        SVC(gamma=0.5, **tight).fit(X.tolist(), y.tolist()),
        SVC(gamma=0.5, **tight).fit(X.astype(np.float32).astype(float), y),
    ):
        assert_allclose(other.decision_function(new), expected, atol=1e-5)
        assert_allclose(other.certificate_.dual, model.certificate_.dual, rtol=1e-6)
    matrix = SVC("precomputed", **tight).fit(rbf(X, X), y)
    assert_allclose(matrix.decision_function(rbf(new, X)), expected, atol=1e-6)
    assert matrix.support_vectors_.shape == (0, 0)
    rows = SVC(Precomputed(rbf(X, X)), **tight).fit(np.arange(150), y)
    assert_allclose(rows.predict(np.arange(150)), model.predict(X))
    for container in (sparse.csr_matrix, sparse.csr_array, sparse.lil_matrix):
        thin = SVC(gamma=0.5, **tight).fit(container(X), y)
        assert sparse.issparse(thin.dual_coef_)
        assert sparse.issparse(thin.support_vectors_)
        assert_allclose(thin.decision_function(container(new)), expected, atol=1e-6)
        assert_allclose(thin.decision_function(new), expected, atol=1e-6)


def test_large_sparse_data_stay_sparse():
    X = sparse.random_array((120, 40), density=0.1, rng=np.random.default_rng(0), format="csr")
    X.resize(120, 20_000)  # more than 16 MB as a dense array
    y = (np.asarray(X.sum(axis=1)).ravel() > np.median(X.sum(axis=1))).astype(int)
    for kernel in ("linear", "rbf", "poly"):
        thin = SVC(kernel, tol=1e-8).fit(X, y)
        thick = SVC(kernel, tol=1e-8).fit(X.toarray(), y)
        assert_allclose(thin.decision_function(X), thick.decision_function(X.toarray()), atol=1e-5)
        if kernel == "linear":
            assert_allclose(thin.coef_.toarray(), thick.coef_, atol=1e-5)


@pytest.mark.parametrize("name", ["laplacian", "cosine", "matern", "chi2"])
def test_kernels_by_name(name):
    X, y = two_classes(100)
    model = SVC(name).fit(np.abs(X), y)
    assert model.score(np.abs(X), y) > 0.5
    if name == "laplacian":
        same = SVC(Laplacian(0.3)).fit(X, y)
        assert_allclose(
            SVC(name, gamma=0.3).fit(X, y).decision_function(X), same.decision_function(X)
        )


def mixed_table():
    random = np.random.default_rng(0)
    n = 120
    colour = random.choice(["red", "green", "blue"], size=n)
    size = random.normal(size=n)
    y = np.where((colour == "red") ^ (size > 0), "keep", "drop")
    return {"size": size, "weight": random.normal(size=n), "colour": colour}, y


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_with_categories(frame):
    columns, y = mixed_table()
    table = frame(columns)
    kernel = RBF(gamma=0.5).on("size", "weight") * Delta().on("colour")
    model = SVC(kernel, C=10).fit(table, y)
    assert model.score(table, y) > 0.95
    assert set(model.predict(table[:5])) <= {"keep", "drop"}
    assert len(model.support_vectors_) == len(model.support_)
    assert certify(model, table, y).relative_gap < 0.01
    scores = cross_val_score(SVC(kernel, C=10), table, y, cv=3)
    assert scores.mean() > 0.85


def shared_letters(a, b):
    return float(len(set(a) & set(b)))


def test_strings():
    words = ["kernel", "colonel", "kennel", "infernal", "kiln", "xyz", "zyx", "yxzz", "zzx", "xy"]
    y = [1] * 5 + [0] * 5
    model = SVC(FunctionKernel(shared_letters), C=10).fit(words, y)
    assert_array_equal(model.predict(["kern", "zx"]), [1, 0])
    assert model.support_vectors_ == [words[i] for i in model.support_]
    assert_array_equal(
        pickle.loads(pickle.dumps(model)).decision_function(words), model.decision_function(words)
    )


def test_searches_pipelines_and_copies():
    X, y = heart()
    search = GridSearchCV(
        SVC(RBF(gamma=1.0)), {"kernel__gamma": [1e-3, 1 / 13, 10.0], "C": [0.1, 1.0]}, cv=3
    ).fit(X, y)
    assert search.best_params_["kernel__gamma"] == 1 / 13
    assert search.best_score_ > 0.8
    pipeline = make_pipeline(StandardScaler(), SVC(RBF("scale")))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.8
    grid = GridSearchCV(pipeline, {"svc__kernel__gamma": [0.01, "scale"]}, cv=2).fit(X, y)
    assert grid.best_score_ > 0.7
    model = SVC(RBF(gamma=0.1), C=3.0).fit(X, y)
    copy = clone(model)
    assert copy.get_params()["kernel__gamma"] == 0.1
    assert not hasattr(copy, "support_")
    assert_array_equal(copy.fit(X, y).dual_coef_, model.dual_coef_)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert_array_equal(again.slack_, model.slack_)
    assert again.certificate_ == model.certificate_


def test_searches_over_precomputed_matrices():
    X, y = heart()
    K = RBF(gamma=1 / 13)(X)
    expected = cross_val_score(SVC(gamma=1 / 13), X, y, cv=4)
    assert_allclose(cross_val_score(SVC("precomputed"), K, y, cv=4), expected)
    assert_allclose(cross_val_score(SVC(Precomputed(K)), np.arange(270), y, cv=4), expected)


def test_errors_of_the_data():
    X, y = two_classes(20)
    with pytest.raises(ValueError, match="number of classes has to be greater than one"):
        SVC().fit(X, np.zeros(20))
    with pytest.raises(ValueError, match="square matrix"):
        SVC("precomputed").fit(X, y)
    with pytest.raises(ValueError, match="X has 3 features"):
        SVC().fit(X, y).predict(X[:, :3])
    with pytest.raises(ValueError, match="expecting 20 features"):
        SVC("precomputed").fit(X @ X.T, y).predict(X)
    with pytest.raises(ValueError, match="incompatible shapes"):
        SVC().fit(X, y, np.ones(3))
    with pytest.raises(ValueError, match="NaN or infinity"):
        SVC().fit(X, y, np.full(20, np.nan))
    with pytest.raises(ValueError, match="all samples have zero or negative"):
        SVC().fit(X, y, np.zeros(20))
    with pytest.raises(ValueError, match="belong to the same class"):
        SVC().fit(X, y, (y == 1).astype(float))
    with pytest.raises(ValueError, match="squares overflow"):
        SVC().fit(X * 1e200, y)
    with pytest.raises(ValueError, match="returned a matrix of shape"):
        SVC(lambda a, b: np.ones((1, 1))).fit(X, y)
    with pytest.raises(ValueError, match="nu is infeasible"):
        NuSVC(nu=0.9).fit(X, np.arange(20) == 0)
    with pytest.raises(ValueError, match="nu is infeasible"):
        NuSVC().fit(X, y, (y == 1).astype(float))


def test_errors_of_the_parameters():
    X, y = two_classes(20)
    for kernel in ("nonsense", 3, None):
        with pytest.raises(InvalidParameter, match=r"SVC: .*kernel"):
            SVC(kernel).fit(X, y)
    for wrong in ({"C": 0.0}, {"C": -1}, {"tol": 0}, {"gamma": -1}, {"max_iter": -2}):
        with pytest.raises(ValueError, match=f"The '{next(iter(wrong))}' parameter"):
            SVC(**wrong).fit(X, y)
    for wrong in ({"time_limit": 0}, {"multi_class": "both"}, {"strict": "yes"}, {"gamma": "none"}):
        with pytest.raises(ValueError, match=f"The '{next(iter(wrong))}' parameter"):
            SVC(**wrong).fit(X, y)


def test_coef_is_there_for_the_linear_kernel_only():
    X, y = two_classes(60)
    with pytest.raises(AttributeError, match="only available when using a linear kernel"):
        SVC().fit(X, y).coef_  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba'"):
        SVC().fit(X, y).predict_proba  # noqa: B018
    model = SVC("linear").fit(X, y)
    assert_allclose(X @ model.coef_[0] + model.intercept_, model.decision_function(X))
    with pytest.raises(ValueError, match="read-only"):
        model.coef_[0, 0] = 1.0


@pytest.mark.parametrize("name", ["weston-watkins", "crammer-singer"])
def test_joint_problems_under_their_old_names(name, tmp_path):
    X, y = iris()
    with pytest.warns(FutureWarning, match=f"is now spelt '{name.replace('-', '_')}'") as seen:
        old = SVC(multi_class=name).fit(X, y)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    assert old.multi_class == name
    new = SVC(multi_class=name.replace("-", "_")).fit(X, y)
    assert_allclose(old.decision_function(X), new.decision_function(X))
    assert certify(old, X, y).dual == certify(new, X, y).dual
    save(old, tmp_path / "m")
    assert load(tmp_path / "m").multi_class == name
    with pytest.raises(ValueError, match="multi_class"):
        SVC(multi_class="crammer singer").fit(X, y)


@pytest.mark.parametrize("form", ["float32", "int64", "int32", "columns", "strided"])
def test_arrays_of_any_numbers_are_read_as_validation_reads_them(form):
    whole = np.random.default_rng(0).integers(-5, 6, size=(60, 4))
    y = np.arange(60) % 3
    given = {
        "columns": np.asfortranarray(whole.astype(float)),
        "strided": np.repeat(whole.astype(float), 2, axis=1)[:, ::2],
    }.get(form, whole.astype(form) if form not in ("columns", "strided") else None)
    expected = SVC().fit(whole.astype(float).tolist(), y)
    found = SVC().fit(given, y)
    assert found.support_vectors_.dtype == np.float64
    np.testing.assert_array_equal(found.support_, expected.support_)
    np.testing.assert_allclose(found.dual_coef_, expected.dual_coef_)
    np.testing.assert_allclose(
        found.decision_function(given), expected.decision_function(whole.astype(float))
    )
    with pytest.raises(ValueError, match="3 features"):
        found.predict(given[:, :3])


@pytest.mark.parametrize("labels", [[3, 1, 3, 0], [7, 900, 7, 7], [-1, 1, -1, 1], [255, 0, 255, 1]])
def test_classes_are_numbered_in_their_order(labels):
    for dtype in (np.int64, np.int16):
        given = np.repeat(np.array(labels, dtype), 5)
        read = ClassLabels.of(given)
        classes, codes = np.unique(given, return_inverse=True)
        assert read.classes.dtype == dtype
        np.testing.assert_array_equal(read.classes, classes)
        np.testing.assert_array_equal(read.codes, codes)
