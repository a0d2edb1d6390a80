"""Learnt beside equal weights of columns: a table that shows both, and a contest left as it was."""

import numpy as np

from benchmarks.__main__ import main
from mercer.estimators.automatic import contest


def test_a_row_for_a_table(tmp_path, capsys):
    random = np.random.default_rng(0)
    folder = tmp_path / "tabular_regression" / "auto_mpg"
    folder.mkdir(parents=True)
    lines = ["mpg,weight,noise,origin,name"]
    for i in range(60):
        weight, noise, rest = random.normal(size=3)
        origin = "ab"[i % 2]
        mpg = weight + (origin == "a") + 0.2 * rest
        lines.append(f"{mpg:.4f},{weight:.4f},{noise:.4f},{origin},car {i}")
    (folder / "mpg.csv").write_text("\n".join(lines))
    before = contest.POWERS, contest.MOST_COLUMNS
    assert main(["mixed", "--data", str(tmp_path), "--only", "auto_mpg"]) == 0
    assert before == (contest.POWERS, contest.MOST_COLUMNS)
    *_, row = capsys.readouterr().out.strip().splitlines()
    name, size, equal, learnt, _, _ = (cell.strip() for cell in row.strip("| ").split("|"))
    assert (name, size) == ("auto_mpg", "60 × 3")
    assert 0.8 < float(equal) <= 1
    assert 0.8 < float(learnt) <= 1
    assert equal != learnt
