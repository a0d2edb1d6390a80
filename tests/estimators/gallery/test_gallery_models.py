"""Linear models, Gaussian processes, networks and subspaces, as scikit-learn's gallery has them."""

import numpy as np
import pytest
from scipy.linalg import hilbert
from sklearn import datasets
from sklearn.gaussian_process import kernels
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import l1_min_c

from tests.estimators.gallery.both import plane, run_both, without_signs

IRIS = datasets.load_iris()
DIGITS = datasets.load_digits()
DIABETES = datasets.load_diabetes()


def several_classes(library):
    """Three clouds, by one softmax and by one machine for each class."""
    X, y = datasets.make_blobs(1000, centers=[[-5, 0], [0, 1.5], [5, -1]], random_state=40)
    X = X @ np.array([[0.4, 0.2], [-0.4, 1.2]])
    softmax = library.LogisticRegression(tol=1e-8).fit(X, y)
    each = OneVsRestClassifier(library.LogisticRegression(tol=1e-8)).fit(X, y)
    return {
        "softmax": softmax.predict_proba(plane(X)),
        "each": each.predict(plane(X)),
        "lines": softmax.coef_,
    }


def path_of_a_logistic_penalty(library):
    """Weights of a sparse logistic regression against C.

    At larger C scikit-learn, which visits columns in a random order, may stop at a value that is
    0.03 % above ours.
    """
    X, y = IRIS.data[IRIS.target != 2], IRIS.target[IRIS.target != 2]
    X = X / X.max()
    least = l1_min_c(X, y, loss="log")
    machine = library.LogisticRegression(
        l1_ratio=1, solver="liblinear", tol=1e-6, max_iter=10**6, warm_start=True,
        intercept_scaling=10000.0, random_state=0,
    )  # fmt: skip
    weights = [
        machine.set_params(C=C).fit(X, y).coef_.ravel().copy() for C in least * np.logspace(0, 5, 6)
    ]
    return {"weights": np.array(weights)}


def sparsity_of_logistic_regressions(library):
    """Which pixels three penalties leave, for digits above four."""
    X, y = StandardScaler().fit_transform(DIGITS.data[:400]), DIGITS.target[:400] > 4
    found = {}
    for C in (1, 0.1, 0.01):
        for ratio in (1, 0.5, 0):
            machine = library.LogisticRegression(
                C=C, l1_ratio=ratio, solver="saga", tol=1e-6, max_iter=5000
            ).fit(X, y)
            found[f"{C} {ratio}"] = machine.coef_
    return found


def sparse_signals(library):
    """Lasso and elastic net find few weights among many correlated columns."""
    random = np.random.RandomState(0)
    times = np.linspace(-2, 2, 50)
    frequencies = np.sort(random.rand(100))
    X = np.sin(np.multiply.outer(times, frequencies) * 2 * np.pi) + 0.1 * random.randn(50, 100)
    weights = np.zeros(100)
    weights[:10] = (-1) ** np.arange(10) * np.exp(-np.arange(10) / 10)
    y = X @ weights + 0.2 * random.randn(50)
    found = {}
    for name, model in {
        "lasso": library.Lasso(alpha=0.02),
        "net": library.ElasticNet(alpha=0.08, l1_ratio=0.5),
    }.items():
        model.fit(X[:25], y[:25])
        found[name] = model.coef_
        found[f"{name} score"] = r2_score(y[25:], model.predict(X[25:]))
    return found


def paths_of_weights(library):
    """Paths of the lasso and of the elastic net, free and positive."""
    X, y = DIABETES.data / DIABETES.data.std(axis=0), DIABETES.target
    found = {}
    for positive in (False, True):
        _, found[f"lasso {positive}"], _ = library.lasso_path(X, y, eps=5e-3, positive=positive)
        _, found[f"net {positive}"], _ = library.enet_path(
            X, y, eps=5e-3, l1_ratio=0.8, positive=positive
        )
    return found


def chosen_penalty(library):
    """The penalty of a lasso, chosen by cross-validation."""
    X, y = DIABETES.data[:150], DIABETES.target[:150]
    search = library.GridSearchCV(
        library.Lasso(random_state=0, max_iter=10000),
        {"alpha": np.logspace(-4, -0.5, 15)},
        cv=KFold(5),
    ).fit(X, y)
    return {"curve": search.cv_results_["mean_test_score"], "best": search.best_index_}


