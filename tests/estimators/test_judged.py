"""Certificates of machines come from what they publish, not from what their solvers say."""

import copy
import gc
import pickle
import weakref
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import mercer
from mercer import certify, load, save
from mercer.estimators.judged import JudgedMachine
from mercer.estimators.registry import ROWS
from mercer.gram.given import GivenGram
from mercer.problems.certificate import Certificate
from mercer.solvers.base import Status
from mercer.solvers.svm.box_qp import BoxQPSolver
from tests.estimators.cases import regression

X, NUMBERS = regression()
X, NUMBERS = X[:80], NUMBERS[:80]
CLASSES = np.digitize(NUMBERS, np.quantile(NUMBERS, [0.3, 0.7]))
FEW_CLASSES = np.where(np.arange(80) % 3, -1, CLASSES)
FEW_NUMBERS = np.where(np.arange(80) % 3, np.nan, NUMBERS)
WEIGHTS = np.where(np.arange(80) % 7, 1.0 + np.arange(80) / 80, 0.0)
TWO = np.stack([NUMBERS, X[:, 0]], 1)
JOINT = mercer.LinearSVC(multi_class="crammer_singer", max_iter=10_000, random_state=0)

MACHINES = [
    (mercer.SVC(), CLASSES),
    (mercer.SVC(multi_class="ovr", class_weight="balanced"), CLASSES),
    (mercer.SVC(multi_class="crammer_singer"), CLASSES),
    (mercer.SVC(C=np.inf, gamma=5.0), CLASSES),
    (mercer.SVC(approximation=20), CLASSES),
    (mercer.NuSVC(nu=0.2), CLASSES),
    (mercer.SVR(), NUMBERS),
    (mercer.SVR(kernel="linear"), NUMBERS),
    (mercer.SVR(approximation=20), NUMBERS),
    (mercer.NuSVR(), NUMBERS),
    (mercer.OneClassSVM(), None),
    (mercer.MultipleKernelClassifier([mercer.RBF("scale"), mercer.Linear()]), CLASSES),
    (mercer.MultipleKernelRegressor([mercer.RBF("scale"), mercer.Linear()]), NUMBERS),
    (mercer.KernelRidge(0.1, kernel="rbf"), NUMBERS),
    (mercer.KernelRidge(1e-3, kernel="poly", fit_intercept=True), TWO),
    (mercer.KernelRidge(0.1, kernel="rbf", approximation=20), TWO),
    (mercer.KernelRidge([0.1, 2.0], kernel="rbf", fit_intercept=True, approximation=20), TWO),
    (mercer.KernelRidgeClassifier(), CLASSES),
    (mercer.KernelRidgeClassifier(approximation=20), CLASSES),
    (mercer.KernelLogisticRegression(), CLASSES),
    (mercer.KernelLogisticRegression(approximation=20), CLASSES),
    (mercer.GaussianProcessRegressor(mercer.RBF(length_scale=1.0) + mercer.White()), NUMBERS),
    (mercer.Ridge(0.3), TWO),
    (mercer.Ridge(0.0), NUMBERS),
    (mercer.Lasso(0.01), NUMBERS),
    (mercer.Lasso(0.01, positive=True), TWO),
    (mercer.ElasticNet(0.1), NUMBERS),
    (mercer.LinearSVC(class_weight="balanced"), CLASSES),
    (mercer.LinearSVC(loss="hinge"), CLASSES),
    (mercer.LinearSVC(penalty="l1", random_state=0), CLASSES),
    (JOINT, CLASSES),
    (JOINT, (CLASSES > 0).astype(int)),
    (mercer.LinearSVR(epsilon=0.1), NUMBERS),
    (mercer.LogisticRegression(class_weight="balanced"), CLASSES),
    (mercer.LogisticRegression(C=np.inf), (CLASSES > 0).astype(int)),
    (mercer.LogisticRegression(l1_ratio=1.0, solver="saga"), CLASSES),
    (mercer.LogisticRegression(l1_ratio=0.5, solver="saga"), (CLASSES > 0).astype(int)),
    (mercer.LogisticRegression(solver="liblinear"), (CLASSES > 0).astype(int)),
    (mercer.NormRegressor(1), NUMBERS),
    (mercer.NormRegressor(2), NUMBERS),
    (mercer.NormRegressor(np.inf), NUMBERS),
    (mercer.NormRegressor(np.diag(1.0 + np.arange(80))), NUMBERS),
    *((mercer.PenaltyRegressor(name), NUMBERS) for name in ("l1", "l2", "huber", "dead_zone")),
    (mercer.NormRegressor(2, radius=0.5, ball=1), NUMBERS),
    (mercer.NormRegressor(1.5), NUMBERS),
    (mercer.LaplacianSVC(), FEW_CLASSES),
    (mercer.LaplacianSVC(loss="hinge"), FEW_CLASSES),
    (mercer.LaplacianRidge(), FEW_NUMBERS),
    (mercer.StreamedRidge(approximation=20), TWO),
    (mercer.StreamedClassifier(approximation=20), CLASSES),
    (mercer.StreamedClassifier(loss="logistic", approximation=20), CLASSES),
]
UNWEIGHTED = ("Laplacian", "Gaussian", "Norm", "Penalty")


