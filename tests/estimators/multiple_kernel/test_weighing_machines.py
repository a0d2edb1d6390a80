"""Machines that weigh their kernels: certificates, plain machines beside them, files, tables."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score

from mercer import (
    RBF,
    SVC,
    SVR,
    BagOfWords,
    Delta,
    GridSearchCV,
    Linear,
    MultipleKernelClassifier,
    MultipleKernelRegressor,
    NegativeDistance,
    Precomputed,
    certify,
    load,
    save,
)
from mercer.exceptions import InvalidParameter, NotEnoughMemory

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(80, 4))
Y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.3 * RANDOM.normal(size=80) > 0.5, "yes", "no")
THREE = np.digitize(X[:, 0] + X[:, 1] ** 2, [0.0, 1.0])
NUMBERS = X[:, 0] + np.sin(2 * X[:, 1]) + 0.1 * RANDOM.normal(size=80)
COLUMNS = [RBF(gamma=1.0).on(j) for j in range(4)]

MACHINES = {
    **{
        f"two classes, {method}": (MultipleKernelClassifier(COLUMNS, method=method), Y)
        for method in ("l1", "lp", "alignment", "easymkl")
    },
    **{
        f"three classes, {kind}": (MultipleKernelClassifier(COLUMNS, multi_class=kind), THREE)
        for kind in ("ovo", "ovr")
    },
    **{
        f"numbers, {method}": (MultipleKernelRegressor(COLUMNS, method=method, p=1.5), NUMBERS)
        for method in ("l1", "lp", "alignment")
    },
}


@pytest.fixture(params=MACHINES)
def case(request):
    machine, y = MACHINES[request.param]
    return clone(machine), y


def test_the_certificate_is_what_anybody_finds(case):
    machine, y = case
    machine.set_params(tol=1e-6).fit(X, y)
    weights = RANDOM.uniform(0.5, 2.0, size=80)
    weights[3] = 0.0
    for given in (None, weights):
        machine.fit(X, y, sample_weight=given)
        published, again = machine.certificate_, certify(machine, X, y, given)
        assert published.optimal
        assert published.status == "optimal"
        assert published.relative_gap <= 1e-6
        assert_allclose(published.primal, again.primal, rtol=1e-12)
        assert_allclose(published.dual, again.dual, rtol=1e-12)
        assert ("multiple kernel" in published.problem) == machine.learns_jointly


def test_it_is_the_plain_machine_with_its_kernel(case):
    machine, y = case
    machine.set_params(tol=1e-8).fit(X, y)
    kinds = {"multi_class": machine.multi_class} if hasattr(machine, "multi_class") else {}
    plain = (SVC if kinds else SVR)(kernel=machine.kernel_, tol=1e-8, **kinds).fit(X, y)
    decide = "decision_function" if kinds else "predict"
    assert_allclose(getattr(machine, decide)(X), getattr(plain, decide)(X), atol=1e-4)
    pairs = zip(machine.weights_, machine.kernels_, strict=True)
    assert_allclose(machine.kernel_(X), sum(w * k(X) for w, k in pairs), atol=1e-12)
    assert_allclose(machine.shares_.sum(), 1.0)
    assert machine.shares_[:2].sum() > 0.6


def test_files_hold_it(case, tmp_path):
    machine, y = case
    machine.fit(X, y)
    save(machine, tmp_path / "machine.mercer")
    again = load(tmp_path / "machine.mercer")
    assert_allclose(again.weights_, machine.weights_)
    assert_allclose(certify(again, X, y).primal, machine.certificate_.primal, rtol=1e-12)
    assert np.array_equal(again.predict(X), machine.predict(X))


def test_weights_that_are_learnt_beat_those_of_any_other_kind_in_the_joint_problem():
    """The optimum of the machine with weights of the ball is never below the joint one."""
    best = MultipleKernelClassifier(COLUMNS, tol=1e-6).fit(X, Y)
    scales = np.array([float(np.trace(k(X)) - k(X).mean() * 80) / 80 for k in COLUMNS])
    for _ in range(10):
        d = RANDOM.dirichlet(np.ones(4))
        kernel = sum(
            ((w / s) * k for w, s, k in zip(d[1:], scales[1:], COLUMNS[1:], strict=True)),
            start=(d[0] / scales[0]) * COLUMNS[0],
        )
        other = SVC(kernel=kernel, tol=1e-6).fit(X, Y)
        assert other.certificate_.upper >= best.certificate_.lower


def test_kernels_without_weight_are_left_out_of_the_model(tmp_path):
    table = pd.DataFrame(
        {
            "number": X[:, 0],
            "noise": X[:, 3],
            "kind": np.where(X[:, 1] > 0, "a", "b"),
            "text": np.where(X[:, 2] > 0, "good and cheap", "good but dear"),
        }
    )
    y = X[:, 0] > 0
    kernels = [
        RBF().on("number"), RBF().on("noise"), Delta().on("kind"), BagOfWords().on("text"),
    ]  # fmt: skip
    machine = MultipleKernelClassifier(kernels, C=0.05, tol=1e-6).fit(table, y)
    assert_allclose(machine.shares_, [1, 0, 0, 0], atol=1e-9)
    assert "kind" not in str(machine.kernel_)
    assert machine.certificate_.optimal
    assert certify(machine, table, y).optimal
    save(machine, tmp_path / "table.mercer")
    again = load(tmp_path / "table.mercer")
    assert_allclose(again.decision_function(table), machine.decision_function(table))
    assert certify(again, table, y).optimal


def test_given_matrices():
    matrices = [k(X) for k in COLUMNS]
    rows = np.arange(80)
    given = MultipleKernelClassifier([Precomputed(K) for K in matrices]).fit(rows, Y)
    computed = MultipleKernelClassifier(COLUMNS).fit(X, Y)
    assert_allclose(given.weights_, computed.weights_, atol=1e-9)
    one = MultipleKernelClassifier("precomputed").fit(matrices[0], Y)
    assert_allclose(one.shares_, [1.0])


def test_conditionally_definite_kernels():
    machine = MultipleKernelClassifier(NegativeDistance() + Linear(), tol=1e-6).fit(X, Y)
    assert machine.certificate_.relative_gap <= 1e-6
    assert machine.certificate_.curvature == "proven"


def test_probabilities_and_searches_learn_weights_in_each_training_fold():
    machine = MultipleKernelClassifier(COLUMNS, probability=True, random_state=0).fit(X, Y)
    assert_allclose(machine.predict_proba(X).sum(axis=1), 1.0)
    assert cross_val_score(MultipleKernelClassifier(COLUMNS), X, Y, cv=3).mean() > 0.7
    grid = {"method": ["l1", "alignment"], "C": [0.1, 1.0]}
    search = GridSearchCV(MultipleKernelClassifier(COLUMNS), grid, cv=3).fit(X, Y)
    assert search.best_score_ > 0.7
    found = MultipleKernelClassifier(RBF(gamma=1.0) + Linear(), C="auto").fit(X, Y)
    assert found.C_ > 0
    assert found.certificate_.optimal


def test_it_starts_from_another_answer():
    first = MultipleKernelClassifier(COLUMNS, tol=1e-6).fit(X, Y)
    second = MultipleKernelClassifier(COLUMNS, tol=1e-6, C=1.1).fit(X, Y, start=first)
    assert second.certificate_.relative_gap <= 1e-6


def test_a_fit_that_is_stopped_says_how_far_it_is():
    machine = MultipleKernelClassifier(COLUMNS, max_iter=1, tol=1e-8)
    with pytest.warns(ConvergenceWarning, match="within .* of the optimum"):
        machine.fit(X, Y)
    assert machine.certificate_.bounds
    assert machine.certificate_.status == "max_iter"
    assert machine.certificate_.relative_gap > 1e-8
    with pytest.warns(ConvergenceWarning):
        MultipleKernelRegressor(COLUMNS, time_limit=1e-9, tol=1e-8).fit(X, NUMBERS)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"kernel": []}, "MultipleKernelClassifier: the list of kernels is empty"),
        ({"kernel": ["rbf"]}, "Write names as kernels"),
        ({"approximation": 10}, "learn_weights"),
        ({"C": np.inf}, "'C' parameter"),
        ({"method": "l2"}, "'method' parameter"),
        ({"p": 0.5}, "'p' parameter"),
        ({"multi_class": "crammer_singer"}, "'multi_class' parameter"),
    ],
)
def test_wrong_parameters_are_named(parameters, words):
    with pytest.raises((InvalidParameter, ValueError), match=words):
        MultipleKernelClassifier(**parameters).fit(X, Y)


def test_numbers_have_no_nearest_points_of_classes():
    with pytest.raises(ValueError, match="'method' parameter"):
        MultipleKernelRegressor(COLUMNS, method="easymkl").fit(X, NUMBERS)


def test_too_many_matrices_are_refused_before_they_are_computed():
    many = np.zeros((300_000, 1))
    many[0] = 1.0
    with pytest.raises(NotEnoughMemory, match="learn_weights"):
        MultipleKernelClassifier([RBF(gamma=1.0), Linear()]).fit(many, many[:, 0] > 0)
