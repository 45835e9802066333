"""One customer's memory in one SQLite file, and its derived state made again from truth whenever that changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from memlab.bank.replay import can_replay, derive, replay, state_of
from memlab.bank.store import Store, bank_path
from memlab.bank.transfer import export_of, take_in
from memlab.curation.curator import Curator
from memlab.decay import WeightRule
from memlab.errors import BankError, BankFormatError
from memlab.graph import EPOCH, SkillGraph
from memlab.models.embeddings import Encoder, default_encoder
from memlab.records import Conversation, parse_time, valid_customer

__all__ = ["Bank", "bank_path", "import_bank"]


class Bank(Store):
    """One customer's memory. There is no way to read it without naming the customer.

    Open it with `Bank.open`; use it as a context manager or call `close`. One bank may be shared by threads, and one
    file by processes: a writer waits for the other, nothing is lost.
    """

    def graph(
        self,
        category: str,
        *,
        at: datetime | str | None = None,
        rule: WeightRule | None = None,
        limited: bool = True,
    ) -> SkillGraph:
        """The skill graph of a category as it stood at a moment (by default that of the bank's newest conversation).

        Parameters
        ----------
        category : str
            For example ``"teams"``; one that the bank has never seen gives an empty graph.
        at : datetime or ISO text with offset, optional
            The moment.
        rule : WeightRule, optional
            Other constants for the weights; by default the category's (see `configure`).
        limited : bool
            False shows more entries than the category's `most_entries`.
        """
        when = parse_time(at) if at is not None else None
        replay(self)
        with self.reading():
            when = when or self.newest() or EPOCH
            state, most = state_of(self, category), self.settings(category).get("most_entries")
            view = state.graph.view(when, rule or self.rule(category), names=self._names(category))
            view = view.without(self._resting(category, view))
            return view if most is None or not limited else view.limited(entries=int(most))

    def _resting(self, category: str, view: SkillGraph) -> set[str]:
        """Entries that were put out of sight before a view's moment, and that nothing has spoken of since."""
        rests = [d for d in self.decisions(category) if d.answer == "rest" and parse_time(d.b) <= view.at]
        index = state_of(self, category).index if rests else None
        found = {index.exact(d.kind, d.a): parse_time(d.b) for d in rests} if index else {}
        return {e for e, since in found.items() if e in view.entries and view.entries[e].last_seen <= since}

    def _names(self, category: str) -> dict[str, str]:
        """Titles that people gave, by entry."""
        names = self.named(category)
        found = {state_of(self, category).index.exact(kind, a): b for (kind, a), b in sorted(names.items())}
        return {entry: title for entry, title in found.items() if entry}

    def export(self) -> dict[str, Any]:
        """Truth and derived state with sorted keys and sets; equal banks give equal bytes through `canonical_json`."""
        return export_of(self)

    @classmethod
    def import_(
        cls,
        export: Mapping[str, Any],
        home: str | Path,
        *,
        customer: str | None = None,
        encoder: Encoder | None = None,
        curator: Curator | None = None,
        rederive: bool = False,
    ) -> Self:
        """Make a bank of an export: its truth is stored, the rest derived again and compared with what the export says.

        Parameters
        ----------
        export : mapping
            What `export` gave, perhaps read back from JSON.
        home : path
            Folder with one file a customer; the customer's bank must be empty or missing there.
        customer : str, optional
            Whose export it must be.
        encoder, curator : optional
            By default the offline ones.
        rederive : bool
            Take what its truth leads to here, without comparing (another encoder, curator or version).

        Raises
        ------
        CustomerError, BankFormatError, BankError
            Nothing is left behind then.
        """
        name = valid_customer(export.get("customer") if customer is None else customer)
        path = bank_path(home, name)
        fresh = not path.exists()
        bank = cls.open(home, name)
        try:
            take_in(bank, export, encoder=encoder or default_encoder(), curator=curator, rederive=rederive)
        except BaseException:
            bank.close()
            for suffix in ("", "-wal", "-shm") if fresh else ():
                Path(f"{path}{suffix}").unlink(missing_ok=True)
            raise
        return bank

    def check(self, curator: Curator | None = None) -> list[str]:
        """Faults found in the file; it changes nothing.

        Looked for are damaged pages, conversations whose hash or customer is not theirs, rows that rest on unknown
        conversations, missing vectors, and operations that a replay would not make.
        """
        faults = [str(r[0]) for r in self.rows("PRAGMA integrity_check") if r[0] != "ok"]
        if faults:
            return faults
        with self.reading():
            faults += self._check_truth()
            for category, moment, _ in self.dirty():
                faults.append(f"{category}: waits for a replay from {moment or 'the start'}; learn or read to do it")
            if not faults and can_replay(self, curator):
                faults += self._check_derived(curator)
        return faults

    def _check_derived(self, curator: Curator | None) -> list[str]:
        sql = "SELECT * FROM operations WHERE category = ? ORDER BY moment, conversation, issue, step"
        faults = []
        for category in sorted({*self.categories(), *self.proposed()}):
            try:
                if self.rows(sql, category) != derive(self, category, curator):
                    faults.append(f"{category}: operations differ after a replay")
            except BankError as error:
                faults.append(f"{category}: can't be replayed: {error}")
        return faults

    def _check_truth(self) -> list[str]:
        faults = []
        for id_, version, body in self.rows("SELECT id, version, body FROM conversations ORDER BY id"):
            conversation = Conversation.from_json(json.loads(body))
            if (conversation.id, conversation.version, conversation.customer) != (id_, version, self.customer):
                faults.append(f"conversation {id_}: it is not what was stored, or belongs to {conversation.customer!r}")
        for table in ("proposals", "pending", "operations", "texts"):
            sql = f"""SELECT DISTINCT conversation FROM {table}
                      WHERE conversation NOT IN (SELECT id FROM conversations) ORDER BY 1"""  # noqa: S608
            faults += [f"{table}: rest on unknown conversation {c}" for (c,) in self.rows(sql)]
        lost = self.rows("SELECT count(*) FROM texts WHERE text NOT IN (SELECT text FROM vectors)")[0][0]
        return [*faults, *([f"texts: {lost} have no vector; rebuild the bank"] if lost else [])]


def import_bank(
    export: Mapping[str, Any] | str | Path,
    home: str | Path,
    *,
    customer: str | None = None,
    encoder: Encoder | None = None,
    curator: Curator | None = None,
    rederive: bool = False,
) -> Bank:
    """Make a bank of an export, given as a value or as a JSON file; see `Bank.import_`.

    Raises
    ------
    BankFormatError
        Also if the file can't be read or is not JSON.
    """
    if not isinstance(export, Mapping):
        try:
            export = json.loads(Path(export).read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise BankFormatError(f"{export}: not an export of a bank: {error}") from error
    if not isinstance(export, Mapping):
        raise BankFormatError("not an export of a bank: it must be a JSON object")
    return Bank.import_(export, home, customer=customer, encoder=encoder, curator=curator, rederive=rederive)
