"""The before/after study: formulas by hand, known effects found again, and every check in a case where it must fire."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memlab.errors import InputError
from memlab.evaluation.rollout import (
    FAULTS,
    Classifier,
    mantel_haenszel,
    newcombe,
    play_fault,
    read_incidents,
    recovery,
    rogan_gladen,
    rollout_svg,
    simulate_rollout,
    study_rollout,
)
from memlab.evaluation.rollout.classifier import tipping_point
from memlab.evaluation.rollout.figure import weekly_rates
from memlab.evaluation.rollout.rates import Cell, mix_effect, segmented, standardised
from memlab.evaluation.rollout.simulated import RATES, ROLLOUT

HEADER = "id,opened_at,category,resolved,period,resolved_by\n"


def study(frame: pd.DataFrame, **options: object):
    return study_rollout(read_incidents(frame, rollout=ROLLOUT), seed=0, n=300, **options)


def table_of(cells: dict[str, tuple[int, int, int, int]], **columns: str) -> pd.DataFrame:
    """Incidents with exactly these counts: resolved and all before, resolved and all after, by category."""
    rows = []
    for name, counts in cells.items():
        for after in (False, True):
            good, size = counts[2:] if after else counts[:2]
            for n in range(size):
                day = (n * 7) % 80
                at = ROLLOUT + timedelta(days=day if after else -day - 1)
                rows.append({"opened_at": at.isoformat(), "category": name, "resolved": n < good})
    frame = pd.DataFrame(rows)
    return frame.assign(id=[f"I{n}" for n in range(len(frame))], **columns)


# --- formulas -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "low", "high"),
    [  # Newcombe (1998), table II, method 10: 56/70 - 48/80, 9/10 - 3/10, 10/10 - 0/20
        (Cell(48, 80, 56, 70), 0.0524, 0.3339),
        (Cell(3, 10, 9, 10), 0.1705, 0.8090),
        (Cell(0, 20, 10, 10), 0.6791, 1.0000),
    ],
)
def test_newcombe_gives_the_published_intervals(cell, low, high):
    found = newcombe(cell)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-4)


def test_mantel_haenszel_of_one_category_is_the_plain_difference():
    # .7 - .5; Sato's variance with one table: (d P + Q) / W² with W = 50, P = 50/4 - 70/4 = -5, Q = (70*50 + 50*30)/400.
    found = mantel_haenszel({"x": Cell(50, 100, 70, 100)})
    assert found.estimate == pytest.approx(0.2)
    error = math.sqrt((0.2 * -5 + 12.5) / 50**2)
    assert found.high - found.estimate == pytest.approx(1.959964 * error, rel=1e-5)


def test_mantel_haenszel_by_hand():
    # a: weight 10*30/40 = 7.5, difference .4; b: weight 20*20/40 = 10, difference 0: (7.5 * .4) / 17.5.
    cells = {"a": Cell(5, 10, 27, 30), "b": Cell(10, 20, 10, 20)}
    assert mantel_haenszel(cells).estimate == pytest.approx(3 / 17.5)
    assert mantel_haenszel({**cells, "only after": Cell(0, 0, 9, 9)}).estimate == pytest.approx(3 / 17.5)


def test_mantel_haenszel_needs_a_category_of_both_periods():
    with pytest.raises(InputError, match="no category has incidents in both"):
        mantel_haenszel({"a": Cell(1, 2, 0, 0)})


def test_standardised_rates_by_hand():
    # Weights 7.5 and 10. Before .5 in both, after (7.5 * .9 + 10 * .5) / 17.5; the difference is Mantel-Haenszel's.
    cells = {"a": Cell(5, 10, 27, 30), "b": Cell(10, 20, 10, 20), "none before": Cell(0, 0, 3, 4)}
    before, after = standardised(cells)
    assert (before, after) == pytest.approx((0.5, 11.75 / 17.5))
    assert after - before == pytest.approx(mantel_haenszel(cells).estimate)


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(st.integers(1, 40), st.integers(1, 40), st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=4
    )
)
def test_mix_and_rates_make_up_the_crude_difference(rows):
    # Kitagawa: crude = Σ Δshare · mean rate + Σ mean share · Δrate.
    cells = [(round(p * n0), n0, round(q * n1), n1) for n0, n1, p, q in rows]
    b, n0, a, n1 = np.array(cells, float).T
    shares = (n0 / n0.sum() + n1 / n1.sum()) / 2
    rates = float((shares * (a / n1 - b / n0)).sum())
    crude = a.sum() / n1.sum() - b.sum() / n0.sum()
    assert float(mix_effect(np.array([cells], float))[0]) + rates == pytest.approx(crude, abs=1e-12)


def test_a_known_step_and_slope_are_found():
    # No noise in the rate itself: .3 + .01 a week, and .2 at the rollout; 20,000 incidents.
    rng = np.random.default_rng(0)
    weeks = rng.uniform(-10, 10, 20000)
    after = weeks >= 0
    said = rng.random(20000) < 0.4 + 0.01 * weeks + 0.2 * after
    found = segmented(weeks, after, said, ["x"] * 20000)
    assert found.slope.low < 0.01 < found.slope.high
    assert found.step.low < 0.2 < found.step.high
    assert found.bend.low < 0 < found.bend.high
    assert found.carried == pytest.approx(10 * found.slope.estimate, rel=0.02)
    assert found.slope.high - found.slope.low < 0.02


def test_rogan_gladen_undoes_the_errors_of_a_classifier():
    c = Classifier(0.9, 0.8)
    for true in (0.0, 0.3, 1.0):
        assert rogan_gladen(true * 0.9 + (1 - true) * 0.2, c) == pytest.approx(true)
    assert rogan_gladen(0.1, c) == 0.0  # fewer than the false alarms alone would give


def test_the_tipping_point_is_where_errors_make_all_of_it():
    c = Classifier(0.9, 0.8)
    before, true = 0.55, rogan_gladen(0.55, c)
    point = tipping_point(before, 0.62, c)
    assert true * 0.9 + (1 - true) * (1 - point) == pytest.approx(0.62)
    assert point < 0.8


@pytest.mark.parametrize("bad", [(1.2, 0.9), (0.5, 0.5), (0.9, -0.1)])
def test_an_impossible_classifier_is_refused(bad):
    with pytest.raises(InputError):
        Classifier(*bad)


def test_a_validation_sample_needs_both_kinds():
    assert Classifier.measured(tp=9, fn=1, tn=4, fp=1) == Classifier(0.9, 0.8, 10, 5)
    with pytest.raises(InputError, match="needs resolved and unresolved"):
        Classifier.measured(tp=9, fn=1, tn=0, fp=0)


# --- the simulated rollout ------------------------------------------------------------------------------------------


def test_a_simulated_rollout_repeats_and_reads_back():
    frame = simulate_rollout(seed=3)
    pd.testing.assert_frame_equal(frame, simulate_rollout(seed=3))
    assert len(frame) == 1338
    assert not frame.equals(simulate_rollout(seed=4))
    table = read_incidents(frame, rollout=ROLLOUT)
    assert (len(table.incidents), table.skipped) == (1338, ())
    assert sum(i.period == "after" for i in table.incidents) == 669
    assert sum(share for share, _ in RATES.values()) == pytest.approx(1)


def test_the_known_effect_is_recovered_with_honest_intervals():
    # 40 seeds; of nominal 95 % intervals at least 34 hold the truth, unless by a chance of 4 in 1,000 or less.
    effect, found = 0.06, []
    for seed in range(40):
        found.append(
            study_rollout(read_incidents(simulate_rollout(seed=seed, effect=effect), rollout=ROLLOUT), seed=0, n=20)
        )
    held = sum(s.difference.low <= effect <= s.difference.high for s in found)
    assert held >= 34
    # Standard error of the mean of 40 differences: .026 / √40 = .0041.
    assert np.mean([s.difference.estimate for s in found]) == pytest.approx(effect, abs=0.0125)
    # A trend that is not there is seen on one side in 2.5 %; a mix that did not change, hardly ever.
    assert sum("trend" in s.fired for s in found) <= 6
    assert sum("mix" in s.fired for s in found) <= 6


@pytest.mark.parametrize("bad", [{"effect": 0.5}, {"mix_shift": 0.9}, {"incidents": 1}])
def test_impossible_rollouts_are_refused(bad):
    with pytest.raises(InputError):
        simulate_rollout(seed=0, **bad)


# --- the checks -----------------------------------------------------------------------------------------------------


def check(found, name):
    return found.check(name)


def test_nothing_fires_on_a_plain_gain():
    found = study(table_of({"a": (100, 200, 140, 200), "b": (150, 200, 180, 200)}))
    assert found.fired == ()
    assert found.reliability == "decisive"
    # (140 + 180 - 100 - 150) / 400; the rates are alike in size, so the mix does not matter.
    assert found.difference.estimate == pytest.approx(0.175)
    assert found.relative.estimate == pytest.approx(0.8 / 0.625 - 1)


def test_a_changed_mix_fires_where_the_crude_difference_deceives():
    # Every category stays as it was, easy ones come more often: Simpson.
    found = study(table_of({"easy": (90, 100, 270, 300), "hard": (120, 300, 40, 100)}))
    assert found.crude.low > 0.1
    assert found.difference.estimate == pytest.approx(0.0)
    assert found.fired == ("mix",)
    assert check(found, "mix").estimate.estimate == pytest.approx(found.crude.estimate)


def test_a_rising_rate_before_fires_and_a_falling_one_does_not():
    rising = study(simulate_rollout(seed=1, effect=0.0, trend=0.012, incidents=4000))
    falling = study(simulate_rollout(seed=1, effect=0.15, trend=-0.012, incidents=4000))
    assert check(rising, "trend").fired
    assert rising.difference.low > 0.05  # it would have looked like a gain
    assert not check(falling, "trend").fired
    assert "look at trend first" in rising.reliability


def test_too_few_incidents_draw_no_line():
    found = study(table_of({"a": (5, 20, 9, 20)}))
    assert "no line can be fitted" in check(found, "trend").text
    assert "n < 100: wide" in found.reliability


def test_a_classifier_without_known_errors_fires():
    frame = table_of({"a": (100, 200, 140, 200)}, resolved_by="classifier")
    assert check(study(frame), "classifier").fired


def test_a_classifier_that_changed_fires_once_it_is_measured_in_each_period():
    before, after = Classifier(0.9, 0.9), Classifier(0.98, 0.65)
    frame = simulate_rollout(seed=2, effect=0.0, incidents=4000, classifier=(before, after))
    each = study(frame, classifier=(Classifier(0.9, 0.9, 400, 400), Classifier(0.98, 0.65, 400, 400)))
    assert each.difference.low > 0.05
    found = check(each, "classifier")
    assert found.fired
    assert found.estimate.low < 0 < found.estimate.high
    # Measured before only, the corrected difference is even larger; the text still says what would undo it.
    once = check(study(frame, classifier=Classifier(0.9, 0.9, 400, 400)), "classifier")
    assert not once.fired
    assert "would make all of it" in once.text


def test_equal_errors_only_make_a_gain_smaller():
    c = Classifier(0.85, 0.85, 1000, 1000)
    found = study(simulate_rollout(seed=5, effect=0.15, incidents=6000, classifier=c), classifier=c)
    corrected = check(found, "classifier")
    assert not corrected.fired
    assert corrected.estimate.estimate == pytest.approx(found.difference.estimate / 0.7, rel=1e-6)
    assert corrected.estimate.low < 0.15 < corrected.estimate.high


def test_hardly_validated_errors_make_a_wide_interval_that_fires():
    frame = simulate_rollout(seed=5, effect=0.06, incidents=2000, classifier=Classifier(0.85, 0.85))
    narrow, wide = (check(study(frame, classifier=Classifier(0.85, 0.85, n, n)), "classifier") for n in (9000, 20))
    assert wide.estimate.high - wide.estimate.low > 2 * (narrow.estimate.high - narrow.estimate.low)
    assert wide.fired


def test_another_way_to_count_fires():
    frame = table_of({"a": (100, 200, 140, 200)})
    later = pd.to_datetime(frame["opened_at"]) >= pd.Timestamp(ROLLOUT)
    frame["resolved_by"] = np.where(later, "classifier", "confirmation")
    found = study(frame, classifier=Classifier(0.9, 0.9))
    assert check(found, "method").fired
    assert check(found, "classifier").text.startswith("no category has outcomes of one kind in both periods")


def test_unknown_outcomes_fire_if_they_could_undo_the_gain():
    frame = simulate_rollout(seed=1, effect=0.1, missing=(0.02, 0.25))
    found = study(frame)
    assert check(found, "missing").fired
    assert found.unknown == (frame["resolved"] == "").sum()
    few = table_of({"a": (100, 200, 160, 200)})
    few["resolved"] = few["resolved"].astype(object)
    few.loc[few.index[-2:], "resolved"] = None
    assert not check(study(few), "missing").fired


def test_categories_of_one_period_are_named():
    found = study(table_of({"a": (50, 100, 70, 100), "new": (0, 0, 30, 40)}))
    assert check(found, "overlap").fired
    assert check(found, "overlap").text.endswith("new")
    assert found.difference.estimate == pytest.approx(0.2)


def test_a_loss_is_a_loss():
    found = study(table_of({"a": (160, 200, 120, 200)}))
    assert found.difference.high < 0
    assert found.fired == ()


@pytest.mark.parametrize("fault", [f for f in FAULTS if "no fault" not in f])
def test_every_fault_is_seen_by_its_own_check(fault):
    # Twice as many incidents as in the notebook, so that one seed tells.
    found, table = play_fault(fault, seed=1, incidents=2676, n=100)
    assert fault in found.fired
    assert len(table.incidents) == 2676


def test_recovery_counts_what_was_found():
    table = recovery(rollouts=2, seed=0, incidents=300, n=20)
    assert table["fault"].tolist() == list(FAULTS)
    assert table["truth"].tolist()[:3] == [0.06, 0.0, 0.0]
    assert table[["held", "clear", "mix", "overlap"]].isin([0.0, 0.5, 1.0]).all(axis=None)
    with pytest.raises(InputError, match="no fault 'x'; known: gain"):
        play_fault("x", seed=0)


def test_the_detectable_difference_follows_the_interval():
    # 200 + 200 at rates of about a half: error .05 / 1, 2.8 of it.
    found = study(table_of({"a": (100, 200, 100, 200)}))
    assert found.detectable == pytest.approx(2.80 * 0.05, abs=1e-3)


# --- results --------------------------------------------------------------------------------------------------------


def test_the_study_is_a_frame_and_a_text_and_does_not_depend_on_the_order_of_rows():
    frame = simulate_rollout(seed=6, incidents=400)
    found = study(frame)
    shuffled = study(frame.sample(frac=1, random_state=2))
    assert found == shuffled
    rows = found.to_frame()
    assert rows["category"].tolist()[:5] == ["(all)"] * 5
    assert len(rows) == 5 + 3 * len(RATES)
    assert found.checks_frame()["check"].tolist() == ["mix", "trend", "classifier", "method", "missing", "overlap"]
    assert found.text().splitlines()[0] == "400 incidents, 0 without a known outcome, 0 rows left out"
    assert str(found) == found.text()
    assert max(map(len, found.text().splitlines())) <= 104
    with pytest.raises(InputError, match="no check 'x'; there are mix, trend"):
        found.check("x")


def test_the_picture_repeats_byte_for_byte_and_says_what_it_shows():
    table = read_incidents(simulate_rollout(seed=6, incidents=400), rollout=ROLLOUT)
    found = study_rollout(table, seed=0, n=50)
    first = rollout_svg(found, table)
    assert first == rollout_svg(study_rollout(table, seed=0, n=50), table)
    assert first.startswith("<svg")
    assert f"{found.difference.estimate:+.3f}" in first
    weeks = weekly_rates(table)
    assert weeks["n"].sum() == 400
    assert weeks[weeks["period"] == "before"]["week"].max() == -1


# --- tables ---------------------------------------------------------------------------------------------------------

GOOD = "1,2026-03-01T10:00:00+00:00,vpn,yes,before,\n2,2026-05-01T10:00:00+00:00,vpn,no,after,classifier\n"


def write(tmp_path, text: str, name: str = "incidents.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_csv_file_a_parquet_file_and_a_frame_are_the_same(tmp_path):
    frame = simulate_rollout(seed=8, incidents=60, missing=(0.1, 0.1))
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "semicolon.csv", index=False, sep=";", encoding="utf-16")
    frame.assign(opened_at=pd.to_datetime(frame["opened_at"])).to_parquet(tmp_path / "t.parquet")
    first = read_incidents(frame, rollout=ROLLOUT)
    for name in ("t.csv", "semicolon.csv", "t.parquet"):
        assert read_incidents(tmp_path / name, rollout=ROLLOUT).incidents == first.incidents
    assert (
        read_incidents(str(tmp_path / "t.csv"), rollout="2026-04-06T00:00:00+00:00").to_frame().equals(first.to_frame())
    )


def test_columns_can_have_other_names_and_periods_may_be_given(tmp_path):
    path = write(tmp_path, (HEADER + GOOD).replace("opened_at", "created"))
    table = read_incidents(path, columns={"opened_at": "created"})
    assert [(i.period, i.resolved, i.resolved_by) for i in table.incidents] == [
        ("before", True, "confirmation"),
        ("after", False, "classifier"),
    ]
    assert table.rollout == datetime(2026, 5, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (",2026-03-01T10:00:00+00:00,vpn,yes,before,", "no id"),
        ("3,2026-03-01T10:00:00+00:00,,yes,before,", "no category"),
        ("3,2026-03-01T10:00:00,vpn,yes,before,", "opened_at: '2026-03-01T10:00:00' has no UTC offset"),
        ("3,last week,vpn,yes,before,", "opened_at: 'last week' is not an ISO 8601 time"),
        ("3,,vpn,yes,before,", "opened_at: a time is needed"),
        ("3,2026-03-01T10:00:00+00:00,vpn,perhaps,before,", "resolved must be yes or no"),
        ("3,2026-03-01T10:00:00+00:00,vpn,yes,during,", "period must be before or after, not 'during'"),
        ("3,2026-03-01T10:00:00+00:00,vpn,yes,before,boss", "resolved_by must be confirmation or classifier"),
        ("1,2026-03-01T10:00:00+00:00,vpn,yes,before,", "id '1' was on line 2 already"),
        ("3,2026-03-01T10:00:00+00:00,vpn,yes", "4 cells where the header has 6"),
    ],
)
def test_a_bad_row_is_left_out_with_its_line_or_stops(tmp_path, row, reason):
    path = write(tmp_path, HEADER + GOOD + row + "\n")
    table = read_incidents(path)
    assert len(table.incidents) == 2
    assert table.skipped[0].line == 4
    assert table.skipped[0].reason.startswith(reason)
    assert study_rollout(table, seed=0, n=20).skipped == 1
    with pytest.raises(InputError, match=r"incidents\.csv:4: "):
        read_incidents(path, strict=True)


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("id,opened_at,category\n1,2,3\n", {"rollout": ROLLOUT}, r"incidents\.csv:1: no column resolved; it has id"),
        ("", {"rollout": ROLLOUT}, "it has none"),
        ("id,opened_at,category,resolved\n", {}, "no column period, and no rollout date"),
        ("id,opened_at,category,resolved\n", {"rollout": ROLLOUT}, "no incident could be read"),
        (HEADER + GOOD.splitlines()[0] + "\n", {}, "no incident is from after the rollout"),
        (HEADER + "1,never,vpn,yes,before,\n", {}, "the first row left out is line 2: opened_at"),
        (HEADER + GOOD, {"columns": {"colour": "x"}}, "has no column 'colour'"),
        (HEADER + GOOD, {"columns": {"period": "phase"}}, "no column phase"),
    ],
)
def test_a_table_that_can_not_be_studied_is_refused(tmp_path, text, options, said):
    with pytest.raises(InputError, match=said):
        read_incidents(write(tmp_path, text), **options)


def test_a_file_that_is_no_parquet_is_named(tmp_path):
    with pytest.raises(InputError, match="not a readable Parquet file"):
        read_incidents(write(tmp_path, "x", "t.parquet"), rollout=ROLLOUT)


def test_a_study_needs_known_outcomes_on_both_sides():
    frame = table_of({"a": (1, 4, 0, 4)}).astype({"resolved": object})
    frame.loc[frame.index[4:], "resolved"] = None
    with pytest.raises(InputError, match="no category has known outcomes both"):
        study(frame)