def projections_of_an_image(library):
    """An image of few bright pixels from sums over lines: ridge blurs it, lasso does not."""
    random = np.random.RandomState(0)
    image = (random.rand(16, 16) > 0.9).astype(float)
    x, z = np.indices(image.shape) - 7.5
    sums = []
    for angle in np.linspace(0, np.pi, 12, endpoint=False):
        lines = np.round(x * np.cos(angle) + z * np.sin(angle)).astype(int)
        sums += [(lines == line).ravel() for line in range(-8, 9)]
    A = np.array(sums, dtype=float)
    y = A @ image.ravel() + 0.05 * random.randn(len(A))
    ridge, lasso = library.Ridge(alpha=0.2), library.Lasso(alpha=0.001, tol=1e-6, max_iter=10**5)
    return {"ridge": ridge.fit(A, y).coef_, "lasso": lasso.fit(A, y).coef_}


def ridge_on_a_hilbert_matrix(library):
    """Weights of an ill-posed problem against the penalty."""
    weights = [
        library.Ridge(alpha=alpha, fit_intercept=False).fit(hilbert(10), np.ones(10)).coef_
        for alpha in np.logspace(-10, -2, 20)
    ]
    return {"weights": np.array(weights)}


def perceptron_on_digits(library):
    """Errors of a perceptron against the share of digits that it sees."""
    X, y = DIGITS.data, DIGITS.target
    errors = [
        np.mean([
            1 - library.Perceptron(max_iter=110, random_state=seed)
            .fit(X[: int(1400 * share)], y[: int(1400 * share)]).score(X[1400:], y[1400:])
            for seed in range(5)
        ])
        for share in (0.1, 0.3, 0.5, 0.9)
    ]  # fmt: skip
    return {"scores": 1 - np.array(errors)}


def shrinkage(library):
    """Linear discriminants with more and more columns of noise, plain and shrunk."""
    random = np.random.RandomState(0)
    found = {}
    for shrunk in (None, "auto", 0.5):
        scores = np.zeros((20, 4))
        for row, columns in np.ndindex(scores.shape):
            X = random.randn(220, (1, 5, 20, 60)[columns])
            y = np.arange(220) % 2
            X[:, 0] += 4 * y - 2
            model = library.LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrunk)
            scores[row, columns] = model.fit(X[:20], y[:20]).score(X[20:], y[20:])
        found[str(shrunk)] = scores.mean(axis=0)
    return found


def discriminants(library):
    """The boundary of linear discriminant analysis, and its plane of the irises."""
    model = library.LinearDiscriminantAnalysis(n_components=2)
    projected = model.fit(IRIS.data, IRIS.target).transform(IRIS.data)
    two = library.LinearDiscriminantAnalysis(solver="svd", store_covariance=True)
    two.fit(IRIS.data[:100, :2], IRIS.target[:100])
    return {
        "irises": without_signs(projected.T),
        "surface": two.predict_proba(plane(IRIS.data[:, :2]))[:, 1],
        "covariance": two.covariance_,
    }


def components_of_irises(library):
    """Three principal components, and their share of the variance."""
    model = library.PCA(n_components=3).fit(IRIS.data)
    return {
        "components": without_signs(model.components_),
        "shares": model.explained_variance_ratio_,
        "whitened": np.abs(library.PCA(2, whiten=True).fit_transform(IRIS.data)),
        "likelihood": [library.PCA(k).fit(IRIS.data).score(IRIS.data) for k in (1, 2, 3)],
    }


def circles(library):
    """Kernel components pull two circles apart."""
    X, _ = datasets.make_circles(300, factor=0.3, noise=0.05, random_state=0)
    model = library.KernelPCA(
        n_components=2, kernel="rbf", gamma=10, fit_inverse_transform=True, alpha=0.1
    )
    projected = model.fit_transform(X)
    return {"projected": np.abs(projected), "back": model.inverse_transform(projected)}


def cleaned_digits(library):
    """Noisy digits, through a few components and back."""
    random = np.random.RandomState(0)
    X = DIGITS.data[:500] / 16
    noisy = X + 0.25 * random.randn(*X.shape)
    linear = library.PCA(n_components=32, random_state=42).fit(noisy[:400])
    kernel = library.KernelPCA(
        n_components=200, kernel="rbf", gamma=1e-3, fit_inverse_transform=True, alpha=5e-3,
        random_state=42,
    ).fit(noisy[:400])  # fmt: skip
    return {
        "linear": linear.inverse_transform(linear.transform(noisy[400:])),
        "kernel": kernel.inverse_transform(kernel.transform(noisy[400:])),
    }


