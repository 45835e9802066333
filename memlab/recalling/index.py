"""What is searched: the conversations of a category once for each change, and the graph's view of them at a moment."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from memlab.bank import Bank
from memlab.bank.store import text_hash
from memlab.bank.texts import first_words
from memlab.corpus.languages import in_english
from memlab.curation.guards import identifiers, reading, stems
from memlab.curation.keys import words
from memlab.extraction.triage import own_words
from memlab.graph import Entry, SkillGraph
from memlab.ranking import VIEWS
from memlab.recalling.exact import codes, fits, product_names
from memlab.recalling.near import Near, Vectors
from memlab.recalling.segments import Segments, mean_of
from memlab.recalling.words import Words
from memlab.records import Conversation
from memlab.rendering import CauseCard, cause_card

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CategoryIndex", "CauseIndex", "Segments", "cause_index", "index_of"]


class CategoryIndex:
    """The conversations of one category: vectors of wordings, openings and turns, words of transcripts.

    Attributes
    ----------
    conversations : list of Conversation
        In the order of (started_at, id).
    row : dict of conversation id to int
    vectors : array of shape (texts, dimension)
        Of all texts of the category that the bank holds a vector of, what was said in English (see `in_english`).
    openings : list of int or None
        The row of `vectors` for what the user of each conversation first said; None where it has none.
    turns : list of lists of int or None
        The same for each turn of the user, where the bank holds vectors of turns.
    spoken : list of frozenset of str
        The words of each conversation, without quoted mails and tools.
    """

    def __init__(self, bank: Bank, category: str) -> None:
        sql = """SELECT DISTINCT c.id, c.body FROM conversations c JOIN proposals p ON p.conversation = c.id
                 WHERE p.category = ? ORDER BY c.moment, c.id"""
        self.conversations = [Conversation.from_json(json.loads(b)) for _, b in bank.rows(sql, category)]
        self.row = {c.id: n for n, c in enumerate(self.conversations)}
        self._place, self.vectors = _stored_vectors(bank, category)
        self._vectors = Vectors(self.vectors)
        self._last: tuple[bytes, Near] | None = None
        self.openings = self._places(map(first_words, self.conversations))
        turns = [[t for t in c.turns if t.role != "tool"] for c in self.conversations]
        said = [[own_words(t.text) for t in own] for own in turns]
        english = [[in_english(text) for text in texts] for texts in said]
        told = [
            [e for t, e in zip(own, texts, strict=True) if t.role == "user"]
            for own, texts in zip(turns, english, strict=True)
        ]
        self.turns = [self._places(texts) for texts in told]
        self.stems = [[s for text in texts for s in stems(text)] for texts in english]
        self.spoken = [frozenset(w for text in texts for w in words(text)) for texts in said]
        self.transcripts = Words(self.stems)

    def _places(self, texts: Iterable[str]) -> list[int | None]:
        return [self.place(text) for text in texts]

    def place(self, text: str) -> int | None:
        """The row of `vectors` that holds a text's vector; None if it has none."""
        return self._place.get(text_hash(text))

    def near(self, vector: NDArray[np.float32]) -> Near:
        """Cosines of all stored texts with a query's vector; those of the last query are kept."""
        key, last = vector.tobytes(), self._last  # read once: other threads may replace it
        if last is None or last[0] != key:
            self._last = last = (key, self._vectors.near(vector))
        return last[1]

    @cached_property
    def products(self) -> dict[str, frozenset[str]]:
        """Words of the category that name a product."""
        return product_names(sorted(frozenset[str]().union(*self.spoken)))


def _stored_vectors(bank: Bank, category: str) -> tuple[dict[str, int], NDArray[np.float32]]:
    found = bank.rows(
        """SELECT DISTINCT t.text, v.vector FROM texts t JOIN vectors v USING (text)
           JOIN proposals p ON p.conversation = t.conversation WHERE p.category = ? ORDER BY t.text""",
        category,
    )
    place = {name: n for n, (name, _) in enumerate(found)}
    rows = np.frombuffer(b"".join(blob for _, blob in found), np.float16).astype(np.float32)
    return place, rows.reshape(len(found), -1) if found else np.zeros((0, 0), np.float32)


