"""Files of series: ``.ts`` and the tables of the UCR archive."""

import gzip

import numpy as np
import pytest

from mercer import InvalidInput, auto_kernel, read_series, read_table

HEAD = (
    "#A comment\n@problemName Toy\n@timeStamps false\n@univariate {}\n@classLabel true a b\n@data\n"
)


def write(tmp_path, text, name="toy.ts"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_one_channel(tmp_path):
    path = write(tmp_path, HEAD.format("true") + "1,2,3:a\n\n4,5.5:b\n1,?,3,?:a\n")
    found = read_series(path)
    assert [x.shape for x in found.X] == [(1, 3), (1, 2), (1, 3)]
    assert found.X[1].tolist() == [[4.0, 5.5]]
    assert np.isnan(found.X[2][0, 1])
    assert found.y.tolist() == ["a", "b", "a"]
    assert (len(found), found.lines) == (3, (7, 9, 10))
    table = read_table(path)
    assert (table.target_name, table.task) == ("class", "two classes")
    assert table.frame["series"].to_pylist()[1] == [4.0, 5.5]


def test_channels_and_no_labels(tmp_path):
    path = write(tmp_path, HEAD.format("false") + "1,2:3,4:a\n5:6:b\n")
    assert [x.tolist() for x in read_series(path).X] == [[[1, 2], [3, 4]], [[5], [6]]]
    proposal = auto_kernel(read_table(path).prepare().X)
    assert repr(proposal.kernel) == "GlobalAlignment().on('channel 1', 'channel 2')"
    bare = HEAD.format("true").replace("true a b", "false") + "1,2\n3\n"
    found = read_series(write(tmp_path, bare))
    assert found.y is None
    assert [x.tolist() for x in found.X] == [[[1, 2]], [[3]]]


def test_tables_of_the_archive(tmp_path):
    for name, text in {
        "a.tsv": "-1\t0.5\t1\t2\n1\t1e-3\t2\tNaN\n",
        "a.txt": "  -1.0000000e+00   0.5  1 2\n 1.0 1e-3 2 NaN\n",
        "a.csv": "-1,0.5,1,2\n1,1e-3,2,NaN\n",
    }.items():
        found = read_series(write(tmp_path, text, name))
        assert found.y.tolist() == [-1, 1]
        assert found.y.dtype == np.int64
        assert [x.tolist() for x in found.X] == [[[0.5, 1, 2]], [[1e-3, 2]]]


def test_packed_files_and_numbers_to_predict(tmp_path):
    path = tmp_path / "toy.ts.gz"
    text = HEAD.format("true").replace("@classLabel true a b", "@targetLabel true")
    path.write_bytes(gzip.compress((text + "1,2:0.5\n3:7\n").encode()))
    assert read_series(path).y.tolist() == [0.5, 7.0]
    assert len(read_series("gunpoint")) == 200


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@problemName Toy\n1,2\n", "no line @data"),
        ("@problemName Toy\n@data\n", "has no series"),
        ("@problemName Toy\n@timeStamps true\n@data\n(0,1),(1,2):a\n", "line 2: .*time stamps"),
        (HEAD.format("true") + "1,x,2:a\n", "line 7: 'x' is not a number"),
        (HEAD.format("true") + "1,2:a\n?,?:b\n", "line 8: the series has no values"),
        (HEAD.format("false") + "1,2:3,4:a\n1:b\n", "line 8: the series has 1 channels"),
        (HEAD.format("false") + "1,2:3:a\n", "line 7: the channels .* different lengths"),
        (HEAD.format("false") + "a\n", "line 7"),
    ],
)
def test_bad_files(tmp_path, text, message):
    with pytest.raises(InvalidInput, match=message):
        read_series(write(tmp_path, text))


def test_tables_of_the_archive_are_told_from_other_tables(tmp_path):
    values = [f"{0.1 * i:.2f}" for i in range(12)]
    rows = ["\t".join([label, *values]) for label in ("1", "2", "1", "-1")]
    table = read_table(write(tmp_path, "\n".join([*rows, ""]), "toy_TRAIN.tsv"))
    assert (table.target_name, [column.kind for column in table.columns]) == ("class", ["series"])
    assert any("UCR archive" in note and ".csv" in note for note in table.notes)
    numbered = ["\t".join([str(i), *values]) for i in range(1, 5)]
    whole = ["\t".join([label, *"123456789"]) for label in "1212"]
    named = ["\t".join(["id", *(f"x{i}" for i in range(12))]), *rows]
    short = ["\t".join(row.split("\t")[:5]) for row in rows]
    for name, lines in {
        "rows.csv": rows, "n.tsv": numbered, "w.tsv": whole, "named.tsv": named, "s.tsv": short,
    }.items():  # fmt: skip
        path = write(tmp_path, "\n".join(lines), name)
        assert read_table(path, target=0).columns[0].kind != "series", name


def test_odd_tables_of_the_archive(tmp_path):
    def kinds(lines, name):
        table = read_table(write(tmp_path, "\n".join(lines), name))
        return [column.kind for column in table.columns]

    counts = ["\t".join([label, *"123456789"]) for label in "1212"]
    assert kinds(counts, "Chinatown_TRAIN.tsv") == ["series"]
    flat = "1" + "\t0" * 12
    bent = ["\t".join([label, *(f"{0.1 * i:.2f}" for i in range(12))]) for label in "1212"]
    assert kinds([flat, *bent], "a.tsv") == ["series"]
    # Lines longer than what is looked at to tell formats apart: it ends inside a number.
    long = ["\t".join([label, *("-1.5e-03" for _ in range(9000))]) for label in "1212"]
    assert kinds(long, "a.tsv") == ["series"]
    for text in ("", " \n\t\n"):
        with pytest.raises(InvalidInput, match="is empty"):
            read_table(write(tmp_path, text, "a_TRAIN.tsv"))


def test_damaged_tables_of_the_archive(tmp_path):
    values = "\t".join(f"{0.1 * i:.2f}" for i in range(12))
    good = [f"{i % 2}\t{values}" for i in range(60)]
    with pytest.raises(InvalidInput, match="line 61: 'wide' is not a number"):
        read_table(write(tmp_path, "\n".join([*good, f"1\t{values}\twide"]), "a.tsv"))
    with pytest.raises(InvalidInput, match="line 61: the series has no values"):
        read_table(write(tmp_path, "\n".join([*good, "1" + "\tNaN" * 12]), "a.tsv"))
