"""Letting a model write the answer: what it is shown, how its reply is read, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from memlab.agent.planning import Plan, Situation, Style
from memlab.agent.records import Memory
from memlab.agent.replies import Recalled
from memlab.errors import ExtractionError, ModelError
from memlab.models.asking import Asker, Question
from memlab.models.cassette import Cassette
from memlab.models.chat import Chat
from memlab.models.prompts import Message, fence
from memlab.models.replies import json_objects
from memlab.models.tokens import count_tokens
from memlab.records import clean_text

__all__ = ["Writer", "Written", "history_lines", "reply_schema", "within_budget"]

SCHEMA_NAME = "support_reply"
NO_HISTORY, NOTHING_NEW = "no relevant history", "nothing new"
_STYLES = {"plain": "plain and friendly", "short": "short and technical", "steps": "numbered, step by step"}


class _ReplyText(BaseModel):
    """What a model must send."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    reply: str
    steps: tuple[str, ...] = ()


def reply_schema() -> dict[str, Any]:
    """The JSON schema of a reply."""
    fields = {"reply": {"type": "string"}, "steps": {"type": "array", "items": {"type": "string"}}}
    return {
        "title": SCHEMA_NAME,
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }


@dataclass(frozen=True, slots=True)
class Written:
    """A model's answer: its text, the steps that it proposes, and the tokens that the server counted."""

    text: str
    steps: tuple[str, ...]
    tokens_in: int | None
    tokens_out: int | None


class Writer:
    """A model that answers from what memory holds.

    Parameters
    ----------
    chat : Chat, optional
        The model; without it only recorded replies are used.
    cassette : Cassette, optional
        Recorded replies.
    """

    def __init__(self, chat: Chat | None, cassette: Cassette | None = None) -> None:
        self._asker = Asker(
            chat,
            cassette,
            prompt="support",
            schema=reply_schema(),
            schema_name=SCHEMA_NAME,
            command="memlab chat --home DIR --customer C",
        )

    def messages(self, plan: Plan, now: Situation, *, style: Style, words: int) -> tuple[Message, ...]:
        """What the model is sent: every recalled item with outcome and score, and what was just learned."""
        return self._asker.prompt.messages(
            words=str(words),
            style=_STYLES[style],
            profile=_block((m.text for m in now.profile), "profile", "nothing is known"),
            history=_block(history_lines(now.recalled), "history", NO_HISTORY),
            incident=_block(map(_memory_line, now.tried), "incident", "nothing was tried yet"),
            sources=_block((str(s) for s in now.sources), "cases", NO_HISTORY),
            learned=_block(map(_memory_line, now.learned), "learned", NOTHING_NEW),
            advice=f"escalate, because {plan.why}" if plan.escalate else plan.kind,
            message=fence(clean_text(now.heard.text), "message"),
        )

    def write(
        self, plan: Plan, now: Situation, *, customer: str, style: Style, words: int, same: Callable[[str, str], bool]
    ) -> Written:
        """The model's answer.

        Raises
        ------
        ModelError
            If no reply could be had.
        ExtractionError
            If the reply can't be used, even when asked once more: it is not of the form, too long, or proposes a step
            that failed.
        """

        def parse(text: str) -> _ReplyText:
            return _parsed(text, words=words, failures=plan.failures, same=same)

        question = Question(self.messages(plan, now, style=style, words=words), customer)
        answered = self._asker.ask(question, parse)
        reply = answered.reply
        steps = tuple(" ".join(s.split()) for s in answered.value.steps if s.strip())
        return Written(clean_text(answered.value.reply.strip()), steps, reply.tokens_in, reply.tokens_out)


def _parsed(text: str, *, words: int, failures: Sequence[str], same: Callable[[str, str], bool]) -> _ReplyText:
    try:
        values = [v for v in json_objects(text) if isinstance(v, dict) and "reply" in v]
        if len(values) != 1:
            raise ValueError(f"it holds {len(values)} objects with a reply, not one")
        found = _ReplyText.model_validate(values[0])
        size = len(found.reply.split())
        if not 0 < size <= words:
            raise ValueError(f"the reply has {size} words; allowed are 1 to {words}")
        again = next((f for s in found.steps for f in failures if same(s, f)), None)
        if again is not None:
            raise ValueError(f"it proposes a step that failed before: {again[:80]}")
    except ValidationError:
        problem = "reply must be a text and steps a list of texts"
    except (ModelError, ValueError) as error:
        problem = str(error)
    else:
        return found
    raise ExtractionError(f"the reply can't be used: {problem}", raw=clean_text(text[:20_000]))


def history_lines(recalled: Iterable[Recalled]) -> list[str]:
    """One line a recalled memory: step, outcome, day, conversation, score, and what contradicts it."""
    return [str(r) for r in recalled]


def within_budget(recalled: Sequence[Recalled], budget: int) -> tuple[tuple[Recalled, ...], int]:
    """As many memories from the best on as fit into a budget of tokens, and how many tokens they take."""
    kept: list[Recalled] = []
    spent = 0
    for hit, line in zip(recalled, history_lines(recalled), strict=True):
        cost = count_tokens(line)
        if spent + cost > budget:
            break
        kept.append(hit)
        spent += cost
    return tuple(kept), spent


def _memory_line(memory: Memory) -> str:
    result = "proposed, not tried" if memory.proposed else memory.outcome
    kind = {"incident": "problem", "attempt": "step", "profile": "profile"}[memory.kind]
    return f"{kind}: {memory.text}" + (f" -> {result}" if memory.kind != "profile" else "")


def _block(lines: Iterable[str], label: str, empty: str) -> str:
    found = [" ".join(clean_text(line).split()) for line in lines]
    return fence("\n".join(found), label) if found else empty
