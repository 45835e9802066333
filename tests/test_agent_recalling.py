"""Ranking of a customer's memories, and what the bank adds where the own history knows no fix."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import START, HashEncoder, conv, prop

from memlab.agent import SupportAgent
from memlab.agent.jsonstore import JsonStore
from memlab.agent.recalling import Words, recalled
from memlab.agent.records import Memory, Telling, remembered
from memlab.models.embeddings import default_encoder
from memlab.records import Attempt, Conversation, Mention, Proposal

AT = datetime(2026, 3, 2, tzinfo=UTC)
ENCODER = HashEncoder()


def step(text: str, symptom: str, outcome: str = "worked", days: float = 0) -> Memory:
    told = Telling(AT + timedelta(days=days), f"c{days}", "user", outcome, text)
    return remembered("ann", "attempt", text, told, symptoms=[symptom])


def search(query: str, memories: Sequence[Memory], encoder=ENCODER, days: float = 1, **options):
    rows = encoder.encode([m.search_text for m in memories])
    similar = {m.id: max(0.0, float(v @ encoder.encode([query])[0])) for m, v in zip(memories, rows, strict=True)}
    options.setdefault("same", lambda a, b: a == b)
    return recalled(query, memories, similar, at=AT + timedelta(days=days), **options)


def test_a_precise_memory_outranks_a_one_word_one():
    memories = [step("open it again", "crash"), step("update the client", "editor crashes when uploading large PDF")]
    hits = search("the editor crashes when uploading a large PDF", memories, least=0.0)
    assert [h.text for h in hits] == ["update the client", "open it again"]


def test_rare_words_outrank_those_that_every_memory_shares():
    shared = [step(f"knob {n}", f"printer problem number{n}") for n in range(6)]
    rare = step("clean the fuser", "printer problem smudges")
    words = Words([*shared, rare])
    assert words.rarity("smudg") > words.rarity("printer")
    hits = search("printer problem smudges", [*shared, rare], least=0.0)
    assert hits[0].text == "clean the fuser"
    assert "smudg" in hits[0].reason


def test_different_wording_is_found_by_meaning():
    encoder = default_encoder()
    memories = [
        step("update the client", "the application crashes on big uploads"),
        step("clear the print queue", "the printer prints nothing"),
        step("renew the certificate", "the VPN says the certificate expired"),
    ]
    hits = search("the program dies whenever I send a huge file", memories, encoder)
    assert [h.text for h in hits] == ["update the client"]
    assert search("how do I change my billing address?", memories, encoder) == ()


def test_a_newer_memory_leads_among_equals():
    memories = [step("old way", "no sound", days=0), step("new way", "no sound", days=300)]
    similar = {m.id: 0.8 for m in memories}
    hits = recalled("no sound", memories, similar, at=AT + timedelta(days=301), same=lambda a, b: a == b)
    assert [h.text for h in hits] == ["new way", "old way"]


def test_what_was_tried_twice_is_one_hit_with_its_history():
    memories = [
        step("update it", "no sound", "failed", 0),
        step("update it", "no sound at all", "worked", 9),
        step("update it", "no picture whatsoever", "failed", 20),
    ]
    (hit,) = search("no sound", memories, least=0.5)
    assert (hit.outcome, hit.contradicted, hit.note) == ("worked", False, "failed 2026-03-02, worked 2026-03-11")


@given(st.lists(st.sampled_from(["no sound", "no picture", "crash"]), min_size=1, max_size=9), st.randoms())
def test_the_ranking_is_total_and_does_not_depend_on_the_order(symptoms, random):
    memories = [step(f"step {n}", s, days=n % 3) for n, s in enumerate(symptoms)]
    before = search("no sound", memories, least=0.0)
    shuffled = list(memories)
    random.shuffle(shuffled)
    assert search("no sound", shuffled, least=0.0) == before
    assert len(before) <= 5


# -- the bank ---------------------------------------------------------------------------------------------------------


class Listener:
    name = "listener"

    def extract(self, conversation: Conversation) -> Sequence[Proposal]:
        n, text = len(conversation.turns) - 1, conversation.turns[-1].text
        if text.startswith("tried "):
            return [Proposal(conversation.id, attempts=(Attempt(text[6:].split(",")[0], "failed", "user", n, text),))]
        return [Proposal(conversation.id, symptoms=(Mention(text, n, text),))]


@pytest.fixture
def agent(tmp_path, bank, teach) -> SupportAgent:
    """An agent of a customer whose bank knows a fix for dropping tunnels."""
    turns = [("user", "vpn tunnel drops in the hotel"), ("agent", "lower the packet size"), ("user", "works, thanks")]
    found = prop(
        "vpn tunnel drops in the hotel", "packets too large", "lower the packet size", quote="vpn tunnel drops"
    )
    teach(bank, [(conv(f"c{n}", n, turns), found) for n in range(3)])
    store = JsonStore(tmp_path / "agent", encoder=ENCODER)
    return SupportAgent(
        store, knowledge=lambda customer: bank if customer == "acme" else None, extractor=Listener(), encoder=ENCODER
    )


PROBLEM = "vpn tunnel drops in the hotel"
LATER = {"at": START + timedelta(days=30)}


def test_the_bank_is_asked_where_the_own_history_knows_no_fix(agent):
    reply = agent.ask("acme", PROBLEM, **LATER)
    assert [s.kind for s in reply.sources][:1] == ["skill"]
    assert reply.steps == ("lower the packet size",)
    assert "helped in past cases" in reply.text
    assert reply.fixes == ()  # nobody here has verified it
    (proposal,) = [m for m in agent.store.all("acme") if m.kind == "attempt"]
    assert proposal.proposed


def test_the_own_history_comes_first(agent):
    agent.report_step("acme", "use the other gateway", outcome="worked", symptoms=[PROBLEM], **LATER)
    reply = agent.ask("acme", PROBLEM, **LATER)
    assert reply.steps == ("use the other gateway",)
    assert reply.sources == ()


def test_what_failed_here_is_not_suggested_again_from_the_bank(agent):
    agent.ask("acme", PROBLEM, **LATER)
    reply = agent.ask("acme", "tried lower the packet size, no luck", **LATER)
    assert reply.steps == ()
    assert reply.escalate


def test_the_bank_is_not_asked_with_memory_off_or_for_another_customer(agent):
    assert agent.ask("acme", PROBLEM, memory=False, **LATER).sources == ()
    assert agent.ask("globex", PROBLEM, **LATER).sources == ()


def test_the_bank_is_seen_as_it_was_at_the_time(agent):
    reply = agent.ask("acme", PROBLEM, at=START - timedelta(days=1))
    assert reply.sources == ()
