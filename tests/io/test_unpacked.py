"""Tables in packed files are read as they are without it, and an archive names what it holds."""

import bz2
import gzip
import lzma
import zipfile

import numpy as np
import pytest

from mercer import InvalidInput, read_table

TEXT = "x,y\n" + "".join(f"{i / 7:.3f},{'ab'[i % 2]}\n" for i in range(40))


def zipped(path, **files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


@pytest.fixture
def expected(tmp_path):
    (tmp_path / "plain.csv").write_text(TEXT)
    return read_table(tmp_path / "plain.csv", "y")


@pytest.mark.parametrize("packer", [gzip, bz2, lzma])
def test_streams(packer, tmp_path, expected):
    path = tmp_path / "data.csv.packed"
    packed = packer.compress(TEXT[:100].encode()) + packer.compress(TEXT[100:].encode())
    path.write_bytes(packed)
    found = read_table(path, "y")
    assert found.frame.equals(expected.frame)
    assert np.array_equal(found.target, expected.target)
    path.write_bytes(packed[:-8])
    with pytest.raises(InvalidInput, match=r"data.csv.packed breaks off"):
        read_table(path)
    path.write_bytes(packed[:40] + b"?" * 60 + packed[100:])
    with pytest.raises(InvalidInput, match=r"damaged (gzip|bzip2|xz) file|breaks off"):
        read_table(path)


@pytest.mark.parametrize(
    "files",
    [
        {"data.csv": TEXT},
        {"sub/data.csv": TEXT, "README.md": "x", "__MACOSX/._data.csv": "x", ".DS_Store": "x"},
        {"data.csv.gz": gzip.compress(TEXT.encode())},
        {"data": TEXT},
    ],
)
def test_an_archive_with_one_table(files, tmp_path, expected):
    assert read_table(zipped(tmp_path / "data.ZIP", **files), "y").frame.equals(expected.frame)


def test_an_archive_with_several_tables_names_them(tmp_path):
    path = zipped(tmp_path / "data.zip", **{"train.csv": TEXT, "test.csv": TEXT})
    with pytest.raises(InvalidInput, match=r"data.zip holds 2 files \(train.csv, test.csv\)"):
        read_table(path)
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(InvalidInput, match="nor a zip file that can be opened"):
        read_table(path)


def test_a_folder_of_tables_names_one(tmp_path):
    (tmp_path / "a.csv").write_text(TEXT)
    (tmp_path / "0.log").write_text("x")
    with pytest.raises(InvalidInput, match=r"For a table, give its file, such as .*a\.csv\."):
        read_table(tmp_path)
