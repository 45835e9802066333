"""German and French words get English titles; quotes stay as they were said."""

from datetime import UTC, datetime

import pytest
from scripted import Scripted

from memlab.bank import Bank
from memlab.corpus.languages import in_english, language
from memlab.evaluation.baselines import bm25, tfidf
from memlab.evaluation.queries import Query
from memlab.extraction.clauses import clauses_of
from memlab.extraction.phrases import phrase
from memlab.extraction.titles import title
from memlab.learning import learn
from memlab.recalling import recall, search_episodes
from memlab.records import Conversation, Mention, Proposal, Turn


@pytest.mark.parametrize(
    ("text", "spoken", "english"),
    [
        ("Wir haben das WLAN-Modul getauscht", "de", "wifi module replaced"),
        ("on a changé le canal", "fr", "changed channel"),
        ("on a change\u0301 le canal", "fr", "changed channel"),
        ("Druckertreiber neu installiert, hilft nicht", "de", "printer driver reinstalled, does not help"),
        ("J’ai désinstallé l’appli", "fr", "uninstalled app"),
        ("I restarted the die-cast printer", "en", "I restarted the die-cast printer"),
        ("restarted Teams", "en", "restarted Teams"),
        ("AI summary missing in Teams", "en", "AI summary missing in Teams"),
        ("Les, Mon 9 EST: cannot dial in", "en", "Les, Mon 9 EST: cannot dial in"),
    ],
)
def test_words_are_put_into_english(text, spoken, english):
    assert language(text) == spoken
    assert in_english(text) == english


def test_a_few_words_take_the_language_of_what_stands_around():
    assert in_english("Kabel getauscht") == "Kabel getauscht"
    assert in_english("Kabel getauscht", "Ich habe alles probiert. Kabel getauscht") == "cable replaced"


@pytest.mark.parametrize("text", ["", " ", "…", "der die das", "le la les", "🙂"])
def test_nothing_is_lost_where_nothing_is_known(text):
    assert in_english(text) == text


def test_names_and_numbers_stay():
    assert in_english("der Drucker HP-4471 meldet Fehler 0x80070035") == "printer HP-4471 reports error 0x80070035"


def test_a_phrase_is_english_and_its_clause_verbatim():
    said = "Hallo, der Drucker druckt nur leere Seiten. Ich habe den Treiber neu installiert, ohne Erfolg."
    conversation = Conversation("c", "k", datetime(2026, 1, 1, tzinfo=UTC), (Turn("user", said),))
    clauses = clauses_of(conversation)
    assert all(c.text in said for c in clauses)
    step = next(c for c in clauses if "Treiber" in c.text)
    assert phrase(conversation, step, "attempt", None) == "driver reinstalled"
    named = title(conversation, clauses, [3.0] + [0.0] * (len(clauses) - 1), "printing")
    assert "printer prints only empty pages" in named


def test_a_question_in_german_finds_what_was_said_in_english(tmp_path):
    turns = (
        Turn("user", "the printer on floor 2 prints only empty pages"),
        Turn("agent", "The print head is clogged. Please clean the print head."),
        Turn("user", "cleaned the print head, works again, thanks"),
    )
    told = Conversation("c1", "k", datetime(2026, 1, 1, tzinfo=UTC), turns, category="printing")
    label = {"text": "print head clogged", "turn": 1, "quote": "The print head is clogged"}
    proposal = Proposal("c1", 0, "printing", root_cause=Mention(**label), resolution="confirmed")
    with Bank.open(tmp_path, "k", create=True) as bank:
        learn(bank, [told], extractor=Scripted({"c1": proposal}))
        found = recall(bank, "Der Drucker druckt nur noch leere Seiten", least=0.0)
        episodes = search_episodes(bank, "Der Drucker druckt nur noch leere Seiten")
    assert [h.root_cause for h in found] == ["print head clogged"]
    assert "empty pages" in episodes[0].snippet
    assert "words: printer prints empty pages" in found[0].reason


@pytest.mark.parametrize("retriever", [bm25, tfidf])
def test_baselines_read_the_same_english(retriever):
    said = [("a", "Der Drucker druckt leere Seiten"), ("b", "VPN drops every hour")]
    past = [Conversation(n, "k", datetime(2026, 1, 1, tzinfo=UTC), (Turn("user", t),)) for n, t in said]
    best = retriever(past).rank(Query("q", "printer prints empty pages", "k", None))
    assert best[0][0] == "a"
