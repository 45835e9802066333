"""Calling a Hindsight server from any thread: one loop of its own, bounded retries, and errors that say what is wrong."""

from __future__ import annotations

import asyncio
import os
import re
import threading
import weakref
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from memlab.agent.hindsight_documents import Item, Unit, unit_of
from memlab.errors import BankError, InputError

__all__ = ["HindsightServer", "UnknownBankError"]

PAGE = 1000
_NO_BANK = re.compile(r"Bank '[^']*' not found")
_BUSY = (429, 503)  # the server asks to come back
_RACES = (409, 500)  # concurrent writers, or a deadlock: what is written by document can be repeated


class UnknownBankError(BankError):
    """The server has no such bank: the customer has no memory yet."""


class HindsightServer:
    """The few calls that a store makes. Safe to share between threads, and inside a running event loop.

    Parameters
    ----------
    url : str
        For example ``http://127.0.0.1:8888``.
    api_key : str, optional
        Sent as a bearer token.
    timeout : float
        Seconds that one call may take, > 0. The server drops work that nobody waits for.
    pauses : sequence of float
        Seconds between attempts of a call that may be repeated; their number bounds the retries.

    Raises
    ------
    InputError
        If the address is not one, or the client is not installed.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        timeout: float = 120.0,
        pauses: Sequence[float] = (0.1, 0.3, 0.9, 2.7),
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise InputError(f"HINDSIGHT_URL {url!r}: use an address such as http://127.0.0.1:8888")
        self.url, self._key, self._timeout, self._pauses = url.rstrip("/"), api_key, timeout, tuple(pauses)
        self._lock = threading.Lock()
        self._line: _Line | None = None

    # -- calls --------------------------------------------------------------------------------------------------------

    def create(self, bank: str, name: str, config: Mapping[str, Any]) -> None:
        """Make a bank or set it up again; one that is there keeps its memories."""
        self._call(f"create bank {bank}", lambda c: c.acreate_bank(bank, name=name, **config), repeat=_BUSY + _RACES)

    def retain(self, bank: str, items: Sequence[Item]) -> None:
        """Store documents; see `units` for whether they are there."""
        self._call(f"write to bank {bank}", lambda c: c.aretain_batch(bank, list(items)), repeat=_BUSY + _RACES)

    def units(self, bank: str, *, document: str | None = None, tags: Sequence[str] = ()) -> list[Unit]:
        """Every unit of a bank, of one document, or with any of these tags.

        Raises
        ------
        UnknownBankError
            If there is no such bank.
        """
        for _ in range(1 + len(self._pauses)):
            rows, total = self._pages(bank, document, tags)
            if len({row["id"] for row in rows}) == total:
                return [unit_of(row) for row in rows]
        raise BankError(f"{self.url}: bank {bank} changes faster than it can be read; try again")

    def _pages(self, bank: str, document: str | None, tags: Sequence[str]) -> tuple[list[dict[str, Any]], int]:
        rows: list[dict[str, Any]] = []
        chosen: dict[str, Any] = {"document_id": document} if document else {}
        if tags:
            chosen |= {"tags": list(tags), "tags_match": "any_strict"}

        def page_from(offset: int) -> Any:
            return self._call(
                f"read bank {bank}", lambda c: c.alist_memories(bank, limit=PAGE, offset=offset, **chosen)
            )

        while True:
            page = page_from(len(rows))
            rows += page.to_dict()["items"]
            if not page.items or len(rows) >= page.total:
                return rows, page.total

    def recall(self, bank: str, query: str, *, tokens: int) -> list[tuple[Unit, float | None, float | None]]:
        """What the server finds by meaning and by words: unit, semantic and keyword score (None: not found that way)."""
        found = self._call(
            f"search bank {bank}",
            lambda c: c.arecall(bank, query, types=["world", "experience"], max_tokens=tokens, budget="high"),
        )
        rows = [row.to_dict() for row in found.results]
        scores = [row.get("scores") or {} for row in rows]
        return [(unit_of(r), s.get("semantic"), s.get("keyword")) for r, s in zip(rows, scores, strict=True)]

    def banks(self, prefix: str) -> list[str]:
        """Names of the banks that begin so, sorted."""
        names: list[str] = []

        def page_from(offset: int) -> Any:
            return self._call("list banks", lambda c: c.banks.list_banks(limit=PAGE, offset=offset))

        while True:
            page = page_from(len(names))
            names += [bank.bank_id for bank in page.banks]
            if not page.banks or len(names) >= page.total:
                return sorted(n for n in set(names) if n.startswith(prefix))

    def drain(self, bank: str) -> None:
        """Wait, as long as the pauses allow, until nothing of a bank is queued or running: a delete races with it."""
        for pause in self._pauses:
            if not any(self._operations(bank, status) for status in ("pending", "processing")):
                return
            threading.Event().wait(pause)

    def _operations(self, bank: str, status: str) -> int:
        what = f"read the operations of bank {bank}"
        return int(self._call(what, lambda c: c.operations.list_operations(bank, status=status)).total)

    def delete_document(self, bank: str, document: str) -> None:
        """Erase a document with its units; one that is not there is left alone."""
        try:
            self._call(
                f"erase a document of bank {bank}",
                lambda c: c.documents.delete_document(bank, document),
                repeat=_BUSY + _RACES,
                missing="Document not found",
            )
        except UnknownBankError:
            return

    def delete_bank(self, bank: str) -> None:
        """Ask the server to erase a bank."""
        self._call(f"delete bank {bank}", lambda c: c.adelete_bank(bank), repeat=_BUSY + _RACES)

    def close(self) -> None:
        """End the loop and the connections; a later call opens them again."""
        with self._lock:
            line, self._line = self._line, None
        if line is not None:
            line.end()

    # -- how ----------------------------------------------------------------------------------------------------------

    def _call(
        self, what: str, ask: Callable[[Any], Awaitable[Any]], *, repeat: Sequence[int] = _BUSY, missing: str = ""
    ) -> Any:
        client, loop = self._open()

        async def attempts() -> Any:
            for pause in (*self._pauses, None):
                try:
                    async with asyncio.timeout(self._timeout):
                        return await ask(client)
                except Exception as error:
                    if pause is None or getattr(error, "status", None) not in repeat:
                        raise
                await asyncio.sleep(pause)
            raise AssertionError("unreachable")

        try:
            return asyncio.run_coroutine_threadsafe(attempts(), loop).result()
        except Exception as error:
            said = self._said(what, error, missing)
            if said is error:
                raise
            raise said from error

    def _said(self, what: str, error: Exception, missing: str) -> Exception:
        """What went wrong as memlab says it; an error that is not the server's stays what it is."""
        status, body = getattr(error, "status", None), str(getattr(error, "body", None) or error)
        where = f"{self.url}: can't {what}"
        if isinstance(error, TimeoutError):
            return BankError(
                f"{where}: no answer within {self._timeout:g} s, and the server drops such work; try again"
            )
        if status in (401, 403):
            return BankError(f"{where}: the key was refused (HTTP {status}); set HINDSIGHT_API_KEY")
        if status == 404 and (_NO_BANK.search(body) or (missing and missing in body)):
            return UnknownBankError(f"{where}: there is no such bank")
        if status == 404:
            return BankError(f"{where}: nothing there answers as Hindsight (HTTP 404); check HINDSIGHT_URL")
        if status is not None:
            return BankError(f"{where}: HTTP {status}: {' '.join(body.split())[:200]}")
        if isinstance(error, OSError) or type(error).__module__.startswith("aiohttp"):
            return BankError(f"{where}: the server can't be reached ({error}); is it running?")
        return error

    def _open(self) -> tuple[Any, asyncio.AbstractEventLoop]:
        with self._lock:
            if self._line is None or self._line.process != os.getpid():  # a fork has no threads
                self._line = _Line(self.url, self._key, self._timeout)
            return self._line.client, self._line.loop


class _Line:
    """A client whose every coroutine runs in one thread's loop; the client's own sync calls break in notebooks."""

    def __init__(self, url: str, key: str | None, timeout: float) -> None:
        try:
            from hindsight_client import Hindsight
        except ImportError as error:
            raise InputError(
                f"the Hindsight store needs its client ({error.name}): pip install 'memlab[hindsight]'"
            ) from None
        self.process = os.getpid()
        self.loop = asyncio.new_event_loop()
        thread = threading.Thread(target=self.loop.run_forever, name="memlab-hindsight", daemon=True)
        thread.start()
        self.client = asyncio.run_coroutine_threadsafe(_made(Hindsight, url, key, timeout), self.loop).result()
        self.end = weakref.finalize(self, _end, self.loop, thread, self.client)


async def _made(kind: Any, url: str, key: str | None, timeout: float) -> Any:
    return kind(url, api_key=key, timeout=timeout, user_agent="memlab", max_attempts=1)


def _end(loop: asyncio.AbstractEventLoop, thread: threading.Thread, client: Any) -> None:
    if not thread.is_alive():
        return
    asyncio.run_coroutine_threadsafe(client.aclose(), loop).result(timeout=10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(timeout=10)
    loop.close()
