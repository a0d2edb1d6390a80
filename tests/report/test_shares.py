"""The shares of columns in a record: those of ``explain``, in the words of the table."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer as m
from mercer.exceptions import InvalidInput
from mercer.report.record import Record
from mercer.report.view import render
from tests.report import cases

random = np.random.default_rng(0)
X = random.normal(size=(90, 4))
Y = (X[:, 1] + X[:, 2] ** 2 > 0.5).astype(int)


def described(model, inputs=X, y=Y, **more):
    return m.describe(model, inputs[:60], y[:60], inputs[60:], y[60:], **more)


def test_they_are_those_of_explain_and_add_up():
    model = make_pipeline(StandardScaler(), m.SVC(C=0.1)).fit(X[:60], Y[:60])
    shares = described(model, columns=list("abcd")).shares
    why = m.explain(model, X[60:])
    order = np.argsort(-why.importance)
    assert shares.columns == ["abcd"[j] for j in order]
    np.testing.assert_allclose(shares.importance, why.importance[order])
    assert shares.counted == 30
    assert (shares.hidden, shares.rest) == (0, 0.0)
    rows = np.array([int(name) - 1 for name in shares.rows])
    signs = np.where(model.predict(X[60:])[rows] == 1, 1.0, -1.0)
    np.testing.assert_allclose(shares.values, signs[:, None] * why.values[rows][:, order])
    np.testing.assert_allclose(
        shares.total, np.abs(model.decision_function(X[60:])[rows]), atol=1e-9
    )
    np.testing.assert_allclose(shares.base + shares.values.sum(axis=1), shares.total)
    for effect in shares.effects:
        j = "abcd".index(effect.column)
        np.testing.assert_allclose(effect.places, X[60:, j])
        np.testing.assert_allclose(effect.shares, why.values[:, j])
    found = m.wrong_rows(model, X[:60], Y[:60], X[60:])
    assert shares.standing == [found.sentence(i) for i in rows]


def test_several_classes_speak_for_the_predicted_one():
    record = cases.many_classes()
    shares = record.shares
    assert set(shares.question) <= {"0", "1", "2"}
    assert shares.direction == "the class that is predicted"
    assert not any(shares.standing)  # no bound for an SVC of three classes
    np.testing.assert_allclose(
        shares.base + shares.values.sum(axis=1) + shares.others, shares.total
    )


def test_categories_have_places_of_their_own():
    kinds = random.choice(["red", "green"], size=90)
    frame = pd.DataFrame({"size": X[:, 0], "colour": kinds})
    y = ((X[:, 0] > 0) ^ (kinds == "red")).astype(int)
    model = m.SVC(m.RBF(gamma=0.5).on("size") * m.Delta().on("colour")).fit(frame[:60], y[:60])
    shares = described(model, frame, y).shares
    effect = next(e for e in shares.effects if e.column == "colour")
    assert effect.categories == ["green", "red"]
    assert [effect.categories[int(p)] for p in effect.places] == list(kinds[60:])
    at = shares.columns.index("colour")
    assert {line[at] for line in shares.cells} == {"green", "red"}
    assert "share towards 1" in render(described(model, frame, y))


def test_no_standing_where_the_fit_had_weights():
    weights = np.where(np.arange(60) < 20, 0.01, 3.0)
    model = m.SVC().fit(X[:60], Y[:60], sample_weight=weights)
    assert not any(described(model).shares.standing)
    assert all(described(m.KernelRidgeClassifier(1.0).fit(X[:60], Y[:60])).shares.standing)


def test_none_where_there_is_nothing_to_tell():
    K = m.SVC().fit(X[:60], Y[:60]).kernel_(X)
    given = m.SVC(kernel="precomputed").fit(K[:60, :60], Y[:60])
    record = m.describe(given, K[:60, :60], Y[:60], K[60:, :60], Y[60:])
    assert record.shares is None
    assert 'id="why"' not in render(record)
    words = ["".join(word) for word in random.choice(list("ab"), size=(90, 6))]
    y = np.array([word.count("ab") > 1 for word in words]).astype(int)
    assert described(m.SVC(kernel=m.Spectrum(2)).fit(words[:60], y[:60]), words, y).shares is None


def test_records_travel_and_are_checked():
    record = described(m.SVC().fit(X[:60], Y[:60]))
    again = Record.from_dict(record.to_dict())
    np.testing.assert_array_equal(again.shares.values, record.shares.values)
    assert render(again) == render(record)
    with pytest.raises(InvalidInput, match="the parts of shares"):
        replace(record.shares, rows=record.shares.rows[1:])
    with pytest.raises(InvalidInput, match="the parts of effect"):
        replace(record.shares.effects[0], shares=np.zeros(3))
    data = record.to_dict()
    del data["shares"]
    assert Record.from_dict(data).shares is None


def test_without_effort_there_are_no_explanations():
    model = m.SVC(C=0.1).fit(X[:60], Y[:60])
    assert described(model, effort=0.0).shares is None
    assert described(model).shares is not None
