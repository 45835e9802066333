"""`memlab import`: foreign conversations in memlab's own form, redacted on wish, with an account of what was read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from memlab.cli.shared import (
    JSON,
    PATH,
    READING,
    SOURCE,
    check_output,
    nothing_read,
    print_json,
    say,
    skipped_rows,
    writing,
)
from memlab.errors import InputError

if TYPE_CHECKING:
    from memlab.corpus.reading import ReadReport

__all__ = ["import_"]

_SHOWN = 10  # skipped pieces that are named on stderr; --json names all
_ROLES = ("role.user", "role.agent", "role.tool")
_FIELDS = (
    "id",
    "customer",
    "category",
    "started_at",
    "requester",
    "turns",
    "role",
    "text",
    "at",
    "time_format",
    "agents",
)


_STORE = click.Choice(["bank", "json", "hindsight"])


@click.command("import")
@click.argument("source", metavar="IN", type=PATH)
@READING
@SOURCE
@click.option(
    "--map",
    "mapping",
    multiple=True,
    metavar="OURS=THEIRS",
    help="Their name for a field of ours, such as id=Ticket or role.agent='Help Desk|Bot'.",
)
@click.option("--at", help="Start of conversations whose file has no time (ISO 8601 with offset).")
@click.option("--redact", is_flag=True, help="Put placeholders for names, addresses, accounts and secrets.")
@click.option("--key", type=PATH, help="With --redact: keep what the placeholders stood for in this file.")
@click.option("-o", "--output", type=PATH, help="Write conversations.jsonl here; default: show what would be read.")
@click.option(
    "--to", "target", type=_STORE, help="Instead: copy the agent's memories into this store; IN is their folder."
)
@click.option("--from", "origin", type=_STORE, help="With --to: the store to copy from; default: bank.")
@JSON
@click.pass_context
def import_(
    ctx: click.Context, source: Path, format_: str, zone: str | None, strict: bool, customer: str | None,
    mapping: Iterable[str], at: str | None, redact: bool, key: Path | None, output: Path | None, target: str | None,
    origin: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Bring foreign conversations into memlab's form. Says what of the file or folder IN was understood."""
    if target is not None or origin is not None:
        _copy(ctx, source, origin or "bank", target, customer, as_json)
        return
    from memlab.corpus import read_conversations
    from memlab.corpus.importing import preview, redact_all
    from memlab.corpus.redaction import read_key

    if key is not None and not redact:
        raise click.UsageError("--key needs --redact: it keeps what redaction replaces")
    if key is not None and output is not None and key.absolute() == output.absolute():
        raise click.UsageError("--key and -o name the same file")
    for path in (key, output):
        if path is not None:
            check_output(path)
    columns = _columns(mapping, format_)
    report = read_conversations(source, format=format_, zone=zone, customer=customer, columns=columns, at=at)
    secrets = read_key(key) if key is not None else None
    if redact:
        report = redact_all(report, key=secrets)
    if not report or (strict and report.skipped):
        raise InputError(str(report.skipped[0]) if strict and report.skipped else nothing_read(source, report.skipped))
    _say_skipped(report)
    shown = preview(report)
    written = _write(report, output, key, secrets) if output is not None else 0
    if as_json:
        rows = skipped_rows(report.skipped)
        out = None if output is None else str(output)
        print_json({**shown.to_json(), "skipped_lines": rows, "written": written, "output": out})
        return
    click.echo(shown.to_text())
    click.echo(f"\n{written} conversations in {output}" if output else "\nnothing was written; -o FILE does")


def _copy(ctx: click.Context, home: Path, origin: str, target: str | None, customer: str | None, as_json: bool) -> None:
    """The agent's memories from one store into another; the folder is that of the file stores."""
    from memlab.agent.moving import copy_memories
    from memlab.agent.stores import open_store

    if target is None:
        raise click.UsageError("--from needs --to: the store to copy into")
    if target == origin:
        raise click.UsageError(f"--from and --to name the same store, {target}; the default of --from is bank")
    allowed = {"source", "target", "origin", "customer", "as_json"}
    given = (
        p for p in ctx.command.params if p.name and ctx.get_parameter_source(p.name) is ParameterSource.COMMANDLINE
    )
    odd = next((p.opts[0] for p in given if p.name not in allowed), None)
    if odd is not None:
        raise click.UsageError(f"{odd} is for conversations; with --to there are --from, --customer and --json")
    if origin != "hindsight" and not home.is_dir():
        raise InputError(f"{home}: no such folder")
    found = copy_memories(open_store(home, backend=origin), open_store(home, backend=target), customer=customer)
    if as_json:
        print_json({"from": origin, "to": target, "memories": found})
        return
    for name, n in found.items():
        click.echo(f"{name}: {n} memor{'y' if n == 1 else 'ies'} from {origin} to {target}")


def _columns(mapping: Iterable[str], format_: str) -> dict[str, str]:
    """The mapping as given, a misspelt field refused rather than passed by."""
    from memlab.corpus.formats import FORMATS

    columns: dict[str, str] = {}
    for item in mapping:
        ours, equals, theirs = (part.strip() for part in item.partition("="))
        if not equals or not theirs:
            raise InputError(f"--map {item!r}: write OURS=THEIRS, such as id=Ticket")
        if format_ == "jsonl":
            raise InputError("--map: the jsonl format has memlab's own names and takes no mapping")
        if format_ in FORMATS and ours not in (*_FIELDS, *_ROLES):
            raise InputError(f"--map {item!r}: no field {ours!r}; known: {', '.join((*_FIELDS, *_ROLES))}")
        if ours in columns:
            raise InputError(f"--map: {ours!r} stands twice; join several words by | in one")
        columns[ours] = theirs
    return columns


def _say_skipped(report: ReadReport) -> None:
    for skipped in report.skipped[:_SHOWN]:
        say(f"skipped {skipped}")
    if len(report.skipped) > _SHOWN:
        say(f"skipped {len(report.skipped) - _SHOWN} more; --json names all")


def _write(report: ReadReport, output: Path, key: Path | None, secrets: dict[str, Any] | None) -> int:
    """Write the key first: without it what the placeholders stood for would be lost."""
    from memlab.corpus.importing import write_conversations
    from memlab.corpus.redaction import write_key

    if key is not None:
        with writing(key):
            write_key(secrets or {}, key)
    with writing(output):
        return write_conversations(report, output)
