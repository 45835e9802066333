"""Small synthetic histories: operations as a curator would write them, and the graphs that they fold into."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from memlab.graph import SkillGraph, fold
from memlab.operations import Operation
from memlab.records import Evidence, Kind, Verification

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
HOSTILE = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror="alert(1)">',
    "{{7*7}} {% raw %} ${7*7}",
    "`${alert(1)}`",
    "<!--<script>&lt;b&gt;&amp;",
    "\u202egnirts desrever \u2028 \U0001f4a5 \\u003c",
]


class History:
    """Writes operations; one call of `case` is one conversation."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self._known: set[str] = set()

    def _write(self, kind: Kind, text: str, evidence: Evidence, sources: list[str], quote: str) -> str:
        entry = f"{kind}-{text}"
        op = "reinforce" if entry in self._known else "add"
        self._known.add(entry)
        links = tuple((s, entry) for s in sources)
        self.operations.append(Operation(op, kind, entry, text, evidence, links, 0, 1, quote, f"{op}: a reason"))
        return entry

    def case(
        self,
        day: float,
        symptoms: list[str],
        cause: str,
        solution: str | None = None,
        *,
        failed: str | None = None,
        verification: Verification = "confirmed",
        workaround: bool = False,
        quote: str = "it says so here",
    ) -> None:
        at = START + timedelta(days=day)
        name = f"case-{len({o.conversation for o in self.operations}):04d}"
        evidence = Evidence(name, at, verification, None, workaround)
        sources = [self._write("symptom", s, evidence, [], quote) for s in symptoms]
        root = self._write("cause", cause, evidence, sources, quote)
        if solution is not None:
            self._write("solution", solution, evidence, [root], quote)
        if failed is not None:
            self._write("solution", failed, Evidence(name, at, "failed"), [root], quote)

    def graph(self) -> SkillGraph:
        return fold(self.operations, customer="fabrikam", category="teams")


@pytest.fixture
def history() -> History:
    return History()


@pytest.fixture(scope="session")
def new_history() -> type[History]:
    return History


@pytest.fixture(scope="session")
def hostile() -> list[str]:
    return HOSTILE


@pytest.fixture(scope="session")
def synthetic() -> Callable[..., History]:
    """A history with so many causes, each with a few symptoms and solutions, some of them shared."""

    def build(causes: int, *, conversations: int, seed: int = 0) -> History:
        rng, history = Random(seed), History()
        for n in range(conversations):
            c = n if n < causes else rng.randrange(causes)
            symptoms = [f"symptom {c}.{rng.randrange(2)} of the thing on the desk"]
            if rng.random() < 0.15:
                symptoms.append(f"symptom {rng.randrange(causes)}.0 of the thing on the desk")
            history.case(
                n * 0.5,
                symptoms,
                f"cause {c}: a driver that somebody updated last week",
                f"solution {c}: install the driver from before",
                failed=f"failed attempt {c}: restart it" if n % 3 == 0 else None,
                verification=rng.choice(["confirmed", "confirmed", "inferred", "claimed"]),
                workaround=n % 7 == 0,
            )
        return history

    return build
