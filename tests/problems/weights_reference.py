"""Random problems of multiple kernel learning, and their optimum by Clarabel's conic solver."""

import clarabel
import numpy as np
from scipy import sparse

from mercer.gram.given import GivenGram
from mercer.gram.sums import SumGram
from mercer.kernels.definite import Definite
from mercer.problems import qp
from mercer.problems.multiple_kernels import MultipleKernelProblem

NORMS = (1.0, 1.0, 1.25, 1.5, 2.0, 4.0)


def random_weights_problem(seed, most=50):
    """Return a problem and its matrices: all norms, classes and numbers, parts that share rows."""
    random = np.random.default_rng(seed)
    n, count = int(random.integers(8, most)), int(random.integers(1, 8))
    views = [random.normal(size=(n, random.integers(1, 4))) for _ in range(count)]
    K = np.array([_matrix(Z, random) for Z in views])
    C = 10 ** random.uniform(-2, 2) * (0.5 + random.exponential(size=n))
    target = views[0][:, 0] + views[-1][:, 0] ** 2 / 2 + 0.3 * random.normal(size=n)
    rows, kind = np.arange(n), random.choice(["two classes", "three classes", "numbers"])
    if kind == "numbers":
        parts = [(rows, qp.regressor(target, C, float(random.choice([0.0, 0.1]))))]
    elif kind == "two classes":
        signs = np.where(target > np.median(target), 1.0, -1.0)
        parts = [(rows, qp.classifier(signs, C))]
    else:
        codes = np.argsort(np.argsort(target)) * 3 // n
        pairs = [(rows[codes != c], (c + 1) % 3) for c in range(3)]
        parts = [
            (part, qp.classifier(np.where(codes[part] == c, 1.0, -1.0), C[part]))
            for part, c in pairs
        ]
    return MultipleKernelProblem(parts, float(random.choice(NORMS))), K


def low_rank_problem(seed, most=60):
    """Return a problem of kernels with few features: categories and single columns."""
    random = np.random.default_rng((seed, 5))
    n, count = int(random.integers(20, most)), int(random.integers(2, 14))
    columns = [
        random.integers(random.integers(2, 5), size=n)
        if random.uniform() < 0.6
        else random.normal(size=n)
        for _ in range(count)
    ]
    K = np.array([_column_matrix(column, random) for column in columns])
    parts = [random.normal() * (column - column.mean()) / column.std() for column in columns[:3]]
    target = np.sum(parts, axis=0) + 0.5 * random.normal(size=n)
    C = np.full(n, 10 ** random.uniform(-2, 2))
    if random.uniform() < 0.6:
        part = qp.classifier(np.where(target > np.median(target), 1.0, -1.0), C)
    else:
        part = qp.regressor(target, C, 0.1)
    p = float(random.choice([1.0, 1.0, 1.0, 1.5]))
    return MultipleKernelProblem([(np.arange(n), part)], p), K


def gram_of(K):
    return SumGram([GivenGram(each, Definite.POSITIVE) for each in K])


def _matrix(Z, random):
    if random.uniform() < 0.4:
        K = Z @ Z.T
    else:
        squares = ((Z[:, None] - Z) ** 2).sum(axis=2)
        K = np.exp(-(10 ** random.uniform(-1, 0.7)) * squares)
    return _with_spread(K)


def _column_matrix(column, random):
    if column.dtype.kind == "i":
        return _with_spread((column[:, None] == column).astype(float))
    if random.uniform() < 0.5:
        return _with_spread(np.outer(column, column))
    return _with_spread(np.exp(-(10 ** random.uniform(-1, 1)) * (column[:, None] - column) ** 2))


def _with_spread(K):
    """Return a matrix with a mean square of distances from the mean of 1."""
    return K * len(K) / np.trace(K - K.mean(axis=0))


def joint_optimum(problem, K):
    """Return a lower and an upper bound of the optimum, as Clarabel sees them.

    Its tolerances mean something where the objective is of order 1, and the unit is found out by
    tries: those bounds count that are nearest to each other.
    """
    boxes = [part for _, part in problem.parts]
    widest = max(float((part.hi - part.lo).max()) for part in boxes)
    largest = max(float(np.abs(part.p).max()) for part in boxes)
    found = []
    for share in (1.0, 0.3, 0.1, 0.03, 0.01, 3.0, 10.0, 0.003, 0.001, 0.5, 0.2):
        width = share * widest
        found.append(_conic_optimum(problem, K, width, width * largest))
        if _apart(found[-1]) < 1e-8:
            break
    return min(found, key=_apart)


