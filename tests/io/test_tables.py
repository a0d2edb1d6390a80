"""Tables from real files of every format, and what is found out about them."""

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_diabetes, load_svmlight_file

from mercer import InvalidInput, InvalidParameter, auto_kernel, load_data, read_table
from mercer.data import TABLES, table_path
from tests.real_data import real_data

FRAME = pd.DataFrame(
    {
        "age": [61, 58, 33, 47, 52, 29],
        "bmi": [24.1, None, 22.5, 31.25, 27.0, 19.5],
        "city": ["Rome", "Oslo", "Rome", None, "São Paulo", "Oslo"],
        "label": ["sick", "well", "well", "sick", "sick", "well"],
    }
)


@pytest.fixture
def write(tmp_path):
    """Write a file and return its path."""

    def write_file(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


def writers():
    csv = FRAME.to_csv(index=False)
    lines = FRAME.to_json(orient="records", lines=True, force_ascii=False)
    return {
        "comma.csv": csv.encode(),
        "semicolon.csv": FRAME.to_csv(index=False, sep=";").encode(),
        "decimal_comma.csv": FRAME.to_csv(index=False, sep=";", decimal=",").encode(),
        "tab.tsv": FRAME.to_csv(index=False, sep="\t").encode(),
        "bar.txt": FRAME.to_csv(index=False, sep="|").encode(),
        "crlf.csv": csv.replace("\n", "\r\n").encode(),
        "old_mac.csv": csv.replace("\n", "\r").encode(),
        "bom.csv": csv.encode("utf-8-sig"),
        "utf16.csv": csv.encode("utf-16"),
        "quoted.csv": FRAME.to_csv(index=False, quoting=1).encode(),
        "markers.csv": FRAME.to_csv(index=False, na_rep="?").encode(),
        "na.csv": FRAME.to_csv(index=False, na_rep="N/A").encode(),
        "packed.csv.gz": gzip.compress(csv.encode()),
        "twice.csv.gz": gzip.compress(csv[:20].encode()) + gzip.compress(csv[20:].encode()),
        "lines.jsonl": lines.encode(),
        "lines.jsonl.gz": gzip.compress(lines.encode()),
        "array.json": FRAME.to_json(orient="records").encode(),
        "no_suffix": csv.encode(),
        "empty_lines.csv": csv.replace("\n", "\n\n").encode(),
    }


@pytest.mark.parametrize("name", writers())
def test_one_table_in_all_text_formats(write, name):
    table = read_table(write(name, writers()[name]))
    assert table.frame.to_pydict() == {
        "age": FRAME["age"].tolist(),
        "bmi": [24.1, None, 22.5, 31.25, 27.0, 19.5],
        "city": ["Rome", "Oslo", "Rome", None, "São Paulo", "Oslo"],
    }
    assert {c.name: c.kind for c in table.columns} == {
        "age": "number", "bmi": "number", "city": "category",
    }  # fmt: skip
    assert table.target.tolist() == FRAME["label"].tolist()
    assert (table.target_name, table.task) == ("label", "two classes")
    assert table.missing == {"bmi": 1, "city": 1}
    assert "The target is 'label', by its name." in table.notes


def test_parquet(tmp_path):
    frame = FRAME.assign(
        city=FRAME["city"].astype("category"),
        flag=[True, False, True, True, False, None],
        when=pd.date_range("2026-01-01", periods=6),
        nested=[[1]] * 6,
        small=np.arange(6, dtype=np.float32) / 2,
    )
    path = tmp_path / "table.parquet"
    frame.to_parquet(path)
    table = read_table(path, "label")
    kinds = {column.name: column.kind for column in table.columns}
    assert kinds == {
        "age": "number", "bmi": "number", "city": "category", "flag": "category", "when": "date",
        "when: weekday": "category", "when: time": "number", "nested": "series", "small": "number",
    }  # fmt: skip
    X = table.prepare().X
    assert X.column_names == [
        "age", "bmi", "city", "flag", "when: weekday", "when: time", "nested", "small",
    ]  # fmt: skip
    assert X["flag"].to_pylist() == ["true", "false", "true", "true", "false", "missing"]
    assert X["bmi"].to_pylist()[1] == 24.1
    assert table.frame["small"].type == pa.float64()


def test_large_and_decimal_types_of_parquet(tmp_path):
    from decimal import Decimal

    path = tmp_path / "t.parquet"
    columns = {
        "text": pa.array(["a", "b", "a", "b"], pa.large_string()),
        "price": pa.array([Decimal("1.50"), None, Decimal("2.25"), Decimal("3.00")]),
        "big": pa.array([1, 2, 3, 2**63], pa.uint64()),
        "half": pa.array(np.array([0.5, np.nan, 1, 2]), pa.float64()),
        "y": pa.array([0.5, 1.5, 2.5, 9.0]),
    }
    pq.write_table(pa.table(columns), path)
    table = read_table(path)
    assert table.task == "number"
    assert table.missing == {"price": 1, "half": 1}
    assert [c.kind for c in table.columns] == ["category", "number", "number", "number"]


def test_libsvm_against_the_library_that_writes_it(tmp_path):
    random = np.random.default_rng(0)
    X = sparse.random_array((40, 9), density=0.3, rng=random).tocsr()
    y = random.integers(0, 2, 40)
    for zero_based in (True, False):
        path = tmp_path / f"data{zero_based}.txt"
        X[0, 0] = 1.0
        dump_svmlight_file(X, y, str(path), zero_based=zero_based)
        table = read_table(path)
        np.testing.assert_allclose(table.frame.toarray(), X.toarray(), rtol=1e-15)
        assert table.is_sparse
        assert table.target.tolist() == y.tolist()
        assert table.zero_based is zero_based
        assert table.task == "two classes"
        again = read_table(path, like=table.prepare().schema)
        np.testing.assert_array_equal(again.frame.toarray(), table.frame.toarray())


def test_libsvm_of_new_data_has_the_width_of_training(write):
    schema = read_table(write("a.svm", "1 1:1 3:2\n-1 2:1\n")).prepare().schema
    new = read_table(write("b.svm", "1 1:5\n1 7:3 9:1 # comment\n"), like=schema)
    np.testing.assert_array_equal(schema.align(new).toarray(), [[5, 0, 0], [0, 0, 0]])
    assert new.target.tolist() == [1, 1]
    with pytest.raises(InvalidInput, match="3 columns, got 2"):
        schema.align(sparse.csr_array(np.eye(2)))


def test_numbers_as_targets_of_libsvm(write):
    table = read_table(write("a.libsvm", "".join(f"{i / 7} 1:{i}\n" for i in range(30))))
    assert table.task == "number"
    np.testing.assert_allclose(table.target, np.arange(30) / 7)


# ---- the target ----------------------------------------------------------------------------------


def test_a_target_is_not_guessed(write):
    path = write("a.csv", "a,b,c\n1,2,3\n2,3,4\n")
    with pytest.raises(InvalidInput, match=r"which column is the target.*'a', 'b', 'c'"):
        read_table(path)
    with pytest.raises(InvalidInput, match=r"no column 'd'.*'a', 'b', 'c'"):
        read_table(path, "d")
    with pytest.raises(InvalidInput, match="'y' and 'Class' could be it"):
        read_table(write("b.csv", "y,Class\n1,2\n2,3\n"))
    with pytest.raises(InvalidInput, match="Did you mean 'survived'"):
        read_table(write("c.csv", "survived,x\n1,2\n0,3\n"), "survivd")
    assert read_table(path, "c").target_name == "c"
    assert read_table(path, -1).target_name == "c"
    assert read_table(path, "0").target_name == "a"
    plain = read_table(path, False)
    assert (plain.target, plain.task, plain.used) == (None, "none", ["a", "b", "c"])


@pytest.mark.parametrize(
    ("cells", "task", "reason", "dtype"),
    [
        (["yes", "no"] * 15, "two classes", "2 labels", "U"),
        (["a", "b", "c"] * 10, "many classes", "3 labels", "U"),
        (["0", "1"] * 15, "two classes", "2 different whole numbers", "i"),
        (["0.0", "1.0"] * 15, "two classes", "2 different whole numbers", "i"),
        (["1", "2", "3"] * 10, "many classes", "3 different whole numbers", "i"),
        ([str(i) for i in range(30)], "number", "30 different whole numbers", "f"),
        ([str(i / 4) for i in range(30)], "number", "numbers with fractions", "f"),
        (["0.5", "1.5"] * 15, "number", "numbers with fractions", "f"),
        (["01", "02"] * 15, "two classes", "2 labels", "U"),
    ],
)
def test_tasks_and_reasons(write, cells, task, reason, dtype):
    text = "x,y\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(cells))
    table = read_table(write("a.csv", text))
    assert table.task == task
    assert reason in table.reason
    assert table.target.dtype.kind == dtype


def test_the_task_can_be_said(write):
    path = write("a.csv", "x,y\n" + "".join(f"{i},{i % 4}\n" for i in range(30)))
    assert read_table(path).task == "many classes"
    assert read_table(path, task="number").target.dtype == np.float64
    assert read_table(path, task="classes").task == "many classes"
    with pytest.raises(InvalidParameter, match="'ranks' has to be 'classes' or 'number'"):
        read_table(path, task="ranks")


def test_counts_are_numbers_with_a_hint_and_so_are_codes(write):
    def read(values, **how):
        text = "x,y\n" + "".join(f"{i},{value}\n" for i, value in enumerate(values))
        return read_table(write("a.csv", text), **how)

    def hinted(table):
        return any("task=" in note for note in table.notes)

    visits = [0] * 60 + [1] * 30 + [2] * 20 + [3] * 8 + [4] * 3 + [7]
    counted = read(visits)
    assert (counted.task, counted.target.dtype.kind) == ("number", "f")
    assert "counts up to 7" in counted.reason
    assert any("taken for counts" in n and "task='classes'" in n for n in counted.notes)
    asked = read(visits, task="classes")
    assert asked.task == "many classes"
    assert not hinted(asked)
    # Codes: their last class is as frequent as others, or they do not begin with 0 or 1.
    for codes in ([1, 2, 3, 5, 6, 7] * 20, [value + 10 for value in visits]):
        table = read(codes)
        assert table.task == "many classes"
        assert any("taken for classes" in n and "task='number'" in n for n in table.notes)
    letters = read([i % 26 for i in range(520)])
    assert letters.task == "number"
    assert any("codes of classes" in n and "task='classes'" in n for n in letters.notes)
    assert not hinted(read([7 * i for i in range(200)]))
    assert not hinted(read([i % 26 + 0.5 for i in range(520)]))


def test_targets_that_cannot_be_learnt(write):
    with pytest.raises(InvalidInput, match="has the value 1 in all 3 rows"):
        read_table(write("a.csv", "x,y\n1,1\n2,1\n3,1\n"))
    with pytest.raises(InvalidInput, match="no value in any row"):
        read_table(write("b.csv", "x,y\n1,NA\n2,\n3,?\n"))
    names = "".join(f"{i},name{i}\n" for i in range(40))
    with pytest.raises(InvalidInput, match="40 different labels in 40 rows"):
        read_table(write("c.csv", "x,y\n" + names))


def test_rows_without_a_target_are_left_out_and_said(write):
    table = read_table(write("a.csv", "x,y\n1,0\n\n2,NA\n3,1\n4,?\nfive,1\n"), kinds={"x": "text"})
    assert table.frame["x"].to_pylist() == ["1", "3", "five"]
    assert table.target.tolist() == [0, 1, 1]
    assert any("2 of 5 rows have no value of 'y' (the first: line 4)" in n for n in table.notes)
    assert table.place(1) == "line 5"


# ---- columns -------------------------------------------------------------------------------------


def test_columns_that_tell_nothing_are_set_aside(write):
    rows = "".join(
        f"{i},{1000 + 7 * i % 31},k{i},same,,2026-01-{i + 1:02d},{i % 3},{i * 0.5},{i % 2}\n"
        for i in range(20)
    )
    header = "nr,customer_id,key,same,empty,day,group,x,y\n"
    table = read_table(write("a.csv", header + rows))
    found = {column.name: column.kind for column in table.columns}
    assert found == {
        "nr": "identifier", "customer_id": "identifier", "key": "identifier", "same": "constant",
        "empty": "empty", "day": "date", "day: weekday": "category", "day: time": "number",
        "group": "number", "x": "number",
    }  # fmt: skip
    assert table.used == ["day: weekday", "day: time", "group", "x"]
    assert "set aside: day (its weekday and time stand for it)" in repr(table)
    assert "set aside: same (all its values are the same)" in repr(table)
    said = read_table(write("b.csv", header + rows), kinds={"group": "category", "key": "category"})
    assert said.used == ["key", "day: weekday", "day: time", "group", "x"]
    assert said.prepare().X["group"].to_pylist()[:3] == ["0", "1", "2"]
    with pytest.raises(InvalidParameter, match="'colour' for column 'x' is none of number"):
        read_table(write("c.csv", header + rows), kinds={"x": "colour"})


def test_texts_and_sequences(write):
    words = ["the", "quick", "fox", "jumps", "over", "a", "lazy", "dog", "near", "river"]
    random = np.random.default_rng(0)
    rows = [
        f"{' '.join(random.choice(words, 9))},{''.join(random.choice(list('ACGT'), 30))},{i % 2}"
        for i in range(30)
    ]
    table = read_table(write("a.csv", "note,dna,y\n" + "\n".join(rows)))
    assert [c.kind for c in table.columns] == ["text", "sequence"]
    proposal = auto_kernel(table.prepare().X)
    assert any("dna: sequences" in reason for reason in proposal.reasons)


def test_nothing_left_to_learn_from(write):
    table = read_table(write("a.csv", "same,y\n5,0\n5,1\n5,0\n"))
    with pytest.raises(
        InvalidInput, match=r"no column is left to learn from.*same: all its values"
    ):
        table.prepare()


# ---- embedded data -------------------------------------------------------------------------------


def test_heart_is_the_scaled_heart_in_units():
    table, arrays = read_table("heart"), load_data("heart")
    assert len(table) == 270
    assert (table.task, table.target_name) == ("two classes", "diagnosis")
    np.testing.assert_array_equal(table.target, arrays.y)
    assert tuple(table.frame.column_names) == arrays.columns
    for j, name in enumerate(arrays.columns):
        values, scaled = table.frame[name].to_pylist(), arrays.X[:, j]
        if isinstance(values[0], str):
            # Each category is one scaled value, and the other way round.
            assert len(set(zip(values, scaled, strict=True))) == len(set(values))
            assert len(set(values)) == len(set(scaled.tolist()))
        else:
            back = np.interp(values, [min(values), max(values)], [-1, 1])
            np.testing.assert_allclose(back, scaled, atol=1e-5)


def test_diabetes_against_scikit_learn():
    table, arrays, known = (
        read_table("diabetes"),
        load_data("diabetes"),
        load_diabetes(scaled=False),
    )
    np.testing.assert_allclose(arrays.X, known.data)
    np.testing.assert_allclose(arrays.y, known.target)
    np.testing.assert_allclose(table.target, known.target)
    assert table.task == "number"
    assert arrays.columns == tuple(table.frame.column_names)


@pytest.mark.parametrize("name", TABLES)
def test_embedded_tables_are_small_and_have_a_source(name):
    table = read_table(name)
    assert table.target_name == TABLES[name][1]
    path = table_path(name)
    assert path.stat().st_size < 300_000
    assert path.name in (path.parent / "SOURCES.md").read_text()
    proposal = auto_kernel(table.prepare().X)
    assert proposal.kernel(table.prepare().X.slice(0, 30)).shape == (30, 30)


def test_embedded_tables_that_are_more_than_numbers():
    assert read_table("penguins").task == "many classes"
    assert [c.kind for c in read_table("reviews").columns] == ["text"]
    with pytest.raises(InvalidParameter, match=r"read_table\('reviews'\)"):
        load_data("reviews")


def test_a_file_comes_before_a_data_set(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("heart").write_text("x,y\n1,0\n2,1\n")
    assert len(read_table("heart")) == 2


# ---- real files ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "target", "rows", "columns", "task"),
    [
        ("tabular_classification/titanic/titanic.csv", "survived", 891, 14, "two classes"),
        ("tabular_classification/german/german.csv", -1, 1000, 20, "two classes"),
        ("tabular_classification/sonar/sonar.csv", -1, 208, 60, "two classes"),
        ("tabular_regression/airfoil/airfoil_self_noise.dat.txt", -1, 1503, 5, "number"),
        ("tabular_regression/yacht/yacht_hydrodynamics.data.txt", -1, 308, 6, "number"),
        ("tabular_regression/winequality/winequality-red.csv", -1, 1599, 11, "many classes"),
        ("tabular_regression/auto_mpg/mpg.csv", "mpg", 398, 8, "number"),
        ("tabular_regression/abalone/abalone.csv", -1, 4177, 8, "number"),
        ("text/sms_spam/SMSSpamCollection", 0, 5574, 1, "two classes"),
        ("images/digits_8x8/digits.csv.gz", -1, 1797, 64, "many classes"),
    ],
)
def test_real_files(file, target, rows, columns, task):
    table = read_table(real_data(file), target)
    assert (len(table), len(table.columns), table.task) == (rows, columns, task)
    prepared = table.prepare()
    assert len(prepared.X) == len(prepared.y) == rows
    assert not any(prepared.X[name].null_count for name in prepared.X.column_names)


def test_real_sparse_file():
    path = real_data("tabular_classification/svmguide1/svmguide1")
    X, y = load_svmlight_file(str(path))
    table = read_table(path)
    assert (abs(table.frame - X)).max() == 0
    np.testing.assert_array_equal(table.target, y)


def test_printing_a_table():
    text = repr(read_table("penguins"))
    assert "344 rows" in text
    assert "category: island, sex" in text
    assert "target: species, many classes" in text
    assert "missing: 19 values in" in text


def test_json_values_of_all_kinds(write):
    rows = [{"a": 1, "b": True, "c": {"d": 1}, "y": i / 3} for i in range(4)] + [{"a": 2.5, "y": 7}]
    table = read_table(write("a.jsonl", "\n".join(map(json.dumps, rows))))
    assert {c.name: c.kind for c in table.columns} == {
        "a": "number", "b": "category", "c": "other",
    }  # fmt: skip
    assert table.missing == {"b": 1, "c": 1}


def test_a_long_name_does_not_fill_the_screen(tmp_path):
    name = "n" * 10_000
    (tmp_path / "t.csv").write_text(f"{name},b\n1,2\n3,4\n")
    with pytest.raises(InvalidInput, match=r"nnn… \(10,000 characters\)") as caught:
        read_table(tmp_path / "t.csv", target="c")
    assert len(str(caught.value)) < 600


def test_a_target_without_columns_is_refused(tmp_path):
    path = tmp_path / "alone.csv"
    path.write_text("y\n1\n2\n1\n")
    with pytest.raises(InvalidInput, match="no column besides the target 'y'"):
        read_table(path, "y")
    assert len(read_table(path, False)) == 3


def test_marks_of_encodings_alone_are_an_empty_file(tmp_path):
    path = tmp_path / "marks.csv"
    path.write_bytes(b"\xef\xbb\xbf\xef\xbb\xbf\r")
    with pytest.raises(InvalidInput, match="is empty"):
        read_table(path, False)


def test_a_long_name_of_a_column_that_is_left_out_is_not_quoted_whole(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("a" * 4000 + ",y\n5,0\n5,1\n5,0\n")
    with pytest.raises(InvalidInput, match="no column is left") as caught:
        read_table(path, "y").prepare()
    assert len(str(caught.value)) < 400
