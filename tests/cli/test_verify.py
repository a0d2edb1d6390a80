"""``mercer fit --proof`` and ``mercer verify``: reports that prove themselves."""

import json

import pytest

from tests.cli.command import good, mercer as run


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("proof")
    good(run("fit", "diabetes", *_small(), "--proof", "--out", folder / "open", "--quiet"))
    return folder / "open.html"


def _small():
    return ("--kernel", "rbf(age, bmi, gamma=0.5)", "--machine", "kernelridge", "--cv", 3)


def test_a_report_that_proves_itself(report):
    result = good(run("verify", report))
    assert result.out.startswith("The proof holds")
    plain = json.loads(good(run("verify", report, "--json")).out)
    assert plain["holds"]
    assert plain["faults"] == []
    assert plain["digest"] in report.read_text(encoding="utf-8")
    assert 0 <= plain["numbers"]["gap"] <= 1e-6 * plain["numbers"]["primal"] + 1e-9
    assert good(run("verify", report, "--quiet")).out == ""


def test_a_changed_report_is_found_out(report, tmp_path):
    page = report.read_text(encoding="utf-8")
    primal = json.loads(good(run("verify", report, "--json")).out)["numbers"]["primal"]
    wrong = tmp_path / "wrong.html"
    assert repr(primal) in page
    wrong.write_text(page.replace(repr(primal), repr(primal * 0.9)), encoding="utf-8")
    result = run("verify", wrong)
    assert result.code == 1
    assert "does not hold" in result.out
    assert "primal" in result.out


def test_what_is_no_such_report(tmp_path):
    plain = tmp_path / "plain.html"
    plain.write_text("<p>nothing</p>", encoding="utf-8")
    result = run("verify", plain)
    assert result.code == 1
    assert "--proof" in result.out
    plain.write_bytes(b"\xff\xfe\x00")
    assert run("verify", plain).code == 2
    assert run("verify", tmp_path / "missing.html").code == 2


def test_no_rows_without_being_asked(tmp_path):
    good(run("fit", "diabetes", *_small(), "--out", tmp_path / "shut", "--quiet"))
    page = (tmp_path / "shut.html").read_text(encoding="utf-8")
    assert 'id="proof"' not in page
    assert "whom the rows are about" in " ".join(run("fit", "--help").out.split())


def test_a_fit_that_has_no_proof_leaves_a_plain_report(tmp_path):
    result = run(
        "fit", "diabetes", "--kernel", "sigmoid(bmi, age, gamma=3.0, coef0=-2.0)", "--machine",
        "svr", "--cv", 3, "--proof", "--out", tmp_path / "bent", "--quiet",
    )  # fmt: skip
    assert result.code == 2
    assert "no proof to carry" in result.err
    assert 'id="proof"' not in (tmp_path / "bent.html").read_text(encoding="utf-8")
