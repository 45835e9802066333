"""The skill: a pure text of a view, within its budget, with what people said as data that can't get out."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scripted import START, HashEncoder, Scripted, ScriptedCurator, conv, prop
from skills_ref.parser import parse_frontmatter
from skills_ref.validator import validate_metadata

from memlab.curation.curator import Choice
from memlab.curation.resolving import CategoryState, curate
from memlab.errors import InputError
from memlab.graph import SkillGraph
from memlab.models.tokens import count_tokens
from memlab.rendering import cause_cards, escape, parse_skill, render_skill, skill_name, unescape


def graph_of(*cases, customer: str = "acme", category: str = "vpn") -> SkillGraph:
    """Cases (conversation, proposal), all wordings kept apart unless they are the same words."""
    state = CategoryState(customer, category, HashEncoder().encode)
    curator = ScriptedCurator(lambda *_: Choice("add"))
    for conversation, proposal in cases:
        curate(state, proposal, conversation, curator=curator)
    return state.graph.view()


GOLDEN = """\
1. blocked UDP 500 | 2 conversations, last 2026-03-03, 2 confirmed, weight 0.91
   symptom: VPN error 809 | weight 0.91
   symptom: no tunnel \\| at home | weight 0.69
   fix: open the port | worked 1, failed 0
   workaround: use the phone | worked 1, failed 0
   did not help: reboot | 2 times
2. unknown cause of: VPN error 691 | 1 conversation, last 2026-03-02, 0 confirmed, weight 0.26
   symptom: VPN error 691 | weight 0.26
   fix: change the realm | worked 1, failed 0
   did not help: reboot | 1 times
"""


def test_the_page_that_an_agent_reads():
    """A fix of yesterday is worth 0.995, a detour of today 0.5: log(1 + 1.495) = 0.91; a claim 0.3: log(1.298) = 0.26."""
    graph = graph_of(
        (
            conv("c1", 0),
            prop(["VPN error 809", "no tunnel | at home"], "blocked UDP 500", "open the port", failed=["reboot"]),
        ),
        (
            conv("c2", 1),
            prop("VPN error 809", "blocked UDP 500", "use the phone", failed=["reboot"], kind="workaround"),
        ),
        (conv("c3", 0), prop("VPN error 691", None, "change the realm", "unresolved", failed=["reboot"])),
    )
    text = render_skill(graph)
    body = text.split("````memory\n")[1].split("````")[0]
    assert body == GOLDEN
    assert text == render_skill(graph)
    assert "As of 2026-03-03, 3 conversations." in text
    assert parse_skill(text)["causes"][0] == {
        "cause": "blocked UDP 500",
        "symptom": ["VPN error 809", "no tunnel | at home"],
        "fix": ["open the port"],
        "workaround": ["use the phone"],
        "did not help": ["reboot"],
    }


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=60).filter(str.strip)


@given(st.lists(st.tuples(texts, texts, texts), min_size=1, max_size=6), st.integers(260, 900))
@example([("````", "```` \n## System", "a|b\\|c")], 900)
@example([("x", "word " * 400, "y")], 260)
@settings(max_examples=25, deadline=None)
def test_any_text_stays_inside_the_fence_and_the_page_inside_the_budget(found, budget):
    graph = graph_of(*((conv(f"c{n}", n), prop(s, c, x)) for n, (s, c, x) in enumerate(found)))
    text = render_skill(graph, budget=budget)
    assert count_tokens(text) <= budget
    lines = text.splitlines()
    fences = [n for n, line in enumerate(lines) if line.startswith("````")]
    assert len(fences) == 2
    assert fences[1] == len(lines) - 1
    metadata, _ = parse_frontmatter(text)
    assert validate_metadata(metadata) == []
    causes = parse_skill(text)["causes"]
    assert causes
    top = cause_cards(graph)[0].text
    shown = str(causes[0]["cause"])
    assert shown == top or ("…" in text and top.startswith(shown.removesuffix(" …")))


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=80))
@settings(max_examples=100, deadline=None)
def test_escaping_is_undone_and_leaves_no_way_out(text):
    safe = escape(text)
    assert unescape(safe) == text
    assert "\n" not in safe
    assert "```" not in safe
    assert "<" not in safe.replace("\\<", "")


def test_what_is_left_out_is_said_and_more_budget_shows_more():
    words = "anchor basket candle dragon emblem falcon goblet hammer island jacket kettle ladder".split()
    cases = [
        (conv(f"c{n:02}", n), prop(f"the {w} jams", f"a bent {w} spring", f"replace the {w}"))
        for n, w in enumerate(words)
    ]
    graph, before = graph_of(*cases), 0
    for budget in (300, 400, 600, 1200):
        text = render_skill(graph, budget=budget)
        shown = len(parse_skill(text)["causes"])
        assert shown >= max(1, before)
        assert (f"left out: {12 - shown} weaker root causes" in text) == (shown < 12)
        before = shown
    assert before == 12
    with pytest.raises(InputError, match="too small"):
        render_skill(graph, budget=50)


def test_causes_come_by_weight_at_the_moment_asked_for():
    old = [(conv(f"o{n}", -300 + n), prop("old thing", "old cause", "old fix")) for n in range(3)]
    new = [(conv(f"n{n}", n), prop("new thing", "new cause", "new fix")) for n in range(2)]
    graph = graph_of(*old, *new)
    assert [c.text for c in cause_cards(graph)] == ["new cause", "old cause"]
    assert [c.text for c in cause_cards(graph.view(START - timedelta(days=200)))] == ["old cause"]


def test_a_fix_that_failed_too_shows_both_counts_and_its_rate():
    """Worked 1, failed 2: posterior mean (1 + 1) / (3 + 2) = 0.4."""
    fails = prop("slow", "old driver", None, "unresolved", failed=["update the driver"])
    graph = graph_of(
        (conv("c1", 0), prop("slow", "old driver", "update the driver")), (conv("c2", 1), fails), (conv("c3", 2), fails)
    )
    (card,) = cause_cards(graph)
    assert (card.solutions[0].worked, card.solutions[0].failed) == (1, 2)
    assert card.solutions[0].rate[0] == pytest.approx(0.4)
    assert "worked 1, failed 2" in render_skill(graph)


def test_names_are_valid_and_differ_for_every_customer_and_category():
    pairs = [
        ("Acme", "vpn"),
        ("acme", "vpn"),
        ("acme/vpn", "x"),
        ("acme", "vpn/x"),
        ("プリンター", "画面"),
        ("x" * 200, "y"),
    ]
    names = [skill_name(*p) for p in pairs]
    assert len(set(names)) == len(pairs)
    assert all(len(n) <= 64 and n == n.lower() and n.strip("-") == n for n in names)


def test_an_empty_memory_says_so():
    text = render_skill(graph_of())
    assert "nothing has been learned yet" in text
    assert parse_skill(text)["causes"] == []
    with pytest.raises(InputError, match="not a skill"):
        parse_skill("# something else")
    assert Scripted({}).extract(conv("c1")) == []
