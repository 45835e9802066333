"""Agreement between annotators, corrected for chance."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

__all__ = ["Agreement", "agreement", "krippendorff_alpha", "masi_distance"]

T = TypeVar("T", bound=Hashable)
Case = Mapping[str, Any]
Annotations = Mapping[str, Sequence[Case]]

_NOMINAL = ("category", "low_value", "root_cause_id", "solution_id", "solution_kind", "resolution")


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far annotators agree on one field.

    Attributes
    ----------
    field : str
        The field; sets of symptoms and of attempts are compared as sets (partly right counts partly).
    units : int
        What was judged by two or more: conversations for `cases`, attempts for `attempt_outcome`, else cases.
    equal : float
        The share of units on which all agree.
    alpha : float or None
        1 is perfect, 0 what chance gives; nothing if everybody always says the same one thing.
    """

    field: str
    units: int
    equal: float
    alpha: float | None

    def to_json(self) -> dict[str, Any]:
        """Figures rounded to three digits."""
        alpha = None if self.alpha is None else round(self.alpha, 3)
        return {"field": self.field, "units": self.units, "equal": round(self.equal, 3), "alpha": alpha}


def krippendorff_alpha(
    units: Iterable[Sequence[T]], *, distance: Callable[[T, T], float] | None = None
) -> float | None:
    """Krippendorff's alpha: 1 minus the disagreement that is seen over the one that chance would give.

    Parameters
    ----------
    units : iterable of sequences
        What the annotators said of each unit; missing ones are left out, and a unit that one alone judged counts for
        nothing.
    distance : callable, optional
        Between two values, 0 for equal, symmetric; by default 0 or 1.

    Returns
    -------
    float or None
        Nothing if there are no pairs, or all values are the same.

    References
    ----------
    Hayes & Krippendorff 2007, doi:10.1080/19312450709336664.

    >>> round(krippendorff_alpha(zip("aabbdcccedda", "babbbcccEDDd".lower())), 3)
    0.692
    """
    apart = distance or (lambda a, b: float(a != b))
    pairable = [list(unit) for unit in units]
    pairable = [unit for unit in pairable if len(unit) > 1]
    totals = Counter(value for unit in pairable for value in unit)
    n = sum(totals.values())
    observed = sum(
        2 * sum(apart(a, b) for a, b in itertools.combinations(unit, 2)) / (len(unit) - 1) for unit in pairable
    )
    expected = sum(2 * totals[a] * totals[b] * apart(a, b) for a, b in itertools.combinations(totals, 2))
    return 1 - (n - 1) * observed / expected if expected else None


def masi_distance(a: frozenset[Any], b: frozenset[Any]) -> float:
    """How far two sets are apart: 0 for equal ones, 1 for disjoint ones, less if one holds the other.

    References
    ----------
    Passonneau 2006, "Measuring agreement on set-valued items (MASI)", LREC.

    >>> round(masi_distance(frozenset("ab"), frozenset("abc")), 3)
    0.556
    """
    if a == b:
        return 0.0
    shared = a & b
    monotony = 0.0 if not shared else 2 / 3 if a <= b or b <= a else 1 / 3
    return 1 - monotony * len(shared) / len(a | b)


def agreement(annotators: Sequence[Annotations]) -> list[Agreement]:
    """Agreement by field on the conversations that at least two have annotated.

    Parameters
    ----------
    annotators : sequence of mappings
        For each annotator, the cases of each conversation, as objects with ``symptom_ids``, ``root_cause_id``,
        ``solution_id``, ``solution_kind``, ``resolution``, ``category``, ``low_value`` and ``attempts``. Cases are
        matched by what they say, not by their number.
    """
    names = sorted({c for a in annotators for c in a})
    judged = [[a[name] for a in annotators if name in a] for name in names]
    judged = [views for views in judged if len(views) > 1]
    matched = [unit for views in judged for unit in _match(views)]
    found = [_field("cases", [[len(view) for view in views] for views in judged])]
    found += [_field(name, [[case.get(name) for case in unit] for unit in matched]) for name in _NOMINAL]
    symptoms = [[frozenset(case.get("symptom_ids", ())) for case in unit] for unit in matched]
    found.append(_field("symptom_ids", symptoms, masi_distance))
    turns = [[frozenset(a["turn"] for a in case.get("attempts", ())) for case in unit] for unit in matched]
    found.append(_field("attempt_turns", turns, masi_distance))
    found.append(_field("attempt_outcome", [o for unit in matched for o in _outcomes(unit)]))
    return found


def _field(name: str, units: Sequence[Sequence[T]], distance: Callable[[T, T], float] | None = None) -> Agreement:
    pairable = [unit for unit in units if len(unit) > 1]
    equal = sum(len(set(unit)) == 1 for unit in pairable) / len(pairable) if pairable else 0.0
    return Agreement(name, len(pairable), equal, krippendorff_alpha(pairable, distance=distance))


def _match(views: Sequence[Sequence[Case]]) -> list[list[Case]]:
    """Cases of one conversation, each with the most similar one of every other annotator."""
    first, *others = views
    units: list[list[Case]] = [[case] for case in first]
    for view in others:
        wide = max(len(first), len(view))
        padded = [*view, *[None] * (wide - len(view))]
        best = max(
            itertools.permutations(padded, len(first)),
            key=lambda order: sum(_alike(a, b) for a, b in zip(first, order, strict=True)),
        )
        for unit, case in zip(units, best, strict=True):
            if case is not None:
                unit.append(case)
    return units


def _alike(a: Case, b: Case | None) -> float:
    if b is None:
        return 0.0
    same: int = sum(a.get(f) == b.get(f) for f in ("root_cause_id", "solution_id", "category"))
    shared: int = len(set(a.get("symptom_ids", ())) & set(b.get("symptom_ids", ())))
    return 2.0 * same + shared + 0.1


def _outcomes(unit: Sequence[Case]) -> list[list[str]]:
    """Outcomes of the attempts that all place in the same turn, where all see the same number of them."""
    by_turn: list[dict[int, list[str]]] = []
    for case in unit:
        turns: dict[int, list[str]] = {}
        for attempt in case.get("attempts", ()):
            turns.setdefault(attempt["turn"], []).append(attempt["outcome"])
        by_turn.append(turns)
    shared = sorted(set.intersection(*(set(t) for t in by_turn)))
    same = [turn for turn in shared if len({len(t[turn]) for t in by_turn}) == 1]
    return [list(pair) for turn in same for pair in zip(*(t[turn] for t in by_turn), strict=True)]
