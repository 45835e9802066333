"""Two curators compared: who sees that a paraphrase means an entry, and that a stranger does not.

A case is one new wording and one entry of the same category. Half of the cases are paraphrases of the entry, written by
other hands; the other half are paraphrases of another entry. Each curator gets exactly the same cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Literal

from memlab.curation.curator import Choice, Curator
from memlab.curation.index import Candidate
from memlab.errors import CurationError, InputError, ModelError
from memlab.evaluation.intervals import bootstrap_rate
from memlab.evaluation.matching import TextVectors
from memlab.evaluation.queries import Query
from memlab.runs.paired import Evidence, Paired, Values, compare_values

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CurationCase", "always", "compare_curators", "curation_cases", "curator_table", "decide"]

POOL = 60  # drawn at once, so that a smaller number of cases is a part of a larger one


@dataclass(frozen=True, slots=True)
class CurationCase:
    """A wording, the entry that it is held against, and whether they mean the same.

    Attributes
    ----------
    id : str
        Of the query, with ``same`` or ``other``.
    text : str
        The new wording.
    candidate : Candidate
        The entry, with its gold text as the only wording.
    same : bool
        Whether the labels say so.
    """

    id: str
    text: str
    candidate: Candidate
    same: bool

    def right(self, choice: Choice) -> bool:
        """Whether a decision treats the two as the labels do: one entry if the same, else two."""
        return (choice.op in ("reinforce", "edit") and choice.target == self.candidate.entry) == self.same


def curation_cases(
    queries: Iterable[Query], symptoms: Mapping[str, str], *, n: int, seed: int, vectors: TextVectors | None = None
) -> list[CurationCase]:
    """Balanced cases from paraphrased symptoms: each query once beside its own symptom or beside a stranger's.

    Parameters
    ----------
    queries : iterable of Query
        Those that name exactly one symptom and are no hard negatives are used.
    symptoms : mapping of symptom id to text
        See `labels.symptom_texts`.
    n : int
        Cases, ≥ 2; half of them of each sort. Up to 60, fewer cases are the first of more: recorded replies stay of use.
    seed : int
        Of the choice of queries and strangers.
    vectors : TextVectors, optional
        By default all-MiniLM-L6-v2.

    Raises
    ------
    InputError
        If there are not enough queries.
    """
    import numpy as np

    usable = sorted(
        (q for q in queries if len(q.symptom_ids) == 1 and q.symptom_ids[0] in symptoms and not q.hard_negative),
        key=lambda q: q.id,
    )
    if n < 2 or len(usable) < n:
        raise InputError(f"{n} cases asked for and {len(usable)} queries usable; give a number between 2 and that")
    rng = Random(seed)  # noqa: S311 - a sample, no secret
    chosen = rng.sample(usable, max(n, min(POOL, len(usable))))[:n]
    pairs = []
    for number, query in enumerate(chosen):
        same = number % 2 == 0
        strangers = [q.symptom_ids[0] for q in usable if q.category == query.category and not _related(q, query)]
        if not same and not strangers:
            continue
        pairs.append((query, query.symptom_ids[0] if same else rng.choice(sorted(set(strangers))), same))
    lookup = vectors or TextVectors()
    lookup.add([t for q, s, _ in pairs for t in (q.query, symptoms[s])])
    found = []
    for query, symptom, same in pairs:
        a, b = lookup([query.query, symptoms[symptom]])
        cosine = round(float(np.dot(a, b)), 4)
        candidate = Candidate(symptom, (symptoms[symptom],), (cosine,))
        found.append(CurationCase(f"{query.id}/{'same' if same else 'other'}", query.query, candidate, same))
    return found


def _related(a: Query, b: Query) -> bool:
    """Whether two queries share a symptom or a cause: then "other" would be an unfair label."""
    return bool(set(a.symptom_ids) & set(b.symptom_ids) or set(a.root_cause_ids) & set(b.root_cause_ids))


def decide(curator: Curator, cases: Iterable[CurationCase]) -> dict[str, Choice | None]:
    """What a curator does in each case; None where its model gave no reply (or none is recorded)."""
    found: dict[str, Choice | None] = {}
    for case in cases:
        try:
            found[case.id] = curator.choose("symptom", case.text, [case.candidate])
        except (ModelError, CurationError):
            found[case.id] = None
    return found


def compare_curators(
    a: Mapping[str, Choice | None],
    b: Mapping[str, Choice | None],
    cases: Sequence[CurationCase],
    *,
    names: tuple[str, str] = ("A", "B"),
    costs: Mapping[str, str] | None = None,
    seed: int = 0,
    resamples: int = 2000,
) -> Paired:
    """What changes from curator A to curator B: right decisions, over all cases, and over each half.

    Parameters
    ----------
    a, b : mapping of case id to choice
        As `decide` gives them.
    cases : sequence of CurationCase
        The cases.
    names, costs, seed, resamples
        As in `compare_proposals`.
    """
    sides = [_values(side, cases) for side in (a, b)]
    lines = compare_values(sides[0], sides[1], seed=seed, resamples=resamples)
    by_id = {case.id: case for case in cases}
    report = Paired(names[0], names[1], "right decisions about paraphrases and strangers", lines)
    evidence = {
        (line.name, flip.case): (_said(a[flip.case], by_id[flip.case]), _said(b[flip.case], by_id[flip.case]))
        for line in lines
        for flip in report.flips(line)
    }
    return Paired(report.a, report.b, report.what, lines, evidence, costs=costs or {})


def _values(side: Mapping[str, Choice | None], cases: Sequence[CurationCase]) -> dict[str, Values]:
    parts = {"all": cases, "the same": [c for c in cases if c.same], "another": [c for c in cases if not c.same]}
    found = {}
    for name, chosen in parts.items():
        outcomes = {c.id: _outcome(side.get(c.id), c) for c in chosen}
        known = [v for v in outcomes.values() if v is not None]
        found[name] = Values(sum(known) / len(known) if known else None, outcomes)
    return found


def _outcome(choice: Choice | None, case: CurationCase) -> float | None:
    return None if choice is None else float(case.right(choice))


def _said(choice: Choice | None, case: CurationCase) -> list[Evidence]:
    gold = "the same" if case.same else "another"
    status = "no reply" if choice is None else choice.op
    reason = "" if choice is None else choice.reason
    return [Evidence(status, reason, gold, case.text, f"{case.text} | {case.candidate.wordings[0]}")]


def always(op: Literal["add", "reinforce"], cases: Iterable[CurationCase]) -> dict[str, Choice | None]:
    """The decisions of a curator that does the same each time: the trivial baselines."""
    return {c.id: Choice(op, c.candidate.entry if op == "reinforce" else None, f"always {op}") for c in cases}


def curator_table(
    decisions: Mapping[str, Mapping[str, Choice | None]],
    cases: Sequence[CurationCase],
    *,
    seed: int,
    resamples: int = 2000,
) -> pd.DataFrame:
    """The share of right decisions of each curator, over all cases and each half, with its interval.

    Columns: curator, cases, value, low, high, n, failed (no reply: in no share).
    """
    import pandas as pd

    rows = []
    for name, side in decisions.items():
        for part, values in _values(side, cases).items():
            known = {c: (v, 1.0) for c, v in values.cases.items() if v is not None}
            found = bootstrap_rate(known, seed=seed, n=resamples)
            row = {"curator": name, "cases": part, "value": found.estimate, "low": found.low, "high": found.high}
            rows.append({**row, "n": len(known), "failed": len(values.cases) - len(known)})
    return pd.DataFrame(rows)
