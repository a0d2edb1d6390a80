"""Linear regressions come back from their files as they were."""

import numpy as np
import pytest

from mercer import (
    L1,
    L2,
    DeadZone,
    ElasticNet,
    Huber,
    LargeError,
    Lasso,
    LogBarrier,
    LogisticRegression,
    NormRegressor,
    PenaltyRegressor,
    Quantile,
    Ridge,
    load,
    save,
)

PENALTIES = [
    L1(),
    L2(),
    Huber(2.0),
    DeadZone(0.3),
    LogBarrier(90.0),
    LargeError(2.0),
    Quantile(0.3),
]
MODELS = [Lasso(0.1), ElasticNet(0.1), Ridge([1.0]), Ridge(positive=True), NormRegressor(1),
          NormRegressor(np.inf), NormRegressor(np.eye(30)), PenaltyRegressor("huber"),
          *(PenaltyRegressor(penalty, random_state=0) for penalty in PENALTIES)]  # fmt: skip


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_saved_and_loaded(model, tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 4))
    save(model.fit(X, X[:, 0] + X[:, 1] ** 2), tmp_path / "model.mercer")
    again = load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert repr(again.certificate_) == repr(model.certificate_)
    assert repr(again.get_params()) == repr(model.get_params())


@pytest.mark.parametrize("model", [Lasso(0.1), ElasticNet(0.1), Ridge(2.0)], ids=repr)
def test_several_targets_and_models_before_their_fit(model, tmp_path):
    save(model, tmp_path / "unfitted.mercer")
    again = load(tmp_path / "unfitted.mercer")
    X = np.random.default_rng(0).normal(size=(30, 4))
    save(again.fit(X, X[:, :2]), tmp_path / "fitted.mercer")
    np.testing.assert_array_equal(load(tmp_path / "fitted.mercer").predict(X), again.predict(X))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("sparsify", [False, True])
def test_logistic_regression(classes, sparsify, tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 4))
    model = LogisticRegression(C=np.inf, class_weight={0: 2.0}).fit(X, np.arange(30) % classes)
    if sparsify:
        model.sparsify()
    save(model, tmp_path / "model.mercer")
    again = load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert repr(again.certificate_) == repr(model.certificate_)
    assert repr(again.get_params()) == repr(model.get_params())
