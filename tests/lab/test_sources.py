"""Two sounds of the page, unmixed as Python does."""

import numpy as np
import pytest

from tests.lab.reading import settle, value, values


@pytest.mark.parametrize(
    "place",
    ["", "?first=harp&second=clarinet&left=0.2&right=0.3", "?first=violin&second=harp",
     "?first=clarinet&second=flute&left=0.45&right=0.45"],
)  # fmt: skip
def test_the_way_back_is_that_of_python(lab, run_python, place):
    page = lab(f"#sources{place}")
    names = run_python(page)
    theirs = names["model"].components_
    ours = np.array([values(page, "unmixing-1"), values(page, "unmixing-2")])
    # The order and the signs of sources are nobody's: those of the page say which is which.
    agreement = np.corrcoef((names["X"] @ ours.T).T, names["Y"].T)[:2, 2:]
    order = np.abs(agreement).argmax(axis=1)
    assert sorted(order) == [0, 1]
    signs = np.sign(agreement[[0, 1], order])
    np.testing.assert_allclose(ours, theirs[order] * signs[:, None], atol=1e-6, rtol=1e-6)
    assert value(page, "slope") < 1e-10


def test_the_sources_are_the_instruments(lab, run_python):
    page = lab("#sources")
    names = run_python(page)
    unmixed = names["X"] @ np.array([values(page, "unmixing-1"), values(page, "unmixing-2")]).T
    for own, played in zip(unmixed.T, (names["first"], names["second"]), strict=True):
        assert np.corrcoef(own, played)[0, 1] > 0.999


def test_a_slider_mixes_more(lab):
    page = lab("#sources")
    before = values(page, "unmixing-1")
    page.get_by_role("slider", name="Second, at microphone 1").focus()
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
    settle(page)
    assert values(page, "unmixing-1") != before


def test_sounds_are_played_by_keys(lab):
    page = lab("#sources")
    heard = []
    for name in ("Play microphone 1", "Play source 1", "Play source 2"):
        page.get_by_role("button", name=name).focus()
        page.keyboard.press("Enter")
        settle(page)
        heard.append(np.array(page.evaluate("Array.from(lab.played.slice(1000, 3000))")))
    t = np.arange(1000, 3000) / 8000
    flute = np.sin(2 * np.pi * 262 * t)
    assert np.abs(heard[1]).max() <= 0.25 + 1e-6
    assert np.corrcoef(heard[1], flute)[0, 1] > 0.999
    assert np.corrcoef(heard[0], flute)[0, 1] < 0.95
    assert abs(np.corrcoef(heard[2], flute)[0, 1]) < 0.05


def test_equal_sounds_are_one(lab):
    page = lab("#sources?first=flute&second=flute")
    assert "have to be different" in page.locator(".verdict").inner_text()
