"""The prompted curator: a chat model decides about a wording among the few entries that it is shown, and nothing else.

There is no operation that deletes, and no reply can name an entry that was not offered.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from memlab.curation.curator import MOST_WORDINGS, Choice
from memlab.curation.guards import conflict
from memlab.curation.index import Candidate
from memlab.errors import CurationError, ExtractionError, ModelError
from memlab.models.asking import Asker, Question
from memlab.models.cassette import Cassette
from memlab.models.chat import Chat, Reply
from memlab.models.prompts import fence
from memlab.models.replies import json_objects
from memlab.records import Kind, canonical_json, clean_text, content_hash

__all__ = ["PromptedCurator", "choice_schema", "parse_choice"]

SCHEMA_NAME = "choice"
COMMAND = "memlab learn CONVERSATIONS --home DIR --curator prompted"
NOT_OFFERED = "not offered: "


def _word(value: object) -> object:
    return value.strip().casefold() if isinstance(value, str) else value


class ChoiceReply(BaseModel):
    """One operation; `candidate` is a number of the list that was shown, and only there does it mean anything."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    op: Annotated[Literal["add", "edit", "reinforce", "reject"], BeforeValidator(_word)]
    candidate: int | str | None = None
    reason: str = ""


def choice_schema() -> dict[str, Any]:
    """The JSON schema of a reply."""
    fields = {
        "op": {"type": "string", "enum": ["add", "edit", "reinforce", "reject"]},
        "candidate": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "reason": {"type": "string"},
    }
    return {
        "title": SCHEMA_NAME,
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }


def parse_choice(text: str) -> ChoiceReply:
    """Read a reply: one JSON object with one operation, perhaps with chat around it.

    Raises
    ------
    CurationError
        If it is empty, cut off, not JSON, several operations, or one that does not exist; `.raw` holds it.
    """
    try:
        values = [v for v in json_objects(text) if isinstance(v, dict) and "op" in v]
        if len(values) != 1:
            raise ValueError("it names no operation" if not values else f"it names {len(values)} operations")
        return ChoiceReply.model_validate(values[0])
    except ValidationError:
        problem = f"{str(values[0]['op'])[:40]!r} is no operation, or its candidate no number"
    except (ModelError, ValueError) as error:
        problem = str(error)
    raise CurationError(f"the reply can't be used: {problem}", raw=clean_text(text[:20_000]))


class PromptedCurator:
    """Decides with a chat model.

    Identifiers, versions, negation and direction are checked first, as by the offline curator: a candidate that they
    rule out is never shown. With nothing to compare with, no call is made.

    Parameters
    ----------
    chat : Chat, optional
        The model. Without it only recorded replies are used.
    customer : str
        Whose bank it curates; recorded replies are never shared between customers.
    prompt : str or path
        A prompt by name, or a prompt file of your own.
    cassette : Cassette, optional
        Recorded decisions. A replay of the bank asks the same again: without a file they are kept in memory, so that
        it decides the same.
    """

    def __init__(
        self,
        chat: Chat | None = None,
        *,
        customer: str,
        prompt: str | Path = "curate",
        cassette: Cassette | None = None,
    ) -> None:
        self._customer = customer
        kept = Cassette(mode="record") if cassette is None else cassette
        self._asker = Asker(
            chat, kept, prompt=prompt, schema=choice_schema(), schema_name=SCHEMA_NAME, command=COMMAND
        )  # fmt: skip
        used = self._asker.prompt
        self.name = f"prompted/{used.id}/{self._asker.model}/{content_hash(used.hash, length=8)}"

    def __repr__(self) -> str:
        return f"PromptedCurator({self.name!r})"

    def choose(self, kind: Kind, text: str, candidates: Sequence[Candidate]) -> Choice:
        """Add the wording, reinforce or edit one of the candidates, or reject the wording.

        Returns
        -------
        Choice
            An `edit` takes the proposed wording for the entry's title; the model's own words reach memory only as the
            reason. A number that was not shown gives a target that does not exist, so that it is refused
            and logged. A reply that can't be read, even asked twice, gives `add`, and says so.

        Raises
        ------
        ModelError
            If no reply could be had; that is never taken for a decision.
        """
        offered, apart = _offered(text, candidates)
        if not offered:
            return apart or Choice("add", None, "nothing like it yet")
        question = Question(self._messages(kind, text, offered), self._customer)
        try:
            reply = self._asker.ask(question, parse_choice).value
        except (CurationError, ExtractionError) as error:
            reply = ChoiceReply(op="add", reason=f"({error})")
            # The decision itself is recorded, so that a replay takes the same; the useless reply is not.
            self._asker.record(question, Reply(canonical_json(reply.model_dump())))
        return _choice(reply, offered)

    def _messages(self, kind: Kind, text: str, offered: Sequence[Candidate]) -> tuple[Mapping[str, str], ...]:
        lines: list[dict[str, Any]] = [{"new": text}]
        lines += [{"candidate": n, "wordings": c.wordings[:MOST_WORDINGS]} for n, c in enumerate(offered, 1)]
        data = clean_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines))
        return self._asker.prompt.messages(
            kind={"symptom": "symptom", "cause": "root cause", "solution": "solution"}[kind], data=fence(data, "data")
        )


def _offered(text: str, candidates: Sequence[Candidate]) -> tuple[list[Candidate], Choice | None]:
    """The candidates that nothing rules out, and what to do if the first of the others was the only one."""
    offered: list[Candidate] = []
    apart: Choice | None = None
    for candidate in candidates:
        reasons = ((w, conflict(text, w)) for w in candidate.wordings[:MOST_WORDINGS])
        wording, reason = next(((w, r) for w, r in reasons if r), ("", None))
        if reason is None:
            offered.append(candidate)
        else:
            apart = apart or Choice("add", None, f"kept apart: {reason}", {}, wording)
    return offered, apart


def _choice(reply: ChoiceReply, offered: Sequence[Candidate]) -> Choice:
    """A number of this list becomes the id of its entry; any other becomes a target that no entry has."""
    reason = f"model: {' '.join(clean_text(reply.reason).split())[:200] or 'no reason given'}"
    if reply.op in ("add", "reject"):
        return Choice(reply.op, None, reason, {}, offered[0].wordings[0])
    number = reply.candidate if isinstance(reply.candidate, int) else _number(reply.candidate)
    if number is not None and 1 <= number <= len(offered):
        chosen = offered[number - 1]
        return Choice(reply.op, chosen.entry, reason, {"cosine": chosen.cosines[0]}, chosen.wordings[0])
    return Choice(reply.op, f"{NOT_OFFERED}{clean_text(str(reply.candidate))[:40]}", reason)


def _number(value: str | None) -> int | None:
    return int(value) if value is not None and value.strip().isascii() and value.strip().isdigit() else None
