"""Partial dependence in closed form, against the mean over rows with a value put in."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer as m
from mercer.exceptions import InvalidInput, InvalidParameter

random = np.random.default_rng(0)
X = random.normal(size=(150, 4))
Y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
TWO, THREE = (Y > 0).astype(int), np.digitize(Y, [-0.5, 0.5])
GRID = np.linspace(-2, 2, 7)


def by_rows(answer, column):
    means = []
    for value in GRID:
        rows = X.copy()
        rows[:, column] = value
        means.append(answer(rows).mean(axis=0))
    return np.array(means)


@pytest.mark.parametrize(
    "kernel",
    [
        m.RBF(gamma=0.3),
        m.Laplacian(gamma=0.4),
        m.Linear(),
        m.Polynomial(3, coef0=1.0),
        m.RBF(gamma=0.3) + 0.5 * m.Linear(),
        m.RBF(gamma=0.3).on([0, 1]) * m.Laplacian(gamma=0.2).on([2]) + m.Linear().on([3]),
    ],
    ids=str,
)
@pytest.mark.parametrize("column", [0, 3])
def test_against_the_mean_over_rows(kernel, column):
    machine = m.SVC(kernel=kernel).fit(X, TWO)
    curve = m.partial_dependence(machine, X, column, grid=GRID)
    np.testing.assert_allclose(
        curve.values, by_rows(machine.decision_function, column), rtol=1e-9, atol=1e-9
    )


def test_machines_pipelines_and_classes():
    for machine, y, answer in (
        (m.KernelRidge(1.0, kernel="rbf"), Y, "predict"),
        (m.SVR(), Y, "predict"),
        (make_pipeline(StandardScaler(), m.SVC()), TWO, "decision_function"),
        (m.KernelRidgeClassifier(1.0), THREE, "decision_function"),
        (m.LinearSVC(), TWO, "decision_function"),
    ):
        machine.fit(X, y)
        curve = m.partial_dependence(machine, X, 1, grid=GRID)
        np.testing.assert_allclose(
            curve.values, by_rows(getattr(machine, answer), 1), rtol=1e-9, atol=1e-9
        )
    usual = m.partial_dependence(machine, X, 1)
    assert usual.grid[[0, -1]].tolist() == [X[:, 1].min(), X[:, 1].max()]
    assert repr(usual).startswith("PartialDependence on column 1, from -")


def test_a_column_that_is_not_used_changes_nothing():
    machine = m.SVC(kernel=m.RBF(gamma=0.3).on([0, 1])).fit(X, TWO)
    values = m.partial_dependence(machine, X, 2, grid=GRID).values
    np.testing.assert_allclose(values, machine.decision_function(X).mean())


def test_pictures():
    pytest.importorskip("matplotlib")
    machine = m.KernelRidgeClassifier(1.0).fit(X, THREE)
    lines = m.partial_dependence(machine, X, 0).plot().lines
    assert [line.get_label() for line in lines] == ["0", "1", "2"]
    why = m.explain(machine, X)
    dots = why.plot_dependence(1, label=2).lines[0]
    np.testing.assert_array_equal(dots.get_xdata(), X[:, 1])
    np.testing.assert_array_equal(dots.get_ydata(), why.of_class(2).values[:, 1])
    assert why.plot_dependence("x1").get_xlabel() == "x1"
    with pytest.raises(InvalidParameter, match="'height' is not one of the columns x0, x1"):
        why.plot_dependence("height")
    turned = make_pipeline(PCA(2), m.SVC()).fit(X, TWO)
    with pytest.raises(InvalidParameter, match="a step before the machine made it"):
        m.explain(turned, X).plot_dependence(0)


def test_columns_of_a_table_have_names():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcd"))
    machine = m.SVC().fit(frame, TWO)
    by_name, by_place = (m.partial_dependence(machine, frame, column) for column in ("c", 2))
    assert by_name.column == 2
    assert (by_name.values == by_place.values).all()
    with pytest.raises(InvalidParameter, match="a, b, c, d"):
        m.partial_dependence(machine, frame, "e")
    with pytest.raises(InvalidParameter, match="'c' is not one of the 4 columns"):
        m.partial_dependence(machine, X, "c")


def test_refusals_say_why():
    machine = m.SVC().fit(X, TWO)
    with pytest.raises(InvalidParameter, match="column=4 is not one of the 4 columns"):
        m.partial_dependence(machine, X, 4)
    with pytest.raises(InvalidParameter, match="finite numbers"):
        m.partial_dependence(machine, X, 0, grid=[np.nan])
    with pytest.raises(InvalidInput, match="rows of numbers"):
        m.partial_dependence(machine, X[0], 0)
    turned = make_pipeline(PCA(4), m.SVC()).fit(X, TWO)
    with pytest.raises(InvalidInput, match="mixes the columns"):
        m.partial_dependence(turned, X, 0)
