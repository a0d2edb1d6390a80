"""Emissions: densities and estimates against their definitions."""

import numpy as np
import pytest
from scipy import stats

from mercer.generative.emissions import DiscreteEmissions, GaussianEmissions, shares


def test_symbols_have_their_probabilities():
    B = np.array([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7]])
    logs = DiscreteEmissions(B).log_densities(np.array([0, 2, -1]))
    np.testing.assert_allclose(np.exp(logs[:2]), B[:, [0, 2]].T)
    np.testing.assert_array_equal(logs[2], 0.0)  # an unknown symbol says nothing


def test_the_best_probabilities_are_shares_of_counts():
    codes, states = np.array([0, 1, 1, -1]), np.array([[1.0, 0], [1, 0], [0.5, 0.5], [0, 1]])
    found = DiscreteEmissions(np.full((2, 3), 1 / 3)).maximised(codes, states, 0.0)
    np.testing.assert_allclose(found.probabilities, [[0.4, 0.6, 0], [0, 1, 0]])
    np.testing.assert_array_equal(shares(np.zeros((1, 2)), np.array([[0.3, 0.7]])), [[0.3, 0.7]])


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_one_state_has_the_moments_of_the_data(kind):
    X = np.random.default_rng(0).normal(size=(200, 2)) * [1, 3] + 5
    blank = GaussianEmissions(np.zeros((1, 2)), np.empty(0), kind)
    found = blank.maximised(X, np.ones((200, 1)), 0.0)
    C = np.cov(X.T, bias=True)
    true = {
        "full": C[None],
        "tied": C,
        "diag": np.diagonal(C)[None],
        "spherical": [np.trace(C) / 2],
    }[kind]
    np.testing.assert_allclose(found.covariances, true)
    matrix = {"full": C, "tied": C, "diag": np.diag(np.diagonal(C))}.get(
        kind, np.eye(2) * np.trace(C) / 2
    )
    density = stats.multivariate_normal(X.mean(axis=0), matrix)
    np.testing.assert_allclose(found.log_densities(X)[:, 0], density.logpdf(X))
