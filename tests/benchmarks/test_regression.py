"""Errors on tables of numbers: ratios, coding, a run that goes on, wrong usage."""

import json

import numpy as np
import pandas as pd
import pytest

from benchmarks.__main__ import main
from benchmarks.regression import one_hot, ratios


def line(table, contender, *errors):
    return {"table": table, "contender": contender, "errors": list(errors)}


def test_ratios_are_geometric_means_over_folds():
    found = ratios(
        [line("a", "mercer", 1.0, 8.0), line("a", "CatBoost", 2.0, 1.0), line("b", "CatBoost", 3.0)]
    )
    assert found.loc["a", "mercer"] == pytest.approx(2.0)
    assert found["CatBoost"].tolist() == [1.0, 1.0]
    assert np.isnan(found.loc["b", "mercer"])


def test_rows_are_numbers_without_gaps():
    X = pd.DataFrame({"n": [1.0, np.nan, 3.0], "t": ["a", "b", None], "empty": [np.nan] * 3})
    E, F = one_hot(X, pd.DataFrame({"n": [7.0], "t": ["new"], "empty": [1.0]}), scaled=False)
    assert E[:, 0].tolist() == [1.0, 2.0, 3.0]
    assert F.tolist() == [[7.0, 0.0, 0.0, 0.0]]
    E, _ = one_hot(X, X, scaled=True)
    assert E[:, 0].mean() == pytest.approx(0.0)


def test_a_run_goes_on_where_it_ended(tmp_path, capsys):
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3))
    rows = np.column_stack([X, X[:, 0] + 0.1 * random.normal(size=60)])
    (tmp_path / "yacht").mkdir()
    np.savetxt(tmp_path / "yacht" / "yacht_hydrodynamics.data.txt", rows)
    output = tmp_path / "lines.jsonl"
    given = [
        "regression", "--data", str(tmp_path), "--tables", "yacht", "--output", str(output),
        "--contenders", "mercer", "histogram boosting",
    ]  # fmt: skip
    output.write_text(json.dumps(line("yacht", "CatBoost", 1.0)) + "\n")
    assert main(given) == 0
    assert main(given) == 0
    kept = [json.loads(text) for text in output.read_text().splitlines()]
    assert [each["contender"] for each in kept] == ["CatBoost", "mercer", "histogram boosting"]
    assert len(kept[1]["errors"]) == 5
    assert np.mean(kept[1]["errors"]) < np.mean(kept[2]["errors"])
    assert "geometric mean" in capsys.readouterr().out


def test_wrong_usage_is_named(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["regression", "--data", str(tmp_path), "--tables", "none", "--output", "x"])
    assert "no table 'none'" in capsys.readouterr().err
