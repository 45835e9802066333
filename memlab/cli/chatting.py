"""`memlab chat`: the support agent in a terminal, or in a pipe, one message a line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memlab.cli.shared import JSON, WHOSE, options, print_json, say
from memlab.errors import InputError, MemlabError

if TYPE_CHECKING:
    from memlab.agent import SupportAgent

__all__ = ["chat"]

HELP = """\
/resolve [FIX]         the open problem is solved, by this step or by the one tried or proposed last
/close                 the open problem is closed without a fix
/timeline              everything that is remembered of this customer
/profile FACT          remember a fact; `/profile style short` (or steps, plain) sets how answers are written
/forget [CONVERSATION] forget this conversation, or the one named; `/forget all` forgets the customer
/memory on|off         with memory off nothing is read or written
/quit                  end"""


@dataclass
class _Session:
    """One conversation of one customer; `at` is the time of the first message, if it is not the clock's."""

    agent: SupportAgent
    customer: str
    conversation: str | None
    at: datetime | None
    memory: bool
    as_json: bool
    count: int = 0
    failed: bool = field(default=False)

    def now(self) -> datetime | None:
        """The time of the next message: a minute after the last, or the clock's."""
        if self.at is None:
            return None
        self.count += 1
        return self.at + timedelta(minutes=self.count - 1)

    @property
    def where(self) -> dict[str, Any]:
        """The arguments that say when and in which conversation."""
        return {"at": self.now(), "conversation": self.conversation}


@click.command(short_help="Talk to the support agent, memory on or off.")
@options(
    WHOSE,
    click.option(
        "--memory", type=click.Choice(["on", "off"]), default="on", show_default=True, help="Read and write memory."
    ),
    click.option("--store", help="bank, json or hindsight; default: MEMLAB_STORE, else HINDSIGHT_URL, else bank."),
    click.option("--conversation", help="Name of the conversation; default: one a day."),
    click.option("--at", help="Time of the first message (ISO 8601 with offset); default: now."),
    JSON,
)
def chat(
    home: Path,
    customer: str,
    memory: str,
    store: str | None,
    conversation: str | None,
    at: str | None,
    as_json: bool,
) -> None:
    """Talk to the support agent: a line is a message, a line that starts with / a command (see /help).

    Under each reply stands what was recalled and why, and what was learned. Works in a pipe, too; a line that fails is
    said on stderr, and the exit code is 1.
    """
    from memlab.agent import SupportAgent
    from memlab.records import parse_time

    start = parse_time(at) if at else None
    agent = SupportAgent.open(home, backend=store)
    session = _Session(agent, customer, conversation, start, memory == "on", as_json)
    if sys.stdin.isatty():
        say(f"{customer}, memory {memory}; /help lists the commands, /quit ends")
    for line in _lines():
        if line in ("/quit", "/exit"):
            break
        try:
            _answer(session, line)
        except MemlabError as error:
            session.failed = True
            say(f"memlab: {error}")
    if session.failed and not sys.stdin.isatty():
        raise SystemExit(1)


def _lines() -> Iterator[str]:
    """Lines of stdin that say something, with a prompt on a terminal, and echoed in a pipe so that the output reads well."""
    terminal = sys.stdin.isatty()
    while True:
        if terminal:
            click.echo("> ", nl=False, err=True)
        line = sys.stdin.readline()
        if not line:
            return
        if line.strip():
            yield line.strip()


def _answer(session: _Session, line: str) -> None:
    if line.startswith("/"):
        word, _, rest = line[1:].partition(" ")
        if word not in _COMMANDS:
            raise InputError(f"no command /{word}; there are {', '.join(f'/{c}' for c in (*_COMMANDS, 'quit'))}")
        text, data = _COMMANDS[word](session, rest.strip())
        print_json({"command": word, **data}) if session.as_json else click.echo(_block(line, text))
        return
    reply = session.agent.ask(session.customer, line, memory=session.memory, **session.where)
    if session.as_json:
        print_json(reply.to_json())
    else:
        click.echo(_block(line, str(reply)))


def _block(line: str, text: str) -> str:
    from memlab.records import clean_text

    shown = clean_text(text)
    return shown if sys.stdin.isatty() else f"> {clean_text(line)}\n{shown}\n"


Answer = tuple[str, dict[str, Any]]


def _resolve(session: _Session, rest: str) -> Answer:
    return _changed(session.agent.resolve(session.customer, fix=rest or None, **session.where))


def _close(session: _Session, _: str) -> Answer:
    return _changed(session.agent.close(session.customer, **session.where))


def _profile(session: _Session, rest: str) -> Answer:
    word, _, style = rest.partition(" ")
    if not rest:
        raise InputError("/profile needs a fact, or `style short`, `style steps` or `style plain`")
    at = session.now()
    if word == "style":
        chosen: Any = style.strip()
        return _changed(session.agent.set_profile(session.customer, style=chosen, at=at))
    return _changed(session.agent.set_profile(session.customer, rest, at=at))


def _timeline(session: _Session, _: str) -> Answer:
    timeline = session.agent.timeline(session.customer)
    return str(timeline), timeline.to_json()


def _forget(session: _Session, rest: str) -> Answer:
    if rest == "all":
        count = session.agent.forget(session.customer)
    else:
        count = session.agent.forget(session.customer, conversation=rest or _today(session))
    return f"forgot {count} memories", {"forgotten": count}


def _today(session: _Session) -> str:
    """The name of this conversation, as the agent names it."""
    return session.conversation or session.agent.conversation_of(session.at)


def _memory(session: _Session, rest: str) -> Answer:
    if rest not in ("on", "off"):
        raise InputError("/memory needs on or off")
    session.memory = rest == "on"
    return f"memory is {rest}", {"memory": session.memory}


def _help(_: _Session, __: str) -> Answer:
    return HELP, {"help": HELP.splitlines()}


def _changed(memories: Any) -> Answer:
    from memlab.agent.replies import told

    return "\n".join(map(told, memories)), {"changed": [m.to_json() for m in memories]}


_COMMANDS: Mapping[str, Callable[[_Session, str], Answer]] = {
    "resolve": _resolve,
    "close": _close,
    "timeline": _timeline,
    "profile": _profile,
    "forget": _forget,
    "memory": _memory,
    "help": _help,
}
