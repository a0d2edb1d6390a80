"""New coordinates on the command line, and machines without a certificate."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine

from tests.cli.command import good, mercer as run


@pytest.fixture
def wine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = load_wine(as_frame=True).frame.iloc[::2, [0, 3, 6, 9, 12, 13]]
    frame["target"] = frame.target.map({0: "red", 1: "white", 2: "rose"})
    frame.to_csv("wine.csv", index=False)
    return frame


def test_transform_to_a_file(wine):
    result = good(
        run("transform", "wine.csv", "-n", 2, "-t", "target", "-o", "out.csv", "--beside")
    )
    assert "component_1" in result.out
    assert "out.html" in result.out
    with open("out.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(wine)
    assert list(rows[0])[-2:] == ["component_1", "component_2"]
    scores = np.array([[float(row[f"component_{j}"]) for j in (1, 2)] for row in rows])
    assert abs(np.corrcoef(scores.T)[0, 1]) < 1e-10
    page = Path("out.html").read_text(encoding="utf-8")
    assert "principal components" in page.lower()
    assert "rose" in page


def test_transform_to_the_terminal(wine):
    result = run("transform", "wine.csv", "--method", "ica", "--drop", "target")
    assert result.code == 0
    assert result.out.splitlines()[0] == "row,source_1,source_2"
    assert len(result.out.splitlines()) == len(wine) + 1
    assert "independent components of 5 columns" in result.err
    assert good(run("transform", "wine.csv", "-q")).out.startswith("row,component_1")


def test_a_page_of_somebody_else_is_not_overwritten(wine):
    Path("out.html").write_text("mine")
    result = run("transform", "wine.csv", "-o", "out.csv")
    assert result.code == 2
    assert "--force" in result.err
    assert run("transform", "wine.csv", "--method", "umap").code == 2


@pytest.mark.parametrize(("machine", "why"), [("lda", "in closed form"), ("mlp", "many minima")])
def test_machines_without_a_certificate_say_so(wine, machine, why):
    result = good(run("fit", "wine.csv", "-t", "target", "--machine", machine, "--json", "-o", "m"))
    found = json.loads(result.out)
    assert found["certificate"] is None
    assert why in found["unproven"]
    assert any(why in note for note in found["notes"])
    assert found["scores"][0]["value"] > 0.8
    assert why in Path("m.html").read_text(encoding="utf-8")
    refused = run("certify", "m.mercer", "wine.csv")
    assert refused.code == 2
    assert why in refused.err
    answers = run("predict", "m.mercer", "wine.csv")
    assert answers.code == 0
    assert len(answers.out.splitlines()) == len(wine) + 1
