"""Games of columns against sums over all coalitions."""

from itertools import combinations
from math import factorial

import numpy as np
import pytest

from mercer.kernels import coalitions
from mercer.kernels.coalitions import MixtureGame
from mercer.kernels.vectors.matern import gamma_quadrature


@pytest.fixture
def random():
    """Return a source of random numbers."""
    return np.random.default_rng(0)


def by_coalitions(worth, players):
    """Return Σ over coalitions S without j of |S|! (d − |S| − 1)!/d! · (v(S ∪ j) − v(S))."""
    values = []
    for j in range(players):
        others = [i for i in range(players) if i != j]
        values.append(
            sum(
                factorial(size) * factorial(players - size - 1) / factorial(players)
                * (worth({*known, j}) - worth(set(known)))
                for size in range(players)
                for known in combinations(others, size)
            )
        )  # fmt: skip
    return np.array(values)


def mixture(nu, squares, **more):
    u, weights = gamma_quadrature(nu)
    rates, shares = tuple((nu / u).tolist()), tuple(weights.tolist())
    return MixtureGame(tuple(range(squares.shape[2])), squares, rates=rates, shares=shares, **more)


def squares(random, rows=1, points=5, columns=4):
    """Return squared differences of all sizes; some columns are equal."""
    found = 10.0 ** random.uniform(-9, 3, (rows, points, columns))
    found[random.random(found.shape) < 0.3] = 0.0
    return found


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
@pytest.mark.parametrize("together", [1, 1 << 19])
def test_a_mixture_is_shared_as_all_coalitions_say(nu, together, random, monkeypatch):
    monkeypatch.setattr(coalitions, "_TOGETHER", together)
    S = squares(random)
    game = mixture(nu, S, weight=1.7)
    rates, shares = np.array(game.rates), np.array(game.shares)
    for point, s in enumerate(S[0]):

        def worth(known, s=s):
            return 1.7 * shares @ np.exp(-0.5 * rates * sum(s[j] for j in known))

        np.testing.assert_allclose(
            game.shapley(0)[point], by_coalitions(worth, 4), rtol=0, atol=1e-13
        )
    np.testing.assert_allclose(game.full()[0, 0], worth_of_all(game, S[0, 0]), atol=1e-13)
    np.testing.assert_allclose(game.empty(), 1.7, atol=1e-13)


def worth_of_all(game, s):
    """Return the worth of all players at one point."""
    return game.weight * np.array(game.shares) @ np.exp(-0.5 * np.array(game.rates) * s.sum())


@pytest.mark.parametrize("nu", [0.5, 1.5])
def test_unknown_columns_of_a_mixture_are_those_of_another_row(nu, random):
    S, T = squares(random), squares(random)
    game, other = mixture(nu, S), mixture(nu, T)
    rates, shares = np.array(game.rates), np.array(game.shares)
    for point, (s, t) in enumerate(zip(S[0], T[0], strict=True)):

        def worth(known, s=s, t=t):
            apart = sum(s[j] if j in known else t[j] for j in range(4))
            return shares @ np.exp(-0.5 * rates * apart)

        found = game.shapley(0, other, 0)[point]
        np.testing.assert_allclose(found, by_coalitions(worth, 4), rtol=0, atol=1e-13)


def test_a_mixture_is_the_sum_of_its_products(random):
    game = mixture(1.5, squares(random, rows=3, columns=5), weight=0.3)
    owners = {0: "a", 1: "b", 2: "a", 3: "c", 4: "b"}
    joined, parts = game.grouped(owners), [part.grouped(owners) for part in game.products()]
    assert joined.players == parts[0].players == ("a", "b", "c")
    for row in range(3):
        total = sum(part.shapley(row) for part in parts)
        np.testing.assert_allclose(joined.shapley(row), total, rtol=0, atol=1e-13)
    total = sum(part.mixed(part, 1) for part in parts)
    np.testing.assert_allclose(joined.mixed(joined, 1), total, rtol=1e-12)
