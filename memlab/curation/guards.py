"""What keeps two similar wordings apart: identifiers, negation, who it happens to, product, state, a swapped word.

Similarity can't see these: "error 809" and "error 691" have a cosine of 0.91, true paraphrases about 0.54.
"""

from __future__ import annotations

from memlab.curation import lexicon as lex
from memlab.curation.wordings import (
    WEAKLY_OPPOSED,
    Reading,
    content_words,
    identifiers,
    reading,
    sense,
    shared_trigrams,
    stem,
    stems,
)

__all__ = ["Reading", "conflict", "content_words", "identifiers", "reading", "shared_trigrams", "stem", "stems"]

_TOWARDS = frozenset("from to into onto von nach zu aus vers".split())
_RELATION = frozenset(stem(w) for w in lex.RELATIONS)
_MANNER = frozenset(stem(w) for w in lex.MANNER)
_PASSIVE = frozenset("by von durch par".split())
LEAST_LETTERS = 5  # of a word that may be a misspelt one
FRAME = 2  # words that must stand around what differs, stop words counted


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
    if left.plain and right.plain:
        return _swap_conflict(left, right)
    return (
        (left.identifiers and right.identifiers and _identifier_conflict(left, right))
        or (left.products and right.products and _apart("product", left.products, right.products))
        or (left.systems and right.systems and _apart("system", left.systems, right.systems))
        or (left.direction and right.direction and _direction_conflict(left, right))
        or ((left.negated or right.negated) and _negation_conflict(left, right))
        or (left.opposites and _opposite_conflict(left, right))
        or (left.states and right.states and _state_conflict(left, right))
        or (left.quantity and right.quantity and _quantity_conflict(left, right))
        or _swap_conflict(left, right)
        or None
    )


def _named(what: str, left: frozenset[str], right: frozenset[str]) -> str:
    return f"different {what}: {' '.join(sorted(left))} / {' '.join(sorted(right))}"


def _apart(what: str, left: frozenset[str], right: frozenset[str]) -> str | None:
    return _named(what, left, right) if left.isdisjoint(right) else None


def _identifier_conflict(a: Reading, b: Reading) -> str | None:
    left, right = a.identifiers - b.identifiers, b.identifiers - a.identifiers
    return _named("identifier", left, right) if left and right else None


def _direction_conflict(a: Reading, b: Reading) -> str | None:
    if a.direction == b.direction:
        return None
    return f"different direction: {' → '.join(a.direction)} / {' → '.join(b.direction)}"


def _negation_conflict(a: Reading, b: Reading) -> str | None:
    if a.negated and b.negated:  # each must deny what the other one states: "works here, not there"
        denied, stated = (a.negated - b.negated) & b.content, (b.negated - a.negated) & a.content
        if (denied and stated) or ((denied or stated) and _overlap(a, b) >= 0.8):
            return f"negated on one side: {' '.join(sorted(denied | stated))}"
        return _other_failure(a.words, b.words)
    denying, stating = (a, b) if a.negated else (b, a)
    denied, bad = denying.negated & stating.content, stating.failing - denying.content
    if bad and not (denied and bad <= _MANNER):
        return None  # "cannot open it", "error on opening it" say the same; "does not open", "opens read-only" do not
    if denied:
        return f"negated on one side: {' '.join(sorted(denied))}"
    return "negated on one side" if _overlap(a, b) >= 0.6 else None


def _other_failure(one: tuple[str, ...], two: tuple[str, ...]) -> str | None:
    """One thing that does not do this and does not do that: the same words up to the "not", another one behind it."""
    n = next((k for k, (x, y) in enumerate(zip(one, two, strict=False)) if x != y), 0)
    if n < 3 or one[n - 1] not in lex.NEGATION:
        return None
    x, y = sense(one[n]), sense(two[n])
    return None if x == y or _slip(x, y) else f"another failure: not {one[n]} / not {two[n]}"


def _overlap(a: Reading, b: Reading) -> float:
    return len(a.content & b.content) / max(1, min(a.meanings, b.meanings))


def _opposite_conflict(a: Reading, b: Reading) -> str | None:
    for word, other in a.opposites:
        if other in b.words and word not in b.words and (word not in WEAKLY_OPPOSED or _overlap(a, b) >= 0.5):
            return f"opposite: {word} / {other}"
    return None


def _state_conflict(a: Reading, b: Reading) -> str | None:
    alike = a.states.isdisjoint(b.states) and _overlap(a, b) >= 0.5
    return _named("state", a.states, b.states) if alike else None


def _quantity_conflict(a: Reading, b: Reading) -> str | None:
    if a.quantity == b.quantity or _overlap(a, b) < 0.5:
        return None
    return f"different number of those concerned: {a.quantity} / {b.quantity}"


