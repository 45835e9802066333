"""What a worker does: read a batch, store it in its owner's bank, fold a category, write the folds. Each may be repeated."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from memlab.bank import Bank
from memlab.bank.replay import Fold, Replayed, commit, fold, replay
from memlab.curation.curator import Curator
from memlab.errors import ExtractionError, InputError
from memlab.extraction import Extractor
from memlab.learning import learn, read_each
from memlab.models.embeddings import Encoder
from memlab.records import Conversation, Proposal

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Crew", "Ready", "Written", "fold_category", "read_batch", "read_here", "write_batch", "write_folds"]


@dataclass(frozen=True, slots=True)
class Crew:
    """Who reads, encodes and curates, in a form that can be sent; each process makes its own, once.

    Attributes
    ----------
    extractor : callable
        Makes the extractor: a class, or a function of a module.
    curator : callable
        Makes the curator of a customer.
    encoder : Encoder
        Sentence vectors.
    """

    extractor: Callable[[], Extractor]
    curator: Callable[[str], Curator]
    encoder: Encoder

    def packed(self) -> bytes:
        """The crew as bytes.

        Raises
        ------
        InputError
            If a part can't be sent to another process.
        """
        try:
            return pickle.dumps(self)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise InputError(
                f"workers can't be sent this extractor, curator or encoder: {error}; name functions and classes of a "
                f"module, not lambdas or objects that hold locks"
            ) from error


@lru_cache(maxsize=4)
def _resident(packed: bytes) -> tuple[Crew, Extractor]:
    crew: Crew = pickle.loads(packed)  # noqa: S301 - made by `Crew.packed` in the process that started the run
    return crew, crew.extractor()


@dataclass(frozen=True, slots=True)
class Ready:
    """A batch of one customer's conversations, read and encoded, to be stored by whoever owns the bank.

    Attributes
    ----------
    extractor, encoder : str
        Their names.
    conversations : tuple of Conversation
    found : mapping of (id, version) to proposals, or to (reason, raw reply) where reading failed
    vectors : mapping of text to unit vector
    """

    extractor: str
    encoder: str
    conversations: tuple[Conversation, ...]
    found: Mapping[tuple[str, str], tuple[Proposal, ...] | tuple[str, str]]
    vectors: Mapping[str, NDArray[np.float32]]

    @property
    def troubled(self) -> tuple[str, ...]:
        """Conversations that could not be read, by id."""
        return tuple(sorted(i for (i, _), f in self.found.items() if _is_trouble(f)))


def _is_trouble(found: tuple[Proposal, ...] | tuple[str, str]) -> bool:
    return bool(found) and isinstance(found[0], str)


def read_here(conversations: Sequence[Conversation], extractor: Extractor, encoder: Encoder) -> Ready:
    """Read and encode a batch."""
    found: dict[tuple[str, str], tuple[Proposal, ...] | tuple[str, str]] = {}
    texts: set[str] = set()
    for read in read_each(conversations, extractor):
        found[read.conversation.id, read.conversation.version] = read.trouble or read.proposals
        texts.update(read.texts)
    wanted = sorted(texts)
    vectors = dict(zip(wanted, encoder.encode(wanted), strict=True)) if wanted else {}
    return Ready(extractor.name, encoder.name, tuple(conversations), found, vectors)


def read_batch(packed: bytes, conversations: Sequence[Conversation]) -> Ready:
    """`read_here` with the crew of this process."""
    crew, extractor = _resident(packed)
    return read_here(conversations, extractor, crew.encoder)


class _Told:
    """An extractor that says what was read elsewhere."""

    def __init__(self, ready: Ready) -> None:
        self.name = ready.extractor
        self._found = ready.found

    def extract(self, conversation: Conversation) -> Sequence[Proposal]:
        found = self._found[conversation.id, conversation.version]
        if _is_trouble(found):
            raise ExtractionError(str(found[0]), raw=str(found[1]))
        return [p for p in found if isinstance(p, Proposal)]


class _Held:
    """An encoder that has the vectors already; only what a bank needs besides is encoded."""

    def __init__(self, ready: Ready, encoder: Encoder) -> None:
        self.name = ready.encoder
        self._vectors, self._encoder = ready.vectors, encoder

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not texts or any(t not in self._vectors for t in texts):
            return self._encoder.encode(texts)
        return np.stack([self._vectors[t] for t in texts])


@dataclass(frozen=True, slots=True)
class Written:
    """A batch that stands in its bank: how many conversations, which could not be read, and what was passed by."""

    count: int
    troubled: tuple[str, ...]
    skipped: tuple[dict[str, object], ...]


def write_batch(packed: bytes, home: str, customer: str, ready: Ready) -> Written:
    """Store a batch in one transaction; a second delivery finds it there and changes nothing."""
    if not Path(home).is_dir():
        raise InputError(f"{home}: a worker that came later does not see it; use a shared folder")
    crew, _ = _resident(packed)
    held = _Held(ready, crew.encoder)
    with Bank.open(home, customer) as bank:
        report = learn(
            bank,
            ready.conversations,
            extractor=_Told(ready),
            encoder=held,
            batch=len(ready.conversations),
            curate=False,
        )
    return Written(len(ready.conversations), ready.troubled, report.skipped)


def fold_category(packed: bytes, home: str, customer: str, category: str) -> Fold | None:
    """Curate one category of one customer in its order, without writing."""
    crew, _ = _resident(packed)
    with Bank.open(home, customer, create=False) as bank:
        made = fold(bank, category, crew.curator(customer))
    return None if made is None else replace(made, state=None)


def write_folds(packed: bytes, home: str, customer: str, folds: Sequence[Fold | None], *, rewrite: bool) -> str:
    """Write the folds of a customer; what changed meanwhile, or was lost on the way, is folded here.

    `rewrite` empties the file of what updated conversations no longer say. Returns the customer.
    """
    crew, _ = _resident(packed)
    with Bank.open(home, customer, create=False) as bank:
        for made in folds:
            if made is not None:
                commit(bank, made, Replayed())
        replay(bank, crew.curator(customer))
        if rewrite:
            bank.vacuum()
    return customer


def seen_by(path: str) -> bool:
    """Whether this process sees a file."""
    return Path(path).exists()
