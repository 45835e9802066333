"""People's part: what they should look at, and what they decide."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memlab.cli.shared import CATEGORY, JSON, WHOSE, known_category, open_bank, options, print_json, say
from memlab.errors import InputError

if TYPE_CHECKING:
    from memlab.bank import Bank
    from memlab.curation.decisions import Decision

__all__ = ["decide", "review"]

_ANSWERS = {
    "same": "A and B are wordings of one entry.",
    "apart": "A and B are different entries, whatever they look like.",
    "rename": "The entry with the wording A gets the title B.",
    "reject": "A, and what means the same, is no entry and stays out.",
    "accept": "A may enter memory, although it fetches code and runs it.",
}
_PAIRS = ("same", "apart", "rename")


@click.command()
@WHOSE
@click.option("--category", help="Look in this category only.")
@JSON
def review(home: Path, customer: str, category: str | None, as_json: bool) -> None:
    """List what a person should look at. Pairs that are perhaps the same, and wordings that wait to be let in."""
    from memlab.bank.review import review_queue

    with open_bank(home, customer) as bank:
        items = review_queue(bank, None if category is None else known_category(bank, category))
    if as_json:
        print_json({"review": [item.to_json() for item in items]})
        return
    for item in items:
        pair = f"“{item.text}”" + (f" / “{item.near}”" if item.near else "")
        click.echo(f"{item.kind} in {item.category}: {pair}")
        click.echo(f"  {item.reason} ({item.conversation}, turn {item.turn}: “{' '.join(item.quote.split())}”)")
        click.echo(f"  memlab decide {'|'.join(item.answers)}")
    if not items:
        click.echo("nothing to look at")


@click.group()
def decide() -> None:
    """Say what holds about wordings. Memory is made again as if it had been known from the start."""


def _answer(answer: str, about: str) -> click.Command:
    """The command for one kind of answer."""

    def command(home: Path, customer: str, category: str, kind: Any, as_json: bool, a: str, b: str = "") -> None:
        from memlab.curation.decisions import Decision

        with open_bank(home, customer) as bank:
            decision = Decision(answer, known_category(bank, category), kind, a, b)  # type: ignore[arg-type]
            unsaid = _unsaid(bank, decision)
            bank.decide(decision)
            waits = _bring_about(bank)
        for wording in unsaid:
            say(
                f"nobody has said {wording!r} as a {kind} in {category} yet; the decision holds from when somebody does"
            )
        if as_json:
            print_json({"id": decision.id, **_row(decision)})
        else:
            click.echo(f"{decision.id}: {_text(decision)}{waits}")

    arguments = [click.argument("a", metavar="A"), *([click.argument("b", metavar="B")] if answer in _PAIRS else [])]
    kind = click.option(
        "--kind", required=True, type=click.Choice(["symptom", "cause", "solution"]), help="The column."
    )
    return click.command(answer, help=about)(options(WHOSE, CATEGORY, kind, JSON, *arguments)(command))


for _name, _about in _ANSWERS.items():
    decide.add_command(_answer(_name, _about))


@decide.command()
@WHOSE
@click.argument("decision")
@JSON
def undo(home: Path, customer: str, decision: str, as_json: bool) -> None:
    """Take back a decision by id. Afterwards memory is as if DECISION had never been made."""
    with open_bank(home, customer) as bank:
        if not bank.take_back(decision):
            known = ", ".join(d.id for d in bank.decisions()) or "none was made"
            raise InputError(f"no decision {decision!r} in the memory of {customer}; known: {known}")
        waits = _bring_about(bank)
    if as_json:
        print_json({"undone": decision})
    else:
        click.echo(f"{customer}: took back {decision}{waits}")


@decide.command("list")
@WHOSE
@JSON
def list_(home: Path, customer: str, as_json: bool) -> None:
    """List what was decided, in order, with the ids for `undo`."""
    with open_bank(home, customer) as bank:
        decisions = bank.decisions()
    if as_json:
        print_json({"decisions": [{"id": d.id, **_row(d)} for d in decisions]})
        return
    for d in decisions:
        click.echo(f"{d.id}: {_text(d)}")


def _row(decision: Decision) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(decision)


def _text(d: Decision) -> str:
    return f"{d.kind} in {d.category}: {d.answer} “{d.a}”" + (f" / “{d.b}”" if d.b else "")


def _unsaid(bank: Bank, decision: Decision) -> list[str]:
    """The wordings of a decision that no conversation has: often a misspelling."""
    from memlab.curation.keys import normal_key

    said = {normal_key(op.text) for op in bank.operations(decision.category) if op.kind == decision.kind}
    wordings = (decision.a, decision.b) if decision.answer in ("same", "apart") else (decision.a,)
    return [w for w in wordings if normal_key(w) not in said]


def _bring_about(bank: Bank) -> str:
    """Make memory again now, or say when that will be."""
    from memlab.bank.replay import can_replay, curator_name, replay

    if not can_replay(bank, None):
        return f"\nmemory follows when the curator {curator_name(bank)} learns next"
    replay(bank)
    return ""
