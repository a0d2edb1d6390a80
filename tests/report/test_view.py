"""The page itself: whole, closed to the network, escaped."""

import base64
import hashlib
import html.parser
import io
import os
import re
import subprocess
import sys

import matplotlib.image
import numpy as np
import pytest
from sklearn.datasets import load_iris

from mercer import RBF, SVC, Delta, describe, write_report
from mercer.report import png, svg, text
from mercer.report.view import render
from tests.report import cases

VOID = {"meta", "input", "img", "br", "link", "hr"}


class Page(html.parser.HTMLParser):
    """Read a page strictly: every element is closed, ids are unique."""

    def __init__(self, page):
        super().__init__()
        self.open, self.elements, self.ids, self.texts = [], [], [], []
        self.feed(page)
        self.close()
        assert self.open == []
        assert len(set(self.ids)) == len(self.ids)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


@pytest.mark.parametrize("case", cases.ALL)
def test_pages_are_well_formed_and_closed(case):
    page = render(case())
    read = Page(page)
    tags = [tag for tag, _ in read.elements]
    assert (
        tags.count("script") == tags.count("style") == tags.count("main") == tags.count("h1") == 1
    )
    for tag, attributes in read.elements:
        assert tag not in ("iframe", "object", "embed", "link", "base", "form")
        for name, value in attributes.items():
            assert not name.startswith("on")
            assert name != "style"  # the policy forbids it, and rightly
            if name in ("src", "href", "xlink:href", "action"):
                assert value.startswith(("#", "data:image/png;base64,"))
                assert not value.startswith("#") or value[1:] in read.ids
    assert (
        "nan"
        not in re.sub(
            r"[^\d\s.,a-z<>]", "", page.lower().split("</style>")[1].split("<script>")[0]
        ).split()
    )
    assert "None" not in page
    assert len(page) < 1_500_000


@pytest.mark.parametrize("case", cases.ALL)
def test_every_table_and_drawing_has_a_name(case):
    for tag, attributes in Page(render(case())).elements:
        if tag == "svg":
            assert attributes.get("aria-label") or attributes.get("aria-hidden") == "true"
        if attributes.get("role") == "region":
            assert attributes["aria-label"]
            assert attributes["tabindex"] == "0"  # what scrolls can be reached by keyboard
        if tag == "th":
            assert attributes["scope"] in ("row", "col")


def test_the_policy_names_the_hashes_of_what_is_there():
    page = render(cases.two_classes())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "http" not in policy
    for tag in ("style", "script"):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src &#39;sha256-{digest}&#39;" in policy or f"'sha256-{digest}'" in policy


def test_hostile_texts_are_texts():
    record = cases.hostile()
    page = render(record)
    read = Page(page)
    body = page.split("</style>")[1]
    assert body.count("<script>") == 1
    assert "<img" not in body
    assert "onerror=alert" in " ".join(read.texts)  # as text, for all to see
    assert "{{7*7}}" in page
    assert "49" not in record.task
    for character in "\x00\x1b\u202e\u202c\ud800":
        assert character not in page
    assert "longlonglong" in page
    assert "long" * 200 not in re.sub(r"\s", "", page)  # cut to a bearable length
    assert "👩‍🔬" in page
    assert len(page) < 1_500_000


def test_what_each_kind_of_model_shows():
    two = render(cases.two_classes())
    assert "probability of healthy" in two
    assert "Log loss" in two
    assert "dropped; ≤ gives" in two
    many = render(cases.many_classes())
    assert "This model gives no probabilities" in many
    assert "setosa" not in many  # classes are numbers here
    number = render(cases.regression())
    assert "the tube of half-width ε = 5" in number
    assert "R²" in number
    inside = render(cases.one_class())
    assert "Accepted" in inside
    assert 'id="errors"' not in inside


