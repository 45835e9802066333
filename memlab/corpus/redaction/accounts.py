"""Recogniser for account names: where an account stands in text, paths and logs, and by the form that accounts have."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memlab.corpus.redaction.names import is_given_name, is_name_word
from memlab.corpus.redaction.spans import Span

__all__ = ["accounts"]

_HIVES = frozenset({"hklm", "hkcu", "hkcr", "hku", "hkcc", "authority", "builtin", "software", "iis", "apppool"})
# fmt: off
_GENERIC = frozenset((
    "a", "admin", "administrator", "all", "an", "and", "default", "disabled", "everyone", "expired", "guest", "is",
    "local", "locked", "me", "name", "normal", "not", "own", "public", "root", "shared", "system", "test", "the",
    "user", "username", "users", "was", "wrong", "you",
))
# fmt: on
_DOWN = re.compile(
    r"(?<![\\\w:.-])(?P<domain>[A-Za-z][A-Za-z.-]{1,14})\\(?P<user>[A-Za-z][\w-]{0,30}(?:\.[\w-]+)*\$?)(?![\\\w])"
)
_AS_ACCOUNT = re.compile(r"(?i)(?:\bas|user|account|login|logon|konto|benutzer|credentials?|is|ist|id)\W{0,4}$")
_HOME = re.compile(r"(?i)(?:\b[a-z]:\\users\\|(?<![\w])/home/|(?<![\w])/users/)(?P<value>[\w.-]+)")
_WORD = (
    r"(?:user(?: ?name| ?id)?|login(?: ?name)?|logon(?: name)?|account|owner|uid|suser|benutzer(?:name)?|konto|"
    r"identifiant)"
)
_EQUAL = re.compile(rf"(?i)\b{_WORD}\s?=\s?[\"']?(?P<value>[a-z][\w.\\-]{{1,40}})")
_COLON = re.compile(
    rf"(?i)\b{_WORD}\s?:[ \t]*(?P<value>[a-z][\w.-]{{2,40}})(?=[ \t]*(?:$|[\n/,;|)]))|/user:(?P<also>[\w.\\-]+)"
)
_SAID = re.compile(
    rf"(?i)\b(?:{_WORD}(?:\s+(?:is|ist|lautet|est|named))?|logged(?: in)? as|"
    r"(?:rdp|ssh|connected)\b[^.\n]{0,30}\bas|logged)"
    r"\s+[\"']?(?P<value>[a-z](?=[\w.-]*(?:[\d_]|\.\w))[\w-]*(?:\.[\w-]+)*)(?![\w@\\:])"
)
_NAMED_LOGIN = re.compile(
    r"(?i)\b(?:login|logon|user)[- ]?(?:name|id)\s+(?P<value>[a-z]{5,20})(?=[ \t]*(?:$|[\n,;.)]))"
)
_PROGRAM = re.compile(r"(?i)\.(?:exe|dll|msi|log|txt|xml|ini)$")
_LOGGED = re.compile(r"(?i)\blogged\s+(?P<value>[a-z][\w.-]{3,30})(?=\s+(?:from|in from|on from)\b)")
_SERVICE = re.compile(r"(?<![\w.@-])(?:svc|adm|sa)[-_][a-z][a-z0-9_]{2,20}(?![\w@-])")
# "c.renard" or "ilse.bogaerts" bare in a log; file names, domains and dotted terms have other endings.
_DOTTED = re.compile(r"(?<![\w@./\\:-])(?P<first>[a-z]|[a-z]{3,12})\.(?P<last>[a-z]{4,14})(?![\w@/\\(=]|[.-]\w)")
# fmt: off
_TERMS = frozenset((
    "api", "app", "auth", "client", "cloud", "conf", "config", "core", "data", "device", "docx", "error", "example",
    "failed", "file", "group", "html", "info", "internal", "java", "json", "live", "local", "log", "login", "name",
    "net", "node", "office", "online", "policy", "pptx", "process", "server", "settings", "shop", "sldasm",
    "sldprt", "sldworks", "start", "state", "status", "stop", "sync", "system", "teams", "test", "toml", "update",
    "user", "www", "xlsx", "zone",
))
# fmt: on
_AT = re.compile(r"(?:\bssh\s+|://)(?P<value>[a-z][\w.-]{1,30})(?=:[^\s/@]+@|@)")


def accounts(text: str) -> Iterator[Span]:
    """Names of user and service accounts, with their domain; not the generic ones (administrator, SYSTEM, guest)."""
    for match in _DOWN.finditer(text):
        named = _AS_ACCOUNT.search(text, max(0, match.start() - 16), match.start())
        if match["domain"].casefold() not in _HIVES and (match["domain"].isupper() or named):
            yield Span(match.start(), match.end(), "ACCOUNT")
    for pattern in (_COLON, _HOME, _EQUAL, _SAID, _NAMED_LOGIN, _LOGGED, _AT):
        for match in pattern.finditer(text):
            group = "also" if pattern is _COLON and match["also"] else "value"
            name = match[group].rstrip(".")
            if name.casefold() not in _GENERIC and not _PROGRAM.search(name):
                yield Span(match.start(group), match.start(group) + len(name), "ACCOUNT")
    for match in _DOTTED.finditer(text):
        handle = len(match["first"]) == 1 or is_given_name(match["first"])
        if handle and match["last"] not in _TERMS and is_name_word(match["last"]):
            yield Span(match.start(), match.end(), "ACCOUNT")
    for match in _SERVICE.finditer(text):
        yield Span(match.start(), match.end(), "ACCOUNT")
