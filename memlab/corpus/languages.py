"""German and French words in English, so that what was said in another language gets a title in this one.

Word for word from `glossary.txt`: no translation, but enough for a title to mean the same. Quotes stay as they were said.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache, lru_cache
from importlib import resources
from typing import Literal
from unicodedata import normalize

import regex

__all__ = ["Language", "in_english", "language", "stopwords"]

Language = Literal["en", "de", "fr"]

# Words that only one of the three languages has, among the most frequent ones.
_TELLING: dict[Language, frozenset[str]] = {
    "en": frozenset(
        "the and is not it with to we have has but still after of my was were this that you for then it's i'm i've "
        "they be are been did didn't doesn't don't won't can't from at your our there what when or if as by their will "
        "just now get got can could would should do does only same before again says said".split()
    ),
    "de": frozenset(
        "der das und ist nicht ich es ein eine einen mit auf zu wir habe haben hab aber noch nach den dem im vom beim "
        "wurde sind kein keine auch schon jetzt wieder dann bei mir mich er sie für aus über wenn weil dass nur geht "
        "zum zur seit nix nichts immer mehr ging bitte danke nachdem hat hatte wurden worden doch".split()
    ),
    "fr": frozenset(
        "le les des une je il elle nous vous et dans sur pour mais avec ça que qui ne au aux du ce cette ma "
        "mes j'ai c'est n'est qu'il d'un l'a toujours rien merci bonjour depuis plus ai avez sont été comme alors".split()
    ),
}
_WHOSE = {word: name for name, known in _TELLING.items() for word in known}
MOST_WORDS = 3  # of one entry
LEAST_PART = 3  # letters of a part of a German compound
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+(?:['’\-.:_/@][\p{L}\p{M}\p{N}]+)*['’]?|[^\p{L}\p{M}\p{N}\s]+")
_LETTERS = re.compile(r"[^\W\d_]+(?:'[^\W\d_]*)*")
_LOOSE = regex.compile(r" (?=[,.;:!?)%])|(?<=[(]) ")
_ELIDED = regex.compile(r"(?i)\b(?:l|d|j|n|s|m|t|c|qu)['’](?=\p{L})")
_ENDINGS: dict[Language, tuple[str, ...]] = {
    "en": (),
    "de": ("en", "er", "es", "em", "n", "e", "s"),
    "fr": ("es", "e", "s", "x"),
}


def language(text: str, around: str = "") -> Language:
    """Which language a text is in by its most frequent words; if it has none of them, that of the text around it.

    >>> language("Wir haben das WLAN-Modul getauscht"), language("on a changé le canal"), language("swapped the cable")
    ('de', 'fr', 'en')
    """
    words = _LETTERS.findall(normalize("NFC", text).casefold().replace("’", "'"))
    hits = Counter([_WHOSE[w] for w in words if w in _WHOSE])
    best = max(_TELLING, key=lambda name: (hits[name], name == "en"))
    # One word may be a name or stand in a quote ("AI", "Les"): then another one must be known as well.
    if hits[best] > 1 or (hits[best] and (best == "en" or any(w in _entries()[best] for w in words))):
        return best
    return language(around) if around else "en"


def in_english(text: str, around: str = "") -> str:
    """German and French words replaced by their English ones, articles left out; an English text as it is.

    Parameters
    ----------
    text : str
        What to put into English.
    around : str, optional
        Where it stands: tells the language of a few words.

    >>> in_english("Wir haben das WLAN-Modul getauscht")
    'wifi module replaced'
    """
    spoken = language(text, around)
    return text if spoken == "en" else _glossed(text, spoken)


@lru_cache(maxsize=4096)
def _glossed(text: str, spoken: Language) -> str:
    words = _WORD.findall(normalize("NFC", _ELIDED.sub("", text) if spoken == "fr" else text))
    out, n = list[str](), 0
    while n < len(words):
        for size in range(min(MOST_WORDS, len(words) - n), 0, -1):
            found = _looked_up(" ".join(words[n : n + size]).casefold().replace("’", "'"), spoken)
            if found is not None:
                out.append(found)
                break
        else:
            size = 1
            if words[n].casefold() not in _silent(spoken):
                out.append(words[n])
        n += size
    return _LOOSE.sub("", " ".join(w for w in out if w)) or text


def _looked_up(word: str, spoken: Language) -> str | None:
    known = _entries()[spoken]
    if word in known:
        return known[word]
    if " " in word:
        return None
    for ending in _ENDINGS[spoken]:
        if word.endswith(ending) and len(word) - len(ending) > LEAST_PART and word[: -len(ending)] in known:
            return known[word[: -len(ending)]]
    if "-" in word:
        parts = [_looked_up(part, spoken) for part in word.split("-")]
        return " ".join(p or w for p, w in zip(parts, word.split("-"), strict=True)) if any(parts) else None
    return _compound(word, spoken) if spoken == "de" else None


def _compound(word: str, spoken: Language) -> str | None:
    """A German word made of two known ones, perhaps with an s or n between them."""
    known = _entries()[spoken]
    for at in range(len(word) - LEAST_PART - 1, LEAST_PART, -1):
        head, tail = word[:at], word[at:]
        for joined in (head, head.removesuffix("s"), head.removesuffix("n")):
            if joined in known and (tail in known or tail.rstrip("ns") in known):
                return f"{known[joined]} {known.get(tail) or known[tail.rstrip('ns')]}"
    return None


@cache
def _entries() -> dict[Language, dict[str, str]]:
    found: dict[Language, dict[str, str]] = {"en": {}, "de": {}, "fr": {}}
    spoken: Language = "en"
    for line in (resources.files("memlab.corpus") / "glossary.txt").read_text("utf-8").splitlines():
        if line in ("[de]", "[fr]"):
            spoken = "de" if line == "[de]" else "fr"
        elif " = " in line:
            word, english = line.split(" = ")
            found[spoken][word] = english
    return found


@cache
def stopwords() -> frozenset[str]:
    """English, German and French words that name nothing."""
    return frozenset((resources.files("memlab.corpus") / "stopwords.txt").read_text("utf-8").split())


@cache
def _silent(spoken: Language) -> frozenset[str]:
    """Words that a title can do without."""
    return stopwords() | _TELLING[spoken]
