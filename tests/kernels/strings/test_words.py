"""Kernels of strings against the naive oracle, in every form in which strings come."""

import re
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics.pairwise import cosine_similarity

from mercer import (
    SVC,
    BagOfWords,
    Delta,
    Gram,
    InvalidInput,
    InvalidParameter,
    InvalidType,
    LinearSVC,
    MercerError,
    check_kernel,
    load,
    read_table,
    save,
)
from mercer.kernels.registry import ROWS
from tests.kernels.cases import close
from tests.oracles.naive import naive_gram
from tests.oracles.strategies import string_kernels, texts

TEXTS = ["a cat", "A cart, a cat", "", "Bär 北京", "cat cat cat"]
EXAMPLES = [kernel for row in ROWS if row.domain == "strings" for kernel in row.examples]

FORMS = {
    "list": list,
    "tuple": tuple,
    "rows": lambda t: [[x] for x in t],
    "array": np.array,
    "objects": lambda t: np.array(t, dtype=object),
    "column": lambda t: np.array(t, dtype=object)[:, None],
    "StringDType": lambda t: np.array(t, dtype=np.dtypes.StringDType()),
    "pandas": pd.Series,
    "pandas string": lambda t: pd.Series(t, dtype="string"),
    "pandas category": lambda t: pd.Series(t, dtype="category"),
    "pandas frame": lambda t: pd.DataFrame({"text": t}),
    "polars": pl.Series,
    "polars frame": lambda t: pl.DataFrame({"text": t}),
    "pyarrow": pa.array,
    "pyarrow chunks": lambda t: pa.chunked_array([t[:2], t[2:]]),
    "pyarrow table": lambda t: pa.table({"text": t}),
    "large": lambda t: pa.array(t, pa.large_string()),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kernel", EXAMPLES, ids=repr)
def test_every_form_equals_the_oracle(kernel, form):
    make = FORMS[form]
    X, Y = make(TEXTS), make(TEXTS[1:4])
    expected = naive_gram(kernel, TEXTS)
    close(kernel(X), expected)
    close(kernel(X, Y), expected[:, 1:4])
    close(kernel.diag(X), np.diag(expected))
    if kernel.has_features:
        close(kernel.features(X) @ kernel.features(Y).T, expected[:, 1:4])


@given(string_kernels(), texts(), texts())
def test_any_texts_equal_the_oracle(kernel, X, Y):
    close(kernel(X, Y), naive_gram(kernel, X, Y))
    close(kernel(X), naive_gram(kernel, X))
    close(kernel.normalized()(X, Y), naive_gram(kernel.normalized(), X, Y))
    close(kernel.features(X) @ kernel.features(Y).T, kernel(X, Y))
    close(((kernel + kernel * kernel) ** 2)(X), naive_gram((kernel + kernel * kernel) ** 2, X))


@given(string_kernels(), texts(rows=(2, 6)))
def test_string_kernels_are_positive_and_honest(kernel, X):
    report = check_kernel(kernel, X)
    assert report.is_symmetric
    assert report.is_positive
    assert report.obeys_cauchy_schwarz


def test_counts_against_scikit_learn():
    table = read_table("reviews")
    X = table.frame["text"].to_pylist()[:300]
    counts = CountVectorizer(token_pattern=r"\w+").fit_transform(X).astype(float)
    close(BagOfWords()(X), (counts @ counts.T).toarray())
    close(BagOfWords().normalized()(X), cosine_similarity(counts))
    close(BagOfWords("binary")(X), ((counts > 0).astype(float) @ (counts > 0).T).toarray())


@pytest.mark.parametrize("k", [2, 3])
def test_runs_of_words_against_scikit_learn(k):
    X = read_table("reviews").frame["text"].to_pylist()[:200]
    counts = CountVectorizer(token_pattern=r"\w+", ngram_range=(k, k)).fit_transform(X)
    counts = counts.astype(float)
    close(BagOfWords(k=k)(X), (counts @ counts.T).toarray())
    tokens = [re.findall(r"\w+", text) for text in X]
    close(BagOfWords(k=k, pattern=None)(tokens), (counts @ counts.T).toarray())
    shares = counts / np.maximum(counts.sum(axis=1), 1).reshape(-1, 1)
    close(BagOfWords("frequency", k=k)(X), (shares @ shares.T).toarray())


TOKENS = [["open", "/etc/a b"], [], ["open", "read", "open"]]


@pytest.mark.parametrize(
    "make",
    [
        list,
        lambda t: np.array(t, dtype=object),
        pd.Series,
        lambda t: pd.DataFrame({"calls": t}),
        lambda t: pl.Series(t, dtype=pl.List(pl.String)),
        lambda t: pa.array(t, pa.list_(pa.string())),
        lambda t: [np.array(row, dtype=str) for row in t],
    ],
)
def test_lists_of_tokens(make):
    kernel = BagOfWords(pattern=None)
    close(kernel(make(TOKENS)), [[2, 0, 2], [0, 0, 0], [2, 0, 5]])
    close(kernel(make(TOKENS), [["OPEN"]]), [[1], [0], [2]])
    close(BagOfWords(k=2, pattern=None)(make(TOKENS)), [[1, 0, 0], [0, 0, 0], [0, 0, 2]])


def test_tokens_in_columns_and_files(tmp_path):
    frame = pd.DataFrame({"calls": TOKENS * 4, "kind": list("xyx") * 4})
    kernel = BagOfWords(pattern=None).on("calls") + Delta().on("kind")
    same = np.equal.outer(list("xyx"), list("xyx"))
    close(kernel(frame[:3]), same + np.array([[2, 0, 2], [0, 0, 0], [2, 0, 5]]))
    machine = SVC(kernel, C=2.0).fit(frame, [0, 1, 2] * 4)
    save(machine, tmp_path / "calls.mercer")
    again = load(tmp_path / "calls.mercer")
    close(again.decision_function(frame), machine.decision_function(frame))


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (["a b"], InvalidType, "row 0 holds 'a b', not a list of tokens.*leave pattern out"),
        ([["a"], None], InvalidType, "row 1 holds None"),
        ([["a", 3]], InvalidType, "token 3 in row 0 is not a string but of type int"),
        ([["a", ""]], InvalidInput, "token '' in row 0 is empty"),
        ([["a\x1fb"]], InvalidInput, "separates tokens"),
        (sparse.eye_array(2), InvalidType, "sparse matrix of numbers"),
        (np.array([["a", "b"]]), InvalidInput, "one column of tokens, got a table of 2 columns"),
    ],
)
def test_what_is_not_tokens(X, error, message):
    with pytest.raises(error, match=message):
        BagOfWords(pattern=None)(X)


