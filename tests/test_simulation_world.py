"""The simulated device: every fault breaks, shows, is mended by its own steps and by nothing else."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlab.errors import InputError
from memlab.simulation.device import (
    RELIEF,
    TIMED_OUT,
    State,
    act,
    broken,
    healthy,
    noticed,
    read,
    snapshot,
    whole,
    with_faults,
)
from memlab.simulation.world import Fault, World, dice, load_world

WORLD = load_world()
FAULTS = sorted(WORLD.faults)
ACTIONS = [t for t in WORLD.tools.values() if not t.is_reading]


def having(*ids: str) -> State:
    faults = [WORLD.fault(i) for i in ids]
    return with_faults(healthy(faults[0].customer), faults)


def mended(state: State, fault: Fault) -> State:
    for name in fault.component.mend:
        state = act(WORLD, state, WORLD.tool(name)).state
    return state


def test_the_world_is_large_enough_and_differs_by_customer() -> None:
    assert len(FAULTS) >= 60
    assert len({f.category for f in WORLD.faults.values()}) == 6
    pairs = [
        (a, b)
        for a, b in combinations(WORLD.faults.values(), 2)
        if a.customer != b.customer and set(a.notices) & set(b.notices)
    ]
    assert len(pairs) >= 10  # the same symptom at both customers …
    assert all(a.component.mend != b.component.mend for a, b in pairs)  # … always has another fix


@pytest.mark.parametrize("id_", FAULTS)
def test_a_fault_breaks_shows_and_is_mended(id_: str) -> None:
    fault, state = WORLD.fault(id_), having(id_)
    assert noticed(WORLD, state) == [fault]
    line = f"{fault.component.label}: {fault.component.broken}"
    assert line in read(WORLD, state, WORLD.tool(fault.component.reads))
    assert line not in read(WORLD, healthy(fault.customer), WORLD.tool(fault.component.reads))
    after = mended(state, fault)
    assert noticed(WORLD, after) == broken(WORLD, after) == []
    assert whole(after)


@pytest.mark.parametrize("id_", FAULTS)
def test_nothing_else_mends_it(id_: str) -> None:
    fault, state = WORLD.fault(id_), having(id_)
    for tool in ACTIONS:
        done = act(WORLD, state, tool)
        if tool.name == fault.component.mend[0]:
            assert done.helped
        else:
            assert not done.helped
            assert fault in broken(WORLD, done.state)


@pytest.mark.parametrize("id_", [i for i in FAULTS if WORLD.fault(i).around])
def test_a_workaround_helps_for_a_while_and_comes_back(id_: str) -> None:
    fault = WORLD.fault(id_)
    after = act(WORLD, having(id_), WORLD.tool(str(fault.around))).state
    assert noticed(WORLD, after) == []
    assert broken(WORLD, after) == [fault]
    assert noticed(WORLD, after.after(RELIEF + 1)) == [fault]


@pytest.mark.parametrize("id_", [i for i in FAULTS if len(WORLD.fault(i).component.mend) > 1])
def test_the_second_step_alone_does_nothing(id_: str) -> None:
    fault, state = WORLD.fault(id_), having(id_)
    second = WORLD.tool(fault.component.mend[1])
    assert fault in broken(WORLD, act(WORLD, state, second).state)
    first = act(WORLD, state, WORLD.tool(fault.component.mend[0]))
    assert first.helped and first.says.startswith("done, not in effect yet")
    assert noticed(WORLD, first.state) == [fault]


def test_faults_compose_and_are_mended_one_by_one() -> None:
    for customer in WORLD.customers:
        for one, two in combinations(WORLD.at(customer, "outlook"), 2):
            after = mended(having(one.id, two.id), one)
            assert broken(WORLD, after) == [two]
            assert whole(mended(after, two))


@pytest.mark.parametrize("harm", WORLD.harms, ids=lambda h: h.action)
def test_what_harms_breaks_something_that_its_own_step_mends(harm: object) -> None:
    for customer in WORLD.customers:
        done = act(WORLD, healthy(customer), WORLD.tool(harm.action))
        assert done.harmed and not whole(done.state)
        assert any(harm.component.broken in line for line in read(WORLD, done.state, WORLD.tool(harm.component.reads)))
        assert whole(act(WORLD, done.state, WORLD.tool(harm.component.mend[0])).state)
        again = act(WORLD, done.state, WORLD.tool(harm.action))
        assert not again.harmed  # it is broken already


def test_a_tool_that_times_out_changes_nothing_but_the_time() -> None:
    state = having("fab-teams-1")
    tool = WORLD.tool("change_setting.optimizer_microphone")
    done = act(WORLD, state, tool, works=False)
    assert done.says == TIMED_OUT and not done.helped
    assert done.state.values == state.values and done.state.minute == tool.minutes


def test_a_snapshot_is_plain_data() -> None:
    state = having("nwd-vpn-1")
    values = snapshot(WORLD, state)
    assert values["Device certificate of Northwind Issuing CA 1"] == "expired"
    assert len(values) == len(WORLD.at("northwind"))


@given(st.lists(st.sampled_from([t.name for t in ACTIONS]), max_size=8), st.sampled_from(FAULTS))
def test_any_run_of_actions_keeps_the_state_sound(names: list[str], id_: str) -> None:
    state = start = having(id_)
    for name in names:
        before, state = state, act(WORLD, state, WORLD.tool(name)).state
        assert state.minute > before.minute
    assert having(id_) == start  # nothing that was given was changed
    labels = {c.label for f in WORLD.faults.values() for c in (f.component,)} | {h.component.label for h in WORLD.harms}
    assert set(state.values) <= labels


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InputError, match="no tool 'sing'"):
        WORLD.tool("sing")
    with pytest.raises(InputError, match="no fault 'x'"):
        WORLD.fault("x")


def test_names_in_the_data_exist() -> None:
    for fault in WORLD.faults.values():
        for name in (*fault.component.mend, fault.component.reads, *filter(None, [fault.around])):
            assert WORLD.tool(name)
        assert fault.since <= fault.until
        assert len(set(fault.heard)) >= 3
    for steps in WORLD.checklists.values():
        assert all(step == "ask" or WORLD.tool(step) for step in steps)


@given(st.integers(), st.text(max_size=5))
def test_dice_are_fair_enough_and_fixed(seed: int, key: str) -> None:
    assert 0 <= dice(seed, key) < 1
    assert dice(seed, key) == dice(seed, key)


def test_dice_spread() -> None:
    # 10,000 throws: the mean of a uniform is 0.5 with a standard error of 0.0029.
    mean = sum(dice(0, n) for n in range(10_000)) / 10_000
    assert abs(mean - 0.5) < 0.015


def test_world_is_typed() -> None:
    assert isinstance(WORLD, World)
