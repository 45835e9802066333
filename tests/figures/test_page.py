"""The page as data and as text; what it does in a browser is in test_browser."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
import subprocess
import sys
from datetime import timedelta
from typing import Any

import pytest

from memlab.errors import InputError
from memlab.figures import graph_page, graph_view
from memlab.figures.data import moments, page_data
from memlab.graph import SkillGraph, fold
from memlab.records import parse_time


def embedded(page: str) -> dict[str, Any]:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_every_weight_is_that_of_the_graph_at_the_moment(synthetic: Any) -> None:
    graph: SkillGraph = synthetic(5, conversations=23).graph()
    data = page_data(graph, steps=9)
    times = moments(graph, 9)
    assert [parse_time(m) for m in data["moments"]] == [t.replace(microsecond=0) for t in times]
    for k, at in enumerate(times):
        then = graph.view(at)
        for n in data["nodes"]:
            assert (n["first"] <= k) == (n["id"] in then.entries)
            if n["first"] <= k:
                assert n["weights"][k - n["first"]] == round(then.weight(n["id"]), 4)
        for e in data["edges"]:
            edge = (data["nodes"][e["a"]]["id"], data["nodes"][e["b"]]["id"])
            assert (e["first"] <= k) == (edge in then.edges)
            if e["first"] <= k:
                assert e["weights"][k - e["first"]] == round(then.weight(*edge), 4)
                assert sum(row[2] <= k for row in e["evidence"]) == len(then.edges[edge])


def test_moments_run_evenly_from_the_first_evidence_to_the_graphs_own_moment(history: Any) -> None:
    history.case(0, ["s"], "c")
    history.case(10, ["s"], "c")
    graph = history.graph()
    days = [(m - graph.at).total_seconds() / 86400 for m in moments(graph, 5)]
    assert days == [-10, -7.5, -5, -2.5, 0]
    later = graph.view(graph.at + timedelta(days=10))
    assert moments(later, 5)[-1] == later.at
    assert len(moments(later, 1)) == 1
    with pytest.raises(InputError, match="steps must be at least 1, not 0"):
        moments(graph, 0)


def test_one_moment_if_all_evidence_is_of_one_and_none_if_there_is_none(history: Any) -> None:
    empty = SkillGraph("fabrikam", "teams")
    assert page_data(empty)["moments"] == page_data(empty)["nodes"] == page_data(empty)["conversations"] == []
    assert "<svg" in graph_page(empty)
    history.case(0, ["s"], "c", "x")
    data = page_data(history.graph(), steps=40)
    assert len(data["moments"]) == 1
    assert [n["first"] for n in data["nodes"]] == [0, 0, 0]


def test_beyond_the_limit_the_heaviest_are_drawn_and_the_rest_is_counted(history: Any) -> None:
    # Chain a is seen twice, b once, so a's three entries are the heaviest; of b's equal ones the first id ("cause-b") stays.
    history.case(0, ["a"], "a", "a")
    history.case(0, ["a"], "a", "a")
    history.case(0, ["b"], "b", "b")
    data = page_data(history.graph(), limit=4)
    assert [n["id"] for n in data["nodes"]] == ["cause-a", "cause-b", "solution-a", "symptom-a"]
    assert data["hidden"] == {"nodes": 2, "edges": 2}
    with pytest.raises(InputError, match="limit must be at least 1"):
        page_data(history.graph(), limit=0)


def test_evidence_keeps_verification_workaround_and_counter_evidence(history: Any) -> None:
    history.case(0, ["s"], "c", "x", verification="inferred", workaround=True)
    history.case(1, ["s"], "c", failed="x")
    data = page_data(history.graph(), steps=2)
    link = next(e for e in data["edges"] if data["nodes"][e["b"]]["kind"] == 2)
    # [conversation, verification (confirmed 0, inferred 1, claimed 2, failed 3), first step, workaround]
    assert link["evidence"] == [[0, 1, 0, 1], [1, 3, 1, 0]]


def test_decisions_come_with_their_entry_and_rejections_apart(history: Any) -> None:
    history.case(0, ["s"], "c", "x")
    first = history.operations[0]
    rejected = type(first)("reject", "cause", "nobody", "the moon", first.evidence, reason="a person said no")
    data = page_data(history.graph(), operations=[*history.operations, rejected])
    assert {n["id"]: n["decisions"] for n in data["nodes"]}["symptom-s"] == [["add", 0, "s", "add: a reason"]]
    assert data["rejected"] == [["reject", 0, "the moon", "a person said no"]]


def test_a_view_of_the_past_tells_nothing_of_the_future(history: Any) -> None:
    history.case(0, ["s"], "c", "x")
    history.case(9, ["s"], "c", "secret solution", quote="secret quote")
    graph = history.graph()
    page = graph_page(graph.view(graph.at - timedelta(days=1)), operations=history.operations)
    assert "secret" not in page
    assert "case-0001" not in page


def test_text_never_becomes_markup(history: Any, hostile: list[str]) -> None:
    for n, text in enumerate(hostile):
        history.case(n, [text], text, text, quote=text)
    page = graph_page(history.graph(), operations=history.operations, title=hostile[0])
    assert page.count("<script") == page.count("</script>") == 2
    assert "<img" not in page
    assert "49" not in embedded(page)["title"]
    shown = {q[3] for n in embedded(page)["nodes"] for q in n["quotes"]}
    assert shown == set(hostile)
    page.encode()


def test_lone_surrogates_and_control_characters_become_visible_escapes(history: Any) -> None:
    history.case(0, ["\ud83d broken \x00"], "c\x07")
    page = graph_page(history.graph(), title="\ud83d")
    page.encode()
    assert {n["title"] for n in embedded(page)["nodes"]} == {"\\ud83d broken \\x00", "c\\x07"}


def test_the_page_asks_for_nothing_and_runs_nothing_but_its_own_script(synthetic: Any) -> None:
    page = graph_page(synthetic(5, conversations=9).graph())
    # Names of XML vocabularies, which nobody fetches.
    names = {"http://www.w3.org/2000/svg", "http://graphml.graphdrawing.org/xmlns"}
    assert set(re.findall(r"https?://[^\"'` ]+", page)) == names
    assert re.findall(r"<[^>]+\s(?:src|href)=\"([^\"]*)\"", page) == ["data:,"]
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)
    assert policy
    assert script
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert f"script-src &#39;sha256-{digest}&#39;" in policy[1]
    assert policy[1].startswith("default-src &#39;none&#39;")


PROGRAM = """
import hashlib, sys
from memlab.figures import graph_ml, graph_page, graph_svg, growth_frame, growth_svg
from memlab.graph import fold
from memlab.operations import Operation
import json
operations = [Operation.from_json(json.loads(line)) for line in sys.stdin]
graph = fold(operations, customer="fabrikam", category="teams")
texts = [graph_page(graph, operations=operations), graph_svg(graph), graph_ml(graph), growth_svg(growth_frame(operations))]
print(*(hashlib.sha256(t.encode()).hexdigest() for t in texts))
"""


def test_equal_input_gives_equal_bytes_in_every_process(synthetic: Any) -> None:
    lines = "\n".join(o.dumps() for o in synthetic(6, conversations=20).operations)
    outputs = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM], input=lines, capture_output=True, text=True, check=True,
            encoding="utf-8", env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(outputs) == 1


def test_the_order_in_which_conversations_were_folded_leaves_no_trace(synthetic: Any) -> None:
    graph: SkillGraph = synthetic(6, conversations=20).graph()
    turned = SkillGraph(
        graph.customer, graph.category, graph.at, graph.rule,
        dict(reversed(graph.entries.items())), dict(reversed(graph.edges.items())),
    )  # fmt: skip
    assert graph_page(turned) == graph_page(graph)


def test_the_graph_is_left_as_it_was(synthetic: Any) -> None:
    history = synthetic(4, conversations=9)
    graph = history.graph()
    before = graph.to_json()
    graph_page(graph, limit=3, operations=iter(history.operations))
    assert graph.to_json() == before == fold(history.operations, customer="fabrikam", category="teams").to_json()


def test_several_categories_make_one_page_whatever_their_order(history: Any, new_history: Any) -> None:
    history.case(0, ["no sound"], "muted", "unmute")
    other = new_history()
    other.case(9, ["blank page"], "no toner")
    teams, printing = history.graph(), fold(other.operations, customer="fabrikam", category="printing")
    page = graph_page([teams, printing])
    assert page == graph_page([printing, teams])
    data = embedded(page)
    assert data["categories"] == ["printing", "teams"]
    assert {n["id"]: data["categories"][n["category"]] for n in data["nodes"]} == {
        "symptom-no sound": "teams", "cause-muted": "teams", "solution-unmute": "teams",
        "symptom-blank page": "printing", "cause-no toner": "printing",
    }  # fmt: skip
    assert embedded(graph_page(teams))["categories"] == ["teams"]


def test_graphs_that_do_not_go_together_are_refused(history: Any) -> None:
    history.case(0, ["no sound"], "muted")
    teams = history.graph()
    others = fold(history.operations, customer="northwind", category="vpn")
    twin = fold(history.operations, customer="fabrikam", category="vpn")
    for graphs, reason in (
        ([], "no graph"),
        ([teams, others], "one customer"),
        ([teams, teams], "stands twice"),
        ([teams, twin], "an entry of one id"),
    ):
        with pytest.raises(InputError, match=reason):
            graph_page(graphs)


def test_a_view_is_a_frame_that_holds_the_page_and_words_for_those_without_one(history: Any) -> None:
    history.case(0, ['no "sound"'], "muted")
    view = graph_view(history.graph(), height=300)
    assert str(view) == "Memory graph of fabrikam / teams: 2 entries, 1 links"
    text = view._repr_html_()
    assert text == graph_view(history.graph(), height=300)._repr_html_()
    assert html.unescape(re.findall(r'srcdoc="([^"]*)"', text)[0]) == view.page
    assert "height:300px" in text
