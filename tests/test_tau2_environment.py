"""A phone as a state machine: faults break, actions mend, readings show it; then tasks in the benchmark's format."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memlab.errors import InputError
from memlab.simulation.tau2 import (
    CHECKS,
    Call,
    Check,
    Task,
    act,
    calls_of,
    is_met,
    play,
    read,
    read_causes,
    read_tasks,
    start,
)

NUMBER = "555-700-1000"
LINE = {"customer_id": "K7", "line_id": "N7"}
PHONE = {"name": "Robin Example", "phone_number": NUMBER}
SMS, STORAGE = ({"app_name": "messaging", "permission": p} for p in ("sms", "storage"))

USER_DB = """
[device]
sim_card_status = "active"
sim_card_missing = false
airplane_mode = false
data_enabled = true
roaming_enabled = false
network_mode_preference = "4g_5g_preferred"
wifi_calling_enabled = false
wifi_calling_mms_over_wifi = false
data_saver_mode = false
[device.active_apn_settings]
apn_name = "internet"
mmsc_url = "http://mms.invalid"
[device.app_statuses.messaging.permissions]
sms = true
storage = true
"""
DB = f"""
[[plans]]
plan_id = "T1"
data_limit_gb = 8.0
[[lines]]
line_id = "N7"
phone_number = "{NUMBER}"
status = "Active"
plan_id = "T1"
data_used_gb = 2.5
data_refueling_gb = 0.0
roaming_enabled = true
[[customers]]
customer_id = "K7"
line_ids = ["N6", "N7"]
"""


def phone(call: str, /, **args: object) -> dict:
    return {"on": "phone", "call": call, "args": args}


def carrier(call: str, /, **args: object) -> dict:
    return {"on": "carrier", "call": call, "args": {**LINE, **args}}


def fix(tool: str, by: str = "customer", **args: object) -> dict:
    return {"by": by, "tool": tool, "args": args}


# cause: (what breaks, what mends, the reading that shows it)
CAUSES = {
    "airplane": ([phone("turn_airplane_mode_on")], [fix("toggle_airplane_mode")], "check_status_bar"),
    "sim_out": ([phone("unseat_sim_card")], [fix("reseat_sim_card")], "check_sim_status"),
    "sim_locked": ([phone("lock_sim_card", mode="pin")], [], "check_sim_status"),
    "apn": ([phone("break_apn_settings")], [fix("reset_apn_settings"), fix("reboot_device")], "check_apn_settings"),
    "unpaid": (
        [
            carrier("suspend_line_for_overdue_bill", new_bill_id="R1", contract_ended=False),
            phone("simulate_network_search"),
        ],
        [
            fix("send_payment_request", "agent", customer_id="K7", bill_id="R1"),
            fix("make_payment"),
            fix("resume_line", "agent", **LINE),
            fix("reboot_device"),
        ],
        "get_bills_for_customer",
    ),
    "contract": (
        [
            carrier("suspend_line_for_overdue_bill", new_bill_id="R1", contract_ended=True),
            phone("simulate_network_search"),
        ],
        [],
        "get_details_by_id",
    ),
    "abroad_phone": (
        [phone("set_user_location", abroad=True), phone("turn_roaming_off"), carrier("enable_roaming")],
        [fix("toggle_roaming")],
        "run_speed_test",
    ),
    "abroad_line": (
        [phone("set_user_location", abroad=True), phone("turn_roaming_on"), carrier("disable_roaming")],
        [fix("enable_roaming", "agent", **LINE)],
        "get_details_by_id",
    ),
    "abroad_both": (
        [phone("set_user_location", abroad=True), phone("turn_roaming_off"), carrier("disable_roaming")],
        [fix("enable_roaming", "agent", **LINE), fix("toggle_roaming")],
        "run_speed_test",
    ),
    "data_off": ([phone("turn_data_off")], [fix("toggle_data")], "check_network_status"),
    "saver": ([phone("turn_data_saver_mode_on")], [fix("toggle_data_saver_mode")], "check_data_restriction_status"),
    "mode": (
        [phone("set_network_mode_preference", mode="2g_only")],
        [fix("set_network_mode_preference", mode="4g_5g_preferred")],
        "check_network_mode_preference",
    ),
    "vpn": ([phone("break_vpn")], [fix("disconnect_vpn")], "check_vpn_status"),
    "used_up": (
        [carrier("set_data_usage", data_used_gb=8.5)],
        [fix("refuel_data", "agent", **LINE, gb_amount=1.0)],
        "get_data_usage",
    ),
    "wifi_calling": (
        [phone("set_wifi_calling", enabled=True, mms_over_wifi=True)],
        [fix("toggle_wifi_calling")],
        "check_wifi_calling_status",
    ),
    "mmsc": ([phone("break_apn_mms_setting")], [fix("reset_apn_settings"), fix("reboot_device")], "check_apn_settings"),
    "no_sms": ([phone("remove_app_permission", **SMS)], [fix("grant_app_permission", **SMS)], "check_app_permissions"),
    "no_storage": (
        [phone("remove_app_permission", **STORAGE)],
        [fix("grant_app_permission", **STORAGE)],
        "check_app_permissions",
    ),
}
HEALED = [
    {"on": "phone", "check": "assert_internet_speed", "args": {"expected_speed": 200, "expected_desc": "excellent"}},
    {"on": "phone", "check": "assert_can_send_mms", "args": {"expected_status": True}},
    {"on": "phone", "check": "assert_service_status", "args": {"expected_status": "connected"}},
]
DEAD = [{"on": "phone", "check": "assert_service_status", "args": {"expected_status": "no_service"}}]
HAND_OVER = [fix("transfer_to_human_agents", "agent", summary="no")]


def task(*causes: str, split: str = "test") -> dict:
    can = all(CAUSES[c][1] for c in causes)
    return {
        "id": "|".join(causes),
        "split": split,
        "intent": "service_issue",
        "causes": list(causes),
        "solvable": can,
        "break_calls": [phone("set_user_info", **PHONE), *(b for c in causes for b in CAUSES[c][0])],
        "fix_actions": [f for c in causes for f in CAUSES[c][1]] if can else HAND_OVER,
        "success": HEALED if can else DEAD,
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in the benchmark's format, written by us: other people, numbers and limits."""
    made = tmp_path_factory.mktemp("tau2")
    (made / "user_db.toml").write_text(USER_DB)
    (made / "db.toml").write_text(DB)
    tasks = [task(c) for c in CAUSES]
    tasks += [task("airplane", "vpn", "apn"), task("unpaid", "sim_out", split="train"), task("sim_locked", "airplane")]
    (made / "tasks_base114.jsonl").write_text("\n".join(map(json.dumps, tasks)))
    causes = [
        {
            "cause": c,
            "break_calls": [phone("set_user_info", **PHONE), *b],
            "fix_actions": f or HAND_OVER,
            "solvable_in_policy": bool(f),
        }
        for c, (b, f, _) in CAUSES.items()
    ]
    (made / "causes.jsonl").write_text("\n".join(map(json.dumps, causes)))
    return made


