"""Growth: what returns, whether weight foretells it, and what a limit would have taken away."""

from __future__ import annotations

import math

import pytest
from scripted import HashEncoder, Scripted, conv, prop

from memlab.evaluation.growing import half_life_sweep, needed_later, reinforcing, rendered_tokens, returns
from memlab.learning import learn

A, B, C = (prop(*texts) for texts in (("no sound", "muted headset", "unmute"), ("door squeaks", "dry hinge", "oil it"),
                                      ("lamp flickers", "loose plug", "push it in")))  # fmt: skip


@pytest.fixture
def bank(open_bank):
    """Ten days: A, B, A, A, C, A, B; what comes back is A three times and B once."""
    bank = open_bank()
    found = {f"c{n}": p for n, p in enumerate((A, B, A, A, C, A, B))}
    learn(bank, [conv(i, n) for n, i in enumerate(found)], extractor=Scripted(found), encoder=HashEncoder())
    return bank


def test_returns_are_conversations_about_a_known_cause(bank):
    found = returns([bank])
    assert [r.conversation for r in found] == ["c2", "c3", "c5", "c6"]
    assert all(len(r.causes) == 1 and r.category == "vpn" for r in found)
    assert returns([]) == []


def test_reinforcing_counts_by_part_of_history(bank):
    frame = reinforcing(bank.operations("vpn"), parts=2).set_index(["part", "kind"])
    # c0 to c3: A and B are new, A comes twice more; c4 to c6: C is new, A and B come again.
    assert frame.loc[(1, "cause"), "reinforced"] == pytest.approx(0.5)
    assert frame.loc[(2, "cause"), "reinforced"] == pytest.approx(2 / 3)
    assert (frame["same_words"].dropna() == 1).all()
    assert (frame["merges"] == 0).all()
    assert reinforcing([], parts=2)["n"].sum() == 0


def test_weight_is_judged_by_the_rank_of_what_came(bank):
    frame = half_life_sweep(returns([bank]), [30.0], seed=1, n=50).set_index("order")
    # Before c2: A is older than B; c3, c5: A leads; c6: A (4) then C, B equally often, C later.
    # With a half-life: B, A → 1/2; 1; 1; A, C, B → 1/3. Mean (1/2 + 1 + 1 + 1/3) / 4.
    assert frame.loc["half-life 30 days", "value"] == pytest.approx((0.5 + 1 + 1 + 1 / 3) / 4)
    # Last seen first, before c2: B, A; c3: A; c5: C, A; c6: A, C, B.
    assert frame.loc["last seen first", "value"] == pytest.approx((0.5 + 1 + 0.5 + 1 / 3) / 4)
    # In a random order of two the expected reciprocal rank of one is (1 + 1/2) / 2; of three (1 + 1/2 + 1/3) / 3.
    assert frame.loc["random order", "value"] == pytest.approx((2 * 0.75 + 2 * (11 / 6) / 3) / 4)
    assert math.isnan(frame.loc["no decay", "half_life_days"])


def test_the_only_answers_are_never_removed(bank):
    frame = needed_later(returns([bank]), [1.0, 0.1], seed=1).set_index(["keep", "by"])
    # Each symptom here has one cause and one solution: even a limit of a tenth takes nothing.
    assert (frame["removed"] == 0).all()
    assert (frame["value"] == 0).all()
    assert (frame["n"] == 4).all()


def test_a_removed_cause_that_comes_back_is_counted(open_bank):
    bank = open_bank()
    told = [prop("no sound", "muted headset", "unmute"), *[prop("no sound", "old driver", "renew it")] * 3,
            prop("no sound", "muted headset", "unmute")]  # fmt: skip
    found = {f"c{n}": p for n, p in enumerate(told)}
    learn(bank, [conv(i, n) for n, i in enumerate(found)], extractor=Scripted(found), encoder=HashEncoder())
    frame = needed_later(returns([bank]), [0.5], seed=1).set_index("by")
    # c2 and c3 return to "old driver", c4 to "muted headset", the weaker of two causes of one symptom: it had gone.
    assert frame.loc["weight", "n"] == 3
    assert frame.loc["weight", "value"] >= 1 / 3


def test_tokens_grow_with_what_was_told(bank):
    frame = rendered_tokens(bank, "vpn", count=lambda text: len(text.split()), steps=3)
    assert frame["conversations"].tolist() == [2, 5, 7]
    assert frame["tokens"].is_monotonic_increasing
    assert frame["entries"].tolist() == [6, 9, 9]
