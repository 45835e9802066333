"""Memory as a chart: what is drawn stands in the table, what was tried in vain is drawn too, and it is well formed."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from datetime import timedelta
from typing import Any

import pytest

from memlab.errors import InputError
from memlab.figures import memory_chart
from memlab.figures.memory import COLUMNS, link_frame
from memlab.figures.still import strongest
from memlab.figures.style import LIGHT


@pytest.fixture
def graph(history: Any) -> Any:
    history.case(0, ["no sound"], "muted by a key", "press the key", failed="restart")
    history.case(3, ["no sound"], "muted by a key", "press the key", failed="restart")
    history.case(4, ["no sound"], "muted by a key", "press the key", failed="shout")
    return history.graph()


def test_every_link_that_is_drawn_has_a_row(graph: Any) -> None:
    chart = memory_chart(graph, failed=2)
    assert list(chart.table.columns) == list(COLUMNS)
    rows = {(r["from"], r["to"]): r for r in chart.table.to_dict("records")}
    fix = rows["muted by a key", "press the key"]
    assert (fix["link"], fix["conversations"], fix["confirmed"], fix["failed"]) == ("solution", 3, 3, 0)
    assert fix["last"] == "2026-01-09"
    restart = rows["muted by a key", "restart"]
    assert (restart["weight"], restart["conversations"], restart["failed"]) == (0.0, 2, 2)
    assert len(rows) == len(graph.edges) == 4
    assert chart.table["link"].tolist() == ["symptom", "solution", "solution", "solution"]


def test_what_failed_most_often_comes_first_and_can_be_left_out(graph: Any) -> None:
    titles = [{e.title for e in strongest(graph, failed=n).entries.values()} for n in (0, 1, 2)]
    assert titles[0] == {"no sound", "muted by a key", "press the key"}
    assert titles[1] - titles[0] == {"restart"}
    assert titles[2] - titles[1] == {"shout"}
    with pytest.raises(InputError, match="failed must be at least 0"):
        memory_chart(graph, failed=-1)


def test_words_and_colour_say_that_it_failed(graph: Any) -> None:
    chart = memory_chart(graph)
    assert chart.alt.endswith("solved by press the key; tried in vain: restart.")
    marks = [e.get("fill") for e in ET.fromstring(chart.svg).iter("{http://www.w3.org/2000/svg}path")]
    assert LIGHT.failed in marks
    assert memory_chart(graph, failed=0).alt.endswith("solved by press the key.")


def test_in_a_notebook_it_is_named_once(graph: Any) -> None:
    page = memory_chart(graph)._repr_html_()
    assert page.count('role="img"') == 1
    assert page.count("<figcaption>") == 1


def test_it_goes_back_in_time(graph: Any) -> None:
    before = memory_chart(graph, graph.at - timedelta(days=2))
    assert before.table["conversations"].tolist() == [1, 1, 1]
    assert memory_chart(graph).svg == memory_chart(graph).svg
    assert link_frame(strongest(graph, failed=9)).equals(memory_chart(graph, failed=9).table)
