"""A certificate in words: what is computed, what is proven, and what is rounding."""

import pytest

from mercer.problems.certificate import Certificate
from mercer.study.summary import certificate_in_words


def certificate(**changed):
    values = {
        "problem": "kernel ridge regression", "primal": 100.0, "dual": 100.0 - 1e-9,
        "rounding": 0.0, "curvature": "proven", "status": "optimal", "stationarity": 0.0,
        "primal_feasibility": 0.0, "dual_feasibility": 0.0, "complementarity": 0.0,
        "iterations": 1, "seconds": 0.0, "kernel_evaluations": 0,
    }  # fmt: skip
    return Certificate(**values | changed)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, "proven to be within 1.0 × 10⁻⁹ % of the best possible fit"),
        ({"dual": 95.0}, "proven to be within 5 % of the best possible fit"),
        (
            {"rounding": 150.0, "approximation_cost": 80.0},
            "computed to be within 1.0 × 10⁻⁹ % of the best possible fit on its landmarks; with "
            "all that rounding could hide, proven to be within 300 %",
        ),
        ({"dual": 95.0, "rounding": 1.0}, "proven to be within 7 % of the best possible fit"),
    ],
)
def test_rounding_is_told_from_a_gap(changed, words):
    assert certificate_in_words(certificate(**changed)) == words
