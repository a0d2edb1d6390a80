"""Multiple kernel learning: the weights of kernels and the machine on their sum, in one problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from mercer._typing import Array, IntArray
from mercer.gram.base import Definite, GramMatrix
from mercer.problems.certificate import Certificate
from mercer.problems.curvature import EPSILON, OPEN, PROVEN, REFUTED, Curvature
from mercer.problems.products import BoundedProduct, Products
from mercer.problems.qp import BoxQP


@dataclass(frozen=True, eq=False)
class WeightedMultipliers:
    """An answer: the weight of each kernel, and the signed multipliers β of each part."""

    weights: Array
    multipliers: Sequence[Array]


class Judgement(NamedTuple):
    """The certificate of the joint problem, and that of each part with the weights as they are."""

    joint: Certificate
    parts: Sequence[Certificate]


@dataclass(frozen=True, eq=False)
class MultipleKernelProblem:
    r"""Support vector machines that share the weights of their kernels, with an ℓp-norm of these.

    min over d ≥ 0, ‖d‖_p ≤ 1 of  Σ_j max over β_j of  p_jᵀβ_j − ½ Σ_m d_m β_jᵀK_mβ_j

    Each part j is a box QP on some rows. With q_m = Σ_j β_jᵀK_mβ_j and f_m = d_m K_mβ, whose square
    of the norm is d_m²q_m, this is a pair of convex problems,

    min  ½ (Σ_m ‖f_m‖^s)^{2/s} + losses of Σ_m f_m + b,  s = 2p/(p + 1),
    max  Σ_j p_jᵀβ_j − ½ ‖q‖_{p/(p−1)},

    the block-norm form and its dual: for p = 1 the sum of the norms, and the largest q_m. Any
    weights, multipliers and biases bound the optimum from both sides.

    Parameters
    ----------
    parts : sequence of (rows, BoxQP)
    p : float
        The norm of the weights, 1 ≤ p < ∞.

    References
    ----------
    M. Kloft, U. Brefeld, S. Sonnenburg and A. Zien, ℓp-norm multiple kernel learning, Journal of
    Machine Learning Research 12 (2011); A. Rakotomamonjy, F. Bach, S. Canu and Y. Grandvalet,
    SimpleMKL, Journal of Machine Learning Research 9 (2008).
    """

    parts: Sequence[tuple[IntArray, BoxQP]]
    p: float = 1.0

    @property
    def name(self) -> str:
        """What the problem is called in certificates and messages."""
        return f"ℓ{self.p:g}-norm multiple kernel learning ({self.parts[0][1].name})"

    def equal_weights(self, count: int) -> Array:
        """Return the same weight for all kernels, with ‖d‖_p = 1."""
        return np.full(count, count ** (-1 / self.p))

    def on_sphere(self, weights: Array) -> Array:
        """Return weights ≥ 0, not all 0, times what makes ‖d‖_p = 1."""
        scaled = weights / weights.max()
        return np.asarray(scaled / np.linalg.norm(scaled, self.p))

    def dual_norm(self, q: Array) -> float:
        """Return ‖q‖_{p/(p−1)}, the greatest Σ d_m q_m of all weights."""
        return float(np.linalg.norm(q, np.inf if self.p == 1 else self.p / (self.p - 1)))

    def block_norm(self, weights: Array, q: Array) -> float:
        """Return (Σ_m ‖f_m‖^s)^{2/s} with ‖f_m‖² = d_m²q_m: at most Σ d_m q_m where ‖d‖_p ≤ 1."""
        return float(np.linalg.norm(weights * np.sqrt(q), 2 * self.p / (self.p + 1)) ** 2)

    def columns(self, multipliers: Sequence[Array], count: int) -> Array:
        """Return the coefficients of ``count`` rows, one column for each part."""
        result = np.zeros((count, len(self.parts)))
        for j, ((rows, problem), beta) in enumerate(zip(self.parts, multipliers, strict=True)):
            result[rows, j] = problem.coefficients(beta, len(rows))
        return result

    def certify(
        self, value: WeightedMultipliers, gram: GramMatrix, product: Array | None = None
    ) -> Certificate:
        """Judge weights and multipliers on the sum of the matrices K_m.

        ``product`` is of no use: the parts K_mβ of it are needed.
        """
        return self.prove(value, gram).joint

    def prove(
        self, value: WeightedMultipliers, gram: GramMatrix, biases: Sequence[Array] | None = None
    ) -> Judgement:
        """Judge an answer by products with bounds of their errors, with biases of its own.

        What rounding may do to q_m goes through the norms, which grow with each of them.
        """
        d, n = value.weights, gram.shape[0]
        B = self.columns(value.multipliers, n)
        found = [Products(term, B) for term in gram.terms()]
        F, errors = np.array([each.F for each in found]), np.array([each.errors for each in found])
        roots = np.array([each.roots for each in found])
        f = np.tensordot(d, F, 1)
        off = np.tensordot(d, errors + len(d) * EPSILON * np.abs(F), 1)
        root = np.sqrt(d @ roots**2)
        parts = []
        moved = np.zeros_like(B)
        for j, (rows, problem) in enumerate(self.parts):
            beta = value.multipliers[j]
            product = BoundedProduct(
                f[rows, j], off[rows, j], root[rows], self._curvature(found, j)
            )
            parts.append(problem.prove(beta, product, None if biases is None else biases[j]))
            # The dual value is that of multipliers inside of their constraints.
            change = problem.feasible(beta) - beta
            moved[rows, j] = np.abs(problem.coefficients(np.abs(change), len(rows)))
        q = np.einsum("nj,mnj->m", B, F)
        q_off = np.einsum("nj,mnj->m", np.abs(B), errors)
        q_off += (B.size + 4) * EPSILON * np.einsum("nj,mnj->m", np.abs(B), np.abs(F))
        q_off += 2 * np.einsum("nj,mnj->m", moved, np.abs(F))
        q_off += ((roots @ moved) ** 2).sum(axis=1)
        joint = self._joined(Certificate.total(parts), d, np.maximum(q, 0.0), q_off)
        return Judgement(joint, parts)

    def _joined(self, parts: Certificate, d: Array, q: Array, off: Array) -> Certificate:
        """Put the norms of the joint problem in the place of Σ d_m q_m."""
        at_weights = float(d @ q)
        block, norm = self.block_norm(d, q), self.dual_norm(q)
        above = self.block_norm(d, q + off) - block + float(d @ off)
        below = self.dual_norm(q + off) - norm + float(d @ off)
        rounding = None if parts.rounding is None else parts.rounding + max(above, below) / 2
        return replace(
            parts,
            problem=self.name,
            primal=parts.primal + (block - at_weights) / 2,
            dual=parts.dual + (at_weights - norm) / 2,
            rounding=rounding,
        )

    def _curvature(self, found: Sequence[Products], j: int) -> Curvature:
        """Return what is known of Σ d_m K_m on the rows of a part, for all weights d."""
        rows, problem = self.parts[j]
        groups = problem.row_groups(len(rows))
        known = [each.curvature(rows, groups, Definite.CONDITIONAL) for each in found]
        verdicts = [each.verdict for each in known]
        verdict = next((word for word in (REFUTED, OPEN) if word in verdicts), PROVEN)
        return Curvature(verdict, self.dual_norm(np.array([each.shift for each in known])))
