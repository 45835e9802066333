"""The growing graph: fixed places, the same bytes, no script, and the last moment where nothing plays."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest

from memlab.errors import InputError
from memlab.figures import growth_animation

SVG = "{http://www.w3.org/2000/svg}"


def test_every_entry_and_link_is_drawn_once_and_only_opacity_and_the_mark_move(synthetic: Any) -> None:
    graph = synthetic(5, conversations=14).graph()
    text = growth_animation(graph, steps=6, seconds=3.0)
    assert text == growth_animation(graph, steps=6, seconds=3.0)
    root = ET.fromstring(text)
    assert len(root.findall(f"{SVG}circle")) == len(graph.entries) + 1
    moving = [a.get("attributeName") for a in root.iter(f"{SVG}animate")]
    assert set(moving) == {"opacity", "cx", "cy"}
    assert moving.count("cx") == moving.count("cy") == 1
    for a in root.iter(f"{SVG}animate"):
        # 6 moments and the pause at the end
        assert len((a.get("values") or "").split(";")) == len((a.get("keyTimes") or "").split(";")) == 7
    assert "<script" not in text
    assert "14 conversations" in (root.findtext(f"{SVG}desc") or "")


def test_an_entry_is_unseen_before_its_first_evidence(history: Any) -> None:
    history.case(0, ["early"], "c1")
    history.case(100, ["late"], "c2")
    root = ET.fromstring(growth_animation(history.graph(), steps=3))
    seen = {
        c.findtext(f"{SVG}title"): (c[1].get("values") or "").split(";") for c in root.findall(f"{SVG}circle") if len(c) > 1
        and c.findtext(f"{SVG}title")
    }  # fmt: skip
    assert seen["late"][:2] == ["0", "0"]
    assert float(seen["early"][0]) > float(seen["early"][2]) > 0  # it fades as its evidence ages


def test_what_can_not_be_played_is_refused(history: Any) -> None:
    with pytest.raises(InputError, match="no history"):
        growth_animation(history.graph())
    with pytest.raises(InputError, match="at least 2 steps"):
        growth_animation(history.graph(), steps=1)