def _apart(ends):
    """Return how far two bounds are apart, as a share; infinite where they contradict."""
    size = max(map(abs, ends))
    return abs(ends[0] - ends[1]) / size if min(ends) > 0 else np.inf


def _conic_optimum(problem, K, width, unit):
    """Return max Σ pᵀβ − ½ ‖q‖, q_m ≥ Σ_j β_jᵀK_mβ_j, from below and from above.

    Each q_m is one second-order cone; the dual norm of p = 1 is a bound on all of them, that of
    p = 2 one more cone, and any other one a power cone for each kernel. Multipliers are counted in
    units of ``width``, the objective in units of ``unit``.
    """
    boxes = [part for _, part in problem.parts]
    sizes = [len(part) for part in boxes]
    m, count = sum(sizes), len(K)
    power = problem.p not in (1.0, 2.0)
    columns = m + count + 1 + count * power  # β/width, q, t, and r of the power cones
    q_at, t_at, r_at = m, m + count, m + count + 1
    places = np.split(np.arange(m), np.cumsum(sizes)[:-1])
    A, b, cones = [], [], []

    def add(rows, right, cone):
        A.append(rows)
        b.append(right)
        cones.append(cone)

    def unit_row(at, value=1.0):
        row = np.zeros((1, columns))
        row[0, at] = value
        return row

    sums = np.zeros((len(boxes), columns))
    for j, place in enumerate(places):
        sums[j, place] = 1.0
    add(sums, np.array([part.sums[0] for part in boxes]) / width, clarabel.ZeroConeT(len(boxes)))
    both = np.zeros((2 * m, columns))
    both[:m, :m], both[m:, :m] = np.eye(m), -np.eye(m)
    ends = [part.hi for part in boxes] + [-part.lo for part in boxes]
    add(both, np.concatenate(ends) / width, clarabel.NonnegativeConeT(2 * m))
    for k, matrix in enumerate(K):
        values, vectors = np.linalg.eigh(matrix)
        root = (vectors * np.sqrt(np.maximum(values, 0.0))).T * width / np.sqrt(unit)
        blocks = []
        for (rows, part), place in zip(problem.parts, places, strict=True):
            block = np.zeros((len(root), columns))
            block[:, place] = -2 * root[:, rows[part.row]]
            blocks.append(block)
        inside = np.vstack([unit_row(q_at + k, -1.0), *blocks, unit_row(q_at + k, -1.0)])
        right = np.zeros(len(inside))
        right[0], right[-1] = 1.0, -1.0
        add(inside, right, clarabel.SecondOrderConeT(len(inside)))
    if problem.p == 1.0:
        rows = np.vstack([unit_row(q_at + k) - unit_row(t_at) for k in range(count)])
        add(rows, np.zeros(count), clarabel.NonnegativeConeT(count))
    elif not power:
        rows = np.vstack([unit_row(t_at, -1.0), *(unit_row(q_at + k, -1.0) for k in range(count))])
        add(rows, np.zeros(count + 1), clarabel.SecondOrderConeT(count + 1))
    else:
        total = unit_row(t_at, -1.0)
        total[0, r_at:] = 1.0
        add(total, np.zeros(1), clarabel.ZeroConeT(1))
        share = 1 - 1 / problem.p  # the inverse of p/(p − 1)
        for k in range(count):
            rows = [unit_row(at, -1.0) for at in (r_at + k, t_at, q_at + k)]
            add(np.vstack(rows), np.zeros(3), clarabel.PowerConeT(share))
    q = np.zeros(columns)
    q[:m] = -np.concatenate([part.p for part in boxes]) * width / unit
    q[t_at] = 0.5
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    answer = clarabel.DefaultSolver(
        sparse.csc_matrix((columns, columns)), q, sparse.csc_matrix(np.vstack(A)),
        np.concatenate(b), cones, settings,
    ).solve()  # fmt: skip
    ends = -answer.obj_val * unit, -answer.obj_val_dual * unit
    return ends if str(answer.status) in ("Solved", "AlmostSolved") else (-np.inf, np.inf)