def _swap_conflict(a: Reading, b: Reading) -> str | None:
    """Sentences that differ in a word or two of equal standing speak of different things, places, people or ways."""
    shared = len(a.content & b.content)
    if not shared:
        return None
    left, right = a.meanings - shared, b.meanings - shared
    if left and right and left + right <= 4 and _in_one_frame(a, b, shared, left + right):
        here, there = _misspelt(_things(a.content - b.content), _things(b.content - a.content))
        if here and there:
            return _named("word", here, there)
    if not left and not right and _instead(a) != _instead(b):
        return "turned round: … instead of …"
    if not left and not right and a.words != b.words:
        here, there = frozenset(a.words) & _TOWARDS, frozenset(b.words) & _TOWARDS
        if here and there and (here != there or len(here) > 1):
            return f"different direction: {' … '.join(sorted(here))} / {' … '.join(sorted(there))}"
    if shared < 3 or a.words == b.words:
        return None
    return _turned_conflict(a, b) if left + right <= 1 else _swapped_conflict(a, b)


def _in_one_frame(a: Reading, b: Reading, shared: int, differing: int) -> bool:
    """Whether one sentence is the other with some words in the place of others, all else standing where it stood.

    Who says the same in other words seldom keeps the rest: a frame that is the same to the last "the" and "is" was
    filled with something else.
    """
    if shared >= 2 and 2 * shared > differing and _frame(a.sequence, b.sequence) >= shared:
        return True
    return _frame(a.words, b.words) >= FRAME


def _frame(one: tuple[str, ...], two: tuple[str, ...]) -> int:
    """How many words stand around the one stretch in which two sentences differ, of at most three words; else 0."""
    shorter = min(len(one), len(two))
    start = end = 0
    while start < shorter and one[start] == two[start]:
        start += 1
    while end < shorter - start and one[-1 - end] == two[-1 - end]:
        end += 1
    here, there = one[start : len(one) - end], two[start : len(two) - end]
    if here and there and max(len(here), len(there)) <= 3 and set(here).isdisjoint(there):
        return start + end
    differing = [(x, y) for x, y in zip(one, two, strict=False) if x != y]  # or two words, each in its place
    apart = {x for x, _ in differing}.isdisjoint(y for _, y in differing)
    return len(one) - len(differing) if len(one) == len(two) and len(differing) <= 2 and apart else 0


def _turned_conflict(a: Reading, b: Reading) -> str | None:
    """Where doer and done-to trade places, it is another problem: x calls y, y calls x."""
    one, two = _places(a), _places(b)
    verbs = sorted(_RELATION.intersection(one, two), key=lambda v: one[v])
    if sorted(verbs, key=lambda v: two[v]) != verbs:
        return f"turned round: {' … '.join(verbs)} / the other way"
    for verb in verbs:
        x, y = _before(one, verb), _before(two, verb)
        if x != y and x and y and (one.get(y, -1) > one[verb] or two.get(x, -1) > two[verb]):
            return f"turned round: {x} {verb} … / {y} {verb} …"
    return None


def _swapped_conflict(a: Reading, b: Reading) -> str | None:
    """Doer and done-to trade places round one verb, whatever else is said; in the passive they do and mean the same."""
    verbs = _RELATION & a.content & b.content
    if not verbs or not _PASSIVE.isdisjoint(a.words + b.words):
        return None
    one, two = _places(a), _places(b)
    for verb in sorted(verbs & one.keys() & two.keys()):
        x, y = _before(one, verb), _before(two, verb)
        if x and y and x != y and one.get(y, -1) > one[verb] and two.get(x, -1) > two[verb]:
            return f"turned round: {x} {verb} … / {y} {verb} …"
    return None


def _before(places: dict[str, int], verb: str) -> str:
    """Who does it: the nearest word with a meaning before a verb."""
    ahead = [(n, word) for word, n in places.items() if n < places[verb]]
    return max(ahead)[1] if ahead else ""


def _places(read: Reading) -> dict[str, int]:
    """Where each word with a meaning stands first; the speaker counts as one."""
    out: dict[str, int] = {}
    for n, word in enumerate(read.words):
        if word in lex.SPEAKER:
            out.setdefault("me", n)
        elif word not in lex.STOP and word not in lex.NEGATION and word not in lex.AUXILIARY:
            out.setdefault(stem(word), n)
    return out


def _things(stems: frozenset[str]) -> frozenset[str]:
    """Without amounts and times of day, which differ from case to case, and words that name nothing."""
    return frozenset(s for s in stems if s not in lex.VAGUE and not any(c.isdigit() for c in s))


def _instead(a: Reading) -> frozenset[str]:
    """What stands in the place of something else: the words with a meaning behind "instead"."""
    if "instead" not in a.words:
        return frozenset()
    return frozenset(stem(w) for w in a.words[a.words.index("instead") + 1 :] if w not in lex.STOP)


def _misspelt(left: frozenset[str], right: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """What is left of both sides without words that are the same but for one slip of the pen."""
    slips = [(x, y) for x in left for y in right if _slip(x, y)]
    return left - {x for x, _ in slips}, right - {y for _, y in slips}


def _slip(x: str, y: str) -> bool:
    """Whether two words of at least five letters differ in one letter: another, one more or less, or two turned round."""
    if len(x) > len(y):
        x, y = y, x
    if len(x) < LEAST_LETTERS or len(y) - len(x) > 1 or x[0] != y[0] or x == y:
        return False
    n = next((k for k in range(len(x)) if x[k] != y[k]), len(x))
    if len(x) < len(y):
        return x[n:] == y[n + 1 :]
    return x[n + 1 :] == y[n + 1 :] or (x[n : n + 2] == y[n : n + 2][::-1] and x[n + 2 :] == y[n + 2 :])
