"""Recognisers for e-mail addresses and telephone numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memlab.corpus.redaction.spans import Span

__all__ = ["emails", "phones"]

_EMAIL = re.compile(r"(?<![\w.+-])[\w][\w.+'-]{0,63}@(?:[\w-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-])")
_MESSAGE_ID = re.compile(r"(?i)message-?id\W{0,4}$")

_DIGIT = r"(?:[\s./()-]{0,3}\d)"
_INTERNATIONAL = re.compile(rf"(?<![\w.+])(?:\+|00)[1-9]{_DIGIT}{{7,14}}(?![\w-])")
_NATIONAL = re.compile(r"(?<![\w.,:/+-])(?:\(0\d{2,4}\)|0[1-9]\d{0,3})[\s/.-]{0,3}\d(?:[\s/-]?\d){4,9}(?![\w:-])")
_DATE = re.compile(r"\d{1,2}[-/. ]\d{1,2}[-/. ](?:\d{2}|\d{4})\b|\d{2}-\d{2} ")
_AMERICAN = re.compile(r"(?<![\w.,:/+-])(?:\(\d{3}\) ?|\d{3}[-. ])\d{3}[-.]\d{4}(?![\w-])")
_EXTENSION = re.compile(
    r"(?i)\b(?:ext(?:ension|\.)?|durchwahl|apparat|nebenstelle|doorkiesnummer|toestel)\s*(?:nr\.?|number|is|ist|:)?\s*"
    r"(?P<value>-?\d{2,6})(?![\w.-])"
)
_CALLED = re.compile(
    r"(?i)\b(?:tel(?:efon|ephone)?|phone|mobile|mobil|handy|gsm|fax|call(?: me)?(?: back)?(?: on| at)?)\.?\s*"
    r"(?:number|nr\.?|no\.?|is|ist|:)?\s*(?P<value>\d(?:[\s/-]?\d){5,13})(?![\w:-])"
)
_NO_PHONE = re.compile(
    r"(?i)(?:error|code|event|ticket|order|invoice|asset(?: tag)?|version|build|firmware|driver|product id|id|serial|"
    r"no\.|size|port|offset|imei)(?: no\.?| number| nr\.?)?(?: is| was)?\W{0,3}$"
)
_UNIT = re.compile(r"(?i)^\s*(?:bytes?|kb|mb|gb|ms|seconds?|files?|pages?|px|dpi|hz|rpm|%|€|eur)\b")


def emails(text: str) -> Iterator[Span]:
    """E-mail addresses; a mail's message id is none."""
    for match in _EMAIL.finditer(text):
        if not _MESSAGE_ID.search(text, max(0, match.start() - 16), match.start()):
            yield Span(match.start(), match.end(), "EMAIL")


def phones(text: str) -> Iterator[Span]:
    """Telephone numbers: international, with a leading zero, American, or named as such; codes and sizes are none."""
    for pattern in (_INTERNATIONAL, _NATIONAL, _AMERICAN):
        for match in pattern.finditer(text):
            if _is_phone(text, match):
                yield Span(match.start(), match.end(), "PHONE")
    for pattern in (_EXTENSION, _CALLED):
        for match in pattern.finditer(text):
            if not _DATE.match(match["value"]):
                yield Span(match.start("value"), match.end("value"), "PHONE")


def _is_phone(text: str, match: re.Match[str]) -> bool:
    digits = sum(c.isdigit() for c in match[0])
    named_otherwise = _NO_PHONE.search(text, max(0, match.start() - 24), match.start())
    measured = _UNIT.match(text[match.end() : match.end() + 12])
    french = len(re.findall(r"\d\d(?!\d)", match[0])) == 5
    enough = digits >= 8 if re.search(r"\D", match[0]) else digits >= 9
    return enough and digits <= 15 and not named_otherwise and not measured and (french or not _DATE.match(match[0]))
