"""What training rows add to answers, against their sums and the definition."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import mercer as m
from mercer.exceptions import NoExplanation

random = np.random.default_rng(1)
X = random.normal(size=(50, 4))
Y = np.sin(X[:, 0]) + X[:, 1]
TWO, THREE = (Y > 0).astype(int), np.digitize(Y, [-0.5, 0.5])
NEW = random.normal(size=(6, 4))


@pytest.mark.parametrize(
    ("machine", "y", "answer"),
    [
        (m.SVC(), TWO, "decision_function"),
        (m.SVC(multi_class="ovr"), THREE, "decision_function"),
        (m.SVR(), Y, "predict"),
        (m.KernelRidge(0.1, kernel="rbf"), Y, "predict"),
        (m.KernelRidgeClassifier(1.0), THREE, "decision_function"),
        (m.GaussianProcessRegressor(m.RBF(), alpha=0.1, optimizer=None), Y, "predict"),
        (m.AutoClassifier(random_state=0), TWO, "decision_function"),
        (make_pipeline(StandardScaler(), m.SVC()), TWO, "decision_function"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_summands_add_up_to_the_answer(machine, y, answer):
    machine.fit(X, y)
    found = m.deciding_rows(machine, NEW)
    assert np.allclose(found.answers, getattr(machine, answer)(NEW), atol=1e-6)
    assert found.values.shape[1] == len(found.rows) == len(found.influence)


def test_each_summand_is_a_coefficient_times_a_kernel_value():
    machine = m.SVC(gamma=0.5).fit(X, TWO)
    found = m.deciding_rows(machine, NEW)
    assert np.array_equal(found.rows, machine.support_)
    for i, row in enumerate(machine.support_[:5]):
        value = np.exp(-0.5 * ((X[row] - NEW[2]) ** 2).sum())
        assert found.values[2, i] == pytest.approx(machine.dual_coef_[0, i] * value, rel=1e-5)
    strongest = found.order[0]
    at = np.flatnonzero(found.rows == strongest)[0]
    assert found.influence[at] == np.abs(found.values).mean(axis=0).max()


def test_the_most_influential_rows_are_drawn():
    pytest.importorskip("matplotlib")
    found = m.deciding_rows(m.SVC().fit(X, TWO), NEW)
    axes = found.plot(5)
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == [f"row {row}" for row in found.order[:5]]
    assert f"rows {found.order[0]}," in repr(found)


def test_refusals_say_why():
    for machine in (m.SVC(approximation=10), m.LinearSVC()):
        with pytest.raises(NoExplanation, match="no sum over its training rows"):
            m.deciding_rows(machine.fit(X, TWO), NEW)
    with pytest.raises(NoExplanation, match="no sums of kernel values"):
        m.deciding_rows(DecisionTreeClassifier().fit(X, TWO), NEW)
