"""Streamed machines are judged from pieces as from rows in memory, and spoilt ones show."""

import copy

import numpy as np
import pytest

import mercer
from mercer import StreamedClassifier, StreamedRidge, certify
from mercer.exceptions import InvalidInput
from mercer.landmarks.chunks import ArrayChunks

RNG = np.random.default_rng(16)
X = RNG.uniform(-3, 3, (400, 2))
Y = np.sin(2 * X[:, 0]) + 0.1 * RNG.standard_normal(400)
WEIGHTS = RNG.uniform(0.2, 2, 400)
NAMES = np.array(["low", "middle", "top"])[np.digitize(Y, [-0.4, 0.4])]
MACHINES = [
    (StreamedRidge(0.1, approximation=30), Y),
    (StreamedRidge(0.1, approximation=30, fit_intercept=False), np.column_stack([Y, Y**2])),
    (StreamedClassifier(approximation=30, class_weight="balanced"), NAMES),
    (StreamedClassifier(approximation=30, loss="logistic"), NAMES == "top"),
]


@pytest.mark.parametrize(("machine", "y"), MACHINES)
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_pieces_are_judged_as_rows_in_memory(machine, y, weights):
    chunks = ArrayChunks(X, y, weights, size=70)
    model = copy.copy(machine).fit(chunks)
    judged, whole = certify(model, chunks), certify(model, X, y, weights)
    for name in ("primal", "dual", "rounding"):
        assert getattr(judged, name) == pytest.approx(getattr(whole, name), rel=1e-9)
    assert judged.optimal
    assert judged.lower <= judged.upper
    # The pass that steered the solver says that it is one, and bounds no rounding.
    assert model.certificate_.problem == f"{judged.problem}, by the last pass"
    assert model.certificate_.rounding is None
    assert model.certificate_.primal == pytest.approx(judged.primal, rel=1e-6)


@pytest.mark.parametrize(("machine", "y"), MACHINES)
def test_a_spoilt_answer_shows_in_pieces_too(machine, y):
    chunks = ArrayChunks(X, y, size=70)
    model = copy.copy(machine).fit(chunks)
    model.dual_coef_ = model.dual_coef_ * 1.3 + 0.2
    spoilt = certify(model, chunks)
    assert not spoilt.optimal
    assert spoilt.lower <= certify(copy.copy(machine).fit(chunks), chunks).upper


def test_other_data_are_refused():
    model = StreamedRidge(0.1, approximation=30).fit(ArrayChunks(X, Y))
    with pytest.raises(InvalidInput, match="fitted on 400 rows, and the chunks have 399"):
        certify(model, ArrayChunks(X[1:], Y[1:]))
    with pytest.raises(InvalidInput, match="brings its own targets"):
        certify(model, ArrayChunks(X, Y), Y)
    classes = StreamedClassifier(approximation=30).fit(ArrayChunks(X, NAMES))
    with pytest.raises(InvalidInput, match="other classes"):
        mercer.certify(classes, ArrayChunks(X, np.where(NAMES == "low", "least", NAMES)))
