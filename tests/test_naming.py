"""What tells of something points to what names it; and which topic a conversation is of, if it doesn't say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scripted import conv

from memlab.extraction import extract
from memlab.extraction.clauses import clauses_of
from memlab.extraction.features import relative_places
from memlab.extraction.reader import read
from memlab.extraction.triage import WORDS, triage, weighed_words, words_of
from memlab.models.embeddings import default_encoder

TALK = [
    ("user", "Nobody can hear me in Teams since this morning."),
    ("agent", "Please clear the Teams cache, then restart the laptop."),
    ("user", "Did both. Still nobody hears me."),
]


def test_places_are_told_from_each_clause():
    conversation = conv("c1", 0.0, [("user", "It is slow. I restarted it."), ("agent", "I see a full disk there.")])
    assert [c.turn for c in clauses_of(conversation)] == [0, 0, 1]
    assert relative_places(clauses_of(conversation)).tolist() == [[1, 3, 0], [2, 1, 0], [4, 4, 1]]


def test_far_turns_share_a_place():
    turns = [("user", f"This is message number {n} of many.") for n in range(12)]
    assert relative_places(clauses_of(conv("c1", 0.0, turns)))[11].tolist() == [8] * 7 + [7, 6, 5, 4, 1]


def test_every_clause_shares_itself_out_among_those_that_may_name_it():
    reading = read(conv("c1", 0.0, TALK))
    assert reading.names.shape == (len(reading.clauses),) * 2
    assert np.allclose(reading.names.sum(axis=1), 1)


def test_a_step_is_quoted_where_it_is_told_and_named_where_it_is_named():
    steps = extract([conv("c1", 0.0, TALK)])[0].attempts
    assert steps and all(a.quote in TALK[a.turn][1] for a in steps)
    done = [a for a in steps if a.turn == 2]
    assert done and done[0].by == "user" and done[0].outcome == "failed"
    assert "cache" in done[0].action or "restart" in done[0].action


def test_a_conversation_without_words_has_nothing_to_name():
    reading = read(conv("c1", 0.0, [("user", "…")]))
    assert len(reading.names) == len(reading.clauses)


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("GlobalProtect says connection failed when I try to get onto the VPN from home", "vpn"),
        ("Der Drucker im zweiten Stock druckt nur leere Seiten, Toner ist voll", "printing"),
        ("mon OneDrive ne synchronise plus, croix rouge sur tous les dossiers", "onedrive"),
        ("the badge reader at the gate beeps twice and stays shut", "other"),
    ],
)
def test_the_topic_is_read_in_three_languages(text, category):
    conversation = replace(conv("c1", 0.0, [("user", text), ("agent", "Let me look into that.")]), category=None)
    assert triage(conversation, default_encoder()).category == category


def test_words_weigh_together_what_they_always_weigh():
    weighed = weighed_words(["toner", "toner", "tray", "gibberish"], {"toner": 3.0, "tray": 4.0})
    assert list(weighed) == ["toner", "tray"]
    assert np.isclose(np.linalg.norm(list(weighed.values())), WORDS)
    assert weighed["toner"] / weighed["tray"] == pytest.approx(3 * (1 + np.log(2)) / 4)
    assert weighed_words(["gibberish"], {"toner": 3.0}) == {}


def test_words_are_those_of_everybody_in_english():
    conversation = conv("c1", 0.0, [("user", "Der Drucker geht nicht"), ("tool", "spooler: stopped")])
    assert {"printer", "spooler", "stopped"} <= set(words_of(conversation))
