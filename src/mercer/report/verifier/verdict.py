"""The check of a whole proof: everything is computed anew and compared with what is printed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.report.verifier.judges import FEASIBLE, JUDGES, Found, Multiplied, Tree
from mercer.report.verifier.kernels import (
    BLOCK,
    Sample,
    check_kernel,
    full_matrix,
    is_definite,
    kernel_block,
)
from mercer.report.verifier.landmarks import LandmarkProducts, judge_landmarks
from mercer.report.verifier.page import (
    Array,
    NoProof,
    Page,
    Printed,
    read_array,
    read_number,
)

FORMAT = 1
"""The version of the data in a report; a verifier refuses others."""
AGREEMENT = 1e-9
"""How far a printed number may be from the computed one, as a share of the values."""
CLAIMS = (
    *("primal", "dual", "gap", "stationarity"),
    *("primal_feasibility", "dual_feasibility", "complementarity"),
)
"""The numbers that a page has to print."""
ON_LANDMARKS = "ridge on landmarks"
"""The problem whose function is a sum over landmarks, not over all rows."""


@dataclass(frozen=True)
class Verdict:
    """What was found, and everything that is wrong with it.

    ``numbers`` are of all problems together: values add, the worst residual counts.
    """

    holds: bool
    faults: tuple[str, ...]
    numbers: Mapping[str, float] = field(default_factory=dict)
    problems: tuple[Found, ...] = ()
    digest: str = ""
    rows: int = 0

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the values."""
        scale = max(abs(self.numbers["primal"]), abs(self.numbers["dual"]))
        return self.numbers["gap"] / scale if scale > 0 else self.numbers["gap"]


def verify_page(text: str) -> Verdict:
    """Check the page of a report: its proof, and the numbers that it prints."""
    page = Page(text)
    if page.proof is None:
        return _refused("the page carries no proof; mercer fit --proof writes one that does")
    try:
        proof = json.loads(page.proof)
    except (ValueError, RecursionError):
        return _refused("the proof of the page cannot be read: it is not JSON")
    return verify(proof, page.printed)


def verify(proof: Any, printed: Sequence[Printed] | None = None) -> Verdict:
    """Compute everything of a proof anew, and compare it with printed numbers where given."""
    try:
        if not isinstance(proof, dict) or proof.get("format") != FORMAT:
            raise NoProof(f"the proof has not the format {FORMAT}")
        data = Data(proof)
        problems = tuple(data.judge(i) for i in range(len(data.problems)))
    except NoProof as error:
        return _refused(str(error))
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError) as error:
        return _refused(f"a part of the proof is not what it should be ({type(error).__name__})")
    numbers = total(problems)
    faults = [*data.faults, *_broken(problems, numbers)]
    if printed is not None:
        faults += _misprints(problems, numbers, data.digest, printed)
    return Verdict(not faults, tuple(faults), numbers, problems, data.digest, data.rows)


def _refused(why: str) -> Verdict:
    return Verdict(False, (why,))


