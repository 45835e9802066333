"""Is the simulated device general: the causes and tasks of τ²-bench telecom, played in it with oracle actions.

    python benchmarks/public/tau2.py FOLDER [SPLIT]

Prints JSON: how many tasks of the split (test by default, or train, or all) break as they should, and how many the
task's own actions solve; the same without any action, with another task's actions, and cause by cause. FOLDER holds
causes.jsonl, tasks_base114.jsonl, db.toml and user_db.toml.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from memlab.simulation.tau2 import Call, Cause, Outcome, State, Task, act, play, read, read_causes, read_tasks, start


def main(folder: str, split: str = "test") -> None:
    tasks = read_tasks(folder, split=None if split == "all" else split)
    can, cannot = ([t for t in tasks if t.solvable is kind] for kind in (True, False))
    oracle = [play(folder, t) for t in can]
    handed = [play(folder, t) for t in cannot]
    causes = read_causes(folder)
    result = {
        "split": split,
        "tasks": len(tasks),
        "solvable": len(can),
        "solvable_broken": sum(o.broken for o in oracle),
        "solvable_solved_by_oracle": sum(o.solved for o in oracle),
        "solvable_solved_by_nothing": sum(play(folder, t, ()).solved for t in can),
        "solvable_solved_by_the_next_task's_actions": sum(o.solved for o in _shifted(folder, can)),
        "actions_refused": sum(len(o.refused) for o in oracle),
        "unsolvable": len(cannot),
        "unsolvable_handed_over_without_service": sum(o.solved for o in handed),
        "unsolvable_solved_by_mending_the_rest": sum(_mended(folder, t, causes) for t in cannot),
        "causes": len(causes),
        "causes_played": sum(bool(c.breaks) for c in causes),
        "causes_not_in_any_task": sorted(c.id for c in causes if not c.breaks),
        "causes_mended_by_their_actions": sum(_is_mended(folder, c) for c in causes if c.breaks and c.solvable),
        "causes_solvable": sum(c.solvable for c in causes if c.breaks),
    }
    print(json.dumps(result, indent=1, ensure_ascii=False))


def _shifted(folder: str, tasks: Sequence[Task]) -> list[Outcome]:
    return [play(folder, t, tasks[(n + 1) % len(tasks)].fixes) for n, t in enumerate(tasks)]


def _mended(folder: str, task: Task, causes: Sequence[Cause]) -> bool:
    """Whether the service comes back although one cause can't be mended; it must not."""
    fixes: list[Call] = [f for c in causes if c.id in task.causes and c.solvable for f in c.fixes]
    return play(folder, task, fixes).final["service"] == "connected"


def _is_mended(folder: str, cause: Cause) -> bool:
    """Whether breaking is seen in some of service, speed and MMS, and mending makes them what they were."""
    number = next(c.args["phone_number"] for c in cause.breaks if c.name == "set_user_info")
    healthy = broken = start(folder, phone_number=number)
    for call in cause.breaks:
        broken = act(broken, call)
    mended = broken
    for call in cause.fixes:
        mended = act(mended, call)
    return _works(healthy) and not _works(broken) and _works(mended)


def _works(state: State) -> bool:
    return (
        state["service"] == "connected"
        and read(state, "can_send_mms")["mms"]
        and read(state, "run_speed_test")["speed"] >= 200
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
