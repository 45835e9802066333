"""The page in a real browser: nothing runs but its own script, nothing moves but what should, keys and files work."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from memlab.figures import graph_page, graph_view
from memlab.graph import fold

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
pytestmark = pytest.mark.skipif(
    not CHROMIUM.exists(), reason=f"no browser: {CHROMIUM} is missing (apt-get install chromium)"
)
PLACES = "() => [...document.querySelectorAll('.node .mark')].map((m) => m.getAttribute('transform'))"
SHOWN = "() => [...document.querySelectorAll('.node')].filter((n) => n.getAttribute('display') !== 'none').map((n) => n.dataset.node)"
LINKS = "() => [...document.querySelectorAll('.edge[data-edge]')].filter((e) => e.getAttribute('display') !== 'none').length"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        context.set_default_timeout(10_000)
        yield context
        browser.close()


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Open a page from a file, note what it asks for and what goes wrong, and fail on either when the test ends."""
    pages: list[Any] = []
    trouble: list[str] = []

    def open_page(text: str, *, scheme: str = "light") -> Any:
        path = tmp_path / f"page{len(pages)}.html"
        path.write_text(text, encoding="utf-8", newline="\n")
        page = browser.new_page()
        page.emulate_media(color_scheme=scheme)
        pages.append(page)
        page.on("pageerror", lambda e: trouble.append(f"error: {e}"))
        page.on("console", lambda m: trouble.append(f"console: {m.text}"))
        page.on("dialog", lambda d: (trouble.append(f"dialog: {d.message}"), d.dismiss()))
        page.on(
            "request",
            lambda r: None if r.url.startswith(("file:", "data:", "blob:")) else trouble.append(f"request: {r.url}"),
        )
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        settle(page)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert trouble == []


def settle(page: Any) -> None:
    """Wait until what is scheduled has been painted."""
    page.evaluate("() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))")


@pytest.fixture
def three_weeks(history: Any) -> Any:
    history.case(0, ["no sound"], "muted by a key", "press the key", quote="I pressed it, all good")
    history.case(
        7,
        ["no sound"],
        "muted by a key",
        failed="restart the laptop",
        verification="inferred",
        quote="restarting did nothing",
    )
    history.case(14, ["no picture"], "privacy shutter", "open the shutter", verification="claimed")
    return history


def test_hostile_text_is_shown_as_it_is_and_nothing_of_it_runs(visit: Any, history: Any, hostile: list[str]) -> None:
    for n, text in enumerate(hostile):
        history.case(n, [f"symptom {text}"], f"cause {text}", f"solution {text}", quote=text)
    page = visit(graph_page(history.graph(), operations=history.operations, title=hostile[0]))
    assert page.locator("h1").inner_text() == hostile[0]
    for label in page.locator(".node.cause text").all():
        label.click()
        title = page.locator("#panel h2").text_content()
        assert title in {f"cause {t}" for t in hostile}
        assert page.locator("#panel blockquote").first.evaluate("(b) => b.firstChild.data") == title.removeprefix(
            "cause "
        )
    assert page.locator("#panel img, #panel script, #drawing img, #drawing script, b script").count() == 0


def test_time_changes_what_is_seen_but_moves_nothing(visit: Any, three_weeks: Any) -> None:
    page = visit(graph_page(three_weeks.graph(), steps=8))
    places = page.evaluate(PLACES)
    assert len(page.evaluate(SHOWN)) == 7
    width = page.locator(".edge[data-edge='symptom-no sound cause-muted by a key']").get_attribute("stroke-width")
    page.locator("#time").fill("0")
    settle(page)
    assert page.evaluate(SHOWN) == ["symptom-no sound", "cause-muted by a key", "solution-press the key"]
    assert page.evaluate(PLACES) == places
    assert page.locator("#date").inner_text() == "2026-01-05"
    assert (
        page.locator(".edge[data-edge='symptom-no sound cause-muted by a key']").get_attribute("stroke-width") != width
    )
    page.keyboard.press("Space")
    page.wait_for_function("() => document.getElementById('time').value === '7'")
    settle(page)
    assert len(page.evaluate(SHOWN)) == 7
    assert page.evaluate(PLACES) == places


