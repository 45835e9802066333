"""The still picture, and the text measures behind it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from datetime import timedelta
from typing import Any

import pytest

from memlab.errors import InputError, TimeError
from memlab.figures import graph_svg
from memlab.figures.still import strongest
from memlab.figures.text import shorten, text_width, wrap, xml_text
from memlab.graph import SkillGraph

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return ["".join(t.itertext()) for t in ET.fromstring(svg).iter(f"{SVG}text")]


def test_it_is_well_formed_and_says_in_words_what_it_shows(history: Any) -> None:
    history.case(0, ["no sound"], "muted by a key", "press the key", failed="restart")
    root = ET.fromstring(graph_svg(history.graph()))
    title, desc = root.findtext(f"{SVG}title"), root.findtext(f"{SVG}desc")
    assert title == "Memory graph of fabrikam / teams"
    # One confirmed conversation, seen at its own moment: log(1 + 1) = 0.69.
    assert desc is not None
    assert desc.endswith("muted by a key (weight 0.69): shows as no sound; solved by press the key.")
    assert root.get("aria-labelledby") == "memlab-title memlab-desc"
    assert {"memlab-title", "memlab-desc"} <= {e.get("id") for e in root}


def test_it_shows_the_strongest_and_counts_the_rest(synthetic: Any) -> None:
    graph = synthetic(9, conversations=40).graph()
    part = strongest(graph, causes=3)
    assert [e.id for e in part.of_kind("cause")] == [e.id for e in graph.of_kind("cause")[:3]]
    assert not any("failed attempt" in e.title for e in part.entries.values())
    svg = graph_svg(graph, causes=3)
    assert any(t.startswith(f"the strongest {len(part.entries)} of {len(graph.entries)} entries") for t in texts(svg))


def test_it_goes_back_in_time(history: Any) -> None:
    history.case(0, ["s"], "old cause", "x")
    history.case(9, ["s"], "new cause", "x")
    graph = history.graph()
    assert "new cause" in graph_svg(graph)
    assert "new cause" not in graph_svg(graph, graph.at - timedelta(days=1))
    assert graph_svg(graph, graph.at.isoformat()) == graph_svg(graph, graph.at) == graph_svg(graph)
    with pytest.raises(TimeError, match="no UTC offset"):
        graph_svg(graph, "2026-01-05T09:00:00")


def test_nothing_learned_is_said(history: Any) -> None:
    assert "Nothing learned yet" in texts(graph_svg(SkillGraph("fabrikam", "teams")))


def test_text_never_becomes_markup(history: Any, hostile: list[str]) -> None:
    for n, text in enumerate([*hostile, "broken \ud83d\x00 \uffff"]):
        history.case(n, [f"{text}"], f"{text}", text)
    svg = graph_svg(history.graph(), causes=99)
    tags = {e.tag.removeprefix(SVG) for e in ET.fromstring(svg).iter()}
    assert tags == {"svg", "title", "desc", "rect", "path", "g", "text", "tspan"}
    svg.encode()


@pytest.mark.parametrize("wrong", [{"theme": "blue"}, {"causes": 0}])
def test_wrong_options_are_refused(history: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        graph_svg(SkillGraph("fabrikam", "teams"), **wrong)


def test_labels_fit_and_keep_letters_whole() -> None:
    long = "Outlook and OneDrive also ask for a password again and again"
    assert text_width(shorten(long, 120, 12), 12) <= 120
    assert all(text_width(line, 12) <= 200 for line in wrap(long, 200, 12))
    # 'e' and its combining accent stay together: where only one of both would fit, both go.
    base = "cafe\u0301 noir"
    cut = shorten(base, text_width("cafe…", 10) - 0.01, 10)
    assert cut == "caf…"
    assert wrap("Donaudampfschifffahrtsgesellschaft", 60, 12)[0].endswith("…")
    assert xml_text("\ufffe") == "\\ufffe"
