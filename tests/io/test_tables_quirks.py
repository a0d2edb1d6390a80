"""Files as they come: odd, broken, hostile. Each gives a table or one line that says what to do."""

import gzip
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from mercer import InvalidInput, MercerError, read_table
from tests.io.test_tables import write  # noqa: F401


def table_of(write, content, name="a.csv", **options):  # noqa: F811
    return read_table(write(name, content), **options)


BAD = {
    "empty.csv": (b"", "is empty"),
    "blank.csv": (b" \n\n\t\n", "is empty"),
    "header.csv": (b"a,b,y\n", "names of columns and no rows"),
    "long_row.csv": (b"a,y\n1,0\n\n2,1,3\n4,1\n", r"line 4: 3 values, while the first line has 2"),
    "short_row.csv": (b"a,y\n1,0\n2\n", r"line 3: 1 value, while the first line has 2"),
    "after_quoted_line_end.csv": (b'a,y\n"1\n2",0\n3\n', "line 4: 1 value"),
    "same_names.csv": (b"a,b,a,y\n1,2,3,0\n2,3,4,1\n", "columns 1 and 3 are both called 'a'"),
    "open_quote.csv": (b'a,y\n1,0\n2,"x\n3,0\n4,1\n', "line 3: a quote is opened here and never"),
    "latin.csv": ("a,y\n1,ja\n2,né\n".encode("latin-1"), "line 3.*not UTF-8.*encoding='latin-1'"),
    "junk.csv": (bytes(range(256)) * 20, "binary data of an unknown kind"),
    "sheet.xlsx": (
        b"PK\x03\x04" + bytes(200),
        "an archive of other files; save it as CSV",
    ),
    "page.csv": (b"\n<!DOCTYPE html>\n<html>a, b\n</html>\n", "web page.*download the file itself"),
    "old.xls": (b"\xd0\xcf\x11\xe0" + bytes(200), "old file of Excel.*save it as .xlsx or CSV"),
    "weka.arff": (b"% Title\n@relation x\n@data\n1,2\n", "file of Weka; save it as CSV"),
    "packed.csv.zst": (b"\x28\xb5\x2f\xfd" + bytes(range(256)), "unpack it"),
    "packed.csv.bz2": (b"BZh91AY&SY" + bytes(range(256)), "damaged bzip2 file"),
    "broken.parquet": (b"PAR1" + bytes(80), "damaged Parquet file"),
    "cut.csv.gz": (gzip.compress(b"a,y\n1,0\n" * 99)[:-12], "compressed data are incomplete"),
    "bad.gz": (b"\x1f\x8b" + bytes(40), "damaged gzip file"),
    "bad.jsonl": (b'{"a":1,"y":0}\n\n{"a":2,"y":}\n', "line 3, character 12: not valid JSON"),
    "two_types.jsonl": (
        b'{"a":1,"y":0}\n{"a":"x","y":1}\n{"a":3,"y":1}\n',
        "line 2: column 'a' holds 'x', text among other values",
    ),
    "values.json": (b"[1, 2]", r"entry 0: expected an object such as \{\"age\": 61\}, found int"),
    "deep.json": (b"[" * 100_000, "nested too deeply"),
    "digits.jsonl": (b'{"a": ' + b"9" * 5000 + b"}", "nested too deeply|line 1"),
    "word.libsvm": (b"1 1:2 2:3\n-1 1:x\n", "line 2: '1:x' is not column:value"),
    "order.svm": (b"1 2:2 1:3\n-1 1:1\n", "line 1: column 1 comes after column 2"),
    "label.svm": (b"# first\ngood 1:2\n", "line 2: 'good' is not a label"),
    "nan.svm": (b"# first\n1 1:1\n-1 1:nan\n", "line 3: a value is not finite"),
    "series.ts": (
        b"@problemName x\n@data\n1,2:1\n",
        "line 3: the channels of the series",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_broken_files(write, name):  # noqa: F811
    content, message = BAD[name]
    with pytest.raises(InvalidInput, match=message) as error:
        table_of(write, content, name)
    assert "\n" not in str(error.value)
    assert name in str(error.value)
    assert len(str(error.value)) < 500


def test_what_is_no_file(tmp_path):
    with pytest.raises(InvalidInput, match=r"no file hart.*there are heart.*Did you mean heart\?"):
        read_table("hart")
    (tmp_path / "wine.csv").write_text("a,y\n1,0\n")
    with pytest.raises(InvalidInput, match=r"Did you mean wine.csv\?"):
        read_table(tmp_path / "wine.scv")
    with pytest.raises(InvalidInput, match="holds no set of graphs"):
        read_table(tmp_path)
    with pytest.raises(InvalidInput, match="Download the file first"):
        read_table("https://example.org/data.csv")
    for odd in ("a\0b", "x" * 5000, "/nowhere/at/all.csv", ""):
        with pytest.raises(InvalidInput):
            read_table(odd)
    for odd in (None, 3, [{"a": 1}], np.ones((2, 2))):
        with pytest.raises(InvalidInput, match="expected the path of a file"):
            read_table(odd)


def test_few_cells_that_are_no_numbers(write):  # noqa: F811
    text = "age,y\n\n" + "".join(f"{20 + i},{i % 2}\n" for i in range(30)) + "old,1\n"
    with pytest.raises(
        InvalidInput, match=r"line 33, column 'age': 'old' is not a number.*30 of 31"
    ):
        table_of(write, text)
    assert table_of(write, text, missing=["OLD"]).missing == {"age": 1}
    said = table_of(write, text, kinds={"age": "category"})
    assert said.frame["age"].to_pylist()[-1] == "old"
    many = "age,y\n" + "".join(f"{'x' if i % 3 else i},{i % 2}\n" for i in range(30))
    assert table_of(write, many).columns[0].kind == "category"


def test_counts_in_the_first_line(write):  # noqa: F811
    """Data files of scikit-learn, and of others after it, begin with "rows,columns,classes"."""
    table = read_table(
        write("a.csv", "3,1,TM,AMP\nLWIVIACLA,0\nAAGAATVLL,0\nGIGKFLHSA,1\n"), "column_2"
    )
    assert len(table) == 3
    assert table.frame.column_names == ["column_1"]
    assert list(table.target) == [0, 0, 1]
    assert any("counts rows and columns" in note for note in table.notes)
    same = read_table(write("b.csv", "2,2,no\n1.5,2.5,no\n3.5,1.5,yes\n"), target="column_3")
    assert len(same) == 2
    # Rows of numbers, other counts, and a line that is said to be the header stay what they are.
    assert len(read_table(write("c.csv", "2,1\n5,0\n6,1\n"), target=False)) == 3
    named = read_table(write("e.csv", "2,1,yes\n5,3,no\n6,4,no\n"), header=True, target=False)
    assert named.frame.column_names == ["2", "1", "yes"]
    assert len(read_table(write("f.csv", "9,2,no\n1.5,2,no\n3.5,1,yes\n"), target=False)) == 3


@pytest.mark.parametrize(
    ("first", "rows", "header"),
    [
        ("a,b,y", ["1,x,0", "2,z,1"], True),
        ("1,x,0", ["2,z,1"], False),
        ("5.1,3.5,setosa", ["4.9,3.0,setosa", "7.0,3.2,virginica"], False),
        ("2019,2020,y", ["1.5,2,0", "2.5,3,1"], True),
        ("name,colour", ["ann,red", "bob,blue", "cy,red"], True),
        ("ann,red", ["bob,blue", "cy,red"], False),
        ("NA,2", ["3,4", "5,6"], False),
        ("x,", ["1,2", "3,4"], True),
        (",x", ["0,1.5", "1,2.5"], True),
    ],
)
def test_headers(write, first, rows, header):  # noqa: F811
    table = table_of(write, "\n".join([first, *rows]), target=False)
    assert len(table) == len(rows) + (not header)
    assert any("first line is data" in note for note in table.notes) is not header
    forced = table_of(write, "\n".join([first, *rows]), target=False, header=False)
    assert len(forced) == len(rows) + 1


def test_names_that_are_expected_make_a_header(write):  # noqa: F811
    text = "colour,size\nred,colour\nblue,size\nred,size\n"
    assert len(table_of(write, text, target=False)) == 4
    assert len(table_of(write, text, target="size")) == 3
    schema = table_of(write, text, target="size").prepare().schema
    assert read_table(write("b.csv", "colour\ncolour\n"), like=schema).frame.to_pydict() == {
        "colour": ["colour"]
    }


def test_quotes_separators_and_line_ends_inside_cells(write):  # noqa: F811
    text = 'text,y\r\n"one, two",0\r\n"say ""hi""\r\nthere",1\r\n'
    table = table_of(write, text)
    assert table.frame["text"].to_pylist() == ["one, two", 'say "hi"\r\nthere']
    tabs = 'y\ttext\nham\t"hi there\nspam\t5" pipe\nham\tboth "ends"\n'
    table = table_of(write, tabs, "a.tsv")
    assert table.frame["text"].to_pylist() == ['"hi there', '5" pipe', 'both "ends"']
    assert any("Quotes are ordinary" in note for note in table.notes)
    odd = "text,y\nfoo\u2028bar,1\nba\x85z,0\n"
    assert table_of(write, odd).frame["text"].to_pylist() == ["foo\u2028bar", "ba\x85z"]


def test_encodings_and_separators_can_be_said(write):  # noqa: F811
    path = write("a.csv", "a:y\n1:né\n2:ja\n".encode("latin-1"))
    table = read_table(path, encoding="latin-1", delimiter=":")
    assert table.target.tolist() == ["né", "ja"]
    with pytest.raises(InvalidInput, match="no encoding 'klingon'"):
        read_table(path, encoding="klingon")


def test_suffix_and_content_that_disagree(write):  # noqa: F811
    table = table_of(write, "a,y\n1,0\n2,1\n", "table.parquet")
    assert "The suffix .parquet is that of Parquet, but the content is separated values." in (
        table.notes
    )
    frame = pd.DataFrame({"a": [1, 2], "y": [0, 1]})
    path = write("table.csv", frame.to_parquet())
    assert read_table(path).frame["a"].to_pylist() == [1, 2]
    assert len(table_of(write, '{"a": 1, "y": 0}\n{"a": 2, "y": 1}', "table.csv")) == 2


def test_codes_with_leading_zeros_stay_text(write):  # noqa: F811
    table = table_of(write, "zip,y\n01234,1\n02345,0\n01234,1\n")
    assert table.frame["zip"].to_pylist() == ["01234", "02345", "01234"]
    assert table.columns[0].kind == "category"


def test_numbers_in_all_spellings(write):  # noqa: F811
    cells = ["+1", " -2.5", "1e3", ".5", "3.", "1E-2", "-.25e+1", "7 "]
    text = "x,y\n" + "".join(f"{cell},{i % 2}\n" for i, cell in enumerate(cells))
    table = table_of(write, text)
    assert table.frame["x"].to_pylist() == [float(cell) for cell in cells]


def test_one_row(write):  # noqa: F811
    table = table_of(write, "a,b,y\n1,x,0\n", target=False)
    assert len(table) == 1
    assert [column.kind for column in table.columns] == ["number", "category", "number"]
    assert "1 row\n" in repr(table)


def test_unicode_names_and_labels(write):  # noqa: F811
    table = table_of(write, "größe,城市,label\n1,北京,да\n2,東京,нет\n3,北京,да\n")
    assert table.used == ["größe", "城市"]
    assert table.target.tolist() == ["да", "нет", "да"]


def test_very_wide(write):  # noqa: F811
    width = 2000
    header = ",".join(f"x{j}" for j in range(width)) + ",y\n"
    rows = "".join(",".join(str(i * j % 7) for j in range(width)) + f",{i % 2}\n" for i in range(4))
    table = table_of(write, header + rows)
    assert len(table.columns) == width
    assert table.prepare().X.shape[1] == len(table.used) > 1700


def test_long_cells(write):  # noqa: F811
    long = "word " * 60_000
    table = table_of(write, f'text,y\n"{long}",0\n"{long} end",1\n')
    assert len(table.frame["text"][0].as_py()) == len(long) - 1


def test_a_bomb_is_stopped(write, monkeypatch):  # noqa: F811
    monkeypatch.setattr("mercer._memory.available_bytes", lambda: 40_000_000)
    bomb = write("bomb.csv.gz", gzip.compress(b"0" * 100_000_000))
    with pytest.raises(InvalidInput, match=r"unpacks to more than 10.0 MB"):
        read_table(bomb)


def test_without_pyarrow(write):  # noqa: F811
    path = write("a.csv", "a,y\n1,0\n2,1\n")
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import mercer\n"
        f"try: mercer.read_table({str(path)!r})\n"
        "except mercer.MissingDependency as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'mercer[cli]'" in run.stdout


# ---- round trips and fuzz ------------------------------------------------------------------------

cell = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8)


@settings(max_examples=60, deadline=None)
@given(
    texts=st.lists(cell, min_size=2, max_size=6),
    numbers=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=6),
    separator=st.sampled_from([",", ";", "\t", "|"]),
)
def test_what_pandas_writes_is_what_we_read(tmp_path_factory, texts, numbers, separator):
    n = min(len(texts), len(numbers))
    frame = pd.DataFrame({"text": ["t" + t for t in texts[:n]], "x": numbers[:n]})
    path = tmp_path_factory.mktemp("round") / "a.csv"
    frame.to_csv(path, index=False, sep=separator, quoting=1)
    table = read_table(path, False, header=True, delimiter=separator, kinds={"text": "category"})
    assert table.frame["text"].to_pylist() == [t.strip() for t in frame["text"]]
    np.testing.assert_array_equal(np.array(table.frame["x"], dtype=float), frame["x"])


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(
        st.binary(max_size=80),
        st.text(alphabet=" \n\r,;\t\"'01.aNA?:{}[]#-", max_size=60).map(str.encode),
    ),
    st.sampled_from(["a.csv", "a.jsonl", "a.svm", "a.parquet", "a", "a.csv.gz"]),
)
def test_any_bytes_give_a_table_or_our_error(tmp_path_factory, content, name):
    path = tmp_path_factory.mktemp("fuzz") / name
    path.write_bytes(content)
    start = time.process_time()
    with suppress(MercerError):
        assert len(read_table(path, False)) >= 1
    assert time.process_time() - start < 2
