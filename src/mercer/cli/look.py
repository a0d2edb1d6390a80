"""``mercer compare`` and ``mercer kernels``: what to choose from."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mercer._interrupts import interruptible
from mercer.cli import options, table_options
from mercer.cli.screen import bar, consoles, safe, show_facts, show_list, show_paths
from mercer.cli.settings import as_options

if TYPE_CHECKING:
    from rich.console import Console

    from mercer.study.comparison import Comparison


def compare(
    data: options.Data,
    target: options.Target = None,
    kernel: Annotated[
        list[str] | None,
        typer.Option("--kernel", "-k", metavar="KERNEL", help="A kernel; may be given again."),
    ] = None,
    machine: Annotated[
        list[str] | None,
        typer.Option("--machine", "-m", metavar="NAME", help="A machine; may be given again."),
    ] = None,
    task: options.Task = None,
    cv: options.Folds = 5,
    time_limit: options.TimeLimit = None,
    seed: options.Seed = 0,
    others: Annotated[
        bool | None,
        typer.Option(
            "--others/--no-others",
            help="Also scikit-learn's methods, CatBoost, LightGBM and XGBoost where installed; "
            "by default where no machine and no kernel is named.",
        ),
    ] = None,
    score: Annotated[
        str | None,
        typer.Option(
            "--score", metavar="NAME", help="accuracy, balanced_accuracy, auc, r2, mae or rmse."
        ),
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="OUT", help="Also write a page, OUT.html.")
    ] = None,
    force: options.Force = False,
    kind: table_options.Kind = None,
    drop: table_options.Drop = None,
    missing: table_options.Missing = None,
    encoding: table_options.Encoding = None,
    delimiter: table_options.Delimiter = None,
    as_json: options.AsJson = False,
    debug: options.Debug = False,
) -> None:
    """Compare machines and kernels, and what else people use, on the same folds of DATA."""
    from mercer.cli.files import check_output, is_report

    options.silence(debug)
    page = None if out is None else Path(out).with_suffix(".html")
    if page is not None:
        check_output(page, is_report, force)
    console, aside = consoles()
    with bar(aside, "comparing", True) as show:
        with interruptible():
            from mercer.study.comparison import compare as run

        def watch(done: int, total: int, name: str) -> None:
            show(done, total, f"{done} of {total}, {name}")

        table = table_options.read(
            data, target, task=task, kind=kind, drop=drop, missing=missing, encoding=encoding,
            delimiter=delimiter,
        )  # fmt: skip
        found = run(
            table, kernels=kernel or (), machines=machine or (), cv=cv,
            time_limit=time_limit, random_state=seed, callback=watch,
            others=others, score=score,
        )  # fmt: skip
    if as_json:
        import json

        typer.echo(json.dumps(_plain(found), indent=2, allow_nan=False))
    else:
        _show_comparison(console, found)
    if page is not None:
        found.write_report(page)
        if not as_json:
            show_paths(console, [("page", page)])


def _plain(found: Comparison) -> dict[str, object]:
    from mercer.study.summary import plain_score

    return {
        "version": 1,
        "data": found.source,
        "target": found.target,
        "task": found.task,
        "rows": found.rows,
        "folds": found.folds,
        "contenders": [
            {
                "machine": c.machine,
                "kernel": c.kernel,
                "score": plain_score(c.score),
                "seconds": c.seconds,
                "library": c.library,
                "difference": None if math.isnan(c.difference) else c.difference,
                "difference_low": None if math.isnan(c.low) else c.low,
                "difference_high": None if math.isnan(c.high) else c.high,
            }
            for c in found.contenders
        ],
        "skipped": [
            {"machine": s.machine, "library": s.library, "reason": s.reason} for s in found.skipped
        ],
        "stopped": found.stopped,
        "notes": list(found.notes),
    }


def _show_comparison(console: Console, found: Comparison) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from mercer.report import phrases

    title = f": {found.target}, {found.task}, {found.rows:,} rows, {found.folds} folds"
    console.print(Text.assemble((safe(found.source), "bold"), safe(title)))
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("machine", no_wrap=True)
    table.add_column("kernel", overflow="fold")
    first = found.contenders[0].score
    table.add_column(first.name if first.name == "R²" else first.name.lower(), justify="right")
    table.add_column("95 % interval", no_wrap=True)
    table.add_column("time", justify="right", no_wrap=True)
    for c in found.contenders:
        table.add_row(
            Text(safe(c.machine)),
            Text(safe(c.label, limit=160)),
            Text(phrases.value(c.score)),
            Text(phrases.interval(c.score)),
            Text(f"{c.seconds:.1f} s" if c.seconds else ""),
        )
    for s in found.skipped:
        table.add_row(Text(safe(s.machine)), Text(safe(f"{s.label}; {s.reason}")), Text("–"))
    console.print(table)
    differences = found.differences_in_words()
    if differences:
        console.print(f"  {found.first.machine} minus the others, 95 % interval:", style="bold")
        show_facts(console, [*differences, ("verdict", found.conclusion)])
    if found.notes:
        show_list(console, [as_options(note) for note in found.notes])


def kernels(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="One kernel, with all that is known of it.")
    ] = None,
    as_json: options.AsJson = False,
    debug: options.Debug = False,
) -> None:
    """List the kernels with their formulas."""
    options.silence(debug)
    from mercer.kernels.expression import format_kernel
    from mercer.kernels.registry import ROWS, find

    rows = ROWS if name is None else (find(name),)
    console, _ = consoles()
    if as_json:
        import json

        plain = [
            {
                "name": row.name,
                "aliases": list(row.aliases),
                "title": row.title,
                "formula": row.plain_formula,
                "takes": row.domain,
                "definite": row.examples[0].definite.name.lower(),
            }
            for row in rows
        ]
        typer.echo(json.dumps(plain, indent=2, ensure_ascii=False))
    elif name is None:
        for domain in dict.fromkeys(row.domain for row in ROWS):
            console.print(f"{domain}", style="bold")
            show_facts(console, [(r.name, r.plain_formula) for r in ROWS if r.domain == domain])
            console.print()
        console.print("mercer kernels NAME says more; in --kernel they are joined by + and *.")
    else:
        row = rows[0]
        facts = [
            ("kernel", row.title),
            ("formula", row.plain_formula),
            ("takes", row.domain),
            ("definite", row.examples[0].definite.name.lower()),
            ("also called", ", ".join(row.aliases)),
            ("for example", ",  ".join(format_kernel(example) for example in row.examples)),
        ]
        show_facts(console, [(key, value) for key, value in facts if value], indent=0)
