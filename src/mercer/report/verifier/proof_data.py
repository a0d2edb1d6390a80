"""The arrays of a proof, the products that its problems ask for, and the table of the judges."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mercer.report.verifier.findings import Arrays, Found, Multiplied, StatedRows, Tree
from mercer.report.verifier.kernels import (
    BLOCK,
    Sample,
    check_kernel,
    full_matrix,
    is_definite,
    kernel_block,
)
from mercer.report.verifier.landmark_judges import (
    LandmarkProducts,
    judge_landmark_classes,
    judge_landmark_ridge,
)
from mercer.report.verifier.loss_judges import (
    MANIFOLDS,
    judge_logistic,
    judge_manifold,
    judge_mode,
    judge_ridge,
    logistic_vectors,
    manifold_vectors,
    mode_vectors,
    ridge_vectors,
)
from mercer.report.verifier.margin_judges import (
    BOXES,
    EVERY,
    STRONGEST,
    box_vectors,
    join_kernels,
    joint_vectors,
    judge_box,
    judge_joint,
)
from mercer.report.verifier.page import Array, NoProof, read_array
from mercer.report.verifier.residual_judges import judge_norm, judge_penalty
from mercer.report.verifier.weight_judges import (
    judge_linear,
    judge_linear_joint,
    judge_linear_logistic,
    judge_sparse_margin,
    judge_squares,
)


class OnGram(NamedTuple):
    """A problem of functions Σ cᵢ k(xᵢ, ·): which coefficients it has, and its judge."""

    vectors: Callable[[Tree, Arrays], list[Array]]
    judge: Callable[[Tree, Arrays, Sequence[Multiplied]], Found]


_BOX = OnGram(box_vectors, judge_box)
_JOINT = OnGram(joint_vectors, judge_joint)
_MANIFOLD = OnGram(manifold_vectors, judge_manifold)

ON_GRAM: dict[str, OnGram] = {
    **dict.fromkeys(BOXES, _BOX),
    **dict.fromkeys((STRONGEST, EVERY), _JOINT),
    "ridge": OnGram(ridge_vectors, judge_ridge),
    "logistic": OnGram(logistic_vectors, judge_logistic),
    "mode of a process": OnGram(mode_vectors, judge_mode),
    **dict.fromkeys(MANIFOLDS, _MANIFOLD),
}
"""Problems on a Gram matrix, that of landmarks included."""

ON_LANDMARKS: dict[str, Callable[[Tree, Arrays, LandmarkProducts], Found]] = {
    "ridge on landmarks": judge_landmark_ridge,
    "classes on landmarks": judge_landmark_classes,
}
"""Problems of functions Σ aⱼ k(zⱼ, ·) of landmarks z."""

ON_ROWS: dict[str, Callable[[Tree, Arrays, StatedRows], Found]] = {
    "linear": judge_linear,
    "linear, ℓ₁": judge_sparse_margin,
    "linear, Crammer–Singer": judge_linear_joint,
    "linear logistic": judge_linear_logistic,
    "squares": judge_squares,
    "penalty": judge_penalty,
    "norm": judge_norm,
}
"""Problems of weights of columns."""

MULTIPLE = "multiple kernels"
"""Machines on several Gram matrices, whose weights they share."""

ARRAYS = (
    *("targets", "multipliers", "biases", "C", "weights", "noise", "w", "coefficients", "rows"),
    *("values", "edges", "edge_weights", "kernel_weights"),
)
"""What the arrays of problems are called."""


@dataclass(eq=False)
class StatedProblem:
    """One problem: its settings, its arrays, its parts, and products with each of its matrices."""

    problem: Tree
    data: Arrays
    grams: list[int]
    parts: list[StatedProblem] = field(default_factory=list)
    products: dict[int, list[Multiplied]] = field(default_factory=dict)

    @property
    def leaves(self) -> list[StatedProblem]:
        """The parts, or the problem itself where it has none."""
        return self.parts or [self]

    def rows(self, n: int) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Return the rows of a matrix that the problem is about."""
        given = self.data.get("rows", np.arange(n, dtype=float))
        rows = given.astype(np.intp)
        if (rows != given).any() or len(np.unique(rows)) != len(rows):
            raise NoProof("rows of a problem are numbered wrongly")
        if len(rows) and not 0 <= rows.min() <= rows.max() < n:
            raise NoProof("a problem is about rows that there are not")
        if len(rows) != len(self.data["targets"]):
            raise NoProof("a problem has not one target for each of its rows")
        return rows


