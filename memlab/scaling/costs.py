"""What learning costs at any size: five measured costs, and a schedule of the work over workers and uneven customers.

Reading is spread over all workers. A bank is written by one task at a time. A category of a customer is folded in its
order, by one worker, after its customer is written. One process sends the work. So the time is at least the longest of
these four, and the first of them that does not shrink with more workers is where the curve bends.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from memlab.errors import InputError

__all__ = ["Bottleneck", "Costs", "Simulated", "bend", "curve", "fit_fold", "shares", "simulate"]

Bottleneck = Literal["reading", "sending", "writing the largest customer", "the longest fold"]


@dataclass(frozen=True, slots=True)
class Costs:
    """CPU seconds, ≥ 0.

    Attributes
    ----------
    read : float
        Of reading and encoding a conversation.
    write : float
        Of storing one.
    send : float
        Of one in the process that sends the work.
    fold : float
        Of curating one in an empty category.
    growth : float
        By which each conversation before makes the next one dearer, for it leaves entries to compare with.
    grows_until : float
        Conversations of a category after which it brings no new entries, so that the next ones cost the same.
    """

    read: float
    write: float
    send: float
    fold: float
    growth: float = 0.0
    grows_until: float = math.inf

    def to_dict(self) -> dict[str, float]:
        """The measured costs by name."""
        return {name: getattr(self, name) for name in ("read", "write", "send", "fold", "growth")}

    def folded(self, n: float) -> float:
        """Seconds to curate n conversations of one category in order.

        That is n · fold + growth · m · (n - m/2), where m is n or, if that is less, `grows_until`.

        >>> Costs(0, 0, 0, fold=0.01, growth=0.001).folded(100)
        6.0
        >>> Costs(0, 0, 0, fold=0.01, growth=0.001, grows_until=20).folded(100)  # 1 + 0.001 * 20 * 90
        2.8
        """
        m = min(n, self.grows_until)
        return n * self.fold + self.growth * m * (n - m / 2)


@dataclass(frozen=True, slots=True)
class Simulated:
    """A run that was computed, not made.

    Attributes
    ----------
    workers, conversations : int
    seconds : float
        From the first conversation to the last commit.
    per_second : float
        Conversations.
    efficiency : float
        Seconds of one worker over workers × seconds; 1 if nobody ever waits.
    bottleneck : str
        What the run would be shorter without.
    longest_fold : float
        Seconds of the longest fold.
    """

    workers: int
    conversations: int
    seconds: float
    per_second: float
    efficiency: float
    bottleneck: Bottleneck
    longest_fold: float


def fit_fold(sizes: Sequence[int], seconds: Sequence[float]) -> tuple[float, float]:
    """The cost of a first conversation and its growth, from measured folds: least squares on the time a conversation.

    Neither is negative. Dividing by the size first makes each fold count alike.

    Parameters
    ----------
    sizes : sequence of int
        Conversations of each fold, at least two different numbers.
    seconds : sequence of float
        How long each took.

    Raises
    ------
    InputError
        If there are fewer than two sizes.

    >>> fit_fold([10, 20, 40], [0.15, 0.4, 1.2])  # each conversation 0.01 s, and 0.001 s for each one before it
    (0.01, 0.001)
    """
    if len(set(sizes)) < 2 or len(sizes) != len(seconds):
        raise InputError("a fit needs folds of at least two sizes, and a time for each")
    x, y = [n / 2 for n in sizes], [s / n for s, n in zip(seconds, sizes, strict=True)]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / sum((a - mean_x) ** 2 for a in x)
    slope = max(0.0, slope)
    return round(max(0.0, mean_y - slope * mean_x), 9), round(slope, 12)


def shares(n: int, skew: float) -> list[float]:
    """Shares of n customers, the k-th as large as k to the power of -skew; they sum to 1.

    >>> [round(s, 2) for s in shares(3, 1.0)]
    [0.55, 0.27, 0.18]
    """
    weights = [k**-skew for k in range(1, n + 1)]
    total = sum(weights)
    return [w / total for w in weights]


def simulate(
    costs: Costs, *, conversations: int, workers: int, customers: int = 1000, categories: int = 12, skew: float = 1.0
) -> Simulated:
    """The time of a run.

    Folds are given to the worker that is free first, the longest fold first (Graham's rule: never more than a third
    above the best schedule).

    Parameters
    ----------
    costs : Costs
        Measured.
    conversations, workers, customers, categories : int
        ≥ 1; each category of a customer is as large as the next.
    skew : float
        0 for customers of one size, 1 for the usual long tail; ≥ 0.

    Raises
    ------
    InputError
        If a number is out of range.

    References
    ----------
    Graham (1969), Bounds on Multiprocessing Timing Anomalies, doi:10.1137/0117039.
    """
    if min(conversations, workers, customers, categories) < 1 or skew < 0:
        raise InputError("conversations, workers, customers and categories must be ≥ 1, and skew ≥ 0")
    sizes = [conversations * share for share in shares(customers, skew)]
    folds = [costs.folded(size / categories) for size in sizes]  # each stands for one of every category
    work = conversations * (costs.read + costs.write)
    reading, sending, largest = work / workers, conversations * costs.send, sizes[0] * costs.write
    before = max(reading, sending, largest)
    after = _schedule(folds, categories, workers)
    total = sum(folds) * categories
    alone = max(work, sending) + total
    seconds = before + after
    return Simulated(
        workers=workers,
        conversations=conversations,
        seconds=seconds,
        per_second=conversations / seconds,
        efficiency=alone / (workers * seconds),
        bottleneck=_waiting(seconds, before - reading, after - total / workers, writing=largest > sending),
        longest_fold=folds[0],
    )


def _waiting(seconds: float, before: float, after: float, *, writing: bool) -> Bottleneck:
    """What workers wait for most: before the folds, or among them; a twentieth of the time is no bottleneck."""
    if max(before, after) <= seconds / 20:
        return "reading"
    if after >= before:
        return "the longest fold"
    return "writing the largest customer" if writing else "sending"


def _schedule(folds: Sequence[float], copies: int, workers: int) -> float:
    """When the last of them ends, longest first; `folds` is sorted so, and each stands `copies` times."""
    if workers >= len(folds) * copies:
        return folds[0]
    free = [0.0] * workers
    for seconds in folds:
        for _ in range(copies):
            heapq.heapreplace(free, free[0] + seconds)
    return max(free)


def curve(
    costs: Costs, *, conversations: int, workers: Sequence[int], customers: int = 1000, categories: int = 12,
    skew: float = 1.0,
) -> list[Simulated]:  # fmt: skip
    """`simulate` for each number of workers."""
    return [
        simulate(
            costs, conversations=conversations, workers=w, customers=customers, categories=categories, skew=skew
        )
        for w in workers
    ]  # fmt: skip


def bend(runs: Sequence[Simulated], *, least: float = 0.8) -> Simulated | None:
    """The first run in which less than `least` of the workers' time is work; None if that never happens."""
    return next((run for run in sorted(runs, key=lambda r: r.workers) if run.efficiency < least), None)
