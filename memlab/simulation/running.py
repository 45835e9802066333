"""A run: every scenario with every arm, several times, over processes; each trial is on disk before the next begins.

A run that was killed goes on where it was. The same seed gives the same bytes, whatever the number of processes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memlab.curation.curator import OfflineCurator
from memlab.errors import InputError
from memlab.extraction import Extractor, OfflineExtractor
from memlab.models.embeddings import Encoder, default_encoder
from memlab.records import Conversation, canonical_json, content_hash
from memlab.simulation.history import Past, past_case, past_scenarios
from memlab.simulation.memories import ARMS, Library, contexts
from memlab.simulation.notes import blocks_of
from memlab.simulation.policy import ScriptedAgent
from memlab.simulation.records import Trial, read_trials, write_trials
from memlab.simulation.scenarios import Scenario
from memlab.simulation.sight import Sight
from memlab.simulation.trial import play
from memlab.simulation.users import ScriptedUser
from memlab.simulation.world import World, load_world

if TYPE_CHECKING:
    from io import TextIOWrapper

__all__ = ["Job", "Settings", "learn_past", "play_all", "play_here", "simulate"]

Job = tuple[Scenario, str, str, tuple[int, ...]]
"""A scenario, an arm, its context, and the repeats to play."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run depends on besides its scenarios.

    Attributes
    ----------
    history : int
        Past cases of each customer and category that memory learns from.
    budget : int
        Tokens of every arm's context.
    most_steps : int
        Steps that an agent may take in a trial.
    """

    arms: tuple[str, ...] = tuple(ARMS)
    repeats: int = 6
    seed: int = 20260930
    budget: int = 1000
    history: int = 20
    most_steps: int = 20

    def __post_init__(self) -> None:
        if unknown := [a for a in self.arms if a not in ARMS]:
            raise InputError(f"no arm {unknown[0]!r}; known: {', '.join(ARMS)}")
        if len(set(self.arms)) < len(self.arms):
            raise InputError("an arm is named twice")
        if min(self.repeats, self.history, self.most_steps) < 1:
            raise InputError("repeats, history and steps must be at least 1")

    def pins(self, scenarios: Sequence[Scenario]) -> dict[str, Any]:
        """What must be the same for a run to be continued; arms and repeats may be added."""
        return {
            "scenarios": content_hash([s.to_json() for s in scenarios]),
            "seed": self.seed,
            "budget": self.budget,
            "history": self.history,
            "most_steps": self.most_steps,
        }


def simulate(
    scenarios: Sequence[Scenario],
    folder: Path,
    settings: Settings,
    *,
    processes: int = 1,
    conversations: Sequence[Conversation] = (),
    extractor: Extractor | None = None,
    encoder: Encoder | None = None,
    progress: Callable[[str], None] = lambda _: None,
    played: Callable[[int, int], None] = lambda _, __: None,
) -> list[Trial]:
    """Learn the past, make every arm's contexts, play, and leave `trials.jsonl` in the folder.

    Parameters
    ----------
    conversations : sequence of Conversation
        A past to learn instead of the simulator's own (the arm `reference` then knows nothing).
    processes : int
        Players; the result is the same for any number.
    progress, played : callable
        Told what is being done, and (trials so far, trials in all).

    Raises
    ------
    InputError
        If the folder holds a run of other settings.
    """
    folder.mkdir(parents=True, exist_ok=True)
    extractor = extractor or OfflineExtractor(encoder)
    pins = settings.pins(scenarios) | {"extractor": extractor.name, "curator": OfflineCurator.name}
    pins |= {"past": content_hash([c.to_json() for c in conversations])} if conversations else {}
    _pin(folder / "run.json", pins)
    world, sight = load_world(), Sight(encoder)
    known = _contexts(folder / "contexts.jsonl")
    missing = [(a, s) for a in settings.arms for s in scenarios if (a, s.id) not in known]
    if missing:
        progress("playing the past")
        past = [Past(c, None) for c in conversations] or learn_past(world, scenarios, settings, sight)
        library = Library(
            world,
            folder / "memory",
            past,
            budget=settings.budget,
            seed=settings.seed,
            extractor=extractor,
            encoder=encoder or default_encoder(),
            progress=progress,
        )
        arms = list(dict.fromkeys(a for a, _ in missing))
        known |= contexts(library, arms, scenarios)
        library.close()
        _write_lines(folder / "past.jsonl", (p.conversation.to_json() for p in past))
        rows = ({"arm": a, "scenario": s, "text": text} for (a, s), text in sorted(known.items()))
        _write_lines(folder / "contexts.jsonl", rows)
    progress("playing")
    return play_all(
        world, scenarios, known, folder, settings, processes=processes, sight=sight, encoder=encoder, played=played
    )


def learn_past(world: World, scenarios: Sequence[Scenario], settings: Settings, sight: Sight) -> list[Past]:
    """The past of every category that the scenarios are about, at all customers: another one's skill is an arm, too."""
    categories = sorted({s.category for s in scenarios})
    cases = [
        case
        for customer in world.customers
        for category in categories
        for case in past_scenarios(
            world, customer=customer, category=category, count=settings.history, seed=settings.seed
        )
    ]
    return [past_case(world, case, seed=settings.seed, sight=sight) for case in cases]


