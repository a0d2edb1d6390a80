"""Rows that may change: counts against the bound of the proof, and answers against new fits."""

from dataclasses import replace

import numpy as np
import pytest

from mercer.gram.given import GivenGram
from mercer.kernels.definite import Definite
from mercer.problems import qp
from mercer.solvers.base import Budget
from mercer.solvers.svm.changed_rows import (
    _Base,
    _best_bias,
    _Remainders,
    harmless_changes,
)
from mercer.solvers.svm.smo import SMO

PULLS, SPREADS, LEAST_ROOM = (0.0, 0.03, 0.1), (0.3, 3.0), 0.02


def optimum(problem, K):
    return SMO().solve(problem, GivenGram(K, Definite.POSITIVE), Budget(tol=1e-10)).value


def least_gap(F, up, down):
    """Return the best bias and its gap, by trying every one that can be best."""
    gaps = [up @ np.maximum(F - b, 0) + down @ np.maximum(b - F, 0) for b in F]
    return F[np.argmin(gaps)], min(gaps)


def remainder(phi, anchors, price):
    """Return ν with Σν = 1 and the least ‖φ − Σνⱼφⱼ‖² + Σ priceⱼνⱼ², and what it leaves of φ."""
    k = len(anchors)
    system = np.ones((k + 1, k + 1))
    system[:k, :k] = anchors @ anchors.T + np.diag(price)
    system[k, k] = 0.0
    nu = np.linalg.solve(system, np.append(anchors @ phi, 1.0))[:k]
    return nu, phi - nu @ anchors


def greatest(values, m):
    return np.sort(values, axis=0)[len(values) - m :].sum(axis=0)


def most_harmless(problem, beta, Phi, new, spread, values, removed_only):
    """Return how many rows may change by the inequalities of the proof, with explicit features."""
    n, width = len(beta), problem.hi - problem.lo
    up, down = problem.hi - beta, beta - problem.lo
    F = problem.p - Phi @ (Phi.T @ beta)
    bias, gap = least_gap(F, up, down)
    room = np.minimum(up, down)
    Z = np.flatnonzero(room > LEAST_ROOM * width)
    found = np.full(len(new), -1)
    if len(Z) == 0:
        return found
    price = spread * (Phi**2).sum(axis=1).mean() * (width[Z].max() / room[Z]) ** 2
    nus, rhos = map(np.array, zip(*(remainder(row, Phi[Z], price) for row in Phi), strict=True))
    sizes = np.abs(beta)
    sizes[Z] = width[Z]
    sizes += 0 if removed_only else width
    faults, signed = np.abs(F[Z] - bias), problem.p * sizes
    pairs = np.maximum(np.outer(signed, signed) * (rhos @ rhos.T), 0)
    for m in range(n + 1):
        uses = greatest(sizes[:, None] * np.abs(nus), m)
        if not (uses < room[Z]).all():
            break
        others = [greatest(np.delete(pairs[i], i), max(m - 1, 0)) for i in range(n)]
        far = greatest(np.diagonal(pairs) + others, m) / 4 + gap + uses @ faults
        for t, (phi, value) in enumerate(zip(new, values, strict=True)):
            nu, rho = remainder(phi, Phi[Z], price)
            f = phi @ (Phi.T @ beta) + bias
            push = greatest(np.maximum(np.sign(f) * signed * (rhos @ rho), 0), m)
            # μ Δ(x) ≤ ¼‖v‖² + cost with v = μρ(x) + Σδρ, at the best μ that leaves room.
            limit = ((room[Z] - uses) / np.abs(nu)).min()
            mu = min(2 * np.sqrt(far / (rho @ rho)), limit)
            fall = mu * (rho @ rho) / 4 + push / 2 + far / mu + np.abs(nu) @ faults
            if np.sign(f) == np.sign(value) and fall < abs(f):
                found[t] = m
    return found


def data(seed, n, apart):
    """Return labels, kernel values of old rows and new ones, and features that have them."""
    random = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 3 > 0, 1.0, -1.0)
    centres = np.concatenate([y, np.linspace(-0.8, 0.8, 8)])[:, None] * [apart, 0.0]
    X = centres + random.normal(size=(n + 8, 2))
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 16)
    features = np.linalg.cholesky(K + 1e-9 * np.eye(n + 8))
    return y, features @ features.T, features


def pulled(problem, K, pull):
    """Return the optimum of the problem with springs to the middles of all boxes."""
    stiffness = 2 * pull / (problem.hi - problem.lo)
    p = problem.p + stiffness * (problem.lo + problem.hi) / 2
    return optimum(replace(problem, p=p), K + np.diag(stiffness))


