"""The generator for size: the same conversations whoever makes them, with ground truth that fits."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlab.corpus.check.schema import label_problems
from memlab.corpus.generator import generate
from memlab.errors import InputError
from memlab.records import Conversation


@given(seed=st.integers(0, 2**40), start=st.integers(0, 10**6), n=st.integers(1, 6), customers=st.integers(1, 5))
def test_a_part_is_the_same_as_in_the_whole(seed, start, n, customers):
    whole = list(generate(n + 3, seed=seed, start=start, customers=customers))
    assert list(generate(n, seed=seed, start=start, customers=customers)) == whole[:n]
    assert list(generate(3, seed=seed, start=start + n, customers=customers)) == whole[n:]


def test_labels_fit_their_conversations():
    for conversation, label in generate(300, seed=4):
        assert list(label_problems(label, conversation)) == []
        assert Conversation.from_json(conversation.to_json()) == conversation
        assert conversation.metadata["for"] == "speed only"


def test_times_rise_and_ids_differ():
    made = [c for c, _ in generate(200, seed=1)]
    assert [c.order for c in made] == sorted(c.order for c in made)
    assert len({c.id for c in made}) == 200
    assert [c.turns for c, _ in generate(20, seed=2)] != [c.turns for c in made[:20]]


def test_causes_have_a_long_tail():
    made = [label["root_cause"]["id"] for _, label in generate(4000, seed=3, customers=1, causes=10)]
    frequent = Counter(name.rsplit("-", 2)[1] for name in made)
    # Shares fall as 1/k: the first has 1 / (1 + 1/2 + … + 1/10) = 0.341 of 4000, the tenth a tenth of that.
    assert abs(frequent["000"] - 1365) < 150
    assert 80 < frequent["009"] < 200


def test_memory_stays_constant():
    def peak(n):
        tracemalloc.reset_peak()
        for _ in generate(n, seed=1):
            pass
        return tracemalloc.get_traced_memory()[1]

    tracemalloc.start()
    try:
        peak(300)
        assert peak(1500) < 1.5 * peak(300)
    finally:
        tracemalloc.stop()


def test_it_is_lazy_and_refuses_nonsense():
    assert len(list(islice(generate(10**6, seed=1), 2))) == 2
    assert list(generate(0, seed=1)) == []
    with pytest.raises(InputError, match="must be ≥"):
        next(generate(1, seed=1, customers=0))
