"""From trials to results: matched differences, pass^k, power, sensitivity and agreement, against values by hand."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memlab.errors import InputError
from memlab.evaluation.hypotheses import Hypothesis, held
from memlab.evaluation.intervals import bootstrap
from memlab.evaluation.power import Spread, cohen_kappa, power_table, spread_of
from memlab.evaluation.sensitivity import sensitivity
from memlab.evaluation.statistics import paired_difference
from memlab.evaluation.trials import arm_means, compare_trials, pass_k, trial_frame
from memlab.simulation.records import Trial


def trial(scenario: str, arm: str, repeat: int, **values: object) -> Trial:
    given = {
        "seed": 1,
        "customer": "acme",
        "category": "vpn",
        "resolved": True,
        "steps": 4,
        "tool_calls": 2,
        "tool_relevance": 0.5,
        "first_action_right": True,
        "repeated_failed_steps": 0,
        "user_effort": 3.0,
        "user_errors": 0,
        "harm": 0,
        "minutes": 5.0,
        "tokens": 100,
        "context_tokens": 10,
        "claimed_resolved": True,
        "ended_by": "confirmed",
        **values,
    }
    return Trial(scenario=scenario, arm=arm, repeat=repeat, **given)


def frame_of(rows: list[tuple[str, str, int, float]], metric: str = "resolved") -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["scenario", "arm", "repeat", metric])


def played(seed: int, *, scenarios: int, repeats: int, gain: float, between: float, noise: float) -> pd.DataFrame:
    """Steps of two arms; the gain of a scenario varies with `between`, each repeat with `noise` (standard deviations)."""
    rng = np.random.default_rng(seed)
    rows = []
    for s in range(scenarios):
        level, mine = rng.normal(10, 3), gain + rng.normal(0, between)
        for r in range(repeats):
            rows.append((f"s{s:03}", "none", r, level + rng.normal(0, noise)))
            rows.append((f"s{s:03}", "skill", r, level + mine + rng.normal(0, noise)))
    return frame_of(rows, "steps")


def test_a_difference_is_paired_and_says_it_three_ways():
    # none: 1, 0, 0, 0 -> .25; skill: 1, 1, 1, 0 -> .75; difference .5, relative .75 / .25 - 1 = 2.
    trials = [trial("a", "none", 0), *(trial(s, "none", r, resolved=False) for s, r in (("a", 1), ("b", 0), ("b", 1)))]
    trials += [
        trial("a", "skill", 0),
        trial("a", "skill", 1),
        trial("b", "skill", 0),
        trial("b", "skill", 1, resolved=False),
    ]
    row = compare_trials(trials, metrics=["resolved"], seed=0).iloc[0]
    assert (row["baseline_value"], row["value"], row["difference"], row["relative"]) == (0.25, 0.75, 0.5, 2.0)
    assert (row["n"], row["scenarios"]) == (4, 2)


def test_the_interval_is_that_of_the_general_bootstrap():
    frame = played(3, scenarios=9, repeats=4, gain=-1.0, between=0.5, noise=1.0)
    row = compare_trials(frame, metrics=["steps"], seed=5, n=300).iloc[0]
    arms = {a: {f"{s}/{r}": v for s, x, r, v in frame.itertuples(index=False) if x == a} for a in ("none", "skill")}
    slow = paired_difference(*arms.values(), seed=5, n=300, clusters={c: c.split("/")[0] for c in arms["none"]})
    assert row["low"] == pytest.approx(slow.interval.low, abs=1e-12)
    assert row["high"] == pytest.approx(slow.interval.high, abs=1e-12)
    assert row["p"] == slow.p


def test_lower_is_better_for_steps_and_higher_for_resolution():
    fewer = played(1, scenarios=30, repeats=3, gain=-2.0, between=0.3, noise=0.5)
    more = played(1, scenarios=30, repeats=3, gain=2.0, between=0.3, noise=0.5)
    none = played(1, scenarios=30, repeats=3, gain=0.0, between=0.3, noise=3.0)
    said = [compare_trials(f, seed=0, n=300).iloc[0]["verdict"] for f in (fewer, more, none)]
    assert said == ["better", "worse", "undecided"]
    resolved = more.rename(columns={"steps": "resolved"})
    assert compare_trials(resolved, seed=0, n=300).iloc[0]["verdict"] == "better"


def test_several_arms_are_corrected_together():
    # One arm of four differs by a little: alone p < .05, corrected for four (Holm multiplies the smallest by 4) not.
    rng = np.random.default_rng(0)
    rows = [("none", s, 0.0) for s in range(30)] + [("skill", s, 0.45 + rng.normal()) for s in range(30)]
    rows += [(arm, s, rng.normal()) for arm in ("x", "y", "z") for s in range(30)]
    frame = frame_of([(f"s{s}", arm, 0, v) for arm, s, v in rows], "steps")
    found = compare_trials(frame, metrics=["steps"], seed=0).set_index("arm")
    smallest = found["p"].min()
    assert found["p_holm"].min() == pytest.approx(min(1.0, 4 * smallest))
    assert (found["p_holm"] >= found["p"]).all()


def test_a_row_says_what_it_leaves_out():
    trials = [trial("a", "none", 0), trial("a", "none", 1), trial("b", "none", 0, tool_relevance=None)]
    trials += [trial("a", "skill", 0), trial("b", "skill", 0)]
    row = compare_trials(trials, metrics=["tool_relevance"], seed=0).iloc[0]
    assert (row["n"], row["unmatched"], row["missing"]) == (1, 1, 1)
    assert row["reliability"].endswith("1 trials unmatched; 1 without a value")


def test_a_false_claim_is_counted():
    trials = [trial("a", "none", 0, resolved=False), trial("a", "skill", 0, resolved=False, claimed_resolved=False)]
    assert trial_frame(trials)["false_claim"].tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t[:1], "no trial has the arm 'none'"),
        (lambda t: [*t, t[0]], "is there twice"),
        (lambda t: [], "there is no trial"),
    ],
)
def test_bad_trials_are_refused(change, said):
    trials = [trial("a", "skill", 0), trial("a", "none", 0)]
    with pytest.raises(InputError, match=said):
        compare_trials(change(trials), seed=0)


def test_an_unknown_metric_names_the_known_ones():
    with pytest.raises(InputError, match="no metric 'speed'; known: resolved"):
        compare_trials([trial("a", "skill", 0), trial("a", "none", 0)], metrics=["speed"], seed=0)


def test_the_result_does_not_depend_on_the_order_of_trials():
    frame = played(2, scenarios=6, repeats=3, gain=-1, between=1, noise=1)
    shuffled = frame.sample(frac=1, random_state=1)
    left, right = (compare_trials(f, seed=0, n=200) for f in (frame, shuffled))
    pd.testing.assert_frame_equal(left, right)


def test_pass_k_by_hand():
    # 4 of 6: C(4,k) / C(6,k) = 4/6, 6/15, 4/20, 1/15, 0, 0. 6 of 6: 1 always. The mean of both.
    rows = [("a", "skill", r, float(r < 4)) for r in range(6)] + [("b", "skill", r, 1.0) for r in range(6)]
    found = pass_k(frame_of(rows), seed=0)
    expected = [(x + 1) / 2 for x in (4 / 6, 6 / 15, 4 / 20, 1 / 15, 0, 0)]
    assert found["value"].tolist() == pytest.approx(expected)
    assert found["scenarios"].tolist() == [2] * 6


def test_pass_k_needs_k_repeats():
    found = pass_k(frame_of([("a", "skill", r, 1.0) for r in range(2)]), ks=(2, 3), seed=0)
    assert found["value"].tolist()[0] == 1.0
    assert math.isnan(found["value"].tolist()[1])
    assert found["reliability"].tolist()[1] == "needs 3 repeats a scenario; one has 2"


@settings(max_examples=20)
@given(st.floats(0.1, 0.9), st.integers(1, 4))
def test_pass_k_is_unbiased(p, k):
    # Expectation over c ~ Binomial(6, p) of C(c,k) / C(6,k) is p ** k.
    expected = sum(math.comb(6, c) * p**c * (1 - p) ** (6 - c) * math.comb(c, k) / math.comb(6, k) for c in range(7))
    assert expected == pytest.approx(p**k)
    # The library gives exactly those terms: one scenario with c of 6.
    for c in range(7):
        rows = [("a", "x", r, float(r < c)) for r in range(6)]
        assert pass_k(frame_of(rows), ks=(k,), seed=0, n=1)["value"][0] == pytest.approx(
            math.comb(c, k) / math.comb(6, k)
        )


def test_means_have_intervals_over_scenarios():
    rows = [("a", "x", 0, 1.0), ("a", "x", 1, 1.0), ("b", "x", 0, 0.0)]
    found = arm_means(frame_of(rows), seed=4, n=400).iloc[0]
    slow = bootstrap({"a": [1, 1], "b": [0]}, lambda v: float(v.mean()), seed=4, n=400)
    assert (found["value"], found["low"], found["high"]) == pytest.approx((slow.estimate, slow.low, slow.high))


def test_variance_components_are_found_again():
    # Differences vary with 0.8 ** 2 between scenarios and 2 * 1.5 ** 2 within (both arms have noise 1.5).
    found = spread_of(played(0, scenarios=400, repeats=6, gain=-1, between=0.8, noise=1.5), arm="skill", metric="steps")
    assert found.between == pytest.approx(0.64, rel=0.25)
    assert found.within == pytest.approx(4.5, rel=0.1)
    assert found.difference == pytest.approx(-1, abs=0.15)
    assert found.baseline == pytest.approx(10, abs=0.5)


def test_the_detectable_difference_is_detected_four_times_of_five():
    spread = Spread(between=0.64, within=4.5, baseline=10.0, difference=0.0, scenarios=1)
    least = power_table(spread, scenarios=[40], repeats=[3])["detectable"][0]
    found = 0
    for seed in range(200):
        frame = played(seed, scenarios=40, repeats=3, gain=least, between=0.8, noise=1.5)
        d = frame.pivot(index=["scenario", "repeat"], columns="arm", values="steps")
        means = (d["skill"] - d["none"]).groupby(level="scenario").mean()
        found += abs(means.mean()) > 1.96 * means.std() / math.sqrt(40)
    # 200 draws of 0.8: standard error .028; three of them, and a little for z instead of t.
    assert found / 200 == pytest.approx(0.8, abs=0.09)


def test_power_by_hand():
    # error = sqrt((.04 + .30 / 6) / 100) = .03; (1.96 + .8416) * .03 = .0841; 20 % of the baseline would be .1.
    table = power_table(Spread(0.04, 0.30, 0.5, 0.06, 60), scenarios=[100, 400], repeats=[6])
    assert table["error"].tolist() == pytest.approx([0.03, 0.015])
    assert table["detectable"][0] == pytest.approx(2.8016 * 0.03, abs=1e-4)
    assert table["detectable_relative"][0] == pytest.approx(table["detectable"][0] / 0.5)
    # .06 is two errors away: 1 - Φ(1.96 - 2) = Φ(.04), and next to nothing on the other side.
    assert table["power_for_measured"][0] == pytest.approx(NormalDist().cdf(0.04), abs=1e-3)


def test_more_comparisons_need_a_larger_difference():
    one, ten = (power_table(Spread(0.1, 0.1, 1, 0.1, 9), comparisons=m)["detectable"] for m in (1, 10))
    assert (ten > one).all()


def test_repeats_do_not_help_against_scenarios_that_differ():
    table = power_table(Spread(0.09, 0.0, 1, 0.1, 9), scenarios=[24], repeats=[1, 6])
    assert table["error"][0] == table["error"][1]


@pytest.mark.parametrize("options", [{"power": 1.0}, {"comparisons": 0}, {"scenarios": [0]}, {"level": 0}])
def test_impossible_designs_are_refused(options):
    with pytest.raises(InputError):
        power_table(Spread(0.1, 0.1, 1, 0.1, 9), **options)


def test_sensitivity_names_the_level_that_differs():
    calm = played(1, scenarios=40, repeats=2, gain=-3, between=0.2, noise=0.5).assign(patience="calm")
    hasty = played(2, scenarios=40, repeats=2, gain=0, between=0.2, noise=0.5).assign(patience="hasty")
    hasty["scenario"] = "h" + hasty["scenario"]
    found = sensitivity(pd.concat([calm, hasty]), ["patience"], arm="skill", metric="steps", seed=0, n=300)
    assert found["level"].tolist() == ["calm", "hasty"]
    assert found["difference"].tolist() == pytest.approx([-3, 0], abs=0.3)
    assert found["change_low"][1] > 2
    assert found["reliability"][1].startswith("interval includes 0")


def test_sensitivity_pairs_the_same_scenarios_of_two_runs():
    # The same scenarios with noise in the corpus; all noise is shared, so the change is known far better than the gains.
    clean = played(1, scenarios=40, repeats=2, gain=-3, between=2, noise=0.5).assign(noise=0.0)
    noisy = clean.assign(noise=0.2)
    noisy.loc[noisy["arm"] == "skill", "steps"] += 1.0
    found = sensitivity(pd.concat([clean, noisy]), ["noise"], arm="skill", metric="steps", seed=0, n=300)
    assert (found["change"][1], found["change_low"][1], found["change_high"][1]) == pytest.approx((1.0, 1.0, 1.0))
    assert found["high"][1] - found["low"][1] > 0.5


def test_a_factor_must_be_a_column():
    with pytest.raises(InputError, match="no column 'patience'"):
        sensitivity([trial("a", "none", 0)], ["patience"], arm="none", seed=0)


def test_hypotheses_hold_or_say_why_not():
    frame = played(1, scenarios=60, repeats=3, gain=-2.0, between=0.3, noise=0.5)
    results = compare_trials(frame, seed=0, n=300)
    fewer, far_fewer, more = held(
        results,
        [
            Hypothesis("10 % fewer", "steps", "skill", -0.10),
            Hypothesis("half as many", "steps", "skill", -0.50),
            Hypothesis("more", "steps", "skill", 0.01),
        ],
    ).to_dict("records")
    assert fewer["held"]
    assert (far_fewer["held"], far_fewer["why"]) == (False, "the change is smaller than expected")
    assert not more["held"]
    with pytest.raises(InputError, match="was not compared"):
        held(results, [Hypothesis("x", "steps", "other", -0.1)])


def test_kappa_by_hand():
    # Cohen's table 20, 5, 10, 15: agreement .7, chance .5 * .6 + .5 * .4 = .5, kappa .4.
    cells = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
    judge, outcome = ({str(n): pair[side] for n, pair in enumerate(cells)} for side in (0, 1))
    found = cohen_kappa(judge, outcome, seed=0)
    assert found.interval.estimate == pytest.approx(0.4)
    assert (found.agreement, found.both, found.only_a, found.only_b, found.neither) == (0.7, 20, 5, 10, 15)
    assert found.interval.low < 0.4 < found.interval.high
    assert found.reliability == "n < 100: wide"


def test_kappa_of_one_kind_only_is_undefined_and_of_a_rare_kind_warned_about():
    same = cohen_kappa(dict.fromkeys("abc", True), dict.fromkeys("abc", True), seed=0)
    assert math.isnan(same.interval.estimate)
    assert same.reliability.startswith("both say the same")
    judge = {str(n): n > 1 for n in range(100)}
    rare = cohen_kappa(judge, {k: k not in "02" for k in judge}, seed=0)
    assert "so rare a kind" in rare.reliability


def test_kappa_resamples_scenarios():
    judge = {f"{s}/{r}": s % 2 == 0 for s in range(20) for r in range(10)}
    outcome = {k: (v if int(k.split("/")[0]) % 5 else not v) for k, v in judge.items()}
    alone = cohen_kappa(judge, outcome, seed=0, n=300).interval
    grouped = cohen_kappa(judge, outcome, clusters={k: k.split("/")[0] for k in judge}, seed=0, n=300).interval
    assert grouped.estimate == alone.estimate
    assert grouped.high - grouped.low > 2 * (alone.high - alone.low)


def test_kappa_needs_shared_trials_and_their_clusters():
    with pytest.raises(InputError, match="share no trial"):
        cohen_kappa({"a": True}, {"b": True}, seed=0)
    with pytest.raises(InputError, match="has no cluster"):
        cohen_kappa({"a": True}, {"a": True}, clusters={"b": "x"}, seed=0)
