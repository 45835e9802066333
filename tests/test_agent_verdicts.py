"""Bare verdicts on what was tried before, in many wordings; a message that names a step or a problem is none."""

from __future__ import annotations

import pytest

from memlab.agent.verdicts import action_of, ending_of, is_bare, verdict_of

WORKED = """that did it
That worked, thanks a lot!
yes, all good now
perfect, it's fixed
back to normal, cheers
it works again
done, that solved it
Yep, sorted. Thank you so much
that helped
no more problems, thanks
hat geklappt, danke
ça marche, merci""".splitlines()

FAILED_ALL = """nothing worked
Neither of them helped
none of that made any difference
No, nothing has changed
tried both, no luck
unfortunately all of those failed""".splitlines()

FAILED_LAST = """no change
still the same
that didn't help
nope, no luck
it didn’t work either, sorry""".splitlines()

NO_VERDICT = """updating the client did the trick
the printer still jams
no luck with the new cable
did that work?
it is better but the fan is loud
thanks
The app crashes whenever I upload a large PDF
I restarted it, no change
error 809 again
does it work on a Mac?
ok
""".splitlines()


@pytest.mark.parametrize("text", WORKED)
def test_success(text):
    found = verdict_of(text)
    assert found is not None
    assert found.outcome == "worked"


@pytest.mark.parametrize("text", [*FAILED_ALL, *FAILED_LAST])
def test_failure_of_all_or_of_the_last(text):
    found = verdict_of(text)
    assert found is not None
    assert found.outcome == "failed"
    if text in FAILED_LAST:
        assert not found.every
    if text in FAILED_ALL:
        assert found.every


@pytest.mark.parametrize("text", [*NO_VERDICT, "", "   ", "!!!"])
def test_a_message_with_words_of_its_own_is_no_verdict(text):
    assert verdict_of(text) is None


@pytest.mark.parametrize("text", ["what now?", "Still not working. What should I do next?", "any other ideas?"])
def test_a_bare_question_speaks_of_what_is_open(text):
    assert is_bare(text)


@pytest.mark.parametrize("text", ["how do I change my billing address?", "is the printer online?", ""])
def test_a_question_with_a_topic_does_not(text):
    assert not is_bare(text)


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("Updating the app fixed it", "Updating the app"),
        ("reinstalling the driver did the trick, thanks", "reinstalling the driver"),
        ("restarted it, no luck", "restarted it"),
        ("switching it off and on again helped", "switching it off and on again"),
        ("I cleared the cache but it did not help", "I cleared the cache"),
        ("delete the preferences folder", "delete the preferences folder"),
        ("that fixed it", "that fixed it"),
        ("", ""),
    ],
)
def test_a_step_is_named_without_its_verdict(text, action):
    assert action_of(text) == action


@pytest.mark.parametrize(
    ("sentence", "outcome", "every"),
    [
        ("Rolling back the driver fixed it, thanks", "worked", False),
        ("Power-cycled the scanner and swapped the lead, neither helped", "failed", True),
        ("rebooted the router, no change", "failed", False),
        ("swapped the cable and it works again", "worked", False),
    ],
)
def test_a_sentence_ends_in_a_verdict(sentence, outcome, every):
    found = ending_of(sentence)
    assert found is not None
    assert (found.outcome, found.every) == (outcome, every)


@pytest.mark.parametrize(
    "sentence", ["I am reinstalling the client", "updated the driver to 4.2", "nothing worked", ""]
)
def test_a_sentence_without_step_or_verdict_has_no_ending(sentence):
    assert ending_of(sentence) is None
