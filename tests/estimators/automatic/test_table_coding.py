"""Tables as rows of numbers: frames of all kinds, missing values, new categories."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import rankdata

from mercer.estimators.automatic.table_coding import (
    MOST_LEVELS,
    TableCoding,
    are_aligned,
    codes_of_categories,
    has_far_values,
    skewed_columns,
    varied_texts,
)
from mercer.exceptions import InvalidInput

DATA = {
    "age": [30.5, 40.5, None, 50.5],
    "kind": ["cat", "dog", "cat", None],
    "well": [True, False, True, True],
    "day": [datetime.datetime(2020, 1, d, 6) for d in (1, 2, 3, 4)],
    "code": [1, 2, 3, 1],
}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, lambda d: pl.DataFrame(d).to_arrow()])
def test_frames_of_all_kinds_are_coded_alike(make):
    frame = make(DATA)
    coding = TableCoding.of(frame)
    assert coding.names == [
        "age", "age is missing", "kind = cat", "kind = dog", "kind is missing", "well", "day",
        "code",
    ]  # fmt: skip
    Z = coding.transform(frame)
    ages = np.array([30.5, 40.5, 40.5, 50.5])  # the median where it is missing
    np.testing.assert_allclose(Z[:, 0], (ages - ages.mean()) / ages.std())
    np.testing.assert_array_equal(Z[:, 1], [0, 0, 1, 0])
    np.testing.assert_array_equal(Z[:, 2:5], [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]])
    np.testing.assert_allclose(np.diff(Z[:, 6]), np.diff(Z[:, 6])[0])
    assert codes_of_categories(frame) == ["code"]
    coded = TableCoding.of(frame, ["code"])
    assert coded.names[-3:] == ["code = 1", "code = 2", "code = 3"]
    assert coded.owners[-3:] == ["code"] * 3


def test_new_rows():
    coding = TableCoding.of(pd.DataFrame(DATA))
    new = pd.DataFrame({**DATA, "kind": ["cow", "dog", "dog", "dog"]})
    np.testing.assert_array_equal(coding.transform(new)[0, 2:5], 0)
    shuffled = pd.DataFrame(DATA)[["well", "code", "kind", "age", "day"]]
    np.testing.assert_array_equal(coding.transform(shuffled), coding.transform(pd.DataFrame(DATA)))
    with pytest.raises(InvalidInput, match="no column 'age'"):
        coding.transform(pd.DataFrame(DATA).drop(columns="age"))
    with pytest.raises(InvalidInput, match="'age' held numbers in fit"):
        coding.transform(pd.DataFrame({**DATA, "age": ["old"] * 4}))
    with pytest.raises(InvalidInput, match="'age' holds infinity in row 2"):
        TableCoding.of(pd.DataFrame({"age": [1.0, 2.0, np.inf]}))
    with pytest.raises(InvalidInput, match="no columns"):
        TableCoding.of(pd.DataFrame(index=range(3)))


def test_columns_that_never_change_or_are_empty():
    coding = TableCoding.of(np.array([[1.0, np.nan], [1.0, np.nan]]))
    np.testing.assert_array_equal(coding.transform(np.array([[1.0, np.nan]])), [[0, 0, 1]])


def test_sequences_of_one_length_are_a_category_for_each_place():
    dna = ["ACGTACGT", "ACGTACGA", None, "TCGTAC-T"]
    coding = TableCoding.of(pd.DataFrame({"dna": dna, "x": [1.0, 2.0, 3.0, 4.0]}))
    assert coding.names[:4] == ["dna[1] = A", "dna[1] = T", "dna is missing", "dna[2] = C"]
    assert coding.owners[:4] == ["dna[1]", "dna[1]", "dna[1]", "dna[2]"]
    assert coding.names[-1] == "x"
    Z = coding.transform(pd.DataFrame({"dna": ["ACGTACGT", "AG", ""], "x": [0.0, 0.0, 0.0]}))
    known = dict(zip(coding.names, Z.T, strict=True))
    assert known["dna[1] = A"].tolist() == [1, 1, 0]
    assert known["dna[2] = C"].tolist() == [1, 0, 0]
    assert known["dna[8] = T"].tolist() == [1, 0, 0]
    assert known["dna is missing"].tolist() == [0, 0, 1]


def test_what_is_no_sequence_stays_a_category():
    assert are_aligned(["ACGTACGT", "TTTTACGT", "", None])
    assert not are_aligned(["ACGTACGT", "TTTTACG"])
    assert not are_aligned(["ACGTACGT"] * 3 + ["TTTTACGT"])
    assert not are_aligned(["2020 May", "2021 May"])
    assert not are_aligned(["Bob", "Amy"])
    assert not are_aligned([None, ""])


def cosine_of_pieces(a, b):
    """The cosine of the counts of pieces of three letters, in plain Python."""
    counts = []
    for text in (f" {a.lower()} ", f" {b.lower()} "):
        pieces = [text[i : i + 3] for i in range(len(text) - 2)]
        counts.append({piece: pieces.count(piece) for piece in pieces})
    dot = sum(count * counts[1].get(piece, 0) for piece, count in counts[0].items())
    norms = [sum(count**2 for count in each.values()) ** 0.5 for each in counts]
    return dot / (norms[0] * norms[1]) if dot else 0.0


def test_texts_are_compared_by_their_spelling():
    jobs = ("Baker", "Pilot", "nurse", "Driver", "Cook", "Clerk", "Welder", "Tailor")
    titles = [f"{rank} {job}" for rank in ("Chief", "Junior", "senior") for job in jobs]
    frame = pd.DataFrame(
        {"title": [*titles, None], "x": np.arange(25.0), "few": ["a", "b"] * 12 + ["a"]}
    )
    assert varied_texts(frame) == ["title"]
    coding = TableCoding.of(frame, similar=["title"])
    new = pd.DataFrame({"title": ["CHIEF baker", "chief bakers", None], "x": [0.0] * 3, "few": "a"})
    names, Z = coding.names, coding.transform(new)
    for level in titles:
        at = names.index(f"title ≈ {level}")
        expected = [cosine_of_pieces(text, level) for text in new.title[:2]]
        np.testing.assert_allclose(Z[:, at], [*expected, 0.0], atol=1e-12)
    assert Z[0, names.index("title ≈ Chief Baker")] == pytest.approx(1)
    assert Z[2, names.index("title is missing")] == 1
    assert names[-2:] == ["few = a", "few = b"]


def test_of_more_texts_than_coordinates_the_frequent_stay():
    titles = [f"title {i:04d}" for i in range(3 * MOST_LEVELS)]
    coding = TableCoding.of(pd.DataFrame({"t": titles + titles[-5:]}), similar=["t"])
    (code,) = coding.codes
    assert len(code.levels) == MOST_LEVELS
    assert set(titles[-5:]) < set(code.levels)
    # Of the others not the first of the alphabet.
    assert sum(level > titles[len(titles) // 2] for level in code.levels) > MOST_LEVELS / 3


def test_codes_of_few_letters_have_no_spelling():
    frame = pd.DataFrame({"code": [f"{a}{b}" for a in "abcdefgh" for b in "stuvwxyz"]})
    assert varied_texts(frame) == []


def test_ranks_stand_for_numbers():
    skewed = np.exp(3 * np.random.default_rng(0).normal(size=60))
    frame = pd.DataFrame({"pay": [*skewed[:-1], None], "kind": ["a", "b", "b"] * 20})
    coding = TableCoding.of(frame, ranked=True)
    assert coding.names == ["pay", "pay is missing", "kind = a", "kind = b"]
    Z = coding.transform(frame)
    filled = np.append(skewed[:-1], np.median(skewed[:-1]))
    ranks = rankdata(filled)
    np.testing.assert_allclose(Z[:, 0], (ranks - ranks.mean()) / ranks.std(), atol=1e-12)
    # A new number is between its neighbours, and never beyond the ends.
    ordered = np.sort(filled)
    new = pd.DataFrame({"pay": [0.0, (ordered[3] + ordered[4]) / 2, 1e9], "kind": ["a"] * 3})
    least, between, most = coding.transform(new)[:, 0]
    assert (least, most) == (Z[:, 0].min(), Z[:, 0].max())
    assert np.sort(Z[:, 0])[3] < between < np.sort(Z[:, 0])[4]
    # Numbers that have many values have a hundred knots.
    many = TableCoding.of(np.random.default_rng(1).normal(size=(5000, 1)), ranked=True)
    assert len(many.codes[0].knots) == 100
    one = TableCoding.of(np.ones((5, 1)), ranked=True)
    np.testing.assert_array_equal(one.transform(np.array([[1.0], [2.0]])), 0)


def test_logarithms_stand_for_numbers_with_long_tails():
    pay = np.exp(2 * np.random.default_rng(0).normal(size=60))
    pay[:3] = 0
    frame = pd.DataFrame({"pay": [*pay[:-1], None], "age": np.linspace(20, 60, 60)})
    coding = TableCoding.of(frame, logged=["pay"])
    plain = TableCoding.of(frame)
    assert coding.names == plain.names == ["pay", "pay is missing", "age"]
    Z = coding.transform(frame)
    filled = np.append(pay[:-1], np.median(pay[:-1]))
    logs = np.log1p(filled / np.median(filled[filled > 0]))
    np.testing.assert_allclose(Z[:, 0], (logs - logs.mean()) / logs.std(), atol=1e-12)
    np.testing.assert_array_equal(Z[:, 1:], plain.transform(frame)[:, 1:])
    # Beyond the ends of training it goes no further.
    least, most = coding.transform(pd.DataFrame({"pay": [-5.0, 1e9], "age": [20.0] * 2}))[:, 0]
    assert (least, most) == (Z[:, 0].min(), Z[:, 0].max())


def test_columns_with_long_tails():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({
        "pay": np.exp(2 * random.normal(size=200)), "age": random.uniform(20, 60, size=200),
        "gain": np.exp(2 * random.normal(size=200)) - 5, "few": np.arange(200) // 199 * 1e6,
        "name": ["a", "b"] * 100,
    })  # fmt: skip
    assert skewed_columns(frame) == ["pay"]
    frame.loc[::3, "pay"] = np.nan
    assert skewed_columns(frame) == ["pay"]


def test_far_values():
    random = np.random.default_rng(0)
    usual = random.normal(size=200)
    assert not has_far_values(usual[:, None])
    assert not has_far_values(pd.DataFrame({"x": usual, "name": ["a"] * 200}))
    far = usual.copy()
    far[7] = 50
    assert has_far_values(pd.DataFrame({"x": usual, "far": far}))
    rare = np.zeros((200, 1))
    rare[0] = 1  # of two values none is far from the others
    assert not has_far_values(rare)