class CauseIndex:
    """The root causes of a category at one moment, and where the values of each stand.

    Attributes
    ----------
    graph : SkillGraph
        The view.
    causes : list of Entry
        Sorted by id.
    """

    def __init__(self, graph: SkillGraph, index: CategoryIndex) -> None:
        self.graph, self.index = graph, index
        self.causes = sorted((e for e in graph.entries.values() if e.kind == "cause"), key=lambda e: e.id)
        into, _ = graph.neighbours()
        self._symptoms = [[graph.entries[a] for a in into.get(c.id, ())] for c in self.causes]
        self._solutions = [[graph.entries[b] for b in graph.answers(c.id)] for c in self.causes]
        self._own_symptoms = [_said(c, s) for c, s in zip(self.causes, self._symptoms, strict=True)]
        own_solutions = [_said(c, s) for c, s in zip(self.causes, self._solutions, strict=True)]
        self._own = [
            [*_said(c, [c]), *symptoms, *solutions]
            for c, symptoms, solutions in zip(self.causes, self._own_symptoms, own_solutions, strict=True)
        ]
        rows = [[index.row[c] for c in sorted(cause.evidence) if c in index.row] for cause in self.causes]
        self._rows = rows
        self._of_conversations = Segments(rows)
        self._of_openings = Segments([[p for r in mine if (p := index.openings[r]) is not None] for mine in rows])
        self._of_texts = Segments(
            [
                *([p for r in mine for p in index.turns[r] if p is not None] for mine in rows),
                *(self._places(own) for own in self._own_symptoms),
                *(self._places(_said(c, [c])) for c in self.causes),
                *(self._places(own) for own in own_solutions),
            ]
        )
        self._documents = Words([[s for r in mine for s in index.stems[r]] for mine in rows])
        self._texts = [self._wordings(n) for n in range(len(self.causes))]
        self._entries = Words([[s for text in texts for s in stems(text)] for texts in self._texts])
        self._cards: dict[int, CauseCard] = {}
        self._cases = np.log1p(np.array([len(mine) for mine in rows], np.float64))

    def _places(self, texts: Iterable[str]) -> list[int]:
        return [place for text in texts if (place := self.index.place(text)) is not None]

    def _wordings(self, n: int) -> list[str]:
        entries = [self.causes[n], *self._symptoms[n], *self._solutions[n]]
        return [w for e in entries for w in sorted({w for w, _, q in e.wordings.values() if q})]

    def views(
        self, query: str, vector: NDArray[np.float32], *, asked: Sequence[str] | None = None
    ) -> NDArray[np.float64]:
        """How well each view of each cause fits a query, rounded to 4 digits; shape (causes, len(VIEWS)).

        Parameters
        ----------
        query : str
            What a user says, in English.
        vector : array of shape (dimension,)
            Its sentence vector.
        asked : sequence of str, optional
            The stems to look for, and no identifiers; by default the query's own.
        """
        index = self.index
        if not self.causes:
            return np.zeros((0, len(VIEWS)))
        wanted = identifiers(query) if asked is None else frozenset[str]()
        asked = stems(query) if asked is None else asked
        different = list(dict.fromkeys(asked))
        near = index.near(vector)
        tops = self._of_openings.tops(near, 3)
        opened = np.where(np.isfinite(tops[0]), tops[0], 0.0)
        turn, symptom, cause, solution = self._of_texts.best(near).reshape(4, -1)
        columns = {
            "symptom": symptom,
            "opening": opened,
            "opening_mean": mean_of(tops),
            "cause": cause,
            "solution": solution,
            "turn": np.maximum(turn, opened),
            "words": self._of_conversations.best(index.transcripts.mass(asked)),
            "document": self._documents.mass(asked),
            "entries": self._entries.mass(asked),
            "identifier": self._same_identifier(wanted),
            "cases": self._cases,
            "known": self._documents.known(different, index.transcripts.rarity(different)),
        }
        return np.round(np.stack([columns[name] for name in VIEWS], axis=1), 4)

    def _same_identifier(self, asked: frozenset[str]) -> NDArray[np.float64]:
        if not asked:
            return np.zeros(len(self.causes))
        return np.array([float(not asked.isdisjoint(own)) for own in self._identifiers])

    @cached_property
    def _identifiers(self) -> list[frozenset[str]]:
        return [frozenset[str]().union(*map(identifiers, texts)) for texts in self._own]

    @cached_property
    def _codes(self) -> list[frozenset[str]]:
        """Codes in the wordings and quotes of each cause."""
        quotes = [
            {q for e in [c, *s] for (k, _), (_, _, q) in e.wordings.items() if k in c.evidence}
            for c, s in zip(self.causes, self._symptoms, strict=True)
        ]
        return [
            frozenset[str]().union(*map(codes, sorted({*texts, *said})))
            for texts, said in zip(self._own, quotes, strict=True)
        ]

    @cached_property
    def _spoken(self) -> list[frozenset[str]]:
        return [frozenset[str]().union(*(self.index.spoken[r] for r in mine)) for mine in self._rows]

    @cached_property
    def _known_codes(self) -> frozenset[str]:
        return frozenset[str]().union(*self._codes)

    @cached_property
    def _products(self) -> list[frozenset[str]]:
        names = self.index.products
        return [frozenset[str]().union(*(names[w] for w in names.keys() & spoken)) for spoken in self._spoken]

    def allowed(self, query: str, *, exact: bool = True, must: Sequence[str] = ()) -> NDArray[np.bool_]:
        """Which causes may answer: those that hold the query's codes and products, and every word of `must`."""
        out = np.ones(len(self.causes), np.bool_)
        needed = frozenset(w for text in must for w in words(text))
        if needed:
            out &= np.array([needed <= spoken for spoken in self._spoken], np.bool_)
        products = reading(query).products
        if exact and (products or identifiers(query)):
            asked = codes(query, known=self._known_codes)
            for n in range(len(self.causes)):
                out[n] &= fits(
                    asked,
                    products,
                    spoken=self._spoken[n],
                    own_codes=self._codes[n],
                    own_products=self._products[n],
                )
        return out

    def ready(self) -> CauseIndex:
        """Work out now what only some queries ask for, so that none of them has to wait for it."""
        self._identifiers, self._known_codes, self._products, self._known_stems, self._sign_places  # noqa: B018
        return self

    @cached_property
    def titles(self) -> list[str]:
        """What each cause is called."""
        return [cause.title for cause in self.causes]

    @cached_property
    def weights(self) -> list[float]:
        """The weight of each cause."""
        return [self.graph.weight(cause.id) for cause in self.causes]

    def card(self, n: int) -> CauseCard:
        """What there is to say of a cause; made at its first use."""
        if n not in self._cards:
            self._cards[n] = cause_card(self.graph, self.causes[n])
        return self._cards[n]

    @cached_property
    def _known_stems(self) -> list[frozenset[str]]:
        return [frozenset(s for r in mine for s in self.index.stems[r]) for mine in self._rows]

    @cached_property
    def _signs(self) -> list[list[tuple[str, int]]]:
        """The wordings of each cause's symptoms (or its own), sorted, with the row of their vector."""
        out = []
        for n, cause in enumerate(self.causes):
            found = self._own_symptoms[n] or _said(cause, [cause])
            out.append([(w, place) for w in found if (place := self.index.place(w)) is not None])
        return out

    @cached_property
    def _sign_places(self) -> list[NDArray[np.int64]]:
        return [np.array([place for _, place in signs], np.int64) for signs in self._signs]

    def nearest(self, n: int, vector: NDArray[np.float32]) -> str:
        """The wording of a cause's symptoms (or its own) that is closest to the query."""
        signs = self._signs[n]
        if not signs:
            return self.titles[n]
        near = np.round(self.index.near(vector).at(self._sign_places[n]), 4)
        return signs[int(near.argmax())][0]  # of equals the first by letter

    def shared(self, n: int, query: str) -> list[str]:
        """Words of the query that the cause's conversations use too, in the order of the query, without repetition."""
        known = self._known_stems[n]
        return list(dict.fromkeys(w for w in words(query) if (s := stems(w)) and s[0] in known))


