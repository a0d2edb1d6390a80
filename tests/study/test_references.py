"""The usual methods beside a machine: the same rows, a bounded time, and honest words."""

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import mercer
from mercer import Study
from mercer.study import references
from mercer.study.plan import make_plan
from mercer.study.references import (
    NO_TIME,
    SAMPLED,
    NoReference,
    UsualColumns,
    fit_references,
    usual_methods,
)
from mercer.study.study import run
from tests.report.cases import heart as heart_arrays


def test_the_columns_are_those_of_scikit_learn():
    table = mercer.read_table("heart").prepare()
    found = UsualColumns(table.schema.kinds).fit_transform(table.X)
    blocks = []
    for name, kind in table.schema.kinds.items():
        cells = table.X[name].to_pandas().to_frame()
        encoder = StandardScaler() if kind == "number" else OneHotEncoder(sparse_output=False)
        blocks.append(encoder.fit_transform(cells))
    np.testing.assert_allclose(found, np.hstack(blocks))


def test_the_linear_reference_is_that_of_scikit_learn():
    table = mercer.read_table("heart").prepare()
    kinds = table.schema.kinds
    first = fit_references(table.X, table.y, kinds, classes=True, seconds=10, random_state=0)
    assert [r.name for r in first] == ["logistic regression", "random forest"]
    E = UsualColumns(kinds).fit_transform(table.X)
    expected = LogisticRegression().fit(E, table.y).predict_proba(E)
    np.testing.assert_allclose(first[0].model.predict_proba(table.X), expected)
    assert len(first[1].model[-1].estimators_) == 100
    assert all(r.seconds > 0 for r in first)


def test_strings_of_all_kinds_become_numbers():
    frame = pa.table({
        "dna": ["ACGT", "ACGA", "TCGA"], "free": ["AC", "ACG", "T"],
        "said": ["good one", "bad", ""], "smiles": ["CCO", "c1ccccc1", "C"],
        "curve": [[1.0, 2.0], [2.0, 3.0], [0.0, 1.0]],
    })  # fmt: skip
    kinds = {"dna": "sequence", "free": "sequence", "said": "text", "smiles": "molecule",
             "curve": "series"}  # fmt: skip
    columns = UsualColumns(kinds).fit(frame)
    E = columns.transform(frame)
    assert np.isfinite(E).all()
    places = E[:, :6]  # A or T, C, G, A or T
    np.testing.assert_array_equal(places[:, 2:4], np.ones((3, 2)))
    np.testing.assert_array_equal(places.sum(axis=1), np.full(3, 4.0))
    other = frame.set_column(0, "dna", pa.array(["NNNNNN", "A", "ACGT"]))
    assert columns.transform(other)[0, :6].sum() == 0
    assert columns.transform(other).shape == E.shape


@pytest.mark.parametrize(
    ("column", "kind", "words"),
    [
        ([[1.0], [1.0, 2.0]], "series", "differ in length"),
        ([{"edges": []}, {"edges": []}], "graph", "holds graphs"),
        (["?", "!"], "text", None),
    ],
)
def test_what_they_do_not_take_is_said(column, kind, words):
    frame = pa.table({"x": column})
    if words is None:
        assert UsualColumns({"x": kind}).fit_transform(frame).shape == (2, 2)
        return
    with pytest.raises(NoReference, match=rf"x.*{words}|{words}"):
        UsualColumns({"x": kind}).fit(frame)


def test_sparse_rows():
    (X, _, y, _), _ = heart_arrays()
    found = fit_references(
        sparse.csr_array(X), y, {}, classes=True, seconds=10, random_state=0
    )  # fmt: skip
    assert found[1].model.predict(sparse.csr_array(X)).shape == y.shape


def test_without_time_there_is_no_forest():
    (X, _, y, _), _ = heart_arrays()
    rows = sparse.csr_array(X)
    found = fit_references(rows, y, {}, classes=True, seconds=0.0, random_state=0)
    assert [r.name for r in found] == ["logistic regression"]


def test_a_small_forest_says_how_small_it_is():
    """The clock decides how many trees there are, so that their number is part of the name."""
    (X, _, y, _), _ = heart_arrays()
    rows = sparse.csr_array(X)
    seconds = 1.0
    while True:
        found = fit_references(rows, y, {}, classes=True, seconds=seconds, random_state=0)
        if len(found) == 1 or len(found[1].model[-1].estimators_) < 100:
            break
        seconds /= 1.5
    if len(found) == 2:
        trees = len(found[1].model[-1].estimators_)
        assert 20 <= trees < 100
        assert found[1].name == f"random forest of {trees} trees"


