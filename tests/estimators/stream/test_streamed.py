"""Machines for data larger than memory: exact where they can be, and killed many times."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer import (
    RBF,
    KernelLogisticRegression,
    KernelRidge,
    Spectrum,
    StreamedClassifier,
    StreamedRidge,
    load,
    save,
)
from mercer.exceptions import InvalidCheckpoint, InvalidInput, InvalidParameter, NotEnoughMemory
from mercer.landmarks.chunks import ArrayChunks


@pytest.fixture(scope="module")
def curve():
    random = np.random.default_rng(0)
    X = random.standard_normal((600, 3))
    return X, np.sin(X[:, 0]) + 0.1 * random.standard_normal(600)


def test_all_rows_as_landmarks_are_kernel_ridge(curve):
    X, y = curve
    settings = {"alpha": 0.1, "kernel": RBF(gamma=0.3), "fit_intercept": True}
    ours = StreamedRidge(**settings, approximation=600, tol=1e-9).fit(X, y)
    whole = KernelRidge(**settings).fit(X, y)
    assert np.abs(ours.predict(X) - whole.predict(X)).max() < 1e-7
    assert ours.intercept_ == pytest.approx(whole.intercept_, abs=1e-7)
    assert ours.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=1e-9)


def test_memory_maps_chunks_and_arrays_give_one_model(curve, tmp_path):
    X, y = curve
    X.astype(np.float64).tofile(tmp_path / "X")
    mapped = np.memmap(tmp_path / "X", dtype=np.float64, mode="r", shape=X.shape)
    machine = StreamedRidge(0.1, approximation=50, memory=1_000_000)
    models = [
        clone(machine).fit(X, y),
        clone(machine).fit(mapped, y),
        clone(machine).fit(ArrayChunks(mapped, y)),
    ]
    for model in models[1:]:
        assert np.array_equal(model.predict(X), models[0].predict(X))
        assert np.allclose(
            model.predict(ArrayChunks(mapped, size=70)), model.predict(X), atol=1e-12
        )


def test_targets_side_by_side_and_alone(curve):
    X, y = curve
    Y = np.column_stack([y, y**2])
    machine = StreamedRidge(0.1, approximation=60, tol=1e-9)
    both = clone(machine).fit(X, Y).predict(X)
    for j in range(2):
        assert np.allclose(both[:, j], clone(machine).fit(X, Y[:, j]).predict(X), atol=1e-8)


def test_a_judge_comes_to_the_same_values(curve):
    X, y = curve
    weights = np.random.default_rng(5).random(len(X))
    ridge = StreamedRidge(0.1, approximation=50).fit(X, y, weights)
    labels = np.digitize(y, [-0.4, 0.4])
    hinge = StreamedClassifier(approximation=50, class_weight="balanced").fit(X, labels, weights)
    for model, target in ((ridge, y), (hinge, labels)):
        judged = mercer.certify(model, X, target, weights)
        assert judged.primal == pytest.approx(model.certificate_.primal, rel=1e-8)
        assert judged.dual == pytest.approx(model.certificate_.dual, rel=1e-5)


def test_strings():
    words = ["banana", "ananas", "bandana", "anna", "nab", "can", "cannon", "bat"] * 4
    lengths = np.array([len(word) for word in words], dtype=float)
    model = StreamedRidge(1e-3, kernel=Spectrum(2), approximation=8).fit(words, lengths)
    assert np.abs(model.predict(words) - lengths).max() < 0.1


def test_model_files(curve, tmp_path):
    X, y = curve
    model = StreamedRidge(0.1, approximation=mercer.Nystrom(40, "kmeans")).fit(X, y)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.array_equal(again.predict(X), model.predict(X))
    assert repr(again) == repr(model)


def test_what_cannot_be(curve):
    X, y = curve
    with pytest.raises(InvalidParameter, match="precomputed"):
        StreamedRidge(kernel="precomputed").fit(X, y)
    with pytest.raises(NotEnoughMemory, match="158 landmarks at most"):
        StreamedRidge(approximation=600, memory=1_000_000).fit(X, y)
    with pytest.raises(InvalidInput, match="own targets"):
        StreamedRidge().fit(ArrayChunks(X, y), y)
    with pytest.raises(InvalidInput, match="no targets"):
        StreamedRidge().fit(ArrayChunks(X))
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        StreamedRidge(1e-6, approximation=100, tol=1e-9, max_iter=1).fit(X, y)


@pytest.mark.parametrize("classes", [2, 3])
def test_all_rows_as_landmarks_are_kernel_logistic_regression(curve, classes):
    X, y = curve
    labels = np.digitize(y, [0.0] if classes == 2 else [-0.4, 0.4])
    settings = {"C": 2.0, "kernel": RBF(gamma=0.3)}
    ours = StreamedClassifier(**settings, loss="logistic", approximation=600, tol=1e-4)
    ours.fit(X, labels)
    whole = KernelLogisticRegression(**settings, tol=1e-6).fit(X, labels)
    assert np.abs(ours.predict_proba(X) - whole.predict_proba(X)).max() < 1e-4
    assert ours.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=1e-7)
    proof = ours.certificate_
    assert 0 <= proof.gap < 1e-7 * proof.primal + proof.rounding


def _squared_hinge(machine, X, t, C):
    """The objective of the machine, in plain sums."""
    K = machine.kernel_(machine._landmark_points)
    a = machine.dual_coef_[0]
    return 0.5 * a @ K @ a + C * (np.maximum(0, 1 - t * machine.decision_function(X)) ** 2).sum()


def test_the_squared_hinge_reaches_the_value_of_a_general_solver(curve):
    from scipy.optimize import minimize

    X, y = curve
    t = np.where(y > 0.2, 1.0, -1.0)
    machine = StreamedClassifier(3.0, kernel=RBF(gamma=0.5), approximation=15, tol=1e-4).fit(X, t)
    Phi = machine.kernel_(X, machine._landmark_points)
    K = machine.kernel_(machine._landmark_points)

    def value(v):
        slack = np.maximum(0, 1 - t * (Phi @ v[:-1] + v[-1]))
        slope = -6 * Phi.T @ (t * slack)
        return 0.5 * v[:-1] @ K @ v[:-1] + 3 * slack @ slack, np.append(
            K @ v[:-1] + slope, -6 * t @ slack
        )

    best = minimize(value, np.zeros(16), jac=True, method="BFGS", options={"gtol": 1e-7}).fun
    assert machine.certificate_.primal == pytest.approx(_squared_hinge(machine, X, t, 3.0))
    assert machine.certificate_.primal == pytest.approx(best, rel=1e-6)
    assert machine.certificate_.dual <= best * (1 + 1e-9)


def test_classes_weights_and_names(curve, tmp_path):
    X, y = curve
    names = np.array(["low", "middle", "high"])[np.digitize(y, [-0.4, 0.8])]
    for loss in ("squared_hinge", "logistic"):
        machine = StreamedClassifier(
            loss=loss, approximation=40, class_weight={"high": 5.0}, tol=1e-5
        )
        model = clone(machine).fit(X, names)
        weights = np.where(names == "high", 5.0, 1.0)
        other = clone(machine).set_params(class_weight=None).fit(X, names, weights)
        assert np.allclose(model.decision_function(X), other.decision_function(X), atol=1e-6)
        assert model.score(X, names) > 0.8
        balanced = clone(machine).set_params(class_weight="balanced").fit(ArrayChunks(X, names))
        assert set(balanced.predict(X)) == set(names)
        save(model, tmp_path / "model")
        assert np.array_equal(load(tmp_path / "model").predict(X), model.predict(X))
    with pytest.raises(AttributeError, match="predict_proba"):
        StreamedClassifier().predict_proba(X)
    with pytest.raises(ValueError, match="only one class"):
        StreamedClassifier().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="does not hold"):
        StreamedClassifier(class_weight={"none": 1.0}).fit(X, names)


def test_one_preconditioner_for_all_classes_where_memory_is_short(curve):
    X, y = curve
    labels = np.digitize(y, np.linspace(-0.8, 0.8, 7))
    few = mercer.Nystrom(60, "uniform")
    roomy = StreamedClassifier(approximation=few, kernel=RBF(gamma=0.3), tol=1e-4).fit(X, labels)
    short = StreamedClassifier(
        approximation=few, kernel=RBF(gamma=0.3), memory=200_000, tol=1e-4
    ).fit(X, labels)
    assert np.allclose(roomy.certificate_.primal, short.certificate_.primal, rtol=1e-7)


# ---- checkpoints ---------------------------------------------------------------------------------


def test_a_checkpoint_tells_a_second_fit_everything(curve, tmp_path):
    X, y = curve
    machine = StreamedRidge(0.1, approximation=50, checkpoint=tmp_path / "c", memory=200_000)
    first = clone(machine).fit(X, y)
    second = clone(machine).fit(X, y)
    assert second.certificate_.kernel_evaluations == 0
    assert np.array_equal(second.predict(X), first.predict(X))
    cost = first.certificate_.approximation_cost
    assert second.certificate_.approximation_cost == cost > 0


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"alpha": 1.0}, "alpha"),
        ({"kernel": RBF(gamma=2.0)}, "kernel, landmarks, data"),
        ({"approximation": 49}, "approximation"),
    ],
)
def test_a_checkpoint_of_another_problem_is_refused(curve, tmp_path, change, names):
    X, y = curve
    machine = StreamedRidge(0.1, kernel=RBF(gamma=1.0), approximation=50, checkpoint=tmp_path / "c")
    clone(machine).fit(X, y)
    with pytest.raises(InvalidCheckpoint, match=f"differs in {names}"):
        clone(machine).set_params(**change).fit(X, y)
    with pytest.raises(InvalidCheckpoint, match="differs in targets"):
        clone(machine).fit(X, y + 1)


def test_a_damaged_checkpoint_is_refused(curve, tmp_path):
    X, y = curve
    machine = StreamedRidge(0.1, approximation=20, checkpoint=tmp_path / "c")
    clone(machine).fit(X, y)
    content = bytearray((tmp_path / "c").read_bytes())
    content[-5] ^= 1
    (tmp_path / "c").write_bytes(content)
    with pytest.raises(InvalidCheckpoint, match="checksum"):
        clone(machine).fit(X, y)
    save(RBF(gamma=1.0), tmp_path / "c")
    with pytest.raises(InvalidCheckpoint, match="no checkpoint"):
        clone(machine).fit(X, y)


KILLED = """
import os, signal, sys, time
import numpy as np
import mercer
from mercer.landmarks import checkpoint as recorded

