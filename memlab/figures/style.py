"""One look for every picture: colours, shapes, line styles and the matplotlib settings that make equal bytes."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memlab.records import Kind, Verification

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["COLUMNS", "DARK", "DASHES", "FONT", "HEADINGS", "LIGHT", "RC", "VERIFICATIONS", "Theme", "figure_svg"]

FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
COLUMNS: tuple[Kind, ...] = ("symptom", "cause", "solution")
HEADINGS: Mapping[Kind, str] = {"symptom": "Symptoms", "cause": "Root causes", "solution": "Solutions"}
VERIFICATIONS: tuple[Verification, ...] = ("confirmed", "inferred", "claimed", "failed")
DASHES: Mapping[Verification, str] = {"confirmed": "", "inferred": "7 4", "claimed": "2 4", "failed": "9 3 2 3"}


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours by their task. The marks differ in lightness as well as in hue, and each column has its own shape.

    The four colours of marks and failures were searched for under two conditions, which a test holds: a contrast of 3
    on their paper, and a CIELAB distance of 23 between any two, with normal sight and without one kind of cone.

    References
    ----------
    Machado, Oliveira & Fernandes (2009), A physiologically-based model for simulation of color vision deficiency,
    doi:10.1109/TVCG.2009.113.
    """

    paper: str
    surface: str
    ink: str
    muted: str
    line: str
    accent: str
    symptom: str
    cause: str
    solution: str
    failed: str

    def css(self) -> str:
        """The colours as CSS custom properties.

        >>> LIGHT.css()[:16]
        '--paper:#ffffff;'
        """
        return "".join(f"--{k}:{v};" for k, v in dataclasses.asdict(self).items())

    def of(self, kind: Kind) -> str:
        """The colour of a column."""
        return {"symptom": self.symptom, "cause": self.cause, "solution": self.solution}[kind]


LIGHT = Theme(
    paper="#ffffff",
    surface="#f5f6f8",
    ink="#1b2430",
    muted="#596373",
    line="#d9dee5",
    accent="#2f4ea1",
    symptom="#1f4fa3",
    cause="#d06a00",
    solution="#119a70",
    failed="#7d1b55",
)
DARK = Theme(
    paper="#12161c",
    surface="#1a2029",
    ink="#e9edf3",
    muted="#a0abba",
    line="#333d4a",
    accent="#9db4ff",
    symptom="#4f86f7",
    cause="#e0702a",
    solution="#5fe0a5",
    failed="#f08fd6",
)

RC: dict[Any, Any] = {
    "svg.hashsalt": "memlab",
    "svg.fonttype": "none",
    "font.family": ["DejaVu Sans"],
    "font.size": 9.0,
    "text.color": LIGHT.ink,
    "axes.edgecolor": LIGHT.muted,
    "axes.labelcolor": LIGHT.muted,
    "axes.titlelocation": "left",
    "axes.titlesize": 10.0,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LIGHT.line,
    "grid.linewidth": 0.6,
    "xtick.color": LIGHT.muted,
    "ytick.color": LIGHT.muted,
    "lines.linewidth": 1.8,
    "lines.solid_capstyle": "round",
    "figure.facecolor": LIGHT.paper,
}


def figure_svg(figure: Figure, *, title: str) -> str:
    """A matplotlib figure as SVG text that is the same for the same figure: no date, no version, no random id.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        Made while `RC` is in force.
    title : str
        What the picture shows, for people who can't see it.
    """
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Title": title})
    lines = buffer.getvalue().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("<svg"))
    return "\n".join(line.rstrip() for line in lines[start:]) + "\n"
