"""Pure weight arithmetic: what a set of evidence is worth at a moment. Every formula of memlab's weights is here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from math import fsum, log1p

from memlab.errors import InputError
from memlab.records import Evidence

__all__ = ["DAY", "DEFAULT", "WeightRule", "age_factor", "credit", "success_rate", "vote_order", "weight"]

DAY = 86400.0  # seconds
_RANK = {"failed": 0, "claimed": 1, "inferred": 2, "confirmed": 3}


@dataclass(frozen=True, slots=True)
class WeightRule:
    """The constants of the weight function.

    Attributes
    ----------
    half_life_days : float
        Days after which the decaying part of a conversation's worth is halved, > 0.
    floor : float
        The share of its worth that a conversation keeps for ever, in [0, 1]: old knowledge sinks, it does not vanish.
    confirmed, inferred, claimed : float
        Worth of one conversation by how well the link was verified there.
    workaround : float
        Factor on a link that only went around the problem.
    failed : float
        What one conversation in which the link did not hold takes away (as a share of `confirmed`).
    per_requester_day : float
        The most that one requester can add to one link, or take from it, on one (UTC) day.
    """

    half_life_days: float = 120.0
    floor: float = 0.1
    confirmed: float = 1.0
    inferred: float = 0.6
    claimed: float = 0.3
    workaround: float = 0.5
    failed: float = 0.75
    per_requester_day: float = 1.0

    def __post_init__(self) -> None:
        if not (self.half_life_days > 0 and 0 <= self.floor <= 1 and self.per_requester_day > 0):
            raise InputError(f"half_life_days and per_requester_day must be > 0 and floor in [0, 1], not {self}")


DEFAULT = WeightRule()


def age_factor(age_days: float, rule: WeightRule = DEFAULT) -> float:
    """The share of its worth that evidence keeps: 1 at age 0 (and for any date in the future), falling to `floor`.

    Parameters
    ----------
    age_days : float
        Days between the case and the moment of asking.
    rule : WeightRule
        Half-life and floor.

    >>> age_factor(0.0), round(age_factor(120.0), 3), age_factor(-5.0)
    (1.0, 0.55, 1.0)
    """
    fresh: float = 0.5 ** (max(age_days, 0.0) / rule.half_life_days)
    return rule.floor + (1.0 - rule.floor) * fresh


def credit(evidence: Evidence, rule: WeightRule = DEFAULT) -> float:
    """What one conversation says about a link before ageing; negative if the link failed there."""
    if evidence.verification == "failed":
        return -rule.failed * rule.confirmed
    worth: float = getattr(rule, evidence.verification)
    return worth * rule.workaround if evidence.workaround else worth


def vote_order(evidence: Evidence) -> tuple[int, bool]:
    """Which of two votes of one conversation counts: the better verified one, and a fix before a workaround."""
    return _RANK[evidence.verification], not evidence.workaround


def weight(evidence: Iterable[Evidence], at: datetime, rule: WeightRule = DEFAULT) -> float:
    """The weight of a link at a moment: ``log(1 + max(0, sum of aged credits))``, rounded to 12 digits.

    It depends on the set of evidence and on `at` alone: nothing is stored, so nothing can decay twice. Each
    conversation votes once (its best verification), one requester is capped per day, growth is logarithmic. Sums are
    exact before rounding (`math.fsum`), so the order of the evidence can't show.

    Parameters
    ----------
    evidence : iterable of Evidence
        In any order.
    at : datetime
        The moment, with a zone.

    >>> from datetime import UTC, datetime
    >>> now = datetime(2026, 3, 1, tzinfo=UTC)
    >>> round(weight([Evidence("c1", now, "confirmed")], now), 3)
    0.693
    """
    votes: dict[str, Evidence] = {}
    for e in evidence:
        if e.conversation not in votes or vote_order(e) > vote_order(votes[e.conversation]):
            votes[e.conversation] = e
    total: list[float] = []
    capped: dict[tuple[str, date], list[float]] = defaultdict(list)
    for e in votes.values():
        aged = credit(e, rule) * age_factor((at - e.at).total_seconds() / DAY, rule)
        if e.requester is None:
            total.append(max(-rule.per_requester_day, min(aged, rule.per_requester_day)))
        else:
            capped[e.requester, e.at.astimezone(UTC).date()].append(aged)
    most = rule.per_requester_day
    for same in capped.values():
        total.append(min(fsum(x for x in same if x > 0), most))
        total.append(max(fsum(x for x in same if x < 0), -most))
    return round(log1p(max(0.0, fsum(total))), 12)


@lru_cache(maxsize=4096)
def success_rate(worked: int, failed: int, *, level: float = 0.95) -> tuple[float, float, float]:
    """How often a solution works: posterior mean and equal-tailed interval, Beta–Binomial with a Beta(1, 1) prior.

    Parameters
    ----------
    worked, failed : int
        Conversations in which it did and did not help, ≥ 0.
    level : float
        Coverage of the interval.

    Returns
    -------
    tuple of float
        (mean, lower, upper), each in [0, 1].

    References
    ----------
    Gelman et al. (2013), Bayesian data analysis, 3rd edition, section 2.4, doi:10.1201/b16018 (the Beta–Binomial
    model). Brown, Cai & DasGupta (2001), Interval estimation for a binomial proportion, doi:10.1214/ss/1009213286.

    >>> [round(x, 2) for x in success_rate(3, 0)]
    [0.8, 0.4, 0.99]
    """
    from scipy.special import betaincinv

    a, b = 1 + worked, 1 + failed
    return a / (a + b), float(betaincinv(a, b, (1 - level) / 2)), float(betaincinv(a, b, (1 + level) / 2))
