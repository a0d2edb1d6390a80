"""New data in the form of the training data, and missing values filled in."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from mercer import SVC, InvalidInput, InvalidParameter, Schema, auto_kernel, read_table
from tests.io.test_tables import write  # noqa: F401

TRAIN = "age,city,note,y\n20,Rome,a b c d e f g,0\nNA,Oslo,,1\n40,,x y z u v w q,0\n60,Rome,q,1\n"


@pytest.fixture
def table(write):  # noqa: F811
    return read_table(write("train.csv", TRAIN), kinds={"note": "text"})


def test_missing_values_are_filled_and_said(table):
    prepared = table.prepare()
    assert prepared.X.to_pydict() == {
        "age": [20.0, 40.0, 40.0, 60.0],
        "city": ["Rome", "Oslo", "missing", "Rome"],
        "note": ["a b c d e f g", "", "x y z u v w q", "q"],
    }
    assert prepared.notes == (
        "age: 1 of 4 values are missing and become the median, 40.",
        "city: 1 of 4 values are missing and become the category 'missing'.",
        "note: 1 of 4 values are missing and become an empty text.",
    )
    assert prepared.y.tolist() == [0, 1, 0, 1]


def test_medians_come_from_the_training_rows_only(table):
    assert table.prepare([0, 1]).X["age"].to_pylist() == [20, 20, 40, 60]
    assert table.prepare(np.array([False, False, False, True])).X["age"][1].as_py() == 60
    assert table.prepare([1]).X["age"][1].as_py() == 0  # no number to learn from
    with pytest.raises(InvalidInput, match=r"line 3, column 'age': the value is missing"):
        table.prepare(missing="error")
    with pytest.raises(InvalidParameter, match="missing='drop'"):
        table.prepare(missing="drop")


def test_rows_can_be_taken(table):
    part = table.take([3, 1])
    assert part.frame["age"].to_pylist() == [60, None]
    assert part.target.tolist() == [1, 1]
    assert part.place(0) == "line 5"
    assert part.missing == {"age": 1, "note": 1}


@pytest.mark.parametrize(
    "make",
    [
        lambda d: pd.DataFrame(d),
        lambda d: pl.DataFrame(d),
        lambda d: pa.table(d),
    ],
)
def test_new_data_are_aligned(table, make):
    schema = table.prepare().schema
    new = make(
        {
            "note": ["new", None],
            "extra": [1.0, 2.0],
            "city": ["Quito", None],
            "age": ["33", None],
        }
    )
    assert schema.align(new).to_pydict() == {
        "age": [33.0, 40.0],
        "city": ["Quito", "missing"],
        "note": ["new", ""],
    }


def test_new_files_are_read_with_the_types_of_training(write):  # noqa: F811
    schema = read_table(write("a.csv", "code,x,y\n1,1.5,a\nB,2.5,b\n1,3.5,a\n")).prepare().schema
    new = read_table(write("b.csv", "x,code\n,1\n7,2\n"), like=schema)
    assert new.target is None
    assert schema.align(new).to_pydict() == {"code": ["1", "2"], "x": [2.5, 7.0]}
    scored = read_table(write("c.csv", "x,code,y\n1,1,a\n7,2,a\n"), like=schema)
    assert scored.target.tolist() == ["a", "a"]
    with pytest.raises(InvalidInput, match=r"d.csv, line 3, column 'x': 'seven' is not a number"):
        read_table(write("d.csv", "x,code\n1,1\nseven,2\n"), like=schema)


def test_whole_numbers_as_categories_keep_their_names(write):  # noqa: F811
    path = write("a.csv", "zone,y\n1,0\n2,1\n1,0\n")
    schema = read_table(path, kinds={"zone": "category"}).prepare().schema
    for zone in ([1, 2], [1.0, 2.0], ["1", "2"]):
        assert schema.align(pd.DataFrame({"zone": zone}))["zone"].to_pylist() == ["1", "2"]


def test_tables_that_do_not_fit(table):
    schema = table.prepare().schema
    with pytest.raises(InvalidInput, match=r"lacks columns 'city', 'note'.*It has 'age'"):
        schema.align(pd.DataFrame({"age": [1]}))
    with pytest.raises(InvalidInput, match="not an array without names"):
        schema.align(np.ones((2, 3)))
    bad = pd.DataFrame({"age": [["x"]], "city": ["a"], "note": ["b"]})
    with pytest.raises(InvalidInput, match="'age' has to hold numbers and holds list"):
        schema.align(bad)
    bad = pd.DataFrame({"age": ["x"], "city": ["a"], "note": ["b"]})
    with pytest.raises(InvalidInput, match="row 0, column 'age': 'x' is not a number"):
        schema.align(bad)


@pytest.mark.parametrize("name", ["heart", "diabetes", "penguins", "reviews"])
def test_schemas_travel_as_json(name):
    schema = read_table(name).prepare().schema
    text = json.dumps(schema.to_json(), allow_nan=False)
    assert Schema.from_json(json.loads(text)) == schema


def test_schemas_are_checked(table):
    good = table.prepare().schema.to_json()
    for change in [
        {"version": 2},
        {"columns": None},
        {"columns": [{"name": "a", "kind": "number"}]},
        {"columns": [{"name": "a", "kind": "code", "fill": None}]},
        {"columns": [{"name": 3, "kind": "number", "fill": None}]},
        {"columns": [{"name": "a", "kind": "number", "fill": "x"}]},
        {"columns": [{"name": "a", "kind": "number", "fill": float("nan")}]},
        {"columns": [{"name": "a", "kind": "text", "fill": 1}]},
        {"columns": [{"name": "a", "kind": "text", "fill": ""}] * 2},
        {"labels": [[1]]},
        {"labels": "ab"},
        {"target": 1},
        {"task": "all"},
        {"width": -1},
        {"width": True},
        {"zero_based": 1},
        {"more": 1},
    ]:
        with pytest.raises(InvalidInput, match="schema"):
            Schema.from_json({**good, **change})
    for wrong in (None, [], "x", {}):
        with pytest.raises(InvalidInput, match="schema"):
            Schema.from_json(wrong)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(Schema().to_json())), json_values)
def test_any_json_gives_a_schema_or_our_error(field, value):
    try:
        schema = Schema.from_json({**Schema().to_json(), field: value})
        assert Schema.from_json(schema.to_json()) == schema
    except InvalidInput:
        pass


def test_from_a_file_to_predictions(write):  # noqa: F811
    table = read_table("penguins")
    random = np.random.default_rng(0)
    rows = random.permutation(len(table))
    train, test = rows[:240], rows[240:]
    prepared = table.prepare(train)
    proposal = auto_kernel(prepared.X, kinds=prepared.schema.kinds)
    X = prepared.X.take(pa.array(train))
    scales = [float(np.std(X[name].to_numpy())) * 2 for name in X.column_names[1:5]]
    kernel = proposal.kernel.replace(
        left__kernel__kernel__gamma=None, left__kernel__kernel__length_scale=scales
    )
    machine = SVC(kernel=kernel, C=10.0).fit(X, prepared.y[train])
    assert machine.score(prepared.X.take(pa.array(test)), prepared.y[test]) > 0.95
