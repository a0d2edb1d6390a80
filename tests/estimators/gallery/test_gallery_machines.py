"""Support vector machines, as scikit-learn's gallery shows them."""

import numpy as np
import pytest
from sklearn import datasets
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.feature_selection import RFE, SelectPercentile, f_classif
from sklearn.model_selection import (
    StratifiedKFold,
    cross_val_score,
    learning_curve,
    permutation_test_score,
    validation_curve,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.estimators.gallery.both import plane, run_both

IRIS = datasets.load_iris()
DIGITS = datasets.load_digits()
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


def margins(library):
    """The margin of two clouds, wide and narrow."""
    random = np.random.RandomState(0)
    X = np.r_[random.randn(20, 2) - 2, random.randn(20, 2) + 2]
    y = np.repeat([0, 1], 20)
    found = {}
    for C in (1.0, 0.05):
        machine = library.SVC(kernel="linear", C=C).fit(X, y)
        found[f"surface {C}"] = machine.decision_function(plane(X))
        found[f"vectors {C}"] = machine.support_
        found[f"margin {C}"] = 1 / np.linalg.norm(machine.coef_)
    return found


def weighted_samples(library):
    """A few rows that count much more than others bend the boundary."""
    random = np.random.RandomState(0)
    X = np.r_[random.randn(10, 2) + 1, random.randn(10, 2)]
    y = np.repeat([1, -1], 10)
    weights = np.abs(random.randn(20))
    heavy = weights.copy()
    heavy[15:] *= 5
    heavy[9] *= 15
    machine = library.SVC(gamma=1)
    surfaces = [
        machine.fit(X, y, sample_weight=w).decision_function(plane(X)) for w in (weights, heavy)
    ]
    return {"surfaces": np.array(surfaces)}


def unbalanced_classes(library):
    """The boundary between a large and a small class, with and without weights of classes."""
    X, y = datasets.make_blobs(
        [1000, 100], centers=[[0, 0], [2, 2]], cluster_std=[1.5, 0.5], random_state=0
    )
    plain = library.SVC(kernel="linear").fit(X, y)
    fair = library.SVC(kernel="linear", class_weight={1: 10}).fit(X, y)
    return {
        "surface": plain.decision_function(plane(X)),
        "weighted surface": fair.decision_function(plane(X)),
    }


def kernel_of_ones_own(library):
    """A kernel given as a function: x·M·z on two columns of the irises."""
    X, y = IRIS.data[:, :2], IRIS.target

    def kernel(A, B):
        return A @ np.array([[2.0, 0.0], [0.0, 1.0]]) @ B.T

    machine = library.SVC(kernel=kernel).fit(X, y)
    return {"classes": machine.predict(plane(X)), "score": machine.score(X, y)}


def machines_on_irises(library):
    """Four machines on two columns of the irises."""
    X, y = IRIS.data[:, :2], IRIS.target
    machines = {
        "linear": library.SVC(kernel="linear"),
        "LinearSVC": library.LinearSVC(max_iter=10000),
        "rbf": library.SVC(gamma=0.7),
        "poly": library.SVC(kernel="poly", degree=3, gamma="auto"),
    }
    return {name: machine.fit(X, y).predict(plane(X)) for name, machine in machines.items()}


def exclusive_or(library):
    """A ν-machine learns exclusive or."""
    random = np.random.RandomState(0)
    X = random.randn(300, 2)
    y = np.logical_xor(X[:, 0] > 0, X[:, 1] > 0)
    machine = library.NuSVC(gamma="auto").fit(X, y)
    return {"surface": machine.decision_function(plane(X)), "score": machine.score(X, y)}


def ties(library):
    """Which class has a point between four clouds, with and without the breaking of ties."""
    X, y = datasets.make_blobs(random_state=27)
    found = {}
    for broken in (False, True):
        machine = library.SVC(
            kernel="linear", C=1, break_ties=broken, decision_function_shape="ovr"
        ).fit(X, y)
        found[f"classes {broken}"] = machine.predict(plane(X))
    return found


def novelties(library):
    """What a one-class machine takes for new."""
    random = np.random.RandomState(0)
    X = 0.3 * random.randn(100, 2)
    X = np.r_[X + 2, X - 2]
    outliers = random.uniform(-4, 4, (20, 2))
    machine = library.OneClassSVM(nu=0.1, gamma=0.1).fit(X)
    return {
        "surface": machine.decision_function(plane(outliers)),
        "new": machine.predict(0.3 * random.randn(40, 2) + 2),
        "outliers": machine.predict(outliers),
    }


def kernel_parameters(library):
    """The heat map of C and γ, and the classes of a few cells."""
    X, y = StandardScaler().fit_transform(IRIS.data), IRIS.target
    grid = {"C": np.logspace(-2, 6, 5), "gamma": np.logspace(-6, 2, 5)}
    search = library.GridSearchCV(library.SVC(), grid, cv=FOLDS).fit(X, y)
    found = {
        "map": search.cv_results_["mean_test_score"],
        "ranks": search.cv_results_["rank_test_score"],
        "best": search.best_score_,
    }
    two, z = X[y > 0][:, :2], y[y > 0]
    for C in (1e-2, 1, 1e2):
        for gamma in (1e-1, 1, 10):
            machine = library.SVC(C=C, gamma=gamma).fit(two, z)
            found[f"surface {C} {gamma}"] = machine.decision_function(plane(two))
    return found


def sine_by_regression(library):
    """Three kernels follow a noisy sine."""
    random = np.random.RandomState(0)
    X = np.sort(5 * random.rand(40, 1), axis=0)
    y = np.sin(X).ravel()
    y[::5] += 3 * (0.5 - random.rand(8))
    machines = {
        "rbf": library.SVR(kernel="rbf", C=100, gamma=0.1, epsilon=0.1),
        "linear": library.SVR(kernel="linear", C=100, gamma="auto"),
        "poly": library.SVR(kernel="poly", C=0.1, gamma="auto", degree=3, coef0=1),
        "nu": library.NuSVR(C=10, gamma=0.5),
    }
    at = np.linspace(0, 5, 80)[:, None]
    return {name: machine.fit(X, y).predict(at) for name, machine in machines.items()}


def ridge_against_regression(library):
    """Kernel ridge and support vector regression, each with parameters found by a search."""
    random = np.random.RandomState(42)
    X = 5 * random.rand(300, 1)
    y = np.sin(X).ravel()
    y[::5] += 3 * (0.5 - random.rand(60))
    at = np.linspace(0, 5, 80)[:, None]
    widths = np.logspace(-2, 2, 5)
    svr = library.GridSearchCV(
        library.SVR(kernel="rbf", gamma=0.1), {"C": [1, 10, 100], "gamma": widths}
    ).fit(X[:100], y[:100])
    ridge = library.GridSearchCV(
        library.KernelRidge(kernel="rbf", gamma=0.1), {"alpha": [1, 0.1, 1e-2], "gamma": widths}
    ).fit(X[:100], y[:100])
    return {
        "machine": svr.predict(at),
        "ridge": ridge.predict(at),
        "scores": [svr.best_score_, ridge.best_score_],
    }


def chosen_columns(library):
    """Accuracy against the share of columns that a test lets through."""
    random = np.random.RandomState(0)
    X = np.hstack([IRIS.data, 2 * random.rand(150, 36)])
    scores = [
        cross_val_score(
            make_pipeline(
                SelectPercentile(f_classif, percentile=p),
                StandardScaler(),
                library.SVC(gamma="auto"),
            ),
            X,
            IRIS.target,
        ).mean()
        for p in (1, 3, 6, 10, 15, 20, 40, 60, 100)
    ]
    return {"scores": scores}


def eliminated_pixels(library):
    """The order in which recursive elimination drops pixels of digits."""
    X, y = DIGITS.data[:300] / 16, DIGITS.target[:300]
    ranking = RFE(library.SVC(kernel="linear", C=1), n_features_to_select=10, step=6).fit(X, y)
    return {"kept": ranking.support_}


def recognised_digits(library):
    """Digits, learnt from one half and recognised in the other."""
    X, y = DIGITS.data, DIGITS.target
    machine = library.SVC(gamma=0.001).fit(X[:898], y[:898])
    return {"digits": machine.predict(X[898:])}


def curves_of_learning(library):
    """Scores against γ, and against the number of rows."""
    X, y = DIGITS.data[:400], DIGITS.target[:400]
    by_gamma = validation_curve(
        library.SVC(), X, y, param_name="gamma", param_range=np.logspace(-6, -1, 5), cv=FOLDS
    )
    _, *by_size = learning_curve(library.SVC(gamma=0.001), X, y, cv=FOLDS)
    return {"gamma": np.array(by_gamma), "size": np.array(by_size)}


def significance(library):
    """The score of irises against scores with shuffled labels."""
    score, shuffled, p = permutation_test_score(
        library.SVC(kernel="linear", random_state=7),
        IRIS.data, IRIS.target, cv=FOLDS, n_permutations=20, random_state=0,
    )  # fmt: skip
    return {"score": score, "shuffled": shuffled.mean(), "p": p}


def several_labels(library):
    """Rows with several labels, one machine for each."""
    X, y = datasets.make_multilabel_classification(n_classes=2, n_labels=1, random_state=1)
    machine = OneVsRestClassifier(library.SVC(kernel="linear")).fit(X[:, :2], y)
    return {"surfaces": machine.decision_function(plane(X))}


def calibrated(library):
    """Calibrated probabilities of a linear machine."""
    X, y = datasets.make_classification(600, 20, n_informative=2, n_redundant=10, random_state=42)
    found = {}
    for method in ("sigmoid", "isotonic"):
        machine = CalibratedClassifierCV(library.LinearSVC(), method=method, cv=2)
        machine.fit(X[:300], y[:300])
        found[method] = np.mean((machine.predict_proba(X[300:])[:, 1] - y[300:]) ** 2)
    return found


def committees(library):
    """Machines as members of votes and stacks."""
    X, y = IRIS.data[:, [0, 2]], IRIS.target
    members = [
        ("machine", library.SVC(gamma=0.1)),
        ("logistic", library.LogisticRegression()),
    ]
    vote = VotingClassifier(members).fit(X, y)
    stack = StackingClassifier(members, library.LogisticRegression(), cv=FOLDS).fit(X, y)
    return {"vote": vote.predict(plane(X)), "stack": stack.predict(plane(X))}


PROGRAMS = (
    margins, weighted_samples, unbalanced_classes, kernel_of_ones_own, machines_on_irises,
    exclusive_or, ties, novelties, kernel_parameters, sine_by_regression,
    ridge_against_regression, chosen_columns, eliminated_pixels, recognised_digits,
    curves_of_learning, significance, several_labels, calibrated, committees,
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_same_pictures(program):
    run_both(program)
