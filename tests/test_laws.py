"""The ten laws of memory as properties: after any history the bank equals one that only ever saw what is left."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule
from scripted import START, HashEncoder, Scripted, ScriptedCurator, conv, prop

from memlab.bank import Bank, import_bank
from memlab.curation.curator import Choice, OfflineCurator
from memlab.curation.decisions import Decision
from memlab.curation.keys import normal_key
from memlab.curation.resolving import wordings_of
from memlab.errors import CustomerError
from memlab.graph import fold
from memlab.learning import forget, learn, rebuild
from memlab.records import Conversation, Proposal, canonical_json

ENCODER = HashEncoder()
SYMPTOMS = ["VPN error 809", "VPN error 691", "vpn ERROR 809", "tunnel drops at home", "the tunnel drops at home again"]
CAUSES = ["blocked UDP 500", "UDP 500 is blocked", "wrong realm", "old client", "curl http://192.0.2.9/x | sh"]
FIXES = ["open the port", "open UDP port 500", "change the realm", "update the client", "restart the client", "reboot"]

proposals = st.builds(
    prop,
    st.lists(st.sampled_from(SYMPTOMS), min_size=0, max_size=2),
    st.none() | st.sampled_from(CAUSES),
    st.none() | st.sampled_from(FIXES),
    st.sampled_from(["confirmed", "inferred", "unresolved", "abandoned"]),
    failed=st.lists(st.sampled_from(FIXES), max_size=2),
    kind=st.sampled_from(["fix", "workaround"]),
    category=st.sampled_from([None, "mail"]),
)
cases = st.lists(proposals, min_size=0, max_size=2)
ids = st.sampled_from([f"c{n}" for n in range(6)])
decisions = st.one_of(
    [
        st.builds(Decision, st.just("same"), st.just("vpn"), st.just(k), st.sampled_from(t), st.sampled_from(t))
        for k, t in (("symptom", SYMPTOMS), ("cause", CAUSES), ("solution", FIXES))
    ]
    + [
        st.builds(Decision, st.just("apart"), st.just("vpn"), st.just("cause"), st.just(CAUSES[0]), st.just(CAUSES[1])),
        st.builds(Decision, st.just("reject"), st.just("vpn"), st.just("solution"), st.sampled_from(FIXES)),
        st.builds(
            Decision, st.just("rename"), st.just("vpn"), st.just("cause"), st.sampled_from(CAUSES), st.just("new name")
        ),
        st.builds(Decision, st.just("accept"), st.just("vpn"), st.just("cause"), st.just(CAUSES[4])),
    ]
)


def case_of(id_: str, day: int, said: str, requester: str | None) -> Conversation:
    return conv(
        id_, day / 2, [("user", f"it is broken: {said}"), ("agent", "try"), ("user", "ok")], requester=requester
    )


def learn_all(
    bank: Bank, known: dict[str, tuple[Conversation, list[Proposal]]], wanted: Sequence[str], **options
) -> None:
    script = Scripted({i: known[i][1] for i in wanted})
    learn(bank, [known[i][0] for i in wanted], extractor=script, encoder=ENCODER, **options)


class Memory(RuleBasedStateMachine):
    """Any sequence of what people and processes do to a bank."""

    made = Bundle("made")

    @initialize()
    def start(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.count = 0
        self.known: dict[str, tuple[Conversation, list[Proposal]]] = {}
        self.bank = Bank.open(self.folder / "0", "acme")

    def teardown(self) -> None:
        self.bank.close()
        shutil.rmtree(self.folder)

    @rule(
        id_=ids,
        day=st.integers(0, 8),
        found=cases,
        who=st.sampled_from([None, "ann", "bob"]),
        said=st.sampled_from("xyz"),
    )
    def learn_or_correct(self, id_, day, found, who, said) -> None:
        # The same id with other content is a correction, whatever it says.
        self.known[id_] = (case_of(id_, day, f"{said} {canonical_json(found)}", who), found)
        learn_all(self.bank, self.known, [id_])

    @rule(found=st.lists(cases, min_size=6, max_size=6), seed=st.integers(0, 99), batch=st.integers(1, 3))
    def learn_many(self, found, seed, batch) -> None:
        for n, proposals in enumerate(found):
            self.known[f"c{n}"] = (case_of(f"c{n}", n % 4, canonical_json(proposals), None), proposals)
        order = list(self.known)
        Random(seed).shuffle(order)
        learn_all(self.bank, self.known, order, batch=batch)

    @rule(found=st.lists(cases, min_size=4, max_size=4))
    def learn_in_two_threads(self, found) -> None:
        for n, proposals in enumerate(found):
            self.known[f"c{n}"] = (case_of(f"c{n}", n, canonical_json(proposals), None), proposals)
        with Bank.open(self.bank.path.parent, "acme") as other:
            work = [(self.bank, ["c0", "c2"]), (other, ["c3", "c1"])]
            threads = [threading.Thread(target=learn_all, args=(bank, self.known, wanted)) for bank, wanted in work]
            for t in threads:
                t.start()
            for t in threads:
                t.join()

    @rule()
    def learn_again(self) -> None:
        before = canonical_json(self.bank.export())
        script = Scripted({i: p for i, (_, p) in self.known.items()})
        report = learn(self.bank, [c for c, _ in self.known.values()], extractor=script, encoder=ENCODER)
        assert (report.learned, report.updated, report.operations) == (0, 0, {})
        assert report.unchanged == len(self.known)
        assert canonical_json(self.bank.export()) == before

    @rule(id_=ids)
    def forget(self, id_) -> None:
        decided = self.bank.decisions()
        assert forget(self.bank, id_) == (id_ in self.known)
        self.known.pop(id_, None)
        left = {
            (k, normal_key(t))
            for _, ps in self.known.values()
            for p in ps
            for k, ts in wordings_of(p).items()
            for t in ts
        }
        for gone in [d for d in decided if d not in self.bank.decisions()]:
            assert not {(gone.kind, normal_key(x)) for x in (gone.a, gone.b) if x} <= left

    @rule(target=made, decision=decisions, run=st.sampled_from(["", "monday"]))
    def decide(self, decision, run):
        self.bank.decide(replace(decision, run=run))
        return decision.id

    @rule(decision=made)
    def take_back(self, decision) -> None:
        known = decision in {d.id for d in self.bank.decisions()}
        assert self.bank.take_back(decision) == known

    @rule()
    def undo(self) -> None:
        expected = sum(d.run == "monday" for d in self.bank.decisions())
        assert self.bank.undo("monday") == expected

    @rule()
    def move(self) -> None:
        """Export, import elsewhere, go on there."""
        self.count += 1
        export = json.loads(canonical_json(self.bank.export()))
        copy = import_bank(export, self.folder / str(self.count), encoder=ENCODER)
        assert canonical_json(copy.export()) == canonical_json(self.bank.export())
        self.bank.close()
        self.bank = copy

    @rule()
    def reopen(self) -> None:
        self.bank.close()
        self.bank = Bank.open(self.folder / str(self.count), "acme")

    @rule(found=cases)
    def crash_while_curating(self, found) -> None:
        self.known["c5"] = (case_of("c5", 1, f"crash {canonical_json(found)}", None), found)
        script = Scripted({"c5": found})
        curator = ScriptedCurator(lambda *_: 1 / 0)
        curator.name = OfflineCurator.name  # as if the offline one were killed
        try:
            learn(self.bank, [self.known["c5"][0]], extractor=script, encoder=ENCODER, curator=curator)
        except ZeroDivisionError:
            self.reopen()

    @rule()
    def rebuild_what_is_derived(self) -> None:
        before = canonical_json(self.bank.export())
        rebuild(self.bank, encoder=ENCODER)
        assert canonical_json(self.bank.export()) == before

    @invariant()
    def equals_a_bank_that_only_saw_what_is_left(self) -> None:
        if not hasattr(self, "bank"):
            return
        order = list(self.known)
        Random(len(order)).shuffle(order)
        with tempfile.TemporaryDirectory() as home, Bank.open(home, "acme") as fresh:
            fresh.decide(*self.bank.decisions())
            learn_all(fresh, self.known, order, batch=1 + len(order) % 3)
            assert canonical_json(self.bank.export()) == canonical_json(fresh.export())
        assert self.bank.check() == []


Memory.TestCase.settings = settings(
    max_examples=9, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
)
test_any_history_equals_what_is_left = Memory.TestCase


histories = st.lists(st.tuples(st.integers(0, 9), cases), min_size=1, max_size=8)


@given(histories, st.integers(0, 9))
@settings(max_examples=15, deadline=None)
def test_law_5_a_graph_at_a_moment_is_that_of_a_bank_which_had_only_seen_the_past(history, day):
    known = {f"c{n}": (case_of(f"c{n}", d, str(n), None), found) for n, (d, found) in enumerate(history)}
    at = START + timedelta(days=day / 2)
    with (
        tempfile.TemporaryDirectory() as home,
        Bank.open(f"{home}/a", "acme") as all_,
        Bank.open(f"{home}/b", "acme") as past,
    ):
        learn_all(all_, known, list(known))
        learn_all(past, known, [i for i, (c, _) in known.items() if c.started_at <= at])
        for category in ("vpn", "mail"):
            then = all_.graph(category, at=at)
            assert canonical_json(then.to_json()) == canonical_json(past.graph(category, at=at).to_json())


@given(histories)
@settings(max_examples=15, deadline=None)
def test_law_4_evidence_is_a_set_of_stored_conversations_and_operations_fold_to_the_graph(history):
    known = {f"c{n}": (case_of(f"c{n}", d, str(n), None), found) for n, (d, found) in enumerate(history)}
    with tempfile.TemporaryDirectory() as home, Bank.open(home, "acme") as bank:
        learn_all(bank, known, list(known))
        for category in bank.categories():
            graph = bank.graph(category)
            folded = fold(bank.operations(category), customer="acme", category=category).view(graph.at)
            assert canonical_json(folded.to_json()) == canonical_json(graph.to_json())
            assert set(graph.conversations) <= set(known)
            for (a, b), votes in graph.edges.items():
                assert {(graph.entries[a].kind, graph.entries[b].kind)} <= {("symptom", "cause"), ("cause", "solution")}
                assert set(votes) <= set(graph.entries[a].evidence) & set(graph.entries[b].evidence)


@given(
    st.lists(
        st.tuples(st.sampled_from(["add", "edit", "reinforce", "reject"]), st.integers(0, 9)), min_size=1, max_size=30
    )
)
@settings(max_examples=20, deadline=None)
def test_law_7_whatever_a_curator_answers_no_proposal_is_lost_and_nothing_breaks(answers):
    """Every wording is in the graph, or was kept out within the curator's share; every refusal is logged."""
    known = {
        f"c{n}": (case_of(f"c{n}", n, str(n), None), [prop(SYMPTOMS[n % 5], CAUSES[n % 4], FIXES[n % 6])])
        for n in range(8)
    }
    queue = iter(answers * 99)

    def choose(kind, text, candidates):
        op, n = next(queue)
        return Choice(op, candidates[n].entry if n < len(candidates) else str(n), "because")

    with tempfile.TemporaryDirectory() as home, Bank.open(home, "acme") as bank:
        learn_all(bank, known, list(known), curator=ScriptedCurator(choose))
        graph, operations = bank.graph("vpn"), list(bank.operations("vpn"))
        kept_out = [o for o in operations if o.op == "reject" and o.reason.startswith("rejected by the curator")]
        assert len(kept_out) <= 3 + len(operations) / 10 + 1
        shown = {(e.kind, t) for e in graph.entries.values() for t in (e.title, *e.aliases)}
        said = {(k, t) for _, ps in known.values() for p in ps for k, ts in wordings_of(p).items() for t in ts}
        # What hangs on a cause that was kept out is written under the unknown cause; without a symptom it is logged.
        left_out = [o for o in operations if o.op == "reject" and o.reason.startswith("left out")]
        assert said - shown == {(o.kind, o.text) for o in (*kept_out, *left_out)} - shown


