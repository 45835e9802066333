"""Limits: what rests is the weakest, within a budget, never the only answer; undone by run, back when spoken of again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta

import pytest
from scripted import START, HashEncoder, Scripted, conv, prop

from memlab.bank import Bank
from memlab.bank.limits import over_limit, prune, tidy
from memlab.curation.decisions import Decision
from memlab.errors import InputError
from memlab.learning import learn

ENCODER = HashEncoder()
WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa".split()


def words_of(graph) -> int:
    return sum(len(e.title.split()) for e in graph.entries.values())


@pytest.fixture
def bank(home) -> Iterator[Bank]:
    """One symptom and cause, ten ways to mend it that each helped once, the last one newest; and a rare case."""
    found = {f"c{n}": prop("lamp flickers", "loose plug", f"{w} {w}ish") for n, w in enumerate(WORDS)}
    found["rare"] = prop("door squeaks", "dry hinge", "oil it")
    order = [conv("rare", -300), *(conv(f"c{n}", n) for n in range(len(WORDS)))]
    with Bank.open(home, "acme") as opened:
        learn(opened, order, extractor=Scripted(found), encoder=ENCODER)
        yield opened


def solutions(bank: Bank, **more) -> list[str]:
    return [e.title for e in bank.graph("vpn", **more).of_kind("solution")]


def test_nothing_rests_without_a_limit(bank):
    assert over_limit(bank, "vpn") == 0
    assert prune(bank, "vpn", run="tidy-1") == []


def test_the_weakest_rest_within_the_budget_and_undo_gives_the_bytes_back(bank, snap):
    bank.configure("vpn", most_entries=10)  # 15: two symptoms, two causes, eleven solutions
    before, operations = snap(bank), list(bank.operations("vpn"))
    assert over_limit(bank, "vpn") == 5
    rested = prune(bank, "vpn", run="tidy-1", most=0.2)  # 0.2 · 15 = 3
    assert [r.title for r in rested] == ["alpha alphaish", "beta betaish", "gamma gammaish"]  # the oldest weigh least
    assert [r.weight for r in rested] == sorted(r.weight for r in rested)
    assert over_limit(bank, "vpn") == 2
    assert len(bank.graph("vpn", limited=False).entries) == 12
    assert bank.dirty() == []  # nothing was curated again
    assert list(bank.operations("vpn")) == operations
    assert "oil it" in solutions(bank)
    with pytest.raises(InputError, match="new name"):
        prune(bank, "vpn", run="tidy-1")
    assert bank.undo("tidy-1") == 3
    assert snap(bank) == before


def test_the_only_answer_never_rests(bank):
    bank.configure("vpn", most_entries=1)
    for n in range(20):
        prune(bank, "vpn", run=f"tidy-{n}", most=1.0)
    left = {e.title for e in bank.graph("vpn", limited=False).entries.values()}
    assert {"door squeaks", "dry hinge", "oil it", "lamp flickers", "loose plug"} <= left
    assert len(left) == 6  # and one way to mend the plug, the newest


def test_a_resting_entry_is_back_when_it_is_spoken_of_and_was_there_before(bank):
    bank.configure("vpn", most_entries=10)
    prune(bank, "vpn", run="tidy-1", most=0.2)
    assert "alpha alphaish" not in solutions(bank, limited=False)
    assert "alpha alphaish" in solutions(bank, at=START + timedelta(days=5), limited=False)
    again = Scripted({"later": prop("lamp flickers", "loose plug", "alpha alphaish")})
    learn(bank, [conv("later", 20)], extractor=again, encoder=ENCODER)
    assert "alpha alphaish" in solutions(bank, limited=False)
    assert "beta betaish" not in solutions(bank, limited=False)


def test_tokens_are_a_limit_as_well(bank):
    bank.configure("vpn", most_tokens=20)
    many = over_limit(bank, "vpn", tokens=words_of)
    graph = bank.graph("vpn")
    assert words_of(graph.without(graph.weakest(many))) <= 20 < words_of(graph.without(graph.weakest(many - 1)))
    prune(bank, "vpn", run="tidy-1", most=1.0, tokens=words_of)
    assert over_limit(bank, "vpn", tokens=words_of) == 0
    bank.configure("vpn", most_tokens=10_000)
    assert over_limit(bank, "vpn") == 0  # the rendered skill is shorter


def test_tidying_merges_first_and_spends_one_budget(bank, snap):
    bank.configure("vpn", most_entries=10)
    before = snap(bank)
    done = tidy(bank, "vpn", run="tidy-1", most=0.2)
    assert done.merged == ()
    assert (len(done.rested), done.over) == (3, 2)
    bank.undo("tidy-1")
    assert snap(bank) == before


def test_a_rest_survives_export_and_import(bank, home, tmp_path, snap):
    bank.configure("vpn", most_entries=10)
    prune(bank, "vpn", run="tidy-1", most=0.2)
    told = json.loads(snap(bank))
    with Bank.import_(told, tmp_path / "other", encoder=ENCODER) as copy:
        assert snap(copy) == snap(bank)


def test_a_rest_needs_a_moment_with_a_zone():
    with pytest.raises(InputError, match="a moment"):
        Decision("rest", "vpn", "solution", "a")
    with pytest.raises(InputError):
        Decision("rest", "vpn", "solution", "a", "2026-03-02T09:00:00")
    one, other = (Decision("rest", "vpn", "solution", "a", t) for t in ("2026-03-02T10:00+01:00", "2026-03-02T09:00Z"))
    assert one == other
