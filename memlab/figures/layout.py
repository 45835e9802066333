"""Where entries stand: three columns, ordered so that links stay short. Weights and time play no part in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from memlab.figures.style import COLUMNS

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["column_layout", "spread"]

_Links = Mapping[str, Sequence[tuple[str, int]]]


def column_layout(graph: nx.DiGraph[str], *, sweeps: int = 60) -> dict[str, tuple[int, float]]:
    """The place of every node as (column 0–2, row ≥ 0); rows of one column are at least 1 apart.

    The order comes from barycentre sweeps, alternately from the left and from the right; the rows from an isotonic
    regression on the barycentres, so that short columns are spread along the links into the long one. Of all sweeps the
    one with the shortest links wins. Nodes without a link stand last.

    Parameters
    ----------
    graph : networkx.DiGraph
        With `kind` on nodes and `conversations` on edges, as `SkillGraph.to_networkx` makes it.
    sweeps : int
        How often to pass over the columns, ≥ 0.

    References
    ----------
    Sugiyama, Tagawa & Toda (1981), doi:10.1109/TSMC.1981.4308636.

    >>> import networkx as nx
    >>> g = nx.DiGraph([("s", "c", {"conversations": ["1"]})])
    >>> nx.set_node_attributes(g, {"s": "symptom", "c": "cause"}, "kind")
    >>> column_layout(g)
    {'c': (1, 0.0), 's': (0, 0.0)}
    """
    columns = _first_order(graph)
    rows = max((len(c) for c in columns), default=0)
    left, right = _links(graph)
    ys = {v: y for c in columns for v, y in zip(c, _even(len(c), rows), strict=True)}
    best, best_length = dict(ys), _length(right, ys)
    for sweep in range(sweeps):
        for column, neighbours in _pass(columns, left, right, sweep):
            column.sort(key=lambda v: (not left[v] and not right[v], _centre(v, neighbours, ys), ys[v], v))
            wanted = [_centre(v, neighbours, ys) if left[v] or right[v] else float(rows) for v in column]
            ys.update(zip(column, spread(wanted, low=0.0, high=rows - 1.0), strict=True))
        length = _length(right, ys)
        if length < best_length - 1e-9:
            best, best_length = dict(ys), length
    place = {v: n for n, c in enumerate(columns) for v in c}
    return {v: (place[v], round(best[v], 3)) for v in sorted(best)}


def spread(wanted: Sequence[float], *, low: float, high: float, gap: float = 1.0) -> list[float]:
    """Positions in the given order, as near to the wanted ones as possible, at least `gap` apart, in [low, high].

    The least squares solution by pooling neighbours that want to pass each other (isotonic regression). If the range is
    too short for the gaps it is exceeded at the top end.

    References
    ----------
    Best & Chakravarti (1990), doi:10.1007/BF01580873.

    >>> spread([2.0, 2.0, 9.0], low=0.0, high=9.0)
    [1.5, 2.5, 9.0]
    """
    blocks: list[tuple[float, int]] = []
    for n, value in enumerate(wanted):
        total, count = value - n * gap, 1
        while blocks and blocks[-1][0] / blocks[-1][1] >= total / count:
            before = blocks.pop()
            total, count = total + before[0], count + before[1]
        blocks.append((total, count))
    top = max(low, high - gap * (len(wanted) - 1))
    free = [min(max(total / count, low), top) for total, count in blocks for _ in range(count)]
    return [value + n * gap for n, value in enumerate(free)]


def _first_order(graph: nx.DiGraph[str]) -> list[list[str]]:
    """Columns with connected parts together, those with the most links first."""
    import networkx as nx

    parts = sorted((sorted(p) for p in nx.weakly_connected_components(graph)), key=lambda p: (-len(p), p))
    part = {v: n for n, p in enumerate(parts) for v in p}
    columns: list[list[str]] = [[] for _ in COLUMNS]
    for v in sorted(graph, key=lambda v: (part[v], -graph.degree(v), v)):
        columns[COLUMNS.index(graph.nodes[v]["kind"])].append(v)
    return columns


def _links(graph: nx.DiGraph[str]) -> tuple[_Links, _Links]:
    """Neighbours to the left and to the right of every node, with the number of conversations behind the link."""
    left: dict[str, list[tuple[str, int]]] = {v: [] for v in graph}
    right: dict[str, list[tuple[str, int]]] = {v: [] for v in graph}
    for a, b, conversations in sorted(graph.edges(data="conversations", default=())):
        votes = max(len(conversations), 1)
        right[a].append((b, votes))
        left[b].append((a, votes))
    return left, right


def _pass(columns: Sequence[list[str]], left: _Links, right: _Links, sweep: int) -> list[tuple[list[str], _Links]]:
    """Which columns to order after which side: rightwards, leftwards, and then causes between both sides."""
    symptoms, causes, solutions = columns
    both = {v: [*left[v], *right[v]] for v in causes}
    middle: _Links = (left, right, both)[sweep % 3]
    return [(causes, middle), (symptoms, right), (solutions, left)]


def _centre(v: str, neighbours: _Links, ys: Mapping[str, float]) -> float:
    votes = sum(n for _, n in neighbours[v])
    return sum(n * ys[u] for u, n in neighbours[v]) / votes if votes else ys[v]


def _even(n: int, rows: int) -> list[float]:
    return [(i + 0.5) * rows / n - 0.5 for i in range(n)]


def _length(right: _Links, ys: Mapping[str, float]) -> float:
    return sum(n * abs(ys[a] - ys[b]) for a in sorted(right) for b, n in right[a])
