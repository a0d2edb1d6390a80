"""Passes over the data against the whole matrix, whatever the pieces and the threads."""

import numpy as np
import pytest

from mercer import RBF, Linear, Spectrum, _fast
from mercer.exceptions import InvalidInput
from mercer.landmarks.block_passes import BlockPasses
from mercer.landmarks.chunks import ArrayChunks
from mercer.landmarks.passes import RowTerms, Rule
from mercer.problems.landmark_squares import RidgeCurve, RidgeErrors


class Plain(Rule):
    def __call__(self, U, chunk):
        return RowTerms(np.sin(U) * chunk.y[:, None], np.array([U.sum(), (U**2).sum()]))


class Weights:
    def __call__(self, U, chunk):
        seldom = np.where(chunk.y > 1, chunk.y, 0.0)
        return np.column_stack([chunk.weights, 1 / (1 + U[:, 0] ** 2), seldom, 0 * chunk.y])


class Late:
    """Weighs the last rows alone, so that the first pieces are for nothing."""

    def __call__(self, U, chunk):
        return 1.0 * (chunk.y == 7.0)[:, None]


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(1)
    X = random.standard_normal((700, 4)) + 100
    return X, random.standard_normal(700), random.random(700)


def _passes(data, kernel, size=64, constant=True, threads=None):
    X, y, weights = data
    chunks = ArrayChunks(X, y, weights, size)
    return BlockPasses(kernel, kernel.encode(X[:40]), chunks, constant, threads)


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("kernel", [RBF(gamma=0.2), Linear() ** 2 * 1e-8], ids=str)
def test_passes_are_products_with_the_whole_matrix(data, kernel, constant):
    X, y, _ = data
    Phi = kernel(X, X[:40])
    if constant:
        Phi = np.column_stack([Phi, np.ones(len(X))])
    V = np.random.default_rng(0).standard_normal((Phi.shape[1], 3))
    U = Phi @ V
    for precise, digits in ((True, 1e-11), (False, 1e-4)):
        found = _passes(data, kernel, constant=constant).sums(V, Plain(), precise)
        expected = Phi.T @ (np.sin(U) * y[:, None])
        assert np.abs(found.products - expected).max() < digits * np.abs(expected).max()
        totals = [U.sum(), (U**2).sum()]
        assert np.allclose(found.totals, totals, rtol=10 * digits)


@pytest.mark.parametrize("columns", [1, 3, 12])
@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("gamma", [0.2, 20.0, 300.0])
def test_an_affine_rule_of_a_gaussian_kernel_needs_no_blocks(data, gamma, constant, columns):
    X, y, weights = data
    kernel = RBF(gamma=gamma)
    Phi = kernel(X, X[:40])
    if constant:
        Phi = np.column_stack([Phi, np.ones(len(X))])
    V = np.random.default_rng(0).standard_normal((Phi.shape[1], columns))
    expected = Phi.T @ (weights[:, None] * (Phi @ V))
    for precise, digits in ((True, 1e-11), (False, 1e-5)):
        passes = _passes(data, kernel, constant=constant)
        found = passes.sums(V, RidgeCurve(), precise)
        assert np.abs(found.products - expected).max() < digits * np.abs(expected).max()
        found = passes.sums(V[:, :1], RidgeErrors(), precise)
        errors = y - (Phi @ V)[:, 0]
        pull = Phi.T @ np.column_stack([weights * errors, weights])
        assert np.abs(found.products - pull).max() < digits * np.abs(pull).max()
        totals = [weights @ errors**2, weights @ (errors * y), weights @ y]
        assert np.abs(found.totals[:, 0] - totals).max() < 10 * digits * np.abs(totals).max()


