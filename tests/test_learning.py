"""Learning real conversations with the real extractor: order, processes, repetition, and what is left after forgetting."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from memlab.bank import Bank
from memlab.corpus import read_conversations
from memlab.curation.keys import normal_key
from memlab.learning import forget, learn
from memlab.records import canonical_json
from memlab.rendering import parse_skill, render_skill

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def some():
    corpus = read_conversations(ROOT / "datasets/support/conversations.jsonl")
    return [c for c in corpus if c.customer == "fabrikam" and c.category in ("vpn", "teams")][:24]


@pytest.fixture(scope="module")
def reference(some, tmp_path_factory):
    with Bank.open(tmp_path_factory.mktemp("one"), "fabrikam") as bank:
        learn(bank, some)
        yield canonical_json(bank.export())


def test_any_order_and_four_processes_give_the_same_bytes(some, reference, tmp_path):
    shuffled = random.Random(7).sample(some, len(some))
    with Bank.open(tmp_path, "fabrikam") as bank:
        report = learn(bank, shuffled, processes=4)
        assert report.learned == len(some)
        assert canonical_json(bank.export()) == reference


def test_one_by_one_and_twice_give_the_same_bytes(some, reference, tmp_path):
    with Bank.open(tmp_path, "fabrikam") as bank:
        for c in reversed(some):
            learn(bank, [c])
        again = learn(bank, some)
        assert (again.learned, again.updated, again.unchanged) == (0, 0, len(some))
        assert again.operations == {}
        assert canonical_json(bank.export()) == reference


def test_forgetting_leaves_the_bank_as_if_never_seen(some, tmp_path):
    with Bank.open(tmp_path / "a", "fabrikam") as bank, Bank.open(tmp_path / "b", "fabrikam") as other:
        learn(bank, some)
        assert forget(bank, some[5].id) == 1
        learn(other, [c for c in some if c.id != some[5].id])
        assert canonical_json(bank.export()) == canonical_json(other.export())


def test_other_customers_are_passed_by_and_counted(some, tmp_path):
    with Bank.open(tmp_path, "northwind") as bank:
        report = learn(bank, some[:3])
        assert (report.learned, report.other_customers) == (0, 3)
        assert bank.categories() == []


def test_the_skill_of_real_conversations_fits_its_budget_and_reads_back(some, tmp_path):
    from memlab.models.tokens import count_tokens

    with Bank.open(tmp_path, "fabrikam") as bank:
        learn(bank, some)
        graph = bank.graph("vpn")
    for budget in (300, 500, 1000):
        text = render_skill(graph, budget=budget)
        assert count_tokens(text) <= budget
        causes = parse_skill(text)["causes"]
        known = [normal_key(w) for e in graph.of_kind("cause") for w in (e.title, *e.aliases)]
        told = [normal_key(c["cause"].removesuffix("…")) for c in causes]  # a long title is cut behind a word
        assert told
        assert all(any(k.startswith(t) for k in known) for t in told[1:])
