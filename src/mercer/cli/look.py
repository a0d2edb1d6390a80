"""``mercer compare`` and ``mercer kernels``: what to choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mercer._interrupts import interruptible
from mercer.cli import options
from mercer.cli.screen import bar, consoles, safe, show_facts, show_list

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
    as_json: options.AsJson = False,
    debug: options.Debug = False,
) -> None:
    """Compare machines and kernels on the same folds of DATA, beside a baseline."""
    options.silence(debug)
    console, aside = consoles()
    with bar(aside, "comparing", True) as show:
        with interruptible():
            from mercer.study.comparison import compare as run

        def watch(done: int, total: int, name: str) -> None:
            show(done, total, f"{done} of {total}, {name}")

        found = run(
            data, target, kernels=kernel or (), machines=machine or (), task=task, cv=cv,
            time_limit=time_limit, random_state=seed, callback=watch,
        )  # fmt: skip
    if as_json:
        import json

        typer.echo(json.dumps(_plain(found), indent=2, allow_nan=False))
    else:
        _show_comparison(console, found)


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
            }
            for c in found.contenders
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
    console.print(table)
    if found.notes:
        show_list(console, found.notes)


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
                "formula": row.formula,
                "takes": row.domain,
                "definite": row.examples[0].definite.name.lower(),
            }
            for row in rows
        ]
        typer.echo(json.dumps(plain, indent=2, ensure_ascii=False))
    elif name is None:
        for domain in dict.fromkeys(row.domain for row in ROWS):
            console.print(f"{domain}", style="bold")
            show_facts(console, [(r.name, r.formula) for r in ROWS if r.domain == domain])
            console.print()
        console.print("mercer kernels NAME says more; in --kernel they are joined by + and *.")
    else:
        row = rows[0]
        facts = [
            ("kernel", row.title),
            ("formula", row.formula),
            ("takes", row.domain),
            ("definite", row.examples[0].definite.name.lower()),
            ("also called", ", ".join(row.aliases)),
            ("for example", ",  ".join(format_kernel(example) for example in row.examples)),
        ]
        show_facts(console, [(key, value) for key, value in facts if value], indent=0)
