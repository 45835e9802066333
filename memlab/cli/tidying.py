"""Keeping a category small: limits, merges of clear duplicates, and rest for the weakest, undone by run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from memlab.cli.shared import CATEGORY, JSON, WHOSE, known_category, open_bank, print_json
from memlab.errors import InputError

if TYPE_CHECKING:
    from memlab.bank.limits import Tidied

__all__ = ["tidy"]


@click.command()
@WHOSE
@CATEGORY
@click.option("--run", help="A new name for what is done now, such as tidy-2026-07.")
@click.option("--undo", metavar="RUN", help="Take back everything that this run did, and do nothing else.")
@click.option("--most", type=float, default=0.05, show_default=True, help="Share of the entries that one run may take.")
@click.option("--most-entries", type=click.IntRange(1), help="Set the category's limit of entries.")
@click.option("--most-tokens", type=click.IntRange(1), help="Set the category's limit of the rendered skill's tokens.")
@JSON
def tidy(
    home: Path,
    customer: str,
    category: str,
    run: str | None,
    undo: str | None,
    most: float,
    most_entries: int | None,
    most_tokens: int | None,
    as_json: bool,
) -> None:
    """Keep a category within its limits. Clear duplicates merge, the weakest entries rest; nothing is lost."""
    from memlab.bank.limits import tidy as tidy_bank
    from memlab.bank.replay import can_replay, replay

    if (run is None) == (undo is None):
        raise click.UsageError("give either --run, a new name, or --undo, the name of a run")
    with open_bank(home, customer) as bank:
        category = known_category(bank, category)
        if undo is not None:
            taken_back = bank.undo(undo)
            if not taken_back:
                known = ", ".join(sorted({d.run for d in bank.decisions() if d.run})) or "none was made"
                raise InputError(f"no run {undo!r} in the memory of {customer}; known: {known}")
            if can_replay(bank, None):
                replay(bank)
            _tell({"undone": taken_back}, f"{undo}: took back {taken_back} decisions", as_json=as_json)
            return
        limits = {"most_entries": most_entries, "most_tokens": most_tokens}
        bank.configure(category, **{name: value for name, value in limits.items() if value is not None})
        done = tidy_bank(bank, category, run=str(run), most=most)
    _tell(_row(done), _text(done, str(run)), as_json=as_json)


def _tell(row: dict[str, object], text: str, *, as_json: bool) -> None:
    if as_json:
        print_json(row)
    else:
        click.echo(text)


def _row(done: Tidied) -> dict[str, object]:
    merged = [{"first": d.first, "second": d.second, "titles": d.titles, "p": d.probability} for d in done.merged]
    return {"merged": merged, "rested": list(done.rested), "over": done.over}


def _text(done: Tidied, run: str) -> str:
    lines = [f"merged: {d.titles[1]} into {d.titles[0]} (p = {d.probability:.2f})" for d in done.merged]
    lines += [f"rests: {r.kind} {r.title} (weight {r.weight:.2f})" for r in done.rested]
    left = f"; {done.over} entries are still over the limit" if done.over else ""
    return "\n".join([*lines, f"{run}: merged {len(done.merged)}, put {len(done.rested)} to rest{left}"])
