"""One-to-one matching of predicted and gold texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlab.errors import InputError, ModelError
from memlab.evaluation.matching import Matching, Pair, TextVectors, assign, match_texts, match_vectors


class Table:
    """An encoder that knows a few texts by angle (degrees); it counts what it is asked."""

    name = "table"

    def __init__(self, **angles: float) -> None:
        self.angles = angles
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += texts
        turns = np.radians([self.angles[t] for t in texts])
        return np.stack([np.cos(turns), np.sin(turns)], axis=1).astype(np.float32)


def test_the_sum_decides_not_the_greatest():
    # Greedy takes 0.9 and leaves 0.3 (below the threshold); 0.8 + 0.7 is more.
    found = assign(np.array([[0.9, 0.8], [0.7, 0.3]]))
    assert found == Matching((Pair(1, 0, 0.7), Pair(0, 1, 0.8)))


def test_pairs_below_the_threshold_are_missed_and_invented():
    found = assign(np.array([[0.49, 0.5, 0.1]]))
    assert found == Matching((Pair(0, 1, 0.5),), missed=(0, 2), invented=())
    assert assign(np.array([[0.49]])) == Matching((), missed=(0,), invented=(0,))


def test_a_pair_below_the_threshold_never_displaces_one_above():
    # 0.4 + 0.4 > 0.6, but 0.4 is no match.
    assert assign(np.array([[0.6, 0.4], [0.4, 0.1]])).pairs == (Pair(0, 0, 0.6),)


@pytest.mark.parametrize("threshold", [0.0, -0.5, 1.01])
def test_odd_thresholds_are_refused(threshold):
    with pytest.raises(InputError, match="threshold must be in"):
        assign(np.zeros((1, 1)), threshold=threshold)


def test_by_meaning_uses_cosines():
    # cos 60° = .5 is a match, cos 70° = .34 is none.
    encoder = Table(a=0, b=60, c=130)
    found = match_texts(["b", "c"], ["a"], encoder=encoder)
    assert found == Matching((Pair(0, 0, 0.5),), missed=(), invented=(1,))


def test_the_same_words_count_one_whatever_the_vectors_say():
    encoder = Table(**{"VPN drops.": 0, "vpn  drops": 90})
    assert match_texts(["VPN drops."], ["vpn  drops"], encoder=encoder).pairs == (Pair(0, 0, 1.0),)


def test_by_words_is_one_to_one_and_asks_no_encoder():
    found = match_texts(["Restart", "restart!", "reboot"], ["restart", "call"], by="words", encoder=Table())
    assert [(p.gold, p.score) for p in found.pairs] == [(0, 1.0)]
    assert found.pairs[0].predicted in (0, 1)  # either, but only one of the two
    assert found.missed == (1,)
    assert len(found.invented) == 2


def test_forbidden_pairs_are_never_matched():
    allowed = np.array([[False], [True]])
    assert match_texts(["x", "x"], ["x"], by="words", allowed=allowed).pairs == (Pair(1, 0, 1.0),)


def test_no_texts_on_a_side():
    assert match_texts([], ["a"], encoder=Table()) == Matching((), missed=(0,))
    assert match_texts(["a"], [], encoder=Table()) == Matching((), invented=(0,))
    assert match_vectors(np.zeros((0, 3), np.float32), np.zeros((2, 3), np.float32)) == Matching((), missed=(0, 1))


def test_vectors_by_argument():
    eye = np.eye(3, dtype=np.float32)
    assert match_vectors(eye[[2, 0]], eye[:2]).pairs == (Pair(1, 0, 1.0),)


def test_unknown_way_is_refused():
    with pytest.raises(InputError, match="meaning or words"):
        match_texts(["a"], ["a"], by="sound")  # type: ignore[arg-type]


@given(
    st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=5),
    st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=5),
    st.randoms(use_true_random=False),
)
def test_order_does_not_change_which_texts_meet(predicted, gold, random):
    vectors = TextVectors(Table(a=0, b=20, c=40, d=60, e=120))

    def met(left: list[str], right: list[str]) -> list[tuple[str, str]]:
        found = match_texts(left, right, vectors=vectors)
        assert len(found.pairs) + len(found.missed) == len(right)
        assert len(found.pairs) + len(found.invented) == len(left)
        return sorted((left[p.predicted], right[p.gold]) for p in found.pairs)

    left, right = random.sample(predicted, len(predicted)), random.sample(gold, len(gold))
    assert met(predicted, gold) == met(left, right)


def test_each_text_is_encoded_once():
    encoder = Table(a=0, b=10)
    vectors = TextVectors(encoder)
    vectors(["a", "a", "b"])
    vectors(["b", "a"])
    assert encoder.asked == ["a", "b"]


def test_a_short_answer_of_the_encoder_is_an_error():
    class Short(Table):
        def encode(self, texts: Sequence[str]) -> np.ndarray:
            return super().encode(texts)[:1]

    with pytest.raises(ModelError, match="1 vectors for 2 texts"):
        TextVectors(Short(a=0, b=1))(["a", "b"])
