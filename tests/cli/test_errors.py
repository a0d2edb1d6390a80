"""Whatever goes wrong is said in one line with a remedy, and the exit code tells what it was."""

import os
import subprocess
import sys

import pytest
from hypothesis import given, strategies as st

import mercer
from mercer.cli.screen import one_line, safe
from tests.cli.command import mercer as run, real_mercer

WRONG = [
    (["fit"], "DATA"),
    (["nope"], "No such command 'nope'"),
    (["fit", "heart", "--nope"], "--nope"),
    (["fit", "heart", "--seed", "x"], "--seed"),
    (["fit", "heart", "--seed", "-1"], "seed"),
    (["fit", "heart", "--cv", "1"], "--cv 1 has"),
    (["fit", "heart", "--test-share", "1"], "--test-share 1"),
    (["fit", "heart", "--time-limit", "0"], "--time-limit 0"),
    (["fit", "heart", "--task", "both"], "--task both"),
    (["fit", "heart", "--score", "r2"], "--score r2"),
    (["fit", "heart", "--positive", "ill"], "--positive ill"),
    (["fit", "heart", "--kind", "age"], "--kind 'age' has to name a column"),
    (["fit", "heart", "--kind", "age=colour"], "--kind: 'colour' for column 'age'"),
    (["fit", "heart", "--kind", "agee=number"], "--kind: heart has no column 'agee'"),
    (["fit", "heart", "--drop", "agee"], "Did you mean 'age'?"),
    (["fit", "heart", "--encoding", "morse"], "There is no encoding 'morse'"),
    (["fit", "heart", "--order-by", "day"], "--order-by: heart has no column 'day'"),
    (["fit", "heart", "--group", "person"], "--group: heart has no column 'person'"),
    (["fit", "heart", "--group", "sex", "--order-by", "age"], "--order-by and --group exclude"),
    (["fit", "heart", "--test-share", "0", "--order-by", "age"], "and --test-share 0 keeps none"),
    (
        ["fit", "old.csv"],
        "--missing old) or that the column holds categories (--kind age=category)",
    ),
    (["fit", "latin.csv"], "--encoding latin-1"),
    (["fit", "one.csv", "--target", "y"], "their separator as --delimiter"),
    (["fit", "hart"], "heart"),
    (["fit", "none.csv"], "none.csv"),
    (["fit", "."], "folder"),
    (["fit", "heart", "--target", "diagnose"], "Did you mean 'diagnosis'?"),
    (["fit", "heart", "--target", "DIAGNOSIS"], "Did you mean 'diagnosis'?"),
    (["fit", "heart", "--machine", "svr"], "svc"),
    (["fit", "heart", "--machine", "forest"], "There are auto, svc, nusvc, linear"),
    (["fit", "heart", "--machine", "linear"], "numbers only"),
    (["fit", "diabetes", "--machine", "linear", "--kernel", "rbf"], "no kernel"),
    (["fit", "heart", "--kernel", "rbf(agee)"], "'agee'"),
    (["fit", "heart", "--kernel", "rbf(sex)"], "'sex'"),
    (["fit", "heart", "--out", "nowhere/heart"], "nowhere"),
    (["fit", "heart", "--out", "."], "--out"),
    (["fit", "empty.csv"], "empty.csv"),
    (["fit", "binary.csv"], "binary.csv"),
    (["fit", "unnamed.csv"], "Choose by --target one of 'a', 'b'"),
    (["fit", "infinite.csv"], "infinite.csv, line 6, column 'a': infinity"),
    (["fit", "infinite.csv"], "leave the column out (--drop a)"),
    (["compare", "lonely.csv"], "1 of 30 rows are of another class than 'usual'"),
    (["fit", "constant.csv"], "nothing to learn"),
    (["fit", "short.csv"], "at least 8"),
    (["fit", "ragged.csv"], "ragged.csv"),
    (["fit", "letters.csv", "--target", "y", "--task", "number"], "'y'"),
    (["predict", "MODEL", "none.csv"], "none.csv"),
    (["predict", "MODEL", "penguins"], "'age'"),
    (["predict", "MODEL", "heart", "-o", "out.xls"], ".csv, .parquet, .jsonl"),
    (["predict", "MODEL", "heart", "-o", "nowhere/out.csv"], "nowhere"),
    (["report", "MODEL", "-o", "nowhere/out.html"], "nowhere"),
    (["certify", "MODEL", "penguins"], "penguins"),
    (["compare", "heart", "--machine", "svr"], "svc"),
    (["compare", "none.csv"], "none.csv"),
    (["kernels", "gauss"], "There is no kernel 'gauss'"),
]


@pytest.fixture
def bad_files(tmp_path):
    texts = {
        "empty.csv": "",
        "unnamed.csv": "a,b\n" + "1,2\n3,5\n" * 9,
        "infinite.csv": "a,y\n" + "".join(f"{i if i != 4 else 'inf'},{i % 2}\n" for i in range(30)),
        "lonely.csv": "a,y\n" + "".join(f"{i * i},{'usual' if i else 'rare'}\n" for i in range(30)),
        "constant.csv": "a,y\n" + "".join(f"{i},1\n" for i in range(20)),
        "short.csv": "a,y\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(6)),
        "ragged.csv": "a,y\n" + "1,2\n" * 9 + "1,2,3\n",
        "letters.csv": "a,y\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(20)),
        "old.csv": "age,y\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(20)) + "old,a\n",
        "one.csv": "y\n" + "a\nb\n" * 9,
        "hello.mercer": "hello, this is a letter and not a model",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "binary.csv").write_bytes(bytes(range(256)) * 8)
    (tmp_path / "latin.csv").write_bytes("a,y\n1,ja\n2,né\n".encode("latin-1"))


