"""What a sweep shows: lines while it runs, numbers at its end, a table and a picture for a page."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.markup import escape

from benchmarks.job import OURS, Spread
from benchmarks.report import console, ratio_text, show_environment, time_text
from benchmarks.sweep.outcomes import Outcome
from benchmarks.sweep.summary import (
    CLOSE,
    TIE,
    exponents,
    is_tie,
    profile,
    share_within,
    summarise,
)

FACTORS = np.geomspace(1, 100, 400)
"""Where the curves of a profile are drawn; beyond a factor of 100 nobody chooses a library."""


def line(number: int, total: int, outcome: Outcome) -> None:
    """Print one case when it is done."""
    if not outcome.counts:
        said = f"[red]no comparison[/red] {escape(_reasons(outcome))}"
    else:
        colour = "green" if outcome.ratio.middle >= 1 else "yellow"
        ours = time_of(outcome, OURS)
        said = f"[{colour}]{ratio_of(outcome)}[/{colour}]  {ours}, {peer_of(outcome)}"
        said += f"  [red]{escape(_remarks(outcome))}[/red]" if _remarks(outcome) else ""
    console.print(f"{number:>3}/{total} {escape(outcome.name)}: {said}", soft_wrap=True)


def show(outcomes: Sequence[Outcome]) -> None:
    """Print the numbers of a sweep."""
    found = summarise(outcomes)
    if found.cases:
        console.print(f"\n[bold]Cases: {found.cases}[/bold]; ratio = fastest peer / {OURS}")
        share = found.fastest / found.cases
        console.print(f"{OURS} is the fastest in {found.fastest} ({share:.0%})")
        console.print(f"within {CLOSE} of the fastest peer: {found.within:.1%}")
        for family, mean in found.means.items():
            console.print(f"geometric mean of the ratios, {family} machines: {mean:.2f}")
        console.print("\n[bold]The worst[/bold]")
        for outcome in found.worst:
            tie = ", a tie" if is_tie(outcome) else ""
            console.print(
                f"  {ratio_of(outcome)}  {escape(outcome.name)} ({peer_of(outcome)}{tie})"
            )
        heading = f"Ties: gaps below {TIE} whose quartiles lie on both sides of 1"
        _list(heading, found.ties, ratio_of)
    _list(f"The answer of {OURS} stayed worse than a peer's", found.unequal, _numbers)
    _list("No peer reached our answer; its time is that of a worse one", found.alone, _numbers)
    _list("Without a comparison", found.failed, _reasons)
    for machine, libraries in exponents(outcomes).items():
        said = ", ".join(f"{who} {power:.2f} ({n} sizes)" for who, (power, n) in libraries.items())
        console.print(f"growth of the time with the rows, {machine}: {said or 'too few sizes'}")
    for who, factors in profile(outcomes).items():
        shares = ", ".join(f"{f:g}: {share_within(factors, f):.0%}" for f in (1, 1.25, 2, 5, 10))
        console.print(f"within a factor of the best, {who} ({len(factors)} cases): {shares}")
    show_environment()


def write_table(path: Path, outcomes: Sequence[Outcome]) -> None:
    """Write all cases as a table in Markdown, the worst first."""
    rows = [
        "| case | mercer | fastest peer | ratio (quartiles) | others | remarks |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    counted = [outcome for outcome in outcomes if outcome.counts]
    for outcome in sorted(counted, key=lambda outcome: outcome.ratio.middle):
        others = [n for n in outcome.timed if n not in (OURS, outcome.fastest_peer)]
        cells = (
            outcome.name,
            time_of(outcome, OURS),
            peer_of(outcome),
            ratio_of(outcome),
            "; ".join(f"{name} {time_of(outcome, name)}" for name in others),
            _remarks(outcome),
        )
        rows.append(f"| {' | '.join(cells)} |")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    console.print(f"table written to {path}")


def draw(path: Path, outcomes: Sequence[Outcome]) -> None:
    """Draw the performance profile: the share of cases within a factor of the best, by library."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for who, factors in profile(outcomes).items():
        shares = [share_within(factors, factor) for factor in FACTORS]
        label = f"{who} ({len(factors)} cases)"
        axes.step(FACTORS, shares, where="post", label=label, linewidth=2.5 if who == OURS else 1.5)
    axes.set_xscale("log")
    axes.set_xlim(1, FACTORS[-1])
    ticks = (1, 1.25, 2, 5, 10, 20, 50, 100)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("factor of the best time")
    axes.set_ylabel("share of cases within it")
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=150)
    plt.close(figure)
    console.print(f"picture written to {path}")


def _list(heading: str, outcomes: Sequence[Outcome], say) -> None:
    if outcomes:
        console.print(f"\n[bold]{heading}: {len(outcomes)}[/bold]")
        for outcome in outcomes:
            console.print(f"  {escape(outcome.name)}: {escape(say(outcome))}")


def time_of(outcome: Outcome, name: str) -> str:
    """Return the time of a contender in words."""
    return ("over " if name in outcome.at_least else "") + time_text(outcome.time(name))


def peer_of(outcome: Outcome) -> str:
    """Return the fastest peer and its time."""
    return f"{outcome.fastest_peer} {time_of(outcome, outcome.fastest_peer)}"


def ratio_of(outcome: Outcome) -> str:
    """Return the ratio with its quartiles, or the bound that is known."""
    ratio: Spread = outcome.ratio
    return f"{outcome.bound}{ratio.middle:.2f}" if outcome.bound else ratio_text(ratio)


def _numbers(outcome: Outcome) -> str:
    return ", ".join(f"{name} {number:.8g}" for name, number in outcome.numbers.items())


def _remarks(outcome: Outcome) -> str:
    return f"worse answer: {', '.join(outcome.worse)}" if outcome.worse else ""


def _reasons(outcome: Outcome) -> str:
    reasons = [f"{name}: {reason}" for name, reason in outcome.left_out.items()]
    return "; ".join(reasons + [f"{n}: over {t:g} s" for n, t in outcome.at_least.items()])
