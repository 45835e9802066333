"""Clause vectors in context: the fine-tuned encoder reads a whole conversation, and a clause is the mean of its tokens.

The weights of its layers ship with the package (`reader.onnx`, int8); its word embeddings are those of the installed
all-MiniLM-L6-v2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from memlab.errors import ModelError
from memlab.extraction.clauses import Clause
from memlab.models.minilm import Layers
from memlab.models.tokens import tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Window", "contextual_vectors", "model_bytes", "windows_of"]

MOST_TOKENS = 510
MOST_CLAUSE_TOKENS = 64
OVERLAP = 96  # tokens of the window before that are read again, for context
_START, _END, _UNKNOWN = 101, 102, 100


@dataclass(frozen=True, slots=True)
class Window:
    """Token ids of a stretch of a conversation, and where each new clause stands: (clause, first, after last)."""

    ids: tuple[int, ...]
    spans: tuple[tuple[int, int, int], ...]


@cache
def _speaker(role: str) -> tuple[int, ...]:
    return tuple(tokenizer().encode(f"{role}:", add_special_tokens=False).ids)


def windows_of(clauses: Sequence[Clause]) -> list[Window]:
    """The conversation as windows of at most 512 tokens (most need one); every clause is in the spans of one."""
    found = tokenizer().encode_batch([c.text for c in clauses], add_special_tokens=False)
    tokens = [e.ids[:MOST_CLAUSE_TOKENS] or [_UNKNOWN] for e in found]
    windows: list[Window] = []
    ids, spans, n, new, turn = [_START], list[tuple[int, int, int]](), 0, 0, -1
    while n < len(clauses):
        clause = clauses[n]
        before = [_END] if turn >= 0 else []
        opened = [*before, *_speaker(clause.role)] if clause.turn != turn else []
        if len(ids) + len(opened) + len(tokens[n]) > MOST_TOKENS and spans:
            windows.append(Window((*ids, _END), tuple(spans)))
            new, n = n, _step_back(tokens, n)
            ids, spans, turn = [_START], [], -1
            continue
        ids += opened
        if n >= new:
            spans.append((n, len(ids), len(ids) + len(tokens[n])))
        ids += tokens[n]
        turn, n = clause.turn, n + 1
    return [*windows, Window((*ids, _END), tuple(spans))]


def _step_back(tokens: Sequence[Sequence[int]], n: int) -> int:
    room = OVERLAP
    while n > 0 and len(tokens[n - 1]) <= room:
        n -= 1
        room -= len(tokens[n])
    return n


def contextual_vectors(clauses: Sequence[Clause]) -> NDArray[np.float32]:
    """Vectors of shape (len(clauses), 384), in order.

    Raises
    ------
    ModelError
        If the model can't be loaded or run.
    """
    layers = _layers()
    out = np.zeros((len(clauses), 384), np.float32)
    for window in windows_of(clauses):
        try:
            hidden = layers(window.ids)
        except Exception as error:
            raise ModelError(f"reading failed: {error}") from error
        for n, start, end in window.spans:
            out[n] = hidden[start:end].mean(axis=0)
    return out


def model_bytes() -> bytes:
    """The shipped layers, an ONNX file."""
    return (resources.files("memlab.extraction") / "reader.onnx").read_bytes()


@cache
def _layers() -> Layers:
    return Layers(model_bytes())
