"""Small models of every kind, written to files once by each released version.

``python -m tests.io.old_models FOLDER`` writes them with the version that is installed: the model,
and in its record the data and what the model said of them. ``files_0_1`` was written by 0.1.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn import mixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import mercer
from mercer import RBF, SVC, BagOfWords, Delta, KernelPCA, LinearSVC, Nystrom, White

ROWS = 18
RANDOM = np.random.default_rng(7)
X = np.round(RANDOM.normal(size=(ROWS, 3)), 2)
NUMBERS = np.round(np.sin(X[:, 0]) + X[:, 1], 2)
TWO = np.where(NUMBERS > 0, "yes", "no")
THREE = np.digitize(NUMBERS, [-0.5, 0.5])
HALF = np.where(np.arange(ROWS) % 2, THREE, -1)
TEXTS = ["red fish", "blue fish, old", "", "new fish é", "old wine", "blue"] * 3
FRAME = pd.DataFrame({"age": X[:, 0], "sex": np.where(X[:, 1] > 0, "m", "f")})
SPARSE = sparse.csr_matrix(np.where(np.abs(X) > 1, X, 0.0))


def _svm():
    joint = "crammer-singer"
    yield "svc binary", SVC(), X, TWO
    yield "svc ovo", SVC(probability=True, random_state=0), X, THREE
    yield "svc ovr", SVC(multi_class="ovr"), X, THREE
    yield "svc joint", SVC(multi_class=joint), X, THREE
    yield "svc joint landmarks", SVC(multi_class=joint, approximation=6), X, THREE
    yield "svc landmarks", SVC(approximation=Nystrom(6, "kmeans")), X, TWO
    yield "svc texts", SVC(BagOfWords().normalized()), TEXTS, THREE
    yield "svc frame", SVC(RBF().on("age") * Delta().on("sex")), FRAME, TWO
    yield "svc sparse", SVC("linear"), SPARSE, TWO
    yield "svc precomputed", SVC("precomputed"), X @ X.T, TWO
    yield "svc auto", SVC(RBF("auto"), C="auto"), X, TWO
    yield "nusvc", mercer.NuSVC(nu=0.2), X, TWO
    yield "svr", mercer.SVR(mercer.Matern(nu=2.5)), X, NUMBERS
    yield "nusvr", mercer.NuSVR(mercer.Laplacian(0.5)), X, NUMBERS
    yield "one class", mercer.OneClassSVM(nu=0.3), X, None


def _linear():
    two = np.c_[NUMBERS, X[:, 0]]
    yield "linear svc", LinearSVC(random_state=0), X, THREE
    yield "linear svc joint", LinearSVC(multi_class="crammer_singer", C=0.01, tol=1e-2), X, THREE
    yield "linear svr", mercer.LinearSVR(random_state=0), X, NUMBERS
    yield "lasso", mercer.Lasso(0.05), X, NUMBERS
    yield "elastic net", mercer.ElasticNet(0.05), X, two
    yield "ridge", mercer.Ridge(), X, two
    yield "norm", mercer.NormRegressor(1), X, NUMBERS
    yield "penalty", mercer.PenaltyRegressor(mercer.Huber(0.7)), X, NUMBERS
    yield "penalty quantile", mercer.PenaltyRegressor(mercer.Quantile(0.3)), X, NUMBERS
    yield "logistic", mercer.LogisticRegression(), X, THREE
    yield "kernel logistic", mercer.KernelLogisticRegression(), X, THREE
    yield "kernel logistic landmarks", mercer.KernelLogisticRegression(approximation=6), X, TWO


def _rows():
    kernel = 1.0 * RBF(length_scale=1.0) + White(0.1)
    yield "kernel ridge", mercer.KernelRidge(kernel="rbf", fit_intercept=True), X, NUMBERS
    yield "kernel ridge path", mercer.KernelRidge("auto", kernel=RBF(gamma=0.5)), X, NUMBERS
    yield "kernel ridge landmarks", mercer.KernelRidge(kernel="rbf", approximation=6), X, NUMBERS
    yield "process", mercer.GaussianProcessRegressor(kernel, normalize_y=True), X, NUMBERS
    sparse_process = mercer.GaussianProcessRegressor(kernel, alpha=1e-2, approximation=6)
    yield "process landmarks", sparse_process, X, NUMBERS
    yield "process classes", mercer.GaussianProcessClassifier(RBF(length_scale=1.0)), X, THREE
    yield "laplacian svc", mercer.LaplacianSVC(kernel=RBF(gamma=0.5), n_neighbors=4), X, HALF
    yield "laplacian ridge", mercer.LaplacianRidge(fit_intercept=True, n_neighbors=4), X, NUMBERS
    yield "streamed ridge", mercer.StreamedRidge(approximation=6), X, NUMBERS
    yield "streamed classifier", mercer.StreamedClassifier(approximation=6), X, THREE
    logistic = mercer.StreamedClassifier(loss="logistic", approximation=6)
    yield "streamed logistic", logistic, X, TWO


def _networks():
    small = {"hidden_layer_sizes": (3,), "max_iter": 20, "random_state": 0}
    yield "perceptron", mercer.Perceptron(random_state=0), X, THREE
    yield "adaline", mercer.Adaline(random_state=0), X, TWO
    yield "kernel perceptron", mercer.KernelPerceptron(random_state=0), X, THREE
    yield "mlp classifier", mercer.MLPClassifier(**small), X, THREE
    yield "mlp regressor", mercer.MLPRegressor(solver="sgd", **small), X, NUMBERS


def _maps():
    yield "pca", mercer.PCA(2, whiten=True), X, None
    yield "whitening", mercer.Whitening(method="zca"), X, None
    yield "kernel pca", KernelPCA(2, kernel="rbf", fit_inverse_transform=True), X, None
    yield "kernel pca landmarks", KernelPCA(2, kernel=RBF(), approximation=6), X, None
    yield "lda", mercer.LinearDiscriminantAnalysis(), X, THREE
    yield "lda eigen", mercer.LinearDiscriminantAnalysis("eigen", shrinkage="auto"), X, TWO
    yield "kernel discriminant", mercer.KernelDiscriminant(mercer.Matern(nu=2.5)), X, THREE
    yield "ica", mercer.ICA(2, random_state=0), X, None
    yield "fast ica", mercer.FastICA(2, random_state=0), X, None
    yield "feature map", mercer.FeatureMap(BagOfWords()), TEXTS, None
    yield "nystrom map", mercer.NystromMap(RBF(), 5), X, None
    yield "numeric scaler", mercer.NumericScaler(), X, None
    scaled = make_pipeline(mercer.NumericScaler(), SVC(RBF().on("age")))
    yield "numeric scaler frame", scaled, FRAME, TWO
    yield "standard pipeline", make_pipeline(StandardScaler(), LinearSVC(random_state=0)), X, TWO
    yield "min-max pipeline", make_pipeline(MinMaxScaler(), "passthrough", LinearSVC()), X, TWO
    yield "mixture", mercer.GaussianMixture(2, random_state=0), X, None
    fisher = mercer.Fisher(mixture.GaussianMixture(2, reg_covar=0.1, random_state=0))
    yield "fisher svc", SVC(fisher), X, TWO
    words = ["abba", "aab", "bbba", "ab", "aaaab", "ba"]
    discrete = mercer.HiddenMarkovModel(2, emissions="discrete", random_state=0)
    yield "hidden markov", discrete, words, None
    series = [X[:6], X[6:12], X[12:]]
    yield "hidden markov gaussian", mercer.HiddenMarkovModel(2, random_state=0), series, None


def cases():
    """Yield the name, the machine, the data and the targets of each case."""
    for part in (_svm, _linear, _rows, _networks, _maps):
        yield from part()


METHODS = ("decision_function", "predict", "predict_proba", "score_samples", "transform")


def answers(model, data):
    """Return everything that a model says of data."""
    found = {name: getattr(model, name)(data) for name in METHODS if hasattr(model, name)}
    if isinstance(model, mercer.GaussianProcessRegressor):
        found["std"] = model.predict(data, return_std=True)[1]
    return found


def main(folder):
    folder = Path(folder)
    folder.mkdir(exist_ok=True)
    for name, machine, data, targets in cases():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = machine.fit(data) if targets is None else machine.fit(data, targets)
            seen = data[:5] if not hasattr(data, "iloc") else data.iloc[:5]
            record = {"data": seen, "answers": answers(model, seen)}
        mercer.save(model, folder / f"{name.replace(' ', '_')}.mercer", record=record)


if __name__ == "__main__":
    main(sys.argv[1])
