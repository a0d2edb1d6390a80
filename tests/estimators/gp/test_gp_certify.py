"""``certify`` judges the modes of a Gaussian process of classes from its training data."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from mercer import RBF, GaussianProcessClassifier, InvalidInput, certify

X, y = load_iris(return_X_y=True)
X = ((X - X.mean(axis=0)) / X.std(axis=0))[::2]
y = y[::2]


@pytest.mark.parametrize("approximation", [None, 15])
@pytest.mark.parametrize("multi_class", ["one_vs_rest", "one_vs_one"])
def test_the_certificate_is_found_again(approximation, multi_class):
    machine = GaussianProcessClassifier(
        3.0 * RBF(length_scale=1.0),
        optimizer=None,
        multi_class=multi_class,
        approximation=approximation,
    ).fit(X, y)
    found, own = certify(machine, X, y), machine.certificate_
    assert found.primal == pytest.approx(own.primal, rel=1e-9)
    assert found.dual == pytest.approx(own.dual, rel=1e-9)
    assert found.optimal
    for number in ("stationarity", "approximation_cost"):
        assert getattr(found, number) == pytest.approx(getattr(own, number), rel=1e-6, abs=1e-6)


def test_a_spoilt_mode_is_seen():
    machine = GaussianProcessClassifier(3.0 * RBF(length_scale=1.0), optimizer=None).fit(X, y)
    machine.latents_[0].weights[:] *= 0.5
    assert certify(machine, X, y).relative_gap > 0.01


def test_other_classes_are_refused():
    machine = GaussianProcessClassifier(3.0 * RBF(length_scale=1.0), optimizer=None).fit(X, y)
    with pytest.raises(InvalidInput, match="classes"):
        certify(machine, X, np.where(y == 2, 7, y))
