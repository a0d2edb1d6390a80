"""Files as users have them: what the command line makes of columns, and how to overrule it."""

import csv
import io
import json
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given, strategies as st

from mercer import Study, read_table
from mercer.cli.settings import as_options
from tests.cli.command import good, mercer as run


def fitted(*arguments):
    return json.loads(good(run("fit", *arguments, "--json")).out)


@pytest.fixture
def sales():
    """Sales that follow the seasons and the price, written as a person would."""
    rng = np.random.default_rng(0)
    lines = []
    for i in range(240):
        day = date(2018, 1, 1) + timedelta(days=3 * i)
        price = rng.uniform(100, 5000)
        y = 9 * np.sin(2 * np.pi * day.timetuple().tm_yday / 365) + price / 500 + rng.normal()
        wind = "" if i % 9 == 0 else f"{rng.normal():.2f}"
        shop = f"shop {i % 12}"
        lines.append(f'{day.strftime("%b %d %Y")},"${price:,.2f}",{wind},{shop},{y:.2f}\n')
    with open("sales.csv", "w") as file:
        file.write("when,price,wind,shop,sales\n")
        file.writelines(lines)
    return "sales.csv"


def test_dates_and_amounts_are_used(sales):
    found = fitted(sales, "-t", "sales")
    words = " ".join(found["kernel_reasons"])
    assert "when: year, when: month, when: time, price" in words
    assert "when is set aside: its year, month, weekday and time stand for it." in words
    assert found["scores"][0]["value"] > 0.9
    # Neighbours in time are alike: never a green verdict for random test rows.
    assert found["trust"] == "caution"
    assert any("order_by='when'" in doubt for doubt in found["suspicions"])
    rows = list(csv.DictReader(io.StringIO(good(run("predict", "sales.mercer", sales)).out)))
    assert len(rows) == 240
    assert "wind is missing, taken as" in rows[0]["remarks"]


def test_the_latest_rows_are_tested(sales):
    shown = good(run("fit", sales, "-t", "sales", "--order-by", "when", "--out", "later")).out
    assert "The test rows are the latest by when" in " ".join(shown.split())
    assert "--order-by" not in shown
    study = Study.load("later.mercer")
    assert study.train_rows.max() == len(study.train_rows) - 1 == 179
    # What only goes on is not learnt from: no training row has such values.
    assert study.schema.names == ["when: month", "when: weekday", "price", "wind", "shop"]
    assert study.scores[0].value > 0.8


def test_groups_stay_together(sales):
    found = fitted(sales, "-t", "sales", "--group", "shop", "--drop", "when", "--machine", "linear",
                   "--out", "shops")  # fmt: skip
    study = Study.load("shops.mercer")
    trained = set(study.train_rows % 12)
    assert len(trained) == 9
    assert len(study.train_rows) == 9 * 20
    assert study.schema.names == ["price", "wind"]
    assert any("one shop" in note for note in found["notes"])
    assert fitted(sales, "-t", "sales", "--group", "shop", "--drop", "when", "--machine", "linear",
                  "--test-share", 0, "--cv", 4)["test_rows"] == 0  # fmt: skip


def test_columns_can_be_overruled(tmp_path):
    ages = ["unknown" if i == 3 else 20 + i % 30 for i in range(80)]
    text = "zip;age;tag;größe;y\n" + "".join(
        f"{(i % 4) * 1000 + 1000};{age};x{i % 3};{i % 7},5;{'ab'[i % 2]}\n"
        for i, age in enumerate(ages)
    )
    (tmp_path / "odd.csv").write_bytes(text.encode("latin-1"))
    refused = run("fit", "odd.csv")
    assert refused.code == 2
    assert "--encoding latin-1" in refused.err
    refused = run("fit", "odd.csv", "--encoding", "latin-1")
    assert "--missing unknown" in refused.err
    assert "--kind age=category" in refused.err
    fitted("odd.csv", "--encoding", "latin-1", "--missing", "unknown", "--kind", "zip=category",
           "--drop", "tag", "--delimiter", "semicolon", "--machine", "svc", "--cv", 2)  # fmt: skip
    study = Study.load("odd.mercer")
    assert study.schema.kinds == {"zip": "category", "age": "number", "größe": "number"}
    asked = ("odd.mercer", "odd.csv", "--encoding", "latin-1", "--delimiter", "semicolon")
    assert good(run("certify", *asked)).out.startswith("The certificate holds")
    shares = list(csv.DictReader(io.StringIO(good(run("explain", *asked)).out)))
    assert len(shares) == 80
    # New rows are read as training rows were: the marker of missing values is remembered.
    (tmp_path / "new.csv").write_text(
        "zip;age;größe\n1000;unknown;1,5\n9000;99;2\n", encoding="utf-8"
    )
    rows = list(csv.DictReader(io.StringIO(good(run("predict", "odd.mercer", "new.csv")).out)))
    assert "age is missing, taken as" in rows[0]["remarks"]
    assert "zip '9000' was not seen in training" in rows[1]["remarks"]
    assert "age 99 is above 49, the most in training" in rows[1]["remarks"]


