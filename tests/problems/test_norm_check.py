"""The axioms of norms, tried on functions that are none."""

import numpy as np
import pytest

from mercer import norms
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.problems.norm_check import _vectors

P = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 3.0]])


@pytest.mark.parametrize(
    "f",
    [
        norms.l1,
        norms.l2,
        norms.linf,
        norms.Lp(1.5),
        norms.Quadratic(P),
        lambda x: np.linalg.norm(x) + 2 * np.abs(x).max(),
        lambda x: 1e-8 * np.linalg.norm(x),
        lambda x: np.abs(x[1:] - x[:-1]).sum() + abs(x[0]),
    ],
)
def test_norms_pass(f):
    report = norms.check_norm(f)
    assert report
    assert str(report) == "no axiom of norms fails on 400 vectors"


@pytest.mark.parametrize(
    ("f", "axioms"),
    [
        (norms.Lp(0.5), {"triangle"}),
        (norms.L0(), {"homogeneous"}),
        (lambda x: float(x @ x), {"homogeneous", "triangle"}),
        (lambda x: x.sum(), {"positive", "homogeneous"}),
        (lambda x: np.abs(x[:2]).sum(), {"definite"}),
        (lambda x: 0.0, {"definite"}),
        (lambda x: np.linalg.norm(x) + 1, {"definite", "homogeneous"}),
        (lambda x: np.linalg.norm(np.maximum(x, 0) + 0.5 * np.minimum(x, 0)), {"homogeneous"}),
        (lambda x: np.sqrt(np.abs(x).max() * np.abs(x).sum()) if x.any() else 0.0, set()),
    ],
)
def test_what_is_no_norm_is_shown_with_vectors(f, axioms):
    report = norms.check_norm(f)
    found = {violation.axiom for violation in report.violations}
    if axioms:
        assert axioms <= found
        assert not report
        assert str(report).startswith("no norm: ")
    for violation in report.violations:
        x, y, c = violation.x, violation.y, violation.c
        # Anybody can recompute the two sides.
        if violation.axiom == "triangle":
            assert f(x + y) == pytest.approx(violation.left)
            assert f(x) + f(y) == pytest.approx(violation.right)
            assert violation.left > violation.right
            assert "is above f(x) + f(y)" in str(violation)
        elif violation.axiom == "homogeneous":
            assert f(c * x) == pytest.approx(violation.left)
            assert abs(c) * f(x) == pytest.approx(violation.right)
            assert "∣c∣" in str(violation)
        elif violation.axiom == "positive":
            assert f(x) == pytest.approx(violation.left)
            assert violation.left < 0
        else:
            assert (f(x) != 0) == (not x.any())


def test_bad_input():
    with pytest.raises(InvalidParameter, match="dimension=0"):
        norms.check_norm(norms.l2, 0)
    with pytest.raises(InvalidInput, match="not a number"):
        norms.check_norm(lambda x: "long")
    with pytest.raises(InvalidInput, match="a norm is finite"):
        norms.check_norm(lambda x: np.inf)
    assert norms.check_norm(norms.l2, 1, random_state=None)


def test_violations_have_both_sides_of_the_axiom():
    [wide] = norms.check_norm(norms.Lp(0.5), dimension=2).violations
    assert str(wide).endswith(f"y = {np.array2string(wide.y, precision=4, separator=', ')}")
    [flat] = norms.check_norm(lambda x: np.abs(x[:2]).sum()).violations
    assert (flat.axiom, flat.left, flat.right) == ("definite", 0.0, 0.0)
    assert not flat.x[:2].any()
    assert flat.x.any()
    first = norms.check_norm(lambda x: np.linalg.norm(x) + 1).violations[0]
    assert (first.axiom, first.left, first.right) == ("definite", 1.0, 0.0)
    negative = norms.check_norm(lambda x: -np.linalg.norm(x)).violations[0]
    assert (negative.axiom, negative.right) == ("positive", 0.0)
    assert negative.left == pytest.approx(-np.linalg.norm(negative.x))


def test_the_worst_violation_is_the_one_that_is_shown():
    # ∣f(cx) − ∣c∣f(x)∣ as a share is ½ for c = 2 and −3.7 takes it to 1 − 1/3.7.
    [violation] = [v for v in norms.check_norm(lambda x: float(x @ x)).violations
                   if v.axiom == "homogeneous"]  # fmt: skip
    assert violation.c == -3.7
    share = abs(violation.left - violation.right) / max(violation.left, violation.right)
    assert share == pytest.approx(1 - 1 / 3.7)


