"""Cosines of a query with stored texts: exact for those that can matter, and a sketch that rules out the others.

A bank of 100,000 conversations has so many vectors that reading them takes longer than encoding the query. The sketch
holds each number in one byte, a quarter of what is read. How far a sketched cosine can be from the true one is known, so
whoever looks for the greatest of many takes the exact cosines of the few that are near the top: the result is the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from memlab.models.threads import one_thread

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SKETCHED_FROM", "Near", "Vectors"]

SKETCHED_FROM = 4096  # texts; fewer are multiplied as fast as they are sketched
_MOST = 63  # of a query's digits: products of two pairs stay below 2**15, where older processors would cut them off


@dataclass(frozen=True, slots=True, eq=False)
class Near:
    """How close every stored text is to one query.

    Attributes
    ----------
    values : array of shape (texts,)
        Cosines, each at most `margin` off.
    margin : float
        0 where all of them are exact.
    rows : array of shape (texts, dimension)
        The vectors.
    vector : array of shape (dimension,)
        The query's.
    """

    values: NDArray[np.floating[Any]]
    margin: float
    rows: NDArray[np.float32]
    vector: NDArray[np.float32]

    def at(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """The exact cosines of some texts, shape (len(places),)."""
        if not self.margin:
            return self.values[places].astype(np.float64)
        # Row by row: in a BLAS the last bit of a row hangs on its place, and equal vectors must have equal cosines.
        return np.asarray(np.einsum("ij,j->i", self.rows[places], self.vector), np.float64)


class Vectors:
    """Unit vectors of texts, ready to be compared with a query.

    Parameters
    ----------
    rows : array of shape (texts, dimension)
    sketched : bool, optional
        Whether to keep a sketch; by default from `SKETCHED_FROM` texts on.
    """

    def __init__(self, rows: NDArray[np.float32], *, sketched: bool | None = None) -> None:
        self.rows = rows
        wanted = len(rows) >= SKETCHED_FROM if sketched is None else sketched
        self._sketch = _Sketch(rows) if wanted and len(rows) else None

    def near(self, vector: NDArray[np.float32]) -> Near:
        """Cosines of all texts with a query's vector."""
        if self._sketch is not None:
            return Near(*self._sketch.cosines(vector), self.rows, vector)
        return Near(_products(self.rows, vector) if len(self.rows) else np.zeros(0), 0.0, self.rows, vector)


def _products(rows: NDArray[np.float32], vector: NDArray[np.float32]) -> NDArray[np.float64]:
    with one_thread():
        return np.asarray((rows @ vector).astype(np.float64))


class _Sketch:
    """Each row as whole numbers from -127 to 127 times a step of its own, and the most that this leaves out."""

    def __init__(self, rows: NDArray[np.float32]) -> None:
        self._step = np.maximum(np.abs(rows).max(axis=1), 1e-9) / 127
        digits = np.rint(rows / self._step[:, None])
        self._off = float(np.sqrt(np.square(rows - digits * self._step[:, None]).sum(axis=1).max()))
        self._length = float(np.sqrt(np.square(rows).sum(axis=1).max())) + self._off
        self._products = _whole_products(np.ascontiguousarray(digits.T.astype(np.int8)))

    def cosines(self, vector: NDArray[np.float32]) -> tuple[NDArray[np.float32], float]:
        """Cosines with a query's vector, and how far each can be off (Cauchy and Schwarz)."""
        high = max(float(np.abs(vector).max()), 1e-9) / _MOST
        first = np.rint(vector / high)
        low = high / (2 * _MOST)
        second = np.rint((vector - first * high) / low)  # hardly any error is left on the query's side
        digits = (np.stack([first, second]) + _MOST).astype(np.uint8)
        a, b = self._products.run(None, {"query": digits})[0].astype(np.float32)
        left = float(np.linalg.norm(vector - first * high - second * low))
        margin = self._off * float(np.linalg.norm(vector)) + self._length * left + 1e-5
        return (a * np.float32(high) + b * np.float32(low)) * self._step, margin


def _whole_products(rows: NDArray[np.int8]) -> Any:
    """A session that multiplies a query of bytes with these columns as whole numbers; NumPy has no fast way to do it."""
    import onnxruntime as ort

    def field(number: int, value: bytes | int) -> bytes:  # protocol buffers' wire format
        if isinstance(value, int):
            return _varint(number << 3) + _varint(value)
        return _varint(number << 3 | 2) + _varint(len(value)) + value

    def tensor(name: bytes, shape: tuple[int, ...], kind: int, data: bytes) -> bytes:
        return b"".join(field(1, n) for n in shape) + field(2, kind) + field(8, name) + field(9, data)

    def port(name: bytes, kind: int, columns: int) -> bytes:
        shape = field(1, field(2, b"digits")) + field(1, field(1, columns))
        return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))

    (dimension, texts), (uint8, int8, int32) = rows.shape, (2, 3, 6)
    node = b"".join(field(1, name) for name in (b"query", b"rows", b"zero"))
    graph = [
        field(1, node + field(2, b"sums") + field(4, b"MatMulInteger")),
        field(2, b"sketch"),
        field(5, tensor(b"zero", (), uint8, bytes([_MOST]))),
        field(5, tensor(b"rows", rows.shape, int8, rows.tobytes())),
        field(11, port(b"query", uint8, dimension)),
        field(12, port(b"sums", int32, texts)),
    ]
    model = field(1, 8) + field(7, b"".join(graph)) + field(8, field(1, b"") + field(2, 13))
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
