"""What more labelled data would be worth: F1 by field over the share of the training split that was learned from.

The numbers are made by training the reader again and again, which takes long, and are kept in a file. Without the file
nothing is shown, and it is said so.
"""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memlab.errors import InputError
from memlab.figures.chart import Chart
from memlab.figures.charts import line_chart

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["COLUMNS", "Absent", "learning_curve", "read_learning_curve"]

COLUMNS = ("share", "conversations", "messages", "split", "field", "f1")


@dataclass(frozen=True, slots=True)
class Absent:
    """Stands where a result would be shown that nobody has made yet, and says so."""

    sentence: str

    def __repr__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self.sentence)}</p>"


def read_learning_curve(path: str | Path) -> pd.DataFrame:
    """One row a share of the training data, split and field; no row if there is no such file.

    Parameters
    ----------
    path : path
        JSON: ``{"rows": [{"share", "conversations", "messages", "split", "field", "f1"}, …], "made_by": script}``.

    Returns
    -------
    pandas.DataFrame
        `share` (of the train split, in (0, 1]), `conversations` and `messages` (learned from), `split` (scored on),
        `field`, `f1` (in [0, 1]); sorted by split, field and share.

    Raises
    ------
    InputError
        If the file is not what it must be.
    """
    import pandas as pd

    file = Path(path)
    rows = _rows(file) if file.exists() else []
    for n, row in enumerate(rows):
        if set(COLUMNS) - row.keys() or not (0 < row["share"] <= 1 and 0 <= row["f1"] <= 1):
            wanted = f"{', '.join(COLUMNS)} with share in (0, 1] and f1 in [0, 1]"
            raise InputError(f"{file}: row {n} of the learning curve must have {wanted}, not {row}")
    frame = pd.DataFrame([{c: row[c] for c in COLUMNS} for row in rows], columns=list(COLUMNS))
    return frame.sort_values(["split", "field", "share"], kind="stable", ignore_index=True)


def _rows(file: Path) -> list[dict[str, Any]]:
    try:
        data = json.loads(file.read_text("utf-8"))
    except ValueError as error:
        raise InputError(f"{file}: not JSON ({error}); make it again") from error
    rows = data.get("rows") if isinstance(data, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(f'{file}: a learning curve is {{"rows": [one object a row], "made_by": script}}')
    return rows


def learning_curve(path: str | Path, *, split: str = "dev", fields: Sequence[str] = ()) -> Chart | Absent:
    """F1 of each field over the conversations learned from, as a chart with its table; a sentence if there is no file.

    Parameters
    ----------
    path : path
        As for `read_learning_curve`.
    split : str
        Scored on: dev or test.
    fields : sequence of str
        Only these, in this order; by default all, by name (at most ten).

    Raises
    ------
    InputError
        If the file is not what it must be.
    """
    import pandas as pd

    frame = read_learning_curve(path)
    frame = frame[frame["split"] == split]
    if fields:
        parts = [frame[frame["field"] == name] for name in fields]
        frame = pd.concat(parts) if parts else frame
    if frame.empty:
        return Absent(f"No learning curve on the {split} split has been made yet ({Path(path).name} holds none).")
    return line_chart(
        frame,
        x="conversations",
        group="field",
        y="f1",
        title=f"F1 by training data ({split} split)",
        x_label="conversations learned from (with as large a share of the single messages)",
        y_limits=(0.0, 1.0),
    )
