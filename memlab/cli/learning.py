"""Conversations in: from foreign files, to proposals, into memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memlab.cli.prompting import CURATOR, EXTRACTOR, MODEL, Ahead, Readers, readers_of
from memlab.cli.shared import (
    HOME,
    JSON,
    OUTPUT,
    PATH,
    READING,
    SOURCE,
    check_output,
    print_json,
    progress_of,
    read_report,
    say,
    skipped_rows,
    write_text,
)
from memlab.errors import ExtractionError

if TYPE_CHECKING:
    from memlab.bank import Bank
    from memlab.corpus.reading import ReadReport
    from memlab.records import Conversation, Proposal

__all__ = ["extract", "formats", "learn"]

_COUNTS = ("learned", "unchanged", "updated", "pending")
_OPERATIONS = ("add", "edit", "reinforce", "reject")


@click.command()
def formats() -> None:
    """List the formats that conversations can be read from."""
    from memlab.corpus import readers

    for name in sorted(readers()):
        click.echo(name)


@click.command()
@click.argument("conversations", type=PATH)
@READING
@SOURCE
@EXTRACTOR
@MODEL
@OUTPUT
@JSON
def extract(
    conversations: Path, format_: str, zone: str | None, strict: bool, customer: str | None, extractor: str,
    output: Path | None, as_json: bool, **model: Any,
) -> None:  # fmt: skip
    """Read CONVERSATIONS into proposals. Symptoms, root cause, attempts and solution, each with its quote.

    A conversation that can't be read is reported, and the others go on.
    """
    from memlab.records import canonical_json

    if output is not None:
        check_output(output)
    readers = readers_of(extractor, **model)
    report = read_report(conversations, format_=format_, zone=zone, strict=strict, customer=customer)
    lines, unread = [], []
    with readers.asking(report):
        for conversation, found in _read_each(readers, report):
            if not isinstance(found, ExtractionError):
                lines += [canonical_json(p) + "\n" for p in found]
                continue
            reason = f"conversation {conversation.id!r}: {str(found).removeprefix(f'{conversation.id}: ')}"
            if strict or len(report) == 1:
                raise ExtractionError(f"{conversations}: {reason}", raw=found.raw) from found
            say(f"skipped {conversations}: {reason}")
            unread.append({"file": str(conversations), "line": None, "reason": reason})
    if len(unread) == len(report):
        raise ExtractionError(f"{conversations}: none of {len(report)} conversations could be read; see above")
    if output is None:
        click.echo("".join(lines), nl=False)
        return
    write_text(output, "".join(lines))
    read = len(report) - len(unread)
    if as_json:
        skipped = skipped_rows(report.skipped) + unread
        counts = {"conversations": read, "proposals": len(lines), "skipped": skipped, "output": str(output)}
        print_json({**counts, **readers.usage_row()})
    else:
        click.echo(f"{len(lines)} proposals from {read} conversations in {output}")


def _read_each(
    readers: Readers, report: ReadReport
) -> Iterator[tuple[Conversation, Sequence[Proposal] | ExtractionError]]:
    show = progress_of(len(report), "read")
    if readers.prompted:
        yield from readers.prompted.extract_all(report, progress=show)
        return
    for number, conversation in enumerate(report, 1):
        try:
            yield conversation, readers.extractor.extract(conversation)
        except ExtractionError as error:
            yield conversation, error
        show(number)


@click.command()
@click.argument("conversations", type=PATH)
@HOME
@READING
@SOURCE
@EXTRACTOR
@CURATOR
@MODEL
@click.option(
    "--processes",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="Reader processes; the result is the same for any number.",
)
@JSON
def learn(
    conversations: Path, home: Path, format_: str, zone: str | None, strict: bool, customer: str | None,
    extractor: str, curator: str, processes: int, as_json: bool, **model: Any,
) -> None:  # fmt: skip
    """Learn CONVERSATIONS, each into its own customer's bank. Learning them again changes nothing and says so.

    One that can't be read is reported, kept as pending, and tried again next time.
    """
    if processes > 1 and extractor == "prompted":
        raise click.UsageError("--processes is for the offline extractor; a prompted one asks several at a time anyway")
    readers = readers_of(extractor, curator, **model)
    report = read_report(conversations, format_=format_, zone=zone, strict=strict, customer=customer)
    fresh = {name: _fresh(home, name, report, readers) for name in sorted({c.customer for c in report})}
    total: dict[str, Any] = {**dict.fromkeys(_COUNTS, 0), "skipped": skipped_rows(report.skipped)}
    total["operations"] = dict.fromkeys(_OPERATIONS, 0)
    with readers.asking([c for new in fresh.values() for c in new]):
        for name, new in fresh.items():
            done = _learn_one(home, name, [c for c in report if c.customer == name], new, readers, processes)
            _add(total, done)
            if not as_json:
                click.echo(_line(name, done))
    if as_json:
        print_json({**total, **readers.usage_row()})


def _fresh(home: Path, customer: str, report: ReadReport, readers: Readers) -> list[Conversation]:
    """The conversations that a customer's bank does not hold in this form yet, in the order of learning."""
    from memlab.bank import Bank, bank_path

    mine = sorted((c for c in report if c.customer == customer), key=lambda c: c.order)
    if not bank_path(home, customer).exists():
        return mine
    with Bank.open(home, customer, create=False) as bank:
        known = bank.versions(c.id for c in mine)
    return [c for c in mine if known.get(c.id) != (c.version, readers.extractor.name)]


def _learn_one(
    home: Path, name: str, mine: Sequence[Conversation], new: Sequence[Conversation], readers: Readers, processes: int
) -> dict[str, Any]:
    from memlab.bank import Bank
    from memlab.learning import learn as learn_into

    with Bank.open(home, name) as bank:
        done = learn_into(
            bank,
            mine,
            extractor=Ahead(readers.prompted, new) if readers.prompted else readers.extractor,
            curator=readers.curator(name),
            processes=processes,
            progress=progress_of(len(new), f"{name}: read"),
        ).to_json()
        _say_pending(bank, {c.id for c in mine})
    for skipped in done["skipped"]:
        say(f"skipped {name}: {skipped['reason']}")
    return done


def _say_pending(bank: Bank, ids: set[str]) -> None:
    for conversation, reason in bank.pending():
        if conversation in ids:
            say(f"pending {bank.customer}: conversation {conversation!r}: {reason.removeprefix(f'{conversation}: ')}")


def _add(total: dict[str, Any], done: Mapping[str, Any]) -> None:
    for key in _COUNTS:
        total[key] += done[key]
    total["skipped"] += done["skipped"]
    total["operations"] = dict(Counter(total["operations"]) + Counter(done["operations"]))
    total["operations"] = {op: total["operations"].get(op, 0) for op in _OPERATIONS}


def _line(name: str, done: Mapping[str, Any]) -> str:
    counts = ", ".join(f"{done[key]} {key}" for key in ("learned", "updated", "unchanged", "pending") if done[key])
    changed = ", ".join(f"{n} {op}" for op, n in done["operations"].items() if n) or "no operation"
    return f"{name}: {counts}; {changed}"
