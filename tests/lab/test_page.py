"""What holds for every experiment: address, saved pictures, colours, labels, a telephone."""

import xml.etree.ElementTree as ElementTree

import pytest

from mercer.lab.assemble import EXPERIMENTS
from tests.lab.reading import until
from tests.report.test_browser import CONTRAST, is_light

LABELS = """
() => [...document.querySelectorAll("a, button, input, select, textarea, [tabindex='0']")]
  .filter((e) => e.getClientRects().length)
  .filter((e) => !(e.getAttribute("aria-label") || e.labels?.length || e.textContent.trim()))
  .map((e) => e.outerHTML.slice(0, 80))
"""
STRUCTURE = """
() => {
  const wrong = [];
  for (const e of document.querySelectorAll("dl > div > *")) {
    if (!["DT", "DD"].includes(e.tagName)) wrong.push(e.outerHTML.slice(0, 80));
  }
  for (const e of document.querySelectorAll("[aria-label]:not([role])")) {
    if (!["NAV", "INPUT"].includes(e.tagName)) wrong.push(e.outerHTML.slice(0, 80));
  }
  const levels = [...document.querySelectorAll("h1, h2, h3")].map((e) => Number(e.tagName[1]));
  levels.forEach((level, i) => { if (i && level > levels[i - 1] + 1) wrong.push(`h${level}`); });
  if (document.querySelectorAll("main, h1").length !== 2) wrong.push("main and h1");
  return wrong;
}
"""
TWICE = """
() => {
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  return ids.filter((id, i) => ids.indexOf(id) !== i);
}
"""


def names(page):
    return page.evaluate("lab.experiments.map((one) => one.id)")


FITS = """() => {
  const picture = document.querySelector(".picture"), box = picture.getBoundingClientRect();
  const size = `0 0 ${Math.round(box.width)} ${Math.round(box.height)}`;
  return picture.getAttribute("viewBox") === size;
}"""
"""Whether the picture is drawn for the size that it has on the page."""


def test_the_list_of_experiments(lab):
    page = lab()
    assert names(page) == [name.replace("_", "-") for name in EXPERIMENTS]
    for name in names(page):
        page.locator(f"nav a[href='#{name}']").click()
        page.wait_for_selector(f"section#stage-{name}")  # the address changes a moment later
        assert page.locator("section").count() == 1
        assert page.locator("nav a[aria-current]").get_attribute("href") == f"#{name}"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_it_reads_well_everywhere(lab, name):
    page = lab(f"#{name.replace('_', '-')}")
    assert page.locator("h2").is_visible()
    assert page.locator(".picture").bounding_box()["height"] > 200
    assert page.evaluate(LABELS) == []
    assert page.evaluate(TWICE) == []
    assert page.evaluate(STRUCTURE) == []
    assert is_light(page)
    assert page.evaluate(CONTRAST) == []
    page.emulate_media(color_scheme="dark")
    assert not is_light(page)
    assert page.evaluate(CONTRAST) == []
    page.set_viewport_size({"width": 390, "height": 844})
    until(page, "document.documentElement.scrollWidth <= 390")
    until(page, FITS)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_picture_is_saved(lab, name):
    page = lab(f"#{name.replace('_', '-')}")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save picture").click()
    assert saved.value.suggested_filename == f"{name.replace('_', '-')}.svg"
    root = ElementTree.parse(saved.value.path()).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    drawn = [e for e in root.iter() if e.tag.endswith(("path", "circle", "rect", "text"))]
    assert len(drawn) > 10
    # It stands alone: colours are numbers, not names of the page's style.
    assert all("var(" not in str(e.attrib) and "class" not in e.attrib for e in root.iter())
    assert {e.get("fill") for e in drawn} - {None, "none"}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_link_shows_the_same(lab, name):
    page = lab(f"#{name.replace('_', '-')}")
    sliders = page.locator("input[type=range]:visible")
    if sliders.count():
        sliders.first.focus()
        for _ in range(3):
            page.keyboard.press("ArrowLeft")
    if page.locator(".point").count():
        page.locator(".point").first.focus()
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowLeft")
    page.wait_for_timeout(400)
    until(page, "location.hash.includes('?')")
    link = page.evaluate("location.hash")
    assert "?" in link
    again = lab(link)
    assert again.evaluate("lab.stage.state") == page.evaluate("lab.stage.state")
    # The same numbers; how far a residual is from zero depends on where the solver began.
    numbers = (
        "() => [...document.querySelectorAll('.gauge:not(.residual)')].map((e) => e.innerText)"
    )
    assert again.evaluate(numbers) == page.evaluate(numbers)
    # And back again without the link.
    again.get_by_role("button", name="Start again").click()
    until(again, "!location.hash.includes('?')")


@pytest.mark.parametrize(
    "place",
    ["#nothing", "#margin?C=-1&width=x&kernel=none&points=1,2;3", "#margin?points=1,1,7", "#%"],
)
def test_an_address_that_makes_no_sense_shows_the_start(lab, place):
    page = lab(place)
    assert page.evaluate(
        "JSON.stringify(lab.stage.state) === JSON.stringify(lab.experiments[0].start())"
    )


def test_the_link_over_the_list_leaves_the_experiment_alone(lab):
    page = lab("#gaussian?rho=0.2")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "title-gaussian"
    assert page.evaluate("lab.stage.state.rho") == 0.2


def test_an_experiment_stays_as_it_was_left(lab):
    page = lab("#gaussian?rho=0.2")
    page.locator("nav a[href='#balls']").click()
    page.locator("nav a[href='#gaussian']").click()
    until(page, "location.hash === '#gaussian?rho=0.2'")
    assert page.evaluate("lab.stage.state.rho") == 0.2


def test_lines_are_copied_or_marked(lab):
    page = lab("#balls")
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("button", name="Copied").or_(
        page.get_by_role("button", name="Marked")
    ).wait_for()


def test_touch(lab):
    page = lab("#margin", has_touch=True, viewport={"width": 390, "height": 844})
    count = page.locator(".point").count()
    box = page.locator(".picture").bounding_box()
    page.touchscreen.tap(box["x"] + 20, box["y"] + 30)
    until(page, f"document.querySelectorAll('.point').length === {count + 1}")
    # A finger is as wide as its target, and what it drags does not scroll the page.
    hit = page.locator(".hit").first
    assert hit.bounding_box()["width"] >= 24
    assert hit.evaluate("(e) => getComputedStyle(e).touchAction") == "none"
