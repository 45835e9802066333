"""The loop as a picture: its numbers are the bank's, one conversation goes through it, and text stays text."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from scripted import conv, prop

from memlab.bank import Bank
from memlab.errors import InputError
from memlab.figures import pipeline_chart
from memlab.figures.pipeline import COLUMNS, pipeline_frame

SAID = [("user", "Morning. it is broken since the update"), ("agent", "swap the cable"), ("user", "works")]


@pytest.fixture
def taught(bank: Bank, teach: Any) -> Bank:
    """Two conversations about one cause, a third about another one, and one of another category."""
    teach(
        bank,
        [
            (conv("a", 0, SAID), prop("no light", "broken cable", "swap the cable", failed=["restart it"])),
            (conv("b", 5, SAID), prop("no light", "broken cable", "swap the cable")),
            (conv("c", 1, SAID), prop("too slow", "old client", "update the client")),
            (conv("d", 6, SAID, category="mail"), prop("no mail", "full box", "empty it", category="mail")),
        ],
    )
    return bank


def text_of(svg: str) -> str:
    return " ".join(" ".join(t.itertext()) for t in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"))


def test_each_step_counts_what_it_made(taught: Bank) -> None:
    frame = pipeline_frame(taught, "vpn").set_index("step")
    assert list(frame.index) == ["conversations", "proposals", "operations", "graph", "skill"]
    assert frame.loc["conversations", "count"] == 3
    assert frame.loc["conversations", "detail"] == "9 turns, 2026-03-02 to 2026-03-07"
    assert frame.loc["proposals", "detail"] == "3 symptoms, 3 causes, 1 attempts, 3 solutions"
    operations = list(taught.operations("vpn"))
    assert frame.loc["operations", "count"] == len(operations)
    # 2 symptoms, 2 causes, 2 solutions that helped and one that did not; a and c bring them, b brings nothing new.
    assert frame.loc["graph", "count"] == 7
    assert frame.loc["graph", "detail"] == "2 symptoms, 2 causes, 3 solutions, 5 links"
    assert frame.loc["operations", "detail"] == "7 add, 3 reinforce"


def test_it_follows_the_newest_conversation_of_the_heaviest_cause(taught: Bank) -> None:
    frame = pipeline_frame(taught, "vpn").set_index("step")["example"]
    assert frame["conversations"] == "b, turn 0, user: “Morning. it is broken since the update”"
    assert frame["proposals"] == "confirmed; cause: broken cable; fix: swap the cable"
    assert frame["operations"].startswith("reinforce the cause: ")
    assert frame["graph"].startswith("broken cable: weight ")
    assert frame["graph"].endswith("from 2 conversations")
    assert frame["skill"].startswith("1. broken cable | 2 conversations")
    other = pipeline_frame(taught, "vpn", conversation="c").set_index("step")["example"]
    assert other["proposals"] == "confirmed; cause: old client; fix: update the client"
    assert other["skill"].startswith("2. old client")


def test_the_picture_has_words_and_a_table_and_equal_bytes(taught: Bank) -> None:
    first, second = pipeline_chart(taught, "vpn"), pipeline_chart(taught, "vpn")
    assert first.svg == second.svg
    assert list(first.table.columns) == list(COLUMNS)
    assert first.alt.startswith("Five steps from left to right. 3 conversations (9 turns")
    assert "fold: 7 entries (2 symptoms, 2 causes, 3 solutions, 5 links)" in first.alt
    shown = text_of(first.svg)
    assert all(word in shown for word in ("extract", "curate", "fold", "render", "acme / vpn", "broken cable"))
    assert pipeline_chart(taught, "vpn", theme="dark").svg != first.svg
    assert not re.search(r"https?://(?!www\.w3\.org)", first.svg)


def test_text_never_becomes_markup(bank: Bank, teach: Any, hostile: list[str]) -> None:
    for n, text in enumerate(hostile):
        teach(bank, [(conv(f"c{n}", n, [("user", text)]), prop(text, f"{text} cause", text, quote=text))])
    for n in range(len(hostile)):
        svg = pipeline_chart(bank, "vpn", conversation=f"c{n}").svg
        tags = {e.tag.rpartition("}")[2] for e in ET.fromstring(svg).iter()}
        assert tags == {"svg", "title", "desc", "rect", "path", "text"}


def test_what_is_not_there_is_refused(bank: Bank, taught: Bank) -> None:
    with pytest.raises(InputError, match=r"memory holds no root cause in acme/teams"):
        pipeline_chart(taught, "teams")
    with pytest.raises(InputError, match=r"conversation 'z' states no root cause"):
        pipeline_frame(taught, "vpn", conversation="z")
    with pytest.raises(InputError, match="theme"):
        pipeline_chart(taught, "vpn", theme="blue")
