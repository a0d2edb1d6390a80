"""The data sets that come with mercer."""

from importlib import resources

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from mercer import load_data
from mercer.data import NAMES, DataSet
from mercer.exceptions import InvalidParameter


def test_heart_against_an_independent_reader():
    heart = load_data("heart")
    with resources.as_file(resources.files("mercer.data").joinpath("heart_scale.txt")) as path:
        X, y = load_svmlight_file(str(path))
    assert heart.X.shape == (270, 13)
    np.testing.assert_array_equal(heart.X, X.toarray())
    np.testing.assert_array_equal(heart.y == "disease", y == 1)
    assert heart.X.dtype == np.float64


def test_heart_is_what_it_is_known_to_be():
    heart = load_data("heart")
    names, counts = np.unique(heart.y, return_counts=True)
    assert dict(zip(names.tolist(), counts.tolist(), strict=True)) == {
        "disease": 120,
        "healthy": 150,
    }
    assert heart.X.min() == -1
    assert heart.X.max() == 1
    assert len(heart.columns) == len(set(heart.columns)) == 13
    # Columns of two values only are where they are said to be.
    for name in ("sex", "blood_sugar", "angina"):
        assert set(heart.X[:, heart.columns.index(name)]) == {-1.0, 1.0}
    assert (heart.name, isinstance(heart, DataSet)) == ("heart", True)
    assert "270 patients" in heart.description


@pytest.mark.parametrize("name", NAMES)
def test_each_call_gives_arrays_of_its_own(name):
    first, second = load_data(name), load_data(name)
    first.X[:] = 7
    assert not np.array_equal(first.X, second.X)
    assert len(first.X) == len(first.y)
    assert resources.files("mercer.data").joinpath("SOURCES.md").read_text().count(name) > 0


def test_unknown_data():
    with pytest.raises(InvalidParameter, match=r"'liver'.*heart"):
        load_data("liver")
