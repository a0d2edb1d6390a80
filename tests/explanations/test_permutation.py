"""Importance by shuffling, against scikit-learn's and by its intervals."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.inspection import permutation_importance as reference
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

import mercer as m
from mercer.exceptions import InvalidInput, InvalidParameter

random = np.random.default_rng(0)
X = random.normal(size=(300, 3))
Y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)


def test_near_those_of_scikit_learn():
    machine = m.SVC().fit(X[:150], Y[:150])
    found = m.permutation_importance(machine, X[150:], Y[150:], repeats=30)
    other = reference(machine, X[150:], Y[150:], n_repeats=30, random_state=0)
    np.testing.assert_allclose(found.values, other.importances_mean, atol=0.03)
    assert found.error == pytest.approx(1 - machine.score(X[150:], Y[150:]))
    assert found.low[0] > 0
    assert found.low[2] < found.values[2] < found.high[2]
    again = m.permutation_importance(machine, X[150:], Y[150:], repeats=30)
    np.testing.assert_array_equal(found.values, again.values)


def test_intervals_hold_the_truth():
    # For y = 2x the squared error grows by 4·E(x − x′)² = 8 on average.
    machine, held = LinearRegression().fit([[0.0], [1.0]], [0.0, 2.0]), 0
    for seed in range(200):
        rows = np.random.default_rng(seed).normal(size=(100, 1))
        found = m.permutation_importance(machine, rows, 2 * rows[:, 0], random_state=seed)
        held += bool(found.low[0] <= 8 <= found.high[0])
    assert held >= 170


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_frames_with_any_index(kind):
    frame = kind({"a": X[:, 0], "b": X[:, 1], "kind": np.where(X[:, 2] > 0, "x", "y")})
    if kind is pd.DataFrame:
        frame.index = np.arange(300)[::-1]
    kernel = m.RBF(gamma=0.5).on(["a", "b"]) + m.Delta().on("kind")
    machine = m.SVC(kernel).fit(frame, Y)
    found = m.permutation_importance(machine, frame, Y)
    assert found.names == ["a", "b", "kind"]
    assert found.values[0] > found.values[1] > found.values[2] - 0.05
    plain = m.SVC(m.RBF(gamma=0.5)).fit(X, Y)
    arrays = m.permutation_importance(plain, X, Y)
    assert "strongest: x0" in repr(arrays)


def test_picture():
    pytest.importorskip("matplotlib")
    found = m.permutation_importance(DecisionTreeClassifier().fit(X, Y), X, Y)
    names = [label.get_text() for label in found.plot().get_yticklabels()]
    assert names[0] == "x0"


def test_refusals_say_why():
    machine = m.SVC().fit(X, Y)
    for level in (0.0, 1.0, 95.0):
        with pytest.raises(InvalidParameter, match="between 0 and 1"):
            m.permutation_importance(machine, X, Y, level=level)
    with pytest.raises(InvalidParameter, match="repeats=0"):
        m.permutation_importance(machine, X, Y, repeats=0)
    with pytest.raises(InvalidInput, match="X has 300 rows and y has 299"):
        m.permutation_importance(machine, X, Y[1:])
    with pytest.raises(InvalidInput, match="has to be a table"):
        m.permutation_importance(machine, X[0], Y[:3])
    with pytest.raises(InvalidInput, match="at least two rows"):
        m.permutation_importance(machine, X[:1], Y[:1])
