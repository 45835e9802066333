"""A wording as the guards and the pair model see it, read once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import NamedTuple

import regex

from memlab.curation import lexicon as lex
from memlab.curation.keys import folded, normal_key, words

__all__ = ["Reading", "content_words", "identifiers", "reading", "sense", "shared_trigrams", "stem", "stems"]

_PAST = frozenset("longer more anymore mehr plus".split())  # "no longer" negates the word before it
_SKIP = frozenset("since until yet even seit bis depuis seul".split()) | lex.AUXILIARY
_ELISION = regex.compile(r"(l|d|n|j|qu|s|m|t|c)'(.{2,})")
# A single capital is a name ("drive D"); A only where no sentence can begin and no article stands ("rack A lost power").
_CAPITAL = regex.compile(r"\b[B-HJ-Z]\b|(?<=[a-z] )A\b(?! [a-z]+ing\b)")
_CLOCK = regex.compile(r"\d{1,2}:\d{2}(?::\d{2})?")
_ENDING = regex.compile(r"(?:ations?|ings?|ed|es|s|ly|ment)$")


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A word without its common English ending, so that "drops" meets "dropped".

    >>> stem("drops") == stem("dropped")
    True
    """
    if len(word) < 5 or any(c.isdigit() for c in word):
        return word.rstrip("s") if len(word) == 4 and word.endswith("s") and not word.endswith("ss") else word
    base = _ENDING.sub("", word)
    base = base if len(base) >= 3 else word
    return base[:-1] if len(base) > 3 and base[-1] == base[-2] and base[-1] not in "aeiouls" else base.rstrip("e")


_PRODUCT_OF = {word: product for product, names in lex.PRODUCTS.items() for word in names.split()}
_SYSTEM_OF = {word: system for system, names in lex.SYSTEMS.items() for word in names.split()}


def _forms(word: str) -> tuple[str, ...]:
    """A word, and what it looks like as a verb in the third person, the past and in progress."""
    base = word.removesuffix("e")
    return word, f"{word}s", f"{base}ed", f"{base}ing"


_OPPOSITE = {
    one: other
    for a, b in lex.OPPOSITES
    for x, y in zip(_forms(a), _forms(b), strict=True)
    for one, other in ((x, y), (y, x))
}
WEAKLY_OPPOSED = frozenset(form for word in lex.WEAK for form in _forms(word))
_SENSE = {stem(word): stem(line[0]) for line in lex.CLASSES for word in line}
_GENERIC = frozenset(_SENSE.get(stem(w), stem(w)) for w in lex.GENERIC)
_STATE = frozenset(_SENSE.get(stem(w), stem(w)) for w in lex.STATES)
_FAILING = _STATE | frozenset(_SENSE.get(stem(w), stem(w)) for w in lex.FAILURE)
_SILENT = lex.STOP | lex.NEGATION
_NONE: frozenset[str] = frozenset()
# What a word brings into a wording, one bit each.
(
    _STEM, _MEANING, _TELLS, _BAD, _FAILS, _FAILED, _DENIES, _PERCEIVES, _EVERY, _ONE, _PRODUCT, _SYSTEM, _OPPOSED, _ODD,
    _LETTER, _OWNED,
) = (1 << n for n in range(16))  # fmt: skip


class _Word(NamedTuple):
    """A word by itself, looked up once: a vocabulary is small beside the wordings made of it."""

    word: str
    stem: str
    sense: str
    has: int


@lru_cache(maxsize=32768)
def _word(word: str) -> _Word:
    base, meant = stem(word), sense(word)
    loud = word not in _SILENT
    meaning = loud and word not in lex.AUXILIARY
    letter = len(word) == 1
    has = (
        (_STEM, loud),
        (_MEANING, meaning),
        (_TELLS, meaning and meant not in _GENERIC),
        (_BAD, meaning and meant in _STATE),
        (_FAILS, meaning and meant in _FAILING),
        (_FAILED, word in lex.FAILURE),
        (_DENIES, word in lex.NEGATION),
        (_PERCEIVES, word in lex.PERCEIVE),
        (_EVERY, word in lex.ALL),
        (_ONE, word in lex.ONE),
        (_PRODUCT, word in _PRODUCT_OF),
        (_SYSTEM, word in _SYSTEM_OF),
        (_OPPOSED, word in _OPPOSITE),
        (_ODD, letter or not word.isalpha()),
        (_LETTER, letter),
        (_OWNED, word.endswith("'s")),
    )
    return _Word(word, base, meant, sum(bit for bit, holds in has if holds))


