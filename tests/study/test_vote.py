"""What the screen says of a contest before it begins."""

import numpy as np
import pandas
import pytest

from mercer import read_table
from mercer.study.plan import make_plan


@pytest.mark.parametrize(("rows", "says"), [(4_200, True), (3_900, False)])
def test_landmarks_are_said(rows, says):
    random = np.random.default_rng(0)
    frame = pandas.DataFrame(random.normal(size=(rows, 2)), columns=["x", "y"])
    plan = make_plan(read_table(frame, "y"))
    assert any("3,000 decide" in text and "landmarks" in text for text in plan.reasons) == says
