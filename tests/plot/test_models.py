"""Pictures of densities, paths, searches and certificates."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from mercer import (
    SVC,
    Certificate,
    Gaussian,
    GridSearchCV,
    InvalidInput,
    InvalidParameter,
    KernelRidge,
    lasso_path,
    load_data,
    ridge_path,
)

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def line(ax, label):
    return next(drawn for drawn in ax.lines if drawn.get_label() == label).get_xydata()


def test_ellipses_of_a_gaussian():
    joint = Gaussian([1.0, -1.0], [[2.0, 0.9], [0.9, 1.0]])
    X = joint.sample(50, random_state=0)
    ax = joint.plot(X, given={0: 2.0})
    for share in (0.5, 0.95):
        radius = joint.mahalanobis(line(ax, f"_{share:.0%}"))
        np.testing.assert_allclose(radius, np.sqrt(-2 * np.log(1 - share)))
    axes = [drawn.get_xydata() for drawn in ax.lines if drawn.get_label() == "_axis"]
    lengths = [np.linalg.norm(np.diff(ends, axis=0)) / 2 for ends in axes]
    np.testing.assert_allclose(lengths, np.sqrt(joint.principal_axes().variances))
    np.testing.assert_array_equal(line(ax, "_data"), X)
    curve = line(ax, "_given x₁ = 2")
    seen = joint.condition([0], [2.0])
    assert curve[curve[:, 0].argmax(), 1] == pytest.approx(float(seen.mean[0]))
    half = curve[:, 0] - 2.0 >= (curve[:, 0].max() - 2.0) / 2
    width = np.ptp(curve[half, 1]) / np.sqrt(8 * np.log(2))
    assert width == pytest.approx(float(np.sqrt(seen.covariance[0, 0])), rel=0.03)
    marginals = [drawn for drawn in ax.lines if drawn.get_label() == "_marginal"]
    first = marginals[0].get_xydata()
    assert first[first[:, 1].argmax(), 0] == pytest.approx(1.0)


def test_one_number_and_many():
    curve = line(Gaussian([2.0], [[4.0]]).plot([[1.0], [3.0]]), "_density")
    assert np.trapezoid(curve[:, 1], curve[:, 0]) == pytest.approx(1.0, abs=2e-3)
    with pytest.raises(InvalidInput, match=r"marginal\(\[0, 1\]\)"):
        Gaussian(np.zeros(3)).plot()


@pytest.mark.parametrize("path", [ridge_path, lasso_path])
def test_paths(path):
    random = np.random.default_rng(0)
    X = random.normal(size=(30, 4))
    y = X @ [3.0, -2.0, 0.0, 1.0]
    found = path(X, y, alphas=20)
    alphas, coefs, gaps = found  # still a tuple
    ax = found.plot(names=["a", "b", "c", "d"])
    for name, weights in zip("abcd", coefs, strict=True):
        np.testing.assert_array_equal(line(ax, f"_{name}"), np.column_stack([alphas, weights]))
    assert {"a", "b", "d"} <= {text.get_text() for text in ax.texts}
    low, high = ax.get_xlim()
    assert (low, high) == (alphas.max(), alphas.min())
    assert len(gaps) == 20
    with pytest.raises(InvalidInput, match="names for 4 columns"):
        found.plot(names=["a"])
    with pytest.raises(InvalidInput, match="one target"):
        path(X, np.column_stack([y, y]), alphas=3).plot()


def test_searches():
    heart = load_data("heart")
    grid = {"C": [0.1, 1.0, 10.0], "gamma": [1e-4, 1e-3]}
    search = GridSearchCV(SVC(), grid, cv=3).fit(heart.X, heart.y)
    ax = search.plot()
    scores = search.cv_results_["mean_test_score"].reshape(3, 2).T
    np.testing.assert_array_equal(ax.images[0].get_array(), scores)
    frame = next(patch for patch in ax.patches if patch.get_label() == "_best")
    assert scores[int(frame.get_y() + 0.5), int(frame.get_x() + 0.5)] == search.best_score_
    search = GridSearchCV(SVC(), {"C": [10.0, 0.1, 1.0]}, cv=3).fit(heart.X, heart.y)
    ax = search.plot()
    curve = line(ax, "_scores")
    means = search.cv_results_["mean_test_score"]
    np.testing.assert_array_equal(curve, np.column_stack([[0.1, 1.0, 10.0], means[[1, 2, 0]]]))
    assert ax.get_xscale() == "log"
    words = GridSearchCV(SVC(), {"kernel": ["linear", "rbf"]}, cv=3).fit(heart.X[:, :2], heart.y)
    assert [t.get_text() for t in words.plot().get_xticklabels()] == ["linear", "rbf"]
    three = {"C": [0.1, 1.0], "gamma": [1e-4, 1e-3, 1e-2], "tol": [1e-2, 1e-3]}
    search = GridSearchCV(SVC(), three, cv=3).fit(heart.X, heart.y)
    best = search.plot().images[0].get_array()
    assert best.shape == (2, 3)
    assert best.max() == search.best_score_
    both = GridSearchCV(
        KernelRidge(), {"alpha": [0.1, 1.0]}, scoring=["r2", "neg_max_error"], refit=False, cv=3
    )
    both.fit(heart.X[:60], heart.X[:60, 0])
    with pytest.raises(InvalidParameter, match="refit="):
        both.plot()


def test_bounds_against_time():
    parts = [Certificate("a", 3.0, 1.0, 0.0, seconds=0.1), Certificate("a", 2.2, 1.8, 0, seconds=2)]
    ax = parts[1].plot(parts[:1])
    np.testing.assert_array_equal(line(ax, "_upper"), [[0.1, 3.0], [2.0, 2.2]])
    np.testing.assert_array_equal(line(ax, "_lower"), [[0.1, 1.0], [2.0, 1.8]])
    assert parts[0].plot().get_ylabel() == "objective"
    with pytest.raises(InvalidInput, match="no bounds"):
        Certificate("a", 3.0, -np.inf, 0.0).plot()
