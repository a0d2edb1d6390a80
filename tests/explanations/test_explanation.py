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
    dots = two.plot().collections
    assert len(dots) == 12
    top = int(two.importance.argmax())
    assert np.array_equal(dots[0].get_offsets()[:, 0], two.values[:, top])
    low, high = np.argsort(heart.X[:20, top])[[0, -1]]
    red, _, blue = dots[0].get_facecolors()[[low, high], :3].T
    assert red[1] > red[0]  # orange is high
    assert blue[0] > blue[1]


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
    bars = two.plot_importance().patches
    wanted = np.sort(two.importance)[::-1][:12]
    assert np.allclose([bar.get_width() for bar in bars], wanted)
    bars = three.plot_importance().patches
    assert bars[0].get_width() == pytest.approx(three.importance.mean(axis=1).max())
    bars = three.plot_importance(label=2).patches
    assert bars[0].get_width() == pytest.approx(three.importance[:, 2].max())


def test_steps_of_a_series_stand_on_colours_of_their_shares():
    for why, shares in ((two, two.values[4]), (three.of_class(1), three.values[4, :, 1])):
        axes = why.plot_series(4)
        assert np.array_equal(axes.lines[0].get_ydata(), heart.X[4])
        spans = [patch for patch in axes.patches if patch.get_alpha() is not None]
        sizes = np.abs(shares) / np.abs(shares).max()
        assert np.allclose([span.get_alpha() for span in spans], 0.7 * sizes)
        # In grey, too: what moves the answer down lies in the lower half.
        assert np.array_equal([span.get_y() < 0.5 for span in spans], shares < 0)
    assert three.plot_series(0).lines[0].get_ydata()[0] == heart.X[0, 0]
    with pytest.raises(InvalidParameter, match="20 rows"):
        two.plot_series(20)
