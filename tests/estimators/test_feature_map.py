"""Feature maps as transformers, up to linear machines on strings."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

from mercer import (
    RBF,
    SVC,
    BagOfWords,
    FeatureMap,
    InvalidParameter,
    LinearSVC,
    Monomials,
    NoFeatureMap,
    Spectrum,
    Subsequence,
    read_table,
)
from tests.kernels.cases import close


def test_columns_are_those_of_training():
    X, new = ["GATTACA", "CAT", "TAC"], ["ATTAC", "GGGG", "CATGG"]
    kernel = Spectrum(2).normalized()
    features = FeatureMap(kernel)
    phi = features.fit_transform(X)
    assert sparse.issparse(phi)
    assert phi.format == "csr"
    assert phi.shape == (3, len(features.keys_))
    assert list(features.get_feature_names_out()) == [
        f"x{key:x}" for key in features.keys_.tolist()
    ]
    close(phi @ phi.T.toarray(), kernel(X))
    # Coordinates that training did not have are dropped after normalising.
    psi = features.transform(new)
    close((psi @ phi.T).toarray(), kernel(new, X))
    norms = np.asarray(psi.multiply(psi).sum(axis=1)).ravel()
    assert norms[0] == pytest.approx(1)
    assert norms[1] == 0
    assert 0 < norms[2] < 1
    close(clone(features).fit(X).transform(new).toarray(), psi.toarray())


def test_dense_maps():
    X = np.random.default_rng(0).normal(size=(20, 3))
    kernel = Monomials(2)
    phi = FeatureMap(kernel).fit_transform(X)
    close(phi @ phi.T, kernel(X))
    assert FeatureMap().fit_transform(X.astype(np.float32)).dtype == np.float32


def test_the_same_machine_as_the_kernel_itself():
    table = read_table("reviews")
    X, y = np.array(table.frame["text"].to_pylist()), np.asarray(table.target)
    kernel = BagOfWords("binary").normalized()
    linear = make_pipeline(FeatureMap(kernel), LinearSVC(loss="hinge", tol=1e-6, max_iter=10**5))
    linear.fit(X[:300], y[:300])
    machine = SVC(kernel + 1.0, tol=1e-6).fit(X[:300], y[:300])  # LinearSVC's bias is a feature
    assert np.mean(linear.predict(X[300:]) == machine.predict(X[300:])) > 0.97


def test_searches_reach_the_kernel():
    random = np.random.default_rng(0)
    X = np.array(["".join(row) for row in random.choice(list("ACGT"), (80, 30))])
    y = np.array(["GA" in x and "TTC" in x for x in X])
    pipe = make_pipeline(FeatureMap(Spectrum(1).normalized()), LinearSVC())
    grid = {"featuremap__kernel__kernel__k": [1, 3]}
    search = GridSearchCV(pipe, grid, cv=3).fit(X, y)
    assert search.best_params_ == {"featuremap__kernel__kernel__k": 3}


def test_a_name_is_no_kernel():
    with pytest.raises(InvalidParameter, match="kernel='poly' has to be a kernel"):
        FeatureMap("poly").fit([[1.0]])


def test_kernels_without_a_map():
    for kernel, X in ((RBF(), [[1.0]]), (Subsequence(), ["a"])):
        with pytest.raises(NoFeatureMap, match=r"FeatureMap: .* no finite feature map"):
            FeatureMap(kernel).fit(X)


@pytest.mark.slow
def test_splice_sites_have_the_accuracy_measured_elsewhere():
    """Position-free 5-mers find 70.4 % (10-fold, C = 5, an independent implementation)."""
    table = read_table("splice")
    X, y = np.array(table.frame["dna"].to_pylist()), np.asarray(table.target)
    machine = SVC(Spectrum(5).normalized(), C=5.0)
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    assert abs(cross_val_score(machine, X, y, cv=folds).mean() - 0.704) < 0.02


def test_texts_too_short_for_any_coordinate():
    """What only later texts have has no place among the coordinates of the first ones."""
    found = FeatureMap(Spectrum(4)).fit(["ab", "ba"]).transform(["abcdef", "a"])
    assert found.shape[0] == 2
    assert found.nnz == 0


def test_no_coordinates_take_nothing():
    features = Spectrum(1).features(["ab", "ba"])
    assert features.aligned(features.keys[:0]).shape == (2, 0)
