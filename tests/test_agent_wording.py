"""The agent with the real offline reader, on messages of many wordings: what it stores, and what it must never store."""

from __future__ import annotations

from datetime import timedelta

import pytest
from scripted import START

from memlab.agent import SupportAgent
from memlab.agent.encoding import RecentEncoder
from memlab.agent.guarding import guarded, outright, says_nothing_of_outcomes
from memlab.agent.jsonstore import JsonStore
from memlab.models.embeddings import default_encoder
from memlab.records import Attempt, Mention


@pytest.fixture(scope="module")
def encoder() -> RecentEncoder:
    return RecentEncoder(default_encoder())


@pytest.fixture
def talk(tmp_path, encoder):
    """Say some messages; returns (incidents: open?), (outcomes of attempts, sorted), and the last reply."""

    def run(*messages: str):
        agent = SupportAgent(JsonStore(tmp_path, encoder=encoder), encoder=encoder)
        for n, message in enumerate(messages):
            reply = agent.ask("ann", message, at=START + timedelta(minutes=n))
        memories = agent.store.all("ann")
        incidents = [m.open for m in memories if m.kind == "incident"]
        attempts = sorted(m.outcome for m in memories if m.kind == "attempt" and not m.proposed)
        return incidents, attempts, reply

    return run


@pytest.mark.parametrize(
    ("messages", "incidents", "attempts"),
    [
        (["The projector shows a green tint whenever I plug in my laptop"], [True], []),
        (["OneDrive won't sync the finance folder"], [True], []),
        (["My headset has no sound in calls", "will try the other dock after lunch"], [True], []),
        (["My headset has no sound in calls", "Tried another USB port and then re-paired it, no luck so far"], [True], ["failed"] * 2),
        (["Outlook keeps asking for my password", "Removing the stored credential did the trick, thanks"], [False], ["worked"]),
        (["I can't print double sided. Switching to the PCL driver solved it."], [False], ["worked"]),
        (["How can I book a meeting room?"], [], []),
        (["thanks for your help yesterday"], [], []),
        (["Excel hangs when I open the budget file", "repaired Office and turned off the add-ins", "none of it helped"], [True], ["failed"] * 2),
    ],
)  # fmt: skip
def test_what_a_conversation_leaves_in_memory(talk, messages, incidents, attempts):
    found = talk(*messages)
    assert found[:2] == (incidents, attempts)


def test_the_message_that_reports_the_fix_is_acknowledged(talk):
    *_, reply = talk(
        "The scanner app freezes when I pick the flatbed",
        "Power-cycled the scanner and swapped the USB lead, neither helped",
        "Rolling back the driver fixed it, thanks",
    )
    assert reply.text.startswith("Good to hear")
    assert not reply.escalate


def test_the_same_problem_in_other_words_finds_the_fix(talk):
    *_, reply = talk(
        "The editor crashes whenever I upload a large PDF",
        "Updating the client fixed it",
        "the editor dies again when I send a big file",
    )
    assert reply.fixes == ("Updating the client",)
    assert reply.text.startswith("This is the same issue")


# -- guards -----------------------------------------------------------------------------------------------------------


def attempt(text: str, outcome: str = "failed") -> Attempt:
    return Attempt(text, outcome, "user", 0, text)


@pytest.mark.parametrize("text", ["will try the other dock", "going to swap the cable", "I'll reinstall it tomorrow"])
def test_a_plan_is_no_attempt(text):
    assert guarded([], [attempt(text)], [], first=False)[1] == []


@pytest.mark.parametrize("text", ["Teams crashes", "OneDrive won't sync", "the printer is stuck"])
@pytest.mark.parametrize("first", [True, False])
def test_a_complaint_is_no_attempt_but_a_symptom(text, first):
    symptoms, attempts, _ = guarded([], [attempt(text)], [], first=first)
    assert ([m.text for m in symptoms], attempts) == ([text], [])


@pytest.mark.parametrize(
    "text", ["restarted it", "I cleared the cache", "reinstalling the client", "Ich habe neu gestartet"]
)
def test_what_was_done_stays_an_attempt(text):
    assert guarded([], [attempt(text)], [], first=True)[1] == [attempt(text)]


def test_the_same_words_are_one_thing():
    text = "I swapped the cable"
    mention = Mention(text, 0, text)
    symptoms, attempts, facts = guarded([mention], [attempt(text)], [mention], first=True)
    assert (symptoms, attempts, facts) == ([], [attempt(text)], [])


def test_no_outcome_is_taken_from_a_message_that_tells_none():
    steps = [attempt("repaired Office"), attempt("turned off the add-ins")]
    assert says_nothing_of_outcomes("repaired Office and turned off the add-ins", steps)
    assert not says_nothing_of_outcomes("repaired Office and turned off the add-ins, still slow", steps)
    assert not says_nothing_of_outcomes("repaired Office, it flies", steps[:1])


@pytest.mark.parametrize(
    ("sentence", "step"),
    [
        ("Updating the client fixed it", ("Updating the client", "worked")),
        ("I swapped the cable, no change", ("I swapped the cable", "failed")),
        ("Printing does not work", None),
        ("The VPN is not working", None),
        ("My headset has no sound", None),
        ("that fixed it", None),
    ],
)
def test_a_step_and_its_outcome_said_outright(sentence, step):
    found = outright(sentence, 0)
    assert (found and (found.action, found.outcome)) == step
