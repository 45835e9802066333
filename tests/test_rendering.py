"""The skill: a pure text of a view, within its budget, with what people said as data that can't get out."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scripted import START, HashEncoder, Scripted, ScriptedCurator, conv, prop
from skills_ref.parser import parse_frontmatter
from skills_ref.validator import validate, validate_metadata

from memlab.curation.curator import Choice
from memlab.curation.resolving import CategoryState, curate
from memlab.errors import InputError
from memlab.graph import SkillGraph
from memlab.models.tokens import count_tokens
from memlab.rendering import (
    cause_cards,
    escape,
    parse_causes,
    parse_skill,
    render_skill,
    shorten,
    skill_data,
    skill_files,
    skill_name,
    skill_page,
    unescape,
    write_skill,
)
from memlab.rendering.cards import ordered_causes, worth_showing


def graph_of(*cases, customer: str = "acme", category: str = "vpn") -> SkillGraph:
    """Cases (conversation, proposal), all wordings kept apart unless they are the same words."""
    state = CategoryState(customer, category, HashEncoder().encode)
    curator = ScriptedCurator(lambda *_: Choice("add"))
    for conversation, proposal in cases:
        curate(state, proposal, conversation, curator=curator)
    return state.graph.view()


WORDS = "anchor basket candle dragon emblem falcon goblet".split()
OUTCOMES = ("confirmed", "inferred", "unresolved")
GOLDEN = Path(__file__).parent / "golden"


def three_cases(**whose: str) -> SkillGraph:
    """A fix of yesterday is worth 0.995, a detour of today 0.5: log(1 + 1.495) = 0.91; a claim 0.3: log(1.298) = 0.26."""
    return graph_of(
        (
            conv("c1", 0),
            prop(["VPN error 809", "no tunnel | at home"], "blocked UDP 500", "open the port", failed=["reboot"]),
        ),
        (
            conv("c2", 1),
            prop("VPN error 809", "blocked UDP 500", "use the phone", failed=["reboot"], kind="workaround"),
        ),
        (conv("c3", 0), prop("VPN error 691", None, "change the realm", "unresolved", failed=["reboot"])),
        (
            conv("c4", -3),
            prop("<b>slow</b> ```", "a long story " * 20, None, "unresolved", failed=["wait\u2028longer"]),
        ),
        **whose,
    )


@pytest.mark.parametrize("name", ["SKILL.md", "references/causes.md", "page.html", "lean.md"])
def test_what_is_rendered_is_what_was_looked_at(name):
    """Golden files were read by a person; a change of theirs is a change of what agents read."""
    graph = three_cases()
    made = {
        **skill_files(graph, budget=600),
        "page.html": skill_page(graph),
        "lean.md": render_skill(graph, budget=200, lean=True),
    }
    assert made[name] == (GOLDEN / name).read_text("utf-8")


def test_the_page_that_an_agent_reads_is_read_back():
    text = render_skill(three_cases())
    assert text == render_skill(three_cases())
    assert "As of 2026-03-03, 4 conversations." in text
    assert parse_skill(text)["causes"][0] == {
        "cause": "blocked UDP 500",
        "symptom": ["VPN error 809", "no tunnel | at home"],
        "fix": ["open the port"],
        "workaround": ["use the phone"],
        "did not help": ["reboot"],
    }


def test_a_cause_says_when_to_stop():
    text = render_skill(three_cases())
    assert text.count("   no known fix: escalate") == 1
    detour = graph_of((conv("c1", 0), prop("slow", "old driver", "use the tablet", kind="workaround")))
    assert "only worked around so far: escalate for a fix" in render_skill(detour)
    fails = prop("slow", "old driver", None, "unresolved", failed=["update it"])
    often = graph_of((conv("c1", 0), prop("slow", "old driver", "update it")), (conv("c2", 1), fails))
    assert "try once, then escalate" in render_skill(often)


def test_a_long_text_is_cut_at_a_word_and_whole_in_the_references():
    story = ("a long story " * 20).strip()
    files = skill_files(three_cases(), budget=600)
    (shown,) = (c["cause"] for c in parse_skill(files["SKILL.md"])["causes"] if c["cause"].startswith("a long"))
    assert shown.endswith(" …") and len(shown) <= 160 and story.startswith(shown.removesuffix(" …"))
    body = files["references/causes.md"].split("````memory\n")[1].split("\n````")[0]
    full = parse_causes(body)
    assert story in [c["cause"].strip() for c in full]
    assert [c["cause"] for c in full] == [c["text"] for c in skill_data(three_cases())["causes"]]
    assert full[0]["conversations"] == ["c1 c2"]


@given(st.text(min_size=1, max_size=80), st.integers(3, 60))
def test_shortened_text_is_a_beginning_and_not_too_long(text, most):
    short = shorten(text, most)
    assert short == text or (
        len(short) <= most + 1 and short.endswith(" …") and text.startswith(short[:-2].rstrip(" "))
    )


def test_causes_asked_for_come_first_and_once():
    graph = three_cases()
    ids = {c.text: c.id for c in cause_cards(graph)}
    weakest = min(cause_cards(graph), key=lambda c: c.weight)
    text = render_skill(graph, first=[weakest.id, "unknown", weakest.id])
    causes = [c["cause"].removesuffix(" …") for c in parse_skill(text)["causes"]]
    assert weakest.text.startswith(causes[0])
    assert len(causes) == len(set(causes)) == len(ids)


def test_a_skill_folder_is_valid_and_replaced_whole(tmp_path):
    graph = three_cases()
    target = write_skill(graph, tmp_path, budget=400)
    assert validate(target) == []
    assert target.name == skill_name("acme", "vpn")
    assert "see references/causes.md" in write_and_read(graph, tmp_path, budget=240)
    assert write_skill(graph, target, budget=400) == target  # named itself, it is not nested
    assert sorted(p.name for p in tmp_path.iterdir()) == [target.name]
    (target / "notes.txt").write_text("mine", "utf-8")
    with pytest.raises(InputError, match=r"notes\.txt"):
        write_skill(graph, tmp_path)


def write_and_read(graph: SkillGraph, folder: Path, *, budget: int) -> str:
    return (write_skill(graph, folder, budget=budget) / "SKILL.md").read_text("utf-8")


def test_a_strangers_skill_is_not_replaced(tmp_path):
    target = tmp_path / skill_name("acme", "vpn")
    target.mkdir()
    (target / "SKILL.md").write_text("# my own", "utf-8")
    with pytest.raises(InputError, match="not a skill rendered by memlab"):
        write_skill(three_cases(), tmp_path)
    assert (target / "SKILL.md").read_text("utf-8") == "# my own"


def test_names_that_collide_are_told_apart():
    pages = {render_skill(three_cases(customer=c, category=k)) for c, k in (("a b", "c"), ("a", "b c"), ("A b", "c"))}
    assert len({parse_skill(p)["name"] for p in pages}) == 3


def test_a_page_shows_markup_as_text():
    page = skill_page(three_cases())
    assert "&lt;b&gt;slow&lt;/b&gt;" in page
    assert "<b>" not in page
    assert "http" not in page


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
    assert shown == top or ("…" in text and top.startswith(shown.removesuffix(" …").rstrip()))


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


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(-900, 0), st.sampled_from(OUTCOMES)), max_size=14))
@settings(max_examples=40, deadline=None)
def test_causes_that_are_weighed_only_when_they_may_come_next_come_in_the_order_of_all(found):
    cases = [
        (conv(f"c{n}", day), prop(f"{WORDS[cause]} jams", f"bent {WORDS[cause]}", f"replace {WORDS[cause]}", outcome))
        for n, (cause, day, outcome) in enumerate(found)
    ]
    graph = graph_of(*cases)
    assert [c.id for c in ordered_causes(graph)] == [c.id for c in graph.of_kind("cause")]
    assert {c.id for c in worth_showing(graph)} == {c.id for c in graph.of_kind("cause")}


def test_causes_too_light_to_be_shown_are_not_weighed():
    cases = [(conv(f"a{n}", n), prop("belt jams", "bent belt", "replace belt")) for n in range(3)]
    cases += [(conv(f"b{w}", 0), prop(f"{w} jams", f"bent {w}", f"replace {w}")) for w in WORDS]
    graph = graph_of(*cases)
    (heaviest,) = (c for c in graph.of_kind("cause") if len(c.evidence) == 3)
    view = graph.view()
    assert next(iter(ordered_causes(view))).id == heaviest.id
    # A single conversation is worth at most log(2), less than three that are at most two days old.
    assert list(view._weights) == [heaviest.id]


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