def _said(cause: Entry, entries: Iterable[Entry]) -> list[str]:
    """What a cause's own conversations call these entries, sorted; what others do where they call them nothing.

    Many causes can have a symptom in common. How the conversations behind another cause put it tells nothing of this one.
    """
    out: set[str] = set()
    for entry in entries:
        own = {w for (c, _), (w, _, quote) in entry.wordings.items() if quote and c in cause.evidence}
        out |= own or {w for w, _, quote in entry.wordings.values() if quote}
    return sorted(out)


_categories: WeakKeyDictionary[Bank, dict[str, tuple[int | None, CategoryIndex]]] = WeakKeyDictionary()
_causes: WeakKeyDictionary[Bank, dict[tuple[str, str | None], tuple[int, CauseIndex]]] = WeakKeyDictionary()
MOST_MOMENTS = 8  # views of past moments kept a bank


def index_of(bank: Bank, category: str) -> CategoryIndex:
    """The conversations of a category, indexed once for each state of its operations."""
    cached, head = _categories.setdefault(bank, {}), bank.head(category)
    if category not in cached or cached[category][0] != head:
        cached[category] = (head, CategoryIndex(bank, category))
    return cached[category][1]


def cause_index(bank: Bank, category: str, at: datetime | str | None = None) -> CauseIndex:
    """The causes of a category at a moment (by default the bank's newest), made once for each change of the bank."""
    cached = _causes.setdefault(bank, {})
    key = (category, None if at is None else str(at))
    if key in cached and cached[key][0] == bank.revision:
        return cached[key][1]
    graph = bank.graph(category, at=at)  # this replays what is waiting, and so moves the revision on
    made = (bank.revision, CauseIndex(graph, index_of(bank, category)).ready())
    past = [k for k in cached if k[1] is not None]
    for old in past[: max(0, len(past) + 1 - MOST_MOMENTS)]:
        cached.pop(old, None)
    cached[key] = made
    return made[1]
