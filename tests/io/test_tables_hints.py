"""What is wrong with a table is said with its place and a remedy that works where it is said."""

import subprocess
import sys

import pytest

from mercer import InvalidInput, read_table

ROWS = "".join(f"{i / 7:.3f},{i % 5},{'ab'[i % 2]}\n" for i in range(40))


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "d.csv"
        path.write_text(text)
        return path

    return write


def test_names_below_a_title_are_found(written):
    with pytest.raises(InvalidInput, match=r"no column 'y'.*Line 3 holds 'y': .*delete what is"):
        read_table(written(f"My title,,\n\nx,z,y\n{ROWS}"), "y")
    with pytest.raises(InvalidInput, match=r"no column 'y'.*Line 2 holds 'y'"):
        read_table(written(f"# a remark\nx,z,y\n{ROWS}"), "y")


def test_a_file_without_names_says_what_its_columns_are_called(written):
    with pytest.raises(InvalidInput, match=r"no column 'y'.*columns are called column_1"):
        read_table(written(ROWS), "y")


def test_labels_that_differ_in_capital_letters_are_named(written):
    table = read_table(written(f"x,z,y\n{ROWS}0.5,1,A\n"), "y")
    assert any("the classes 'A', 'a', which differ" in note for note in table.notes)
    assert not any("differ" in note for note in read_table(written(f"x,z,y\n{ROWS}"), "y").notes)


def test_numbers_with_units_are_named(written):
    measured = "x,w,y\n" + "".join(f"{i},{i * 1.7:.1f} kg,{'ab'[i % 2]}\n" for i in range(40))
    table = read_table(written(measured), "y")
    assert any("w holds numbers with a unit, such as '0.0 kg'" in note for note in table.notes)
    with pytest.raises(InvalidInput, match=r"numbers with a unit, such as '0.0 kg': write the"):
        read_table(written(measured), "w")
    codes = "x,w,y\n" + "".join(f"{i},A{i % 9},{'ab'[i % 2]}\n" for i in range(40))
    assert not any("unit" in note for note in read_table(written(codes), "y").notes)


def test_new_rows_are_not_said_to_hold_categories(written):
    schema = read_table(written(f"x,z,y\n{ROWS}"), "y").prepare().schema
    with pytest.raises(InvalidInput, match=r"d.csv, line 2, column 'x': 'zero' is not") as caught:
        read_table(written("x,z\nzero,1\n2,1\n"), like=schema)
    assert "missing=['zero']" in str(caught.value)
    assert "kinds=" not in str(caught.value)


def test_new_rows_without_a_column_are_named_by_their_file(written):
    schema = read_table(written(f"x,z,y\n{ROWS}"), "y").prepare().schema
    with pytest.raises(InvalidInput, match=r"d.csv lacks the column 'z'"):
        schema.align(read_table(written("x\n1\n2\n"), like=schema))


def test_a_number_is_wanted_of_a_target_of_words(written):
    with pytest.raises(InvalidInput, match="line 2, column 'y': 'a' is not a number, and the"):
        read_table(written(f"x,z,y\n{ROWS}"), "y", task="number")


def test_the_sheet_with_the_target_is_read(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "About"
    book.active.append(["info"])
    book.active.append(["see the next sheet"])
    sheet = book.create_sheet("Data")
    for row in [["x", "y"], *([i / 3, i % 2] for i in range(30))]:
        sheet.append(row)
    book.save(tmp_path / "two.xlsx")
    table = read_table(tmp_path / "two.xlsx", "y")
    assert (len(table), table.used) == (30, ["x"])
    assert "The sheet 'Data' is read, of 2 ('About', 'Data')." in table.notes
    with pytest.raises(InvalidInput, match=r"no column 'z'.*The sheet 'About' is read, of 2"):
        read_table(tmp_path / "two.xlsx", "z")


def test_many_whole_numbers_before_a_text_are_read_at_once(written):
    """Telling that this is no LIBSVM file once took twice as long for each column."""
    names = ",".join(map(str, range(10, 80)))  # as pandas calls the columns of an array
    path = written(f"{names},y\n" + "".join(f"{names},{'ab'[i % 2]}\n" for i in range(20)))
    code = f"import mercer; print(len(mercer.read_table({str(path)!r}, 'y').columns))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("70", "")
