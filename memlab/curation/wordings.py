"""A wording as the guards and the pair model see it, read once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from threading import Lock

import regex

from memlab.curation import lexicon as lex
from memlab.curation.keys import normal_key, words

__all__ = ["Reading", "content_words", "identifiers", "reading", "shared_trigrams", "stem", "stems"]

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
_OPPOSITE = {a: b for pair in lex.OPPOSITES for a, b in (pair, pair[::-1])}
_SENSE = {stem(word): stem(line[0]) for line in lex.CLASSES for word in line}
_GENERIC = frozenset(_SENSE.get(stem(w), stem(w)) for w in lex.GENERIC)
_STATE = frozenset(_SENSE.get(stem(w), stem(w)) for w in lex.STATES)
_FAILING = _STATE | frozenset(_SENSE.get(stem(w), stem(w)) for w in lex.FAILURE)
_SILENT = lex.STOP | lex.NEGATION
MOST_BITS = 8192
_BITS: dict[str, int] = {}
_LOCK = Lock()


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
    plain, found = words(text), tuple([w.removesuffix("'s") for w in _split(text)])
    senses = [(w, _sense(w)) for w in found if w not in _SILENT and w not in lex.AUXILIARY]
    content = frozenset([s for _, s in senses])
    telling = content - _GENERIC
    trigrams = _trigrams(" ".join([w for w, s in senses if s in telling]) or normal_key(text))
    mask, rest = _as_bits(trigrams)
    kinds = frozenset(found)
    identifiers_ = _identifiers(found, frozenset(_CAPITAL.findall(text)))
    products = frozenset([_PRODUCT_OF[w] for w in found if w in _PRODUCT_OF])
    systems = frozenset([_SYSTEM_OF[w] for w in found if w in _SYSTEM_OF])
    direction, negated, quantity = _direction(found), _negated(found), _quantity(kinds)
    opposites = tuple([(w, _OPPOSITE[w]) for w in sorted(kinds) if w in _OPPOSITE])
    states = content & _STATE
    return Reading(
        words=found,
        content=content,
        telling=telling,
        identifiers=identifiers_,
        products=products,
        systems=systems,
        states=states,
        direction=direction,
        negated=negated,
        quantity=quantity,
        failing=(content & _FAILING) | (kinds & lex.FAILURE),
        sequence=tuple([s for _, s in senses]),
        opposites=opposites,
        bag=tuple(sorted(plain)),
        mask=mask,
        rest=rest,
        length=len(plain),
        meanings=len(content),
        tellings=len(telling),
        grams=len(trigrams),
        plain=not (identifiers_ or products or systems or states or direction or negated or quantity or opposites),
    )


def _sense(word: str) -> str:
    base = stem(word)
    return _SENSE.get(base, base)


def _quantity(kinds: frozenset[str]) -> str:
    every, one = not kinds.isdisjoint(lex.ALL), not kinds.isdisjoint(lex.ONE)
    return "" if every == one else "all" if every else "one"


def _trigrams(text: str) -> set[str]:
    padded = f"  {text} "
    return {padded[n : n + 3] for n in range(len(padded) - 2)}


def _as_bits(trigrams: set[str]) -> tuple[int, frozenset[str]]:
    # Comparing wordings is the hot spot of a replay, and its time goes into reaching memory: a few hundred bytes in one
    # piece are read much faster than a set. Which trigram has which bit does not matter, so counts are exact.
    bits = list(map(_BITS.get, trigrams))
    rest: frozenset[str] = frozenset()
    if None in bits:
        with _LOCK:
            bits = [_BITS.setdefault(g, len(_BITS)) for g in trigrams if g in _BITS or len(_BITS) < MOST_BITS]
        rest = frozenset(g for g in trigrams if g not in _BITS)
    known = [bit for bit in bits if bit is not None]
    flags = bytearray((max(known, default=0) >> 3) + 1)
    for bit in known:
        flags[bit >> 3] |= 1 << (bit & 7)
    return int.from_bytes(flags, "little"), rest


def shared_trigrams(a: Reading, b: Reading) -> int:
    """How many trigrams two wordings have in common."""
    shared = (a.mask & b.mask).bit_count()
    return shared + len(a.rest & b.rest) if a.rest and b.rest else shared


def _split(text: str) -> tuple[str, ...]:
    """Words with contracted negations and elisions opened: can't → can not, l'écran → écran."""
    out: list[str] = []
    for word in words(text):
        if "'" not in word:
            out += ["can", "not"] if word == "cannot" else [word]
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
    return [_sense(w) for w in found if w not in _SILENT and w not in _PAST and w not in _SKIP]


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