@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_violations_are_shares(size):
    square = norms.check_norm(lambda x: size * float(x @ x))
    assert {v.axiom for v in square.violations} >= {"homogeneous", "triangle"}
    half = norms.check_norm(lambda x: size * norms.Lp(0.5)(x))
    assert {v.axiom for v in half.violations} == {"triangle"}


def test_rounding_is_no_violation():
    noise = np.random.default_rng(0)
    assert norms.check_norm(lambda x: np.linalg.norm(x) * (1 + 1e-11 * noise.uniform(-1, 1)))
    assert not norms.check_norm(lambda x: np.linalg.norm(x) * (1 + 1e-7 * noise.uniform(-1, 1)))
    assert norms.check_norm(
        lambda x: np.linalg.norm(x) * (1 + 1e-7 * noise.uniform(-1, 1)), tol=1e-6
    )
    tiny = norms.check_norm(lambda x: 1e-12 * np.linalg.norm(x))  # by shares, not by sizes
    assert tiny


def test_functions_that_vanish_everywhere_are_measured_by_one():
    for at_zero, first in ((1.5e-9, False), (0.5e-9, True)):
        report = norms.check_norm(lambda x, v=at_zero: 0.0 if x.any() else v)
        violation = report.violations[0]
        assert violation.axiom == "definite"
        assert violation.x.any() == first


def test_vectors_that_vanish_are_measured_by_their_length():
    """A function is flat where it is small for the length of the vector, not small alone."""
    for size, flat in ((1e-9 * 0.9, True), (1e-9 * 1.1, False)):
        # ∣x₂∣ counts with a share of ``size`` of the others.
        report = norms.check_norm(lambda x, s=size: abs(x[0]) + s * abs(x[1]), dimension=2)
        lengths = np.abs(_vectors(2, np.random.RandomState(0))).max()
        scale = max(abs(v[0]) + size * abs(v[1]) for v in _vectors(2, np.random.RandomState(0)))
        expected = size <= 1e-9 * scale / lengths
        found = {violation.axiom for violation in report.violations}
        assert ("definite" in found) == expected
        assert expected == flat


def test_the_worst_pair_of_all_that_are_tried():
    f = norms.Lp(0.5)
    vectors = _vectors(3, np.random.RandomState(0))
    worst, pair = 0.0, (0, 0)
    for step in (1, 2, 400 // 3, 200):
        for i in range(400):
            j = (i + step) % 400
            left, right = f(vectors[i] + vectors[j]), f(vectors[i]) + f(vectors[j])
            share = (left - right) / max(left, right)
            if share > worst:
                worst, pair = share, (i, j)
    [found] = norms.check_norm(f).violations
    np.testing.assert_array_equal(found.x, vectors[pair[0]])
    np.testing.assert_array_equal(found.y, vectors[pair[1]])


def test_what_is_tried():
    """Vectors, 0, multiples of each, and sums with neighbours and with vectors far away."""
    seen = []
    norms.check_norm(lambda x: seen.append(x.copy()) or float(np.abs(x).sum()))
    vectors = _vectors(3, np.random.RandomState(0))
    expected = [*vectors, np.zeros(3)]
    expected += [c * x for x in vectors for c in (-1.0, 0.0, 0.5, 2.0, -3.7)]
    for step in (1, 2, 133, 200):
        expected += [vectors[i] + vectors[(i + step) % 400] for i in range(400)]
    np.testing.assert_array_equal(seen, expected)


@pytest.mark.parametrize("d", [1, 3, 80])
def test_vectors_of_all_kinds_are_tried(d):
    """Axes, signs, vectors with many zeros, and lengths over four orders of magnitude."""
    found = _vectors(d, np.random.RandomState(0))
    assert found.shape == (400, d)
    assert found.any(axis=1).all()
    axes = min(d, 50)
    np.testing.assert_array_equal(found[:axes], np.eye(d)[:axes])
    signs, thin, plain = np.split(found[axes:], [50, 150])
    assert set(np.unique(signs)) == {-1.0, 1.0}
    if d > 1:
        assert np.mean(thin == 0) == pytest.approx(0.6, abs=0.15)
    assert (plain != 0).all()
    lengths = np.abs(plain).max(axis=1)
    assert lengths.min() < 0.1
    assert lengths.max() > 10.0
    if d == 80:  # the largest of so many numbers is about 2.5
        assert lengths.min() > 0.015
        assert lengths.max() < 500.0
