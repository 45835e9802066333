"""What keeps two similar wordings apart: identifiers, negation, who it happens to, product, a swapped word.

Similarity can't see these: "error 809" and "error 691" have a cosine of 0.91, true paraphrases about 0.54.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from threading import Lock

import regex

from memlab.curation.keys import normal_key, words

__all__ = ["Reading", "conflict", "content_words", "identifiers", "reading", "shared_trigrams", "stem", "stems"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_STOP = _words(
    """a an and are as at be been but by did do does for from had has have in into is it its of on onto or so than that
    the their then there these this those to was were when where which while will with i me my mine we us our you your
    he she they them just only also very really still again now get gets got getting keep keeps any some all am if more
    longer anymore mehr der die das den dem ein eine einen und oder ist sind war hat haben ich mir mein meine es im in
    am auf mit von zu für le la les un une des du de et ou est sont je me mon ma il elle dans sur avec pour que qui ne"""
)
_NEGATION = _words("not no never without nothing nobody none cannot nicht kein keine keinen ohne nie pas sans jamais")
_SELF = _words("i me my we us our myself ich mir mich je moi")
_OTHER = _words(
    """others other they them their people anyone anybody everyone everybody nobody noone someone somebody colleagues
    colleague caller callers participants participant attendees customer customers andere anderen autres"""
)
_PERCEIVE = _words("hear hears heard see sees seen understand call reach hören sehen entendre voir")
_UNITS = _words(
    """s sec second seconds min mins minute minutes h hour hours day days week weeks month months am pm uhr times time x
    people users colleagues of pages gb mb % percent"""
)
_PRODUCTS = {
    "teams": "teams msteams", "outlook": "outlook", "onedrive": "onedrive", "sharepoint": "sharepoint",
    "vpn": "vpn anyconnect globalprotect tunnel wireguard openvpn forticlient", "excel": "excel", "word": "winword",
    "zoom": "zoom", "citrix": "citrix", "sap": "sap", "printer": "printer drucker imprimante", "scanner": "scanner",
    "mouse": "mouse", "keyboard": "keyboard", "chrome": "chrome", "edge": "edge", "firefox": "firefox",
    "intune": "intune", "slack": "slack", "webex": "webex", "bitlocker": "bitlocker", "mac": "mac macbook macos",
}  # fmt: skip
_PRODUCT_OF = {word: product for product, names in _PRODUCTS.items() for word in names.split()}
_OPPOSITES = [
    ("visible", "hidden"), ("incoming", "outgoing"), ("inbound", "outbound"), ("upload", "download"),
    ("enable", "disable"), ("enabled", "disabled"), ("install", "uninstall"), ("send", "receive"), ("sent", "received"),
    ("add", "remove"), ("open", "close"), ("start", "stop"), ("on", "off"), ("before", "after"), ("left", "right"),
    ("internal", "external"), ("connect", "disconnect"), ("lock", "unlock"), ("allow", "block"), ("allowed", "blocked"),
    ("wired", "wireless"), ("increase", "decrease"), ("old", "new"), ("first", "last"), ("uploading", "downloading"),
    ("sending", "receiving"), ("microphone", "speaker"), ("camera", "microphone"), ("upgrade", "downgrade"),
    ("update", "rollback"),
]  # fmt: skip
_OPPOSITE = {a: b for pair in _OPPOSITES for a, b in (pair, pair[::-1])}
# Words that also do other work ("hold on", "since the new year"): opposites only between sentences that are alike.
_WEAK = _words("on off old new first last before after left right open close start stop")
_PAST = _words("longer more anymore mehr plus")  # "no longer" negates the word before it
_SKIP = _words("since until yet even seit bis depuis seul")
_ELISION = regex.compile(r"(l|d|n|j|qu|s|m|t|c)'(.{2,})")
_CAPITAL = regex.compile(r"\b[B-HJ-Z]\b")
_CLOCK = regex.compile(r"\d{1,2}:\d{2}(?::\d{2})?")
_TOWARDS = _words("from to into onto von nach zu aus vers")
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
        Stems of the words that carry meaning.
    identifiers : frozenset of str
        Words with a digit or an underscore, but not amounts.
    products : frozenset of str
        Products that are named.
    direction : tuple of str
        Who perceives whom.
    negated : frozenset of str
        Stems that stand right behind a negation.
    bag : tuple of str
        The words, sorted.
    mask, rest : int, frozenset of str
        Trigrams of the normalised key: a bit for each of those met first, the others by name (see `shared_trigrams`).
    length, meanings, grams : int
        Numbers of words, of stems that carry meaning, and of trigrams.
    opposites : tuple of (str, str)
        Words that have an opposite, with it, sorted.
    """

    words: tuple[str, ...]
    content: frozenset[str]
    identifiers: frozenset[str]
    products: frozenset[str]
    direction: tuple[str, ...]
    negated: frozenset[str]
    bag: tuple[str, ...]
    mask: int
    rest: frozenset[str]
    length: int
    meanings: int
    grams: int
    opposites: tuple[tuple[str, str], ...]


@lru_cache(maxsize=4096)
def reading(text: str) -> Reading:
    """Read a wording for the guards and the pair model."""
    plain, found, padded = words(text), _split(text), f"  {normal_key(text)} "
    content = frozenset(stem(w) for w in found if w not in _STOP and w not in _NEGATION)
    trigrams = {padded[n : n + 3] for n in range(len(padded) - 2)}
    mask, rest = _as_bits(trigrams)
    return Reading(
        words=found,
        content=content,
        identifiers=_identifiers(found, frozenset(_CAPITAL.findall(text))),
        products=frozenset(_PRODUCT_OF[w] for w in found if w in _PRODUCT_OF),
        direction=_direction(found),
        negated=_negated(found),
        bag=tuple(sorted(plain)),
        mask=mask,
        rest=rest,
        length=len(plain),
        meanings=len(content),
        grams=len(trigrams),
        opposites=tuple((w, _OPPOSITE[w]) for w in sorted({*found}) if w in _OPPOSITE),
    )


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
    return [stem(w) for w in _split(text) if w not in _STOP and w not in _NEGATION]


