"""Machines state their problems so that a verifier of its own agrees with ``certify``."""

import json

import numpy as np
import pytest

import mercer
from mercer import RBF, InvalidInput, certify
from mercer.problems.certificate import Certificate
from mercer.report.proof.statements import carried_proof
from mercer.report.verifier.verdict import CLAIMS, verify, verify_page
from tests.report.proof import machines


@pytest.mark.parametrize("name", machines.CASES)
def test_the_verifier_agrees_with_certify(name):
    model, rows, targets = machines.fitted(name)
    found = verify(json.loads(machines.proof(name).text))
    assert found.holds, found.faults
    if hasattr(model, "members_"):
        judged = Certificate.total(model.certificates_)
    else:
        judged = certify(model, rows, targets)
    scale = max(abs(judged.primal), abs(judged.dual))
    if name == "nusvc_hulls_meet":  # where the optimum is 0, and rounding is all there is
        scale = 1.0
    for value in ("primal", "dual", "gap"):
        assert abs(found.numbers[value] - getattr(judged, value)) <= 1e-9 * scale
    for residual in CLAIMS[3:]:
        size = max(1.0, np.abs(np.asarray(targets)).max()) if targets.dtype.kind == "f" else 1.0
        assert abs(found.numbers[residual] - getattr(judged, residual)) <= 1e-9 * size


@pytest.mark.parametrize("name", machines.CASES)
def test_pages_prove_themselves(name):
    found = verify_page(machines.page(name))
    assert found.holds, found.faults
    assert found.digest == machines.proof(name).digest


def test_pages_without_a_proof_hold_no_rows():
    model, X, y = machines.fitted("svc")
    record = mercer.describe(model, X, y, X[:20], y[:20])
    page = mercer.report.view.render(record)
    assert 'id="proof"' not in page
    assert "data-claim" not in page
    assert "no proof" in verify_page(page).faults[0]


def test_kernels_of_words_carry_their_matrix_and_say_so():
    proof = machines.proof("svc_on_words")
    assert proof.matrices == ("spectrum()",)
    assert json.loads(proof.text)["samples"] == []
    assert "not on vectors" in machines.page("svc_on_words")
    assert not machines.proof("svc").matrices


def test_tables_with_categories_carry_codes():
    table = mercer.read_table("penguins", "species")
    plan_kernel = "0.5 * rbf(bill_length_mm, body_mass_g, gamma=0.5) + 0.5 * overlap(island)"
    study = mercer.Study.fit(table, kernel=plan_kernel, machine="svc")
    proof = json.loads(study.carried_proof(table).text)
    assert len(proof["samples"]) == 2
    assert verify(proof).holds


def test_what_cannot_be_proven_is_refused():
    X, y = machines.X, machines.Y
    with pytest.raises(InvalidInput, match="landmarks"):
        carried_proof(mercer.SVC(RBF(gamma=0.5), approximation=20).fit(X, y), X, y)
    joint = mercer.SVC(RBF(gamma=0.5), multi_class="crammer_singer").fit(X, y)
    with pytest.raises(InvalidInput, match="crammer_singer"):
        carried_proof(joint, X, y)
    with pytest.raises(InvalidInput, match="no verifier"):
        carried_proof(mercer.PCA(2).fit(X), X, y)
    with pytest.raises(InvalidInput, match="yet"):
        carried_proof(mercer.LinearSVC(penalty="l1").fit(X, y), X, y)
    wrong = np.roll(y, 7)
    with pytest.raises(InvalidInput, match="no proof to carry"):
        carried_proof(mercer.SVC(RBF(gamma=0.5)).fit(X, y), X, wrong)
