"""What a context of so many tokens holds: a right cause, a right fix, and how far into it one must read.

Every arm gets the same query, budget and judge. The judge sees what a context says as a list of statements (sentences
of a transcript, entries of a skill) and compares each with the gold texts of the causes and solutions that the query
accepts, by meaning. It does not know which arm a statement comes from.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from memlab.errors import InputError
from memlab.evaluation.arms import Arm, BuiltContext, memory_arms, shuffled_order, transcript_arm
from memlab.evaluation.matching import TextVectors
from memlab.evaluation.queries import Query

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Arm",
    "BuiltContext",
    "GoldTexts",
    "by_threshold",
    "context_scores",
    "context_values",
    "gold_texts",
    "judge_contexts",
    "memory_arms",
    "shuffled_order",
    "transcript_arm",
    "wins",
]

FACTS = ("cause", "fix")
MEASURES = (*FACTS, "both")


@dataclass(frozen=True, slots=True)
class GoldTexts:
    """How people put every root cause and solution of a corpus into words, by id."""

    cause: Mapping[str, tuple[str, ...]]
    fix: Mapping[str, tuple[str, ...]]

    def accepted(self, query: Query) -> dict[str, tuple[str, ...]]:
        """The texts that are right for a query, of its causes and of its fixes."""
        ids = {"cause": query.root_cause_ids, "fix": query.solution_ids}
        found = {"cause": self.cause, "fix": self.fix}
        return {fact: tuple(t for i in ids[fact] for t in found[fact].get(i, ())) for fact in FACTS}


def gold_texts(labels: Iterable[Mapping[str, Any]]) -> GoldTexts:
    """The gold texts of all causes and solutions in labels; of one id several wordings may occur."""
    out: dict[str, dict[str, set[str]]] = {"root_cause": {}, "solution": {}}
    for label in labels:
        for field, found in out.items():
            if label[field]:
                found.setdefault(label[field]["id"], set()).add(label[field]["text"])
    tidy = {f: {i: tuple(sorted(texts)) for i, texts in sorted(found.items())} for f, found in out.items()}
    return GoldTexts(tidy["root_cause"], tidy["solution"])


# -- judging ---------------------------------------------------------------------------------------------------------


def judge_contexts(
    arms: Mapping[str, Arm],
    queries: Sequence[Query],
    gold: GoldTexts,
    *,
    budgets: Sequence[int],
    vectors: TextVectors | None = None,
    threshold: float = 0.5,
) -> pd.DataFrame:
    """One row an arm, budget and query: does the context hold a right cause, a right fix, both, and at which cost.

    Parameters
    ----------
    arms : mapping of name to Arm
    queries : sequence of Query
        Those without an accepted cause and fix that gold has a text for are left out.
    gold : GoldTexts
    budgets : sequence of int
        In tokens.
    vectors : TextVectors, optional
        Where vectors come from.
    threshold : float
        Least cosine at which a statement means a gold text, in (0, 1].

    Returns
    -------
    DataFrame
        arm, budget, query, text, cluster, tokens (of the context), statements, cause, fix, both (1 or 0), the cosine of
        the nearest statement to each ("nearest cause", "nearest fix"), and `read`: tokens read until a right fix has
        been seen, NaN where there is none.

    Raises
    ------
    InputError
        If the threshold is out of range, or an arm exceeds its budget.
    """
    import pandas as pd

    if not 0 < threshold <= 1:
        raise InputError(f"the threshold must be in (0, 1], not {threshold}")
    shared = vectors or TextVectors()
    asked = [(q, gold.accepted(q)) for q in queries]
    asked = [(q, accepted) for q, accepted in asked if all(accepted.values())]
    built = [
        (name, budget, q, accepted, arm(q, budget))
        for name, arm in arms.items()
        for budget in budgets
        for q, accepted in asked
    ]
    shared.add(t for *_, context in built for t, _ in context.statements)
    shared.add(t for _, accepted in asked for texts in accepted.values() for t in texts)
    rows = [_row(name, budget, q, accepted, context, shared, threshold) for name, budget, q, accepted, context in built]
    return pd.DataFrame(rows)


def _row(
    name: str,
    budget: int,
    query: Query,
    accepted: Mapping[str, Sequence[str]],
    context: BuiltContext,
    vectors: TextVectors,
    threshold: float,
) -> dict[str, Any]:
    if context.tokens > budget:
        raise InputError(f"arm {name!r} took {context.tokens} tokens of {budget} for query {query.id}")
    first, nearest = dict.fromkeys(FACTS, math.nan), dict.fromkeys(FACTS, 0.0)
    said = vectors([t for t, _ in context.statements])
    for fact in FACTS if len(said) else ():
        near = np.round((said @ vectors(list(accepted[fact])).T).astype(np.float64), 4).max(axis=1)
        nearest[fact] = float(near.max())
        if nearest[fact] >= threshold:
            first[fact] = float(context.statements[int((near >= threshold).argmax())][1])
    held = {fact: float(nearest[fact] >= threshold) for fact in FACTS}
    return {
        "arm": name,
        "budget": budget,
        "query": query.id,
        "text": query.query,
        "cluster": min(query.root_cause_ids),
        "tokens": context.tokens,
        "statements": len(context.statements),
        **held,
        "both": held["cause"] * held["fix"],
        **{f"nearest {fact}": value for fact, value in nearest.items()},
        "read": first["fix"],
    }


def by_threshold(frame: pd.DataFrame, thresholds: Sequence[float], *, budget: int, fact: str = "fix") -> pd.DataFrame:
    """The share of queries whose context holds a right fix (or cause) by arm, for several cosines that count as right."""
    import pandas as pd

    part = frame[frame["budget"] == budget]
    columns = {t: (part[f"nearest {fact}"] >= t).groupby(part["arm"], sort=False).mean() for t in thresholds}
    return pd.DataFrame(columns)


def context_values(
    frame: pd.DataFrame, measure: str, *, budget: int
) -> tuple[dict[str, dict[str, float]], dict[str, str]]:
    """A measure's value by arm and query at a budget, and each query's cluster: what `compare_arms` asks for.

    Raises
    ------
    InputError
        If the measure is unknown.
    """
    if measure not in MEASURES:
        raise InputError(f"unknown measure {measure!r}; known: {', '.join(MEASURES)}")
    part = frame[frame["budget"] == budget]
    values = {
        str(arm): {str(q): float(v) for q, v in zip(rows["query"], rows[measure], strict=True)}
        for arm, rows in part.groupby("arm", sort=False)
    }
    return values, {str(q): str(c) for q, c in zip(part["query"], part["cluster"], strict=True)}


def context_scores(frame: pd.DataFrame, *, seed: int, n: int = 2000) -> pd.DataFrame:
    """One row an arm, budget and measure with its interval over root causes, mean tokens and tokens read to a fix."""
    import pandas as pd

    from memlab.evaluation.intervals import bootstrap_rate

    rows = []
    for (arm, budget), part in frame.groupby(["arm", "budget"], sort=False):
        for measure in MEASURES:
            totals = part.groupby("cluster")[measure].agg(["sum", "count"])
            pairs = {str(c): (float(r["sum"]), float(r["count"])) for c, r in totals.iterrows()}
            found = bootstrap_rate(pairs, seed=seed, n=n)
            rows.append(
                {
                    "arm": arm,
                    "budget": int(str(budget)),
                    "measure": measure,
                    "value": found.estimate,
                    "low": found.low,
                    "high": found.high,
                    "n": len(part),
                    "clusters": found.n,
                    "tokens": float(part["tokens"].mean()),
                    "read": float(part["read"].mean()),
                }
            )
    return pd.DataFrame(rows)


def wins(frame: pd.DataFrame, a: str, b: str, *, budget: int, measure: str = "fix", most: int = 10) -> pd.DataFrame:
    """The first queries, by id, for which the context of arm `a` holds it and that of arm `b` does not.

    Raises
    ------
    InputError
        If there is no such arm.
    """
    import pandas as pd

    values, _ = context_values(frame, measure, budget=budget)
    for arm in (a, b):
        if arm not in values:
            raise InputError(f"no arm {arm!r}; there are {', '.join(values)}")
    texts = dict(zip(frame["query"], frame["text"], strict=True))
    won = sorted(q for q, v in values[a].items() if v > values[b].get(q, 0.0))
    return pd.DataFrame({"holds it": a, "query": won[:most], "text": [texts[q] for q in won[:most]]})
