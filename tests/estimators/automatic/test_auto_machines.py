"""Automatic machines: mixed tables, probabilities, proofs, files, limits of time, bad input."""

import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import cross_val_score

from mercer import (
    AutoClassifier,
    AutoRegressor,
    _parallel,
    certify,
    load,
    load_data,
    read_table,
    save,
)
from mercer.estimators.automatic import auto_machine
from mercer.estimators.automatic.auto_classifier import fit_logits
from mercer.exceptions import InvalidInput, InvalidParameter


def mixed(n, seed=0):
    random = np.random.default_rng(seed)
    size = random.normal(size=n)
    colour = random.choice(["red", "green", "blue"], n)
    weight = np.where(random.random(n) < 0.1, np.nan, random.lognormal(size=n))
    noise = random.normal(size=(n, 3))
    signal = np.where(colour == "red", size, -size) + 0.3 * random.normal(size=n)
    frame = {"size": size, "colour": colour, "weight": weight}
    frame |= {f"noise {j}": noise[:, j] for j in range(3)}
    return frame, signal


FRAME, SIGNAL = mixed(240)
TEST, TRUTH = mixed(200, 1)
CLASSES = np.where(SIGNAL > 0, "up", "down")


@pytest.fixture(scope="module")
def model():
    return AutoClassifier().fit(pd.DataFrame(FRAME), CLASSES)


def test_a_mixed_table_is_learnt_as_well_as_by_a_forest(model):
    test = pd.DataFrame(TEST)
    y = np.where(TRUTH > 0, "up", "down")
    area = roc_auc_score(y == "up", model.predict_proba(test)[:, 1])
    numbers = pd.get_dummies(pd.DataFrame(FRAME).fillna(0))
    forest = RandomForestClassifier(100, random_state=0).fit(numbers, CLASSES)
    rival = roc_auc_score(y == "up", forest.predict_proba(pd.get_dummies(test.fillna(0)))[:, 1])
    assert area > rival - 0.01
    assert log_loss(y, model.predict_proba(test)) < 0.45
    assert model.score(test, y) > 0.8
    # The columns that matter are found: by themselves they say little, together nearly all.
    assert set(list(model.alignments_)[:6]) == set(FRAME)


def test_every_member_has_its_proof(model):
    assert 1 <= len(model.members_) <= 5
    assert all(c.relative_gap < 1e-9 for c in model.certificates_)
    member = model.members_[0]
    Z = model.codings_[member.coding].transform(pd.DataFrame(FRAME)) * member.weights
    signs = np.where(CLASSES == "up", 1.0, -1.0)[:, None]
    assert certify(member.machine, Z, signs).relative_gap < 1e-9
    mine = [line for line in model.leaderboard_ if line["member"]]
    assert len(mine) == len(model.members_)
    assert mine[0]["score"] == model.score_ == model.leaderboard_[0]["score"]


def test_decisions_probabilities_and_answers_agree(model):
    test = pd.DataFrame(TEST)
    odds = model.decision_function(test)
    np.testing.assert_allclose(model.predict_proba(test)[:, 1], 1 / (1 + np.exp(-odds)))
    np.testing.assert_array_equal(model.predict(test) == "up", odds > 0)
    np.testing.assert_array_equal(
        model.predict_proba(pl.DataFrame(TEST).fill_nan(None)), model.predict_proba(test)
    )


def test_models_go_to_files(model, tmp_path):
    save(model, tmp_path / "auto.mercer")
    again = load(tmp_path / "auto.mercer")
    test = pd.DataFrame(TEST)
    np.testing.assert_array_equal(again.predict_proba(test), model.predict_proba(test))
    assert again.leaderboard_ == model.leaderboard_
    assert again.alignments_ == model.alignments_


def test_three_classes_and_other_measures():
    table = read_table("penguins", "species")
    frame, species = table.frame.to_pandas(), np.asarray(table.target)
    X, y = frame[::2], species[::2]
    for scoring in ("auc", "log_loss", "brier"):
        machine = AutoClassifier(scoring=scoring, max_members=2).fit(X, y)
        assert len(machine.members_) <= 2
        assert machine.score(frame[1::2], species[1::2]) > 0.97
    np.testing.assert_allclose(machine.predict_proba(X).sum(axis=1), 1)