def test_few_rows_learn_from_all_of_them(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=60) > 0, "up", "down")
    lines = "".join(
        ",".join(f"{v:.3f}" for v in row) + f",{label}\n" for row, label in zip(X, y, strict=True)
    )
    (tmp_path / "few.csv").write_text("a,b,c,y\n" + lines)
    result = good(run("fit", "few.csv", "--test-share", 0, "--cv", 3))
    assert result.out.startswith("few.csv: 60 rows, all to learn from, judged by 3 folds\n")
    assert "on rows that were left out (95 % interval" in " ".join(result.out.split())
    study = Study.load("few.mercer")
    assert len(study.train_rows) == 60
    record = study.record
    assert record.folds == 3
    assert "each by a model that was made without it, 3 folds" in record.headline
    assert int(record.confusion.counts.sum()) == 60
    assert {r.name for r in record.references} == {"logistic regression", "random forest"}
    accuracy = next(s for s in record.scores if s.name == "Accuracy")
    # Wilson's interval of 60 rows, and no better than the training rows themselves.
    assert 0.05 < accuracy.high - accuracy.low < 0.3
    trained = (study.predict("few.csv") == y).mean()
    assert accuracy.value <= trained + 1e-9
    assert "by cross-validation: each row" in (tmp_path / "few.html").read_text(encoding="utf-8")
    assert good(run("certify", "few.mercer", "few.csv")).out.startswith("The certificate holds")


def test_a_model_of_another_target_is_not_replaced(tmp_path):
    lines = "".join(f"{i % 13},{i % 7},{'ab'[i % 2]}\n" for i in range(60))
    (tmp_path / "a.csv").write_text("p,q,y\n" + lines)
    fitted("a.csv", "-t", "y", "--machine", "linear", "--cv", 2)
    fitted("a.csv", "-t", "y", "--machine", "linear", "--cv", 2)  # its own model it may replace
    refused = run("fit", "a.csv", "-t", "p", "--machine", "linear")
    assert refused.code == 2
    assert refused.out == ""
    assert "predicts 'y', not 'p'" in refused.err
    assert Study.load("a.mercer").target == "y"
    fitted("a.csv", "-t", "p", "--task", "number", "--machine", "kernelridge", "--force", "--cv", 2)
    assert Study.load("a.mercer").target == "p"


def test_answers_beside_the_input(heart):
    model = heart[0] / "heart.mercer"
    good(run("predict", model, "heart", "--beside", "--out", "both.csv"))
    with open("both.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["age"] == "70"
    assert rows[0]["diagnosis"] == "disease"
    assert list(rows[0])[-5:] == [
        "prediction", "probability_disease", "probability_healthy", "set", "remarks",
    ]  # fmt: skip
    plain = list(csv.DictReader(io.StringIO(good(run("predict", model, "heart")).out)))
    assert [r["prediction"] for r in plain] == [r["prediction"] for r in rows]
    # Answers to the answers replace the old ones.
    again = list(
        csv.DictReader(io.StringIO(good(run("predict", model, "both.csv", "--beside")).out))
    )
    assert again == rows


def test_rows_unlike_training(heart):
    study = Study.load(heart[0] / "heart.mercer")
    frame = read_table("heart", target=False).frame.to_pandas()
    assert sum(map(bool, study.remarks(frame))) < 10
    far = frame.head(2).assign(age=[70.0, 500.0])
    remarks = study.remarks(far)
    assert remarks[0] == ""
    assert "age 500 is above" in remarks[1]
    assert "unlike the training rows" in remarks[1]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("say so (missing=['n a']).", "say so (--missing 'n a')."),
        ("kinds={'a b': 'category'}", "--kind 'a b=category'"),
        ("drop=['x']", "--drop x"),
        ("test_share=0 learns", "--test-share 0 learns"),
        ("random_state=-1 has", "--seed -1 has"),
        ("their separator as delimiter=.", "their separator as --delimiter."),
        ("order_by='when'", "--order-by when"),
        ("test by it (order_by or group)", "test by it (--order-by or --group)"),
    ],
)
def test_settings_as_options(message, words):
    assert as_options(message) == words


@given(st.text())
def test_other_texts_stay_as_they_are(text):
    assert "=" in text or ":" in text or as_options(text) == text


def test_what_errors_cost():
    """The answer is the class of the greatest cost times probability."""
    fitted("heart", "--cost", "disease=4", "--positive", "disease", "--out", "dear")
    study = Study.load("dear.mercer")
    P = study.predict_proba("heart")
    said = np.where(4 * P[:, 0] > P[:, 1], "disease", "healthy")
    assert (study.predict("heart") == said).all()
    assert (said != np.where(P[:, 0] > P[:, 1], "disease", "healthy")).any()
    assert any("To miss a row costs 4 for 'disease', 1 for 'healthy'" in n for n in study.notes)
    curves = study.record.curves
    assert (curves.positive, curves.other) == ("disease", "healthy")
    by_name = {score.name: score.value for score in study.scores}
    assert curves.at_found == pytest.approx(by_name["Sensitivity"])
    assert 1 - curves.at_alarms == pytest.approx(by_name["Specificity"])
    assert curves.auc == pytest.approx(by_name["AUC"])
    with open("dear.html", encoding="utf-8") as page:
        text = page.read()
    assert "The positive class is <b><bdi>disease</bdi></b>" in text
    assert "ROC curve: area" in text


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        (["heart", "--cost", "disease"], "--cost 'disease' has to name a class and a number"),
        (["heart", "--cost", "ill=3"], "--cost: there is no class 'ill'. There are 'disease'"),
        (["heart", "--cost", "disease=-1"], "--cost: -1.0 for 'disease' has to be a number > 0"),
        (["diabetes", "--cost", "a=2"], "--cost: errors have costs where classes"),
    ],
)
def test_costs_that_are_none(arguments, cause):
    result = run("fit", *arguments)
    assert (result.code, result.out) == (2, "")
    assert cause in result.err


def test_many_rows_that_fall_to_a_linear_machine_say_so(monkeypatch):
    monkeypatch.setattr("mercer.study.machines.CONTEST_ROWS", 100)
    shown = " ".join(good(run("fit", "diabetes")).out.split())
    assert "442 rows of numbers are more than 100" in shown
    assert "--machine auto takes longer and may do better" in shown
