"""The reader model: one pass over a conversation marks spans; weights ship with the package (`reader.onnx`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from memlab.errors import ModelError
from memlab.extraction.layout import Layout, lay_out, verbatim, window_ids, windows
from memlab.extraction.tags import FIELDS, KINDS, OUTCOMES, RESOLUTIONS, TOKEN_WIDTH
from memlab.records import Conversation

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Reading", "Span", "read"]


@dataclass(frozen=True, slots=True)
class Span:
    """Words of one turn that the model marks for a field.

    Attributes
    ----------
    score : float
        Mean probability of its tokens, in [0, 1].
    outcomes : tuple of float
        Probabilities of worked, failed, partial, unknown (attempts).
    second : float
        Probability that it belongs to the second issue of the conversation.
    """

    field: str
    turn: int
    start: int
    end: int
    quote: str
    score: float
    outcomes: tuple[float, ...]
    second: float


@dataclass(frozen=True, slots=True)
class Reading:
    """All that the model marks in a conversation, and the probabilities of each resolution and solution kind."""

    spans: tuple[Span, ...]
    resolution: dict[str, float]
    kind: dict[str, float]


@cache
def _session() -> Any:
    try:
        import onnxruntime as ort
    except ImportError as error:
        raise ModelError(f"{error}: pip install onnxruntime") from error
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    weights = (resources.files("memlab.extraction") / "reader.onnx").read_bytes()
    return ort.InferenceSession(weights, options, providers=["CPUExecutionProvider"])


def _softmax(x: NDArray[np.float64]) -> NDArray[np.float64]:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def _logits(layout: Layout) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Token logits of shape (tokens, TOKEN_WIDTH), and the whole-conversation logits of the last window."""
    tokens = np.zeros((len(layout.tokens), TOKEN_WIDTH))
    whole = np.zeros(len(RESOLUTIONS) + len(KINDS))
    for w in windows(layout):
        ids = np.array([window_ids(layout, w)], np.int64)
        out, pooled = _session().run(None, {"ids": ids, "mask": np.ones_like(ids)})
        inner = np.asarray(out[0][1:-1], np.float64)
        tokens[w.keep_from : w.keep_to] = inner[w.keep_from - w.start : w.keep_to - w.start]
        whole = np.asarray(pooled[0], np.float64)
    return tokens, whole


def read(conversation: Conversation, *, floor: float = 0.3) -> Reading:
    """Run the model over a conversation.

    Parameters
    ----------
    conversation : Conversation
        Quoted mails in it are not read.
    floor : float
        Spans of a lower score are not returned.

    Raises
    ------
    ModelError
        If the model can't be loaded or run.
    """
    layout = lay_out(conversation)
    logits, whole = _logits(layout)
    n = len(FIELDS)
    outcomes = _softmax(logits[:, 3 * n : 3 * n + len(OUTCOMES)])
    second = 1 / (1 + np.exp(-logits[:, -1]))
    spans: list[Span] = []
    for f, field in enumerate(FIELDS):
        tags = _softmax(logits[:, 3 * f : 3 * f + 3])
        for a, b in _runs(layout, tags):
            score = float((1 - tags[a:b, 0]).mean())
            if score < floor:
                continue
            found = layout.tokens[a:b]
            spans.append(
                Span(
                    field=field,
                    turn=found[0].turn,
                    start=found[0].start,
                    end=found[-1].end,
                    quote=verbatim(conversation, found),
                    score=round(score, 4),
                    outcomes=tuple(round(float(x), 4) for x in outcomes[a:b].mean(axis=0)),
                    second=round(float(second[a:b].mean()), 4),
                )
            )
    split = len(RESOLUTIONS)
    return Reading(
        tuple(sorted(spans, key=lambda s: (s.turn, s.start, s.field))),
        _named(RESOLUTIONS, whole[:split]),
        _named(KINDS, whole[split:]),
    )


def _named(names: tuple[Any, ...], logits: NDArray[np.float64]) -> dict[str, float]:
    return {n: round(float(p), 4) for n, p in zip(names, _softmax(logits), strict=True)}


def _runs(layout: Layout, tags: NDArray[np.float64], *, enter: float = 0.4) -> list[tuple[int, int]]:
    """Stretches of tokens inside one turn whose probability of being marked stays above `enter`; whole words only."""
    inside = (1 - tags[:, 0]) >= enter
    runs: list[tuple[int, int]] = []
    start: int | None = None
    for k in range(len(layout.tokens) + 1):
        mark = k < len(layout.tokens) and layout.tokens[k].end > layout.tokens[k].start
        here = mark and bool(inside[k])
        fresh = here and start is not None and (
            layout.tokens[k].turn != layout.tokens[start].turn or _begins(layout, tags, k)
        )
        if start is not None and (not here or fresh):
            runs.append((start, k))
            start = None
        if here and start is None:
            start = k
    return [_whole_words(layout, a, b) for a, b in runs]


def _begins(layout: Layout, tags: NDArray[np.float64], k: int) -> bool:
    """A token that opens a new span although the one before is inside one."""
    continues = layout.tokens[k].start == layout.tokens[k - 1].end  # a word piece
    return not continues and tags[k, 1] > tags[k, 2] and tags[k, 1] > 0.5


def _whole_words(layout: Layout, a: int, b: int) -> tuple[int, int]:
    t = layout.tokens
    while a > 0 and t[a - 1].turn == t[a].turn and t[a - 1].end == t[a].start and t[a - 1].end > t[a - 1].start:
        a -= 1
    while b < len(t) and t[b].turn == t[b - 1].turn and t[b].start == t[b - 1].end and t[b].end > t[b].start:
        b += 1
    return a, b
