"""Pages: self-contained, code folded, with a list of contents."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from memlab.runs.normalise import normalise
from memlab.runs.report import external_requests, index_html, notebook_html

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
HOSTILE = (
    '<script src="https://cdn.example.org/a.js"></script><link rel="stylesheet" href="//cdn.example.org/a.css">'
    '<img src="http://example.org/a.png"><img srcset="a.png 1x, https://example.org/b.png 2x">'
    '<style>@import url("https://example.org/i.css"); p { background: url(https://example.org/p.png) }</style>'
    '<p style="background:url(//example.org/s.png)">kept</p><video poster="https://example.org/v.png"></video>'
)


def page(*outputs: str, prose: str = "# Title\n\n## One\n\n## One\n\n### Two", folder: Path | None = None) -> str:
    shown = [new_output("display_data", data={"text/html": text, "text/plain": "x"}) for text in outputs]
    code = new_code_cell("answer = 42  # why", execution_count=1, outputs=shown)
    node = normalise(new_notebook(cells=[new_markdown_cell(prose), code]))
    return notebook_html(node, title="A <b>title</b>", folder=folder)


def test_nothing_is_loaded_from_anywhere() -> None:
    inner = f"<p>inside</p>{HOSTILE}"
    text = page("<p>fine</p>", HOSTILE, f'<iframe srcdoc="{html.escape(inner)}"></iframe>')
    assert external_requests(HOSTILE)
    assert external_requests(text) == []
    # The same by plain search: no src, and no href but those of links that a reader may follow.
    tags = [t for t in re.findall(r"<[^>]+>", html.unescape(text)) if not t.startswith("<a ")]
    assert not [t for t in tags if re.search(r"(src|href|srcset|poster)\s*=\s*[\"']?[^\"'>]*//", t)]
    assert "cdnjs" not in text
    assert "unpkg" not in text
    assert "default-src 'none'" in text
    assert "[not loaded: http://example.org/a.png]" in text
    assert "kept" in text
    assert "inside" in text


@pytest.mark.parametrize(
    ("fragment", "count"),
    [
        ('<a href="https://example.org">link</a>', 0),
        ('<img src="data:image/png;base64,AA">', 0),
        ('<img src="local.png">', 0),
        ('<svg><image xlink:href="https://example.org/a.png"/></svg>', 1),
        ('<object data="https://example.org/a.swf"></object>', 1),
        ('<iframe srcdoc="&lt;script src=&quot;//example.org/x.js&quot;&gt;&lt;/script&gt;"></iframe>', 1),
    ],
)
def test_requests_are_told_from_links(fragment: str, count: int) -> None:
    assert len(external_requests(fragment)) == count


def test_links_to_follow_stay_and_tell_nobody_where_they_were() -> None:
    link = BeautifulSoup(page(prose="[paper](https://doi.org/10.1/x)"), "html.parser").find("a", string="paper")
    assert link is not None
    assert (link["href"], link["rel"]) == ("https://doi.org/10.1/x", ["noopener", "noreferrer"])


def test_code_is_folded_and_outputs_are_not() -> None:
    soup = BeautifulSoup(page("<p id='out'>seen</p>"), "html.parser")
    (fold,) = soup.select("details.code")
    assert not fold.has_attr("open")
    assert "answer = 42" in fold.get_text()
    assert soup.select_one("#out") is not None
    assert soup.select_one("details #out") is None


def test_contents_lead_to_headings_with_ids_of_their_own() -> None:
    soup = BeautifulSoup(page(), "html.parser")
    links = [(a.get_text(), str(a["href"])) for a in soup.select("nav.contents a")]
    assert links == [("One", "#One"), ("One", "#One-2"), ("Two", "#Two")]
    for _, target in links:
        assert len(soup.find_all(id=target[1:])) == 1


def test_the_title_is_text_and_equal_notebooks_give_equal_pages() -> None:
    assert "<title>A &lt;b&gt;title&lt;/b&gt;</title>" in page()
    assert page(HOSTILE) == page(HOSTILE)


def test_pictures_of_the_prose_are_put_into_the_page(tmp_path: Path) -> None:
    import base64

    (tmp_path / "p.png").write_bytes(base64.b64decode(PIXEL))
    assert f"data:image/png;base64,{PIXEL[:20]}" in page(prose="![dot](p.png)", folder=tmp_path)


def test_outputs_that_need_a_library_from_the_network_show_their_text() -> None:
    data = {"application/javascript": "alert(1)", "text/latex": "$x$", "text/plain": "plain"}
    code = new_code_cell("x", execution_count=1, outputs=[new_output("display_data", data=data)])
    text = notebook_html(new_notebook(cells=[code]), title="t")
    assert "alert(1)" not in text
    assert "plain" in text


def test_the_index_escapes_what_notebooks_say() -> None:
    entry = {
        "title": "<script>x</script>",
        "ok": False,
        "error": "In [1]: <b>",
        "seconds": 1.25,
        "parameters": {"k": "<i>"},
        "overridden": ["k"],
        "results": {"<u>": {"value": None}, "r": {"value": 0.5, "unit": "ms", "n": 9, "interval": [0.1, 0.9]}},
        "tables": {"t": {"csv": "tables/a b.t.csv", "parquet": "tables/a b.t.parquet", "rows": 2, "columns": ["x"]}},
    }
    origin = {"memlab": "1", "python": "3", "commit": "a" * 40, "dirty": True, "packages": {"numpy": "2"}}
    text = index_html({"provenance": origin, "notebooks": {"01 x": entry}})
    for raw in ("<script>x", "<b>", "<i>", "<u>"):
        assert raw not in text
    soup = BeautifulSoup(text, "html.parser")
    assert [t.get_text(" ", strip=True) for t in soup.select("section tbody tr")] == [
        "<u> not measured",
        "r 0.5 ms 0.1 to 0.9 9",
    ]
    assert {str(a["href"]) for a in soup.select("a")} == {"01%20x.html", "tables/a%20b.t.csv", "tables/a%20b.t.parquet"}
    assert external_requests(text) == []