@dataclass(frozen=True, slots=True)
class Reading:
    """What the guards look at in a wording, read once.

    Attributes
    ----------
    words : tuple of str
        In order, contracted negations opened (can't → can not).
    content : frozenset of str
        Stems of the words that carry meaning, one for all words of one meaning.
    telling : frozenset of str
        Those of them that say which problem it is: no names of products and devices, no words of any problem.
    identifiers : frozenset of str
        Words with a digit or an underscore, but not amounts.
    products, systems, states : frozenset of str
        Products and operating systems that are named; what is said to be the matter.
    direction : tuple of str
        Who perceives whom.
    negated : frozenset of str
        Stems that stand right behind a negation.
    quantity : str
        "all" or "one", if it says how many are concerned.
    failing : frozenset of str
        Words for a failure or a bad state.
    stems : frozenset of str
        What `content_words` gives.
    sequence : tuple of str
        What `content` holds, in order.
    opposites : tuple of (str, str)
        Words that have an opposite, with it, sorted.
    bag : tuple of str
        The words, sorted.
    mask, rest : int, frozenset of str
        Trigrams of the telling words: a bit for each of those met first, the others by name (see `shared_trigrams`).
    length, meanings, tellings, grams : int
        Numbers of words, of stems that carry meaning, of telling ones, and of trigrams.
    plain : bool
        Whether only swapped words can part it from another one: nothing above is there to differ in.
    """

    words: tuple[str, ...]
    content: frozenset[str]
    telling: frozenset[str]
    identifiers: frozenset[str]
    products: frozenset[str]
    systems: frozenset[str]
    states: frozenset[str]
    direction: tuple[str, ...]
    negated: frozenset[str]
    quantity: str
    failing: frozenset[str]
    stems: frozenset[str]
    sequence: tuple[str, ...]
    opposites: tuple[tuple[str, str], ...]
    bag: tuple[str, ...]
    mask: int
    rest: frozenset[str]
    length: int
    meanings: int
    tellings: int
    grams: int
    plain: bool


@lru_cache(maxsize=8192)
def reading(text: str) -> Reading:
    """Read a wording for the guards and the pair model."""
    plain, found = words(text), _split(text)
    known = [_word(w) for w in found]
    owned = any(w.has & _OWNED for w in known)
    stems_ = frozenset([w.stem for w in known if w.has & _STEM])
    if owned:
        found = tuple([w.removesuffix("'s") for w in found])
        known = [_word(w) for w in found]
    loud = [w for w in known if w.has & _MEANING]
    telling = [w for w in loud if w.has & _TELLS]
    has = 0
    for w in known:
        has |= w.has
    content = frozenset([w.sense for w in loud])
    tells = frozenset([w.sense for w in telling])
    mask, rest = _TRIGRAMS.of([w.word for w in telling]) if telling else _TRIGRAMS.within(f"  {normal_key(text)} ")
    # Most words are in no list, and what none of them can bring is not looked for.
    identifiers_ = _identifiers(found, _capitals(text) if has & _LETTER else _NONE) if has & _ODD else _NONE
    products = frozenset([_PRODUCT_OF[w.word] for w in known if w.has & _PRODUCT]) if has & _PRODUCT else _NONE
    systems = frozenset([_SYSTEM_OF[w.word] for w in known if w.has & _SYSTEM]) if has & _SYSTEM else _NONE
    states = frozenset([w.sense for w in loud if w.has & _BAD]) if has & _BAD else _NONE
    direction = _direction(found) if has & _PERCEIVES else ()
    negated = _negated(found) if has & _DENIES else _NONE
    quantity = (
        ("" if has & _EVERY and has & _ONE else "all" if has & _EVERY else "one") if has & (_EVERY | _ONE) else ""
    )
    opposed = sorted({w.word for w in known if w.has & _OPPOSED}) if has & _OPPOSED else ()
    failing = _NONE
    if has & (_FAILS | _FAILED):
        failing = frozenset([w.sense for w in loud if w.has & _FAILS] + [w.word for w in known if w.has & _FAILED])
    return Reading(
        words=found,
        content=content,
        telling=tells,
        identifiers=identifiers_,
        products=products,
        systems=systems,
        states=states,
        direction=direction,
        negated=negated,
        quantity=quantity,
        failing=failing,
        stems=stems_,
        sequence=tuple([w.sense for w in loud]),
        opposites=tuple([(w, _OPPOSITE[w]) for w in opposed]),
        bag=tuple(sorted(plain)),
        mask=mask,
        rest=rest,
        length=len(plain),
        meanings=len(content),
        tellings=len(tells),
        grams=mask.bit_count() + len(rest),
        plain=not (identifiers_ or products or systems or states or direction or negated or quantity or opposed),
    )


