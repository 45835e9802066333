"""How well proposals say what is in the conversations: precision, recall and F1 by field, against gold labels.

Text fields are pooled over the issues of a conversation and matched one to one; the other fields hold one value an
issue and are compared as bags of values. A conversation is one cluster in every interval.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from memlab.errors import InputError
from memlab.evaluation.intervals import bootstrap_rate, reliability
from memlab.evaluation.labels import check_label, read_labels
from memlab.evaluation.matching import MatchBy, TextVectors, match_texts
from memlab.records import Proposal

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FIELDS", "ExtractionResult", "compare_extractors", "evaluate_extraction", "read_labels"]

TEXT_FIELDS = ("symptoms", "root_cause", "solution", "attempts", "attempt_actions")
VALUE_FIELDS = ("resolution", "solution_kind", "category", "low_value")
FIELDS = (*TEXT_FIELDS, *VALUE_FIELDS)
"""`attempts` asks for action and outcome, `attempt_actions` for the action alone."""

NONE = "(none)"

_ITEM_COLUMNS = (
    *("conversation", "category", "field", "status", "score"),
    *("predicted", "predicted_turn", "predicted_quote", "gold_id", "gold", "gold_turn", "gold_quote"),
)
_TURNS = ("predicted_turn", "gold_turn")


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that a label or a proposal states; `tag` must agree for a match (the outcome of an attempt)."""

    text: str
    turn: int | None = None
    quote: str = ""
    id: str = ""
    tag: str = ""


Items = dict[str, list[Item]]


@dataclass(frozen=True, slots=True)
class ExtractionResult:
    """Every item that was matched, missed or invented, and the counts that all scores are made of.

    Attributes
    ----------
    items : DataFrame
        One row an item: conversation, its gold category, field, status (matched, missed, invented), the score of the
        match, and text, turn and quote on both sides.
    counts : DataFrame
        One row a conversation and field: matched, predicted, gold. Resolution, solution kind and category have rows
        only where gold states one, so numerator and denominator always come from the same conversations.
    groups : mapping of "category" and "phenomenon" to (conversation to its group names)
        A conversation with two issues may be in several.
    failed : tuple of str
        Labelled conversations whose extraction failed: in no score, counted here.
    unlabelled : tuple of str
        Conversations with proposals and no label: in no score.
    """

    items: pd.DataFrame
    counts: pd.DataFrame
    groups: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict, repr=False)
    failed: tuple[str, ...] = ()
    unlabelled: tuple[str, ...] = ()

    def scores(
        self, by: Literal["category", "phenomenon"] | None = None, *, seed: int, n: int = 2000, level: float = 0.95
    ) -> pd.DataFrame:
        """One row a (group,) field and metric, with its interval over conversations.

        Columns: `by` if given, field, metric (precision, recall, f1), value, low, high, n (conversations with a
        denominator), numerator, denominator, note. F1 is 2 · matched / (predicted + gold).

        Raises
        ------
        InputError
            If `by` is unknown.
        """
        import pandas as pd

        if by is None:
            return pd.DataFrame(_scores(self.counts, seed=seed, n=n, level=level), columns=list(_SCORE_COLUMNS))
        if by not in self.groups:
            raise InputError(f"scores go by category or phenomenon, not by {by!r}")
        members = self.groups[by]
        rows = []
        for name in sorted({g for names in members.values() for g in names}):
            inside = self.counts[[name in members[c] for c in self.counts["conversation"]]]
            rows += [{by: name, **row} for row in _scores(inside, seed=seed, n=n, level=level)]
        return pd.DataFrame(rows, columns=[by, *_SCORE_COLUMNS])

    def values(self, field: str) -> dict[str, float]:
        """Each conversation's own F1 of a field, for paired comparisons; 1 where there is nothing and nothing was said.

        Two extractors that are scored on the same labels have values for the same conversations.

        Raises
        ------
        InputError
            If the field is unknown.
        """
        if field not in FIELDS:
            raise InputError(f"unknown field {field!r}; known: {', '.join(FIELDS)}")
        rows = self.counts[self.counts["field"] == field]
        found = zip(rows["conversation"], rows["matched"], rows["predicted"] + rows["gold"], strict=True)
        return {str(c): float(2 * m / total) if total else 1.0 for c, m, total in found}


_SCORE_COLUMNS = ("field", "metric", "value", "low", "high", "n", "numerator", "denominator", "note")