# ---- in a study --------------------------------------------------------------------------------


def positions(path, n=240):
    """Sequences whose class is a letter at one place, which counts of letters do not show."""
    random = np.random.default_rng(0)
    letters = random.choice(list("ACGT"), size=(n, 30))
    lines = [f"{''.join(row)},{'up' if row[12] in 'AC' else 'down'}" for row in letters]
    path.write_text("\n".join(["dna,y", *lines]))
    return path


def test_a_model_that_a_forest_beats_is_not_green(tmp_path):
    study = Study.fit(positions(tmp_path / "dna.csv"), "y", kernel="spectrum(dna, k=3)")
    assert study.record.trust in ("caution", "no")
    values = {r.name: r.value for r in study.record.references}
    assert min(values.values()) > study.scores[0].value + 0.2
    again = Study.load(study.save(tmp_path / "dna.mercer"))
    assert {r.name: r.value for r in again.record.references} == values


def test_a_forest_that_does_better_is_named_with_numbers(tmp_path):
    random = np.random.default_rng(1)
    x = random.uniform(-3, 3, size=(300, 2)).round(3)
    y = np.floor(2 * x[:, 0]) + x[:, 1] / 3 + 3 * (x[:, 1] > 0.5) * (x[:, 0] > 0)
    lines = [f"{a},{b},{c!r}" for (a, b), c in zip(x.tolist(), y.tolist(), strict=True)]
    (tmp_path / "steps.csv").write_text("\n".join(["a,b,y", *lines]))
    study = Study.fit(tmp_path / "steps.csv", "y", kernel="linear(a, b)", cv=2)
    assert study.record.trust == "caution"
    assert study.record.verdict.startswith("Better than guessing, but a random forest does better")
    assert study.record.references[0].name == "random forest"


def test_references_never_see_the_test_rows():
    plan = make_plan("diabetes", kernel="linear(bmi)", cv=2)
    study = run(plan)
    E = UsualColumns(plan.prepared.schema.kinds).fit(plan.rows(plan.train))
    fitted = Ridge().fit(E.transform(plan.rows(plan.train)), plan.y[plan.train])
    value = fitted.score(E.transform(plan.rows(plan.test)), plan.y[plan.test])
    found = {r.name: r.value for r in study.record.references}
    assert found["ridge regression"] == pytest.approx(value)


def test_graphs_are_judged_without_them():
    table = mercer.read_table("solubility").take(np.arange(60))
    study = Study.fit(table, cv=2)
    assert study.record.references == []
    assert any("usual methods were not tried" in note for note in study.notes)


def test_a_search_that_was_stopped_has_no_time_for_them():
    with pytest.warns(UserWarning, match="time limit"):
        study = Study.fit("heart", time_limit=1e-4)
    assert study.record.references == []
    assert any("no time left" in note for note in study.notes)
    # Nobody knows what else would have reached: that is no green verdict.
    assert study.record.trust == "caution"
    assert NO_TIME in study.record.verdict


def test_a_contest_that_reached_its_limit_has_left_time_for_them():
    plan = make_plan("diabetes", kernel="linear(bmi)", cv=2)
    X, y = plan.rows(plan.train), plan.y[plan.train]
    notes = []
    found = usual_methods(plan, X, y, "time limit", 1e4, notes)
    assert [each.name for each in found] == ["ridge regression", "random forest"]
    assert notes == []
    assert usual_methods(plan, X, y, "interrupted", 1e4, notes) == []
    assert notes == [NO_TIME]


@pytest.mark.parametrize("name", ["penguins", "diabetes"])
def test_of_many_rows_they_learn_from_some_and_say_so(name, monkeypatch):
    monkeypatch.setattr(references, "MOST_ROWS", 120)
    plan = make_plan(name, cv=2)
    X, y = plan.rows(plan.train), plan.y[plan.train]
    notes = []
    found = usual_methods(plan, X, y, "", None, notes)
    assert [each.name.split(" on ")[1] for each in found] == ["120 rows"] * 2
    assert notes == [
        f"{SAMPLED}120 of the {len(y)} training rows, drawn at random; the rows that judge them "
        "are the same."
    ]
    if name == "penguins":
        assert found[0].model[-1].classes_.tolist() == np.unique(y).tolist()
    study = run(plan)
    assert [r.name.split(" on ")[1] for r in study.record.references] == ["120 rows"] * 2
    assert notes[0] in study.notes
