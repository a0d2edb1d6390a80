"""Files of earlier versions load, and their models answer as they did."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import mercer
from tests.io.old_models import answers, cases

FILES = sorted(Path(__file__).parent.glob("files_*/*.mercer"))
DIGITS = {"fisher_svc": 1e-10}
"""What other processors may change where it is more than usual: the eigenvalues of that Fisher
information are from 2 to 10⁻⁷, so that rounding of 10⁻¹⁶ may become 10⁻⁹."""


def same(found, expected, rtol=0.0):
    """Assert that two answers are equal, numbers to ``rtol``."""
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for one, two in zip(found, expected, strict=True):
            same(one, two, rtol)
    elif sparse.issparse(expected):
        same(found.toarray(), expected.toarray(), rtol)
    elif expected.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_answers_are_the_same(path, tmp_path):
    model, record = mercer.load(path), mercer.load_record(path)
    found = answers(model, record["data"])
    assert found.keys() == record["answers"].keys()
    for name, expected in record["answers"].items():
        # Where the file was written, to the last bit; other processors sum in another order.
        same(found[name], expected, rtol=DIGITS.get(path.stem, 1e-12))
    # What was loaded can be written again, and is then the same model.
    mercer.save(model, tmp_path / "again", record=record)
    again = answers(mercer.load(tmp_path / "again"), record["data"])
    for name, expected in found.items():
        same(again[name], expected)


def test_there_is_a_file_of_every_case():
    names = {name.replace(" ", "_") for name, *_ in cases()}
    assert names == {path.stem for path in FILES if path.parent.name == "files_0_1"}
