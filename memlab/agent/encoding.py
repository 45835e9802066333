"""An encoder that remembers the vectors of the last texts: a message is looked at several times, and encoded once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from memlab.models.embeddings import Encoder

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["RecentEncoder"]


class RecentEncoder:
    """The same vectors as another encoder's, and each text of the last `most` encoded once.

    Parameters
    ----------
    encoder : Encoder
        Which must give the same vector for the same text in any company.
    most : int
        How many texts are kept.
    """

    def __init__(self, encoder: Encoder, *, most: int = 4096) -> None:
        self._encoder: Encoder = encoder
        self.name = self._encoder.name
        self._most = most
        self._kept: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of shape (len(texts), dimension)."""
        with self._lock:
            found = {t: self._kept[t] for t in texts if t in self._kept}
        new = [t for t in dict.fromkeys(texts) if t not in found]
        if new or not texts:
            rows = self._encoder.encode(new)
            if not texts:
                return rows
            found.update(zip(new, rows, strict=True))
        with self._lock:
            for text in texts:
                self._kept[text] = found[text]
                self._kept.move_to_end(text)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return np.stack([found[t] for t in texts])

    def __getstate__(self) -> dict[str, object]:
        """What another process needs: the encoder, and an empty memory of texts."""
        return {"encoder": self._encoder, "most": self._most}

    def __setstate__(self, state: dict[str, Any]) -> None:
        RecentEncoder.__init__(self, state["encoder"], most=state["most"])

    def clear(self) -> None:
        """Keep nothing, so that what is forgotten leaves no vector here."""
        with self._lock:
            self._kept.clear()
