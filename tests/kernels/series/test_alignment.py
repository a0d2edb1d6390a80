"""Kernels of series against oracles: all warping paths, plain Python, closed forms, laws."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.model_selection import GridSearchCV

from mercer import (
    DTW,
    RBF,
    SVC,
    Definite,
    GaussianProcessRegressor,
    GlobalAlignment,
    Gram,
    InvalidParameter,
    check_kernel,
    dtw_distances,
)
from mercer.kernels.registry import ROWS
from tests.kernels.cases import close, data
from tests.oracles.naive import naive_gram
from tests.oracles.naive_series import naive_alignment, naive_dtw
from tests.oracles.strategies_series import bands, series, series_kernels

EXAMPLES = [kernel for row in ROWS if row.domain == "series" for kernel in row.examples]


def walks(rows, lengths, channels=1, seed=0, dtype=np.float64):
    """Return random walks of different lengths."""
    random = np.random.default_rng(seed)
    sizes = random.integers(*lengths, size=rows)
    return [random.normal(size=(channels, n)).cumsum(axis=1).astype(dtype) for n in sizes]


# ---- oracles -----------------------------------------------------------------------------------


def warping_paths(n, m):
    """Yield every path from (0, 0) to (n − 1, m − 1)."""
    if n == m == 1:
        yield [(0, 0)]
    for di, dj in ((1, 0), (0, 1), (1, 1)):
        if n > di and m > dj:
            for path in warping_paths(n - di, m - dj):
                yield [*path, (n - 1, m - 1)]


@pytest.mark.parametrize("band", [None, 0, 1, 2])
def test_dtw_and_alignment_over_all_paths(band):
    random = np.random.default_rng(1)
    for n, m in [(1, 1), (1, 5), (3, 4), (5, 5), (6, 4)]:
        x, z = random.normal(size=n), random.normal(size=m)
        paths = list(warping_paths(n, m))
        assert len(paths) == delannoy(n - 1, m - 1)
        allowed = [
            path
            for path in paths
            if band is None
            or all(min(0, m - n) - band <= j - i <= max(0, m - n) + band for i, j in path)
        ]
        costs = [sum((x[i] - z[j]) ** 2 for i, j in path) for path in allowed]
        close(dtw_distances([x], [z], band=band), [[min(costs)]])
        kappa = np.exp(-0.5 * (x[:, None] - z) ** 2)
        if band:
            shift = np.abs(np.arange(n)[:, None] - np.arange(m))
            kappa *= np.maximum(0, 1 - shift / (band + 1))
        local = kappa / (2 - kappa)
        total = sum(np.prod([local[i, j] for i, j in path]) for path in paths)
        logs = GlobalAlignment(1.0, band + 1 if band else None).log_values([x], [z])
        close(np.exp(logs), [[total]])


def delannoy(n, m):
    """Return the number of alignments of series of n + 1 and m + 1 points."""
    total, term = 0, 1
    for k in range(min(n, m) + 1):
        total += term
        term = term * 2 * (n - k) * (m - k) // (k + 1) ** 2
    return total


@pytest.mark.parametrize("kernel", EXAMPLES, ids=repr)
@pytest.mark.parametrize("channels", [1, 3])
def test_examples_equal_the_oracle(kernel, channels):
    X, Y = walks(20, (1, 12), channels), walks(5, (1, 25), channels, seed=1)
    expected = naive_gram(kernel, X)
    close(kernel(X), expected)
    close(kernel(X, Y), naive_gram(kernel, X, Y))
    close(kernel(Y, X), naive_gram(kernel, Y, X))
    close(kernel.diag(X), np.ones(20))
    close(kernel.normalized()(X), expected)
    close((2 * kernel + kernel**2)(X), 2 * expected + expected**2)


@given(series_kernels(), series(channels=2), series(channels=2))
def test_any_series_equal_the_oracle(kernel, X, Y):
    close(kernel(X, Y), naive_gram(kernel, X, Y))
    close(kernel(X), naive_gram(kernel, X))


@given(series(channels=1), bands())
def test_distances_equal_the_oracle(X, band):
    expected = [[naive_dtw(x, z, band) for z in X] for x in X]
    close(dtw_distances(X, band=band), expected)


@given(series(channels=2), st.sampled_from([0.05, 1.0, 30.0]), st.sampled_from([None, 1, 2.5, 9]))
def test_log_values_equal_the_oracle(X, sigma, band):
    logs = GlobalAlignment(sigma, band).log_values(X)
    expected = np.array([[naive_alignment(x, z, sigma, band) for z in X] for x in X])
    finite = np.isfinite(expected)
    assert np.array_equal(finite, np.isfinite(logs))
    close(logs[finite], expected[finite])


def test_numbers_of_alignments():
    """Where all points are equal, K counts the alignments: Delannoy's numbers."""
    lengths = [1, 2, 5, 30]
    logs = GlobalAlignment(1.0).log_values([np.zeros(n) for n in lengths])
    expected = [[math.log(delannoy(n - 1, m - 1)) for m in lengths] for n in lengths]
    close(logs, expected, 1e-13)