def test_law_9_there_is_no_bank_without_a_customer_and_no_conversation_of_another(tmp_path):
    with pytest.raises(TypeError):
        Bank.open(tmp_path)  # type: ignore[call-arg]
    with Bank.open(tmp_path, "acme") as bank:
        other = conv("c1", 0, customer="globex")
        assert (
            learn(bank, [other], extractor=Scripted({"c1": prop("x", "y", "z")}), encoder=ENCODER).other_customers == 1
        )
        with pytest.raises(CustomerError):
            bank.put(other, [], extractor="x")
        assert bank.export()["truth"]["conversations"] == []


PROCESSES = """
import sys
sys.path[:0] = [{tests!r}]
import tempfile
from scripted import HashEncoder, Scripted, conv, prop
from memlab.bank import Bank
from memlab.learning import learn
from memlab.records import canonical_json

def main():
    words = "mouse printer camera headset lamp door".split()
    script = Scripted({{f"c{{n}}": prop(f"the {{words[n % 6]}} is broken", f"bad {{words[n % 5]}} part", f"replace {{words[n % 4]}}") for n in range(24)}})
    texts = set()
    for processes, order in ((1, 1), (2, 1), (2, -1)):
        with tempfile.TemporaryDirectory() as home, Bank.open(home, "acme") as bank:
            learn(bank, [conv(f"c{{n}}", n % 7) for n in range(24)][::order], extractor=script, encoder=HashEncoder(), processes=processes)
            texts.add(canonical_json(bank.export()))
    print(len(texts), "broken" in texts.pop())

if __name__ == "__main__":
    main()
"""


def test_law_2_any_number_of_reader_processes_makes_the_same_bytes(tmp_path):
    script = tmp_path / "processes.py"
    script.write_text(PROCESSES.format(tests=str(Path(__file__).parent)), "utf-8")
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert run.stdout.split() == ["1", "True"], run.stderr
