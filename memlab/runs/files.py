"""Reading and writing the files of a run: whole or not at all, UTF-8, and errors that name the file."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from memlab.errors import RunError

__all__ = ["find_notebooks", "read_notebook", "write_bytes", "write_json"]


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file under a temporary name, then rename it: a reader sees the old file or the new one, never half.

    Raises
    ------
    RunError
        If the file can't be written.
    """
    temporary: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".memlab-", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except OSError as error:
        raise RunError(f"{path}: can't be written: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def write_json(path: Path, value: object) -> None:
    """Write a value as indented JSON with sorted keys."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, indent=1, allow_nan=False)
    write_bytes(path, (text + "\n").encode())


def read_notebook(path: str | Path) -> Any:
    """A notebook file as an nbformat 4 node, valid and with an id in every cell.

    Raises
    ------
    RunError
        If there is no such file, or it is no notebook.
    """
    import nbformat

    path = Path(path)
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        cells = data["cells"]
        for number, cell in enumerate(cells):
            cell.setdefault("id", f"cell-{number}")
        data.update(nbformat=4, nbformat_minor=max(5, int(data["nbformat_minor"])))
        notebook = nbformat.reads(json.dumps(data), as_version=4)  # type: ignore[no-untyped-call]
        nbformat.validate(notebook)
    except OSError as error:
        raise RunError(f"{path}: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError, nbformat.ValidationError) as error:
        reason = str(error).splitlines()[0] if str(error) else ""
        raise RunError(f"{path}: not a notebook of format 4: {type(error).__name__} {reason}") from error
    return notebook


def find_notebooks(where: str | Path | list[str | Path] | tuple[str | Path, ...]) -> tuple[Path, ...]:
    """The notebook files meant: files as they are, a folder as the ``*.ipynb`` in it, sorted by name.

    Raises
    ------
    RunError
        If nothing is found, a file is missing or no notebook, or two files have one name.
    """
    found: list[Path] = []
    for item in [where] if isinstance(where, (str, Path)) else where:
        path = Path(item)
        if path.is_dir():
            found += sorted(p for p in path.glob("*.ipynb") if not p.name.startswith("."))
        elif path.suffix != ".ipynb":
            raise RunError(f"{path}: a notebook's name ends in .ipynb (or name a folder of notebooks)")
        elif not path.is_file():
            near = ", ".join(sorted(p.name for p in path.parent.glob("*.ipynb"))) or "none"
            raise RunError(f"{path}: no such notebook; in that folder: {near}")
        else:
            found.append(path)
    if not found:
        raise RunError(f"no notebook (*.ipynb) in {where!s}")
    stems = [p.stem for p in found]
    twice = sorted({s for s in stems if stems.count(s) > 1})
    if twice:
        raise RunError(f"two notebooks are called {', '.join(twice)}; run them into two folders")
    return tuple(found)
