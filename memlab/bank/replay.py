"""From truth to derived state: curate again, in order, what changed and everything after it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

from memlab.bank.arrivals import Arrivals, arrivals, insert
from memlab.bank.store import OperationRow, Store
from memlab.curation.curator import Curator, OfflineCurator
from memlab.curation.decisions import Decisions
from memlab.curation.resolving import CategoryState, Origin, curate, wordings_of
from memlab.errors import BankError
from memlab.models.threads import one_thread
from memlab.operations import Operation
from memlab.records import Kind, Proposal, parse_time

__all__ = [
    "Fold",
    "Replayed",
    "can_replay",
    "commit",
    "curator_name",
    "derive",
    "fold",
    "hand_over",
    "replay",
    "state_of",
]

RACES = 3  # how often other writers may get in between before a replay makes them wait
LONGEST = 64  # proposals curated between two looks ahead
Place = tuple[str, Origin, str]  # moment, conversation, proposal as JSON


@dataclass(slots=True)
class Replayed:
    """How many proposals were curated, and how many operations of each kind the bank gained (or lost)."""

    proposals: int = 0
    operations: Counter[str] = field(default_factory=Counter)


def curator_name(store: Store) -> str:
    """The curator that made a bank's operations."""
    return store.get_meta("curator") or OfflineCurator.name


def can_replay(store: Store, curator: Curator | None) -> bool:
    """Whether a curator is at hand that may bring the bank up to date."""
    return curator is not None or curator_name(store) == OfflineCurator.name


def state_of(store: Store, category: str) -> CategoryState:
    """The folded state of a category, to be read and not changed; hold `store.reading()` while using it."""
    head, known = store.head(category), store.states.get(category)
    if known is None or known[0] != head:
        known = (head or 0, _fold(store, category, None))
        store.states[category] = known
    return known[1]


def _fold(store: Store, category: str, before: str | None) -> CategoryState:
    state = CategoryState(store.customer, category, store.vectors)
    for operation in store.operations(category, before=before):
        state.apply(operation)
    return state


def replay(store: Store, curator: Curator | None = None) -> Replayed:
    """Bring every category up to date with truth; many late arrivals are replayed once.

    No lock is held while the curator decides. If another process changed the category meanwhile, it is done again.

    Parameters
    ----------
    store : Store
        The bank.
    curator : Curator, optional
        By default the offline one. If it is not the curator that made the stored operations, all are made again.

    Raises
    ------
    BankError
        If the operations come from a curator that must be named to run again.
    """
    done = Replayed()
    if curator is None and not store.dirty():
        return done
    if not can_replay(store, curator):
        raise BankError(
            f"{store.path}: its operations come from curator {curator_name(store)!r}; "
            f"learn with it to bring them up to date"
        )
    curator = curator or OfflineCurator()
    if store.get_meta("curator") != curator.name:
        hand_over(store, curator)
    for category, _, _ in store.dirty():
        for attempt in range(RACES + 1):
            with store.transaction() if attempt == RACES else nullcontext():
                if _replay_category(store, category, curator, done):
                    break
    return done


def hand_over(store: Store, curator: Curator) -> None:
    """Let a bank's operations be made by this curator from now on; those of another are marked to be made again."""
    with store.transaction():
        if curator_name(store) != curator.name:
            for category in store.categories():
                store.mark_dirty(category, "")
        store.set_meta("curator", curator.name)


def _replay_category(store: Store, category: str, curator: Curator, done: Replayed) -> bool:
    """Curate a category from its dirty moment on; False if somebody else changed it meanwhile."""
    revision = store.revision
    try:
        made = fold(store, category, curator)
    except BankError:
        if store.revision == revision:
            raise
        return False  # a vector that was needed went with a conversation that somebody changed meanwhile
    return made is None or commit(store, made, done)


@dataclass(frozen=True, slots=True)
class Fold:
    """A category curated again and not written yet: its rows from a moment on, and what they were made of.

    It can be sent to the process that owns the bank; `state` stays behind.
    """

    category: str
    token: tuple[str, str, int]  # the row of `dirty` that asked for it
    head: int | None
    proposals: int
    rows: list[OperationRow]  # not operations: there may be very many
    state: CategoryState | None = None
    inserted: bool = False  # the rows go in between those that are there