@pytest.mark.parametrize(("arguments", "cause"), WRONG, ids=[" ".join(a) for a, _ in WRONG])
def test_bad_input(arguments, cause, bad_files, heart, tmp_path):
    before = sorted(path.name for path in tmp_path.iterdir())
    model = str(heart[0] / "heart.mercer")
    result = run(*(model if a == "MODEL" else a for a in arguments))
    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith("mercer: ")
    assert result.err.count("\n") == 1
    assert result.err.rstrip().endswith((".", "?"))
    assert cause in result.err
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_kernel_errors_point_at_the_character():
    result = run("fit", "heart", "--kernel", "rbf(age) + spectrun(thal)")
    assert result.code == 2
    message, shown, caret = result.err.splitlines()
    assert message.startswith("mercer: --kernel: ")
    assert shown[caret.index("^") :].startswith("spectrun")


@pytest.mark.parametrize("command", [["predict"], ["report"], ["certify"]])
@pytest.mark.parametrize("kind", ["missing", "letter", "cut", "changed", "no study"])
def test_bad_model_files(command, kind, bad_files, heart, tmp_path):
    whole = (heart[0] / "heart.mercer").read_bytes()
    path = tmp_path / "bad.mercer"
    if kind == "letter":
        path = tmp_path / "hello.mercer"
    elif kind == "cut":
        path.write_bytes(whole[:-100])
    elif kind == "changed":
        path.write_bytes(whole[:5000] + bytes([whole[5000] ^ 1]) + whole[5001:])
    elif kind == "no study":
        mercer.save(mercer.SVC(), path)
    data = [] if command == ["report"] else ["heart"]
    result = run(*command, path, *data)
    assert result.code == 3
    assert result.out == ""
    assert result.err.count("\n") == 1
    assert path.name in result.err


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("study", 99), ("schema", {}), ("schema", None), ("record", {}), ("rows", -1),
        ("rows", 5), ("seed", "x"), ("seconds", 3), ("reasons", [1]), ("kernel", None),
        ("train_rows", [1, 2]), ("parameters", {"C": [1]}), ("notes", "x"),
    ],
)  # fmt: skip
def test_a_study_that_does_not_fit_is_refused(name, value, heart):
    data = mercer.load_record(heart[0] / "heart.mercer")
    mercer.save(mercer.SVC(), "changed.mercer", {**data, name: value})
    result = run("report", "changed.mercer")
    assert result.code == 3
    assert result.err.startswith("mercer: changed.mercer: ")


def test_no_traceback_without_debug(tmp_path):
    result = real_mercer("fit", "none.csv", cwd=tmp_path)
    assert (result.code, result.out) == (2, "")
    assert "Traceback" not in result.err
    result = real_mercer("fit", "none.csv", "--debug", cwd=tmp_path)
    assert result.code == 1
    assert "Traceback" in result.err


def test_a_reader_that_stops_early_is_no_error(heart):
    command = f'"{sys.executable}" -m mercer predict heart.mercer heart | head -n 1'
    done = subprocess.run(
        ["bash", "-c", command], cwd=heart[0], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert done.stdout.startswith("row,prediction")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    assert run("fit", "heart", "--out", "closed/heart").code == 2


# ---- hostile texts -----------------------------------------------------------------------------

HOSTILE = ["[bold]x[/]", "\x1b[31mred", "‮turned", "a\tb", "[link=x]", ":smile:", "{0}", "%s"]


def test_names_from_data_are_shown_and_do_nothing():
    header = ",".join(f'"{name}"' for name in HOSTILE)
    lines = [",".join(str((i * (j + 2)) % 11) for j in range(len(HOSTILE))) for i in range(60)]
    with open("odd.csv", "w", encoding="utf-8") as file:
        file.write(f'{header},"[red]y\x1b[0m"\n')
        file.writelines(f"{line},{['[b]yes', 'no'][i % 11 > 5]}\n" for i, line in enumerate(lines))
    result = run("fit", "odd.csv", "--target", "[red]y\x1b[0m")
    assert result.code == 0
    for shown in ("[bold]x[/]", r"\x1b[31mred", r"\u202eturned", "[red]y", "[b]yes"):
        assert shown in result.out
    missing = run("fit", "odd.csv", "--target", "[bold]\x1b]0;title\x07")
    assert missing.code == 2
    assert "[bold]" in missing.err
    for output in (result.out, result.err, missing.err):
        assert not set(output) & {"\x1b", "\x07", "\u202e", "\t", "\r"}
    answers = run("predict", "odd.mercer", "odd.csv")
    assert answers.code == 0
    assert "probability_[b]yes" in answers.out


@given(st.text())
def test_a_safe_text_holds_nothing_that_acts(text):
    import unicodedata

    shown = one_line(text)
    assert all(c == " " or unicodedata.category(c)[0] not in "CZ" for c in shown)
    assert safe(shown) == shown
    assert shown.isascii() or not text.isascii()
