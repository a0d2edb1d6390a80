"""Two support vector classifiers agree: objectives, decisions, layouts."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from mercer import certify


def compare(mine, theirs, X, y, decisions=1e-4, **fit):
    """Both solve the same problem: equal objectives, decisions and layouts."""
    mine.fit(X, y, **fit)
    theirs.fit(X, y, **fit)
    one, two = certify(mine, X, y, **fit), certify(theirs, X, y, **fit)
    assert_allclose(one.dual, two.dual, rtol=1e-6)
    assert_allclose(mine.certificate_.dual, one.dual, rtol=1e-9)
    assert_allclose(mine.certificate_.primal, one.primal, rtol=1e-7)
    scale = decisions * max(1.0, np.abs(theirs.decision_function(X)).max())
    assert_allclose(mine.decision_function(X), theirs.decision_function(X), atol=scale)
    assert_array_equal(mine.classes_, theirs.classes_)
    assert mine.dual_coef_.shape[0] == theirs.dual_coef_.shape[0]
    assert mine.support_.dtype == theirs.support_.dtype
    assert mine.n_support_.dtype == theirs.n_support_.dtype
    assert_array_equal(mine.class_weight_, theirs.class_weight_)
    assert mine.n_iter_.shape == theirs.n_iter_.shape
    assert mine.fit_status_ == theirs.fit_status_ == 0


def check_same_support(mine, theirs, atol):
    """Where the problem has one answer only: the same support vectors and coefficients."""
    assert_array_equal(mine.support_, theirs.support_)
    assert_array_equal(mine.n_support_, theirs.n_support_)
    assert_allclose(mine.support_vectors_, theirs.support_vectors_)
    assert_allclose(mine.dual_coef_, theirs.dual_coef_, atol=atol)
    assert_allclose(mine.intercept_, theirs.intercept_, atol=atol)
