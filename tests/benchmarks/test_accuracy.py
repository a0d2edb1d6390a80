"""The accuracy on small tables: the protocol, the halves, the summary, wrong usage."""

import json

import numpy as np
import pandas as pd
import pytest

from benchmarks.__main__ import main
from benchmarks.accuracy import (
    TableScore,
    average_precision,
    calibration_error,
    probabilities,
    summary,
)


def make_folder(folder):
    random = np.random.default_rng(0)
    size, kind = random.normal(size=60), random.choice(["a", "b"], 60)
    labels = np.where(np.where(kind == "a", size, -size) > 0, "c1", "c0")
    frame = pd.DataFrame({"size": size, "kind": kind, "Class": labels})
    frame.to_csv(folder / "easy.csv.gz", index=False)
    pd.DataFrame({"forest": [0.9], "tree": [0.1]}, index=["easy"]).to_csv(folder / "published.csv")


def test_a_folder_is_scored(tmp_path, capsys):
    make_folder(tmp_path)
    output = tmp_path / "scores.json"
    assert main(["accuracy", "--data", str(tmp_path), "--json", str(output)]) == 0
    (found,) = json.loads(output.read_text())
    assert found["rows"] == 60
    assert found["columns"] == 2
    assert 0.8 < found["score"] < 1.001
    shown = capsys.readouterr().out
    assert "mean rank" in shown
    assert "forest" in shown


def test_summary_and_measure():
    published = pd.DataFrame({"forest": [0.9, 0.5], "tree": [0.1, 0.6]}, index=["a", "b"])
    scores = [TableScore(n, 9, 9, s, 0.5, 0.1, 1.0, 1.0) for n, s in (("a", 0.8), ("b", 0.7))]
    found = summary(scores, published)
    assert list(found.index) == ["mercer", "forest", "tree"]
    assert found.loc["mercer", "mean rank"] == 1.5
    assert found.loc["mercer", "wins"] == 1
    assert found.loc["forest", "beaten by mercer"] == 1
    assert average_precision(np.array([0, 1, 2]), np.eye(3)) == 1
    assert average_precision(np.array([1, 0]), np.array([[0.1, 0.9], [0.9, 0.1]])) == 1


def test_calibration_error_is_its_definition():
    y = np.array([0, 0, 1, 1])
    p = np.array([[0.9, 0.1], [0.95, 0.05], [0.93, 0.07], [0.45, 0.55]])
    # Three answers of 0.9 and more are right twice, one of 0.55 is right.
    assert calibration_error(y, p) == pytest.approx((abs(2.78 - 2) + 0.45) / 4)
    assert calibration_error(y, np.eye(2)[y]) == 0


def test_probabilities_are_compared_on_tables_of_both():
    ours = pd.DataFrame({"name": ["a", "b"], "log_loss": [0.2, 9], "calibration_error": [0.1, 9]})
    other = pd.DataFrame({"name": ["a"], "log_loss": [0.3], "calibration_error": [0.05]})
    found = probabilities(ours, other)
    assert found.loc["log_loss"].tolist() == [0.2, 0.3, 1, 1]
    assert found.loc["calibration_error"].tolist() == [0.1, 0.05, 0, 1]


def test_wrong_usage_is_named(tmp_path, capsys):
    for arguments, message in (([], "no published.csv"), (["--tables", "none"], "no table 'none'")):
        with pytest.raises(SystemExit):
            main(["accuracy", "--data", str(tmp_path), *arguments])
        assert message in capsys.readouterr().err
        make_folder(tmp_path)