recorded.SECONDS = 0.0
random = np.random.default_rng(0)
X = random.standard_normal((4000, 3))
y = np.sin(X[:, 0]) + 0.1 * random.standard_normal(4000)
labels = (y > 0.2).astype(int)
kind, folder, kills = sys.argv[1], sys.argv[2], int(sys.argv[3])

def machine(checkpoint):
    settings = {"approximation": 40, "memory": 1_000_000, "tol": 1e-6}
    made = getattr(mercer, kind)(**settings, checkpoint=checkpoint)
    return made.fit(X, y if kind == "StreamedRidge" else labels)

def child(checkpoint, out):
    pid = os.fork()
    if pid == 0:
        mercer.save(machine(checkpoint), out)
        os._exit(0)
    return pid

began = time.perf_counter()
os.waitpid(child(None, folder + "/whole"), 0)
whole = time.perf_counter() - began
killed = ended = 0
while killed < kills and ended < 3 * kills:
    pid = child(folder + "/checkpoint", folder + "/ended")
    time.sleep(0.02 + random.random() * min(0.3, 0.7 * whole))
    os.kill(pid, signal.SIGKILL)
    if os.waitpid(pid, 0)[1] == signal.SIGKILL:
        killed += 1
    else:  # it came to its end before: the next one starts anew
        ended += 1
        os.remove(folder + "/checkpoint")
os.waitpid(child(folder + "/checkpoint", folder + "/resumed"), 0)
print(killed, os.path.exists(folder + "/checkpoint"))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("kind", ["StreamedRidge", "StreamedClassifier"])
@pytest.mark.parametrize("kills", [4, pytest.param(20, marks=pytest.mark.attack)])
def test_killed_many_times_it_ends_with_the_same_model(kind, kills, tmp_path):
    path = os.pathsep.join(
        [str(Path(mercer.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    )
    done = subprocess.run(
        [sys.executable, "-c", KILLED, kind, str(tmp_path), str(kills)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    killed, there = done.stdout.split()
    assert int(killed) == kills
    assert there == "True"
    whole, resumed = load(tmp_path / "whole"), load(tmp_path / "resumed")
    assert np.array_equal(whole._coefficients, resumed._coefficients)
    assert np.array_equal(whole._constants, resumed._constants)
    cost = whole.certificate_.approximation_cost
    assert resumed.certificate_.approximation_cost == cost > 0
    assert not list(tmp_path.glob("*.tmp"))
