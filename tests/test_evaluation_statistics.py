"""Intervals, paired tests and corrections, against values worked out by hand."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memlab.errors import InputError
from memlab.evaluation.statistics import (
    Interval,
    bootstrap,
    bootstrap_rate,
    compare_arms,
    holm,
    mcnemar,
    paired_difference,
    reliability,
    sign_flip,
    wilson,
)


def mean(values: np.ndarray) -> float:
    return float(values.mean())


def test_bootstrap_pools_the_values_of_clusters():
    # (1 + 1 + 1 + 0) / 4, not the mean of cluster means (1 + 0) / 2.
    found = bootstrap({"a": [1, 1, 1], "b": [0]}, mean, seed=1)
    assert found.estimate == 0.75
    assert found.n == 2


def test_bootstrap_of_two_clusters_spans_both():
    # Resamples are aa, ab, ba, bb with a quarter each: means 0, .5, .5, 1; the 2.5 and 97.5 % points are 0 and 1.
    found = bootstrap({"a": [0.0], "b": [1.0]}, mean, seed=3)
    assert (found.low, found.estimate, found.high) == (0.0, 0.5, 1.0)


def test_bootstrap_width_is_that_of_the_binomial():
    # 400 clusters, half of them 1: the standard error is .5 / 20 = .025, the interval .5 ± 1.96 * .025 = .451 … .549.
    found = bootstrap({f"c{n:03}": [n % 2] for n in range(400)}, mean, seed=0)
    assert found.low == pytest.approx(0.451, abs=0.005)
    assert found.high == pytest.approx(0.549, abs=0.005)


def test_clusters_widen_the_interval():
    # The same 0/1 values, in 20 clusters of 20 equal ones: 20 independent values instead of 400.
    alone = bootstrap({f"c{n}": [n // 20 % 2] for n in range(400)}, mean, seed=0)
    grouped = bootstrap({f"c{n}": [n % 2] * 20 for n in range(20)}, mean, seed=0)
    assert alone.estimate == grouped.estimate == 0.5
    assert grouped.high - grouped.low > 3 * (alone.high - alone.low)


def test_bootstrap_does_not_depend_on_the_order_of_clusters_and_repeats():
    values = {f"c{n}": [n, n * n % 7] for n in range(9)}
    turned = dict(reversed(values.items()))
    assert bootstrap(values, mean, seed=5) == bootstrap(turned, mean, seed=5)
    assert bootstrap(values, mean, seed=5) != bootstrap(values, mean, seed=6)


def test_bootstrap_leaves_undefined_resamples_out():
    # The share of 1 among values > 0 is undefined in the resample bb (only zeros).
    def share(values: np.ndarray) -> float:
        positive = values[values > 0]
        return float((positive == 1).mean()) if len(positive) else math.nan

    found = bootstrap({"a": [1.0, 2.0], "b": [0.0]}, share, seed=0)
    assert (found.estimate, found.low, found.high) == (0.5, 0.5, 0.5)


@pytest.mark.parametrize("clusters", [{}, {"a": [1.0]}])
def test_one_cluster_or_none_gives_no_interval(clusters):
    found = bootstrap(clusters, mean, seed=0)
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert found.n == len(clusters)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), min_size=2, max_size=8))
def test_rate_and_general_bootstrap_agree(pairs):
    totals = {f"c{n}": (float(min(a, b)), float(b)) for n, (a, b) in enumerate(pairs)}
    rate = bootstrap_rate(totals, seed=2, n=50)
    rows = {c: [pair] for c, pair in totals.items()}
    slow = bootstrap(rows, lambda v: float(v[:, 0].sum() / v[:, 1].sum()), seed=2, n=50)
    if 0 < slow.estimate < 1:
        assert rate == slow
    else:
        assert rate.estimate == slow.estimate
        assert rate.high - rate.low > 0


def test_rate_skips_clusters_without_a_denominator():
    found = bootstrap_rate({"a": (1, 2), "b": (0, 0), "c": (2, 2)}, seed=0)
    assert found.estimate == 0.75
    assert found.n == 2


def test_rate_of_nothing_but_successes_has_a_width():
    # Wilson for 4 of 4 with z = 1.96: low = 1 / (1 + z² / 4) = 4 / 7.8415 = 0.5101.
    found = bootstrap_rate(dict.fromkeys("abcd", (3, 3)), seed=0)
    assert (found.estimate, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(0.5101, abs=1e-4)


def test_rate_refuses_more_than_all():
    with pytest.raises(InputError, match=r"cluster 'a': numerator 3 must be in \[0, denominator 2\]"):
        bootstrap_rate({"a": (3, 2)}, seed=0)


@pytest.mark.parametrize(("n", "level"), [(0, 0.95), (10, 0.0), (10, 1.0)])
def test_odd_options_are_refused(n, level):
    with pytest.raises(InputError, match="must be"):
        bootstrap({"a": [1]}, mean, seed=0, n=n, level=level)


def test_wilson_by_hand():
    # k = 1, n = 4, z = 1.959964, z² = 3.841459: centre (.25 + z²/8) / (1 + z²/4) = .7301824 / 1.9603647 = .3724727,
    # half z / 1.9603647 * sqrt(.25 * .75 / 4 + z² / 64) = .9997956 * sqrt(.046875 + .0600228) = .3268836.
    found = wilson(1, 4)
    assert found.low == pytest.approx(0.3724727 - 0.3268836, abs=1e-5)
    assert found.high == pytest.approx(0.3724727 + 0.3268836, abs=1e-5)


def test_wilson_ends():
    assert wilson(0, 5).low == 0.0
    assert wilson(5, 5).high == 1.0
    assert math.isnan(wilson(0, 0).estimate)
    with pytest.raises(InputError, match="between 0 and n=2"):
        wilson(3, 2)


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_its_estimate_and_mirrors(kn):
    k, n = kn
    found, mirror = wilson(k, n), wilson(n - k, n)
    assert 0 <= found.low <= found.estimate <= found.high <= 1
    assert found.low == pytest.approx(1 - mirror.high)


@pytest.mark.parametrize(
    ("up", "down", "p"),
    [
        (0, 0, 1.0),
        (5, 0, 2 / 32),  # 2 * 1 / 2 ** 5
        (8, 2, 2 * (1 + 10 + 45) / 1024),
        (3, 3, 1.0),  # 2 * (1 + 6 + 15 + 20) / 64 > 1
    ],
)
def test_mcnemar_by_hand(up, down, p):
    assert mcnemar(up, down) == p
    assert mcnemar(down, up) == p


def test_sign_flip_by_hand():
    # 1 + 2 - 1 = 2. Of the 8 patterns of ±1 ±2 ±1 the sums are 4 2 2 0 0 -2 -2 -4: six reach 2.
    assert sign_flip([1, 2, -1], seed=0) == 6 / 8
    assert sign_flip([0.0, 0.0], seed=0) == 1.0


@settings(max_examples=30)
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=7))
def test_sign_flip_equals_full_enumeration(differences):
    reach = abs(sum(differences))
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    assert sign_flip(differences, seed=0) == pytest.approx(np.mean([s >= reach for s in sums]))


def test_sign_flip_samples_when_there_are_many():
    # 13 equal differences: only the two patterns of one sign reach the sum, p = 2 / 8192 = .00024.
    p = sign_flip([1.0] * 13, seed=0)
    assert p == sign_flip([1.0] * 13, seed=0)
    assert p < 0.002
    # Of 40 none of the random patterns reaches it; p is never 0, because the observed one counts.
    assert sign_flip([1.0] * 40, seed=0) == 1 / 10000


def test_paired_difference_is_b_minus_a_on_matched_cases():
    a = {"q1": 1, "q2": 0, "q3": 0, "q4": 1, "only a": 1}
    b = {"q1": 0, "q2": 1, "q3": 1, "q4": 1, "only b": 0}
    found = paired_difference(a, b, seed=0)
    assert found.difference == 0.25  # (-1 + 1 + 1 + 0) / 4
    assert found.n == found.interval.n == 4
    assert found.test == "exact McNemar"
    assert found.p == 1.0  # 2 up, 1 down: 2 * (1 + 3) / 8
    assert found.unmatched_a == ("only a",)
    assert found.unmatched_b == ("only b",)
    assert [(f.case, f.a, f.b) for f in found.flips] == [("q1", 1, 0), ("q2", 0, 1), ("q3", 0, 1)]  # worst first
    assert found.reliability == "interval includes 0: not decisive; n < 100: wide"


def test_exchanging_arms_turns_the_sign():
    a, b = {"x": 0.2, "y": 0.5, "z": 0.9}, {"x": 0.4, "y": 0.1, "z": 1.0}
    one, other = paired_difference(a, b, seed=4), paired_difference(b, a, seed=4)
    assert one.difference == pytest.approx(-other.difference)
    assert one.p == other.p
    assert one.test == "sign-flip permutation"


def test_failed_cases_are_named_and_in_no_mean():
    found = paired_difference({"x": None, "y": 1.0, "z": 0.0}, {"x": 1.0, "y": 1.0, "z": math.nan}, seed=0)
    assert found.failed == ("x", "z")
    assert (found.n, found.difference) == (1, 0.0)
    assert found.reliability == "n = 1: no interval; n < 100: wide"
    assert str(found) == "+0.000 [+nan, +nan], n=1, 2 failed, p=1 (exact McNemar): n = 1: no interval; n < 100: wide"


def test_cases_of_one_cluster_are_flipped_together():
    # Two clusters that each gain 2 of 2: 2 of the 4 sign patterns reach the sum. McNemar would say 2 / 16.
    a, b = dict.fromkeys("pqrs", 0), dict.fromkeys("pqrs", 1)
    found = paired_difference(a, b, seed=0, clusters={"p": "1", "q": "1", "r": "2", "s": "2"})
    assert (found.p, found.interval.n, found.n) == (0.5, 2, 4)
    assert found.reliability == "p = 0.5: interval and test disagree, not decisive; n < 100: wide"
    with pytest.raises(InputError, match="case 'q' has no cluster"):
        paired_difference(a, b, seed=0, clusters={"p": "1"})


def test_nothing_in_common():
    found = paired_difference({"a": 1}, {"b": 1}, seed=0)
    assert math.isnan(found.difference)
    assert (found.n, found.p, found.reliability) == (0, 1.0, "no data")


def test_a_clear_difference_is_decisive():
    a = {f"q{n}": 0 for n in range(120)}
    b = {f"q{n}": int(n % 3 > 0) for n in range(120)}
    assert paired_difference(a, b, seed=0).reliability == "decisive"


def test_reliability_of_a_plain_number():
    assert reliability(Interval(0.5, 0.4, 0.6, 150), null=None) == ""
    assert reliability(Interval(0.5, 0.4, 0.6, 99), null=None) == "n < 100: wide"


def test_holm_by_hand():
    # Sorted .005, .01, .03, .04 times 4, 3, 2, 1 is .02, .03, .06, .04; made rising: .02, .03, .06, .06.
    found = holm({"d": 0.04, "a": 0.01, "c": 0.03, "b": 0.005})
    assert list(found) == ["d", "a", "c", "b"]
    assert found == pytest.approx({"d": 0.06, "a": 0.03, "c": 0.06, "b": 0.02})
    assert holm({}) == {}
    with pytest.raises(InputError, match="p of 'x'"):
        holm({"x": math.nan})


def test_arms_against_a_baseline():
    cases = [f"q{n}" for n in range(6)]
    arms = {"base": dict.fromkeys(cases, 0), "good": dict.fromkeys(cases, 1), "same": dict.fromkeys(cases, 0)}
    frame = compare_arms(arms, baseline="base", seed=0)
    assert list(frame["arm"]) == ["good", "same"]
    assert list(frame["difference"]) == [1.0, 0.0]
    assert list(frame["p"]) == [2 / 64, 1.0]
    assert list(frame["p_holm"]) == [4 / 64, 1.0]  # 2 tests
    # After the correction .0625 > .05, so the row must not be called decisive.
    assert frame["reliability"][0].startswith("p = 0.062: interval and test disagree")
    assert list(frame["better"]) == [6, 0]
    with pytest.raises(InputError, match="none of the arms: base, good, same"):
        compare_arms(arms, baseline="none", seed=0)
