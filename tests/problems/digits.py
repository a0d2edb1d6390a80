"""Bounds of rounding for arithmetic of few digits, where each of their parts shows.

In float64 most parts of a bound hide behind the largest one, and behind the rounding of the bound
itself. The formulas hold for any unit of rounding: with a large one no part hides.
"""

import sys

from mercer.problems import logistic

FINE, COARSE = 2.0**-52, 2.0**-20


def set_unit(monkeypatch, unit):
    """Let all problems take ``unit`` for what rounding does to 1."""
    for name, module in list(sys.modules.items()):
        if name.startswith("mercer.problems.") and hasattr(module, "EPSILON"):
            monkeypatch.setattr(module, "EPSILON", unit)
    monkeypatch.setattr(logistic, "_ENTROPY_ERROR", 48 * unit)
