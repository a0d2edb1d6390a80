"""What the screen says before a contest begins."""

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


def test_keys_of_letters_may_be_learnt_from_by_their_spelling():
    heart = read_table("heart").frame.to_pandas().head(60)
    names = [f"{chr(97 + i % 26)}{chr(97 + i // 26)}ra" for i in range(len(heart))]
    frame = heart.assign(name=names, number=range(1, 61), y=heart["age"])
    reasons = make_plan(read_table(frame, "y")).reasons
    aside = {text.split()[0]: text for text in reasons if "set aside" in text}
    assert aside["name"].endswith("as in a key; kinds={'name': 'phrase'} learns from its spelling.")
    assert aside["number"] == "number is set aside: it numbers the rows."
    plan = make_plan(read_table(frame, "y", kinds={"name": "phrase"}))
    assert "name: short texts, by the spelling they share." in plan.reasons
