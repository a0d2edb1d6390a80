"""Independent components: known sources found, Gaussians refused, both classes against others."""

import gzip
import warnings
from importlib import resources

import numpy as np
import pytest
from scipy import stats
from sklearn import decomposition
from sklearn.exceptions import ConvergenceWarning

from mercer import (
    ICA,
    CannotSave,
    FastICA,
    GaussianSourcesWarning,
    InvalidInput,
    InvalidParameter,
    load,
    save,
)
from mercer.independence import amari_distance
from mercer.linalg.covariance import whiten
from mercer.solvers.sources.fixed_point import decorrelate


def sources(d, n, seed=0):
    """Return sources of many kinds: heavy and light tails, skewed, of two peaks."""
    random = np.random.default_rng(seed)
    kinds = (
        lambda: random.laplace(size=n),
        lambda: random.uniform(size=n),
        lambda: np.sign(random.normal(size=n)) + 0.3 * random.normal(size=n),
        lambda: random.exponential(size=n),
        lambda: random.standard_t(5, size=n),
    )
    S = np.stack([kinds[i % len(kinds)]() for i in range(d)], axis=1)
    return S, random.normal(size=(d, d))


def three_peaks(n, d, seed=0):
    """Return sources for which E ψ′ = E[ψ(s)s] with ψ = tanh, as for a Gaussian."""
    random = np.random.default_rng(seed)
    p = 0.545
    peaks = random.choice([-1.0, 0.0, 1.0], p=[(1 - p) / 2, p, (1 - p) / 2], size=(n, d))
    S = 0.97 * peaks / np.sqrt(1 - p) + 0.25 * random.normal(size=(n, d))
    return S, random.normal(size=(d, d))


def test_ten_known_sources():
    S, A = sources(10, 40_000)
    model = ICA(random_state=0).fit(S @ A.T + 3)
    assert amari_distance(model.components_, A) < 0.01
    assert model.gradient_ <= 1e-7
    assert not model.gaussian_.any()


