"""What redaction finds: a stretch of text and its type."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

__all__ = ["TYPES", "Span", "SpanType", "first_wins"]

SpanType = Literal["ACCOUNT", "EMAIL", "HOST", "IP", "LICENCE", "NAME", "PHONE", "SECRET"]
TYPES: tuple[SpanType, ...] = get_args(SpanType)


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """The characters [start, end) of a text and what they give away."""

    start: int
    end: int
    type: SpanType


def first_wins(spans: Iterable[Span], *, taken: Iterable[tuple[int, int]] = ()) -> list[Span]:
    """Spans in the order of the text; where two overlap, the one that came first in `spans` stays.

    Parameters
    ----------
    spans : iterable of Span
        The surest first.
    taken : iterable of (int, int)
        Stretches that no span may touch, none of them overlapping.

    >>> first_wins([Span(3, 9, "SECRET"), Span(0, 5, "EMAIL"), Span(9, 12, "NAME")])
    [Span(start=3, end=9, type='SECRET'), Span(start=9, end=12, type='NAME')]
    """
    full = sorted(taken)
    kept: list[Span] = []
    for span in spans:
        place = bisect(full, (span.start, span.end))
        clear_before = place == 0 or full[place - 1][1] <= span.start
        clear_after = place == len(full) or span.end <= full[place][0]
        if span.start < span.end and clear_before and clear_after:
            full.insert(place, (span.start, span.end))
            kept.append(span)
    return sorted(kept)