def fold(store: Store, category: str, curator: Curator) -> Fold | None:
    """Curate a category from its dirty moment on, without a lock and without writing; None if nothing asks for it."""
    with store.reading():
        token = next((d for d in store.dirty() if d[0] == category), None)
        if token is None:
            return None
        head, decisions = store.head(category), Decisions(store.decisions(category))
        late = _late(store, category, token[1], head)
    with one_thread():
        inserted = insert(store, late, curator, decisions) if late else None
    if late is not None and inserted is not None:
        return Fold(category, token, head, len(late.late), inserted, inserted=True)
    with store.reading():
        if token not in store.dirty() or store.head(category) != head:
            return fold(store, category, curator)
        state, places = _state_before(store, category, token[1]), _places(store, category, token[1])
        decisions = Decisions(store.decisions(category))
    with one_thread():
        rows = list(_curate(state, places, curator, decisions))
    return Fold(category, token, head, len(places), rows, state)


def _late(store: Store, category: str, moment: str, head: int | None) -> Arrivals | None:
    """What came late, if to curate it by itself may be all that must be done, and less work than a replay."""
    known = store.states.get(category)
    followed = store.rows("SELECT 1 FROM operations WHERE category = ? AND moment >= ? LIMIT 1", category, moment)
    if head is None or (known is not None and known[0] == head and not followed):
        return None
    return arrivals(store, category, moment)


def commit(store: Store, made: Fold, done: Replayed) -> bool:
    """Write a fold and count it; False if the category was changed since, so that it must be folded again."""
    category, moment, _ = made.token
    with store.transaction():
        if made.token not in store.dirty() or store.head(category) != made.head:
            return False
        gained = Counter(row[5] for row in made.rows)
        if made.inserted:
            _apply(store, category, made, store.insert_operations(category, made.rows))
        else:
            gained.subtract(store.count_operations(category, moment))
            head = store.replace_operations(category, moment, made.rows)
            if made.state is None:
                store.states.pop(category, None)
            else:
                store.states[category] = head, made.state
    done.proposals += made.proposals
    done.operations.update(gained)
    return True


def _apply(store: Store, category: str, made: Fold, head: int) -> None:
    """Bring a state at hand up to date with inserted operations: it does not show in which order they came."""
    known = store.states.get(category)
    if known is not None and known[0] == made.head:
        for row in made.rows:
            known[1].apply(Operation.from_json(json.loads(row[6])))
        store.states[category] = head, known[1]


def _state_before(store: Store, category: str, moment: str) -> CategoryState:
    """The state before a moment, taken out of the cache: nobody else may read it while it is changed."""
    head, known = store.head(category), store.states.pop(category, None)
    if not moment:
        return CategoryState(store.customer, category, store.vectors)
    if known is None or known[0] != head:
        return _fold(store, category, moment)
    later = list(store.operations(category, since=moment))
    if later:
        known[1].retract(later[::-1])
    return known[1]


def _places(store: Store, category: str, moment: str) -> list[Place]:
    sql = """SELECT p.moment, c.id, c.started_at, c.requester, p.body
             FROM proposals p JOIN conversations c ON c.id = p.conversation
             WHERE p.category = ? AND p.moment >= ? ORDER BY p.moment, p.conversation, p.issue"""
    return [(m, Origin(c, parse_time(t), r), body) for m, c, t, r, body in store.rows(sql, category, moment)]


def _curate(
    state: CategoryState, places: Sequence[Place], curator: Curator, decisions: Decisions
) -> Iterator[OperationRow]:
    category, start = state.graph.category, 0
    while start < len(places):
        size = min(LONGEST, max(1, state.index.block() // 4))
        block = [(m, c, Proposal.from_json(json.loads(body))) for m, c, body in places[start : start + size]]
        _look_ahead(state, [p for _, _, p in block])
        for moment, origin, proposal in block:
            if not proposal.low_value:
                operations = curate(state, proposal, origin, curator=curator, decisions=decisions)
                for step, op in enumerate(operations):
                    yield category, moment, origin.id, proposal.case, step, op.op, op.dumps()
        start += size
    _look_ahead(state, [])


def _look_ahead(state: CategoryState, proposals: Sequence[Proposal]) -> None:
    texts: dict[Kind, list[str]] = {"symptom": [], "cause": [], "solution": []}
    for proposal in proposals:
        for kind, found in wordings_of(proposal).items():
            texts[kind] += found
    state.index.look_ahead(texts)


def derive(store: Store, category: str, curator: Curator | None = None) -> list[OperationRow]:
    """What a replay from the start would write, without writing it."""
    with store.reading():
        state = CategoryState(store.customer, category, store.vectors)
        decisions = Decisions(store.decisions(category))
        with one_thread():
            return list(_curate(state, _places(store, category, ""), curator or OfflineCurator(), decisions))