def calls(rows: list[dict]) -> list[Call]:
    return [Call(r.get("call") or r["tool"], r["args"]) for r in rows]


def after(state, rows: list[dict]):
    for call in calls(rows):
        state = act(state, call)
    return state


def works(state) -> bool:
    return is_met(state, [Check(c["check"], c["args"]) for c in HEALED])


@pytest.mark.parametrize("cause", CAUSES)
def test_a_fault_breaks_is_seen_and_is_mended_by_its_actions_only(folder, cause):
    breaks, fixes, reading = CAUSES[cause]
    healthy = start(folder, phone_number=NUMBER)
    broken = after(healthy, breaks)
    assert works(healthy)
    assert not works(broken)
    assert read(broken, reading) != read(healthy, reading)
    assert bool(fixes) == works(after(broken, fixes))
    assert not any(works(after(broken, fixes[:n])) for n in range(len(fixes)))  # no part of it is enough


@pytest.mark.parametrize("cause", CAUSES)
def test_one_action_of_another_fault_mends_nothing(folder, cause):
    broken = after(start(folder, phone_number=NUMBER), CAUSES[cause][0])
    mine = {json.dumps(f) for f in CAUSES[cause][1]}
    for other in CAUSES:
        fixes = [f for f in CAUSES[other][1] if json.dumps(f) not in mine]
        for one in calls(fixes):
            try:
                tried = act(broken, one)
            except InputError:
                continue  # the state does not allow it
            assert not works(tried), one


def test_a_wrong_action_can_make_it_worse(folder):
    broken = after(start(folder, phone_number=NUMBER), CAUSES["saver"][0])
    worse = after(broken, [fix("toggle_data")])
    assert read(broken, "run_speed_test")["speed"] > read(worse, "run_speed_test")["speed"] == 0


def test_every_task_of_a_folder_is_broken_and_solved_by_its_own_actions_alone(folder):
    tasks = read_tasks(folder)
    assert len(tasks) == len(CAUSES) + 3
    for t in tasks:
        done, nothing = play(folder, t), play(folder, t, ())
        assert (done.broken, done.solved, done.refused) == (True, True, ()), t.id
        assert not nothing.solved, t.id


def test_what_nobody_can_mend_stays_broken_when_the_rest_is_mended(folder):
    both = next(t for t in read_tasks(folder) if t.id == "sim_locked|airplane")
    tried = play(folder, both, calls(CAUSES["airplane"][1]))
    assert tried.final["service"] == "no_service"
    assert not tried.solved  # it was not handed over


