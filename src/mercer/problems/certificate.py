"""Certificates: how far an answer is from the best one, in numbers that anyone can recompute."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from html import escape
from typing import Any, ClassVar, Self

import numpy as np

from mercer._files.fields import COUNT, NONE, TEXT, Maybe, Number, OneOf, State
from mercer._plot.courses import draw_bounds
from mercer._typing import Axes
from mercer.exceptions import InvalidInput
from mercer.problems.curvature import OPEN, PROVEN, REFUTED

ROUNDING = 1e-6
"""Where no bound of the rounding was computed: how far it may take a dual value above the primal
one, as a share of the larger, and multipliers out of their constraints, as a share of their sum."""

OPTIMAL_GAP = 1e-3
"""The relative gap up to which an answer is called optimal: predictions hardly change below it."""
STATIONARY = "stationary point, no bound"
"""The status of an answer to a problem that was seen not to be convex."""
UNKNOWN = "no negative direction found, no bound"
"""The status where nothing proves that a problem is convex, and nothing was found against it."""
WITHIN = "within tolerance"
"""The status of an answer that keeps a tolerance above :data:`OPTIMAL_GAP`."""


@dataclass(frozen=True)
class Certificate:
    """The proof that comes with an answer.

    Any value of the dual problem bounds the optimum from below, any value of the primal problem
    from above: the answer is at most ``gap`` away from the best one, whoever found it.

    Attributes
    ----------
    primal, dual : float
        The values of the primal (minimised) and of the dual (maximised) problem at the answer.
    stationarity : float
        The largest violation of the optimality conditions, which ``tol`` bounds: how much two
        multipliers that may still move disagree about the bias.
    primal_feasibility, dual_feasibility : float
        The largest violation of a constraint of the primal and of the dual problem.
    complementarity : float
        The largest product of a multiplier's room and the slack of its constraint.
    iterations, seconds, kernel_evaluations
        What the answer cost.
    approximation_cost : float
        Where K̃ = K_nM K_MM⁺ K_Mn stands for K: a bound on how far the optimum of the problem that
        was solved is from that of the problem with K itself, besides the gap. 0 where nothing was
        approximated.
    rounding : float, optional
        A bound on what rounding may have done to ``primal`` and ``dual``: the optimum of the
        problem with the matrix in float64 lies between ``lower`` and ``upper``. None where no bound
        was computed.
    curvature : str
        ``proven`` where the matrix is known to be positive semi-definite, by construction or by a
        Cholesky factor, so that duality holds. ``refuted`` where it has a direction of negative
        curvature, ``open`` where neither is known: then nothing bounds the optimum.
    status : str
        ``optimal`` if the relative gap is at most 10⁻³, else ``within tolerance`` of the one that
        was asked for, or why the solver stopped before; empty where no solver was asked.
    problem : str
        The problem that was solved.

    Examples
    --------
    >>> from mercer import SVC, load_data
    >>> heart = load_data("heart")
    >>> certificate = SVC().fit(heart.X, heart.y).certificate_
    >>> certificate.optimal, bool(certificate.dual <= certificate.primal)
    (True, True)
    >>> bool(certificate.relative_gap < 1e-3)
    True
    """

    problem: str
    primal: float
    dual: float
    stationarity: float
    primal_feasibility: float = 0.0
    dual_feasibility: float = 0.0
    complementarity: float = 0.0
    iterations: int = 0
    seconds: float = 0.0
    kernel_evaluations: int = 0
    approximation_cost: float = 0.0
    rounding: float | None = None
    curvature: str = PROVEN
    status: str = "optimal"

    STATE: ClassVar[State] = {
        "problem": TEXT,
        **dict.fromkeys(
            (
                *("primal", "dual", "stationarity", "primal_feasibility", "dual_feasibility"),
                *("complementarity", "seconds"),
            ),
            Number(finite=False),
        ),
        **dict.fromkeys(("iterations", "kernel_evaluations"), COUNT),
        "approximation_cost": Maybe(Number(finite=False)),
        "status": TEXT,
        "rounding": Maybe(OneOf(NONE, Number(finite=False))),
        "curvature": Maybe(TEXT),
    }

    def __post_init__(self) -> None:
        # No number is the worst number: whatever compares it finds no bound.
        for name, worst in (("primal", math.inf), ("dual", -math.inf), ("rounding", math.inf)):
            value = getattr(self, name)
            if value is not None and math.isnan(value):
                object.__setattr__(self, name, worst)

    @classmethod
    def total(cls, parts: Sequence[Certificate]) -> Certificate:
        """Join the certificates of independent problems: values add, the worst residual counts."""
        if len(parts) == 1:
            return parts[0]
        sums = (
            "primal", "dual", "iterations", "seconds", "kernel_evaluations", "approximation_cost",
        )  # fmt: skip
        worst = ("stationarity", "primal_feasibility", "dual_feasibility", "complementarity")
        failed = [part.status for part in parts if part.status != "optimal"]
        known = [part.curvature for part in parts]
        rounding = [part.rounding for part in parts if part.rounding is not None]
        return cls(
            problem=f"{len(parts)} problems ({parts[0].problem})",
            curvature=next((word for word in (REFUTED, OPEN) if word in known), PROVEN),
            rounding=sum(rounding) if len(rounding) == len(parts) else None,
            **{name: sum(getattr(part, name) for part in parts) for name in sums},
            **{name: max(getattr(part, name) for part in parts) for name in worst},
            status=failed[0] if failed else "optimal",
        )

    def on_landmarks(self, count: int, cost: float) -> Self:
        """Say that K̃ of so many landmarks stood for K, and what :func:`landmark_cost` gave."""
        name = f"{self.problem}, Nyström with {count:,} landmarks"
        return replace(self, problem=name, approximation_cost=cost)

    def paying(self, price: float, floor: float = 0.0) -> Self:
        """Take the price of what a dual point lacks off the dual value.

        Constraints that it breaks are no rounding, in which a gap might hide. ``floor`` is a value
        that no answer is below.
        """
        return replace(self, dual=max(self.dual - price, floor))

    @property
    def gap(self) -> float:
        """Primal minus dual value: the answer is about this far from the optimum at most.

        Rounding comes on top. Infinite where the problem is not known to be convex.
        """
        return self.primal - self.dual if self.curvature == PROVEN else math.inf

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the optimum, infinite where there is no bound."""
        scale = max(abs(self.primal), abs(self.dual))
        if not math.isfinite(scale):
            return math.inf
        return self.gap / scale if scale > 0 else self.gap

    @property
    def lower(self) -> float:
        """A lower bound of the optimum: the dual value less what rounding may have added to it."""
        return self.dual - (self.rounding or 0.0)

    @property
    def upper(self) -> float:
        """An upper bound of the optimum: the primal value and what rounding may have taken off."""
        above = self.primal + (self.rounding or 0.0)
        return above if self.curvature == PROVEN else math.inf

    @property
    def distance(self) -> float:
        """How far the answer is from the optimum at most, rounding included, as a share of it."""
        scale = max(abs(self.primal), abs(self.dual))
        if self.rounding is None or not 0 < scale < math.inf:
            return abs(self.relative_gap)
        return max(self.upper - self.lower, 0.0) / scale

    @property
    def bounds(self) -> bool:
        """Whether the values bound the optimum: finite, the dual one below up to rounding."""
        if not math.isfinite(self.relative_gap):
            return False
        if self.rounding is None:
            return self.relative_gap >= -ROUNDING
        return self.gap >= -2 * self.rounding and math.isfinite(self.rounding)

    @property
    def within_rounding(self) -> bool:
        """Whether the optimum is so near 0 that float64 sees no gap, however large its share."""
        far = self.relative_gap > OPTIMAL_GAP
        return far and self.bounds and self.gap <= (self.rounding or 0.0)

    @property
    def optimal(self) -> bool:
        """Whether the gap is at most 10⁻³ of the optimum, or too small for float64 to see."""
        return self.bounds and (self.relative_gap <= OPTIMAL_GAP or self.within_rounding)

    def under(self, status: str, tol: float = OPTIMAL_GAP) -> Self:
        """Return the same with the status of a solver, which stands only where the values show it.

        ``tol`` is the relative gap that the solver was to reach.
        """
        if self.curvature != PROVEN:
            status = STATIONARY if self.curvature == REFUTED else UNKNOWN
        elif status == "optimal" and not self.optimal:
            status = WITHIN if self.bounds and self.relative_gap <= tol else "stalled"
        return replace(self, status=status)

    def plot(self, others: Sequence[Certificate] = (), ax: Axes = None) -> Any:
        """Draw the bounds of the optimum against the seconds that they took.

        Parameters
        ----------
        others : sequence of Certificate
            Certificates of the same problem after more or less time.
        ax : matplotlib axes, optional
            Where to draw; new axes by default.
        """
        parts = [self, *others]
        if not all(part.bounds for part in parts):
            raise InvalidInput("Certificate.plot: a certificate has no bounds that it could draw.")
        lower, upper, seconds = (
            np.array([getattr(part, name) for part in parts])
            for name in ("lower", "upper", "seconds")
        )
        return draw_bounds(lower, upper, seconds, ax)

    def __repr__(self) -> str:
        lines = [f"{name:<20} {value}" for name, value in self._table()]
        return "\n".join([f"Certificate of {self.problem}: {self._verdict()}", *lines])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th><td>{escape(value)}</td></tr>"
            for name, value in self._table()
        )
        caption = f"Certificate of {escape(self.problem)}: {escape(self._verdict())}"
        return f"<table><caption>{caption}</caption>{rows}</table>"

    def _verdict(self) -> str:
        status = f", {self.status}" if self.status else ""
        if self.primal_feasibility > 1e-3:
            return f"breaks a hard constraint by {self.primal_feasibility:.2g}{status}"
        if self.curvature != PROVEN:
            return STATIONARY if self.curvature == REFUTED else UNKNOWN
        if not self.bounds:
            return f"no bound, the values {self.dual:.3g} and {self.primal:.3g} show none{status}"
        if self.within_rounding:
            return f"within rounding, {self.rounding:.2g}, of the optimum{status}"
        return f"within {self.distance:.2g} of the optimum{status}"

    def _table(self) -> list[tuple[str, str]]:
        others = {f.name: getattr(self, f.name) for f in fields(self)[3:-1]}
        values = {"primal": self.primal, "dual": self.dual}
        table = {**values, "gap": self.gap, "relative_gap": self.relative_gap, **others}
        if not self.approximation_cost:
            del table["approximation_cost"]
        return [(name.replace("_", " "), _written(value)) for name, value in table.items()]


def _written(value: float | str | None) -> str:
    if value is None:
        return "not known"
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:.8g}"
