"""Certificates: how far an answer is from the best one, in numbers that anyone can recompute."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from html import escape
from typing import ClassVar, Self

from mercer._files.fields import COUNT, TEXT, Maybe, Number, State

ROUNDING = 1e-6
"""How far rounding may take a dual value above the primal one, as a share of the larger, and
multipliers out of their constraints, as a share of their sum; more than that is no bound."""


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
    status : str
        ``optimal``, or why the solver stopped before; empty where no solver was asked.
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
    }

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
        return cls(
            problem=f"{len(parts)} problems ({parts[0].problem})",
            **{name: sum(getattr(part, name) for part in parts) for name in sums},
            **{name: max(getattr(part, name) for part in parts) for name in worst},
            status=failed[0] if failed else "optimal",
        )

    def on_landmarks(self, count: int, cost: float) -> Self:
        """Say that K̃ of so many landmarks stood for K, and what :func:`landmark_cost` gave."""
        name = f"{self.problem}, Nyström with {count:,} landmarks"
        return replace(self, problem=name, approximation_cost=cost)

    @property
    def gap(self) -> float:
        """Primal minus dual value: the answer is at most this far from the optimum."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the optimum, infinite where there is no bound."""
        scale = max(abs(self.primal), abs(self.dual))
        if not math.isfinite(scale):
            return math.inf
        return self.gap / scale if scale > 0 else self.gap

    @property
    def bounds(self) -> bool:
        """Whether the values bound the optimum: finite, the dual one below up to rounding."""
        return -ROUNDING <= self.relative_gap < math.inf

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
        if not self.bounds:
            return f"no bound, the values {self.dual:.3g} and {self.primal:.3g} show none{status}"
        return f"within {abs(self.relative_gap):.2g} of the optimum{status}"

    def _table(self) -> list[tuple[str, str]]:
        numbers = {f.name: getattr(self, f.name) for f in fields(self)[1:-1]}
        ordered = {"primal": 0, "dual": 0, "gap": self.gap, "relative_gap": self.relative_gap}
        table = {**ordered, **numbers}
        if not self.approximation_cost:
            del table["approximation_cost"]
        return [
            (name.replace("_", " "), f"{value:,}" if isinstance(value, int) else f"{value:.8g}")
            for name, value in table.items()
        ]
