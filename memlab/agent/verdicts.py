"""The customer's bare verdict on what was tried before ("nothing worked", "that did it, thanks"): it names no step itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

__all__ = ["Verdict", "action_of", "ending_of", "is_bare", "verdict_of"]

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BAD = _words(
    """not no nope nothing none neither nor never without still same unchanged failed fails fail didn't doesn't don't
    hasn't haven't wasn't isn't aren't couldn't won't can't luck useless unsuccessful unfortunately sadly broken worse
    identical persists remains nein nicht nichts immer noch weder keine kein leider non pas rien toujours"""
)
_GOOD = _words(
    """works work worked working fixed fix fixes solved solves resolved sorted helped helps help trick did does perfect
    gone back normal fine alive healthy success successful yes yep yeah yup cured ja klappt geklappt geht läuft funktioniert
    geholfen gelöst behoben oui marche fonctionne réglé résolu"""
)
_SURE = _GOOD - _words("did does help work back normal fix trick")  # the others say it only together
_TOGETHER = re.compile(
    r"\b(?:did (?:it|the (?:trick|job))|(?:that|it|this|which) did(?:\s+(?:it|help))?$|back to normal|all (?:good|well)|"
    r"(?:that|it) (?:does|will) (?:work|help)|back (?:in business|up|again|online)|did (?:work|help))\b"
)
_SIDE = _words(
    """a all again also alright already and any anything are as at away be been before better bit both but by change
    changed cheers could did difference difficulty do done does doing effect either everything exactly far finally for
    from go good got great had has have hello help helping here hey hi however i improvement in is issue it it's its
    just kind later lot made make makes many me moment much my nice no now of off ok okay on one only or our out over
    perfectly problem problems really result running say seems so some something sorry steps sure thank thanks thats
    that that's the them then there they thing things this those to today too tried trouble try trying twice two up
    very was we well were what which with wonderfully working yet you your better danke jetzt es das wieder hat ist
    auch alles merci ça c'est maintenant job business online anymore more longer other hat habe haben gebracht genützt bewirkt verändert gemacht a ont changé aidé n'a servi i'm i've we've him her us"""
)
_EVERY = _words("nothing none neither nor any both all everything those these them weder nichts rien")
_ENDED = re.compile(
    r"\b(?:no|not an?y?|without)\s+(?:more|longer|further)?\s*(?:problems?|issues?|trouble)\b|\bno (?:more|longer)\b"
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a message says about the steps that are still open: whether they helped, and whether it means all of them."""

    outcome: Literal["worked", "failed"]
    every: bool


def verdict_of(text: str) -> Verdict | None:
    """The verdict, if the message is nothing else; None as soon as it holds a word of its own.

    >>> verdict_of("Nope, neither of them helped")
    Verdict(outcome='failed', every=True)
    >>> verdict_of("yes, that did the trick. Thanks!").outcome
    'worked'
    >>> verdict_of("updating the client did the trick") is None
    True
    """
    plain = " ".join(text.casefold().replace("’", "'").split()).rstrip(" .!?")
    words = _WORD.findall(plain)
    if not words or any(w not in _BAD and w not in _GOOD and w not in _SIDE for w in words):
        return None
    if any(c.isdigit() for c in plain) or "?" in text:
        return None
    ended = bool(_ENDED.search(plain))
    bad = not ended and any(w in _BAD for w in words)
    good = ended or any(w in _SURE for w in words) or bool(_TOGETHER.search(plain))
    if bad:
        return Verdict("failed", any(w in _EVERY for w in words))
    return Verdict("worked", False) if good else None


_ASKING = _words(
    "next should do how else ideas idea suggestion suggestions advise advice tell please would who when why"
)


def is_bare(text: str) -> bool:
    """Whether a message names nothing of its own, such as "still not working, what now?": it speaks of what is open.

    >>> is_bare("Still not working. What should I do now?"), is_bare("how do I change my billing address?")
    (True, False)
    """
    words = _WORD.findall(text.casefold().replace("’", "'"))
    return bool(words) and all(w in _BAD or w in _GOOD or w in _SIDE or w in _ASKING for w in words)


_LEFT_OVER = _words("and but then so which that still the it did this with to made i we after all")


def action_of(text: str) -> str:
    """A step without the verdict that stands behind it; the whole text where nothing else would be left.

    >>> action_of("Updating the app fixed it"), action_of("restarted the laptop, no change")
    ('Updating the app', 'restarted the laptop')
    """
    return _split(text)[0]


def ending_of(sentence: str) -> Verdict | None:
    """The verdict that stands behind a step in the same sentence, if one does.

    >>> ending_of("Updating the app fixed it, thanks").outcome, ending_of("I updated the app")
    ('worked', None)
    """
    return _split(sentence)[1]


def _split(text: str) -> tuple[str, Verdict | None]:
    """An action and the verdict behind it: the shortest such ending, and the words before that only strengthen it."""
    words = text.split()
    for start in range(len(words) - 1, 0, -1):
        if verdict_of(" ".join(words[start:])) is None:
            continue
        kept = words[:start]
        while kept and kept[-1].casefold().replace("’", "'").strip(".,;!") in _BAD | _GOOD:
            kept.pop()
        verdict = verdict_of(" ".join(words[len(kept) :]))
        every = any(w.casefold().strip(".,;!") in _EVERY for w in words[len(kept) :])
        while kept and kept[-1][-1].isalnum() and kept[-1].casefold() in _LEFT_OVER:
            kept.pop()
        action = " ".join(kept).strip(" ,.;:!–—-")
        if verdict is not None and any(w.casefold() not in _SIDE for w in _WORD.findall(action)):
            return action, Verdict(verdict.outcome, every)
        return text, None
    return text, None
