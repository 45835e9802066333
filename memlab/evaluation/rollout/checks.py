"""What could make a rollout look better than it is: each check says what it saw, and fires if that could be the gain."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from memlab.evaluation.intervals import Interval
from memlab.evaluation.rollout.classifier import Classifier, corrected_draws, tipping_point
from memlab.evaluation.rollout.incidents import Incident, IncidentTable
from memlab.evaluation.rollout.rates import Cell, mix_effect, newcombe, resampled_cells, segmented, standardised

__all__ = [
    "Check",
    "cells_of",
    "check_classifier",
    "check_method",
    "check_missing",
    "check_mix",
    "check_overlap",
    "check_trend",
]

_LEAST = 30  # incidents a period below which no line is fitted


@dataclass(frozen=True, slots=True)
class Check:
    """One way in which the difference could be none of the rollout's doing.

    Attributes
    ----------
    name : str
    fired : bool
        It could explain the gain (or loss), or forbids to read the difference as it stands.
    text : str
        What was seen.
    estimate : Interval or None
        The quantity that it looked at, if it is one number.
    """

    name: str
    fired: bool
    text: str
    estimate: Interval | None = None


def cells_of(incidents: Sequence[Incident], keep: Callable[[Incident], bool] = lambda _: True) -> dict[str, Cell]:
    """Counts by category of the incidents that are kept and whose outcome is known."""
    counts: dict[str, list[int]] = {}
    for i in incidents:
        if i.resolved is not None and keep(i):
            row = counts.setdefault(i.category, [0, 0, 0, 0])
            at = 2 if i.period == "after" else 0
            row[at] += i.resolved
            row[at + 1] += 1
    return {name: Cell(*counts[name]) for name in sorted(counts)}


def check_mix(cells: Mapping[str, Cell], crude: Interval, equal: Interval, *, seed: int, n: int, level: float) -> Check:
    """Fires if other categories after than before make a fifth of the crude difference or more, clear of 0.

    Also if the crude difference is clear of 0 and the one at equal mix is not, or points the other way.
    """
    drawn = mix_effect(resampled_cells(cells, seed=seed, n=n))
    table = np.array([[(c.before, c.before_n, c.after, c.after_n) for _, c in sorted(cells.items())]], np.float64)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    found = Interval(float(mix_effect(table)[0]), float(low), float(high), crude.n, level)
    same_way = found.estimate * crude.estimate > 0
    large = same_way and _clear(found) and abs(found.estimate) >= 0.2 * abs(crude.estimate)
    lost = _clear(crude) and (not _clear(equal) or crude.estimate * equal.estimate < 0)
    text = f"another mix of categories makes {_said(found)} of the crude difference {crude.estimate:+.3f}"
    return Check("mix", bool(large or lost), f"{text}; at equal mix it is {equal.estimate:+.3f}", found)


def check_trend(table: IncidentTable, equal: Interval, *, level: float) -> Check:
    """Fires if the rate moved the same way before the rollout already, clear of 0."""
    known = [i for i in table.incidents if i.resolved is not None]
    weeks = np.array([(i.opened_at - table.rollout).total_seconds() / 604800 for i in known])
    after = np.array([i.period == "after" for i in known], np.bool_)
    if min(after.sum(), (~after).sum()) < _LEAST:
        return Check("trend", False, f"fewer than {_LEAST} known outcomes in a period: no line can be fitted")
    outcome = np.array([i.resolved for i in known], np.bool_)
    found = segmented(weeks, after, outcome, [i.category for i in known], level=level)
    fired = _clear(found.slope) and found.slope.estimate * equal.estimate > 0
    text = (
        f"before the rollout the rate moved by {_said(found.slope)} a week; that line alone, gone on, would give "
        f"{found.carried:+.3f}; beside both lines the step at the rollout is {_said(found.step)}"
    )
    return Check("trend", fired, text, found.slope)


def check_missing(incidents: Sequence[Incident], cells: Mapping[str, Cell]) -> Check:
    """Fires if the unknown outcomes could turn the gain into none: unknown before all good, unknown after all bad.

    References
    ----------
    Horowitz & Manski (2000), Nonparametric analysis of randomized experiments with missing data,
    doi:10.1080/01621459.2000.10473902 (bounds without assumptions).
    """
    lost = {p: sum(i.resolved is None for i in incidents if i.period == p) for p in ("before", "after")}
    total = {p: sum(i.period == p for i in incidents) for p in ("before", "after")}
    gained = newcombe(_sum(cells)).estimate
    good = lost["before"] if gained > 0 else 0, 0 if gained > 0 else lost["after"]
    c = _sum(cells)
    worst = (c.after + good[1]) / total["after"] - (c.before + good[0]) / total["before"]
    shares = ", ".join(f"{lost[p]} of {total[p]} {p}" for p in ("before", "after"))
    if not sum(lost.values()):
        return Check("missing", False, "every outcome is known")
    text = f"no outcome is known of {shares}; at worst these make the crude difference {worst:+.3f}"
    return Check("missing", bool(worst * gained <= 0), text)


def check_overlap(cells: Mapping[str, Cell]) -> Check:
    """Fires if a tenth of the incidents or more are of categories that only one period has."""
    alone = {name: c.before_n + c.after_n for name, c in cells.items() if not (c.before_n and c.after_n)}
    share = sum(alone.values()) / max(1, sum(c.before_n + c.after_n for c in cells.values()))
    if not alone:
        return Check("overlap", False, "every category has incidents in both periods")
    names = ", ".join(sorted(alone))
    text = f"{share:.1%} of incidents are of categories with incidents in one period only and can't count: {names}"
    return Check("overlap", share >= 0.1, text)


def check_method(incidents: Sequence[Incident], *, level: float) -> Check:
    """Fires if outcomes come from the classifier more often in one period, by a tenth or more and clear of 0."""
    count = {
        (p, s): sum(i.period == p and i.resolved_by == s and i.resolved is not None for i in incidents)
        for p in ("before", "after")
        for s in ("confirmation", "classifier")
    }
    sizes = {p: count[p, "confirmation"] + count[p, "classifier"] for p in ("before", "after")}
    cell = Cell(count["before", "classifier"], sizes["before"], count["after", "classifier"], sizes["after"])
    found = newcombe(cell, level=level)
    shares = ", ".join(f"{count[p, 'classifier']} of {sizes[p]} {p}" for p in ("before", "after"))
    fired = _clear(found) and abs(found.estimate) >= 0.1
    return Check("method", fired, f"a classifier read {shares}; a changed way to count can look like a gain", found)


def check_classifier(
    incidents: Sequence[Incident],
    equal: Interval,
    classifier: Classifier | tuple[Classifier, Classifier] | None,
    *,
    seed: int,
    n: int,
    level: float,
) -> Check:
    """Fires if the difference could be made of the classifier's errors.

    That is so if its errors are not given, or if the difference without them includes 0, where the errors in the two
    periods are those measured in each, or, measured once, may differ as far as that measurement allows.
    """
    read = cells_of(incidents, lambda i: i.resolved_by == "classifier")
    if not read:
        return Check("classifier", False, "every outcome was confirmed; no classifier is involved")
    if classifier is None:
        text = f"a classifier read {sum(c.before_n + c.after_n for c in read.values())} outcomes and its errors are not given"
        return Check("classifier", True, f"{text}; measure sensitivity and specificity on incidents with known outcome")
    before, after = classifier if isinstance(classifier, tuple) else (classifier, classifier)
    said = cells_of(incidents, lambda i: i.resolved_by == "confirmation")
    estimate, draws = corrected_draws(read, said, before, after, seed=seed, n=n)
    if math.isnan(estimate):
        return Check(
            "classifier", True, "no category has outcomes of one kind in both periods; nothing can be corrected"
        )
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    found = Interval(estimate, float(low), float(high), equal.n, level)
    text = f"without its errors the difference is {_said(found)}"
    if not isinstance(classifier, tuple):
        text += f", if they may differ between the periods as far as the one measurement allows{_tip(read, before)}"
    turned = found.estimate * equal.estimate <= 0
    return Check("classifier", bool(turned or not _clear(found)), text, found)


def _tip(read: Mapping[str, Cell], c: Classifier) -> str:
    if not any(cell.before_n and cell.after_n for cell in read.values()):
        return ""
    point = tipping_point(*standardised(read), c)
    if not 0 <= point <= 1:
        return "; no specificity after the rollout could make the whole difference"
    return f"; a specificity of {point:.3f} after the rollout, instead of {c.specificity:.3f}, would make all of it"


def _sum(cells: Mapping[str, Cell]) -> Cell:
    rows = [(c.before, c.before_n, c.after, c.after_n) for c in cells.values()]
    return Cell(*(sum(column) for column in zip(*rows, strict=True)))


def _clear(interval: Interval) -> bool:
    return interval.low > 0 or interval.high < 0


def _said(interval: Interval) -> str:
    return f"{interval.estimate:+.3f} [{interval.low:+.3f}, {interval.high:+.3f}]"
