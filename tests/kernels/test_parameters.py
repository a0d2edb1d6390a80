"""The scikit-learn protocol: parameters, clones, equality, hashes, text, copies."""

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import GridSearchCV

import mercer
from mercer import (
    RBF,
    Constant,
    Delta,
    FunctionKernel,
    GaussianBasis,
    Laplacian,
    Linear,
    Matern,
    Monomials,
    Overlap,
    Periodic,
    Polynomial,
    Precomputed,
    RandomFourierFeatures,
    White,
)
from mercer.exceptions import InvalidParameter
from mercer.kernels import registry
from mercer.kernels.algebra import Power, Product, Scaled, Sum
from mercer.kernels.wrappers import On
from tests.kernels.cases import COMPOSITES, KERNELS, RADIAL, close
from tests.oracles.strategies import cases, table_kernels

ALL = KERNELS + RADIAL + COMPOSITES
NAMES = {name: getattr(mercer, name) for name in mercer.__all__} | {"inf": math.inf}


def evaluated(kernel):
    return eval(repr(kernel), dict(NAMES))


# ---- text ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_repr_can_be_read_back(kernel):
    assert evaluated(kernel) == kernel


@given(cases())
def test_repr_of_composites_can_be_read_back(case):
    assert evaluated(case.kernel) == case.kernel


@given(table_kernels())
def test_repr_of_table_kernels_can_be_read_back(kernel):
    assert evaluated(kernel) == kernel


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (RBF(), "RBF()"),
        (RBF(gamma=0.5), "RBF(gamma=0.5)"),
        (RBF(sigma=2), "RBF(sigma=2)"),
        (Polynomial(2, coef0=0.0), "Polynomial(degree=2, coef0=0.0)"),
        (RBF(gamma=0.5) * Linear() + Constant(), "RBF(gamma=0.5) * Linear() + Constant()"),
        (RBF(gamma=0.5) * (Linear() + White()), "RBF(gamma=0.5) * (Linear() + White())"),
        (RBF(gamma=0.5) + (Linear() + White()), "RBF(gamma=0.5) + (Linear() + White())"),
        (2 * RBF(gamma=0.5) + 1, "2 * RBF(gamma=0.5) + Constant()"),
        (2 * (3 * Linear()), "2 * (3 * Linear())"),
        (2 * (Linear() * White()), "2 * (Linear() * White())"),
        ((2 * Linear()) * White(), "2 * Linear() * White()"),
        (2 * Linear() ** 3, "2 * Linear() ** 3"),
        ((2 * Linear()) ** 3, "(2 * Linear()) ** 3"),
        ((Linear() ** 2) ** 3, "(Linear() ** 2) ** 3"),
        ((Linear() + White()).exp().normalized(), "(Linear() + White()).exp().normalized()"),
        (Linear().power_series([1, 0.5], 2.0), "Linear().power_series([1.0, 0.5], radius=2)"),
        (Linear().power_series(np.array([1, 0.5])), "Linear().power_series([1.0, 0.5])"),
        (Delta().on("city") * RBF().on("age", 3), "Delta().on('city') * RBF().on('age', 3)"),
        (Linear() * (1 / 3), "0.3333333333333333 * Linear()"),
        (Linear() * 1234567.5, "1234567.5 * Linear()"),
        (RBF(gamma=np.float64(0.5)), "RBF(gamma=0.5)"),
        (RBF(length_scale=np.array([0.5, 2.0])), "RBF(length_scale=[0.5, 2.0])"),
        (FunctionKernel(math.dist), "FunctionKernel(function=dist)"),
        (Precomputed(np.eye(4)), "Precomputed(matrix=<array 4 × 4>)"),
    ],
)
def test_repr_is_readable(kernel, text):
    assert repr(kernel) == text


# ---- parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_clone(kernel, X):
    twin = clone(kernel)
    assert twin == kernel
    assert twin is not kernel
    assert hash(twin) == hash(kernel)
    assert repr(twin) == repr(kernel)
    for name, value in kernel.get_params().items():
        if isinstance(value, mercer.Kernel):
            assert twin.get_params()[name] is not value, "a clone shares no kernel"


