"""From a line of the skill to what it rests on."""

from __future__ import annotations

import pytest
from scripted import HashEncoder, Scripted, conv, prop

from memlab.errors import InputError
from memlab.explaining import why
from memlab.learning import learn


@pytest.fixture
def filled(open_bank):
    bank = open_bank()
    found = {
        "c1": prop("VPN error 809", "blocked UDP 500", "open the port"),
        "c2": prop("VPN error 809", "blocked UDP 500", None, "unresolved", failed=["open the port"]),
        "c3": prop("VPN error 809", "blocked UDP 500", "open the port", "inferred", kind="workaround"),
    }
    learn(bank, [conv(i, 60 * n) for n, i in enumerate(found)], extractor=Scripted(found), encoder=HashEncoder())
    return bank


def test_a_cause_shows_how_often_each_solution_worked(filled):
    (told,) = why(filled, "blocked UDP 500")
    rates = [link["rate"] for link in told["links"] if "rate" in link]
    # Two of three conversations: Beta(1 + 2, 1 + 1) has the mean 3/5.
    assert [(r["worked"], r["failed"], round(r["mean"], 12)) for r in rates] == [(2, 1, 0.6)]
    assert 0 < rates[0]["low"] < 0.6 < rates[0]["high"] < 1
    (solution,) = why(filled, "open the port")
    assert [link["rate"] for link in solution["links"]] == rates
    assert all("rate" not in link for told in why(filled, "VPN error 809") for link in told["links"])


def test_each_conversation_shows_its_credit_and_what_is_left_of_it(filled):
    (told,) = why(filled, "open the port")
    assert told["half_life_days"] == 120.0
    # confirmed 1; failed −0.75; inferred 0.6, halved as a workaround. Seen from the last, they are 120, 60, 0 days old:
    # 0.1 + 0.9 · 2^(−age/120).
    assert [e["credit"] for e in told["evidence"]] == [1.0, -0.75, 0.3]
    assert [round(e["left"], 4) for e in told["evidence"]] == [0.55, 0.7364, 1.0]
    filled.configure("vpn", half_life_days=60)
    assert [round(e["left"], 4) for e in why(filled, "open the port")[0]["evidence"]] == [0.325, 0.55, 1.0]


def test_every_operation_and_decision_is_named(filled):
    (told,) = why(filled, "blocked UDP 500", category="vpn")
    assert [(o["op"], o["conversation"]) for o in told["operations"]] == [
        ("add", "c1"),
        ("reinforce", "c2"),
        ("reinforce", "c3"),
    ]
    assert all(o["reason"] for o in told["operations"])
    with pytest.raises(InputError, match="no entry"):
        why(filled, "nothing of the kind")
