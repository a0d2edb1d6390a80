"""Leaks, copies, order and rare classes are found, named, and never green."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import mercer
from mercer import Study
from mercer.cli.settings import as_options
from mercer.report import phrases
from mercer.study.copies import folds_without_copies, groups_of_copies, keep_copies_together
from mercer.study.plan import make_plan
from mercer.study.suspicions import suspicions

N = 200


def random_columns(seed=0):
    random = np.random.default_rng(seed)
    return random, {"a": random.normal(size=N), "b": random.normal(size=N).round(2)}


def table(path, columns, target="y", **options):
    """Write columns to a file and read them as a table."""
    pd.DataFrame(columns).to_csv(path / "data.csv", index=False)
    return mercer.read_table(path / "data.csv", target, **options)


@pytest.mark.parametrize("name", sorted(mercer.data.TABLES))
def test_the_data_sets_that_come_with_mercer_are_beyond_suspicion(name):
    assert suspicions(mercer.read_table(name)) == []


# ---- leaks -------------------------------------------------------------------------------------


def test_a_column_that_is_the_logarithm_of_the_target(tmp_path):
    random, columns = random_columns()
    price = np.exp(columns["a"] + random.normal(size=N))
    found = suspicions(table(tmp_path, {**columns, "log_price": np.log(price), "y": price}))
    assert len(found) == 1
    assert found[0].startswith("'log_price' alone gives nearly all of 'y' (100.0 %)")


@pytest.mark.parametrize(("sign", "words"), [(1, "The sum"), (-1, "The difference")])
def test_two_columns_that_make_the_target(tmp_path, sign, words):
    random, columns = random_columns()
    y = columns["a"] + sign * columns["b"]
    found = suspicions(table(tmp_path, {"noise": random.normal(size=N), **columns, "y": y}))
    assert len(found) == 1
    assert found[0].startswith(f"{words} of 'a' and 'b' gives nearly all of 'y'")


def test_a_good_column_is_no_leak(tmp_path):
    random, columns = random_columns()
    y = columns["a"] + 0.2 * random.normal(size=N)
    assert np.corrcoef(columns["a"], y)[0, 1] ** 2 > 0.95
    assert suspicions(table(tmp_path, {**columns, "y": y})) == []
    labels = np.where(y > 0, "yes", "no")
    assert suspicions(table(tmp_path, {**columns, "y": labels})) == []


def test_a_number_or_a_category_that_names_the_class(tmp_path):
    random, columns = random_columns()
    codes = random.integers(3, size=N)
    labels = np.array(["low", "middle", "high"])[codes]
    score = codes + random.uniform(0, 0.9, size=N)
    grade = np.array(["C", "B", "A"])[codes]
    leaky = {**columns, "score": score, "grade": grade, "y": labels}
    found = suspicions(table(tmp_path, leaky))
    assert [sentence.split(" alone")[0] for sentence in found] == ["'score'", "'grade'"]
    rare = np.where(np.arange(N) % 20 == 0, "yes", "no")  # a constant has 95 % of them right
    assert suspicions(table(tmp_path, {**columns, "y": rare})) == []


def test_a_category_that_gives_a_number(tmp_path):
    random, columns = random_columns()
    region = random.integers(5, size=N)
    y = 100.0 * region**2 + random.normal(size=N)
    leaky = {**columns, "region": np.array(list("VWXYZ"))[region], "y": y}
    assert suspicions(table(tmp_path, leaky))[0].startswith("'region' alone gives")


def test_a_single_row_of_a_class_is_told_by_any_column_and_no_leak(tmp_path):
    _, columns = random_columns()
    y = np.where(np.arange(N) == 7, "rare", "usual")
    found = suspicions(table(tmp_path, {**columns, "y": y}))
    assert not any("alone gives" in sentence for sentence in found)
    three = np.where(y == "rare", "rare", np.where(columns["a"] > 0, "up", "down"))
    found = suspicions(table(tmp_path, {**columns, "y": three}))
    assert [sentence[:15] for sentence in found if "alone" in sentence] == ["'a' alone gives"]


def test_a_field_that_is_empty_for_the_living(tmp_path):
    random, columns = random_columns()
    died = random.integers(2, size=N).astype(bool)
    cause = np.where(died, random.choice(["heart", "fall", "other"], size=N), None)
    found = suspicions(
        table(tmp_path, {**columns, "cause": cause, "y": np.where(died, "died", "lived")})
    )
    assert any("'cause' is empty for 'lived'" in sentence for sentence in found)


def test_a_date_that_is_empty_for_the_living_is_named_by_its_own_column(tmp_path):
    """Parts of a date cannot be dropped: the remedy is about the column of the file."""
    random, columns = random_columns()
    died = random.integers(2, size=N).astype(bool)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(60, size=N), "D")
    when = np.where(died, days.strftime("%Y-%m-%d"), None)
    leaky = {**columns, "when": when, "y": np.where(died, "died", "lived")}
    found = suspicions(table(tmp_path, leaky))
    assert sum("'when' is empty for 'lived'" in sentence for sentence in found) == 1
    assert all("drop=['when']" in sentence for sentence in found)
    assert not any("near in time" in sentence for sentence in found)  # all with a date died
    assert suspicions(table(tmp_path, leaky, drop=["when"])) == []
    holes = np.where(random.uniform(size=N) < 0.3, None, columns["a"])
    harmless = {"holes": holes, "b": columns["b"], "y": np.where(died, "died", "lived")}
    assert suspicions(table(tmp_path, harmless)) == []


# ---- copies, order, classes ----------------------------------------------------------------------


def copied_iris():
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=["sl", "sw", "pl", "pw"]).assign(kind=y)
    frame["kind"] = frame["kind"].map({0: "setosa", 1: "versicolor", 2: "virginica"})
    return pd.concat([frame] * 4).sample(frac=1, random_state=0)


def test_copies_stay_on_one_side(tmp_path):
    rows = table(tmp_path, copied_iris(), "kind")
    groups = groups_of_copies(rows)
    before = make_plan(rows)
    assert set(groups[before.train]) & set(groups[before.test])
    plan = keep_copies_together(before)
    assert not set(groups[plan.train]) & set(groups[plan.test])
    assert sorted([*plan.train, *plan.test]) == list(range(600))
    assert 60 < len(plan.test) < 240
    assert any("copies were put together" in note for note in plan.notes)
    lines = ["|".join(map(str, row)) for row in zip(*rows.frame.to_pydict().values(), strict=True)]
    by_text = np.unique([f"{a}|{b}" for a, b in zip(lines, rows.target, strict=True)])
    assert len(by_text) == groups.max() + 1


def test_one_copy_is_counted_as_one(tmp_path):
    _, columns = random_columns()
    columns["y"] = np.arange(N) % 2
    plan = make_plan(table(tmp_path, columns))
    first = int(plan.test[0])
    of_its_class = plan.train[columns["y"][plan.train] == columns["y"][first]]
    for name in "ab":
        columns[name][of_its_class[0]] = columns[name][first]
    found = keep_copies_together(make_plan(table(tmp_path, columns)))
    assert any(note.startswith("1 row has a copy on the other side") for note in found.notes)


def test_folds_of_a_search_keep_copies_together(tmp_path):
    rows = table(tmp_path, copied_iris(), "kind")
    plan = keep_copies_together(make_plan(rows))
    groups, y = groups_of_copies(rows)[plan.train], plan.y[plan.train]
    folds = folds_without_copies(plan, plan.train)
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(len(plan.train)))
    for train, test in folds:
        assert not set(groups[train]) & set(groups[test])
        assert set(y[test]) == set(y)
    assert folds_without_copies(make_plan("heart"), np.arange(200)) == 5


def test_a_table_without_copies_keeps_its_plan():
    plan = make_plan("heart")
    assert keep_copies_together(plan) is plan


def test_copied_rows_are_no_green_verdict(tmp_path):
    study = Study.fit(table(tmp_path, copied_iris(), "kind"), cv=2)
    assert study.record.trust == "caution"
    assert any("are copies of other rows" in note for note in study.notes)


def test_equal_rows_are_natural_where_few_are_possible(tmp_path):
    random = np.random.default_rng(0)
    columns = {name: random.choice(["u", "v", "w"], size=N) for name in "abcy"}
    assert suspicions(table(tmp_path, columns)) == []


def test_row_numbers_even_with_gaps(tmp_path):
    _, columns = random_columns()
    left = np.arange(N) * 4 // 3
    found = suspicions(table(tmp_path, {**columns, "was": left, "y": columns["a"] > 0},
                             kinds={"was": "number"}))  # fmt: skip
    assert any(sentence.startswith("'was' grows from row to row") for sentence in found)


def test_rows_that_resemble_their_neighbours(tmp_path):
    random, columns = random_columns()
    walk = np.cumsum(random.normal(size=N)) + columns["a"]
    assert any(
        "Neighbouring rows" in s for s in suspicions(table(tmp_path, {**columns, "y": walk}))
    )
    visits = np.repeat(random.choice(["ill", "well"], size=N // 10), 10)
    again = suspicions(table(tmp_path, {**columns, "y": visits}))
    assert any("Neighbouring rows" in sentence for sentence in again)
    # A file that is sorted by its target is a usual one.
    assert suspicions(table(tmp_path, {**columns, "y": np.sort(walk)})) == []
    assert suspicions(table(tmp_path, {**columns, "y": np.sort(visits)})) == []


def test_rare_and_many_classes(tmp_path):
    random, columns = random_columns()
    y = np.array(["usual"] * 100 + ["other"] * 96 + ["rare"] * 4, dtype=object)
    random.shuffle(y)
    (found,) = suspicions(table(tmp_path, {**columns, "y": y}))
    assert found.startswith("Rare classes: 'rare' (4 rows)")
    many = random.permutation(np.array([f"c{i}" for i in range(40)] * 5))
    (found,) = suspicions(table(tmp_path, {**columns, "y": many}))
    assert found.startswith("40 classes share 200 rows")


# ---- the verdict -------------------------------------------------------------------------------


def test_a_leak_is_no_green_verdict(tmp_path):
    random, columns = random_columns()
    y = columns["a"] + random.normal(size=N)
    study = Study.fit(table(tmp_path, {**columns, "copy": 3 * y - 1, "y": y}), cv=2)
    assert study.scores[0].value > 0.9
    assert study.record.trust == "caution"
    assert "'copy' alone gives nearly all" in study.record.verdict
    assert study.record.suspicions == [study.notes[0]]
    again = Study.load(study.save(tmp_path / "leak.mercer"))
    assert again.record.suspicions == study.record.suspicions
    page = study.write_report(tmp_path / "leak.html").read_text(encoding="utf-8")
    assert "Doubt:" in page


def test_doubts_lower_trust_and_never_raise_it():
    assert phrases.doubted("yes", "good", []) == ("yes", "good")
    assert phrases.doubted("no", "bad", ["a leak."]) == ("no", "bad")
    trust, words = phrases.doubted("yes", "good", ["a leak.", "copies.", "rare."])
    assert trust == "caution"
    assert words == "Judge with care. a leak. (And 2 more doubts.)"
    assert phrases.doubted("caution", "Early.", ["a leak."]) == ("caution", "Early. a leak.")


def test_a_column_that_names_persons_is_a_group_and_no_leak(tmp_path):
    random = np.random.default_rng(0)
    person, ill = np.repeat(np.arange(30), 8), random.random(30) < 0.5
    rows = random.permutation(240)
    frame = {
        "person": [f"P{p:02d}" for p in person[rows]],
        "x": random.normal(size=240),
        "y": np.where(ill[person], "ill", "well")[rows],
    }
    found = suspicions(table(tmp_path, frame))
    assert found[0].startswith("'person' alone gives nearly all of 'y' (100.0 %): each of its 30")
    assert "group='person'" in found[0]
    assert "is a leak" not in " ".join(found)
    assert "--group person" in as_options(found[0])