@pytest.mark.parametrize("kernel", ALL, ids=repr)
@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda k: pickle.loads(pickle.dumps(k))]
)
def test_copies(kernel, copied):
    twin = copied(kernel)
    assert twin == kernel
    assert hash(twin) == hash(kernel)


@pytest.mark.parametrize("kernel", COMPOSITES, ids=repr)
def test_copies_compute_the_same(kernel, X, Z):
    K = kernel(X, Z)
    for twin in (clone(kernel), pickle.loads(pickle.dumps(kernel)), copy.deepcopy(kernel)):
        np.testing.assert_array_equal(twin(X, Z), K)


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_parameters_go_out_and_in(kernel):
    params = kernel.get_params(deep=False)
    assert set(params) == set(type(kernel).parameter_names())
    assert type(kernel)(**params) == kernel
    twin = clone(kernel)
    assert twin.set_params(**kernel.get_params()) is twin
    assert twin == kernel


@given(cases())
def test_nested_parameters_two_levels_deep(case):
    kernel = case.kernel
    twin = clone(kernel)
    for name, value in kernel.get_params().items():
        if name.endswith("gamma") and isinstance(value, float):
            assert clone(twin).set_params(**{name: value * 2}).get_params()[name] == value * 2
            changed = kernel.replace(**{name: value * 2})
            assert changed != kernel
            assert changed.replace(**{name: value}) == kernel
    assert kernel == twin


def test_nested_names():
    kernel = (2 * RBF(gamma=0.5).on(0) + Linear() * Polynomial(2)).normalized()
    assert kernel.get_params()["kernel__left__kernel__kernel__gamma"] == 0.5
    kernel.set_params(
        kernel__left__kernel__kernel__gamma=0.7,
        kernel__left__factor=3.0,
        kernel__right__right__degree=4,
    )
    assert kernel == (3 * RBF(gamma=0.7).on(0) + Linear() * Polynomial(4)).normalized()
    kernel.set_params(kernel__left=RBF(gamma=1.0), kernel__left__gamma=2.0)
    assert kernel == (RBF(gamma=2.0) + Linear() * Polynomial(4)).normalized()


def test_changing_a_clone_leaves_the_original():
    kernel = RBF(gamma=0.5) * Linear() + White(0.1)
    twin = clone(kernel)
    twin.set_params(left__left__gamma=9.0, right__noise=5.0)
    assert kernel == RBF(gamma=0.5) * Linear() + White(0.1)
    assert (twin.left.left.gamma, twin.right.noise) == (9.0, 5.0)
    replaced = kernel.replace(left__left__gamma=7.0)
    assert (replaced.left.left.gamma, kernel.left.left.gamma) == (7.0, 0.5)
    assert kernel.replace() is kernel


def test_switching_the_name_of_a_width():
    assert RBF(gamma=0.5).set_params(gamma=None, sigma=2.0) == RBF(sigma=2.0)
    with pytest.raises(InvalidParameter, match="gamma and sigma are names of one width"):
        RBF(gamma=0.5).set_params(sigma=2.0)


@pytest.mark.parametrize(
    ("kernel", "name", "message"),
    [
        (
            RBF(gamma=0.5),
            "width",
            r"RBF has no parameter 'width'. It has gamma, sigma, length_scale",
        ),
        (Linear(), "gamma", r"Linear has no parameter 'gamma'. It has none"),
        (
            RBF(gamma=0.5) + Linear(),
            "middle__gamma",
            r"Sum has no parameter 'middle'. It has left, right",
        ),
        (RBF(gamma=0.5) + Linear(), "left__width", r"RBF has no parameter 'width'"),
        (RBF(gamma=0.5), "gamma__inner", r"RBF: gamma=0.5 has no parameters of its own"),
    ],
)
def test_unknown_parameters(kernel, name, message):
    with pytest.raises(InvalidParameter, match=message):
        kernel.set_params(**{name: 1.0})


