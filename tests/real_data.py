"""Real data sets: the small ones are in tests/data, the others may lie beside the checkout."""

from pathlib import Path

import pytest

INSIDE = Path(__file__).parent / "data"
BESIDE = Path(__file__).parents[2] / "shared" / "data"
MISSING = "real data are missing: "
"""How the reason of such a skip begins; conftest.py counts them at the end of a run."""


def real_data(name):
    """Return the path of a file or folder; the test is skipped, and says so, where it is not."""
    for folder in (INSIDE, BESIDE):
        if (folder / name).exists():
            return folder / name
    pytest.skip(f"{MISSING}{name}")