def test_numbers():
    data = load_data("diabetes")
    X, y = data.X, data.y
    machine = AutoRegressor().fit(X[:300], y[:300])
    assert machine.score(X[300:], y[300:]) > 0.42
    honest = 1 - np.mean((machine.loo_values_ - y[:300]) ** 2) / np.var(y[:300])
    assert 0.4 < honest < 0.6
    shifted = AutoRegressor().fit(X[:300], 1e6 + 1e3 * y[:300])
    np.testing.assert_allclose(
        shifted.predict(X[300:]), 1e6 + 1e3 * machine.predict(X[300:]), rtol=1e-6
    )
    assert AutoRegressor(scoring="absolute_error").fit(X[:100], y[:100]).score_ < 0


def test_pure_noise_gives_the_shares_of_the_classes():
    random = np.random.default_rng(5)
    X, y = random.normal(size=(150, 4)), (random.random(150) < 0.2).astype(int)
    machine = AutoClassifier().fit(X, y)
    new = random.normal(size=(300, 4))
    truth = (random.random(300) < 0.2).astype(int)
    shares = DummyClassifier(strategy="prior").fit(X, y).predict_proba(new)
    assert log_loss(truth, machine.predict_proba(new)) < 1.1 * log_loss(truth, shares)


def test_many_rows_go_by_landmarks(monkeypatch):
    monkeypatch.setattr(auto_machine, "RACE_ROWS", 120)
    monkeypatch.setattr(auto_machine, "LANDMARKS", 100)
    machine = AutoClassifier(max_members=1).fit(pd.DataFrame(FRAME), CLASSES)
    assert machine.members_[0].machine.dual_coef_.shape == (100, 1)
    assert np.isnan(machine.loo_values_).sum() == 120
    assert machine.score(pd.DataFrame(TEST), np.where(TRUTH > 0, "up", "down")) > 0.7


def test_a_time_limit_is_kept():
    began = time.process_time()
    machine = AutoClassifier(time_limit=1e-6).fit(pd.DataFrame(FRAME), CLASSES)
    assert len(machine.leaderboard_) == len(machine.members_) == 1
    assert time.process_time() - began < 3


def test_certainty_is_never_reached_by_classes_without_mistakes():
    F = np.r_[np.full((10, 2), [1.0, -1.0]), np.full((10, 2), [-1.0, 1.0])]
    a, b = fit_logits(F, np.repeat([0, 1], 10), 2)
    p = 1 / (1 + np.exp(-(2 * a + b[0] - b[1])))
    assert p == pytest.approx(11 / 12, abs=1e-3)


def test_in_the_hands_of_scikit_learn():
    scores = cross_val_score(
        AutoClassifier(time_limit=0.5), pd.DataFrame(FRAME), CLASSES, cv=2, scoring="roc_auc"
    )
    assert scores.mean() > 0.7


def test_bad_input_is_named():
    frame = pd.DataFrame(FRAME)
    with pytest.raises(InvalidInput, match="only one class"):
        AutoClassifier().fit(frame, np.ones(len(frame)))
    with pytest.raises(ValueError, match="'scoring' parameter"):
        AutoClassifier(scoring="accuracy").fit(frame, CLASSES)
    with pytest.raises(ValueError, match="y to be passed"):
        AutoRegressor().fit(frame, None)
    with pytest.raises(ValueError, match="feature names"):
        AutoClassifier(time_limit=0.1).fit(frame, CLASSES).predict(frame.drop(columns="size"))


# ---- being watched, interrupted, judged --------------------------------------------------------


def test_the_contest_can_be_watched(model):
    seen = []
    machine = AutoClassifier()
    with machine.using(lambda *told: seen.append(told)):
        machine.fit(pd.DataFrame(FRAME), CLASSES)
    assert [done for done, _, _ in seen] == list(range(1, len(machine.leaderboard_) + 1))
    assert all(done <= total for done, total, _ in seen)
    assert seen[-1][2] == machine.score_ == model.score_
    assert machine.stopped_ == ""
    assert "_watch" not in vars(machine)


def test_ctrl_c_keeps_the_best_so_far():
    def press(done, total, best):
        if done == 4:
            raise KeyboardInterrupt

    machine = AutoClassifier()
    with machine.using(press):
        machine.fit(pd.DataFrame(FRAME), CLASSES)
    assert machine.stopped_ == "interrupted"
    # What other cores are at is finished, too.
    assert 4 <= len(machine.leaderboard_) < 4 + _parallel.thread_count()
    assert machine.predict(pd.DataFrame(TEST)).shape == (200,)
    assert AutoClassifier(time_limit=1e-6).fit(pd.DataFrame(FRAME), CLASSES).stopped_ == (
        "time limit"
    )


