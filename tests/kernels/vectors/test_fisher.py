"""Fisher kernels: over mixtures and hidden Markov models, frozen or fitted in the fold."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from sklearn import mixture
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import (
    RBF,
    SVC,
    CannotSave,
    Fisher,
    GaussianMixture,
    Gram,
    HiddenMarkovModel,
    InvalidInput,
    InvalidParameter,
    check_kernel,
    format_kernel,
    load,
    load_data,
    parse_kernel,
    read_series,
    save,
)
from tests.generative.test_hidden_markov import WORDS, discrete, gaussian, series
from tests.kernels.cases import close
from tests.oracles.naive import naive_gram
from tests.real_data import real_data

VOWELS = "timeseries/aeon_JapaneseVowels"
MIXTURE = GaussianMixture.of(
    [0.3, 0.7], [[0.0, 0.0, 1.0], [1.0, -1.0, 0.0]], [np.eye(3), 2 * np.eye(3) + 0.5]
)
CASES = {
    "mixture": (MIXTURE, np.random.default_rng(0).normal(size=(7, 3))),
    "words": (discrete(2, unknown="skip"), [*WORDS, "axb"]),
    "series": (gaussian("full"), series(7)),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("information", [True, False, "empirical", "diagonal"])
@pytest.mark.parametrize("weights", ["softmax", "plain"])
def test_values_equal_the_oracle(case, information, weights):
    model, X = CASES[case]
    kernel = Fisher(model, information, weights=weights)
    Y = X[2:6]
    close(kernel(X, Y), naive_gram(kernel, X, Y), 1e-8)
    close(kernel(X), naive_gram(kernel, X), 1e-8)
    settled = kernel.resolve(kernel.encode(Y))
    close(settled.features(X) @ settled.features(Y).T, settled(X, Y), 1e-10)
    close(settled.diag(X), np.diag(settled(X)))
    assert settled.resolve(settled.encode(X)) is settled
    close(Gram(settled, X).dense(), settled(X))


@given(st.integers(0, 1000), st.sampled_from([True, False, "diagonal"]), st.integers(2, 30))
def test_fisher_kernels_are_positive(seed, information, rows):
    X = np.random.default_rng(seed).normal(size=(rows, 3))
    kernel = Fisher(MIXTURE, information)
    K = kernel(X)
    assert np.linalg.eigvalsh(K)[0] >= -1e-10 * rows * max(1.0, np.abs(K).max())
    assert check_kernel(kernel, X).ok or check_kernel(kernel, X).is_positive


def test_full_information_does_not_depend_on_the_parametrisation():
    X = np.random.default_rng(1).normal(size=(400, 3)) * [1, 2, 3]
    stretch = np.array([2.0, 0.1, 5.0])
    kernel = Fisher("mixture(n_components=2, tol=1e-10, max_iter=5000, random_state=0)")
    model = GaussianMixture(2, tol=1e-10, max_iter=5000, random_state=0, reg_covar=0.0).fit(X)
    moved = GaussianMixture.of(
        model.weights_, model.means_ * stretch, model.covariances_ * np.outer(stretch, stretch)
    )
    close(Fisher(model)(X), Fisher(moved)(X * stretch), 1e-6)
    # With the pseudo-inverse of an estimate the mean of k(x, x) is its rank: here all but one
    # of the 2 + 6 + 12 parameters, since the scores of the weights add up to zero.
    assert kernel.diag(X).mean() == pytest.approx(19, rel=1e-6)


def test_one_gaussian_has_its_information_in_closed_form():
    X = np.random.default_rng(0).normal(size=(50, 2))
    settled = Fisher(GaussianMixture()).resolve(Fisher(GaussianMixture()).encode(X))
    close(settled.information, settled.model.fisher_information())
    z = (X - X.mean(axis=0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(X.T, bias=True))).T
    # u(x)ᵀI⁻¹u(x′) of a Gaussian: z·z′ and what the squares add.
    squares = (z @ z.T) ** 2 - np.square(z).sum(1)[:, None] - np.square(z).sum(1) + 2
    close(settled(X), z @ z.T + squares / 2, 1e-6)
    estimated = Fisher(GaussianMixture(), "empirical")
    assert not np.allclose(estimated(X), settled(X))


# ---- when the model is fitted -------------------------------------------------------------------


def test_a_fitted_model_is_frozen_and_another_is_fitted_in_the_fold():
    X = np.random.default_rng(0).normal(size=(60, 2))
    fitted = GaussianMixture(2, random_state=0).fit(X[:20])
    frozen, loose = Fisher(fitted, False), Fisher(GaussianMixture(2, random_state=0), False)
    close(frozen.resolve(frozen.encode(X)).model.means_, fitted.means_)
    settled = loose.resolve(loose.encode(X[30:]))
    close(settled.model.means_, GaussianMixture(2, random_state=0).fit(X[30:]).means_)
    assert not hasattr(loose.model, "means_"), "the kernel keeps the model that was not fitted"
    assert clone(frozen) == frozen
    assert clone(loose) == loose
    assert clone(frozen) != loose
    close(clone(frozen).model.means_, fitted.means_)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_mixtures_of_scikit_learn(kind):
    X = np.random.default_rng(0).normal(size=(60, 2))
    options = {"covariance_type": kind, "random_state": 0, "tol": 1e-6, "max_iter": 1000}
    theirs = mixture.GaussianMixture(2, reg_covar=0.0, **options)
    ours = GaussianMixture(2, reg_covar=0.0, **options)
    close(Fisher(theirs)(X), Fisher(ours)(X), 1e-5)
    kernel = Fisher(clone(theirs).fit(X[:40]))
    close(kernel(X), Fisher(clone(ours).fit(X[:40]))(X), 1e-5)
    assert isinstance(kernel.resolve(kernel.encode(X)).model, GaussianMixture)


def test_training_folds_do_not_leak():
    seen = []

    class Spy(GaussianMixture):
        def fit(self, X, y=None):
            seen.append(len(X))
            return super().fit(X)

    X = np.random.default_rng(0).normal(size=(50, 2))
    y = np.hypot(*X.T) > 1
    cross_val_score(SVC(kernel=Fisher(Spy(2, random_state=0))), X, y, cv=KFold(5))
    assert seen == [40] * 5


def test_searches_reach_the_model():
    X = np.random.default_rng(0).normal(size=(80, 2))
    y = np.hypot(*X.T) > 1
    search = GridSearchCV(
        SVC(kernel=Fisher(GaussianMixture(random_state=0)).normalized(), C=10),
        {
            "kernel__kernel__model__n_components": [1, 3],
            "kernel__kernel__information": [True, False],
        },
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.8
    by_text = GridSearchCV(
        SVC(kernel=Fisher()), {"kernel__model": ["mixture", "mixture(n_components=2)"]}, cv=3
    ).fit(X, y)
    assert by_text.best_score_ > 0.8
    with pytest.raises(InvalidParameter, match="model was fitted before"):
        Fisher(MIXTURE).set_params(model__n_components=4)
    swapped = Fisher(MIXTURE).set_params(model=GaussianMixture(), model__n_components=4)
    assert swapped.model.n_components == 4


def test_changing_a_clone_leaves_the_original():
    kernel = Fisher(GaussianMixture(2))
    twin = clone(kernel).set_params(model__n_components=5)
    assert (kernel.model.n_components, twin.model.n_components) == (2, 5)
    assert kernel != twin
    assert hash(kernel) == hash(clone(kernel))


# ---- text, files, composites --------------------------------------------------------------------


def test_text():
    kernel = Fisher("hmm(n_states=2, emissions='discrete')", "diagonal")
    assert parse_kernel(format_kernel(kernel)) == kernel
    assert parse_kernel('fisher(model="mixture(n_components=3)")') == Fisher(
        "mixture(n_components=3)"
    )
    assert kernel(["ab", "ba", "abab"]).shape == (3, 3)
    assert Fisher("hmm(random_state=0)")(series(5)).shape == (5, 5)


@pytest.mark.parametrize("case", CASES)
def test_saved_machines_answer_alike(case, tmp_path):
    model, X = CASES[case]
    y = np.arange(len(X)) % 2
    for kernel in (Fisher(model), Fisher(clone(model), "diagonal").normalized()):
        if not hasattr(kernel, "kernel") or case != "words":
            machine = SVC(kernel=kernel).fit(X, y)
            save(machine, tmp_path / "model.mercer")
            again = load(tmp_path / "model.mercer")
            np.testing.assert_array_equal(machine.decision_function(X), again.decision_function(X))
            assert again.kernel_ == machine.kernel_
    save(model, tmp_path / "alone.mercer")
    close(load(tmp_path / "alone.mercer").score_samples(X), model.score_samples(X))


def test_saved_mixtures_of_scikit_learn(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = X[:, 0] > 0
    machine = SVC(kernel=Fisher(mixture.GaussianMixture(2, random_state=0))).fit(X, y)
    save(machine, tmp_path / "model.mercer")
    close(load(tmp_path / "model.mercer").decision_function(X), machine.decision_function(X))
    fitted = SVC(kernel=Fisher(mixture.GaussianMixture(2, random_state=0).fit(X))).fit(X, y)
    with pytest.raises(CannotSave, match=r"mercer.GaussianMixture.of"):
        save(fitted, tmp_path / "model.mercer")


def test_columns_and_composites():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(9, 3)), columns=list("abc"))
    kernel = Fisher("mixture(reg_covar=0.1)", "diagonal").on("a", "c") * RBF(gamma=0.5).on("b")
    expected = Fisher("mixture(reg_covar=0.1)", "diagonal")(frame[["a", "c"]]) * RBF(gamma=0.5)(
        frame[["b"]]
    )
    close(kernel(frame), expected)
    assert Fisher(MIXTURE, False)(np.ones((2, 3), dtype=np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Fisher("forest"), "'forest' is not a model"),
        (lambda: Fisher("mixture("), "is not a model"),
        (lambda: Fisher("mixture(3)"), "is not a model"),
        (lambda: Fisher("mixture(n_components=__import__('os'))"), "is not a model"),
        (lambda: Fisher(RBF()), "is no generative model"),
        (lambda: Fisher(None), "is no generative model"),
        (lambda: Fisher(MIXTURE, "exact"), "information='exact'"),
        (lambda: Fisher(MIXTURE, None), "information=None"),
        (lambda: Fisher(MIXTURE, [[1.0, 2.0], [3.0, 4.0]]), "has to be symmetric"),
        (lambda: Fisher(MIXTURE, [np.nan]), "matrix of numbers"),
        (lambda: Fisher(MIXTURE, weights="logit"), "weights='logit'"),
    ],
)
def test_impossible_parameters(make, message):
    with pytest.raises(InvalidParameter, match=message):
        make()


def test_other_errors():
    X = np.ones((3, 3))
    with pytest.raises(InvalidParameter, match="no parameter 'components'"):
        Fisher("mixture(components=3)")(X)
    with pytest.raises(InvalidParameter, match="n_components"):
        Fisher("mixture(n_components=0)")(X)
    with pytest.raises(InvalidInput, match="information is for 2 parameters and the model has 20"):
        Fisher(MIXTURE, np.eye(2))(X)
    with pytest.raises(ValueError, match="2 features"):
        Fisher(MIXTURE, False)(X[:, :2])
    with pytest.raises(InvalidInput, match="not in the alphabet"):
        Fisher(discrete(), False)(["abx"])
    with pytest.raises(InvalidInput, match="n_components=4 needs as many rows"):
        Fisher("mixture(n_components=4)")(X)
    with pytest.raises(InvalidParameter, match="settled on training points first"):
        Fisher().feature_map(Fisher().encode(X))


# ---- real data ----------------------------------------------------------------------------------


def test_heart_disease():
    data = load_data("heart")
    machine = make_pipeline(
        StandardScaler(),
        SVC(kernel=Fisher("mixture(n_components=2, covariance_type='diag', random_state=0)",
                          "diagonal").normalized()),
    )  # fmt: skip
    score = cross_val_score(machine, data.X, data.y, cv=5).mean()
    assert score > 0.78  # always the larger class: 0.56


@pytest.mark.slow
def test_speakers_of_japanese_vowels():
    """About what the UEA archive has for the nearest neighbour by dependent warping, 94.9 %. The
    number of states is chosen by cross-validation on the training part."""
    names = [f"{VOWELS}/JapaneseVowels_{part}.ts" for part in ("TRAIN", "TEST")]
    train, test = (read_series(real_data(name)) for name in names)
    machines = {
        states: SVC(
            Fisher(HiddenMarkovModel(states, n_init=1, random_state=0), "diagonal").normalized()
        )
        for states in (2, 4, 8)
    }
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    X = np.empty(len(train.X), dtype=object)
    X[:] = train.X
    scores = {s: cross_val_score(m, X, train.y, cv=folds).mean() for s, m in machines.items()}
    machine = machines[max(scores, key=scores.get)].fit(train.X, train.y)
    model = machine.kernel_.kernel.model
    assert model.converged_
    assert model.ascent_.is_monotone
    assert machine.score(test.X, test.y) > 0.93  # 0.949 ± 0.011 for so many test series
    # A model for each speaker, as a baseline that shares nothing with the kernel; its
    # settings were not chosen by cross-validation.
    speakers = np.unique(train.y)
    likelihoods = [
        HiddenMarkovModel(5, floor=0.01, n_init=1, random_state=0)
        .fit([x for x, y in zip(train.X, train.y, strict=True) if y == speaker])
        .score_samples(test.X)
        for speaker in speakers
    ]
    assert np.mean(speakers[np.argmax(likelihoods, axis=0)] == test.y) > 0.95
