"""Dates become what they mean, and gaps that tell something a column; amounts are numbers."""

from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from mercer import InvalidInput, InvalidParameter, Schema, read_table
from mercer.io.derived_columns import FORMS, ISO, dates, form_of
from mercer.io.table_cells import in_row, typed
from mercer.io.table_gaps import telling_gaps
from tests.io.test_tables import write  # noqa: F401

DAYS = [datetime(2019, 11, 3, 8, 30) + timedelta(days=17 * i, hours=5 * i) for i in range(40)]


@given(st.lists(st.datetimes(datetime(1970, 1, 1), datetime(2049, 12, 31)), min_size=1),
       st.sampled_from(FORMS))  # fmt: skip
@settings(max_examples=60)
def test_dates_of_every_form_are_read_as_python_writes_them(moments, form):
    moments = [m.replace(second=0, microsecond=0) for m in moments]
    if "%H" not in form and "%I" not in form:
        moments = [m.replace(hour=0, minute=0) for m in moments]
    texts = [m.isoformat(" ") if form == ISO else m.strftime(form) for m in moments]
    assert dates(pa.array(texts), "when", in_row, form).to_pylist() == moments


def written(form, more="x,y\n"):
    lines = [f'"{day.strftime(form)}",{i % 7},{i % 2}' for i, day in enumerate(DAYS)]
    return "when," + more + "\n".join(lines)


