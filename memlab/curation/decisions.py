"""What people decided about wordings: truth that binds every replay."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from memlab.curation.keys import normal_key
from memlab.errors import InputError
from memlab.records import Kind, content_hash

__all__ = ["NO_DECISIONS", "Decision", "Decisions"]

Answer = Literal["same", "apart", "reject", "rename"]


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's answer about one wording or a pair.

    `same` and `apart` are about wordings `a` and `b`; `reject` about `a`; `rename` gives the entry with wording `a`
    the title `b`. Decisions name wordings and not ids, so they survive every replay.
    """

    answer: Answer
    category: str
    kind: Kind
    a: str
    b: str = ""

    def __post_init__(self) -> None:
        if self.answer not in get_args(Answer) or self.kind not in get_args(Kind) or not self.a.strip():
            raise InputError(f"not a decision: {self.answer!r} about {self.kind!r} {self.a!r}")
        if self.answer != "reject" and not self.b.strip():
            raise InputError(f"{self.answer} needs a second wording")

    @property
    def id(self) -> str:
        """Hash of its content; the order of a pair does not matter."""
        pair = [normal_key(self.a), normal_key(self.b)] if self.b else [normal_key(self.a)]
        return content_hash([self.answer, self.category, self.kind, pair if self.answer == "rename" else sorted(pair)])

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Decision:
        """Read back what an export holds."""
        return cls(**data)


class Decisions:
    """The decisions of one category, looked up by wording."""

    def __init__(self, items: Iterable[Decision] = ()) -> None:
        self._apart: set[tuple[Kind, frozenset[str]]] = set()
        self._same: dict[tuple[Kind, str], list[str]] = {}
        self._rejected: set[tuple[Kind, str]] = set()
        self.names: dict[tuple[Kind, str], str] = {}
        for d in items:
            if d.answer == "apart":
                self._apart.add((d.kind, frozenset((normal_key(d.a), normal_key(d.b)))))
            elif d.answer == "same":
                for x, y in ((d.a, d.b), (d.b, d.a)):
                    self._same.setdefault((d.kind, normal_key(x)), []).append(y)
            elif d.answer == "reject":
                self._rejected.add((d.kind, normal_key(d.a)))
            else:
                self.names[d.kind, normal_key(d.a)] = d.b

    def same(self, kind: Kind, text: str) -> list[str]:
        """The wordings that a person called the same entry as this one, sorted."""
        return sorted(self._same.get((kind, normal_key(text)), []))

    def apart(self, kind: Kind, a: str, b: str) -> bool:
        """A person said that these wordings are different entries."""
        return (kind, frozenset((normal_key(a), normal_key(b)))) in self._apart

    def rejected(self, kind: Kind, text: str) -> bool:
        """A person said that this wording is no entry."""
        return (kind, normal_key(text)) in self._rejected


NO_DECISIONS = Decisions()
