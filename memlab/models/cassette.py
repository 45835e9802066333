"""Recorded replies: a run without a key, and a re-run that pays only for what is missing.

A reply is found by the SHA-256 of everything that was sent. Each is appended at once as one JSON line; a reply that
could not be used is never recorded.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from memlab.errors import InputError, ModelError
from memlab.models.chat import Reply
from memlab.models.prompts import Message
from memlab.models.replies import json_objects
from memlab.models.usage import Usage
from memlab.records import canonical_json

__all__ = ["Cassette", "Mode", "request_key"]

Mode = Literal["replay", "record", "live"]
_FIELDS = ("text", "tokens_in", "tokens_out", "finish_reason", "cost")
_NEEDED = ("customer", "conversation", "model", "temperature", "max_tokens", *_FIELDS)


def request_key(
    *,
    customer: str,
    model: str,
    messages: Sequence[Message],
    schema: Mapping[str, Any] | None,
    temperature: float,
    max_tokens: int,
    prompt: str,
) -> str:
    """SHA-256 of everything that is sent, and of whose request it is: two customers never share a reply.

    >>> sent = dict(model="m", messages=(), schema=None, temperature=0.0, max_tokens=9, prompt="extract@1")
    >>> request_key(customer="a", **sent) == request_key(customer="b", **sent)
    False
    """
    sent = {
        "customer": customer,
        "model": model,
        "messages": [dict(m) for m in messages],
        "schema": schema,
        "temperature": temperature,
        "max_tokens": max_tokens,
        "prompt": prompt,
    }
    return hashlib.sha256(canonical_json(sent).encode("utf-8", "surrogatepass")).hexdigest()


class Cassette:
    """A file of replies; threads may share one, and processes may append to the same file.

    Parameters
    ----------
    path : path, optional
        A JSON lines file; without it replies are kept in memory only.
    mode : {"replay", "record", "live"}
        Only what is recorded; what is recorded, and else ask and record; or always ask and record nothing.

    Raises
    ------
    InputError
        If the file is missing (replay) or a line of it can't be read. A last line that was cut off by a kill is
        passed by.
    """

    def __init__(self, path: str | Path | None = None, mode: Mode = "replay") -> None:
        if mode not in get_args(Mode):
            raise InputError(f"cassette mode {mode!r} is none of {', '.join(get_args(Mode))}")
        self.path = Path(path) if path is not None else None
        self.mode: Mode = mode
        self._lock = threading.Lock()
        self._lines: dict[str, dict[str, Any]] = {}
        if self.path is not None:
            if self.path.is_file():
                self._lines = _load(self.path)
            elif mode == "replay":
                raise InputError(f"{self.path}: no such cassette; record it with --record")

    def __len__(self) -> int:
        return len(self._lines)

    def __repr__(self) -> str:
        return f"Cassette({str(self.path) if self.path else None!r}, {self.mode!r}, {len(self)} replies)"

    @property
    def senders(self) -> list[tuple[str, float, int]]:
        """Model, temperature and most tokens of the recorded requests, sorted."""
        return sorted({(line["model"], line["temperature"], line["max_tokens"]) for line in self._lines.values()})

    @property
    def usage(self) -> Usage:
        """What all recorded replies together took; survives a resume, since it is read from the file."""
        total = Usage()
        for key in sorted(self._lines):
            line = self._lines[key]
            known = line["tokens_in"] is not None and line["tokens_out"] is not None
            tokens = (line["tokens_in"] or 0, line["tokens_out"] or 0)
            total += Usage(line.get("calls", 1), 0, *tokens, unmetered=int(not known), cost=line["cost"])
        return total

    def get(self, key: str) -> Reply | None:
        """The recorded reply, or None; always None in mode ``live``."""
        line = None if self.mode == "live" else self._lines.get(key)
        return None if line is None else Reply(**{name: line[name] for name in _FIELDS})

    def put(
        self,
        key: str,
        reply: Reply,
        *,
        sender: tuple[str, float, int],
        prompt: str,
        customer: str,
        conversation: str | None,
        calls: int = 1,
    ) -> None:
        """Record a usable reply, unless the mode is ``live`` or ``replay``; on disk before this returns.

        Parameters
        ----------
        sender : (str, float, int)
            Model, temperature and most tokens of the request.
        conversation : str, optional
            What the request was about, so that `forget` finds it.
        calls : int
            How many calls it took (2 after a repair); the tokens are those of all.
        """
        if self.mode != "record":
            return
        values = {name: getattr(reply, name) for name in _FIELDS}
        about = {"key": key, "customer": customer, "conversation": conversation, "prompt": prompt}
        sent = dict(zip(("model", "temperature", "max_tokens"), sender, strict=True))
        line = {**about, **sent, **values, "calls": calls}
        with self._lock:
            self._lines[key] = line
            if self.path is not None:
                _append(self.path, line)

    def forget(self, customer: str, conversation: str | None = None) -> int:
        """Remove the replies about a conversation (without one: all of a customer's); returns how many.

        Replies of the customer that name no conversation (a curator's) may rest on it and go too. The file is
        rewritten, to a temporary name first.
        """
        with self._lock:
            of_customer = {key: line for key, line in self._lines.items() if line["customer"] == customer}
            kept = {k for k, v in of_customer.items() if conversation and v["conversation"] not in (None, conversation)}
            gone = set(of_customer) - kept
            self._lines = {key: line for key, line in self._lines.items() if key not in gone}
            if gone and self.path is not None:
                fresh = self.path.with_name(self.path.name + ".tmp")
                fresh.write_bytes(b"".join(map(_dump, self._lines.values())))
                fresh.replace(self.path)
        return len(gone)


def _dump(line: Mapping[str, Any]) -> bytes:
    """One line; the text comes back exactly as it was, lone surrogates included."""
    try:
        return canonical_json(line).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(line, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def _append(path: Path, line: Mapping[str, Any]) -> None:
    """One write of one line at the end of the file; a torn line that a kill left there is closed first."""
    data = _dump(line)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        if file.tell() and _last_byte(file) != b"\n":
            data = b"\n" + data
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _last_byte(file: Any) -> bytes:
    file.seek(-1, os.SEEK_END)
    byte: bytes = file.read(1)
    return byte


def _load(path: Path) -> dict[str, dict[str, Any]]:
    try:
        rows = path.read_bytes().split(b"\n")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    lines: dict[str, dict[str, Any]] = {}
    for number, row in enumerate(rows, 1):
        if not row.strip():
            continue
        try:
            line = json.loads(row)
            lines[line["key"]] = {**line, **{name: line[name] for name in _NEEDED}}
        except (ValueError, KeyError, TypeError) as error:
            # What a kill cut off has no end of line, or the next append closed it: it never holds a whole record.
            if _torn(row):
                continue
            raise InputError(f"{path}:{number}: not a recorded reply: {error}") from None
    return lines


def _torn(row: bytes) -> bool:
    """Whether a line is the beginning of a record whose end is missing."""
    try:
        json_objects(row.decode("utf-8", "replace"))
    except ModelError:
        return row.startswith(b"{")
    return False
