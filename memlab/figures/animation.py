"""Memory growing, as one SVG that plays by itself: places are fixed, entries appear and fade as their weight does.

The picture works in a README and on slides (SMIL, no script); where nothing moves it shows the last moment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from memlab.errors import InputError
from memlab.figures.data import page_data
from memlab.figures.style import COLUMNS, FONT, HEADINGS, LIGHT
from memlab.graph import SkillGraph

__all__ = ["growth_animation"]

WIDTH, LEFT, RIGHT, TOP = 880.0, 150.0, 730.0, 92.0
ROW, CHART = 6.2, 54.0


def growth_animation(graph: SkillGraph, *, steps: int = 24, seconds: float = 12.0, limit: int = 400) -> str:
    """The graph over its whole history, played in a loop with a pause at its end.

    Parameters
    ----------
    graph : SkillGraph
        With its history.
    steps : int
        Moments between which the picture moves evenly, ≥ 2.
    seconds : float
        Of one loop, > 0; the last sixth of it stands still.
    limit : int
        Draw at most so many entries, the heaviest.

    Raises
    ------
    InputError
        If `steps`, `seconds` or `limit` is out of range, or the graph has no history to play.
    """
    if steps < 2 or not seconds > 0:
        raise InputError(f"an animation needs at least 2 steps and more than 0 seconds, not {steps} and {seconds}")
    data = page_data(graph, steps=steps, limit=limit)
    if len(data["moments"]) < 2:
        raise InputError(f"{graph.customer} / {graph.category} has no history to play; learn conversations first")
    return "\n".join(_lines(data, seconds)) + "\n"


def _lines(data: Mapping[str, Any], seconds: float) -> Iterator[str]:
    height = TOP + data["rows"] * ROW + 30 + CHART + 40
    times = _key_times(len(data["moments"]))
    loop = f'dur="{seconds:g}s" repeatCount="indefinite"'
    title = f"Memory of {data['customer']} / {data['category']} growing"
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {height:.0f}" width="{WIDTH:.0f}" '
        f'height="{height:.0f}" role="img" aria-labelledby="g-title g-desc" font-family={quoteattr(FONT)} font-size="13">'
    )
    yield f'<title id="g-title">{escape(title)}</title>'
    yield f'<desc id="g-desc">{escape(_words(data))}</desc>'
    yield f'<rect width="100%" height="100%" rx="10" fill="{LIGHT.paper}"/>'
    yield f'<text x="24" y="36" font-size="19" font-weight="600" fill="{LIGHT.ink}">{escape(title)}</text>'
    for kind, x, anchor in zip(COLUMNS, _columns(), ("end", "middle", "start"), strict=True):
        yield f'<text x="{x:.0f}" y="74" text-anchor="{anchor}" font-weight="600" fill="{LIGHT.of(kind)}">{HEADINGS[kind]}</text>'
    for edge in data["edges"]:
        yield _edge(data, edge, times, loop)
    for node in data["nodes"]:
        yield _node(data, node, times, loop)
    yield from _captions(data, times, loop)
    yield from _curve(data, times, loop, height - 34)
    yield "</svg>"


def _key_times(steps: int) -> str:
    """Evenly over the first five sixths of the loop, then still."""
    moving = [round(5 / 6 * k / (steps - 1), 4) for k in range(steps)]
    return ";".join(f"{t:g}" for t in [*moving, 1.0])


def _columns() -> tuple[float, float, float]:
    return (LEFT, (LEFT + RIGHT) / 2, RIGHT)


def _course(item: Mapping[str, Any], steps: int, top: float, low: float) -> list[float]:
    """Opacity at each step: 0 before the first evidence, then with the weight."""
    known = [low + (1 - low) * min(1.0, w / top) for w in item["weights"]]
    return [*[0.0] * (steps - len(known)), *known]


def _animated(values: Sequence[float], times: str, loop: str) -> str:
    listed = ";".join(f"{v:.2f}".rstrip("0").rstrip(".") for v in [*values, values[-1]])
    return f'<animate attributeName="opacity" values="{listed}" keyTimes="{times}" {loop}/>'


def _edge(data: Mapping[str, Any], edge: Mapping[str, Any], times: str, loop: str) -> str:
    a, b = data["nodes"][edge["a"]], data["nodes"][edge["b"]]
    x0, x1 = _columns()[a["kind"]], _columns()[b["kind"]]
    y0, y1, middle = _y(a), _y(b), (x0 + x1) / 2
    failed = all(row[1] == 3 for row in edge["evidence"])
    colour = LIGHT.failed if failed else LIGHT.symptom if a["kind"] == 0 else LIGHT.solution
    course = _course(edge, len(data["moments"]), _peak(data["edges"]), 0.12)
    dash = ' stroke-dasharray="3 3"' if failed else ""
    return (
        f'<path d="M{x0:.0f} {y0:.1f}C{middle:.0f} {y0:.1f} {middle:.0f} {y1:.1f} {x1:.0f} {y1:.1f}" fill="none" '
        f'stroke="{colour}" stroke-width="{0.8 if failed else 1.6}"{dash} opacity="{0.7 * course[-1]:.2f}">'
        f"{_animated([0.7 * v for v in course], times, loop)}</path>"
    )


def _node(data: Mapping[str, Any], node: Mapping[str, Any], times: str, loop: str) -> str:
    kind = COLUMNS[node["kind"]]
    course = _course(node, len(data["moments"]), _peak(data["nodes"]), 0.35)
    radius = 2.2 + 2.6 * min(1.0, max(node["weights"]) / _peak(data["nodes"])) ** 0.5
    title = f"<title>{escape(node['title'])}</title>"
    return (
        f'<circle cx="{_columns()[node["kind"]]:.0f}" cy="{_y(node):.1f}" r="{radius:.1f}" fill="{LIGHT.of(kind)}" '
        f'opacity="{course[-1]:.2f}">{title}{_animated(course, times, loop)}</circle>'
    )


def _y(node: Mapping[str, Any]) -> float:
    return TOP + (float(node["row"]) + 0.5) * ROW


def _peak(items: Sequence[Mapping[str, Any]]) -> float:
    return max((w for item in items for w in item["weights"]), default=0.0) or 1.0


def _totals(data: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Conversations and entries known at each step."""
    steps = range(len(data["moments"]))
    entries = [sum(n["first"] <= k for n in data["nodes"]) for k in steps]
    return [(sum(data["arrivals"][: k + 1]), entries[k]) for k in steps]


