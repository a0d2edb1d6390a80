"""Comparisons with what else people use: libraries of boosting, rare classes, guessing."""

import json

import numpy as np
import pandas as pd
import pytest

from mercer import Delta, Laplacian, Study, compare
from mercer.study import comparison
from mercer.study.others import METHODS
from tests.cli.command import good, mercer as run

BOOSTED = [method for method in METHODS if method.library != "scikit-learn"]


def odd(n=90, seed=0):
    """Names that LightGBM and XGBoost refuse, categories, gaps, labels with blanks and quotes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    colour = rng.choice(["red", "say [hi]", '{"json": 1}'], n)
    frame = pd.DataFrame(X, columns=["a[b]", "<x>", '{"k": 1}', "x,y z"])
    frame["colour"] = np.where(rng.random(n) < 0.1, None, colour)
    level = np.nan_to_num(X[:, 0]) + (colour == "red") + 0.3 * rng.normal(size=n)
    names = np.array(["no: never", 'a "perhaps"', "yes, sure"])
    frame["two words"] = names[np.digitize(level, [0.0, 0.9])]
    return frame, level


@pytest.mark.parametrize("method", BOOSTED, ids=lambda method: method.name)
@pytest.mark.parametrize("task", ["two classes", "many classes", "number"])
def test_boosting_by_others(method, task, monkeypatch, tmp_path, capfd):
    pytest.importorskip(method.library)
    monkeypatch.setattr(comparison, "METHODS", (method,))
    monkeypatch.chdir(tmp_path)  # CatBoost writes a folder where it may
    frame, level = odd()
    if task == "number":
        frame["two words"] = level
    elif task == "two classes":
        frame["two words"] = np.where(level > 0.5, "yes, sure", "no: never")
    frame.to_csv("odd.csv", index=False)
    arguments = ("odd.csv", "-t", "two words", "-m", "auto", "--others", "--cv", 2)
    result = good(run("compare", *arguments, "--time-limit", 60, "--json"))
    found = json.loads(result.out)
    assert found["task"] == task
    other = {c["machine"]: c for c in found["contenders"]}
    assert set(other) == {"auto", method.name, "baseline"}
    assert other[method.name]["score"]["value"] > other["baseline"]["score"]["value"] + 0.1
    # Nothing is said and nothing is left behind, whatever the library does by itself.
    assert capfd.readouterr() == ("", "")
    assert [path.name for path in tmp_path.iterdir()] == ["odd.csv"]


def test_weights_of_each_fold_are_no_note():
    frame = odd()[0]
    kernel = 0.5 * Laplacian("median").on("a[b]", "<x>") + 0.5 * Delta().on("colour")
    found = compare(frame.dropna(), "two words", kernels=[kernel], machines=["svc"], cv=2)
    assert not any("parts of the kernel" in note for note in found.notes)


def test_a_class_that_one_fold_does_not_learn():
    """The only row of a third class is in one fold: there the model knows two classes."""
    frame = odd()[0].drop(columns="colour")
    frame["two words"] = np.where(frame["a[b]"].fillna(0) > 0, "u", "v")
    frame.loc[5, "two words"] = "w"
    found = compare(frame, "two words", machines=["auto"], others=True, cv=3)
    assert not {"auto", "linear model", "random forest"} - {c.machine for c in found.contenders}
    assert all(np.isfinite(c.score.value) for c in found.contenders)
    study = Study.fit(frame, "two words", test_share=0, cv=3, score="accuracy")
    assert study.record.references[0].value > 0.8
    assert study.scores[0].value > 0.8


def test_one_row_of_a_class():
    """Weights of columns are learnt from some rows, of which none may be of the rare class."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(60, 3)).round(2), columns=list("abc"))
    frame["y"] = np.where(np.arange(60) == 7, "rare", "usual")
    study = Study.fit(frame, "y")
    assert study.record.trust == "no"  # few test rows are enough to see that all are wrong
    assert study.scores[0].high < study.scores[0].baseline


def test_what_is_no_better_than_guessing_is_not_called_good():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=80), "y": rng.choice(["u", "v"], 80)})
    found = compare(frame, "y", machines=["auto"], others=True, cv=3)
    assert found.conclusion.startswith("Not shown to be better than guessing: Accuracy")
