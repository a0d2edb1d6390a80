"""Data whose squares leave the range of float64 are refused, and no solver writes out of bounds."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from scipy import sparse

from mercer import (
    SVR,
    ElasticNet,
    GaussianProcessRegressor,
    KernelRidge,
    LaplacianRidge,
    Lasso,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    NormRegressor,
    NuSVR,
    PenaltyRegressor,
    Ridge,
    StreamedRidge,
    enet_path,
    lasso_path,
)
from mercer.estimators.linear.magnitudes import LARGEST_SQUARES, check_squares
from mercer.exceptions import InvalidInput
from mercer.gram.feature_gram import FeatureGram
from mercer.problems.elastic_net import LassoProblem
from mercer.solvers.base import Budget, Status
from mercer.solvers.linear.lasso import ElasticNetDescent, WorkingSets

HUGE = [1e160, -1e160, 1e300, -1e300]
REGRESSORS = [
    Lasso(),
    Lasso(positive=True),
    Lasso(fit_intercept=False),
    Lasso(max_iter=None),
    ElasticNet(),
    ElasticNet(l1_ratio=0.0),
    Ridge(),
    Ridge(positive=True),
    LinearSVR(),
    LinearSVR(loss="squared_epsilon_insensitive"),
]
CLASSIFIERS = [
    LogisticRegression(),
    LogisticRegression(solver="liblinear"),
    LogisticRegression(C=np.inf),
    LinearSVC(),
    LinearSVC(loss="hinge"),
    LinearSVC(penalty="l1"),
    LinearSVC(multi_class="crammer_singer"),
]
SHAPES = [(40, 6), (15, 50)]


def _data(shape):
    random = np.random.default_rng(0)
    X = random.standard_normal(shape)
    return X, X[:, 0] + 0.1 * random.standard_normal(shape[0])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", HUGE)
@pytest.mark.parametrize("model", REGRESSORS, ids=str)
def test_huge_targets_are_refused(model, scale, shape):
    X, y = _data(shape)
    with pytest.raises(InvalidInput, match=r"y has numbers up to .* Scale y"):
        model.fit(X, scale * y)
    with pytest.raises(InvalidInput, match="Scale y"):
        model.fit(X, scale * y, sample_weight=np.linspace(0.1, 3.0, len(y)))


OTHERS = [
    KernelRidge(), GaussianProcessRegressor(), LaplacianRidge(), StreamedRidge(), NormRegressor(),
    NormRegressor(norm=1), PenaltyRegressor(), SVR(), NuSVR(),
]  # fmt: skip


@pytest.mark.parametrize("model", OTHERS, ids=str)
def test_other_machines_refuse_huge_targets_too(model):
    X, y = _data((40, 6))
    with pytest.raises(InvalidInput, match=r"y has numbers up to .* Scale y"):
        model.fit(X, 1e303 * y)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", HUGE)
@pytest.mark.parametrize("model", [*REGRESSORS, *CLASSIFIERS], ids=str)
def test_huge_columns_are_refused(model, scale, shape):
    X, y = _data(shape)
    y = (y > 0).astype(int) if model in CLASSIFIERS else y
    with pytest.raises(InvalidInput, match=r"X has numbers up to .* Scale X"):
        model.fit(scale * X, y)
    with pytest.raises(InvalidInput, match="Scale X"):
        model.fit(sparse.csr_array(scale * X), y)


@pytest.mark.parametrize("scale", HUGE)
@pytest.mark.parametrize("path", [lasso_path, enet_path])
def test_paths_refuse_huge_numbers(path, scale):
    X, y = _data((40, 6))
    with pytest.raises(InvalidInput, match="Scale y"):
        path(X, scale * y)
    with pytest.raises(InvalidInput, match="Scale X"):
        path(scale * X, y)
    with pytest.raises(InvalidInput, match="Scale y"):
        path(X, scale * y, alphas=[1.0, 0.1])


@pytest.mark.parametrize("exponent", [-400, 100, 450])
def test_large_numbers_scale_the_answer(exponent):
    X, y = _data((40, 6))
    scale = 2.0**exponent
    plain, scaled = Lasso(alpha=0.1).fit(X, y), Lasso(alpha=0.1 * scale).fit(X, scale * y)
    np.testing.assert_allclose(scaled.coef_ / scale, plain.coef_)
    assert np.isfinite(scaled.certificate_.gap)


def test_short_numbers_are_never_too_large():
    X, y = _data((40, 6))
    X = (1e25 * X).astype(np.float32)
    assert np.isfinite(Lasso().fit(X, y).coef_).all()
    check_squares(np.full(10, np.finfo(np.float32).max), "X")


def test_the_limit_counts_weights():
    values = np.full((2, 1), np.sqrt(LARGEST_SQUARES) / 2)
    check_squares(values, "X")
    with pytest.raises(InvalidInput, match="times sample_weight"):
        check_squares(values, "X", np.array([1.0, 1e9]))


def test_weights_whose_squares_do_not_count_may_be_huge():
    X, y = _data((40, 6))
    plain, scaled = Ridge(alpha=0.0).fit(X, y), Ridge(alpha=0.0).fit(1e-140 * X, 1e140 * y)
    np.testing.assert_allclose(scaled.coef_ / 1e280, plain.coef_)
    assert np.isfinite(scaled.certificate_.gap)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_answers_beyond_the_range_are_refused():
    X, y = _data((40, 6))
    with pytest.raises(InvalidInput, match="beyond the range"):
        lasso_path(X, y, alphas=[0.1], coef_init=np.full(6, 1e200))


def test_sample_weights_need_a_mean():
    X, y = _data((40, 6))
    with pytest.raises(InvalidInput, match="Scale sample_weight"):
        Lasso().fit(X, y, sample_weight=np.full(40, 1e307))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("method", [WorkingSets(), ElasticNetDescent()])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_solver_gives_up_where_squares_overflow(method, shape):
    X, y = _data(shape)
    problem = LassoProblem(1e160 * y, 1.0)
    found = method.solve(problem, FeatureGram.of_rows(X), Budget(tol=1e-6))
    assert found.status is not Status.OPTIMAL


def test_compiled_loops_stay_in_bounds(tmp_path):
    code = """
    import warnings
    import numpy as np
    from mercer import _fast

    warnings.simplefilter("ignore")
    random = np.random.default_rng(0)
    X = random.standard_normal((30, 5))
    for y in (X[:, 0], 1e160 * X[:, 0], np.full(30, np.nan), np.full(30, np.inf)):
        w, q = np.zeros(5), X.T @ y
        for goal in (0.0, np.nan):
            _fast.lasso.descend_to_gap(
                X.T @ X, q, float(y @ y), 1.0, 0.5, False, w, q.copy(), np.empty(5), goal, goal, 40
            )
    print("in bounds")
    """
    checked = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, **checked},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout.strip() == "in bounds", ran.stderr


def test_overflows_are_found_by_the_words_of_scikit_learn():
    X = np.full((4, 2), 1e200)
    with pytest.raises(InvalidInput, match=r"Scale X.*iterations resulted in non-finite parameter"):
        ElasticNet().fit(X, np.arange(4.0))
    with pytest.raises(InvalidInput, match=r"Scale X, for example by 1e-200\.$"):
        Ridge().fit(X, np.arange(4.0))