def play_all(
    world: World,
    scenarios: Sequence[Scenario],
    contexts: Mapping[tuple[str, str], str],
    folder: Path,
    settings: Settings,
    *,
    processes: int = 1,
    sight: Sight | None = None,
    encoder: Encoder | None = None,
    played: Callable[[int, int], None] = lambda _, __: None,
) -> list[Trial]:
    """Play what is not yet in the folder; returns all trials of these arms, scenarios and repeats, sorted."""
    path = folder / "trials.jsonl"
    done = {t.key: t for t in read_trials(path)} if path.exists() else {}
    repeats = range(settings.repeats)
    jobs: list[Job] = []
    for scenario in scenarios:
        for arm in settings.arms:
            left = tuple(r for r in repeats if (arm, scenario.id, r) not in done)
            if left:
                jobs.append((scenario, arm, contexts[arm, scenario.id], left))
    total = len(scenarios) * len(settings.arms) * settings.repeats
    with _appending(path) as out:
        for trials in _played(world, jobs, settings, processes, sight or Sight(encoder), encoder):
            for trial in trials:
                done[trial.key] = trial
                out.write(f"{canonical_json(trial.to_json())}\n")
            out.flush()
            played(sum(1 for k in done if k[0] in settings.arms), total)
    write_trials(path, done.values())
    wanted = {(a, s.id, r) for a in settings.arms for s in scenarios for r in repeats}
    return sorted((t for t in done.values() if t.key in wanted), key=lambda t: t.key)


def _played(
    world: World, jobs: Sequence[Job], settings: Settings, processes: int, sight: Sight, encoder: Encoder | None
) -> Iterator[list[Trial]]:
    _look_at(world, jobs, sight)
    if processes <= 1 or len(jobs) < 2 * processes:
        for job in jobs:
            yield _play(world, job, settings, sight)
        return
    start = (settings, sight.vectors, encoder)
    pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_start, initargs=start)
    with pool:
        for future in as_completed([pool.submit(_play_here, job) for job in jobs]):
            yield future.result()


def play_here(world: World, jobs: Sequence[Job], settings: Settings, sight: Sight) -> list[Trial]:
    """Play in this process and keep nothing on disk."""
    _look_at(world, jobs, sight)
    return [trial for job in jobs for trial in _play(world, job, settings, sight)]


def _look_at(world: World, jobs: Sequence[Job], sight: Sight) -> None:
    """Encode all texts in one batch, so that players, here or in other processes, find their vectors."""
    sight.learn(
        [
            *(t.does for t in world.tools.values()),
            *_shown(world),
            *sorted({line.text for _, _, text, _ in jobs for block in blocks_of(text) for line in block.lines}),
            *sorted({words for scenario, *_ in jobs for c in scenario.complaints for words in c.says}),
        ]
    )


def _shown(world: World) -> list[str]:
    """Every line that a reading can show."""
    components = [*(f.component for f in world.faults.values()), *(h.component for h in world.harms)]
    lines = [f"{c.label}: {value}" for c in components for value in (c.healthy, c.broken)]
    return [*lines, *(line for odd in world.oddities.values() for line in odd)]


_here: dict[str, Any] = {}


def _start(settings: Settings, vectors: Mapping[str, Any], encoder: Encoder | None) -> None:
    _here.update(world=load_world(), settings=settings, sight=Sight(encoder, vectors=vectors))


def _play_here(job: Job) -> list[Trial]:
    return _play(_here["world"], job, _here["settings"], _here["sight"])


def _play(world: World, job: Job, settings: Settings, sight: Sight) -> list[Trial]:
    scenario, arm, context, repeats = job
    agent = ScriptedAgent(world, scenario.category, context, sight=sight)
    return [
        play(
            world,
            scenario,
            agent,
            ScriptedUser(world, scenario, settings.seed, repeat),
            arm=arm,
            seed=settings.seed,
            repeat=repeat,
            context=context,
            most_steps=settings.most_steps,
        ).trial
        for repeat in repeats
    ]


# -- files -----------------------------------------------------------------------------------------------------------


def _pin(path: Path, pins: Mapping[str, Any]) -> None:
    if not path.exists():
        _write_text(path, canonical_json(pins) + "\n")
        return
    found = json.loads(path.read_text("utf-8"))
    for name in sorted({*pins, *found}):
        if pins.get(name) != found.get(name):
            raise InputError(
                f"{path.parent}: holds a run with {name} {found.get(name)!r}, not {pins.get(name)!r}; name another folder"
            )


def _contexts(path: Path) -> dict[tuple[str, str], str]:
    if not path.exists():
        return {}
    rows = map(json.loads, path.read_text("utf-8").splitlines())
    return {(row["arm"], row["scenario"]): row["text"] for row in rows}


def _write_lines(path: Path, rows: Iterator[Mapping[str, Any]]) -> None:
    _write_text(path, "".join(f"{canonical_json(row)}\n" for row in rows))


def _write_text(path: Path, text: str) -> None:
    temporary = path.with_name(f"{path.name}.tmp")
    temporary.write_text(text, encoding="utf-8", newline="\n")
    temporary.replace(path)


def _appending(path: Path) -> TextIOWrapper:
    """The file, opened at its end; half a line that a kill left behind is cut off first."""
    path.touch()
    kept = path.read_bytes()
    whole = kept.rfind(b"\n") + 1
    if whole < len(kept):
        os.truncate(path, whole)
    return path.open("a", encoding="utf-8", newline="\n")
