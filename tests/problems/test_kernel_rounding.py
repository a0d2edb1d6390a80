"""Products, curvature, and what rounding does to machines of kernels, term by term."""

import math
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from mercer.gram.base import Definite
from mercer.gram.feature_gram import FeatureGram
from mercer.gram.given import GivenGram
from mercer.gram.sums import SumGram
from mercer.problems import qp
from mercer.problems.curvature import Curvature, dense_curvature
from mercer.problems.kernel_alignment import AlignmentProblem
from mercer.problems.manifold import ManifoldProblem, ManifoldProblems, Roughness
from mercer.problems.manifold_hinge import HingeManifoldProblem
from mercer.problems.multi_task import MultiTaskProblem
from mercer.problems.multiclass import CrammerSinger, WestonWatkins
from mercer.problems.multiple_kernels import MultipleKernelProblem, WeightedMultipliers
from mercer.problems.processes import MeanProblem, ModeProblem
from mercer.problems.products import BoundedProduct, Products
from tests.problems.digits import COARSE, FINE, set_unit

U = FINE


@pytest.fixture(autouse=True, params=[FINE, COARSE], ids=["fine", "coarse"])
def unit(request, monkeypatch):
    """Take each unit of rounding in turn, here and in the problems."""
    monkeypatch.setattr(sys.modules[__name__], "U", request.param)
    set_unit(monkeypatch, request.param)


def positive(n, seed=0):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A @ A.T


# ---- products and curvature ---------------------------------------------------------------------


def test_bounds_of_products_are_higham_s():
    K, V = positive(5), np.random.default_rng(1).normal(size=(5, 2))
    V[[0, 3], 1] = 0.0
    terms = np.array([5 + 16, 3 + 16])
    sure, open_ = (Products(GivenGram(K, d), V) for d in (Definite.POSITIVE, Definite.UNKNOWN))
    roots = np.sqrt(np.diag(K))
    np.testing.assert_allclose(sure.errors, terms * U * np.outer(roots, roots @ np.abs(V)))
    np.testing.assert_allclose(open_.errors, terms * U * (np.abs(K) @ np.abs(V)))
    np.testing.assert_allclose(sure.roots, roots)
    np.testing.assert_allclose(open_.roots, math.sqrt(np.abs(K).max()))
    small = Products(GivenGram(K / 1024, Definite.UNKNOWN), V)  # no value is above 1
    np.testing.assert_allclose(small.roots, math.sqrt(np.abs(K).max()) / 32)
    X = np.random.default_rng(2).normal(size=(5, 3))  # as many terms more as features
    found = Products(FeatureGram.of_rows(X), V)
    lengths = np.linalg.norm(X, axis=1)
    np.testing.assert_allclose(
        found.errors, (terms + 3) * U * np.outer(lengths, lengths @ np.abs(V))
    )
    part = sure.part(np.array([4, 1]), 1)
    np.testing.assert_allclose(part.f, (K @ V)[[4, 1], 1])
    np.testing.assert_allclose(part.roots, roots[[4, 1]])
    np.testing.assert_allclose(part.scaled(-3.0).errors, 3 * (part.errors + U * np.abs(part.f)))


def test_curvature_of_some_rows():
    K = np.diag([1.0, 2.0, -3.0, 4.0])
    found = Products(GivenGram(K, Definite.UNKNOWN), np.zeros((4, 1)))
    rows = np.array([0, 1, 3])
    assert found.curvature(np.arange(4), None, Definite.POSITIVE).verdict == "refuted"
    assert found.curvature(rows, None, Definite.POSITIVE).verdict == "proven"
    assert found.curvature(rows[::-1], np.zeros(3, int), Definite.CONDITIONAL).verdict == "proven"
    # Negative along the constant vector alone, which sums of 0 do not see.
    flat = Products(GivenGram(np.eye(4) - np.ones((4, 4)), Definite.UNKNOWN), np.zeros((4, 1)))
    assert flat.curvature(np.arange(4), None, Definite.POSITIVE).verdict == "refuted"
    assert flat.curvature(np.arange(4), np.zeros(4, int), Definite.CONDITIONAL).verdict == "proven"


