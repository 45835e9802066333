"""What people decided about wordings: truth that binds every replay."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC
from typing import Any, Literal, get_args

from memlab.curation.keys import normal_key
from memlab.errors import InputError
from memlab.records import Kind, clean_text, content_hash, parse_time

__all__ = ["NO_DECISIONS", "Answer", "Decision", "Decisions"]

Answer = Literal["same", "apart", "reject", "rename", "accept", "rest"]
_PAIRS = ("same", "apart", "rename", "rest")


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's answer about one wording or a pair.

    `same` and `apart` are about wordings `a` and `b`; `reject` keeps wording `a` (and what means the same) out;
    `accept` lets `a` in although it needed a review; `rename` gives the entry with wording `a` the title `b`. `rest`
    takes the entry with wording `a` out of sight from the moment `b` on (ISO 8601), until a later conversation has it
    again: it loses nothing, and it changes no curation. Decisions name wordings and not ids, so they survive every
    replay. Of two that contradict each other the later one holds.

    Attributes
    ----------
    run : str
        What it was decided in, such as one review; a run can be undone as a whole.
    """

    answer: Answer
    category: str
    kind: Kind
    a: str
    b: str = ""
    run: str = ""

    def __post_init__(self) -> None:
        if self.answer not in get_args(Answer) or self.kind not in get_args(Kind):
            raise InputError(
                f"not a decision: {self.answer!r} about a {self.kind!r}; answers are {', '.join(get_args(Answer))}, "
                f"kinds {', '.join(get_args(Kind))}"
            )
        for name in ("category", "a", "b", "run"):
            object.__setattr__(self, name, clean_text(str(getattr(self, name)).strip()))
        if not self.a or not self.category:
            raise InputError(f"{self.answer}: a decision needs a category and a wording")
        if (self.answer in _PAIRS) != bool(self.b):
            needed = "a second wording" if self.answer in _PAIRS else "one wording only"
            raise InputError(f"{self.answer} needs {needed if self.answer != 'rest' else 'a moment'}")
        if self.answer == "rest":
            object.__setattr__(self, "b", parse_time(self.b).astimezone(UTC).isoformat())
        if self.answer == "apart" and normal_key(self.a) == normal_key(self.b):
            raise InputError(f"{self.a!r} and {self.b!r} are the same words; they can't be kept apart")

    @property
    def id(self) -> str:
        """Hash of what was decided, whoever and whenever; the order of a pair does not matter."""
        pair = [normal_key(self.a), normal_key(self.b)] if self.b else [normal_key(self.a)]
        if self.answer in ("rename", "rest"):
            pair[1] = self.b
            return content_hash([self.answer, self.category, self.kind, pair])
        return content_hash([self.answer, self.category, self.kind, sorted(pair)])

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Decision:
        """Read back what an export holds.

        Raises
        ------
        InputError
            If it is not a decision.
        """
        try:
            return cls(**data)
        except TypeError as error:
            raise InputError(f"not a decision: {error}") from None


class Decisions:
    """The decisions of one category, looked up by wording.

    Parameters
    ----------
    items : iterable of Decision
        In the order in which they were made.
    """

    def __init__(self, items: Iterable[Decision] = ()) -> None:
        pairs: dict[tuple[Kind, frozenset[str]], Decision] = {}
        single: dict[tuple[Kind, str], Decision] = {}
        renamed: dict[tuple[Kind, str], Decision] = {}
        for d in items:
            keys = frozenset((normal_key(d.a), normal_key(d.b)))
            if d.answer == "rest":
                continue
            if d.answer in ("same", "apart"):
                pairs[d.kind, keys] = d
            elif d.answer == "rename":
                renamed[d.kind, normal_key(d.a)] = d
            else:
                single[d.kind, normal_key(d.a)] = d
        self.names: dict[tuple[Kind, str], str] = {key: d.b for key, d in renamed.items()}
        self._single = {key: d.answer for key, d in single.items()}
        self._apart: dict[tuple[Kind, str], list[str]] = {}
        links: dict[tuple[Kind, str], list[str]] = {}
        for d in [*pairs.values(), *renamed.values()]:
            side = self._apart if d.answer == "apart" else links
            for x, y in ((d.a, d.b), (d.b, d.a)):
                side.setdefault((d.kind, normal_key(x)), []).append(y)
        self._same = {key: _reachable(links, *key) for key in links}

    def same(self, kind: Kind, text: str) -> list[str]:
        """The wordings that people, in one or more steps, called the same entry as this one, sorted."""
        return self._same.get((kind, normal_key(text)), [])

    def apart(self, kind: Kind, text: str) -> list[str]:
        """The wordings that a person said are other entries than this one, sorted."""
        return sorted(self._apart.get((kind, normal_key(text)), ()))

    def rejected(self, kind: Kind, text: str) -> bool:
        """A person said that this wording is no entry."""
        return self._single.get((kind, normal_key(text))) == "reject"

    def accepted(self, kind: Kind, text: str) -> bool:
        """A person let this wording in."""
        return self._single.get((kind, normal_key(text))) == "accept"


def _reachable(links: Mapping[tuple[Kind, str], Iterable[str]], kind: Kind, key: str) -> list[str]:
    found: dict[str, str] = {}
    queue = [key]
    while queue:
        for text in links.get((kind, queue.pop()), ()):
            other = normal_key(text)
            if other != key and other not in found:
                found[other] = text
                queue.append(other)
    return [found[k] for k in sorted(found)]


NO_DECISIONS = Decisions()
