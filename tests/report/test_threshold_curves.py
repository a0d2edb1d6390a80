"""Curves over thresholds, against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from mercer.report.curve_charts import precision, roc
from mercer.report.threshold_curves import POINTS, threshold_curves

values = st.lists(
    st.tuples(st.booleans(), st.integers(-20, 20), st.booleans()), min_size=2, max_size=80
)


@given(values)
def test_areas_and_points_are_those_of_scikit_learn(rows):
    actual, scores, answered = (np.array(part) for part in zip(*rows, strict=True))
    curves = threshold_curves(actual, scores.astype(float), answered, "yes", "no")
    if actual.all() or not actual.any():
        assert curves is None
        return
    assert curves.auc == pytest.approx(roc_auc_score(actual, scores))
    assert curves.average_precision == pytest.approx(average_precision_score(actual, scores))
    alarms, found, _ = roc_curve(actual, scores, drop_intermediate=False)
    assert np.allclose(curves.alarms, alarms)
    assert np.allclose(curves.found, found)
    assert curves.at_found == pytest.approx((answered & actual).sum() / actual.sum())
    assert curves.at_alarms == pytest.approx((answered & ~actual).sum() / (~actual).sum())
    for drawing in (roc(curves), precision(curves)):
        assert drawing.startswith("<svg")
        assert "nan" not in drawing


def test_many_rows_make_a_short_curve():
    rng = np.random.default_rng(0)
    actual = rng.random(5000) < 0.1
    scores = rng.normal(size=5000) + actual
    curves = threshold_curves(actual, scores, scores > 1, "yes", "no")
    assert len(curves.found) <= POINTS + 1
    assert curves.auc == pytest.approx(roc_auc_score(actual, scores))
    assert curves.found[-1] == curves.alarms[-1] == 1
