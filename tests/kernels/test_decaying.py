"""Slopes of decays against extrapolated differences of naive formulas, and in closed form."""

import math
from itertools import pairwise

import numpy as np
import pytest

from mercer import (
    GP,
    GaussianProcessRegressor,
    Graph,
    RandomWalk,
    Subsequence,
    SubsetTree,
    Substrings,
    Subtree,
    White,
)
from mercer.exceptions import InvalidParameter, NoGradient
from mercer.kernels.pairs import Pairs
from tests.kernels.cases import data
from tests.oracles.naive import naive_gram

STRINGS = ["abcab", "cabbac", "", "b", "abcbcacab"]
WORDS = ["the cat sat", "a cart, a cat", "that star", "x"]  # more letters than spelling pays for
TREES = data("trees", 6, 3)
RING = Graph([(0, 1), (1, 2), (2, 3), (3, 0)])
GRAPHS = [RING, Graph([(0, 1), (1, 2)]), Graph([], size=2), Graph([(0, 1), (1, 2), (0, 2)])]
LABELLED = [
    Graph([(0, 1), (1, 2), (0, 2)], list("CNC")),
    Graph([(0, 1), (1, 2)], list("CCN")),
    Graph([(0, 1)], list("OO")),
]
DIRECTED = [
    Graph([(0, 1), (1, 2), (2, 0)], list("CNC"), directed=True),
    Graph([(0, 1), (2, 1), (1, 0)], list("CNC"), directed=True),
]

CASES = [
    *((Subsequence(k, d, w, n), X) for X in (STRINGS, WORDS) for k, d, w, n in (
        (1, 0.5, "length", None), (2, 0.3, "gaps", None), (3, 0.8, "length", "all"),
        (3, 0.6, "gaps", [0.5, 0.0, 2.0]), (1, 0.5, "gaps", None))),
    (Substrings(["ab", "b", "cab", "aa"], 0.4), STRINGS),
    (SubsetTree(0.3), TREES),
    (SubsetTree(0.9, leaves=True), TREES),
    (Subtree(0.7), TREES),
    (Subtree(0.4, leaves=False, ordered=False), TREES),
    (RandomWalk(0.05), GRAPHS),
    (RandomWalk(0.23), GRAPHS),
    (RandomWalk(0.1), LABELLED),
    (RandomWalk(0.3), DIRECTED),
    (RandomWalk(0.9, degree_normalized=True), LABELLED),
    (RandomWalk(0.2, tottering=False), LABELLED),
    (RandomWalk(0.2, tottering=False), DIRECTED),
]  # fmt: skip


def extrapolated(kernel, X):
    """Return ∂K/∂log λ of the naive formula, by central differences of six widths (Romberg)."""

    def values(h):
        return np.asarray(naive_gram(kernel.replace(decay=kernel.decay * math.exp(h)), X))

    row = [(values(h) - values(-h)) / (2 * h) for h in 0.04 * 0.5 ** np.arange(6)]
    for order in range(1, len(row)):
        row = [fine + (fine - rough) / (4**order - 1) for rough, fine in pairwise(row)]
    return row[0]


@pytest.mark.parametrize(("kernel", "X"), CASES, ids=lambda value: repr(value)[:60])
def test_slopes_are_those_of_the_naive_formula(kernel, X):
    [(name, G)] = kernel.gradients(X)
    expected = extrapolated(kernel, X)
    assert name == "decay"
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(G / scale, expected / scale, rtol=0, atol=1e-9)
    [(_, part)] = kernel.gradients(X[:2], X)
    np.testing.assert_allclose(part, G[:2], rtol=1e-12, atol=1e-12 * scale)
    values = Pairs(kernel.encode(X)).row_diagonal()
    np.testing.assert_allclose(kernel.gradient(values, "decay"), np.diagonal(G), rtol=1e-12)


@pytest.mark.parametrize(("kernel", "X"), CASES, ids=lambda value: repr(value)[:60])
def test_normalised_slopes(kernel, X):
    whole = kernel.normalized()
    up, down = (whole.with_parameters({"kernel__decay": kernel.decay * math.exp(h)})(X)
                for h in (1e-5, -1e-5))  # fmt: skip
    [(name, G)] = whole.gradients(X)
    assert name == "kernel__decay"
    np.testing.assert_allclose(G, (up - down) / 2e-5, rtol=0, atol=1e-8)


def test_one_letter_more_than_a_pair():
    # k(cat, cart) = 1 + λ + λ³, so λ ∂k/∂λ = λ + 3λ³.
    [(_, G)] = Subsequence(2, 0.5).gradients(["cat"], ["cart"])
    assert G[0, 0] == pytest.approx(0.5 + 3 * 0.125, rel=1e-15)


def test_walks_of_an_edge():
    # k = 4/(1 − λ), so λ ∂k/∂λ = 4λ/(1 − λ)².
    [(_, G)] = RandomWalk(0.1).gradients([Graph([(0, 1)])])
    assert G[0, 0] == pytest.approx(0.4 / 0.81, rel=1e-14)