def test_filters_by_verification_and_weight(visit: Any, three_weeks: Any) -> None:
    page = visit(graph_page(three_weeks.graph()))
    assert page.evaluate(LINKS) == 5
    page.locator("input[value='3']").uncheck()  # failed: the attempt that never worked
    settle(page)
    assert "solution-restart the laptop" not in page.evaluate(SHOWN)
    page.locator("input[value='2']").uncheck()  # claimed: the whole second case
    settle(page)
    assert page.evaluate(SHOWN) == ["symptom-no sound", "cause-muted by a key", "solution-press the key"]
    page.locator("input[value='2']").check()
    page.locator("#minimum").fill("0.5")  # one claimed conversation weighs log(1.3) = 0.26
    settle(page)
    assert page.evaluate(SHOWN) == ["symptom-no sound", "cause-muted by a key", "solution-press the key"]
    assert page.locator("#status").inner_text() == "3 of 7 entries, 2 of 5 links"


def test_a_click_shows_evidence_quotes_and_counter_evidence(visit: Any, three_weeks: Any) -> None:
    page = visit(graph_page(three_weeks.graph(), operations=three_weeks.operations))
    page.locator("[data-node='cause-muted by a key'] text").click()
    panel = page.locator("#panel").inner_text()
    for expected in (
        "muted by a key",
        "case-0000",
        "2026-01-12",
        "inferred",
        "I pressed it, all good",
        "restart the laptop",
        "failed 1×",
        "add: a reason",
    ):
        assert expected in panel
    box = page.locator("#drawing").bounding_box()
    ends = [
        page.locator(f"[data-node='{n}'] .mark").bounding_box()
        for n in ("cause-muted by a key", "solution-restart the laptop")
    ]
    card = page.locator(".card:not([display=none])").first.bounding_box()
    middle = [(e["y"] + e["height"] / 2) for e in ends]
    page.mouse.click(
        (card["x"] + card["width"] + ends[1]["x"]) / 2, sum(middle) / 2
    )  # a link's midpoint is half way between its ends
    panel = page.locator("#panel").inner_text()
    assert "Link" in panel
    assert "Counter-evidence" in panel
    assert "restarting did nothing" in panel
    assert "confirmed" not in panel
    page.locator("#panel button", has_text="restart the laptop").click()
    assert page.locator("#panel h2").inner_text() == "restart the laptop"
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] - 12)
    assert page.locator("#panel h2").inner_text() == "Overview"


def test_everything_can_be_reached_by_keys(visit: Any, three_weeks: Any) -> None:
    page = visit(graph_page(three_weeks.graph()))
    focused = "() => document.activeElement.dataset.node ?? document.activeElement.id"
    page.keyboard.press("/")
    assert page.evaluate(focused) == "search"
    page.keyboard.type("PRESSED it")  # a quote, other case
    settle(page)
    assert page.locator("#found").inner_text() == "3 hits"
    page.keyboard.press("Enter")
    assert page.evaluate(focused).endswith(("no sound", "by a key", "the key"))
    page.locator("[data-node='symptom-no sound']").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused) == "cause-muted by a key"
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused) == "solution-press the key"
    page.keyboard.press("Enter")
    assert page.locator("#panel h2").inner_text() == "press the key"
    page.keyboard.press("Escape")
    assert page.locator("#panel h2").inner_text() == "Overview"
    seen = []
    page.locator("[data-node]").first.focus()
    for _ in range(6):
        seen.append(page.evaluate(focused))
        page.keyboard.press("Tab")
    assert len({*seen, page.evaluate(focused)}) == 7
    page.keyboard.press("Tab")
    assert not page.evaluate(focused).startswith(("symptom", "cause", "solution"))


