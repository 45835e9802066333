"""The cost model: what a schedule of known work must take, where it bends, and what is fitted."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlab.errors import InputError
from memlab.scaling import Costs, bend, curve, simulate
from memlab.scaling.costs import fit_fold, shares
from memlab.scaling.measuring import SpeedEncoder, SpeedReader, fold_seconds
from memlab.scaling.study import bends, costs_of, scenarios


def test_work_that_divides_evenly_takes_its_share():
    # 1000 conversations at 0.1 s to read and 0.05 s to curate, by 10 workers: 10 s, then 1000 folds of 1 each: 5 s.
    run = simulate(Costs(0.1, 0, 0, 0.05), conversations=1000, workers=10, customers=100, categories=10, skew=0)
    assert run.seconds == pytest.approx(15)
    assert run.efficiency == pytest.approx(1)
    assert run.bottleneck == "reading"


def test_one_customer_and_category_is_one_fold_whatever_the_workers():
    # 100 conversations, one fold of 100 · 0.05 = 5 s: a thousand workers read at once, and wait for it.
    run = simulate(Costs(0.1, 0, 0, 0.05), conversations=100, workers=1000, customers=1, categories=1)
    assert run.seconds == pytest.approx(0.01 + 5)
    assert run.bottleneck == "the longest fold"


@pytest.mark.parametrize(
    ("costs", "name"),
    [
        (Costs(0.001, 0, 1, 0.001), "sending"),
        (Costs(0.001, 1, 0, 0.001), "writing the largest customer"),
        (Costs(0.001, 0, 0, 1), "the longest fold"),
        (Costs(10, 0.001, 0.001, 0.001), "reading"),
    ],
)
def test_the_bottleneck_is_named(costs, name):
    assert simulate(costs, conversations=1000, workers=50, customers=5, categories=2).bottleneck == name


@given(
    st.integers(1, 300), st.integers(1, 40), st.integers(1, 5), st.floats(0, 2), st.floats(0, 0.01), st.integers(1, 300)
)
def test_more_workers_never_take_longer_nor_beat_the_bounds(n, customers, categories, skew, growth, workers):
    costs = Costs(0.1, 0.01, 0.001, 0.02, growth)
    runs = curve(
        costs, conversations=n, workers=[workers, 4 * workers], customers=customers, categories=categories, skew=skew
    )
    assert runs[1].seconds <= runs[0].seconds * (1 + 1e-9)
    for run in runs:
        assert 0 < run.efficiency <= 1 + 1e-9
        assert run.seconds >= run.longest_fold


def test_a_long_tail_bends_before_equal_customers():
    costs, options = Costs(0.05, 0.001, 0.0, 0.02), {"conversations": 10**6, "workers": (1, 10, 100, 1000)}
    even, skewed = (bend(curve(costs, customers=500, skew=s, **options)) for s in (0.0, 1.5))
    assert skewed is not None
    assert even is None or skewed.workers < even.workers


def test_a_memory_that_is_full_costs_less_than_one_that_grows():
    growing, full = Costs(0, 0, 0, 0.01, 0.001), Costs(0, 0, 0, 0.01, 0.001, 100)
    assert growing.folded(100) == full.folded(100)
    # After 100 each conversation costs 0.01 + 0.1.
    assert full.folded(101) - full.folded(100) == pytest.approx(0.11)
    assert growing.folded(1000) > full.folded(1000)


def test_a_fit_finds_what_was_put_in_and_is_never_negative():
    sizes = [50, 200, 800]
    assert fit_fold(sizes, [Costs(0, 0, 0, 0.004, 2e-6).folded(n) for n in sizes]) == pytest.approx((0.004, 2e-6))
    assert fit_fold([10, 20], [1.0, 1.0]) == (pytest.approx(0.075), 0.0)  # 0.1 and 0.05 s each: no growth, their mean
    with pytest.raises(InputError, match="two sizes"):
        fit_fold([10, 10], [1.0, 2.0])


def test_shares_sum_to_one_and_fall():
    found = shares(1000, 1.2)
    assert math.isclose(sum(found), 1)
    assert found == sorted(found, reverse=True)


def test_numbers_out_of_range_are_refused():
    with pytest.raises(InputError, match="≥ 1"):
        simulate(Costs(1, 1, 1, 1), conversations=0, workers=1)


def test_the_study_names_the_bend_of_each_scenario(tmp_path):
    frame = scenarios(Costs(0.1, 0.001, 0.0001, 0.01, 1e-6), conversations=10**7, customers=100)
    assert len(frame) == 4 * 10
    where = bends(frame).set_index("scenario")
    assert where.loc["skew 1, growing", "bottleneck"] == "the longest fold"
    path = tmp_path / "measured.json"
    path.write_text(json.dumps({"costs": {"read": 1.0, "write": 0.5, "send": 0.1, "fold": 0.2}}))
    assert costs_of(path) == Costs(1.0, 0.5, 0.1, 0.2)
    path.write_text("[]")
    with pytest.raises(InputError, match="not the output"):
        costs_of(path)


def test_folds_of_generated_conversations_are_timed_and_curated(tmp_path):
    from memlab.bank import Bank

    seconds = fold_seconds(tmp_path, [10, 20], seed=1)
    assert all(s > 0 for s in seconds)
    with Bank.open(tmp_path, "folds-20") as bank:
        assert len(bank.graph("vpn").of_kind("cause")) > 1  # read and curated like any other
    assert SpeedEncoder().encode(["a b", "b a"]).shape == (2, 384)
    assert SpeedReader.name == "speed-1"
