"""Centred alignments of columns: against the matrices, and over all permutations."""

from itertools import permutations

import numpy as np

from mercer.estimators.automatic.column_weights import centred_alignments, powers_of


def naive(x, Y, with_chance=True):
    n = len(x)
    H = np.eye(n) - 1 / n
    K, L = H @ np.exp(-np.abs(x[:, None] - x)) @ H, H @ Y @ Y.T @ H
    chance = 0.0
    if with_chance:
        chance = np.mean([(K * L[np.ix_(p, p)]).sum() for p in map(list, permutations(range(n)))])
    return ((K * L).sum() - chance) / np.linalg.norm(K) / np.linalg.norm(L)


def test_the_closed_form_is_the_mean_over_all_permutations():
    random = np.random.default_rng(0)
    Z, Y = random.normal(size=(6, 4)), random.normal(size=(6, 2))
    Z[:, 3] = np.round(Z[:, 3])  # with ties
    expected = [max(naive(x, Y), 0.0) for x in Z.T]
    np.testing.assert_allclose(centred_alignments(Z, Y), expected, rtol=1e-9, atol=1e-12)


def test_columns_of_noise_have_nothing_and_constant_ones_too():
    random = np.random.default_rng(1)
    Z = random.normal(size=(300, 4))
    Z[:, 3] = 2.0
    y = np.where(Z[:, 0] > 0, 1.0, -1.0)
    found = centred_alignments(Z, y[:, None])
    assert found[0] > 0.3
    assert (found[1:] < 0.03).all()
    assert found[3] == 0


def test_powers():
    a = np.array([0.4, 0.1, 0.0])
    np.testing.assert_array_equal(powers_of(a, 0), 1)
    np.testing.assert_allclose(powers_of(a, 0.5), [1, 0.5, 0.01])
    np.testing.assert_array_equal(powers_of(np.zeros(2), 2), 1)
