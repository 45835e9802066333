"""Batches of the fast encoder: full, and to the last bit what each text is by itself."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlab.errors import ModelError
from memlab.models.embeddings import OnnxMiniLM, Remembering, _batches

TEXTS = [
    *("it works now", "it fails now", "nothing changed", "please try again", "still no luck"),
    *("the VPN drops every few minutes", "the printer prints empty pages", "Outlook asks for my password"),
    *("x", "", "Der Drucker druckt leere Seiten", "error 0x8004de40 when OneDrive signs in", "word " * 300),
]


@pytest.fixture(scope="module")
def alone():
    encoder = OnnxMiniLM(1)
    return {text: encoder.encode([text])[0].tobytes() for text in TEXTS}


@pytest.mark.parametrize("threads", [1, 3])
def test_a_batch_gives_each_text_the_bits_that_it_has_alone(alone, threads):
    encoder = OnnxMiniLM(threads)
    for order in (TEXTS, TEXTS[::-1], TEXTS[::2] + TEXTS):
        rows = encoder.encode(order)
        assert [row.tobytes() for row in rows] == [alone[text] for text in order]


def test_where_rows_do_not_stand_alone_each_text_goes_by_itself(alone):
    encoder = OnnxMiniLM(1)
    encoder.encode(["load"])
    model, sizes = encoder._model, []
    assert model.rows_stand_alone()  # on every machine that we have seen
    run = model.run
    model.run = lambda batch: (sizes.append(len(batch)), run(batch))[1]
    model._alone = False
    rows = encoder.encode(TEXTS)
    assert set(sizes) == {1}
    assert [row.tobytes() for row in rows] == [alone[text] for text in TEXTS]


@given(st.lists(st.integers(1, 30), min_size=1, max_size=60), st.sampled_from([0, 1, 40, 256]))
def test_a_batch_has_one_length_and_no_more_tokens_than_allowed(lengths, most):
    tokens = [[7] * n for n in lengths]
    found = _batches(tokens, most)
    assert sorted(n for batch in found for n in batch) == list(range(len(tokens)))
    for batch in found:
        assert len({lengths[n] for n in batch}) == 1
        assert len(batch) == 1 or sum(lengths[n] for n in batch) <= most


class Counting:
    name = "counting"

    def __init__(self):
        self.asked = []

    def encode(self, texts):
        self.asked.append(list(texts))
        return np.array([[len(t), 1] for t in texts], np.float32).reshape(len(texts), 2)


def test_a_remembering_encoder_asks_for_a_text_once():
    inner = Counting()
    encoder = Remembering(inner)
    assert encoder.name == inner.name
    assert encoder.encode(["a", "bb", "a"]).tolist() == [[1, 1], [2, 1], [1, 1]]
    assert encoder.encode(["bb", "ccc"]).tolist() == [[2, 1], [3, 1]]
    assert encoder.encode(["a"]).tolist() == [[1, 1]]
    assert encoder.encode([]).shape == (0, 2)
    assert inner.asked == [["a", "bb"], ["ccc"], []]


def test_the_encoder_travels_without_its_model():
    encoder = OnnxMiniLM(2)
    encoder.encode(["load"])
    sent = pickle.dumps(encoder)
    assert len(sent) < 500
    assert pickle.loads(sent).encode(["x"]).tobytes() == encoder.encode(["x"]).tobytes()


def test_a_model_that_breaks_is_a_model_error():
    encoder = OnnxMiniLM(1)
    encoder.encode(["load"])
    encoder._model.run = lambda batch: 1 / 0
    with pytest.raises(ModelError, match="encoding failed"):
        encoder.encode(["a", "b c"])
