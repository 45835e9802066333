"""`memlab tidy`: limits, rest, and undo from the command line."""

from __future__ import annotations

import pytest
from calls import done, refused, rows
from scripted import HashEncoder, Scripted, conv, prop

from memlab.bank import Bank
from memlab.learning import learn


@pytest.fixture
def whose(home) -> list[str]:
    words = "alpha beta gamma".split()
    found = {f"c{n}": prop("lamp flickers", "loose plug", f"{w} {w}ish") for n, w in enumerate(words)}
    with Bank.open(home, "acme") as bank:
        learn(bank, [conv(i, n) for n, i in enumerate(found)], extractor=Scripted(found), encoder=HashEncoder())
    return ["--home", str(home), "--customer", "acme", "--category", "vpn"]


def test_the_weakest_rest_and_a_run_is_taken_back(whose):
    shown = done("skill", *whose).stdout
    (told,) = rows("tidy", *whose, "--run", "tidy-1", "--most-entries", 3, "--most", 0.4)
    # Five entries, a budget of two: a symptom, a cause and the newest of three solutions stay.
    assert [r["title"] for r in told["rested"]] == ["alpha alphaish", "beta betaish"]
    assert (told["merged"], told["over"]) == ([], 0)
    assert "alphaish" not in done("skill", *whose).stdout
    assert "new name" in refused("tidy", *whose, "--run", "tidy-1")
    assert "took back 2" in done("tidy", *whose, "--undo", "tidy-1").stdout
    done("tidy", *whose, "--run", "tidy-2", "--most-entries", 1000)  # a limit that nothing exceeds
    assert done("skill", *whose).stdout == shown


def test_a_wrong_call_says_what_is_needed(whose):
    assert "--run" in refused("tidy", *whose, code=2)
    assert "known: none" in refused("tidy", *whose, "--undo", "tidy-9")
    assert "most must be in" in refused("tidy", *whose, "--run", "tidy-1", "--most", 0)
