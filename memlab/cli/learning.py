"""Conversations in: from foreign files, to proposals, into memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memlab.cli.following import CLUSTER, FOLLOW, follow_folder, learn_on_cluster, streamed, wants_cluster
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
from memlab.errors import ExtractionError, InputError

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
@CLUSTER
@FOLLOW
@JSON
def learn(
    conversations: Path, home: Path, format_: str, zone: str | None, strict: bool, customer: str | None,
    extractor: str, curator: str, processes: int, scheduler: str | None, workers: int | None, at_once: int | None,
    per_minute: float | None, follow: bool, once: bool, every: float, as_json: bool, **model: Any,
) -> None:  # fmt: skip
    """Learn CONVERSATIONS, each into its own customer's bank. Learning them again changes nothing and says so.

    One that can't be read is reported, kept as pending, and tried again next time.

    With --follow it is a folder, and each file that comes into it is learned; --once does that one time. With
    --scheduler the work is spread over a Dask cluster; the result is the same.
    """
    cluster = wants_cluster(scheduler, workers, at_once=at_once, per_minute=per_minute)
    _check_call(cluster, follow, once, strict, processes, extractor)
    total: dict[str, Any] = {**dict.fromkeys(_COUNTS, 0), "skipped": [], "operations": dict.fromkeys(_OPERATIONS, 0)}
    readers = readers_of(extractor, curator, **model)
    if cluster:
        stream = streamed(
            conversations, format_=format_, zone=zone, strict=strict, customer=customer, skipped=total["skipped"]
        )
        reports = learn_on_cluster(
            conversations, home, stream=stream, scheduler=scheduler, workers=workers,
            readers=(extractor, curator, model), at_once=at_once, per_minute=per_minute,
        )  # fmt: skip
        if not reports:
            raise InputError(
                f"{conversations}: no conversation could be read{'; see above' if total['skipped'] else ''}"
            )
        for name, report in reports.items():
            _took(total, home, name, report.to_json(), quiet=as_json)
    elif follow:
        follow_folder(
            conversations, home, format_=format_, zone=zone, customer=customer, every=every, once=once,
            take=lambda chunk: _take(total, home, chunk, readers, processes, quiet=as_json),
        )  # fmt: skip
    else:
        read = read_report(conversations, format_=format_, zone=zone, strict=strict, customer=customer)
        total["skipped"] = skipped_rows(read.skipped)
        _take(total, home, read, readers, processes, quiet=as_json)
    if as_json:
        print_json({**total, **readers.usage_row()})


def _check_call(cluster: bool, follow: bool, once: bool, strict: bool, processes: int, extractor: str) -> None:
    if processes > 1 and extractor == "prompted":
        raise click.UsageError("--processes is for the offline extractor; a prompted one asks several at a time anyway")
    if cluster and (follow or processes > 1):
        raise click.UsageError(f"--scheduler and --{'follow' if follow else 'processes'} exclude each other")
    if once and not follow:
        raise click.UsageError("--once needs --follow")
    if follow and strict:
        raise click.UsageError("--strict stops at a bad line; --follow reports it once and goes on")


def _take(
    total: dict[str, Any], home: Path, report: ReadReport, readers: Readers, processes: int, *, quiet: bool
) -> None:
    """Learn what was read, customer by customer, and add to the counts."""
    fresh = {name: _fresh(home, name, report, readers) for name in sorted({c.customer for c in report})}
    with readers.asking([c for new in fresh.values() for c in new]):
        for name, new in fresh.items():
            mine = [c for c in report if c.customer == name]
            _add(total, _learn_one(home, name, mine, new, readers, processes), name, quiet=quiet)


def _took(total: dict[str, Any], home: Path, customer: str, done: dict[str, Any], *, quiet: bool) -> None:
    """Say what workers could not read, and add to the counts."""
    from memlab.bank import Bank

    for skipped in done["skipped"]:
        say(f"skipped {customer}: {skipped['reason']}")
    if done["pending"]:
        with Bank.open(home, customer, create=False) as bank:
            _say_pending(bank, {c for c, _ in bank.pending()})
    _add(total, done, customer, quiet=quiet)


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


def _add(total: dict[str, Any], done: Mapping[str, Any], name: str, *, quiet: bool) -> None:
    for key in _COUNTS:
        total[key] += done[key]
    total["skipped"] += done["skipped"]
    for op in _OPERATIONS:
        total["operations"][op] += done["operations"][op]
    if not quiet:
        click.echo(_line(name, done))


def _line(name: str, done: Mapping[str, Any]) -> str:
    counts = ", ".join(f"{done[key]} {key}" for key in ("learned", "updated", "unchanged", "pending") if done[key])
    changed = ", ".join(f"{n} {op}" for op, n in done["operations"].items() if n) or "no operation"
    return f"{name}: {counts}; {changed}"
