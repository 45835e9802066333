"""Many runs as one data frame."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memlab.errors import RunError
from memlab.records import canonical_json
from memlab.runs.schema import SCHEMA_VERSION, Result

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_results", "runs_df"]

_COLUMNS = ("run", "notebook", "ok", "name", "value", "n", "low", "high", "unit", "tolerance")
_ORIGIN = ("seconds", "commit", "dirty", "memlab", "source", "python", "model", "seed")


def read_results(path: str | Path) -> dict[str, Any]:
    """The content of a `results.json`.

    Raises
    ------
    RunError
        If it can't be read, is damaged, or was written by a newer memlab.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise RunError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise RunError(f"{path}: not JSON: {error}") from error
    if not isinstance(data, dict) or not isinstance(data.get("notebooks"), dict):
        raise RunError(f"{path}: not the results of a run")
    if not isinstance(data.get("schema"), int) or data["schema"] > SCHEMA_VERSION:
        raise RunError(f"{path}: schema {data.get('schema')!r}; this memlab reads up to {SCHEMA_VERSION}")
    return data


def runs_df(folder: str | Path = "runs") -> pd.DataFrame:
    """Every recorded number of every run below a folder, one row each.

    Parameters
    ----------
    folder : path
        A run, or a folder that holds runs at any depth.

    Returns
    -------
    DataFrame
        Columns ``run`` (folder, relative), ``notebook``, ``ok``, ``name``, ``value``, ``n``, ``low``, ``high``,
        ``unit``, ``tolerance``, ``seconds``, the provenance, and ``parameter.NAME`` for each parameter of any
        notebook (lists and objects as JSON text). A notebook that failed before it recorded anything has one row
        without a name, so that it is not overlooked.

    Raises
    ------
    RunError
        If there is no `results.json`, or one can't be read.
    """
    import pandas as pd

    base = Path(folder)
    files = sorted(base.rglob("results.json"))
    if not files:
        raise RunError(f"{folder}: no results.json in it or below; `memlab run -o {folder}` makes one")
    rows = [row for path in files for row in _rows(path.parent.relative_to(base).as_posix(), read_results(path))]
    parameters = sorted({key for row in rows for key in row if key.startswith("parameter.")})
    return pd.DataFrame(rows, columns=[*_COLUMNS, *_ORIGIN, *parameters])


def _rows(run: str, data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for notebook, entry in data["notebooks"].items():
        origin = {**data["provenance"], **{k: v for k, v in entry["provenance"].items() if v is not None}}
        base = {"run": run, "notebook": notebook, "ok": entry["ok"], "seconds": entry["seconds"]}
        base |= {key: origin.get(key) for key in _ORIGIN[1:]}
        base |= {f"parameter.{key}": _flat(value) for key, value in entry["parameters"].items()}
        for result in map(Result.from_json, entry["results"].values()):
            low, high = result.interval or (None, None)
            found = {k: getattr(result, k) for k in ("name", "value", "n", "unit", "tolerance")}
            yield {**base, **found, "low": low, "high": high}
        if not entry["results"]:
            yield base


def _flat(value: Any) -> Any:
    return canonical_json(value) if isinstance(value, (list, dict)) else value
