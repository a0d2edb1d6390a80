"""Frames of pandas, polars and pyarrow in place of files, and answers as frames."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import mercer
from mercer import InvalidInput, InvalidType, Study
from mercer.data import table_path
from mercer.study.comparison import compare

PENGUINS = pd.read_csv(table_path("penguins"))
MAKERS = [lambda f: f, pl.from_pandas, lambda f: pa.Table.from_pandas(f, preserve_index=False)]


@pytest.fixture(scope="module")
def heart():
    return Study.fit("heart", cv=3)


@pytest.mark.parametrize("make", MAKERS)
def test_a_frame_is_read_like_its_file(make):
    expected = mercer.read_table("penguins")
    found = mercer.read_table(make(PENGUINS), "species")
    assert found.source == "data frame"
    assert found.columns == expected.columns
    assert found.missing == expected.missing
    assert found.task == expected.task
    assert np.array_equal(found.target, expected.target)
    assert found.frame.to_pydict() == expected.frame.to_pydict()


@pytest.mark.parametrize("make", MAKERS)
def test_a_study_of_a_frame_is_that_of_its_file(heart, make):
    frame = make(pd.read_csv(table_path("heart")))
    study = Study.fit(frame, target="diagnosis", cv=3)
    assert study.kernel == heart.kernel
    assert [s.value for s in study.scores] == [s.value for s in heart.scores]
    assert np.array_equal(study.predict(frame), heart.predict("heart"))
    assert study.certify(frame).gap == pytest.approx(heart.certificate.gap)


def test_the_index_is_no_column_and_names_become_text():
    frame = PENGUINS.rename(columns={"body_mass_g": 7}).set_index(PENGUINS.index[::-1] * 3)
    table = mercer.read_table(frame, "species")
    assert "7" in table.frame.column_names
    assert len(table.frame.column_names) == PENGUINS.shape[1] - 1
    assert not any("index" in note for note in table.notes)
    named = mercer.read_table(frame.set_index("island"), "species")
    assert any("The index (island) is left out" in note for note in named.notes)


def test_columns_may_be_numbered_as_those_of_an_array_are():
    frame = pd.DataFrame([[1.5, "a", 0], [2.5, "b", 1]] * 10)  # of objects, by the second column
    table = mercer.read_table(frame.astype(object), 2)
    assert (table.target_name, table.used) == ("2", ["0", "1"])


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ([1, "x", None, 2.5], r"mixed types \(int, str, float\).*astype\(str\)"),
        (pd.period_range("2020-01", periods=4, freq="M"), "type period.*dates"),
        (pd.interval_range(0, 4), "type interval"),
        ([1j, 2j, 3j, 4j], r"cannot be read: .*astype\(float\)"),
        (pd.arrays.SparseArray([0.0, 1.0, 0.0, 1.0]), r"cannot be read: .*astype\(float\)"),
    ],
)
def test_a_column_that_cannot_be_read_is_named(values, what):
    wrong = pd.DataFrame({"b": [0.5, 1, 2, 3], "a": values, "y": [0, 1, 0, 1]})
    with pytest.raises(InvalidInput, match=f"^Column 'a' of the data frame .*{what}"):
        mercer.read_table(wrong, "y")


def test_names_of_several_levels_are_an_error_that_says_so():
    names = pd.MultiIndex.from_tuples([("a", "x"), ("a", "z"), ("b", "y")])
    with pytest.raises(InvalidInput, match=r"several levels, such as \('a', 'x'\)"):
        mercer.read_table(pd.DataFrame([[1, 2, 3]] * 9, columns=names), "y")


def test_other_things_are_no_tables():
    with pytest.raises(InvalidType, match=r"pandas, polars or pyarrow, got ndarray"):
        mercer.read_table(np.ones((3, 2)))
    with pytest.raises(InvalidType, match="got Table"):
        mercer.read_table(mercer.read_table("heart"))
    twice = pd.DataFrame([[1, 2, 3]] * 9, columns=["a", "a", "y"])
    with pytest.raises(InvalidInput, match="more than one column 'a'"):
        mercer.read_table(twice, "y")


def test_compare_takes_a_frame():
    frame = pl.from_pandas(pd.read_csv(table_path("diabetes")))
    options = {"kernels": ["linear(bmi)"], "machines": ["svr"], "cv": 2}
    found = compare(frame, "target", **options)
    again = compare("diabetes", **options)
    assert [c.score.value for c in found.contenders] == [c.score.value for c in again.contenders]


def test_probabilities_and_classes(heart):
    P = heart.predict_proba("heart")
    assert heart.classes == ("disease", "healthy")
    np.testing.assert_array_equal(P, heart.model.predict_proba(heart.schema.align(
        mercer.read_table("heart"))))  # fmt: skip
    answers = heart.answers("heart")
    np.testing.assert_array_equal(P[:, 0], answers.columns["probability_disease"])
    frame = answers.to_pandas()
    assert list(frame.columns) == answers.names
    assert frame["prediction"].tolist() == heart.predict("heart").tolist()


def test_what_has_no_probabilities_says_so():
    study = Study.fit("diabetes", kernel="linear(bmi)", cv=2)
    assert study.classes == ()
    with pytest.raises(InvalidInput, match="no probabilities: it predicts a number"):
        study.predict_proba("diabetes")


def test_the_contest_of_a_study_leaves_whole_groups_out():
    """Rows of one person give each other away: what is promised has to hold for other people."""
    random = np.random.default_rng(3)
    person = np.repeat(np.arange(80), 5)
    body, level = random.standard_normal((80, 3)), random.standard_normal(80)
    effect = random.standard_normal(400)
    frame = pd.DataFrame(body[person], columns=["a", "b", "c"]).assign(
        person=[f"p{i}" for i in person], effect=effect, y=level[person] + effect
    )
    together = Study.fit(frame, "y", group="person", cv=3)
    assert together.search.best_score_ < 0.7  # of rows that were left out alone: above 0.99
    assert Study.fit(frame.drop(columns="person"), "y", cv=3).search.best_score_ > 0.9


def test_dates_are_no_classes():
    days = pd.date_range("2020-01-01", periods=40)
    with pytest.raises(InvalidInput, match="'y' has 40 different labels in 40 rows, too many"):
        mercer.read_table(pd.DataFrame({"x": np.arange(40.0), "y": days}), "y")
