"""Series of the UCR archive: the published errors of 1-NN, and kernel machines against them."""

import warnings

import numpy as np
import pytest

from mercer import DTW, SVC, GlobalAlignment, dtw_distances, read_series
from tests.estimators.cases import shared

# Published errors of the nearest neighbour: Euclidean, warping without a band, and with the band
# (share of the length) that was learnt. Then our error of SVC(GlobalAlignment(), C=10).
PUBLISHED = {
    "aeon_GunPoint/GunPoint": (".ts", False, 0.0867, 0.0933, (0, 0.0867), 0.0533),
    "aeon_ArrowHead/ArrowHead": (".ts", False, 0.2, 0.2971, (0, 0.2), 0.2),
    "aeon_ItalyPowerDemand/ItalyPowerDemand": (".ts", False, 0.0447, 0.0496, (0, 0.0447), 0.0466),
    "ucr_Coffee/Coffee": (".tsv", True, 0.0, 0.0, (0, 0.0), 0.0),
    "ucr_ECG200/ECG200": (".tsv", False, 0.12, 0.23, (0, 0.12), 0.11),
    "ucr_SyntheticControl/SyntheticControl": (".tsv", True, 0.12, 0.0067, (0.06, 0.0167), 0.0133),
}


def both_parts(name, suffix, normalise=False):
    parts = [
        read_series(shared(f"../timeseries/{name}_{part}{suffix}")) for part in ("TRAIN", "TEST")
    ]
    if normalise:  # the published errors are for z-normalised series
        return [([(x - x.mean()) / x.std() for x in part.X], part.y) for part in parts]
    return [(part.X, part.y) for part in parts]


def nearest_error(X, y, T, t, band):
    nearest = dtw_distances(T, X, band=band).argmin(axis=1)
    return float(np.mean(y[nearest] != t))


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_errors_and_alignment_machines(name):
    suffix, normalise, euclidean, warped, (band, learnt), aligned = PUBLISHED[name]
    (X, y), (T, t) = both_parts(name, suffix, normalise)
    half = 0.00006
    assert nearest_error(X, y, T, t, 0) == pytest.approx(euclidean, abs=half)
    assert nearest_error(X, y, T, t, None) == pytest.approx(warped, abs=half)
    assert nearest_error(X, y, T, t, band) == pytest.approx(learnt, abs=half)
    error = 1 - SVC(GlobalAlignment(), C=10.0).fit(X, y).score(T, t)
    assert error == pytest.approx(aligned, abs=0.02)
    # As good as the nearest neighbour under warping, or better.
    assert error <= warped + 0.01


@pytest.mark.slow
def test_many_channels_and_unequal_lengths():
    """Published accuracies of 1-NN with dependent warping: 97.5 % and 94.9 %."""
    for name, published in (("BasicMotions", 0.975), ("JapaneseVowels", 0.949)):
        (X, y), (T, t) = both_parts(f"aeon_{name}/{name}", ".ts")
        assert 1 - nearest_error(X, y, T, t, None) == pytest.approx(published, abs=0.0006)
        for kernel in (GlobalAlignment(), DTW()):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # DTW is not positive definite
                machine = SVC(kernel, C=10.0).fit(X, y)
            assert machine.score(T, t) >= published
