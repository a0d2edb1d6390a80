"""Landmarks in the machines that take them through the kernel alone."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer import RBF, KernelPerceptron, LaplacianRidge, LaplacianSVC, Nystrom
from mercer.exceptions import InvalidParameter

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(120, 3))
CLASSES = (X[:, 0] + X[:, 1] ** 2 > 0.7).astype(int)
FEW = np.where(np.arange(120) % 3 == 0, CLASSES, -1)
NUMBERS = np.where(np.arange(120) % 3 == 0, X[:, 0], np.nan)

MACHINES = [
    (LaplacianSVC(kernel=RBF(gamma=0.5), n_neighbors=5), FEW, "decision_function"),
    (LaplacianRidge(kernel=RBF(gamma=0.5), n_neighbors=5), NUMBERS, "predict"),
    (
        KernelPerceptron(kernel=RBF(gamma=0.5), shuffle=False, tol=None),
        CLASSES,
        "decision_function",
    ),
]
pytestmark = pytest.mark.filterwarnings("ignore::mercer.DisconnectedGraphWarning")


@pytest.mark.parametrize(("machine", "y", "answer"), MACHINES, ids=lambda given: str(given)[:12])
def test_all_points_as_landmarks_are_the_machine_itself(machine, y, answer):
    exact = machine.fit(X, y)
    wanted = getattr(exact, answer)(X)
    assert not hasattr(exact, "residual_trace_")
    close = machine.set_params(approximation=len(X)).fit(X, y)
    scale = float(np.abs(wanted).max())
    assert_allclose(getattr(close, answer)(X), wanted, atol=1e-4 * scale)
    assert 0 <= close.residual_trace_ <= 1e-8 * len(X)
    machine.set_params(approximation=None)


@pytest.mark.parametrize(("machine", "y", "answer"), MACHINES, ids=lambda given: str(given)[:12])
def test_few_landmarks_are_saved_and_loaded(machine, y, answer, tmp_path):
    few = machine.set_params(approximation=Nystrom(30)).fit(X, y)
    assert few.residual_trace_ > 0
    mercer.save(few, tmp_path / "few.mercer")
    loaded = mercer.load(tmp_path / "few.mercer")
    assert_allclose(getattr(loaded, answer)(X), getattr(few, answer)(X))
    machine.set_params(approximation=None)


def test_a_matrix_has_no_landmarks():
    machine = KernelPerceptron(kernel="precomputed", approximation=10)
    with pytest.raises(InvalidParameter, match="chooses landmarks among objects"):
        machine.fit(RBF(gamma=0.5)(X), CLASSES)
