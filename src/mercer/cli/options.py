"""Arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A CSV, Excel, Parquet, JSON-lines, LIBSVM, FASTA or .ts file, or a data set that "
        "comes with mercer: heart, diabetes, penguins, reviews, promoters, splice, gunpoint, "
        "solubility.",
    ),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A file that mercer fit has written.")]
Target = Annotated[
    str | None,
    typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict."),
]
Task = Annotated[
    str | None,
    typer.Option("--task", metavar="TASK", help="classes or number, where you know better."),
]
Folds = Annotated[int, typer.Option("--cv", metavar="N", help="Number of folds.")]
TimeLimit = Annotated[
    float | None,
    typer.Option("--time-limit", metavar="SECONDS", help="Take the best so far after this time."),
]
Seed = Annotated[
    int,
    typer.Option("--seed", metavar="N", min=0, max=2**32 - 1, help="Makes a run repeatable."),
]
AsJson = Annotated[bool, typer.Option("--json", metavar=" ", help="Print JSON for programs.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", metavar=" ", help="Print errors only.")]
Force = Annotated[
    bool, typer.Option("--force", metavar=" ", help="Overwrite files that mercer has not written.")
]
Answers = Annotated[
    str | None,
    typer.Option(
        "--out", "-o", metavar="OUT",
        help="A .csv, .parquet or .jsonl file; CSV is printed otherwise.",
    ),
]  # fmt: skip
Level = Annotated[
    float | None,
    typer.Option(
        "--level", metavar="SHARE",
        help="How often the truth has to be in the interval or set, such as 0.95; 0.9 by default, "
        "where there were enough test rows.",
    ),
]  # fmt: skip
Debug = Annotated[
    bool, typer.Option("--debug", metavar=" ", help="Show where in the code an error happened.")
]


def silence(debug: bool) -> None:
    """Leave warnings to the notes of a study, which are printed in plain words."""
    import warnings

    if not debug:
        warnings.simplefilter("ignore")
