"""Spreadsheets of Excel."""

import sys
import zipfile
from datetime import datetime

import pytest

from mercer import InvalidInput, MissingDependency, read_table

openpyxl = pytest.importorskip("openpyxl")


@pytest.fixture
def book(tmp_path):
    def write(*sheets):
        book = openpyxl.Workbook()
        book.remove(book.active)
        for i, rows in enumerate(sheets):
            sheet = book.create_sheet(f"sheet {i}")
            for row in rows:
                sheet.append(row)
        book.save(tmp_path / "a.xlsx")
        return tmp_path / "a.xlsx"

    return write


ROWS = [
    ["age", "city", "seen", None, "y"],
    *([20 + i / 2, "ab"[i % 2], datetime(2020, 1 + i % 12, 3), None, i % 2] for i in range(30)),
    [None, "a", None, None, 1],
]


def test_cells_have_their_types(book):
    table = read_table(book([], ROWS, [["other"], [1]]))
    assert table.used == ["age", "city", "seen: month", "seen: weekday", "seen: time"]
    assert table.frame["age"].to_pylist() == [*(20 + i / 2 for i in range(30)), None]
    assert table.frame["seen: month"].to_pylist()[:3] == [1, 2, 3]
    assert table.task == "two classes"
    assert any("'sheet 1'" in note for note in table.notes)


def test_what_cannot_be_read(book, tmp_path, monkeypatch):
    with pytest.raises(InvalidInput, match="no sheet with names"):
        read_table(book([["a", "y"]]))
    with pytest.raises(InvalidInput, match="two columns are called 'a'"):
        read_table(book([["a", "a"], [1, 2]]))
    broken = tmp_path / "b.xlsx"
    with zipfile.ZipFile(book(ROWS)) as old, zipfile.ZipFile(broken, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name)[: 300 if "sheet1" in name else None])
    with pytest.raises(InvalidInput, match="damaged spreadsheet"):
        read_table(broken)
    path = book(ROWS)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingDependency, match=r"pip install 'mercer\[excel\]', or save"):
        read_table(path)
