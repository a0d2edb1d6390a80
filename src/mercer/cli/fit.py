"""``mercer fit``: from a file to a tuned, judged model and its report."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mercer._interrupts import interruptible
from mercer.cli import options, table_options
from mercer.cli.first_run import compiling_ahead
from mercer.cli.garbage import importing
from mercer.cli.screen import bar, consoles, safe, show_facts, show_list, show_paths
from mercer.cli.settings import as_options

if TYPE_CHECKING:
    from rich.console import Console

    from mercer.study.plan import Plan
    from mercer.study.study import Study


def fit(
    data: options.Data,
    target: options.Target = None,
    kernel: Annotated[
        str | None,
        typer.Option(
            "--kernel", "-k", metavar="KERNEL",
            help='For example "rbf(age, bmi) + delta(sex)"; mercer kernels lists them.',
        ),
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option(
            "--machine",
            "-m",
            metavar="NAME",
            help="auto, svc, nusvc, klr, logistic, lda, svr, nusvr, kernelridge, gp, ridge, "
            "lasso, elasticnet, mlp or linear.",
        ),
    ] = None,
    task: options.Task = None,
    test_share: Annotated[
        float,
        typer.Option(
            "--test-share", metavar="SHARE",
            help="Share of the rows kept for the test; 0 judges by cross-validation.",
        ),
    ] = 0.25,
    order_by: Annotated[
        str | None,
        typer.Option("--order-by", metavar="COLUMN", help="Test on the latest rows by a column."),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option("--group", metavar="COLUMN", help="Keep rows with the same value together."),
    ] = None,
    score: Annotated[
        str | None,
        typer.Option(
            "--score",
            metavar="NAME",
            help="What judges: accuracy, balanced_accuracy, auc, log_loss, r2, mae or rmse.",
        ),
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(
            "--positive", metavar="LABEL", help="The class that sensitivity is about, of two."
        ),
    ] = None,
    cost: Annotated[
        list[str] | None,
        typer.Option(
            "--cost", metavar="CLASS=NUMBER",
            help="What it costs to miss a row of a class, such as disease=5; may be given again.",
        ),
    ] = None,
    cv: options.Folds = 5,
    time_limit: options.TimeLimit = None,
    seed: options.Seed = 0,
    kind: table_options.Kind = None,
    drop: table_options.Drop = None,
    missing: table_options.Missing = None,
    encoding: table_options.Encoding = None,
    delimiter: table_options.Delimiter = None,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="NAME", help="Write NAME.mercer and NAME.html."),
    ] = None,
    proof: Annotated[
        bool,
        typer.Option(
            "--proof",
            metavar=" ",
            help="Put the training rows into the report, so that it proves itself to whoever "
            "reads it. Think of whom the rows are about.",
        ),
    ] = False,
    force: options.Force = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:  # fmt: skip
    """Learn from DATA: tune a machine, judge it on rows it never saw, write model and report."""
    from mercer.cli.files import check_model, check_output, is_model, is_report, study_paths

    began = time.perf_counter()
    model_path, report_path = study_paths(data, out)
    check_output(model_path, is_model, force)
    check_output(report_path, is_report, force)
    options.silence(debug)
    console, aside = consoles()
    live = aside.is_terminal and not quiet
    with interruptible(), aside.status("reading", spinner="line") if live else nullcontext():
        with importing():
            import_module("numba")  # all machines need it, and it is much to look through

            from mercer.report.main_score import leading
            from mercer.study.copies import keep_copies_together
            from mercer.study.costs import class_costs
            from mercer.study.plan import check_time_limit, make_plan
            from mercer.study.study import run
            from mercer.study.summary import summary

        check_time_limit(time_limit)
        table = table_options.read(
            data, target, task=task, kind=kind, drop=drop, missing=missing, encoding=encoding,
            delimiter=delimiter,
        )  # fmt: skip
        check_model(model_path, table.target_name, force)
        plan = make_plan(
            table, kernel=kernel, machine=machine, test_share=test_share, cv=cv,
            random_state=seed, order_by=order_by, group=group,
        )  # fmt: skip
        plan = keep_copies_together(replace(plan, began=began))
        leading(plan.y[plan.train], plan.table.task != "number", score, positive)  # or refuse it
        costs = table_options.costs(cost or [])
        class_costs(plan, costs)
    silent = quiet or as_json
    if not silent:
        _show_plan(console, plan)
    doing = "contest" if plan.machine.contends else f"tuning {plan.machine.name}"
    with bar(aside, doing, not quiet) as show:

        def watch(done: int, total: int, best: float) -> None:
            words = f"{done} of {total}"
            show(done, total, words if best == float("-inf") else f"{words}, best {best:.3f}")

        with compiling_ahead(plan.machine.name):
            study = run(
                plan, time_limit=time_limit, callback=watch, score=score, positive=positive,
                cost=costs, stage=show.now,
            )  # fmt: skip
        show.now("writing")
        study.save(model_path)
        study.write_report(report_path)
    if proof:  # where there is none, the error comes with a report that is written all the same
        study.write_report(report_path, study.carried_proof(plan.table))
    if as_json:
        import json

        files = {"model": str(model_path), "report": str(report_path)}
        typer.echo(json.dumps({**summary(study), "files": files}, indent=2, allow_nan=False))
    elif not quiet:
        _show_study(console, study, model_path, report_path)
    if study.stopped:
        _show_stop(aside, study)


def _show_plan(console: Console, plan: Plan) -> None:
    from rich.text import Text

    table = plan.table
    rows = f"{len(table):,} rows, {len(plan.train):,} to learn from, {len(plan.test):,} to test"
    if not len(plan.test):
        rows = f"{len(table):,} rows, all to learn from, judged by {plan.folds} folds"
    console.print(Text.assemble((safe(Path(table.source).name), "bold"), f": {rows}"))
    plain = not (plan.machine.takes_kernel or plan.machine.contends)
    why = [f"Machine: {plan.why}."] if plain else []  # of so many rows, say
    lines = (*plan.reasons, *why, *_fewer(plan.notes))
    show_list(console, [as_options(text) for text in lines])
    console.print()


def _fewer(notes: tuple[str, ...], most: int = 4) -> list[str]:
    """Return the first notes; a report has them all."""
    rest = len(notes) - most
    return list(notes) if rest <= 1 else [*notes[:most], f"{rest} more notes are in the report."]


def _show_study(console: Console, study: Study, model: Path, report: Path) -> None:
    from mercer.report.text import number

    labels = [str(label) for label in study.schema.labels]
    shown = ", ".join(labels[:5]) + (f" and {len(labels) - 5} more" if len(labels) > 5 else "")
    show_facts(
        console,
        [
            ("task", f"{study.target}: {study.task}" + (f" ({shown})" if shown else "")),
            *_machine_facts(study),
            *_score_facts(study),
            *_promise(study),
            ("verdict", as_options(_verdict(study))),
            *(("doubt", as_options(suspicion)) for suspicion in _other_doubts(study)),
            ("certificate", _certificate(study)),
            ("time", f"{number(study.seconds, 2)} s"),
        ],
    )
    show_paths(console, [("model", model), ("report", report)])


def _machine_facts(study: Study) -> list[tuple[str, str]]:
    from mercer.report.leaderboard import columns_in_words
    from mercer.report.text import counted, formula

    vote = study.record.vote
    if vote is not None:
        members = vote.members
        best = members[0].kernel
        more = f" and {len(members) - 1} more" if len(members) > 1 else ""
        words = "the best of" if len(members) == 1 else f"vote of {len(members)} of"
        contenders = counted(len(vote.lines), "kernel machine")
        words = "the only one tried" if len(vote.lines) == 1 else f"{words} {contenders}"
        facts = [
            ("machine", f"{study.machine}, {words}"),
            ("kernel", f"{best}{more}"),
        ]
        strongest = columns_in_words(vote)
        return [*facts, ("columns", strongest)] if strongest else facts
    own = {k: v for k, v in study.parameters.items() if not k.startswith("kernel__")}
    numbers = ", ".join(f"{name} = {_value(value)}" for name, value in own.items())
    return [
        ("machine", f"{study.machine}, {numbers}" if numbers else study.machine),
        ("kernel", formula(study.kernel)),
    ]


def _score_facts(study: Study) -> list[tuple[str, str]]:
    from mercer.report import phrases

    if not study.scores:
        return []
    score = study.scores[0]
    facts = [
        (
            phrases.short(score),
            f"{phrases.value(score)} on {_judged_on(study)} "
            f"(95 % interval {phrases.interval(score)})",
        ),
        ("baseline", f"{phrases.value(score, score.baseline)} by {study.record.baseline}"),
    ]
    others_by_name = {other.name: other for other in study.scores}
    if score.name != "Accuracy" and "Sensitivity" in others_by_name:
        found, spared = others_by_name["Sensitivity"], others_by_name["Specificity"]
        facts.append(("sensitivity", f"{phrases.value(found)}: {found.meaning}"))
        facts.append(("specificity", f"{phrases.value(spared)}: {spared.meaning}"))
    if study.record.references:
        others = phrases.listed(score, study.record.references)
        facts.append(("references", f"usual methods: {others}"))
    return facts


def _promise(study: Study) -> list[tuple[str, str]]:
    from mercer.study.nonconformity import SURE

    return [("how sure", fact.value) for fact in study.record.facts if fact.name == SURE]


def _judged_on(study: Study) -> str:
    return "rows that were left out" if study.record.folds else "new rows"


def _certificate(study: Study) -> str:
    from mercer.study.summary import certificate_in_words

    if study.certificate is None:
        return f"none: {study.unproven}" if study.unproven else "none"
    words = certificate_in_words(study.certificate)
    fits = 1 if study.record.vote is None else len(study.record.vote.members)
    return words if fits == 1 else f"{words}, {fits} fits taken together"


def _verdict(study: Study) -> str:
    from mercer.report import phrases
    from mercer.study.references import SAMPLED

    record = study.record
    if record.trust != "yes":
        return record.verdict
    rows = _judged_on(study) if record.folds else "these test rows"
    if record.references:
        alone = "; no forest was tried" if len(record.references) == 1 else ""
        if any(note.startswith(SAMPLED) for note in study.notes):
            alone += "; these learnt from fewer rows than the model"
        return f"{phrases.rank(record.scores[0], record.references).lower()}, on {rows}{alone}"
    return f"better than guessing, on {rows}; the usual methods were not tried beside it"


def _other_doubts(study: Study) -> list[str]:
    """Return the suspicions that the verdict does not name already."""
    record = study.record
    return [doubt for doubt in record.suspicions if doubt not in record.verdict]


def _show_stop(aside: Console, study: Study) -> None:
    why = "Interrupted" if study.stopped == "interrupted" else "The time limit was reached"
    aside.print(f"{why}: the best model so far was kept.")


def _value(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
