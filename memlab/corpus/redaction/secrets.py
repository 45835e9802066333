"""Recognisers for secrets (passwords, PINs, keys, tokens) and licence keys.

A value is a secret by its own form (a token's prefix, a key block) or because a word in front says so; then it must
look like one: "the password is wrong" holds none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memlab.corpus.redaction.spans import Span

__all__ = ["licences", "secrets"]

_BLOCK = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_FORMS = re.compile(
    r"\beyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]+)?"  # JSON web token
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
    r"|\bsk-[\w-]{20,}|\bxox[abeprs]-[\w-]{10,}|\bAIza[\w-]{30,}|\bhvs\.\w{20,}"
    r"|(?<![\d-])(?:\d{6}-){7}\d{6}(?![\d-])"  # BitLocker recovery key
)
_GIVEN = re.compile(
    r"(?i)(?:\bbearer\s+|[?&;\s]sig=|\baccountkey=|\bsharedaccesskey=|\bx-api-key:\s*)(?P<value>[\w.~+/%=-]{12,})"
)
_URL = re.compile(r"\b[a-z][a-z0-9+]*://[^\s:/@]+:(?P<value>[^\s/@]+)@")
_NET_USE = re.compile(r"(?i)\bnet\s+use\s+\w:\s+\\\\\S+\s+(?P<value>(?!/)\S{4,})")

_STRONG = (
    r"pass(?:word|wd|code|phrase)|pwd|pw|psk|kennwort|passwort|mot de passe|mdp|wachtwoord|contraseña|"
    r"client secret|(?:api|access|secret|account|storage|wpa\d?|wi-?fi|network|wlan)[ -]?key|schlüssel|community|token|"
    r"secret"
)
_DIGITS = r"pin|otp|one-time code|tan|puk|unlock code|entsperrcode|code pin"
# A chosen password by its shape alone: both cases, digits, and a sign that no code, path or address has.
_SHAPE = re.compile(
    r"(?<![^\s\"“„'(:])(?=[^\s\"”“'()]{0,40}[a-z])(?=[^\s\"”“'()]{0,40}[A-Z])(?=[^\s\"”“'()]{0,40}\d)"
    r"(?=[^\s\"”“'()]{0,40}[!$?*^~])"
    r"\w[\w!$?*^~.#%&+-]{7,39}(?=[\s\"”“'),;]|$)"
)
_FILL = (
    r"(?:\s+(?:is|was|are|ist|lautet|est|now|jetzt|nun|temp(?:orary)?|set|to|would|be|auf|heißt|that|string|"
    r"in|zum|for|entsperren|unlock|my|the|account|box|it|says?|loaner|of)\b){0,4}"
)
_VALUE = r"(?:[\"“„'](?P<quoted>[^\"”“'\s]{4,})[\"”“']|(?P<value>[^\s\"“”'<>]{4,}))"
_AFTER_WORD = re.compile(rf"(?i)\b(?:{_STRONG})\b{_FILL}(?P<mark>\s*[:=]\s*|\s+){_VALUE}")
_AFTER_PIN = re.compile(
    rf"(?i)\b(?:{_DIGITS})\b(?:{_FILL}\s*[:=]?|[^\d\n.;!?]{{0,40}}?\b(?:is|was|ist|war|est)\b:?)\s*"
    r"(?P<value>\d{4,8})(?![\w-]|\.\d)"
)
# fmt: off
_STOP = frozenset((
    "accepted", "changed", "correct", "empty", "expired", "failed", "false", "field", "hidden", "incorrect",
    "invalid", "invalid_grant", "locked", "missing", "none", "null", "policy", "prompt", "protected", "rejected",
    "required", "reset", "true", "unknown", "wrong",
))
# fmt: on

_FIVE = re.compile(r"(?<![\w-])(?=[A-Z0-9-]*\d)(?:[A-Z0-9]{5}-){4}[A-Z0-9]{5}(?![\w-])")
_LICENCE_WORD = re.compile(
    r"(?i)\b(?:licen[cs]e|product|activation|serial|lizenz|produkt|serien|clé de licence|clé produit|licentie)"
    r"[ -]?(?:key|number|code|no\.?|nr\.?|schlüssel|nummer|sleutel)?(?:\s+(?:for|für|pour)[^:\n]{1,20}?)?"
    r"(?:\s+(?:is|ist|est|you asked for is))?\s*[:=]?\s*"
    r"(?-i:(?P<value>[A-Z0-9]{2,8}(?:(?P<sep>[- ])[A-Z0-9]{2,10})(?:(?P=sep)[A-Z0-9]{2,10}){0,8}))(?![\w-])"
)


def secrets(text: str) -> Iterator[Span]:
    """Passwords, PINs, tokens, private keys, recovery keys."""
    for match in _BLOCK.finditer(text):
        yield Span(match.start(), match.end(), "SECRET")
    for match in _FORMS.finditer(text):
        yield Span(match.start(), match.end(), "SECRET")
    for pattern in (_GIVEN, _URL, _NET_USE):
        for match in pattern.finditer(text):
            yield Span(match.start("value"), match.end("value"), "SECRET")
    for match in _AFTER_WORD.finditer(text):
        yield from _worded(match)
    for match in _SHAPE.finditer(text):
        yield Span(match.start(), match.end(), "SECRET")
    for match in _AFTER_PIN.finditer(text):
        yield Span(match.start("value"), match.end("value"), "SECRET")


def _worded(match: re.Match[str]) -> Iterator[Span]:
    group = "quoted" if match["quoted"] else "value"
    value = match[group].rstrip(".,;:)")
    marked = match["mark"].strip() != ""
    if value.casefold().strip("!?") in _STOP or len(value) < 4:
        return
    if group == "quoted" or _looks_secret(value) or (marked and _looks_chosen(value)):
        yield Span(match.start(group), match.start(group) + len(value), "SECRET")


def _looks_secret(value: str) -> bool:
    """Letters and digits mixed, with nothing that makes it a path, a placeholder or a code of an error."""
    if not re.search(r"[A-Za-z]", value) or not re.search(r"\d", value):
        return False
    return not re.match(
        r"(?i)^(?:0x[0-9a-f]+|kb\d+|aadsts\d+|[a-z]+-?\d{1,2}|\d+[a-z]{1,3}|\[[A-Z]+_\d+\]|v?\d+(?:\.\d+)+)$", value
    )


def _looks_chosen(value: str) -> bool:
    """What follows "password:" and is more than a lower-case word: capitals inside, or a sign."""
    return bool(re.search(r"[a-z][A-Z]|\w[!#$%&*+@^~]", value)) and "://" not in value


def licences(text: str) -> Iterator[Span]:
    """Product keys and software serial numbers."""
    for match in _FIVE.finditer(text):
        if set(match[0]) - set("X-"):
            yield Span(match.start(), match.end(), "LICENCE")
    for match in _LICENCE_WORD.finditer(text):
        value = match["value"]
        if sum(c.isdigit() for c in value) >= 3 and len(value) >= 10:
            yield Span(match.start("value"), match.end("value"), "LICENCE")