@pytest.mark.parametrize(
    "form", ["%Y-%m-%d", "%b %d %Y", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%B %d, %Y", "%d-%b-%y"]
)
def test_parts_of_dates(write, form):  # noqa: F811
    table = read_table(write("a.csv", written(form)))
    assert table.used == ["when: year", "when: month", "when: weekday", "when: time", "x"]
    X = table.prepare().X
    assert X["when: year"].to_pylist() == [day.year for day in DAYS]
    assert X["when: month"].to_pylist() == [day.month for day in DAYS]
    assert X["when: weekday"].to_pylist() == [day.strftime("%A") for day in DAYS]
    time = X["when: time"].to_numpy()
    assert (np.diff(time) > 0).all()
    assert (np.floor(time) == [day.year for day in DAYS]).all()


def test_times_of_the_day_and_missing_dates(write):  # noqa: F811
    text = written("%Y-%m-%d %H:%M") + "\n,3,1"
    table = read_table(write("a.csv", text))
    assert "when: hour" in table.used
    assert table.missing["when: hour"] == 1
    X = table.prepare().X
    assert X["when: hour"].to_pylist()[:-1] == [day.hour for day in DAYS]
    assert X["when: weekday"].to_pylist()[-1] == "missing"


def test_new_rows_are_taken_apart_as_in_training(write):  # noqa: F811
    prepared = read_table(write("a.csv", written("%d/%m/%Y"))).prepare()
    schema = Schema.from_json(prepared.schema.to_json())
    assert schema == prepared.schema
    # Alone, 03/11/2019 could be the eleventh of March.
    new = schema.align(read_table(write("b.csv", "x,when\n5,03/11/2019\n"), like=schema))
    assert new["when: month"].to_pylist() == [11]
    frame = schema.align(pd.DataFrame({"x": [5], "when": [datetime(2019, 11, 3)]}))
    assert frame.to_pylist() == new.to_pylist()
    with pytest.raises(InvalidInput, match=r"row 0, column 'when': '2019-11-03' is not a date as"):
        schema.align(pd.DataFrame({"x": [5], "when": ["2019-11-03"]}))
    with pytest.raises(InvalidInput, match="lacks the column 'when'"):
        schema.align(pd.DataFrame({"x": [5]}))


def of_days(form, cells=None, more=""):
    """Return a file with a column of dates, and another one."""
    cells = [day.strftime(form) for day in DAYS] if cells is None else cells
    return "when,x,y\n" + "".join(f"{c},{i % 7},{i % 2}\n" for i, c in enumerate(cells)) + more


@pytest.mark.parametrize("form", ["%Y-%m", "%m/%Y", "%b %Y", "%B %Y"])
def test_months_are_dates(write, form):  # noqa: F811
    prepared = read_table(write("a.csv", of_days(form))).prepare()
    assert prepared.X["when: year"].to_pylist() == [day.year for day in DAYS]
    assert prepared.X["when: month"].to_pylist() == [day.month for day in DAYS]
    assert "when: weekday" not in prepared.X.column_names
    assert Schema.from_json(prepared.schema.to_json()) == prepared.schema


@pytest.mark.parametrize("form", ["%H:%M", "%H:%M:%S", "%I:%M %p"])
def test_times_of_the_day_alone_are_hours_since_midnight(write, form):  # noqa: F811
    prepared = read_table(write("a.csv", of_days(form, more=",3,1\n"))).prepare()
    found = prepared.X["when: time of day"].to_pylist()[:-1]
    assert found == pytest.approx([day.hour + day.minute / 60 for day in DAYS])
    schema = Schema.from_json(prepared.schema.to_json())
    new = schema.align(
        read_table(write("b.csv", f"when,x\n{DAYS[3].strftime(form)},1\n"), like=schema)
    )
    assert new["when: time of day"].to_pylist() == pytest.approx(found[3:4])
    example = datetime(2000, 12, 31, 13, 45).strftime(form)
    with pytest.raises(
        InvalidInput, match=rf"b.csv, line 2, .*'noon' is not a date.*\({example}\)"
    ):
        schema.align(read_table(write("b.csv", "when,x\nnoon,1\n"), like=schema))


def test_whole_numbers_that_are_dates(write):  # noqa: F811
    prepared = read_table(write("a.csv", of_days("%Y%m%d"))).prepare()
    assert prepared.X["when: month"].to_pylist() == [day.month for day in DAYS]
    new = read_table(write("b.csv", "when,x\n20200229,1\n"), like=prepared.schema)
    assert prepared.schema.align(new)["when: month"].to_pylist() == [2]
    numbers = [*(day.strftime("%Y%m%d") for day in DAYS), "20201301"]
    table = read_table(write("c.csv", of_days("", numbers)))
    assert [c.kind for c in table.columns] == ["number", "number"]


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%m/%d/%Y %H:%M", "%b %d %Y"])
@pytest.mark.parametrize("odd", ["2019-02-31", "soon"])
def test_a_cell_that_is_no_date_among_dates_is_named(write, form, odd):  # noqa: F811
    cells = [day.strftime(form) for day in DAYS]
    text = of_days(form, [*cells[:20], odd, *cells[20:], ""])
    with pytest.raises(InvalidInput) as caught:
        read_table(write("a.csv", text))
    words = str(caught.value)
    assert f"a.csv, line 22, column 'when': '{odd}' is not a date, while 40 of 41 values" in words
    assert "missing=['" in words
    assert "kinds={'when': 'category'}" in words
    assert read_table(write("a.csv", text), missing=[odd]).missing["when: year"] == 2
    assert "when" in read_table(write("a.csv", text), kinds={"when": "category"}).used


def test_which_comes_first_month_or_day():
    early = ["01/02/2020", "03/04/2020", "02/05/2020"]
    assert form_of(pa.array(early))[0] == "%d/%m/%Y"  # so that they go up
    form, note = form_of(pa.array(["01/02/2020", "03/04/2020", "02/03/2020", "01/01/2020"]))
    assert form == "%m/%d/%Y"
    assert "month first" in note
    assert form_of(pa.array(["13/02/2020", "01/02/2020"])) == ("%d/%m/%Y", "")
    assert form_of(pa.array(["2020-01-02T10:00Z"]))[0] == ISO


def test_a_column_of_dates_can_be_something_else(write):  # noqa: F811
    path = write("a.csv", written("%Y-%m-%d"))
    assert read_table(path, kinds={"when": "category"}).used == ["when", "x"]
    assert read_table(path, drop=["when"]).used == ["x"]
    with pytest.raises(InvalidParameter, match=r"drop: .*no column 'whn'. Did you mean 'when'\?"):
        read_table(path, drop=["whn"])
    with pytest.raises(InvalidParameter, match=r"kinds: .*no column 'whn'"):
        read_table(path, kinds={"whn": "date"})
    with pytest.raises(InvalidInput, match="'x' holds dates that cannot be read"):
        read_table(path, kinds={"x": "date"})


@pytest.mark.parametrize(
    "cells",
    [["1-2-3", "1-2-4"] * 9, ["10.4.2003.1", "10.4.2003.2"] * 9, ["Mon 12", "Tue 13"] * 9],
)
def test_what_only_looks_like_a_date(write, cells):  # noqa: F811
    text = "code,y\n" + "".join(f"{cell},{i % 2}\n" for i, cell in enumerate(cells))
    assert read_table(write("a.csv", text)).columns[0].kind == "category"


@pytest.mark.parametrize(
    ("cells", "thousands", "numbers"),
    [
        (["$1,234.50", "$3", "-$7.25"], False, [1234.5, 3, -7.25]),
        (["1,234,567", "12", "1,000"], True, [1234567, 12, 1000]),
        (["12 %", "3.5%", "100 %"], False, [12, 3.5, 100]),
        (["3 €", "1,000 €"], False, [3, 1000]),
        (["3,5", "4,25"], False, [3.5, 4.25]),
        (["3,5", "4,25"], True, [3.5, 4.25]),
        (["1.234,50 €", "3 €", "-7,25 €"], False, [1234.5, 3, -7.25]),
        (["0,7 %", "12 %", "3,25%"], False, [0.7, 12, 3.25]),
        (["1\u202f234,5", "1 234,5", "1\u00a0000", "2"], False, [1234.5, 1234.5, 1000, 2]),
        (["523.00 USD", "1,234.5 USD", "EUR 7"], False, [523, 1234.5, 7]),
        (["1'234,5", "12"], False, [1234.5, 12]),
        (["(1,234)", "12", "($7.50)"], True, [-1234, 12, -7.5]),
        (["(3)", "4.5"], False, [-3, 4.5]),
    ],
)
def test_amounts(cells, thousands, numbers):
    assert typed(pa.array(cells), "a", in_row, (), None, thousands).to_pylist() == numbers
    assert typed(pa.array(cells), "a", in_row, (), "number", thousands).to_pylist() == numbers


def test_gaps_that_tell_something_are_a_column(write):  # noqa: F811
    rng = np.random.default_rng(0)
    sick = rng.random(300) < 0.5
    told = np.where(sick & (rng.random(300) < 0.5), np.nan, rng.normal(size=300))
    plain = np.where(rng.random(300) < 0.3, np.nan, rng.normal(size=300))
    frame = pd.DataFrame({"told": told, "plain": plain, "y": np.where(sick, "sick", "well")})
    prepared = read_table(frame, "y").prepare()
    assert prepared.schema.names == ["told", "plain", "told is missing"]
    gone = np.array(prepared.X["told is missing"].to_pylist()) == "yes"
    assert (gone == np.isnan(told)).all()
    assert any(note.startswith("told is missing, a column") for note in prepared.notes)
    new = prepared.schema.align(pd.DataFrame({"told": [None, 1.0], "plain": [1.0, None]}))
    assert new["told is missing"].to_pylist() == ["yes", "no"]
    as_number = read_table(frame.assign(y=sick + rng.normal(size=300)), "y").prepare()
    assert as_number.schema.names[-1] == "told is missing"


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=50)
def test_gaps_by_chance_tell_nothing(seed):
    rng = np.random.default_rng(seed)
    x = pa.array(np.where(rng.random(200) < 0.3, np.nan, 1.0), from_pandas=True)
    frame = pa.table({"x": x})
    columns = read_table(frame, False).prepare().schema.columns
    y = np.random.default_rng(1).integers(3, size=200)
    found = telling_gaps(frame, columns, y, "many classes")
    gone = np.isnan(x.to_numpy(zero_copy_only=False))
    from scipy.stats import chi2_contingency

    counts = [np.bincount(y[w], minlength=3) for w in (gone, ~gone)]
    assert bool(found) == (chi2_contingency(counts).pvalue < 0.001)


def test_counts_have_a_hint(write):  # noqa: F811
    text = "x,y\n" + "".join(f"{i % 5},{i % 6}\n" for i in range(60))
    table = read_table(write("a.csv", text))
    assert table.task == "many classes"
    assert any("task='number'" in note for note in table.notes)
    assert not any(
        "task=" in note for note in read_table(write("a.csv", text), task="number").notes
    )


def test_markers_of_missing_values_are_remembered(write):  # noqa: F811
    rows = "".join(f"{i},{i % 2}\n" for i in range(20))
    prepared = read_table(
        write("a.csv", "x,y\n" + rows + "unknown,1\n"), missing="unknown"
    ).prepare()
    again = read_table(write("b.csv", "x\nunknown\n3\n"), like=prepared.schema)
    assert again.missing == {"x": 1}
    old = {k: v for k, v in prepared.schema.to_json().items() if k != "markers"}
    old["columns"] = [{k: c[k] for k in ("name", "kind", "fill")} for c in old["columns"]]
    assert Schema.from_json(old).names == ["x"]
