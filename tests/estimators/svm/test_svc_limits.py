"""Where SVC and NuSVC start and stop: warm starts, limits, interrupts."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from mercer import SVC, SVR, FunctionKernel, NuSVC, certify
from mercer.exceptions import InvalidInput
from tests.estimators.cases import two_classes, wine


@pytest.mark.parametrize("machine", [SVC, NuSVC])
def test_a_start_is_taken_up(machine):
    X, y = two_classes(400)
    first = machine(tol=1e-5).fit(X, y)
    again = machine(tol=1e-5).fit(X, y, start=first)
    assert again.n_iter_.sum() <= 5
    assert_allclose(again.certificate_.dual, first.certificate_.dual, rtol=1e-6)
    changes = [{"C": 1.2}, {"C": 0.5}, {"class_weight": {0: 2.0}}]
    if machine is NuSVC:
        changes = [{"nu": 0.45}, {"nu": 0.6}]
    for change in changes:
        cold = machine(tol=1e-5, **change).fit(X, y)
        warm = machine(tol=1e-5, **change).fit(X, y, start=first)
        assert_allclose(warm.certificate_.dual, cold.certificate_.dual, rtol=1e-6)
        assert_allclose(warm.decision_function(X), cold.decision_function(X), atol=1e-3)
        assert warm.certificate_.dual_feasibility < 1e-10
        if change == {"C": 1.2}:
            assert warm.n_iter_.sum() < cold.n_iter_.sum()
    with pytest.raises(InvalidInput, match="the same kind, fitted on the same rows"):
        machine().fit(X[:50], y[:50], start=first)
    with pytest.raises(InvalidInput, match="the same kind, fitted on the same rows"):
        machine().fit(X, y, start=SVR().fit(X, y))
    with pytest.raises(NotFittedError):
        machine().fit(X, y, start=machine())


def test_starts_of_several_classes():
    X, y = wine()
    first = SVC(tol=1e-5, C=1.0).fit(X, y)
    warm = SVC(tol=1e-5, C=1.1).fit(X, y, start=first)
    cold = SVC(tol=1e-5, C=1.1).fit(X, y)
    assert warm.n_iter_.sum() < cold.n_iter_.sum()
    assert_allclose(warm.decision_function(X), cold.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("n", [150, 900, 1500])
def test_stopping_early_says_how_far_it_is(n):
    X, y = two_classes(n)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=5.*within .* of the optimum") as caught:
        model = SVC(C=100.0, max_iter=5).fit(X, y)
    assert caught[0].filename == __file__
    assert model.fit_status_ == 1
    assert model.certificate_.status == "max_iter"
    assert model.certificate_.relative_gap > 0.1
    best = SVC(C=100.0).fit(X, y).certificate_
    assert model.certificate_.dual <= best.primal
    assert model.certificate_.primal >= best.dual
    assert_allclose(certify(model, X, y).gap, model.certificate_.gap, rtol=1e-6)


def test_a_time_limit_returns_an_answer():
    X, y = two_classes(3000)
    with pytest.warns(ConvergenceWarning, match=r"time limit.*within .* of the optimum"):
        model = SVC(gamma=1.0, C=1e8, tol=1e-9, time_limit=0.3).fit(X, y)
    assert model.certificate_.status == "time_limit"
    assert model.certificate_.dual > 0


def test_an_interrupt_returns_an_answer():
    X, y = two_classes(2200)
    pairs = [0]

    def compare(A, B):
        pairs[0] += len(A) * len(B)
        if 1e6 < pairs[0] < 3e6:
            pairs[0] = 1e9
            raise KeyboardInterrupt
        return np.exp(-0.3 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    with pytest.warns(ConvergenceWarning, match=r"interrupted.*within .* of the optimum"):
        model = SVC(FunctionKernel(compare, vectorized=True), C=10.0).fit(X, y)
    assert model.certificate_.status == "interrupted"
    assert (model.predict(X) == y).mean() > 0.5


INTERRUPTED = """
import os, signal, threading, time, warnings
import numpy as np
from mercer import SVC
random = np.random.default_rng(0)
X, y = random.normal(size=({rows}, 6)), np.arange({rows}) % {classes}
SVC({kernel!r}).fit(X[:200], y[:200])
threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT)).start()
began = time.perf_counter()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model = SVC({kernel!r}, C=1e7, tol=1e-13).fit(X, y)
print(time.perf_counter() - began)
print(sorted({{m.certificate_.status for m in model.machines_}}), model.certificate_.gap > 0)
print(model.fit_status_, np.isfinite(model.decision_function(X)).all())
print([str(w.message) for w in caught])
"""


@pytest.mark.parametrize(
    ("rows", "classes", "kernel"), [(990, 8, "linear"), (3000, 3, "rbf")], ids=["matrix", "rows"]
)
def test_a_real_interrupt_of_many_problems(rows, classes, kernel):
    program = INTERRUPTED.format(rows=rows, classes=classes, kernel=kernel)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    seconds, status, answer, messages = done.stdout.splitlines()
    assert float(seconds) < 30
    assert "interrupted" in status
    assert status.endswith("True")
    assert answer == "1 True"
    assert "It was interrupted" in messages
    assert "of the optimum" in messages
