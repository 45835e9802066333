"""The reply of an extraction prompt: the JSON schema that is sent, and a reader that takes the reply as it comes.

A reply gives issues or an error, never a silent nothing: what is cut off, ambiguous or empty raises with the raw text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from memlab.errors import ExtractionError, ModelError
from memlab.models.replies import json_objects
from memlab.records import Outcome, Resolution, SolutionKind, clean_text

__all__ = [
    "AttemptReply",
    "IssueReply",
    "ItemReply",
    "ParsedReply",
    "SolutionReply",
    "parse_extraction",
    "response_schema",
    "unusable",
]

SCHEMA_NAME = "extraction"
MOST_ISSUES, MOST_ITEMS = 6, 20
MOST_CHARACTERS = 1_000_000
MOST_WORDS = 24  # of a phrase


def unusable(reason: str, raw: str) -> ExtractionError:
    """The error for a reply that gives nothing, with (the beginning of) the reply as `.raw`."""
    kept = raw if len(raw) <= 20_000 else f"{raw[:20_000]}… ({len(raw)} characters)"
    return ExtractionError(reason, raw=clean_text(kept))


def _phrase(value: object) -> object:
    """One clean line of at most 24 words."""
    return " ".join(clean_text(value).split()[:MOST_WORDS]) if isinstance(value, str) else value


def _quote(value: object) -> object:
    return clean_text(value).strip() if isinstance(value, str) else value


Phrase = Annotated[str, BeforeValidator(_phrase), Field(min_length=1)]
Quote = Annotated[str, BeforeValidator(_quote), Field(min_length=1)]
TurnNumber = Annotated[int, Field(ge=0)]


class _Wire(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class ItemReply(_Wire):
    """A symptom, root cause or fact."""

    text: Phrase
    turn: TurnNumber
    quote: Quote


class AttemptReply(_Wire):
    """An action that somebody carried out; the outcome has a place of its own, for it is often seen later."""

    action: Phrase
    outcome: Outcome
    by: str
    turn: TurnNumber
    quote: Quote
    outcome_turn: TurnNumber | None
    outcome_quote: Quote | None


class SolutionReply(ItemReply):
    """What ended the problem."""

    kind: SolutionKind


class IssueReply(_Wire):
    """One problem, or one part of it; `continues` numbers the earlier issue that it belongs to, from 1."""

    continues: int | None
    category: str
    symptoms: tuple[ItemReply, ...]
    root_cause: ItemReply | None
    attempts: tuple[AttemptReply, ...]
    solution: SolutionReply | None
    resolution: Resolution
    resolution_turn: TurnNumber | None
    resolution_quote: Quote | None
    facts: tuple[ItemReply, ...]


class _ExtractionReply(_Wire):
    low_value: bool
    issues: tuple[IssueReply, ...]


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """Well-formed issues, and how many pieces were not (reason → count)."""

    low_value: bool
    issues: tuple[IssueReply, ...]
    dropped: Mapping[str, int] = field(default_factory=dict)


def response_schema(categories: Sequence[str]) -> dict[str, Any]:
    """The JSON schema to send: closed objects, every field required, only the allowed categories.

    >>> response_schema(["vpn", "other"])["$defs"]["IssueReply"]["properties"]["category"]["enum"]
    ['vpn', 'other']
    """
    schema: dict[str, Any] = _closed(_ExtractionReply.model_json_schema())
    schema["title"] = SCHEMA_NAME
    schema["properties"]["issues"]["maxItems"] = MOST_ISSUES
    issue = schema["$defs"]["IssueReply"]["properties"]
    for name in ("symptoms", "attempts", "facts"):
        issue[name]["maxItems"] = MOST_ITEMS
    issue["category"] = {"type": "string", "enum": list(categories)}
    schema["$defs"]["AttemptReply"]["properties"]["by"] = {"type": "string", "enum": ["user", "agent"]}
    return schema


_TOLD = ("description", "title", "default", "minLength", "minimum")  # what no endpoint needs, and some refuse


def _closed(node: Any) -> Any:
    """The part of JSON schema that strict endpoints take: no open object, no optional field, no bounds on text."""
    if isinstance(node, list):
        return [_closed(v) for v in node]
    if not isinstance(node, dict):
        return node
    out: dict[str, Any] = {}
    for key, value in node.items():
        if key in ("properties", "$defs"):
            out[key] = {name: _closed(v) for name, v in value.items()}
        elif key not in _TOLD:
            out[key] = _closed(value)
    if out.get("type") == "object":
        out |= {"additionalProperties": False, "required": list(out.get("properties", {}))}
    return out


# -- from JSON to issues -------------------------------------------------------------------------------------------

_ISSUE_FIELDS = {"symptoms", "root_cause", "attempts", "solution", "facts"}


def parse_extraction(text: str, *, may_be_empty: bool = False) -> ParsedReply:
    """Read a reply.

    Parameters
    ----------
    text : str
        Of the model: JSON, perhaps with chat around it, in a code fence, with trailing commas, or as a bare list.
    may_be_empty : bool
        Whether no issue is an answer even if the reply does not call the conversation one of low value: the later
        part of a long one may hold nothing new.

    Returns
    -------
    ParsedReply
        Malformed items are dropped and counted; the others stay.

    Raises
    ------
    ExtractionError
        If the reply is empty, cut off, too long, holds no such JSON or two different ones, or says neither an issue
        nor that there is none. `.raw` holds it.
    """
    if not text.strip():
        raise unusable("the reply is empty", text)
    if len(text) > MOST_CHARACTERS:
        raise unusable(f"the reply is longer than {MOST_CHARACTERS} characters", text)
    try:
        values = json_objects(text)
    except ModelError as error:
        raise unusable(str(error), text) from None
    fitting: list[Mapping[str, Any]] = []
    for value in values:
        data = _as_reply(value)
        if data is not None and data not in fitting:
            fitting.append(data)
    if len(fitting) != 1:
        what = "holds no JSON object with issues" if not fitting else f"holds {len(fitting)} different JSON objects"
        raise unusable(f"the reply {what}", text)
    dropped: Counter[str] = Counter()
    issues = tuple(i for i in (_issue(v, dropped) for v in fitting[0]["issues"]) if i is not None)
    low_value = fitting[0].get("low_value") is True
    if not issues and (fitting[0]["issues"] or not (low_value or may_be_empty)):
        raise unusable("the reply names no readable issue, and does not say that there is none", text)
    return ParsedReply(low_value and not issues, issues, dict(sorted(dropped.items())))


def _as_reply(value: Any) -> Mapping[str, Any] | None:
    """The value in the form of a reply: as it is, or a bare list of issues, or one issue by itself."""
    if isinstance(value, dict):
        if isinstance(value.get("issues"), list):
            return value
        return {"issues": [value]} if len(_ISSUE_FIELDS & set(value)) >= 2 else None
    if isinstance(value, list) and value and all(isinstance(v, dict) and _ISSUE_FIELDS & set(v) for v in value):
        return {"issues": value}
    return None


M = TypeVar("M", bound=_Wire)


def _issue(value: Any, dropped: Counter[str]) -> IssueReply | None:
    if not isinstance(value, dict) or not _ISSUE_FIELDS & set(value):
        dropped["malformed issue"] += 1
        return None
    resolution = _word(value.get("resolution"), get_args(Resolution), "unresolved", dropped)
    attempts = [_attempt(v, dropped) for v in _many(value.get("attempts"), dropped)]
    return IssueReply(
        continues=_whole(value.get("continues")),
        category=str(value.get("category") or ""),
        symptoms=_items(value.get("symptoms"), dropped),
        root_cause=_one(ItemReply, value.get("root_cause"), dropped),
        attempts=tuple(a for a in attempts if a is not None),
        solution=_solution(value.get("solution"), dropped),
        resolution=resolution,
        resolution_turn=_whole(value.get("resolution_turn")),
        resolution_quote=_text(value.get("resolution_quote")),
        facts=_items(value.get("facts"), dropped),
    )


def _attempt(value: Any, dropped: Counter[str]) -> AttemptReply | None:
    if isinstance(value, dict):
        outcome = _word(value.get("outcome"), get_args(Outcome), "unknown", dropped)
        turn, quote = _whole(value.get("outcome_turn")), _text(value.get("outcome_quote"))
        value = {**value, "outcome": outcome, "by": str(value.get("by")), "outcome_turn": turn, "outcome_quote": quote}
    return _one(AttemptReply, value, dropped)


def _solution(value: Any, dropped: Counter[str]) -> SolutionReply | None:
    if isinstance(value, dict):
        value = {**value, "kind": _word(value.get("kind"), get_args(SolutionKind), "fix", dropped)}
    return _one(SolutionReply, value, dropped)


def _items(value: Any, dropped: Counter[str]) -> tuple[ItemReply, ...]:
    found = (_one(ItemReply, v, dropped) for v in _many(value, dropped))
    return tuple(i for i in found if i is not None)


def _many(value: Any, dropped: Counter[str]) -> Sequence[Any]:
    if isinstance(value, list):
        return value
    if value not in (None, ""):
        dropped["malformed item"] += 1
    return ()


def _one(model: type[M], value: Any, dropped: Counter[str]) -> M | None:
    if value in (None, "", {}):
        return None
    try:
        return model.model_validate(value)
    except ValidationError:
        dropped["malformed item"] += 1
        return None


def _word(value: Any, allowed: Sequence[str], otherwise: str, dropped: Counter[str]) -> Any:
    """A word of the vocabulary, whatever its case; any other is read as the one that claims least."""
    word = str(value).strip().casefold()
    if word in allowed:
        return word
    if value is not None:
        dropped["word outside the vocabulary"] += 1
    return otherwise


def _whole(value: Any) -> int | None:
    try:
        return int(value) if not isinstance(value, bool) and value is not None and int(value) >= 0 else None
    except (ValueError, TypeError, OverflowError):
        return None


def _text(value: Any) -> str | None:
    return clean_text(value).strip() or None if isinstance(value, str) else None
