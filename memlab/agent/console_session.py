"""A talk with the support agent, with memory on and off side by side; what the console shows, without any widget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from memlab.agent.agent import SupportAgent
from memlab.agent.console_html import session_html
from memlab.agent.replies import Reply
from memlab.agent.timeline import Timeline
from memlab.errors import InputError
from memlab.records import valid_customer

__all__ = ["Exchange", "Mode", "Session", "play"]

Mode = Literal["both", "on", "off"]
_SHOWN: Mapping[Mode, tuple[bool, ...]] = {"both": (False, True), "on": (True,), "off": (False,)}


@dataclass(frozen=True, slots=True)
class Exchange:
    """A message, and the replies to it by whether memory was on."""

    message: str
    replies: Mapping[bool, Reply]


class Session:
    """One customer's talk. The side with memory off reads and writes nothing, whatever the other one learns.

    Parameters
    ----------
    agent : SupportAgent
        Who answers.
    customer : str
        The exact name.
    conversation : str, optional
        The first conversation's name; by default the agent's, one a day.
    mode : {"both", "on", "off"}
        Which sides answer.

    Raises
    ------
    CustomerError
        If the name is empty or odd.
    """

    def __init__(
        self, agent: SupportAgent, customer: str, *, conversation: str | None = None, mode: Mode = "both"
    ) -> None:
        self.agent, self.customer = agent, valid_customer(customer)
        self.conversation, self.mode = conversation, mode
        self.items: list[Exchange | str] = []

    @property
    def shown(self) -> tuple[bool, ...]:
        """The sides that answer or have answered, memory off first."""
        said = {side for item in self.items if isinstance(item, Exchange) for side in item.replies}
        return tuple(sorted({*said, *_SHOWN[self.mode]}))

    def seen(self, memory: bool) -> list[Exchange | str]:
        """What one side shows: its exchanges, and on the side with memory also what was done to it."""
        return [i for i in self.items if (memory in i.replies if isinstance(i, Exchange) else memory)]

    def say(self, message: str, *, at: datetime | str | None = None) -> Exchange:
        """Send a message to every side that is on.

        Raises
        ------
        MemlabError
            As `SupportAgent.ask`; nothing is shown then that was not answered.
        """
        ask = self.agent.ask
        replies = {
            side: ask(self.customer, message, conversation=self.conversation, at=at, memory=side)
            for side in _SHOWN[self.mode]
        }
        exchange = Exchange(message, replies)
        self.items.append(exchange)
        return exchange

    def resolve(self, *, fix: str | None = None, at: datetime | str | None = None) -> str:
        """Mark the open problem as solved, by a person; says what that verified."""
        done = self.agent.resolve(self.customer, fix=fix, at=at, conversation=self.conversation)
        solved = "; ".join(m.text for m in done if m.kind == "incident")
        fixes = "; ".join(m.text for m in done if m.kind == "attempt")
        return self._note(f"Marked resolved: {solved}" + (f", by: {fixes}" if fixes else ", without a known step"))

    def forget(self, *, conversation: str | None = None) -> str:
        """Erase what one conversation told, or everything of this customer."""
        n = self.agent.forget(self.customer, conversation=conversation)
        if conversation is None:
            self.items.clear()
            return self._note(f"Forgot everything of {self.customer}: {n} memories")
        return self._note(f"Forgot {conversation}: {n} memories")

    def timeline(self) -> Timeline:
        """What is remembered of this customer now."""
        return self.agent.timeline(self.customer)

    def _note(self, text: str) -> str:
        self.items.append(text)
        return text

    def __str__(self) -> str:
        out = []
        for memory in self.shown:
            out.append(f"-- memory {'on' if memory else 'off'} --")
            for item in self.seen(memory):
                if isinstance(item, str):
                    out.append(f"({item})")
                else:
                    out += [f"{self.customer}: {item.message}", f"agent: {item.replies[memory]}"]
        return "\n".join([*out, "-- timeline --", str(self.timeline())])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return session_html(self)


def play(agent: SupportAgent, customer: str, script: Iterable[Mapping[str, str]], *, mode: Mode = "both") -> Session:
    """A session that follows a script: rows with ``at``, ``conversation`` and either ``say`` or ``do`` (``resolve``).

    Raises
    ------
    InputError
        If a row is neither.
    """
    session = Session(agent, customer, mode=mode)
    for row in script:
        session.conversation = row["conversation"]
        if "say" in row:
            session.say(row["say"], at=row["at"])
        elif row.get("do") == "resolve":
            session.resolve(fix=row.get("fix"), at=row["at"])
        else:
            raise InputError(f"a row of the script says or resolves something, not {dict(row)!r}")
    return session
