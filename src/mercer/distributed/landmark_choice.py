"""Landmarks among rows that are spread over workers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from distributed import Client

from mercer._typing import IntArray, Objects
from mercer.distributed.cluster import Cluster
from mercer.distributed.gram import SETTLING_ROWS
from mercer.distributed.pieces import DistributedChunks, DistributedPoints, joined, sample_points
from mercer.distributed.pivoted_cholesky import Residual, pivot
from mercer.exceptions import InvalidParameter
from mercer.kernels.base import Kernel
from mercer.kernels.points import Points
from mercer.landmarks.choose import (
    BUDGET,
    METHODS,
    Landmarks,
    Nystrom,
    kmeans_candidates,
    pivoted_candidates,
    require_definite,
    require_rows,
    uniform_rows,
)

_ROWS_A_LANDMARK = 64
"""Rows among which one worker chooses by leverage scores, for each landmark."""


def choose_landmarks(
    kernel: Kernel,
    X: Objects,
    spec: Nystrom | int,
    *,
    client: Client | None = None,
    budget: int = BUDGET,
) -> Landmarks:
    """Choose landmarks for a kernel among the rows of a Dask collection.

    For the same seed they are the same as on one machine: exactly for ``"uniform"``, up to
    rounding for ``"pivoted"`` and ``"kmeans"``. ``"pivoted"`` keeps the factor where the rows are;
    ``"kmeans"`` and ``"leverage"`` draw candidates, among which one worker chooses. Only landmarks,
    and proposals for them, come here.

    Parameters
    ----------
    kernel : Kernel
        Positive definite. Parameters such as ``"scale"`` are settled on 10,000 rows, or all.
    X : dask.array.Array or dask.dataframe.DataFrame
    spec : Nystrom or int
        How many, and how they are chosen.
    client : distributed.Client, optional
        The current one by default.
    budget : int
        Bytes of all workers together.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from distributed import Client
    >>> from mercer import RBF
    >>> from mercer.distributed import choose_landmarks
    >>> X = da.from_array(np.linspace(0, 1, 100)[:, None], chunks=(50, 1))
    >>> with Client(processes=False, dashboard_address=None) as client:
    ...     print(len(choose_landmarks(RBF(gamma=1.0), X, 5, client=client).points))
    5
    """
    chosen = Nystrom.of(spec, "choose_landmarks")
    if chosen is None:
        raise InvalidParameter("choose_landmarks: spec=None says of no number of landmarks.")
    chunks = DistributedChunks(Cluster(client), X)
    require_rows(chosen, chunks.rows)
    settled = kernel.resolve(sample_points(kernel, chunks, SETTLING_ROWS, 0))
    return landmarks_among(settled, chunks, chosen, budget)


def landmarks_among(
    kernel: Kernel, chunks: DistributedChunks, spec: Nystrom, budget: int = BUDGET
) -> Landmarks:
    """Choose landmarks for a settled kernel."""
    require_definite(kernel)
    points = DistributedPoints(kernel, chunks)
    random = np.random.default_rng(spec.random_state)
    n = len(points)
    if spec.method == "uniform":
        index = uniform_rows(n, spec.count, random)
        return Landmarks(points.take(index), index, None, n, spec)
    if spec.method == "pivoted":
        return _pivoted(kernel, points, spec, random, pivoted_candidates(n, spec.count, budget))
    if spec.method == "kmeans":
        width = sum(
            getattr(leaf, "dimension", 1) for leaf in points.take(np.zeros(1, int)).leaves.values()
        )
        return _on_one(
            kernel, points, spec, random, kmeans_candidates(n, spec.count, width, budget)
        )
    return _on_one(kernel, points, spec, random, min(n, _ROWS_A_LANDMARK * spec.count))


def _pivoted(
    kernel: Kernel, points: DistributedPoints, spec: Nystrom, random: np.random.Generator, rows: int
) -> Landmarks:
    """Pivoted Cholesky, with each row of the factor where the row of the data is."""
    among = _candidates(len(points), rows, random)
    residual = Residual(kernel, points.cluster, points.chunks.tasks_at(points.pieces, among))
    pivots = pivot(residual, spec.count, random)
    if not len(pivots):
        # A matrix of zeros: any row will do.
        return Landmarks(points.take(among[:1]), among[:1], 0.0, rows, spec)
    index = among[pivots]
    trace = residual.total if rows == len(points) else None
    return Landmarks(joined(residual.pivots), index, trace, rows, spec)


def _on_one(
    kernel: Kernel, points: DistributedPoints, spec: Nystrom, random: np.random.Generator, rows: int
) -> Landmarks:
    """Let one worker choose among candidates from all of them, with the code of one machine."""
    among = _candidates(len(points), rows, random)
    parts = points.chunks.tasks_at(points.pieces, among)
    cluster = points.cluster
    found: Landmarks = cluster.fetch(cluster.submit(_choose, kernel, spec, random, *parts))
    index = None if found.index is None else among[found.index]
    return replace(found, index=index, residual_trace=None, candidates=rows)


def _choose(
    kernel: Kernel, spec: Nystrom, random: np.random.Generator, *parts: Points
) -> Landmarks:
    return METHODS[spec.method](kernel, joined(list(parts)), spec, random, BUDGET)


def _candidates(n: int, rows: int, random: np.random.Generator) -> IntArray:
    if rows == n:
        return np.arange(n, dtype=np.intp)
    return np.sort(random.choice(n, rows, replace=False)).astype(np.intp)
