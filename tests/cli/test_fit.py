"""``mercer fit`` on real data of every kind, and what it leaves behind."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest

import mercer
from mercer import Study
from mercer.cli.fit import _verdict
from mercer.data import table_path
from mercer.report.record import MeasuredScore, Reference
from mercer.study.references import SAMPLED
from tests.cli.command import good, mercer as run


def fitted(*arguments):
    return json.loads(good(run("fit", *arguments, "--json")).out)


def test_the_first_command_of_the_readme(heart):
    folder, result = heart
    good(result)
    lines = result.out.splitlines()
    assert lines[0] == "heart: 270 rows, 202 to learn from, 68 to test"
    assert lines[-1].split() == ["report", "heart.html"]
    assert lines[-2].split() == ["model", "heart.mercer"]
    assert {path.name for path in folder.iterdir()} == {"heart.mercer", "heart.html"}
    assert "<title>heart" in (folder / "heart.html").read_text(encoding="utf-8")
    facts = dict(re.findall(r"^  (\w+) {2,}(.*)$", result.out, re.MULTILINE))
    for name in (
        "task", "machine", "kernel", "accuracy", "baseline", "references", "verdict", "certificate",
    ):  # fmt: skip
        assert facts[name]
    assert "two classes (disease, healthy)" in facts["task"]
    assert "proven to be within" in facts["certificate"]
    assert re.search(r"usual methods: .*random forest \d", facts["references"])
    assert "proven" not in facts["verdict"]


def test_output_for_a_pipe_is_plain_and_narrow(heart):
    _, result = heart
    assert "\x1b" not in result.out
    assert max(map(len, result.out.splitlines())) <= 80
    assert all(line == line.rstrip() for line in result.out.splitlines())


def test_the_same_seed_gives_the_same_study(heart):
    folder, _ = heart
    first = Study.load(folder / "heart.mercer")
    found = fitted("heart", "--seed", 0)
    # To rounding: BLAS sums in another order with another number of threads.
    assert [s["value"] for s in found["scores"]] == pytest.approx([s.value for s in first.scores])
    assert found["kernel"] == first.kernel
    other = fitted("heart", "--seed", 1)
    assert other["scores"] != found["scores"]


@pytest.mark.parametrize("machine", ["auto", "svc"])
def test_json_has_the_promised_form(machine):
    found = fitted("penguins", "--out", "birds", "--machine", machine)
    kinds = {
        "version": int, "data": str, "rows": int, "train_rows": int, "test_rows": int,
        "target": str, "task": str, "classes": list, "machine": str, "machine_reason": str,
        "kernel": str, "kernel_reasons": list, "parameters": dict, "search": dict, "scores": list,
        "baseline": str, "references": list, "suspicions": list, "trust": str,
        "verdict": str, "certificate": dict, "unproven": type(None), "stopped": str, "notes": list,
        "seed": int, "seconds": float, "files": dict,
    }  # fmt: skip
    assert {name: type(value) for name, value in found.items()} == kinds
    assert found["rows"] == found["train_rows"] + found["test_rows"] == 344
    assert found["classes"] == ["Adelie", "Chinstrap", "Gentoo"]
    assert found["files"] == {"model": "birds.mercer", "report": "birds.html"}
    assert set(found["search"]) == {"candidates", "dropped", "skipped", "folds", "best_score"}
    for score in found["scores"]:
        assert {"name", "value", "low", "high", "baseline"} <= set(score)
        assert score["low"] <= score["value"] <= score["high"]
    assert {r["name"] for r in found["references"]} == {"logistic regression", "random forest"}
    for reference in found["references"]:
        assert reference["low"] <= reference["difference"] <= reference["high"]
    proof = found["certificate"]
    # Ridge machines are solved so well that their gap is rounding, which has a sign.
    assert proof["gap"] + (proof["rounding"] if machine == "auto" else 0) >= 0
    assert proof["relative_gap"] < (1e-9 if machine == "auto" else 0.01)
    assert mercer.parse_kernel(found["kernel"]) is not None
    # Missing numbers and categories are filled in, and that is said.
    assert sum("missing" in note for note in found["notes"]) == 5


@pytest.mark.parametrize(("asked", "machine"), [((), "auto"), (("--machine", "svr"), "svr")])
def test_a_number_to_predict(asked, machine):
    found = fitted("diabetes", *asked)
    assert found["task"] == "number"
    assert found["machine"] == machine
    assert found["classes"] == []
    score = found["scores"][0]
    assert score["name"] == "R²"
    assert score["value"] > 0.3 > score["baseline"]


@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_the_unit_of_the_target_does_not_matter(factor):
    header, *lines = table_path("diabetes").read_text().splitlines()
    cells = [line.split(",") for line in lines[:150]]
    scaled = [",".join([*c[:-1], repr(float(c[-1]) * factor)]) for c in cells]
    with open("plain.csv", "w") as file:
        file.write("\n".join([header, *lines[:150]]))
    with open("scaled.csv", "w") as file:
        file.write("\n".join([header, *scaled]))
    plain = fitted("plain.csv", "--machine", "nusvr")["scores"][0]
    far = fitted("scaled.csv", "--machine", "nusvr")["scores"][0]
    assert far["value"] == pytest.approx(plain["value"], abs=1e-3)


def test_text():
    table = mercer.read_table("reviews").take(np.arange(240))
    with open("some.jsonl", "w") as file:
        for text, label in zip(table.frame["text"].to_pylist(), table.target, strict=True):
            file.write(json.dumps({"text": text, "label": str(label)}) + "\n")
    found = fitted("some.jsonl", "--target", "label")
    assert found["kernel"] == "bag_of_words().normalized().on(text)"
    assert found["parameters"].keys() == {"C"}


def test_libsvm():
    found = fitted(table_path("heart").with_name("heart_scale.txt"), "--out", "sparse")
    assert found["classes"] == [-1, 1]
    assert found["scores"][0]["value"] > 0.7


def test_options_do_what_they_say():
    found = fitted(
        "heart", "--target", "sex", "--kernel", "rbf(age, gamma=0.5) + delta(thal)",
        "--machine", "nusvc", "--test-share", 0.5, "--cv", 3,
    )  # fmt: skip
    assert found["target"] == "sex"
    assert found["machine"] == "nusvc"
    assert found["test_rows"] == pytest.approx(135, abs=1)
    assert found["search"]["folds"] == 3
    assert found["kernel"] == "rbf(age, gamma=0.5) + delta(thal)"  # a width that is given stays
    assert found["parameters"].keys() == {"nu"}


def test_a_width_that_is_not_given_is_tuned():
    found = fitted("heart", "--kernel", "rbf(age, cholesterol)")
    assert found["parameters"].keys() == {"C", "kernel__kernel__gamma"}
    assert re.fullmatch(r"rbf\(age, cholesterol, gamma=[\d.e-]+\)", found["kernel"])


def test_the_linear_machine():
    found = fitted("diabetes", "--machine", "linear")
    assert found["machine"] == "linear"
    assert found["kernel"] == "linear()"
    assert found["scores"][0]["value"] > 0.3


def test_logistic_regression_with_and_without_a_kernel(tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 2))
    rows = [f"{a:.4f},{b:.4f},{'yes' if a + b > 0 else 'no'}" for a, b in X]
    (tmp_path / "sums.csv").write_text("\n".join(["a,b,class", *rows]))
    for machine in ("logistic", "klr"):
        found = fitted(tmp_path / "sums.csv", "--machine", machine, "--cv", 2)
        assert found["machine"] == machine
        assert found["scores"][0]["value"] > 0.9
        assert found["certificate"]["relative_gap"] < 1e-7


def test_quiet_says_nothing():
    assert good(run("fit", "penguins", "--quiet")).out == ""
    assert Study.load("penguins.mercer").source == "penguins"


def test_a_time_limit_keeps_the_best_so_far():
    result = run("fit", "heart", "--time-limit", 0.0001, "--json")
    assert result.code == 0
    assert result.err == "The time limit was reached: the best model so far was kept.\n"
    found = json.loads(result.out)
    assert found["stopped"] == "time limit"
    assert found["search"]["skipped"] > 0
    assert any("time limit" in note for note in found["notes"])
    assert Study.load("heart.mercer").stopped == "time limit"


# ---- files -------------------------------------------------------------------------------------


def test_own_files_are_overwritten_and_others_are_not(tmp_path):
    good(run("fit", "penguins", "--quiet"))
    before = (tmp_path / "penguins.mercer").read_bytes()
    good(run("fit", "penguins", "--quiet", "--seed", 3))
    assert (tmp_path / "penguins.mercer").read_bytes() != before
    letter = tmp_path / "letter.html"
    letter.write_text("<p>Dear all")
    for arguments in (("fit", "penguins", "--out", "letter"),
                      ("report", "penguins.mercer", "--out", "letter.html")):  # fmt: skip
        result = run(*arguments)
        assert result.code == 2
        assert "--force" in result.err
        assert letter.read_text() == "<p>Dear all"
        assert not (tmp_path / "letter.mercer").exists()
        good(run(*arguments, "--force"))
        assert "Dear all" not in letter.read_text(encoding="utf-8")
        letter.write_text("<p>Dear all")
        (tmp_path / "letter.mercer").unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("out", "names"),
    [
        ("birds", {"birds.mercer", "birds.html"}),
        ("birds.v1", {"birds.v1.mercer", "birds.v1.html"}),
        ("birds.mercer", {"birds.mercer", "birds.html"}),
        ("birds.html", {"birds.mercer", "birds.html"}),
    ],
)
def test_names_of_files(out, names, tmp_path):
    from mercer.cli.files import study_paths

    assert {path.name for path in study_paths("x/penguins.csv.gz", out)} == names
    assert [path.name for path in study_paths("x/penguins.csv.gz", None)] == [
        "penguins.mercer",
        "penguins.html",
    ]


def test_the_verdict_claims_no_more_than_was_compared():
    def words(references, *notes):
        score = MeasuredScore("Accuracy", 0.8, 0.7, 0.9, 0.5, "percent", True, "", "")
        record = SimpleNamespace(trust="yes", folds=0, scores=[score], references=references)
        return _verdict(SimpleNamespace(record=record, notes=notes))

    linear = Reference("logistic regression", 0.6, 0.2, 0.1, 0.3, 0.1)
    assert words([]).startswith("better than guessing")
    assert words([linear]) == (
        "better than the usual methods, on these test rows; no forest was tried"
    )
    assert words([linear, linear]) == "better than the usual methods, on these test rows"
    assert words([linear, linear], f"{SAMPLED}20,000 of the 90,000 training rows.") == (
        "better than the usual methods, on these test rows; these learnt from fewer rows than the "
        "model"
    )
