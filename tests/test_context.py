"""Contexts and episodes: whole parts within one budget, an account that adds up, and nothing that can get out."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import HashEncoder, conv, prop

from memlab.context import assemble, memory_block
from memlab.episodes import episode_of, episodes
from memlab.errors import InputError
from memlab.models.tokens import count_tokens
from memlab.records import canonical_json

CAUSES = ("dry ink", "dirty sensor", "loose hinge", "expired chip", "bent plug", "empty battery")


@pytest.fixture
def taught(bank, teach):
    things = "printer mouse screen badge cable phone".split()
    teach(
        bank,
        [
            (
                conv(f"c{n}", n, [("user", f"my {w} is broken"), ("agent", f"swap the {w}"), ("user", "works")]),
                prop(f"{w} is broken", cause, f"swap the {w}", failed=[f"shake the {w}"]),
            )
            for n, (w, cause) in enumerate(zip(things, CAUSES, strict=True))
        ],
    )
    return bank


@pytest.mark.parametrize("budget", [140, 200, 300, 600, 2000])
def test_the_parts_add_up_and_stay_within_the_budget(taught, budget):
    memories = ["had a new screen in May", "works from home on Fridays"]
    found = assemble(
        taught, "my badge is broken", category="vpn", budget=budget, memories=memories, encoder=HashEncoder()
    )
    assert sum(found.tokens.values()) == found.total == count_tokens(found.text) <= budget
    assert found.tokens["skill"] > 0
    assert (found.tokens["episodes"] > 0) == bool(found.episodes)
    assert ("new screen in May" in found.text) == (found.tokens["memory"] > 0)
    if budget >= 600:
        assert found.episodes[0] == "c3"


def test_what_recall_finds_comes_first_only_if_asked(taught):
    query = {
        "query": "my badge is broken badge",
        "category": "vpn",
        "budget": 200,
        "episodes": 0,
        "encoder": HashEncoder(),
    }
    ordered, by_weight = assemble(taught, **query), assemble(taught, **query, ordered=False)
    assert "1. expired chip" in ordered.text
    assert "1. empty battery" in by_weight.text  # the newest case weighs most
    assert by_weight.causes == ()
    assert ordered.tokens["episodes"] == 0
    alone = assemble(taught, None, category="vpn", budget=200)
    assert alone.text.strip() == by_weight.text.strip()


def test_too_small_a_budget_and_odd_shares_are_refused(taught):
    with pytest.raises(InputError, match="too small"):
        assemble(taught, None, category="vpn", budget=40)
    with pytest.raises(InputError, match="skill_share"):
        assemble(taught, "x", category="vpn", skill_share=0.0)


def test_an_own_counter_is_obeyed(taught):
    def count(text: str) -> int:
        return len(text.split())

    found = assemble(taught, "my badge is broken", category="vpn", budget=120, encoder=HashEncoder(), count=count)
    assert found.total == len(found.text.split()) <= 120


@given(st.lists(st.text(max_size=40), max_size=6), st.integers(10, 120))
def test_memories_are_whole_lines_inside_a_fence(texts, budget):
    block = memory_block(texts, budget=budget)
    assert count_tokens(block) <= budget
    if block:
        lines = block.splitlines()
        assert [n for n, line in enumerate(lines) if line.startswith("```")] == [1, len(lines) - 1]


def test_an_episode_holds_the_case_in_order(bank, teach):
    c = conv("c1", 0, [("user", "error 809 on my ThinkPad"), ("agent", "open the port"), ("user", "works")])
    proposal = prop("error 809", "port closed", "open the port", failed=["reboot"], quote="error 809 on my ThinkPad")
    made = episode_of(c, proposal)
    assert made.text().splitlines() == [
        "case c1 (2026-03-02, the user confirmed it)",
        "symptom: error 809",
        "tried by user: reboot -> failed",
        "root cause: port closed",
        "fix: open the port",
    ]
    assert made.identifiers == ("809",)
    assert made.quotes == ((0, "error 809 on my ThinkPad"),)
    data = json.loads(canonical_json(made.to_json()))
    assert data["verification"] == "the user confirmed it"
    assert data["steps"][0]["outcome"] == "failed"
    teach(bank, [(c, proposal)])
    assert [e.conversation for e in episodes(bank, "c1")] == ["c1"]
    with pytest.raises(InputError, match="no conversation 'zz'"):
        episodes(bank, "zz")
