"""What the commands share: options, opening a bank, files that appear whole, and the two streams."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from memlab.errors import InputError

if TYPE_CHECKING:
    from memlab.bank import Bank
    from memlab.corpus.reading import ReadReport, Skipped
    from memlab.graph import SkillGraph

__all__ = [
    "AT",
    "CATEGORY",
    "CUSTOMER",
    "HOME",
    "JSON",
    "OUTPUT",
    "READING",
    "SOURCE",
    "WHOSE",
    "check_output",
    "known_category",
    "known_graph",
    "open_bank",
    "options",
    "print_json",
    "progress_of",
    "read_report",
    "say",
    "skipped_rows",
    "write_text",
    "writing",
]

F = TypeVar("F", bound=Callable[..., Any])
Row = dict[str, Any]


def options(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Several options as one decorator, shown by `--help` in the order given."""

    def decorate(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def _exact_name(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """A customer's name, refused at once if it is empty or odd, whether or not anything would use it."""
    from memlab.records import valid_customer

    return None if value is None else valid_customer(value)


PATH = click.Path(path_type=Path)
HOME = click.option("--home", type=PATH, required=True, help="Folder with one bank file a customer.")
CUSTOMER = click.option("--customer", required=True, callback=_exact_name, help="Whose memory; the exact name.")
SOURCE = click.option(
    "--customer", callback=_exact_name, help="Whose conversations these are, for formats that do not say."
)
WHOSE = options(HOME, CUSTOMER)
CATEGORY = click.option("--category", required=True, help="The IT category, such as teams.")
JSON = click.option("--json", "as_json", is_flag=True, help="Machine-readable output on stdout.")
OUTPUT = click.option("-o", "--output", type=PATH, help="File to write; default: stdout.")
AT = click.option(
    "--at", help="Look at memory as of this time (ISO 8601 with offset); default: its newest conversation."
)
READING = options(
    click.option("--format", "format_", default="jsonl", show_default=True, help="See `memlab formats`."),
    click.option(
        "--zone", help="Time zone of times without an offset, such as Europe/Berlin; they are refused without it."
    ),
    click.option("--strict", is_flag=True, help="Stop at the first piece that can't be read."),
)


# -- the two streams -------------------------------------------------------------------------------------------------


def print_json(value: Any) -> None:
    """One line of canonical JSON on stdout."""
    from memlab.records import canonical_json

    click.echo(canonical_json(value))


def say(text: str) -> None:
    """One line on stderr; what others wrote can't move the cursor."""
    from memlab.records import clean_text

    click.echo(" ".join(clean_text(text).split()), err=True)


def progress_of(total: int, what: str) -> Callable[[int], None]:
    """A counter that rewrites itself on a terminal, else one line every 20 %."""
    shown = [0]

    def show(done: int) -> None:
        if sys.stderr.isatty():
            click.echo(f"\r{what} {done} of {total}", err=True, nl=done >= total)
        elif done * 5 // max(1, total) > shown[0]:
            shown[0] = done * 5 // max(1, total)
            say(f"{what} {done} of {total}")

    return show


# -- files -----------------------------------------------------------------------------------------------------------


def check_output(path: Path) -> Path:
    """The path, if a file can be put there; asked before the work and not after it.

    Raises
    ------
    InputError
        If it is a folder or a device, or its folder is missing or can't be written.
    """
    if not path.name or path.is_dir():
        raise InputError(f"{path}: a folder; name a file")
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: not a regular file; without -o the output goes to stdout")
    if not path.parent.is_dir():
        raise InputError(f"{path}: can't write: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"{path}: can't write: the folder is read-only")
    return path


@contextlib.contextmanager
def writing(path: Path) -> Iterator[Path]:
    """The path, while a file is written there; what goes wrong becomes one line."""
    try:
        yield check_output(path)
    except OSError as error:
        raise InputError(f"{path}: can't write: {error.strerror or error}") from error


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    with writing(path):
        temporary = path.with_name(f"{path.name}.tmp")
        try:
            temporary.write_text(text, encoding="utf-8", newline="\n")
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def read_report(path: Path, *, format_: str, zone: str | None, strict: bool, customer: str | None) -> ReadReport:
    """The conversations of a file; what was skipped is said line by line.

    Raises
    ------
    InputError
        If nothing could be read.
    """
    from memlab.corpus import read_conversations

    report = read_conversations(path, format=format_, zone=zone, strict=strict, customer=customer)
    if not report:
        raise InputError(nothing_read(path, report.skipped))
    for skipped in report.skipped:
        say(f"skipped {skipped}")
    return report


def nothing_read(path: Path, skipped: tuple[Skipped, ...]) -> str:
    """Why a file gave no conversation."""
    if not skipped:
        return f"{path}: no conversation in this file"
    if len(skipped) == 1:
        return f"{skipped[0]} (and there is nothing else to read)"
    return f"{skipped[0]} (and {len(skipped) - 1} more; nothing could be read)"


def skipped_rows(skipped: Iterable[Skipped]) -> list[Row]:
    """As `--json` shows what was skipped."""
    return [{"file": s.file, "line": s.line, "reason": s.reason} for s in skipped]


# -- memory ----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def open_bank(home: Path, customer: str) -> Iterator[Bank]:
    """A customer's bank, which must exist."""
    from memlab.bank import Bank

    with Bank.open(home, customer, create=False) as bank:
        yield bank


def known_category(bank: Bank, category: str) -> str:
    """The category, if the bank knows it.

    Raises
    ------
    InputError
        If it does not; the message names those that it knows.
    """
    known = sorted({*bank.categories(), *bank.proposed()})
    if category not in known:
        raise InputError(f"nothing learned about {category!r}; known: {', '.join(known) or 'nothing yet'}")
    return category


def known_graph(bank: Bank, category: str, at: str | None) -> SkillGraph:
    """The graph of a category that the bank knows."""
    graph = bank.graph(category, at=at)
    known_category(bank, category)
    return graph
