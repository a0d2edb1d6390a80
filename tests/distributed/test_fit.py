import threading
import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from mercer import (
    InvalidParameter,
    KernelRidge,
    StreamedClassifier,
    StreamedRidge,
    distributed,
    load,
    save,
)
from mercer.distributed.cluster import Cluster
from mercer.distributed.pieces import DistributedChunks
from mercer.kernels.vectors.radial import RBF
from mercer.landmarks.block_passes import BlockPasses
from mercer.landmarks.chunks import ArrayChunks
from mercer.problems.landmark_squares import RidgeErrors, RidgeWeights
from tests.distributed.clusters import kill_one


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    X = random.normal(size=(6000, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * random.normal(size=6000)
    return X, y, random.uniform(0.5, 2, size=6000)


def machine(**more):
    return StreamedRidge(**{"alpha": 0.1, "gamma": 0.5, "approximation": 80, "tol": 1e-9} | more)


def spread(X, *others, chunks=1000):
    return [da.from_array(X, chunks=(chunks, 2)), *(da.from_array(o, chunks=800) for o in others)]


def agree(here, there, X, rel=1e-7):
    assert there.certificate_.status == here.certificate_.status == "optimal"
    # Pieces are judged by the last pass over them, and say so; rows in memory as a whole.
    ours, theirs = here.certificate_.problem, there.certificate_.problem
    assert theirs.removesuffix(", by the last pass") == ours.removesuffix(", by the last pass")
    assert there.certificate_.primal == pytest.approx(here.certificate_.primal, rel=1e-9)
    cost = here.certificate_.approximation_cost
    assert there.certificate_.approximation_cost == pytest.approx(cost, rel=1e-6)
    assert 0 < cost < here.certificate_.dual
    expected = here.predict(X)
    np.testing.assert_allclose(there.predict(X), expected, atol=rel * np.abs(expected).max())


def test_passes_do_not_depend_on_where_the_rows_are(client, data):
    X, y, w = data
    kernel = RBF(gamma=0.5)
    landmarks = kernel.encode(X[::100])
    here = BlockPasses(kernel, landmarks, ArrayChunks(X, y, w, 700), constant=True)
    chunks = DistributedChunks(Cluster(client), *spread(X, y, w))
    there = chunks.passes(kernel, landmarks, constant=True)
    random = np.random.default_rng(1)
    V = random.normal(size=(61, 2))[:, :1]
    R = np.triu(random.normal(size=(60, 60))) + 5 * np.eye(60)
    for whitener in (None, np.linalg.inv(R)[:30, :30]):
        a, b = (p.sums(V, RidgeErrors(), True, whitener) for p in (here, there))
        np.testing.assert_allclose(a.products, b.products, rtol=1e-10, atol=1e-8)
        np.testing.assert_allclose(a.totals, b.totals, rtol=1e-10)
    np.testing.assert_allclose(a.unseen, b.unseen, rtol=1e-10)
    assert (a.unseen > 0).all()
    for share in (0.2, 1.0):
        a, b = (p.square(V, RidgeWeights(), R, share, precise=True) for p in (here, there))
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    assert here.evaluations == there.evaluations


def test_the_same_model_as_on_one_machine(client, data, tmp_path):
    X, y, w = data
    here = machine().fit(X, y, w)
    there = distributed.fit(machine(), *spread(X, y), sample_weight=spread(X, w)[1], client=client)
    assert type(there) is StreamedRidge
    assert there.n_rows_ == 6000
    agree(here, there, X)
    np.testing.assert_allclose(there.dual_coef_, here.dual_coef_, rtol=1e-4, atol=1e-4)
    lazy = distributed.predict(there, spread(X)[0])
    assert lazy.chunks == ((1000,) * 6,)
    np.testing.assert_allclose(
        client.compute(lazy).result(timeout=60), there.predict(X), rtol=1e-12
    )
    save(there, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), there.predict(X))


def test_frames_and_several_targets(client, data):
    X, y, _ = data
    table = pd.DataFrame(X, columns=list("abc")).assign(y=y, z=y**2)
    frame = dd.from_pandas(table, npartitions=4)
    model = distributed.fit(machine(), frame[list("abc")], frame[["y", "z"]], client=client)
    here = machine().fit(table[list("abc")], table[["y", "z"]].to_numpy())
    assert list(model.feature_names_in_) == list("abc")
    assert model.dual_coef_.shape[1] == 2
    agree(here, model, table[list("abc")])
    lazy = distributed.predict(model, frame[list("abc")])
    assert lazy.ndim == 2
    np.testing.assert_allclose(
        client.compute(lazy).result(timeout=60), model.predict(table[list("abc")]), rtol=1e-12
    )


def test_a_checkpoint_tells_a_second_fit_everything(client, data, tmp_path):
    X, y, _ = data
    first, second = (
        distributed.fit(machine(checkpoint=tmp_path / "file"), *spread(X, y), client=client)
        for _ in range(2)
    )
    assert first.certificate_.kernel_evaluations > 0
    assert second.certificate_.kernel_evaluations == 0
    np.testing.assert_array_equal(second.predict(X), first.predict(X))


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_classes_that_only_some_pieces_have(client, data, loss):
    X, y, w = (part[:3000] for part in data)
    order = np.argsort(y, kind="stable")
    X, y, w = X[order], np.digitize(y[order], [-1, 0.5]), w[order]
    labels = np.array(["no", "perhaps", "yes"])[y]
    parts = [labels[s : s + 1000] for s in range(0, 3000, 1000)]
    # A piece with short names alone has a narrower type.
    pieces = [da.from_array(np.array(part.tolist()), chunks=1000) for part in parts]
    targets = da.concatenate(pieces)
    settings = {"loss": loss, "gamma": 0.5, "approximation": 60, "class_weight": "balanced"}
    settings["tol"] = 1e-5
    here = StreamedClassifier(**settings).fit(X, labels, w)
    there = distributed.fit(
        StreamedClassifier(**settings),
        da.from_array(X, chunks=(1000, 2)),
        targets,
        sample_weight=w,
        client=client,
    )
    assert there.classes_.tolist() == ["no", "perhaps", "yes"]
    assert there.certificate_.primal == pytest.approx(here.certificate_.primal, rel=1e-8)
    cost = here.certificate_.approximation_cost
    assert there.certificate_.approximation_cost == pytest.approx(cost, rel=1e-4)
    assert 0 < cost < here.certificate_.dual
    if loss == "logistic":  # what all scores have in common means nothing
        np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), atol=1e-4)
    else:
        np.testing.assert_allclose(there.decision_function(X), here.decision_function(X), atol=1e-3)
    lazy = distributed.predict(there, da.from_array(X, chunks=(1000, 2)))
    np.testing.assert_array_equal(client.compute(lazy).result(timeout=60), there.predict(X))


def test_a_killed_worker_costs_time_only(client, data):
    X, y, _ = data
    here = machine().fit(X, y)
    parts = [dask.delayed(slowly)(X[s : s + 500]) for s in range(0, 6000, 500)]
    rows = da.concatenate([da.from_delayed(p, (500, 3), float) for p in parts])
    killed = []

    def kill():
        while not killed:
            time.sleep(0.05)
            if any(client.processing().values()):
                killed.append(kill_one(client))

    killer = threading.Thread(target=kill)
    killer.start()
    there = distributed.fit(machine(), rows, da.from_array(y, chunks=500), client=client)
    killer.join(60)
    assert killed[0] not in client.nthreads()
    agree(here, there, X)


def slowly(rows):
    time.sleep(0.1)
    return rows


def test_what_is_refused(client, data):
    X, y, _ = data
    with pytest.raises(InvalidParameter, match="KernelRidge needs all rows on one machine"):
        distributed.fit(KernelRidge(), *spread(X, y), client=client)
    with pytest.raises(InvalidParameter, match="requires y"):
        distributed.fit(machine(), *spread(X), client=client)
    with pytest.raises(InvalidParameter, match="no method 'transform'"):
        distributed.predict(machine(), *spread(X), method="transform")