def test_large_matrices_are_searched(monkeypatch):
    monkeypatch.setattr("mercer.problems.products.DENSE", 2)
    rng = np.random.default_rng(0)
    K = positive(40, 3) / 40
    sound = Products(GivenGram(K, Definite.UNKNOWN), rng.normal(size=(40, 1)))
    assert sound.whole.verdict == "open"
    bad = K.copy()
    bad[7, 7] -= 20.0
    broken = Products(GivenGram(bad, Definite.UNKNOWN), rng.normal(size=(40, 1)))
    assert broken.whole.verdict == "refuted"
    others = np.delete(np.arange(40), 7)
    assert broken.curvature(others, None, Definite.POSITIVE).verdict == "open"
    assert broken.curvature(np.arange(5, 20), None, Definite.POSITIVE).verdict == "refuted"


@pytest.mark.parametrize("size", [4.0, 2.0**-10])
@pytest.mark.parametrize("n", [1, 3, 6])
def test_shifts_are_those_of_rump(n, size):
    K = size * np.eye(n)
    found = dense_curvature(K)
    trace = size * n
    shift = 2 * (n + 2) * U * trace
    assert found.shift == pytest.approx(shift + (n + 2) * U * (trace + n * shift), rel=1e-9)
    groups = np.zeros(n, int)
    centred = dense_curvature(K, groups)
    trace = size * (n - 1)
    shift = 2 * (n + 2) * U * trace
    unseen = 8 * U * size
    total = unseen + shift + (n + 2) * U * (trace + n * shift)
    assert centred.shift == pytest.approx(total, rel=1e-6 if U == FINE else 1e-9, abs=0)


def test_what_centring_may_have_done_is_no_refutation():
    """A large constant, which centring takes off up to its rounding, and a negative direction."""
    n, large, least = 4, 2.0**20, -(2.0**23) * U
    v = np.array([1.0, -1.0, 1.0, -1.0]) / 2
    K = large * np.ones((n, n)) + least * np.outer(v, v)
    size = float(np.abs(K).sum(axis=1).max())
    assert least > -n * U * size
    found = dense_curvature(K, np.zeros(n, int))
    assert found.verdict == "proven"
    trace = abs(least)
    shift = 4 * (n + 2) * U * size + 2 * abs(least)
    total = 8 * U * size + shift + (n + 2) * U * (trace + n * shift)
    assert found.shift == pytest.approx(total, rel=1e-6 if U == FINE else 1e-9, abs=0)
    K += 2.0**6 * least * np.outer(v, v)
    assert dense_curvature(K, np.zeros(n, int)).verdict == "refuted"


def test_a_least_eigenvalue_of_rounding_size_is_no_refutation():
    K = np.diag([1e3] + [1.0] * 48 + [-45 * U])
    assert dense_curvature(K).verdict == "proven"
    K[-1, -1] = -600 * U * 1e3  # below what rounding makes of 0 at this norm
    assert dense_curvature(K).verdict == "refuted"


# ---- all classes in one problem -----------------------------------------------------------------


def joint(machine, biases=None, free=False):
    labels, C = np.array([0, 1, 2, 1]), np.array([1.0, 0.5, 2.0, 1.0])
    problem = machine(labels, C, 3, biases, free)
    rng = np.random.default_rng(5)
    return problem, rng.normal(size=(4, 3)), rng


