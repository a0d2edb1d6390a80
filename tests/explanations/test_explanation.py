"""What an explanation shows."""

import numpy as np
import pytest

import mercer as m
from mercer.exceptions import InvalidParameter

heart = m.load_data("heart")
two = m.explain(m.SVC().fit(heart.X, heart.y), heart.X[:20])
labels = np.arange(len(heart.X)) % 3
three = m.explain(m.SVC(multi_class="ovr").fit(heart.X, labels), heart.X[:20])


def test_one_row_is_drawn_as_bars_and_many_as_dots():
    axes = two.plot(3)
    texts = [label.get_text() for label in axes.get_yticklabels()]
    strongest = int(np.abs(two.values[3]).argmax())
    assert texts[0] == two.names[strongest]
    assert axes.patches[0].get_width() == two.values[3][strongest]
    assert len(two.plot().lines) >= 12


def test_classes_are_chosen():
    assert three.of_class(1).values.shape == (20, 13)
    assert np.allclose(three.of_class(1).answers, three.answers[:, 1], rtol=1e-12)
    three.plot(0)
    three.plot(label=2)
    with pytest.raises(InvalidParameter, match="not one of"):
        three.of_class(7)
    with pytest.raises(InvalidParameter, match="no classes"):
        two.of_class(1)


def test_rows_that_are_not_there_are_refused():
    with pytest.raises(InvalidParameter, match="20 rows"):
        two.plot(20)


def test_importance_is_the_mean_size():
    assert np.allclose(two.importance, np.abs(two.values).mean(axis=0))
