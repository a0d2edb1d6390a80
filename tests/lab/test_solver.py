"""The solver in the page and the one in Python give the same answers."""

import numpy as np
import pytest

from mercer import RBF, SVC, Linear, NotSeparable, Polynomial

SOLVE = """
(problems) => problems.map(({X, y, kind, value, C}) => {
  const kernel = lab.kernels[kind](value), K = lab.kernels.gram(kernel, X);
  const found = C === null ? lab.svm.hard(K, y) : lab.svm.soft(K, y, C);
  const {primal, dual, relativeGap, separable, alpha, f, b} = found;
  return {primal, dual, relativeGap, separable, alpha, f, b};
})
"""
KERNELS = {
    "linear": lambda _: Linear(),
    "rbf": lambda width: RBF(sigma=width),
    "polynomial": lambda degree: Polynomial(degree, gamma=0.25),
}


def problem(random, kind, hard=False):
    n = int(random.integers(4, 120))
    y = np.where(np.arange(n) % 2, 1, -1)
    X = (random.normal(size=(n, 2)) + 0.8 * y[:, None]).round(2)
    if hard:  # a gap between the classes, of any direction
        X = (X + 3 * y[:, None]).round(2)
    value = {
        "linear": 0,
        "rbf": float(random.uniform(0.2, 2)),
        "polynomial": int(random.integers(2, 6)),
    }[kind]
    C = None if hard else float(10 ** random.uniform(-2, 2))
    return {"X": X.tolist(), "y": y.tolist(), "kind": kind, "value": value, "C": C}


def fitted(case):
    C = np.inf if case["C"] is None else case["C"]
    return SVC(KERNELS[case["kind"]](case["value"]), C=C, tol=1e-9).fit(case["X"], case["y"])


@pytest.mark.parametrize(
    ("hard", "count", "seed"),
    [
        pytest.param(False, 50, 0, id="soft"),
        pytest.param(True, 20, 0, id="hard"),
        pytest.param(False, 200, 1, id="many soft", marks=pytest.mark.attack),
        pytest.param(True, 200, 1, id="many hard", marks=pytest.mark.attack),
    ],
)
def test_random_problems(lab, hard, count, seed):
    random = np.random.default_rng(seed)
    kinds = ["linear", "rbf", "polynomial"]
    cases = [problem(random, kinds[i % 3], hard) for i in range(count)]
    for case, found in zip(cases, lab().evaluate(SOLVE, cases), strict=True):
        model = fitted(case)
        proof = model.certificate_
        gap = found["primal"] - found["dual"]
        assert found["separable"]
        assert -1e-9 <= found["relativeGap"] <= 1e-6
        # Two answers differ by their gaps at most, and the functions by what these allow.
        slip = 1e-9 * abs(proof.primal)
        assert abs(found["primal"] - proof.primal) <= abs(gap) + abs(proof.gap) + slip
        K = model.kernel_(np.array(case["X"]))
        room = np.sqrt(2 * (abs(gap) + abs(proof.gap) + slip) * np.diag(K).max())
        without_bias = np.array(found["f"]) - found["b"]
        theirs = model.decision_function(case["X"]) - model.intercept_[0]
        assert np.abs(without_bias - theirs).max() <= 2 * room


def test_hulls_that_meet(lab):
    cases = [
        {"X": [[0, 0], [1, 1], [0, 1], [1, 0]], "y": [1, 1, -1, -1], "kind": "linear"},
        {"X": [[0, 0], [0, 0], [3, 1]], "y": [1, -1, -1], "kind": "rbf"},
    ]
    cases = [case | {"value": 1, "C": None} for case in cases]
    for case, found in zip(cases, lab().evaluate(SOLVE, cases), strict=True):
        assert not found["separable"]
        with pytest.raises(NotSeparable):
            fitted(case)


def test_eigenvectors_and_factors(lab):
    random = np.random.default_rng(1)
    B = random.normal(size=(12, 9))
    A = B.T @ B
    answer = lab().evaluate(
        """({A, n, b}) => {
          const {values, vectors} = lab.linalg.eigen(A, n), L = lab.linalg.cholesky(A, n);
          return {values, vectors: vectors.map((v) => [...v]), x: [...lab.linalg.solve(L, n, b)],
                  none: lab.linalg.cholesky(A.map((v) => -v), n)};
        }""",
        {"A": A.ravel().tolist(), "n": 9, "b": B[0].tolist()},
    )
    V = np.array(answer["vectors"])
    np.testing.assert_allclose(answer["values"], np.linalg.eigvalsh(A)[::-1], rtol=1e-11)
    np.testing.assert_allclose(V @ V.T, np.eye(9), atol=1e-12)
    np.testing.assert_allclose(V @ A @ V.T, np.diag(answer["values"]), atol=1e-11)
    np.testing.assert_allclose(A @ answer["x"], B[0], atol=1e-9)
    assert answer["none"] is None
