"""Playing the simulated help desk, and what it says about memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memlab.cli.shared import JSON, PATH, print_json, progress_of, say
from memlab.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from memlab.simulation.records import Trial

__all__ = ["simulate"]

_SHOWN = {
    "resolved": "resolved",
    "steps": "steps",
    "tool_relevance": "tool relevance",
    "first_action_right": "first action right",
    "repeated_failed_steps": "repeated failures",
    "user_effort": "user minutes",
    "harm": "harm",
    "tokens": "tokens",
}


@click.command()
@click.option("--scenarios", type=PATH, required=True, help="JSON lines, such as datasets/scenarios.jsonl.")
@click.option("--arms", help="Names with commas between them; default: all. `--arms list` shows them.")
@click.option("--repeats", default=6, show_default=True, help="How often each scenario is played with each arm.")
@click.option("--seed", default=20260930, show_default=True, help="Of every throw of the dice.")
@click.option("--budget", default=1000, show_default=True, help="Tokens of every arm's context.")
@click.option("--history", default=20, show_default=True, help="Past cases a customer and category to learn from.")
@click.option("--learn", "past", type=PATH, help="Conversations to learn from instead of the simulator's own past.")
@click.option("--processes", default=2, show_default=True, help="Players at a time; the result is the same for any.")
@click.option("--strict", is_flag=True, help="Stop at the first scenario that can't be read.")
@click.option("-o", "--output", type=PATH, required=True, help="Folder for the trials; a killed run goes on there.")
@JSON
def simulate(
    scenarios: Path, arms: str | None, repeats: int, seed: int, budget: int, history: int, past: Path | None,
    processes: int, strict: bool, output: Path, as_json: bool,
) -> None:  # fmt: skip
    """Play support cases with and without memory. Agents, users and devices are simulated; differences are paired."""
    from memlab.simulation.memories import ARMS
    from memlab.simulation.running import Settings
    from memlab.simulation.running import simulate as run
    from memlab.simulation.scenarios import read_scenarios
    from memlab.simulation.world import load_world

    if arms == "list":
        for name, what in ARMS.items():
            click.echo(f"{name:<16}{what}")
        return
    chosen = tuple(a.strip() for a in arms.split(",")) if arms else tuple(ARMS)
    settings = Settings(chosen, repeats, seed, budget, history)
    if output.exists() and not output.is_dir():
        raise InputError(f"{output}: not a folder")
    report = read_scenarios(scenarios, load_world(), strict=strict)
    for skipped in report.skipped:
        say(f"skipped {skipped}")
    trials = run(
        report.scenarios,
        output,
        settings,
        processes=processes,
        conversations=_read(past),
        progress=say,
        played=_counter(),
    )
    _show(trials, chosen, seed, as_json=as_json)
    say(f"{len(trials)} trials: {output / 'trials.jsonl'}")


def _read(path: Path | None) -> Sequence[Any]:
    from memlab.cli.shared import read_report

    return list(read_report(path, format_="jsonl", zone=None, strict=False, customer=None)) if path else []


def _counter() -> Callable[[int, int], None]:
    counters: dict[int, Callable[[int], None]] = {}

    def played(done: int, total: int) -> None:
        counters.setdefault(total, progress_of(total, "trials"))(done)

    return played


def _show(trials: Sequence[Trial], arms: Sequence[str], seed: int, *, as_json: bool) -> None:
    """The arms' means, and each against `none`, paired, with 95 % intervals."""
    from memlab.evaluation.trials import arm_means, compare_trials

    means = arm_means(trials, metrics=_SHOWN, seed=seed)
    found = compare_trials(trials, metrics=_SHOWN, seed=seed) if "none" in arms and len(arms) > 1 else None
    if as_json:
        differences = [] if found is None else _rows(found)
        print_json({"trials": len(trials), "means": _rows(means), "differences": differences})
        return
    table = means.pivot(index="arm", columns="metric", values="value").reindex(index=list(arms), columns=list(_SHOWN))
    _print(
        ["arm", *_SHOWN.values()],
        [[arm, *(f"{v:.2f}" for v in row)] for arm, row in zip(arms, table.to_numpy(), strict=True)],
    )
    if found is not None:
        click.echo("\nagainst none, paired by scenario and repeat, 95 % interval over scenarios")
        rows = [
            [r["arm"], _SHOWN[r["metric"]], f"{r['difference']:+.3f}", f"[{r['low']:+.3f}, {r['high']:+.3f}]", f"{r['relative']:+.1%}", r["verdict"]]
            for r in found[found["metric"].isin(["resolved", "steps", "tool_relevance"])].to_dict("records")
        ]  # fmt: skip
        _print(["arm", "measure", "difference", "interval", "relative", ""], rows)


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows that JSON can hold: a number that is none is null."""
    return [
        {str(k): None if isinstance(v, float) and v != v else v for k, v in row.items()}
        for row in frame.astype(object).to_dict("records")
    ]


def _print(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[n]) for row in [head, *rows]) for n in range(len(head))]
    for row in [head, *rows]:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
