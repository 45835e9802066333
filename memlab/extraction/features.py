"""What the reader model sees of a clause besides its vector: who says it, where, and a few kinds of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import regex

from memlab.extraction.clauses import Clause

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    *("CUES", "ENDING", "PLACES", "WIDTH", "clause_features", "ending_features", "ending_shares", "relative_places"),
    "turn_shares",
]


def _cue(pattern: str) -> regex.Pattern[str]:
    return regex.compile(rf"(?i)\b(?:{pattern})\b")


CUES = {
    "success": _cue(
        "works?|worked|working|fixed|fixes|solved|resolved|helped|did it|did the trick|sorted|all good|gone|"
        "back to normal|success|fine now|ok now|okay now|came back|is back|perfect|läuft|funktioniert|"
        "geht wieder|geht jetzt|geklappt|gelöst|marche|fonctionne|résolu|réglé"
    ),
    "failure": _cue(
        "still|no luck|didn['’]?t help|did not help|no change|no difference|same|nope|nothing|neither|none|failed|"
        "fails|again|no effect|useless|in vain|immer noch|nichts|half nicht|hat nicht geholfen|kein|geht nicht|"
        "toujours|rien|pareil"
    ),
    "negation": _cue(r"not|no|never|without|\w+n['’]?t|nicht|kein\w*|pas|sans|jamais|nie"),
    "partial": _cue(
        "better|a bit|partly|for a while|for a day|sometimes|almost|half|slightly|temporar\\w+|besser|mieux"
    ),
    "past": _cue(
        r"\w{3,}ed|did|was|were|went|took|put|set|got|ran|made|gave|turned|tried|have|had|has|been|done|"
        r"ge\w+t|ge\w+en|habe|hatte|ai|avons|été"
    ),
    "first_person": _cue(r"i|i['’]?(?:ve|d|m|ll)|we|we['’]?(?:ve|re|ll)|my|our|ich|wir|je|j['’]\w+|nous|on"),
    "second_person": _cue(r"you|your|you['’]?(?:re|ve|ll)|u|sie|ihr\w*|vous|votre|vos"),
    "plan": _cue(
        r"will|gonna|going to|i['’]?ll|we['’]?ll|let me|later|tomorrow|would|plan|next|about to|shall|werde|"
        r"wollte|morgen|vais|demain"
    ),
    "request": _cue(
        "please|pls|plz|can you|could you|try|please try|would you|have you|did you|go to|open|click|check|"
        "bitte|können sie|pouvez|essayez|veuillez"
    ),
    "cause": _cue(
        "because|cause|caused|since|due to|reason|culprit|turns out|that['’]?s why|so it['’]?s|it['’]?s the|means|"
        "expired|missing|wrong|blocked|disabled|policy|weil|liegt an|grund|parce que|car|à cause"
    ),
    "hedge": _cue("think|maybe|perhaps|probably|might|guess|seems?|looks like|could be|suspect|vielleicht|peut-être"),
    "problem": _cue(
        r"can['’]?t|cannot|won['’]?t|doesn['’]?t|error|problem|issue|fails?|crash\w*|slow|stuck|missing|nothing|"
        r"broken|freez\w+|drops?|kann nicht|fehler|problème|erreur|impossible"
    ),
    "thanks": _cue("thanks?|thx|ty|cheers|danke|merci|great|super"),
    "joined": _cue("and|also|then|und|dann|et|puis|plus"),
    "contrast": _cue("but|however|although|though|only|aber|mais|until|except"),
    "setting": _cue(
        "setting|settings|policy|registry|driver|update|version|profile|group|license|licence|permission|certificate|"
        "cache|service|firewall|proxy|account|add-?in|config\\w*|queue|intune|admin|portal"
    ),
    "device": _cue(
        r"laptop|latitude|elitebook|zbook|precision|macbook|mac|dock|headset|printer|phone|monitor|office|site|floor|"
        r"windows \d+"
    ),
    "log": _cue(r"(?:status|user|device|error|event|state|result|id)[=:]\S*"),
}

WIDTH = len(CUES) + 12  # and its place
ENDING = 7
PLACES = 9  # of one clause against another


def clause_features(clauses: Sequence[Clause]) -> NDArray[np.float32]:
    """Which kinds of words each clause holds, and its place.

    Returns
    -------
    array of shape (len(clauses), WIDTH), float32
    """
    rows = [
        [*(float(bool(p.search(c.text))) for p in CUES.values()), *_place(clauses, n)] for n, c in enumerate(clauses)
    ]
    return np.array(rows, np.float32).reshape(len(clauses), WIDTH)


def turn_shares(clauses: Sequence[Clause]) -> NDArray[np.float32]:
    """How much each clause counts in the mean of each clause's turn; shape (len(clauses), len(clauses))."""
    turns = np.array([c.turn for c in clauses])
    same = (turns[:, None] == turns[None]).astype(np.float32)
    return np.asarray(same / same.sum(axis=1, keepdims=True), np.float32)


def relative_places(clauses: Sequence[Clause]) -> NDArray[np.int64]:
    """Where each clause (column) stands as seen from each (row); shape (len(clauses), len(clauses)).

    0 in a later turn, 1 the clause itself, 2 before and 3 after it in its turn, 4 … 8 one … five or more turns before.
    """
    turns, order = np.array([c.turn for c in clauses]), np.arange(len(clauses))
    back, step = turns[:, None] - turns[None], np.sign(order[None] - order[:, None])
    same = np.choose(step + 1, (2, 1, 3))
    return np.asarray(np.where(back == 0, same, np.where(back < 0, 0, np.minimum(back + 3, PLACES - 1))), np.int64)


def ending_shares(clauses: Sequence[Clause]) -> NDArray[np.float32]:
    """The same for the user's last turn, the last turn and the whole conversation; shape (3, len(clauses))."""
    turns = np.array([c.turn for c in clauses])
    last_user = max((c.turn for c in clauses if c.role == "user"), default=-1)
    chosen = np.stack([turns == last_user, turns == turns[-1], turns >= 0]).astype(np.float32)
    return np.asarray(chosen / np.maximum(1, chosen.sum(axis=1, keepdims=True)), np.float32)


def ending_features(clauses: Sequence[Clause]) -> NDArray[np.float32]:
    """Who speaks last and how long it went on; shape (ENDING,), float32."""
    last, user = clauses[-1], [c.turn for c in clauses if c.role == "user"]
    values = [
        *(last.role == role for role in ("user", "agent", "tool")),
        (last.turn + 1) / 10,
        len(set(user)) / 10,
        any(c.role == "tool" for c in clauses),
        (last.turn - user[-1] if user else 9) / 4,
    ]
    return np.array(values, np.float32)


def _place(clauses: Sequence[Clause], n: int) -> list[float]:
    c = clauses[n]
    turns = clauses[-1].turn + 1
    values = [
        c.role == "user",
        c.role == "agent",
        c.role == "tool",
        c.first,
        c.last,
        c.turn == 0,
        c.turn / turns,
        c.turn == turns - 1,
        n / len(clauses),
        np.log1p(len(c.text.split())) / 3,
        "?" in c.text,
        any(ch.isdigit() for ch in c.text),
    ]
    return [float(v) for v in values]