@pytest.mark.parametrize("machine", [WestonWatkins, CrammerSinger])
@pytest.mark.parametrize("with_biases", [False, True])
@pytest.mark.parametrize(
    ("error", "shift", "spoilt"),
    [(2.0**-8, 0.0, 2.0**-12), (2.0**-8, 2.0**-10, 0.0), (0.0, 0.0, 0.0)],
)
def test_rounding_of_classes(machine, with_biases, error, shift, spoilt):
    biases = np.array([0.5, -0.25, -0.25]) if with_biases else None
    problem, wild, rng = joint(machine, biases)
    n, k = 4, 3
    alpha = problem.feasible(wild)
    alpha[0, 0] += spoilt  # moved back into its constraint
    K = positive(4, 6) / 4
    f, errors = K @ alpha, error * rng.uniform(size=(4, 3))
    seen = BoundedProduct(f, errors, np.sqrt(np.diag(K)), Curvature("proven", shift))
    found = problem.prove(alpha, seen)
    judged = problem.judge(alpha, f)
    own = np.arange(3) == problem.labels[:, None]
    few = (n * k + 8) * U
    squares = (np.abs(alpha) * errors).sum() + few * np.abs(alpha * f).sum()
    off = errors + 4 * U * (1 + np.abs(f) + (np.abs(biases) if with_biases else 0.0))
    loss = 0.0
    for i in range(n):
        mine = off[i, problem.labels[i]]
        loss += problem.C[i] * (off[i].sum() + (k - 2) * mine)
    above = squares / 2 + loss + few * problem.C @ np.abs(problem.loss(problem.margins(f)))
    above += shift / 2 * ((2 * k * problem.C) ** 2).sum()
    inside = problem.feasible(alpha)
    change = inside - alpha
    slopes = own - f
    moved = np.sqrt(np.diag(K)) @ np.abs(change)
    below = squares / 2 + (np.abs(change) * off).sum()
    below += few * (np.abs(alpha[own]).sum() + np.abs(slopes * change).sum() + moved @ moved)
    below += 2 * U * k * (np.abs(alpha) * np.abs(slopes)).sum()
    assert found.rounding == pytest.approx(max(above, below), rel=1e-12 if spoilt else 1e-9)
    assert found.dual == pytest.approx(
        judged.dual + (slopes * change).sum() - moved @ moved / 2, rel=1e-13
    )
    assert found.primal == judged.primal


@pytest.mark.parametrize("machine", [WestonWatkins, CrammerSinger])
def test_rounding_of_the_dual_value_alone(machine):
    """With prices of almost nothing the loss is certain, and with errors of 0 only terms count."""
    problem = machine(np.array([0, 1]), np.full(2, 2.0**-30), 2)
    alpha = np.array([[2.0**-30, -(2.0**-30)], [0.0, 0.0]])
    f = np.array([[1.0, -1.0], [-3.0, 2.0]]) * 2.0**10
    seen = BoundedProduct(f, np.zeros((2, 2)), np.ones(2), Curvature())
    found = problem.prove(alpha, seen)
    few, size = 12 * U, 2.0**-30
    squares = few * 2 * size * 2.0**10
    slopes = np.abs(np.array([[1 - 2.0**10, 2.0**10], [3 * 2.0**10, 1 - 2.0**11]]))
    below = squares / 2 + few * size + 4 * U * (np.abs(alpha) * slopes).sum()
    off = 4 * U * (1 + np.abs(f))
    losses = problem.loss(problem.margins(f))
    above = squares / 2 + size * off.sum() + few * size * losses.sum()
    assert found.rounding == pytest.approx(max(above, below), rel=1e-9, abs=0)


@pytest.mark.parametrize("spoilt", [0.0, 2.0**-16])
@pytest.mark.parametrize("machine", [WestonWatkins, CrammerSinger])
def test_the_dual_value_is_the_uncertain_one(machine, spoilt):
    """All of twenty points on their margins and bounds: no loss, but a long sum of multipliers."""
    n, price = 20, 2.0**-4
    labels = np.arange(n) % 2
    own = labels[:, None] == np.arange(2)
    problem = machine(labels, np.full(n, price), 2)
    alpha, f = np.where(own, price, -price), np.where(own, 0.5, -0.5)
    alpha[3, 1] += spoilt
    roots = np.full(n, 2.0**6)
    found = problem.prove(alpha, BoundedProduct(f, np.zeros((n, 2)), roots, Curvature()))
    few = (2 * n + 8) * U
    squares = few * np.abs(alpha * f).sum()
    change = problem.feasible(alpha) - alpha
    slopes = own - f
    moved = np.abs(change).sum(axis=0) * 2.0**6
    below = squares / 2 + (np.abs(change) * 4 * U * (1 + np.abs(f))).sum()
    below += few * (np.abs(alpha[own]).sum() + np.abs(slopes * change).sum() + moved @ moved)
    below += 2 * U * 2 * (np.abs(alpha) * np.abs(slopes)).sum()
    assert found.rounding == pytest.approx(below, rel=1e-9, abs=0)
    plain = alpha[own].sum() - (alpha * f).sum() / 2
    shift = (slopes * change).sum() - moved @ moved / 2
    assert found.dual == pytest.approx(plain + shift, rel=1e-12)


