"""Users, agents and the loop: who does what, what it costs, and that the record tells it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from scripted import HashEncoder

from memlab.simulation.device import broken, healthy, with_faults
from memlab.simulation.history import past_case, past_scenarios, poison
from memlab.simulation.notes import blocks_of, looks_fine, suspicion, tells_success
from memlab.simulation.policy import ScriptedAgent
from memlab.simulation.scenarios import Complaint, Persona, Scenario
from memlab.simulation.sight import Sight
from memlab.simulation.trial import Event, Step, play
from memlab.simulation.users import ScriptedUser, phrases, pick
from memlab.simulation.world import load_world

WORLD = load_world()
PERFECT = Persona(patience=100, skill=1, honesty=1)


def scenario(*ids: str, persona: Persona = PERFECT) -> Scenario:
    faults = [WORLD.fault(i) for i in ids]
    complaints = tuple(Complaint(f.id, f.notices) for f in faults)
    at = past_scenarios(WORLD, customer=faults[0].customer, category=faults[0].category, count=1, seed=0)[0].at
    return Scenario("s", faults[0].customer, faults[0].category, at, complaints, persona)


class Steps:
    """An agent that takes the steps that it was given, the last one again and again."""

    def __init__(self, *tools: str) -> None:
        self.tools = list(tools)
        self.seen: list[Sequence[Event]] = []

    def next(self, events: Sequence[Event]) -> Step:
        self.seen.append(events)
        name = self.tools.pop(0) if len(self.tools) > 1 else self.tools[0]
        if name in ("ask", "close", "escalate"):
            return Step(name, "What do you see?")
        return Step("use", f"Please {name}", name)


def run(case: Scenario, *tools: str, seed: int = 3, **options: object) -> object:
    return play(WORLD, case, Steps(*tools), ScriptedUser(WORLD, case, seed), arm="none", seed=seed, **options)


def test_the_right_step_resolves_and_the_record_says_so() -> None:
    # fab-vpn-3 is mended by one agent's action (5 minutes) and shown by a reading (3 minutes).
    played = run(scenario("fab-vpn-3"), "read_vpn_gateway", "change_access.vpn_group")
    t = played.trial
    assert (t.resolved, t.claimed_resolved, t.ended_by) == (True, True, "confirmed")
    assert (t.steps, t.tool_calls, t.tool_relevance, t.first_action_right) == (2, 2, 1.0, True)
    assert (t.minutes, t.user_effort, t.user_errors, t.harm) == (8.0, 1.0, 0, 0)
    assert t.tokens > 20 and t.context_tokens == 0


def test_wrong_steps_are_counted() -> None:
    played = run(scenario("fab-vpn-3"), "restart.laptop", "restart.laptop", "ask", "read_audio", "escalate")
    t = played.trial
    assert (t.resolved, t.first_action_right, t.repeated_failed_steps, t.ended_by) == (False, False, 1, "escalated")
    assert (t.steps, t.tool_calls, t.tool_relevance) == (5, 3, 0.0)


def test_a_workaround_may_be_claimed_but_does_not_resolve() -> None:
    case = scenario("fab-vpn-1")
    ends = {run(case, "use_instead.old_phone", "escalate", seed=seed).trial for seed in range(12)}
    assert {t.resolved for t in ends} == {False}
    assert {t.claimed_resolved for t in ends} == {True, False}  # some users are content, some say "for now"


def test_harm_is_counted_and_unresolves() -> None:
    t = run(scenario("fab-vpn-3"), "renew_identity.clear_tpm_keys", "change_access.vpn_group").trial
    assert t.harm == 1 and not t.resolved and t.claimed_resolved


def test_the_budget_ends_it() -> None:
    t = run(scenario("fab-vpn-3"), "ask", most_steps=4).trial
    assert (t.ended_by, t.steps, t.tool_relevance) == ("budget", 4, None)


def test_an_impatient_user_leaves() -> None:
    # A failed action in the user's hands costs 1.4: after two of them 2.8 > 2.
    t = run(scenario("fab-vpn-3", persona=replace(PERFECT, patience=2)), "restart.laptop", "restart.outlook").trial
    assert (t.ended_by, t.steps) == ("abandoned", 2)


def test_two_faults_take_two_fixes() -> None:
    case = scenario("fab-vpn-1", "fab-vpn-3")
    played = run(case, "change_access.vpn_group", "renew_identity.authenticator")
    assert played.trial.resolved
    assert any("Half of it" in e.text or "Better" in e.text for e in played.events)
    assert not run(case, "change_access.vpn_group", "escalate").trial.resolved


def test_own_errors_are_the_users() -> None:
    clumsy = scenario("fab-onedrive-1", persona=Persona(patience=100, skill=0, honesty=0))
    trials = [run(clumsy, "fix_files.shorten_path", "escalate", seed=s).trial for s in range(60)]
    wrong = [t for t in trials if t.user_errors]
    # 20 % wrong steps, 25 % nothing done, and what is left may be a polite word: about 40 % go wrong.
    assert 12 <= len(wrong) <= 36
    assert any(not t.resolved for t in wrong)
    careful = [run(scenario("fab-onedrive-1"), "fix_files.shorten_path", "escalate", seed=s).trial for s in range(20)]
    assert all(t.resolved and not t.user_errors for t in careful)


def test_closing_without_mending_is_noticed() -> None:
    t = run(scenario("fab-vpn-3"), "close").trial
    assert (t.ended_by, t.claimed_resolved, t.resolved) == ("escalated", False, False)


def test_an_unknown_tool_is_a_lost_step() -> None:
    t = run(scenario("fab-vpn-3"), "restart.moon", "escalate").trial
    assert (t.steps, t.tool_calls) == (2, 0)


def test_luck_does_not_depend_on_the_arm() -> None:
    case = scenario("fab-onedrive-1", persona=Persona())
    for seed in range(10):
        alone = run(case, "fix_files.shorten_path", "escalate", seed=seed)
        later = run(case, "read_sync", "ask", "fix_files.shorten_path", "escalate", seed=seed)
        assert alone.state.values == later.state.values


def test_wordings_for_learning_and_trials_are_apart() -> None:
    for language in phrases()["user"].values():
        for wordings in language.values():
            learned = {pick(wordings, "learn", n) for n in range(50)}
            assert not learned & {pick(wordings, "trial", n) for n in range(50)}


@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_what_users_say_is_understood(language: str) -> None:
    said = phrases()["user"][language]
    assert all(tells_success(text) for text in said["works"])
    assert not any(tells_success(text) for kind in ("still", "eased", "unknown") for text in said[kind])


# -- reading a context -----------------------------------------------------------------------------------------------

SKILL = """---
name: x
---
Read this first.

