"""One question: recorded reply or call, check, one repair, record. What extractor and curator have in common."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from memlab.errors import CurationError, ExtractionError, InputError, ModelError
from memlab.models.cassette import Cassette, request_key
from memlab.models.chat import Chat, Reply
from memlab.models.prompts import Message, Prompt, load_prompt

__all__ = ["Answered", "Asker", "Question"]

T = TypeVar("T")
MOST_RESENT = 4_000  # characters of a useless reply that the repair request shows to the model


@dataclass(frozen=True, slots=True)
class Question:
    """The messages, and whose they are: a customer's, about a conversation (None: about memory)."""

    messages: tuple[Message, ...]
    customer: str
    conversation: str | None = None

    def __str__(self) -> str:
        return self.conversation or f"a decision for {self.customer}"


@dataclass(frozen=True, slots=True)
class Answered(Generic[T]):
    """What was made of a reply; `calls` is 0 if it was recorded, 2 after a repair."""

    value: T
    reply: Reply
    calls: int = 0


class Asker:
    """A prompt, a model and a cassette.

    Parameters
    ----------
    chat : Chat, optional
        Without it only recorded replies are used, of the one model that the cassette knows.
    cassette : Cassette, optional
        Recorded replies.
    prompt : str or path
        Name of a prompt, or path of a prompt file.
    schema : mapping
        JSON schema of the reply.
    schema_name : str
        What the prompt file must say that it asks for.
    command : str
        What to run to record a missing reply.

    Raises
    ------
    InputError
        If the prompt asks for another schema, or there is neither a model nor a cassette that knows one.
    """

    def __init__(
        self,
        chat: Chat | None,
        cassette: Cassette | None,
        *,
        prompt: str | Path,
        schema: Mapping[str, Any],
        schema_name: str,
        command: str,
    ) -> None:
        self.prompt: Prompt = load_prompt(prompt)
        if self.prompt.schema != schema_name:
            raise InputError(f"prompt {self.prompt.id} asks for {self.prompt.schema!r}, not for {schema_name!r}")
        self._repair = load_prompt("repair")
        self._chat, self._cassette, self._schema, self._command = chat, cassette, schema, command
        self._sender = (chat.model, chat.temperature, chat.max_tokens) if chat else _only_sender(cassette)
        self.model = self._sender[0]

    @property
    def chat(self) -> Chat | None:
        """The model that is asked, if any."""
        return self._chat

    @property
    def stopped(self) -> bool:
        """Whether the endpoint is not asked any more, so that going on makes no sense."""
        return self._chat is not None and self._chat.stopped is not None

    @property
    def asks(self) -> bool:
        """Whether a missing reply is asked for, rather than reported."""
        return self._chat is not None and (self._cassette is None or self._cassette.mode != "replay")

    def key(self, question: Question) -> str:
        """Under which key the reply is recorded."""
        return request_key(
            customer=question.customer,
            model=self.model,
            messages=question.messages,
            schema=self._schema,
            temperature=self._sender[1],
            max_tokens=self._sender[2],
            prompt=f"{self.prompt.id} {self._repair.id}",
        )

    def recorded(self, question: Question) -> Reply | None:
        """The recorded reply, if there is one."""
        return self._cassette.get(self.key(question)) if self._cassette else None

    def ask(self, question: Question, parse: Callable[[str], T]) -> Answered[T]:
        """The recorded reply to a question, or a fresh one, as `parse` reads it.

        Parameters
        ----------
        question : Question
            What to ask.
        parse : callable
            Makes a value of the reply's text, or raises ExtractionError or CurationError; then the model is asked
            once more, and told what was wrong.

        Raises
        ------
        ExtractionError, CurationError
            If the second reply could not be used either; `.raw` holds it.
        ModelError
            If no reply could be had, or none is recorded and the cassette only replays.
        """
        reply = self.recorded(question)
        if reply is not None:
            try:
                return Answered(parse(reply.text), reply)
            except (ExtractionError, CurationError):
                if not self.asks:
                    raise
        chat = self._chat
        if chat is None or not self.asks:
            raise ModelError(self._missing(question))
        reply = chat.complete(question.messages, self._schema)
        try:
            answered = Answered(_checked(reply, parse), reply, 1)
        except (ExtractionError, CurationError) as error:
            answered = self._repaired(chat, question, reply, str(error), parse)
        self.record(question, answered.reply, calls=answered.calls)
        return answered

    def record(self, question: Question, reply: Reply, *, calls: int = 1) -> None:
        """Record a reply as the one to this question."""
        if self._cassette is not None:
            self._cassette.put(
                self.key(question),
                reply,
                sender=self._sender,
                prompt=self.prompt.id,
                customer=question.customer,
                conversation=question.conversation,
                calls=calls,
            )

    def _repaired(
        self, chat: Chat, question: Question, first: Reply, reason: str, parse: Callable[[str], T]
    ) -> Answered[T]:
        """Ask once more; a reply that was cut may be twice as long now."""
        if first.finish_reason in ("content_filter", "refusal"):
            raise ModelError(f"{self.model} would not answer ({first.finish_reason})", raw=first.text)
        messages = _repair_messages(question.messages, first, self._repair.messages(reason=reason)[0]["content"])
        limit = 2 * chat.max_tokens if first.finish_reason == "length" else None
        try:
            second = chat.complete(messages, self._schema, max_tokens=limit)
        except ModelError as error:
            error.raw = first.text
            raise
        both = dataclasses.replace(
            second,
            tokens_in=_sum(first.tokens_in, second.tokens_in),
            tokens_out=_sum(first.tokens_out, second.tokens_out),
            cost=_sum(first.cost, second.cost),
        )
        return Answered(_checked(second, parse), both, 2)

    def _missing(self, question: Question) -> str:
        where = self._cassette.path if self._cassette else None
        return (
            f"no reply to prompt {self.prompt.id} of model {self.model} about {question} is recorded in {where}; "
            f"record it with: {self._command} --cassette {where} --record"
        )


N = TypeVar("N", int, float)


def _sum(a: N | None, b: N | None) -> N | None:
    return None if a is None or b is None else a + b


def _checked(reply: Reply, parse: Callable[[str], T]) -> T:
    """What `parse` makes of a complete reply; one that was cut is never read, not even the part that came."""
    if reply.finish_reason in ("length", "oversize", "content_filter", "refusal"):
        what = {"length": "was cut off at the limit of tokens", "oversize": "was far too long"}
        raise ExtractionError(f"the reply {what.get(reply.finish_reason, 'was refused')}", raw=reply.text)
    return parse(reply.text)


def _repair_messages(messages: Sequence[Message], reply: Reply, text: str) -> list[Message]:
    """The request with the useless reply and what was wrong; a cut or empty reply is not shown again."""
    if reply.text.strip() and reply.finish_reason not in ("length", "oversize"):
        shown = reply.text[:MOST_RESENT]
        return [*messages, {"role": "assistant", "content": shown}, {"role": "user", "content": text}]
    last = messages[-1]
    return [*messages[:-1], {"role": last["role"], "content": f"{last['content']}\n\n{text}"}]


def _only_sender(cassette: Cassette | None) -> tuple[str, float, int]:
    known = cassette.senders if cassette else []
    if len(known) != 1:
        names = ", ".join(f"{m} (temperature {t:g}, max_tokens {n})" for m, t, n in known) or "none"
        raise InputError(f"which model? give a chat, or a cassette recorded with one model and setting; known: {names}")
    return known[0]
