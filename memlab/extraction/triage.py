"""Triage: which IT category a conversation belongs to, and whether it holds anything worth learning."""

from __future__ import annotations

import io
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from memlab.corpus.languages import in_english, stopwords
from memlab.corpus.quoting import cut_quoted
from memlab.extraction.categories import Categories
from memlab.models.embeddings import Encoder
from memlab.records import Conversation

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    *("OTHER", "Triage", "opening", "own_words", "shipped_categories", "triage", "triage_features"),
    *("weighed_words", "words_of"),
]

OTHER = "other"
WORDS = 4.0  # the length of the vector of words against that of a sentence
LONG = 60  # words of the user from which a conversation of a known category is taken to hold something, unread


@dataclass(frozen=True, slots=True)
class Triage:
    """The category with its probability, and the probability that nothing can be learned from the conversation."""

    category: str
    probability: float
    low_value: bool
    low_value_probability: float


def own_words(text: str) -> str:
    """A message without the mails that it quotes."""
    return cut_quoted(text).text


def opening(conversation: Conversation) -> str:
    """What the user said first: their own words up to the first reply, whole turns only; empty if no user speaks."""
    said: list[str] = []
    for turn in conversation.turns:
        if turn.role == "user":
            said.append(own_words(turn.text))
        elif said:
            break
    return "\n".join(s for s in said if s)


def triage_features(conversation: Conversation, encoder: Encoder) -> NDArray[np.float32]:
    """The vectors of the opening, of all that the user says and of all that agents say, in English, and four counts.

    Returns
    -------
    array of shape (1156,), float32
        The agents' vector is zero where no agent speaks.
    """
    user, agent = ("\n".join(_said(conversation, role)) for role in ("user", "agent"))
    vectors = encoder.encode([text or " " for text in (in_english(opening(conversation)), user, agent)])
    if not agent.strip():
        vectors[2] = 0
    counts = [
        len(re.findall(r"\w+", user)),
        len(conversation.turns),
        sum(t.role == "tool" for t in conversation.turns),
        len(re.findall(r"\w+", agent)),
    ]
    return np.concatenate([*vectors, np.log1p(np.array(counts, np.float32))])


def _said(conversation: Conversation, *roles: str) -> list[str]:
    return [in_english(own_words(t.text)) for t in conversation.turns if t.role in roles]


def words_of(conversation: Conversation) -> list[str]:
    """Every word that somebody or a tool says, in English, without numbers and stop words."""
    text = "\n".join(_said(conversation, "user", "agent", "tool")).lower()
    return [word for word in _WORD.findall(text) if word not in stopwords()]


def weighed_words(words: Iterable[str], rarity: Mapping[str, float]) -> dict[str, float]:
    """TF-IDF: (1 + ln count) · rarity of each known word, brought to the length `WORDS` (Salton & Buckley 1988)."""
    counts = sorted(Counter(words).items())
    found = {word: (1 + math.log(n)) * rarity[word] for word, n in counts if word in rarity}
    length = math.sqrt(math.fsum(v * v for v in found.values()))
    return {word: WORDS * value / length for word, value in found.items()}


_WORD = re.compile(r"[a-z][a-z0-9-]+")


def _user_words(conversation: Conversation) -> int:
    return sum(len(re.findall(r"\w+", own_words(t.text))) for t in conversation.turns if t.role == "user")


@cache
def _weights() -> dict[str, Any]:
    data = (resources.files("memlab.extraction") / "triage.npz").read_bytes()
    with np.load(io.BytesIO(data)) as arrays:
        return {name: arrays[name] for name in arrays.files}


def triage(
    conversation: Conversation, encoder: Encoder, *, categories: Categories | None = None, unsure_below: float = 0.35
) -> Triage:
    """Classify a conversation.

    Parameters
    ----------
    conversation : Conversation
        A category that it already names is kept, with probability 1.
    encoder : Encoder
        all-MiniLM-L6-v2, which the shipped weights were trained on.
    categories : Categories, optional
        A user's own, told from examples; by default the six of the shipped weights.
    unsure_below : float
        Below this probability the category is ``"other"``.

    Returns
    -------
    Triage
        A conversation in which no user says a word is always of low value: what only an agent or a tool wrote (a
        nightly summary, say) is no evidence.
    """
    if not re.search(r"\w", opening(conversation)):
        return Triage(conversation.category or OTHER, 1.0, True, 1.0)
    if conversation.category is not None and _user_words(conversation) > LONG:
        return Triage(conversation.category, 1.0, False, 0.0)
    w, x = _weights(), triage_features(conversation, encoder)
    low = float(1 / (1 + np.exp(-(w["low_w"] @ x + w["low_b"]))))
    if conversation.category is not None:
        name, probability = conversation.category, 1.0
    elif categories is not None:
        name, probability = categories.classify(opening(conversation), encoder)
    else:
        name, probability = _shipped(x, words_of(conversation))
    sure = conversation.category is not None or probability >= unsure_below
    return Triage(name if sure else OTHER, probability, low >= 0.5, round(low, 4))


def shipped_categories() -> tuple[str, ...]:
    """The names that the shipped weights know, sorted, without ``"other"``."""
    return tuple(sorted({str(name) for name in _weights()["names"]} - {OTHER}))


@cache
def _rarity() -> dict[str, float]:
    w = _weights()
    return dict(zip(w["words"].tolist(), w["rarity"].tolist(), strict=True))


@cache
def _places() -> dict[str, int]:
    return {word: n for n, word in enumerate(_rarity())}


def _shipped(x: NDArray[np.float32], words: Iterable[str]) -> tuple[str, float]:
    w, places, weighed = _weights(), _places(), weighed_words(words, _rarity())
    scores = w["category_w"] @ x[:1152] + w["category_b"]
    if weighed:
        columns = [places[word] for word in weighed]
        scores = scores + w["word_w"][:, columns].astype(np.float64) @ np.array(list(weighed.values()))
    p = np.exp(scores - scores.max())
    p /= p.sum()
    best = int(p.argmax())
    return str(w["names"][best]), round(float(p[best]), 4)