def test_splits_are_kept_apart(folder):
    assert [t.id for t in read_tasks(folder, split="train")] == ["unpaid|sim_out"]
    with pytest.raises(InputError, match="no task of split 'dev'; there are test, train"):
        read_tasks(folder, split="dev")


def test_the_order_of_paying_matters(folder):
    broken = after(start(folder, phone_number=NUMBER), CAUSES["unpaid"][0])
    ask, pay, resume, _ = calls(CAUSES["unpaid"][1])
    for early in (pay, resume):
        with pytest.raises(InputError, match="not possible while bill is 'overdue'"):
            act(broken, early)
    resumed = act(act(act(broken, ask), pay), resume)
    assert resumed["service"] == "no_service"  # until the phone looks for a network again
    assert after(resumed, [fix("reboot_device")])["service"] == "connected"


def test_an_ended_contract_can_not_be_resumed(folder):
    ended = after(start(folder, phone_number=NUMBER), CAUSES["contract"][0])
    paid = act(act(ended, calls(CAUSES["unpaid"][1])[0]), Call("make_payment", {}))
    with pytest.raises(InputError, match="while contract_ended is True"):
        act(paid, Call("resume_line", LINE))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (Call("fly", {}), "knows no call 'fly'"),
        (Call("refuel_data", {**LINE, "gb_amount": 2.5}), "may reach 2.0 at most"),
        (Call("refuel_data", {**LINE, "gb_amount": -1.0}), "may reach 2.0 at most"),
        (Call("refuel_data", LINE), "needs the argument 'gb_amount'"),
        (Call("enable_roaming", {**LINE, "line_id": "N9"}), "line_id 'N9' is not at hand"),
        (Call("set_network_mode_preference", {"mode": "6g"}), "no network mode '6g'"),
        (Call("grant_app_permission", {"app_name": "browser", "permission": "sms"}), "only sms and storage"),
        (Call("grant_app_permission", {"app_name": "messaging", "permission": "camera"}), "only sms and storage"),
    ],
)
def test_calls_that_can_not_be_made_are_refused(folder, call, said):
    with pytest.raises(InputError, match=said):
        act(start(folder, phone_number=NUMBER), call)


def test_unknown_readings_checks_and_numbers_are_refused(folder):
    state = start(folder, phone_number=NUMBER)
    with pytest.raises(InputError, match="no reading 'x'"):
        read(state, "x")
    with pytest.raises(InputError, match="can't answer the check 'x'"):
        is_met(state, [Check("x", {})])
    with pytest.raises(InputError, match="nothing with phone_number '1'"):
        start(folder, phone_number="1")
    with pytest.raises(InputError, match="names no phone number"):
        play(folder, Task("t", "test", "", (), (), (), (), True))


def test_a_damaged_line_is_named(folder, tmp_path):
    (tmp_path / "tasks_base114.jsonl").write_text(json.dumps(task("vpn")) + '\n{"id": "x"}\n')
    with pytest.raises(InputError, match=r"tasks_base114\.jsonl:2: not a line of τ²-bench"):
        read_tasks(tmp_path)
    with pytest.raises(InputError, match="can't be read"):
        read_causes(tmp_path)


def test_a_call_never_changes_the_state_that_it_was_given(folder):
    state = start(folder, phone_number=NUMBER)
    copy = dict(state)
    act(state, Call("toggle_airplane_mode", {}))
    assert dict(state) == copy
    with pytest.raises(TypeError):
        state["data"] = False  # type: ignore[index]


SWITCHES = sorted(c for c in calls_of("customer") if c.startswith("toggle_"))


@settings(max_examples=40)
@given(turned=st.lists(st.sampled_from(SWITCHES), max_size=8))
def test_switches_turned_twice_are_where_they_were(folder, turned):
    state = start(folder, phone_number=NUMBER)
    there = state
    for name in [*turned, *reversed(turned)]:
        there = act(there, Call(name, {}))
    assert dict(there) == dict(state)


@pytest.mark.skipif("MEMLAB_TAU2_DIR" not in os.environ, reason="MEMLAB_TAU2_DIR names no folder")
def test_the_benchmark_itself():
    given = os.environ["MEMLAB_TAU2_DIR"]
    tasks = read_tasks(given)
    played = [(t.id, play(given, t)) for t in tasks]
    assert {c.name for t in tasks for c in t.checks} <= CHECKS.keys()
    assert [name for name, o in played if not (o.broken and o.solved) or o.refused] == []
    assert [t.id for t in tasks if play(given, t, ()).solved] == []
    known = {c.id for c in read_causes(given)}
    assert {c for t in tasks for c in t.causes} <= known
