"""What every field of `results.json` means, one sentence each; a test holds it against real files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["FIELDS", "paths_of"]

FIELDS: Mapping[str, str] = {
    "schema": "Version of this schema; a field added later does not move it, a change of meaning does.",
    "ok": "Whether every notebook ran to its end.",
    "provenance": "Where the numbers come from, as seen by the process that started the run.",
    "provenance.memlab": "Version of memlab.",
    "provenance.source": "Hash over memlab's own files; it moves with every edit.",
    "provenance.commit": "Git commit of the code, or null outside of a repository.",
    "provenance.dirty": "Whether tracked files differed from that commit, or null outside of a repository.",
    "provenance.python": "Version of Python.",
    "provenance.packages": "Installed version of each package that numbers depend on, by its name.",
    "provenance.datasets": "Always empty here; each notebook names its own.",
    "provenance.prompts": "Always empty here; each notebook names its own.",
    "provenance.model": "Always null here; each notebook names its own.",
    "provenance.seed": "Always null here; each notebook names its own.",
    "provenance.parameters": "Always empty here; each notebook has its own.",
    "notebooks": "What each notebook did and stated, by its file name without ending, in the order of the run.",
    "notebooks.*.title": "Its first heading.",
    "notebooks.*.ok": "Whether it ran to its end.",
    "notebooks.*.error": "Why it failed, in one line, or null.",
    "notebooks.*.seconds": "Wall time in seconds, with the start of its kernel.",
    "notebooks.*.cell_seconds": "Wall time of each cell that ran, in seconds and in order; 0 for prose.",
    "notebooks.*.parameters": "Every parameter by name, with the value that it had.",
    "notebooks.*.overridden": "Names of the parameters that were given, the others had their defaults.",
    "notebooks.*.fingerprint": "Hash of sources, parameters, memlab's files and package versions, for --resume.",
    "notebooks.*.provenance": "The stamp that the notebook shows; an empty object if it shows none.",
    "notebooks.*.provenance.memlab": "Version of memlab inside the kernel.",
    "notebooks.*.provenance.datasets": "SHA-256 of each data file (over its files for a folder), by its path.",
    "notebooks.*.provenance.prompts": "SHA-256 of each prompt file, by its path.",
    "notebooks.*.provenance.model": "The model asked, or null.",
    "notebooks.*.provenance.seed": "The seed of all randomness, or null.",
    "notebooks.*.provenance.parameters": "Parameters that the stamp shows.",
    "notebooks.*.results": "Every recorded number, by its name.",
    "notebooks.*.results.*.schema": "Version of the schema under which the number was recorded.",
    "notebooks.*.results.*.name": "What was measured; unique in the notebook.",
    "notebooks.*.results.*.value": "The number (or yes/no, or text), or null if it could not be measured; never NaN.",
    "notebooks.*.results.*.n": "How many cases it rests on; left out if unknown.",
    "notebooks.*.results.*.interval": "Lower and upper end of its 95 % interval; left out if it has none.",
    "notebooks.*.results.*.unit": "Unit of the value; left out for a share, count or score.",
    "notebooks.*.results.*.tolerance": "How far a repetition may be off, absolute; left out where only rounding noise is allowed.",
    "notebooks.*.results.*.cases": "Outcome of each case by its id, for paired comparisons; left out if none was recorded.",
    "notebooks.*.tables": "Every recorded table, by its name; the rows are in files.",
    "notebooks.*.tables.*.columns": "Names of its columns, in order.",
    "notebooks.*.tables.*.rows": "Number of its rows.",
    "notebooks.*.tables.*.csv": "Its CSV file, relative to results.json.",
    "notebooks.*.tables.*.parquet": "Its Parquet file, relative to results.json.",
}

_OPEN = {  # objects whose keys are data
    "provenance.packages", "provenance.datasets", "provenance.prompts", "provenance.parameters",
    "notebooks.*.parameters", "notebooks.*.provenance.datasets", "notebooks.*.provenance.prompts",
    "notebooks.*.provenance.parameters", "notebooks.*.results.*.cases",
}  # fmt: skip
_NAMED = {"notebooks", "notebooks.*.results", "notebooks.*.tables"}  # objects whose keys are names


def paths_of(data: Mapping[str, Any], at: str = "") -> Iterator[str]:
    """The path of every field of a `results.json`, with ``*`` for names; see `FIELDS`.

    >>> sorted(set(paths_of({"ok": True, "notebooks": {"01": {"title": "x"}}})))
    ['notebooks', 'notebooks.*.title', 'ok']
    """
    for key, value in data.items():
        name = "*" if at in _NAMED else key
        path = f"{at}.{name}" if at else name
        if name != "*":
            yield path
        if isinstance(value, Mapping) and path not in _OPEN:
            yield from paths_of(value, path)