@pytest.mark.parametrize("machine", [WestonWatkins, CrammerSinger])
def test_free_biases_ask_for_sums_of_0(machine):
    problem, wild, _ = joint(machine, np.zeros(3), True)
    alpha = problem.feasible(wild)
    assert np.abs(alpha.sum(axis=0)).max() < 1e-14
    assert np.abs(alpha.sum(axis=1)).max() < 1e-14
    assert not problem.unbalanced(alpha)
    K = positive(4, 6)
    seen = BoundedProduct(K @ alpha, np.zeros((4, 3)), np.sqrt(np.diag(K)), Curvature())
    found, plain = (
        problem.prove(alpha, seen),
        machine(problem.labels, problem.C, 3).prove(alpha, seen),
    )
    sizes = np.abs(alpha).sum(axis=0) + problem.C.max()
    moves = (4 * 12 * 3 * U * sizes).sum()
    slopes = np.abs((np.arange(3) == problem.labels[:, None]) - K @ alpha).max()
    paid = 4 * moves * slopes
    assert plain.rounding <= found.rounding <= plain.rounding + paid * (1 + 1e-9)
    assert found.rounding >= paid
    assert math.isfinite(found.dual)
    off = alpha.copy()
    off[0, [0, 1]] += [0.01, -0.01]
    assert problem.unbalanced(off)
    assert problem.judge(off, K @ off).dual_feasibility == pytest.approx(0.01, rel=0.2)
    # A class of which nothing can be given away keeps its sum, and nothing is bounded.
    one = machine(np.array([0, 0]), np.ones(2), 2, np.zeros(2), True)
    stuck = one.feasible(np.array([[1.0, -1.0], [0.0, 0.0]]))
    np.testing.assert_allclose(stuck, 0.0, atol=1e-15)


# ---- Gaussian processes -------------------------------------------------------------------------


@pytest.mark.parametrize("silent", [False, True])
def test_the_mean_of_a_process_by_the_formulas(silent):
    K, rng = positive(5, 2), np.random.default_rng(3)
    y, c, noise = rng.normal(size=5), rng.normal(size=5), rng.uniform(0.2, 1, 5)
    if silent:
        noise[2] = 0.0
    noisy = noise > 0
    problem, f = MeanProblem(y[:, None], noise), K @ c
    found = problem.certify(c[:, None], GivenGram(K, Definite.POSITIVE))
    residual = np.abs(y - f - noise * c)
    assert found.primal == pytest.approx(((y - f)[noisy] ** 2 / noise[noisy]).sum() / 2 + c @ f / 2)
    assert found.dual == pytest.approx(c @ y - c @ f / 2 - noise @ c**2 / 2)
    assert found.stationarity == pytest.approx(residual[noisy].max())
    assert found.primal_feasibility == pytest.approx(residual[2] if silent else 0.0)
    roots = np.sqrt(np.diag(K))
    errors = 21 * U * roots * (roots @ np.abs(c))
    few = 13 * U
    off = errors + 4 * U * (np.abs(y) + np.abs(f))
    squares = np.abs(c) @ errors + few * np.abs(c * f).sum()
    misfit = (np.abs(y - f) * off + off**2 / 2 + few * (y - f) ** 2)[noisy] / noise[noisy]
    below = squares / 2 + few * (np.abs(c * y).sum() + noise @ c**2)
    assert found.rounding == pytest.approx(max(squares / 2 + misfit.sum(), below), rel=1e-9, abs=0)
    calm = MeanProblem(f[:, None], np.full(5, 1e6))  # no misfit but large prices of c
    only = calm.certify(c[:, None], GivenGram(K, Definite.POSITIVE)).rounding
    assert only == pytest.approx(squares / 2 + few * (np.abs(c * f).sum() + 1e6 * c @ c), rel=1e-9)
    shifted = problem.certify(c[:, None], GivenGram(K, Definite.UNKNOWN))
    if silent:
        assert shifted.rounding == math.inf
    else:
        shift = dense_curvature(K).shift
        reach = c @ c + y @ y / noise.min() ** 2
        errors = 21 * U * np.abs(K) @ np.abs(c)
        off = errors + 4 * U * (np.abs(y) + np.abs(f))
        squares = np.abs(c) @ errors + few * np.abs(c * f).sum()
        misfit = (np.abs(y - f) * off + off**2 / 2 + few * (y - f) ** 2) / noise
        above = squares / 2 + misfit.sum() + shift * reach
        assert shifted.rounding == pytest.approx(above, rel=1e-9, abs=0)


