"""The strongest part of a graph as a still picture: an SVG for a README or a notebook, the same bytes every time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from xml.sax.saxutils import escape, quoteattr

from memlab.errors import InputError
from memlab.figures.layout import column_layout
from memlab.figures.style import COLUMNS, DARK, DASHES, FONT, HEADINGS, LIGHT, VERIFICATIONS, Theme
from memlab.figures.text import shorten, text_width, wrap, xml_text
from memlab.graph import Entry, SkillGraph
from memlab.records import Evidence, Kind, parse_time

__all__ = ["graph_svg", "graph_words", "strongest"]

WIDTH, MARGIN, TOP, BOTTOM, ROW = 1040.0, 28.0, 104.0, 62.0, 44.0
LABEL = 236.0
# Where links leave and reach the columns; the cause's card lies between the two middle ones.
PORTS = (
    MARGIN + LABEL + 20.0,
    WIDTH / 2 - LABEL / 2 - 12.0,
    WIDTH / 2 + LABEL / 2 + 12.0,
    WIDTH - MARGIN - LABEL - 20.0,
)


def strongest(
    graph: SkillGraph, *, causes: int = 5, symptoms: int = 3, solutions: int = 2, failed: int = 0
) -> SkillGraph:
    """The heaviest causes, for each its heaviest symptoms and solutions, and every link between these.

    Ties go by id. A cause that no conversation supports (weight 0) is left out, and so is a solution that only failed,
    but for the `failed` ones of each cause that most conversations speak against.
    """
    kept: set[str] = set()
    for cause in [c for c in graph.of_kind("cause") if graph.weight(c.id) > 0][:causes]:
        near = [*graph.sources(cause.id)[:symptoms], *graph.targets(cause.id)[:solutions]]
        kept |= {cause.id, *(entry.id for entry, weight in near if weight > 0)}
        kept |= set(_failures(graph, cause.id)[:failed])
    entries = {i: graph.entries[i] for i in sorted(kept)}
    edges = {e: v for e, v in sorted(graph.edges.items()) if e[0] in kept and e[1] in kept}
    return SkillGraph(graph.customer, graph.category, graph.at, graph.rule, entries, edges)


def _failures(graph: SkillGraph, cause: str) -> list[str]:
    """Ids of what was only ever tried in vain against a cause, most often first (ties by id)."""
    helped = set(graph.answers(cause))
    found = [(entry.id, len(graph.edges[cause, entry.id])) for entry, _ in graph.targets(cause)]
    return [i for i, _ in sorted(found, key=lambda f: (-f[1], f[0])) if i not in helped]


def graph_svg(
    graph: SkillGraph, at: datetime | str | None = None, *, causes: int = 5, failed: int = 0, theme: str = "light"
) -> str:
    """A picture of what a customer's memory holds most firmly, with a description for those who can't see it.

    Parameters
    ----------
    graph : SkillGraph
        With its history.
    at : datetime or ISO text with offset, optional
        Show the graph as it was then; by default at `graph.at`.
    causes : int
        So many root causes, the heaviest, with up to three symptoms and two solutions each, ≥ 1.
    failed : int
        So many failed attempts of each cause, as counter-evidence, ≥ 0.
    theme : {"light", "dark"}
        Colours.

    Raises
    ------
    InputError
        If `causes`, `failed` or `theme` is not what it must be, or `at` has no zone.
    """
    if theme not in ("light", "dark"):
        raise InputError(f"theme must be light or dark, not {theme!r}")
    if causes < 1:
        raise InputError(f"causes must be at least 1, not {causes}")
    view = graph.view(None if at is None else parse_time(at))
    if failed < 0:
        raise InputError(f"failed must be at least 0, not {failed}")
    part = strongest(view, causes=causes, failed=failed)
    return "\n".join(_lines(view, _Drawing.of(part, DARK if theme == "dark" else LIGHT))) + "\n"


@dataclass(frozen=True, slots=True)
class _Drawing:
    """The drawn part with its colours, places and scales."""

    part: SkillGraph
    theme: Theme
    places: Mapping[str, tuple[int, float]]
    heaviest: float
    thickest: float

    @classmethod
    def of(cls, part: SkillGraph, theme: Theme) -> _Drawing:
        heaviest = max((part.weight(i) for i in part.entries), default=0.0) or 1.0
        thickest = max((part.weight(*e) for e in part.edges), default=0.0) or 1.0
        return cls(part, theme, column_layout(part.to_networkx()), heaviest, thickest)

    @property
    def rows(self) -> float:
        return 1 + max((y for _, y in self.places.values()), default=0.0)

    def y(self, entry: str) -> float:
        return TOP + (self.places[entry][1] + 0.5) * ROW

    @property
    def height(self) -> float:
        return TOP + self.rows * ROW + BOTTOM


def _lines(view: SkillGraph, d: _Drawing) -> Iterator[str]:
    t, size = d.theme, f"{WIDTH:.0f} {d.height:.0f}"
    title = f"{xml_text(view.customer)} / {xml_text(view.category)}"
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" width="{WIDTH:.0f}" height="{d.height:.0f}" '
        f'role="img" aria-labelledby="memlab-title memlab-desc" font-family={quoteattr(FONT)} font-size="13">'
    )
    yield f'<title id="memlab-title">{escape(f"Memory graph of {title}")}</title>'
    yield f'<desc id="memlab-desc">{escape(graph_words(d.part))}</desc>'
    yield f'<rect width="100%" height="100%" rx="10" fill="{t.paper}"/>'
    yield _text(MARGIN, 40, shorten(title, 560, 19), t.ink, 'font-size="19" font-weight="600"')
    yield _text(WIDTH - MARGIN, 40, _count(view, d.part), t.muted, 'text-anchor="end"')
    x = (PORTS[0], PORTS[1], PORTS[3])
    for kind, at in zip(COLUMNS, x, strict=True):
        yield _mark(kind, at, 80, 6, t.of(kind))
        anchor = (at - 16, "end") if kind == "symptom" else (at + 16, "start")
        yield _text(anchor[0], 84.5, HEADINGS[kind], t.ink, f'font-weight="600" text-anchor="{anchor[1]}"')
    if not d.part.entries:
        yield _text(WIDTH / 2, TOP + ROW / 2, "Nothing learned yet", t.muted, 'text-anchor="middle"')
    yield from (_edge(d, edge, votes) for edge, votes in d.part.edges.items())
    yield from (_entry(d, entry) for entry in sorted(d.part.entries.values(), key=lambda e: (d.places[e.id], e.id)))
    yield from _legend(d.height - 24, t)
    yield "</svg>"


def _count(view: SkillGraph, part: SkillGraph) -> str:
    if not view.entries:
        return ""
    shown, total = len(part.entries), len(view.entries)
    what = f"all {total} entries" if shown == total else f"the strongest {shown} of {total} entries"
    return f"{what} from {len(view.conversations)} conversations, {view.at.date().isoformat()}"


def graph_words(part: SkillGraph) -> str:
    """The picture in words: every cause with its symptoms and solutions, heaviest first."""
    sentences = ["Symptoms on the left lead to root causes in the middle and to solutions on the right."]
    for cause in part.of_kind("cause"):
        symptoms = "; ".join(_title(e) for e, _ in part.sources(cause.id)) or "no symptom"
        helped = set(part.answers(cause.id))
        solutions = "; ".join(_title(e) for e, _ in part.targets(cause.id) if e.id in helped) or "no solution"
        vain = "; ".join(_title(e) for e, _ in part.targets(cause.id) if e.id not in helped)
        sentences.append(
            f"{_title(cause)} (weight {part.weight(cause.id):.2f}): shows as {symptoms}; solved by {solutions}"
            f"{f'; tried in vain: {vain}' if vain else ''}."
        )
    return " ".join(sentences if part.entries else ["Nothing learned yet."])


def _title(entry: Entry) -> str:
    return xml_text(" ".join(entry.title.split()))


def _text(x: float, y: float, text: str, fill: str, attributes: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}" {attributes}>{escape(text)}</text>'


def _mark(kind: Kind, x: float, y: float, r: float, fill: str, opacity: float = 1.0) -> str:
    d = {
        "symptom": f"M{-r:.1f} 0a{r:.1f} {r:.1f} 0 1 1 {2 * r:.1f} 0a{r:.1f} {r:.1f} 0 1 1 {-2 * r:.1f} 0z",
        "cause": f"M0 {-1.2 * r:.1f}L{1.2 * r:.1f} 0L0 {1.2 * r:.1f}L{-1.2 * r:.1f} 0z",
        "solution": f"M{-0.9 * r:.1f} {-0.9 * r:.1f}h{1.8 * r:.1f}v{1.8 * r:.1f}h{-1.8 * r:.1f}z",
    }[kind]
    return f'<path transform="translate({x:.1f} {y:.1f})" d="{d}" fill="{fill}" fill-opacity="{opacity:.2f}"/>'


def _edge(d: _Drawing, edge: tuple[str, str], votes: Mapping[str, Evidence]) -> str:
    first = d.part.entries[edge[0]].kind == "symptom"
    a, b = (PORTS[0], PORTS[1]) if first else (PORTS[2], PORTS[3])
    ya, yb, middle = d.y(edge[0]), d.y(edge[1]), (a + b) / 2
    share = d.part.weight(*edge) / d.thickest
    best = min((e.verification for e in votes.values()), key=VERIFICATIONS.index)
    failed = best == "failed"  # its weight is 0, but it must be seen
    colour = d.theme.failed if failed else d.theme.symptom if first else d.theme.solution
    width, opacity = (1.6, 0.8) if failed else (1 + 6 * share, 0.25 + 0.55 * share)
    return (
        f'<path d="M{a:.1f} {ya:.1f}C{middle:.1f} {ya:.1f} {middle:.1f} {yb:.1f} {b:.1f} {yb:.1f}" fill="none" '
        f'stroke="{colour}" stroke-width="{width:.2f}" stroke-opacity="{opacity:.2f}" '
        f'stroke-dasharray="{DASHES[best] or "none"}"/>'
    )


def _entry(d: _Drawing, entry: Entry) -> str:
    t, column, y = d.theme, d.places[entry.id][0], d.y(entry.id)
    x, share = (PORTS[0], PORTS[1], PORTS[3])[column], d.part.weight(entry.id) / d.heaviest
    parts = [f"<g><title>{escape(_title(entry))}</title>"]
    if entry.kind == "cause":
        box = f'x="{x:.1f}" y="{y - 19:.1f}" width="{PORTS[2] - PORTS[1]:.1f}" height="38" rx="6"'
        tint = f'fill="{t.cause}" fill-opacity="0.08" stroke="{t.cause}" stroke-opacity="0.7"'
        parts.append(f'<rect {box} fill="{t.paper}"/><rect {box} {tint}/>')
    radius = 5 + 4 * share
    colour = t.of(entry.kind) if share > 0 else t.failed
    parts.append(
        _mark(entry.kind, x, y, radius, t.paper) + _mark(entry.kind, x, y, radius, colour, 0.45 + 0.55 * share)
    )
    lines = wrap(_title(entry), LABEL, 13)
    anchor, at = ("end", x - 16) if column == 0 else ("start", x + 16)
    spans = "".join(
        f'<tspan x="{at:.1f}" y="{y + 4.5 + (k - (len(lines) - 1) / 2) * 15.5:.1f}">{escape(line)}</tspan>'
        for k, line in enumerate(lines)
    )
    return "".join([*parts, f'<text fill="{t.ink}" text-anchor="{anchor}">{spans}</text></g>'])


def _legend(y: float, t: Theme) -> Iterator[str]:
    x = MARGIN
    labels: Sequence[tuple[str, str, str]] = [
        (v, t.failed if v == "failed" else t.muted, DASHES[v]) for v in VERIFICATIONS
    ]
    for label, colour, dash in labels:
        yield f'<path d="M{x:.1f} {y:.1f}h28" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash or "none"}"/>'
        yield _text(x + 36, y + 4, label, t.muted, 'font-size="12"')
        x += 36 + text_width(label, 12) + 22
    yield f'<path d="M{x:.1f} {y:.1f}l28 -4v8z" fill="{t.muted}"/>'
    yield _text(
        x + 36, y + 4, "wider and stronger: more, fresher, better verified conversations", t.muted, 'font-size="12"'
    )
