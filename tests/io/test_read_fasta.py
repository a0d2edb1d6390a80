"""FASTA files as tables."""

import gzip

import numpy as np
import pytest

from mercer import SVC, InvalidInput, Spectrum, read_table

TEXT = """\
;a comment
>seq1 label=1 a description, with words
ACGT
acgtN

>seq2, label=-1
AC GT*
> seq3
TTT
"""


def test_records(tmp_path):
    for name, content in (
        ("x.fasta", TEXT.encode()),
        ("x.fa", TEXT.replace("\n", "\r\n").encode()),
        ("x.fa.gz", gzip.compress(TEXT.encode())),
        ("x.txt", TEXT.encode("utf-8-sig")),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        frame = read_table(path, target=False).frame.to_pydict()
        assert frame["sequence"] == ["ACGTacgtN", "ACGT", "TTT"], name
        assert frame["name"] == ["seq1", "seq2", "seq3"]
        assert frame["label"] == [1, -1, None]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (">a\n>b\nAC\n", "line 1: the record 'a' has no letters"),
        (">a sequence=1\nAC\n", "key 'sequence'.*Rename"),
        (">a\nAC\n>b x=1\n", "line 3: the record 'b x=1' has no letters"),
    ],
)
def test_broken_files(tmp_path, text, message):
    path = tmp_path / "x.fa"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=message):
        read_table(path)


def test_a_machine_from_a_file(tmp_path):
    random = np.random.default_rng(0)
    lines = []
    for i in range(40):
        x = "".join(random.choice(list("ACGT"), 30))
        lines.append(f">r{i} kind={'yes' if i % 2 else 'no'}\n{'GATTACA' if i % 2 else ''}{x}")
    path = tmp_path / "x.fa"
    path.write_text("\n".join(lines))
    table = read_table(path, target="kind")
    machine = SVC(Spectrum(4).normalized().on("sequence"), C=10).fit(table.frame, table.target)
    assert machine.score(table.frame, table.target) == 1.0
