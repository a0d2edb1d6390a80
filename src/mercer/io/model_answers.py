"""How the answers of solvers are stored: certificates, machines, functions, searches."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from mercer._files.fields import (
    COUNT,
    TEXT,
    A,
    ListOf,
    Maybe,
    Mismatch,
    Number,
    Numbers,
    OneOf,
    Plain,
)
from mercer.estimators.auto import Tuned
from mercer.estimators.binary import BinaryMachine
from mercer.gram.expansion import Expansion
from mercer.io.model_points import check_points
from mercer.io.model_values import Stored
from mercer.kernels.base import Kernel
from mercer.kernels.points import Points
from mercer.problems.certificate import Certificate

_ANY = Number(finite=False)


def _certificate_state(certificate: Certificate) -> dict[str, Any]:
    """Return the fields; where nothing was approximated there is no cost, as in older files."""
    state = {field.name: getattr(certificate, field.name) for field in fields(certificate)}
    if not certificate.approximation_cost:
        del state["approximation_cost"]
    return state


CERTIFICATE = Stored(
    Certificate,
    {
        "problem": TEXT,
        **dict.fromkeys(("primal", "dual", "stationarity"), _ANY),
        **dict.fromkeys(("primal_feasibility", "dual_feasibility", "complementarity"), _ANY),
        **dict.fromkeys(("iterations", "kernel_evaluations"), COUNT),
        "seconds": _ANY,
        "approximation_cost": Maybe(_ANY),
        "status": TEXT,
    },
    _certificate_state,
)


def _make_machine(state: dict[str, Any]) -> BinaryMachine:
    if len(state["classes"]) != 2 or not len(state["rows"]):
        raise Mismatch("it has not two classes, or no rows")
    return BinaryMachine(**state)


MACHINE = Stored(
    BinaryMachine,
    {
        "points": A(Points, size="n"),
        "kernel": A(Kernel),
        "classes": ListOf(Plain(), tuple),
        "rows": Numbers("rows", types="i", low=0, below="n"),
        "signs": Numbers("rows"),
        "alpha_": Numbers("rows"),
        "bound": Numbers("rows", finite=False),
        "values": Numbers("rows"),
        "intercept_": Number(),
        "certificate_": A(Certificate),
    },
    make=_make_machine,
)


def _make_expansion(state: dict[str, Any]) -> Expansion:
    check_points(state["kernel"], state["points"])
    # The constructor would settle the kernel on the points; it is settled.
    expansion = Expansion.__new__(Expansion)
    vars(expansion).update(state)
    return expansion


EXPANSION = Stored(
    Expansion,
    {
        "kernel": A(Kernel),
        "points": A(Points, size="n"),
        "coefficients": OneOf(Numbers("n"), Numbers("n", "outputs", any_order=True)),
    },
    make=_make_expansion,
)

TUNED = Stored(
    Tuned,
    {
        "candidates": ListOf(A(dict)),
        "scores": Numbers("candidates", "folds", finite=False),
        "best": A(dict),
    },
)

ROWS = (CERTIFICATE, MACHINE, EXPANSION, TUNED)