def _scores(counts: pd.DataFrame, *, seed: int, n: int, level: float) -> list[dict[str, Any]]:
    rows = []
    for name in FIELDS:
        part = counts[counts["field"] == name]
        matched, predicted, gold = (part[c].to_numpy(np.float64) for c in ("matched", "predicted", "gold"))
        cells = {
            "precision": (matched, predicted),
            "recall": (matched, gold),
            "f1": (2 * matched, predicted + gold),
        }
        for metric, (top, bottom) in cells.items():
            totals = dict(zip(part["conversation"], zip(top.tolist(), bottom.tolist(), strict=True), strict=True))
            found = bootstrap_rate(totals, seed=seed, n=n, level=level)
            rows.append(
                {
                    "field": name,
                    "metric": metric,
                    "value": found.estimate,
                    "low": found.low,
                    "high": found.high,
                    "n": found.n,
                    "numerator": int(top.sum()),
                    "denominator": int(bottom.sum()),
                    "note": reliability(found, null=None),
                }
            )
    return rows


def evaluate_extraction(
    proposals: Iterable[Proposal],
    labels: Sequence[Mapping[str, Any]],
    *,
    by: MatchBy = "meaning",
    threshold: float = 0.5,
    vectors: TextVectors | None = None,
    failed: Collection[str] = (),
) -> ExtractionResult:
    """Compare proposals with gold labels, conversation by conversation.

    Parameters
    ----------
    proposals : iterable of Proposal
        Of an extractor. A labelled conversation without any counts as "nothing found": name it in `failed` if the
        extractor broke there.
    labels : sequence of mappings
        As `read_labels` gives them.
    by, threshold
        How texts are matched, see `match_texts`.
    vectors : TextVectors, optional
        By default all-MiniLM-L6-v2.
    failed : collection of str
        Conversations whose extraction failed; they are left out of all scores and named in the result.

    Raises
    ------
    InputError
        If a label is not what it must be.
    """
    import pandas as pd

    gold, groups = _gold(labels)
    found: dict[str, list[Proposal]] = defaultdict(list)
    for p in proposals:
        found[p.conversation].append(p)
    scored = sorted(gold.keys() - set(failed))
    pairs = {c: (_predicted_items(found.get(c, ())), _gold_items(gold[c])) for c in scored}
    lookup = vectors or TextVectors()
    if by == "meaning":
        lookup.add(i.text for sides in pairs.values() for side in sides for f in TEXT_FIELDS for i in side[f])
    items: list[dict[str, Any]] = []
    counts: list[dict[str, Any]] = []
    for conversation, (predicted, wanted) in pairs.items():
        for name in FIELDS:
            if name in ("resolution", "solution_kind", "category") and not wanted[name]:
                continue
            rows = _compare(name, predicted[name], wanted[name], by=by, threshold=threshold, vectors=lookup)
            base = {"conversation": conversation, "field": name}
            items += [{**base, "category": "; ".join(groups["category"][conversation]), **row} for row in rows]
            matched = sum(row["status"] == "matched" for row in rows)
            sizes = {"predicted": len(predicted[name]), "gold": len(wanted[name])}
            counts.append({**base, "matched": matched, **sizes})
    return ExtractionResult(
        items=pd.DataFrame(items, columns=list(_ITEM_COLUMNS)).astype(dict.fromkeys(_TURNS, "Int64")),
        counts=pd.DataFrame(counts, columns=["conversation", "field", "matched", "predicted", "gold"]),
        groups={kind: {c: names[c] for c in scored} for kind, names in groups.items()},
        failed=tuple(sorted(gold.keys() & set(failed))),
        unlabelled=tuple(sorted(found.keys() - gold.keys())),
    )


def _gold(
    labels: Sequence[Mapping[str, Any]],
) -> tuple[dict[str, list[dict[str, Any]]], dict[str, dict[str, tuple[str, ...]]]]:
    """The labels of each conversation in order of case, and the groups that it belongs to."""
    gold: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for label in map(check_label, labels):
        gold[label["conversation"]].append(label)
    for cases in gold.values():
        cases.sort(key=lambda c: c["case"])
    categories = {c: tuple(sorted({x["category"] or NONE for x in cases})) for c, cases in gold.items()}
    phenomena = {c: tuple(sorted({p for x in cases for p in x["phenomena"]})) or (NONE,) for c, cases in gold.items()}
    return dict(gold), {"category": categories, "phenomenon": phenomena}


