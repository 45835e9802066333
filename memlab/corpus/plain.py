"""HTML as plain text: what a reader would see, with quoted blocks marked by ">"."""

from __future__ import annotations

import re
from html.parser import HTMLParser

__all__ = ["html_to_text"]

_BLOCKS = frozenset(
    ("address", "article", "blockquote", "dd", "div", "dl", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li")
) | {"ol", "p", "pre", "section", "table", "tr", "ul"}
_HIDDEN = frozenset(["head", "script", "style", "template", "title"])


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[tuple[int, str]] = [(0, "")]
        self.depth = 0
        self.hidden = 0

    def _break(self) -> None:
        self.lines.append((self.depth, ""))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self.hidden += 1
        if tag == "blockquote":
            self.depth += 1
        if tag == "br" or tag in _BLOCKS:
            self._break()
        if tag == "img" and (alt := dict(attrs).get("alt")):
            self.handle_data(alt)

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN:
            self.hidden = max(0, self.hidden - 1)
        if tag == "blockquote":
            self.depth = max(0, self.depth - 1)
        if tag in _BLOCKS:
            self._break()

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            depth, line = self.lines[-1]
            self.lines[-1] = (depth, line + data)


def html_to_text(html: str) -> str:
    r"""The visible text of an HTML message, a line a block; scripts, styles and tags are gone.

    >>> html_to_text("<p>still broken</p><blockquote>restart it</blockquote>&amp; yes<br>now")
    'still broken\n> restart it\n& yes\nnow'
    """
    parser = _Text()
    parser.feed(html)
    parser.close()
    lines = [(depth, re.sub(r"\s+", " ", line).strip()) for depth, line in parser.lines]
    return "\n".join("> " * depth + line for depth, line in lines if line)
