"""Definiteness: the rules of composition, and eigenvalues that bear out what kernels claim."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from mercer import (
    RBF,
    AdditiveChi2,
    Chi2,
    Constant,
    Cosine,
    Definite,
    Delta,
    FunctionKernel,
    Intersection,
    Laplacian,
    Linear,
    Matern,
    NegativeDistance,
    Overlap,
    Periodic,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
    White,
    check_kernel,
)
from mercer.kernels import definite
from mercer.testing.check import definiteness_is_honest
from tests.kernels.cases import EXAMPLES, IDS, data
from tests.oracles.strategies import (
    bounded_kernels,
    cases,
    composites,
    histogram_kernels,
    table_cases,
    tables,
)

INDEFINITE, UNKNOWN, CONDITIONAL, POSITIVE = Definite
# A kernel of each kind.
OF = {
    INDEFINITE: Sigmoid(0.5, -0.5),
    UNKNOWN: FunctionKernel(np.dot),
    CONDITIONAL: NegativeDistance(),
    POSITIVE: Linear(),
}
PAIRS = list(itertools.product(Definite, Definite))


def smallest(kernel, X, centred=False):
    """Return the smallest eigenvalue of the Gram matrix, as a share of n times its scale."""
    K = kernel(X)
    if centred:
        K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    return np.linalg.eigvalsh(K)[0] / (len(K) * max(np.abs(kernel(X)).max(), 1e-300))


# ---- rules -----------------------------------------------------------------------------------


def test_the_order_of_trust():
    assert INDEFINITE < UNKNOWN < CONDITIONAL < POSITIVE
    assert [kind.words for kind in Definite] == [
        "not positive semi-definite in general",
        "not known to be positive semi-definite",
        "conditionally positive definite",
        "positive semi-definite",
    ]
    assert {kind: kernel.definite for kind, kernel in OF.items()} == {k: k for k in Definite}


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_sums_take_the_minimum(a, b):
    assert (OF[a] + OF[b]).definite is min(a, b)


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_products_need_both_positive(a, b):
    expected = POSITIVE if a is b is POSITIVE else UNKNOWN
    assert (OF[a] * OF[b]).definite is expected
    assert (OF[a].on(0) * OF[b].on(1)).definite is expected


@pytest.mark.parametrize("kind", Definite)
def test_rules_of_one_kernel(kind):
    kernel = OF[kind]
    only_positive = POSITIVE if kind is POSITIVE else UNKNOWN
    assert (2 * kernel).definite is kind
    assert (0 * kernel).definite is POSITIVE
    assert (kernel**3).definite is only_positive
    assert (kernel**0).definite is POSITIVE
    assert (kernel**1.5).definite is UNKNOWN
    assert kernel.exp().definite is (POSITIVE if kind >= CONDITIONAL else UNKNOWN)
    assert kernel.power_series([1.0, 2.0]).definite is only_positive
    assert kernel.normalized().definite is only_positive
    assert kernel.on(0).definite is kind
    assert definite.of_centring(kind) is (POSITIVE if kind is CONDITIONAL else kind)


def test_fractional_powers_need_divisible_kernels():
    for kernel in (
        RBF(),
        Laplacian(),
        Matern(nu=0.7),
        Periodic(),
        Chi2(),
        Delta(),
        White(),
        Constant(),
    ):
        assert (kernel**0.3).definite is POSITIVE
        assert ((2 * kernel).normalized() ** 0.3).definite is POSITIVE
        assert (((kernel * RBF()) ** 0.5).on(0) ** 0.7).definite is POSITIVE
    assert (NegativeDistance().exp() ** 0.3).definite is POSITIVE
    assert (Linear().exp() ** 0.3).definite is POSITIVE
    for kernel in (Linear(), Cosine(), Overlap(), Intersection(), RBF() + RBF(), Polynomial()):
        assert (kernel**0.3).definite is UNKNOWN


def test_deep_composition():
    assert (RBF() * (Linear() + 2 * NegativeDistance())).definite is UNKNOWN
    assert (RBF() + Linear() * Cosine()).definite is POSITIVE
    assert (NegativeDistance(1.5).exp() * RBF() + White()).definite is POSITIVE
    assert (RBF() + (Linear() + Sigmoid())).definite is INDEFINITE
    assert ((RBF() * Sigmoid()) + Linear()).definite is UNKNOWN


def test_polynomials():
    assert Polynomial(3, 0.5, 0.0).definite is POSITIVE
    assert Polynomial(2, "scale", 1.0).definite is POSITIVE
    assert Polynomial(2.5).definite is INDEFINITE
    assert Polynomial(2, -1.0).definite is INDEFINITE
    assert Polynomial(2, 1.0, -0.1).definite is INDEFINITE


def test_user_claims():
    assert FunctionKernel(np.dot, positive=True).definite is POSITIVE
    assert FunctionKernel(np.dot).definite is UNKNOWN
    assert Precomputed(np.eye(2)).definite is UNKNOWN


# ---- claims against eigenvalues --------------------------------------------------------------


@pytest.mark.parametrize(("domain", "kernel"), EXAMPLES, ids=IDS)
@pytest.mark.parametrize("seed", range(3))
def test_examples_are_what_they_claim(domain, kernel, seed):
    X = data(domain, 40, seed) * 3
    if kernel.definite is POSITIVE:
        assert smallest(kernel, X) > -1e-10
    elif kernel.definite is CONDITIONAL:
        assert smallest(kernel, X, centred=True) > -1e-10
        assert smallest(kernel, X) < -1e-6
    assert definiteness_is_honest(kernel, X)


@given(cases(rows=(2, 7)))
def test_composites_are_what_they_claim(case):
    kernel, X = case.kernel, case.X
    if kernel.definite is POSITIVE:
        assert smallest(kernel, X) > -1e-10
    elif kernel.definite is CONDITIONAL:
        assert smallest(kernel, X, centred=True) > -1e-10


@given(cases(rows=(4, 7), positive=True))
def test_composites_of_positive_kernels_are_positive(case):
    kernel = case.kernel
    assert kernel.definite is POSITIVE
    assert smallest(kernel, case.X) > -1e-10


@given(table_cases())
def test_kernels_on_tables_are_what_they_claim(case):
    assert case.kernel.definite is POSITIVE
    assert smallest(case.kernel, case.X) > -1e-10


@given(tables((3, 7), nonnegative=True), histogram_kernels(), st.floats(0.1, 3.0))
def test_histogram_kernels_are_what_they_claim(X, kernel, c):
    scaled = c * kernel
    assert scaled.definite in (POSITIVE, CONDITIONAL)
    assert smallest(scaled, X, centred=scaled.definite is CONDITIONAL) > -1e-10
    assert smallest(scaled.exp(), X) > -1e-10


@given(
    st.integers(1, 3).flatmap(lambda d: st.tuples(bounded_kernels(d), tables((3, 7), d))),
    st.floats(0.05, 2.0),
)
def test_fractional_powers_of_divisible_kernels(case, p):
    kernel, X = case
    assert (kernel**p).definite is POSITIVE
    assert smallest(kernel**p, X) > -1e-10


@given(tables((3, 7)), st.floats(0.2, 2.0), st.floats(0.1, 2.0))
def test_exponentials_of_conditional_kernels(X, p, c):
    kernel = (c * NegativeDistance(p)).exp()
    assert kernel.definite is POSITIVE
    assert smallest(kernel, X) > -1e-10


@settings(max_examples=15)
@given(composites(2), tables((3, 6), 2))
def test_the_check_agrees_with_the_claim(kernel, X):
    assert definiteness_is_honest(kernel, X)


@pytest.mark.parametrize(
    "kernel",
    [
        Sigmoid(0.5, -0.5),
        Sigmoid(1.0, 0.5),
        Polynomial(2, 1.0, -1.0),
        Polynomial(3, 1.0, -0.5),
        Polynomial(2, -1.0, 1.0),
        Polynomial(1.5, 1.0, 5.0),
    ],
    ids=repr,
)
def test_indefinite_kernels_really_are(kernel):
    assert kernel.definite is INDEFINITE
    # tanh(γ⟨x, z⟩ + c), and x·z − c: somewhere on random data there is a negative eigenvalue.
    random = np.random.default_rng(0)
    X = [random.uniform(-1.2, 1.2, size=(12, d)) for d in (1, 2, 3) for _ in range(5)]
    assert min(smallest(kernel, part) for part in X) < -1e-6
    assert not all(check_kernel(kernel, part).is_positive for part in X)


@pytest.mark.parametrize(
    ("kernel", "power"), [(Overlap(), 0.3), (Intersection(), 0.3), (RBF(gamma=4.0) + 0.2, 8.5)]
)
def test_powers_of_other_kernels_claim_nothing(kernel, power):
    assert (kernel**power).definite is UNKNOWN


def test_a_periodic_kernel_of_the_euclidean_norm_would_be_indefinite():
    """Why Periodic is a product over coordinates (row A2 of the specification)."""

    def wrong(x, z):
        return np.exp(-2 * np.sin(np.pi * np.linalg.norm(x - z)) ** 2)

    X = np.random.default_rng(0).uniform(-1, 1, size=(30, 2))
    assert smallest(FunctionKernel(wrong), X) < -1e-3
    assert smallest(Periodic(), X) > -1e-10


def test_additive_chi2_and_distance_suffice_after_centring():
    X = data("histograms", 30)
    for kernel in (AdditiveChi2(), NegativeDistance(1.7), AdditiveChi2() + 2 * NegativeDistance()):
        assert kernel.definite is CONDITIONAL
        assert smallest(kernel, X, centred=True) > -1e-10


def test_rational_quadratic_is_a_mixture_of_gaussians(X):
    weights = np.random.default_rng(0).gamma(0.7, 1 / 0.7, 4000)
    mixture = np.mean([RBF(gamma=w / 2)(X) for w in weights], axis=0)
    np.testing.assert_allclose(
        RationalQuadratic(alpha=0.7, length_scale=1.0)(X), mixture, atol=0.03
    )
