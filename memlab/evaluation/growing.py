"""How memory grows with what it is told, what decay does to its order, and whether what limits remove was needed later."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from memlab.bank import Bank
from memlab.decay import WeightRule, weight
from memlab.evaluation.intervals import bootstrap_rate
from memlab.graph import SkillGraph
from memlab.operations import Operation

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Return", "half_life_sweep", "needed_later", "reinforcing", "rendered_tokens", "returns"]

MOMENT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, eq=False)
class Return:
    """A conversation whose root cause memory knew from earlier ones.

    Attributes
    ----------
    bank : Bank
        Whose memory.
    conversation, category : str
        Which, and about what.
    at : datetime
        When it started.
    causes : frozenset of str
        Entries of its root causes that an earlier conversation had.
    """

    bank: Bank
    conversation: str
    category: str
    at: datetime
    causes: frozenset[str]

    @property
    def case(self) -> str:
        """A name for it that no other has."""
        return f"{self.bank.customer}/{self.category}/{self.conversation}"


def returns(banks: Iterable[Bank]) -> list[Return]:
    """The conversations that came back to a known root cause, in the order of time (ties by id)."""
    found = []
    for bank in banks:
        for category in bank.categories():
            first: dict[str, tuple[datetime, str]] = {}
            for op in _of_causes(bank.operations(category)):
                first.setdefault(op.entry, _place(op))
            known: dict[tuple[datetime, str], set[str]] = {}
            for op in _of_causes(bank.operations(category)):
                if first[op.entry][0] < _place(op)[0]:
                    known.setdefault(_place(op), set()).add(op.entry)
            found += [Return(bank, c, category, at, frozenset(causes)) for (at, c), causes in known.items()]
    return sorted(found, key=lambda r: (r.at, r.conversation))


def _of_causes(operations: Iterable[Operation]) -> Iterator[Operation]:
    return (op for op in operations if op.kind == "cause" and op.stated and op.changes_graph)


def _place(op: Operation) -> tuple[datetime, str]:
    return op.at.astimezone(UTC), op.conversation


def reinforcing(operations: Iterable[Operation], *, parts: int = 4) -> pd.DataFrame:
    """How much of what conversations say was known: one row a part of history and column of the graph.

    Parameters
    ----------
    operations : iterable of Operation
        Of one or more categories.
    parts : int
        Into how many parts of equally many conversations history is cut.

    Returns
    -------
    DataFrame
        Columns: part (from 1), kind, conversations, reinforced (share of operations that came to a known entry), n
        (operations), merges (of other words with a known entry), same_words (share of the reinforcements that were
        decided by an exact match).
    """
    import pandas as pd

    found = sorted((op for op in operations if op.changes_graph and op.stated), key=_place)
    order = list(dict.fromkeys(map(_place, found)))
    part_of = {place: min(parts, n * parts // max(1, len(order)) + 1) for n, place in enumerate(order)}
    rows: list[dict[str, Any]] = []
    for part in range(1, parts + 1):
        for kind in ("symptom", "cause", "solution"):
            here = [op for op in found if part_of[_place(op)] == part and op.kind == kind]
            again = [op for op in here if op.op != "add"]
            exact = [op for op in again if "same words" in op.reason]
            rows.append(
                {
                    "part": part,
                    "kind": kind,
                    "conversations": len({op.conversation for op in here}),
                    "reinforced": len(again) / len(here) if here else math.nan,
                    "n": len(here),
                    "merges": len(again) - len(exact),
                    "same_words": len(exact) / len(again) if again else math.nan,
                }
            )
    return pd.DataFrame(rows)


def rendered_tokens(
    bank: Bank, category: str, *, count: Callable[[str], int] | None = None, steps: int = 12
) -> pd.DataFrame:
    """How long the whole skill is as conversations come in.

    Parameters
    ----------
    bank, category
        Where.
    count : callable, optional
        Counts the tokens of a text; by default WordPiece.
    steps : int
        Moments looked at, evenly spread over the conversations.

    Returns
    -------
    DataFrame
        Columns: category, conversations (so far), tokens, entries.
    """
    import pandas as pd

    from memlab.models.tokens import count_tokens
    from memlab.rendering import render_skill

    counted = count or count_tokens
    times = sorted({(op.at.astimezone(UTC), op.conversation) for op in bank.operations(category)})
    chosen = sorted({round((n + 1) * len(times) / steps) for n in range(steps)} - {0})
    rows = []
    for n in chosen:
        view = bank.graph(category, at=times[n - 1][0])
        text = render_skill(view, budget=10**9)
        rows.append({"category": category, "conversations": n, "tokens": counted(text), "entries": len(view.entries)})
    return pd.DataFrame(rows, columns=["category", "conversations", "tokens", "entries"])


def half_life_sweep(
    found: Sequence[Return], half_lives: Sequence[float], *, seed: int, floor: float = 0.1, n: int = 1000
) -> pd.DataFrame:
    """How well weight alone foretells the next root cause, by half-life; without a query, so only order shows.

    For each conversation that came back to a known cause, the causes of its category as they stood just before it are
    ranked by weight. Beside the half-lives stand no decay at all, the order by last sight, and a random order (its
    expected value, which needs no seed).

    Parameters
    ----------
    found : sequence of Return
        As `returns` gives them.
    half_lives : sequence of float
        Days, > 0.
    seed : int
        Of the bootstrap.
    floor : float
        See `WeightRule`.
    n : int
        Resamples.

    Returns
    -------
    DataFrame
        One row an order: order, half_life_days (NaN where there is none), value (mean reciprocal rank of the cause that
        came), low, high, n.
    """
    import pandas as pd

    never = WeightRule(half_life_days=1e12)
    orders: dict[str, tuple[float, Callable[[SkillGraph, str], float]]] = {
        f"half-life {h:g} days": (h, _weight_under(WeightRule(half_life_days=h, floor=floor))) for h in half_lives
    }
    orders["no decay"] = math.nan, _weight_under(never)
    orders["last seen first"] = math.nan, lambda graph, e: graph.entries[e].last_seen.timestamp()
    ranks: dict[str, dict[str, tuple[float, float]]] = {name: {} for name in (*orders, "random order")}
    for r in found:
        graph = _before(r)
        causes = [e.id for e in graph.entries.values() if e.kind == "cause" and e.stated]
        for name, (_, score) in orders.items():
            ordered = sorted(causes, key=lambda e: (-score(graph, e), e))
            best = min(ordered.index(c) for c in r.causes) + 1
            ranks[name][r.case] = 1 / best, 1.0
        ranks["random order"][r.case] = _expected(len(causes), len(r.causes)), 1.0
    rows = []
    for name, values in ranks.items():
        rate = bootstrap_rate(values, seed=seed, n=n)
        life = orders[name][0] if name in orders else math.nan
        row = {"order": name, "half_life_days": life, "value": rate.estimate, "low": rate.low, "high": rate.high}
        rows.append({**row, "n": rate.n})
    return pd.DataFrame(rows)


def _weight_under(rule: WeightRule) -> Callable[[SkillGraph, str], float]:
    def score(graph: SkillGraph, entry: str) -> float:
        return weight(graph.entries[entry].evidence.values(), graph.at, rule)

    return score


def _expected(causes: int, right: int) -> float:
    """Expected reciprocal rank of the first of `right` among `causes` in a random order."""
    total, left = 0.0, 1.0  # left: no right one so far
    for rank in range(1, causes - right + 2):
        hit = right / (causes - rank + 1)
        total += left * hit / rank
        left *= 1 - hit
    return total


def _before(r: Return) -> SkillGraph:
    return r.bank.graph(r.category, at=r.at - MOMENT, limited=False)


def needed_later(
    found: Sequence[Return], keep: Sequence[float], *, seed: int, rules: Mapping[str, WeightRule] | None = None
) -> pd.DataFrame:
    """What a limit would have removed, and how often the very next case needed it.

    Just before each conversation that came back to a known cause, its category is cut to a share of its entries: by
    weight (see `SkillGraph.limited`), or at random as many causes.

    Parameters
    ----------
    found : sequence of Return
        As `returns` gives them.
    keep : sequence of float
        Shares of a category's entries that stay, in (0, 1].
    seed : int
        Of the random removal and the bootstrap.
    rules : mapping of name to WeightRule, optional
        Weights to prune by; by default the one of memlab.

    Returns
    -------
    DataFrame
        One row a share and way: keep, by, removed (mean number of entries), removed_causes (mean), value (share of
        cases whose cause had been removed), low, high, n.
    """
    import pandas as pd

    ways = dict(rules or {"weight": WeightRule()})
    rows = []
    for share in keep:
        lost: dict[str, dict[str, tuple[float, float]]] = {name: {} for name in (*ways, "at random")}
        sizes: dict[str, list[tuple[int, int]]] = {name: [] for name in lost}
        for r in found:
            whole, case = _before(r), r.case
            causes = sorted(e.id for e in whole.entries.values() if e.kind == "cause" and e.stated)
            many = len(whole.entries) - math.ceil(share * len(whole.entries))
            out: set[str] = set()
            for name, rule in ways.items():
                view = whole.view(rule=rule)
                out = view.weakest(many) if many else set()
                lost[name][case] = float(r.causes <= out), 1.0
                sizes[name].append((len(out), len(out.intersection(causes))))
            taken = random.Random(f"{seed}/{case}").sample(causes, len(out.intersection(causes)))  # noqa: S311
            lost["at random"][case] = float(r.causes <= set(taken)), 1.0
            sizes["at random"].append((len(taken), len(taken)))
        for name, values in lost.items():
            rate = bootstrap_rate(values, seed=seed)
            entries, of_causes = (sum(s[k] for s in sizes[name]) / max(1, len(sizes[name])) for k in (0, 1))
            row = {"keep": share, "by": name, "removed": entries, "removed_causes": of_causes}
            rows.append({**row, "value": rate.estimate, "low": rate.low, "high": rate.high, "n": rate.n})
    return pd.DataFrame(rows)
