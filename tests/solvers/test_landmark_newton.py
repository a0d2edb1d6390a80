"""Classification on landmarks against dense solvers, where rounding hurts too."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_digits

from mercer import RBF
from mercer.gram.chunks import ArrayChunks
from mercer.gram.passes import LandmarkProducts, Swept
from mercer.gram.products import StreamedProducts
from mercer.problems.landmark_losses import Curve, LandmarkClasses, Logistic, Slope, SquaredHinge
from mercer.solvers import landmark_newton
from mercer.solvers.landmark_basis import LandmarkBasis

COUNT = 50


def _problem(gamma, classes, rows=900):
    random = np.random.default_rng(2)
    X = random.standard_normal((rows, 3))
    score = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * random.standard_normal(rows)
    labels = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
    kernel = RBF(gamma=gamma)
    points = kernel.encode(X[:COUNT])
    basis = LandmarkBasis(kernel(points), True)
    landmarks = points.take(basis.kept)
    chunks = ArrayChunks(X, labels, None, 300)
    return X, labels, kernel, landmarks, basis, StreamedProducts(kernel, landmarks, chunks, True)


def _dense_optimum(features, labels, loss, C):
    """The least objective that L-BFGS finds from features and a constant."""
    Z = np.column_stack([features, np.ones(len(features))])

    def objective(w):
        W = w.reshape(Z.shape[1], loss.functions)
        U = Z @ W
        gradient = np.vstack([W[:-1], np.zeros_like(W[-1:])]) - C * Z.T @ loss.pull(U, labels)
        return 0.5 * (W[:-1] ** 2).sum() + C * loss.values(U, labels).sum(), gradient.ravel()

    start = np.zeros(Z.shape[1] * loss.functions)
    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 50}
    return minimize(objective, start, jac=True, method="L-BFGS-B", options=options).fun


@pytest.mark.parametrize("gamma", [0.5, 0.02])
@pytest.mark.parametrize("C", [0.1, 100.0])
@pytest.mark.parametrize(
    "loss", [SquaredHinge(2), SquaredHinge(4), Logistic(2), Logistic(4)], ids=str
)
def test_the_answer_is_that_of_a_dense_solver(loss, C, gamma):
    X, labels, kernel, landmarks, basis, products = _problem(gamma, loss.classes)
    problem = LandmarkClasses(loss, C, True)
    found = landmark_newton.solve(products, basis, problem, 1e-5)
    proof = found.certificate
    assert proof.status == "optimal"
    assert proof.relative_gap < 1e-8
    features = np.linalg.solve(basis.R.T, kernel(X, landmarks).T).T
    best = _dense_optimum(features, labels, loss, C)
    assert proof.primal == pytest.approx(best, rel=1e-6)
    assert proof.dual <= best * (1 + 1e-9)


class Noted(LandmarkProducts):
    """Notes what each pass was for, and whether it was in float64."""

    def __init__(self, products):
        self._products, self.passes, self.squares = products, [], 0
        self.rows, self.columns, self.constant = products.rows, products.columns, products.constant

    def sweep(self, V, rule, precise=False, whitener=None):
        self.passes.append((type(rule), precise))
        return self._products.sweep(V, rule, precise, whitener)

    def square(self, V, weighting, R, share=1.0, precise=False):
        self.squares += 1
        return self._products.square(V, weighting, R, share, precise)


@pytest.mark.parametrize("loss", [SquaredHinge(4), Logistic(4)], ids=str)
def test_far_from_the_answer_float32_will_do(loss):
    *_, basis, products = _problem(0.5, 4)
    noted = Noted(products)
    proof = landmark_newton.solve(noted, basis, LandmarkClasses(loss, 1.0, True), 1e-4).certificate
    looks = [precise for rule, precise in noted.passes if rule is Slope]
    assert not any(looks[:3])
    assert looks[-1]
    assert not any(precise for rule, precise in noted.passes if rule is Curve)
    assert proof.relative_gap < 1e-8


def _digits():
    """Return the parts of a problem with ten classes, of which few rows pull in the end."""
    X, labels = load_digits(return_X_y=True)
    kernel = RBF(gamma=0.001)
    landmarks = kernel.encode(X[:200])
    basis = LandmarkBasis(kernel(landmarks), True)
    products = StreamedProducts(kernel, landmarks.take(basis.kept), ArrayChunks(X, labels), True)
    return Noted(products), basis, LandmarkClasses(SquaredHinge(10), 10.0, True)


def test_steps_that_are_neither_too_long_nor_too_short_are_fewer(monkeypatch):
    looks = []
    for lowest in (landmark_newton._lowest, lambda t, values: 1.0):
        monkeypatch.setattr(landmark_newton, "_lowest", lowest)
        noted, basis, problem = _digits()
        assert landmark_newton.solve(noted, basis, problem).certificate.status == "optimal"
        looks.append(sum(rule is Slope for rule, _ in noted.passes))
    assert looks[0] <= looks[1] - 2


@pytest.mark.parametrize("left", [("_CHANGE",), ("_MANY_STEPS", "_PATIENCE")], ids=str)
def test_a_preconditioner_is_renewed_where_other_rows_pull_or_it_is_slow(left, monkeypatch):
    passes = []
    for names in (("_CHANGE", "_MANY_STEPS", "_PATIENCE"), left):
        with monkeypatch.context() as patch:
            for name in names:
                patch.setattr(landmark_newton, name, np.inf)
            noted, basis, problem = _digits()
            landmark_newton.solve(noted, basis, problem)
        passes.append(len(noted.passes))
        assert (noted.squares > 2) == (len(passes) == 2)
    assert passes[1] < passes[0] / 2


class Flattering(Noted):
    """Says in float32 that any place but the first is the best one."""

    def __init__(self, products, basis):
        super().__init__(products)
        self._square = basis.R.T @ basis.R

    def sweep(self, V, rule, precise=False, whitener=None):
        swept = super().sweep(V, rule, precise, whitener)
        if precise or not isinstance(rule, Slope) or not V.any():
            return swept
        return Swept(np.vstack([self._square @ V[:-1], 0 * V[-1:]]), swept.totals)


def test_an_arrival_in_float32_is_looked_at_again():
    *_, basis, products = _problem(0.5, 2)
    problem = LandmarkClasses(SquaredHinge(2), 1.0, True)
    proof = landmark_newton.solve(Flattering(products, basis), basis, problem, 1e-5).certificate
    assert proof.status == "optimal"
    assert proof.relative_gap < 1e-9


def test_steps_whose_fall_rounding_hides_are_judged_by_the_gap():
    *_, basis, products = _problem(0.005, 4)
    problem = LandmarkClasses(SquaredHinge(4), 100.0, True)
    proof = landmark_newton.solve(products, basis, problem, 1e-5).certificate
    assert proof.status == "optimal"
    assert proof.relative_gap < 1e-8


@pytest.mark.parametrize("at", [-2.0, 0.3, 1.0, 1.37])
def test_the_lowest_place_of_a_parabola(at):
    t = np.array([0.1, 0.25, 0.5, 1.0, 1.25, 2.0])
    assert landmark_newton._lowest(t, 3 * (t - at) ** 2 - 5) == pytest.approx(max(at, 0.1))


def test_the_lowest_place_of_a_line_is_an_end():
    t = np.array([0.1, 0.5, 1.0])
    assert landmark_newton._lowest(t, -t) == 1.0
    assert landmark_newton._lowest(t, np.zeros(3)) == 0.1
