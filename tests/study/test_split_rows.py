"""Which rows are drawn."""

import numpy as np

from mercer.study.split_rows import draw


def test_a_sample_has_all_classes():
    y = np.array(["usual"] * 500 + ["rare"])
    drawn = draw(y, True, 10, 0)
    assert len(drawn) == 10
    assert set(y[drawn]) == {"usual", "rare"}
    assert np.all(np.diff(drawn) > 0)
    assert draw(y[:10], True, 10, 0).tolist() == list(range(10))
    assert len(draw(np.arange(50.0), False, 10, 0)) == 10
