"""What keeps two similar wordings apart: identifiers, negation, who it happens to, product, a swapped word.

Similarity can't see these: "error 809" and "error 691" have a cosine of 0.91, true paraphrases about 0.54.
"""

from __future__ import annotations

from functools import lru_cache

import regex

from memlab.curation.keys import words

__all__ = ["conflict", "content_words", "identifiers", "stem"]

_STOP = frozenset(
    """a an and are as at be been but by did do does for from had has have in into is it its of on onto or so than that
    the their then there these this those to was were when where which while will with i me my mine we us our you your he
    she they them just only also very really still again now get gets got getting keep keeps any some all am if
    der die das den dem ein eine einen und oder ist sind war hat haben ich mir mein meine es im in am auf mit von zu für
    le la les un une des du de et ou est sont je me mon ma il elle dans sur avec pour que qui ne""".split()
)
_NEGATION = frozenset("not no never without nothing nobody none cannot nicht kein keine keinen ohne nie pas sans jamais".split())
_SELF = frozenset("i me my we us our myself ich mir mich je moi".split())
_OTHER = frozenset(
    """others other they them their people anyone anybody everyone everybody nobody noone someone somebody colleagues
    colleague caller callers participants participant attendees customer customers andere anderen autres""".split()
)
_PERCEIVE = frozenset("hear hears heard see sees seen understand call reach hören sehen entendre voir".split())
_UNITS = frozenset(
    """s sec second seconds min mins minute minutes h hour hours day days week weeks month months am pm uhr times time x
    people users colleagues of pages gb mb % percent""".split()
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
    ("visible", "hidden"), ("incoming", "outgoing"), ("inbound", "outbound"), ("upload", "download"), ("enable", "disable"),
    ("install", "uninstall"), ("send", "receive"), ("add", "remove"), ("open", "close"), ("start", "stop"), ("on", "off"),
    ("before", "after"), ("internal", "external"), ("left", "right"), ("connect", "disconnect"), ("lock", "unlock"),
    ("allow", "block"), ("wired", "wireless"), ("increase", "decrease"), ("old", "new"), ("first", "last"),
    ("uploading", "downloading"), ("sending", "receiving"), ("microphone", "speaker"), ("camera", "microphone"),
]  # fmt: skip
_OPPOSITE = {a: b for pair in _OPPOSITES for a, b in (pair, pair[::-1])}
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


@lru_cache(maxsize=65536)
def _split(text: str) -> tuple[str, ...]:
    """Words with contracted negations opened: can't → can not."""
    out: list[str] = []
    for word in words(text):
        if word == "cannot":
            out += ["can", "not"]
        elif word.endswith("n't"):
            out += [{"ca": "can", "wo": "will", "sha": "shall"}.get(word[:-3], word[:-3]), "not"]
        else:
            out.append(word)
    return tuple(out)


@lru_cache(maxsize=65536)
def content_words(text: str) -> frozenset[str]:
    """Stems of the words that carry meaning (no stop words, no negations).

    >>> sorted(content_words("The VPN drops on hotel Wi-Fi"))
    ['drop', 'hotel', 'vpn', 'wi-fi']
    """
    return frozenset(stem(w) for w in _split(text) if w not in _STOP and w not in _NEGATION)


@lru_cache(maxsize=65536)
def identifiers(text: str) -> frozenset[str]:
    """Error codes, versions, numbers, room and article names: words with a digit, but not amounts of time or things.

    >>> sorted(identifiers("error 809 after 5 minutes in room A-101"))
    ['809', 'a-101']
    """
    found = _split(text)
    return frozenset(
        w
        for n, w in enumerate(found)
        if any(c.isdigit() for c in w)
        and not (w.isdigit() and len(w) < 3 and n + 1 < len(found) and found[n + 1] in _UNITS)
    )


@lru_cache(maxsize=65536)
def _negated(text: str) -> frozenset[str]:
    """Stems that stand within three words behind a negation."""
    found, out = _split(text), set()
    for n, word in enumerate(found):
        if word in _NEGATION:
            scope = [stem(w) for w in found[n + 1 : n + 4] if w not in _STOP and w not in _NEGATION]
            out.update(scope[:1])
    return frozenset(out)


@lru_cache(maxsize=65536)
def _direction(text: str) -> tuple[str, ...]:
    """Who perceives whom: ("other", "self") for "others cannot hear me"; empty where nobody perceives anybody."""
    people, verb = [], False
    for word in _split(text):
        if word in _PERCEIVE:
            if not people:
                people.append("self")
            verb = True
        elif word in _SELF or word in _OTHER:
            who = "self" if word in _SELF else "other"
            if not people or people[-1] != who:
                people.append(who)
    return tuple(people[:2]) if verb and len(people) > 1 else ()


def conflict(a: str, b: str) -> str | None:
    """Why two wordings can't be the same entry whatever their similarity, or None if nothing forbids it.

    >>> conflict("VPN fails with error 809", "VPN fails with error 691")
    'different identifier: 809 / 691'
    >>> conflict("printer prints blank pages", "the sheets come out empty") is None
    True
    """
    for check in (_identifier_conflict, _product_conflict, _direction_conflict, _negation_conflict, _swap_conflict):
        reason = check(a, b)
        if reason:
            return reason
    return None


def _named(what: str, left: frozenset[str] | set[str], right: frozenset[str] | set[str]) -> str:
    return f"different {what}: {' '.join(sorted(left))} / {' '.join(sorted(right))}"


def _identifier_conflict(a: str, b: str) -> str | None:
    left, right = identifiers(a), identifiers(b)
    return _named("identifier", left - right, right - left) if left - right and right - left else None


def _product_conflict(a: str, b: str) -> str | None:
    left, right = ({_PRODUCT_OF[w] for w in _split(t) if w in _PRODUCT_OF} for t in (a, b))
    return _named("product", left, right) if left and right and not left & right else None


def _direction_conflict(a: str, b: str) -> str | None:
    left, right = _direction(a), _direction(b)
    if left and right and left != right:
        return f"different direction: {' → '.join(left)} / {' → '.join(right)}"
    if content_words(a) == content_words(b) and {"from", "to"} <= set(words(a)) & set(words(b)) and words(a) != words(b):
        return "different direction: from … to"
    return None


def _negation_conflict(a: str, b: str) -> str | None:
    left, right, shared = _negated(a), _negated(b), content_words(a) & content_words(b)
    flipped = ((left - right) | (right - left)) & shared
    if flipped:
        return f"negated on one side: {' '.join(sorted(flipped))}"
    if bool(left) != bool(right) and _overlap(a, b) >= 0.6:
        return "negated on one side"
    return None


def _overlap(a: str, b: str) -> float:
    left, right = content_words(a), content_words(b)
    return len(left & right) / max(1, min(len(left), len(right)))


def _swap_conflict(a: str, b: str) -> str | None:
    left, right = content_words(a), content_words(b)
    only_left, only_right = left - right, right - left
    opposite = {w for w in _split(a) if _OPPOSITE.get(w) in _split(b) and w not in _split(b)}
    if opposite:
        return f"opposite: {' '.join(sorted(opposite))} / {' '.join(sorted(_OPPOSITE[w] for w in opposite))}"
    if only_left and only_right and len(only_left) + len(only_right) <= 4 and len(left & right) >= 2:
        if 2 * len(left & right) > len(only_left) + len(only_right):
            return _named("word", only_left, only_right)
    return None