def test_the_mode_of_a_process_by_loops():
    K, y = positive(4, 2) / 4, np.array([1.0, 0.0, 1.0, 0.0])
    problem = ModeProblem(y)
    for c in (np.array([0.5, -0.25, 0.75, -0.5]), np.array([1.5, 0.25, -0.5, -0.75])):
        f, s = K @ c, 2 * y - 1
        beta = s * np.clip(s * c, 0, 1)
        entropy = -sum(
            p * math.log(p) + (1 - p) * math.log(1 - p) for p in np.abs(beta) if 0 < p < 1
        )
        for found in (problem.certify(c, GivenGram(K)), problem.certify(c, GivenGram(K), f)):
            loss = sum(math.log1p(math.exp(-a * b)) for a, b in zip(s, f, strict=True))
            assert found.primal == pytest.approx(loss + c @ f / 2)
            assert found.dual == pytest.approx(entropy - beta @ K @ beta / 2)
            wanted = y - 1 / (1 + np.exp(-f))
            assert found.stationarity == pytest.approx(np.abs(c - wanted).max())


# ---- several kernels ----------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0])
def test_norms_of_weights(p):
    problem = MultipleKernelProblem(
        [(np.arange(2), qp.classifier(np.array([1.0, -1.0]), np.ones(2)))], p
    )
    q, d = np.array([1.0, 4.0, 2.0]), problem.on_sphere(np.array([3.0, 1.0, 2.0]))
    assert (d**p).sum() == pytest.approx(1.0)
    assert (problem.equal_weights(3) ** p).sum() == pytest.approx(1.0)
    dual = q.max() if p == 1 else (q ** (p / (p - 1))).sum() ** ((p - 1) / p)
    assert problem.dual_norm(q) == pytest.approx(dual)
    s = 2 * p / (p + 1)
    for size in (1e-200, 1e200):  # whose powers are no numbers
        np.testing.assert_allclose(problem.on_sphere(size * np.array([3.0, 1.0, 2.0])), d)
    block = ((d * np.sqrt(q)) ** s).sum() ** (2 / s)
    assert problem.block_norm(d, q) == pytest.approx(block)
    assert block <= d @ q <= dual


