"""Write datasets/scenarios.jsonl: 120 cases of September 2026, worded as no conversation that memory learns from.

    python scripts/scenarios.py

Each fault that occurs in that month comes at least once, common ones more often; every tenth case has two faults. The
wordings are queries of datasets/support/paraphrases.jsonl whose text is neither in `faults.toml` (what is said in the
conversations that memory learns) nor a symptom of the catalogue. No two cases open with the same words.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memlab.records import canonical_json
from memlab.simulation.scenarios import Complaint, Persona, Scenario
from memlab.simulation.world import Fault, World, dice, load_world

ROOT = Path(__file__).parent.parent
SEED, COUNT, FIRST_DAY = 20260901, 120, datetime(2026, 9, 1, 8, tzinfo=UTC)
GERMAN = re.compile(r"\b(?:ich|nicht|der|die|das|und|ist|bei|wieder|mein|kein|keine|seit|wird|auf|im|mit)\b", re.I)
FRENCH = re.compile(r"\b(?:je|le|la|les|des|mon|ma|mes|pas|est|une|sur|depuis|dans|plus|et|du)\b", re.I)


def language(text: str) -> str:
    german, french = len(GERMAN.findall(text)), len(FRENCH.findall(text))
    return "de" if german >= 2 and german > french else "fr" if french >= 2 else "en"


def wordings(world: World) -> dict[str, list[str]]:
    """For each fault, queries that only it explains, in an order of their own; what memory may have heard is left out."""
    learned = {t.casefold() for f in world.faults.values() for t in (*f.heard, *f.notices)}
    found: dict[str, list[str]] = defaultdict(list)
    for line in (ROOT / "datasets/support/paraphrases.jsonl").read_text("utf-8").splitlines():
        query = json.loads(line)
        causes = query["root_cause_ids"]
        if len(causes) == 1 and query["query"].casefold() not in learned:
            found[causes[0].removesuffix("-c")].append(query["query"])
    return {id_: sorted(texts, key=lambda t: dice(SEED, t)) for id_, texts in found.items()}


def drawn(world: World) -> list[Fault]:
    """The first fault of every case: each once, the rest by how common they are."""
    faults = [
        f for f in world.faults.values() if f.since.isoformat() < "2026-09-01" and f.until.isoformat() >= "2026-09-30"
    ]
    chosen = list(faults)
    while len(chosen) < COUNT:
        counts = {f.id: sum(c.id == f.id for c in chosen) for f in faults}
        chosen.append(min(faults, key=lambda f: (counts[f.id] / f.common**0.5, dice(SEED, f.id))))
    return sorted(chosen, key=lambda f: (f.customer, f.category, f.id))


def main() -> None:
    world, used, scenarios, opened = load_world(), defaultdict(int), [], set()
    texts = wordings(world)
    for number, fault in enumerate(drawn(world)):
        key = (SEED, number)
        faults = [fault]
        if number % 10 == 9:
            others = [
                f
                for f in world.at(fault.customer, fault.category)
                if f.id != fault.id and f.occurs(FIRST_DAY.date()) and not set(f.notices) & set(fault.notices)
            ]
            faults += sorted(others, key=lambda f: dice(*key, f.id))[:1]
        complaints = []
        for f in faults:
            mine, start = texts[f.id], used[f.id]
            while not complaints and mine[start % len(mine)] in opened and start < len(mine):
                start += 1
            used[f.id] = start + 1
            says = [mine[(start + 2 * i) % len(mine)] for i in range(min(3, len(mine)))]
            opened |= set() if complaints else {says[0]}
            complaints.append(Complaint(f.id, tuple(dict.fromkeys(says))))
        persona = Persona(
            patience=(5.0, 8.0, 8.0, 11.0)[int(dice(*key, "patience") * 4)],
            skill=(0.4, 0.7, 0.9)[int(dice(*key, "skill") * 3)],
            honesty=(0.6, 0.9, 1.0)[int(dice(*key, "honesty") * 3)],
            language=language(complaints[0].says[0]),
        )
        replaces = any(
            set(f.notices) & set(fault.notices)
            for f in world.at(fault.customer, fault.category)
            if f.until < fault.since
        )
        tags = [t for t, yes in (("two_faults", len(faults) > 1), ("drift", replaces)) if yes]
        at = FIRST_DAY + timedelta(days=int(dice(*key, "day") * 28), minutes=int(dice(*key, "minute") * 540))
        scenarios.append(
            Scenario(
                f"case-{number + 1:03}", fault.customer, fault.category, at, tuple(complaints), persona, tuple(tags)
            )
        )
    path = ROOT / "datasets/scenarios.jsonl"
    path.write_text("".join(f"{canonical_json(s.to_json())}\n" for s in scenarios), encoding="utf-8")
    print(len(scenarios), "scenarios,", len({c.fault for s in scenarios for c in s.complaints}), "faults")


if __name__ == "__main__":
    main()
