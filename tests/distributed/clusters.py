"""Real clusters on this computer: processes, on the loopback address alone."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import dask
from distributed import Client, LocalCluster

QUIET = {
    # Machines that run tests are busy: a slow answer is no error there.
    "distributed.comm.timeouts.connect": "60s",
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.admin.tick.limit": "60s",
    "distributed.deploy.lost-worker-timeout": "1s",
}


@contextmanager
def local_cluster(workers, memory="1GB"):
    """Yield a client of a new cluster; each worker is a process with one thread."""
    with (
        dask.config.set(QUIET),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            memory_limit=memory,
            silence_logs=50,
        ) as cluster,
        Client(cluster, timeout="60s", set_as_default=False) as client,
    ):
        client.wait_for_workers(workers, timeout=60)
        yield client


@contextmanager
def lone_workers(client, count):
    """Start workers that nobody restarts; yield their processes."""
    command = [
        sys.executable, "-c", "from dask.__main__ import main; main()",
        "worker", client.scheduler.address, "--no-nanny", "--no-dashboard", "--nthreads", "1",
        "--host", "127.0.0.1", "--memory-limit", "1GB",
    ]  # fmt: skip
    processes = [
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(count)
    ]
    try:
        client.wait_for_workers(count, timeout=60)
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.wait(30)


def kill_one(client):
    """Kill a worker that does not see it coming; return its address."""
    address, pid = next(iter(client.run(os.getpid).items()))
    os.kill(pid, signal.SIGKILL)
    return address


def wait_until(condition, seconds=30):
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, "nothing happened"
        time.sleep(0.05)
