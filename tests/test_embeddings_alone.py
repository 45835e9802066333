"""The fast encoder: to the last bit, each text is what it is by itself."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from memlab.errors import ModelError
from memlab.models.embeddings import OnnxMiniLM, Remembering

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
    encoder._layers = lambda ids: 1 / 0
    with pytest.raises(ModelError, match="encoding failed"):
        encoder.encode(["a", "b c"])