def test_two_test_rows():
    A, b = load_iris(return_X_y=True)
    model = SVC().fit(A[2:], b[2:])
    record = describe(model, A[2:], b[2:], A[:2], b[:2])
    assert record.trust == "caution"
    assert "2 test rows cannot tell" in record.verdict
    assert record.calibration is None
    Page(render(record))


def test_one_row_one_column_and_texts():
    A = np.array(["red", "green", "blue", "green"] * 10, dtype=object)[:, None]
    y = np.where(A[:, 0] == "red", "stop", "go")
    record = describe(SVC(Delta()).fit(A, y), A, y, A[:1], y[:1])
    assert record.neighbours.columns == ["column 1"]
    assert record.neighbours.cells == [["red"]]
    Page(render(record))
    numbers = np.arange(30.0)[:, None]
    model = SVC(RBF(gamma=0.1)).fit(numbers, numbers[:, 0] > 9)
    page = render(describe(model, numbers, numbers[:, 0] > 9, numbers, numbers[:, 0] > 9))
    Page(page)


def test_writing_is_whole_or_nothing(tmp_path, monkeypatch):
    target = tmp_path / "report.html"
    assert write_report(cases.one_class(), target) == target
    assert target.read_text(encoding="utf-8") == render(cases.one_class())
    before = target.read_bytes()

    def crash(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "replace", crash)
    with pytest.raises(OSError, match="full"):
        write_report(cases.two_classes(), target)
    assert target.read_bytes() == before
    assert list(tmp_path.iterdir()) == [target]


def test_without_jinja2_the_error_says_what_to_do():
    code = (
        "import sys; sys.modules['jinja2'] = None\n"
        "from mercer.report import view\n"
        "try: view._environment()\n"
        "except ImportError as error: print(type(error).__name__, error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("MissingDependency A report needs the package jinja2")
    assert "pip install 'mercer[cli]'" in run.stdout


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "0"), (1234.5678, "1,235"), (0.0123449, "0.01234"), (-2.5, "−2.5"),
        (1e-7, "1.00 × 10⁻⁷"),
        (9.99996, "10"), (np.inf, "∞"), (np.nan, "–"), (None, "–"), (1.5e12, "1.50 × 10¹²"),
        (99999.6, "100,000"), (0.00012, "0.00012"),
    ],
)  # fmt: skip
def test_numbers(value, expected):
    assert text.number(value) == expected


def test_other_forms():
    assert text.percent(0.12345) == "12.3 %"
    assert text.percent(-0.0001) == "0.0 %"
    assert text.fixed(-1.23456) == "−1.235"
    assert text.fixed(-0.00001) == "0.000"
    assert text.cell(True) == "yes"
    assert text.cell(np.int64(-1200)) == "−1,200"
    assert text.cell(float("nan")) == text.cell(None) == "missing"
    assert text.counted(1, "row") == "1 row"
    assert text.formula("RBF(gamma=0.016393442622950834)") == "RBF(gamma=0.0163934)"
    assert text.formula("column1.23456789x") == "column1.23456789x"


def test_ticks_are_round_and_inside():
    for low, high in [(0, 1), (-3.2, 17.9), (1e-9, 3e-9), (1e6, 1.0001e6)]:
        ticks = svg.Scale(low, high, 0, 100).ticks()
        assert 2 <= len(ticks) <= 11
        assert low <= min(ticks) + 1e-12
        assert max(ticks) <= high + 1e-9 * abs(high)


def test_pictures_can_be_read_by_others():
    levels = np.arange(256, dtype=np.uint8).reshape(8, 32)
    uri = png.data_uri(levels, png.LIGHT)
    pixels = matplotlib.image.imread(io.BytesIO(base64.b64decode(uri.partition(",")[2])))
    assert pixels.shape[:2] == (8, 32)
    np.testing.assert_allclose(pixels[0, 0, :3] * 255, png.LIGHT[0], atol=1)
    np.testing.assert_allclose(pixels[-1, -1, :3] * 255, png.LIGHT[-1], atol=1)
