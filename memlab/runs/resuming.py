"""What an earlier run into the same folder did that need not be done again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memlab.errors import RunError
from memlab.records import content_hash
from memlab.runs.files import read_notebook
from memlab.runs.frames import read_results
from memlab.runs.normalise import code_hash, prose_hash
from memlab.runs.outcome import NotebookRun
from memlab.runs.provenance import Provenance
from memlab.runs.record import results_of, stamp_of, tables_of
from memlab.runs.signing import files_moved

__all__ = ["earlier_runs", "fingerprint"]


def fingerprint(notebook: Any, parameters: Mapping[str, Any], origin: Provenance) -> str:
    """Names everything but files that decides what a notebook records: sources, parameters, memlab, packages."""
    return content_hash(
        [code_hash(notebook), prose_hash(notebook), dict(parameters), origin.source, dict(origin.packages)], length=16
    )


def earlier_runs(folder: Path, keys: Mapping[Path, str]) -> dict[Path, NotebookRun]:
    """The notebooks that a folder holds executed to their end, under the same fingerprint and from the same files.

    Parameters
    ----------
    folder : path
        Of the earlier run; it need not exist.
    keys : mapping of notebook to fingerprint
        What is to be run now.
    """
    if not (folder / "results.json").is_file():
        return {}
    entries = read_results(folder / "results.json")["notebooks"]
    found = {p: _taken_over(folder, p, key, entries.get(p.stem)) for p, key in keys.items()}
    return {path: ran for path, ran in found.items() if ran is not None}


def _taken_over(folder: Path, path: Path, key: str, entry: Mapping[str, Any] | None) -> NotebookRun | None:
    if entry is None or not entry["ok"] or entry.get("fingerprint") != key:
        return None
    files = [
        folder / f"{path.stem}.html",
        *(folder / t[e] for t in entry["tables"].values() for e in ("csv", "parquet")),
    ]
    if not all(f.is_file() for f in files):
        return None
    try:
        executed = read_notebook(folder / f"{path.stem}.ipynb")
        results, tables = results_of(executed), tables_of(executed)
    except RunError:
        return None  # cut off or damaged: it is run again
    if files_moved(executed, path.parent):
        return None
    return NotebookRun(
        name=path.stem,
        title=entry["title"],
        error=None,
        seconds=entry["seconds"],
        cells=tuple(entry["cell_seconds"]),
        parameters=entry["parameters"],
        overridden=tuple(entry["overridden"]),
        stamp=stamp_of(executed),
        results=results,
        tables=tables,
        fingerprint=key,
    )