def same(a, b):
    """Whether two certificates are the same but for what solvers told."""
    told = {"iterations": 0, "seconds": 0.0, "kernel_evaluations": 0, "status": ""}
    return replace(a, **told) == replace(b, **told)


@pytest.mark.parametrize(("machine", "y"), MACHINES, ids=lambda value: repr(value)[:50])
def test_the_certificate_is_that_of_certify_to_the_last_digit(machine, y):
    model = copy.copy(machine)
    weighted = not type(model).__name__.startswith(UNWEIGHTED)
    weights = {"sample_weight": WEIGHTS} if weighted else {}
    model.fit(X, y, **weights)
    assert same(model.certificate_, certify(model, X, y, *weights.values()))
    assert model.certificate_ is model.certificate_
    assert model.certificate_.status == "optimal"
    # An interval that held anything would prove nothing.
    assert model.certificate_.rounding <= 1e-6 * max(abs(model.certificate_.primal), 1e-6)


@pytest.mark.parametrize("name", ["AutoClassifier", "AutoRegressor"])
def test_members_of_a_contest_are_judged_as_certify_judges_them(name):
    y = CLASSES if name == "AutoClassifier" else NUMBERS
    model = getattr(mercer, name)(random_state=0).fit(X[:40], y[:40])
    assert same(Certificate.total(model.certificates_), certify(model, X[:40], y[:40]))


def test_rows_in_pieces_are_judged_by_the_last_pass():
    model = mercer.StreamedRidge(approximation=20).fit(X, NUMBERS)
    judged = model.certificate_
    pieces = model.fit(mercer.ArrayChunks(X, NUMBERS)).certificate_
    assert pieces.rounding is None
    assert pieces.primal == pytest.approx(judged.primal, rel=1e-9)
    assert "_training" not in vars(model)


def test_no_machine_of_the_registry_is_forgotten():
    judged = {row.estimator for row in ROWS if issubclass(row.estimator, JudgedMachine)}
    assert judged <= {type(machine) for machine, _ in MACHINES}


@pytest.mark.parametrize(("machine", "y"), MACHINES, ids=lambda value: repr(value)[:50])
def test_copies_pickles_and_files_have_it(machine, y, tmp_path):
    model = copy.copy(machine).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert again.certificate_ == model.certificate_
    assert "_training" not in vars(again)
    other = copy.copy(machine).fit(X, y)
    save(other, tmp_path / "machine.mercer")
    assert same(load(tmp_path / "machine.mercer").certificate_, model.certificate_)