class Data:
    """The arrays of a proof, and the products of each Gram matrix with all vectors asked for."""

    def __init__(self, proof: Mapping[str, Any]) -> None:
        self.samples = [read_array(s["values"], (None, None)) for s in proof["samples"]]
        self.problems = list(proof["problems"])
        if not self.problems:
            raise NoProof("the proof has no problems")
        self.arrays = [self._arrays(problem) for problem in self.problems]
        self.faults: list[str] = []
        self.rows = max((len(sample) for sample in self.samples), default=0)
        self.grams = list(proof["grams"])
        matrices = {
            g: read_array(gram["matrix"], (None,))
            for g, gram in enumerate(self.grams)
            if "matrix" in gram
        }
        self.digest = _digest([*self.samples, *matrices.values()], self.arrays)
        self._products: dict[tuple[int, int], list[Multiplied]] = {}
        for g, gram in enumerate(self.grams):
            self._multiply(g, gram, matrices.get(g))

    @staticmethod
    def _arrays(problem: Tree) -> dict[str, Array]:
        names = ("targets", "multipliers", "biases", "C", "weights", "w", "coefficients", "rows")
        found = {name: read_array(problem[name]) for name in names if name in problem}
        if problem["kind"] not in (*JUDGES, ON_LANDMARKS):
            raise NoProof("a problem is of no kind that is known")
        for name in ("C", "weights"):
            if name in found and (
                found[name].shape != found["targets"].shape or (found[name] < 0).any()
            ):
                raise NoProof(f"{name} of a problem are not one number for each row, 0 or more")
        return found

    def judge(self, i: int) -> Found:
        """Judge one problem."""
        problem, data = self.problems[i], self.arrays[i]
        if problem["kind"] == ON_LANDMARKS:
            return judge_landmarks(problem, data, self._landmark_products(problem))
        if "w" not in data:
            products = self._products[int(problem["gram"]), i]
        else:
            products = self._linear_products(problem, data)
        return JUDGES[problem["kind"]](problem, data, products)

    def _linear_products(self, problem: Tree, data: Mapping[str, Array]) -> list[Multiplied]:
        """Return w·x̃ at the rows, and Σ βᵢx̃ᵢ; x̃ = (x, constant)."""
        X, constant = self.samples[problem["sample"]], float(problem["constant"])
        if constant:
            X = np.column_stack([X, np.full(len(X), constant)])
        columns = [data[name].reshape(len(data[name]), -1) for name in ("w", "multipliers")]
        if len(data["targets"]) != len(X):
            raise NoProof("a linear machine has not one target for each row")
        return [
            Multiplied(A @ V, np.abs(A) @ np.abs(V)) for A, V in zip((X, X.T), columns, strict=True)
        ]

    def _landmark_products(self, problem: Tree) -> LandmarkProducts:
        """Return products with the kernel values between rows and landmarks, which come first."""
        gram = self.grams[problem["gram"]]
        count, n = int(gram["landmarks"]), int(gram["rows"])
        self._check_rows(gram)
        if not 0 < count < n:
            raise NoProof("there are no landmarks, or no rows beside them")
        return LandmarkProducts(gram["kernel"], self.samples, count, n)

    def _check_rows(self, gram: Tree) -> None:
        check_kernel(gram["kernel"], self.samples)
        if any(len(self.samples[s]) != int(gram["rows"]) for s in _samples_of(gram["kernel"])):
            raise NoProof("rows and Gram matrix are not equally many")

    def _multiply(self, g: int, gram: Tree, packed: Array | None) -> None:
        """Multiply a Gram matrix with the multipliers of all problems on it, block by block."""
        mine = [
            i
            for i, p in enumerate(self.problems)
            if p.get("gram") == g and p["kind"] != ON_LANDMARKS
        ]
        n, K, samples = int(gram["rows"]), None, []
        self.rows = max(self.rows, n)
        if packed is not None:
            K = full_matrix(packed, n)
            if not is_definite(K):
                self.faults.append(
                    "the Gram matrix is not positive semi-definite, so its values bound nothing"
                )
        else:
            self._check_rows(gram)
            samples = [Sample(values) for values in self.samples]
        vectors, places = [], []
        for i in mine:
            for V in self._vectors(i):
                rows = self._rows(i, n)
                full = np.zeros((n, V.shape[1]))
                full[rows] = V
                vectors.append(full)
                places.append((i, rows))
        if not vectors:
            return
        stacked = np.hstack(vectors)
        F, sizes = np.empty(stacked.shape), np.empty(stacked.shape)
        step = max(1, BLOCK // max(n, 1))
        for start in range(0, n, step):
            part = slice(start, min(start + step, n))
            if K is not None:
                block = K[part]
            else:
                block = kernel_block(gram["kernel"], samples, part, slice(None), n)
            F[part], sizes[part] = block @ stacked, np.abs(block) @ np.abs(stacked)
        at = 0
        for (i, rows), V in zip(places, vectors, strict=True):
            columns = slice(at, at + V.shape[1])
            self._products.setdefault((g, i), []).append(
                Multiplied(F[rows, columns], sizes[rows, columns])
            )
            at += V.shape[1]

    def _rows(self, i: int, n: int) -> np.ndarray[Any, np.dtype[np.intp]]:
        given = self.arrays[i].get("rows", np.arange(n, dtype=float))
        rows = given.astype(np.intp)
        if (rows != given).any() or len(np.unique(rows)) != len(rows):
            raise NoProof("rows of a problem are numbered wrongly")
        if len(rows) and not 0 <= rows.min() <= rows.max() < n:
            raise NoProof("a problem is about rows that there are not")
        if len(rows) != len(self.arrays[i]["targets"]):
            raise NoProof("a problem has not one target for each of its rows")
        return rows

    def _vectors(self, i: int) -> list[Array]:
        """Return the vectors that a problem wants the product of: its coefficients on rows."""
        data, n = self.arrays[i], len(self.arrays[i]["targets"])
        beta = data["multipliers"]
        if len(beta) == 2 * n and beta.ndim == 1:
            return [(beta[:n] + beta[n:])[:, None]]
        if len(beta) != n:
            raise NoProof("a problem has not as many multipliers as rows")
        wanted = [data["coefficients"]] if "coefficients" in data else []
        return [V.reshape(n, -1) for V in (*wanted, beta)]


def _samples_of(tree: Tree) -> set[int]:
    found = {tree["sample"]} if "sample" in tree else set()
    for part in [*tree.get("parts", ()), *([tree["part"]] if "part" in tree else [])]:
        found |= _samples_of(part)
    return found


def _digest(values: Sequence[Array], problems: Sequence[Mapping[str, Array]]) -> str:
    """Return SHA-256 of rows or matrices and of all targets, as bytes of float64."""
    digest = hashlib.sha256()
    for array in (*values, *(problem["targets"] for problem in problems)):
        digest.update(array.astype("<f8").tobytes())
    return digest.hexdigest()


def total(problems: Sequence[Found]) -> dict[str, float]:
    """Return the numbers of all problems together."""
    sums = {name: sum(getattr(p, name) for p in problems) for name in ("primal", "dual")}
    worst = {name: max(getattr(p, name) for p in problems) for name in (CLAIMS[3:])}
    return {**sums, "gap": sums["primal"] - sums["dual"], **worst}


def _broken(problems: Sequence[Found], numbers: Mapping[str, float]) -> list[str]:
    """Return why problems are no proofs: constraints that do not hold, gaps below 0."""
    faults = []
    scale = max(abs(numbers["primal"]), abs(numbers["dual"]))
    for i, found in enumerate(problems, 1):
        which = f"problem {i}: " if len(problems) > 1 else ""
        faults += [which + fault for fault in found.faults]
        if not found.dual_feasibility <= FEASIBLE * max(found.mass, 1e-300):
            faults.append(f"{which}multipliers break a constraint by {found.dual_feasibility:.2g}")
        if not found.gap >= -AGREEMENT * scale - found.value_rounding:
            faults.append(f"{which}the dual value is above the primal one")
    return faults


def _misprints(
    problems: Sequence[Found],
    numbers: Mapping[str, float],
    digest: str,
    printed: Sequence[Printed],
) -> list[str]:
    """Return which printed numbers are no right roundings of the computed ones."""
    scale = max(abs(numbers["primal"]), abs(numbers["dual"]))
    values = AGREEMENT * scale + sum(p.value_rounding for p in problems)
    residuals = max(p.residual_rounding for p in problems)
    products = max(p.product_rounding for p in problems)
    allowed = {
        **dict.fromkeys(("primal", "dual", "gap"), values),
        "relative_gap": values / scale if scale > 0 else values,
        "stationarity": AGREEMENT * numbers["stationarity"] + residuals,
        "primal_feasibility": AGREEMENT * numbers["primal_feasibility"] + residuals,
        "dual_feasibility": AGREEMENT * max(p.mass for p in problems),
        "complementarity": AGREEMENT * numbers["complementarity"] + products,
    }
    computed = {**numbers, "relative_gap": numbers["gap"] / scale if scale > 0 else numbers["gap"]}
    faults, seen = [], {claim.name for claim in printed}
    faults += [f"{name.replace('_', ' ')} is not printed" for name in CLAIMS if name not in seen]
    if "digest" not in seen:
        faults.append("the digest of the data is not printed")
    for name, text in printed:
        if name == "digest":
            if text != digest:
                faults.append("the data are not those of the printed digest")
            continue
        words = name.replace("_", " ")
        try:
            value, half = read_number(text)
        except NoProof as error:
            faults.append(f"{words}: {error}")
            continue
        if name == "most_relative_gap":
            if not computed["relative_gap"] <= value + half + allowed["relative_gap"]:
                faults.append(f"the fit is said to be within {text} of the best one, and is not")
        elif name not in computed:
            faults.append(f"{words} is printed, and nobody knows what it is")
        elif not abs(value - computed[name]) <= allowed[name] + half * (1 + 1e-9):
            faults.append(f"{words}: {text} is printed, and {computed[name]:.12g} is right")
    return faults