def mixed_sources(library):
    """Three signals, recovered from their mixtures."""
    random = np.random.RandomState(0)
    time = np.linspace(0, 8, 2000)
    sources = np.c_[np.sin(2 * time), np.sign(np.sin(3 * time)), 2 * (time % 1.0) - 1]
    sources = sources + 0.2 * random.normal(size=sources.shape)
    mixed = sources / sources.std(axis=0) @ np.array([[1, 1, 1], [0.5, 2, 1.0], [1.5, 1.0, 2.0]]).T
    model = library.FastICA(n_components=3, whiten="arbitrary-variance", random_state=0)
    found = model.fit_transform(mixed)
    return {"likeness": np.sort(np.abs(np.corrcoef(sources.T, found.T)[:3, 3:]).max(axis=1)),
            "mixed again": model.inverse_transform(found)}  # fmt: skip


def seasons(library):
    """A trend, a season and noise as a sum of kernels, carried on beyond the data."""
    random = np.random.RandomState(0)
    X = np.linspace(0, 12, 100)[:, None]
    y = 0.3 * X.ravel() ** 1.5 + np.sin(2 * np.pi * X.ravel()) + 0.1 * random.randn(100)
    kernel = (
        10.0**2 * kernels.RBF(length_scale=5.0, length_scale_bounds="fixed")
        + kernels.ConstantKernel(1.0, "fixed")
        * kernels.ExpSineSquared(length_scale=1.0, periodicity=1.0, periodicity_bounds=(0.9, 1.1))
        + kernels.WhiteKernel(noise_level=0.1**2, noise_level_bounds=(1e-5, 1e2))
    )
    model = library.GaussianProcessRegressor(kernel=kernel).fit(X, y - y.mean())
    mean, std = model.predict(np.linspace(0, 14, 80)[:, None], return_std=True)
    return {"mean": mean, "std": std, "evidence": model.log_marginal_likelihood_value_}


def noise_level(library):
    """A wave under noise: the evidence tells them apart."""
    random = np.random.RandomState(0)
    X = random.uniform(0, 5, 60)[:, None]
    y = 0.5 * np.sin(3 * X.ravel()) + random.normal(0, 0.2, 60)
    kernel = 1.0 * kernels.RBF(0.1, (1e-2, 1e3)) + kernels.WhiteKernel(1e-2, (1e-10, 1e1))
    model = library.GaussianProcessRegressor(kernel=kernel, alpha=0.0).fit(X, y)
    theta = model.kernel_.theta
    return {
        "mean": model.predict(np.linspace(0, 5, 60)[:, None]),
        "evidence": [model.log_marginal_likelihood(theta + shift) for shift in (0, 0.5, 1)],
        "parameters": np.exp(theta),
    }


def priors_and_posteriors(library):
    """Means and deviations of four kernels before and after a few points."""
    X = np.linspace(0.3, 4.7, 9)[:, None]
    y = np.sin(2 * X.ravel())
    at = np.linspace(0, 5, 60)[:, None]
    found = {}
    for kernel in (
        1.0 * kernels.RBF(length_scale=1.0, length_scale_bounds=(1e-1, 10.0)),
        1.0 * kernels.RationalQuadratic(length_scale=1.0, alpha=0.1, alpha_bounds=(1e-5, 1e15)),
        1.0 * kernels.Matern(length_scale=1.0, length_scale_bounds=(1e-1, 10.0), nu=1.5),
        1.0 * kernels.ExpSineSquared(1.0, np.pi, (0.5, 2.0), (3.0, 3.3)),
    ):
        name = type(kernel.k2).__name__
        model = library.GaussianProcessRegressor(kernel=kernel, alpha=1e-4, random_state=0)
        found[f"prior of {name}"] = np.array(model.predict(at, return_std=True))
        found[f"posterior of {name}"] = np.array(model.fit(X, y).predict(at, return_std=True))
    return found


def lines_of_equal_probability(library):
    """Eight points of two classes under a product of dot products."""
    X = np.array([
        [-4.6, -6.0], [4.1, 5.3], [0.0, -0.5], [-6.2, -4.7],
        [1.3, -6.9], [-5.0, 3.1], [-2.9, 6.7], [5.2, 4.3],
    ])  # fmt: skip
    y = 5 - X[:, 1] - 0.5 * X[:, 0] ** 2 > 0
    kernel = kernels.ConstantKernel(0.1, (1e-5, np.inf)) * kernels.DotProduct(sigma_0=0.1) ** 2
    model = library.GaussianProcessClassifier(kernel=kernel).fit(X, y)
    return {"classes": model.predict(plane(X)), "right": model.score(X, y)}


def processes_on_irises(library):
    """Probabilities of three classes on two columns, with one width and with two."""
    X, y = IRIS.data[::2, :2], IRIS.target[::2]
    found = {}
    for widths in ([1.0], [1.0, 1.0]):
        model = library.GaussianProcessClassifier(1.0 * kernels.RBF(widths)).fit(X, y)
        found[f"probabilities {len(widths)}"] = model.predict_proba(plane(X))
    return found


