"""Where memories are kept: one protocol for every backend, and which backend the configuration names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from memlab.agent.records import Memory
from memlab.errors import InputError
from memlab.models.embeddings import Encoder

__all__ = ["BACKENDS", "Store", "open_store"]

BACKENDS = ("bank", "json", "hindsight")


class Store(Protocol):
    """Memories of customers. Nothing is read or written without naming a customer, exactly as it was written.

    Threads and processes may share a store. Every method raises CustomerError for an empty or odd name
    (`memlab.records.valid_customer`) before anything is looked at, and an error (BankError, RecallError) if the
    backend fails: an empty result always means that there is nothing.
    """

    def add(self, customer: str, memories: Iterable[Memory]) -> None:
        """Remember all of these, or none.

        Where an id is there already, the two are merged (`memlab.agent.records.merged`), so that no telling is lost,
        whoever writes at the same time.

        Raises
        ------
        CustomerError
            Also if a memory belongs to another customer; nothing is written then.
        """
        ...

    def update(self, customer: str, memory: str, /, **changes: Any) -> Memory:
        """Replace fields of one memory (as `dataclasses.replace`; never `id` or `customer`) and return it as it is now.

        Raises
        ------
        InputError
            If this customer has no memory of that id, or a field does not exist or may not change.
        """
        ...

    def all(self, customer: str) -> list[Memory]:
        """Every memory of a customer by (first told, id); empty if there is none."""
        ...

    def customers(self) -> list[str]:
        """Customers that have at least one memory, sorted."""
        ...

    def forget(self, customer: str, memories: Iterable[str] | None = None) -> int:
        """Erase memories by id, by default all of this customer, and return how many there were.

        Ids of other customers, and ids that nobody has, are left alone and not counted.
        """
        ...

    def search(self, customer: str, query: str, *, k: int = 20) -> list[tuple[Memory, float]]:
        """The k memories closest in meaning to the query, with a similarity in [0, 1], best first (ties by id).

        What is compared is `Memory.search_text`. Nothing is cut off for being unlike: how much is enough is for the
        caller to say.

        Raises
        ------
        InputError
            If the query is blank or k < 1.
        RecallError
            If the memories could not be searched.
        """
        ...


def open_store(
    home: str | Path,
    *,
    backend: str | None = None,
    environ: Mapping[str, str] | None = None,
    encoder: Encoder | None = None,
) -> Store:
    """The store that the configuration names; the agent's code does not change with it.

    Parameters
    ----------
    home : path
        Folder of the file stores.
    backend : {"bank", "json", "hindsight"}, optional
        By default the variable `MEMLAB_STORE`, else ``"hindsight"`` if `HINDSIGHT_URL` is set, else ``"bank"``.
    environ : mapping, optional
        By default the environment: `HINDSIGHT_URL`, `HINDSIGHT_API_KEY`, `HINDSIGHT_BANK` (prefix of bank names).
    encoder : Encoder, optional
        For the file stores' search; by default all-MiniLM-L6-v2.

    Raises
    ------
    InputError
        If there is no such backend, or Hindsight is asked for without an address.
    """
    given = os.environ if environ is None else environ
    chosen = backend or given.get("MEMLAB_STORE") or ("hindsight" if given.get("HINDSIGHT_URL") else "bank")
    if chosen == "json":
        from memlab.agent.jsonstore import JsonStore

        return JsonStore(home, encoder=encoder)
    if chosen == "bank":
        from memlab.agent.bankstore import BankStore

        return BankStore(home, encoder=encoder)
    if chosen == "hindsight":
        from memlab.agent.hindsight import HindsightStore

        url = given.get("HINDSIGHT_URL")
        if not url:
            raise InputError("the Hindsight store needs an address: set HINDSIGHT_URL")
        return HindsightStore(url, api_key=given.get("HINDSIGHT_API_KEY"), prefix=given.get("HINDSIGHT_BANK"))
    raise InputError(f"no store {chosen!r}; there are {', '.join(BACKENDS)}")
