"""Machines that are fitted to, and asked about, the rows of Dask collections."""

from __future__ import annotations

from typing import Any

import numpy as np
from dask.base import is_dask_collection
from distributed import Client
from sklearn.base import BaseEstimator

from mercer._typing import Array, Objects, Targets
from mercer.distributed.cluster import Cluster
from mercer.distributed.gram import map_rows
from mercer.distributed.grid_search import fit_search
from mercer.distributed.pieces import DistributedChunks
from mercer.exceptions import InvalidParameter


def fit(
    machine: Any, X: Objects, y: Targets = None, *, client: Client | None = None, **params: Any
) -> Any:
    """Fit a machine to rows that are spread over workers; return the machine.

    A streamed machine (:class:`~mercer.StreamedRidge` …) works where the rows are: partitions stay
    on the workers, a sample for the landmarks and sums of the size of the landmarks come here.
    Nothing else differs from a fit on one machine, and the answer is the same to rounding.

    A search (:class:`~mercer.GridSearchCV`) becomes tasks: one for each kernel and fold, or for
    several folds of a kernel where there is enough to do. All rows have to fit each worker; the
    targets come here to cut the folds. Every score is computed, as ``exhaustive=True`` does on one
    machine, and the best machine is fitted on a worker.

    A worker that is lost costs time: Dask computes what it had elsewhere. Where all workers are
    lost, :class:`~mercer.ClusterFailure` is raised after 30 s, or after Dask's setting
    ``distributed.scheduler.no-workers-timeout``.

    Parameters
    ----------
    machine : streamed machine or GridSearchCV
    X : dask.array.Array or dask.dataframe.DataFrame
        The rows; for a search they may be in memory too.
    y : Dask collection or array
        The targets.
    client : distributed.Client, optional
        The current one by default.
    **params
        As in ``machine.fit``: ``sample_weight`` and others, Dask collections or arrays.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from distributed import Client
    >>> from mercer import StreamedRidge
    >>> from mercer.distributed import fit
    >>> X = da.from_array(np.linspace(0, 6, 500)[:, None], chunks=(250, 1))
    >>> with Client(processes=False, dashboard_address=None) as client:
    ...     model = fit(StreamedRidge(1e-3, approximation=30), X, da.sin(X[:, 0]), client=client)
    >>> model.predict([[1.0]]).round(2)
    array([0.84])
    """
    if hasattr(machine, "_evaluation"):
        return fit_search(machine, X, y, client, params)
    if not getattr(machine, "takes_chunks", False):
        raise InvalidParameter(
            f"{type(machine).__name__} needs all rows on one machine. Use a streamed machine "
            "(StreamedRidge …), or a GridSearchCV around it."
        )
    weights = params.pop("sample_weight", None)
    if y is None:
        raise InvalidParameter(f"{type(machine).__name__} requires y to be passed.")
    return machine.fit(DistributedChunks(Cluster(client), X, y, weights), **params)


def predict(model: BaseEstimator, X: Objects, method: str = "predict") -> Any:
    """Return the answers of a fitted model as a lazy Dask array, cut as the rows are.

    Parameters
    ----------
    model : estimator
        Any model with the method, fitted here or on a cluster.
    X : dask.array.Array or dask.dataframe.DataFrame
    method : str
        ``"predict"``, ``"decision_function"``, ``"predict_proba"``, ``"transform"`` …

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from mercer import Ridge
    >>> from mercer.distributed import predict
    >>> model = Ridge(1e-9).fit([[0.0], [1.0]], [0.0, 2.0])
    >>> X = da.from_array(np.array([[2.0], [3.0], [4.0]]), chunks=(2, 1))
    >>> predict(model, X).compute(scheduler="synchronous").round(4)
    array([4., 6., 8.])
    """
    ask = _Question(model, method)
    answer = ask(_example(X))
    return map_rows(ask, X, answer.shape[1:], answer.dtype)


class _Question:
    """A method of a model, as a function of the rows of a partition."""

    def __init__(self, model: BaseEstimator, method: str) -> None:
        if not hasattr(model, method):
            raise InvalidParameter(f"{type(model).__name__} has no method {method!r}.")
        self.model, self.method = model, method

    def __call__(self, X: Objects) -> Array:
        return np.asarray(getattr(self.model, self.method)(X))


def _example(X: Objects) -> Objects:
    """Return rows of the form of those of a collection, to see what a model makes of such."""
    if is_dask_collection(X) and hasattr(X, "chunks"):
        return np.ones((1, *X.shape[1:]), dtype=X.dtype)
    from dask.dataframe.utils import meta_nonempty

    return meta_nonempty(X._meta)
