"""Fitted machines with their training data, one of each kind that a report can carry a proof of."""

from functools import cache

import numpy as np
from sklearn.datasets import load_diabetes, load_iris

import mercer
import mercer.report.proof.statements
import mercer.report.view
from mercer import RBF, Laplacian, Linear, Matern, Spectrum, White


def _iris():
    X, y = load_iris(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def _words():
    random = np.random.default_rng(0)
    words = ["".join(random.choice(list("acgt"), 20)) for _ in range(60)]
    return words, np.array(["rich" if word.count("a") > 4 else "poor" for word in words])


X, Y = _iris()
D, T = load_diabetes(return_X_y=True)
D, T = D[:200], T[:200]
WORDS, KINDS = _words()
FEW = np.where(np.arange(len(Y)) % 7 == 0, Y, -1)
FEW_T = np.where(np.arange(len(T)) % 5 == 0, T / 100, np.nan)

CASES = {
    "svc": (lambda: mercer.SVC(RBF(gamma=0.5)), X, Y),
    "svc_two_classes": (lambda: mercer.SVC(Laplacian(0.3), C=100.0), X[50:], Y[50:]),
    "svc_sum": (
        lambda: mercer.SVC(0.5 * Matern(nu=2.5, length_scale=[1, 2, 3, 4]) + 0.3 * Linear()),
        X, Y,
    ),
    "svc_weighted": (lambda: mercer.SVC(RBF(gamma=0.5), class_weight="balanced"), X[:110], Y[:110]),
    "svc_on_words": (lambda: mercer.SVC(Spectrum(3)), WORDS, KINDS),
    "nusvc": (lambda: mercer.NuSVC(kernel=RBF(gamma=0.5), nu=0.3), X, Y),
    "nusvc_hulls_meet": (lambda: mercer.NuSVC(kernel=Linear(), nu=0.02), X[50:], Y[50:]),
    "svr": (lambda: mercer.SVR(kernel=RBF(gamma=20.0), C=100.0, epsilon=5.0), D, T),
    "nusvr": (lambda: mercer.NuSVR(kernel=RBF(gamma=20.0), C=100.0), D, T),
    "ridge": (lambda: mercer.KernelRidge(0.1, kernel=RBF(gamma=5.0)), D, T),
    "ridge_with_constant": (
        lambda: mercer.KernelRidge(.1, kernel=Matern(nu=.5, length_scale=.3), fit_intercept=True),
        D, T,
    ),
    "ridge_of_classes": (lambda: mercer.KernelRidgeClassifier(), X, Y),
    "ridge_on_landmarks": (
        lambda: mercer.KernelRidge(.5, kernel=RBF(gamma=5), approximation=30, fit_intercept=True),
        D, T,
    ),
    "ridge_of_classes_on_landmarks": (
        lambda: mercer.KernelRidgeClassifier(0.1, kernel=Laplacian(0.3), approximation=25), X, Y,
    ),
    "process": (
        lambda: mercer.GaussianProcessRegressor(
            1.0 * RBF(length_scale=0.2) + White(0.1), alpha=1e-8, normalize_y=True
        ),
        D[:80], T[:80],
    ),
    "linear": (lambda: mercer.LinearSVC(), X, Y),
    "linear_hinge": (lambda: mercer.LinearSVC(loss="hinge"), X[:100], Y[:100]),
    "linear_regression": (lambda: mercer.LinearSVR(epsilon=5.0, C=10.0), D, T),
    "logistic": (lambda: mercer.LogisticRegression(), X, Y),
    "logistic_two_classes": (lambda: mercer.LogisticRegression(), X[50:], Y[50:]),
    "kernel_logistic": (lambda: mercer.KernelLogisticRegression(kernel=RBF(gamma=0.5)), X, Y),
    "vote_of_classes": (lambda: mercer.AutoClassifier(max_members=2), X, Y),
    "vote_of_numbers": (lambda: mercer.AutoRegressor(max_members=2), D, T),
    "svc_without_bias": (lambda: mercer.SVC(RBF(gamma=0.5), fit_intercept=False), X, Y),
    "svc_one_against_the_rest": (lambda: mercer.SVC(RBF(gamma=0.5), multi_class="ovr"), X, Y),
    "svc_hard": (lambda: mercer.SVC(RBF(gamma=2.0), C=np.inf), X, Y),
    "svc_on_landmarks": (lambda: mercer.SVC(RBF(gamma=0.5), approximation=20), X, Y),
    "svc_of_words_on_landmarks": (
        lambda: mercer.SVC(Spectrum(3), approximation=15), WORDS, KINDS,
    ),
    "svc_negative_distance": (lambda: mercer.SVC(mercer.NegativeDistance()), X, Y),
    "nusvc_on_landmarks": (lambda: mercer.NuSVC(nu=0.3, approximation=20), X, Y),
    "svr_on_landmarks": (
        lambda: mercer.SVR(kernel=RBF(gamma=20.0), C=50.0, approximation=30), D, T,
    ),
    "svr_hard": (lambda: mercer.SVR(kernel=RBF(gamma=200.0), C=np.inf, epsilon=20.0), D, T),
    "oneclass": (lambda: mercer.OneClassSVM(nu=0.2), X, None),
    "oneclass_on_landmarks": (lambda: mercer.OneClassSVM(nu=0.2, approximation=20), X, None),
    "crammer_singer": (
        lambda: mercer.SVC(RBF(gamma=0.5), multi_class="crammer_singer", C=3.0), X, Y,
    ),
    "crammer_singer_with_biases": (
        lambda: mercer.SVC(Linear(), multi_class="crammer_singer", joint_intercepts=True), X, Y,
    ),
    "weston_watkins": (lambda: mercer.SVC(Laplacian(0.3), multi_class="weston_watkins"), X, Y),
    "weston_watkins_with_biases": (
        lambda: mercer.SVC(RBF(gamma=0.5), multi_class="weston_watkins", joint_intercepts=True),
        X, Y,
    ),
    "weston_watkins_on_landmarks": (
        lambda: mercer.SVC(RBF(gamma=0.5), multi_class="weston_watkins", approximation=20), X, Y,
    ),
    "weighing": (lambda: mercer.MultipleKernelClassifier([RBF(gamma=0.5), Linear()]), X, Y),
    "weighing_in_lp": (
        lambda: mercer.MultipleKernelClassifier(
            [RBF(gamma=0.5).on(j) for j in range(4)], method="lp", p=2.0
        ),
        X, Y,
    ),
    "weighing_by_alignment": (
        lambda: mercer.MultipleKernelClassifier([RBF(gamma=0.5), Linear()], method="alignment"),
        X, Y,
    ),
    "weighing_regression": (
        lambda: mercer.MultipleKernelRegressor(
            [RBF(gamma=20.0), Linear()], C=100.0, epsilon=5.0, tol=1e-6
        ),
        D, T,
    ),
    "process_on_landmarks": (
        lambda: mercer.GaussianProcessRegressor(
            1.0 * RBF(length_scale=0.2) + White(0.1), normalize_y=True, approximation=20
        ),
        D[:80], T[:80],
    ),
    "process_of_classes": (
        lambda: mercer.GaussianProcessClassifier(3.0 * RBF(length_scale=1.0), optimizer=None),
        X[::2], Y[::2],
    ),
    "process_of_classes_on_landmarks": (
        lambda: mercer.GaussianProcessClassifier(1.0 * RBF(length_scale=1.0), approximation=15),
        X[50:], Y[50:],
    ),
    "kernel_logistic_on_landmarks": (
        lambda: mercer.KernelLogisticRegression(kernel=RBF(gamma=0.5), approximation=20), X, Y,
    ),
    "streamed_ridge": (lambda: mercer.StreamedRidge(0.5, approximation=30), D, T),
    "streamed_hinge": (lambda: mercer.StreamedClassifier(approximation=20), X, Y),
    "streamed_logistic": (
        lambda: mercer.StreamedClassifier(loss="logistic", approximation=20), X[50:], Y[50:],
    ),
    "few_labels": (lambda: mercer.LaplacianSVC(kernel=RBF(gamma=0.5)), X, FEW),
    "few_labels_hinge": (
        lambda: mercer.LaplacianSVC(
            kernel=RBF(gamma=0.5), loss="hinge", fit_intercept=True, normalized=False, power=2,
        ),
        X, FEW,
    ),
    "few_labels_on_landmarks": (
        lambda: mercer.LaplacianSVC(kernel=RBF(gamma=0.5), approximation=40), X, FEW,
    ),
    "few_targets": (
        lambda: mercer.LaplacianRidge(0.1, kernel=RBF(gamma=5.0), fit_intercept=True), D, FEW_T,
    ),
    "linear_sparse": (lambda: mercer.LinearSVC(penalty="l1", C=0.5, tol=1e-6), X, Y),
    "linear_joint": (lambda: mercer.LinearSVC(multi_class="crammer_singer", C=0.1), X, Y),
    "linear_regression_squared": (
        lambda: mercer.LinearSVR(epsilon=5.0, loss="squared_epsilon_insensitive"), D, T,
    ),
    "logistic_sparse": (lambda: mercer.LogisticRegression(l1_ratio=1.0, solver="saga"), X, Y),
    "logistic_elastic": (
        lambda: mercer.LogisticRegression(l1_ratio=0.5, solver="saga", C=0.3), X, Y,
    ),
    "logistic_free": (lambda: mercer.LogisticRegression(C=np.inf), X[50:, :2], Y[50:]),
    "logistic_liblinear": (
        lambda: mercer.LogisticRegression(solver="liblinear"), X[50:], Y[50:],
    ),
    "linear_ridge": (lambda: mercer.Ridge(0.1), D, T),
    "linear_ridge_free": (lambda: mercer.Ridge(0.0), D, T),
    "linear_ridge_of_two": (lambda: mercer.Ridge([0.1, 1.0]), D, np.column_stack([T, T[::-1]])),
    "lasso": (lambda: mercer.Lasso(0.5), D, T),
    "lasso_positive": (lambda: mercer.Lasso(0.5, positive=True), D, T),
    "elastic_net": (lambda: mercer.ElasticNet(0.05), D, T),
    **{
        f"norm_{p}": (lambda p=p: mercer.NormRegressor(p), D, T)
        for p in (1, 1.5, 2, 3, np.inf)
    },
    "norm_of_matrix": (
        lambda: mercer.NormRegressor(np.diag(np.linspace(1, 2, len(D)))), D, T,
    ),
    **{
        f"norm_in_ball_{ball}": (
            lambda ball=ball: mercer.NormRegressor(2, radius=300.0, ball=ball), D, T,
        )
        for ball in (1, 2, np.inf)
    },
    "norm_1_in_ball": (lambda: mercer.NormRegressor(1, radius=300.0, ball=np.inf), D, T),
    **{
        f"penalty_{name}": (lambda name=name: mercer.PenaltyRegressor(name), D, T / 50)
        for name in ("l1", "l2", "quantile", "dead_zone", "huber")
    },
    "penalty_barrier": (lambda: mercer.PenaltyRegressor(mercer.LogBarrier(10.0)), D, T / 50),
}  # fmt: skip

REPORTED = tuple(CASES)[: tuple(CASES).index("vote_of_numbers") + 1]
"""Machines that ``mercer fit`` ends in; the others have pages of their own."""


@cache
def fitted(name):
    """Return a machine with its data."""
    make, rows, targets = CASES[name]
    return make().fit(rows, targets), rows, targets


@cache
def proof(name):
    return mercer.report.proof.statements.carried_proof(*fitted(name))


@cache
def page(name):
    """Return the report of a machine with its proof, or the proof alone on a page."""
    model, rows, targets = fitted(name)
    if name not in REPORTED:
        return mercer.report.view.render_proof(proof(name), name)
    record = mercer.describe(model, rows, targets, rows[:20], targets[:20], name=name)
    return mercer.report.view.render(record, proof(name))
