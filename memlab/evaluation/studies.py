"""What the notebooks do more than once: learn a corpus into banks, ask them, and show items side by side."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memlab.bank import Bank
from memlab.evaluation.queries import Query
from memlab.extraction import Extractor
from memlab.learning import learn
from memlab.recalling import Hit, recall
from memlab.records import Conversation

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["learn_banks", "memory_rankings", "of_split", "side_by_side", "wide_table", "without_category"]


def of_split(conversations: Iterable[Conversation], split: str) -> list[Conversation]:
    """The conversations of a split ("train", "dev", "test"; "all" keeps every one), in the order given."""
    return [c for c in conversations if split in ("all", c.metadata.get("split"))]


def without_category(conversations: Iterable[Conversation]) -> list[Conversation]:
    """The same conversations as they come in from outside: what they are about is still to be read."""
    return [replace(c, category=None) for c in conversations]


def learn_banks(
    conversations: Sequence[Conversation], home: str | Path, *, extractor: Extractor | None = None
) -> dict[str, Bank]:
    """A bank for each customer, having learned its conversations."""
    banks = {}
    for customer in sorted({c.customer for c in conversations}):
        bank = Bank.open(home, customer)
        learn(bank, conversations, extractor=extractor)
        banks[customer] = bank
    return banks


def memory_rankings(
    banks: Mapping[str, Bank], queries: Iterable[Query], *, k: int = 5, least: float | None = None
) -> dict[str, list[Hit]]:
    """For every query id, what its customer's bank recalls in the query's category, best first."""
    return {q.id: recall(banks[q.customer], q.query, category=q.category, k=k, least=least) for q in queries}


def wide_table(scores: pd.DataFrame, *, rows: str, columns: str, digits: int = 2) -> pd.DataFrame:
    """Scores as a table to read: one row a `rows`, one column a `columns`, cells such as ``0.61 [0.55, 0.66]``."""
    shown = scores.assign(
        cell=[_cell(v, a, b, digits) for v, a, b in zip(scores["value"], scores["low"], scores["high"], strict=True)]
    )
    order = list(dict.fromkeys(scores[rows])), list(dict.fromkeys(scores[columns]))
    table = shown.pivot_table(index=rows, columns=columns, values="cell", aggfunc="first")
    table = table.reindex(index=order[0], columns=order[1]).fillna("–")
    return table.rename_axis(index=None, columns=rows)  # one line of headings, the rows' name in its corner


def _cell(value: float, low: float, high: float, digits: int) -> str:
    if value != value:
        return "–"
    return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


class SideBySide:
    """Items of an extraction next to gold, as an HTML table in a notebook and as text elsewhere."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self.rows = rows

    def __repr__(self) -> str:
        return "\n".join(f"{r['status']}: {r['field']}: {r['predicted']} | {r['gold']}" for r in self.rows)

    def _repr_html_(self) -> str:
        head = "<tr><th>conversation</th><th>field</th><th></th><th>read</th><th>gold</th><th>in the turn</th></tr>"
        body = "".join(
            f"<tr><td>{html.escape(r['conversation'])}</td><td>{html.escape(r['field'])}</td><td>{r['status']}</td>"
            f"<td>{html.escape(r['predicted'])}</td><td>{html.escape(r['gold'])}</td><td>{r['turn']}</td></tr>"
            for r in self.rows
        )
        return f"<table>{head}{body}</table>"


def side_by_side(
    items: pd.DataFrame, conversations: Iterable[Conversation], *, status: str, field: str, most: int = 8
) -> SideBySide:
    """The first items of a field that were matched, missed or invented, each with its quote marked in the turn."""
    by_id = {c.id: c for c in conversations}
    chosen = items[(items["status"] == status) & (items["field"] == field)].head(most)
    rows = []
    for item in chosen.astype(object).fillna("").to_dict("records"):
        side = "gold" if item["gold_quote"] else "predicted"
        turn, quote = item[f"{side}_turn"], str(item[f"{side}_quote"])
        text = by_id[item["conversation"]].turns[int(turn)].text if quote and turn != "" else ""
        rows.append(
            {
                "conversation": item["conversation"],
                "field": field,
                "status": status,
                "predicted": str(item["predicted"]),
                "gold": str(item["gold"]),
                "turn": _marked(text, quote),
            }
        )
    return SideBySide(rows)


def _marked(text: str, quote: str, *, around: int = 60) -> str:
    """A stretch of the turn around the quote, escaped, the quote in <mark>."""
    at = text.find(quote) if quote else -1
    if at < 0:
        return ""
    before, after = text[max(0, at - around) : at], text[at + len(quote) : at + len(quote) + around]
    clean = [html.escape(re.sub(r"\s+", " ", part)) for part in (before, quote, after)]
    return f"…{clean[0]}<mark>{clean[1]}</mark>{clean[2]}…"
