"""Fitted models of every kind, with data to try them on, for the tests of model files."""

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from mercer import (
    ICA,
    PCA,
    RBF,
    SVC,
    SVR,
    BagOfWords,
    Chi2,
    Delta,
    FastICA,
    GaussianProcessClassifier,
    KernelDiscriminant,
    KernelLogisticRegression,
    KernelPCA,
    Laplacian,
    LaplacianRidge,
    LaplacianSVC,
    Linear,
    LinearDiscriminantAnalysis,
    LinearSVC,
    LinearSVR,
    Matern,
    NuSVC,
    NuSVR,
    Nystrom,
    NystromMap,
    OneClassSVM,
    Overlap,
    StreamedClassifier,
    White,
    Whitening,
)
from mercer.estimators.scaling import NumericScaler
from tests.estimators.cases import heart, iris, regression, separable

TEXTS = ["red fish", "blue fish, old fish", "", "new fish é", "old red \u4e2d wine", "blue"] * 4


def _frame(rows=60):
    random = np.random.default_rng(2)
    frame = pd.DataFrame(random.normal(size=(rows, 3)), columns=["age", "bmi", "naïve ☂"])
    frame["sex"] = random.choice(["m", "f", "?"], size=rows)
    frame["smokes"] = random.random(rows) < 0.5
    frame["visits"] = random.integers(0, 5, size=rows)
    frame["seen"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(rows), unit="h")
    return frame, np.where(frame["age"] + (frame["sex"] == "f") > 0.3, "yes", "no")


MIXED = RBF().on("age", "bmi") * Delta().on("sex") + 0.5 * Overlap().on("smokes", "visits")


def _on_frame(convert):
    frame, y = _frame()
    return SVC(MIXED).fit(convert(frame), y), convert(frame)


def _labelled(labels):
    X, y = iris()
    return SVC(C=3.0).fit(X, np.asarray(labels)[y]), X


def _iris(machine):
    X, y = iris()
    return machine.fit(X, y), X


def _half_labelled(machine):
    X, y = iris()
    return machine.fit(X, np.where(np.arange(len(y)) % 2, y, -1)), X


def _heart(machine):
    X, y = heart()
    return machine.fit(X, y), X


def _curve(machine):
    X, y = regression(60)
    return machine.fit(X, y), X


def _sparse(machine, target="classes"):
    random = np.random.default_rng(4)
    X = sparse.random(80, 30, density=0.1, format="csr", random_state=random)
    y = random.integers(0, 3, size=80) if target == "classes" else random.normal(size=80)
    return machine.fit(X, y), X


def _large_sparse():
    """Sparse data beyond the size at which they are made dense."""
    random = np.random.default_rng(4)
    X = sparse.random(60, 40_000, density=1e-3, format="csr", random_state=random)
    return SVC(Linear() + RBF(gamma=0.1)).fit(X, random.integers(0, 2, size=60)), X


def _precomputed(machine):
    X, y = iris()
    return machine.fit(X @ X.T, y), X @ X.T


def _separated():
    X, y = separable()
    return SVC(Linear(), C=float("inf")).fit(X, y), X


def _named_columns():
    frame, y = _frame()
    numbers = frame[["age", "bmi", "naïve ☂"]]
    return SVC().fit(numbers, y), numbers


def _weighted():
    X, y = heart()
    weights = np.where(np.arange(len(y)) % 7 == 0, 0.0, 1.0 + np.arange(len(y)) % 3)
    first, second = np.unique(y).tolist()
    factors = {first: 0.5, second: np.float32(2)}
    model = SVC(class_weight=factors, random_state=np.random.RandomState(3))
    return model.fit(X, y, sample_weight=weights), X


def _texts(machine):
    return machine.fit(TEXTS, np.arange(len(TEXTS)) % 3), TEXTS