@pytest.mark.parametrize(
    ("compiled", "dtype", "lowest", "highest"),
    [
        (_fast.exponentials.single, np.float32, -87, 88),
        (_fast.exponentials.double, np.float64, -708, 709),
    ],
)
def test_compiled_exponentials_are_right_to_the_last_digits(compiled, dtype, lowest, highest):
    x = np.concatenate([np.linspace(lowest, highest, 100_001), [0.0, 1e-6, -1e-6]]).astype(dtype)
    found = x.copy()
    compiled(found)
    exact = np.exp(x.astype(np.longdouble))
    assert np.abs(found / exact - 1).max() < 2 * np.finfo(dtype).eps
    far = np.array([lowest - 1, -1e30, -np.inf], dtype=dtype)
    compiled(far)
    assert (far < 1.01 * np.exp(dtype(lowest))).all()
    unknown = np.array([np.nan], dtype=dtype)
    compiled(unknown)
    assert np.isnan(unknown[0])


@pytest.mark.parametrize("size", [64, 700])
@pytest.mark.parametrize("kernel", [RBF(gamma=0.2), RBF(gamma=0.2) + 1e-4 * Linear()], ids=str)
def test_what_the_first_landmarks_do_not_see(data, kernel, size, monkeypatch):
    monkeypatch.setattr("mercer.landmarks.block_passes._STRIP", 7)
    X, y, _ = data
    Phi = np.column_stack([kernel(X, X[:40]), np.ones(len(X))])
    V = np.random.default_rng(0).standard_normal((41, 3))
    R = np.sin(Phi @ V) * y[:, None]
    passes = _passes(data, kernel, size)
    plain = passes.sums(V, Plain(), True)
    assert plain.unseen is None
    for m in (1, 12):
        factor = np.linalg.cholesky(kernel(X[:m])).T
        Z = np.linalg.solve(factor.T, kernel(X, X[:m]).T)
        left = np.maximum(np.diag(kernel(X)) - (Z**2).sum(axis=0), 0.0)
        found = passes.sums(V, Plain(), True, np.linalg.inv(factor))
        assert np.allclose(found.unseen, np.sqrt(left) @ np.abs(R), rtol=1e-4)
        assert np.array_equal(found.products, plain.products)
        assert np.array_equal(found.totals, plain.totals)


@pytest.mark.parametrize("precise", [True, False])
@pytest.mark.parametrize("constant", [False, True])
def test_squares_of_all_rows(data, constant, precise):
    X, y, weights = data
    kernel = RBF(gamma=0.2)
    Phi = kernel(X, X[:40])
    R = np.linalg.cholesky(Phi[:40] + 1e-3 * np.eye(40)).T
    V = np.zeros((40 + constant, 1))
    V[3] = 2.0
    curve = 1 / (1 + (Phi @ V[:40])[:, 0] ** 2)
    D = np.column_stack([weights, curve, np.where(y > 1, y, 0.0), np.zeros(len(y))])
    Psi = np.linalg.solve(R.T, Phi.T).T
    if constant:
        Psi = np.column_stack([Psi, np.ones(len(X))])
    squares = _passes(data, kernel, constant=constant).square(V, Weights(), R, 1.0, precise)
    for j in range(3):
        expected = Psi.T @ (D[:, [j]] * Psi)
        assert np.abs(squares[j] - expected).max() < (1e-10 if precise else 1e-4) * expected.max()
    assert not squares[3].any()


def test_squares_where_most_pieces_have_no_weight(data):
    X, _, weights = data
    kernel = RBF(gamma=0.2)
    y = np.where(np.arange(len(X)) < 660, 0.0, 7.0)
    passes = _passes((X, y, weights), kernel)
    found = passes.square(np.zeros((41, 1)), Late(), np.eye(40), 1.0, True)[0]
    Psi = np.column_stack([kernel(X[660:], X[:40]), np.ones(40)])
    assert np.allclose(found, Psi.T @ Psi, rtol=1e-10)