def _capitals(text: str) -> frozenset[str]:
    return frozenset(_CAPITAL.findall(text))


def sense(word: str) -> str:
    """The stem that stands for all words of one meaning.

    >>> sense("rebooted") == sense("restart")
    True
    """
    base = stem(word)
    return _SENSE.get(base, base)


class Trigrams:
    """Sets of trigrams as numbers: a bit for each of those met first, the others by name.

    Comparing wordings is the hot spot of a replay, and its time goes into reaching memory: a few hundred bytes in one
    piece are read much faster than a set. Which trigram has which bit does not matter, so counts are exact.

    Parameters
    ----------
    most : int
        How many trigrams may have a bit.
    """

    def __init__(self, most: int = 8192) -> None:
        self.most = most
        self._bits: dict[str, int] = {}
        self._pieces: dict[str, tuple[int, frozenset[str]]] = {}
        self._lock = Lock()

    def of(self, found: Sequence[str]) -> tuple[int, frozenset[str]]:
        """Trigrams of words that are joined by spaces, with two spaces in front and one behind."""
        before, mask, rest, known = " ", 0, _NONE, self._pieces
        for word in found:
            for piece in (f"{before} {word[0]}", f" {word} "):
                bits, names = known.get(piece) or self._remembered(piece)
                mask |= bits
                if names:
                    rest |= names
            before = word[-1]
        return mask, rest

    def _remembered(self, piece: str) -> tuple[int, frozenset[str]]:
        if len(self._pieces) >= MOST_PIECES:
            self._pieces.clear()
        found = self._pieces[piece] = self.within(piece)
        return found

    def within(self, text: str) -> tuple[int, frozenset[str]]:
        """Trigrams of a text as it stands."""
        grams = [text[n : n + 3] for n in range(len(text) - 2)]
        if len(self._bits) < self.most:
            with self._lock:
                for gram in grams:
                    if len(self._bits) < self.most:
                        self._bits.setdefault(gram, 1 << len(self._bits))
        mask, rest = 0, _NONE
        for gram in grams:
            bit = self._bits.get(gram)
            if bit is None:
                rest |= {gram}
            else:
                mask |= bit
        return mask, rest


MOST_PIECES = 32768
_TRIGRAMS = Trigrams()


def shared_trigrams(a: Reading, b: Reading) -> int:
    """How many trigrams two wordings have in common."""
    shared = (a.mask & b.mask).bit_count()
    return shared + len(a.rest & b.rest) if a.rest and b.rest else shared


def _split(text: str) -> tuple[str, ...]:
    """Words with contracted negations and elisions opened: can't → can not, l'écran → écran."""
    found = words(text)
    if not lex.ENTERING.isdisjoint(found):
        found = _entered(found)
    return found if _CONTRACTED.isdisjoint(found) and "'" not in folded(text) else _opened(found)


_CONTRACTED = frozenset(lex.BARE) | {"cannot"}


