"""The public benchmarks' own parts, on small data of our own in the same form."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from scripted import HashEncoder

from memlab.models.embeddings import Remembering

FOLDER = Path(__file__).parents[1] / "benchmarks" / "public"


@pytest.fixture
def script(monkeypatch):
    """Loads a script of the folder by name."""
    monkeypatch.syspath_prepend(str(FOLDER))

    def load(name: str):
        spec = importlib.util.spec_from_file_location(f"public_{name}", FOLDER / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    yield load
    sys.modules.pop("shared", None)


def test_places_and_metrics_by_hand(script):
    shared = script("shared")
    scores = np.array([[0.1, 0.9, 0.5], [0.5, 0.5, 0.1]])
    assert shared.ranks(scores, [2, 1]).tolist() == [2, 2]  # a tie goes to the text that stands first
    found = shared.metrics(np.array([1, 2, 0, 6]))
    # hit@1 1 of 4, hit@5 2 of 4, MRR (1 + 1/2 + 0 + 1/6) / 4.
    assert (found["hit@1"], found["hit@5"], found["mrr"]) == (0.25, 0.5, round((1 + 0.5 + 1 / 6) / 4, 3))
    assert shared.bm25_scores(["red fox", "blue"], ["red", "green"]).argmax(axis=1).tolist() == [0, 0]
    assert shared.tfidf_scores(["red fox", "blue"], ["blue"])[0].tolist() == [0.0, 1.0]


def test_threads_of_questions_become_a_memory_that_names_them(script, tmp_path):
    faq, shared = script("stackfaq"), script("shared")
    faqs = [
        {"faq_id": "f0", "question": "How do I strike text through?", "answers": ["Use two tildes."]},
        {"faq_id": "f1", "question": "Where is the dark theme?", "answers": ["Under appearance."]},
    ]
    encoder = Remembering(HashEncoder())
    cases = [faq.case(f["faq_id"], f["question"], f, n) for n, f in enumerate(faqs)]
    with shared.memory_of(tmp_path, faq.CUSTOMER, cases, encoder) as bank:
        tests = [lambda c: c == "f1", lambda c: c == "f0"]
        asked = ["is there a dark theme", "strike text"]
        places, _ = shared.recall_places(bank, asked, tests, encoder, category=faq.CATEGORY)
        assert places.tolist() == [1, 1]
        assert shared.episode_places(bank, asked, tests, encoder, category=faq.CATEGORY).tolist() == [1, 1]


def test_closing_forms_are_hidden_and_read(script):
    desk = script("helpdesk")
    ticket = {
        "ticket_id": 7,
        "created": "2026-01-02 11:12",
        "agent_form": {"problem": "ph_name logs out", "investigation": "", "solution": "cleared the cache twice"},
        "messages": [
            {"role": "reporter", "text": "the ph_technical app logs out", "kind": "message"},
            {"role": "others", "text": "problem: logs out", "kind": "agent_form"},
            {"role": "assignee", "text": "done", "kind": "message"},
        ],
    }
    assert [m["text"] for m in desk.told(ticket)] == ["the ph_technical app logs out", "done"]
    assert desk.first_message(ticket).split() == ["the", "app", "logs", "out"]
    assert desk.says_enough(ticket["agent_form"])
    assert not desk.says_enough({"problem": "x", "solution": "ph_sql ph_sql"})
    conversation, proposal = desk.form_case(ticket)
    assert conversation.id == "7" and proposal.root_cause is None
    assert proposal.solution.text == "ticket 7: cleared the cache twice"
    conversation, proposal = desk.ticket_case(ticket)
    assert "problem:" not in conversation.text() and proposal.solution.text == "ticket 7: done"
