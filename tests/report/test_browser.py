"""The page in a real browser: it renders, its controls work, and nothing leaves it."""

import re
import shutil

import numpy as np
import pytest

from mercer import write_report
from mercer.report.text import fixed, number
from mercer.study.nonconformity import with_promise
from tests.report import cases

BROWSER = next(
    (
        found
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (found := shutil.which(name))
    ),
    None,
)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    flags = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
    with api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=BROWSER, args=flags)
        yield running
        running.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    return {
        case.__name__: write_report(case(), folder / f"{case.__name__}.html").as_uri()
        for case in cases.ALL
    }


class Visit:
    """A page, and everything that happened on it that should not have."""

    def __init__(self, browser, address, **options):
        self.context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}} | options)
        self.page = self.context.new_page()
        self.page.set_default_navigation_timeout(120_000)  # other tests may hold both cores
        self.requests, self.trouble = [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.trouble.append(message.text))
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.page.on(
            "dialog", lambda dialog: (self.trouble.append(dialog.message), dialog.dismiss())
        )
        self.address = address
        self.page.goto(address)

    def __enter__(self):
        return self.page

    def __exit__(self, kind, *_):
        self.context.close()
        if kind is None:
            assert self.trouble == []
            outside = [url for url in self.requests if not url.startswith("data:image/png")]
            assert {url.partition("#")[0] for url in outside} == {self.address}


def is_light(page):
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(map(int, re.findall(r"\d+", paper)[:3])) > 384


