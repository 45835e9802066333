"""A folder that conversations are dropped into: which files are whole and new, read once each, over restarts and kills."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memlab.corpus.reading import ReadReport, Skipped
from memlab.errors import InputError
from memlab.records import Conversation

__all__ = ["Cursor", "Look", "follow", "look", "whole_files"]

CHUNK = 256  # conversations taken in between two looks at whether to stop
_UNFINISHED = (".tmp", ".part", ".partial", ".crdownload", ".swp", "~")
Look = Mapping[str, tuple[int, int]]  # file name -> size in bytes, time of the last change in ns


@dataclass(slots=True)
class Cursor:
    """How far a folder has been taken in: a small file that may be lost, for learning again changes nothing.

    It holds names, sizes and hashes, no text.

    Attributes
    ----------
    path : Path
        Where it is kept.
    done : dict
        Name of a file to its size and time when it was taken in.
    told : dict
        Name of a file to the hashes of the bad lines that were reported.
    """

    path: Path
    done: dict[str, tuple[int, int]] = field(default_factory=dict)
    told: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> Cursor:
        """The cursor at a path; an empty one if there is none, or it was damaged."""
        found: Any = None
        with contextlib.suppress(OSError, ValueError):
            found = json.loads(path.read_text("utf-8"))
        if not isinstance(found, dict) or not isinstance(found.get("files"), dict):
            return cls(path)
        files = {n: f for n, f in found["files"].items() if isinstance(f, dict)}
        done = {n: (f["size"], f["changed"]) for n, f in files.items() if {"size", "changed"} <= set(f)}
        return cls(path, done, {n: list(f.get("told", ())) for n, f in files.items()})

    def save(self) -> None:
        """Write it whole or not at all."""
        names = sorted({*self.done, *self.told})
        files = {n: {"told": self.told.get(n, [])} | _stat(self.done.get(n)) for n in names}
        temporary = self.path.with_name(f"{self.path.name}.tmp")
        temporary.write_text(json.dumps({"files": files}, sort_keys=True) + "\n", "utf-8")
        temporary.replace(self.path)

    def news(self, name: str, skipped: Sequence[Skipped]) -> list[Skipped]:
        """Those bad lines of a file that were not reported before; from now on they were."""
        told = dict.fromkeys(self.told.get(name, ()))
        new = [s for s in skipped if _hash(s) not in told]
        told.update(dict.fromkeys(map(_hash, new)))
        if told:
            self.told[name] = list(told)
        return new

    def keep(self, names: Look) -> None:
        """Drop what is known of files that are gone."""
        self.done = {n: d for n, d in self.done.items() if n in names}
        self.told = {n: t for n, t in self.told.items() if n in names}


def _stat(done: tuple[int, int] | None) -> dict[str, int]:
    return {} if done is None else {"size": done[0], "changed": done[1]}


def _hash(skipped: Skipped) -> str:
    return hashlib.sha256(f"{skipped.line} {skipped.reason}".encode()).hexdigest()[:16]


def look(folder: Path, pattern: str = "*") -> Look:
    """The files of a folder now; hidden ones and those with the endings of unfinished downloads are passed by.

    Raises
    ------
    InputError
        If there is no such folder.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; --follow needs one that files are put into")
    found = {}
    for path in sorted(folder.glob(pattern)):
        if path.name.startswith(".") or path.name.casefold().endswith(_UNFINISHED):
            continue
        with contextlib.suppress(FileNotFoundError):  # moved away just now
            if path.is_file():
                stat = path.stat()
                found[path.name] = stat.st_size, stat.st_mtime_ns
    return found


def whole_files(folder: Path, now: Look, before: Look, done: Look) -> list[str]:
    """Names of files to take in: changed since they last were, and whole.

    A file is whole if it ends with the end of a line, or if nobody has written to it between two looks.

    Parameters
    ----------
    folder : Path
        Where they are.
    now, before : mapping
        Two looks, one after the other.
    done : mapping
        What was taken in.
    """
    new = [name for name, stat in now.items() if stat[0] and done.get(name) != stat]
    return [name for name in new if before.get(name) == now[name] or _ends_with_a_line(folder / name)]


def _ends_with_a_line(path: Path) -> bool:
    with contextlib.suppress(OSError), path.open("rb") as file:
        file.seek(-1, 2)
        return path.suffix.casefold() in (".jsonl", ".ndjson") and file.read(1) == b"\n"
    return False


def follow(
    folder: Path,
    *,
    cursor: Cursor,
    read: Callable[[Path], ReadReport],
    take: Callable[[Sequence[Conversation]], None],
    tell: Callable[[str], None],
    stop: threading.Event,
    pattern: str = "*",
    every: float = 5.0,
    once: bool = False,
) -> int:
    """Take in what stands in a folder and what comes into it, until asked to stop.

    Parameters
    ----------
    folder : Path
        Files are put here, whole or growing.
    cursor : Cursor
        How far it was taken in; saved after every file.
    read : callable
        Reads a file; what it skips is told once.
    take : callable
        Learns some conversations; repeating it must change nothing.
    tell : callable
        Told one line for each piece that could not be read.
    stop : Event
        Set it to end after the chunk in hand.
    pattern : str
        Names of the files, such as ``"*.jsonl"``.
    every : float
        Seconds between two looks.
    once : bool
        Take in what is there, looking twice at files that may still be written, and end.

    Returns
    -------
    int
        How many files were taken in.

    Raises
    ------
    InputError
        If the folder is missing.
    """
    before: Look = {}
    files = looks = 0
    while not stop.is_set():
        now = look(folder, pattern)
        cursor.keep(now)
        for name in whole_files(folder, now, before, cursor.done):
            if not _take_file(folder / name, cursor, read, take, tell, stop):
                return files
            cursor.done[name] = now[name]
            cursor.save()
            files += 1
        looks += 1
        if once and (looks > 1 or all(cursor.done.get(n) == stat for n, stat in now.items() if stat[0])):
            break
        before = now
        stop.wait(every)
    return files


def _take_file(
    path: Path,
    cursor: Cursor,
    read: Callable[[Path], ReadReport],
    take: Callable[[Sequence[Conversation]], None],
    tell: Callable[[str], None],
    stop: threading.Event,
) -> bool:
    """Take in a file, in chunks; False if it was asked to stop on the way (it is then taken in anew)."""
    try:
        report = read(path)
    except InputError as error:
        report = ReadReport((), [Skipped(str(path), 1, str(error).removeprefix(f"{path}: "))])
    for skipped in cursor.news(path.name, report.skipped):
        tell(f"skipped {skipped}")
    for start in range(0, len(report), CHUNK):
        if stop.is_set():
            return False
        take(report[start : start + CHUNK])
    return True