def exclusive_or_by_processes(library):
    """Exclusive or, by a stationary kernel and by one that is not."""
    random = np.random.RandomState(0)
    X = random.randn(100, 2)
    y = np.logical_xor(X[:, 0] > 0, X[:, 1] > 0)
    return {
        name: library.GaussianProcessClassifier(kernel=kernel, warm_start=True)
        .fit(X, y).predict_proba(plane(X))[:, 1]
        for name, kernel in {
            "rbf": 1.0 * kernels.RBF(length_scale=1.15),
            "dot": 1.0 * kernels.DotProduct(sigma_0=1.0) ** 2,
        }.items()
    }  # fmt: skip


def networks(library):
    """Scores of small networks against their penalty, and of one on digits."""
    X, y = datasets.make_moons(200, noise=0.3, random_state=0)
    found = {}
    for alpha in (0.1, 1.0, 10.0):
        network = library.MLPClassifier(
            solver="lbfgs", alpha=alpha, random_state=1, max_iter=2000,
            early_stopping=True, hidden_layer_sizes=[10, 10],
        )  # fmt: skip
        model = make_pipeline(StandardScaler(), network).fit(X[:120], y[:120])
        found[f"alpha {alpha}"] = model.score(X[120:], y[120:])
    sgd = library.MLPClassifier((40,), max_iter=8, alpha=1e-4, solver="sgd", random_state=1,
                                learning_rate_init=0.2)  # fmt: skip
    sgd.fit(DIGITS.data[:1000] / 16, DIGITS.target[:1000])
    found["digits"] = sgd.score(DIGITS.data[1000:] / 16, DIGITS.target[1000:])
    return found


def a_few_labels(library):
    """Training on what it is sure of, from a few labels."""
    random = np.random.RandomState(42)
    y = IRIS.target.copy()
    y[random.rand(150) < 0.7] = -1
    model = SelfTrainingClassifier(library.LogisticRegression(C=10), threshold=0.8)
    return {"classes": model.fit(IRIS.data, y).predict(IRIS.data)}


def mixtures(library):
    """Mixtures of the irises and of two clouds: densities, and the choice of their number."""
    random = np.random.RandomState(0)
    X = np.r_[
        random.randn(200, 2) @ [[0.0, -0.1], [1.7, 0.4]], 0.7 * random.randn(200, 2) - [6, -3]
    ]
    found = {}
    for shape in ("spherical", "tied", "diag", "full"):
        models = [
            library.GaussianMixture(k, covariance_type=shape, random_state=0).fit(X)
            for k in (1, 2, 3)
        ]
        found[f"criterion {shape}"] = [model.bic(X) for model in models]
        found[f"density {shape}"] = models[1].score_samples(plane(X))
    irises = library.GaussianMixture(3, means_init=[IRIS.data[IRIS.target == c].mean(axis=0)
                                                    for c in range(3)], random_state=0)  # fmt: skip
    found["irises"] = irises.fit(IRIS.data).predict(IRIS.data)
    return found


def a_pipeline_of_digits(library):
    """Components and a logistic regression, both tuned in one pipeline."""
    X, y = DIGITS.data[:400], DIGITS.target[:400]
    pipe = make_pipeline(
        StandardScaler(), library.PCA(), library.LogisticRegression(tol=1e-6, max_iter=1000)
    )
    grid = {"pca__n_components": [5, 15, 45], "logisticregression__C": np.logspace(-3, 3, 3)}
    search = library.GridSearchCV(pipe, grid, cv=3).fit(X, y)
    ridge = cross_val_score(library.Ridge(), DIABETES.data, DIABETES.target)
    return {"scores": search.cv_results_["mean_test_score"], "ridge": ridge}


EXACT = (
    several_classes, path_of_a_logistic_penalty, sparsity_of_logistic_regressions, sparse_signals,
    paths_of_weights, chosen_penalty, projections_of_an_image, ridge_on_a_hilbert_matrix,
    discriminants, components_of_irises, circles, cleaned_digits, mixed_sources,
    seasons, noise_level, priors_and_posteriors, lines_of_equal_probability, processes_on_irises,
    exclusive_or_by_processes, a_few_labels, mixtures, a_pipeline_of_digits,
)  # fmt: skip
NOISY = (perceptron_on_digits, networks, shrinkage)


@pytest.mark.slow
@pytest.mark.parametrize("program", EXACT, ids=lambda program: program.__name__)
def test_the_same_pictures(program):
    run_both(program)


@pytest.mark.slow
@pytest.mark.parametrize("program", NOISY, ids=lambda program: program.__name__)
def test_the_same_scores_within_noise(program):
    """Orders of rows and directions without any variance are each library's own choice."""
    run_both(program, noise=0.05)
