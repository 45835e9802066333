"""How well redaction finds what it must: precision and recall by type on labelled messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memlab.corpus.reading import Skipped, read_jsonl_objects
from memlab.corpus.redaction.spans import TYPES, Span
from memlab.errors import InputError

__all__ = ["Figures", "measure"]


@dataclass(frozen=True, slots=True)
class Figures:
    """What was found of one type.

    Attributes
    ----------
    gold : int
        Labelled spans.
    found : int
        Spans that redaction made.
    exact : int
        Spans that are exactly as labelled, type included.
    covered : int
        Labelled spans none of whose characters is left readable, whatever type they were given.
    precision, recall : float or None
        exact / found and exact / gold; nothing where there is none.
    """

    gold: int
    found: int
    exact: int
    covered: int

    @property
    def precision(self) -> float | None:
        """The share of what was redacted that is exactly a labelled span."""
        return self.exact / self.found if self.found else None

    @property
    def recall(self) -> float | None:
        """The share of labelled spans that were redacted exactly."""
        return self.exact / self.gold if self.gold else None

    def to_json(self) -> dict[str, Any]:
        """Counts and shares, shares rounded to three digits."""
        shares = {"precision": self.precision, "recall": self.recall}
        counts = {"gold": self.gold, "found": self.found, "exact": self.exact, "covered": self.covered}
        return {**counts, **{k: None if v is None else round(v, 3) for k, v in shares.items()}}


def measure(path: str | Path, *, ids: Callable[[str], bool] | None = None) -> dict[str, Figures]:
    """Figures by type, and for ``ALL``, on a file of ``{"id", "text", "spans": [{"start", "end", "type"}]}``.

    Parameters
    ----------
    path : path
        The labelled messages, one a line.
    ids : callable, optional
        Which messages count.

    Raises
    ------
    InputError
        If a line is bad: the label file is ours, so nothing is skipped.
    """
    from memlab.corpus.redaction.redact import redact

    counts: dict[str, Counter[str]] = {t: Counter() for t in (*TYPES, "ALL")}
    for number, data in _lines(Path(path)):
        gold = _gold(data, f"{path}:{number}")
        if ids is None or ids(data["id"]):
            found = [Span(f.start, f.end, f.type) for f in redact(data["text"]).found]
            _count(counts, gold, found)
    return {t: Figures(c["gold"], c["found"], c["exact"], c["covered"]) for t, c in counts.items()}


def _count(counts: Mapping[str, Counter[str]], gold: Iterable[Span], found: Iterable[Span]) -> None:
    gold, found = set(gold), set(found)
    hidden = {i for span in found for i in range(span.start, span.end)}
    for span in gold:
        covered = hidden.issuperset(range(span.start, span.end))
        for t in (span.type, "ALL"):
            counts[t].update(gold=1, exact=span in found, covered=covered)
    for span in found:
        for t in (span.type, "ALL"):
            counts[t].update(found=1)


def _lines(path: Path) -> Iterable[tuple[int, Mapping[str, Any]]]:
    for item in read_jsonl_objects(path):
        if isinstance(item, Skipped):
            raise InputError(str(item))
        yield item


def _gold(data: Mapping[str, Any], where: str) -> list[Span]:
    text, spans = data.get("text"), data.get("spans")
    if not isinstance(data.get("id"), str) or not isinstance(text, str) or not isinstance(spans, list):
        raise InputError(f"{where}: a labelled message needs id, text and spans")
    gold = []
    for span in spans:
        try:
            made = Span(int(span["start"]), int(span["end"]), span["type"])
        except (KeyError, TypeError, ValueError):
            raise InputError(f"{where}: a span needs start, end and type, not {span!r}") from None
        if made.type not in TYPES or not 0 <= made.start < made.end <= len(text):
            raise InputError(f"{where}: {span!r} is outside of the text, or its type none of {', '.join(TYPES)}")
        gold.append(made)
    return gold