class ProofData:
    """All of a proof in arrays; ``faults`` are what is wrong with its matrices."""

    def __init__(self, proof: Mapping[str, Any]) -> None:
        self.samples = [read_array(s["values"], (None, None)) for s in proof["samples"]]
        self.entries = [_entry(problem) for problem in proof["problems"]]
        if not self.entries:
            raise NoProof("the proof has no problems")
        self.grams = list(proof["grams"])
        self.faults: list[str] = []
        self.rows = max(
            len(leaf.data["targets"]) for entry in self.entries for leaf in entry.leaves
        )
        self._low: dict[int, LandmarkProducts] = {}
        self._matrices = {
            g: read_array(gram["matrix"]) for g, gram in enumerate(self.grams) if "matrix" in gram
        }
        leaves = [leaf for entry in self.entries for leaf in entry.leaves]
        targets = [leaf.data["targets"] for leaf in leaves]
        self.digest = _digest([*self.samples, *self._matrices.values(), *targets])
        for g, gram in enumerate(self.grams):
            self._multiply(g, gram, [leaf for leaf in leaves if g in leaf.grams])

    def judge(self) -> tuple[Found, ...]:
        """Judge all problems."""
        return tuple(self._judge(entry) for entry in self.entries)

    def _judge(self, entry: StatedProblem) -> Found:
        problem, data, kind = entry.problem, entry.data, entry.problem["kind"]
        if kind == MULTIPLE:
            return self._judge_kernels(entry)
        if kind in ON_LANDMARKS:
            return ON_LANDMARKS[kind](problem, data, self._landmarks(int(problem["gram"])))
        if kind in ON_GRAM:
            return ON_GRAM[kind].judge(problem, data, entry.products[int(problem["gram"])])
        X, sample = self.samples[problem["sample"]], int(problem["sample"])
        if sample < 0 or len(data["targets"]) != len(X):
            raise NoProof("a linear machine has not one target for each row")
        return ON_ROWS[kind](problem, data, StatedRows(X, float(problem["constant"])))

    def _judge_kernels(self, entry: StatedProblem) -> Found:
        """Judge machines with the sum of their matrices, then with the weights as part of it."""
        weights, parts = entry.data["kernel_weights"], []
        if len(weights) != len(entry.grams):
            raise NoProof("there is not one weight for each kernel")
        squares, sizes = np.zeros(len(weights)), np.zeros(len(weights))
        for part in entry.parts:
            found = [part.products[g][0] for g in entry.grams]
            f = sum(d * each.f for d, each in zip(weights, found, strict=True))
            size = sum(d * each.size for d, each in zip(weights, found, strict=True))
            parts.append(judge_box(part.problem, part.data, [Multiplied(f, size)]))
            (beta,) = box_vectors(part.problem, part.data)
            squares += [float(np.vdot(beta, each.f)) for each in found]
            sizes += [float(np.vdot(np.abs(beta), each.size)) for each in found]
        return join_kernels(entry.problem, weights, parts, squares, sizes)

    def _multiply(self, g: int, gram: Tree, leaves: Sequence[StatedProblem]) -> None:
        """Multiply a Gram matrix with the coefficients of all problems on it."""
        n = int(gram["rows"]) - int(gram.get("landmarks", 0))
        self.rows = max(self.rows, n)
        wanted = [leaf for leaf in leaves if leaf.problem["kind"] in ON_GRAM]
        vectors, places = [], []
        for leaf in wanted:
            for V in ON_GRAM[leaf.problem["kind"]].vectors(leaf.problem, leaf.data):
                rows = leaf.rows(n)
                full = np.zeros((n, V.shape[1]))
                full[rows] = V
                vectors.append(full)
                places.append((leaf, rows))
        product = self._product(g, gram, wanted)
        if not vectors:
            return
        F, sizes = product(np.hstack(vectors))
        at = 0
        for (leaf, rows), V in zip(places, vectors, strict=True):
            columns = slice(at, at + V.shape[1])
            mine = Multiplied(F[rows, columns], sizes[rows, columns])
            leaf.products.setdefault(g, []).append(mine)
            at += V.shape[1]

    def _product(
        self, g: int, gram: Tree, leaves: Sequence[StatedProblem]
    ) -> Callable[[Array], Multiplied]:
        """Return V ↦ KV and ∣K∣∣V∣, and say where K is not definite."""
        if "landmarks" in gram:
            return self._landmarks(g).projected
        n = int(gram["rows"])
        if g in self._matrices:
            K = full_matrix(self._matrices[g], n)
            sums = all(_fixes_sums(leaf.problem) for leaf in leaves)
            if not is_definite(_centred(K) if sums else K):
                self.faults.append(
                    "the Gram matrix is not positive semi-definite, so its values bound nothing"
                )
            return lambda V: Multiplied(K @ V, np.abs(K) @ np.abs(V))
        self._check_rows(gram)
        samples = [Sample(values) for values in self.samples]
        step = max(1, BLOCK // max(n, 1))

        def product(V: Array) -> Multiplied:
            F, sizes = np.empty(V.shape), np.empty(V.shape)
            for start in range(0, n, step):
                part = slice(start, min(start + step, n))
                block = kernel_block(gram["kernel"], samples, part, slice(None), n)
                F[part], sizes[part] = block @ V, np.abs(block) @ np.abs(V)
            return Multiplied(F, sizes)

        return product

    def _landmarks(self, g: int) -> LandmarkProducts:
        """Return products with the kernel values between rows and landmarks, which come first."""
        if g in self._low:
            return self._low[g]
        gram = self.grams[g]
        count, n, matrix = int(gram["landmarks"]), int(gram["rows"]), self._matrices.get(g)
        if not 0 < count < n:
            raise NoProof("there are no landmarks, or no rows beside them")
        if matrix is None:
            self._check_rows(gram)
        elif matrix.shape != (n, count):
            raise NoProof("a matrix has not a row for each row and a column for each landmark")
        self._low[g] = LandmarkProducts(gram, self.samples, count, n, matrix)
        return self._low[g]

    def _check_rows(self, gram: Tree) -> None:
        check_kernel(gram["kernel"], self.samples)
        if any(len(self.samples[s]) != int(gram["rows"]) for s in _samples_of(gram["kernel"])):
            raise NoProof("rows and Gram matrix are not equally many")


def _entry(problem: Tree) -> StatedProblem:
    """Read the arrays of a problem, and of its parts."""
    kind = problem["kind"]
    if kind not in (*ON_GRAM, *ON_LANDMARKS, *ON_ROWS, MULTIPLE):
        raise NoProof("a problem is of no kind that is known")
    data = {name: read_array(problem[name]) for name in ARRAYS if name in problem}
    for name in ("C", "weights", "noise"):
        if name in data and (
            data[name].shape != data["targets"].shape or bool((data[name] < 0).any())
        ):
            raise NoProof(f"{name} of a problem are not one number for each row, 0 or more")
    if kind != MULTIPLE:
        return StatedProblem(problem, data, [int(problem["gram"])] if "gram" in problem else [])
    grams = [int(g) for g in problem["grams"]]
    parts = [_entry(part) for part in problem["parts"]]
    if not parts or any(part.problem["kind"] not in BOXES for part in parts):
        raise NoProof("machines that weigh kernels are support vector machines")
    for part in parts:
        part.grams = grams
    return StatedProblem(problem, data, grams, parts)


def _fixes_sums(problem: Tree) -> bool:
    """Whether all answers have coefficients of the same sum: then K may be definite up to one."""
    kind = problem["kind"]
    boxed = kind in BOXES and kind != "C-SVC without bias"
    return boxed or (kind == "ridge" and bool(problem["intercept"]))


def _centred(K: Array) -> Array:
    """Return K on vectors whose sum is 0, which is all that counts where sums are fixed."""
    means = K.mean(axis=0)
    centred = K - means - means[:, None] + means.mean()
    # Centring rounds: what it may do to an eigenvalue is added.
    size = float(np.abs(K).sum(axis=1).max(initial=0.0))
    return np.asarray(centred + 8 * 2.0**-52 * size * np.eye(len(K)))


def _samples_of(tree: Tree) -> set[int]:
    found = {tree["sample"]} if "sample" in tree else set()
    for part in [*tree.get("parts", ()), *([tree["part"]] if "part" in tree else [])]:
        found |= _samples_of(part)
    return found


def _digest(arrays: Iterable[Array]) -> str:
    """Return SHA-256 of rows or matrices and of all targets, as bytes of float64."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(array.astype("<f8").tobytes())
    return digest.hexdigest()