CASES = {
    "svc binary": lambda: _heart(SVC()),
    "svc ovo": lambda: _iris(SVC()),
    "svc ovr": lambda: _iris(SVC(multi_class="ovr")),
    "svc weston-watkins": lambda: _iris(SVC(multi_class="weston_watkins")),
    "svc crammer-singer": lambda: _iris(SVC(multi_class="crammer_singer")),
    "svc joint, two classes": lambda: _heart(SVC(multi_class="crammer_singer")),
    "svc ovo shape": lambda: _iris(SVC(decision_function_shape="ovo")),
    "svc ties": lambda: _iris(SVC(break_ties=True)),
    "svc probability": lambda: _heart(SVC(probability=True, random_state=0)),
    "svc probability, three": lambda: _iris(SVC(probability=True, random_state=0)),
    "svc hard margin": _separated,
    "svc weights": _weighted,
    "svc linear": lambda: _iris(SVC("linear")),
    "svc poly": lambda: _iris(SVC("poly", degree=2, coef0=1.0)),
    "svc float32 parameter": lambda: _iris(SVC(RBF(gamma=np.float32(0.3)), C=np.float64(2.0))),
    "svc noise": lambda: _iris(SVC(RBF() + White(0.1))),
    "svc histograms": lambda: _iris(SVC(Chi2(0.3))),
    "svc sparse": lambda: _sparse(SVC()),
    "svc sparse linear": lambda: _sparse(SVC("linear", multi_class="ovr")),
    "svc large sparse": _large_sparse,
    "svc precomputed": lambda: _precomputed(SVC("precomputed")),
    "svc pandas": lambda: _on_frame(lambda frame: frame),
    "svc polars": lambda: _on_frame(pl.from_pandas),
    "svc pyarrow": lambda: _on_frame(lambda frame: pa.Table.from_pandas(frame)),
    "svc named columns": _named_columns,
    "svc texts": lambda: _texts(SVC(BagOfWords().normalized())),
    "svc landmarks": lambda: _iris(SVC(approximation=Nystrom(20, "leverage", random_state=None))),
    "svc landmarks, texts": lambda: _texts(SVC(BagOfWords().normalized(), approximation=4)),
    "svc landmarks, joint": lambda: _iris(SVC(multi_class="crammer_singer", approximation=30)),
    "svc landmarks, centres": lambda: _heart(SVC(approximation=Nystrom(15, "kmeans"))),
    "nusvc landmarks": lambda: _iris(NuSVC(nu=0.2, approximation=20)),
    "svr landmarks": lambda: _curve(SVR(approximation=20)),
    "nusvr landmarks": lambda: _curve(NuSVR(approximation=Nystrom(20, "kmeans"))),
    "one class landmarks": lambda: _iris(OneClassSVM(nu=0.2, approximation=20)),
    "kernel discriminant landmarks": lambda: _iris(KernelDiscriminant(approximation=20)),
    "process classes landmarks": lambda: _iris(GaussianProcessClassifier(approximation=20)),
    "kernel pca landmarks": lambda: _iris(KernelPCA(3, kernel=RBF(), approximation=20)),
    "streamed classifier": lambda: _iris(StreamedClassifier(approximation=20)),
    "streamed logistic": lambda: _heart(StreamedClassifier(loss="logistic", approximation=20)),
    "streamed texts": lambda: _texts(StreamedClassifier(kernel=BagOfWords(), approximation=5)),
    "logistic landmarks": lambda: _iris(KernelLogisticRegression(approximation=20)),
    "nystrom map": lambda: _texts(NystromMap(BagOfWords(), 5)),
    "nystrom map, pipeline": lambda: _iris(make_pipeline(NystromMap(RBF(), 9), LinearSVC())),
    "labels text": lambda: _labelled(["setosa", "versicolor é", "v"]),
    "labels objects": lambda: _labelled(np.array(["b", "a", "ccc"], dtype=object)),
    "labels int8": lambda: _labelled(np.array([-3, 7, 5], dtype=np.int8)),
    "labels floats": lambda: _labelled([3.0, -1.0, 2.0]),
    "labels bool": lambda: (
        SVC().fit(iris()[0], iris()[1] > 0),
        iris()[0],
    ),
    "nusvc": lambda: _iris(NuSVC(nu=0.2)),
    "nusvc ovr probability": lambda: _iris(NuSVC(nu=0.2, multi_class="ovr", probability=True)),
    "svr": lambda: _curve(SVR(Matern(nu=2.5))),
    "svr sparse": lambda: _sparse(SVR(), "numbers"),
    "svr precomputed": lambda: _precomputed(SVR("precomputed")),
    "svr without support": lambda: _curve(SVR(epsilon=100.0)),
    "nusvr": lambda: _curve(NuSVR(Laplacian(0.5))),
    "one class": lambda: _iris(OneClassSVM(nu=0.2)),
    "linear svc": lambda: _iris(LinearSVC(random_state=0)),
    "linear svc binary": lambda: _heart(LinearSVC(random_state=0)),
    "linear svc l1": lambda: _iris(LinearSVC(penalty="l1", random_state=0, max_iter=5000)),
    "linear svc joint": lambda: _iris(LinearSVC(multi_class="crammer_singer", C=0.01, tol=1e-2)),
    "linear svc joint binary": lambda: _heart(LinearSVC(multi_class="crammer_singer", C=0.1)),
    "linear svc sparse": lambda: _sparse(LinearSVC(random_state=0)),
    "linear svc sparsified": lambda: (
        _iris(LinearSVC(random_state=0))[0].sparsify(),
        iris()[0],
    ),
    "linear svr": lambda: _curve(LinearSVR(random_state=0)),
    "linear svr bare": lambda: _curve(LinearSVR(fit_intercept=False, random_state=0)),
    "pipeline": lambda: _iris(make_pipeline(StandardScaler(), SVC())),
    "pipeline min-max": lambda: _iris(make_pipeline(MinMaxScaler(), "passthrough", LinearSVC())),
    "pipeline numeric": lambda: _iris(make_pipeline(NumericScaler(), SVC())),
    "pipeline numeric frame": lambda: (
        make_pipeline(NumericScaler(), SVC(MIXED)).fit(*_frame()),
        _frame()[0],
    ),
    "pca": lambda: _iris(PCA(2, whiten=True)),
    "pca sparse": lambda: _sparse(PCA(3, random_state=0)),
    "whitening": lambda: _iris(Whitening(method="zca")),
    "kernel pca": lambda: _iris(KernelPCA(3, kernel="rbf", fit_inverse_transform=True)),
    "kernel pca texts": lambda: _texts(KernelPCA(2, kernel=BagOfWords())),
    "kernel pca precomputed": lambda: _precomputed(KernelPCA(2, kernel="precomputed")),
    "lda": lambda: _iris(LinearDiscriminantAnalysis()),
    "lda two classes": lambda: _heart(LinearDiscriminantAnalysis("eigen", shrinkage="auto")),
    "laplacian svc": lambda: _half_labelled(LaplacianSVC(kernel=RBF(gamma=0.5))),
    "laplacian ridge": lambda: _curve(LaplacianRidge(fit_intercept=True)),
    "kernel discriminant": lambda: _iris(KernelDiscriminant(Matern(nu=2.5))),
    "ica": lambda: _iris(ICA(2, random_state=0)),
    "fast ica": lambda: _iris(FastICA(2, random_state=0)),
    "pipeline ica": lambda: _iris(make_pipeline(ICA(2, random_state=0), SVC())),
    "pipeline pca": lambda: _iris(make_pipeline(PCA(2), SVC())),
    "svc auto": lambda: _iris(SVC(RBF("auto"), C="auto")),
    "pipeline frame": lambda: (
        make_pipeline(StandardScaler(), SVC()).fit(_frame()[0][["age", "bmi"]], _frame()[1]),
        _frame()[0][["age", "bmi"]],
    ),
}


@cache
def case(name):
    """Return a fitted model and data to try it on."""
    return CASES[name]()


def answers(model, X):
    """Return everything that a model says of data."""
    methods = ("decision_function", "predict", "predict_proba", "score_samples", "transform")
    return {name: getattr(model, name)(X) for name in methods if hasattr(model, name)}
