"""A model in place of a script: as the agent (with tool calls), as the user's voice, and as a judge of the ending."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memlab.errors import ExtractionError, InputError, ModelError
from memlab.models.asking import Asker, Question
from memlab.models.cassette import Cassette
from memlab.models.chat import Chat
from memlab.models.prompts import fence, load_prompt
from memlab.simulation.device import State
from memlab.simulation.scenarios import Scenario
from memlab.simulation.schemas import step_of_call, tool_call, tool_schemas
from memlab.simulation.trial import Event, Step
from memlab.simulation.users import Reaction, ScriptedUser
from memlab.simulation.world import Tool, World

__all__ = ["VERDICT", "Ask", "Judge", "ModelAgent", "ModelUser", "Verdict", "ask_endpoint"]

Ask = Callable[[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]], Mapping[str, Any]]
"""Sends (messages, tools) to a model and returns its message: {"content", "tool_calls"}."""

VERDICT: Mapping[str, Any] = {
    "title": "verdict",
    "type": "object",
    "properties": {"resolved": {"type": "boolean"}, "reason": {"type": "string"}},
    "required": ["resolved", "reason"],
    "additionalProperties": False,
}


def ask_endpoint(
    model: str | None = None, *, base_url: str | None = None, api_key: str | None = None, timeout: float = 120.0
) -> Ask:
    """Tool calls at any OpenAI-compatible endpoint, at temperature 0.

    Parameters
    ----------
    model, base_url, api_key : str, optional
        By default `MEMLAB_MODEL`, `OPENAI_BASE_URL` and `OPENAI_API_KEY`; an endpoint that is named needs no key.

    Raises
    ------
    InputError
        If no model is named.
    """
    name = model or os.environ.get("MEMLAB_MODEL", "")
    if not name:
        raise InputError("no model is named: set MEMLAB_MODEL (and OPENAI_BASE_URL, OPENAI_API_KEY)")

    def ask(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        import openai

        url = base_url or os.environ.get("OPENAI_BASE_URL") or None
        key = api_key or os.environ.get("OPENAI_API_KEY") or ("none" if url else None)
        request: dict[str, Any] = {"model": name, "messages": list(messages), "tools": list(tools), "temperature": 0}
        try:
            with openai.OpenAI(base_url=url, api_key=key, timeout=timeout, max_retries=3) as client:
                reply = client.chat.completions.create(**request)
        except openai.OpenAIError as error:
            raise ModelError(f"{name}: {error}") from error
        if not reply.choices:
            raise ModelError(f"{name}: the server sent no chat completion")
        found: Mapping[str, Any] = reply.choices[0].message.model_dump()
        return found

    return ask


class ModelAgent:
    """An agent that a model drives: the same context, events and tools as the scripted one.

    Parameters
    ----------
    world : World
        For the tool schemas.
    customer, category : str
        Of the ticket.
    context : str
        What memory gave.
    ask : Ask
        How to reach the model; see `ask_endpoint`.
    """

    def __init__(self, world: World, customer: str, category: str, context: str, *, ask: Ask) -> None:
        self._ask, self._tools = ask, tool_schemas(world)
        memory = fence(context, "memory") if context else "Memory holds nothing."
        self._start = [
            dict(m) for m in load_prompt("helpdesk").messages(customer=customer, category=category, memory=memory)
        ]

    def next(self, events: Sequence[Event]) -> Step:
        """The model's next step; text without a call is a question to the user.

        Raises
        ------
        ModelError
            If no reply could be had.
        """
        reply = self._ask([*self._start, *_messages(events)], self._tools)
        text = str(reply.get("content") or "").strip()
        for call in reply.get("tool_calls") or ():
            function = call["function"]
            return step_of_call(str(function["name"]), str(function.get("arguments") or ""), text=text)
        return Step("ask", text) if text else Step("escalate", "")


def _messages(events: Sequence[Event]) -> list[dict[str, Any]]:
    """Events as a chat: every call is followed by its one result, even if it was the user who carried it out."""
    out: list[dict[str, Any]] = []
    waiting = ""
    for number, event in enumerate(events):
        if event.role == "agent":
            waiting = f"call_{number}" if event.tool else ""
            calls = {"tool_calls": [tool_call(event.tool, number)]} if event.tool else {}
            out.append({"role": "assistant", "content": event.text, **calls})
        elif waiting:
            said = event.text if event.role == "tool" else f"the user: {event.text}"
            out.append({"role": "tool", "tool_call_id": waiting, "content": said})
            waiting = ""
        else:
            out.append({"role": "user", "content": event.text})
    return out


class ModelUser(ScriptedUser):
    """A scripted user whose words a model chooses; what is true, and whether they leave, stays with the script."""

    def __init__(self, world: World, scenario: Scenario, seed: int, repeat: int = 0, *, chat: Chat) -> None:
        super().__init__(world, scenario, seed, repeat)
        self._chat = chat

    def open(self, state: State) -> str:
        """All complaints, reworded."""
        return self._reworded(super().open(state))

    def answer(self, question: str, state: State) -> Reaction:
        """The script's answer, reworded."""
        return self._voiced(super().answer(question, state))

    def test(self, tool: Tool, state: State) -> Reaction:
        """The script's verdict, reworded."""
        return self._voiced(super().test(tool, state))

    def _voiced(self, reaction: Reaction) -> Reaction:
        return Reaction(self._reworded(reaction.text), reaction.over)

    def _reworded(self, note: str) -> str:
        p = self.scenario.persona
        values = {"patience": f"{p.patience:g}", "skill": f"{p.skill:g}", "honesty": f"{p.honesty:g}", "note": note}
        return self._chat.complete(load_prompt("simuser").messages(**values)).text.strip() or note


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge makes of a case, without having seen the device."""

    resolved: bool
    reason: str


class Judge:
    """A model that reads a case and says whether it was mended; how far to trust it is measured, not assumed.

    Parameters
    ----------
    chat : Chat, optional
        Without it recorded replies are used.
    cassette : Cassette, optional
        Recorded replies.
    """

    def __init__(self, chat: Chat | None, cassette: Cassette | None = None) -> None:
        self._asker = Asker(
            chat, cassette, prompt="judge", schema=VERDICT, schema_name="verdict", command="memlab simulate"
        )

    def verdict(self, scenario: Scenario, events: Sequence[Event]) -> Verdict:
        """The model's verdict on the messages of a trial.

        Raises
        ------
        ExtractionError
            If the reply can't be read, even after a repair.
        ModelError
            If no reply could be had.
        """
        case = "\n".join(f"{e.role}{f' ({e.tool})' if e.tool else ''}: {e.text}" for e in events)
        messages = self._asker.prompt.messages(case=fence(case, "case"))
        return self._asker.ask(Question(messages, scenario.customer, scenario.id), _verdict).value


def _verdict(text: str) -> Verdict:
    try:
        data = json.loads(text[text.index("{") : text.rindex("}") + 1])
    except ValueError:
        raise ExtractionError("the verdict is not a JSON object", raw=text) from None
    if not isinstance(data.get("resolved"), bool):
        raise ExtractionError(f"resolved must be true or false, not {data.get('resolved')!r}", raw=text)
    return Verdict(data["resolved"], str(data.get("reason", "")))
