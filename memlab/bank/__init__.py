"""One customer's memory in one SQLite file, and its derived state made again from truth whenever that changed."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from datetime import datetime
from typing import Any

from memlab.bank.replay import replay, state_of
from memlab.bank.schema import SCHEMA_VERSION
from memlab.bank.store import Store, bank_path
from memlab.decay import WeightRule
from memlab.errors import BankError
from memlab.graph import SkillGraph
from memlab.records import parse_time

__all__ = ["Bank", "bank_path"]


class Bank(Store):
    """One customer's memory. There is no way to read it without naming the customer.

    Open it with `Bank.open`; use it as a context manager or call `close`. One bank may be shared by threads, and one
    file by processes: a writer waits for the other, nothing is lost.
    """

    def graph(
        self, category: str, *, at: datetime | str | None = None, rule: WeightRule | None = None
    ) -> SkillGraph:
        """The skill graph of a category as it stood at a moment (by default that of the bank's newest conversation).

        Parameters
        ----------
        category : str
            For example ``"teams"``; one that the bank has never seen gives an empty graph.
        at : datetime or ISO text with offset, optional
            The moment.
        rule : WeightRule, optional
            Other constants for the weights.
        """
        replay(self)
        when = parse_time(at) if at is not None else self.newest()
        return state_of(self, category).graph.view(when, rule)

    # -- the whole -----------------------------------------------------------------------------------------------

    def export(self) -> dict[str, Any]:
        """Truth and derived state with sorted keys and sets; equal banks give equal bytes through `canonical_json`."""
        replay(self)
        at = self.newest()
        return {
            "format": SCHEMA_VERSION,
            "customer": self.customer,
            "truth": {
                "conversations": [
                    {**json.loads(b), "extractor": x}
                    for b, x in self.rows("SELECT body, extractor FROM conversations ORDER BY moment, id")
                ],
                "proposals": [p.to_json() for p in self.proposals()],
                "pending": [list(p) for p in self.pending()],
                "decisions": self.decisions(),
            },
            "derived": {
                "operations": {c: list(self.operations(c)) for c in self.categories()},
                "graphs": {c: self.graph(c, at=at).to_json() for c in self.categories()},
                "vectors": [
                    [c, t, hashlib.sha256(v).hexdigest()[:16]]
                    for c, t, v in self.rows("SELECT conversation, text, vector FROM texts JOIN vectors USING (text)")
                ],
            },
        }

    def vacuum(self) -> None:
        """Rewrite the file so that no freed page or journal holds old text."""
        with self._lock:
            try:
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                self._db.execute("VACUUM")
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            except sqlite3.Error as error:
                raise BankError(f"{self.path}: {error}") from error

    def check(self) -> list[str]:
        """Faults found in the file: damage, evidence without a conversation, derived state that replays differently."""
        faults = [str(r[0]) for r in self.rows("PRAGMA integrity_check") if r[0] != "ok"]
        known = set(self.versions())
        for category in self.categories():
            for op in self.operations(category):
                if op.conversation not in known:
                    faults.append(f"{category}: operation on {op.entry} rests on unknown conversation {op.conversation}")
        if not faults:
            before = {c: [o.dumps() for o in self.operations(c)] for c in self.categories()}
            with self.transaction():
                for category in before:
                    self.mark_dirty(category, "")
            replay(self)
            faults += [f"{c}: operations differ after a replay" for c in before if before[c] != [o.dumps() for o in self.operations(c)]]
        return faults
