"""The command line on series: the example, ``.ts`` files and tables of the UCR archive."""

import csv
import io
import json

import numpy as np
import pytest

import mercer
from mercer import Study, read_series
from tests.cli.command import good, mercer as run


def predictions(*arguments):
    return list(csv.DictReader(io.StringIO(good(run("predict", *arguments)).out)))


def write_ts(name, X, y):
    lines = [
        "@problemName toy",
        "@timeStamps false",
        "@univariate true",
        "@classLabel true",
        "@data",
    ]
    lines += [f"{','.join(map(str, x))}:{label}" for x, label in zip(X, y, strict=True)]
    with open(name, "w") as file:
        file.write("\n".join(lines))


def test_gunpoint_from_fit_to_proof():
    found = json.loads(good(run("fit", "gunpoint", "--json")).out)
    assert found["classes"] == ["gun", "point"]
    assert found["kernel"].startswith("global_alignment(")
    assert found["scores"][0]["value"] >= 0.94  # all 50 were right
    hands = read_series("gunpoint")
    model = mercer.load("gunpoint.mercer")
    rows = predictions("gunpoint.mercer", "gunpoint")
    X = Study.load("gunpoint.mercer").schema.align(mercer.read_table("gunpoint"))
    assert [row["prediction"] for row in rows] == list(model.predict(X))
    right = [row["prediction"] == label for row, label in zip(rows, hands.y, strict=True)]
    assert np.mean(right) > 0.9
    # New series in a file of their own, one of them shorter than any before.
    write_ts("new.ts", [hands.X[0][0], hands.X[1][0][:100]], ["gun", "point"])
    assert len(predictions("gunpoint.mercer", "new.ts")) == 2
    good(run("certify", "gunpoint.mercer", "gunpoint"))
    good(run("report", "gunpoint.mercer", "-o", "again.html"))
    with open("again.html", encoding="utf-8") as file:
        assert "GlobalAlignment(sigma=" in file.read()


def write_tsv(name, X, y):
    with open(name, "w") as file:
        for x, label in zip(X, y, strict=True):
            file.write("\t".join([label, *map(str, x)]) + "\n")


@pytest.mark.parametrize(("suffix", "write"), [(".tsv", write_tsv), (".ts", write_ts)])
def test_files_from_fit_to_proof(suffix, write):
    hands = read_series("gunpoint")
    X, y = [x[0, ::3] for x in hands.X], ["1" if label == "gun" else "2" for label in hands.y]
    train, test = f"hands_TRAIN{suffix}", f"hands_TEST{suffix}"
    write(train, X[:50], y[:50])
    write(test, X[50:], y[50:])
    found = json.loads(good(run("fit", train, "--json")).out)
    assert [str(label) for label in found["classes"]] == ["1", "2"]
    assert any("UCR archive" in note for note in found["notes"]) == (suffix == ".tsv")
    rows = predictions("hands_TRAIN.mercer", test)
    right = [row["prediction"] == label for row, label in zip(rows, y[50:], strict=True)]
    assert np.mean(right) > 0.8
    good(run("certify", "hands_TRAIN.mercer", train))
    good(run("report", "hands_TRAIN.mercer", "-o", "again.html"))
    # Another set of series is not what the model learnt from.
    refused(run("certify", "hands_TRAIN.mercer", test))


def refused(result, message=""):
    """Check that a command fails with one line that says why."""
    assert result.code != 0
    assert message in result.err
    assert result.err.count("\n") == 1
    assert not result.out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@problemName toy\n1,2\n", "@data"),
        ("@problemName toy\n@classLabel true a b\n@data\n1,x:a\n", "line 4"),
        ("@problemName toy\n@classLabel true a b\n@data\n1,2:a\n3:4:b\n", "line 5"),
        ("@problemName toy\n@data\n1,2\n3,4\n", "target"),
    ],
)
def test_bad_files_are_refused_in_one_line(text, message):
    with open("bad.ts", "w") as file:
        file.write(text)
    refused(run("fit", "bad.ts"), message)


def test_bad_tables_of_the_archive_are_refused_in_one_line():
    X = [[0.1 * i for i in range(12)]] * 60
    for last, message in (([*X[0], "wide"], "line 61: 'wide'"), (["NaN"] * 9, "line 61")):
        write_tsv("bad.tsv", [*X, last], [*"12" * 30, "1"])
        refused(run("fit", "bad.tsv"), message)
    refused(run("fit", "nowhere_TRAIN.tsv"), "nowhere_TRAIN.tsv")
