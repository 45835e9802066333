"""Outcomes that a classifier read: what its errors do to a rate, and to a difference of two rates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from memlab.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memlab.evaluation.rollout.rates import Cell

__all__ = ["Classifier", "corrected_draws", "drawn_errors", "rogan_gladen", "tipping_point"]


@dataclass(frozen=True, slots=True)
class Classifier:
    """How well a classifier reads outcomes, as measured on incidents whose outcome is known.

    Attributes
    ----------
    sensitivity : float
        Share of resolved incidents that it calls resolved, in [0, 1].
    specificity : float
        Share of unresolved incidents that it calls unresolved, in [0, 1]; together more than 1.
    positives, negatives : int, optional
        Resolved and unresolved incidents that these were measured on; without them they count as exactly known.
    """

    sensitivity: float
    specificity: float
    positives: int | None = None
    negatives: int | None = None

    def __post_init__(self) -> None:
        if not (0 <= self.sensitivity <= 1 and 0 <= self.specificity <= 1):
            raise InputError(
                f"sensitivity and specificity must be in [0, 1], not {self.sensitivity}, {self.specificity}"
            )
        if self.sensitivity + self.specificity <= 1:
            raise InputError(
                "sensitivity and specificity must be more than 1 together; below, the classifier says nothing"
            )
        if min(self.positives or 1, self.negatives or 1) < 0:
            raise InputError("a classifier is measured on 0 incidents or more")

    @classmethod
    def measured(cls, *, tp: int, fn: int, tn: int, fp: int) -> Self:
        """From the four counts of a validation sample.

        >>> Classifier.measured(tp=90, fn=10, tn=80, fp=20)
        Classifier(sensitivity=0.9, specificity=0.8, positives=100, negatives=100)
        """
        if min(tp, fn, tn, fp) < 0 or not tp + fn or not tn + fp:
            raise InputError("a validation sample needs resolved and unresolved incidents")
        return cls(tp / (tp + fn), tn / (tn + fp), tp + fn, tn + fp)


def rogan_gladen(rate: float, classifier: Classifier) -> float:
    """The true rate behind the rate that a classifier reports, in [0, 1].

    References
    ----------
    Rogan & Gladen (1978), Estimating prevalence from the results of a screening test, Am. J. Epidemiol. 107(1),
    doi:10.1093/oxfordjournals.aje.a112510.

    >>> round(rogan_gladen(0.6, Classifier(0.9, 0.8)), 3)  # (.6 + .8 - 1) / (.9 + .8 - 1)
    0.571
    """
    true = (rate + classifier.specificity - 1) / (classifier.sensitivity + classifier.specificity - 1)
    return min(1.0, max(0.0, true))


def drawn_errors(c: Classifier, rng: np.random.Generator, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sensitivities and specificities as they could be, given how many incidents they were measured on (Jeffreys)."""
    pairs = ((c.sensitivity, c.positives), (c.specificity, c.negatives))
    sensitivity, specificity = (
        np.full(n, share) if size is None else rng.beta(share * size + 0.5, (1 - share) * size + 0.5, n)
        for share, size in pairs
    )
    return sensitivity, specificity


def corrected_draws(
    read: Mapping[str, Cell],
    said: Mapping[str, Cell],
    before: Classifier,
    after: Classifier | None,
    *,
    seed: int,
    n: int,
) -> tuple[float, NDArray[np.float64]]:
    """The difference at equal mix without the classifier's errors, and draws of it.

    Every category counts with its Mantel–Haenszel weight; outcomes that people said stay as they are.

    Parameters
    ----------
    read, said : mapping of category to Cell
        Incidents whose outcome a classifier read, and those confirmed.
    before, after : Classifier
        In each period; `after` None: the very same errors in both periods.
    seed, n
        Of the draws (Beta posteriors with Jeffreys prior for rates and errors); how many.

    References
    ----------
    Lang & Reiczigel (2014), Confidence limits for prevalence of disease adjusted for estimated sensitivity and
    specificity, doi:10.1016/j.prevetmed.2013.09.015 (uncertainty of the errors belongs into the interval).
    """
    rng = np.random.default_rng(seed)
    errors = [drawn_errors(before, rng, n)]
    errors.append(drawn_errors(after, rng, n) if after is not None else errors[0])
    points = (before, after or before)
    total, estimate, draws = 0.0, 0.0, np.zeros(n)
    for cells, is_read in ((read, True), (said, False)):
        for _, c in sorted(cells.items()):
            if not (c.before_n and c.after_n):
                continue
            weight = c.before_n * c.after_n / (c.before_n + c.after_n)
            total += weight
            for side, (good, size) in enumerate(((c.before, c.before_n), (c.after, c.after_n))):
                sign, p, (se, sp) = (2 * side - 1) * weight, rng.beta(good + 0.5, size - good + 0.5, n), errors[side]
                rate, k = good / size, points[side]
                if is_read:
                    rate = (rate + k.specificity - 1) / (k.sensitivity + k.specificity - 1)
                    # Draws with hardly any power to tell apart would divide by nothing; a floor keeps them finite.
                    p = (p + sp - 1) / np.maximum(se + sp - 1, 0.02)
                estimate += sign * rate
                draws += sign * p
    return (estimate / total, draws / total) if total else (math.nan, np.full(n, math.nan))


def tipping_point(before: float, after: float, c: Classifier) -> float:
    """The specificity after the rollout at which its errors alone would make the whole difference.

    With the true rate unchanged at what `before` corrects to, `after` is reported if this is the specificity; a rise is
    explained by one below `c.specificity`. NaN if every incident was resolved before.

    Parameters
    ----------
    before, after : float
        Rates that the classifier reports.
    """
    true = rogan_gladen(before, c)
    return math.nan if true >= 1 else 1 - (after - c.sensitivity * true) / (1 - true)