@pytest.mark.parametrize("X", [GRAPHS, LABELLED, DIRECTED], ids=["plain", "labelled", "directed"])
def test_tiny_decays_keep_their_digits(X):
    # One walk of one step for each arc of the product graph; the next are 1e-9 of that.
    small, smaller = (dict(RandomWalk(d).gradients(X))["decay"] / d for d in (1e-9, 1e-10))
    np.testing.assert_allclose(small, smaller, rtol=1e-7)
    assert np.abs(small).max() >= 1


def test_an_end_is_no_parameter():
    assert Subsequence(2, 0.0).free_parameters() == {}
    assert Substrings(["a"], 0.5, "binary").free_parameters() == {}
    values = Pairs(Subsequence(2, 0.5).encode(STRINGS)).row_diagonal()
    with pytest.raises(NoGradient, match="with respect to 'k'"):
        Subsequence(2, 0.5).gradient(values, "k")


def test_limits():
    kernel = 2.0 * RandomWalk(0.1) + Subsequence(2, 0.5).normalized().on(0)
    points = RandomWalk(0.1).encode(GRAPHS)
    assert RandomWalk(0.1).parameter_limits(points)["decay"] == pytest.approx(0.999 / 4)
    assert list(kernel.left.parameter_limits(points)) == ["kernel__decay"]
    assert SubsetTree(0.1).parameter_limits(SubsetTree(0.1).encode(TREES)) == {"decay": 1.0}


def _drawn(kernel, X, seed):
    random = np.random.default_rng(seed)
    K = kernel(X) + 1e-9 * np.eye(len(X))
    return random.multivariate_normal(np.zeros(len(X)), K) + 0.05 * random.normal(size=len(X))


def _graphs(count, seed):
    random = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        n = int(random.integers(4, 9))
        edges = {tuple(sorted(random.choice(n, 2, replace=False).tolist())) for _ in range(n + 2)}
        made.append(Graph(sorted(edges), random.choice(list("CN"), n).tolist()))
    return made


def _learnt(kernel, X, start):
    y = _drawn(kernel.normalized(), X, 1)
    prior = 1.0 * kernel.replace(decay=start).normalized() + White(0.1)
    model = GaussianProcessRegressor(prior, alpha=1e-8).fit(X, y)

    def evidence(decay):
        there = model.kernel_.with_parameters({"left__kernel__kernel__decay": decay})
        fixed = GaussianProcessRegressor(there, alpha=1e-8, optimizer=None)
        return fixed.fit(X, y).log_marginal_likelihood_value_

    return model, evidence


@pytest.mark.parametrize(("kernel", "start", "make"), [
    (Subsequence(2, 0.6), 0.1, lambda: _random_words(40)),
    (RandomWalk(0.12, degree_normalized=False), 0.01, lambda: _graphs(40, 0)),
    (SubsetTree(0.6), 0.1, lambda: data("trees", 60, 5)),
], ids=["strings", "graphs", "trees"])  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*ended at its bound.*")
def test_a_process_learns_its_decay(kernel, start, make):
    X = make()
    if isinstance(kernel, RandomWalk):
        kernel = kernel.replace(decay=0.8 * kernel.largest_decay(X))
    model, evidence = _learnt(kernel, X, start)
    name = "left__kernel__kernel__decay"
    found = model.theta_[name]
    assert found > 2 * start
    at = evidence(found)
    assert at >= evidence(start)
    most = kernel.parameter_limits(kernel.encode(X))["decay"]
    for change in (0.8, 0.95, 1.05, 1.2):
        assert at >= evidence(min(found * change, most)) - 1e-4
    theta = np.log(list(model.theta_.values()))
    _, slope = model.log_marginal_likelihood(theta, eval_gradient=True)
    j = list(model.theta_).index(name)
    step = 1e-4 * np.eye(len(theta))[j]
    if found * math.exp(1e-4) < most:
        up, down = (model.log_marginal_likelihood(theta + s) for s in (step, -step))
        assert slope[j] == pytest.approx((up - down) / 2e-4, abs=1e-3)


def _random_words(count):
    random = np.random.default_rng(0)
    return ["".join(random.choice(list("ACG"), random.integers(4, 9))) for _ in range(count)]


def test_an_ascent_stays_where_the_kernel_is_defined():
    # Gaps that cost nothing are the best, and a decay above 1 is none.
    X = _random_words(40)
    y = _drawn(Subsequence(2, 1.0).normalized(), X, 2)
    model = GP(X, y, 1.0 * Subsequence(2, 0.5).normalized(), n_init=3)
    assert 0.5 < model.theta_["left__kernel__kernel__decay"] <= 1.0
    with pytest.raises(InvalidParameter, match="takes no more than 1"):
        GaussianProcessRegressor(Subsequence(2, 0.5), bounds=(2.0, 3.0)).fit(X, y)
