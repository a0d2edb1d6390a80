"""How many rows of ridge machines may change before an answer does: a proven number.

With A = K + λW⁻¹, G = A⁻¹ and g = G1 the machine is linear in its targets: its coefficients are
c = G̃y with G̃ = G − ggᵀ/1ᵀg, and its value at x is h(x)ᵀy, h = Gk + g (1 − 1ᵀGk)/1ᵀg (without a
constant G̃ = G and h = Gk).

1. A row that gets the target yᵢ − tᵢ lowers the value by hᵢtᵢ: the most harmful m labels are known
   exactly.
2. A row that is removed is one whose target became what the machine says of it, so that its
   coefficient is 0. If rows M change in all, then for each removed one
   G̃ᵢᵢ tᵢ = cᵢ − Σ_{j∈M, j≠i} G̃ᵢⱼ tⱼ. With lᵢ = cᵢ/G̃ᵢᵢ, the residual of leave-one-out, sᵢ = √G̃ᵢᵢ and
   the sum qᵢ of the m − 1 greatest ∣G̃ᵢⱼ∣/sᵢsⱼ that is tᵢ = lᵢ ± qᵢT/sᵢ, where T bounds all sⱼ∣tⱼ∣:
   T = max(largest change of a label × max sᵢ, max sᵢ∣lᵢ∣/(1 − qᵢ)) if all qᵢ < 1.

The value cannot fall by more than the sum of the m greatest hᵢtᵢ. A vote of machines on the same
rows adds up their terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer._typing import Array, IntArray
from mercer.linalg.cholesky import Cholesky

_FIRST_COUNT = 32
"""Changes that are looked at first; four times as many where all of them are proven harmless."""
_ROUNDING = 1e-9
"""Share of the sums behind a value that is left to rounding."""


@dataclass(frozen=True, eq=False)
class RidgeSmoother:
    """The linear map from targets to coefficients, and to values at new rows.

    Attributes
    ----------
    inverse : array of shape (n, n)
        G̃, which gives the coefficients.
    weights : array of shape (m, n)
        h of each new row.
    """

    inverse: Array
    weights: Array

    @classmethod
    def of(cls, K: Array, cross: Array, shift: Array, constant: bool) -> RidgeSmoother:
        """Return the map of the matrix K, which is overwritten, with K + diag(shift) inverted."""
        G = Cholesky(K, shift).inverse()
        weights = cross @ G
        if constant:
            g = G.sum(axis=1)
            weights += np.outer((1.0 - weights.sum(axis=1)) / g.sum(), g)
            G = G - np.outer(g, g) / g.sum()
        return cls(G, weights)


def harmless_changes(
    smoothers: Sequence[RidgeSmoother],
    targets: Array,
    leads: Array,
    reach: float,
    change: str,
) -> IntArray:
    """Return for each new row how many training rows may change, proven; −1 where not even none.

    The mean of the machines has to keep the sign of ``leads``, its value less a constant, while
    labels move within ±``reach``.
    """
    n = len(targets)
    votes = [s.weights * np.sign(leads)[:, None] / len(smoothers) for s in smoothers]
    sizes = sum(np.abs(vote) @ np.abs(targets) for vote in votes)
    noise = _ROUNDING * (np.abs(leads) + sizes)
    most = min(_FIRST_COUNT, n)
    while True:
        falls = _falls(smoothers, votes, targets, reach, change, most)
        proven = falls + noise[:, None] < np.abs(leads)[:, None]
        # The falls grow with the number of changes, so that the proven ones come first.
        found = proven.sum(axis=1) - 1
        if most == n or found.max(initial=0) < most:
            return np.asarray(found, dtype=np.intp)
        most = min(4 * most, n)


def _falls(
    smoothers: Sequence[RidgeSmoother],
    votes: Sequence[Array],
    targets: Array,
    reach: float,
    change: str,
    most: int,
) -> Array:
    """Return bounds of the fall of each value by 0, 1, … ``most`` changes."""
    total = np.add.reduce(list(votes))
    relabelled = total * targets + np.abs(total) * reach
    falls = np.full((len(total), most + 1), np.inf)
    falls[:, 0] = 0.0
    if change == "relabelled":
        falls[:, 1:] = np.cumsum(-np.sort(-_greatest(relabelled, most), axis=1), axis=1)
        return falls
    spreads = [_Spread.of(smoother, targets, most) for smoother in smoothers]
    largest = 0.0 if change == "removed" else float(np.abs(targets).max() + reach)
    plain = np.add.reduce(
        [vote * spread.left_out for vote, spread in zip(votes, spreads, strict=True)]
    )
    for m in range(1, most + 1):
        bounds = [spread.others(m, largest) for spread in spreads]
        parts = [np.abs(v) * b for v, b in zip(votes, bounds, strict=True) if b is not None]
        if len(parts) < len(bounds):
            break
        terms: Array = plain + np.add.reduce(parts)
        if change != "removed":
            terms = np.maximum(terms, relabelled)
        falls[:, m] = np.maximum(_greatest(terms, m), 0.0).sum(axis=1)
    return np.maximum.accumulate(falls, axis=1)


def _greatest(values: Array, count: int) -> Array:
    """Return the greatest values of each row."""
    if count >= values.shape[1]:
        return values
    return np.partition(values, values.shape[1] - count, axis=1)[:, -count:]


@dataclass(frozen=True, eq=False)
class _Spread:
    """The residuals of leave-one-out, and how much other changed rows can move each of them."""

    left_out: Array
    roots: Array
    shares: Array

    @classmethod
    def of(cls, smoother: RidgeSmoother, targets: Array, most: int) -> _Spread:
        """Return the residuals and the sums qᵢ for 1, 2, … ``most`` changed rows."""
        G = smoother.inverse
        roots = np.sqrt(np.diagonal(G))
        ratios = np.abs(G) / np.outer(roots, roots)
        np.fill_diagonal(ratios, 0.0)
        ordered = -np.sort(-_greatest(ratios, most), axis=1)
        sums = np.hstack([np.zeros((len(G), 1)), np.cumsum(ordered, axis=1)])
        return cls(G @ targets / roots**2, roots, sums)

    def others(self, count: int, largest: float) -> Array | None:
        """Return qᵢT/sᵢ for ``count`` changed rows, None where there is no bound."""
        q = self.shares[:, count - 1]
        if (q >= 1).any():
            return None
        alone = float((self.roots * np.abs(self.left_out) / (1 - q)).max())
        T = max(largest * float(self.roots.max()), alone)
        return np.asarray(q * T / self.roots)
