"""Late arrivals that change nothing for the others: put in their place without curating again what comes after it.

What the offline curator does with a proposal hangs on the wordings before it, not on how often they were said. So the
operations that brought a wording are all that is needed to curate a late proposal, and if it brings none itself, every
operation after it stays as it is, to the byte. Otherwise, or in doubt, the answer is None, and the category is replayed
from the late place on. Nothing of this is stored: there is no snapshot that could be stale, or keep what was forgotten.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from memlab.bank.store import OperationRow, Store
from memlab.curation.curator import Curator, OfflineCurator
from memlab.curation.decisions import Decisions
from memlab.curation.resolving import SAME_WORDS, CategoryState, Origin, curate
from memlab.operations import Operation
from memlab.records import Proposal, parse_time

__all__ = ["MOST_LATE", "Arrivals", "Late", "arrivals", "insert"]

MOST_LATE = 64  # more than this are replayed together with what comes after them
Place = tuple[str, str, int]  # moment, conversation, issue


@dataclass(frozen=True, slots=True)
class Late:
    """A proposal that nothing was curated of yet, where it belongs, and whose it is."""

    place: Place
    origin: Origin
    body: str


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Late proposals of a category, the operations that they may hang on or that may hang on them, and the last place."""

    category: str
    late: tuple[Late, ...]
    telling: tuple[tuple[Place, str], ...]
    last: Place


def arrivals(store: Store, category: str, moment: str) -> Arrivals | None:
    """The proposals since a moment that have no operation; None if these are not all that changed, or too many."""
    if not store.only_added(category):
        return None
    sql = """SELECT p.moment, p.conversation, p.issue, c.started_at, c.requester, p.body
             FROM proposals p JOIN conversations c ON c.id = p.conversation
             LEFT JOIN operations o ON o.category = p.category AND o.moment = p.moment
                 AND o.conversation = p.conversation AND o.issue = p.issue AND o.step = 0
             WHERE p.category = ? AND p.moment >= ? AND o.step IS NULL AND instr(p.body, '"low_value":true') = 0
             ORDER BY p.moment, p.conversation, p.issue LIMIT ?"""
    rows = store.rows(sql, category, moment, MOST_LATE + 1)
    if len(rows) > MOST_LATE:
        return None
    late = tuple([Late((m, c, n), Origin(c, parse_time(t), r), body) for m, c, n, t, r, body in rows])
    return Arrivals(category, late, _telling(store, category) if late else (), _last(store, category))


def _telling(store: Store, category: str) -> tuple[tuple[Place, str], ...]:
    """The operations, in order, that others may hang on: all but those that found their very words in memory."""
    sql = """SELECT moment, conversation, issue, body FROM operations WHERE category = ? AND instr(body, ?) = 0
             ORDER BY moment, conversation, issue, step"""
    # In JSON a quotation mark inside of a text has a backslash before it, so this finds a reason's end and nothing else.
    rows = store.rows(sql, category, f'{SAME_WORDS}","stated":')
    return tuple([((moment, conversation, issue), body) for moment, conversation, issue, body in rows])


def _last(store: Store, category: str) -> Place:
    sql = """SELECT moment, conversation, issue FROM operations WHERE category = ?
             ORDER BY moment DESC, conversation DESC, issue DESC LIMIT 1"""
    found = store.rows(sql, category)
    return found[0] if found else ("", "", -1)


def insert(store: Store, found: Arrivals, curator: Curator, decisions: Decisions) -> list[OperationRow] | None:
    """The operations of late proposals if no other operation has to change for them, else None.

    Parameters
    ----------
    store, found
        Where, and what came late.
    curator : Curator
        Only of the offline one it is known what its answers hang on.
    decisions : Decisions
        Of the category.
    """
    if type(curator) is not OfflineCurator:
        return None
    state, rows = CategoryState(store.customer, found.category, store.vectors), list[OperationRow]()
    telling, done = [(place, Operation.from_json(json.loads(body))) for place, body in found.telling], 0
    for one in found.late:
        while done < len(telling) and telling[done][0] < one.place:
            state.apply(telling[done][1])
            done += 1
        proposal = Proposal.from_json(json.loads(one.body))
        made = curate(state, proposal, one.origin, curator=curator, decisions=decisions)
        if any(op.op == "add" and not op.stated for op in made):
            return None  # its words are the symptom's title, which hangs on all that was said before
        if one.place < found.last:
            if not all(map(_brings_nothing, made)):
                return None
            spoken_of = {op.entry for op in made if op.kind == "symptom"}
            if any(_names(op, spoken_of) for _, op in telling[done:]):
                return None
        m, c, issue = one.place
        rows += [(found.category, m, c, issue, n, op.op, op.dumps()) for n, op in enumerate(made)]
    return rows


def _names(op: Operation, symptoms: set[str]) -> bool:
    """Whether an operation puts the title of one of these symptoms into words: those of a cause that is not known."""
    return op.op == "add" and not op.stated and any(source in symptoms for source, _ in op.links)


def _brings_nothing(op: Operation) -> bool:
    return op.reason.endswith(SAME_WORDS) or not (op.changes_graph or op.kept_out)
