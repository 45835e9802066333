"""What must hold of every single record of the data set; each problem says where and what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from memlab.corpus.check.splits import MIXED
from memlab.records import Conversation, Outcome, Resolution, SolutionKind

__all__ = ["PHENOMENA", "label_problems", "message_problems", "query_problems"]

PHENOMENA = (
    *(
        "confirmation_withdrawn",
        "fixed_before_chat",
        "hedging",
        "injection",
        "negation",
        "personal_data",
        "quoted_mail",
    ),
    *("skill_read_aloud", "tangled_outcomes", "third_party_outage", "two_issues", "unconfirmed_success", "user_leaves"),
    *("workaround_as_fix", "wrong_first_diagnosis"),
)
_SPLITS = ("train", "dev", "test", MIXED)
_LISTS = ("symptoms", "attempts", "profile", "phenomena")


def label_problems(label: Mapping[str, Any], conversation: Conversation) -> Iterator[str]:
    """What is wrong with one line of `labels.jsonl`: fields, allowed values, and quotes that are not in their turn."""
    bad = [name for name in _LISTS if not isinstance(label.get(name), list)]
    if bad:
        yield f"{', '.join(bad)} must be lists"
        return
    yield from _values(label)
    for name, item in _quoted(label):
        if not isinstance(item, Mapping):
            yield f"{name} must be an object"
        else:
            yield from _quote_problems(name, item, conversation)
    yield from _consistency(label)


def _values(label: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(label.get("case"), int):
        yield f"case must be a number, not {label.get('case')!r}"
    if not isinstance(label.get("low_value"), bool):
        yield f"low_value must be true or false, not {label.get('low_value')!r}"
    if label.get("resolution") not in get_args(Resolution):
        yield f"resolution must be one of {', '.join(get_args(Resolution))}, not {label.get('resolution')!r}"
    if label.get("solution_kind") not in (None, *get_args(SolutionKind)):
        yield f"solution_kind must be fix, workaround or null, not {label.get('solution_kind')!r}"
    for name in label["phenomena"]:
        if name not in PHENOMENA:
            yield f"phenomenon {name!r} is none of {', '.join(PHENOMENA)}"
    for attempt in label["attempts"]:
        if isinstance(attempt, Mapping) and attempt.get("outcome") not in get_args(Outcome):
            yield f"attempt {attempt.get('action')!r}: outcome must be one of {', '.join(get_args(Outcome))}"
        if isinstance(attempt, Mapping) and attempt.get("by") not in ("user", "agent"):
            yield f"attempt {attempt.get('action')!r}: by must be user or agent"


def _quoted(label: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Everything in a label that rests on a quote, with a name for it."""
    for name in ("symptoms", "attempts", "facts"):
        for number, item in enumerate(label.get(name) or ()):
            yield f"{name}[{number}]", item
    for name in ("root_cause", "solution"):
        if label.get(name) is not None:
            yield name, label[name]


def _quote_problems(name: str, item: Mapping[str, Any], conversation: Conversation) -> Iterator[str]:
    turn, quote = item.get("turn"), item.get("quote")
    if not isinstance(turn, int) or not 0 <= turn < len(conversation.turns):
        yield f"{name}: turn {turn!r} is not one of 0 … {len(conversation.turns) - 1}"
    elif not isinstance(quote, str) or not quote.strip():
        yield f"{name}: no quote"
    elif quote not in conversation.turns[turn].text:
        elsewhere = [n for n, t in enumerate(conversation.turns) if quote in t.text]
        hint = f" (it is in {', '.join(map(str, elsewhere))})" if elsewhere else ""
        yield f"{name}: {quote!r} is not in turn {turn}{hint}"


def _consistency(label: Mapping[str, Any]) -> Iterator[str]:
    if (label.get("solution") is None) != (label.get("solution_kind") is None):
        yield "solution and solution_kind go together"
    if label.get("low_value"):
        held = [n for n in ("symptoms", "attempts", "root_cause", "solution") if label.get(n)]
        if held:
            yield f"low value, yet it has {', '.join(held)}"
    elif not label["symptoms"]:
        yield "no symptom"


def query_problems(query: Mapping[str, Any], owners: Mapping[str, tuple[str, str | None]]) -> Iterator[str]:
    """What is wrong with one line of `paraphrases.jsonl`.

    Parameters
    ----------
    query : mapping
        The line.
    owners : mapping
        The customer and category of every entry id.
    """
    if not isinstance(query.get("query"), str) or not query["query"].strip():
        yield "query must be text"
    if not isinstance(query.get("hard_negative"), bool):
        yield "hard_negative must be true or false"
    if query.get("split") not in (None, *_SPLITS):
        yield f"split must be one of {', '.join(_SPLITS)}, not {query.get('split')!r}"
    for name in ("symptom_ids", "root_cause_ids", "solution_ids"):
        ids = query.get(name)
        if not isinstance(ids, list):
            yield f"{name} must be a list"
            continue
        for entry in ids:
            if entry not in owners:
                yield f"{name}: {entry!r} is in no label and no cause"
            elif owners[entry] != (query.get("customer"), query.get("category")):
                yield f"{name}: {entry!r} belongs to {owners[entry][0]}, {owners[entry][1]}"
    if not query.get("root_cause_ids") and (query.get("symptom_ids") or query.get("solution_ids")):
        yield "no root cause, yet symptoms or solutions"


def message_problems(message: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with one line of `attempts.jsonl`."""
    text, attempts = message.get("text"), message.get("attempts")
    if not isinstance(text, str) or not text.strip():
        yield "text must be text"
        return
    if not isinstance(attempts, list) or not all(isinstance(a, Mapping) for a in attempts):
        yield "attempts must be a list of objects"
        return
    for attempt in attempts:
        if attempt.get("outcome") not in get_args(Outcome):
            yield f"attempt {attempt.get('action')!r}: outcome must be one of {', '.join(get_args(Outcome))}"
        if not isinstance(attempt.get("quote"), str) or attempt["quote"] not in text:
            yield f"attempt {attempt.get('action')!r}: {attempt.get('quote')!r} is not in the text"