@pytest.mark.parametrize("case", cases.ALL)
def test_it_renders_alone_and_in_silence(browser, pages, case):
    with Visit(browser, pages[case.__name__], color_scheme="light") as page:
        assert page.locator("h1").is_visible()
        assert page.locator("html.js").count() == 1
        heights = "[...document.querySelectorAll('main section')].map((s) => s.offsetHeight)"
        assert min(page.evaluate(heights)) > 20
        assert is_light(page)
        page.emulate_media(color_scheme="dark")
        assert not is_light(page)
        # A telephone: only tables scroll sideways, each by itself.
        page.set_viewport_size({"width": 400, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 400


CONTRAST = """
() => {
  const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = (c) => c.map((v) => linear(v / 255))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] === 1) return c.slice(0, 3);
    }
    return [255, 255, 255];
  };
  const low = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    const apart = e.closest(".skip, .hidden, #tip, script, option");
    if (!own || apart || !e.getClientRects().length) continue;
    const drawn = e.closest("svg");
    const cell = drawn && e.parentElement.closest(".mark")?.querySelector(".cell");
    const back = cell ? parse(getComputedStyle(cell).fill).slice(0, 3) : behind(e);
    const style = getComputedStyle(e);
    const front = parse(drawn ? style.fill : style.color).slice(0, 3);
    const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) low.push([e.textContent.trim().slice(0, 30), ratio.toFixed(2), front, back]);
  }
  return low;
}
"""


@pytest.mark.parametrize("name", ["two_classes", "many_classes", "regression"])
def test_every_text_has_contrast(browser, pages, name):
    with Visit(browser, pages[name], color_scheme="light") as page:
        assert page.evaluate(CONTRAST) == []
        page.emulate_media(color_scheme="dark")
        assert page.evaluate(CONTRAST) == []


def open_panel(page):
    shown = page.locator("#panels .point[open]")
    assert shown.count() == 1
    assert page.locator("#picker").input_value() == shown.get_attribute("data-point")
    return int(shown.get_attribute("data-point"))


def test_a_row_is_chosen_by_mouse(browser, pages):
    with Visit(browser, pages["two_classes"]) as page:
        assert open_panel(page) == 0
        page.locator("#choices tbody tr").nth(3).click()
        assert open_panel(page) == 3
        assert page.locator("#choices tr.chosen").get_attribute("data-point") == "3"
        assert page.locator(".map .picked").get_attribute("data-point") == "3"
        page.locator("#next").click()
        assert open_panel(page) == 4
        page.locator("#previous").click()
        page.locator("#previous").click()
        assert open_panel(page) == 2
        page.locator("#picker").select_option("7")
        assert open_panel(page) == 7
        page.locator('.map [data-point="9"]').dispatch_event("click")
        assert open_panel(page) == 9
        names = page.locator("#point-9 tbody th").all_inner_texts()
        assert names[:4] == ["Answer", "Similarity k", "Distance", "Contribution α·y·k"]
        assert "cholesterol" in names


def test_a_row_is_chosen_by_keyboard(browser, pages):
    with Visit(browser, pages["two_classes"]) as page:
        page.locator("#choices tbody a").nth(2).focus()
        page.keyboard.press("Enter")
        assert open_panel(page) == 2
        page.locator("#next").focus()
        page.keyboard.press("Space")
        assert open_panel(page) == 3
        # Through the map: one stop for Tab, arrows inside, Enter chooses.
        assert page.locator('.map .mark[tabindex="0"]').count() == 1
        page.locator('.map .mark[tabindex="0"]').focus()
        page.keyboard.press("End")
        chosen = page.evaluate("document.activeElement.dataset.point")
        page.keyboard.press("Enter")
        assert open_panel(page) == int(chosen)
        assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"


def test_marks_tell_their_numbers(browser, pages):
    with Visit(browser, pages["two_classes"]) as page:
        best = page.locator("#search .mark.best")
        best.scroll_into_view_if_needed()
        best.hover()
        tip = page.locator("#tip")
        assert tip.is_visible()
        assert re.match(
            r"C = .*, gamma = .*: accuracy 0\.\d{4} ± 0\.\d{4}, the best", tip.inner_text()
        )
        page.mouse.move(0, 0)
        assert tip.is_hidden()
        first = page.locator('#search .mark[tabindex="0"]')
        first.focus()
        before = tip.inner_text()
        page.keyboard.press("ArrowDown")
        below = tip.inner_text()
        page.keyboard.press("ArrowRight")
        assert len({before, below, tip.inner_text()}) == 3
        assert (
            below.partition("gamma")[2].split(":")[0] == before.partition("gamma")[2].split(":")[0]
        )
        page.keyboard.press("Escape")
        assert tip.is_hidden()


NUMBERS = "(cells) => cells.map((cell) => Number(cell.dataset.value))"


def test_tables_sort(browser, pages):
    with Visit(browser, pages["two_classes"]) as page:
        head = page.locator("#choices thead th").nth(4)
        head.locator("button").click()
        cells = page.locator("#choices tbody td:last-child")
        values = cells.evaluate_all(NUMBERS)
        assert values == sorted(values)
        assert head.get_attribute("aria-sort") == "ascending"
        head.locator("button").press("Enter")
        values = cells.evaluate_all(NUMBERS)
        assert values == sorted(values, reverse=True)
        # Dropped cells have no score: they come last in both directions.
        page.locator("#search summary").click()
        score = page.locator("#search thead th").nth(2).locator("button")
        for _ in range(2):
            score.click()
            remarks = page.locator("#search tbody td:last-child").all_inner_texts()
            dropped = [remark.startswith("dropped") for remark in remarks]
            assert any(dropped)
            assert dropped == sorted(dropped)


@pytest.mark.parametrize("name", ["two_classes", "regression", "hostile"])
def test_it_is_readable_without_scripts(browser, pages, name):
    with Visit(browser, pages[name], java_script_enabled=False) as page:
        assert page.locator("h1").is_visible()
        assert page.locator(".picker").is_hidden()
        last = page.locator("#panels .point").last
        assert last.locator("table").is_hidden()
        last.locator("summary").click()
        assert last.locator("table").is_visible()
        assert page.locator("svg.chart").count() >= 5


def test_hostile_texts_do_nothing(browser, pages):
    with Visit(browser, pages["hostile"]) as page:
        assert (
            page.evaluate("document.querySelectorAll('img, script:not(:last-of-type)').length") == 0
        )
        assert page.locator("h1").inner_text() == "<script>alert(1)</script>"
        page.locator("#choices tbody tr").nth(1).click()
        page.locator("th button").evaluate_all("(all) => all.forEach((one) => one.click())")
        mark = page.locator(".map .mark").last
        mark.dispatch_event("pointerenter")
        assert page.locator("#tip").inner_text()
        assert page.locator("#tip *").count() == 0


def test_the_policy_holds_against_a_foothold(browser, pages):
    """Even if markup came through, it could neither run nor call home."""
    visit = Visit(browser, pages["two_classes"])
    page = visit.page
    page.evaluate(
        """() => {
          document.body.insertAdjacentHTML("beforeend",
            '<img src="https://example.invalid/x.png" onerror="window.harm = 1">');
          const script = document.createElement("script");
          script.textContent = "window.harm = 2";
          document.body.append(script);
        }"""
    )
    page.wait_for_timeout(100)
    assert page.evaluate("window.harm") is None
    assert visit.trouble
    assert all("Content Security Policy" in text for text in visit.trouble)
    visit.context.close()


def test_it_prints(browser, pages):
    with Visit(browser, pages["two_classes"]) as page:
        assert page.pdf(format="A4", print_background=True).startswith(b"%PDF")
        page.emulate_media(media="print")
        assert page.locator(".contents").is_hidden()
        assert page.locator(".picker").is_hidden()
        assert page.locator("#panels .point[open]").is_visible()
        page.set_viewport_size({"width": 673, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= 673


def test_shares_of_columns_are_drawn_with_their_numbers(browser, pages):
    record = cases.two_classes()
    shares = record.shares
    with Visit(browser, pages["two_classes"]) as page:
        bars = page.locator("#why .importance rect.for")
        assert bars.count() == len(shares.columns) == 12
        widths = [bars.nth(i).bounding_box()["width"] for i in range(12)]
        ratio = widths[1] / widths[0]
        assert abs(ratio - shares.importance[1] / shares.importance[0]) < 0.01
        words = page.locator("#why .importance text").all_text_contents()
        assert words[0] == shares.columns[0]
        assert float(words[1]) == pytest.approx(shares.importance[0], rel=1e-2)
        assert page.locator("#why .effect").count() == 5
        drawn = page.locator("#why .effect").first.locator(".mark").count()
        assert drawn == len(shares.effects[0].shares)
        # Rows after the first one are folded away, and open.
        assert page.locator("#why-0 .shares").is_visible()
        last = len(shares.rows) - 1
        assert not page.locator(f"#why-{last} summary").is_visible()
        page.locator("#why .more-rows > summary").click()
        page.locator(f"#why-{last} summary").click()
        assert page.locator(f"#why-{last} .shares rect").first.is_visible()
        assert shares.standing[last] in page.locator(f"#why-{last} .note").inner_text()
        assert (
            page.locator("#why").bounding_box()["y"] < page.locator("#scores").bounding_box()["y"]
        )


EVERY_BAR = """
() => [...document.querySelectorAll("#why details[id^='why-']")].map((row) => ({
  bars: [...row.querySelectorAll("svg .mark")].map((mark) => ({
    says: mark.getAttribute("aria-label"),
    width: +mark.querySelector("rect").getAttribute("width"),
    side: mark.querySelector("rect").getAttribute("class"),
  })),
  numbers: [...row.querySelectorAll("svg text")].map((text) => text.textContent),
  note: row.querySelector(".note").textContent,
}))
"""
"""What the page says of single rows, folded away or not."""


@pytest.mark.parametrize("name", ["two_classes", "many_classes", "regression"])
def test_every_bar_of_every_row_is_the_number_that_it_says(browser, pages, name):
    shares = getattr(cases, name)().shares
    if shares is None:
        pytest.skip("the machine of this case has no exact shares")
    with Visit(browser, pages[name]) as page:
        found = page.evaluate(EVERY_BAR)
    assert len(found) == len(shares.rows)
    for i, row in enumerate(found):
        order = np.argsort(-np.abs(shares.values[i]), kind="stable")
        values = [float(shares.values[i, j]) for j in order]
        names = [shares.columns[j] for j in order]
        if shares.others[i]:
            values, names = [*values, float(shares.others[i])], [*names, "all others"]
        assert [bar["says"] for bar in row["bars"]] == [
            f"{column}: {fixed(value)}" for column, value in zip(names, values, strict=True)
        ]
        assert row["numbers"][1::2] == [fixed(value) for value in values]
        assert [bar["side"] for bar in row["bars"]] == [
            "for" if value >= 0 else "against" for value in values
        ]
        sizes, widths = np.abs(values), np.array([bar["width"] for bar in row["bars"]])
        seen = widths > 1.0  # the least that can be seen is drawn for less
        assert np.allclose(widths[seen] / widths[0], sizes[seen] / sizes[0], atol=0.01)
        assert fixed(float(shares.base[i])) in row["note"]
        assert fixed(float(shares.total[i])) in row["note"]


EVERY_PLACE = """
() => [...document.querySelectorAll("#inside figure")].map((row) => ({
  head: row.querySelector("figcaption").textContent,
  note: row.querySelector(".note").textContent,
  marks: [...row.querySelectorAll("svg .mark")].map((mark) => {
    const shape = mark.querySelector("rect, circle.node");
    return {
      says: mark.getAttribute("aria-label"),
      letter: mark.querySelector("text").textContent,
      side: shape.classList.contains("for") ? "for" : "against",
      size: +(shape.getAttribute("height") ?? shape.getAttribute("fill-opacity")),
      above: +shape.getAttribute("y") < +mark.querySelector("text").getAttribute("y") - 9,
    };
  }),
  lines: row.querySelectorAll("svg > line").length,
}))
"""
"""What the page says of letters and nodes."""


@pytest.mark.parametrize("name", ["letters", "nodes"])
def test_every_letter_and_node_has_its_share(browser, pages, name):
    insides = getattr(cases, name)().insides
    with Visit(browser, pages[name]) as page:
        assert page.locator("#inside").is_visible()
        assert page.locator(".contents a[href='#inside']").count() == 1
        found = page.evaluate(EVERY_PLACE)
    assert len(found) == len(insides) == 4
    for inside, drawn in zip(insides, found, strict=True):
        assert f"Test row {inside.row}" in drawn["head"]
        assert drawn["head"].endswith(f"what speaks for {inside.question}")
        assert [mark["letter"] for mark in drawn["marks"]] == inside.labels
        sides = ["for" if share >= 0 else "against" for share in inside.values]
        assert [mark["side"] for mark in drawn["marks"]] == sides
        sizes = np.array([mark["size"] for mark in drawn["marks"]])
        shares = np.abs(inside.values)
        np.testing.assert_allclose(sizes / sizes.max(), shares / shares.max(), atol=0.01)
        for i, mark in enumerate(drawn["marks"]):
            said = number(float(inside.values[i]), 3)
            place = f"at {i + 1}: {said}" if name == "letters" else f"node {i}: {said}"
            assert mark["says"].endswith(place)
        if name == "letters":
            assert inside.column in drawn["head"]
            seen = shares > 0.05 * shares.max()
            above = np.array([mark["above"] for mark in drawn["marks"]])
            np.testing.assert_array_equal(above[seen], inside.values[seen] >= 0)
        assert drawn["lines"] == len(inside.edges)
        assert number(inside.base, 3) in drawn["note"]
        assert number(inside.total, 3) in drawn["note"]


def test_what_is_promised_stands_among_the_facts(browser, tmp_path):
    record = with_promise(cases.regression(), "with 90 % certainty within 12.3")
    page_file = write_report(record, tmp_path / "sure.html").as_uri()
    with Visit(browser, page_file) as page:
        facts = page.locator("body").inner_text()
        assert "How sure" in facts
        assert "with 90 % certainty within 12.3" in facts
