"""The verifier in the page, in a real browser: it agrees with Python, and finds changes."""

import time

import numpy as np
import pytest

from mercer import (
    RBF,
    SVC,
    Laplacian,
    LaplacianSVC,
    Lasso,
    Linear,
    MultipleKernelClassifier,
    NegativeDistance,
    Spectrum,
    StreamedClassifier,
    describe,
    write_proof,
    write_report,
)
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
    assert 0.01 < _second_visit(browser, path, str(kernel)) < 2


def _rows(count):
    random = np.random.default_rng(0)
    X = random.normal(size=(count, 20))
    y = np.digitize(X[:, 0] + X[:, 1] ** 2 + 0.3 * random.normal(size=count), [0, 1.5])
    return X, y, np.sin(X[:, 0]) + X[:, 1] + 0.1 * random.normal(size=count)


LARGE = {
    "landmarks": lambda X, y, t: (SVC(RBF(gamma=0.05), approximation=500), y),
    "joint": lambda X, y, t: (SVC(RBF(gamma=0.05), multi_class="weston_watkins"), y),
    "matrix": lambda X, y, t: (SVC(NegativeDistance()), y == 0),
    "weighing": lambda X, y, t: (MultipleKernelClassifier([RBF(gamma=0.05), Linear()]), y == 0),
    "classes_on_landmarks": lambda X, y, t: (StreamedClassifier(approximation=500), y),
    "few_labels": lambda X, y, t: (
        LaplacianSVC(kernel=RBF(gamma=0.05)), np.where(np.arange(len(y)) % 10 == 0, y, -1),
    ),
    "weights": lambda X, y, t: (Lasso(0.01), t),
}  # fmt: skip


@pytest.mark.attack
@pytest.mark.parametrize("name", LARGE)
def test_two_thousand_rows_of_any_machine(browser, tmp_path, name):  # noqa: F811
    X, y, t = _rows(2000)
    model, targets = LARGE[name](X, y, t)
    path = write_proof(model.fit(X, targets), X, targets, tmp_path / "proof.html")
    began = time.process_time()
    assert verify_page(path.read_text(encoding="utf-8")).holds
    assert time.process_time() - began < 2
    assert 0.001 < _second_visit(browser, path, name) < 2


def _second_visit(browser, path, name):  # noqa: F811
    """Return the time of the processor, from a second visit on: other tests may hold the cores."""
    with Visit(browser, path.as_uri()) as page:
        page.locator("#proof-verdict[data-holds=true]").wait_for(timeout=60_000)
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        before = _processor_seconds(session)
        page.reload()
        page.locator("#proof-verdict[data-holds=true]").wait_for(timeout=60_000)
        seconds = _processor_seconds(session) - before
    print(f"{name}: {seconds:.2f} s of the processor for the whole page")
    return seconds


def _processor_seconds(session):
    metrics = session.send("Performance.getMetrics")["metrics"]
    return {metric["name"]: metric["value"] for metric in metrics}["ThreadTime"]
