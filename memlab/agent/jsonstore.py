"""Memories in plain JSON, one file a customer: written under a lock to a temporary name, then renamed."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memlab.agent.changes import added, changed, remaining
from memlab.agent.meaning import Vectors, check_search, nearest
from memlab.agent.records import Memory, in_order
from memlab.bank import bank_path
from memlab.errors import BankError, BankFormatError, InputError
from memlab.models.embeddings import Encoder
from memlab.records import valid_customer

__all__ = ["JsonStore"]

FORMAT = 1
_SUFFIX = ".memories.json"


class JsonStore:
    """Every customer's memories as a JSON file of its own in one folder. Small histories, readable by people.

    Writers (threads and processes) wait for each other at a lock file; readers see the file as it was before or after
    a write, never in between.

    Parameters
    ----------
    home : path
        The folder; it is made at the first write.
    encoder : Encoder, optional
        For `search`; by default all-MiniLM-L6-v2.
    """

    def __init__(self, home: str | Path, *, encoder: Encoder | None = None) -> None:
        self._home = Path(home)
        self._vectors = Vectors(encoder)

    def __repr__(self) -> str:
        return f"JsonStore({str(self._home)!r})"

    def add(self, customer: str, memories: Iterable[Memory]) -> None:
        """See `Store.add`."""
        new = list(memories)
        self._write(customer, lambda name, old: added(name, old, new))

    def update(self, customer: str, memory: str, /, **changes: Any) -> Memory:
        """See `Store.update`."""
        found = self._write(customer, lambda name, old: changed(name, old, memory, changes))
        return found[memory]

    def all(self, customer: str) -> list[Memory]:
        """See `Store.all`."""
        return in_order(self._read(valid_customer(customer)).values())

    def customers(self) -> list[str]:
        """See `Store.customers`."""
        files = (_content(path) for path in sorted(self._home.glob(f"*{_SUFFIX}")))
        return sorted(str(data["customer"]) for data in files if data["memories"])

    def forget(self, customer: str, memories: Iterable[str] | None = None) -> int:
        """See `Store.forget`. A file in which nothing is left is removed."""
        name = valid_customer(customer)
        before = 0
        if not self._path(name).exists():
            return 0

        def keep(_: str, old: dict[str, Memory]) -> dict[str, Memory]:
            nonlocal before
            before = len(old)
            return remaining(old, memories)

        after = self._write(name, keep)
        self._vectors.drop(name)
        return before - len(after)

    def search(self, customer: str, query: str, *, k: int = 20) -> list[tuple[Memory, float]]:
        """See `Store.search`."""
        name = valid_customer(customer)
        check_search(query, k)
        memories = self.all(name)
        return nearest(memories, self._vectors.of(name, memories), self._vectors.encode([query])[0], k)

    def _path(self, customer: str) -> Path:
        return self._home / f"{bank_path(self._home, customer).stem}{_SUFFIX}"

    def _read(self, customer: str) -> dict[str, Memory]:
        path = self._path(customer)
        if not path.exists():
            return {}
        data = _content(path)
        if data["customer"] != customer:
            raise BankFormatError(f"{path}: the file belongs to another customer; it was not touched")
        try:
            memories = [Memory.from_json(m) for m in data["memories"]]
        except InputError as error:
            raise BankFormatError(f"{path}: {error}; restore a copy") from error
        if any(m.customer != customer for m in memories):
            raise BankFormatError(f"{path}: it holds a memory of another customer; it was not touched")
        return {m.id: m for m in memories}

    def _write(self, customer: str, change: Callable[[str, dict[str, Memory]], dict[str, Memory]]) -> dict[str, Memory]:
        name = valid_customer(customer)
        path = self._path(name)
        try:
            with self._alone():
                old = self._read(name)
                new = change(name, old)
                if new and new != old:
                    _put(
                        path,
                        {"format": FORMAT, "customer": name, "memories": [m.to_json() for m in in_order(new.values())]},
                    )
                elif not new:
                    path.unlink(missing_ok=True)
        except OSError as error:
            raise BankError(f"{path}: can't write: {error.strerror or error}; nothing was changed") from error
        return new

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the folder's lock; the system gives it back when a process dies."""
        self._home.mkdir(parents=True, exist_ok=True)
        handle = os.open(self._home / ".memories.lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _put(path: Path, value: object) -> None:
    temporary = path.with_name(f"{path.name}.tmp")
    try:
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(value, ensure_ascii=False, indent=1))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _content(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:  # forgotten by another process since it was listed
        return {"customer": "", "memories": []}
    except OSError as error:
        raise BankError(f"{path}: can't read: {error.strerror or error}") from error
    except ValueError as error:
        raise BankFormatError(f"{path}: damaged: {error}; restore a copy") from error
    if not isinstance(data, dict) or not {"format", "customer", "memories"} <= set(data):
        raise BankFormatError(f"{path}: not a file of memories; it was not touched")
    if not isinstance(data["format"], int) or data["format"] > FORMAT:
        raise BankFormatError(f"{path}: written by a newer memlab; update memlab; the file was not touched")
    return data
