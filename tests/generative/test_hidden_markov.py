"""Hidden Markov models: against sums over all paths of states, and their ascent."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from mercer import GaussianMixture, HiddenMarkovModel, InvalidInput, InvalidParameter, InvalidType
from tests.kernels.cases import close
from tests.oracles.naive_fisher import naive_log_likelihood, naive_scores

WORDS = ["abba", "a", "", "bbab", "abcab", "cc"]
KINDS = ("full", "tied", "diag", "spherical")


def series(count=8, channels=2, seed=0):
    random = np.random.default_rng(seed)
    return [
        random.normal(size=(channels, int(random.integers(1, 6)))) + 3 * (i % 2)
        for i in range(count)
    ]


def discrete(states=2, seed=0, symbols="abc", unknown="error"):
    random = np.random.default_rng(seed)
    return HiddenMarkovModel.discrete(
        random.dirichlet(np.ones(states)),
        random.dirichlet(np.ones(states), states),
        random.dirichlet(np.ones(len(symbols)), states),
        symbols,
        unknown,
    )


def gaussian(kind, states=2, seed=0):
    random = np.random.default_rng(seed)
    A = random.normal(size=(states, 2, 2))
    full = A @ A.swapaxes(1, 2) + np.eye(2)
    diagonal = np.diagonal(full, axis1=1, axis2=2)
    covariances = {
        "full": full, "tied": full[0], "diag": diagonal, "spherical": diagonal[:, 0],
    }[kind]  # fmt: skip
    return HiddenMarkovModel.gaussian(
        random.dirichlet(np.ones(states)),
        random.dirichlet(np.ones(states), states),
        random.normal(size=(states, 2)),
        covariances,
        kind,
    )


def path_probability(model, x, path):
    codes = [model.alphabet_.index(symbol) for symbol in x]
    p = model.start_[path[0]] * model.probabilities_[path[0], codes[0]]
    for t in range(1, len(path)):
        p *= model.transitions_[path[t - 1], path[t]] * model.probabilities_[path[t], codes[t]]
    return p


def best_probability(model, x):
    """Return the probability of the likeliest path, by trying all of them."""
    paths = itertools.product(range(len(model.start_)), repeat=len(x))
    return max(path_probability(model, x, path) for path in paths)


@pytest.mark.parametrize("states", [1, 2, 3])
def test_likelihood_is_the_sum_over_all_paths(states):
    model = discrete(states, seed=states)
    close(model.score_samples(WORDS), [naive_log_likelihood(model, x) for x in WORDS], 1e-12)
    assert model.score_samples([""])[0] == 0
    assert model.score(WORDS) == pytest.approx(model.score_samples(WORDS).mean())


@pytest.mark.parametrize("kind", KINDS)
def test_likelihood_of_series(kind):
    model, X = gaussian(kind, 2), series()
    close(model.score_samples(X), [naive_log_likelihood(model, x) for x in X], 1e-11)


def test_states_are_expected_as_all_paths_say():
    model, x = discrete(3, seed=4), "abcab"
    codes = [model.alphabet_.index(symbol) for symbol in x]
    expected = np.zeros((len(x), 3))
    for path in itertools.product(range(3), repeat=len(x)):
        p = model.start_[path[0]] * model.probabilities_[path[0], codes[0]]
        for t in range(1, len(x)):
            p *= model.transitions_[path[t - 1], path[t]] * model.probabilities_[path[t], codes[t]]
        expected[np.arange(len(x)), path] += p
    found = model.predict_proba([x, ""])
    close(found[0], expected / expected.sum(axis=1, keepdims=True), 1e-12)
    assert found[1].shape == (0, 3)


@given(st.integers(0, 10_000), st.text("abc", min_size=1, max_size=6), st.integers(1, 3))
def test_best_path_and_likelihood_of_any_word(seed, x, states):
    model = discrete(states, seed)
    # Several paths may be the likeliest: 0010 and 0100 of "caac" have the same factors. A sum of
    # twelve logarithms, each above −20, is right to 12 · 240 · 2⁻⁵³; a choice compares two of them.
    probability = path_probability(model, x, model.predict([x])[0])
    assert probability == pytest.approx(best_probability(model, x), rel=1e-12, abs=0)
    assert model.score_samples([x])[0] == pytest.approx(naive_log_likelihood(model, x), abs=1e-11)


@pytest.mark.parametrize("weights", ["softmax", "plain"])
def test_scores_of_words_are_derivatives(weights):
    model = discrete(2, seed=1, unknown="skip")
    words = [*WORDS, "axb"]
    expected = np.array([naive_scores(model, x, weights) for x in words])
    close(model.fisher_scores(words, weights), expected, 1e-11)
    assert not model.fisher_scores([""]).any()


@pytest.mark.parametrize("kind", KINDS)
def test_scores_of_series_are_derivatives(kind):
    model, X = gaussian(kind, 2), series()
    close(model.fisher_scores(X), np.array([naive_scores(model, x) for x in X]), 1e-10)


def test_long_sequences_stay_finite():
    model = discrete(2, seed=3)
    x = "abcab" * 20_000
    value = model.score_samples([x])[0]
    assert np.isfinite(value)
    assert value < -50_000
    assert np.isfinite(model.fisher_scores([x])).all()
    far = gaussian("diag").score_samples([np.full((2, 3), 1e6)])
    assert np.isfinite(far).all()


@pytest.mark.parametrize("emissions", ["gaussian", "discrete"])
@pytest.mark.parametrize("smoothing", [0.0, 0.5])
def test_every_step_raises_the_objective(emissions, smoothing):
    X = series(30) if emissions == "gaussian" else WORDS
    for seed in range(4):
        model = HiddenMarkovModel(
            3, emissions=emissions, smoothing=smoothing, random_state=seed, tol=0.0, max_iter=40
        )
        with pytest.warns(ConvergenceWarning, match="max_iter=40"):
            model.fit(X)
        assert model.ascent_.is_monotone, model.ascent_.largest_drop
        assert not model.converged_
        if not smoothing:
            times = sum(len(x) if isinstance(x, str) else x.shape[1] for x in X)
            total = model.score_samples(X).sum() / times
            assert model.trace_[-1] == pytest.approx(total, abs=1e-10)


def test_the_optimum_has_no_slope():
    X = series(40, seed=2)
    model = HiddenMarkovModel(2, smoothing=0.0, tol=1e-14, max_iter=5000, random_state=0).fit(X)
    assert np.abs(model.fisher_scores(X).sum(axis=0)).max() < 1e-3
    words = HiddenMarkovModel(
        1, emissions="discrete", smoothing=0.0, tol=1e-12, random_state=0
    ).fit(WORDS)
    counts = np.array([sum(word.count(s) for word in WORDS) for s in "abc"])
    close(words.probabilities_[0], counts / counts.sum(), 1e-12)


def test_one_state_is_one_gaussian():
    X = series(20)
    model = HiddenMarkovModel(1, covariance_type="full", random_state=0).fit(X)
    single = GaussianMixture().fit(np.hstack(X).T)
    close(model.means_, single.means_, 1e-10)
    close(model.covariances_, single.covariances_, 1e-10)


def test_a_model_is_found_again_from_its_samples():
    truth = HiddenMarkovModel.discrete(
        [0.5, 0.5], [[0.95, 0.05], [0.1, 0.9]], [[0.8, 0.1, 0.1], [0.05, 0.15, 0.8]], "xyz"
    ).set_params(random_state=0)
    words, paths = truth.sample(100, 100)
    assert len(words[0]) == len(paths[0]) == 100
    model = HiddenMarkovModel(2, emissions="discrete", random_state=0, tol=1e-6).fit(words)
    order = np.argsort(-model.probabilities_[:, 0])
    close(model.probabilities_[order], truth.probabilities_, 0.03)
    close(model.transitions_[np.ix_(order, order)], truth.transitions_, 0.03)
    states = np.concatenate(model.predict(words))
    assert np.mean(order[np.concatenate(paths)] == states) > 0.9


def test_forms_of_series():
    X = [np.array([[0.0, 1.0, 0.5], [1.0, 0.0, 2.0]])] * 3 + [np.ones((2, 3))]
    last = HiddenMarkovModel(1, random_state=0).fit(X)
    first = HiddenMarkovModel(1, time="first", random_state=0).fit([x.T for x in X])
    close(last.means_, first.means_)
    close(last.score_samples(X), first.score_samples([x.T for x in X]))
    close(last.score_samples(X), last.score_samples(np.stack(X)))
    flat = HiddenMarkovModel(1, random_state=0).fit([[1.0, 2.0], [3.0]])
    close(flat.means_, [[2.0]])
    values, _ = last.set_params(random_state=1).sample(2, 4)
    assert values[0].shape == (2, 4)


def test_symbols_of_any_kind():
    model = HiddenMarkovModel(1, emissions="discrete", smoothing=0.0).fit([[3, 1, 1], ["x"]])
    assert model.alphabet_ == (1, 3, "x")
    close(model.probabilities_, [[0.5, 0.25, 0.25]])
    assert np.array_equal(model.score_samples([[3, 1]]), model.score_samples([np.array([3, 1])]))
    given_ = HiddenMarkovModel(1, emissions="discrete", alphabet="abz", smoothing=1.0).fit(["ab"])
    close(given_.probabilities_, [[0.4, 0.4, 0.2]])


def test_unknown_symbols():
    with pytest.raises(InvalidInput, match="'x' in sequence 1 is not in the alphabet"):
        discrete().score_samples(["ab", "axb"])
    model = discrete(unknown="skip")
    assert model.score_samples(["x"])[0] == pytest.approx(0.0, abs=1e-12)


def test_impossible_sequences():
    model = HiddenMarkovModel.discrete([1.0], [[1.0]], [[1.0, 0.0]], "ab")
    assert model.score_samples(["ab"])[0] == -math.inf
    with pytest.raises(InvalidInput, match=r"sequence 1 has probability 0.*smoothing > 0"):
        model.fisher_scores(["a", "ab"])


@pytest.mark.parametrize(
    ("model", "X", "error", "message"),
    [
        (HiddenMarkovModel(), ["abc"], InvalidType, "sequence 0 is no series.*discrete"),
        (HiddenMarkovModel(), [[1.0, math.nan]], InvalidInput, "sequence 0 has a value"),
        (HiddenMarkovModel(), [np.ones((2, 3)), np.ones((3, 3))], InvalidInput, "3 channels"),
        (HiddenMarkovModel(), [], InvalidInput, "no sequences"),
        (HiddenMarkovModel(), "abc", InvalidType, "expected a list of sequences"),
        (
            HiddenMarkovModel(emissions="discrete"),
            ["", ""],
            InvalidInput,
            "all sequences are empty",
        ),
        (HiddenMarkovModel(emissions="discrete"), [[0.5]], InvalidType, "no list of symbols"),
        (HiddenMarkovModel(emissions="words"), ["a"], ValueError, "emissions"),
        (HiddenMarkovModel(0), [[1.0]], ValueError, "n_states"),
    ],
)
def test_what_cannot_be_fitted(model, X, error, message):
    with pytest.raises(error, match=message):
        model.fit(X)


def test_other_errors():
    with pytest.raises(NotFittedError):
        HiddenMarkovModel().score_samples([[1.0]])
    with pytest.raises(InvalidInput, match="1 channels, the model has 2"):
        gaussian("diag").score_samples([[1.0, 2.0]])
    with pytest.raises(InvalidParameter, match="transitions has to be probabilities"):
        HiddenMarkovModel.discrete([1.0], [[0.5]], [[1.0]], "a")
    with pytest.raises(InvalidParameter, match="positive definite"):
        HiddenMarkovModel.gaussian([1.0], [[1.0]], [[0.0]], [[-1.0]])
    assert clone(HiddenMarkovModel(3, tol=0.1)).get_params()["tol"] == 0.1


def test_constant_series_and_single_values():
    model = HiddenMarkovModel(2, random_state=0).fit([[1.0, 1.0, 1.0], [1.0]])
    assert np.isfinite(model.score_samples([[1.0], [2.0, 1.0]])).all()