def voices(channels):
    """Return the recordings that come with mercer, cut into so many pieces of one length."""
    raw = gzip.decompress(resources.files("mercer.data").joinpath("voices.i16.gz").read_bytes())
    speech = np.frombuffer(raw, dtype="<i2").reshape(2, -1).astype(float)
    pieces = channels // 2
    return speech[:, : speech.shape[1] // pieces * pieces].reshape(channels, -1).T


def many_kinds(d, n, seed):
    S, A = sources(d, n, seed)
    return S @ A.T, A


def mixed(S):
    A = np.random.default_rng(4).normal(size=(S.shape[1], S.shape[1]))
    return S @ A.T, A


MIXTURES = {
    "10 sources, 40,000 rows": lambda: many_kinds(10, 40_000, 0),
    "10 sources, 5,000 rows": lambda: many_kinds(10, 5000, 1),
    "4 sources": lambda: many_kinds(4, 2000, 2),
    "20 sources": lambda: many_kinds(20, 20_000, 3),
    "Laplace": lambda: mixed(np.random.default_rng(4).laplace(size=(10_000, 8))),
    "two voices": lambda: mixed(voices(2)),
}


@pytest.mark.parametrize("name", MIXTURES)
def test_no_worse_than_scikit_learn(name):
    X, A = MIXTURES[name]()
    theirs = decomposition.FastICA(random_state=0, tol=1e-10, max_iter=1000).fit(X)
    for seed in range(3):
        ours = ICA(random_state=seed).fit(X)
        assert ours.gradient_ <= 1e-7
        # The same optimum, to more digits than the data can tell.
        distance, reference = (amari_distance(m.components_, A) for m in (ours, theirs))
        assert distance <= reference + 1e-5


def test_no_worse_than_picard():
    picard = pytest.importorskip("picard")
    S, A = sources(10, 20_000, seed=1)
    ours = ICA(random_state=0).fit(S @ A.T)
    K, W, _ = picard.picard((S @ A.T).T, tol=1e-7, random_state=0, ortho=True)
    assert amari_distance(ours.components_, A) <= amari_distance(W @ K, A) + 1e-5


@pytest.mark.parametrize("contrast", ["logcosh", "exp", "cube", "kurtosis"])
@pytest.mark.parametrize(
    ("algorithm", "solver"),
    [("symmetric", "auto"), ("symmetric", "fixed_point"), ("deflation", "auto")],
)
def test_all_contrasts_and_algorithms_find_the_sources(contrast, algorithm, solver):
    S, A = sources(4, 10_000)
    model = ICA(contrast=contrast, algorithm=algorithm, solver=solver, random_state=0)
    found = model.fit_transform(S @ A.T)
    assert amari_distance(model.components_, A) < 0.05
    np.testing.assert_allclose(found.T @ found / len(found), np.eye(4), atol=1e-10)
    np.testing.assert_allclose(model.mean_, (S @ A.T).mean(axis=0))
    np.testing.assert_allclose(model.transform(S @ A.T), found, atol=1e-8)
    np.testing.assert_allclose(model.inverse_transform(found), S @ A.T, atol=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_mutual_information_finds_what_logcosh_cannot(seed):
    S, A = three_peaks(3000, 4, seed)
    X = S @ A.T
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GaussianSourcesWarning)
        blind = ICA(random_state=0).fit(X)
    model = ICA(contrast="mutual_information", random_state=0).fit(X)
    # Sources that are correlated by chance cannot all be found by a rotation of white data; this is
    # the rotation nearest to them.
    K = model.whitening_
    best = amari_distance(decorrelate(np.linalg.inv(K @ A)) @ K, A)
    assert amari_distance(model.components_, A) < best + 0.01
    assert amari_distance(blind.components_, A) > 0.05
    assert blind.gaussian_.all()
    assert not model.gaussian_.any()


@pytest.mark.filterwarnings("ignore::mercer.GaussianSourcesWarning")  # where it stalls
@pytest.mark.parametrize("seed", range(3))
def test_quasi_newton_finishes_where_the_fixed_point_stalls(seed):
    X = voices(16)  # pieces of real speech, which are not quite independent
    with pytest.warns(ConvergenceWarning, match="quasi_newton"):
        stalled = ICA(solver="fixed_point", random_state=seed).fit(X)
    finished = ICA(random_state=seed).fit(X)
    assert stalled.gradient_ > 1e-3
    assert finished.gradient_ <= 1e-7
    assert finished.n_iter_ < 100 < stalled.n_iter_


@pytest.mark.parametrize("contrast", ["logcosh", "kurtosis", "mutual_information"])
@pytest.mark.parametrize("d", [2, 5])
def test_gaussian_sources_are_warned_of(contrast, d):
    random = np.random.default_rng(3)
    X = random.normal(size=(3000, d)) @ random.normal(size=(d, d))
    with pytest.warns(GaussianSourcesWarning, match="cannot be identified"):
        model = ICA(contrast=contrast, random_state=0, max_iter=100, tol=1e-3).fit(X)
    assert model.gaussian_.all()


def test_one_gaussian_source_is_no_reason_to_warn():
    S, A = sources(3, 10_000)
    S[:, 0] = np.random.default_rng(4).normal(size=len(S))
    model = ICA(random_state=0).fit(S @ A.T)
    assert model.gaussian_.sum() == 1
    assert amari_distance(model.components_, A) < 0.05


def test_rank_and_constant_columns():
    S, A = sources(3, 5000)
    X = np.column_stack([S @ A.T, np.full(len(S), 7.0), S @ A[0]])
    model = ICA(random_state=0).fit(X)
    assert model.components_.shape == (3, 5)
    assert (
        amari_distance(model.components_[:, :3] + model.components_[:, 4:] @ [[1, 0, 0]], A) < 0.05
    )
    with pytest.raises(InvalidInput, match="only 3 independent directions"):
        ICA(4).fit(X)
    with pytest.raises(InvalidInput, match="all columns are constant"):
        ICA().fit(np.full((20, 3), 0.1))
    assert ICA(2, random_state=0).fit_transform(X).shape == (5000, 2)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"algorithm": "deflation", "solver": "quasi_newton"}, "algorithm='symmetric'"),
        ({"algorithm": "deflation", "contrast": "mutual_information"}, "algorithm='symmetric'"),
        ({"contrast": "mutual_information", "solver": "fixed_point"}, "solver='auto'"),
        ({"w_init": np.ones((3, 3))}, "invertible"),
        ({"w_init": np.eye(2)}, "invertible"),
        ({"contrast": "tanh"}, "contrast"),
        ({"tol": 0}, "tol"),
    ],
)
def test_parameters_that_cannot_be(params, message):
    S, A = sources(3, 200)
    with pytest.raises(ValueError, match=message):
        ICA(**params).fit(S @ A.T)


