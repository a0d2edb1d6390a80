"""Labels of nodes and edges as 64-bit codes that depend on the label alone."""

from __future__ import annotations

from collections.abc import Collection
from itertools import count
from typing import Any

import numpy as np

from mercer.kernels.encoders import CategoryEncoder
from mercer.kernels.graphs.graph_points import Codes


def label_codes(labels: Collection[Any], owner: str) -> Codes:
    """Return the code of each label, 0 for None; equal labels are hashed once."""
    try:
        different = set(labels) - {None}
    except TypeError:
        return _hashed(labels, owner)  # which says what is no label
    number: dict[Any, int] = {None: 0, **dict(zip(different, count(1), strict=False))}
    codes = np.concatenate([np.zeros(1, dtype=np.uint64), _hashed(different, owner)])
    places = np.fromiter(map(number.__getitem__, labels), dtype=np.intp, count=len(labels))
    return codes[places]


def _hashed(labels: Collection[Any], owner: str) -> Codes:
    column = np.fromiter(labels, dtype=object, count=len(labels))
    return CategoryEncoder().encode(column[:, None], owner).codes[:, 0]