def test_a_share_of_the_rows_estimates_the_square(data):
    kernel, X = RBF(gamma=0.05), data[0]
    passes = _passes(data, kernel)
    whole, part = (passes.square(np.zeros((41, 1)), Weights(), np.eye(40), s)[1] for s in (1, 0.5))
    assert 0.001 < np.linalg.norm(part - whole) / np.linalg.norm(whole) < 0.2
    tiny = passes.square(np.zeros((41, 1)), Weights(), np.eye(40), 1e-9)[1]
    # One row of each piece at least, so that there is something to count by.
    assert tiny[-1, -1] == pytest.approx(whole[-1, -1], rel=1e-6)
    assert 0 < np.linalg.norm(tiny - whole) / np.linalg.norm(whole) < 0.5
    assert len(X) == 700


def test_threads_change_nothing_and_pieces_next_to_nothing(data):
    V = np.random.default_rng(0).standard_normal((41, 2))
    kernel = RBF(gamma=0.2)
    sums = [_passes(data, kernel, 256, threads=t).sums(V, Plain()).products for t in (1, 2, 5)]
    assert np.array_equal(sums[0], sums[1])
    assert np.array_equal(sums[0], sums[2])
    for size in (1, 97, 10_000):
        other = _passes(data, kernel, size).sums(V, Plain()).products
        assert np.abs(other - sums[0]).max() < 1e-5 * np.abs(sums[0]).max()


@pytest.mark.parametrize("hold", [0, 64 * 40 * 4 * 3, 1 << 24])
def test_kept_kernel_values_change_nothing(data, hold):
    X, y, weights = data
    V = np.random.default_rng(0).standard_normal((41, 2))
    kernel = RBF(gamma=0.2)
    chunks = ArrayChunks(X, y, weights, 64)
    passes = BlockPasses(kernel, kernel.encode(X[:40]), chunks, True, hold=hold)
    first = passes.sums(V, Plain())
    computed = passes.evaluations
    again = passes.sums(V, Plain())
    assert np.array_equal(first.products, again.products)
    kept = min(hold // (4 * 40), 700) if hold < 1 << 24 else 700
    assert passes.evaluations == computed + (700 - kept) * 40
    exact = passes.sums(V, Plain(), precise=True)
    assert 0 < np.abs(exact.products - first.products).max() < 1e-3 * np.abs(first.products).max()


def test_any_objects():
    words = ["banana", "ananas", "bandana", "anna", "nab", "can"] * 5
    kernel = Spectrum(2)
    chunks = ArrayChunks(words, np.ones(30), None, 7)
    found = BlockPasses(kernel, kernel.encode(words[:3]), chunks).sums(
        np.ones((3, 1)), Plain(), True
    )
    K = kernel(words, words[:3])
    assert found.unseen is None
    factor = np.linalg.cholesky(K[:3]).T
    passes = BlockPasses(kernel, kernel.encode(words[:3]), chunks)
    unseen = passes.sums(np.ones((3, 1)), Plain(), True, np.linalg.inv(factor)).unseen
    left = np.diag(kernel(words)) - (np.linalg.solve(factor.T, K.T) ** 2).sum(axis=0)
    left[np.abs(left) < 1e-12] = 0.0
    assert np.allclose(unseen, np.sqrt(left) @ np.abs(np.sin(K.sum(axis=1))), atol=1e-5)
    assert np.allclose(found.products, K.T @ np.sin(K @ np.ones((3, 1))))


def test_chunks_say_what_does_not_fit():
    with pytest.raises(InvalidInput, match="y has 2"):
        ArrayChunks(np.zeros((3, 1)), np.zeros(2))
    with pytest.raises(InvalidInput, match="no rows"):
        ArrayChunks(np.zeros((0, 1)))


def test_samples_are_rows_in_their_order(data):
    X, y, weights = data
    sample = ArrayChunks(X, y, weights, 100).sample(150, np.random.default_rng(0))
    rows = np.concatenate([chunk.X for chunk in sample])
    at = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in rows]
    assert len(set(at)) == 150
    assert at == sorted(at)
    assert np.array_equal(np.concatenate([chunk.y for chunk in sample]), y[at])