def _gold_items(cases: Iterable[Mapping[str, Any]]) -> Items:
    items: Items = {name: [] for name in FIELDS}
    for case in cases:
        items["symptoms"] += [_entry(s) for s in case["symptoms"]]
        for name in ("root_cause", "solution"):
            items[name] += [_entry(case[name])] if case[name] else []
        for a in case["attempts"]:
            item = Item(a["action"], a.get("turn"), a.get("quote", ""), tag=a["outcome"])
            items["attempts"].append(item)
            items["attempt_actions"].append(item)
        _add_values(items, case["resolution"], case["solution_kind"], case["category"], low_value=case["low_value"])
    return items


def _entry(value: Mapping[str, Any]) -> Item:
    return Item(value["text"], value.get("turn"), value.get("quote", ""), value["id"])


def _predicted_items(proposals: Iterable[Proposal]) -> Items:
    items: Items = {name: [] for name in FIELDS}
    for p in sorted(proposals, key=lambda p: p.case):
        items["symptoms"] += [Item(m.text, m.turn, m.quote) for m in p.symptoms]
        for name, found in (("root_cause", p.root_cause), ("solution", p.solution)):
            items[name] += [Item(found.text, found.turn, found.quote)] if found else []
        for a in p.attempts:
            items["attempts"].append(Item(a.action, a.turn, a.quote, tag=a.outcome))
            items["attempt_actions"].append(items["attempts"][-1])
        kind = p.solution.kind if p.solution else None
        _add_values(items, p.resolution, kind, p.category, low_value=p.low_value)
    return items


def _add_values(items: Items, resolution: str, kind: str | None, category: str | None, *, low_value: bool) -> None:
    # How a case of low value "ended" is a placeholder on both sides: it is no statement.
    values = {
        "resolution": None if low_value else resolution,
        "solution_kind": kind,
        "category": category,
        "low_value": "low value" if low_value else None,
    }
    for name, value in values.items():
        items[name] += [Item(value)] if value is not None else []


def _compare(
    name: str, predicted: list[Item], gold: list[Item], *, by: MatchBy, threshold: float, vectors: TextVectors
) -> list[dict[str, Any]]:
    """One row an item, in the order of gold, then of what was invented."""
    allowed = None
    if name == "attempts":
        allowed = np.array([[p.tag == g.tag for g in gold] for p in predicted], bool).reshape(len(predicted), len(gold))
    found = match_texts(
        [p.text for p in predicted],
        [g.text for g in gold],
        by="words" if name in VALUE_FIELDS else by,
        threshold=threshold,
        vectors=vectors,
        allowed=allowed,
    )
    rows = [_row("matched", predicted[p.predicted], gold[p.gold], p.score) for p in found.pairs]
    rows += [_row("missed", None, gold[n]) for n in found.missed]
    return rows + [_row("invented", predicted[n], None) for n in found.invented]


def _row(status: str, predicted: Item | None, gold: Item | None, score: float | None = None) -> dict[str, Any]:
    return {
        "status": status,
        "score": score,
        "predicted": _shown(predicted),
        "predicted_turn": predicted.turn if predicted else None,
        "predicted_quote": predicted.quote if predicted else "",
        "gold_id": gold.id if gold else "",
        "gold": _shown(gold),
        "gold_turn": gold.turn if gold else None,
        "gold_quote": gold.quote if gold else "",
    }


def _shown(item: Item | None) -> str:
    if item is None:
        return ""
    return f"{item.text} ({item.tag})" if item.tag else item.text


def compare_extractors(
    extractors: Mapping[str, Iterable[Proposal]],
    labels: Sequence[Mapping[str, Any]],
    *,
    seed: int,
    n: int = 2000,
    by: MatchBy = "meaning",
    threshold: float = 0.5,
    vectors: TextVectors | None = None,
) -> pd.DataFrame:
    """The scores of several extractors (or baselines) in one frame with a column `extractor`, in the order given."""
    import pandas as pd

    lookup = vectors or TextVectors()
    frames = []
    for name, proposals in extractors.items():
        result = evaluate_extraction(proposals, labels, by=by, threshold=threshold, vectors=lookup)
        frame = result.scores(seed=seed, n=n)
        frame.insert(0, "extractor", name)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=["extractor", *_SCORE_COLUMNS])