@pytest.mark.parametrize("change", [{"gamma": -1.0}, {"gamma": 1.0, "sigma": 1.0}, {"sigma": 0}])
def test_set_parameters_are_checked(change):
    with pytest.raises(InvalidParameter):
        RBF().set_params(**change)


def test_attributes_are_the_parameters_given():
    scales = [1.0, 2.0]
    assert RBF(length_scale=scales).length_scale is scales
    matrix = np.eye(2)
    assert Precomputed(matrix).matrix is matrix
    assert clone(Precomputed(matrix)).matrix is matrix, "large arrays are shared"
    twin = clone(RBF(length_scale=scales))
    twin.length_scale[0] = 5.0
    assert scales == [1.0, 2.0]


# ---- equality ------------------------------------------------------------------------------------


def test_different_examples_differ():
    for i, a in enumerate(ALL):
        assert [j for j, b in enumerate(ALL) if a == b and repr(a) != repr(b)] == []
        assert a == ALL[i]
        assert (a != a) is False
    assert len({repr(kernel) for kernel in ALL}) == len(set(ALL))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (RBF(gamma=1), RBF(gamma=1.0)),
        (RBF(gamma=np.float64(0.5)), RBF(gamma=0.5)),
        (RBF(length_scale=[1, 2]), RBF(length_scale=[1.0, 2.0])),
        (RBF(length_scale=(1.0, 2.0)), RBF(length_scale=np.array([1.0, 2.0]))),
        (RBF(length_scale=np.array([1, 2], dtype=np.float32)), RBF(length_scale=[1, 2])),
        (Linear().power_series([1, 2]), Linear().power_series((1.0, 2.0))),
        (RBF().on(["a", "b"]), On(RBF(), ("a", "b"))),
        (GaussianBasis([[0, 1]]), GaussianBasis(np.array([[0.0, 1.0]]))),
        (Precomputed(np.eye(3)), Precomputed(np.eye(3).tolist())),
        (2 * Linear(), Scaled(Linear(), 2)),
        (Linear() ** 2, Power(Linear(), 2.0)),
    ],
)
def test_equal_kernels_have_equal_hashes(a, b):
    assert a == b
    assert hash(a) == hash(b)
    assert len({a, b}) == 1


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (RBF(gamma=0.5), Laplacian(0.5)),
        (RBF(gamma=0.5), RBF(gamma=0.6)),
        (RBF(gamma=0.5), RBF(sigma=0.5)),
        (RBF(), RBF("scale")),
        (Linear() + White(), White() + Linear()),
        (Sum(Linear(), White()), Product(Linear(), White())),
        (RBF().on(0), RBF().on(1)),
        (RBF().on("a", 1), RBF().on("a", "1")),
        (RBF().on(0), RBF().on("0")),
        (RBF(length_scale=[1.0, 2.0]), RBF(length_scale=[1.0, 2.0, 3.0])),
        (RBF(length_scale=[1.0]), RBF(length_scale=1.0)),
        (Precomputed(np.eye(3)), Precomputed(np.eye(4))),
        (Matern(nu=1.5), Matern(nu=2.5)),
        (Linear(), 1.0),
        (Linear(), "Linear()"),
        (Monomials(2), None),
    ],
)
def test_different_kernels_are_not_equal(a, b):
    assert a != b
    assert a != b


# ---- inside estimators ---------------------------------------------------------------------------


class Parzen(ClassifierMixin, BaseEstimator):
    """The class whose training points are nearer on average: just enough for a search."""

    def __init__(self, kernel=None):
        self.kernel = kernel

    def fit(self, X, y):
        self.classes_, self.X_, self.y_ = np.unique(y), X, y
        self.kernel_ = self.kernel.resolve(self.kernel.encode(X))
        return self

    def predict(self, X):
        K = self.kernel_(X, self.X_)
        return self.classes_[
            np.argmax([K[:, self.y_ == c].mean(axis=1) for c in self.classes_], axis=0)
        ]


