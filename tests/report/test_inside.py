"""Letters and nodes in a record: those of ``explain_within``, for the answers that were given."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import mercer as m
from mercer.exceptions import InvalidInput
from mercer.report.inside import LETTERS, ROWS
from mercer.report.record import Record
from tests.report import cases

random = np.random.default_rng(0)
WORDS = ["".join(word) for word in random.choice(list("ACGT"), size=(60, 12))]
Y = np.array([word.count("AC") + word.count("GA") > 1 for word in WORDS]).astype(int)


def described(model, data, y, cut=40):
    return m.describe(model.fit(data[:cut], y[:cut]), data[:cut], y[:cut], data[cut:], y[cut:])


def test_letters_speak_for_the_answer_that_was_given():
    model = m.SVC(m.Spectrum(2))
    record = described(model, WORDS, Y)
    assert len(record.insides) == ROWS
    for inside in record.insides:
        row = 40 + int(inside.row) - 1
        assert "".join(inside.labels) == WORDS[row]
        [why] = m.explain_within(model, [WORDS[row]])
        sign = 1 if inside.question == "1" else -1
        np.testing.assert_allclose(inside.values, sign * why.values)
        assert inside.total == pytest.approx(abs(model.decision_function([WORDS[row]])[0]))
        assert inside.base + inside.values.sum() + inside.others == pytest.approx(inside.total)
        assert (inside.column, inside.hidden) == ("", 0)


def test_nodes_of_three_classes_speak_for_the_winner():
    for inside in cases.nodes().insides:
        assert inside.question in ("0", "1", "2")
        assert len(inside.layout) == len(inside.labels)
        assert inside.edges.max() < len(inside.labels)
        assert inside.base + inside.values.sum() == pytest.approx(inside.total)


def test_long_texts_are_cut_and_add_up():
    long = ["".join(random.choice(list("AC"), size=LETTERS + 20 + i)) for i in range(12)]
    record = described(m.KernelRidge(1.0, kernel=m.Spectrum(2)), long, random.normal(size=12), 8)
    for inside in record.insides:
        assert inside.question == "the predicted number"
        assert (len(inside.labels), inside.hidden >= 20) == (LETTERS, True)
        assert inside.base + inside.values.sum() + inside.others == pytest.approx(inside.total)


def test_several_columns_have_their_letters():
    frame = pd.DataFrame({"left": WORDS, "right": WORDS[::-1]})
    record = described(m.SVC(m.Spectrum(2).on("left") + m.Spectrum(2).on("right")), frame, Y)
    assert [inside.column for inside in record.insides] == ["left"] * ROWS + ["right"] * ROWS


def test_machines_without_places_have_none():
    assert cases.two_classes().insides == []
    assert described(m.SVC(m.Subsequence(2)), WORDS, Y).insides == []
    model = m.SVC(m.Spectrum(2)).fit(WORDS[:40], Y[:40])
    record = m.describe(model, WORDS[:40], Y[:40], WORDS[40:], Y[40:], effort=0.0)
    assert record.insides == []


def test_records_go_through_files_and_refuse_what_does_not_fit():
    record = cases.nodes()
    data = record.to_dict()
    again = Record.from_dict(data)
    np.testing.assert_array_equal(again.insides[0].edges, record.insides[0].edges)
    np.testing.assert_array_equal(again.insides[0].values, record.insides[0].values)
    with pytest.raises(InvalidInput, match="the parts of inside"):
        replace(record.insides[0], values=np.zeros(2))
    with pytest.raises(InvalidInput, match="the parts of inside"):
        replace(record.insides[0], edges=np.array([[0, 99]]))
    del data["insides"]
    assert Record.from_dict(data).insides == []