# ---- laws --------------------------------------------------------------------------------------


@given(series(channels=1), bands(), st.sampled_from([-2.0, 0.5, 7.0]))
def test_laws_of_warping(X, band, shift):
    D = dtw_distances(X, band=band)
    assert np.array_equal(D, D.T)
    assert not D.diagonal().any()
    assert (D >= 0).all()
    close(dtw_distances([x + shift for x in X], band=band), D)
    close(dtw_distances([x[:, ::-1] for x in X], band=band), D)
    close(dtw_distances([3 * x for x in X], band=band), 9 * D)
    longest = max(x.shape[1] for x in X)
    close(dtw_distances(X, band=longest), dtw_distances(X))
    assert (dtw_distances(X) - 1e-12 <= D).all()
    # Points said twice cost nothing.
    close(dtw_distances([np.repeat(x, 2, axis=1) for x in X], X).diagonal(), np.zeros(len(X)))


@given(series(channels=2), st.sampled_from([0.3, 2.0]), st.sampled_from([None, 2, 5.5]))
def test_laws_of_alignment(X, sigma, band):
    K = GlobalAlignment(sigma, band)(X)
    close(K, K.T)
    close(K.diagonal(), np.ones(len(X)))
    assert (K <= 1 + 1e-12).all()
    if band is None:
        close(GlobalAlignment(sigma)([x[:, ::-1] for x in X]), K)
    close(GlobalAlignment(sigma, band)([x + 3.0 for x in X]), K)
    close(GlobalAlignment(2 * sigma, band)([2 * x for x in X]), K)


def test_no_band_is_the_limit_of_wide_ones():
    X = walks(6, (3, 12))
    for band in (1e9, 1e300):
        close(GlobalAlignment(1.0, band)(X), GlobalAlignment(1.0)(X), 1e-6)
        assert np.array_equal(dtw_distances(X, band=band), dtw_distances(X))


def test_without_warping_this_is_the_rbf_kernel():
    X = np.random.default_rng(0).normal(size=(30, 12))
    close(DTW(0, 0.3)(X), RBF(gamma=0.3)(X))
    close(DTW(0, "scale")(X), RBF("scale")(X))
    close(DTW(0, "median")(X), RBF(length_scale="median")(X))


@pytest.mark.parametrize("kernel", EXAMPLES, ids=repr)
def test_blocks_threads_and_precisions_agree(kernel, monkeypatch):
    X = walks(140, (1, 30), 2)
    whole = kernel(X)
    assert np.array_equal(whole, whole.T)
    for threads in ("1", "2"):
        monkeypatch.setenv("MERCER_THREADS", threads)
        close(kernel(X), whole, 1e-13)
    resolved = kernel.resolve(kernel.encode(X))
    close(resolved(X[:3], X), whole[:3], 1e-12)
    close(resolved(X, X[:3]), whole[:, :3], 1e-12)
    gram = Gram(resolved, X)
    close(gram.rows(np.array([5, 3, 77])), whole[[5, 3, 77]], 1e-12)
    close(gram @ np.ones(140), whole @ np.ones(140), 1e-12)
    single = resolved([x.astype(np.float32) for x in X])
    assert single.dtype == np.float32
    close(single, whole, 1e-4)


def test_far_from_the_origin_float32_keeps_its_digits():
    X = [x.astype(np.float32) + np.float32(5000) for x in walks(9, (5, 20))]
    exact = dtw_distances([x.astype(np.float64) for x in X])
    close(dtw_distances(X), exact, 1e-6)


# ---- definiteness --------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("band", [None, 2, 7.5])
def test_alignment_is_positive(sigma, band):
    for seed, lengths in enumerate([(1, 6), (5, 30), (20, 21)]):
        X = walks(60, lengths, 2, seed)
        values = np.linalg.eigvalsh(GlobalAlignment(sigma, band)(X))
        assert values[0] >= -1e-10 * 60


@given(series_kernels(positive=True), series(rows=(2, 7)))
def test_alignment_is_positive_on_anything(kernel, X):
    report = check_kernel(kernel, X)
    assert report.is_symmetric
    assert report.is_positive
    assert report.obeys_cauchy_schwarz


