"""`memlab learn --follow` and `memlab learn --scheduler`: learning that goes on, and learning on many workers."""

from __future__ import annotations

import functools
import hashlib
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memlab.cli.shared import options, say
from memlab.errors import InputError, TimeError

if TYPE_CHECKING:
    from memlab.corpus.reading import ReadReport
    from memlab.curation.curator import Curator
    from memlab.extraction import Extractor
    from memlab.learning import LearnReport
    from memlab.records import Conversation

__all__ = ["CLUSTER", "FOLLOW", "follow_folder", "learn_on_cluster", "streamed", "wants_cluster"]

FOLLOW = options(
    click.option("--follow", is_flag=True, help="CONVERSATIONS is a folder: learn each new file, until stopped."),
    click.option("--once", is_flag=True, help="With --follow: learn what is new in the folder, and end (for cron)."),
    click.option(
        "--every", type=click.FloatRange(min=0.05), default=5.0, show_default=True, help="Seconds between two looks."
    ),
)
CLUSTER = options(
    click.option("--scheduler", help="Address of a Dask scheduler (tcp://…), or local for one on this machine."),
    click.option("--workers", type=click.IntRange(min=1), help="Worker processes of a local scheduler."),
    click.option("--at-once", type=click.IntRange(min=1), help="Conversations asked for at a time, by all workers."),
    click.option("--per-minute", type=float, help="Conversations asked for a minute, by all workers."),
)


# -- a folder ----------------------------------------------------------------------------------------------------------


def follow_folder(
    folder: Path,
    home: Path,
    *,
    format_: str,
    zone: str | None,
    customer: str | None,
    take: Callable[[ReadReport], None],
    every: float,
    once: bool,
) -> int:
    """Learn what stands in a folder and what comes into it; Ctrl-C or SIGTERM ends it after the batch in hand.

    Raises
    ------
    InputError
        If the folder is missing.
    """
    from memlab.corpus import read_conversations
    from memlab.corpus.reading import ReadReport
    from memlab.following import Cursor, follow, look

    look(folder)
    home.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
    with _stopping() as stop:
        files = follow(
            folder,
            cursor=Cursor.load(home / f"followed-{name}.json"),
            read=lambda path: read_conversations(path, format=format_, zone=zone, customer=customer),
            take=lambda chunk: take(ReadReport(chunk)),
            tell=say,
            stop=stop,
            pattern="*.jsonl" if format_ == "jsonl" else "*",
            every=every,
            once=once,
        )
        if stop.is_set():
            say("stopped; the next run goes on from here")
    return files


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """An event that the first SIGINT or SIGTERM sets; a second one ends the process at once."""
    stop = threading.Event()

    def ask(number: int, _: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        say(f"{signal.Signals(number).name}: ending after the batch in hand")

    before = {s: signal.signal(s, ask) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# -- a cluster ---------------------------------------------------------------------------------------------------------


def wants_cluster(scheduler: str | None, workers: int | None, **limits: float | None) -> bool:
    """Whether a call asks for a cluster; options that would then mean nothing are refused."""
    if scheduler is None and workers is None:
        for name, value in limits.items():
            if value is not None:
                raise click.UsageError(f"--{name.replace('_', '-')} needs --scheduler or --workers")
        return False
    if workers is not None and scheduler not in (None, "local"):
        raise click.UsageError("--workers is for --scheduler local; a running scheduler has workers of its own")
    return True


def learn_on_cluster(
    path: Path,
    home: Path,
    *,
    stream: Iterator[Conversation],
    scheduler: str | None,
    workers: int | None,
    readers: tuple[str, str, dict[str, Any]],
    at_once: int | None,
    per_minute: float | None,
) -> dict[str, LearnReport]:
    """Learn a stream of conversations on a cluster, and say where Dask shows what it does."""
    from memlab.scaling import Paced, learn_on
    from memlab.scaling.distributed import connected, local_client

    extractor: Callable[[], Extractor] = functools.partial(_extractor, *readers)
    if readers[0] == "prompted":
        if readers[2].get("max_cost") is not None:
            raise click.UsageError("--max-cost is counted by each process; it can't be kept over workers")
        extractor = Paced(extractor, at_once=at_once, per_minute=per_minute, name=str(path.name))
    elif at_once is not None or per_minute is not None:
        raise click.UsageError("--at-once and --per-minute are for --extractor prompted")
    local = scheduler in (None, "local")
    with local_client(workers or 2, dashboard=True) if local else connected(scheduler) as client:
        if client.dashboard_link:
            say(f"dashboard: {client.dashboard_link}")
        curator = functools.partial(_curator, *readers)
        return learn_on(client, stream, home, extractor=extractor, curator=curator, progress=_said_by_thousands())


def _said_by_thousands() -> Callable[[int], None]:
    """Says how many conversations are stored, every thousand: of a stream nobody knows the length."""
    said = [0]

    def show(done: int) -> None:
        if done // 1000 > said[0]:
            said[0] = done // 1000
            say(f"stored {done}")

    return show


def _extractor(extractor: str, curator: str, model: dict[str, Any]) -> Extractor:
    from memlab.cli.prompting import readers_of

    return readers_of(extractor, curator, **model).extractor


def _curator(extractor: str, curator: str, model: dict[str, Any], customer: str) -> Curator:
    from memlab.cli.prompting import readers_of

    return readers_of(extractor, curator, **model).curator(customer)


def streamed(
    path: Path, *, format_: str, zone: str | None, strict: bool, customer: str | None, skipped: list[dict[str, Any]]
) -> Iterator[Conversation]:
    """The conversations of a file one by one, so that it may be longer than memory; what is skipped is said and noted.

    Raises
    ------
    InputError
        If the file can't be read, or (strict) a line is bad.
    """
    from memlab.corpus.reading import Options, Skipped, readers

    known = readers()
    if format_ not in known:
        raise InputError(f"unknown format {format_!r}; known: {', '.join(sorted(known))}")
    if not path.exists():
        raise InputError(f"{path}: no such file")
    seen: dict[bytes, bytes] = {}
    for number, item in enumerate(known[format_](path, Options(_zone(zone), customer)), 1):
        if isinstance(item, Skipped):
            found = item
        else:
            key = hashlib.blake2b(f"{item.customer}\0{item.id}".encode(), digest_size=12).digest()
            version = bytes.fromhex(item.version[:16])
            if key not in seen:
                seen[key] = version
                yield item
                continue
            if seen[key] == version:
                continue
            found = Skipped(str(path), number, f"conversation {item.id!r} stands twice with different content")
        if strict:
            raise InputError(str(found))
        say(f"skipped {found}")
        skipped.append({"file": found.file, "line": found.line, "reason": found.reason})


def _zone(zone: str | None) -> Any:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    if zone is None:
        return None
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError):
        raise TimeError(f"unknown time zone {zone!r}; use a name such as Europe/Berlin") from None