@pytest.mark.parametrize("removed_only", [True, False])
@pytest.mark.parametrize(
    ("n", "apart", "C"),
    [
        (30, 1.0, 1.0),
        (30, 1.0, 0.1),
        (40, 2.0, 0.02),
        (80, 2.0, 0.1),
        (120, 3.0, 0.02),
        (200, 4.0, 0.004),
    ],
)
def test_counts_are_those_of_the_proof(n, apart, C, removed_only):
    y, K, features = data(0, n, apart)
    problem = qp.classifier(y, np.full(n, C))
    own, among, cross = np.diagonal(K)[n:], K[:n, :n], K[n:, :n]
    beta = optimum(problem, among)
    values = cross @ beta + problem.biases(beta, among @ beta)[0]
    found = harmless_changes(problem, among, cross, own, beta, values, removed_only)
    bases = [beta, *(pulled(problem, among, pull) for pull in PULLS[1:])]
    expected = [
        most_harmless(problem, base, features[:n], features[n:], spread, values, removed_only)
        for base in bases
        for spread in SPREADS
    ]
    np.testing.assert_array_equal(found, np.max(expected, axis=0))


@pytest.mark.parametrize("removed", [True, False])
@pytest.mark.parametrize("C", [0.05, 1.0])
def test_no_single_change_turns_a_proven_answer(C, removed):
    y, K, _ = data(2, 30, 1.0)
    n, among, cross = 30, K[:30, :30], K[30:, :30]
    problem = qp.classifier(y, np.full(n, C))
    beta = optimum(problem, among)
    values = cross @ beta + problem.biases(beta, among @ beta)[0]
    proven = harmless_changes(problem, among, cross, np.diagonal(K)[n:], beta, values, removed)
    assert proven.min() >= 0  # the answer itself is proven
    for i in range(n):
        sign, bound = y.copy(), np.full(n, C)
        if removed:
            bound[i] = 0.0
        else:
            sign[i] = -sign[i]
        other = qp.classifier(sign, bound)
        gamma = optimum(other, among)
        after = cross @ gamma + other.biases(gamma, among @ gamma)[0]
        assert ((np.sign(after) == np.sign(values)) | (proven < 1)).all()


def test_other_signs_than_those_of_the_answer_are_not_proven():
    y, K, _ = data(2, 30, 1.0)
    problem = qp.classifier(y, np.ones(30))
    beta = optimum(problem, K[:30, :30])
    values = K[30:, :30] @ beta + problem.biases(beta, K[:30, :30] @ beta)[0]
    own = np.diagonal(K)[30:]
    found = harmless_changes(problem, K[:30, :30], K[30:, :30], own, beta, -values, True)
    np.testing.assert_array_equal(found, -1)


@pytest.mark.parametrize("removed_only", [True, False])
def test_counts_of_other_tables(removed_only):
    assert sum(_compared_counts(seed, removed_only) for seed in range(1, 6)) > 0


def _compared_counts(seed, removed_only):
    """Compare the counts of a table with those by the inequalities; return how many it has."""
    n = 40
    y, K, features = data(seed, n, 2.5)
    problem = qp.classifier(y, np.full(n, 0.03))
    own, among, cross = np.diagonal(K)[n:], K[:n, :n], K[n:, :n]
    beta = optimum(problem, among)
    values = cross @ beta + problem.biases(beta, among @ beta)[0]
    compared = 0
    for pull in PULLS:
        base = _Base.near(problem, among, beta, pull)
        F, up, down = problem.p - among @ base.beta, problem.hi - base.beta, base.beta - problem.lo
        if not len(base.anchors) or base.bias != least_gap(F, up, down)[0]:
            continue  # without anchors there is no bound, and of equal biases any will do
        compared += 1
        for spread in SPREADS:
            bounds = _Remainders(base, among, cross, own, spread)
            found = bounds.harmless(values, removed_only)
            exact = most_harmless(
                problem, base.beta, features[:n], features[n:], spread, values, removed_only
            )
            np.testing.assert_array_equal(found, exact)
            sizes = np.sqrt(own * np.diagonal(among).max()) * np.abs(base.beta).sum()
            np.testing.assert_allclose(bounds.noise, 1e-10 * (np.abs(bounds.values) + sizes))
            assert (bounds.harmless(-values, removed_only) == -1).all()
    return compared


def test_the_best_constant_is_a_weighted_quantile():
    random = np.random.default_rng(0)
    for _ in range(50):
        F, up, down = random.normal(size=7), random.uniform(0, 1, 7), random.uniform(0, 1, 7)
        up[random.integers(7)] = 0.0
        best, gap = least_gap(F, up, down)
        found = _best_bias(F, up, down)
        assert up @ np.maximum(F - found, 0) + down @ np.maximum(found - F, 0) == pytest.approx(gap)
        assert found == best
