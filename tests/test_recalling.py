"""Recall and ranking, on small memories whose right answer can be seen."""

from __future__ import annotations

import numpy as np
import pytest
from scripted import conv, prop

from memlab import ranking
from memlab.errors import InputError, ModelError, RecallError
from memlab.models.embeddings import default_encoder
from memlab.ranking import VIEWS, evidence, probabilities
from memlab.recalling import recall, search_episodes


def _teach(bank, teach):
    pairs = []
    for n, (said, cause, fix) in enumerate(
        [
            (
                "others cannot hear me in Teams calls",
                "microphone muted by the privacy setting",
                "turn the microphone on",
            ),
            ("VPN login fails with error 809", "UDP 500 is blocked by the router", "open UDP 500"),
            ("VPN login fails with error 691", "wrong realm in the login name", "log in with the realm"),
        ]
    ):
        c = conv(
            f"c{n}",
            f"2026-03-0{n + 2}T09:00:00+01:00",
            [("user", said), ("agent", f"{cause}, {fix}"), ("user", "works")],
        )
        pairs.append((c, prop(said, cause, fix, "confirmed", said)))
    teach(bank, pairs, encoder=default_encoder())


def test_the_cause_with_the_code_that_was_asked_for_comes_first(bank, teach):
    _teach(bank, teach)
    for code, cause in (("809", "UDP 500 is blocked by the router"), ("691", "wrong realm in the login name")):
        hits = recall(bank, f"I get {code} when I connect", k=2, least=0.0)
        assert hits[0].root_cause == cause
        assert "same code or version" in hits[0].reason


def test_other_words_find_the_symptom_by_meaning(bank, teach):
    _teach(bank, teach)
    assert recall(bank, "colleagues get no sound from my mic", k=1, least=0.0)[0].conversations == ("c0",)


def test_hits_are_distinct_causes_and_at_most_k(bank, teach):
    _teach(bank, teach)
    hits = recall(bank, "VPN login fails", k=5, least=0.0)
    assert len({h.root_cause for h in hits}) == len(hits) == 3
    assert len(recall(bank, "VPN login fails", k=2, least=0.0)) == 2


def test_blank_queries_and_a_bad_k_are_refused(bank):
    for query in ("", "  ", "\n"):
        with pytest.raises(InputError, match="blank"):
            recall(bank, query)
    with pytest.raises(InputError, match="at least 1"):
        recall(bank, "x", k=0)


def test_an_empty_memory_says_nothing_and_a_broken_encoder_is_an_error(bank, teach):
    assert recall(bank, "anything") == []
    _teach(bank, teach)

    class Broken:
        name = "broken"

        def encode(self, texts):
            raise ModelError("no weights")

    with pytest.raises(RecallError, match="could not be searched"):
        recall(bank, "VPN", encoder=Broken())


def test_memory_of_the_past_does_not_know_later_cases(bank, teach):
    _teach(bank, teach)
    hits = recall(bank, "VPN login fails", k=5, at="2026-03-03T12:00:00+01:00", least=0.0)
    assert {c for h in hits for c in h.conversations} == {"c0", "c1"}


def test_episodes_are_found_by_meaning_and_by_field(bank, teach):
    _teach(bank, teach)
    found = search_episodes(bank, "cannot log in to the tunnel", fields={"identifier": "691"})
    assert [e.conversation for e, _ in found] == ["c2"]
    with pytest.raises(InputError, match="unknown field"):
        search_episodes(bank, "x", fields={"colour": "red"})


def test_evidence_compares_rivals_and_keeps_the_level():
    # Two rivals: view 0.9 against 0.1 has mean 0.5 and spread 0.4, so (0.9 - 0.5) / (0.4 + 0.02) = 0.9524.
    views = np.zeros((2, len(VIEWS)))
    views[0, VIEWS.index("opening")], views[1, VIEWS.index("opening")] = 0.9, 0.1
    rows = evidence(views)
    assert rows[0, 0] == pytest.approx(0.9524, abs=1e-4) == -rows[1, 0]
    assert rows[0, 5] == 0.9  # the best view of meaning
    p = probabilities(views)
    assert p[0] > p[1] and 0 <= ranking.least() < 1
