"""The contest: leave-one-out against fits without the row, the vote, and its time."""

import math
import time

import numpy as np
import pytest

from mercer import KernelRidge, Matern
from mercer.estimators.automatic import contest as module
from mercer.estimators.automatic.contest import Candidate, Contest
from mercer.estimators.automatic.learnt_weights import learnt_weights
from mercer.estimators.automatic.measures import area_under_curve, squared_error

RANDOM = np.random.default_rng(0)
Z = RANDOM.normal(size=(60, 4))
Y = np.c_[np.sin(2 * Z[:, 0]) + 0.1 * RANDOM.normal(size=60), Z[:, 1]]


def contest(Z=Z, Y=Y, deadline=math.inf):
    return Contest([Z], Y, squared_error, deadline)


@pytest.mark.parametrize("kernel", ["Laplacian", "L2 Laplacian", "RBF", "linear"])
def test_values_are_those_of_machines_that_never_saw_the_row(kernel):
    race = contest()
    candidate = Candidate(0, 1.0, kernel)
    race.try_all([candidate])
    (entry,) = race.entries
    rows = Z * race.weights(candidate)
    machine = KernelRidge(entry.alpha, kernel=entry.kernel, fit_intercept=True)
    for left_out in (0, 31):
        rest = np.delete(np.arange(60), left_out)
        value = machine.fit(rows[rest], Y[rest]).predict(rows[[left_out]])[0]
        np.testing.assert_allclose(entry.left_out[left_out], value, rtol=1e-6)
    assert entry.judged.score == pytest.approx(-((entry.left_out - Y) ** 2).mean())


def test_columns_that_matter_are_weighted_and_widths_grow():
    y = np.sign(Z[:, :1])
    race = contest(Y=y)
    race.run()
    assert race.entries[0].candidate.power > 0
    weights = race.weights(race.entries[0].candidate)
    assert weights[0] == 1
    assert (weights[1:] < 0.7).all()
    # A straight line: the widest kernel is the best of the Laplacians, so they grow.
    line = contest(Y=Z[:, 1:2])
    line.run()
    assert line.entries[0].candidate.kernel == "linear"
    scores = [entry.judged.score for entry in line.entries]
    assert scores == sorted(scores, reverse=True)


def test_the_vote_leaves_out_what_is_worse_than_noise():
    race = contest(Y=Z[:, 1:2])
    race.run()
    assert [entry.candidate.kernel for entry in race.voters(5)] == ["linear"] * len(race.voters(5))
    noisy = contest(Y=RANDOM.normal(size=(60, 1)))
    noisy.run()
    assert len(noisy.voters(5)) == 5
    assert noisy.voters(1) == noisy.entries[:1]


def test_of_those_that_differ_by_noise_the_closest_vote():
    noise = np.random.default_rng(5).normal(size=(60, 1))
    signs = np.where(Z[:, :1] + 3 * noise > 0, 1.0, -1.0)
    race = Contest([Z], signs, area_under_curve, math.inf)
    race.run()
    first, *others = race.voters(4)
    assert first is race.entries[0]
    errors = [float(((entry.left_out - signs) ** 2).mean()) for entry in others]
    assert errors == sorted(errors)
    # By their areas alone others would have come first: this is about closeness.
    scores = [entry.judged.score for entry in race.voters(100)]
    assert scores != sorted(scores, reverse=True)


def test_the_vote_is_of_different_kernels_with_equal_and_with_other_weights():
    noise = np.random.default_rng(7).normal(size=(60, 1))
    noisy = Contest([Z], noise, squared_error, math.inf, unseen=True)
    noisy.run()
    equal_ones = sum(e.candidate.has_equal_weights for e in noisy.voters(100))
    for most in (1, 2, 5, 100):
        voters = noisy.voters(most)
        kinds = [(e.candidate.kernel, e.candidate.has_equal_weights) for e in voters]
        assert len(set(kinds)) == len(voters) <= most
        assert voters[0] is noisy.entries[0]
        assert sum(equal for _, equal in kinds) >= min(most // 2, equal_ones)
    everyone = noisy.voters(100)
    for voter in everyone[1:]:
        kind = (voter.candidate.kernel, voter.candidate.has_equal_weights)
        alike = [
            e for e in noisy.entries
            if (e.candidate.kernel, e.candidate.has_equal_weights) == kind
        ]  # fmt: skip
        assert voter.judged.closeness == max(e.judged.closeness for e in alike)
    # Some that are closer to the targets stand back for a kernel that has no voter yet.
    closest = sorted(noisy.entries, key=lambda e: -e.judged.closeness)[: len(noisy.voters(5))]
    assert set(map(id, closest)) != set(map(id, noisy.voters(5)))


def test_equal_weights_vote_where_others_are_closer_by_noise():
    noise = np.random.default_rng(6).normal(size=(60, 1))
    found = contest(Y=np.sign(Z[:, :1]) + 3 * noise)
    found.run()
    assert not found.entries[0].candidate.has_equal_weights
    closest = sorted(found.entries[1:], key=lambda e: -e.judged.closeness)[:4]
    assert not any(e.candidate.has_equal_weights for e in closest)
    assert sum(e.candidate.has_equal_weights for e in found.voters(5)) == 2


def test_many_rows_are_judged_through_landmarks(monkeypatch):
    exact = contest()
    exact.try_all([Candidate(0, 0.0, "RBF", 2.0)])
    monkeypatch.setattr(module, "EXACT_ROWS", 20)
    monkeypatch.setattr(module, "LANDMARKS", 60)
    through = contest()
    through.try_all([Candidate(0, 0.0, "RBF", 2.0)])
    # 60 landmarks are all rows: the same but for rounding.
    np.testing.assert_allclose(
        through.entries[0].left_out, exact.entries[0].left_out, rtol=1e-4, atol=1e-5
    )
    monkeypatch.setattr(module, "LANDMARKS", 30)
    few = contest()
    few.try_all([Candidate(0, 0.0, "RBF", 2.0)])
    assert few.entries[0].judged.score < 0.5 * exact.entries[0].judged.score + 0.1


def test_without_time_one_candidate_is_judged():
    race = contest(deadline=time.perf_counter() - 1)
    race.run()
    assert len(race.entries) == 1
    assert len(race.voters(5)) == 1


def test_learnt_weights_are_judged_on_rows_that_they_were_not_learnt_from():
    race = Contest([Z], Y, squared_error, math.inf, unseen=True)
    race.run()
    entry = next(e for e in race.entries if e.candidate.learnt and e.candidate.kernel == "Matern")
    start = next(
        e
        for e in race.entries
        if not e.candidate.learnt and e.candidate.kernel in ("L2 Laplacian", "RBF")
    )
    factors = race.weights(start.candidate) / start.kernel.length_scale
    dealt = sorted(range(60), key=lambda i: (*Y[i][::-1], *Z[i][::-1]))
    for left_out in (0, 31, 59):
        part = dealt[dealt.index(left_out) % 3 :: 3]
        others = np.delete(np.arange(60), part)
        found = learnt_weights(entry.kernel, Z[others], Y[others], factors**2, start.alpha)
        rows = Z * np.sqrt(found)
        rest = np.delete(np.arange(60), left_out)
        machine = KernelRidge(
            entry.alpha, kernel=Matern(nu=1.5, length_scale=1.0), fit_intercept=True
        )
        value = machine.fit(rows[rest], Y[rest]).predict(rows[[left_out]])[0]
        np.testing.assert_allclose(entry.left_out[left_out], value, rtol=1e-5, atol=1e-7)
