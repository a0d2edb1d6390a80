"""K = ΦΦᵀ as a solver sees it: the same values, answers and certificates as rows of K give."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mercer import (
    RBF,
    SVC,
    SVR,
    Constant,
    Cosine,
    Delta,
    Linear,
    Monomials,
    NuSVC,
    OneClassSVM,
    Polynomial,
    RandomFourierFeatures,
    certify,
)
from mercer.estimators.svm import support
from mercer.gram.cached import row_products
from mercer.gram.computed import Gram
from mercer.gram.feature_gram import FeatureGram, gram_for_steps

KERNELS = [
    Linear(),
    Cosine(),
    Polynomial(2, 0.5, 1.0),
    Monomials(2),
    RandomFourierFeatures(RBF(gamma=0.3), 40),
    0.5 * Linear() + Constant(2.0) + Delta().on(0),
    Linear().on(0, 1) * Polynomial(2).on(2),
]


def rows(n=2300, d=4, seed=0):
    random = np.random.default_rng(seed)
    X = np.round(random.normal(size=(n, d)), 1)
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * random.normal(size=n) > 0).astype(int)
    return X, y


def text(n=2500, words=3000, seed=0):
    """Return rows like those of bags of words, and classes that a hyperplane nearly tells apart."""
    random = np.random.default_rng(seed)
    share = 1 / np.arange(1, words + 1)
    chosen = random.choice(words, size=40 * n, p=share / share.sum())
    ends = np.arange(0, 40 * n + 1, 40, dtype=np.int32)
    X = sparse.csr_array((np.ones(40 * n), chosen.astype(np.int32), ends), (n, words))
    X.sum_duplicates()
    score = X @ random.normal(size=words)
    return X, (score + 0.3 * score.std() * random.normal(size=n) > np.median(score)).astype(int)


@pytest.fixture
def by_rows_of_the_matrix(monkeypatch):
    """Make machines leave features alone from here on."""

    def turn_off():
        def rows(kernel, points, cache_bytes, threads=None, whole=False):
            return Gram.by_products(kernel, points, threads)

        monkeypatch.setattr(support, "gram_for_steps", rows)

    return turn_off


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_the_face_is_that_of_rows_of_the_matrix(kernel, make):
    X = make(rows(300)[0])
    points = kernel.encode(X)
    features = gram_for_steps(kernel, points, 1 << 30)
    values = Gram.by_products(kernel, points)
    assert features.features() is not None
    assert features.shape == values.shape
    assert_allclose(features.diag(), values.diag(), rtol=1e-9, atol=1e-12)
    some = np.array([5, 17, 3, 200])
    for dtype in (np.float32, np.float64):
        one, two = np.empty((2, 3, 4), dtype)
        features.in_precision(dtype).block(some[:3], some, one)
        values.in_precision(dtype).block(some[:3], some, two)
        assert_allclose(one, two, rtol=1e-4, atol=1e-4)
    weights = np.array([1.0, -2.0, 0.5, 3.0])
    expected = values.multiply_columns(some, weights[:, None])[:, 0]
    assert_allclose(features.multiply_columns(some, weights[:, None])[:, 0], expected, atol=1e-9)
    part = features.take(some)
    assert_allclose(part.diag(), values.diag()[some], rtol=1e-9, atol=1e-12)
    products, f = row_products(features, 1 << 20, 1), np.ones(300)
    products.add(some, weights, np.zeros(4, bool), f)
    assert_allclose(f - 1, expected, atol=1e-9)
    products.restart(some, precise=True)
    f = np.zeros(4)
    products.add(some, weights, np.zeros(4, bool), f)
    assert_allclose(f, expected[some], atol=1e-9)
    assert_array_equal(products.slots(some), -1)


def test_features_are_used_where_they_cost_less():
    X = rows(50, 40)[0]
    for kernel, budget, cheaper in (
        (Linear(), 0, True),  # the data themselves
        (2.0 * Linear(), 0, False),
        (2.0 * Linear(), 1 << 20, True),
        (RBF(gamma=1.0), 1 << 40, False),
        (Polynomial(2), 1 << 40, True),
        (Polynomial(5), 1 << 40, False),  # a million coordinates, which nobody computes
        (Polynomial(3) * Polynomial(4), 1 << 40, False),
        (RandomFourierFeatures(RBF(gamma=1.0), 5000), 1 << 40, False),
    ):
        found = gram_for_steps(kernel, kernel.encode(X), budget)
        assert (found.features() is not None) == cheaper, kernel
        assert isinstance(found, FeatureGram if cheaper else Gram)
        whole = gram_for_steps(kernel, kernel.encode(X), budget, whole=True)
        assert whole.features() is None


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_answers_are_the_same(kernel, by_rows_of_the_matrix, monkeypatch):
    X, y = rows()
    with monkeypatch.context() as patch:
        patch.delattr(Gram, "by_products")  # no rows of the matrix are there to be had
        one = SVC(kernel, C=0.5, tol=1e-5).fit(X, y)
    assert certify(one, X, y).dual == pytest.approx(one.certificate_.dual, rel=1e-9)
    by_rows_of_the_matrix()
    two = SVC(kernel, C=0.5, tol=1e-5).fit(X, y)
    gap = max(one.certificate_.gap, two.certificate_.gap)
    assert abs(one.certificate_.dual - two.certificate_.dual) <= gap + 1e-9 * one.certificate_.dual
    assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-3)
    assert one.certificate_.status == two.certificate_.status == "optimal"
    assert one.certificate_.stationarity <= 1e-5


@pytest.mark.parametrize(
    "machine",
    [SVC("linear"), NuSVC("linear", nu=0.8), SVR("linear"), OneClassSVM("linear", nu=0.2)],
    ids=repr,
)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_all_machines(machine, make, by_rows_of_the_matrix):
    X, y = rows()
    X = make(X + 3.0)
    if sparse.issparse(X):
        X.resize(len(y), 1000)  # more than 16 MB as a dense array
    one = machine.set_params(tol=1e-6).fit(X, y).certificate_
    assert certify(machine, X, y).dual == pytest.approx(one.dual, rel=1e-8)
    by_rows_of_the_matrix()
    two = machine.fit(X, y).certificate_
    assert abs(one.dual - two.dual) <= max(one.gap, two.gap) + 1e-12 * abs(one.dual)
    assert max(one.stationarity, two.stationarity) <= 1e-6


def test_sparse_text_and_several_classes(by_rows_of_the_matrix):
    X, y = text()
    one = SVC("linear", tol=1e-4).fit(X, y)
    # No row of the matrix was computed, only blocks of working sets.
    assert one.certificate_.kernel_evaluations < 0.5 * len(y) ** 2 * one.n_iter_[0] ** 0.5
    three = SVC("linear", tol=1e-4, multi_class="ovr").fit(X, y + (np.arange(len(y)) % 5 == 0))
    assert len(three.machines_) == 3
    by_rows_of_the_matrix()
    two = SVC("linear", tol=1e-4).fit(X, y)
    gap = max(one.certificate_.gap, two.certificate_.gap)
    assert abs(one.certificate_.dual - two.certificate_.dual) <= gap + 1e-9 * one.certificate_.dual
    assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-2)


def test_a_start_on_features():
    X, y = rows(3000)
    first = SVC("linear", C=10.0).fit(X, y)
    again = SVC("linear", C=10.0).fit(X, y, start=first)
    assert again.n_iter_[0] <= 50
    assert_allclose(again.certificate_.dual, first.certificate_.dual, rtol=1e-6)
