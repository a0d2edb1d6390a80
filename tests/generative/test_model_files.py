"""Files that hold generative models or trees: what makes no sense is refused."""

import numpy as np
import pytest

from mercer import GaussianMixture, HiddenMarkovModel, InvalidParameter, Subtree
from mercer._files.fields import WrongState
from mercer.io.model_classes import ROWS
from tests.generative.test_hidden_markov import discrete, gaussian

MIXTURE = GaussianMixture.of([0.4, 0.6], [[0.0, 1.0], [2.0, 3.0]], [np.eye(2), 2 * np.eye(2)])
TREES = Subtree().encode(["(a (b c) d)", "e"])[Subtree.encoder]


@pytest.mark.parametrize(
    "model", [MIXTURE, GaussianMixture(3, tol=0.1), discrete(), gaussian("tied"), TREES], ids=repr
)
def test_states_come_back(model):
    row = ROWS[type(model).__name__]
    again = row.restore(row.take(model))
    assert vars(again).keys() == vars(model).keys()
    for name, value in vars(model).items():
        np.testing.assert_array_equal(getattr(again, name), value)


@pytest.mark.parametrize(
    ("model", "change"),
    [
        (MIXTURE, {"weights_": np.array([0.4, 0.7])}),
        (MIXTURE, {"weights_": np.array([-0.4, 1.4])}),
        (MIXTURE, {"means_": np.zeros((2, 3))}),
        (MIXTURE, {"means_": np.full((2, 2), np.nan)}),
        (MIXTURE, {"covariances_": np.zeros((2, 2, 2))}),
        (MIXTURE, {"covariances_": np.ones((2, 2))}),
        (MIXTURE, {"covariances_": "wide"}),
        (MIXTURE, {"n_features_in_": 7}),
        (MIXTURE, {"params": {"n_components": -1}}),
        (MIXTURE, {"fit": 3}),
        (discrete(), {"transitions_": np.ones((2, 2))}),
        (discrete(), {"alphabet_": ("a", "b")}),
        (discrete(), {"alphabet_": ("a", "b", None)}),
        (gaussian("tied"), {"covariances_": -np.eye(2)}),
        (gaussian("tied"), {"start_": np.array([1.0])}),
        (TREES, {"arity": np.array([0, 1, 0, 3, 0])}),
        (TREES, {"arity": np.array([1, 0, 0, 2, 0])}),
        (TREES, {"arity": np.array([0, 1, 0, 1, 0])}),
        (TREES, {"starts": np.array([0, 5, 4])}),
        (TREES, {"starts": np.array([0, 4])}),
        (TREES, {"starts": np.empty(0, dtype=np.int64)}),
        (TREES, {"labels": TREES.labels.astype(np.uint32)}),
    ],
)
def test_what_makes_no_sense_is_refused(model, change):
    row = ROWS[type(model).__name__]
    with pytest.raises((WrongState, InvalidParameter, ValueError)):
        row.restore(row.take(model) | change)


def test_a_model_that_was_not_fitted():
    row = ROWS["HiddenMarkovModel"]
    again = row.restore(row.take(HiddenMarkovModel(4)))
    assert again.n_states == 4
    assert not hasattr(again, "start_")
