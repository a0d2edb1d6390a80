"""What can be done with a model file: predictions, its report, its proof."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

import mercer
from mercer import Study
from mercer.cli.files import as_cell, from_cell
from mercer.data import table_path
from tests.cli.command import good, mercer as run


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def model(heart):
    return heart[0] / "heart.mercer"


def new_rows(count=7, **changes):
    """Write some rows of the heart data without their diagnosis; return the file's name."""
    header, *lines = table_path("heart").read_text().splitlines()
    names = header.split(",")
    rows = [dict(zip(names, line.split(","), strict=True)) for line in lines[:count]]
    for row in rows:
        del row["diagnosis"]
        row.update(changes)
    with open("new.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return "new.csv"


def test_predictions_are_those_of_the_model(model):
    rows = rows_of(good(run("predict", model, "heart")).out)
    study = Study.load(model)
    X = study.schema.align(mercer.read_table("heart"))
    assert [row["row"] for row in rows] == [str(i) for i in range(1, 271)]
    assert [row["prediction"] for row in rows] == list(mercer.load(model).predict(X))
    P = np.array([[float(r["probability_disease"]), float(r["probability_healthy"])] for r in rows])
    assert np.array_equal(P, mercer.load(model).predict_proba(X))


def test_new_rows_need_no_target_and_may_lack_values(model):
    name = new_rows(thal="never seen", ecg="", age="", colour="green")
    rows = rows_of(good(run("predict", model, name)).out)
    assert len(rows) == 7
    assert {row["prediction"] for row in rows} <= {"disease", "healthy"}


def test_every_format_says_the_same(model):
    name = new_rows()
    printed = rows_of(good(run("predict", model, name)).out)
    for out in ("p.csv", "p.parquet", "p.jsonl"):
        assert good(run("predict", model, name, "-o", out)).out == ""
    with open("p.csv", newline="") as file:
        assert list(csv.DictReader(file)) == printed
    with open("p.jsonl") as file:
        lines = [json.loads(line) for line in file]
    assert lines == pyarrow.parquet.read_table("p.parquet").to_pylist()
    assert [{k: str(v) for k, v in line.items()} for line in lines] == printed


def test_an_identifier_travels_with_its_row():
    header, *lines = table_path("penguins").read_text().splitlines()
    with open("birds.csv", "w") as file:
        file.write("\n".join([f"bird,{header}", *(f"b-{i}x,{r}" for i, r in enumerate(lines))]))
    found = json.loads(good(run("fit", "birds.csv", "-t", "species", "--json")).out)
    assert "bird" not in found["kernel"]
    assert any("bird is set aside" in reason for reason in found["kernel_reasons"])
    with open("two.csv", "w") as file:
        file.write("\n".join([f"bird,{header}", f"x7,{lines[0]}", f"x9,{lines[-1]}"]))
    rows = rows_of(good(run("predict", "birds.mercer", "two.csv")).out)
    assert [row["bird"] for row in rows] == ["x7", "x9"]
    assert "row" not in rows[0]


def test_numbers_have_predictions_and_intervals():
    good(run("fit", "diabetes", "--quiet"))
    rows = rows_of(good(run("predict", "diabetes.mercer", "diabetes")).out)
    assert list(rows[0]) == ["row", "prediction", "low", "high", "remarks"]
    given = Study.load("diabetes.mercer").predict("diabetes")
    assert [float(row["prediction"]) for row in rows] == given.tolist()
    wider = rows_of(good(run("predict", "diabetes.mercer", "diabetes", "--level", "0.95")).out)
    assert all(
        float(w["low"]) < float(r["low"]) < float(r["prediction"]) < float(r["high"])
        for r, w in zip(rows, wider, strict=True)
    )


def test_classes_have_a_set_at_the_level_that_is_asked_for(model):
    rows = rows_of(good(run("predict", model, "heart", "--level", "0.95")).out)
    sets = [set(row["set"].split(" | ")) for row in rows]
    assert all(s <= {"disease", "healthy"} for s in sets)
    assert all(row["prediction"] in s for row, s in zip(rows, sets, strict=True))
    assert any(len(s) == 2 for s in sets)


@pytest.mark.parametrize(("level", "words"), [("1", "between 0 and 1"), ("0.999", "at least 999")])
def test_levels_that_cannot_be_promised_are_refused(model, level, words):
    result = run("predict", model, "heart", "--level", level)
    assert result.code == 2
    assert words in result.err


def test_decision_values_where_there_are_no_probabilities():
    good(run("fit", table_path("heart").with_name("heart_scale.txt"), "-m", "linear", "-o", "lin"))
    rows = rows_of(
        good(run("predict", "lin.mercer", table_path("heart").with_name("heart_scale.txt"))).out
    )
    assert rows[0].keys() == {"row", "prediction", "decision_1", "set", "remarks"}
    assert all((float(r["decision_1"]) > 0) == (r["prediction"] == "1") for r in rows)


def test_files_of_others_are_not_overwritten(model, tmp_path):
    name = new_rows()
    (tmp_path / "list.csv").write_text("milk,eggs\n")
    result = run("predict", model, name, "-o", "list.csv")
    assert result.code == 2
    assert (tmp_path / "list.csv").read_text() == "milk,eggs\n"
    good(run("predict", model, name, "-o", "list.csv", "--force"))
    good(run("predict", model, name, "-o", "list.csv"))  # by now it is one of ours
    before = (tmp_path / name).read_text()
    assert run("predict", model, name, "-o", name, "--force").code == 2
    assert (tmp_path / name).read_text() == before


def test_report_is_the_page_that_fit_wrote(model, heart):
    page = (heart[0] / "heart.html").read_text(encoding="utf-8")
    result = good(run("report", model, "-o", "again.html"))
    assert result.out.split() == ["report", "again.html"]
    with open("again.html", encoding="utf-8") as file:
        assert file.read() == page


# ---- proof -------------------------------------------------------------------------------------


def test_certify_confirms(model):
    result = good(run("certify", model, "heart"))
    assert result.out.startswith("The certificate holds")
    found = json.loads(good(run("certify", model, "heart", "--json")).out)
    claimed = Study.load(model).certificate
    assert found["holds"] is True
    assert found["certificate"]["primal"] == pytest.approx(claimed.primal, rel=1e-9)


@pytest.mark.parametrize("data", ["penguins", "diabetes"])
def test_certify_of_other_tasks(data):
    good(run("fit", data, "--quiet"))
    good(run("certify", f"{data}.mercer", data))


def test_certify_does_not_confirm_on_other_answers(model):
    text = table_path("heart").read_text()
    with open("turned.csv", "w") as file:
        file.write(
            text.replace("disease", "?").replace("healthy", "disease").replace("?", "healthy")
        )
    result = run("certify", model, "turned.csv")
    assert result.code == 1
    assert result.out.startswith("The certificate does not hold")
    assert json.loads(run("certify", model, "turned.csv", "--json").out)["holds"] is False


def test_certify_does_not_confirm_on_other_measurements(model):
    header, *lines = table_path("heart").read_text().splitlines()
    moved = [lines[(i + 1) % len(lines)].rsplit(",", 1)[0] for i in range(len(lines))]
    answers = [line.rsplit(",", 1)[1] for line in lines]
    with open("moved.csv", "w") as file:
        file.write("\n".join([header, *map(",".join, zip(moved, answers, strict=True))]))
    assert run("certify", model, "moved.csv").code == 1


def test_certify_wants_the_same_rows(model):
    with open("fewer.csv", "w") as file:
        file.writelines(table_path("heart").read_text().splitlines(keepends=True)[:100])
    result = run("certify", model, "fewer.csv")
    assert result.code == 2
    assert "270" in result.err


def test_shares_of_columns_add_up_to_the_decision(model):
    name = new_rows()
    rows = rows_of(good(run("explain", model, name)).out)
    study = Study.load(model)
    wanted = study.model.decision_function(
        study.schema.align(mercer.read_table(name, False, like=study.schema))
    )
    names = [key for key in rows[0] if key.startswith("share_")]
    assert {"share_age", "share_thal"} <= set(names)
    totals = [float(row["base"]) + sum(float(row[key]) for key in names) for row in rows]
    assert np.allclose(totals, wanted, rtol=0, atol=1e-10)
    assert [row["prediction"] for row in rows] == list(study.predict(name))


def test_shares_of_rows_with_missing_values_add_up_too(model):
    name = new_rows(age="", ecg="")
    rows = rows_of(good(run("explain", model, name, "-o", "-")).out)
    study = Study.load(model)
    wanted = study.model.decision_function(
        study.schema.align(mercer.read_table(name, False, like=study.schema))
    )
    totals = [sum(float(v) for k, v in row.items() if k[:5] in ("base", "share")) for row in rows]
    assert np.allclose(totals, wanted, rtol=0, atol=1e-10)


def test_shares_of_letters_add_up_to_the_decision(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    lines = ["word,age,label"]
    for i in range(60):
        word = "".join(random.choice(list("ACGT"), size=random.integers(18, 30)))
        lines.append(f"{word + 'GATT' * (i % 2)},{random.normal():.3f},{'ny'[i % 2]}")
    Path("words.csv").write_text("\n".join(lines))
    kernel = "rbf(age) + spectrum(k=4).normalized().on(word)"  # of a product places have no share
    fitted = run("fit", "words.csv", "--target", "label", "--kernel", kernel, "--time-limit", "3")
    assert fitted.code == 0, fitted.err  # that the time was up is no error
    Path("new.csv").write_text("word,age\nACGTGATT,0.5\nGATTACA,-1\n")
    rows = rows_of(good(run("explain", "words.mercer", "new.csv", "--within")).out)
    assert "".join(row["what"] for row in rows) == "ACGTGATTGATTACA"
    assert [row["place"] for row in rows[8:]] == list("1234567")
    study = Study.load("words.mercer")
    table = mercer.read_table("new.csv", False, like=study.schema)
    wanted = study.model.decision_function(study.schema.align(table))
    for name, value in zip("12", wanted, strict=True):
        own = [row for row in rows if row["row"] == name]
        total = float(own[0]["base"]) + sum(float(row["share"]) for row in own)
        assert abs(total - value) < 1e-10


NASTY = (
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "'=1",
    "''+a",
    "'quoted'",
    "plain",
)


def test_a_class_is_no_formula_to_a_spreadsheet():
    """Every label that begins as a formula is quoted, and comes back as it was."""
    for label in NASTY:
        cell = as_cell(label)
        assert not str(cell).startswith(("=", "+", "-", "@", "\t", "\r")), label
        assert from_cell(cell) == label
    for number in ("-1", "+1", "-1e5", -1.5, "1"):
        assert as_cell(number) == number


def test_predictions_of_formulas(tmp_path):
    lines = [f"{i % 2 + 0.01 * i},{i % 3},{NASTY[i % 2]}" for i in range(40)]
    (tmp_path / "cells.csv").write_text("\n".join(["a,b,class", *lines, ""]), encoding="utf-8")
    assert run("fit", "cells.csv", "--machine", "logistic").code == 0
    for _ in range(2):  # the second time it knows the file as its own
        good(run("predict", "cells.mercer", "cells.csv", "-o", "answers.csv"))
    with open("answers.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {from_cell(row["prediction"]) for row in rows} == set(NASTY[:2])
    assert {row["prediction"][0] for row in rows} == {"'"}
