"""Intervals and sets of a study: against their definition, and over many draws."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

import mercer
from mercer import InvalidInput, InvalidModelFile, InvalidParameter, Study
from mercer.io.models import load_record
from mercer.report.paired import Said
from mercer.study import saved
from mercer.study.nonconformity import answers_to, in_words, promised, reach, scores_of


@pytest.fixture(scope="module")
def diabetes():
    return Study.fit("diabetes", machine="kernelridge")


@pytest.fixture(scope="module")
def penguins():
    return Study.fit("penguins", machine="svc")


def unseen(study, name):
    table = mercer.read_table(name)
    test = np.setdiff1d(np.arange(study.rows), study.train_rows)
    return np.asarray(table.target)[test], test


@pytest.mark.parametrize("level", [0.5, 0.9, 0.97])
def test_intervals_are_the_errors_on_the_test_rows(diabetes, level):
    truth, test = unseen(diabetes, "diabetes")
    said = diabetes.predict("diabetes")
    errors = np.sort(np.abs(truth - said[test]))
    columns = diabetes.answers("diabetes", level).columns
    wanted = errors[int(np.ceil(level * (len(errors) + 1))) - 1]
    assert np.subtract(columns["high"], said) == pytest.approx(wanted)
    assert np.subtract(said, columns["low"]) == pytest.approx(wanted)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.97])
def test_sets_hold_the_true_class_of_enough_test_rows(penguins, level):
    truth, test = unseen(penguins, "penguins")
    columns = penguins.answers("penguins", level).columns
    sets = [set(text.split(" | ")) - {""} for text in columns["set"]]
    held = sum(truth[i] in sets[row] for i, row in enumerate(test))
    assert held >= np.ceil(level * (len(test) + 1))
    P = np.column_stack([columns[f"probability_{label}"] for label in penguins.classes])
    least = min(p[penguins.classes.index(c)] for p, s in zip(P, sets, strict=True) for c in s)
    outside = [
        p[j] for p, s in zip(P, sets, strict=True)
        for j, c in enumerate(penguins.classes) if c not in s
    ]  # fmt: skip
    assert max(outside) < least  # sets are made of the likeliest classes


def test_sets_are_never_empty():
    # A model that is nearly always right: at a level of 0.5 half of the rows are less usual.
    likely = np.array([[0.99, 0.01], [0.1, 0.9], [0.6, 0.4], [0.5, 0.5]])
    sets = promised(0.05, [0] * 4, likely, ["a", "b"])["set"]
    assert sets == ["a", "b", "a", "a"]
    decisions = np.array([2.0, 0.1, -0.2])
    assert promised(-0.5, [0] * 3, decisions, ["a", "b"])["set"] == ["b", "b", "a"]
    truth = np.array(["a", "b", "a", "b"])
    scores = scores_of(Said(likely.argmax(axis=1), None, likely), truth, np.array(["a", "b"]))
    many = np.sort(np.tile(scores, 10))
    said = Said(np.zeros(4), None, likely)
    assert in_words(said, many * 0.01).endswith("of one class alone for 100.0 % of the rows")


def test_studies_have_no_empty_sets(penguins):
    columns = penguins.answers("penguins", 0.5).columns
    assert all(columns["set"])
    alone = [s == p for s, p in zip(columns["set"], columns["prediction"], strict=True)]
    assert sum(alone) > 0.9 * len(alone)


def test_without_test_rows_the_errors_are_those_of_the_folds():
    study = Study.fit("diabetes", machine="kernelridge", test_share=0)
    assert len(study.nonconformity) == study.rows
    columns = study.answers("diabetes").columns
    far = np.subtract(columns["high"], columns["prediction"])
    assert far == pytest.approx(study.nonconformity[int(np.ceil(0.9 * (study.rows + 1))) - 1])


def test_level_is_nine_in_ten_by_default(diabetes):
    assert diabetes.answers("diabetes").columns == diabetes.answers("diabetes", 0.9).columns


def test_files_keep_what_promises_rest_on(diabetes, tmp_path):
    diabetes.save(tmp_path / "d.mercer")
    again = Study.load(tmp_path / "d.mercer")
    assert np.array_equal(again.nonconformity, diabetes.nonconformity)
    record = load_record(tmp_path / "d.mercer")
    del record["nonconformity"]  # as files of earlier versions
    assert len(saved.checked(record, "d")["nonconformity"]) == 0
    for wrong in (np.array([2.0, 1.0]), np.array([[1.0]]), np.array([1, 2]), [1.0]):
        with pytest.raises(InvalidModelFile, match="nonconformity"):
            saved.checked({**record, "nonconformity": wrong}, "d")


def test_promises_that_cannot_be_held_are_refused(diabetes):
    for level in (0.0, 1.0, -1.0, 90.0, float("nan")):
        with pytest.raises(InvalidParameter, match="between 0 and 1"):
            diabetes.answers("diabetes", level)
    with pytest.raises(InvalidInput, match=r"at least 999.* at most 0\.99"):
        diabetes.answers("diabetes", 0.999)
    assert reach(np.arange(8.0), None, "x") is None
    with pytest.raises(InvalidInput, match="at least 9"):
        reach(np.arange(8.0), 0.9, "x")
    assert reach(np.arange(9.0), 0.9, "x") == 8.0
    with pytest.raises(InvalidInput, match="keeps no errors"):
        reach(np.empty(0), 0.5, "x")


def test_a_class_that_was_never_seen_is_never_likely():
    machine = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    said = answers_to(machine, [[0.0], [1.0]])
    assert scores_of(said, ["a", "c"], machine.classes_)[-1] == np.inf


def test_answers_that_are_known_have_the_same_scores():
    machine = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    X, y = [[0.4], [1.6], [2.1]], [0, 0, 1]
    P = machine.predict_proba(X)
    known = scores_of(Said(P.argmax(axis=1), None, P), y, machine.classes_)
    assert np.array_equal(known, scores_of(answers_to(machine, X), y, machine.classes_))
    assert known == pytest.approx(np.sort(1 - P[[0, 1, 2], y]))
    decisions = machine.decision_function(X)
    by_decision = scores_of(Said(P.argmax(axis=1), decisions), y, machine.classes_)
    assert by_decision == pytest.approx(np.sort(1 - np.array([-1, -1, 1]) * decisions))


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("rows", [20, 61])
def test_new_rows_are_held_as_often_as_promised(rows, copies):
    random, held = np.random.default_rng(rows), {"number": [], "classes": []}
    machine = Ridge().fit(np.arange(6.0)[:, None], [0.0, 1.0, 2.0, 2.0, 4.0, 5.0])
    sorts = LogisticRegression().fit(np.arange(6.0)[:, None], [0, 0, 1, 1, 2, 2])
    for _ in range(300):
        X = np.repeat(random.integers(0, 6, size=(2 * rows, 1)), copies, axis=0).astype(float)
        X = random.permutation(X)[: 2 * rows]
        y = np.round(X[:, 0] + random.normal(size=len(X)))
        codes = np.clip(y // 2, 0, 2).astype(int)
        far = reach(scores_of(answers_to(machine, X[:rows]), y[:rows], None), 0.8, "")
        found = promised(far, machine.predict(X[rows:]), None, None)
        inside = (found["low"] <= y[rows:]) & (y[rows:] <= np.array(found["high"]))
        held["number"].append(inside.mean())
        far = reach(scores_of(answers_to(sorts, X[:rows]), codes[:rows], sorts.classes_), 0.8, "")
        found = promised(far, [], sorts.predict_proba(X[rows:]), sorts.classes_)
        inside = [str(c) in s.split(" | ") for c, s in zip(codes[rows:], found["set"], strict=True)]
        held["classes"].append(np.mean(inside))
    for shares in held.values():
        assert np.mean(shares) >= 0.8 - 3 * np.std(shares) / np.sqrt(len(shares))
