"""Executed notebooks as pages that load nothing from anywhere: code folded, a list of contents, light and dark."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memlab.runs.schema import show

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

__all__ = ["external_requests", "index_html", "notebook_html", "page", "templates"]

_TEMPLATES = Path(__file__).parent / "templates"

# The browser refuses whatever the pass below should miss. Graph pages inside (iframe srcdoc) inherit it.
_POLICY = (
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data: blob:; font-src data:; media-src data:; frame-src data: blob:; "
    "worker-src blob:; base-uri 'none'; form-action 'none'\">"
)
# What nbconvert may choose from: no JavaScript outputs, widgets or LaTeX, which need libraries from the network.
_SHOWN = ["text/html", "text/markdown", "image/svg+xml", "image/png", "image/jpeg", "text/plain"]
_LOADING = ("src", "srcset", "poster", "data", "background")
_REMOTE = re.compile(r"^\s*(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
_CSS_REMOTE = re.compile(
    r"@import\s+(?:url\()?\s*[\"']?(?:https?:)?//[^;]*;?|url\(\s*[\"']?(?:https?:)?//[^)]*\)", re.IGNORECASE
)


def notebook_html(notebook: Any, *, title: str, folder: Path | None = None) -> str:
    """An executed notebook as one page without any reference to another host.

    Parameters
    ----------
    notebook : notebook node
        Executed; it is not changed.
    title : str
        Title of the page.
    folder : path, optional
        Where pictures that the prose names are found; they are put into the page.
    """
    from bs4 import BeautifulSoup
    from nbconvert.exporters import HTMLExporter
    from traitlets.config import Config

    exporter = HTMLExporter(  # type: ignore[no-untyped-call]
        config=Config({"NbConvertBase": {"display_data_priority": _SHOWN}}),
        extra_template_basedirs=[str(_TEMPLATES)],
        template_name="report",
        embed_images=folder is not None,
    )
    page = {"title": title, "css": _css(), "policy": _POLICY}
    resources = {"memlab": page, "metadata": {"name": title, "path": str(folder or "")}}
    html, _ = exporter.from_notebook_node(notebook, resources)
    soup = BeautifulSoup(html, "html.parser")
    _remove_requests(soup)
    _write_contents(soup)
    return str(soup).rstrip() + "\n"


def index_html(results: Mapping[str, Any]) -> str:
    """The first page of a run: outcome, time and numbers of each notebook, from the content of its `results.json`."""
    return page("run.html.j2", provenance=results["provenance"], notebooks=results["notebooks"])


def page(template: str, **values: Any) -> str:
    """A page from one of the templates, with our style and policy; everything that is filled in is text."""
    from jinja2 import Environment, FileSystemLoader
    from markupsafe import Markup

    environment = Environment(loader=FileSystemLoader(_TEMPLATES), autoescape=True)
    environment.filters["show"] = show
    shared = {"css": Markup(_css()), "policy": Markup(_POLICY)}  # noqa: S704 - our own files
    return environment.get_template(template).render(**values, **shared)


def templates() -> Path:
    """The folder of the templates."""
    return _TEMPLATES


def external_requests(html: str) -> list[str]:
    """Addresses that a page would load by itself (links that a reader may follow are none), sorted."""
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(html, "html.parser")
    found = [address for tag in soup.find_all(True) for _, address in _requests(tag)]
    for style in soup.find_all("style"):
        found += _CSS_REMOTE.findall(style.get_text())
    for frame in soup.find_all("iframe", srcdoc=True):
        found += external_requests(str(frame["srcdoc"]))
    return sorted(found)


@cache
def _css() -> str:
    return (_TEMPLATES / "page.css").read_text(encoding="utf-8")


def _requests(tag: Tag) -> list[tuple[str, str]]:
    """Attributes of an element that make a browser ask another host."""
    names = [*_LOADING, *(("href", "xlink:href") if tag.name in ("link", "image", "use", "base") else ())]
    found = [(name, str(tag[name])) for name in names if tag.has_attr(name) and _is_remote(name, str(tag[name]))]
    if tag.has_attr("style") and _CSS_REMOTE.search(str(tag["style"])):
        found.append(("style", str(tag["style"])))
    return found


def _is_remote(name: str, value: str) -> bool:
    addresses = value.split(",") if name == "srcset" else [value]
    return any(_REMOTE.match(a) for a in addresses)


def _remove_requests(soup: BeautifulSoup) -> None:
    for tag in soup.find_all(True):
        for name, address in _requests(tag):
            if name == "style":
                tag["style"] = _CSS_REMOTE.sub("none", address)
            elif not tag.decomposed:
                _replace(soup, tag, address)
    for style in soup.find_all("style"):
        if _CSS_REMOTE.search(style.get_text()):
            style.string = _CSS_REMOTE.sub("", style.get_text())
    for frame in soup.find_all("iframe", srcdoc=True):
        if external_requests(str(frame["srcdoc"])):
            frame["srcdoc"] = _cleaned(str(frame["srcdoc"]))
    for link in soup.find_all("a", href=_REMOTE):
        link["rel"] = "noopener noreferrer"


def _cleaned(html: str) -> str:
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(html, "html.parser")
    _remove_requests(soup)
    return str(soup)


def _replace(soup: BeautifulSoup, tag: Tag, address: str) -> None:
    """A note instead of something that would have been loaded (nothing at all in a page's head)."""
    if tag.name in ("script", "link", "base"):
        tag.decompose()
        return
    note = soup.new_tag("span", attrs={"class": "removed"})
    note.string = f"[not loaded: {address}]"
    tag.replace_with(note)


def _write_contents(soup: BeautifulSoup) -> None:
    """Ids made unique, and a list of the headings in prose (down to the third level) that leads to them."""
    entries = soup.new_tag("ol")
    seen: set[str] = set()
    for heading in soup.select(".jp-MarkdownOutput :is(h1, h2, h3)[id]"):
        name, number = str(heading["id"]), 2
        while name in seen:
            name, number = f"{heading['id']}-{number}", number + 1
        seen.add(name)
        heading["id"] = name
        for anchor in heading.select("a.anchor-link"):
            anchor["href"] = f"#{name}"
        if heading.name == "h1":
            continue
        link = soup.new_tag("a", href=f"#{name}")
        link.string = heading.get_text().removesuffix("¶").strip()
        item = soup.new_tag("li", attrs={"class": str(heading.name)})
        item.append(link)
        entries.append(item)
    for nav in soup.select("nav.contents") if entries.contents else ():
        nav.append(entries)
