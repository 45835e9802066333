"""The memory graph as one self-contained page for an analyst: data, then text; nothing is asked of the network."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from typing import Any

from memlab.figures.data import page_data
from memlab.figures.joining import joined
from memlab.figures.style import COLUMNS, DARK, DASHES, FONT, HEADINGS, LIGHT, VERIFICATIONS
from memlab.figures.text import xml_text
from memlab.graph import SkillGraph
from memlab.operations import Operation

__all__ = ["graph_page", "page_text"]

SCRIPTS = ("graph.js", "panel.js", "save.js", "start.js")


def graph_page(
    graph: SkillGraph | Sequence[SkillGraph],
    *,
    steps: int = 40,
    limit: int = 600,
    operations: Iterable[Operation] = (),
    title: str | None = None,
) -> str:
    """A page on which memory can be looked through: by time, weight, verification and words, down to every quote.

    One HTML file with everything in it. Symptoms, root causes and solutions stand in three columns whose places are
    those of the whole history; dragging the time changes widths and opacity only. Equal graphs give equal bytes.

    Parameters
    ----------
    graph : SkillGraph or sequence of SkillGraph
        With its whole history (a view at a moment shows the history up to then). Several categories of one customer
        come with a filter by category.
    steps : int
        Moments on the time slider, ≥ 1.
    limit : int
        Draw at most so many entries, the heaviest; how many are hidden is written in the picture.
    operations : iterable of Operation
        The curator's decisions about this category, if the page shall tell why an entry is there.
    title : str, optional
        By default customer and category.

    Raises
    ------
    InputError
        If `steps` or `limit` is not positive, or several graphs don't go together (see `joined`).
    """
    whole, owner = (graph, None) if isinstance(graph, SkillGraph) else joined(graph)
    data = page_data(whole, steps=steps, limit=limit, operations=operations, categories=owner)
    return page_text(data, title=title or f"{whole.customer} / {whole.category}")


def page_text(data: dict[str, Any], *, title: str) -> str:
    """The page around what `page_data` returned."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True)
    css, script = _css(), _script()
    return environment.from_string(_template("graph.html")).render(
        title=xml_text(title),
        policy=_policy(css, script),
        kinds=[(k, HEADINGS[k]) for k in COLUMNS],
        verifications=[(v, DASHES[v]) for v in VERIFICATIONS],
        categories=data["categories"],
        css=Markup(css),  # noqa: S704 (our own file)
        script=Markup(script),  # noqa: S704 (our own file)
        data=Markup(_json({**data, "title": xml_text(title)})),  # noqa: S704 (escaped by _json)
    )


def _json(value: object) -> str:
    """JSON that stays data inside a script element: no `<`, `>` or `&`, and ASCII only."""
    text = json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _template(name: str) -> str:
    return (resources.files("memlab.figures") / "templates" / name).read_text(encoding="utf-8")


@cache
def _css() -> str:
    light, dark = LIGHT.css(), DARK.css()
    return (
        f":root{{color-scheme:light;{light}--font:{FONT}}}\n"
        f"@media(prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n"
        f":root[data-theme=dark]{{color-scheme:dark;{dark}}}\n" + _template("graph.css")
    )


@cache
def _script() -> str:
    style = {"kinds": COLUMNS, "headings": HEADINGS, "verifications": VERIFICATIONS, "dashes": DASHES}
    parts = "\n".join(_template(name) for name in SCRIPTS)
    return f'(() => {{\n"use strict";\nconst STYLE = {_json(style)};\n{parts}}})();\n'


def _policy(css: str, script: str) -> str:
    """A content policy under which only this page's own style and script run, and nothing is loaded from anywhere."""

    def digest(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    return (
        f"default-src 'none'; script-src {digest(script)}; style-src {digest(css)}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
