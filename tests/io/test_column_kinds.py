"""Kernels proposed for tables, and the reasons given."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone

from mercer import (
    RBF,
    SVC,
    BagOfWords,
    Definite,
    Delta,
    InvalidInput,
    InvalidParameter,
    Linear,
    Overlap,
    Spectrum,
    auto_kernel,
    format_kernel,
    load_data,
    read_table,
)
from mercer.io.column_kinds import describe_columns

N = 30
COLUMNS = {
    "age": [20 + i % 17 for i in range(N)],
    "bmi": [20.5 + i / 7 for i in range(N)],
    "city": ["Rome", "Oslo", "Lima"] * 10,
    "smoker": [i % 3 == 0 for i in range(N)],
    "note": [f"patient number {i} feels rather well on day {i % 5}" for i in range(N)],
    "customer_id": [7 * i % 31 + 1000 for i in range(N)],
    "row": list(range(N)),
    "same": ["x"] * N,
    "nothing": [None] * N,
    "code": [f"AB{i:03d}" for i in range(N)],
    "day": [f"2026-03-{i % 28 + 1:02d}" for i in range(N)],
}
KINDS = {
    "age": "number", "bmi": "number", "city": "category", "smoker": "category", "note": "text",
    "customer_id": "identifier", "row": "identifier", "same": "constant", "nothing": "empty",
    "code": "identifier", "day": "date",
}  # fmt: skip
LIBRARIES = {
    "pandas": pd.DataFrame,
    "pandas arrow": lambda d: pa.table(d).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_kinds_of_columns(library):
    columns = {k: v for k, v in COLUMNS.items() if k != "nothing" or library != "pandas"}
    found = {c.name: c.kind for c in describe_columns(LIBRARIES[library](columns))}
    assert found == {name: KINDS[name] for name in columns}


@pytest.mark.parametrize("library", LIBRARIES)
def test_proposal_for_a_mixed_table(library):
    frame = LIBRARIES[library](COLUMNS)
    proposal = auto_kernel(frame)
    assert proposal.kernel == (
        0.333 * RBF("median").on("age", "bmi")
        + 0.333 * Overlap().on("city", "smoker")
        + 0.333 * BagOfWords().normalized().on("note")
    )
    assert proposal.tunable == ("kernel__left__left__kernel__kernel__gamma",)
    assert len(proposal.weights) == 3
    reasons = " ".join(proposal.reasons)
    for part in [
        "age, bmi: numbers, so a Gaussian kernel",
        "city, smoker: categories, so the share that is equal",
        "note: text, so the cosine",
        "same is set aside: all its values are the same",
        "customer_id is set aside",
        "these 3 groups has the same weight",
    ]:
        assert part in reasons
    K = proposal.kernel(frame)
    assert K.shape == (N, N)
    np.testing.assert_allclose(np.diag(K), 0.999)
    assert proposal.kernel.definite is Definite.POSITIVE


def test_names_of_tunable_parameters_are_those_of_an_estimator():
    frame = pd.DataFrame(COLUMNS)
    proposal = auto_kernel(frame)
    machine = clone(SVC(kernel=proposal.kernel))
    machine.set_params(**dict.fromkeys(proposal.tunable, 0.125))
    machine.set_params(**dict.fromkeys(proposal.weights, 2.0))
    assert "gamma=0.125" in repr(machine.kernel)
    assert repr(machine.kernel).count("2 * ") == 3
    y = np.arange(N) % 2
    assert set(SVC(kernel=proposal.kernel).fit(frame, y).predict(frame)) <= {0, 1}


def test_one_group_has_no_weight():
    assert auto_kernel(pd.DataFrame({"a": [1.0, 2.0], "b": [3, 5]})).kernel == (
        RBF("median").on("a", "b")
    )
    assert auto_kernel(pd.DataFrame({"a": ["x", "y", "x"]})).kernel == Delta().on("a")
    two = pd.DataFrame(
        {"a": ["one two three four five six"] * 2 + ["x"], "b": ["q w e r t y u"] * 3}
    )
    two.loc[0, "b"] = "other words"
    kernel = auto_kernel(two, kinds={"a": "text", "b": "text"}).kernel
    assert format_kernel(kernel) == (
        "0.5 * bag_of_words().normalized().on(a) + 0.5 * bag_of_words().normalized().on(b)"
    )


def test_arrays_and_matrices():
    X = load_data("heart").X
    proposal = auto_kernel(X)
    assert proposal.kernel == RBF("median")
    assert proposal.tunable == ("kernel__gamma",)
    assert auto_kernel(X.tolist()).kernel == RBF("median")
    assert auto_kernel(sparse.csr_array(X)).kernel == RBF("median")
    wide = sparse.random_array((5, 50), density=0.1)
    assert auto_kernel(wide).kernel == Linear()
    assert "linear" in auto_kernel(wide).reasons[0]


def test_arrays_of_objects_and_lists():
    rows = [[20 + i % 7, "abc"[i % 3], i % 2 == 0] for i in range(20)]
    expected = 0.5 * RBF("median").on(0) + 0.5 * Overlap().on(1, 2)
    assert auto_kernel(rows).kernel == expected
    assert auto_kernel(np.array(rows, dtype=object)).kernel == expected
    assert auto_kernel(rows).kernel(rows).shape == (20, 20)
    notes = COLUMNS["note"]
    for X in (notes, np.array(notes), pd.Series(notes), pl.Series(notes), pa.array(notes)):
        proposal = auto_kernel(X)
        assert proposal.kernel == BagOfWords().normalized()
        assert proposal.kernel(X).shape == (N, N)


def test_kinds_can_be_said():
    frame = pd.DataFrame({"zone": [1, 2, 3] * 5, "x": np.linspace(0, 1, 15)})
    kernel = auto_kernel(frame, kinds={"zone": "category"}).kernel
    assert kernel == 0.5 * RBF("median").on("x") + 0.5 * Delta().on("zone")
    assert auto_kernel(frame, kinds={0: "category"}).kernel == kernel
    with pytest.raises(InvalidParameter, match="no column 'zome'"):
        auto_kernel(frame, kinds={"zome": "category"})
    with pytest.raises(InvalidParameter, match="'code' for column 'zone' is none of number"):
        auto_kernel(frame, kinds={"zone": "code"})


def test_missing_values_do_not_change_the_kind():
    frame = pd.DataFrame({"a": [1.5, None, 3.0], "b": ["x", None, "y"], "c": [None, "q", "q"]})
    assert [c.kind for c in describe_columns(frame)] == ["number", "category", "category"]


def test_nothing_to_learn_from():
    with pytest.raises(InvalidInput, match=r"no column is left.*all its values are the same"):
        auto_kernel(pd.DataFrame({"a": [1, 1, 1]}))
    with pytest.raises(InvalidInput, match="no columns"):
        auto_kernel(pd.DataFrame(index=[0, 1]))
    for empty in ([], np.empty((0, 3)), pd.DataFrame({"a": []}), sparse.csr_array((0, 3))):
        with pytest.raises(InvalidInput, match="no rows"):
            auto_kernel(empty)
    with pytest.raises(InvalidInput, match="rows have different lengths"):
        auto_kernel([["a"], ["b", "c"]])
    with pytest.raises(InvalidInput, match="batch of objects"):
        auto_kernel("text")
    with pytest.raises(InvalidInput, match="shape"):
        auto_kernel(np.full((2, 2, 2), "x", dtype=object))


def test_proposals_learn():
    table = read_table("reviews")
    X = table.frame
    proposal = auto_kernel(X)
    train, test = np.arange(1000), np.arange(1000, 2000)
    machine = SVC(kernel=proposal.kernel, C=2.0).fit(X.take(pa.array(train)), table.target[train])
    assert machine.score(X.take(pa.array(test)), table.target[test]) > 0.65


@pytest.mark.parametrize("library", LIBRARIES)
def test_short_texts_are_compared_by_pieces_of_their_words(library):
    titles = [f"{('chief', 'deputy')[i % 2]} clerk of hall {i // 2}" for i in range(N)]
    frame = LIBRARIES[library]({"title": titles, "age": COLUMNS["age"]})
    assert [c.kind for c in describe_columns(frame)] == ["phrase", "number"]
    proposal = auto_kernel(frame)
    assert proposal.kernel == (
        0.5 * RBF("median").on("age") + 0.5 * Spectrum(3).normalized().on("title")
    )
    assert "title: short texts, so the cosine of their pieces of 3 letters." in proposal.reasons
    said = auto_kernel(frame, kinds={"title": "text"})
    assert said.kernel == 0.5 * RBF("median").on("age") + 0.5 * BagOfWords().normalized().on(
        "title"
    )
