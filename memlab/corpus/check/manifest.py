"""The manifest: which files a data set consists of, by SHA-256, so that nobody measures on another one unawares."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memlab.errors import InputError

__all__ = ["manifest_differences", "write_manifest"]

_NAME = "manifest.json"


def _files(root: Path) -> Iterator[Path]:
    """The data files below a folder; texts for people (Markdown), hidden files and the manifest are none."""
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if path.is_file() and path.name != _NAME and path.suffix != ".md" and not any(p.startswith(".") for p in parts):
            yield path


def _entry(path: Path) -> dict[str, Any]:
    digest, lines, size = hashlib.sha256(), 0, 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
            lines += block.count(b"\n")
            size += len(block)
    return {"sha256": digest.hexdigest(), "bytes": size, "lines": lines}


def write_manifest(root: str | Path) -> Path:
    """Write `manifest.json` for all data files below a folder, and say where."""
    root = Path(root)
    files = {path.relative_to(root).as_posix(): _entry(path) for path in _files(root)}
    temporary = root / f"{_NAME}.tmp"
    temporary.write_text(json.dumps({"files": files}, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return temporary.replace(root / _NAME)


def manifest_differences(root: str | Path) -> list[str] | None:
    """How the files differ from the manifest; an empty list if they don't, nothing if there is no manifest.

    Raises
    ------
    InputError
        If the manifest can't be read.
    """
    root = Path(root)
    path = root / _NAME
    if not path.is_file():
        return None
    try:
        listed = json.loads(path.read_text("utf-8"))["files"]
        wanted = {str(name): str(entry["sha256"]) for name, entry in listed.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not a manifest ({type(error).__name__} {error}); write it anew") from None
    here = {p.relative_to(root).as_posix(): p for p in _files(root)}
    differences = [f"{name}: missing" for name in sorted(wanted.keys() - here.keys())]
    differences += [f"{name}: not in the manifest" for name in sorted(here.keys() - wanted.keys())]
    for name in sorted(wanted.keys() & here.keys()):
        if _entry(here[name])["sha256"] != wanted[name]:
            differences.append(f"{name}: changed since the manifest was written")
    return differences