def _words(data: Mapping[str, Any]) -> str:
    (first, last), totals = (data["moments"][0], data["moments"][-1]), _totals(data)
    hidden = f" {data['hidden']['nodes']} lighter entries are not drawn." if data["hidden"]["nodes"] else ""
    return (
        f"From {first[:10]} to {last[:10]}, {totals[-1][0]} conversations grow into {totals[-1][1]} symptoms, root causes "
        f"and solutions in three columns with fixed places; each fades as its evidence ages.{hidden}"
    )


def _captions(data: Mapping[str, Any], times: str, loop: str) -> Iterator[str]:
    """Date and counts, one text a step, each seen in its own stretch of the loop."""
    totals = _totals(data)
    for k, moment in enumerate(data["moments"]):
        shown = [float(j == k) for j in range(len(data["moments"]))]
        listed = ";".join(f"{v:g}" for v in [*shown, shown[-1]])
        text = f"{moment[:10]}: {totals[k][0]} conversations, {totals[k][1]} entries"
        final = int(k == len(data["moments"]) - 1)
        yield (
            f'<text x="{WIDTH - 24:.0f}" y="36" text-anchor="end" fill="{LIGHT.muted}" opacity="{final}">{escape(text)}'
            f'<animate attributeName="opacity" calcMode="discrete" values="{listed}" keyTimes="{times}" {loop}/></text>'
        )


def _curve(data: Mapping[str, Any], times: str, loop: str, base: float) -> Iterator[str]:
    """Entries over conversations, below, with a mark that runs along."""
    totals = _totals(data)
    most = totals[-1]
    points = [(LEFT + (RIGHT - LEFT) * c / max(1, most[0]), base - CHART * n / max(1, most[1])) for c, n in totals]
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in [(LEFT, base), *points])
    yield f'<path d="M{LEFT:.0f} {base:.0f}H{RIGHT:.0f}" stroke="{LIGHT.line}"/>'
    yield f'<path d="M{path}" fill="none" stroke="{LIGHT.muted}" stroke-width="1.6"/>'
    xs, ys = (";".join(f"{p[i]:.1f}" for p in [*points, points[-1]]) for i in (0, 1))
    yield (
        f'<circle r="4" cx="{points[-1][0]:.1f}" cy="{points[-1][1]:.1f}" fill="{LIGHT.accent}">'
        f'<animate attributeName="cx" values="{xs}" keyTimes="{times}" {loop}/>'
        f'<animate attributeName="cy" values="{ys}" keyTimes="{times}" {loop}/></circle>'
    )
    yield f'<text x="{LEFT:.0f}" y="{base + 20:.0f}" fill="{LIGHT.muted}">conversations</text>'
    yield f'<text x="{RIGHT + 8:.0f}" y="{points[-1][1] + 4:.1f}" fill="{LIGHT.muted}">{most[1]} entries</text>'
