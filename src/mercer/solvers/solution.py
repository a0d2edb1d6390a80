"""What a solver returns."""

from __future__ import annotations

from dataclasses import dataclass, field

from mercer._typing import Array

ADVICE = {
    "optimal": "",
    "max_iter": "It stopped at the limit of steps: scale the data, lower C, loosen tol, or set "
    "max_iter higher.",
    "time_limit": "It stopped at the time limit: raise it, scale the data, or loosen tol.",
    "interrupted": "It was interrupted.",
    "stalled": "No step improves it any more within rounding: scale the data, lower C, or loosen "
    "tol.",
}


@dataclass(frozen=True, eq=False)
class Solution:
    """An answer to a box QP.

    Attributes
    ----------
    beta : array
        The signed multipliers.
    f : array
        K β at every row of the Gram matrix, in float64.
    violation : float
        The largest violation of the optimality conditions.
    status : str
        ``optimal``, ``max_iter``, ``time_limit``, ``interrupted`` or ``stalled``.
    nonconvex : bool
        Whether negative curvature was met, so that the optimum may be a local one.
    """

    beta: Array
    f: Array
    violation: float
    status: str
    nonconvex: bool
    iterations: int
    seconds: float
    kernel_evaluations: int
    statistics: dict[str, float] = field(default_factory=dict)

    @property
    def advice(self) -> str:
        """What to do about the status."""
        return ADVICE[self.status]
