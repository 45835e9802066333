"""Executed notebooks whose bytes depend on their content alone, so that two identical runs are one file."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from typing import Any

__all__ = ["code_hash", "normalise", "notebook_bytes", "prose_hash", "run_parameters", "stripped"]

INJECTED = "injected-parameters"
_MARKER = "papermill-error-cell-tag"
_KEPT_CELL_METADATA = ("jupyter", "slideshow", "tags")
_KEPT_METADATA = ("memlab", "title")
_KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
_LANGUAGE = {"file_extension": ".py", "mimetype": "text/x-python", "name": "python", "pygments_lexer": "ipython3"}
# The default repr of an object ends in its address, which is another one in every process.
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]{6,16}\b")


def normalise(nb: Any) -> Any:
    """The same notebook without anything that differs between two identical runs.

    Ids are made from each cell's content, counts from its place; times, paths, kernel names and versions, widget
    state, empty metadata, memory addresses and everything written to stderr go.

    Parameters
    ----------
    nb : notebook node
        Any notebook of format 4; it is not changed.

    Returns
    -------
    notebook node
        A new one; normalising it again changes nothing.
    """
    import nbformat

    metadata = {k: nb["metadata"][k] for k in _KEPT_METADATA if nb["metadata"].get(k)}
    metadata |= {"kernelspec": dict(_KERNEL), "language_info": dict(_LANGUAGE)}
    if parameters := run_parameters(nb):
        metadata["papermill"] = {"parameters": parameters}
    cells: list[dict[str, Any]] = []
    seen: Counter[str] = Counter()
    count = 0
    for cell in nb["cells"]:
        if _MARKER in cell["metadata"].get("tags", ()):
            continue
        ran = cell["cell_type"] == "code" and (cell.get("execution_count") is not None or bool(cell["outputs"]))
        count += ran
        cells.append(_cell(cell, count if ran else None, seen))
    document = {"cells": cells, "metadata": _sorted(metadata), "nbformat": 4, "nbformat_minor": 5}
    return nbformat.from_dict(document)  # type: ignore[no-untyped-call]


def notebook_bytes(nb: Any) -> bytes:
    """A notebook as the bytes of its file."""
    import nbformat

    text: str = nbformat.writes(nb)  # type: ignore[no-untyped-call]
    return (text.rstrip("\n") + "\n").encode()


def stripped(nb: Any) -> Any:
    """The notebook as it was before it ran: no outputs, counts, injected parameters or error marks."""
    import copy

    nb = copy.deepcopy(nb)
    nb["cells"] = [c for c in nb["cells"] if not {INJECTED, _MARKER} & set(c["metadata"].get("tags", ()))]
    for cell in nb["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    nb["metadata"].pop("papermill", None)
    return nb


def run_parameters(nb: Any) -> dict[str, Any]:
    """The parameters that the notebook was run with beyond its defaults, sorted by name."""
    found = nb["metadata"].get("papermill", {}).get("parameters") or {}
    plain: dict[str, Any] = json.loads(json.dumps(found, sort_keys=True))
    return plain


def prose_hash(nb: Any) -> str:
    """Names the text of all markdown cells; another hash means that somebody edited the prose."""
    return _source_hash(nb, "markdown")


def code_hash(nb: Any) -> str:
    """Names the source of all code cells but the injected one; another hash means that somebody edited code."""
    return _source_hash(nb, "code")


def _source_hash(nb: Any, kind: str) -> str:
    sources = [
        "\n".join(line.rstrip() for line in c["source"].splitlines())
        for c in nb["cells"]
        if c["cell_type"] == kind and not {INJECTED, _MARKER} & set(c["metadata"].get("tags", ()))
    ]
    return hashlib.sha256("\x00".join(sources).encode()).hexdigest()[:16]


def _cell(cell: Any, count: int | None, seen: Counter[str]) -> dict[str, Any]:
    key = hashlib.sha256(f"{cell['cell_type']}\x00{cell['source']}".encode()).hexdigest()[:12]
    seen[key] += 1
    metadata = {k: cell["metadata"][k] for k in _KEPT_CELL_METADATA if cell["metadata"].get(k)}
    if "tags" in metadata:
        metadata["tags"] = sorted(set(metadata["tags"]))
    new: dict[str, Any] = {
        "cell_type": cell["cell_type"],
        "id": key if seen[key] == 1 else f"{key}-{seen[key]}",
        "metadata": _sorted(metadata),
        "source": cell["source"],
    }
    if cell.get("attachments"):
        new["attachments"] = cell["attachments"]
    if cell["cell_type"] == "code":
        new["execution_count"] = count
        new["outputs"] = _outputs(cell["outputs"], count)
    return new


def _outputs(outputs: Any, count: int | None) -> list[dict[str, Any]]:
    """Streams joined (where they are cut depends on timing), stderr dropped, counts and metadata made stable."""
    kept: list[dict[str, Any]] = []
    for output in outputs:
        kind = output["output_type"]
        if kind == "stream":
            if output["name"] == "stderr":
                continue
            if kept and kept[-1]["output_type"] == "stream":
                kept[-1]["text"] = _stable(kept[-1]["text"] + output["text"])
            else:
                kept.append({"name": "stdout", "output_type": "stream", "text": _stable(output["text"])})
        elif kind == "error":
            trace = [_stable(line) for line in output["traceback"]]
            text = {"ename": output["ename"], "evalue": _stable(output["evalue"])}
            kept.append({**text, "output_type": "error", "traceback": trace})
        else:
            data = {mime: _stable(v) if isinstance(v, str) else v for mime, v in sorted(output["data"].items())}
            new = {"data": data, "metadata": _sorted(output["metadata"]), "output_type": kind}
            kept.append({**new, "execution_count": count} if kind == "execute_result" else new)
    return kept


def _stable(text: str) -> str:
    return _ADDRESS.sub("at 0x…", text)


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _sorted(value[k]) for k in sorted(value)}
    return value
