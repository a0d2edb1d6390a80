"""Records of real models on real data, made once a session."""

from functools import cache

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes, load_iris
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import (
    RBF,
    SVC,
    SVR,
    Delta,
    Graph,
    Linear,
    LinearSVC,
    OneClassSVM,
    Spectrum,
    WeisfeilerLehman,
    describe,
)

HOSTILE = (
    "<script>alert(1)</script>",
    '"onload="alert(2)" x="',
    "</script><img src=x onerror=alert(3)>",
    "{{7*7}} {% for i in range(9) %}",
    "‮reversed‬ שלום",
    "👩‍🔬 émoji ]]> <!-- &amp; '",
    "\x00\x1b\ud800 control",
    "long" * 2500,
)


def heart():
    data = mercer.load_data("heart")
    X, y = np.asarray(data.X, dtype=float), np.asarray(data.y)
    return train_test_split(X, y, test_size=0.3, random_state=0, stratify=y), data.columns


@cache
def two_classes():
    """Two classes with probabilities, a search over two parameters, some of it dropped."""
    (X, X_test, y, y_test), columns = heart()
    grid = {"C": [0.1, 1.0, 10.0], "kernel__gamma": [1e-3, 1e-2, 1e-1, 1.0]}
    machine = SVC(RBF(gamma=0.1), probability=True, random_state=0)
    search = GridSearchCV(machine, grid, cv=3).fit(X, y)
    results = search.cv_results_
    results["dropped"] = results["mean_test_score"] < 0.7
    results["bound"] = np.where(results["dropped"], 0.75, np.nan)
    results["mean_test_score"] = np.ma.masked_array(results["mean_test_score"], results["dropped"])
    return describe(
        search.best_estimator_, X, y, X_test, y_test, search=search, name="heart",
        target="diagnosis", columns=columns, random_state=1, seconds=1.5,
        kernel_reasons=["Numbers only."], notes=["Scaled before."],
    )  # fmt: skip


@cache
def many_classes():
    """Three classes without probabilities, a sum of kernels, in a pipeline."""
    X, y = load_iris(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    model = make_pipeline(StandardScaler(), SVC(RBF(gamma=0.5) + 0.5 * Linear())).fit(X, y)
    return describe(model, X, y, X_test, y_test, name="iris", target="species")


@cache
def regression():
    """A number from a pandas frame, a search over one parameter."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0, test_size=0.4)
    search = GridSearchCV(SVR(epsilon=5.0), {"C": [1.0, 10.0, 100.0]}, cv=3).fit(X, y)
    return describe(search, X, y, X_test, y_test, search=search, name="diabetes", target="disease")


@cache
def one_class():
    """Inside or outside, without any answers."""
    X, _ = load_iris(return_X_y=True)
    model = OneClassSVM(nu=0.1).fit(X[:40])
    return describe(model, X[:40], None, X[40:90], None, name="setosa")


@cache
def linear():
    (X, X_test, y, y_test), columns = heart()
    return describe(LinearSVC(C=0.1).fit(X, y), X, y, X_test, y_test, columns=columns)


@cache
def hostile():
    """Column names, classes and cells that would do harm if they were not escaped."""
    rng = np.random.default_rng(0)
    texts = [text.replace("\ud800", "") for text in HOSTILE]  # frames cannot hold half a character
    frame = pd.DataFrame({name: [texts[i] for i in rng.integers(8, size=60)] for name in texts})
    y = np.array([HOSTILE[i] for i in rng.integers(3, size=60)], dtype=object)
    kernel = sum((Delta().on(name) for name in texts[1:]), Delta().on(texts[0]))
    model = SVC(kernel).fit(frame[:40], y[:40])
    return describe(
        model, frame[:40], y[:40], frame[40:], y[40:], name=HOSTILE[0], target=HOSTILE[2],
        kernel_reasons=HOSTILE, notes=HOSTILE, task=HOSTILE[3], train_rows=HOSTILE * 5,
        test_rows=HOSTILE * 3,
    )  # fmt: skip


@cache
def letters():
    """Sequences beside a number: a kernel that counts letters, added to one of numbers."""
    rng = np.random.default_rng(0)
    words, y = [], np.arange(90) % 2
    for label in y:
        word = "".join(rng.choice(list("ACGT"), size=rng.integers(40, 60)))
        words.append(word[:8] + "GATTACA" + word[15:] if label else word)
    frame = pd.DataFrame({"age": rng.normal(size=90) + 0.5 * y, "dna": words})
    kernel = 0.3 * RBF(gamma=0.5).on("age") + Spectrum(4).normalized().on("dna")
    model = SVC(kernel).fit(frame[:60], y[:60])
    return describe(model, frame[:60], y[:60], frame[60:], y[60:], name="motif", target="site")


@cache
def nodes():
    """Graphs of three classes: rings with tails."""
    rng = np.random.default_rng(0)
    graphs = []
    for i in range(60):
        size = 4 + i % 3
        edges = [(j, (j + 1) % size) for j in range(size)] + [(0, size), (size, size + 1)]
        graphs.append(Graph(edges, labels=[str(x) for x in rng.choice(list("CNO"), size + 2)]))
    y = np.arange(60) % 3
    model = SVC(WeisfeilerLehman(2).normalized()).fit(graphs[:40], y[:40])
    return describe(model, graphs[:40], y[:40], graphs[40:], y[40:], name="rings")


ALL = (two_classes, many_classes, regression, one_class, linear, hostile, letters, nodes)
