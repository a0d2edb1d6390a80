"""Indefinite matrices of many kinds, none of which may be claimed to bound an optimum.

``python -m tests.attack.indefinite --matrices 1000`` gives each matrix to a machine of ours or of
scikit-learn's and prints those whose certificate claims a bound or an optimum.
"""

import argparse
import json
import warnings
from collections.abc import Callable

import numpy as np
from sklearn import kernel_ridge, svm

import mercer
from mercer import certify
from mercer.exceptions import MercerError
from mercer.problems.certificate import STATIONARY, UNKNOWN

Array = np.ndarray

LEAST = 1e-9
"""The least share of ‖K‖ that an eigenvalue is negative by; rounding makes less than 1e-13."""


# ---- matrices ----------------------------------------------------------------------------------


def _squares(rng, n):
    X = rng.standard_normal((n, int(rng.integers(1, 5)))) * 10.0 ** rng.uniform(-1, 1)
    return ((X[:, None] - X[None]) ** 2).sum(axis=2)


def any_symmetric(rng, n):
    A = rng.standard_normal((n, n))
    return A + A.T


def few_negative(rng, n):
    """Eigenvalues that fall fast, a few of them negative and small beside the first."""
    values = 10.0 ** -np.linspace(0, rng.uniform(1, 8), n)
    values[n // 2 : n // 2 + max(1, n // 10)] *= -(10.0 ** rng.uniform(-1, 1))
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    return Q @ np.diag(values) @ Q.T


def sigmoid(rng, n):
    X = rng.standard_normal((n, 3))
    return np.tanh(10.0 ** rng.uniform(-1, 1) * X @ X.T + rng.uniform(-2, 2))


def steep_distance(rng, n):
    """exp(−dᵖ), which is no kernel for p > 2."""
    squares = _squares(rng, n)
    return np.exp(-((squares / np.median(squares[squares > 0])) ** rng.uniform(1.2, 4)))


def cut_kernel(rng, n):
    """A Gaussian kernel whose small values were set to zero, as sparse matrices have it."""
    squares = _squares(rng, n)
    K = np.exp(-squares / np.median(squares[squares > 0]))
    return np.where(rng.uniform(0.1, 0.7) < K, K, 0.0)


def neighbours(rng, n):
    squares = _squares(rng, n)
    near = np.argsort(squares, axis=1)[:, : int(rng.integers(2, 6))]
    A = np.zeros((n, n))
    A[np.arange(n)[:, None], near] = 1.0
    return np.maximum(A, A.T)


def rounded(rng, n):
    """A good kernel, written down with few digits."""
    squares = _squares(rng, n)
    return np.round(np.exp(-squares / np.median(squares[squares > 0])), int(rng.integers(1, 4)))


def edited(rng, n):
    """Edit distances of random words as a similarity."""
    words = ["".join(rng.choice(list("abc"), int(rng.integers(1, 7)))) for _ in range(n)]
    return np.exp(
        -rng.uniform(0.2, 2) * np.array([[_distance(a, b) for b in words] for a in words])
    )


def _distance(a, b):
    row = np.arange(len(b) + 1)
    for letter in a:
        last, row = row, row + 1
        for j, other in enumerate(b):
            row[j + 1] = min(last[j + 1] + 1, row[j] + 1, last[j] + (letter != other))
    return float(row[-1])


def edge(rng, n):
    """A kernel of low rank, with one direction pushed below zero by a little."""
    X = rng.standard_normal((n, n // 3))
    K = X @ X.T
    v = rng.standard_normal(n)
    v[: n // 2] -= v[: n // 2].mean()
    v[n // 2 :] -= v[n // 2 :].mean()
    v -= X @ np.linalg.lstsq(X, v, rcond=None)[0]
    return K - 10.0 ** rng.uniform(-6, -1) * np.linalg.norm(K, 2) * np.outer(v, v) / (v @ v)


KINDS: tuple[Callable[[np.random.Generator, int], Array], ...] = (
    *(any_symmetric, few_negative, sigmoid, steep_distance, cut_kernel, neighbours, rounded),
    *(edited, edge),
)


def least_eigenvalue(K):
    """Return λ_min/‖K‖ on vectors whose sum is 0 in each half: where every machine needs it."""
    n = len(K)
    P = np.eye(n)
    for half in (slice(0, n // 2), slice(n // 2, n)):
        P[half, half] -= 1 / (half.stop - half.start)
    return float(np.linalg.eigvalsh(P @ K @ P)[0] / np.linalg.norm(K, 2))


# ---- claims ------------------------------------------------------------------------------------

OURS = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "KernelRidge", "KernelLogisticRegression")
THEIRS = {"SVC": svm.SVC, "NuSVC": svm.NuSVC, "SVR": svm.SVR, "NuSVR": svm.NuSVR,
          "OneClassSVM": svm.OneClassSVM, "KernelRidge": kernel_ridge.KernelRidge}  # fmt: skip
MACHINES = (
    *((name, getattr(mercer, name)) for name in OURS),
    *((f"their {name}", cls) for name, cls in THEIRS.items()),
)


def attack(seed):
    """Return whether a machine took an indefinite matrix; raise where it claims too much."""
    rng = np.random.default_rng((16, seed))
    n = int(rng.integers(8, 60))
    K = KINDS[seed % len(KINDS)](rng, n)
    K = (K + K.T) / 2
    if least_eigenvalue(K) > -LEAST:
        return False
    name, machine = MACHINES[seed % len(MACHINES)]
    classes = (np.arange(n) >= n // 2).astype(int)
    y = rng.standard_normal(n) if name.endswith(("R", "Ridge")) else classes
    given = (K,) if name.endswith("OneClassSVM") else (K, y)
    if name.endswith("Ridge"):  # one so small that K + λI is indefinite too
        parameters = {"alpha": 1e-12 * float(np.linalg.norm(K, 2))}
    elif "Nu" in name or name.endswith("OneClassSVM"):
        parameters = {"nu": rng.uniform(0.1, 0.9)}
    else:
        parameters = {"C": 10.0 ** rng.uniform(-2, 3)}
    model = machine(kernel="precomputed", **parameters)
    try:
        model.fit(*given)
    except MercerError:
        return True  # refused with a word: nothing is claimed
    except (ValueError, np.linalg.LinAlgError):
        if name.startswith("their"):
            return False
        raise
    proofs = [certify(model, *given)]
    if not name.startswith("their"):
        proofs.append(model.certificate_)
    for proof in proofs:
        note = (name, KINDS[seed % len(KINDS)].__name__, seed, proof)
        assert not proof.bounds, note
        assert not proof.optimal, note
        assert proof.status in (STATIONARY, UNKNOWN), note
        assert "no bound" in repr(proof), note
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--matrices", type=int, default=1000)
    parser.add_argument("--first", type=int, default=1000, help="the first seed")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    seen = {"judged": 0, "not indefinite or not fitted": 0, "claimed": 0}
    seed = options.first
    while seen["judged"] < options.matrices:
        try:
            seen["judged" if attack(seed) else "not indefinite or not fitted"] += 1
        except AssertionError as error:
            seen["judged"] += 1
            seen["claimed"] += 1
            print(error, flush=True)
        seed += 1
    print(json.dumps(seen))
    return 1 if seen["claimed"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
