import subprocess
import sys
import threading
import time

import dask
import dask.array as da
import pytest
from distributed import Client, LocalCluster

from mercer import RBF, ClusterFailure, StreamedRidge, distributed
from tests.distributed.clusters import QUIET, lone_workers, wait_until


@pytest.fixture(scope="module")
def empty():
    """A client whose scheduler has no workers."""
    with (
        dask.config.set(QUIET | {"distributed.scheduler.no-workers-timeout": "2s"}),
        LocalCluster(
            n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
        ) as c,
        Client(c, timeout="60s", set_as_default=False) as client,
    ):
        yield client


def test_no_client():
    with pytest.raises(ClusterFailure, match="There is no Dask client"):
        distributed.Gram(RBF(), da.ones((10, 2)))
    with pytest.raises(ClusterFailure, match=r"client=3 has to be a distributed\.Client"):
        distributed.Gram(RBF(), da.ones((10, 2)), client=3)


def test_no_workers(empty):
    began = time.monotonic()
    with (
        dask.config.set({"distributed.scheduler.no-workers-timeout": "2s"}),
        pytest.raises(ClusterFailure, match="has no workers"),
    ):
        distributed.Gram(RBF(), da.ones((10, 2)), client=empty)
    assert time.monotonic() - began < 20


def test_all_workers_lost_in_the_middle_of_a_fit(empty):
    rows = da.random.default_rng(0).normal(size=(20_000, 3), chunks=(1000, 3))
    machine = StreamedRidge(gamma=0.5, approximation=50)
    with (
        dask.config.set({"distributed.scheduler.no-workers-timeout": "2s"}),
        lone_workers(empty, 2) as workers,
    ):
        lost = threading.Event()

        def kill():
            wait_until(lambda: any(empty.processing().values()), 60)
            for worker in workers:
                worker.kill()
            lost.set()

        killer = threading.Thread(target=kill)
        killer.start()
        with pytest.raises(ClusterFailure, match=r"All workers of tcp://127.* are gone"):
            distributed.fit(machine, rows, rows[:, 0], client=empty)
        killer.join(60)
        assert lost.is_set()


def test_a_scheduler_that_is_gone():
    with dask.config.set(QUIET):
        cluster = LocalCluster(
            n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
        )
        client = Client(cluster, timeout="60s", set_as_default=False)
        cluster.close()
        with pytest.raises(ClusterFailure, match="does not answer"):
            distributed.Gram(RBF(), da.ones((10, 2)), client=client)
        client.close()


def test_mercer_does_without_dask():
    program = (
        "import sys; sys.modules['distributed'] = None\n"
        "import mercer, mercer.tuning.search, mercer.io\n"
        "mercer.StreamedRidge, mercer.GridSearchCV, mercer.SVC\n"
        "assert 'dask' not in sys.modules\n"
        "try:\n    import mercer.distributed\n"
        "except mercer.MissingDependency as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=120)
    assert done.stdout.decode().strip() == (
        "mercer.distributed needs Dask. Install it with pip install 'mercer[dask]'."
    ), done.stderr.decode()
