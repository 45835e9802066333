"""What an executed notebook says of its own origin, and what of it has changed since."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memlab.errors import RunError
from memlab.records import canonical_json
from memlab.runs.normalise import code_hash, prose_hash
from memlab.runs.provenance import Provenance, path_hash
from memlab.runs.record import results_of, stamp_of, tables_of
from memlab.runs.schema import SCHEMA_VERSION

__all__ = ["changed_since", "files_moved", "sign"]


def sign(notebook: Any, origin: Provenance) -> Any:
    """The notebook with hashes of its sources and results and the versions that it ran with in its metadata."""
    notebook["metadata"]["memlab"] = {
        "code": code_hash(notebook),
        "memlab": origin.memlab,
        "packages": dict(origin.packages),
        "prose": prose_hash(notebook),
        "results": results_hash(notebook),
        "schema": SCHEMA_VERSION,
        "source": origin.source,
    }
    return notebook


def results_hash(notebook: Any) -> str:
    """Names all numbers and tables that a notebook records; empty if they can't be read."""
    try:
        recorded = [r.to_json() for r in results_of(notebook).values()]
        recorded += [t.to_json() for t in tables_of(notebook).values()]
    except RunError:
        return ""
    return hashlib.sha256(canonical_json(recorded).encode()).hexdigest()[:16]


def changed_since(committed: Any, now: Provenance, moved: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """What is not as it was when a notebook was executed: prose, code, data, prompt, library, or the results by hand.

    Only what the notebook says of itself can be told.

    Parameters
    ----------
    committed : notebook node
        With the signature of `sign`, if it has one.
    now : Provenance
        Of this process.
    moved : mapping
        ``data`` and ``prompt``: files with another content, in words.
    """
    then: Mapping[str, Any] = committed["metadata"].get("memlab", {})
    library = names_moved(then["packages"], now.packages) if "packages" in then else ()
    if then.get("memlab", now.memlab) != now.memlab:
        library = (f"memlab {then['memlab']} → {now.memlab}", *library)
    elif then.get("source", now.source) != now.source:
        library = ("memlab: its source", *library)
    edited = then.get("results", results_hash(committed)) != results_hash(committed)
    found = {
        "prose": ("markdown cells",) if then.get("prose", prose_hash(committed)) != prose_hash(committed) else (),
        "code": ("code cells",) if then.get("code", code_hash(committed)) != code_hash(committed) else (),
        **{what: moved.get(what, ()) for what in ("data", "prompt")},
        "library": library,
        "results": ("recorded values were edited after the notebook ran",) if edited else (),
    }
    return {what: how for what, how in found.items() if how}


def names_moved(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[str, ...]:
    """Names whose version or hash is another one, as ``name old → new``."""
    names = sorted(k for k in old.keys() | new.keys() if old.get(k) != new.get(k))
    return tuple(f"{k} {old.get(k, 'none')[:12]} → {new.get(k, 'none')[:12]}" for k in names)


def files_moved(notebook: Any, folder: Path) -> dict[str, tuple[str, ...]]:
    """Which files that a notebook's stamp names have another content now, as ``data`` and ``prompt``.

    The stamp holds paths without their leading ``..``, so each is looked for in the folder and in those above it.
    """
    stamp = stamp_of(notebook)
    found = {}
    for what, key in (("data", "datasets"), ("prompt", "prompts")):
        old = dict(stamp.get(key, {}))
        found[what] = names_moved(old, {name: _hash_now(name, folder) for name in old})
    return {what: how for what, how in found.items() if how}


def _hash_now(name: str, folder: Path) -> str:
    for base in (folder.resolve(), *folder.resolve().parents):
        if (base / name).exists():
            return path_hash(base / name)
    return "none"
