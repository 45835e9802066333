"""From truth to derived state: curate again, in order, what changed and everything after it."""

from __future__ import annotations

import json
from weakref import WeakKeyDictionary

from memlab.bank.store import Store
from memlab.curation.curator import CategoryState, Curator, OfflineCurator, curate
from memlab.curation.decisions import Decisions
from memlab.errors import BankError
from memlab.operations import Operation
from memlab.records import Conversation, Proposal

__all__ = ["replay", "state_of"]

# States are a cache of what the operations table says at a revision; another process's write makes them stale.
_States = dict[str, tuple[int, CategoryState]]
_cache: WeakKeyDictionary[Store, _States] = WeakKeyDictionary()


def state_of(store: Store, category: str, *, before: str | None = None) -> CategoryState:
    """The folded state of a category (of the operations before a moment, if given)."""
    states, revision = _cache.setdefault(store, {}), store.revision
    if before is None and category in states and states[category][0] == revision:
        return states[category][1]
    state = CategoryState(store.customer, category, store.vector)
    for operation in store.operations(category, before=before):
        state.apply(operation)
    if before is None:
        states[category] = (revision, state)
    return state


def replay(store: Store, curator: Curator | None = None) -> int:
    """Bring every category up to date with truth; many late arrivals are replayed once. Returns proposals curated.

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
    name = store.get_meta("curator") or OfflineCurator.name
    if curator is None and name != OfflineCurator.name and store.dirty():
        raise BankError(f"{store.path}: its operations come from curator {name!r}; learn with it to bring them up to date")
    if curator is None and not store.dirty():
        return 0
    try:
        return _replay_all(store, curator, name)
    except BaseException:
        _cache.pop(store, None)  # the states may hold operations that were rolled back
        raise


def _replay_all(store: Store, curator: Curator | None, name: str) -> int:
    done = 0
    with store.transaction():
        if curator is not None and curator.name != name:
            for category in store.categories():
                store.mark_dirty(category, "")
        if curator is not None and curator.name != store.get_meta("curator"):
            store.set_meta("curator", curator.name)
        for category, moment in store.dirty():
            done += _replay_category(store, category, moment, curator or OfflineCurator())
            store.clean(category)
    return done


def _replay_category(store: Store, category: str, moment: str, curator: Curator) -> int:
    last = store.rows("SELECT max(moment) FROM operations WHERE category = ?", category)[0][0]
    append = last is None or moment > last
    store.cut_operations(category, moment)
    state = state_of(store, category, before=None if append else moment)
    decisions = Decisions(store.decisions(category))
    sql = """SELECT p.moment, p.body, c.body FROM proposals p JOIN conversations c ON c.id = p.conversation
             WHERE p.category = ? AND p.moment >= ? ORDER BY p.moment, p.conversation, p.issue"""
    found = store.rows(sql, category, moment)
    for when, body, conversation in found:
        proposal = Proposal.from_json(json.loads(body))
        operations = _curate(state, proposal, conversation, curator, decisions)
        store.append_operations(category, when, operations)
    # The transaction that this runs in moves the revision on by one when it commits.
    _cache.setdefault(store, {})[category] = (store.revision + 1, state)
    return len(found)


def _curate(
    state: CategoryState, proposal: Proposal, conversation: str, curator: Curator, decisions: Decisions
) -> list[Operation]:
    if proposal.low_value:
        return []
    case = Conversation.from_json(json.loads(conversation))
    return curate(state, proposal, case, curator=curator, decisions=decisions)
