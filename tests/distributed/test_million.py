import json
import subprocess
import sys
from pathlib import Path

import dask
import numpy as np
import pytest

from tests.distributed.million import COLUMNS, ROWS, make_data, make_machine


@pytest.mark.attack  # test_fit.py has the same comparison on thousands of rows
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="memory is read from /proc")
def test_a_million_rows_stay_on_the_workers(tmp_path):
    output = tmp_path / "answers.npz"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.distributed.million", str(output)],
        capture_output=True,
        timeout=300,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout)
    assert told["rows"] == ROWS
    size = 8 * ROWS * COLUMNS
    # A sample of 20,000 rows and the sums of passes come here, and the landmarks of a worker.
    grown = told["grown"]
    assert grown.pop("client") < 0.3 * size, told
    # Each worker had its share; pieces are copied on their way, and when blocks are computed.
    assert all(0.3 * size < each < 2 * size for each in grown.values()), told
    with dask.config.set(scheduler="synchronous"):
        X, y = dask.compute(*make_data())
    here = make_machine().fit(X, y)
    there = np.load(output)
    fresh = np.random.default_rng(1).normal(size=(2000, COLUMNS))
    assert float(there["primal"]) == pytest.approx(here.certificate_.primal, rel=1e-9)
    expected = here.predict(fresh)
    np.testing.assert_allclose(there["answers"], expected, atol=1e-6 * np.abs(expected).max())
