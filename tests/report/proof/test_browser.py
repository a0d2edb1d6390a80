"""The verifier in the page, in a real browser: it agrees with Python, and finds changes."""

import time

import numpy as np
import pytest

from mercer import RBF, SVC, Laplacian, Spectrum, describe, write_report
from mercer.report.proof.statements import carried_proof
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


QUICK = (
    *("svc", "svc_on_words", "nusvc", "svr", "nusvr", "ridge", "ridge_on_landmarks"),
    *("linear", "logistic_two_classes", "svc_hard", "svc_on_landmarks", "svc_negative_distance"),
    *("crammer_singer", "weston_watkins_with_biases", "weighing", "process_of_classes"),
    *("streamed_hinge", "streamed_logistic", "few_labels", "few_labels_hinge", "linear_sparse"),
    *("linear_joint", "logistic_sparse", "logistic_free", "lasso", "norm_3", "norm_in_ball_1"),
    *("penalty_huber", "penalty_quantile"),
)
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


@pytest.mark.attack
@pytest.mark.parametrize("kernel", [RBF(gamma=0.05), Laplacian(0.1), Spectrum(3)], ids=str)
def test_two_thousand_rows_take_less_than_two_seconds(browser, tmp_path, kernel):  # noqa: F811
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 20))
    y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.3 * random.normal(size=2000) > 1, 1, -1)
    if not kernel.takes_vectors:
        X = ["".join("acgt"[int(v)] for v in np.clip(x + 2, 0, 3.9)) for x in X]
    model = SVC(kernel).fit(X, y)
    record = describe(model, X, y, X[:20], y[:20])
    path = write_report(record, tmp_path / "report.html", carried_proof(model, X, y))
    began = time.process_time()
    assert verify_page(path.read_text(encoding="utf-8")).holds
    assert time.process_time() - began < 2
    with Visit(browser, path.as_uri()) as page:
        page.locator("#proof-verdict[data-holds=true]").wait_for(timeout=60_000)
        # The time of the processor, from a second visit on: other tests may hold the cores.
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        before = _processor_seconds(session)
        page.reload()
        page.locator("#proof-verdict[data-holds=true]").wait_for(timeout=60_000)
        seconds = _processor_seconds(session) - before
    print(f"{kernel}: {seconds:.2f} s of the processor for the whole page")
    assert 0.01 < seconds < 2


def _processor_seconds(session):
    metrics = session.send("Performance.getMetrics")["metrics"]
    return {metric["name"]: metric["value"] for metric in metrics}["ThreadTime"]
