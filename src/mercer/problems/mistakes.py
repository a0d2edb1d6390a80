"""What online rules lower: a loss of signed rows, with penalties on the weights."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from mercer import _fast
from mercer._typing import Array, IntArray
from mercer.problems.base import WithoutDual


class OnlineLoss(IntEnum):
    """The loss of a value f for the sign y; its slope is the step of the rule."""

    PERCEPTRON = _fast.perceptron.PERCEPTRON
    """max(0, −yf)"""
    WIDROW_HOFF = _fast.perceptron.WIDROW_HOFF
    """½(y − f)²"""


@dataclass(frozen=True, eq=False)
class SignedRows(WithoutDual):
    """min Σᵢ cᵢ L(yᵢ, f(xᵢ)) + l₁‖w‖₁ + ½l₂‖w‖², one term at a time.

    A rule that sees rows one after the other only hovers around the optimum, so none is certified.

    Attributes
    ----------
    y : array
        Signs ±1.
    rates : array
        cᵢ, factors of the step for each row.
    loss : OnlineLoss
    intercept : bool
        Whether f has a bias.
    l1, l2 : float
        Penalties, for linear functions.
    rows : array of int, optional
        The rows that are shown; all by default.
    """

    y: Array
    rates: Array
    loss: OnlineLoss = OnlineLoss.PERCEPTRON
    intercept: bool = True
    l1: float = 0.0
    l2: float = 0.0
    rows: IntArray | None = None
    name: str = "online rule"