@pytest.mark.parametrize("p", [1.0, 2.0])
@pytest.mark.parametrize("spoilt", [0.0, 2.0**-30, 2.0**-20])
def test_several_kernels_by_the_formulas(p, spoilt):
    signs, C = np.array([1.0, -1.0, 1.0, -1.0]), np.full(4, 2.0)
    box = qp.classifier(signs, C)
    kernels = [positive(4, seed) for seed in (1, 2)]
    problem = MultipleKernelProblem([(np.arange(4), box)], p)
    d, beta = problem.on_sphere(np.array([1.0, 2.0])), np.array([0.5, -1.0, 1.0, -0.5])
    beta[0] += spoilt
    gram = SumGram([GivenGram(K, Definite.POSITIVE) for K in kernels])
    joined, (part,) = problem.prove(WeightedMultipliers(d, [beta]), gram)
    assert problem.certify(WeightedMultipliers(d, [beta]), gram).primal == joined.primal
    F = np.array([K @ beta for K in kernels])
    roots = np.array([np.sqrt(np.diag(K)) for K in kernels])
    errors = np.array([20 * U * r * (r @ np.abs(beta)) for r in roots])
    seen = BoundedProduct(
        d @ F, d @ (errors + 2 * U * np.abs(F)), np.sqrt(d @ roots**2), Curvature()
    )
    alone = box.prove(beta, seen)
    assert part.primal == pytest.approx(alone.primal, rel=1e-14)
    assert part.rounding == pytest.approx(alone.rounding, rel=1e-9, abs=0)
    q = F @ beta
    moved = np.abs(box.feasible(beta) - beta)
    off = errors @ np.abs(beta) + 8 * U * np.abs(F) @ np.abs(beta) + 2 * np.abs(F) @ moved
    off += (roots @ moved) ** 2
    block, norm = problem.block_norm(d, q), problem.dual_norm(q)
    assert joined.primal == pytest.approx(part.primal + (block - d @ q) / 2, rel=1e-12)
    assert joined.dual == pytest.approx(part.dual + (d @ q - norm) / 2, rel=1e-12)
    above = problem.block_norm(d, q + off) - block + d @ off
    below = problem.dual_norm(q + off) - norm + d @ off
    # Differences of norms that are equal to fifteen digits.
    rel = 1e-8 if spoilt > 1e-9 else 1e-6 if spoilt or U == COARSE else 0.5
    assert joined.rounding == pytest.approx(part.rounding + max(above, below) / 2, rel=rel)
    assert joined.problem == f"ℓ{p:g}-norm multiple kernel learning (C-SVC)"


def test_one_kernel_that_is_not_definite_spoils_the_sum():
    box = qp.classifier(np.array([1.0, -1.0, 1.0]), np.ones(3))
    problem = MultipleKernelProblem([(np.arange(3), box)])
    value = WeightedMultipliers(np.array([0.5, 0.5]), [np.zeros(3)])
    bad = np.diag([1.0, -4.0, 1.0])
    for second, verdict in ((positive(3), "proven"), (bad, "refuted")):
        gram = SumGram([GivenGram(np.eye(3)), GivenGram(second, Definite.UNKNOWN)])
        assert problem.certify(value, gram).curvature == verdict


def test_alignment_by_the_formulas():
    K, Y = np.array([positive(5, s) for s in (1, 2)]), np.arange(5.0)[:, None] ** 2
    H = np.eye(5) - 0.2
    M = np.array([[(H @ a @ H * (H @ b @ H)).sum() for a in K] for b in K])
    T = H @ Y @ Y.T @ H
    a = np.array([(H @ each @ H * T).sum() for each in K])
    problem = AlignmentProblem(Y)
    gram = SumGram([GivenGram(each) for each in K])
    for v in (np.array([0.5, 2.0]), np.array([3.0, 0.0]), np.array([-0.25, 40.0])):
        found = problem.certify(v, gram)
        g = M @ v - a
        value = ((sum(w * H @ k @ H for w, k in zip(v, K, strict=True)) - T) ** 2).sum() / 2
        assert found.primal == pytest.approx(value)
        falls = np.maximum(0, -g)
        most = math.sqrt((T**2).sum()) / np.sqrt(np.diag(M))
        assert found.dual == pytest.approx(value - g @ v - most @ falls)
        assert found.stationarity == pytest.approx(falls.max())
        assert found.primal_feasibility == max(0.0, -v.min())
        assert found.complementarity == pytest.approx(np.abs(g * v).max())
        assert found.curvature == "proven"
    opposite = SumGram([GivenGram(K[0]), GivenGram(-K[1], Definite.UNKNOWN)])
    assert problem.certify(np.ones(2), opposite).curvature == "open"


