"""Many threads and processes talk to agents on one store: nothing is lost, and no customer sees another's memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from memlab.agent.stores import open_store

TALK = """
import sys
from datetime import datetime, timedelta, UTC
from threading import Thread
sys.path.insert(0, sys.argv[6])
from scripted import HashEncoder
from memlab.agent import SupportAgent
from memlab.agent.stores import open_store
from memlab.records import Attempt, Mention, Proposal

class Listener:
    name = "listener"
    def extract(self, c):
        n, text = len(c.turns) - 1, c.turns[-1].text
        if text.startswith("gadget"):
            return [Proposal(c.id, symptoms=(Mention(text, n, text),))]
        step = text.split(",")[0]
        return [Proposal(c.id, attempts=(Attempt(step, "failed", "user", n, step),))]

backend, home, me, threads, each = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
encoder = HashEncoder()
agent = SupportAgent(open_store(home, backend=backend, encoder=encoder), extractor=Listener(), encoder=encoder)
customers, faults = sys.argv[7].split("|"), []

def talk(t):
    try:
        for n in range(each):
            customer = customers[n % len(customers)]
            at = datetime(2026, 3, 1, tzinfo=UTC) + timedelta(minutes=n)
            where = f"{me}{t}"
            if n < len(customers):
                reply = agent.ask(customer, f"gadget {me}{t} of {customer} is broken", at=at, conversation=where)
            else:
                reply = agent.ask(customer, f"pressed knob {me}{t}n{n} of {customer}, no luck", at=at, conversation=where)
            mixed = [r.text for r in reply.used if not r.text.endswith((f"of {customer}", f"of {customer} is broken"))]
            if mixed or reply.customer != customer:
                faults.append(f"{customer} saw {mixed}")
    except BaseException as error:
        faults.append(repr(error))

workers = [Thread(target=talk, args=(t,)) for t in range(threads)]
for w in workers: w.start()
for w in workers: w.join()
sys.exit("; ".join(faults) or 0)
"""


@pytest.mark.parametrize("backend", ["json", "bank"])
def test_agents_in_threads_of_two_processes_lose_nothing_and_mix_nothing(backend, tmp_path):
    threads, each = 4, 6
    check(backend, tmp_path, threads, each)


def check(
    backend: str,
    home: Path,
    threads: int,
    each: int,
    *,
    customers: Sequence[str] = ("acme", "ACME", "acme/eu"),
    timeout: float = 120,
) -> None:
    here = str(Path(__file__).parent)
    command = [sys.executable, "-c", TALK, backend, str(home)]
    running = [
        subprocess.Popen(
            [*command, me, str(threads), str(each), here, "|".join(customers)], stderr=subprocess.PIPE, text=True
        )
        for me in ("p", "q")
    ]
    errors = [process.communicate(timeout=timeout)[1] for process in running]
    assert [process.returncode for process in running] == [0, 0], errors
    store = open_store(home, backend=backend)
    for turn, customer in enumerate(customers):
        memories = store.all(customer)
        talkers = [(me, t) for me in "pq" for t in range(threads)]
        mine = [n for n in range(len(customers), each) if n % len(customers) == turn]
        steps = {f"pressed knob {me}{t}n{n} of {customer}" for me, t in talkers for n in mine}
        problems = {f"gadget {me}{t} of {customer} is broken" for me, t in talkers}
        # Problems that sound alike are one incident; each is among its symptoms. Every step is there, with its outcome.
        assert {s for m in memories if m.kind == "incident" for s in (m.text, *m.symptoms)} == problems
        told = {t.quote for m in memories if m.kind == "attempt" for t in m.tellings}
        assert told == steps
        assert all(m.customer == customer for m in memories)
        assert all(t.outcome == "failed" for m in memories if m.kind == "attempt" for t in m.tellings)
