"""Reader for mail threads: an `.mbox` file, an `.eml` file, or a folder of `.eml` files.

Threads are made of `References` and `In-Reply-To`. Who writes the first mail asks, whoever else writes helps;
``agents`` in the mapping (addresses or ``@domains``, joined by ``|``) says it more exactly. Quoted mails are cut, with
the number of lines in `metadata["quoted_lines_cut"]`; automatic replies are left out, with their number in
`metadata["auto_replies"]`.
"""

from __future__ import annotations

import email
import email.policy
import email.utils
import mailbox
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from memlab.corpus.formats.building import build, is_listed
from memlab.corpus.plain import html_to_text
from memlab.corpus.quoting import cut_quoted
from memlab.corpus.reading import Options, Skipped
from memlab.errors import InputError, TimeError
from memlab.records import Conversation, content_hash, parse_time

__all__ = ["read"]

_ID = re.compile(r"<([^<>\s]{1,300})>")


@dataclass(frozen=True, slots=True)
class Mail:
    """One mail as far as a thread needs it."""

    id: str
    answers: tuple[str, ...]
    sender: str
    subject: str
    at: datetime
    text: str
    automatic: bool
    line: int
    file: str


def read(path: Path, options: Options) -> Iterator[Conversation | Skipped]:
    """Threads as conversations, in the order of their first mails; the id is a hash of the first mail's message id.

    Raises
    ------
    InputError
        If there is no mail in the file or folder.
    """
    mails: dict[str, Mail] = {}
    count = 0
    for file, number, message in _mails(path):
        count += 1
        try:
            mail = _mail(file, number, message, options)
        except InputError as error:
            yield Skipped(str(file), number, str(error))
        else:
            mails.setdefault(mail.id, mail)
    if not count:
        raise InputError(f"{path}: no mail found; give an .mbox file, an .eml file, or a folder of .eml files")
    for thread in _threads(mails):
        try:
            yield _conversation(thread, options)
        except InputError as error:
            yield Skipped(thread[0].file, thread[0].line, str(error))


def _mails(path: Path) -> Iterator[tuple[Path, int, EmailMessage]]:
    """Every mail with its file and its number in it."""
    if path.is_dir():
        for file in sorted(path.rglob("*.eml")):
            yield file, 1, _parse(file.read_bytes())
    elif _is_mbox(path):
        box = mailbox.mbox(path, create=False)
        try:
            for number, key in enumerate(box.iterkeys(), 1):
                yield path, number, _parse(box.get_bytes(key))
        finally:
            box.close()
    elif path.suffix.casefold() == ".eml":
        yield path, 1, _parse(path.read_bytes())


def _is_mbox(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(5) == b"From "


def _parse(data: bytes) -> EmailMessage:
    return email.message_from_bytes(data, policy=email.policy.default)


def _header(message: EmailMessage, name: str) -> str:
    # A malformed header raises whatever its parser stumbles on; such a header counts as absent.
    try:
        return str(message.get(name, ""))
    except (ValueError, IndexError, KeyError, AttributeError, TypeError):
        return ""


def _mail(file: Path, number: int, message: EmailMessage, options: Options) -> Mail:
    date, sender = _header(message, "Date"), email.utils.parseaddr(_header(message, "From"))[1]
    try:
        at = parse_time(email.utils.parsedate_to_datetime(date), zone=options.zone)
    except (ValueError, TypeError, IndexError):
        raise TimeError(f"the mail from {sender!r} has no readable Date: {date!r}") from None
    body, subject = _body(message), _header(message, "Subject").strip()
    answers = _ID.findall(f"{_header(message, 'References')} {_header(message, 'In-Reply-To')}")
    ids = _ID.findall(_header(message, "Message-ID"))
    automatic = _header(message, "Auto-Submitted").strip().casefold() not in ("", "no")
    return Mail(
        id=ids[0] if ids else content_hash([sender, subject, at, body]),
        answers=tuple(dict.fromkeys(answers)),
        sender=sender.casefold(),
        subject=subject,
        at=at,
        text=body,
        automatic=automatic,
        line=number,
        file=str(file),
    )


def _body(message: EmailMessage) -> str:
    """The plain text of a mail, or its HTML as text; attachments are left out."""
    try:
        part: Any = message.get_body(preferencelist=("plain", "html"))
    except (AttributeError, KeyError, ValueError):
        part = None
    if part is None:
        return ""
    raw = part.get_payload(decode=True) or b""
    charset = part.get_content_charset() or "utf-8"
    return html_to_text(_decode(raw, charset)) if part.get_content_subtype() == "html" else _decode(raw, charset)


def _decode(raw: bytes, charset: str) -> str:
    for name in (charset, "utf-8", "cp1252"):
        try:
            return raw.decode(name)
        except (UnicodeDecodeError, LookupError):
            continue
    return raw.decode("latin-1")


def _threads(mails: dict[str, Mail]) -> list[list[Mail]]:
    """Mails that answer each other, directly or through a mail that is missing here."""
    root: dict[str, str] = {}

    def find(name: str) -> str:
        while root.setdefault(name, name) != name:
            root[name] = root[root[name]]
            name = root[name]
        return name

    for mail in mails.values():
        for other in mail.answers:
            a, b = sorted((find(mail.id), find(other)))
            root[b] = a
    groups: dict[str, list[Mail]] = {}
    for mail in mails.values():
        groups.setdefault(find(mail.id), []).append(mail)
    ordered = [sorted(group, key=lambda m: (m.at, m.id)) for group in groups.values()]
    return sorted(ordered, key=lambda group: (group[0].at, group[0].id))


def _conversation(thread: list[Mail], options: Options) -> Conversation:
    agents = options.columns.get("agents", "")
    spoken = [mail for mail in thread if not mail.automatic]
    if not spoken:
        raise InputError(f"the thread {thread[0].subject!r} holds automatic replies only")
    opener = next((m.sender for m in spoken if not is_listed(m.sender, agents)), spoken[0].sender)
    turns, cut = [], 0
    for number, mail in enumerate(spoken):
        body = cut_quoted(mail.text, keep_forwarded=number == 0)
        cut += body.lines
        said = f"{mail.subject}\n\n{body.text}".strip() if number == 0 else body.text
        user = not is_listed(mail.sender, agents) if agents else mail.sender == opener
        turns.append({"role": "user" if user else "agent", "text": said, "at": mail.at.isoformat()})
    return build(
        options,
        id=f"mail-{content_hash(thread[0].id)}",
        turns=turns,
        started_at=spoken[0].at.isoformat(),
        requester=opener,
        metadata={"quoted_lines_cut": cut, "auto_replies": len(thread) - len(spoken)},
    )