def test_a_new_fit_has_a_new_certificate():
    model = mercer.SVR().fit(X, NUMBERS)
    first = model.certificate_
    assert model.fit(X, 2 * NUMBERS).certificate_.primal > first.primal
    assert same(model.certificate_, certify(model, X, 2 * NUMBERS))
    with pytest.raises(NotFittedError):
        _ = mercer.SVC().certificate_
    assert not hasattr(mercer.SVR(), "certificate_")


@pytest.mark.parametrize("first", ["certificate_", "certificates_"])
def test_functions_have_certificates_of_their_own(first, tmp_path):
    model = mercer.Ridge().fit(X, TWO)
    _ = getattr(model, first)
    assert sum(part.primal for part in model.certificates_) == model.certificate_.primal
    save(model, tmp_path / "machine.mercer")
    assert load(tmp_path / "machine.mercer").certificates_ == model.certificates_
    assert len(model.fit(X, NUMBERS).certificates_) == 1


def test_what_it_was_made_of_is_not_kept():
    model = mercer.SVR().fit(X, NUMBERS)
    kept = weakref.ref(model._training)
    _ = model.certificate_
    gc.collect()
    assert kept() is None


class Liar(BoxQPSolver):
    """A solver whose matrix and products are wrong, and who does not know."""

    def run(self, problem, gram, budget, start):
        noise = np.random.default_rng(0).uniform(0.8, 1.2, gram.shape[0])
        spoilt = GivenGram(gram.dense() * np.outer(noise, noise), gram.definite)
        return super().run(problem, spoilt, budget, start)


@pytest.mark.parametrize("name", ["SVC", "SVR", "OneClassSVM"])
def test_what_a_solver_computes_wrongly_shows(name, monkeypatch):
    y = (NUMBERS > 0).astype(int) if name == "SVC" else NUMBERS
    monkeypatch.setattr("mercer.estimators.svm.support.BoxQPSolver", Liar)
    model = getattr(mercer, name)().fit(X, y)
    assert model.fit_status_ == 0  # as the solver has it
    assert same(model.certificate_, certify(model, X, y))
    assert model.certificate_.relative_gap > 1e-3
    assert model.certificate_.status == "stalled"
    assert model.certificate_.lower <= model.certificate_.upper


def test_the_word_optimal_means_the_gap():
    rough = mercer.SVR(tol=0.5, C=100).fit(X, NUMBERS).certificate_
    assert rough.status in ("within tolerance", "optimal")
    assert (rough.status == "optimal") == (rough.relative_gap <= 1e-3)
    assert f"within {rough.distance:.2g} of the optimum" in repr(rough)
    for C in (1e-3, 1.0, 100.0, 1e4):
        for machine, y in (
            (mercer.SVC(C=C), (NUMBERS > 0).astype(int)),
            (mercer.SVR(C=C), NUMBERS),
            (mercer.NuSVR(C=C), NUMBERS),
        ):
            judged = machine.fit(X, y).certificate_
            assert judged.status == "optimal"
            assert judged.relative_gap <= 1e-3


def test_an_optimum_of_nothing_is_met_within_rounding():
    # The hulls of the classes meet, so that no hyperplane keeps any of the points off.
    mixed = (np.arange(80) % 2).astype(int)
    judged = mercer.NuSVC(kernel="linear", nu=0.9).fit(X, mixed).certificate_
    assert abs(judged.primal) <= judged.rounding
    assert judged.optimal
    assert judged.status == "optimal"


def test_the_status_of_a_solver_stands_only_where_the_values_show_it():
    sound = mercer.SVC().fit(X, (NUMBERS > 0).astype(int)).certificate_
    far = replace(sound, primal=2 * sound.primal)
    assert sound.under(str(Status.OPTIMAL)).status == "optimal"
    assert far.under(str(Status.OPTIMAL)).status == "stalled"
    assert far.under(str(Status.OPTIMAL), tol=0.9).status == "within tolerance"
    assert far.under(str(Status.MAX_ITER)).status == "max_iter"
    assert replace(sound, primal=sound.dual - 1.0).under("optimal", 1.0).status == "stalled"
    assert replace(sound, curvature="open").under("optimal").status.endswith("no bound")
