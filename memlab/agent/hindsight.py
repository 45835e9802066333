"""Memories on a Hindsight server: one bank a customer, one document a memory, erased with proof."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from memlab.agent.changes import added, changed, check_changes
from memlab.agent.hindsight_documents import Item, Unit, bank_name, check_prefix, documents, items_of, memories_of
from memlab.agent.hindsight_server import HindsightServer, UnknownBankError
from memlab.agent.meaning import check_search
from memlab.agent.records import Memory, in_order
from memlab.errors import BankError, RecallError
from memlab.records import valid_customer

__all__ = ["HindsightStore"]

_MISSION = (
    "Support memory of one customer. What the customer or a tool confirmed is an outcome; what a support agent said is "
    "a claim until then. Never suggest again what failed, and say when a fix that worked has failed since."
)
# A sceptical, literal reader. The texts are short phrases that memlab has extracted already, so they are stored as they
# are (`chunks`: no model reads them again), and nothing is derived from them behind our back.
_CONFIG: dict[str, Any] = {
    "reflect_mission": _MISSION,
    "disposition_skepticism": 4,
    "disposition_literalism": 5,
    "disposition_empathy": 3,
    "retain_extraction_mode": "chunks",
    "enable_observations": False,
}
_AT_ONCE = 50  # documents of one request
_TRIES = 5  # to erase a bank


class HindsightStore:
    """Every customer's memories in a Hindsight bank of that customer's own; see `memlab.agent.stores.Store`.

    Parameters
    ----------
    url : str
        The server's address (`HINDSIGHT_URL`).
    api_key : str, optional
        Its key (`HINDSIGHT_API_KEY`).
    prefix : str, optional
        The beginning of every bank's name (`HINDSIGHT_BANK`); by default ``memlab``.
    timeout : float
        Seconds that one call may take, > 0.
    server : HindsightServer, optional
        Instead of the address: how the server is called.

    Raises
    ------
    InputError
        If the address or the prefix is not one, or at the first call if the client is not installed.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        prefix: str | None = None,
        timeout: float = 120.0,
        server: HindsightServer | None = None,
    ) -> None:
        self._prefix = check_prefix(prefix)
        self._server = server or HindsightServer(url, api_key=api_key, timeout=timeout)

    def __repr__(self) -> str:
        return f"HindsightStore({self._server.url!r}, prefix={self._prefix!r})"

    def add(self, customer: str, memories: Iterable[Memory]) -> None:
        """See `Store.add`. If it fails, nothing of it is seen, and it may be repeated."""
        name = valid_customer(customer)
        new = added(name, {}, list(memories))
        if new:
            self._write(name, items_of(in_order(new.values())))

    def update(self, customer: str, memory: str, /, **changes: Any) -> Memory:
        """See `Store.update`."""
        name = valid_customer(customer)
        check_changes(changes)
        bank = bank_name(self._prefix, name)
        units = self._units(name)
        new = changed(name, memories_of(name, units), memory, changes)[memory]
        old = sorted({u.document for u in units if u.metadata.get("memory") == memory})
        items = items_of([new], replaces=old)
        self._write(name, items)
        for document in old:
            if document != items[0]["document_id"]:
                self._server.delete_document(bank, document)
        return new

    def all(self, customer: str) -> list[Memory]:
        """See `Store.all`."""
        name = valid_customer(customer)
        return in_order(memories_of(name, self._units(name)).values())

    def customers(self) -> list[str]:
        """See `Store.customers`. Every bank with this prefix is read, since only memories say whose they are."""
        names: set[str] = set()
        for bank in self._server.banks(f"{self._prefix}-"):
            try:
                found = memories_of(None, self._server.units(bank))
            except UnknownBankError:  # forgotten since it was listed
                continue
            owners = {m.customer for m in found.values()}
            names |= {owner for owner in owners if bank_name(self._prefix, owner) == bank}
        return sorted(names)

    def forget(self, customer: str, memories: Iterable[str] | None = None) -> int:
        """See `Store.forget`. Returns only when the server no longer gives any of it.

        Raises
        ------
        BankError
            If something is still there after all attempts.
        """
        name = valid_customer(customer)
        bank, units = bank_name(self._prefix, name), self._units(name)
        held = memories_of(name, units)
        chosen = set(held) if memories is None else set(memories) & set(held)
        if set(held) == chosen:
            if memories is None or chosen:
                self._erase(bank)
            return len(chosen)
        for document in sorted({u.document for u in units if u.metadata.get("memory") in chosen}):
            self._server.delete_document(bank, document)
            if self._server.units(bank, document=document):
                raise BankError(f"{self._server.url}: document {document} is still there after its deletion; try again")
        return len(chosen)

    def search(self, customer: str, query: str, *, k: int = 20) -> list[tuple[Memory, float]]:
        """See `Store.search`. The similarity is the server's semantic score, else its keyword score, else 0.

        The server's final score is not used: it only says the rank.
        """
        name = valid_customer(customer)
        check_search(query, k)
        bank = bank_name(self._prefix, name)
        try:
            units = self._units(name)
            held, counting = memories_of(name, units), documents(units)
            if not held:
                return []
            # There is no top k: results are cut by tokens, so that enough for all texts is asked for.
            tokens = 200 + 2 * sum(len(u.text) for u in units)
            scores: dict[str, float] = dict.fromkeys(held, 0.0)
            for unit, semantic, keyword in self._server.recall(bank, query, tokens=tokens):
                if unit.document in counting:
                    score = semantic if semantic is not None else keyword or 0.0
                    id_ = counting[unit.document].metadata["memory"]
                    scores[id_] = max(scores[id_], round(min(1.0, max(0.0, float(score))), 4))
        except UnknownBankError:
            return []
        except BankError as error:
            raise RecallError(f"memory could not be searched: {error}") from error
        return [(held[i], s) for i, s in sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))][:k]

    def close(self) -> None:
        """End the connections."""
        self._server.close()

    def _units(self, customer: str) -> list[Unit]:
        try:
            return self._server.units(bank_name(self._prefix, customer))
        except UnknownBankError:
            return []

    def _write(self, customer: str, items: Sequence[Item]) -> None:
        """Store documents, the completing one last, and read back that each is there.

        The bank is set up before every write: to write into one that somebody has just deleted makes a bare one.
        """
        bank = bank_name(self._prefix, customer)
        self._server.create(bank, customer, _CONFIG)
        *several, last = items
        for start in range(0, len(several), _AT_ONCE):
            self._server.retain(bank, several[start : start + _AT_ONCE])
        self._check_written(bank, several)
        self._server.retain(bank, [last])
        self._check_written(bank, [last])

    def _check_written(self, bank: str, items: Sequence[Item]) -> None:
        """A server that extracted nothing still says that all went well."""
        tags = sorted({t for item in items for t in item["tags"] if t.startswith("memory:")})
        try:
            if len(items) == 1:
                units = self._server.units(bank, document=items[0]["document_id"])
            else:
                units = self._server.units(bank, tags=tags) if len(tags) <= _AT_ONCE else self._server.units(bank)
        except UnknownBankError:
            units = []
        missing = sorted({item["document_id"] for item in items} - {u.document for u in units})
        if missing:
            raise BankError(
                f"{self._server.url}: bank {bank} took document {missing[0]} and kept nothing of it "
                f"({len(missing)} of {len(items)}); nothing was added; try again, and look at the server's log"
            )

    def _erase(self, bank: str) -> None:
        """Delete a bank until the server says that there is none; a delete may race with writes that are queued."""
        for _ in range(_TRIES):
            try:
                self._server.drain(bank)
                self._server.delete_bank(bank)
                self._server.units(bank)
            except UnknownBankError:
                return
        raise BankError(
            f"{self._server.url}: bank {bank} is still there after {_TRIES} deletions; stop its writers, try again"
        )
