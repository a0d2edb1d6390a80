"""How kernels and points are stored: one row for each class."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._files.fields import (
    COUNT,
    NONE,
    TEXT,
    A,
    Kind,
    ListOf,
    Numbers,
    OneOf,
    Sizes,
    WrongState,
)
from mercer.io.model_values import Stored
from mercer.kernels import registry
from mercer.kernels.algebra import Exp, Power, PowerSeries, Product, Scaled, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.encoders import Encoder
from mercer.kernels.points import Points
from mercer.kernels.vectors.explicit import RandomFourierFeatures
from mercer.kernels.wrappers import Normalized, On, Precomputed
from mercer.landmarks.choose import Nystrom
from mercer.landmarks.nystrom_kernel import NystromKernel

# ---- kernels: nothing but their parameters, which their constructors check ---------------------


class _Parameter(Kind):
    """A parameter of a kernel; a text, such as a pattern, takes time to read and is short."""

    required = False

    def check(self, value: object, sizes: Sizes) -> None:
        if isinstance(value, str) and len(value) > 1000:
            raise WrongState("is too long")


def _kernel(cls: type[Kernel]) -> Stored:
    fields = {name: _Parameter() for name in cls.parameter_names()}
    return Stored(cls, fields, lambda kernel: kernel.get_params(deep=False), formula=True)


def _random_features() -> Stored:
    """Return the row of a kernel whose ``random_state`` is ``seed`` in files of any version."""
    names = {"kernel": "kernel", "components": "components", "seed": "random_state"}
    return Stored(
        RandomFourierFeatures,
        {name: _Parameter() for name in names},
        lambda kernel: {name: getattr(kernel, own) for name, own in names.items()},
        lambda state: RandomFourierFeatures(**{names[name]: v for name, v in state.items()}),
        formula=True,
    )


NODES = (Sum, Product, Scaled, Power, Exp, PowerSeries, Normalized, On, Precomputed, NystromKernel)
LEAVES = tuple(row.kernel for row in registry.ROWS if row.kernel is not RandomFourierFeatures)
KERNELS = (*(_kernel(cls) for cls in (*LEAVES, *NODES)), _random_features())

# ---- points ------------------------------------------------------------------------------------


def _points_state(points: Points) -> dict[str, Any]:
    return {
        "encoders": list(points.leaves),
        "leaves": list(points.leaves.values()),
        "ids": points.ids,
        "dtype": points.dtype.name,
    }


def _make_points(state: dict[str, Any]) -> Points:
    encoders, leaves, ids = state["encoders"], state["leaves"], state["ids"]
    if len(encoders) != len(leaves) or len(set(encoders)) < len(encoders):
        raise WrongState("it has not one leaf for each encoder")
    if state["dtype"] not in ("float32", "float64") or ids.dtype != np.int64:
        raise WrongState("its numbers are of an impossible type")
    for encoder, leaf in zip(encoders, leaves, strict=True):
        if not encoder.is_own(leaf):
            raise WrongState(f"a leaf is not what a {type(encoder).__name__} makes")
        if len(leaf) != len(ids):
            raise WrongState(f"a leaf has {len(leaf):,} rows, not {len(ids):,}")
    return Points(dict(zip(encoders, leaves, strict=True)), ids, np.dtype(state["dtype"]))


POINTS = Stored(
    Points,
    {
        "encoders": ListOf(A(Encoder)),
        "leaves": ListOf(A(object)),
        "ids": Numbers("n", types="i"),
        "dtype": TEXT,
    },
    _points_state,
    _make_points,
)

LANDMARKS = Stored(
    Nystrom,
    {"count": COUNT, "method": TEXT, "seed": OneOf(NONE, COUNT)},
    lambda spec: {"count": spec.count, "method": spec.method, "seed": spec.random_state},
    lambda state: Nystrom(state["count"], state["method"], state["seed"]),
)

ROWS = (*KERNELS, POINTS, LANDMARKS)
