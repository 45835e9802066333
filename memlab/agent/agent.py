"""The support agent: recall, answer, learn, in this order, and from the customer's own history first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from memlab.agent.encoding import RecentEncoder
from memlab.agent.imported import memories_of
from memlab.agent.knowledge import banks_in
from memlab.agent.planning import Style
from memlab.agent.recalling import MOST
from memlab.agent.records import By, Memory, Telling, remembered, without
from memlab.agent.remembering import attempt_of, current_incident, incident_named, open_steps, told
from memlab.agent.replies import Reply
from memlab.agent.stores import Store, open_store
from memlab.agent.timeline import Timeline, timeline_of
from memlab.agent.turns import Limits, Message, Mind
from memlab.agent.writing import Writer
from memlab.bank import Bank
from memlab.errors import InputError, TimeError
from memlab.extraction import Extractor, OfflineExtractor
from memlab.models.cassette import Cassette
from memlab.models.chat import Chat
from memlab.models.embeddings import Encoder, default_encoder
from memlab.records import Conversation, Outcome, clean_text, parse_time, valid_customer

__all__ = ["SupportAgent"]

STYLES: Mapping[Style, str] = {
    "plain": "prefers plain answers",
    "short": "prefers short and technical answers",
    "steps": "prefers answers step by step",
}
TOLD = ("tellings", "symptoms", "inherited", "incident")  # what forgetting something that was told can change
NEAREST = 200  # memories that the store is asked for; the rest count as unlike


class SupportAgent:
    """Answers customers and remembers each of them apart.

    Parameters
    ----------
    store : Store
        Where memories are kept.
    knowledge : callable, optional
        Gives the bank of past conversations of a customer's organisation, or None; by default there is none.
    chat : Chat, optional
        Writes the answers. Without it, or when it fails after its retries, a scripted engine answers from the same
        memory.
    cassette : Cassette, optional
        Recorded replies of the model.
    extractor : Extractor, optional
        Reads messages; by default the offline one.
    encoder : Encoder, optional
        Sentence vectors; by default all-MiniLM-L6-v2.
    words : int
        The most words of a reply.
    budget : int
        The most tokens of recalled history.
    most : int
        The most memories recalled for a message.
    clock : callable
        Gives the time of a live message for which none is given.
    """

    def __init__(
        self,
        store: Store,
        *,
        knowledge: Callable[[str], Bank | None] | None = None,
        chat: Chat | None = None,
        cassette: Cassette | None = None,
        extractor: Extractor | None = None,
        encoder: Encoder | None = None,
        words: int = 120,
        budget: int = 2048,
        most: int = MOST,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        if words < 20 or budget < 0 or most < 1:
            raise InputError(f"words must be ≥ 20, budget ≥ 0 and most ≥ 1, not {words}, {budget}, {most}")
        self.store = store
        self._encoder = encoder if isinstance(encoder, RecentEncoder) else RecentEncoder(encoder or default_encoder())
        self._mind = Mind(
            extractor or OfflineExtractor(self._encoder),
            self._encoder,
            writer=Writer(chat, cassette) if chat is not None or cassette is not None else None,
            limits=Limits(words, budget, most),
        )
        self._knowledge, self._clock = knowledge, clock
        self._locks: dict[str, threading.RLock] = {}
        self._lock = threading.Lock()

    @classmethod
    def open(
        cls, home: str | Path, *, backend: str | None = None, environ: Mapping[str, str] | None = None, **options: Any
    ) -> Self:
        """An agent on a folder of banks: their memories and what they learned from past conversations.

        Parameters
        ----------
        home : path
            Folder with one bank file a customer.
        backend, environ
            Which store, see `open_store`; with `MEMLAB_MODEL` set, that model writes the answers.
        **options
            As for `SupportAgent`.
        """
        import os

        given = os.environ if environ is None else environ
        options.setdefault("chat", Chat(given["MEMLAB_MODEL"]) if given.get("MEMLAB_MODEL") else None)
        options["encoder"] = RecentEncoder(options.get("encoder") or default_encoder())
        store = open_store(home, backend=backend, environ=given, encoder=options["encoder"])
        return cls(store, knowledge=banks_in(home), **options)

    def __repr__(self) -> str:
        return f"SupportAgent({self.store!r})"

    # -- talking ------------------------------------------------------------------------------------------------------

    def ask(
        self,
        customer: str,
        message: str,
        *,
        conversation: str | None = None,
        at: datetime | str | None = None,
        memory: bool = True,
    ) -> Reply:
        """Answer a message: recall what fits, answer from it, then learn what the message told.

        Parameters
        ----------
        customer : str
            Whose message; the exact name.
        message : str
            The customer's words.
        conversation : str, optional
            The conversation that it belongs to; by default one a day.
        at : datetime or ISO text with offset, optional
            When it came; by default now.
        memory : bool
            False answers from the message alone: nothing is read and nothing is written.

        Raises
        ------
        CustomerError, InputError
            If the name is odd or the message blank.
        MemlabError
            If memory can't be read, searched or written: a failure never reads as "no history".
        """
        told_ = self._message(customer, message, conversation, at)
        if not memory:
            return self._mind.answer(told_, (), None, None)[0]
        name = told_.customer
        bank = self._knowledge(name) if self._knowledge else None
        with self._alone(name):
            reply, new = self._mind.answer(told_, self.store.all(name), lambda query: self._similar(name, query), bank)
            self.store.add(name, new)
        return reply

    def observe(
        self,
        customer: str,
        said: str | Conversation,
        *,
        at: datetime | str | None = None,
        conversation: str | None = None,
    ) -> tuple[Memory, ...]:
        """Learn from a message or a whole past conversation without answering; it keeps its own dates.

        Parameters
        ----------
        customer : str
            Whose history it is.
        said : str or Conversation
            What was said. A conversation is closed history: what it did not solve is closed without a fix.
        at : datetime or ISO text with offset
            When a message was said; it must be given. A conversation knows.
        conversation : str, optional
            Where a message was said; by default one a day.

        Returns
        -------
        tuple of Memory
            What was learned; observing the same again changes nothing.

        Raises
        ------
        TimeError
            If a message has no date.
        """
        name = valid_customer(customer)
        if isinstance(said, Conversation):
            with self._alone(name):
                return self._keep(name, memories_of(name, said, self._mind.extractor.extract(said)))
        if at is None:
            raise TimeError("observed history keeps its own date: give at= (ISO 8601 with an offset)")
        message = self._message(customer, said, conversation, at)
        with self._alone(name):
            memories = self.store.all(name)
            return self._keep(name, self._mind.learn(message, self._mind.hear(message, memories), memories)[0])

    def report_step(
        self,
        customer: str,
        action: str,
        *,
        outcome: Outcome = "unknown",
        symptoms: Iterable[str] = (),
        by: By = "user",
        at: datetime | str | None = None,
        conversation: str | None = None,
    ) -> Memory:
        """Remember a step and its outcome, without reading a message.

        Parameters
        ----------
        customer, at, conversation
            As for `ask`.
        action : str
            What was done.
        outcome : {"worked", "failed", "partial", "unknown"}
            Whether it helped. One that worked closes the open incident, unless the agent says so: that is a claim.
        symptoms : iterable of str
            What it was against; by default the open incident's.
        by : {"user", "agent", "tool", "staff"}
            Who says so.

        Returns
        -------
        Memory
            The attempt as it is remembered now.
        """
        if outcome not in ("worked", "failed", "partial", "unknown") or by not in ("user", "agent", "tool", "staff"):
            raise InputError(f"outcome {outcome!r} or by {by!r} is not allowed; see SupportAgent.report_step")
        message = self._message(customer, action, conversation, at)
        telling = Telling(message.at, message.conversation, by, outcome, message.text)
        explicit = tuple(clean_text(s) for s in symptoms)
        with self._alone(message.customer):
            memories = self.store.all(message.customer)
            incident = current_incident(memories, message.conversation)
            new = [self._attempt(message, telling, memories, incident, explicit)]
            if incident is not None and outcome == "worked" and by != "agent":
                new.append(told(incident, telling))
            return self._keep(message.customer, new)[0]

    def resolve(
        self,
        customer: str,
        *,
        fix: str | None = None,
        incident: str | None = None,
        by: By = "staff",
        at: datetime | str | None = None,
        conversation: str | None = None,
    ) -> tuple[Memory, ...]:
        """Mark an incident as solved, and the step that did it as a verified fix.

        Parameters
        ----------
        customer, at, conversation
            As for `ask`.
        fix : str, optional
            The step that helped, in words or by the id of a memory; by default the step of this incident whose outcome
            nobody knows, told or proposed last, if there is one.
        incident : str, optional
            Its id; by default the open one that was told of last.
        by : {"user", "tool", "staff"}
            Who says so.

        Raises
        ------
        InputError
            If there is no such incident, none is open, or `by` is the agent: it can't verify itself.
        """
        if by not in ("user", "tool", "staff"):
            raise InputError(f"by must be user, tool or staff, not {by!r}: what the agent says is a claim")
        message = self._message(customer, "resolve" if fix is None else fix, conversation, at)
        telling = Telling(message.at, message.conversation, by, "worked", "marked as resolved")
        with self._alone(message.customer):
            memories = self.store.all(message.customer)
            chosen = self._incident(memories, incident, message)
            new = [told(chosen, telling)]
            still = open_steps(memories, chosen, message.conversation)
            known = next((m for m in memories if m.id == fix and m.kind == "attempt"), None)
            if known is not None or (fix is None and still):
                new.append(told(known or still[-1], telling))
            elif fix is not None:
                new.append(self._attempt(message, telling, memories, chosen))
            return self._keep(message.customer, new)

    def close(
        self,
        customer: str,
        *,
        incident: str | None = None,
        at: datetime | str | None = None,
        conversation: str | None = None,
    ) -> tuple[Memory, ...]:
        """Close an incident without a fix, by id, or the open one that was told of last.

        Raises
        ------
        InputError
            If there is no such incident, or none is open.
        """
        message = self._message(customer, "close", conversation, at)
        telling = Telling(message.at, message.conversation, "staff", "failed", "closed without a fix")
        with self._alone(message.customer):
            chosen = self._incident(self.store.all(message.customer), incident, message)
            return self._keep(message.customer, [told(chosen, telling)])

    # -- what is known ------------------------------------------------------------------------------------------------

    def set_profile(
        self,
        customer: str,
        *facts: str,
        style: Style | None = None,
        at: datetime | str | None = None,
    ) -> tuple[Memory, ...]:
        """Remember lasting facts about a customer, and how answers should be: ``short``, ``steps`` or ``plain``.

        Raises
        ------
        InputError
            If there is no such style, or nothing is given.
        """
        message = self._message(customer, "profile", "profile", at)
        if style is not None and style not in STYLES:
            raise InputError(f"no style {style!r}; there are {', '.join(sorted(STYLES))}")
        texts = [*facts, *([STYLES[style]] if style else [])]
        if not texts:
            raise InputError("nothing to remember: give a fact or a style")
        telling = Telling(message.at, message.conversation, "staff")
        with self._alone(message.customer):
            new = [remembered(message.customer, "profile", text, telling) for text in texts]
            return self._keep(message.customer, new)

    def timeline(self, customer: str) -> Timeline:
        """Everything that is remembered of a customer, in the order of time."""
        name = valid_customer(customer)
        return timeline_of(name, self.store.all(name))

    def forget(self, customer: str, *, conversation: str | None = None, memory: str | None = None) -> int:
        """Erase a customer's memories, all, those that only one conversation told, or one by id; returns how many.

        What a conversation told about memories that others tell too (an outcome, inherited symptoms) goes with it.
        Past conversations that a bank learned from are not touched; `memlab forget` does that.
        """
        name = valid_customer(customer)
        self._encoder.clear()
        with self._alone(name):
            if conversation is None and memory is None:
                return self.store.forget(name)
            before = self.store.all(name)
            after = without(before, conversation) if conversation is not None else before
            after = without([m for m in after if m.id != memory], "") if memory is not None else after
            kept = {m.id: m for m in after}
            for m in before:
                if m.id in kept and kept[m.id] != m:
                    self.store.update(name, m.id, **{name_: getattr(kept[m.id], name_) for name_ in TOLD})
            return self.store.forget(name, [m.id for m in before if m.id not in kept])

    def conversation_of(self, at: datetime | None = None) -> str:
        """The conversation that a message without a name of one belongs to: one a day."""
        return f"chat-{(at or self._clock()).date().isoformat()}"

    # -- parts --------------------------------------------------------------------------------------------------------

    def _message(self, customer: str, text: str, conversation: str | None, at: datetime | str | None) -> Message:
        """The call's customer, words, conversation and moment, checked."""
        name = valid_customer(customer)
        if not isinstance(text, str) or not text.strip():
            raise InputError("the message is blank; give the customer's words")
        if conversation is not None and not conversation.strip():
            raise InputError("conversation must be a name, or left out")
        when = parse_time(self._clock() if at is None else at)
        where = clean_text(conversation) if conversation else self.conversation_of(when)
        return Message(name, clean_text(text.strip()), where, when)

    def _similar(self, name: str, query: str) -> dict[str, float]:
        return {m.id: score for m, score in self.store.search(name, query, k=NEAREST)}

    def _attempt(
        self,
        message: Message,
        telling: Telling,
        memories: Sequence[Memory],
        incident: Memory | None,
        symptoms: tuple[str, ...] = (),
    ) -> Memory:
        return attempt_of(
            message.customer,
            message.text,
            telling,
            memories=memories,
            incident=incident,
            like=self._mind.like,
            symptoms=symptoms,
        )

    def _incident(self, memories: Sequence[Memory], id_: str | None, message: Message) -> Memory:
        return incident_named(memories, id_, customer=message.customer, conversation=message.conversation)

    def _alone(self, name: str) -> threading.RLock:
        """Held while one customer's memory is read, thought about and written; other customers do not wait."""
        with self._lock:
            return self._locks.setdefault(name, threading.RLock())

    def _keep(self, name: str, memories: Sequence[Memory]) -> tuple[Memory, ...]:
        """Store, and return what is remembered now."""
        self.store.add(name, memories)
        stored = {m.id: m for m in self.store.all(name)}
        return tuple(stored[m.id] for m in memories)
