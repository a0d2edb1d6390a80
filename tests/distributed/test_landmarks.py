import dask.array as da
import numpy as np
import pytest

from mercer import RBF, InvalidParameter, NotPositiveDefinite, Nystrom, Sigmoid, distributed
from mercer.landmarks.choose import choose_landmarks


@pytest.fixture(scope="module")
def rows():
    rows = np.random.default_rng(0).normal(size=(900, 3))
    rows.flags.writeable = False
    return rows


def values(landmarks):
    (leaf,) = landmarks.points.leaves.values()
    return leaf.values


@pytest.mark.parametrize("method", ["uniform", "pivoted", "kmeans", "leverage"])
def test_the_same_as_on_one_machine(client, rows, method):
    k, spec = RBF(gamma=0.3), Nystrom(30, method, random_state=5)
    here = choose_landmarks(k, rows, spec)
    there = distributed.choose_landmarks(
        k, da.from_array(rows, chunks=(350, 3)), spec, client=client
    )
    if here.index is not None:
        np.testing.assert_array_equal(here.index, there.index)
        np.testing.assert_array_equal(values(there), rows[there.index])
    np.testing.assert_allclose(values(here), values(there), rtol=1e-10)
    if here.residual_trace is not None:
        assert there.residual_trace == pytest.approx(here.residual_trace, rel=1e-8)


def test_pivots_among_as_many_rows_as_the_budget_allows(client, rows):
    k, spec = RBF(gamma=0.3), Nystrom(20, random_state=2)
    here = choose_landmarks(k, rows, spec, budget=8 * 20 * 400)
    there = distributed.choose_landmarks(
        k, da.from_array(rows, chunks=(350, 3)), spec, client=client, budget=8 * 20 * 400
    )
    assert there.candidates == here.candidates == 400
    np.testing.assert_array_equal(here.index, there.index)


def test_fewer_pivots_where_fewer_give_the_whole_matrix(client):
    rows = np.repeat(np.random.default_rng(1).normal(size=(5, 2)), 40, axis=0)
    there = distributed.choose_landmarks(
        RBF(gamma=0.3), da.from_array(rows, chunks=(70, 2)), 20, client=client
    )
    assert len(there) == len(np.unique(rows[there.index], axis=0)) == 5
    assert there.residual_trace == pytest.approx(0, abs=1e-12)


def test_what_is_refused(client, rows):
    X = da.from_array(rows, chunks=(350, 3))
    with pytest.raises(InvalidParameter, match="901 landmarks were asked for"):
        distributed.choose_landmarks(RBF(gamma=0.3), X, 901, client=client)
    with pytest.raises(NotPositiveDefinite, match="positive definite"):
        distributed.choose_landmarks(Sigmoid(), X, 10, client=client)
    with pytest.raises(InvalidParameter, match="no number"):
        distributed.choose_landmarks(RBF(), X, None, client=client)
