"""Recognisers for IP addresses and host names.

Versions, builds and driver numbers look like addresses, and product names look like hosts; so an address must not
follow a word such as "version", and a host must carry a device code, a private domain, or stand where a host stands.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from memlab.corpus.redaction.spans import Span

__all__ = ["hosts", "ips"]

_V4 = re.compile(r"(?<![\w.-])\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2})?(?![\w-]|\.\d)")
_V6 = re.compile(
    r"(?<![\w:.])(?=[0-9a-fA-F:]*:[0-9a-fA-F:]*:)[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}(?:/\d{1,3})?(?![\w:])"
)
_VERSION = re.compile(
    r"(?i)(?:\bver(?:sion)?s?|\bv|\bbuild|\bdriver|\btreiber|\bfirmware|\bfw|\bbase|\brelease|\bbios|\bupdate|\bagent|"
    r"\bclient|\bapp|\bbefore(?: it)?|\bfrom|\bto|\bproduct)(?: (?:number|is|was|to|from|it))?\W{0,2}$"
)
_VERSION_BEFORE = re.compile(
    r"(?i)\b(?:version|driver|treiber|firmware|build|bios|release|treiberversion)\b[^.\n]{0,24}$"
)
_ADDRESS_BEFORE = re.compile(
    r"(?i)\b(?:ip|address|adresse|host|ping|gateway|dns|src|server|from|to)(?: ?(?:is|ist|=|:))?\W{0,2}$"
)
_KEPT = frozenset({"0.0.0.0", "8.8.8.8", "8.8.4.4", "1.1.1.1", "9.9.9.9", "::1", "::"})  # noqa: S104

_CODE = (
    r"(?:lt|lap|laptop|nb|ntb|pc|ws|wks|eb|mba|mbp|tab|vdi|vm|prn|prt|print|off|dns|pack|pk|srv|server|fs|dc|nas|san|"
    r"sql|db|ctx|rds|app|web|mail|exch|gw|vpn|fw|sw|ap|wh|zeb|nav|file|files)\d{0,4}"
)
_CODED = re.compile(
    rf"(?i)(?<![\w.\\/@-])(?=[\w-]*\d)(?:[a-z0-9]{{2,8}}-)*{_CODE}(?:-[a-z0-9]{{1,10}})*(?![\w@-]|\.\w+@)"
)
_MADE = re.compile(
    r"\b(?:DESKTOP|LAPTOP)-[A-Z0-9]{6,8}\b|\bWIN-[A-Z0-9]{11}\b|(?<![\w-])(?:[A-Z]{2,4}-){1,2}\d{3,4}-\d{3,4}\b"
    r"|(?<![\w-])[A-Z]{2,4}-[A-Z]{2,6}-\d{2,5}\b"
)
_NO_HOST = re.compile(r"(?i)^(?:cve|iso|din|en|rfc|req|inc|ritm|chg|task|ord|hp|ms|utf|sha|i[3579]|usb|tsp|kb)-")
_UNC = re.compile(r"(?<![\w\\])\\\\(?P<value>[\w.-]+)(?=\\)")
_DOMAIN = re.compile(
    r"(?i)(?<![\w.-])(?:[a-z0-9][a-z0-9-]*\.)+"
    r"(?:local|lan|corp|internal|intranet|intra|localdomain|home\.arpa|example)\b(?![\w@-])"
)
_NAMED = re.compile(
    r"(?i)\b(?:host ?name|host|computer ?name|pc ?name|machine name|rechner(?:name)?|computer|laptop|notebook|pc|"
    r"server|poste|ordinateur|gerät|device|ping|rdp to|nslookup|tracert|winrm to|called|heißt|mstsc /v:)"
    r"(?:\s+(?:is|named|called|name|the|mit dem aufkleber|heißt|ist|it))?\s*[:=]?\s*"
    r"(?P<value>(?=[\w-]*[\d])(?=[\w-]*-)[a-z][\w-]{3,30})(?![\w-]|\.\w)"
)


def ips(text: str) -> Iterator[Span]:
    """IPv4 and IPv6 addresses and nets; not versions, netmasks, loopback or public name servers."""
    for pattern in (_V4, _V6):
        for match in pattern.finditer(text):
            if _is_address(match[0]) and not _is_version(text, match.start()):
                yield Span(match.start(), match.end(), "IP")


def _is_address(word: str) -> bool:
    address = word.split("/")[0]
    if address in _KEPT or address.startswith(("255.", "127.")):
        return False
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    # A short run such as "12::" or "a::b" is more likely punctuation than an address.
    return parsed.version == 4 or (len(address) > 6 and any(c.isdigit() for c in address))


def _is_version(text: str, start: int) -> bool:
    before = text[max(0, start - 40) : start]
    if _VERSION_BEFORE.search(before):
        return True
    if _ADDRESS_BEFORE.search(before):
        return False
    # Hardly any network begins below 10, and many versions do.
    return bool(_VERSION.search(before)) or re.match(r"\d\.", text[start : start + 2]) is not None


def hosts(text: str) -> Iterator[Span]:
    """Names of computers, servers and printers, with their private domain."""
    for match in _UNC.finditer(text):
        yield Span(match.start("value"), match.end("value"), "HOST")
    for match in _DOMAIN.finditer(text):
        labels = match[0].count(".") + 1
        if labels >= 3 or re.search(r"[\d-]", match[0].split(".")[0]):
            yield Span(match.start(), match.end(), "HOST")
    for pattern in (_MADE, _CODED):
        for match in pattern.finditer(text):
            if "-" in match[0] and not _NO_HOST.match(match[0]):
                yield Span(match.start(), match.end(), "HOST")
    for match in _NAMED.finditer(text):
        if not _NO_HOST.match(match["value"]):
            yield Span(match.start("value"), match.end("value"), "HOST")