def test_warping_is_not_positive_and_says_so():
    assert DTW().definite is Definite.INDEFINITE
    assert (DTW() + GlobalAlignment()).definite is Definite.INDEFINITE
    X = [x for seed in range(5) for x in walks(12, (2, 8), seed=seed)]
    assert np.linalg.eigvalsh(DTW(gamma=0.1)(X))[0] < -1e-3
    assert GlobalAlignment().definite is GlobalAlignment(2.0, 3).definite is Definite.POSITIVE


# ---- extremes ------------------------------------------------------------------------------------


def test_long_constant_and_single_series_are_finite():
    walk = np.random.default_rng(0).normal(size=5000).cumsum() / 50
    X = [walk, np.zeros(5000), [3.0]]
    wide, narrow = GlobalAlignment()(X), GlobalAlignment(0.05, 400)(X)
    assert 0 < wide[0, 1] < 1
    for K in (wide, narrow):
        assert np.isfinite(K).all()
        close(K.diagonal(), np.ones(3), 1e-9)
        assert np.linalg.eigvalsh(K)[0] > -1e-9
    # The number of alignments of two series of 5000 points has 3826 digits.
    logs = GlobalAlignment(1.0).log_values(X[1:])
    close(logs[0, 0], math.log(delannoy(4999, 4999)), 1e-11)
    assert np.isfinite(logs).all()
    assert np.isfinite(dtw_distances(X)).all()


def test_distant_series():
    """Values far below the range of numbers are 0, and their logarithms are exact."""
    X = [[0.0, 1.0, 0.0], [1e4, 1e4], [0.0, 1e6, 0.0]]
    kernel = GlobalAlignment(0.5)
    K = kernel(X)
    close(K, np.eye(3))
    expected = [[naive_alignment(x, z, 0.5) for z in X] for x in X]
    close(kernel.log_values(X), expected, 1e-12)
    close(DTW(gamma=1.0)(X), np.eye(3))


def test_series_too_different_in_length_for_the_band():
    K = GlobalAlignment(1.0, 3)([np.zeros(2), np.zeros(4), np.zeros(5), np.zeros(20)])
    assert K[0, 2] == K[0, 3] == K[1, 3] == 0
    assert K[0, 1] > 0
    assert np.linalg.eigvalsh(K)[0] >= -1e-12


# ---- in machines ---------------------------------------------------------------------------------


def test_widths_are_settled_on_training_series():
    X = walks(12, (3, 9), 2)
    kernel = DTW(gamma="median").resolve(DTW().encode(X))
    D = dtw_distances(X)[np.triu_indices(12, 1)]
    assert kernel.gamma == pytest.approx(1 / (2 * np.median(D)))
    assert DTW(gamma="scale").resolve(DTW().encode([[1.0, 1.0]])).gamma == pytest.approx(1.0)
    assert DTW(gamma="median").resolve(DTW().encode([[1.0]])).gamma == pytest.approx(0.5)
    assert np.isfinite(GlobalAlignment("median")([[1.0], [1.0, 1.0]])).all()
    assert GlobalAlignment(2.0).resolve(DTW().encode(X)) == GlobalAlignment(2.0)


def test_widths_share_one_set_of_distances(monkeypatch):
    from mercer.kernels.series.alignment import WarpingDistance

    X = walks(20, (5, 12))
    calls = []
    compute = WarpingDistance.compute

    def counted(self, a, b, out=None):
        calls.append(len(a))
        return compute(self, a, b, out)

    monkeypatch.setattr(WarpingDistance, "compute", counted)
    (DTW(gamma=0.1) + DTW(gamma=0.5))(X)
    assert calls == [20]
    assert DTW(3, 0.1).statistic == DTW(3.0, 0.7).statistic
    assert DTW(3, 0.1).statistic != DTW(4, 0.1).statistic


def test_gradient_of_the_width():
    X = walks(6, (2, 8))
    ((name, slope),) = DTW(gamma=0.2).gradients(X)
    h = 1e-5
    upper, lower = (DTW(gamma=0.2 * math.exp(sign * h))(X) for sign in (1, -1))
    assert name == "gamma"
    close(slope, (upper - lower) / (2 * h), 1e-8)
    assert GlobalAlignment(1.0).free_parameters() == {"sigma": 1.0}
    assert GlobalAlignment("scale").free_parameters() == {}