def test_grid_search_reaches_into_kernels():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 2))
    y = (np.hypot(*X.T) > 1).astype(int)
    kernel = RBF() * Constant(1.0) + White(0.1)
    model = Parzen(kernel)
    assert model.get_params()["kernel__left__left__gamma"] is None
    search = GridSearchCV(
        model, {"kernel__left__left__gamma": [1e-6, "median", 5.0], "kernel__right__noise": [0.1]}
    ).fit(X, y)
    assert search.best_params_["kernel__left__left__gamma"] in ("median", 5.0)
    assert kernel == RBF() * Constant(1.0) + White(0.1), "the search works on clones"
    swap = GridSearchCV(model, {"kernel": [Linear(), RBF(gamma=5.0)]}).fit(X, y)
    assert swap.best_params_["kernel"] == RBF(gamma=5.0)
    assert "kernel=" in repr(clone(model))


# ---- registry ------------------------------------------------------------------------------------


def test_registry_finds_names_and_aliases():
    assert registry.find("rbf").kernel is RBF
    assert registry.find("poly").kernel is Polynomial
    with pytest.raises(InvalidParameter, match=r"no kernel 'rbg'.*linear, polynomial, rbf"):
        registry.find("rbg")


def test_registry_rows_describe_their_kernels():
    names = [name for row in registry.ROWS for name in (row.name, *row.aliases)]
    assert len(set(names)) == len(names)
    for row in registry.ROWS:
        assert row.examples
        assert all(type(example) is row.kernel for example in row.examples)
        assert row.title
        assert not row.title.endswith(".")
        assert "=" in row.formula
        assert getattr(mercer, row.kernel.__name__) is row.kernel


def test_every_public_kernel_is_in_the_registry():
    public = {
        value
        for name, value in NAMES.items()
        if isinstance(value, type) and issubclass(value, mercer.Kernel)
    }
    bases = {mercer.Kernel, mercer.Radial, mercer.FeatureKernel}
    apart = {*bases, FunctionKernel, mercer.MapKernel, Precomputed, mercer.NystromKernel}
    assert public - apart == {row.kernel for row in registry.ROWS}


def test_columns_may_be_given_in_any_way(X):
    expected = RBF(gamma=0.5)(X[:, [0, 2]])
    for columns in ([0, 2], (0, 2), np.array([0, 2]), range(0, 3, 2)):
        kernel = RBF(gamma=0.5).on(columns)
        assert kernel == RBF(gamma=0.5).on(0, 2)
        assert repr(kernel) == "RBF(gamma=0.5).on(0, 2)"
        close(kernel(X), expected)
    assert {Overlap().on("a"), Overlap().on(["a"]), Periodic()} == {Overlap().on("a"), Periodic()}


def test_random_features_are_nested_too():
    kernel = RandomFourierFeatures(RBF(gamma=0.5), 20)
    assert kernel.get_params()["kernel__gamma"] == 0.5
    assert kernel.replace(kernel__gamma=0.7).kernel == RBF(gamma=0.7)


def test_the_old_name_of_random_state_warns():
    new = RandomFourierFeatures(RBF(gamma=0.5), 20, random_state=7)
    with pytest.warns(FutureWarning, match="'random_state'"):
        old = RandomFourierFeatures(RBF(gamma=0.5), 20, seed=7)
    assert old == new
    assert (
        repr(old) == "RandomFourierFeatures(kernel=RBF(gamma=0.5), components=20, random_state=7)"
    )
    assert list(old.get_params(deep=False)) == ["kernel", "components", "random_state"]
    for change in ("set_params", "replace"):
        with pytest.warns(FutureWarning, match="'random_state'"):
            changed = getattr(clone(RandomFourierFeatures(RBF(gamma=0.5), 20)), change)(seed=7)
        assert changed == new
    with pytest.warns(FutureWarning, match="'random_state'"):
        read = mercer.parse_kernel("random_fourier(kernel=rbf(gamma=0.5), components=20, seed=7)")
    assert read == new
    assert "random_state=7" in mercer.format_kernel(read)