def test_on_columns_of_mixed_tables():
    frame = {"text": TEXTS, "kind": ["x", "y", "x", "x", "y"]}
    kernel = BagOfWords().normalized().on("text") + 0.5 * Delta().on("kind")
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        close(kernel(make(frame)), naive_gram(kernel, pd.DataFrame(frame)))
    rows = [list(row) for row in zip(*frame.values(), strict=True)]
    by_position = BagOfWords().on(0)
    close(by_position(rows), BagOfWords()(TEXTS))
    close(by_position(np.array(rows)), BagOfWords()(TEXTS))


def test_keys_do_not_depend_on_the_batch_or_the_process():
    keys = BagOfWords().features(["cat"]).keys
    other = BagOfWords().features(["dog and Cat"])
    assert keys[0] in other.keys
    code = "from mercer import BagOfWords; print(BagOfWords().features(['cat']).keys[0])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(run.stdout) == int(keys[0])


def test_machines_take_texts():
    table = read_table("reviews")
    X, y = np.array(table.frame["text"].to_pylist()), table.target
    machine = SVC(kernel=BagOfWords("binary").normalized(), C=2.0).fit(X[:1000], y[:1000])
    assert machine.certificate_.gap >= 0
    assert machine.score(X[1000:], y[1000:]) > 0.65
    close(Gram(BagOfWords(), X[:50]).dense(), BagOfWords()(X[:50]))
    phi = BagOfWords("binary").normalized().features(X)
    linear = LinearSVC(C=1.0).fit(phi.values[:1000], y[:1000])
    assert linear.score(phi.values[1000:], y[1000:]) > 0.65


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (["a", None], InvalidInput, "the string in row 1 is missing.*Fill it in"),
        (pd.Series(["a", np.nan]), InvalidInput, "row 1 is missing"),
        (pd.Series(["a", pd.NA], dtype="string"), InvalidInput, "row 1 is missing"),
        (pl.Series(["a", None]), InvalidInput, "row 1 is missing"),
        (pa.array(["a", None]), InvalidInput, "row 1 is missing"),
        (["a", 3], InvalidType, "3 in row 1 is not a string but of type int.*str"),
        ([b"a"], InvalidType, "type bytes. Decode it first"),
        ([["a", "b"]], InvalidInput, r"table of 2 columns.*BagOfWords\(\)\.on\('text'\)"),
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), InvalidInput, "table of 2 columns"),
        (np.ones((2, 1)), InvalidType, "1.0 in row 0 is not a string"),
        (np.ones((2, 3)), InvalidInput, "table of 3 columns"),
        (sparse.eye_array(2), InvalidType, "sparse matrix of numbers"),
        ("one text", InvalidType, "batch of objects"),
        ([], InvalidInput, "no rows"),
    ],
)
def test_what_is_not_strings(X, error, message):
    with pytest.raises(error, match=message):
        BagOfWords()(X)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"weighting": "idf"}, "'idf' has to be 'count', 'frequency' or 'binary'"),
        ({"pattern": "("}, "not a regular expression"),
        ({"pattern": 3}, "not a regular expression"),
        ({"pattern": "(" * 5000}, "not a regular expression"),
        ({"lowercase": "yes"}, "lowercase='yes'"),
        ({"k": 0}, "k=0 has to be a whole number ≥ 1"),
    ],
)
def test_impossible_parameters(parameters, message):
    with pytest.raises(InvalidParameter, match=message):
        BagOfWords(**parameters)


def test_texts_without_words():
    assert not BagOfWords()(["", "...", " "]).any()
    close(BagOfWords().normalized()(["", "a"]), [[0, 0], [0, 1]])
    assert BagOfWords(pattern="x*")(["axxa"])[0, 0] == 1  # empty matches are no words
    assert BagOfWords()(["\ud800 a"]).tolist() == [[1.0]]
    with pytest.raises(MercerError):
        BagOfWords().on("text")(["a"])
