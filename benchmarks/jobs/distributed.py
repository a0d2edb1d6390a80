"""What Dask costs on one computer: threads of one process against two workers of one thread."""

import atexit
from functools import cache, partial

import numpy as np

from benchmarks.gram_cases import scaled
from benchmarks.in_process import InProcess
from benchmarks.job import OURS, Disagreement, Job

CLUSTER = "two workers"
GRID = {"C": np.geomspace(0.1, 100, 6), "gamma": np.geomspace(1e-3, 1, 8)}


@cache
def _client():
    from distributed import Client, LocalCluster

    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        silence_logs=50,
    )
    client = Client(cluster, set_as_default=False)
    atexit.register(cluster.close)
    atexit.register(client.close)
    client.wait_for_workers(2)
    return client


@cache
def _data(rows):
    random = np.random.default_rng(0)
    X = random.standard_normal((rows, 10))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * random.standard_normal(rows)


def _ridge(contender, rows):
    from mercer import StreamedRidge

    X, y = _data(rows)
    machine = StreamedRidge(1.0, gamma=0.05, approximation=300)
    if contender == OURS:
        return lambda: machine.fit(X, y)
    import dask
    import dask.array as da

    from mercer import distributed

    client = _client()
    # The rows are on the workers before the clock starts, as they are in memory here.
    lazy = [da.from_array(part, chunks=(rows // 16, *part.shape[1:])) for part in (X, y)]
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 GB"}):
        held = client.persist(lazy)
    return lambda: distributed.fit(machine, *held, client=client)


def _search(contender, rows):
    from mercer import SVC, GridSearchCV

    X, y = _data(rows)
    labels = np.digitize(y, [-0.5, 0.5])
    search = GridSearchCV(SVC(), GRID, cv=4, exhaustive=True)
    if contender == OURS:
        return lambda: search.fit(X, labels)
    from mercer import distributed

    client = _client()
    return lambda: distributed.fit(search, X, labels, client=client)


def _same_answers(models, *, rows):
    X, _ = _data(rows)
    here, there = (models[name].predict(X[:1000]) for name in (OURS, CLUSTER))
    worst = float(np.abs(here - there).max() / np.abs(here).max())
    if worst > 1e-4:
        raise Disagreement(f"answers differ by {worst:.1e}")
    return f"Answers differ by {worst:.1e} at most."


def _same_scores(searches):
    here, there = (searches[name].cv_results_["mean_test_score"] for name in (OURS, CLUSTER))
    worst = float(np.abs(here - there).max())
    if worst > 1e-9:
        raise Disagreement(f"scores differ by {worst:.1e}")
    return f"Scores differ by {worst:.1e} at most."


def _cases(scale):
    names = (OURS, CLUSTER)
    rows, few = max(2000, scaled(200_000, scale)), max(200, scaled(2_000, scale))
    return [
        InProcess(
            label=f"StreamedRidge, {rows:,} × 10, 300 landmarks",
            contenders={name: partial(_ridge, name, rows) for name in names},
            check=partial(_same_answers, rows=rows),
            scale=scale,
        ),
        InProcess(
            label=f"SVC, 6 × 8 grid, 4 folds, {few:,} × 10",
            contenders={name: partial(_search, name, few) for name in names},
            check=_same_scores,
            scale=scale,
        ),
    ]


JOB = Job("distributed", "One process against two Dask workers on this computer", _cases, repeats=3)
