"""Joint machines of all classes with a bias for each class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from mercer._typing import Array
from mercer.gram.base import GramMatrix
from mercer.problems.certificate import Certificate
from mercer.problems.multiclass import JointMulticlass


class JointAnswer(NamedTuple):
    """The n × classes coefficients α, and the biases b_c."""

    alpha: Array
    biases: Array


@dataclass(frozen=True, eq=False)
class BiasedMulticlass:
    """A joint problem whose functions are f_c + b_c, with b_c free and not penalised.

    min ½ Σ_c ‖w_c‖² + Σᵢ Cᵢ ξᵢ over w and b; the dual has Σᵢ αᵢ_c = 0 for every class c too.

    Attributes
    ----------
    joint : JointMulticlass
        The same problem without biases.
    """

    joint: JointMulticlass

    @property
    def name(self) -> str:
        """What the problem is called in certificates and messages."""
        return self.joint.name

    def with_biases(self, biases: Array) -> JointMulticlass:
        """Return the problem as one that knows the biases of an answer."""
        return replace(self.joint, biases=biases, free=True)

    def certify(
        self, value: JointAnswer, gram: GramMatrix, product: Array | None = None
    ) -> Certificate:
        """Judge coefficients and biases on a matrix; ``product`` is Kα where it is known."""
        return self.with_biases(value.biases).certify(value.alpha, gram, product)
