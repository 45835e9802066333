"""Sentence vectors. Text in, unit vectors out; a failure raises and never reads as "nothing similar"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from memlab.errors import ModelError
from memlab.models.minilm import Layers, load_tokenizer, minilm_folder
from memlab.models.threads import processors

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Encoder", "OnnxMiniLM", "Remembering", "SentenceTransformerEncoder", "default_encoder"]


class Encoder(Protocol):
    """Anything that turns texts into unit vectors, the same vector for the same text in any company."""

    name: str

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of shape (len(texts), dimension), each of length 1."""
        ...


class OnnxMiniLM:
    """all-MiniLM-L6-v2 with int8 weights on onnxruntime, from what is installed: no network, ready in half a second.

    Each text is run by itself, so its vector never depends on its neighbours; threads take different texts.

    Parameters
    ----------
    threads : int, optional
        Texts encoded at a time; by default the number of processors this process may use, at most 4.
    """

    name = "all-minilm-l6-v2-dynamic-int8"

    def __init__(self, threads: int | None = None) -> None:
        self._threads = threads or processors()
        self._layers: Callable[[Sequence[int]], NDArray[np.float32]] | None = None

    def __getstate__(self) -> dict[str, object]:
        """What another process needs to load the model anew."""
        return {"_threads": self._threads, "_layers": None}

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of shape (len(texts), 384); texts are cut at 256 tokens.

        Raises
        ------
        ModelError
            If a package is missing or the model fails.
        """
        if not texts:
            return np.zeros((0, 384), np.float32)
        if self._layers is None:
            self._layers = Layers((resources.files("memlab.models") / "minilm.onnx").read_bytes())
        try:
            return self._encode(self._layers, texts)
        except Exception as error:
            raise ModelError(f"encoding failed: {error}") from error

    def _encode(
        self, layers: Callable[[Sequence[int]], NDArray[np.float32]], texts: Sequence[str]
    ) -> NDArray[np.float32]:
        different = list(dict.fromkeys(texts))
        tokens = [found.ids for found in _tokenizer().encode_batch(different)]

        def vector(ids: Sequence[int]) -> NDArray[np.float32]:
            mean = layers(ids).mean(axis=0)
            return np.asarray(mean / np.linalg.norm(mean), np.float32)

        if len(tokens) == 1 or self._threads == 1:
            rows = [vector(ids) for ids in tokens]
        else:
            with ThreadPoolExecutor(self._threads) as pool:
                rows = list(pool.map(vector, tokens))
        place = {text: n for n, text in enumerate(different)}
        return np.stack([rows[place[t]] for t in texts])


@cache
def _tokenizer() -> Any:
    return load_tokenizer()


class Remembering:
    """An encoder that encodes a text once for as long as one job lasts; made for one customer and then dropped.

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
