"""Trials for a notebook: one desk with its past read once, played with other arms, less history, or more falsehood."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from memlab.extraction import Extractor, OfflineExtractor
from memlab.models.embeddings import Encoder, default_encoder
from memlab.records import Proposal
from memlab.simulation.history import Past
from memlab.simulation.memories import Library, contexts
from memlab.simulation.notes import blocks_of
from memlab.simulation.records import Trial, to_frame
from memlab.simulation.running import Settings, learn_past, play_here
from memlab.simulation.scenarios import Scenario
from memlab.simulation.sight import Sight
from memlab.simulation.world import load_world

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Desk", "sampled"]

CLEAR = 0.6  # least likeness of a line and a tool that it names


class Desk:
    """Scenarios, and a past that every arm learns from.

    Parameters
    ----------
    scenarios : sequence of Scenario
        What to play.
    settings : Settings
        Arms, repeats, seed, budget and amount of history.
    extractor, encoder : optional
        By default the offline ones.
    """

    def __init__(
        self,
        scenarios: Sequence[Scenario],
        settings: Settings,
        *,
        extractor: Extractor | None = None,
        encoder: Encoder | None = None,
    ) -> None:
        self.scenarios, self.settings = list(scenarios), settings
        self._encoder = encoder or default_encoder()
        self._extractor = extractor or OfflineExtractor(self._encoder)
        self._world, self._sight = load_world(), Sight(self._encoder)
        self._read: dict[str, tuple[Proposal, ...]] = {}
        self.given: dict[tuple[str, str], str] = {}
        self.past: list[Past] = learn_past(self._world, self.scenarios, settings, self._sight)

    def trials(
        self, arms: Sequence[str] | None = None, *, history: int | None = None, false_share: float = 0.25
    ) -> list[Trial]:
        """Every scenario with every arm.

        Parameters
        ----------
        arms : sequence of str, optional
            By default those of the settings.
        history : int, optional
            Learn from so many cases a customer and category only, spread evenly over the same months.
        false_share : float
            False conversations in the arm `poisoned`, relative to the true ones.
        """
        chosen = tuple(arms or self.settings.arms)
        with tempfile.TemporaryDirectory() as home:
            library = Library(
                self._world,
                Path(home),
                self._thinned(history),
                budget=self.settings.budget,
                seed=self.settings.seed,
                extractor=self._extractor,
                encoder=self._encoder,
                false_share=false_share,
                read=self._read,
            )
            given = contexts(library, chosen, self.scenarios)
            library.close()
        self.given |= given if history is None else {}
        jobs = [(s, a, given[a, s.id], tuple(range(self.settings.repeats))) for s in self.scenarios for a in chosen]
        return play_here(self._world, jobs, self.settings, self._sight)

    def curve(self, sizes: Sequence[int], arms: Sequence[str]) -> pd.DataFrame:
        """Trials after so many past cases: one row a trial, with a column `history`."""
        import pandas as pd

        return pd.concat([to_frame(self.trials(arms, history=n)).assign(history=n) for n in sizes], ignore_index=True)

    def falsehood(self, shares: Sequence[float]) -> pd.DataFrame:
        """Trials of the arms `none` and `poisoned` with so many false conversations; a column `false_share`."""
        import pandas as pd

        frames = [to_frame(self.trials(("none", "poisoned"), false_share=s)).assign(false_share=s) for s in shares]
        return pd.concat(frames, ignore_index=True)

    def named(self) -> pd.DataFrame:
        """Whether what an arm was given names a step that mends the case: where memory is lost before it is used.

        Returns
        -------
        pandas.DataFrame
            One row an arm and scenario of the last trials: arm, scenario, repeat 0, and `named`, 1 where some line of
            the context is nearer to a mending tool than to any other.
        """
        import pandas as pd

        names = list(self._world.tools)
        does = tuple(t.does for t in self._world.tools.values())
        by_id, rows = {s.id: s for s in self.scenarios}, []
        for (arm, id_), text in sorted(self.given.items()):
            wanted = {m for f in by_id[id_].faults(self._world) for m in f.component.mend}
            lines = [
                line for block in blocks_of(text) for line in block.lines if line.use == "step" and line.favour > 0
            ]
            found = [self._sight.alike(line.text, does) for line in lines]
            hit = any(float(f.max()) >= CLEAR and names[int(f.argmax())] in wanted for f in found)
            rows.append({"arm": arm, "scenario": id_, "repeat": 0, "named": float(hit)})
        return pd.DataFrame(rows)

    def patience(self) -> dict[str, float]:
        """How patient the user of each scenario is."""
        return {s.id: s.persona.patience for s in self.scenarios}

    def _thinned(self, history: int | None) -> list[Past]:
        size = self.settings.history
        if history is None or history >= size:
            return self.past
        kept = {round(n * size / history) for n in range(history)}
        return [p for n, p in enumerate(self.past) if n % size in kept]


def sampled(scenarios: Sequence[Scenario], *, categories: Sequence[str] = (), most: int = 0) -> list[Scenario]:
    """The scenarios of some categories (all, without names), thinned evenly to at most so many (0: no limit)."""
    inside = [s for s in scenarios if not categories or s.category in categories]
    if not most or len(inside) <= most:
        return inside
    return [inside[n * len(inside) // most] for n in range(most)]