def test_bad_data():
    for bad in ([[np.nan, 1.0], [2.0, 3.0]], [[1.0, 2.0]], np.ones(4)):
        with pytest.raises(ValueError, match=r"NaN|minimum of 2|2D array"):
            ICA().fit(bad)


@pytest.mark.parametrize("condition", [1e1, 1e4, 1e6])
def test_white_data_have_the_identity_as_covariance(condition):
    S, A = sources(4, 3000)
    U, _, V = np.linalg.svd(A)
    white = whiten(S @ (U * np.geomspace(1, condition, 4)) @ V + 100)
    np.testing.assert_allclose(white.X @ white.X.T / 3000, np.eye(4), atol=1e-9)
    assert white.rank == 4


def test_badly_scaled_columns_change_nothing():
    S, A = sources(3, 5000)
    X = S @ A.T
    scale = np.array([1e-7, 1.0, 1e7])
    model = ICA(random_state=0).fit(X * scale)
    assert amari_distance(model.components_ * scale, A) < 0.05


@pytest.mark.parametrize("algorithm", ["parallel", "deflation"])
@pytest.mark.parametrize("fun", ["logcosh", "exp", "cube", lambda y: (y**3, 3 * (y**2).mean(-1))])
@pytest.mark.parametrize("whiten", ["unit-variance", "arbitrary-variance"])
def test_fast_ica_gives_scikit_learns_answers(algorithm, fun, whiten):
    S, A = sources(4, 3000)
    X = S @ A.T + 1
    params = {"algorithm": algorithm, "fun": fun, "whiten": whiten, "random_state": 3}
    ours, theirs = FastICA(3, **params), decomposition.FastICA(3, **params)
    np.testing.assert_allclose(ours.fit_transform(X), theirs.fit_transform(X), atol=1e-8)
    assert ours.n_iter_ == theirs.n_iter_
    for name in ("components_", "mixing_", "mean_", "whitening_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-8)
    np.testing.assert_allclose(ours.transform(X[:5]), theirs.transform(X[:5]), atol=1e-8)
    names = list(ours.get_feature_names_out())
    assert names == list(theirs.get_feature_names_out())


def test_fast_ica_parameters():
    S, A = sources(3, 300)
    with pytest.raises(InvalidParameter, match="two arrays"):
        FastICA(fun=np.tanh).fit(S @ A.T)
    with pytest.raises(InvalidParameter, match="alpha"):
        FastICA(fun_args={"alpha": 3}).fit(S @ A.T)


def test_threads_do_not_change_the_answer(monkeypatch):
    S, A = sources(6, 30_000)
    answers = []
    for threads in ("1", "2"):
        monkeypatch.setenv("MERCER_THREADS", threads)
        answers.append(ICA(random_state=0).fit(S @ A.T).components_)
    np.testing.assert_array_equal(*answers)


@pytest.mark.parametrize(
    "model",
    [ICA(random_state=0), ICA(2, contrast="kurtosis", random_state=0),
     FastICA(2, random_state=0), FastICA(whiten=False, random_state=0)],
    ids=str,
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:Ignoring n_components", "ignore:FastICA did not converge")
def test_models_come_back(model, tmp_path):
    S, A = sources(3, 1000)
    X = S @ A.T if getattr(model, "whiten", True) else stats.zscore(S)
    model.fit(X)
    save(model, tmp_path / "model.mercer")
    again = load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    some = S[:, : len(model.components_)]
    np.testing.assert_array_equal(again.inverse_transform(some), model.inverse_transform(some))
    assert again.get_params().keys() == model.get_params().keys()


@pytest.mark.parametrize(
    "spoil",
    [
        {"components_": lambda m: m.components_[:, :2]},
        {"mixing_": lambda m: m.mixing_ * np.nan},
        {"mean_": lambda m: m.mean_[:1]},
        {"n_features_in_": lambda m: 5},
        {"gaussian_": lambda m: np.zeros(3)},
    ],
    ids=lambda spoil: next(iter(spoil)),
)
def test_parts_that_do_not_fit_are_refused(spoil, tmp_path):
    S, A = sources(3, 1000)
    model = ICA(random_state=0).fit(S @ A.T)
    vars(model).update({name: change(model) for name, change in spoil.items()})
    with pytest.raises(CannotSave, match="not in a state that can be saved"):
        save(model, tmp_path / "model.mercer")