def test_all_members_are_judged_again_from_the_data(model):
    frame = pd.DataFrame(FRAME)
    found = certify(model, frame, CLASSES)
    assert found.primal == pytest.approx(sum(c.primal for c in model.certificates_), rel=1e-9)
    assert found.relative_gap < 1e-9
    other = certify(model, frame, np.roll(CLASSES, 1))
    assert other.relative_gap > 1e-3
    numbers = AutoRegressor(time_limit=0.2).fit(frame, SIGNAL)
    assert certify(numbers, frame, SIGNAL).relative_gap < 1e-9
    with pytest.raises(InvalidInput, match="classes that the model was fitted on"):
        certify(model, frame, np.full(len(frame), "sideways"))
    with pytest.raises(InvalidParameter, match="no weights of rows"):
        certify(model, frame, CLASSES, np.ones(len(frame)))


@pytest.mark.parametrize("case", ["two classes", "weighted", "three classes", "number"])
def test_the_decision_is_a_sum_of_the_members_expansions(case, model):
    frame, new = pd.DataFrame(FRAME), pd.DataFrame(TEST)
    machine = model
    if case == "weighted":
        machine = AutoClassifier(class_weight={"up": 1, "down": 9}, time_limit=0.3)
        machine.fit(frame, CLASSES)
    if case == "three classes":
        machine = AutoClassifier(time_limit=0.3).fit(frame, np.digitize(SIGNAL, [-0.5, 0.5]))
    if case == "number":
        machine = AutoRegressor(time_limit=0.3).fit(frame, 100 + 7 * SIGNAL)
    parts, constants = machine.voter_functions()
    total = constants + sum(
        part.expansion(part.coordinates(new)).reshape(len(new), -1) for part in parts
    )
    answer = machine.predict(new) if case == "number" else machine.decision_function(new)
    np.testing.assert_allclose(total.reshape(answer.shape), answer, rtol=1e-7, atol=1e-7)


def test_class_weights_move_answers_and_not_probabilities():
    random = np.random.default_rng(3)
    X = random.normal(size=(300, 2))
    y = np.where(X[:, 0] + random.normal(size=300) > 1.8, "rare", "usual")
    plain = AutoClassifier().fit(X, y)
    fair = AutoClassifier(class_weight="balanced").fit(X, y)
    np.testing.assert_array_equal(fair.predict_proba(X), plain.predict_proba(X))
    found = [(machine.predict(X) == "rare")[y == "rare"].mean() for machine in (plain, fair)]
    assert found[1] > found[0] + 0.2
    share = (y == "rare").mean()
    np.testing.assert_array_equal(fair.predict(X) == "rare", fair.predict_proba(X)[:, 0] > share)
    with pytest.raises(InvalidParameter, match="not positive"):
        AutoClassifier(class_weight={"rare": 0.0, "usual": 1.0}).fit(X, y)


def test_copied_rows_do_not_lead_the_choice():
    """Of noise nothing can be learnt, however often each row is copied."""
    random = np.random.default_rng(8)
    X, y = random.normal(size=(60, 3)), random.permutation(np.repeat([0, 1], 30))
    copied = AutoClassifier().fit(np.tile(X, (4, 1)), np.tile(y, 4))
    assert copied.score_ < 0.7
    assert (~np.isnan(copied.loo_values_[:, 0])).sum() == 60
    once = AutoClassifier().fit(X, y)
    np.testing.assert_allclose(copied.decision_function(X), once.decision_function(X), atol=1e-3)


def test_equal_rows_of_few_categories_are_no_copies():
    random = np.random.default_rng(9)
    frame = pd.DataFrame({"sex": random.choice(["f", "m"], 300), "class": random.choice(3, 300)})
    y = random.random(300) < np.where(frame["sex"] == "f", 0.8, 0.2)
    machine = AutoClassifier().fit(frame, y)
    assert not np.isnan(machine.loo_values_).any()
    assert machine.score(frame, y) > 0.7


def test_many_classes_of_few_rows_have_probabilities_that_are_no_worse_than_a_forests():
    random = np.random.default_rng(10)
    means = 2 * random.normal(size=(56, 8))
    y = np.repeat(np.arange(56), random.integers(2, 7, size=56))
    new = np.repeat(np.arange(56), 10)
    X, rows = (means[labels] + random.normal(size=(len(labels), 8)) for labels in (y, new))
    forest = RandomForestClassifier(random_state=0).fit(X, y)
    found = AutoClassifier(max_members=2).fit(X, y).predict_proba(rows)
    assert log_loss(new, found) < 0.8 * log_loss(new, forest.predict_proba(rows))
    assert found[np.arange(len(new)), new].min() > 1e-6


