"""What the support agent remembers, recalls and answers. Reading is scripted here: each message says what it tells."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from scripted import START, HashEncoder, conv

from memlab.agent import SupportAgent
from memlab.agent.jsonstore import JsonStore
from memlab.agent.records import Memory
from memlab.agent.replies import Reply
from memlab.errors import CustomerError, InputError, MemlabError, RecallError, TimeError
from memlab.records import Attempt, Conversation, Mention, Proposal, Solution

CRASH = "The editor crashes when uploading a large PDF"
CRASH_AGAIN = "Crash again when uploading a large PDF"
LOGIN = "Outlook keeps asking for my password"
Tells = tuple[Sequence[str], Mapping[str, str], Sequence[str]]

# message -> symptoms, steps with outcomes, facts
SCRIPT: dict[str, Tells] = {
    CRASH: ([CRASH], {}, []),
    CRASH_AGAIN: ([CRASH_AGAIN], {}, []),
    LOGIN: ([LOGIN], {}, []),
    "Why does the editor crash when uploading a large PDF?": (["the editor crash when uploading a large PDF"], {}, []),
    "I restarted the machine, no difference, and emptied the cache, no difference": (
        [],
        {"restarted the machine": "failed", "emptied the cache": "failed"},
        [],
    ),
    "restarted the machine, did not help": ([], {"restarted the machine": "failed"}, []),
    "updated the client and that fixed it": ([], {"updated the client": "worked"}, []),
    "updated the client, did not help": ([], {"updated the client": "failed"}, []),
    "updating now": ([], {"updated the client": "unknown"}, []),
    "updated the client, a bit better": ([], {"updated the client": "partial"}, []),
    f"{LOGIN}. Removing the stored key solved it": ([LOGIN], {"Removing the stored key": "worked"}, []),
    "I use a ThinkPad T14 with version 4.2": ([], {}, ["a ThinkPad T14 with version 4.2"]),
    "How do I change my billing address?": ([], {}, []),
    "It says error 809": (["It says error 809"], {}, []),
}


class Listener:
    """An extractor that reads the last turn as the script says."""

    name = "listener"

    def extract(self, conversation: Conversation) -> Sequence[Proposal]:
        n, text = len(conversation.turns) - 1, conversation.turns[-1].text
        symptoms, steps, facts = SCRIPT.get(text, ((), {}, ()))
        return [
            Proposal(
                conversation.id,
                symptoms=tuple(Mention(s, n, s) for s in symptoms),
                attempts=tuple(Attempt(a, o, "user", n, a) for a, o in steps.items()),
                facts=tuple(Mention(f, n, f) for f in facts),
            )
        ]


@pytest.fixture
def agent(tmp_path) -> SupportAgent:
    ticks = itertools.count()
    encoder = HashEncoder()
    return SupportAgent(
        JsonStore(tmp_path, encoder=encoder),
        extractor=Listener(),
        encoder=encoder,
        clock=lambda: START + timedelta(minutes=next(ticks)),
    )


@pytest.fixture
def say(agent) -> Callable[..., list[Reply]]:
    """Ask several messages in a row; returns the replies."""

    def run(*messages: str, customer: str = "ann", **options: object) -> list[Reply]:
        return [agent.ask(customer, m, **options) for m in messages]

    return run


def kinds(agent: SupportAgent, kind: str, customer: str = "ann") -> list[Memory]:
    return [m for m in agent.store.all(customer) if m.kind == kind]


def tried(agent: SupportAgent, customer: str = "ann") -> dict[str, str]:
    return {m.text: "proposed" if m.proposed else m.outcome for m in kinds(agent, "attempt", customer)}


# -- remembering ------------------------------------------------------------------------------------------------------


def test_a_problem_opens_one_incident_and_steps_belong_to_it(agent, say):
    say(CRASH, "I restarted the machine, no difference, and emptied the cache, no difference", "updating now")
    (incident,) = kinds(agent, "incident")
    steps = kinds(agent, "attempt")
    assert incident.open
    assert {s.incident for s in steps} == {incident.id}
    assert tried(agent) == {
        "restarted the machine": "failed",
        "emptied the cache": "failed",
        "updated the client": "unknown",
    }
    assert all(s.symptoms == (CRASH,) and s.inherited for s in steps)


def test_a_step_that_worked_closes_the_incident_and_the_next_complaint_opens_another(agent, say):
    say(CRASH, "updated the client and that fixed it", CRASH_AGAIN)
    first, second = kinds(agent, "incident")
    assert (first.outcome, second.open) == ("worked", True)


def test_a_message_with_problem_and_fix_does_both(agent, say):
    (reply,) = say(f"{LOGIN}. Removing the stored key solved it")
    (incident,) = kinds(agent, "incident")
    assert incident.outcome == "worked"
    assert tried(agent) == {"Removing the stored key": "worked"}
    assert "Good to hear" in reply.text
    assert not reply.escalate


def test_a_partial_outcome_leaves_the_incident_open(agent, say):
    say(CRASH, "updated the client, a bit better")
    assert kinds(agent, "incident")[0].open


def test_another_problem_meanwhile_is_another_incident(agent, say):
    say(CRASH, LOGIN, "updated the client and that fixed it")
    by_text = {m.text: m for m in kinds(agent, "incident")}
    # The step came right after the second complaint, so it counts for that one.
    assert by_text[CRASH].open
    assert by_text[LOGIN].outcome == "worked"


def test_the_same_problem_told_again_or_in_more_detail_is_the_same_incident(agent, say):
    say(CRASH, CRASH_AGAIN, "It says error 809")
    (incident,) = kinds(agent, "incident")
    assert incident.symptoms == (CRASH, CRASH_AGAIN, "It says error 809")


def test_the_same_step_told_twice_is_one_attempt_with_the_better_informed_outcome(agent, say):
    say(CRASH, "updating now", "updated the client, did not help", "updating now")
    assert tried(agent) == {"updated the client": "failed"}


def test_a_bare_verdict_judges_what_is_open(agent, say):
    say(CRASH, "updating now", "nothing worked")
    assert tried(agent) == {"updated the client": "failed"}
    say("that did it, thanks")  # nothing is open any more but the incident
    assert tried(agent) == {"updated the client": "failed"}
    assert kinds(agent, "incident")[0].outcome == "worked"


def test_a_question_that_memory_answers_is_not_stored_again(agent, say):
    say(CRASH, "updated the client and that fixed it")
    (reply,) = say("Why does the editor crash when uploading a large PDF?")
    assert reply.fixes == ("updated the client",)
    assert len(kinds(agent, "incident")) == 1
    # What was proposed is remembered as a proposal, and nothing else is.
    assert reply.learned == ()


def test_a_profile_fact_is_context_and_makes_nobody_a_returning_customer(agent, say):
    say("I use a ThinkPad T14 with version 4.2")
    (reply,) = say(CRASH)
    assert not reply.returning
    assert reply.used == ()
    assert reply.asks == ("the exact error message or code", "what you have tried so far")  # the device is known
    assert tried(agent) == {}


def test_what_the_agent_proposes_is_a_proposal_until_somebody_else_says_so(agent, say):
    say(CRASH, "updated the client and that fixed it")
    (again,) = say(CRASH_AGAIN, conversation="later")
    assert again.steps == ("updated the client",)
    second = kinds(agent, "incident")[1]
    proposal = next(m for m in kinds(agent, "attempt") if m.incident == second.id)
    assert proposal.proposed
    assert (proposal.outcome, proposal.verification) == ("unknown", "claimed")
    say("that worked", conversation="later")
    proposal = next(m for m in kinds(agent, "attempt") if m.id == proposal.id)
    assert (proposal.proposed, proposal.outcome, proposal.verification) == (False, "worked", "confirmed")


@pytest.mark.parametrize(("by", "verification"), [("user", "confirmed"), ("staff", "confirmed"), ("tool", "inferred")])
def test_a_report_verifies_unless_it_is_the_agents_own(agent, say, by, verification):
    say(CRASH)
    claim = agent.report_step("ann", "flush the queue", outcome="worked", by="agent")
    assert (claim.outcome, claim.verification) == ("unknown", "claimed")
    assert kinds(agent, "incident")[0].open
    fact = agent.report_step("ann", "flush the queue", outcome="worked", by=by)
    assert (fact.id, fact.outcome, fact.verification) == (claim.id, "worked", verification)
    assert kinds(agent, "incident")[0].outcome == "worked"


def test_symptoms_given_explicitly_win_over_inherited_ones(agent, say):
    say(CRASH)
    step = agent.report_step("ann", "free some disk space", outcome="failed", symptoms=["disk is full"])
    assert (step.symptoms, step.inherited) == (("disk is full",), False)


def test_without_an_incident_a_step_is_one_within_its_conversation(agent):
    for where, outcome in (("c1", "unknown"), ("c1", "worked"), ("c2", "failed")):
        agent.report_step("ann", "flush it", outcome=outcome, symptoms=["no sound"], conversation=where)
    assert [(m.outcome, m.conversations) for m in kinds(agent, "attempt")] == [("worked", ("c1",)), ("failed", ("c2",))]


def test_resolve_verifies_the_step_proposed_last_or_the_one_named(agent, say):
    say(CRASH, "updating now")
    agent.resolve("ann")
    assert tried(agent) == {"updated the client": "worked"}
    assert kinds(agent, "incident")[0].outcome == "worked"
    say(LOGIN)
    agent.resolve("ann", fix="sign out everywhere")
    assert tried(agent)["sign out everywhere"] == "worked"
    with pytest.raises(InputError, match="no open incident"):
        agent.resolve("ann")
    with pytest.raises(InputError, match="a claim"):
        agent.resolve("ann", by="agent")


def test_close_ends_an_incident_without_a_fix(agent, say):
    say(CRASH, "updating now")
    agent.close("ann")
    (incident,) = kinds(agent, "incident")
    assert (incident.open, incident.outcome) == (False, "failed")
    assert tried(agent) == {"updated the client": "unknown"}
    (reply,) = say(CRASH_AGAIN)
    assert len(kinds(agent, "incident")) == 2
    assert reply.fixes == ()


def test_observed_history_keeps_its_own_dates_and_a_missing_one_is_an_error(agent):
    with pytest.raises(TimeError, match="at="):
        agent.observe("ann", CRASH)
    with pytest.raises(TimeError, match="no UTC offset"):
        agent.observe("ann", CRASH, at="2025-01-01T08:00:00")
    agent.observe("ann", CRASH, at="2025-01-01T08:00:00+05:00")
    assert kinds(agent, "incident")[0].at.isoformat() == "2025-01-01T08:00:00+05:00"


class Past:
    """Reads one past conversation: a step by the agent that the user confirmed, and one that nobody did."""

    name = "past"

    def extract(self, conversation: Conversation) -> Sequence[Proposal]:
        return [
            Proposal(
                conversation.id,
                category="vpn",
                symptoms=(Mention("no network", 0, "it is broken"),),
                attempts=(Attempt("push the cable in", "worked", "agent", 1, "try this"),),
                solution=Solution("push the cable in", 1, "try this"),
                resolution="confirmed" if "works" in conversation.turns[-1].text else "unresolved",
            )
        ]


def test_a_past_conversation_is_closed_history_and_observing_it_twice_changes_nothing(tmp_path):
    agent = SupportAgent(JsonStore(tmp_path, encoder=HashEncoder()), extractor=Past(), encoder=HashEncoder())
    solved, open_ = conv("c1", 0), conv("c2", 5, [("user", "it is broken"), ("agent", "try this")])
    agent.observe("ann", solved)
    agent.observe("ann", open_)
    before = agent.store.all("ann")
    assert agent.observe("ann", solved)
    assert agent.store.all("ann") == before
    incidents = kinds(agent, "incident")
    assert [(m.outcome, m.open) for m in incidents] == [("worked", False), ("failed", False)]
    outcomes = {m.conversations: (m.outcome, m.verification) for m in kinds(agent, "attempt")}
    # In the second nobody but the agent says that it worked: a claim.
    assert outcomes == {("c1",): ("worked", "confirmed"), ("c2",): ("unknown", "claimed")}
    assert {m.at for m in incidents} == {START, START + timedelta(days=5)}


# -- recalling --------------------------------------------------------------------------------------------------------


def test_a_first_message_finds_nothing_and_nobody_is_shown_their_own_sentence(say):
    first, second = say(CRASH, CRASH)
    assert first.used == second.used == ()
    assert not first.returning
    assert second.returning


def test_an_unrelated_question_recalls_no_fix(say):
    *_, reply = say(CRASH, "updated the client and that fixed it", "How do I change my billing address?")
    assert (reply.used, reply.fixes, reply.steps, reply.learned) == ((), (), (), ())


def test_a_hit_says_why_it_was_found(say):
    say(CRASH, "updated the client and that fixed it", conversation="in march")
    (reply,) = say(CRASH_AGAIN)
    (hit,) = reply.used
    assert (hit.text, hit.symptom, hit.outcome, hit.conversation) == ("updated the client", CRASH, "worked", "in march")
    assert hit.at == START + timedelta(minutes=1)
    assert 0 < hit.score <= 1
    assert "crash" in hit.reason


def test_a_step_is_found_again_by_symptoms_with_which_it_shares_no_word(say):
    say(CRASH, "updated the client and that fixed it")
    (reply,) = say("Why does the editor crash when uploading a large PDF?")
    assert [r.text for r in reply.used] == ["updated the client"]


def test_recall_is_capped_and_ordered(agent, say):
    say(CRASH)
    for n, word in enumerate(["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta"]):
        agent.report_step("ann", f"{word} the {word}{n} gadget", outcome="failed")
    (reply,) = say(CRASH_AGAIN)
    scores = [r.score for r in reply.used]
    assert len(scores) == 5
    assert scores == sorted(scores, reverse=True)


def test_an_older_fix_that_failed_later_is_shown_as_such_and_does_not_lead(say):
    say(CRASH, "updated the client and that fixed it", at="2026-03-10T08:00:00+00:00", conversation="march")
    later = {"at": "2026-06-12T08:00:00+00:00", "conversation": "june"}
    say(CRASH_AGAIN, "updated the client, did not help", **later)
    (reply,) = say(CRASH_AGAIN, at="2026-07-01T08:00:00+00:00", conversation="july")
    (hit,) = [r for r in reply.used if r.text == "updated the client"]
    assert hit.contradicted
    assert hit.note == "worked 2026-03-10, failed 2026-06-12"
    assert reply.fixes == reply.steps == ()
    assert "would not start with" in reply.text or "updated the client" not in reply.text.split("Already")[0]


def test_a_step_that_failed_against_another_problem_contradicts_nothing(say):
    say(CRASH, "updated the client and that fixed it", LOGIN, "updated the client, did not help", "that did it")
    (reply,) = say(CRASH_AGAIN, conversation="later")
    assert reply.fixes == ("updated the client",)


def test_an_error_code_that_differs_is_another_problem(agent):
    agent.report_step("ann", "renew the certificate", outcome="worked", symptoms=["VPN fails with error 809"])
    assert agent.ask("ann", "VPN fails with error 809").fixes == ("renew the certificate",)
    assert agent.ask("ann", "VPN fails with error 691").fixes == ()


# -- answering --------------------------------------------------------------------------------------------------------


def test_a_known_fix_leads_with_what_to_skip(say):
    say(CRASH, "restarted the machine, did not help", "updated the client and that fixed it")
    (reply,) = say(CRASH_AGAIN)
    assert reply.text.startswith("This is the same issue as on 2026-03-02")
    assert reply.text.index("updated the client") < reply.text.index("Skip")
    assert reply.text.index("Skip") < reply.text.index("restarted the machine")
    assert (reply.fixes, reply.failures) == (("updated the client",), ("restarted the machine",))
    assert not reply.escalate


def test_known_failures_without_a_fix_are_handed_over_and_not_repeated(say):
    say(CRASH, "restarted the machine, did not help")
    (reply,) = say(CRASH_AGAIN, conversation="another day")
    assert reply.escalate
    assert reply.steps == ()
    assert "Already tried without success: restarted the machine" in reply.text


def test_repeated_failures_raise_the_flag_without_being_asked(say):
    *_, reply = say(CRASH, "I restarted the machine, no difference, and emptied the cache, no difference")
    assert reply.escalate
    assert "2 steps failed" in reply.why_escalate


def test_a_working_step_is_acknowledged_whatever_failed_before(say):
    *_, reply = say(
        CRASH,
        "I restarted the machine, no difference, and emptied the cache, no difference",
        "updated the client and that fixed it",
    )
    assert reply.text.startswith("Good to hear")
    assert not reply.escalate
    assert "colleague" not in reply.text


def test_a_resolved_problems_own_text_is_never_a_fix(say):
    say(CRASH, "that did it")
    (reply,) = say(CRASH_AGAIN)
    assert reply.used == ()
    assert CRASH not in (*reply.fixes, *reply.steps)


@pytest.mark.parametrize("words", [20, 40, 120])
def test_the_reply_stays_within_its_words(tmp_path, words):
    agent = SupportAgent(
        JsonStore(tmp_path, encoder=HashEncoder()), extractor=Listener(), encoder=HashEncoder(), words=words
    )
    agent.ask("ann", CRASH)
    for n in range(8):
        agent.report_step("ann", f"step {n} " + "with many words and more " * 4, outcome="failed")
    agent.report_step("ann", "the fix " + "is a long story " * 6, outcome="worked")
    for style in ("plain", "short", "steps"):
        agent.set_profile("ann", style=style)
        reply = agent.ask("ann", CRASH_AGAIN, conversation=style)
        assert 0 < len(reply.text.split()) <= words


def test_a_stated_style_is_followed_and_the_last_one_counts(agent, say):
    say(CRASH, "restarted the machine, did not help", "updated the client and that fixed it")
    (plain,) = say(CRASH_AGAIN, conversation="1")
    agent.set_profile("ann", style="short")
    (short,) = say(CRASH_AGAIN, conversation="2")
    agent.set_profile("ann", "Please explain things step by step")
    (steps,) = say(CRASH_AGAIN, conversation="3")
    assert len(short.text.split()) < len(plain.text.split())
    assert "1. Updated the client" in steps.text
    with pytest.raises(InputError, match="plain, short, steps"):
        agent.set_profile("ann", style="rude")


def test_the_recalled_context_stays_within_its_tokens(tmp_path):
    agent = SupportAgent(
        JsonStore(tmp_path, encoder=HashEncoder()), extractor=Listener(), encoder=HashEncoder(), budget=150
    )
    agent.ask("ann", CRASH)
    for word in ("alpha", "beta", "gamma", "delta"):
        agent.report_step("ann", f"{word} " * 15, outcome="failed")
    reply = agent.ask("ann", CRASH_AGAIN, conversation="later")
    assert 0 < reply.tokens.context <= 150 == reply.tokens.budget
    assert 0 < len(reply.used) < 4


def test_with_memory_off_nothing_is_read_or_written(agent, say, monkeypatch):
    say(CRASH, "updated the client and that fixed it")
    before = agent.store.all("ann")
    for name in ("add", "all", "search", "update", "forget", "customers"):
        monkeypatch.setattr(agent.store, name, lambda *_, **__: pytest.fail("memory is off"))
    (reply,) = say(CRASH_AGAIN, memory=False)
    monkeypatch.undo()
    assert agent.store.all("ann") == before
    assert (reply.used, reply.learned, reply.fixes, reply.steps, reply.returning) == ((), (), (), (), False)
    assert "updated" not in reply.text
    assert reply.incident is None


def test_a_reply_prints_and_saves_what_lies_behind_it(say):
    say(CRASH, "updated the client and that fixed it")
    (reply,) = say(f"{CRASH_AGAIN}")
    assert "recalled: updated the client -> worked" in str(reply)
    assert "<script>" not in reply._repr_html_()
    data = reply.to_json()
    assert data["used"][0]["result"] == "worked"
    assert data["learned"][0]["outcome"] == "unknown"
    assert data["tokens"]["reply"] > 0


# -- whose memory, and what is left of it -----------------------------------------------------------------------------


@pytest.mark.parametrize("other", ["Ann", "ann/eu", "ann2", "a%", "*", "a_n", "àn"])
def test_nobody_sees_anothers_memory(agent, say, other):
    say(CRASH, "updated the client and that fixed it")
    (reply,) = say(CRASH_AGAIN, customer=other)
    assert (reply.used, reply.fixes, reply.returning) == ((), (), False)
    assert "updated" not in reply.text
    assert len(agent.timeline(other)) == 1
    agent.forget(other)
    assert len(agent.timeline("ann")) == 2


@pytest.mark.parametrize("name", ["", " ", " ann ", "ann\n", None])
def test_an_odd_name_is_refused_by_every_call(agent, say, name):
    say(CRASH)
    for call in (
        lambda: agent.ask(name, CRASH),
        lambda: agent.ask(name, CRASH, memory=False),
        lambda: agent.observe(name, CRASH, at=START),
        lambda: agent.report_step(name, "x"),
        lambda: agent.resolve(name),
        lambda: agent.close(name),
        lambda: agent.set_profile(name, "x"),
        lambda: agent.timeline(name),
        lambda: agent.forget(name),
    ):
        with pytest.raises(CustomerError):
            call()


def test_the_timeline_shows_problems_with_their_steps(agent, say):
    say(CRASH, "restarted the machine, did not help", "updated the client and that fixed it")
    agent.set_profile("ann", "Uses a Mac")
    lines = agent.timeline("ann").lines()
    assert lines[0].endswith(f"problem: {CRASH} (solved)")
    assert [line.split(" ", 5)[-1] for line in lines[1:3]] == [
        "restarted the machine -> failed",
        "updated the client -> worked",
    ]
    assert lines[3].endswith("profile: Uses a Mac")
    frame = agent.timeline("ann").to_frame()
    assert list(frame["result"]) == ["solved", "failed", "worked", ""]
    assert str(agent.timeline("bob")) == "nothing is remembered of bob"


def test_forgetting_a_conversation_leaves_memory_as_if_it_had_never_been(tmp_path):
    def told(home: object, *conversations: str) -> SupportAgent:
        one = SupportAgent(JsonStore(home, encoder=HashEncoder()), extractor=Listener(), encoder=HashEncoder())
        script = {
            "a": [(CRASH, 0), ("updating now", 1)],
            "b": [("updated the client, did not help", 2)],
            "c": [(LOGIN, 3), ("I use a ThinkPad T14 with version 4.2", 4)],
        }
        for c in conversations:
            for message, day in script[c]:
                one.observe("ann", message, at=START + timedelta(days=day), conversation=c)
        return one

    agent = told(tmp_path / "all", "a", "b", "c")
    assert tried(agent)["updated the client"] == "failed"
    assert agent.forget("ann", conversation="b") == 0  # every memory is told by another conversation, too
    assert agent.store.all("ann") == told(tmp_path / "without", "a", "c").store.all("ann")
    assert agent.forget("ann", conversation="c") == 2
    assert agent.store.all("ann") == told(tmp_path / "less", "a").store.all("ann")
    assert agent.forget("ann") == 2
    assert agent.store.customers() == []


def test_forgetting_an_incident_takes_what_others_inherited_from_it(agent, say):
    say(CRASH, "updating now")
    (incident,) = kinds(agent, "incident")
    assert agent.forget("ann", memory=incident.id) == 1
    (step,) = agent.store.all("ann")
    assert (step.symptoms, step.incident) == ((), None)


def test_a_failing_store_is_an_error_and_never_an_empty_history(agent, say, monkeypatch):
    say(CRASH, "updated the client and that fixed it")

    def fail(*_: object, **__: object) -> None:
        raise RecallError("the store is down")

    before = agent.store.all("ann")
    monkeypatch.setattr(agent.store, "search", fail)
    with pytest.raises(MemlabError, match="down"):
        say(CRASH_AGAIN)
    monkeypatch.undo()
    assert agent.store.all("ann") == before


@pytest.mark.parametrize("message", ["", "   ", None])
def test_a_blank_message_is_refused(agent, message):
    with pytest.raises(InputError, match="blank"):
        agent.ask("ann", message)


def test_time_is_an_argument(agent):
    with pytest.raises(TimeError):
        agent.ask("ann", CRASH, at=datetime(2026, 3, 1, tzinfo=UTC).replace(tzinfo=None))
    reply = agent.ask("ann", CRASH, at="2026-05-01T10:00:00+02:00")
    assert (reply.at.isoformat(), reply.conversation) == ("2026-05-01T10:00:00+02:00", "chat-2026-05-01")
