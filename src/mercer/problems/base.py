"""What a problem is: plain data, its mathematics, and the judgement of an answer."""

from __future__ import annotations

from typing import NoReturn, Protocol, TypeVar

from mercer._typing import Array
from mercer.exceptions import InvalidInput
from mercer.gram.base import GramMatrix
from mercer.problems.certificate import Certificate

Value_contra = TypeVar("Value_contra", contravariant=True)
"""What an answer to a problem is made of: multipliers, weights, or several of these by name."""


class Problem(Protocol[Value_contra]):
    """The mathematics of one optimisation as plain data, apart from the data's kernel.

    A problem states min P(f) with its dual max D(β) ≤ min P, and knows nothing of solvers.
    """

    @property
    def name(self) -> str:
        """What the problem is called in certificates and messages."""
        ...

    def certify(
        self, value: Value_contra, gram: GramMatrix, product: Array | None = None
    ) -> Certificate:
        """Judge an answer: primal and dual value, gap, and the residual of each condition.

        All that is asked of the matrix is ``gram.multiply``, in float64. ``product`` is K times
        the coefficients of the answer, for callers that have it from there already.
        """
        ...


class WithoutDual:
    """What problems share that are not convex: no dual bounds how far an answer is from the best.

    Their solvers have ``certified = False`` and end at stationary points.
    """

    name: str

    def certify(self, value: object, gram: GramMatrix, product: Array | None = None) -> NoReturn:
        """Refuse: there is nothing to judge an answer by."""
        raise InvalidInput(f"{self.name} is not convex and has no dual, so nothing certifies it.")