def test_numbers_whose_columns_count_differently_are_learnt_by_their_weights():
    """A column of slow waves, one of quick ones and three of noise: one width suits none."""
    random = np.random.default_rng(11)
    X = random.uniform(-1, 1, size=(300, 5))
    y = np.sin(8 * X[:, 0]) + X[:, 1] + 0.05 * random.normal(size=300)
    machine = AutoRegressor().fit(X[:200], y[:200])
    assert machine.leaderboard_[0]["learnt"]
    assert sum(line["learnt"] for line in machine.leaderboard_ if line["member"]) <= 3
    error = np.sqrt(np.mean((machine.predict(X[200:]) - y[200:]) ** 2))
    weights = machine.members_[0].weights
    assert weights[0] == 1
    assert weights[2:].max() < 0.2 * weights[:2].min()
    assert error < 0.1
    assert all(c.relative_gap < 1e-9 for c in machine.certificates_)


def repeated_measurements():
    """Eighty people with five rows each: levels are learnt by heart, new people have others.

    What carries over is one column; the others tell who a row belongs to.
    """
    random = np.random.default_rng(3)
    person = np.repeat(np.arange(80), 5)
    level, body = random.standard_normal(80), random.standard_normal((80, 4))
    effect = random.standard_normal(400)
    X = np.column_stack([body[person] + 0.01 * random.standard_normal((400, 4)), effect])
    return X, level[person] + effect + 0.1 * random.standard_normal(400), person


def test_long_tails_are_learnt_by_their_logarithms(monkeypatch):
    random = np.random.default_rng(0)
    size = np.exp(2.5 * random.normal(size=(240, 3)))  # prices, over many decades
    y = np.log(size[:, 0]) - np.log(size[:, 1]) + 0.1 * random.normal(size=240)
    model = AutoRegressor().fit(size[:160], y[:160])
    assert len(model.codings_) == 2
    assert model.leaderboard_[0]["coding"] == 1
    found = model.score(size[160:], y[160:])
    monkeypatch.setattr(AutoRegressor, "tries_logarithms", False)
    plain = AutoRegressor().fit(size[:160], y[:160]).score(size[160:], y[160:])
    assert found > 0.98
    assert 1 - found < 0.7 * (1 - plain)


def test_groups_are_left_out_together():
    X, y, person = repeated_measurements()
    known = person < 60
    alone = AutoRegressor().fit(X[known], y[known])
    together = AutoRegressor().fit(X[known], y[known], groups=[f"p{i}" for i in person[known]])

    def errors(model):
        promised = np.mean((model.loo_values_ - y[known]) ** 2)
        return promised, np.mean((model.predict(X[~known]) - y[~known]) ** 2)

    promised, found = errors(alone)
    assert found > 10 * promised  # rows of the same person give the level away
    promised, found_together = errors(together)
    assert found_together / 2 < promised < 2 * found_together
    assert found_together < 0.8 * found


def test_groups_that_cannot_be_left_out_are_refused():
    X, y, person = repeated_measurements()
    with pytest.raises(InvalidInput, match="each of the 400 rows"):
        AutoRegressor().fit(X, y, groups=person[:-1])
    with pytest.raises(InvalidInput, match="all rows into one group"):
        AutoClassifier().fit(X, y > 0, groups=np.zeros(400))


def test_titles_that_were_never_seen_are_near_to_those_that_are_written_like_them(tmp_path):
    random = np.random.default_rng(0)
    jobs = np.array(["nurse", "pilot", "welder", "tailor", "clerk", "driver"])
    ranks = np.array([f"{a} {b}" for a in ("chief", "deputy", "second", "night", "field")
                      for b in ("officer", "section", "branch", "unit")])  # fmt: skip
    job = random.integers(0, len(jobs), 260)
    frame = pd.DataFrame({"title": [f"{ranks[r]} {jobs[j]}" for r, j in
                                    zip(random.integers(0, len(ranks), 260), job, strict=True)],
                          "age": random.standard_normal(260)})  # fmt: skip
    paid = job < 3
    known = np.arange(260) < 130
    unseen = ~known & ~frame.title.isin(frame.title[known]).to_numpy()
    assert unseen.sum() > 10
    machine = AutoClassifier().fit(frame[known], paid[known])
    assert (machine.predict(frame[unseen]) == paid[unseen]).mean() > 0.9
    assert any(code.similar for m in machine.members_ for code in machine.codings_[m.coding].codes)
    save(machine, tmp_path / "titles.mercer")
    again = load(tmp_path / "titles.mercer")
    np.testing.assert_array_equal(again.predict_proba(frame), machine.predict_proba(frame))
