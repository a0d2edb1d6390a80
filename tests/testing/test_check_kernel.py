"""check_kernel finds what is wrong with a kernel, and where."""

import matplotlib
import numpy as np
import pytest
from scipy import sparse

from mercer import (
    RBF,
    Delta,
    FunctionKernel,
    KernelReport,
    Linear,
    NegativeDistance,
    Polynomial,
    Precomputed,
    Sigmoid,
    White,
    check_kernel,
)
from mercer.exceptions import InvalidInput, InvalidParameter, MercerError
from mercer.kernels.registry import ROWS
from mercer.testing.check import definiteness_is_honest
from tests.kernels.cases import graphs, trees

matplotlib.use("Agg")


def data(n=30, d=3, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, d))
    X.flags.writeable = False
    return X


@pytest.fixture
def figures():
    """Close all figures at the end; those of today's Matplotlib warn when there are many."""
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "kernel", [RBF(gamma=0.5), Linear() + 1.0, RBF(gamma=0.3) * Linear()], ids=repr
)
def test_a_sound_kernel(kernel, dtype):
    X = data().astype(dtype)
    report = check_kernel(kernel, X)
    assert isinstance(report, KernelReport)
    assert report
    assert report.ok
    assert report.is_symmetric
    assert report.is_positive
    assert report.obeys_cauchy_schwarz
    assert report.merged_pairs == report.split_pairs == []
    K = kernel(X).astype(np.float64)
    eigenvalues = np.linalg.eigvalsh(K)
    scale = eigenvalues[-1] * (1e-5 if dtype == np.float32 else 1e-12)
    assert report.smallest_eigenvalue == pytest.approx(eigenvalues[0], abs=scale)
    assert report.largest_eigenvalue == pytest.approx(eigenvalues[-1])
    ratio = K**2 / np.outer(np.diagonal(K), np.diagonal(K))
    np.fill_diagonal(ratio, 0)
    assert report.cauchy_schwarz == pytest.approx(ratio.max(), rel=1e-4)
    assert ratio[report.cauchy_schwarz_pair] == pytest.approx(ratio.max(), rel=1e-4)
    np.testing.assert_allclose(report.gram, K, rtol=1e-4, atol=1e-5)
    assert "✗" not in repr(report)


def test_asymmetry_is_found_with_its_pair():
    K = RBF(gamma=0.5)(data())
    K[17, 4] += 0.25
    report = check_kernel(FunctionKernel(lambda i, j: K[i, j]), np.arange(30))
    assert not report
    assert not report.is_symmetric
    assert report.asymmetry == pytest.approx(0.25)
    assert sorted(report.asymmetric_pair) == [4, 17]
    assert "✗ not symmetric: k differs by 0.25, rows" in repr(report)
    assert "4 and 17" in repr(report)


def test_a_function_that_is_not_symmetric():
    """Computed whole: a mirrored triangle would hide it."""
    report = check_kernel(FunctionKernel(lambda x, z: float(x[0] + 2 * z[0])), data(10))
    assert not report.is_symmetric
    x = data(10)[:, 0]
    assert report.asymmetry == pytest.approx(x.max() - x.min())
    assert set(report.asymmetric_pair) == {int(x.argmax()), int(x.argmin())}


def test_a_sigmoid_has_negative_eigenvalues():
    kernel, X = Sigmoid(0.8, -1.0), data()
    report = check_kernel(kernel, X)
    assert not report
    assert report.is_symmetric
    assert not report.is_positive
    expected = np.linalg.eigvalsh(kernel(X))
    assert report.smallest_eigenvalue == pytest.approx(expected[0])
    assert report.smallest_eigenvalue < -0.1
    np.testing.assert_allclose(report.eigenvalues, expected, atol=1e-10)
    text = repr(report)
    assert "not positive semi-definite in general, by construction" in text
    assert f"✗ eigenvalues from {expected[0]:.3g} to" in text


