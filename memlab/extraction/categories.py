"""A user's own IT categories, told from a few examples each: nearest examples by meaning, with a probability.

A `categories.toml` is a table a category, `[wifi]` say, with `examples = ["wifi drops in the meeting room", …]`.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from memlab.errors import InputError
from memlab.records import content_hash

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memlab.models.embeddings import Encoder

__all__ = ["Categories", "read_categories"]

NEAREST = 2  # examples of a category that speak for it
SHARPNESS = 18.0  # of the softmax over mean cosines, fitted on the train split with five examples a category
LEAST = 0.18  # mean cosine below which a text belongs to none: one in a hundred of our own texts is below it


@dataclass(frozen=True, slots=True)
class Categories:
    """Names with their examples, in the order of the names.

    Attributes
    ----------
    examples : tuple of (str, tuple of str)
    """

    examples: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The categories' names, sorted."""
        return tuple(name for name, _ in self.examples)

    @property
    def version(self) -> str:
        """Eight hex digits: with other examples, conversations may be sorted otherwise."""
        return content_hash([[name, list(texts)] for name, texts in self.examples])[:8]

    def classify(self, text: str, encoder: Encoder) -> tuple[str, float]:
        """The category whose nearest examples mean most nearly what the text says, and its probability in [0, 1].

        Returns
        -------
        (str, float)
            The probability is 0 if the text is near no example.
        """
        vector = encoder.encode([text])[0]
        scores = np.round([_nearest(_vectors(texts, encoder) @ vector) for _, texts in self.examples], 4)  # type: ignore[arg-type]
        p = np.exp(SHARPNESS * (scores - scores.max()))
        best = int(scores.argmax())
        if scores[best] < LEAST:
            return self.names[best], 0.0
        return self.names[best], round(float(p[best] / p.sum()), 4)


@lru_cache(maxsize=64)
def _vectors(examples: tuple[str, ...], encoder: Encoder) -> NDArray[np.float32]:
    """The vectors of a category's examples, made once an encoder."""
    return encoder.encode(examples)


def _nearest(cosines: NDArray[np.float32]) -> float:
    return float(np.sort(cosines)[-NEAREST:].mean())


def read_categories(path: str | Path) -> Categories:
    """Read `categories.toml`: a table a category with `examples`, a list of texts.

    Raises
    ------
    InputError
        If the file is missing or no TOML, has fewer than two categories, or one without examples; the message names
        the file and the category.
    """
    try:
        data = tomllib.loads(Path(path).read_text("utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a TOML file in UTF-8: {error}") from None
    if len(data) < 2:
        raise InputError(f"{path}: {len(data)} categories; at least two are needed, each a table [name] with examples")
    return Categories(tuple((name, _examples(path, name, data[name])) for name in sorted(data)))


def _examples(path: str | Path, name: str, table: Any) -> tuple[str, ...]:
    texts = table.get("examples") if isinstance(table, dict) else None
    if not name.strip() or name != name.strip():
        raise InputError(f"{path}: a category needs a name without white space around it, not {name!r}")
    if not isinstance(texts, list) or not texts or not all(isinstance(t, str) and t.strip() for t in texts):
        raise InputError(f'{path}: [{name}] needs examples = ["…"], at least one text')
    return tuple(texts)