# ---- along graphs, and of several targets -------------------------------------------------------

LINE = sparse.csr_array(np.array([[1.0, -1, 0, 0], [-1, 2, -1, 0], [0, -1, 2, -1], [0, 0, -1, 1]]))


@pytest.mark.parametrize("power", [1, 2])
def test_roughness(power):
    rough = Roughness(LINE, 0.5, power)
    R = 0.5 * np.linalg.matrix_power(LINE.toarray(), power)
    V = np.arange(8.0).reshape(4, 2) ** 2
    np.testing.assert_allclose(rough(V), R @ V)
    assert rough.norm() == 0.5 * 4**power
    assert np.linalg.eigvalsh(R).max() <= rough.norm()
    assert not Roughness(LINE, 0.0)(V).any()
    np.testing.assert_allclose(Roughness(LINE, 1.0, power)(V), 2 * R @ V)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kind", ["squares", "squared hinge", "hinge"])
def test_manifold_machines_by_loops(kind, intercept):
    rows, y, w = np.array([0, 2, 3]), np.array([1.0, -1.0, 1.0]), np.array([1.0, 2.0, 0.5])
    make = HingeManifoldProblem if kind == "hinge" else ManifoldProblem
    problem = make(rows, y, w, 0.75, Roughness(LINE, 0.5), kind != "squares", intercept)
    K, R = positive(4, 3), 0.5 * LINE.toarray()
    c, b = np.array([0.2, -0.1, 0.05, 0.3]), 0.25 if intercept else 0.0
    f = K @ c
    loss = 0.0
    for i, row in enumerate(rows):
        e = y[i] - f[row] - b
        counts = kind == "squares" or y[i] * e > 0
        loss += w[i] * (abs(e) if kind == "hinge" else e * e / 2) * counts
    value = loss + 0.75 * c @ f / 2 + f @ R @ f / 2
    assert problem.value(c, f, b) == pytest.approx(value)
    point = problem.dual_point(c, f)
    image = K @ point.coef
    full = np.zeros(4)
    full[rows] = point.beta
    np.testing.assert_allclose(0.75 * point.coef, full - R @ point.values)
    if intercept:
        assert abs(point.beta.sum()) < 1e-12
    for beta in (point.beta, np.array([0.5, 0.25, -0.125])):
        found = problem.judge(c, f, b, replace(point, beta=beta), image)
        signed = y * beta
        broken = abs(beta.sum()) if intercept else 0.0
        if kind == "hinge":
            dual, broken = beta @ y, max(broken, *(np.maximum(-signed, signed - w)), 0.0)
        else:
            dual = beta @ y - (beta**2 / w).sum() / 2
            broken = max(broken, *(-signed), 0.0) if kind == "squared hinge" else broken
        dual -= (f @ R @ f + 0.75 * point.coef @ image) / 2
        assert found.dual_feasibility == pytest.approx(broken, abs=1e-12)
        if kind == "hinge" and broken > 1e-3:
            assert found.dual == -math.inf
        else:
            assert found.dual == pytest.approx(dual)
        assert found.primal == pytest.approx(value)
        assert found.stationarity == pytest.approx(0.75 * np.abs(image - f).max())
    V = np.random.default_rng(0).normal(size=(4, 2))
    D = np.zeros(4)
    D[rows] = w
    np.testing.assert_allclose(problem.bend(V), (R + np.diag(D)) @ V)
    both = ManifoldProblems([problem, problem])
    assert both.stiffness == pytest.approx((2.0 + 2.0) / 0.75)
    assert both.name == problem.name


