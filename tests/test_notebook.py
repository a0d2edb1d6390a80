"""What notebooks show: tables of HTML in which texts from data do nothing."""

from html.parser import HTMLParser

import pandas as pd
import pytest
from hypothesis import given, strategies as st

from mercer import RBF, Delta, Study, compare, read_table
from mercer._notebook import table_in_html


class Cells(HTMLParser):
    """The texts of a table and the names of its elements."""

    def __init__(self, text):
        super().__init__()
        self.texts, self.tags = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


@given(st.lists(st.text(), min_size=2, max_size=2), st.text())
def test_texts_do_nothing(row, title):
    found = Cells(table_in_html(("a", "b"), [row], title=title, below=[title]))
    assert set(found.tags) <= {"div", "p", "b", "table", "thead", "tbody", "tr", "th", "td"}
    assert found.tags.count("td") == 2


def test_long_tables_are_cut():
    shown = table_in_html(("a",), [(i,) for i in range(1000)])
    assert shown.count("<tr>") < 100
    assert "940 more rows are not shown." in shown


def test_kernels_and_tables():
    shown = Cells((2 * RBF(gamma=0.5).on("age") + Delta().on("<sex>"))._repr_html_())
    assert any("<sex>" in text for text in shown.texts)
    assert any("positive" in text for text in shown.texts)
    assert "0.5" in Cells(RBF(gamma=0.5)._repr_html_()).texts
    table = Cells(read_table("penguins")._repr_html_())
    assert {"island", "category", "penguins: 344 rows"} <= set(table.texts)


@pytest.fixture
def frame():
    return pd.DataFrame({"a": range(40), "b": [i % 7 for i in range(40)], "y": list("uv") * 20})


def test_studies_and_comparisons(frame):
    study = Study.fit(frame, target="y", machine="linear", cv=2)
    shown = Cells(study._repr_html_())
    assert "Accuracy" in shown.texts
    assert study.record.verdict in shown.texts
    found = Cells(compare(frame, "y", machines=["linear"], cv=2)._repr_html_())
    assert {"linear", "baseline"} <= set(found.texts)
