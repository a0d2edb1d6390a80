"""scikit-learn's own checks of estimators, for every machine of the registry."""

import warnings

import pytest
from sklearn.base import clone
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import SVC, SVR, NuSVC, NuSVR
from mercer.estimators import registry
from mercer.estimators.registry import EQUIVALENCES, ROWS


def expected_failures(estimator):
    return registry.row_of(type(estimator)).excused


# The checks hand over rows of numbers, which are series of one channel to a machine of series.
@parametrize_with_checks(
    [machine for row in ROWS for machine in row.machines()],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        for category in registry.row_of(type(estimator)).warns:
            warnings.simplefilter("ignore", category)
        check(estimator)


# OneClassSVM: with a fixed gamma the decisions agree (see test_svr.py); predict must be their sign.
@pytest.mark.parametrize("check", EQUIVALENCES)
@pytest.mark.parametrize(
    "machine", [SVC(), NuSVC(nu=0.1), SVR(), NuSVR()], ids=lambda machine: type(machine).__name__
)
def test_scikit_learn_checks_of_weights_with_a_fixed_gamma(machine, check):
    sharp = clone(machine).set_params(gamma=0.1, tol=1e-11)
    getattr(estimator_checks, check)(type(machine).__name__, sharp)
