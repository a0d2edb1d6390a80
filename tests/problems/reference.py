"""Random box QPs of every kind, and their optimum by another solver (Clarabel, interior point)."""

from dataclasses import dataclass

import clarabel
import numpy as np
from scipy import sparse

from mercer.problems import qp

KINDS = ("C-SVC", "ε-SVR", "one-class SVM", "ν-SVC", "ν-SVR", "hard-margin SVM")


@dataclass(frozen=True)
class Case:
    """A problem, the Gram matrix of its rows, and the matrix of its variables."""

    problem: qp.BoxQP
    K: np.ndarray

    @property
    def quadratic(self):
        row = self.problem.row
        return self.K[np.ix_(row, row)]

    def value(self, beta):
        return float(self.problem.p @ beta - beta @ self.quadratic @ beta / 2)

    def certify(self, beta, biases=None):
        f = self.K @ self.problem.coefficients(beta, len(self.K))
        own = self.problem.biases(beta, f) if biases is None else np.asarray(biases)
        return self.problem.judge(beta, f, own)

    def move(self, beta, random, share=1.0, pairs=10):
        """Return another feasible β: random pairs of a group exchange some of what they may."""
        problem, beta = self.problem, beta.copy()
        for _ in range(pairs):
            i = random.integers(len(problem))
            j = random.choice(np.flatnonzero(problem.group == problem.group[i]))
            room = min(problem.hi[i] - beta[i], beta[j] - problem.lo[j])
            if i != j and room > 0:
                step = share * random.uniform() * room
                beta[i] = min(beta[i] + step, problem.hi[i])
                beta[j] = max(beta[j] - step, problem.lo[j])
        return beta


def random_case(kind, seed, most=30):
    """Return a small problem: any kernel, any scale, heavy tails, equal rows, with weights."""
    random = np.random.default_rng((seed, KINDS.index(kind)))
    n, d = int(random.integers(4, most)), int(random.integers(1, 5))
    X = random.standard_t(df=random.choice([1.5, 30]), size=(n, d))
    X[random.integers(n)] = X[random.integers(n)]
    K = _matrix(X, random)
    signs = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)[random.permutation(n)]
    C = 10 ** random.uniform(-3, 3) * np.ones(n)
    if random.uniform() < 0.5:
        C *= random.exponential(size=n) + 0.01
    targets = X[:, 0] + random.normal(size=n)
    nu = random.uniform(0.05, 0.95)
    if kind == "C-SVC":
        return Case(qp.classifier(signs, C), K)
    if kind == "ε-SVR":
        return Case(qp.regressor(targets, C, float(random.choice([0.0, 0.1, 1.0]))), K)
    if kind == "one-class SVM":
        return Case(qp.one_class(C, nu), K)
    if kind == "ν-SVC":
        least = min(C[signs > 0].sum(), C[signs < 0].sum())
        return Case(qp.nu_classifier(signs, C, nu * min(1.0, 2 * least / C.sum())), K)
    if kind == "ν-SVR":
        return Case(qp.nu_regressor(targets, C, nu), K)
    return Case(qp.hulls(signs), K)


def _matrix(X, random):
    name = random.choice(["linear", "rbf", "polynomial"])
    if name == "linear":
        return X @ X.T
    if name == "polynomial":
        return (0.5 * X @ X.T / max(1.0, np.abs(X).max() ** 2) + 1) ** 3
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    return np.exp(-(10 ** random.uniform(-2, 1)) * squares)


def optimum(case):
    """Return a lower and an upper bound of the maximum, as the other solver sees them.

    It works on β/width with an objective of order 1, which keeps its tolerances meaningful.
    """
    problem, n, K = case.problem, len(case.problem), case.quadratic
    width = float((problem.hi - problem.lo).max())
    scale = width * max(float(np.abs(problem.p).max()), width * float(np.abs(K).max()))
    members = np.zeros((problem.groups, n))
    members[problem.group, np.arange(n)] = 1.0
    A = sparse.csc_matrix(np.vstack([members, np.eye(n), -np.eye(n)]))
    b = np.concatenate([problem.sums, problem.hi, -problem.lo]) / width
    cones = [clarabel.ZeroConeT(problem.groups), clarabel.NonnegativeConeT(2 * n)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    P = sparse.csc_matrix(np.triu(K) * (width**2 / scale))
    q = -problem.p * (width / scale)
    answer = clarabel.DefaultSolver(P, q, A, b, cones, settings).solve()
    assert str(answer.status) in ("Solved", "AlmostSolved", "InsufficientProgress"), answer.status
    ends = (-answer.obj_val * scale, -answer.obj_val_dual * scale)
    apart = abs(ends[0] - ends[1])
    assert apart < 1e-5 * scale
    slack = apart + 1e-7 * max(abs(end) for end in ends) + 1e-9 * scale
    return min(ends) - slack, max(ends) + slack
