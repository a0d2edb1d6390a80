"""Parts of a kernel for a mixed table: weighed from the training rows, added or multiplied."""

from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

from mercer import RBF, Delta, Study, learn_weights
from mercer.study.parts import LEAST_SHARE, best_of_parts, learnt_weights, weighted_sum
from mercer.study.plan import make_plan

GOOD = ["great", "lovely", "excellent", "fine", "happy", "sunny"]
BAD = ["awful", "bad", "sad", "cold", "broken", "dirty"]
PLAIN = [
    "the",
    "room",
    "was",
    "on",
    "a",
    "street",
    "with",
    "people",
    "and",
    "tables",
    "near",
    "our",
    "old",
    "town",
]


def mixed(n=160, seed=0):
    """Noise in the numbers; what the answer is stands in the text."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    texts = []
    for label in y:
        words = GOOD if rng.random() < 0.1 + 0.8 * label else BAD
        texts.append(" ".join(rng.permutation([*rng.choice(PLAIN, 8), *rng.choice(words, 2)])))
    noise = pd.DataFrame(rng.normal(size=(n, 5))).add_prefix("noise")
    return noise.assign(review=texts, y=np.where(y, "yes", "no"))


def test_parts_that_tell_more_weigh_more():
    plan = make_plan(mixed(), "y")
    parts = [part for _, part in plan.kernel.terms()]
    weights = learnt_weights(parts, plan.rows(plan.train), plan.y[plan.train])
    assert sum(weights) == pytest.approx(1, abs=2e-3)
    assert weights[1] > 2 * weights[0] >= LEAST_SHARE
    assert weighted_sum(parts, weights).terms() == list(zip(weights, parts, strict=True))


def test_weights_are_those_of_the_alignment():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.normal(size=90), "b": rng.integers(3, size=90).astype(str)})
    y = np.where(frame["a"] + (frame["b"] == "1") > 0.4, 1.0, 0.0) + 0.1 * rng.normal(size=90)
    parts = [RBF(gamma=1.0).on("a"), Delta().on("b")]
    scaled = frame.assign(a=(frame["a"] - frame["a"].mean()) / frame["a"].std(ddof=0))
    expected = learn_weights(parts, scaled, y).weights
    found = learnt_weights(parts, frame, y)
    assert found == pytest.approx(expected / expected.sum(), abs=2e-3)
    # Counts are numbers, though all of them are whole.
    whole = np.round(20 * y)
    expected = learn_weights(parts, scaled, whole / 7).weights
    assert learnt_weights(parts, frame, whole) == pytest.approx(expected / expected.sum(), abs=2e-3)


def test_the_folds_choose():
    asked = []

    class Search:
        cv_results_: ClassVar = {"skipped": np.zeros(1, dtype=bool)}

        def __init__(self, kernel, number):
            assert number == len(asked)
            asked.append(kernel)
            self.best_score_ = len(kernel.terms()) == 1

    frame = mixed(60).drop(columns="y")
    kernel = 0.5 * RBF(gamma=1.0).on("noise0") + 0.5 * RBF(gamma=1.0).on("noise1")
    search, words = best_of_parts(kernel, frame, np.arange(60.0) % 7 + 0.5, Search)
    assert search.best_score_ == 1
    assert len(asked) == 3
    assert asked[2](frame) == pytest.approx(
        RBF(gamma=1.0).on("noise0")(frame) * RBF(gamma=1.0).on("noise1")(frame)
    )
    assert "joined by a product, which the folds prefer" in words
    Search.cv_results_["skipped"][:] = True  # as Ctrl-C leaves it
    asked.clear()
    search, words = best_of_parts(kernel, frame, np.arange(60.0) % 7 + 0.5, Search)
    assert len(asked) == 1
    assert "joined by learnt weights" in words


def test_a_study_of_a_mixed_table_says_how_it_weighs():
    study = Study.fit(mixed(), target="y", cv=3)
    assert any("the weights learnt from training rows are" in note for note in study.notes)
    assert not any("the same weight" in reason for reason in study.reasons)
    # A kernel that was asked for stays what it is.
    asked = make_plan(mixed(), "y", kernel="rbf(noise0) + bag_of_words(review)")
    assert not asked.open_parts