def content_words(text: str) -> frozenset[str]:
    """Stems of the words that carry meaning (no stop words, no negations).

    >>> sorted(content_words("The VPN drops on hotel Wi-Fi"))
    ['drop', 'hotel', 'vpn', 'wi-fi']
    """
    return reading(text).content


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
    named = n > 0 and found[n - 1] not in _STOP and found[n - 1] not in _NEGATION
    return named and not (n + 1 < len(found) and found[n + 1] in _UNITS)


def _negated(found: tuple[str, ...]) -> frozenset[str]:
    """What each negation is about: the next word with a meaning, or the one before it ("druckt nicht", "no longer")."""
    out: set[str] = set()
    for n, word in enumerate(found):
        if word in _NEGATION:
            past = n + 1 < len(found) and found[n + 1] in _PAST
            behind, before = _meaning(found[n + 1 : n + 4]), _meaning(found[max(0, n - 3) : n][::-1])
            out.update((before or behind if past else behind or before)[:1])
    return frozenset(out)


def _meaning(found: tuple[str, ...]) -> list[str]:
    silent = (_STOP, _NEGATION, _PAST, _SKIP)
    return [stem(w) for w in found if not any(w in words for words in silent)]


def _direction(found: tuple[str, ...]) -> tuple[str, ...]:
    """Who perceives whom: ("other", "self") for "others cannot hear me"; empty where nobody perceives anybody."""
    people: list[str] = []
    verb = False
    for word in found:
        if word in _PERCEIVE:
            if not people:
                people.append("self")
            verb = True
        elif word in _SELF or word in _OTHER:
            who = "self" if word in _SELF else "other"
            if not people or people[-1] != who:
                people.append(who)
    return tuple(people[:2]) if verb and len(people) > 1 else ()


def conflict(a: str | Reading, b: str | Reading) -> str | None:
    """Why two wordings can't be the same entry whatever their similarity, or None if nothing forbids it.

    Either may be given as text, or as it was read.

    >>> conflict("VPN fails with error 809", "VPN fails with error 691")
    'different identifier: 809 / 691'
    >>> conflict("printer prints blank pages", "the sheets come out empty") is None
    True
    """
    left = a if isinstance(a, Reading) else reading(a)
    right = b if isinstance(b, Reading) else reading(b)
    return (
        (left.identifiers and right.identifiers and _identifier_conflict(left, right))
        or (left.products and right.products and _product_conflict(left, right))
        or (left.direction and right.direction and _direction_conflict(left, right))
        or ((left.negated or right.negated) and _negation_conflict(left, right))
        or (left.opposites and _opposite_conflict(left, right))
        or _swap_conflict(left, right)
        or None
    )


def _named(what: str, left: frozenset[str], right: frozenset[str]) -> str:
    return f"different {what}: {' '.join(sorted(left))} / {' '.join(sorted(right))}"


def _identifier_conflict(a: Reading, b: Reading) -> str | None:
    left, right = a.identifiers - b.identifiers, b.identifiers - a.identifiers
    return _named("identifier", left, right) if left and right else None


def _product_conflict(a: Reading, b: Reading) -> str | None:
    return _named("product", a.products, b.products) if a.products.isdisjoint(b.products) else None


def _direction_conflict(a: Reading, b: Reading) -> str | None:
    if a.direction == b.direction:
        return None
    return f"different direction: {' → '.join(a.direction)} / {' → '.join(b.direction)}"


def _negation_conflict(a: Reading, b: Reading) -> str | None:
    flipped = (a.negated ^ b.negated) & a.content & b.content
    if flipped:
        return f"negated on one side: {' '.join(sorted(flipped))}"
    if bool(a.negated) != bool(b.negated) and _overlap(a, b) >= 0.6:
        return "negated on one side"
    return None


def _overlap(a: Reading, b: Reading) -> float:
    return len(a.content & b.content) / max(1, min(a.meanings, b.meanings))


def _opposite_conflict(a: Reading, b: Reading) -> str | None:
    for word, other in a.opposites:
        if other in b.words and word not in b.words and (word not in _WEAK or _overlap(a, b) >= 0.5):
            return f"opposite: {word} / {other}"
    return None


def _swap_conflict(a: Reading, b: Reading) -> str | None:
    """Sentences that differ in a word or two of equal standing speak of different things, places, people or ways."""
    shared = len(a.content & b.content)
    left, right = a.meanings - shared, b.meanings - shared
    if shared >= 2 and left and right and left + right <= 4 and 2 * shared > left + right:
        here, there = _things(a.content - b.content), _things(b.content - a.content)
        if here and there:
            return _named("word", here, there)
    if not left and not right and a.words != b.words:
        here, there = frozenset(a.words) & _TOWARDS, frozenset(b.words) & _TOWARDS
        if here and there and (here != there or len(here) > 1):
            return f"different direction: {' … '.join(sorted(here))} / {' … '.join(sorted(there))}"
    return None


def _things(stems: frozenset[str]) -> frozenset[str]:
    """Without amounts and times of day: they differ from case to case."""
    return frozenset(s for s in stems if not any(c.isdigit() for c in s))