def test_the_worst_cauchy_schwarz_pair():
    K = RBF(gamma=0.5)(data())
    K[3, 21] = K[21, 3] = 1.5
    K[8, 9] = K[9, 8] = -2.0
    report = check_kernel(Precomputed(K), np.arange(30))
    assert not report
    assert not report.obeys_cauchy_schwarz
    assert sorted(report.cauchy_schwarz_pair) == [8, 9]
    assert report.cauchy_schwarz == pytest.approx(4.0)
    assert "✗ k(x,z)² > k(x,x)k(z,z): up to 4 of it, rows 8 and 9" in repr(report)


def test_a_zero_on_the_diagonal():
    report = check_kernel(NegativeDistance(), data(5))
    assert not report.obeys_cauchy_schwarz
    assert report.cauchy_schwarz == np.inf
    assert report.is_symmetric
    # Zeros all around are fine.
    assert check_kernel(Linear(), np.zeros((4, 2))).obeys_cauchy_schwarz
    assert check_kernel(Linear(), np.array([[0.0], [0.0], [1.0]])).ok


def test_different_rows_that_the_kernel_merges():
    X = np.array(data(12, 2))
    X[7, 0], X[10, 0] = X[2, 0], X[2, 0]
    report = check_kernel(FunctionKernel(lambda x, z: float(np.exp(-((x[0] - z[0]) ** 2)))), X)
    assert report.merged_pairs == [(2, 7), (2, 10), (7, 10)]
    assert report.ok  # a kernel may do that
    text = repr(report)
    assert "✗ different rows look the same to the kernel: 2 and 7 and 2 more pairs" in text
    scaled = check_kernel(Linear().normalized(), np.array([[1.0, 2.0], [2.0, 4.0], [1.0, 0.0]]))
    assert scaled.merged_pairs == [(0, 1)]
    assert scaled.split_pairs == []


def test_equal_rows_that_the_kernel_splits():
    X = np.array(data(12, 2))
    X[9] = X[4]
    report = check_kernel(RBF(gamma=0.5) + White(0.3), X)
    assert report.split_pairs == [(4, 9)]
    assert report.merged_pairs == []
    assert report.ok
    assert "✗ equal rows look different to the kernel: 4 and 9" in repr(report)
    plain = check_kernel(RBF(gamma=0.5), X)
    assert plain.split_pairs == plain.merged_pairs == []
    assert "✓ equal rows are equal to the kernel" in repr(plain)


def test_equal_rows_of_other_data():
    words = np.array([["a", "b"], ["c", "b"], ["a", "b"]])
    assert check_kernel(Delta() + White(1.0), words).split_pairs == [(0, 2)]
    rows = sparse.csr_array([[0.0, 1.0], [2.0, 0.0], [-0.0, 1.0]])
    assert check_kernel(RBF(gamma=1.0) + White(1.0), rows).split_pairs == [(0, 2)]
    texts = ["ab", "abc", "ab"]
    lengths = FunctionKernel(lambda x, z: float(len(x) * len(z)))
    assert check_kernel(lengths + White(1.0), texts).split_pairs == [(0, 2)]
    assert check_kernel(lengths, ["ab", "xy", "z"]).merged_pairs == [(0, 1)]


def test_part_of_the_rows():
    X = np.array(data(500))
    report = check_kernel(RBF(gamma=0.5), X, max_rows=40)
    assert len(report.rows) == 40
    assert report.rows[0] == 0
    assert report.rows[-1] == 499
    assert report.total_rows == 500
    assert report.gram.shape == (40, 40)
    assert "on 40 of 500 rows" in repr(report)
    assert "on 30 rows" in repr(check_kernel(RBF(gamma=0.5), X[:30]))
    # Pairs are numbered as in the data.
    broken = np.array(RBF(gamma=0.5)(X))
    last = int(report.rows[-1])
    broken[0, last] = broken[last, 0] = 3.0
    found = check_kernel(Precomputed(broken), np.arange(500), max_rows=40)
    assert sorted(found.cauchy_schwarz_pair) == [0, 499]


def test_heuristics_are_settled_on_all_rows():
    X = data(200)
    assert check_kernel(RBF(), X, max_rows=10).kernel == RBF().resolve(RBF().encode(X))


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e100])
def test_values_of_any_size(scale):
    X = data(10)
    plain, scaled = check_kernel(Linear(), X), check_kernel(Linear(), X * scale)
    assert scaled.ok
    assert scaled.cauchy_schwarz == pytest.approx(plain.cauchy_schwarz)
    assert scaled.cauchy_schwarz_pair == plain.cauchy_schwarz_pair