````memory
1. account missing from the group | 2 conversations, last 2026-08-01, 2 confirmed, weight 1.00
   symptom: login denied after approving | weight 1.00
   fix: put you in SG-VPN-Users | worked 2, failed 0
   did not help: reboot the machine | 2 times
2. old phone | 1 conversations, last 2026-08-01, 1 confirmed, weight 0.50
   workaround: use the old phone | worked 1, failed 1
left out: 3 weaker root causes of 4 conversations
````
"""


def test_a_skill_is_read_in_blocks() -> None:
    first, second = blocks_of(SKILL)
    assert first.texts("cause") == ("account missing from the group",)
    assert first.texts("about") == ("login denied after approving",)
    favours = {line.text: line.favour for line in first.lines if line.use == "step"}
    assert favours == {"put you in SG-VPN-Users": 0.75, "reboot the machine": -0.6}  # (1 + 2) / (2 + 2 + 0)
    assert second.texts("step") == ("use the old phone",)


def test_a_transcript_is_read_by_what_the_user_answers() -> None:
    text = "````transcript\nuser: no vpn\nagent: reboot it\nuser: still the same\nagent: join the group\nuser: works now\n````\n"
    (block,) = blocks_of(text)
    assert [(line.text, line.favour) for line in block.lines if line.use == "step"] == [
        ("reboot it", -0.4),
        ("join the group", 0.8),
    ]


def test_what_looks_wrong() -> None:
    assert suspicion("Fan: clogged, overheating") > suspicion("Driver: one version old") > 0
    assert suspicion("Audio driver: current") == 0 and looks_fine("Quota: 12 of 50 GB")


# -- the scripted agent ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sight() -> Sight:
    return Sight(HashEncoder(dimension=64))


def test_the_agent_does_what_its_context_says_and_nothing_privileged(sight: Sight) -> None:
    case = scenario("fab-vpn-3")
    context = SKILL.replace("put you in SG-VPN-Users", WORLD.tool("change_access.vpn_group").does).replace(
        "login denied after approving", case.opening
    )
    played = play(
        WORLD,
        case,
        ScriptedAgent(WORLD, "vpn", context, sight=sight),
        ScriptedUser(WORLD, case, 1),
        arm="skill",
        seed=1,
    )
    assert played.trial.first_action_right and played.trial.resolved
    blind = replace(WORLD, faults={})  # the agent's world needs no faults at all
    again = play(
        WORLD,
        case,
        ScriptedAgent(blind, "vpn", context, sight=sight),
        ScriptedUser(WORLD, case, 1),
        arm="skill",
        seed=1,
    )
    assert again == played


def test_without_memory_it_follows_the_checklist(sight: Sight) -> None:
    case = scenario("nwd-winperf-1")
    agent = ScriptedAgent(WORLD, case.category, "", sight=sight)
    assert agent.next([Event("user", "zzz")]).kind == "ask"
    events = [Event("user", "zzz"), Event("agent", "?"), Event("user", "zzz")]
    assert agent.next(events).tool in WORLD.checklists["windows-performance"]


def test_it_repeats_only_what_timed_out(sight: Sight) -> None:
    case = scenario("fab-vpn-4", persona=Persona(patience=1000))
    agent = ScriptedAgent(WORLD, "vpn", "", sight=sight)
    played = play(WORLD, case, agent, ScriptedUser(WORLD, case, 5), arm="none", seed=5, most_steps=60)
    calls = [e.tool for e in played.events if e.role == "agent" and e.tool]
    lost = {e.tool for e in played.events if e.role == "tool" and e.text.startswith("timed out")}
    hands = {t.name for t in WORLD.tools.values() if t.by == "user" and not t.is_reading}
    twice = {c for c in calls if calls.count(c) > 1}
    assert twice <= lost | hands and max(map(calls.count, calls)) <= 3


# -- the past --------------------------------------------------------------------------------------------------------


def test_the_past_is_written_in_other_words_than_the_tools(sight: Sight) -> None:
    cases = past_scenarios(WORLD, customer="fabrikam", category="printing", count=6, seed=2)
    assert [c.at for c in cases] == sorted(c.at for c in cases)
    assert all(f.occurs(c.at.date()) for c in cases for f in c.faults(WORLD))
    for case in cases:
        past = past_case(WORLD, case, seed=2, sight=sight)
        text = past.conversation.text("agent")
        assert past.conversation == past_case(WORLD, case, seed=2, sight=sight).conversation
        assert past.conversation.metadata == {"source": "memlab.simulation"}  # no label goes with it
        assert not any(t.does in text for t in WORLD.tools.values() if t.said)
        quotes = [past.reference.root_cause, past.reference.solution, *past.reference.attempts]
        for item in filter(None, quotes):
            assert item.quote == past.conversation.turns[item.turn].text
    false = poison([past.conversation], WORLD, share=1, seed=2)[0]
    assert false.id != past.conversation.id and false.turns[0] == past.conversation.turns[0]


def test_faults_that_are_gone_do_not_come_back() -> None:
    # fab-teams-1 ended on 2026-05-17, fab-teams-2 began the next day.
    cases = past_scenarios(WORLD, customer="fabrikam", category="teams", count=120, seed=0)
    ids = [(c.complaints[0].fault, c.at.date().isoformat()) for c in cases]
    assert max(day for f, day in ids if f == "fab-teams-1") <= "2026-05-17"
    assert min(day for f, day in ids if f == "fab-teams-2") >= "2026-05-18"
    state = with_faults(healthy("fabrikam"), [WORLD.fault("fab-teams-2")])
    assert broken(WORLD, state) == [WORLD.fault("fab-teams-2")]
