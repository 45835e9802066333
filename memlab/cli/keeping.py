"""Keeping a bank: forgetting, checking, moving it elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from memlab.cli.shared import JSON, PATH, WHOSE, check_output, open_bank, print_json, write_text
from memlab.errors import InputError, MemlabError

__all__ = ["bank", "forget"]


@click.command()
@WHOSE
@click.option("--conversation", help="Id of the one conversation to forget; default: everything.")
@click.option(
    "--cassette", "cassettes", type=PATH, multiple=True, help="Forget recorded replies about it in this file, too."
)
@JSON
def forget(home: Path, customer: str, conversation: str | None, cassettes: Sequence[Path], as_json: bool) -> None:
    """Forget a conversation, or a customer. As if never seen: no entry, vector or byte of the file keeps a trace."""
    from memlab.bank import bank_path
    from memlab.learning import forget as forget_in
    from memlab.models.cassette import Cassette

    tapes = [
        Cassette(path) for path in cassettes
    ]  # opened first: what can't be read stops before anything is forgotten
    with open_bank(home, customer) as bank:
        removed = forget_in(bank, conversation)
    replies = sum(tape.forget(customer, conversation) for tape in tapes)
    if conversation is not None and not removed and not replies:
        raise InputError(f"no conversation {conversation!r} in the memory of {customer}")
    if conversation is None:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{bank_path(home, customer)}{suffix}").unlink(missing_ok=True)
    if as_json:
        print_json({"forgotten": removed, **({"replies": replies} if tapes else {})})
        return
    said = f" and {replies} recorded replies" if tapes else ""
    click.echo(f"{customer}: forgot {removed} conversation{'s' * (removed != 1)}{said}")


@click.group()
def bank() -> None:
    """Check, export, import or shrink a customer's bank file."""


@bank.command()
@WHOSE
@JSON
def check(home: Path, customer: str, as_json: bool) -> None:
    """Look for faults. Damage, evidence without a conversation, derived state that replays differently."""
    with open_bank(home, customer) as opened:
        faults = opened.check()
    if as_json:
        print_json({"faults": faults})
    else:
        for fault in faults or [f"{customer}: no fault found"]:
            click.echo(fault)
    if faults:
        raise MemlabError(f"{customer}: {len(faults)} faults")


@bank.command()
@WHOSE
@click.argument("file", required=False, type=PATH)
def export(home: Path, customer: str, file: Path | None) -> None:
    """Write truth and derived state in canonical form to FILE or stdout."""
    from memlab.records import canonical_json

    if file is not None:
        check_output(file)
    with open_bank(home, customer) as opened:
        text = canonical_json(opened.export()) + "\n"
    if file is None:
        click.echo(text, nl=False)
    else:
        write_text(file, text)


@bank.command("import")
@WHOSE
@click.argument("file", type=PATH)
@click.option(
    "--rederive", is_flag=True, help="Keep the export's truth, and take what it leads to here without comparing."
)
@JSON
def import_(home: Path, customer: str, file: Path, rederive: bool, as_json: bool) -> None:
    """Make the customer's bank of an export. Derived state is made again from FILE, and must come out the same."""
    from memlab.bank import import_bank

    with import_bank(file, home, customer=customer, rederive=rederive) as opened:
        count = opened.count("conversations")
        categories = opened.categories()
    if as_json:
        print_json({"conversations": count, "categories": categories})
    else:
        click.echo(f"{customer}: {count} conversation{'s' * (count != 1)} about {', '.join(categories) or 'nothing'}")


@bank.command()
@WHOSE
def vacuum(home: Path, customer: str) -> None:
    """Rewrite the file without free pages."""
    with open_bank(home, customer) as opened:
        opened.vacuum()