def test_one_row():
    report = check_kernel(RBF(gamma=0.5), data(1))
    assert report.ok
    assert report.cauchy_schwarz_pair is None
    assert "k(x,z)²" not in repr(report)


def test_what_cannot_be_checked():
    with pytest.raises(InvalidParameter, match="max_rows=0"):
        check_kernel(RBF(gamma=0.5), data(), max_rows=0)
    with pytest.raises(InvalidInput):
        check_kernel(RBF(gamma=0.5), np.full((3, 2), np.nan))


def test_repr_reads_as_a_list():
    lines = repr(check_kernel(RBF(gamma=0.5), data())).splitlines()
    assert lines[0] == "RBF(gamma=0.5): positive semi-definite, by construction"
    assert len(lines) == 6
    assert all(line.startswith("  ✓ ") for line in lines[1:])
    assert lines[1] == "  ✓ symmetric"


def test_it_draws_itself(figures):
    K = RBF(gamma=0.5)(data())
    K[8, 9] = K[9, 8] = -2.0
    for kernel, X in ((RBF(gamma=0.5), data()), (Sigmoid(0.8, -1.0), data()),
                      (Precomputed(K), np.arange(30))):  # fmt: skip
        report = check_kernel(kernel, X)
        left, right = report.plot()
        np.testing.assert_allclose(left.images[0].get_array(), report.gram)
        drawn = np.concatenate([line.get_ydata() for line in right.lines[1:]])
        np.testing.assert_allclose(np.sort(drawn), report.eigenvalues)
        assert (right.get_legend() is not None) == (not report.is_positive)
        circled = [line.get_xydata().tolist() for line in left.lines]
        worst = [list(reversed(report.cauchy_schwarz_pair))]
        assert circled == ([] if report.obeys_cauchy_schwarz else [worst])
        left.figure.canvas.draw()


def test_it_draws_on_given_axes(figures):
    _, axes = figures.subplots(1, 2)
    drawn = check_kernel(RBF(gamma=0.5), data()).plot(axes)
    assert list(drawn) == list(axes)
    assert len(figures.get_fignums()) == 1


def test_drawing_without_matplotlib(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    with pytest.raises(MercerError, match=r"mercer\[plot\]"):
        check_kernel(RBF(gamma=0.5), data()).plot()


class Boasting(Sigmoid):
    """A kernel that claims what does not hold."""

    @property
    def definite(self):
        return RBF(gamma=1.0).definite


class BoastingMore(Sigmoid):
    """A kernel that claims a little less, which does not hold either."""

    @property
    def definite(self):
        return NegativeDistance().definite


def test_claims_are_compared_with_data():
    X = data()
    assert definiteness_is_honest(Sigmoid(0.8, -1.0), X)  # claims nothing
    assert definiteness_is_honest(NegativeDistance(), X)
    assert definiteness_is_honest(Polynomial(3), X)
    assert not definiteness_is_honest(Boasting(0.8, -1.0), X)
    assert not definiteness_is_honest(BoastingMore(0.8, -1.0), X)


@pytest.mark.parametrize("kernel", [k for row in ROWS for k in row.examples], ids=repr)
def test_every_kernel_of_the_registry_is_honest(kernel):
    row = next(row for row in ROWS if kernel in row.examples)
    random = np.random.default_rng(2)
    X = {
        "vectors": random.normal(size=(25, 3)),
        "histograms": random.random((25, 3)),
        "categories": random.choice(["a", "b", "c"], size=(25, 3)),
        "strings": random.choice(["a cat", "a cart", "", "a bar, a cat"], size=25),
        "graphs": graphs(25, random),
        "series": [random.normal(size=int(random.integers(1, 20))) for _ in range(25)],
        "trees": trees(25, random),
    }[row.domain]
    report = check_kernel(kernel, X)
    assert report.is_symmetric
    assert definiteness_is_honest(kernel, X)
