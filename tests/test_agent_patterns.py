"""Cross-customer patterns: counts that at least k customers share, and what one customer's coming or going can show."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import HashEncoder

from memlab.agent.jsonstore import JsonStore
from memlab.agent.patterns import Patterns, patterns, patterns_in
from memlab.agent.records import Memory, Telling, remembered
from memlab.curation.guards import stems
from memlab.errors import CustomerError, InputError

AT = datetime(2026, 3, 2, tzinfo=UTC)


def step(customer: str, symptom: str, action: str, outcome: str = "worked", days: int = 0) -> Memory:
    told = Telling(AT + timedelta(days=days), f"c{days}", "user", outcome, action)
    return remembered(customer, "attempt", action, told, symptoms=[symptom])


def world(*steps: tuple[str, str, str, str]) -> dict[str, list[Memory]]:
    out: dict[str, list[Memory]] = {}
    for n, (customer, symptom, action, outcome) in enumerate(steps):
        out.setdefault(customer, []).append(step(customer, symptom, action, outcome, n))
    return out


CRASH = [
    ("a", "client crashes on big uploads", "update the client", "worked"),
    ("b", "crashes during big uploads in Paris", "we update client tonight", "worked"),
    ("c", "uploads so big that it crashes", "update the client", "worked"),
]


def test_what_three_customers_share_is_said_as_words_and_counts():
    (found,) = patterns_in(world(*CRASH))
    # The words that all three used: "Paris", "tonight" and "client" (of the symptom) are not among them.
    assert (found.symptom, found.step) == (
        tuple(sorted(stems("big crashes uploads"))),
        tuple(sorted(stems("update client"))),
    )
    assert (found.worked, found.failed) == (3, 0)


def test_two_customers_show_nothing_however_often_they_say_it():
    steps = [s for s in CRASH[:2] for _ in range(9)]
    assert patterns_in(world(*steps)) == ()


def test_counts_are_customers_rounded_down_to_multiples_of_k():
    steps = [(f"w{n}", *CRASH[0][1:]) for n in range(5)] + [(f"f{n}", *CRASH[0][1:3], "failed") for n in range(4)]
    assert {(p.worked, p.failed) for p in patterns_in(world(*steps))} == {(3, 3)}
    assert {(p.worked, p.failed) for p in patterns_in(world(*steps), k=4)} == {(4, 4)}
    assert {(p.worked, p.failed) for p in patterns_in(world(*steps), k=5)} == {(5, 0)}


def test_a_customer_counts_once_with_the_latest_outcome():
    turned = [*CRASH, ("a", CRASH[0][1], CRASH[0][2], "failed")]
    assert patterns_in(world(*turned)) == ()


def test_proposals_and_unknown_outcomes_do_not_count():
    claimed = {
        c: [remembered(c, "attempt", "update it", Telling(AT, "c", "agent", "worked"), symptoms=["it crashes"])]
        for c in "abcd"
    }
    assert patterns_in(claimed) == ()


def test_only_those_who_agreed_are_read(tmp_path):
    store = JsonStore(tmp_path, encoder=HashEncoder())
    for customer, memories in world(*CRASH).items():
        store.add(customer, memories)
    assert len(patterns(store, ["a", "b", "c"])) == 1
    assert patterns(store, ["a", "b"]) == ()
    assert patterns(store, ["a", "b", "b", "nobody"]) == ()
    with pytest.raises(CustomerError):
        patterns(store, ["a", "b", " c"])
    with pytest.raises(InputError, match="at least 3"):
        patterns(store, ["a", "b", "c"], k=2)


def test_patterns_make_a_frame():
    frame = patterns_in(world(*CRASH)).to_frame()
    assert list(frame.columns) == ["symptom", "step", "worked", "failed"]
    assert len(frame) == 1
    assert len(Patterns().to_frame()) == 0


WORDS = ("alpha", "beta", "gamma", "delta")
SAID = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True).map(" ".join)
STEPS = st.tuples(st.sampled_from("abcdefgh"), SAID, SAID, st.sampled_from(["worked", "failed"]))
WORLDS = st.lists(STEPS, min_size=1, max_size=24).map(lambda steps: world(*steps))


def holders(memories: dict[str, list[Memory]], symptom: tuple[str, ...], action: tuple[str, ...]) -> dict[str, str]:
    """Straight from the definition: each customer whose memories hold these words, with the latest outcome."""
    out = {}
    for customer, theirs in memories.items():
        for m in sorted(theirs, key=lambda m: (m.last, m.id)):
            if set(symptom) <= set(stems(m.symptoms[0])) and set(action) <= set(stems(m.text)):
                out[customer] = m.outcome
    return out


@given(WORLDS)
@settings(max_examples=60)
def test_whatever_is_said_is_true_of_at_least_k_customers(memories):
    for p in patterns_in(memories):
        found = list(holders(memories, p.symptom, p.step).values())
        assert p.worked == found.count("worked") // 3 * 3
        assert p.failed == found.count("failed") // 3 * 3
        assert max(p.worked, p.failed) >= 3


@given(WORLDS, st.sampled_from("abcdefgh"))
@settings(max_examples=60)
def test_one_customer_more_or_less_shows_only_where_a_count_steps(memories, customer):
    """Differencing two outputs: what changes is a count that passes a multiple of k, and all else is equal."""
    without = {c: m for c, m in memories.items() if c != customer}
    before = {(p.symptom, p.step): (p.worked, p.failed) for p in patterns_in(without)}
    after = {(p.symptom, p.step): (p.worked, p.failed) for p in patterns_in(memories)}
    steps = [
        key
        for key in {*before, *after}
        for outcome in ("worked", "failed")
        if (n := list(holders(memories, *key).values()).count(outcome)) >= 3
        and n % 3 == 0
        and holders(memories, *key).get(customer) == outcome
    ]
    if not steps:
        assert before == after


@given(WORLDS)
@settings(max_examples=40)
def test_a_pattern_of_fewer_than_k_customers_changes_nothing(memories):
    """Two customers of their own, with anything in common, leave the output as it was."""
    extra = {c: [step(c, "alpha secret trouble", "beta secret cure", days=1)] for c in ("x", "y")}
    alone = {c: [step(c, "secret trouble", "secret cure", days=1)] for c in ("x", "y")}
    assert patterns_in({**memories, **alone}) == patterns_in(memories)
    assert not any("secret" in (*p.symptom, *p.step) for p in patterns_in({**memories, **extra}))
