"""A search that leaves out one row at a time, against scikit-learn's n fits."""

import numpy as np
import pytest
from sklearn import kernel_ridge, model_selection, svm
from sklearn.model_selection import KFold, LeaveOneOut
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, SVR, GridSearchCV, KernelRidge, NuSVC
from mercer.tuning.left_out_rows import leaves_one_out, left_out_fits

random = np.random.default_rng(2)
X = random.normal(size=(48, 3))
NUMBERS = np.sin(X[:, 0]) + X[:, 1] ** 2 + 0.2 * random.normal(size=48)
TWO = (NUMBERS > 0.8).astype(int)
THREE = np.digitize(NUMBERS, [0.4, 1.2])
SINGLE = list(LeaveOneOut().split(X))


def scores(search, y, **options):
    found = search.fit(X, y).cv_results_
    return np.array([found[f"split{k}_test_score"] for k in range(len(X))])


@pytest.mark.parametrize(
    ("ours", "theirs", "grid", "y", "scoring"),
    [
        (SVC(tol=1e-6), svm.SVC(tol=1e-6), {"C": [0.3, 5.0], "gamma": [0.2, 1.0]}, TWO, None),
        (SVC(kernel="linear"), svm.SVC(kernel="linear"), {"C": [0.3, 5.0]}, THREE, None),
        (
            SVR(tol=1e-6, gamma=0.5), svm.SVR(tol=1e-6, gamma=0.5),
            {"C": [0.3, 5.0], "epsilon": [0.1, 0.4]}, NUMBERS, "neg_mean_absolute_error",
        ),
        (
            KernelRidge(kernel="rbf"), kernel_ridge.KernelRidge(kernel="rbf"),
            {"alpha": [0.1, 1.0], "gamma": [0.2, 1.0]}, NUMBERS, "neg_mean_squared_error",
        ),
    ],
    ids=["two classes", "three classes", "svr", "ridge"],
)  # fmt: skip
def test_scores_are_those_of_n_fits(ours, theirs, grid, y, scoring):
    options = {"cv": LeaveOneOut(), "scoring": scoring}
    expected = scores(model_selection.GridSearchCV(theirs, grid, **options), y)
    search = GridSearchCV(ours, grid, **options)
    assert np.abs(scores(search, y) - expected).max() < 1e-4
    first = search.cv_results_["params"][0]
    assert left_out_fits(ours.with_parameters(**first), X, y, SINGLE, 0) is not None


@pytest.mark.parametrize(
    "machine",
    [
        SVC(gamma="scale"),  # another width without each row
        SVC(gamma=0.5, class_weight="balanced"),  # other weights
        NuSVC(gamma=0.5),  # another problem
    ],
    ids=str,
)
def test_what_depends_on_the_rows_is_fitted_without_each(machine):
    assert left_out_fits(machine, X, TWO, SINGLE, 0) is None
    alone = np.array(TWO)
    alone[:] = 0
    alone[0] = 1  # the only row of its class
    assert left_out_fits(SVC(gamma=0.5), X, alone, SINGLE, 0) is None


def test_widths_and_steps_that_depend_on_the_rows_have_the_scores_of_n_fits():
    for ours, theirs in [
        (SVC(tol=1e-6), svm.SVC(tol=1e-6)),
        (make_pipeline(StandardScaler(), SVC(gamma=0.3, tol=1e-6)),
         make_pipeline(StandardScaler(), svm.SVC(gamma=0.3, tol=1e-6))),
    ]:  # fmt: skip
        name = "svc__C" if hasattr(ours, "steps") else "C"
        options = {"param_grid": {name: [1.0]}, "cv": LeaveOneOut()}
        expected = scores(model_selection.GridSearchCV(theirs, **options), TWO)
        assert np.array_equal(scores(GridSearchCV(ours, **options), TWO), expected)


def test_folds_of_single_rows_are_told_from_others():
    assert leaves_one_out(SINGLE, len(X))
    assert leaves_one_out(SINGLE[::-1], len(X))
    assert not leaves_one_out(SINGLE[:-1], len(X))
    assert not leaves_one_out([*SINGLE[:-1], SINGLE[0]], len(X))
    assert not leaves_one_out(list(KFold(6).split(X)), len(X))
