"""The plain baseline: means of marked clauses, cuts from a dev split, and proposals that quote what they rest on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from memlab.errors import InputError
from memlab.evaluation.prototypes import (
    CUT_FOR,
    Prototypes,
    choose_cuts,
    learn_prototypes,
    prototype_proposals,
    read_prototypes,
    shipped_prototypes,
)
from memlab.records import Conversation, Turn

KINDS = ("breaks", "because", "swapped", "worked", "thanks")


class Topics:
    """A vector says which of five words a text holds: what is alike is plain to see."""

    name = "topics"

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.array([[float(k in t.lower()) for k in KINDS] + [0.2] for t in texts], np.float32)
        return rows.reshape(len(texts), len(KINDS) + 1) / np.linalg.norm(rows, axis=1, keepdims=True)


def conversation(id_: str, thing: str, *, category: str | None = "printing") -> Conversation:
    turns = (
        Turn("user", f"Morning all. The {thing} breaks every hour."),
        Turn("agent", f"That is because of an old {thing} driver. We swapped the {thing} driver."),
        Turn("user", f"Many thanks to you. It worked at once, the {thing} is well."),
    )
    return Conversation(id_, "acme", datetime(2026, 1, 1, tzinfo=UTC), turns, category)


def label(id_: str, thing: str) -> dict[str, Any]:
    swapped = {"turn": 1, "quote": f"We swapped the {thing} driver"}
    return {
        "conversation": id_,
        "case": 0,
        "category": "printing",
        "low_value": False,
        "symptoms": [{"id": "s", "text": f"{thing} breaks", "turn": 0, "quote": f"The {thing} breaks every hour"}],
        "root_cause": {
            "id": "c",
            "text": f"old {thing} driver",
            "turn": 1,
            "quote": f"because of an old {thing} driver",
        },
        "attempts": [{"action": f"swapped the {thing} driver", "outcome": "worked", "by": "agent", **swapped}],
        "solution": {"id": "x", "text": f"swapped the {thing} driver", **swapped},
        "solution_kind": "fix",
        "resolution": "confirmed",
        "profile": [],
        "phenomena": [],
    }


@pytest.fixture(scope="module")
def learned() -> Prototypes:
    train = [conversation(f"t{n}", thing) for n, thing in enumerate(("printer", "scanner"))]
    labels = [label(f"t{n}", thing) for n, thing in enumerate(("printer", "scanner"))]
    return learn_prototypes(train, labels, encoder=Topics())


def test_a_mean_is_that_of_the_clauses_with_the_quote(learned: Prototypes) -> None:
    # Both symptoms hold "breaks" and nothing else: (1, 0, 0, 0, 0, 0.2) / √1.04.
    expected = np.array([1, 0, 0, 0, 0, 0.2], np.float32) / np.sqrt(np.float32(1.04))
    np.testing.assert_allclose(learned.means["field", "symptom"], expected, atol=1e-6)
    assert {k for kind, k in learned.means if kind == "field"} == {"any", "symptom", "cause", "solution", "attempt"}
    assert ("outcome", "worked") in learned.means
    assert ("outcome", "failed") not in learned.means
    assert all(np.linalg.norm(v) == pytest.approx(1, abs=1e-5) for v in learned.means.values())


def test_it_reads_what_resembles_what_it_has_seen(learned: Prototypes) -> None:
    chosen = choose_cuts(learned, [conversation("d", "plotter")], [label("d", "plotter")], encoder=Topics())
    unseen = conversation("u", "copier")
    (found,) = prototype_proposals([unseen], prototypes=chosen, encoder=Topics())
    assert [m.text for m in found.symptoms] == ["printing: copier breaks every hour"]
    assert found.root_cause is not None
    assert "copier driver" in found.root_cause.text
    assert [(a.outcome, a.by, a.turn) for a in found.attempts] == [("worked", "agent", 1)]
    assert found.solution is not None
    assert (found.solution.kind, found.resolution, found.category) == ("fix", "confirmed", "printing")
    quoted = [*found.symptoms, found.root_cause, found.solution, *found.attempts]
    assert all(q.quote in unseen.turns[q.turn].text for q in quoted)


def test_cuts_are_those_of_the_best_score_and_ties_go_to_the_smallest(learned: Prototypes) -> None:
    dev, gold = [conversation("d", "plotter")], [label("d", "plotter")]
    chosen = choose_cuts(learned, dev, gold, encoder=Topics(), grid=(0.0, 0.1, 5.0))
    # A margin of cosines is at most 2: with 5.0 nothing would be marked, so no field with something to find takes it.
    assert all(chosen.cuts[name] < 5.0 for name in ("symptom", "cause", "solution", "attempt"))
    # Nobody is of low value and "low value" has no mean (margin -1): all cuts score the same.
    assert chosen.cuts["low"] == 0.0
    assert set(chosen.cuts) == set(CUT_FOR)


def test_prototypes_survive_a_file_and_equal_ones_are_equal_bytes(learned: Prototypes) -> None:
    data = learned.to_bytes()
    again = read_prototypes(data)
    assert again.to_bytes() == data
    assert dict(again.cuts) == dict(learned.cuts)
    assert all(np.allclose(again.means[k], v, atol=1e-3) for k, v in learned.means.items())


def test_nothing_labelled_is_refused_and_an_empty_conversation_is_of_low_value(learned: Prototypes) -> None:
    with pytest.raises(InputError, match="need labelled conversations"):
        learn_prototypes([conversation("t", "printer")], [], encoder=Topics())
    empty = Conversation("e", "acme", datetime(2026, 1, 1, tzinfo=UTC), (Turn("user", " "),), None)
    (found,) = prototype_proposals([empty], prototypes=learned, encoder=Topics())
    assert (found.low_value, found.resolution, found.symptoms) == (True, "abandoned", ())


def test_the_shipped_ones_know_every_field() -> None:
    shipped = shipped_prototypes()
    assert set(shipped.cuts) == set(CUT_FOR)
    known = {k for kind, k in shipped.means if kind == "field"}
    assert known == {"any", "symptom", "cause", "solution", "attempt"}
    assert {len(v) for v in shipped.means.values()} == {384}
