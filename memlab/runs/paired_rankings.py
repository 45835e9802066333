"""Two files of recalled hits compared against gold: curators, settings or versions of memory, query by query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memlab.errors import InputError
from memlab.evaluation.queries import GoldCauses, Query
from memlab.evaluation.retrieval import METRICS, score_ranking
from memlab.runs.paired import Evidence, Paired, Values, compare_values

__all__ = ["compare_rankings"]

_Hits = Sequence[Mapping[str, Any]]


def compare_rankings(
    a: Mapping[str, _Hits],
    b: Mapping[str, _Hits],
    queries: Iterable[Query],
    gold: GoldCauses,
    *,
    names: tuple[str, str] = ("A", "B"),
    seed: int = 0,
    resamples: int = 2000,
) -> Paired:
    """What changes from memory A to memory B in recall, MRR, nDCG and abstention, paired by query, clustered by cause.

    Parameters
    ----------
    a, b : mapping of query id to hits
        As `memlab recall --queries FILE --json` prints them.
    queries : iterable of Query
        What was asked; those that neither side answered (has no line for) are left out.
    gold : GoldCauses
        Of the conversations that memory learned.
    names, seed, resamples
        As in `compare_proposals`.

    Raises
    ------
    InputError
        If no query is on both sides, or a hit names an unknown conversation.
    """
    asked = {q.id: q for q in queries}
    if not a.keys() & b.keys() & asked.keys():
        raise InputError("no query of the queries file is on both sides; recall the same queries twice")
    sides = [_side({i: hits for i, hits in side.items() if i in asked}, asked, gold) for side in (a, b)]
    lines = compare_values(sides[0], sides[1], seed=seed, resamples=resamples)
    report = Paired(names[0], names[1], "recalled root causes, by query, against labels", lines)
    evidence = {
        (line.name, flip.case): (_said(asked[flip.case], a[flip.case]), _said(asked[flip.case], b[flip.case]))
        for line in lines
        for flip in report.flips(line)
    }
    return Paired(report.a, report.b, report.what, lines, evidence)


def _side(rankings: Mapping[str, _Hits], asked: Mapping[str, Query], gold: GoldCauses) -> dict[str, Values]:
    scores = {i: score_ranking(asked[i], hits, gold) for i, hits in sorted(rankings.items())}
    found = {}
    for metric in METRICS:
        cases = {i: s[metric] for i, s in scores.items() if metric in s}
        if cases:
            clusters = {i: min(asked[i].root_cause_ids, default=i) for i in cases}
            found[metric] = Values(sum(cases.values()) / len(cases), dict(cases), clusters)
    return found


def _said(query: Query, hits: _Hits) -> list[Evidence]:
    """The question, then the first hits."""
    rows = [Evidence("asked", query.query)]
    rows += [Evidence(f"rank {n}", str(hit.get("root_cause", ""))) for n, hit in enumerate(hits[:3], 1)]
    return rows if len(rows) > 1 else [*rows, Evidence("no hit")]
