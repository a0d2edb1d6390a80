"""The verifier in the page, in a real browser: it agrees with Python, and finds changes."""

import numpy as np
import pytest

from mercer.report.verifier.verdict import verify_page
from tests.report.proof import machines
from tests.report.proof.tampering import WAYS, tampered
from tests.report.test_browser import BROWSER, Visit, browser  # noqa: F401

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")


@pytest.fixture
def checked(browser, tmp_path):  # noqa: F811
    """Open a page, wait for its verdict, and return it with the computed numbers."""

    def check(text):
        path = tmp_path / "report.html"
        path.write_text(text, encoding="utf-8")
        with Visit(browser, path.as_uri()) as page:
            page.locator("#proof-verdict[data-holds]").wait_for(timeout=60_000)
            verdict = page.locator("#proof-verdict")
            cells = page.locator("[data-computed]").all()
            numbers = {cell.get_attribute("data-computed"): cell.inner_text() for cell in cells}
            holds = verdict.get_attribute("data-holds") == "true"
            return holds, verdict.inner_text(), numbers

    return check


QUICK = ("svc", "svc_on_words", "nusvc", "svr", "nusvr", "ridge", "linear", "logistic_two_classes")
"""One machine for each kind of problem, and one with a matrix; the others are among the attacks."""


def quick(names):
    """Leave all but a few names to the attacks."""
    marks = {True: (), False: (pytest.mark.attack,)}
    return [pytest.param(name, marks=marks[name in QUICK]) for name in names]


@pytest.mark.parametrize("name", quick(machines.CASES))
def test_the_page_checks_itself(checked, name):
    holds, words, numbers = checked(machines.page(name))
    assert holds, words
    assert words.startswith("Checked here, now.")
    python = verify_page(machines.page(name))
    scale = max(abs(python.numbers["primal"]), abs(python.numbers["dual"]))
    slack = 1e-9 * scale + sum(p.value_rounding for p in python.problems)
    for value in ("primal", "dual", "gap"):
        assert abs(float(numbers[value]) - python.numbers[value]) <= slack


@pytest.mark.parametrize(
    "number", [*range(4), *(pytest.param(i, marks=pytest.mark.attack) for i in range(4, 40))]
)
def test_both_verifiers_catch_the_same(checked, number):
    random = np.random.default_rng(1000 + number)
    name = list(machines.CASES)[number % len(machines.CASES)]
    page, _, _ = tampered(machines.page(name), WAYS[number % len(WAYS)], random)
    holds, words, _ = checked(page)
    python = verify_page(page)
    assert holds == python.holds, (words, python.faults)


def test_broken_pages_get_a_verdict(checked):
    page = machines.page("ridge")
    for old, new in (('"format":1', '"format":2'), ('"kind":"ridge"', '"kind":"trust me"')):
        holds, words, _ = checked(page.replace(old, new))
        assert not holds
        assert "does not hold" in words
    broken = page.replace('"samples":[', '"samples":[[', 1)
    assert not checked(broken)[0]
    assert not verify_page(broken).holds


def test_the_page_says_whose_data_it_holds(checked):
    assert "Whoever has this page has these data" in machines.page("svc")
