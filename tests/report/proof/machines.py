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
}  # fmt: skip


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
    """Return the report of a machine with its proof."""
    model, rows, targets = fitted(name)
    record = mercer.describe(model, rows, targets, rows[:20], targets[:20], name=name)
    return mercer.report.view.render(record, proof(name))
