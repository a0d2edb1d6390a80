"""Kernels on columns of tables in which values are missing."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from scipy import sparse

from mercer import (
    RBF,
    SVC,
    BagOfWords,
    Definite,
    Delta,
    Gram,
    InvalidInput,
    InvalidParameter,
    Linear,
    NegativeDistance,
    NumericScaler,
    Spectrum,
    SubsetTree,
    format_kernel,
    load,
    parse_kernel,
    save,
)
from tests.kernels.cases import close
from tests.oracles.naive import naive_gram

TABLE = {
    "age": [40.0, None, 35.0, 61.0, None, 40.0],
    "bmi": [22.0, 30.5, None, 25.0, None, 23.0],
    "sex": ["f", "m", None, "f", "m", None],
    "dna": ["GATTACA", "CATTAG", "TTTACA", None, None, "GATT"],
}
LIBRARIES = {
    "pandas": lambda table: pd.DataFrame(table, index=[5, 3, 8, 1, 0, 2][: len(table["age"])]),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}
MIXED = (
    RBF(gamma=0.01).on("age", "bmi", missing="zero")
    + Delta().on("sex", missing="own")
    + 0.5 * Spectrum(3).normalized().on("dna", missing="zero")
)


def rows(table):
    """Return the rows as the oracle takes them."""
    return [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    "kernel",
    [
        MIXED,
        RBF("median").on("age", missing="own"),
        RBF("scale").on("age", "bmi", missing="zero") * Delta().on("sex", missing="zero"),
        (2 * Linear()).on("bmi", missing="own").normalized(),
        BagOfWords().on("sex", missing="own") ** 2,
        # The same column twice, with different answers.
        RBF(gamma=0.1).on("age", missing="own") + RBF(gamma=0.1).on("age", missing="zero"),
    ],
    ids=repr,
)
def test_frames_equal_the_oracle(library, kernel):
    frame = LIBRARIES[library](TABLE)
    expected = naive_gram(kernel, rows(TABLE))
    close(kernel(frame), expected)
    close(kernel.diag(frame), np.diag(expected))
    close(kernel(frame[:3], frame), naive_gram(kernel, rows(TABLE)[:3], rows(TABLE)))
    close(Gram(kernel, frame).dense(), expected)
    assert np.linalg.eigvalsh(expected)[0] > -1e-12
    assert kernel.definite is Definite.POSITIVE
    if kernel.has_features:
        close(kernel.features(frame) @ kernel.features(frame).T, expected)
    assert parse_kernel(format_kernel(kernel)) == kernel


@given(
    st.lists(st.lists(st.sampled_from([0.0, 1.5, -2.0, math.nan]), min_size=2, max_size=2),
             min_size=1, max_size=8),
    st.sampled_from(["zero", "own"]),
)  # fmt: skip
def test_arrays_equal_the_oracle(X, missing):
    kernel = RBF(gamma=0.3).on(0, 1, missing=missing) + Linear().on(1, missing=missing)
    array = np.array(X)
    expected = naive_gram(kernel, array)
    close(kernel(array), expected)
    close(kernel(array.astype(object)), expected)
    close(kernel(sparse.csr_array(array)), expected)
    assert kernel(array.astype(np.float32)).dtype == np.float32


def test_missing_values_are_errors_unless_said():
    for kernel in (RBF().on("age"), Delta().on("sex"), Spectrum(3).on("dna")):
        for make in LIBRARIES.values():
            with pytest.raises(InvalidInput, match=r"missing|NaN"):
                kernel(make(TABLE))
    with pytest.raises(InvalidInput, match="infin"):
        RBF().on(0, missing="zero")([[math.inf], [1.0]])
    with pytest.raises(InvalidParameter, match="missing='mean' has to be 'error', 'zero' or 'own'"):
        RBF().on("age", missing="mean")
    with pytest.raises(InvalidParameter, match="has no parameter 'missing'"):
        parse_kernel("rbf(missing=zero)")
    assert NegativeDistance().on(0, missing="zero").definite is Definite.UNKNOWN
    assert repr(RBF().on("age", missing="own")) == "RBF().on('age', missing='own')"
    assert parse_kernel("rbf(age, missing=own)") == RBF().on("age", missing="own")
    assert parse_kernel("(2 * rbf).on(age, missing=zero)") == (2 * RBF()).on("age", missing="zero")


def test_batches_without_any_value():
    frame = pd.DataFrame({"age": [np.nan, np.nan], "dna": [None, None], "tree": [None, None]})
    for kernel, column in ((RBF(gamma=0.5), "age"), (Spectrum(2), "dna"), (SubsetTree(), "tree")):
        assert kernel.on(column, missing="zero")(frame).tolist() == [[0, 0], [0, 0]]
        assert kernel.on(column, missing="own")(frame).tolist() == [[1, 1], [1, 1]]
    known = pd.DataFrame({"age": [1.0, 2.0]})
    assert RBF(gamma=0.5).on("age", missing="zero")(frame, known).tolist() == [[0, 0], [0, 0]]


def test_gradients_know_of_gaps():
    kernel = RBF(gamma=0.01).on("age", missing="own")
    frame = LIBRARIES["polars"](TABLE)
    [(name, slope)] = kernel.gradients(frame)
    step = 1e-6
    up, down = (kernel.with_parameters({name: 0.01 * math.exp(s)})(frame) for s in (step, -step))
    close(slope, (up - down) / (2 * step), 1e-7)


@pytest.mark.parametrize("library", LIBRARIES)
def test_machines_learn_from_gaps_and_are_saved(library, tmp_path):
    random = np.random.default_rng(0)
    age = random.normal(40, 10, 200)
    sex = random.choice(["f", "m"], 200).astype(object)
    y = (age > 40) ^ (sex == "f")
    age[random.random(200) < 0.1] = np.nan
    sex[random.random(200) < 0.1] = None
    table = {"age": [None if v != v else v for v in age], "sex": sex.tolist()}
    frame = pd.DataFrame(table) if library == "pandas" else LIBRARIES[library](table)
    frame = NumericScaler().fit_transform(frame)
    part = RBF(gamma=1.0).on("age", missing="zero")
    machine = SVC(part * Delta().on("sex", missing="own") + part).fit(frame[:150], y[:150])
    assert machine.score(frame[150:], y[150:]) > 0.8
    save(machine, tmp_path / "gaps.mercer")
    again = load(tmp_path / "gaps.mercer")
    np.testing.assert_array_equal(again.decision_function(frame), machine.decision_function(frame))
