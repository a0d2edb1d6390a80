"""Networks: gradients by differences, scikit-learn's answers, solvers, laws."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import neural_network
from sklearn.datasets import make_multilabel_classification, make_regression
from sklearn.exceptions import ConvergenceWarning

from mercer import InvalidInput, InvalidParameter, MLPClassifier, MLPRegressor, Ridge, load, save
from mercer._parallel import one_blas_thread
from tests.estimators.cases import digits, heart, iris, regression, wine

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


# ---- scikit-learn's answers --------------------------------------------------------------------

OPTIONS = [
    {},
    {"solver": "sgd"},
    {"solver": "sgd", "nesterovs_momentum": False, "learning_rate": "invscaling"},
    {"solver": "sgd", "learning_rate": "adaptive", "tol": 0.1, "learning_rate_init": 0.1},
    {"activation": "tanh", "hidden_layer_sizes": (20, 10), "alpha": 0.1},
    {"activation": "logistic", "batch_size": 33, "shuffle": False},
    {"activation": "identity", "early_stopping": True, "n_iter_no_change": 2},
    {"solver": "lbfgs", "tol": 1e-3},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("data", [heart, wine, digits])
def test_the_same_weights_as_scikit_learn(data, options):
    X, y = (part[:230] for part in data())
    for sample_weight in (None, 1.0 + np.arange(len(y)) % 2):
        given = {"random_state": 1, "max_iter": 12, **options}
        with one_blas_thread():  # the matrices are small
            one = MLPClassifier(**given).fit(X, y, sample_weight)
            two = neural_network.MLPClassifier(**given).fit(X, y, sample_weight)
        # L-BFGS lets rounding grow from step to step.
        close = 1e-3 if options.get("solver") == "lbfgs" else 1e-7
        for mine, theirs in zip(one.coefs_, two.coefs_, strict=True):
            np.testing.assert_allclose(mine, theirs, atol=close)
        assert one.loss_ == pytest.approx(two.loss_, abs=close)
        assert one.n_iter_ == two.n_iter_
        np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=10 * close)
        np.testing.assert_allclose(one.loss_curve_, getattr(two, "loss_curve_", []), atol=1e-7)
        assert one.validation_scores_ == getattr(two, "validation_scores_", None)


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_regressions_as_in_scikit_learn(loss):
    X, y = regression()
    y = np.exp(y) if loss == "poisson" else y
    for dtype in (np.float64, np.float32):
        given = {"loss": loss, "random_state": 0, "max_iter": 30}
        one = MLPRegressor(**given).fit(X.astype(dtype), y)
        two = neural_network.MLPRegressor(**given).fit(X.astype(dtype), y)
        close = 1e-8 if dtype == np.float64 else 1e-3
        np.testing.assert_allclose(one.predict(X), two.predict(X), atol=close)
        assert one.coefs_[0].dtype == dtype


def test_several_labels_and_several_outputs():
    X, Y = make_multilabel_classification(n_samples=60, random_state=0)
    given = {"random_state": 0, "max_iter": 40}
    one = MLPClassifier(**given).fit(X, Y)
    two = neural_network.MLPClassifier(**given).fit(X, Y)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-8)
    X, Y = make_regression(n_samples=60, n_targets=3, random_state=0)
    one = MLPRegressor(**given).fit(X, Y)
    two = neural_network.MLPRegressor(**given).fit(X, Y)
    np.testing.assert_allclose(one.predict(X), two.predict(X), atol=1e-6)
    # The loss is the one whose slopes are used: the sum over the outputs.
    assert one.loss_ == pytest.approx(3 * two.loss_, rel=1e-3)


def test_sparse_rows():
    X, y = digits()
    dense = MLPClassifier(random_state=0, max_iter=5).fit(X, y)
    for form in (sparse.csr_array, sparse.csc_array):
        thin = MLPClassifier(random_state=0, max_iter=5).fit(form(X), y)
        np.testing.assert_allclose(thin.predict_proba(form(X)), dense.predict_proba(X), atol=1e-8)


# ---- courses -----------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["sgd", "adam"])
def test_partial_fits_are_the_epochs_of_a_fit(solver):
    X, y = wine()
    given = {"solver": solver, "random_state": np.random.RandomState(4), "shuffle": False}
    whole = MLPClassifier(max_iter=6, **given).fit(X, y)
    given["random_state"] = np.random.RandomState(4)
    parts = MLPClassifier(**given)
    for _ in range(6):
        parts.partial_fit(X, y, classes=[0, 1, 2])
    for a, b in zip(whole.coefs_, parts.coefs_, strict=True):
        np.testing.assert_array_equal(a, b)
    assert parts.t_ == whole.t_
    np.testing.assert_array_equal(whole.loss_curve_, parts.loss_curve_)


def test_warm_starts_go_on():
    X, y = wine()
    first = MLPClassifier(warm_start=True, random_state=0, max_iter=5).fit(X, y)
    loss = first.loss_
    first.fit(X, y)
    assert first.loss_ < loss
    assert len(first.loss_curve_) == 10
    with pytest.raises(InvalidInput, match="same classes as in the previous call"):
        first.fit(X, np.where(y == 0, 3, y))


def test_early_stopping_keeps_the_best_weights():
    X, y = heart()
    machine = MLPClassifier(early_stopping=True, random_state=0, max_iter=300).fit(X, y)
    assert machine.n_iter_ < 300
    assert max(machine.validation_scores_) == machine.best_validation_score_
    assert machine.best_loss_ is None


def test_full_batches_go_down_to_a_flat_place():
    X, y = regression(100)
    for solver, tol in (("descent", 1e-2), ("lbfgs", 1e-6)):
        machine = MLPRegressor(
            hidden_layer_sizes=8, activation="tanh", solver=solver, tol=tol, max_iter=1000,
            alpha=0.1, random_state=0,
        ).fit(X, y)  # fmt: skip
        assert machine.score(X, y) > 0.8
    slow = MLPRegressor(solver="descent", max_iter=20, random_state=0)
    with pytest.warns(ConvergenceWarning, match="descent did not converge"):
        slow.fit(X, y)
    assert (np.diff(slow.loss_curve_) <= 0).all()
    assert slow.n_iter_ == 20
    with pytest.raises(AttributeError, match="partial_fit"):
        slow.partial_fit  # noqa: B018


def test_a_network_without_bends_is_ridge_regression():
    X, y = regression(80)
    machine = MLPRegressor(
        hidden_layer_sizes=2, activation="identity", solver="lbfgs", alpha=0.0, tol=1e-9,
        max_iter=5000, random_state=0,
    ).fit(X, y)  # fmt: skip
    np.testing.assert_allclose(
        machine.predict(X), Ridge(alpha=1e-12).fit(X, y).predict(X), atol=1e-3
    )


def test_any_depth():
    X, y = iris()
    deep = MLPClassifier([8] * 5, activation="tanh", solver="lbfgs", max_iter=200, random_state=0)
    assert deep.fit(X, y).score(X, y) > 0.95
    assert deep.n_layers_ == 7


def test_bad_input():
    X, y = regression(30)
    with pytest.raises(InvalidInput, match="number below 0"):
        MLPRegressor(loss="poisson").fit(X, y)
    with pytest.raises(InvalidInput, match="must be > 0, got"):
        MLPRegressor(hidden_layer_sizes=(3, 0)).fit(X, y)
    with pytest.raises(InvalidInput, match="non-finite"), np.errstate(all="ignore"):
        MLPRegressor(solver="sgd", learning_rate_init=1e3, activation="identity").fit(X * 1e3, y)
    with pytest.raises(InvalidInput, match="early_stopping"):
        MLPRegressor(early_stopping=True).partial_fit(X, y)
    with pytest.warns(UserWarning, match="clipped"):
        MLPRegressor(batch_size=100, max_iter=2).fit(X, y)
    parts = MLPClassifier().partial_fit(X, y > 0, classes=[False, True])
    with pytest.raises(ValueError, match="classes"):
        parts.partial_fit(X, np.full(len(y), 3))


# ---- activations of the outputs, sensitivities ---------------------------------------------------


def bent(z, activation):
    return {
        "identity": z,
        "logistic": 1 / (1 + np.exp(-z)),
        "tanh": np.tanh(z),
        "relu": np.maximum(z, 0),
    }[activation]


def loss_of(model, X, Y):
    """Return Σ ½‖y − f‖² of a fitted network by plain products."""
    A = X
    for W, b in zip(model.coefs_[:-1], model.intercepts_[:-1], strict=True):
        A = bent(A @ W + b, model.activation)
    out = bent(A @ model.coefs_[-1] + model.intercepts_[-1], model.output_activation)
    return 0.5 * ((Y - out) ** 2).sum(), out


@pytest.mark.parametrize("output", ["identity", "logistic", "tanh", "relu"])
@pytest.mark.parametrize("hidden", ["tanh", "logistic"])
def test_sensitivities_are_the_slopes_by_differences(output, hidden):
    random = np.random.default_rng(0)
    X, Y = random.normal(size=(12, 3)), random.uniform(0.1, 0.9, size=(12, 2))
    model = MLPRegressor(
        hidden_layer_sizes=(5, 4), activation=hidden, output_activation=output, solver="lbfgs",
        max_iter=3, random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, Y)
    np.testing.assert_allclose(model.predict(X), loss_of(model, X, Y)[1], atol=1e-12)
    assert model.out_activation_ == output
    deltas = model.sensitivities(X, Y)
    assert [delta.shape for delta in deltas] == [(12, 5), (12, 4), (12, 2)]
    # A shift of the biases of a layer moves its net inputs: −Σᵢ δᵢ is the slope of the loss.
    h = 1e-6
    for layer, delta in enumerate(deltas):
        for j in range(delta.shape[1]):
            ends = []
            for shift in (h, -h):
                model.intercepts_[layer][j] += shift
                ends.append(loss_of(model, X, Y)[0])
                model.intercepts_[layer][j] -= shift
            assert -delta[:, j].sum() == pytest.approx((ends[0] - ends[1]) / (2 * h), abs=1e-6)
    # The last layer, as in textbooks: δ = (t − y) f′(net).
    y = loss_of(model, X, Y)[1]
    slope = {"identity": 1.0, "logistic": y * (1 - y), "tanh": 1 - y**2, "relu": y > 0}[output]
    np.testing.assert_allclose(deltas[-1], (Y - y) * slope, atol=1e-12)


def test_sensitivities_of_a_classifier():
    X, y = data_of_three_classes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MLPClassifier((6,), max_iter=5, random_state=0).fit(X, y)
    deltas = model.sensitivities(X, y)
    hot = (y[:, None] == model.classes_).astype(float)
    np.testing.assert_allclose(deltas[-1], hot - model.predict_proba(X), atol=1e-12)


def data_of_three_classes():
    random = np.random.default_rng(1)
    X = random.normal(size=(60, 3))
    return X, np.digitize(X[:, 0], [-0.5, 0.5])


def test_an_output_between_bounds_is_learnt(tmp_path):
    random = np.random.default_rng(0)
    X = random.uniform(-2, 2, size=(200, 1))
    y = 1 / (1 + np.exp(-3 * X[:, 0]))
    model = MLPRegressor(
        hidden_layer_sizes=(4,), output_activation="logistic", solver="lbfgs", max_iter=500,
        random_state=0, activation="tanh",
    ).fit(X, y)  # fmt: skip
    found = model.predict(10 * X)
    assert 0 <= found.min() <= found.max() <= 1
    assert model.score(X, y) > 0.999
    save(model, tmp_path / "bent.mercer")
    np.testing.assert_array_equal(load(tmp_path / "bent.mercer").predict(X), model.predict(X))
    stochastic = MLPRegressor(
        hidden_layer_sizes=(4,), output_activation="tanh", random_state=0, max_iter=30, tol=0.5
    ).fit(X, y)
    assert np.abs(stochastic.predict(X)).max() <= 1
    with pytest.raises(InvalidParameter, match="is for squared errors"):
        MLPRegressor(loss="poisson", output_activation="tanh").fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_verbose_prints_what_scikit_learn_prints(capsys):
    """A line for each epoch, with the same losses from the same start."""
    X, y = iris()
    lines = []
    for kind in (MLPClassifier, neural_network.MLPClassifier):
        kind((5,), max_iter=3, random_state=0, verbose=True).fit(X, y)
        lines.append([line for line in capsys.readouterr().out.splitlines() if "loss" in line])
    assert lines[0] == lines[1]
    assert len(lines[0]) == 3