@pytest.mark.parametrize("hinge", [False, True])
def test_the_best_constant_has_no_slope(hinge):
    rng = np.random.default_rng(0)
    for _ in range(40):
        n = int(rng.integers(1, 7))
        y, w = rng.choice([-1.0, 1.0], n), rng.uniform(0.1, 2, n)
        problem = ManifoldProblem(np.arange(n), y, w, 1.0, Roughness(LINE, 0.0), hinge, True)
        u = rng.normal(size=n)
        b = problem.best_bias(u)

        def price(b, problem=problem, u=u, w=w):
            return w @ problem.errors(u, b) ** 2

        # Convex: no constant to the left or right is better.
        assert price(b) <= min(price(b - 1e-4), price(b + 1e-4)) + 1e-15
        assert abs(w @ problem.errors(u, b)) < 1e-12
        bends = np.where(y * (y - u - b) > 0, w, 0.0) if hinge else w
        np.testing.assert_array_equal(problem.curvatures(u, b), bends)
    if hinge:  # where an interval is best, its middle
        problem = ManifoldProblem(np.arange(2), np.array([1.0, -1.0]), np.ones(2), 1.0,
                                  Roughness(LINE, 0.0), True, True)  # fmt: skip
        assert problem.best_bias(np.array([3.0, -5.0])) == 1.0  # any b from −2 to 4
        alone = ManifoldProblem(np.arange(1), np.array([1.0]), np.ones(1), 1.0,
                                Roughness(LINE, 0.0), True, True)  # fmt: skip
        assert alone.best_bias(np.array([3.0])) >= -2.0


@pytest.mark.parametrize(("l1", "l2"), [(0.5, 0.0), (0.5, 2.0), (1e3, 0.0)])
def test_several_targets_by_loops(l1, l2):
    rng = np.random.default_rng(0)
    X, Y, W = rng.normal(size=(6, 3)), rng.normal(size=(6, 2)), rng.normal(size=(3, 2))
    W[1] = 0.0
    problem = MultiTaskProblem(Y, l1, l2)
    R = Y - X @ W
    c = X.T @ R
    lengths = [math.hypot(*row) for row in W]
    price = l1 * sum(lengths) + l2 * sum(z * z for z in lengths) / 2
    assert problem.penalty(W) == pytest.approx(price)
    worst = max(math.hypot(*row) for row in c - l2 * W)
    inside = min(1.0, l1 / worst)

    def dual(t):
        value = t * (Y * R).sum() - t * t * (R * R).sum() / 2
        if l2:
            value -= sum(max(0.0, t * math.hypot(*row) - l1) ** 2 for row in c) / (2 * l2)
        return value

    best = max(map(dual, (inside, 1.0) if l2 else (inside,)))
    broken = []
    for j in range(3):
        slope = c[j] - l2 * W[j]
        if lengths[j]:
            broken.append(math.hypot(*(slope - l1 * W[j] / lengths[j])))
        else:
            broken.append(max(0.0, math.hypot(*slope) - l1))
    gram = FeatureGram.of_rows(X)
    for found in (problem.certify(W, gram), problem.certify(W, gram, X @ W)):
        assert found.primal == pytest.approx((R * R).sum() / 2 + price)
        assert found.dual == pytest.approx(best)
        assert found.stationarity == pytest.approx(max(broken))
    assert problem.target(2.0, 1e-3) == 2e-3
    assert problem.target(0.0, 1e-3) == pytest.approx(1e-14 * (Y * Y).sum())
    other = problem.with_penalty(3.0, 4.0)
    assert (other.l1, other.l2) == (3.0, 4.0)


def test_without_a_ridge_only_feasible_shares_of_multipliers_count():
    """At weights of 0 the whole residual would be a better point, were it one of the dual."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(6, 3)), rng.normal(size=(6, 2))
    worst = max(math.hypot(*row) for row in X.T @ Y)
    problem = MultiTaskProblem(Y, worst / 2)
    found = problem.certify(np.zeros((3, 2)), FeatureGram.of_rows(X))
    assert found.dual == pytest.approx((0.5 - 0.125) * (Y * Y).sum())
    nothing = MultiTaskProblem(0 * Y, 0.0, 0.5).certify(np.zeros((3, 2)), FeatureGram.of_rows(X))
    assert (nothing.primal, nothing.dual, nothing.stationarity) == (0.0, 0.0, 0.0)
