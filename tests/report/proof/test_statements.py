"""Machines state their problems so that a verifier of its own agrees with ``certify``."""

import json
import warnings

import numpy as np
import pytest
import sklearn.svm

import mercer
from mercer import RBF, InvalidInput, Linear, certify
from mercer.estimators.registry import ROWS
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
        numbers = np.asarray(0 if targets is None else targets)
        size = max(1.0, np.abs(numbers).max()) if numbers.dtype.kind == "f" else 1.0
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


def test_every_machine_with_a_certificate_has_a_proof(tmp_path):
    """The registry names the machines: whoever adds one states its problem, or says why not."""
    for row in ROWS:
        for machine in row.machines():
            X, y = row.data()
            if row.class_name in WITHOUT_CERTIFICATE:
                assert not hasattr(type(machine), "certificate_")
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                machine.fit(X, y)
            if getattr(machine, "penalty", None) == "large_error":
                with pytest.raises(InvalidInput, match="not convex"):
                    carried_proof(machine, X, y)
                continue
            path = mercer.write_proof(machine, X, y, tmp_path / "proof.html")
            found = verify_page(path.read_text(encoding="utf-8"))
            assert found.holds, (machine, found.faults)


WITHOUT_CERTIFICATE = {
    *("Perceptron", "Adaline", "KernelPerceptron", "MLPClassifier", "MLPRegressor"),
    *("LinearDiscriminantAnalysis", "KernelDiscriminant", "PCA", "Whitening", "KernelPCA"),
    *("ICA", "FastICA", "FeatureMap", "NystromMap", "NumericScaler", "GaussianMixture"),
    "HiddenMarkovModel",
}
"""Machines that solve no problem with a dual: nothing bounds how good their answers are."""


WEIGHTED = {
    "svc": lambda: mercer.SVC(RBF(gamma=0.5)),
    "joint": lambda: mercer.SVC(RBF(gamma=0.5), multi_class="weston_watkins"),
    "landmarks": lambda: mercer.SVC(RBF(gamma=0.5), approximation=20),
    "kernel_ridge": lambda: mercer.KernelRidgeClassifier(0.1),
    "kernel_logistic": lambda: mercer.KernelLogisticRegression(class_weight="balanced"),
    "streamed": lambda: mercer.StreamedClassifier(approximation=20, class_weight="balanced"),
    "linear": lambda: mercer.LinearSVC(class_weight="balanced"),
    "logistic": lambda: mercer.LogisticRegression(class_weight="balanced"),
    "weighing": lambda: mercer.MultipleKernelClassifier([RBF(gamma=0.5), Linear()]),
}


@pytest.mark.parametrize("name", WEIGHTED)
def test_rows_with_weights(name):
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(machines.Y))
    weights[::10] = 0.0
    model = WEIGHTED[name]().fit(machines.X, machines.Y, sample_weight=weights)
    proof = carried_proof(model, machines.X, machines.Y, weights)
    judged = certify(model, machines.X, machines.Y, weights)
    found = verify(json.loads(proof.text))
    assert found.holds, found.faults
    assert found.numbers["primal"] == pytest.approx(judged.primal, rel=1e-9)
    assert found.numbers["dual"] == pytest.approx(judged.dual, rel=1e-9)


def test_regressions_with_weights():
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(machines.T))
    weights[::10] = 0.0
    for model in (
        mercer.SVR(C=50.0), mercer.KernelRidge(0.1), mercer.Ridge(0.1), mercer.Lasso(0.5),
        mercer.StreamedRidge(approximation=20),
    ):  # fmt: skip
        model.fit(machines.D, machines.T, sample_weight=weights)
        proof = carried_proof(model, machines.D, machines.T, weights)
        judged = certify(model, machines.D, machines.T, weights)
        found = verify(json.loads(proof.text)).numbers
        assert found["primal"] == pytest.approx(judged.primal, rel=1e-9)
        assert found["dual"] == pytest.approx(judged.dual, rel=1e-9)


class LogCosh(mercer.Penalty):
    def value(self, r):
        return np.logaddexp(r, -r) - np.log(2)

    def slope(self, r):
        return np.tanh(r)


def test_what_cannot_be_proven_is_refused():
    X, y, D, T = machines.X, machines.Y, machines.D, machines.T
    with pytest.raises(InvalidInput, match="no machine of mercer with a certificate"):
        carried_proof(mercer.PCA(2).fit(X), X, y)
    with pytest.raises(InvalidInput, match="no machine of mercer with a certificate"):
        carried_proof(sklearn.svm.SVC().fit(X, y), X, y)
    with pytest.raises(InvalidInput, match="of your own"):
        carried_proof(mercer.PenaltyRegressor(LogCosh()).fit(D, T), D, T)
    with pytest.raises(InvalidInput, match="alpha=0"):
        carried_proof(mercer.KernelRidge(0.0, kernel=RBF(gamma=200.0)).fit(D, T), D, T)
    wrong = np.roll(y, 7)
    with pytest.raises(InvalidInput, match="no proof to carry"):
        carried_proof(mercer.SVC(RBF(gamma=0.5)).fit(X, y), X, wrong)


def test_kernels_that_are_not_definite_bound_nothing():
    X, y = machines.X[50:], machines.Y[50:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mercer.SVC(mercer.Sigmoid(gamma=1.0, coef0=1.0)).fit(X, y)
    assert not certify(model, X, y).bounds
    with pytest.raises(InvalidInput, match="not positive semi-definite"):
        carried_proof(model, X, y)
