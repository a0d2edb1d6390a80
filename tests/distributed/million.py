"""A fit to a million rows by two worker processes; says how much memory each process took.

Run as ``python -m tests.distributed.million OUTPUT``: the answers are written there.
"""

import json
import sys
from pathlib import Path

import dask.array as da
import numpy as np

from mercer import StreamedRidge, distributed
from tests.distributed.clusters import local_cluster

ROWS, COLUMNS = 1_000_000, 12


def make_data(rows=ROWS):
    """Numbers that are made where a piece is needed, always the same."""
    X = da.random.default_rng(5).normal(size=(rows, COLUMNS), chunks=(rows // 20, COLUMNS))
    return X, da.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]


def make_machine():
    return StreamedRidge(1.0, gamma=0.05, approximation=40, tol=1e-8)


def new_peak():
    """Let the high-water mark of this process begin anew, and return how much it has now."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak():
    """Return the most bytes that this process has had in memory."""
    text = Path("/proc/self/status").read_text()
    (line,) = [line for line in text.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


def main(output):
    with local_cluster(2, memory="2GB") as client:
        # Everything is loaded and compiled before memory is looked at.
        distributed.fit(make_machine(), *make_data(40_000), client=client)
        before, workers_before = new_peak(), client.run(new_peak)
        model = distributed.fit(make_machine(), *make_data(), client=client)
        grown = {"client": peak() - before}
        for number, (address, size) in enumerate(client.run(peak).items()):
            grown[f"worker {number}"] = size - workers_before[address]
        fresh = np.random.default_rng(1).normal(size=(2000, COLUMNS))
        np.savez(output, answers=model.predict(fresh), primal=model.certificate_.primal)
        sys.stdout.write(json.dumps({"grown": grown, "rows": model.n_rows_}))


if __name__ == "__main__":
    main(sys.argv[1])
