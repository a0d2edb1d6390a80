"""Machines draw themselves: the artists carry the numbers of the fit."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons

from mercer import (
    ICA,
    PCA,
    RBF,
    SVC,
    SVR,
    Adaline,
    ElasticNet,
    FastICA,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    InvalidInput,
    KernelDiscriminant,
    KernelLogisticRegression,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeClassifier,
    LaplacianSVC,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LogisticRegression,
    MLPClassifier,
    MLPRegressor,
    MultipleKernelClassifier,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Perceptron,
    Ridge,
    Spectrum,
    load_data,
)

mpl.use("Agg")

X, y = make_moons(60, noise=0.25, random_state=1)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def contour(ax, level):
    """Return the points of the line at a level, of all contours that were drawn."""
    for drawn in ax.collections:
        levels = list(getattr(drawn, "levels", ()))
        if level in levels and not getattr(drawn, "filled", False):
            return drawn.get_paths()[levels.index(level)].vertices
    raise AssertionError(f"no line at {level}")


def points(ax, label):
    """Return the places of the artist with a label."""
    for drawn in ax.lines:
        if drawn.get_label() == label:
            return drawn.get_xydata()
    for drawn in ax.collections:
        if drawn.get_label() == label:
            return drawn.get_offsets()
    raise AssertionError(f"nothing is labelled {label}")


# ---- classifiers ---------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", RBF(gamma=1.0)])
@pytest.mark.parametrize("level", [-1.0, 0.0, 1.0])
def test_margins_lie_where_the_function_says(kernel, level):
    machine = SVC(kernel, C=2.0).fit(X, y)
    line = contour(machine.plot(), level)
    assert machine.decision_function(line) == pytest.approx(np.full(len(line), level), abs=0.02)


def test_kinds_of_points_and_slacks():
    machine = SVC("linear", C=2.0).fit(X, y)
    ax = machine.plot()
    for kind, mask in (("0 < α < C", machine.free_), ("α = C", machine.bound_)):
        assert mask.any()
        assert sorted(map(tuple, points(ax, kind))) == sorted(map(tuple, X[mask]))
    np.testing.assert_array_equal(points(ax, "wrong"), X[machine.misclassified_])
    np.testing.assert_array_equal(points(ax, "_0"), X[y == 0])
    (lines,) = [c for c in ax.collections if c.get_label() == "slack ξ"]
    ends = np.array(lines.get_segments())
    shown = machine.slack_ > 1e-2
    np.testing.assert_array_equal(ends[:, 0], X[shown])
    # ξ/‖w‖ is the distance from the margin, where the picture is wide enough to show its foot.
    lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
    wanted = machine.slack_[shown] / machine.norm_
    assert (lengths >= wanted - 1e-6).all()
    w = machine.coef_[0] * np.where(y == machine.classes_[1], 1, -1)[shown, None]
    feet = X[shown] + (machine.slack_[shown] / machine.norm_**2)[:, None] * w
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    inside = ((feet >= [left, low]) & (feet <= [right, high])).all(axis=1)
    assert inside.mean() > 0.6
    # The names of lines make gaps in them; no slack may end at one.
    np.testing.assert_allclose(ends[inside, 1], feet[inside], atol=1e-6)


def test_data_that_are_given_are_drawn_in_place_of_those_of_the_fit():
    machine = SVC("linear").fit(X, y)
    new, labels = X[:7] + 0.1, y[:7]
    ax = machine.plot(new, labels)
    drawn = np.concatenate([points(ax, "_0"), points(ax, "_1")])
    assert sorted(map(tuple, drawn)) == sorted(map(tuple, new))
    assert machine.plot(new, ax=ax) is ax


@pytest.mark.parametrize(
    "machine",
    [
        SVC(RBF(gamma=2.0)),
        NuSVC(nu=0.3),
        LinearSVC(),
        LogisticRegression(),
        KernelLogisticRegression(),
        KernelRidgeClassifier(),
        KernelPerceptron(RBF(gamma=2.0), max_iter=20, tol=None, n_iter_no_change=2),
        GaussianProcessClassifier(),
        MLPClassifier(4, solver="lbfgs", random_state=0, max_iter=300),
        Perceptron(),
        Adaline(),
        MultipleKernelClassifier(kernel=RBF(gamma=1.0) + RBF(gamma=4.0)),
    ],
    ids=lambda machine: type(machine).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_boundary_is_that_of_predict(machine):
    machine = clone(machine).fit(X, y)
    ax = machine.plot(X, y)
    middle = 0.5 if machine._drawn_function == "predict_proba" else 0.0
    line = contour(ax, middle)
    values = machine._values_on(X)(line)
    assert values == pytest.approx(np.full(len(line), middle), abs=0.05)
    wrong = machine.predict(X) != y
    if wrong.any():
        np.testing.assert_array_equal(points(ax, "wrong"), X[wrong])


def test_several_classes():
    iris = load_iris()
    rows, names = iris.data[:, 2:], iris.target_names[iris.target]
    machine = SVC(RBF(gamma=1.0)).fit(rows, names)
    ax = machine.plot()
    assert {text.get_text() for text in ax.texts} == set(iris.target_names)
    for name in iris.target_names:
        np.testing.assert_array_equal(points(ax, f"_{name}"), rows[names == name])
    machine.plot(rows, names)
    SVC(multi_class="crammer_singer").fit(rows, names).plot()


def test_one_column_is_a_curve():
    x = np.linspace(-2, 2, 21)[:, None]
    labels = (x[:, 0] > 0.3).astype(int)
    ax = LogisticRegression().fit(x, labels).plot(x, labels)
    places, shares = ax.lines[0].get_data()
    model = LogisticRegression().fit(x, labels)
    np.testing.assert_allclose(shares, model.predict_proba(places[:, None])[:, 1])
    assert ax.get_ylabel() == "probability of 1"
    assert SVC("linear").fit(x, labels).plot().get_ylabel() == "f(x)"


def test_columns_have_their_names():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(X, columns=["length", "width"])
    machine = SVC("linear").fit(table, y)
    ax = machine.plot(table, y)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("length", "width")
    assert machine.plot().get_xlabel() == "length"
    kernel = RBF(gamma=1.0).on("length") + RBF(gamma=1.0).on("width")
    assert SVC(kernel).fit(table, y).plot(table, y).get_ylabel() == "width"


def test_what_cannot_be_drawn_says_what_can():
    heart = load_data("heart")
    with pytest.raises(InvalidInput, match=r"one or two columns, and X has 13.*PCA\(2\)"):
        SVC().fit(heart.X, heart.y).plot(heart.X, heart.y)
    words = ["ACAC", "CACA", "GTGT", "TGTG"]
    machine = SVC(Spectrum(k=2)).fit(words, [0, 0, 1, 1])
    with pytest.raises(InvalidInput, match=r"kept no rows of numbers.*plot\(X, y\)"):
        machine.plot()
    with pytest.raises(InvalidInput, match=r"KernelPCA\(2, kernel"):
        machine.plot(words, [0, 0, 1, 1])
    with pytest.raises(InvalidInput, match="kept no rows"):
        LogisticRegression().fit(X, y).plot()
    with pytest.raises(InvalidInput, match="one class for each point"):
        SVC().fit(X, y).plot(X, np.zeros((60, 2)))


def test_pictures_can_be_read_on_light_and_dark_paper():
    machine = SVC("linear").fit(X, y)
    shades = []
    for style in ("default", "dark_background"):
        with plt.style.context(style):
            ax = machine.plot()
            paper = np.mean(mpl.colors.to_rgb(ax.get_facecolor()))
            (lines,) = [c for c in ax.collections if hasattr(c, "levels") and not c.filled]
            ink = np.mean(mpl.colors.to_rgb(lines.get_edgecolor()[0]))
            shades.append(paper - ink)
    assert shades[0] > 0.5
    assert shades[1] < -0.5


# ---- other machines ------------------------------------------------------------------------


def test_one_class():
    machine = OneClassSVM(nu=0.2, gamma=1.0).fit(X)
    ax = machine.plot(X)
    line = contour(ax, 0.0)
    assert machine.decision_function(line) == pytest.approx(np.zeros(len(line)), abs=0.05)
    np.testing.assert_array_equal(points(ax, "_outlier"), X[machine.decision_function(X) < 0])
    assert machine.plot().get_xlabel() == "x₁"


x = np.linspace(0, 6, 40)[:, None]
f = np.sin(x[:, 0]) + 0.2 * np.random.default_rng(0).normal(size=40)


@pytest.mark.parametrize("machine", [SVR(C=5.0, epsilon=0.2), NuSVR(C=5.0, nu=0.4)])
def test_tubes(machine):
    machine = clone(machine).fit(x, f)
    width = machine.epsilon if hasattr(machine, "epsilon") else machine.epsilon_
    ax = machine.plot(x, f)
    places, middle = ax.lines[0].get_data()
    np.testing.assert_allclose(middle, machine.predict(places[:, None]))
    low, high = (line.get_ydata() for line in ax.lines if line.get_label() == "_tube")
    np.testing.assert_allclose(high - low, 2 * width)
    # A ring is a support vector.
    rings = {tuple(row) for row in np.round(points(ax, "_support"), 9)}
    support = {tuple(row) for row in np.round(np.column_stack([x, f])[machine.support_], 9)}
    assert rings == support
    np.testing.assert_array_equal(
        points(machine.plot(), "_support vectors")[:, 0], machine.support_vectors_[:, 0]
    )


def test_regressions_of_one_two_and_more_columns():
    ax = KernelRidge(0.1, kernel=RBF(length_scale=1.0)).fit(x, f).plot(x, f)
    np.testing.assert_array_equal(points(ax, "_data"), np.column_stack([x, f]))
    plane = Ridge(1e-9).fit(X, X @ [1.0, 2.0])
    ax = plane.plot(X, X @ [1.0, 2.0])
    level = next(c for c in ax.collections if hasattr(c, "levels") and not c.filled).levels[3]
    line = contour(ax, level)
    np.testing.assert_allclose(line @ [1.0, 2.0], level, atol=1e-6)
    rows = np.random.default_rng(0).normal(size=(30, 5))
    target = rows @ np.arange(5.0)
    model = ElasticNet(0.1).fit(rows, target)
    np.testing.assert_allclose(
        model.plot(rows, target).lines[-1].get_xydata(),
        np.column_stack([target, model.predict(rows)]),
    )
    with pytest.raises(InvalidInput, match="predictions against targets"):
        model.plot(rows)


def test_processes():
    model = GaussianProcessRegressor(RBF(length_scale=1.0), alpha=0.04, optimizer=None).fit(x, f)
    ax = model.plot()
    places, middle = points(ax, "_mean").T
    mean, deviation = model.predict(places[:, None], return_std=True)
    np.testing.assert_allclose(middle, mean)
    (band,) = [c for c in ax.collections if c.get_label() == "_band"]
    edge = band.get_paths()[0].vertices
    np.testing.assert_allclose(edge[:, 1].max(), (mean + 1.95996 * deviation).max(), rtol=1e-4)
    assert sum(line.get_label() == "_sample" for line in ax.lines) == 3
    np.testing.assert_allclose(points(ax, "_data"), np.column_stack([x, f]))
    prior = GaussianProcessRegressor(2.0 * RBF(length_scale=1.0)).plot(x)
    (band,) = [c for c in prior.collections if c.get_label() == "_band"]
    assert np.abs(band.get_paths()[0].vertices[:, 1]).max() == pytest.approx(1.95996 * 2**0.5, 1e-4)
    assert GaussianProcessRegressor(RBF(length_scale=1.0), alpha=0.1).fit(X, y).plot(X, y)


def test_discriminants():
    iris = load_iris()
    for machine in (LinearDiscriminantAnalysis(), KernelDiscriminant(reg=0.1)):
        machine.fit(iris.data, iris.target)
        ax = machine.plot(iris.data, iris.target)
        T = machine.transform(iris.data)
        np.testing.assert_allclose(points(ax, "_1"), T[iris.target == 1])
        centre = points(ax, "_1 mean")[0]
        np.testing.assert_allclose(centre, T[iris.target == 1].mean(axis=0), atol=1e-6)
        away = np.linalg.norm(points(ax, "_1 95 %") - centre, axis=1)
        np.testing.assert_allclose(away, np.sqrt(-2 * np.log(0.05)))
        assert machine.plot().get_xlabel() == "direction 1"
    two = iris.target < 2
    machine = LinearDiscriminantAnalysis().fit(iris.data[two], iris.target[two])
    ax = machine.plot(iris.data[two], iris.target[two])
    curve = points(ax, "_0")
    peak = curve[curve[:, 1].argmax(), 0]
    assert peak == pytest.approx(machine.transform(machine.means_)[0, 0])


def test_components():
    iris = load_iris()
    pca = PCA().fit(iris.data)
    shares = pca.explained_variance_ratio_
    np.testing.assert_allclose([bar.get_height() for bar in pca.plot().patches], shares)
    np.testing.assert_allclose(pca.plot_variance().lines[0].get_ydata(), np.cumsum(shares))
    ax = pca.plot(iris.data, iris.target)
    np.testing.assert_allclose(points(ax, "_2"), pca.transform(iris.data)[iris.target == 2, :2])
    assert ax.get_xlabel() == "component 1 (92% of the variance)"
    pca.plot(iris.data, iris.data[:, 0])  # numbers are a scale of colours
    with pytest.raises(InvalidInput, match=r"plot\(X, y\)"):
        pca.plot(y=iris.target)
    words = ["ACACAC", "CACACA", "GTGTGT", "TGTGTG", "ACGTAC"]
    model = KernelPCA(2, kernel=Spectrum(k=2)).fit(words)
    drawn = points(model.plot(), "_no class")
    np.testing.assert_allclose(drawn, model.transform(words), atol=1e-9)
    assert PCA(1).fit(iris.data).plot(iris.data, iris.target).get_ylabel() == "density"


@pytest.mark.parametrize("kind", [ICA, FastICA])
def test_sources(kind):
    random = np.random.default_rng(0)
    S = random.uniform(-1, 1, size=(400, 2))
    mixed = S @ np.array([[1.0, 0.6], [0.2, 1.0]]).T
    model = kind(2, random_state=0).fit(mixed)
    before, after = model.plot(mixed)
    np.testing.assert_array_equal(before.lines[0].get_xydata(), mixed)
    np.testing.assert_allclose(after.lines[0].get_xydata(), model.transform(mixed))
    with pytest.raises(InvalidInput, match="keeps no data"):
        model.plot()


def test_labels_spread_on_a_graph():
    labels = np.full(60, -1)
    labels[[0, 1, 2, 3]] = y[[0, 1, 2, 3]]
    machine = LaplacianSVC(n_neighbors=4, gamma=2.0).fit(X, labels)
    ax = machine.plot(X, labels)
    (edges,) = [c for c in ax.collections if c.get_label() == "_edges"]
    assert len(edges.get_segments()) == machine.graph_.nnz // 2
    np.testing.assert_array_equal(points(ax, "_no class"), X[labels < 0])
    np.testing.assert_array_equal(points(machine.plot(), "_1"), X[machine.transduction_ == 1])


@pytest.mark.parametrize(
    "machine",
    [
        Perceptron(),
        Adaline(),
        MLPClassifier(4, max_iter=30, random_state=0, early_stopping=True),
        MLPRegressor(hidden_layer_sizes=4, max_iter=30, random_state=0),
    ],
    ids=lambda machine: type(machine).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rounds(machine):
    machine = clone(machine).fit(X, y)
    curve = points(machine.plot(), "_loss")
    np.testing.assert_allclose(curve[:, 1], machine.loss_curve_)
    assert len(curve) == machine.n_iter_
    assert machine.plot(X, y).get_xlabel() == "x₁"


def test_a_fit_that_kept_no_rounds_says_so():
    machine = MLPClassifier(4, solver="lbfgs", random_state=0).fit(X, y)
    with pytest.raises(InvalidInput, match="kept no loss of its rounds"):
        machine.plot()
