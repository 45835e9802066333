"""Several categories of one customer as one graph, for a page on which they can be told apart."""

from __future__ import annotations

from collections.abc import Sequence

from memlab.errors import InputError
from memlab.graph import SkillGraph

__all__ = ["joined"]


def joined(graphs: Sequence[SkillGraph]) -> tuple[SkillGraph, dict[str, str]]:
    """One graph of all entries and links, as of the newest moment, and the category of each entry.

    Parameters
    ----------
    graphs : sequence of SkillGraph
        Of one customer, each category once; ids hold the category, so none occurs twice.

    Raises
    ------
    InputError
        If there is none, customers or decay rules differ, or a category is there twice.

    >>> joined([SkillGraph("acme", "vpn"), SkillGraph("acme", "teams")])[0].category
    'teams, vpn'
    """
    if not graphs:
        raise InputError("no graph to draw; give at least one category")
    ordered = sorted(graphs, key=lambda g: g.category)
    names = [g.category for g in ordered]
    if len({g.customer for g in ordered}) > 1:
        raise InputError(f"a page shows one customer, not {', '.join(sorted({g.customer for g in ordered}))}")
    if len(set(names)) < len(names):
        raise InputError(f"a category stands twice: {', '.join(names)}")
    if any(g.rule != ordered[0].rule for g in ordered):
        raise InputError("the categories weigh by different rules; draw them on pages of their own")
    owner = {i: g.category for g in ordered for i in g.entries}
    if len(owner) < sum(len(g.entries) for g in ordered):
        raise InputError("two categories hold an entry of one id; draw them on pages of their own")
    entries = {i: g.entries[i] for g in ordered for i in g.entries}
    edges = {e: v for g in ordered for e, v in g.edges.items()}
    at = max(g.at for g in ordered)
    whole = SkillGraph(
        ordered[0].customer,
        ", ".join(names),
        at,
        ordered[0].rule,
        dict(sorted(entries.items())),
        dict(sorted(edges.items())),
    )
    return whole, dict(sorted(owner.items()))
