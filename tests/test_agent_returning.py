"""Returning requesters: which cases a corpus gives, and how the arms are judged, on four conversations made for it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest
from scripted import START, HashEncoder, conv

from memlab.errors import InputError
from memlab.evaluation.queries import Query
from memlab.evaluation.returning import (
    ARMS,
    METRICS,
    returning,
    returning_cases,
    returning_differences,
    returning_summary,
)
from memlab.records import Conversation, Mention, Proposal

ENCODER = HashEncoder()


def label(
    conversation: str,
    cause: str | None,
    symptom: str,
    *,
    fix: str | None = None,
    failed: Sequence[str] = (),
    fact: str | None = None,
) -> dict:
    return {
        "conversation": conversation,
        "case": 0,
        "category": "vpn",
        "low_value": False,
        "symptoms": [{"id": "s", "text": symptom, "turn": 0, "quote": symptom}],
        "root_cause": {"id": cause, "text": cause, "turn": 0, "quote": symptom} if cause else None,
        "attempts": [{"action": a, "outcome": "failed", "by": "user", "turn": 0, "quote": a} for a in failed],
        "solution": {"id": "f", "text": fix, "turn": 1, "quote": "try this"} if fix else None,
        "solution_kind": "fix" if fix else None,
        "resolution": "confirmed" if fix else "unresolved",
        "profile": [fact] if fact else [],
        "facts": [{"text": fact, "turn": 0, "quote": fact}] if fact else [],
        "phenomena": [],
    }  # fmt: skip


SYMPTOM, OTHER = "vpn tunnel drops in the hotel", "printer smells of smoke"


def said(id_: str, days: float, who: str | None, text: str) -> Conversation:
    turns = [("user", text), ("agent", "try this"), ("user", "works, thanks")]
    return conv(id_, days, turns, requester=who)


CONVERSATIONS = [
    said("c1", 0, "ann", SYMPTOM),
    said("c2", 9, "ann", f"again {SYMPTOM}"),
    said("c3", 3, "bob", OTHER),
    said("c4", 4, None, SYMPTOM),
]
LABELS = [
    label("c1", "mtu", SYMPTOM, fix="lower the packet size", failed=["restart the router"], fact="a ThinkPad T14"),
    label("c2", "mtu", SYMPTOM, fix="lower the packet size"),
    label("c3", "dust", OTHER, fix="clean the fuser"),
    label("c4", "mtu", SYMPTOM, fix="lower the packet size"),
]
QUERIES = [
    Query("q1", "in the hotel the vpn tunnel drops", "acme", "vpn", root_cause_ids=("mtu",)),
    Query("q2", "smoke", "acme", "vpn", root_cause_ids=("dust",), hard_negative=True),
]


class Deaf:
    """Hears the message's words as its problem, and nothing in history."""

    name = "deaf"

    def extract(self, conversation: Conversation) -> Sequence[Proposal]:
        n, text = len(conversation.turns) - 1, conversation.turns[-1].text
        return [] if "works" in text else [Proposal(conversation.id, symptoms=(Mention(text, n, text),))]


@pytest.fixture(scope="module")
def rows():
    cases = returning_cases(CONVERSATIONS, LABELS, QUERIES)
    return returning(cases, LABELS, extractor=Deaf(), encoder=ENCODER)


def test_the_cases_of_a_corpus():
    cases = {c.id: c for c in returning_cases(CONVERSATIONS, LABELS, QUERIES)}
    # ann came back once; of her two conversations each has a query for the same cause; bob's only query is a hard
    # negative; nobody knows who wrote c4.
    assert set(cases) == {"returned c2", "same c1", "same c2"}
    back = cases["returned c2"]
    assert (back.message, [c.id for c in back.history]) == (f"again {SYMPTOM}", ["c1"])
    assert (back.right, back.failed, back.helped) == (
        ("lower the packet size",),
        ("restart the router",),
        ("lower the packet size",),
    )
    assert back.device_told
    later = cases["same c1"]
    assert (later.message, later.at) == (QUERIES[0].query, START + timedelta(days=30))


def test_every_arm_answers_every_case(rows):
    assert sorted(rows.groupby("case").size()) == [len(ARMS)] * 3
    values = rows.set_index(["case", "arm"])
    off = values.loc[("same c1", "memory off")]
    assert [off[m] for m in METRICS] == [0, 0, 0, 1]  # nothing is suggested, and the device asked for, again
    people = values.loc[("same c1", "memory on, history read by people")]
    assert [people[m] for m in METRICS] == [1, 1, 0, 0]
    deaf = values.loc[("same c1", "memory on")]
    assert [deaf[m] for m in METRICS] == [0, 0, 0, 1]  # a reader that hears nothing leaves nothing to remember
    oracle = values.loc[("same c1", "oracle")]
    assert [oracle[m] for m in METRICS] == [1, 1, 0, 0]


def test_the_tables_are_paired_and_repeat(rows):
    summary = returning_summary(rows, n=200)
    assert set(summary["metric"]) == set(METRICS)
    assert summary.equals(returning_summary(rows, n=200))
    differences = returning_differences(rows, n=200)
    found = differences.set_index(["metric", "arm"]).loc[
        ("first suggestion right", "memory on, history read by people")
    ]
    assert (found["difference"], found["n"], found["clusters"]) == (1.0, 3, 1)
    assert "memory off" not in set(differences["arm"])


def test_a_sample_is_drawn_by_its_seed_alone():
    more = [said(f"d{n}", n, f"p{n % 5}", f"{SYMPTOM} {n}") for n in range(30)]
    labels = [label(c.id, "mtu", SYMPTOM, fix="lower the packet size") for c in more]
    first = [c.id for c in returning_cases(more, labels, QUERIES, sample=10, seed=3)]
    assert first == [c.id for c in returning_cases(more[::-1], labels, QUERIES, sample=10, seed=3)]
    assert first != [c.id for c in returning_cases(more, labels, QUERIES, sample=10, seed=4)]
    assert len(first) == 10
    assert sum(i.startswith("returned") for i in first) == 5
    with pytest.raises(InputError, match="at least 2"):
        returning_cases(more, labels, QUERIES, sample=1)