def test_an_entry_can_be_named_in_the_address(visit: Any, three_weeks: Any) -> None:
    page = visit(graph_page(three_weeks.graph()))
    page.evaluate("() => { location.hash = encodeURIComponent('cause-privacy shutter'); }")
    page.wait_for_function("() => document.querySelector('#panel h2').textContent === 'privacy shutter'")
    page.evaluate("() => { location.hash = '%'; }")
    settle(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_follows_the_system_until_it_is_chosen(visit: Any, three_weeks: Any, scheme: Any) -> None:
    page = visit(graph_page(three_weeks.graph()), scheme=scheme)
    ground = "() => getComputedStyle(document.body).backgroundColor"
    colours = {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 22, 28)"}
    assert page.evaluate(ground) == colours[scheme]
    page.locator("#theme").click()
    assert page.evaluate(ground) == colours["dark" if scheme == "light" else "light"]


def test_the_picture_is_saved_as_svg_and_png(visit: Any, history: Any, hostile: list[str], tmp_path: Path) -> None:
    for n, text in enumerate(hostile):
        history.case(n, [text], f"cause {n}", f"solution {n}")
    page = visit(graph_page(history.graph(), limit=9))
    note = f"{len(history.graph().entries) - 9} lighter entries and"
    assert note in page.locator("#drawing .note").text_content()
    saved = {}
    for kind in ("svg", "png"):
        with page.expect_download() as download:
            page.locator(f"#save-{kind}").click()
        assert download.value.suggested_filename == f"fabrikam-teams-2026-01-10.{kind}"
        download.value.save_as(tmp_path / kind)
        saved[kind] = (tmp_path / kind).read_bytes()
    assert saved["png"][:8] == b"\x89PNG\r\n\x1a\n"
    assert len(saved["png"]) > 10_000
    root = ET.fromstring(saved["svg"])
    assert {e.tag.rpartition("}")[2] for e in root.iter()} == {
        "svg",
        "title",
        "desc",
        "rect",
        "text",
        "tspan",
        "g",
        "path",
    }
    assert note in saved["svg"].decode()
    assert b"var(" not in saved["svg"]


def test_it_works_inside_a_notebooks_frame(visit: Any, three_weeks: Any) -> None:
    inner = escape(graph_page(three_weeks.graph()))
    outer = f'<!DOCTYPE html><html data-ready><body><iframe width="1000" height="700" srcdoc="{inner}"></iframe></body></html>'
    frame = visit(outer).frame_locator("iframe")
    frame.locator("html[data-ready] [data-node='cause-privacy shutter'] text").click()
    assert frame.locator("#panel h2").inner_text() == "privacy shutter"


def test_rows_grow_on_request_and_labels_do_not_overlap(visit: Any, synthetic: Any) -> None:
    page = visit(graph_page(synthetic(60, conversations=90).graph()))
    labels = "() => ['symptom', 'cause', 'solution'].map((k) => [...document.querySelectorAll(`.${k} text[display=inline]`)].map((t) => t.getBoundingClientRect()).map((b) => (b.top + b.bottom) / 2).sort((a, b) => a - b))"
    for column in page.evaluate(labels):
        assert min(b - a for a, b in itertools.pairwise(column)) > 14
    few = sum(map(len, page.evaluate(labels)))
    for _ in range(8):
        page.keyboard.press("+")
    settle(page)
    assert sum(map(len, page.evaluate(labels))) == len(page.evaluate(SHOWN)) > few
    page.keyboard.press("0")
    settle(page)
    assert sum(map(len, page.evaluate(labels))) == few


def test_on_a_phone_all_three_columns_are_in_sight(visit: Any, three_weeks: Any) -> None:
    page = visit(graph_page(three_weeks.graph()))
    page.set_viewport_size({"width": 400, "height": 800})
    page.wait_for_function("() => document.getElementById('drawing').getAttribute('width') === '400'")
    settle(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") == 400
    boxes = [label.bounding_box() for label in page.locator(".node text").all() if label.is_visible()]
    assert len(boxes) == 7
    assert all(b["x"] >= 0 and b["x"] + b["width"] <= 400 for b in boxes)


def test_an_empty_graph_says_so(visit: Any, history: Any) -> None:
    page = visit(graph_page(history.graph()))
    assert page.locator("#drawing .note").text_content() == "Nothing learned yet"
    assert page.locator("#play").is_disabled()


def test_categories_can_be_filtered_and_none_stands_in_for_another(
    visit: Any, three_weeks: Any, new_history: Any
) -> None:
    other = new_history()
    other.case(3, ["page is blank"], "toner is empty", "change the toner")
    printing = fold(other.operations, customer="fabrikam", category="printing")
    page = visit(graph_page([three_weeks.graph(), printing]))
    everything = page.evaluate(SHOWN)
    chips = page.locator("[name=category]")
    assert chips.count() == 2
    assert page.locator(".categories .chip").all_inner_texts() == ["printing", "teams"]
    chips.nth(1).uncheck()
    settle(page)
    assert sorted(page.evaluate(SHOWN)) == [
        "cause-toner is empty",
        "solution-change the toner",
        "symptom-page is blank",
    ]
    chips.nth(1).check()
    settle(page)
    assert page.evaluate(SHOWN) == everything
    assert visit(graph_page(three_weeks.graph())).locator("[name=category]").count() == 0


def test_what_is_shown_is_saved_as_graphml(visit: Any, three_weeks: Any, hostile: list[str], tmp_path: Path) -> None:
    for n, text in enumerate(hostile):
        three_weeks.case(20 + n, [text], f"cause {n}", f"solution {n}")
    graph = three_weeks.graph()
    page = visit(graph_page(graph))
    page.locator("[name=verification]").nth(2).uncheck()  # claimed
    settle(page)
    with page.expect_download() as download:
        page.locator("#save-graphml").click()
    assert download.value.suggested_filename.endswith(".graphml")
    download.value.save_as(tmp_path / "g.graphml")
    read = nx.read_graphml(tmp_path / "g.graphml")
    assert sorted(read) == sorted(page.evaluate(SHOWN))
    assert "cause-privacy shutter" not in read
    assert read.number_of_edges() == page.evaluate(LINKS)
    cause = read.nodes["cause-muted by a key"]
    assert (cause["kind"], cause["category"], cause["conversations"]) == ("cause", "teams", 2)
    assert cause["weight"] == pytest.approx(graph.weight("cause-muted by a key"), abs=1e-4)
    edge = read.edges["cause-muted by a key", "solution-press the key"]
    assert (edge["conversations"], edge["verified"]) == ("case-0000", "confirmed")


def test_a_view_works_in_the_report_of_a_run_twice(visit: Any, three_weeks: Any, history: Any) -> None:
    from nbformat.v4 import new_code_cell, new_notebook, new_output

    from memlab.runs.report import external_requests, notebook_html

    views = [graph_view(three_weeks.graph()), graph_view(three_weeks.graph(), steps=3, height=600)]
    outputs = [new_output("display_data", data=v._repr_mimebundle_()) for v in views]
    report = notebook_html(new_notebook(cells=[new_code_cell("x", execution_count=1, outputs=outputs)]), title="t")
    assert external_requests(report) == []
    page = visit(report.replace("<html ", "<html data-ready ", 1))
    for n in range(2):
        frame = page.frame_locator("iframe").nth(n)
        page.locator("iframe").nth(n).scroll_into_view_if_needed()
        frame.locator("html[data-ready] [data-node='cause-privacy shutter'] text").click()
        assert frame.locator("#panel h2").inner_text() == "privacy shutter"


def test_a_large_graph_is_cut_with_a_word_and_can_be_searched(visit: Any, synthetic: Any) -> None:
    graph = synthetic(300, conversations=420).graph()
    assert len(graph.entries) > 700
    page = visit(graph_page(graph, steps=6))
    assert "not drawn" in page.locator("#drawing .note").text_content()
    assert page.locator("#status").inner_text().startswith(f"600 of {len(graph.entries)} entries")
    page.locator("#search").fill("updated last week")
    settle(page)
    assert "hit" in page.locator("#found").inner_text()
