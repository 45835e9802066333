"""What the reader model sees of a clause: its sentence vector, who says it and where, and a few kinds of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import regex

from memlab.extraction.clauses import Clause

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CUES", "ENDING", "WIDTH", "clause_features", "conversation_features"]


def _cue(pattern: str) -> regex.Pattern[str]:
    return regex.compile(rf"(?i)\b(?:{pattern})\b")


CUES = {
    "success": _cue(
        "works?|worked|working|fixed|fixes|solved|resolved|helped|did it|did the trick|sorted|all good|gone|back to normal|"
        "success|fine now|ok now|okay now|came back|is back|perfect|läuft|funktioniert|geht wieder|geht jetzt|geklappt|"
        "gelöst|marche|fonctionne|résolu|réglé"
    ),
    "failure": _cue(
        "still|no luck|didn['’]?t help|did not help|no change|no difference|same|nope|nothing|neither|none|failed|fails|"
        "again|no effect|useless|in vain|immer noch|nichts|half nicht|hat nicht geholfen|kein|geht nicht|toujours|rien|pareil"
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
        r"laptop|latitude|elitebook|zbook|precision|macbook|mac|dock|headset|printer|phone|monitor|office|site|floor|windows \d+"
    ),
    "log": _cue(r"(?:status|user|device|error|event|state|result|id)[=:]\S*"),
}

_PLACES = 12
CONTEXT = ("same turn", "turn before", "turn after", "next user turn", "last user turn")
WIDTH = (1 + len(CONTEXT)) * (384 + len(CUES)) + 2 * len(CUES) + _PLACES


def clause_features(clauses: Sequence[Clause], vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Features of a conversation's clauses: each with its neighbours and the turns that may judge it.

    Parameters
    ----------
    clauses : sequence of Clause
        All of a conversation, in order.
    vectors : array of shape (len(clauses), 384)
        Their sentence vectors.

    Returns
    -------
    array of shape (len(clauses), WIDTH), float32
    """
    if not clauses:
        return np.zeros((0, WIDTH), np.float32)
    cues = np.array([[bool(p.search(c.text)) for p in CUES.values()] for c in clauses], np.float32)
    # Vectors have length 1: a factor of 4 gives their parts about the size of the cues.
    own = np.concatenate([4 * vectors, cues], axis=1)
    turns = np.array([c.turn for c in clauses])
    mean = {t: own[turns == t].mean(axis=0) for t in sorted(set(turns.tolist()))}
    user = sorted({c.turn for c in clauses if c.role == "user"})
    nothing = np.zeros(own.shape[1], np.float32)
    rows = []
    for n, c in enumerate(clauses):
        later = next((t for t in user if t > c.turn), None)
        around = (
            mean[c.turn],
            mean.get(c.turn - 1, nothing),
            mean.get(c.turn + 1, nothing),
            mean[later] if later is not None else nothing,
            mean[user[-1]] if user else nothing,
        )
        near = [cues[n - 1] if n else nothing[384:], cues[n + 1] if n + 1 < len(clauses) else nothing[384:]]
        rows.append(np.concatenate([own[n], *around, *near, _place(clauses, n)]))
    return np.stack(rows).astype(np.float32)


def conversation_features(clauses: Sequence[Clause], vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """What tells how a conversation ended: its last turns, the last words of the user, and who speaks last.

    Returns
    -------
    array of shape (ENDING,), float32
    """
    cues = np.array([[bool(p.search(c.text)) for p in CUES.values()] for c in clauses], np.float32)
    own = np.concatenate([4 * vectors, cues], axis=1)
    turns = sorted({c.turn for c in clauses})
    user = [t for t in turns if any(c.role == "user" for c in clauses if c.turn == t)]
    agent = [t for t in turns if t not in user]

    def mean(chosen: Sequence[int]) -> NDArray[np.float32]:
        found = [own[n] for n, c in enumerate(clauses) if c.turn in chosen]
        return np.mean(found, axis=0) if found else np.zeros(own.shape[1], np.float32)

    last = clauses[-1]
    tool = any(c.role == "tool" and c.turn >= last.turn - 3 for c in clauses)
    state = [last.role == "user", last.role == "agent", last.role == "tool", tool, len(turns) / 10, len(user) / 10]
    parts = [mean(user[-1:]), mean(user[-2:-1]), mean(agent[-1:]), mean(turns[-1:]), np.array(state, np.float32)]
    return np.concatenate(parts).astype(np.float32)


ENDING = 4 * (384 + len(CUES)) + 6


def _place(clauses: Sequence[Clause], n: int) -> NDArray[np.float32]:
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
    return np.array(values, np.float32)
