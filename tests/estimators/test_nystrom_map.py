"""Features through landmarks as a transformer."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from mercer import (
    RBF,
    SVC,
    InvalidParameter,
    LinearSVC,
    NystromMap,
    Spectrum,
    load,
    read_table,
    save,
)
from tests.estimators.cases import digits, heart


def test_the_features_of_scikit_learn_up_to_a_rotation():
    X, _ = digits()
    theirs = Nystroem(kernel="rbf", gamma=0.1, n_components=60, random_state=0).fit(X)
    # Equal landmarks: those that scikit-learn drew, by way of a map fitted on them alone.
    mine = NystromMap(RBF(gamma=0.1), 60, method="uniform").fit(X[theirs.component_indices_])
    A, B = mine.transform(X), theirs.transform(X)
    np.testing.assert_allclose(A @ A.T, B @ B.T, atol=1e-9)
    rotation, *_ = np.linalg.lstsq(A, B, rcond=None)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(60), atol=1e-6)
    np.testing.assert_allclose(A @ rotation, B, atol=1e-9)


@pytest.mark.parametrize("method", ["pivoted", "uniform", "kmeans", "leverage"])
def test_the_map(method):
    X, _ = digits()
    model = NystromMap(RBF(), 40, method=method)
    Z = model.fit_transform(X)
    np.testing.assert_allclose(model.transform(X), Z, atol=1e-12)
    np.testing.assert_allclose(clone(model).fit(X).transform(X), Z, atol=1e-12)
    K = model.kernel_(X)
    assert model.residual_trace_ == pytest.approx(np.trace(K - Z @ Z.T), rel=1e-9)
    assert np.linalg.eigvalsh(K - Z @ Z.T).min() > -1e-10
    assert Z.shape == (500, 40)
    assert list(model.get_feature_names_out()[:2]) == ["nystrommap0", "nystrommap1"]
    if method == "kmeans":
        assert model.component_indices_ is None
    else:
        np.testing.assert_allclose(model.approximation_(X[model.component_indices_], X),
                                   K[model.component_indices_], atol=1e-9)  # fmt: skip
    assert model.fit(X.astype(np.float32)).transform(X.astype(np.float32)).dtype == np.float32


def test_strings_with_a_linear_machine_and_a_search(tmp_path):
    table = read_table("promoters")
    X, y = table.frame["dna"].to_pylist(), np.asarray(table.target)
    kernel = Spectrum(4).normalized()
    model = make_pipeline(NystromMap(kernel), LinearSVC(loss="hinge", C=10.0))
    search = GridSearchCV(model, {"nystrommap__n_components": [5, 70]}, cv=4).fit(X, y)
    few, many = search.cv_results_["mean_test_score"]
    assert many > few
    exact = SVC(kernel, C=10.0).fit(X, y)
    whole = make_pipeline(NystromMap(kernel, len(X)), LinearSVC(loss="hinge", C=10.0)).fit(X, y)
    assert np.mean(whole.predict(X) == exact.predict(X)) > 0.97
    path = tmp_path / "model.mercer"
    save(search.best_estimator_, path)
    np.testing.assert_array_equal(load(path).predict(X), search.predict(X))


def test_bad_input():
    X, _ = heart()
    with pytest.raises(InvalidParameter, match="has to be a kernel"):
        NystromMap("rbf").fit(X)
    with pytest.raises(InvalidParameter, match="there are 270 rows"):
        NystromMap(RBF(), 271).fit(X)
    for bad in ({"n_components": 0}, {"method": "best"}, {"random_state": "one"}):
        with pytest.raises(InvalidParameter):
            NystromMap(**bad).fit(X)
    assert NystromMap().fit_transform(X).shape == (270, 100)
    assert NystromMap().fit_transform(X[:30]).shape[1] <= 30


def test_the_old_name_of_random_state_warns():
    X = np.random.default_rng(0).normal(size=(30, 2))
    new = NystromMap(RBF(gamma=1.0), 5, method="uniform", random_state=3).fit(X)
    with pytest.warns(FutureWarning, match="'random_state'"):
        old = NystromMap(RBF(gamma=1.0), 5, method="uniform", seed=3).fit(X)
    np.testing.assert_array_equal(old.component_indices_, new.component_indices_)