def _entered(found: tuple[str, ...]) -> tuple[str, ...]:
    """Where somebody signs in or out, one word for it: "logs on" and "sign in" are "login"."""
    out: list[str] = []
    for word in found:
        if out and out[-1] in lex.ENTERING and word in ("in", "on", "into", "out", "off"):
            out[-1] = "login" if word in ("in", "on", "into") else "logout"
        else:
            out.append(word)
    return tuple(out)


def _opened(found: tuple[str, ...]) -> tuple[str, ...]:
    out: list[str] = []
    for word in found:
        if "'" not in word:
            out += ["can", "not"] if word == "cannot" else [lex.BARE[word], "not"] if word in lex.BARE else [word]
        elif word.endswith("n't"):
            out += [{"ca": "can", "wo": "will", "sha": "shall"}.get(word[:-3], word[:-3]), "not"]
        else:
            elided = _ELISION.match(word)
            out.append(elided[2] if elided else word)
    return tuple(out)


def stems(text: str) -> list[str]:
    """Stems of the words that carry meaning, in order, each as often as it stands there.

    >>> stems("The VPN drops, and drops again")
    ['vpn', 'drop', 'drop']
    """
    return [stem(w) for w in _split(text) if w not in _SILENT]


@lru_cache(maxsize=8192)
def content_words(text: str) -> frozenset[str]:
    """Stems of the words that carry meaning (no stop words, no negations).

    >>> sorted(content_words("The VPN drops on hotel Wi-Fi"))
    ['drop', 'hotel', 'vpn', 'wi-fi']
    """
    return frozenset(stems(text))


def identifiers(text: str) -> frozenset[str]:
    """Error codes, versions, numbers, room and article names: words with a digit or an underscore, but not amounts.

    >>> sorted(identifiers("error 809 after 5 minutes in room A-101"))
    ['809', 'a-101']
    """
    return reading(text).identifiers


def _identifiers(found: tuple[str, ...], capitals: frozenset[str]) -> frozenset[str]:
    odd = [(n, w) for n, w in enumerate(found) if len(w) == 1 or not w.isalpha()]
    return frozenset([w for n, w in odd if _identifies(found, n, w, capitals)])


def _identifies(found: tuple[str, ...], n: int, word: str, capitals: frozenset[str]) -> bool:
    letter = len(word) == 1 and word.upper() in capitals
    if not (letter or any(c.isdigit() for c in word) or "_" in word) or _CLOCK.fullmatch(word):
        return False
    if not letter and (not word.isdigit() or len(word) > 2):
        return True
    if n + 1 < len(found) and found[n + 1] in lex.SIZES:
        return True
    # "Windows 11", "drive D": a small number or a letter is a name only behind a word, and not before a unit.
    named = n > 0 and found[n - 1] not in _SILENT
    return named and not (n + 1 < len(found) and found[n + 1] in lex.UNITS)


def _negated(found: tuple[str, ...]) -> frozenset[str]:
    """What each negation is about: the next word with a meaning, or the one before it ("druckt nicht", "no longer")."""
    out: set[str] = set()
    for n, word in enumerate(found):
        if word in lex.NEGATION:
            past = n + 1 < len(found) and found[n + 1] in _PAST
            behind, before = _meaning(found[n + 1 : n + 4]), _meaning(found[max(0, n - 3) : n][::-1])
            out.update((before or behind if past else behind or before)[:1])
    return frozenset(out)


def _meaning(found: tuple[str, ...]) -> list[str]:
    return [sense(w) for w in found if w not in _SILENT and w not in _PAST and w not in _SKIP]


def _direction(found: tuple[str, ...]) -> tuple[str, ...]:
    """Who perceives whom: ("other", "self") for "others cannot hear me"; empty where nobody perceives anybody."""
    people: list[str] = []
    verb = False
    for word in found:
        if word in lex.PERCEIVE:
            if not people:
                people.append("self")
            verb = True
        elif word in lex.SELF or word in lex.OTHER:
            who = "self" if word in lex.SELF else "other"
            if not people or people[-1] != who:
                people.append(who)
    return tuple(people[:2]) if verb and len(people) > 1 else ()
