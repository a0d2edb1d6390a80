"""One face of a matrix: whatever is behind it, blocks, parts and products are those of numbers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from mercer import RBF, Centring, FeatureGram, Gram, Linear
from mercer.exceptions import InvalidInput
from mercer.gram.feature_gram import gram_for_steps
from mercer.gram.given import GivenGram
from mercer.gram.held import HeldGram
from mercer.gram.sums import SumGram
from mercer.kernels.definite import Definite
from mercer.kernels.registry import ROWS
from tests.kernels.cases import data

X = np.round(np.random.default_rng(0).normal(size=(40, 3)), 1)


def centred():
    gram = Gram(RBF(gamma=0.3), X)
    return Centring.fit(gram).apply(gram)


FACES = {
    "computed": lambda: Gram(RBF(gamma=0.3), X),
    "by products": lambda: Gram.by_products(RBF(gamma=0.3), RBF(gamma=0.3).encode(X)),
    "given": lambda: GivenGram(RBF(gamma=0.3)(X), Definite.POSITIVE),
    "features": lambda: FeatureGram.of(Linear(), X),
    "sparse features": lambda: FeatureGram.of(Linear(), sparse.csr_array(X)),
    "centred": centred,
    "held": lambda: HeldGram(Gram(RBF(gamma=0.3), X)),
    "sum": lambda: SumGram([Gram(RBF(gamma=0.3), X), FeatureGram.of(Linear(), X)]),
    "for steps": lambda: gram_for_steps(RBF(gamma=0.3), RBF(gamma=0.3).encode(X), 1 << 20),
}
SOME, OTHERS = np.array([5, 17, 3, 30]), np.array([0, 17, 21])


@pytest.fixture(params=FACES)
def gram(request):
    return FACES[request.param]()


def test_what_a_matrix_answers_is_what_its_numbers_say(gram):
    K = gram.dense()
    assert gram.symmetric
    assert gram.shape == K.shape == (40, 40)
    assert gram.dtype == K.dtype == np.float64
    assert_allclose(K, K.T, atol=1e-12)
    assert_allclose(gram.diag(), np.diagonal(K), atol=1e-12)
    assert_allclose(gram.rows([3, -1]), K[[3, -1]], atol=1e-12)
    assert_allclose(gram.square(SOME), K[np.ix_(SOME, SOME)], atol=1e-12)
    V = np.random.default_rng(1).normal(size=(40, 2))
    assert_allclose(gram.multiply(V), K @ V, atol=1e-11)
    assert_allclose(gram.multiply_columns(SOME, V[:4]), K[:, SOME] @ V[:4], atol=1e-11)
    most = np.arange(1, len(V))
    assert_allclose(gram.multiply_columns(most, V[most]), K[:, most] @ V[most], atol=1e-11)


@pytest.mark.parametrize("rows", [SOME, slice(2, 9)], ids=["list", "slice"])
@pytest.mark.parametrize("columns", [OTHERS, slice(0, 40)], ids=["list", "slice"])
def test_blocks_in_memory_of_anybody(gram, rows, columns):
    expected = gram.dense()[rows][:, columns]
    assert_allclose(gram.block(rows, columns), expected, atol=1e-12)
    for dtype, off in ((np.float64, 1e-12), (np.float32, 1e-6)):
        out = np.empty(expected.shape, dtype)
        assert gram.block(rows, columns, out) is out
        assert_allclose(out, expected, atol=off)
    values = gram.block(rows, columns)
    values[...] = 7.0  # is nobody else's
    assert_allclose(gram.block(rows, columns), expected, atol=1e-12)


def test_parts_of_parts(gram):
    K = gram.dense()
    part = gram.take(SOME)
    assert part.symmetric
    assert_allclose(part.dense(), K[np.ix_(SOME, SOME)], atol=1e-12)
    assert_allclose(part.diag(), np.diagonal(K)[SOME], atol=1e-12)
    assert_allclose(part.take([2, 0]).dense(), K[np.ix_(SOME[[2, 0]], SOME[[2, 0]])], atol=1e-12)
    wide = gram.take(slice(None), OTHERS)
    assert not wide.symmetric
    assert_allclose(wide.dense(), K[:, OTHERS], atol=1e-12)
    few = wide.take(SOME, slice(None))
    assert_allclose(few.block(slice(0, 4), slice(1, 3)), K[np.ix_(SOME, OTHERS[1:])], atol=1e-12)
    assert_allclose(few.multiply(np.eye(3)), K[np.ix_(SOME, OTHERS)], atol=1e-12)


def test_another_precision(gram):
    K, single = gram.dense(), gram.in_precision(np.float32)
    assert single.dtype == np.float32
    assert single.block(SOME, OTHERS).dtype == np.float32
    assert_allclose(single.dense(), K, atol=1e-5)
    assert_allclose(single.take(SOME).block(slice(0, 2), slice(0, 4)), K[np.ix_(SOME[:2], SOME)],
                    atol=1e-5)  # fmt: skip
    again = single.in_precision(np.float64)
    assert again.dtype == np.float64
    assert_allclose(again.dense(), K, atol=1e-12)


@pytest.mark.parametrize("name", ["computed", "by products", "features", "centred", "held"])
def test_values_are_counted_wherever_they_are_computed(name):
    gram = FACES[name]()
    before = gram.evaluations
    gram.in_precision(np.float32).take(SOME, OTHERS).dense()
    assert gram.evaluations == before + 12


def test_a_given_matrix_is_not_copied():
    K = RBF(gamma=0.3)(X)
    gram = GivenGram(K)
    assert np.shares_memory(gram.dense(), K)
    assert gram.definite is Definite.INDEFINITE
    assert not GivenGram(K[:, :3]).symmetric
    with pytest.raises(InvalidInput, match="diagonal"):
        GivenGram(K[:, :3]).diag()
    with pytest.raises(InvalidInput, match="real numbers"):
        GivenGram(np.arange(4).reshape(2, 2))


@pytest.mark.parametrize(
    ("domain", "kernel"),
    [(row.domain, row.examples[0]) for row in ROWS],
    ids=[row.name for row in ROWS],
)
def test_a_row_may_be_asked_for_more_than_once(domain, kernel):
    gram = Gram(kernel, data(domain, 12), dtype=np.float64)
    K, twice = gram.dense(), np.array([5, 5, 7, 2, 5])
    scale = np.abs(K).max()
    np.testing.assert_allclose(gram.rows(twice), K[twice], atol=1e-9 * scale)
    np.testing.assert_allclose(gram.square(twice), K[np.ix_(twice, twice)], atol=1e-9 * scale)
