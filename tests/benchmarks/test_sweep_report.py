"""The numbers of a sweep, from outcomes that are made up."""

import numpy as np
import pytest

from benchmarks.job import OURS
from benchmarks.sweep import page, report
from benchmarks.sweep.outcomes import Outcome, append, read
from benchmarks.sweep.summary import exponents, is_tie, profile, share_within, summarise


def outcome(name, seconds, family="kernel", machine="SVC", rows=100, growth=False, **others):
    case = {"machine": machine, "rows": rows, "growth": growth}
    runs = {who: list(np.atleast_1d(time).astype(float)) for who, time in seconds.items()}
    return Outcome(name, name, family, case, runs, **others)


MADE_UP = [
    outcome("twice", {OURS: [1, 1, 1], "A": [2, 2, 2], "B": [5, 5, 5]}),
    outcome("eight times", {OURS: 1, "A": 8, "A, other": 9}),
    outcome("half", {OURS: 2, "A": 1}, family="linear"),
    outcome("tie", {OURS: [1, 1, 1, 1], "A": [0.8, 0.9, 1.0, 1.3]}, family="linear"),
    outcome("close without a tie", {OURS: [1, 1, 1], "A": [0.9, 0.9, 0.9]}, family="linear"),
    outcome("stopped", {OURS: 1}, family="linear", at_least={"A": 30.0}),
    outcome("worse peer", {OURS: 3, "A": 1, "B": 6}, worse=["A"]),
    outcome("failed", {"A": 1}, left_out={OURS: "ValueError: no"}),
]


def test_the_numbers():
    found = summarise(MADE_UP)
    assert found.cases == 7
    assert found.fastest == 4  # twice, eight times, stopped, worse peer
    assert [one.name for one in found.ties] == ["tie"]
    assert found.within == pytest.approx(6 / 7)
    assert found.means["kernel"] == pytest.approx((2 * 8 * 2) ** (1 / 3))
    assert found.means["linear"] == pytest.approx((0.5 * 0.95 * 0.9 * 30) ** (1 / 4))
    assert [one.name for one in found.worst[:3]] == ["half", "close without a tie", "tie"]
    assert [one.name for one in found.failed] == ["failed"]
    assert not found.unequal
    assert not found.alone


def test_nothing_is_no_error():
    assert summarise([]).cases == 0


def test_the_fastest_peer_is_as_good_as_we_are():
    by_name = {one.name: one for one in MADE_UP}
    assert by_name["worse peer"].fastest_peer == "B"
    assert by_name["stopped"].bound == "≥ "
    assert by_name["stopped"].ratio.middle == 30
    alone = outcome("alone", {OURS: 1, "A": 2}, worse=["A"])
    assert summarise([alone]).alone == [alone]
    unequal = outcome("unequal", {OURS: 1, "A": 2}, worse=[OURS])
    assert summarise([unequal]).unequal == [unequal]


def test_we_may_be_stopped_too():
    one = outcome("slow", {"A": 3.0}, at_least={OURS: 30.0})
    assert one.ratio.middle == pytest.approx(0.1)
    assert one.bound == "≤ "
    assert not is_tie(one)


def test_a_gap_is_no_tie_when_all_runs_agree():
    by_name = {one.name: one for one in MADE_UP}
    assert is_tie(by_name["tie"])
    assert not is_tie(by_name["close without a tie"])
    assert not is_tie(by_name["half"])


def test_the_profile_has_a_curve_for_each_library():
    curves = profile(MADE_UP)
    assert set(curves) == {OURS, "A", "B"}
    assert len(curves["A"]) == 7
    # A is the best in three cases, 2, 8 times slower in two, stopped in one and worse in one.
    assert share_within(curves["A"], 1) == pytest.approx(3 / 7)
    assert share_within(curves["A"], 2) == pytest.approx(4 / 7)
    assert share_within(curves["A"], 1e9) == pytest.approx(5 / 7)
    assert share_within(curves["B"], 2.5) == pytest.approx(1 / 2)


def test_exponents():
    series = [
        outcome(f"{n}", {OURS: 1e-6 * n**1.5, "A": 1e-6 * n**2}, rows=n, growth=True)
        for n in (100, 200, 400)
    ]
    series.append(outcome("800", {OURS: 1e-6 * 800**1.5}, rows=800, growth=True))
    found = exponents(series)["SVC"]
    assert found[OURS] == (pytest.approx(1.5), 4)
    assert found["A"] == (pytest.approx(2), 3)
    assert summarise(series).cases == 0


def test_a_file_keeps_outcomes_and_bears_an_interrupt(tmp_path):
    path = tmp_path / "sweep.jsonl"
    assert read(path) == []
    path.write_text('{"environment": {}, "seed": 0}\n')
    for one in MADE_UP:
        append(path, one)
    with path.open("a") as file:
        file.write('{"name": "cut o')
    assert read(path) == MADE_UP


def test_what_is_written(tmp_path, capsys):
    table, picture = tmp_path / "table.md", tmp_path / "profile.png"
    report.write_table(table, MADE_UP)
    lines = table.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 2 + 7
    assert lines[2].startswith("| half | 2.00 s | A 1.00 s | 0.50")
    report.draw(picture, MADE_UP)
    assert picture.stat().st_size > 1_000


def test_a_section_of_a_page_is_written_anew(tmp_path):
    grown = [
        outcome(f"{n}", {OURS: 1e-6 * n, "A": 1e-6 * n**2}, rows=n, growth=True)
        for n in (100, 200, 400)
    ]
    grown.append(outcome("one size", {OURS: 1.0, "A": 2.0}, machine="SVR", growth=True))
    path = tmp_path / "page.md"
    path.write_text(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n", encoding="utf-8")
    for picture in ("first.svg", "second.svg"):
        page.write_section(path, page.section([*MADE_UP, *grown], "Seed 7.", picture))
    text = path.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert "first.svg" not in text
    assert "](second.svg)" in text
    assert "Seed 7." in text
    assert "| half | 2.00 s | A 1.00 s | 0.50" in text
    assert "| SVC | 1.00 (3) | 2.00 (3) |" in text
    assert "| SVR |" not in text
    assert "kernel machines | 3.17 |" in text
    path.write_text(page.BEGIN, encoding="utf-8")
    with pytest.raises(ValueError, match="no line"):
        page.write_section(path, "new")
