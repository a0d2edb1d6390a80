"""Linear machines of both libraries, judged from weights and data alone."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn import linear_model, svm
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer import certify
from mercer.exceptions import InvalidInput, InvalidType
from tests.estimators.cases import regression

X, Y = regression()
X = X + 2.0
WEIGHTS = np.where(np.arange(len(X)) % 5, 1.0 + np.arange(len(X)) / len(X), 0.0)
CLASSES = np.digitize(Y, np.quantile(Y, [0.3, 0.7]))

CASES = [
    (mercer.Ridge, linear_model.Ridge, {"alpha": 0.7}, Y),
    (mercer.Ridge, linear_model.Ridge, {"alpha": 3.0, "fit_intercept": False}, Y),
    (mercer.Lasso, linear_model.Lasso, {"alpha": 0.05, "tol": 1e-8}, Y),
    (mercer.Lasso, linear_model.Lasso, {"alpha": 0.05, "positive": True, "tol": 1e-8}, Y),
    (mercer.ElasticNet, linear_model.ElasticNet, {"alpha": 0.1, "tol": 1e-8}, Y),
    (mercer.LinearSVC, svm.LinearSVC, {"tol": 1e-8, "max_iter": 100_000}, CLASSES),
    (mercer.LinearSVC, svm.LinearSVC, {"tol": 1e-8, "class_weight": "balanced"}, CLASSES > 0),
    (
        mercer.LinearSVC,
        svm.LinearSVC,
        {"penalty": "l1", "dual": False, "tol": 1e-8, "max_iter": 100_000},
        CLASSES,
    ),
    (
        mercer.LinearSVR,
        svm.LinearSVR,
        {"loss": "squared_epsilon_insensitive", "dual": False, "tol": 1e-8, "epsilon": 0.1},
        Y,
    ),
]


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize(("ours", "theirs", "choice", "y"), CASES, ids=str)
def test_both_libraries(ours, theirs, choice, y, weights):
    judged = []
    for machine in (ours, theirs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = machine(**choice).fit(X, y, sample_weight=weights)
        found = certify(model, X, y, weights)
        assert found.bounds
        assert found.relative_gap < 1e-3
        assert found.status == ""
        judged.append(found)
        if machine is ours:
            own = model.certificate_
            assert_allclose([found.primal, found.dual], [own.primal, own.dual], rtol=1e-6)
        # A weight that is off shows, and so does a constant.
        model.coef_ = np.asarray(model.coef_) * 1.2
        assert certify(model, X, y, weights).primal > found.primal
        if choice.get("fit_intercept", True):
            model.coef_ = model.coef_ / 1.2
            model.intercept_ = model.intercept_ + 0.3
            assert certify(model, X, y, weights).primal > found.primal
    assert judged[0].dual <= judged[1].primal * (1 + 1e-9)
    assert judged[1].dual <= judged[0].primal * (1 + 1e-9)


def test_several_targets_and_sparse_rows():
    many = np.stack([Y, X[:, 0]], axis=1)
    model = mercer.Ridge(alpha=[0.5, 2.0]).fit(X, many)
    own = model.certificate_
    assert_allclose(certify(model, X, many).primal, own.primal, rtol=1e-9)
    thin = sparse.csr_array(X)
    lasso = mercer.Lasso(0.05).fit(thin, Y)
    assert_allclose(certify(lasso, thin, Y).primal, certify(lasso, X, Y).primal, rtol=1e-9)


def test_hinges_need_multipliers():
    ours = mercer.LinearSVC(loss="hinge", tol=1e-8).fit(X, CLASSES)
    assert certify(ours, X, CLASSES).relative_gap < 1e-3
    joint = mercer.LinearSVC(multi_class="crammer_singer", tol=1e-2, max_iter=10_000)
    joint.fit(X, CLASSES)
    assert certify(joint, X, CLASSES).relative_gap < 1e-3
    tube = mercer.LinearSVR(epsilon=0.1, tol=1e-8).fit(X, Y)
    assert certify(tube, X, Y).relative_gap < 1e-3
    theirs = svm.LinearSVC(loss="hinge", max_iter=100_000).fit(X, CLASSES)
    with pytest.raises(InvalidInput, match="multipliers are"):
        certify(theirs, X, CLASSES)


def test_what_cannot_be_judged_says_so():
    with pytest.raises(InvalidType, match="MultiTaskLasso is not a machine"):
        certify(linear_model.MultiTaskLasso().fit(X, np.stack([Y, Y], 1)), X, np.stack([Y, Y], 1))
    model = mercer.Ridge().fit(X, Y)
    with pytest.raises(InvalidInput, match="Pass the training data"):
        certify(model, X, Y[:-1])
    classes = mercer.LinearSVC().fit(X, CLASSES)
    with pytest.raises(InvalidInput, match="classes that the model was fitted on"):
        certify(classes, X, CLASSES + 5)
