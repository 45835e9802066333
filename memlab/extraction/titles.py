"""A title for a root cause or a solution: the sentence that says it best, then the rarest words of the next best ones.

A diagnosis is seldom one sentence: "it waits too short" follows "your laptop still has profile v3". The title gathers
what the likeliest sentences say, so that it names the thing as well as what is wrong with it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

import regex

from memlab.corpus.languages import in_english, stopwords
from memlab.extraction.clauses import Clause
from memlab.extraction.phrases import headline, tidy, with_product
from memlab.models.tokens import tokenizer
from memlab.records import Conversation

__all__ = ["title"]

MOST_HEAD = 12  # words of the best sentence
MOST_MORE = 8  # words of the others, in brackets
SENTENCES = 3
WEIGHED = 8  # clauses whose words count, each by its probability against the best one's
LONGEST = 40  # characters of a word; what is longer is a path or a log line
_WORD = regex.compile(r"[^\s,;:!?()\[\]\"“”]+")
_FIRST_WORD = 1996  # the number of "the", the most frequent word, in the encoder's vocabulary


def title(conversation: Conversation, clauses: Sequence[Clause], logits: Sequence[float], category: str | None) -> str:
    """What the best clauses say together, in at most 12 words and 8 more in brackets, with the product in front.

    Parameters
    ----------
    conversation : Conversation
    clauses : sequence of Clause
        At least one, of one issue, in order.
    logits : sequence of float
        How likely each states what the title is for.
    category : str or None
        Named in front unless the title names it.
    """
    order = sorted(range(len(clauses)), key=lambda n: (-logits[n], n))
    salience: dict[str, float] = defaultdict(float)
    for n in order[:WEIGHED]:
        for word in {_key(w) for w in _WORD.findall(clauses[n].text)}:
            salience[word] += math.exp(logits[n] - logits[order[0]])
    best = clauses[order[0]]
    head = headline(_sentence(conversation, best))
    if len(head.split()) > MOST_HEAD:
        head = headline(best.text)
    head = " ".join(_weightiest(head.split(), MOST_HEAD, rarity))
    seen = {_key(w) for w in _WORD.findall(head)}
    others = list(_new_words(conversation, [clauses[n] for n in order], seen))
    more = " ".join(_weightiest(others, MOST_MORE, lambda w: (salience.get(w, 0.0) + 0.05) * (0.5 + rarity(w))))
    said = conversation.turns[best.turn].text
    head, more = in_english(head, said), in_english(more, said)
    return with_product(f"{head} ({more})" if more else head, category)


def _sentence(conversation: Conversation, clause: Clause) -> str:
    return tidy(conversation.turns[clause.turn].text[slice(*clause.sentence)])


def _new_words(conversation: Conversation, ranked: Sequence[Clause], seen: set[str]) -> Iterator[str]:
    """Words of the best sentences that say something, in the order in which they were said, each once."""
    best = dict.fromkeys((c.turn, *c.sentence) for c in ranked)
    for turn, start, end in sorted(list(best)[:SENTENCES]):
        for word in _WORD.findall(conversation.turns[turn].text[start:end]):
            key = _key(word)
            if key and len(key) <= LONGEST and key not in seen and key not in stopwords():
                seen.add(key)
                yield word.strip(".")


def _weightiest(words: Sequence[str], most: int, weight: Callable[[str], float]) -> list[str]:
    """The words of most weight, in their order."""
    ranked = sorted(range(len(words)), key=lambda n: (-round(weight(_key(words[n])), 6), n))
    return [words[n] for n in sorted(ranked[:most])]


def _key(word: str) -> str:
    return word.casefold().strip(".,;:!?()\"'’*")


@lru_cache(maxsize=65536)
def rarity(word: str) -> float:
    """How rare a word is, ≥ 0: the logarithm of its rank in the encoder's vocabulary, which is ordered by frequency."""
    if word in stopwords():
        return 0.0
    pieces = tokenizer().encode(word, add_special_tokens=False).ids
    return max(0.1, math.log(max([_FIRST_WORD, *pieces]) / _FIRST_WORD) + 0.5 * (len(pieces) - 1))
