"""The one weight function: a pure function of the set of evidence and a moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from math import log, log1p
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memlab.decay import DEFAULT, WeightRule, age_factor, credit, success_rate, vote_order, weight
from memlab.errors import InputError
from memlab.records import Evidence

AT = datetime(2026, 6, 1, tzinfo=UTC)
NAMES = ["c1", "c2", "c3", "c4", "c5", "c6"]

evidence = st.builds(
    Evidence,
    st.sampled_from(NAMES),
    st.integers(-3, 1000).map(lambda days: AT - timedelta(days=days, hours=3)),
    st.sampled_from(["confirmed", "inferred", "claimed", "failed"]),
    st.sampled_from([None, "ann", "bob"]),
    st.booleans(),
)
evidences = st.lists(evidence, max_size=12, unique_by=lambda e: e.conversation)


@given(evidences, st.integers(0, 99))
@settings(max_examples=80, deadline=None)
def test_order_and_repetition_do_not_show(found, seed):
    again = [*found, *found]
    Random(seed).shuffle(again)
    assert weight(again, AT) == weight(found, AT)


@given(evidences, evidence)
@settings(max_examples=80, deadline=None)
def test_support_never_lowers_and_counter_evidence_never_raises(found, more):
    others = [e for e in found if e.conversation != more.conversation]
    before, after = weight(others, AT), weight([*others, more], AT)
    assert after <= before if more.verification == "failed" else after >= before
    assert 0 <= after <= log1p(len(others) + 1) + 1e-12


@given(evidences, st.integers(0, 4000))
@settings(max_examples=50, deadline=None)
def test_time_alone_sinks_what_was_never_refuted_but_not_below_the_floor(found, days):
    good = [e for e in found if e.verification != "failed" and e.at <= AT]
    now, later = weight(good, AT), weight(good, AT + timedelta(days=days))
    assert later <= now
    if good:
        assert later >= log1p(DEFAULT.floor * DEFAULT.claimed * DEFAULT.workaround) - 1e-9


def test_the_formula_by_hand():
    """Confirmed today 1, inferred a half-life ago 0.6 · 0.55, a detour 0.5, one failure −0.75: log(1 + 1.08)."""
    found = [
        Evidence("c1", AT, "confirmed"),
        Evidence("c2", AT - timedelta(days=120), "inferred"),
        Evidence("c3", AT, "confirmed", None, True),
        Evidence("c4", AT, "failed"),
    ]
    assert weight(found, AT) == pytest.approx(log(1 + 1 + 0.6 * 0.55 + 0.5 - 0.75), abs=1e-12)


def test_the_better_vote_of_a_conversation_counts():
    votes = [
        Evidence("c1", AT, v, None, w)
        for v, w in (
            ("failed", False),
            ("claimed", True),
            ("claimed", False),
            ("inferred", False),
            ("confirmed", True),
            ("confirmed", False),
        )
    ]
    assert votes == sorted(votes, key=vote_order)
    assert weight(votes, AT) == weight(votes[-1:], AT) == pytest.approx(log(2))


def test_a_requester_is_capped_per_utc_day_whatever_zone_the_times_are_written_in():
    east = timezone(timedelta(hours=9))
    day = [
        Evidence(f"c{n}", datetime(2026, 6, 1, 8 + n, tzinfo=UTC).astimezone(east), "confirmed", "ann")
        for n in range(8)
    ]
    at = max(e.at for e in day)
    assert weight(day, at) <= log(2) + 1e-12
    two_days = [*day, Evidence("d1", datetime(2026, 5, 31, 23, tzinfo=UTC), "confirmed", "ann")]
    assert log(2) < weight(two_days, at) < log(3)
    assert weight([Evidence(e.conversation, e.at, "confirmed") for e in day], at) > log(8)


@pytest.mark.parametrize(("days", "factor"), [(0, 1.0), (-50, 1.0), (120, 0.55), (240, 0.325), (1e9, 0.1)])
def test_ageing_by_hand(days, factor):
    """floor + (1 − floor) · 2^(−days / 120) with floor 0.1."""
    assert age_factor(days) == pytest.approx(factor, abs=1e-12)


def test_credits_are_ordered():
    worth = [credit(Evidence("c", AT, v)) for v in ("confirmed", "inferred", "claimed", "failed")]
    assert worth == sorted(worth, reverse=True)
    assert worth[-1] < 0 < credit(Evidence("c", AT, "claimed", None, True)) < worth[2]


@pytest.mark.parametrize(
    "wrong", [{"half_life_days": 0}, {"half_life_days": -1}, {"floor": 1.5}, {"per_requester_day": 0}]
)
def test_a_rule_that_means_nothing_is_refused(wrong):
    with pytest.raises(InputError):
        WeightRule(**wrong)


def test_success_rate_against_known_values():
    """Beta(1 + k, 1 + n − k): mean (k + 1) / (n + 2); the 95 % interval of Beta(1, 1) is [0.025, 0.975]."""
    assert success_rate(0, 0) == pytest.approx((0.5, 0.025, 0.975))
    assert success_rate(3, 1)[0] == pytest.approx(4 / 6)
    mean, low, high = success_rate(0, 9)
    # Beta(1, 10): P(x ≤ t) = 1 − (1 − t)^10, so the quantiles are 1 − (1 − q)^(1/10).
    assert (low, high) == pytest.approx((1 - 0.975**0.1, 1 - 0.025**0.1))
    assert low < mean < high