def test_machines_and_searches_take_series():
    random = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = []
    for label in y:
        wave = np.sin(np.linspace(0, 6 if label else 9, random.integers(20, 40)))
        X.append(wave + 0.3 * random.normal(size=len(wave)))
    with pytest.warns(UserWarning, match="not positive"):
        machine = SVC(DTW(0.2)).fit(X[:40], y[:40])
    assert machine.score(X[40:], y[40:]) >= 0.9
    machine = SVC(GlobalAlignment(), C=10.0).fit(X[:40], y[:40])
    assert machine.score(X[40:], y[40:]) >= 0.9
    assert machine.certificate_.gap >= 0
    search = GridSearchCV(SVC(GlobalAlignment(1.0)), {"kernel__sigma": [0.01, 2.0]}, cv=3)
    search.fit(X[:40], y[:40])
    assert search.best_params_["kernel__sigma"] == 2.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DTW(-1), "band=-1 has to be a number ≥ 0"),
        (lambda: DTW(2.5), "band=2.5 has to be None, a whole number of steps, or a share"),
        (lambda: DTW("wide"), "band='wide'"),
        (lambda: DTW(gamma=0), "gamma=0 has to be a number > 0"),
        (lambda: DTW(gamma="half"), "gamma='half'"),
        (lambda: DTW(gamma=None), "gamma=None"),
        (lambda: DTW(time="middle"), "time='middle' has to be 'last'"),
        (lambda: GlobalAlignment(-1.0), "sigma=-1.0 has to be a number > 0"),
        (lambda: GlobalAlignment(None), "sigma=None"),
        (lambda: GlobalAlignment(1.0, 0), "band=0 has to be a number > 0"),
        (lambda: dtw_distances([[1.0]], band=1.5), "band=1.5"),
    ],
)
def test_impossible_parameters(make, message):
    with pytest.raises(InvalidParameter, match=message):
        make()


def test_the_shared_data_suit_these_kernels():
    assert len({x.shape for x in data("series", 20)}) > 2


@pytest.mark.parametrize("band", [None, 3, 2.5, 40])
@pytest.mark.parametrize("channels", [1, 2])
def test_the_slope_of_global_alignments_is_that_of_differences(band, channels):
    random = np.random.default_rng(0)
    X = [random.normal(size=(channels, n)) for n in (1, 4, 9, 12, 6)]
    Y = [random.normal(size=(channels, n)) for n in (5, 10)]
    h = 1e-5
    for sigma in (0.4, 1.5, 6.0):
        for left, right in ((X, None), (X, Y)):
            [(name, found)] = GlobalAlignment(sigma, band).gradients(left, right)
            assert name == "sigma"
            up, down = (
                GlobalAlignment(sigma * np.exp(step), band)(left, right) for step in (h, -h)
            )
            close(found, (up - down) / (2 * h), 1e-6)
            if right is None:
                close(np.diagonal(found), np.zeros(len(X)))


def test_the_slope_of_a_global_alignment_by_all_alignments():
    """Sum over every alignment of two short series, with its slope, in plain Python."""
    x, z, sigma = np.array([0.3, -1.0, 0.7]), np.array([0.1, 0.9]), 0.8

    def paths(i, j):
        if (i, j) == (0, 0):
            return [[(0, 0)]]
        before = [(i - 1, j), (i, j - 1), (i - 1, j - 1)]
        return [[*path, (i, j)] for a, b in before if a >= 0 and b >= 0 for path in paths(a, b)]

    def log_sum(a, b, width):
        total = 0.0
        for path in paths(len(a) - 1, len(b) - 1):
            kappa = np.exp([-((a[i] - b[j]) ** 2) / (2 * width**2) for i, j in path])
            total += np.prod(kappa / (2 - kappa))
        return np.log(total)

    def value(width):
        return np.exp(log_sum(x, z, width) - log_sum(x, x, width) / 2 - log_sum(z, z, width) / 2)

    h = 1e-6
    expected = (value(sigma * np.exp(h)) - value(sigma * np.exp(-h))) / (2 * h)
    [(_, found)] = GlobalAlignment(sigma).gradients([x], [z])
    assert found[0, 0] == pytest.approx(expected, rel=1e-6)


def test_a_gaussian_process_learns_the_width_of_alignments():
    random = np.random.default_rng(0)
    phases = random.uniform(0, 2 * np.pi, 25)
    X = [np.sin(np.linspace(0, 6, 20) + phase) for phase in phases]
    y = np.cos(phases)
    kernel = 1.0 * GlobalAlignment(20.0)
    machine = GaussianProcessRegressor(kernel, alpha=1e-4).fit(X, y)
    assert machine.kernel_.kernel.sigma != 20.0
    fixed = GaussianProcessRegressor(kernel, alpha=1e-4, fixed=["kernel__sigma"]).fit(X, y)
    assert machine.log_marginal_likelihood_value_ > fixed.log_marginal_likelihood_value_ + 0.01
