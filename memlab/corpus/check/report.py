"""What `memlab data check` found: figures for a reader, and problems that must be mended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from memlab.corpus.check.agreement import Agreement
from memlab.corpus.check.repeats import Repeat
from memlab.corpus.check.splits import Leak
from memlab.corpus.redaction.measure import Figures

__all__ = ["CheckReport"]


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The state of a data set.

    Attributes
    ----------
    problems : tuple of str
        Records that break a rule, each with file and line or id.
    repeats : tuple of Repeat
        Runs of eight words that two conversations share outside of tool turns and quoted mails.
    leaks : tuple of Leak
        Authors and entries that stand in two splits.
    manifest : tuple of str or None
        How the files differ from the manifest; nothing if there is no manifest.
    below : tuple of str
        What there is less of than the data set aims for; no failure.
    counts : dict
        Number of records by customer, category, split, style, language, phenomenon, …
    overlap : dict
        Queries by the share of their content words that their symptoms hold, in all and by kind.
    agreement, agreement_with_authors : tuple of Agreement
        Between the blind annotators, and with the labels as one more opinion.
    redaction : dict
        How well the redaction finds what is marked in `redaction/messages.jsonl`, by type.
    """

    problems: tuple[str, ...] = ()
    repeats: tuple[Repeat, ...] = ()
    leaks: tuple[Leak, ...] = ()
    manifest: tuple[str, ...] | None = None
    below: tuple[str, ...] = ()
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    overlap: dict[str, dict[str, float]] = field(default_factory=dict)
    agreement: tuple[Agreement, ...] = ()
    agreement_with_authors: tuple[Agreement, ...] = ()
    redaction: dict[str, Figures] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether nothing must be mended; a missing manifest is no failure, a differing one is."""
        return not (self.problems or self.repeats or self.leaks or self.manifest)

    def to_json(self) -> dict[str, Any]:
        """Everything, as plain data."""
        return {
            "ok": self.ok,
            "problems": list(self.problems),
            "repeats": [r.to_json() for r in self.repeats],
            "leaks": [leak.to_json() for leak in self.leaks],
            "manifest": None if self.manifest is None else list(self.manifest),
            "below": list(self.below),
            "counts": self.counts,
            "overlap": self.overlap,
            "agreement": [a.to_json() for a in self.agreement],
            "agreement_with_authors": [a.to_json() for a in self.agreement_with_authors],
            "redaction": {name: figures.to_json() for name, figures in self.redaction.items()},
        }

    def to_text(self) -> str:
        """For a terminal and for the data card: figures first, then what must be mended."""
        return "\n".join(_lines(self))


def _lines(report: CheckReport) -> Iterator[str]:
    yield "COUNTS"
    width = max(map(len, report.counts), default=0)
    for name, counts in report.counts.items():
        yield f"  {name:<{width}}  " + ", ".join(f"{k} {v}" for k, v in counts.items())
    if report.overlap:
        yield "\nOVERLAP OF QUERIES WITH THEIR SYMPTOMS (share of content words; queries by share, and the mean)"
        for name, shares in report.overlap.items():
            yield f"  {name:<14} " + ", ".join(f"{k} {v:g}" for k, v in shares.items())
    for title, found in (
        ("AGREEMENT BETWEEN BLIND ANNOTATORS", report.agreement),
        ("AGREEMENT OF ANNOTATORS AND AUTHORS", report.agreement_with_authors),
    ):
        if found:
            yield f"\n{title} (Krippendorff's alpha)"
            yield f"  {'field':<16} {'units':>5} {'equal':>6} {'alpha':>6}"
            for a in found:
                alpha = "—" if a.alpha is None else f"{a.alpha:.3f}"
                yield f"  {a.field:<16} {a.units:>5} {a.equal:>6.3f} {alpha:>6}"
    if report.redaction:
        yield "\nREDACTION (of marked spans; the rules were tuned on these messages, see redaction/README.md)"
        yield f"  {'type':<8} {'marked':>6} {'found':>6} {'precision':>9} {'recall':>6} {'hidden':>6}"
        for name, f in report.redaction.items():
            rates = (f.precision, f.recall, f.covered / f.gold if f.gold else None)
            cells = ["—" if v is None else f"{v:.3f}" for v in rates]
            yield f"  {name:<8} {f.gold:>6} {f.found:>6} {cells[0]:>9} {cells[1]:>6} {cells[2]:>6}"
    yield from _findings(report)


def _findings(report: CheckReport) -> Iterator[str]:
    manifest = report.manifest
    yield f"\nMANIFEST  {'none' if manifest is None else 'differs' if manifest else 'every file as listed'}"
    yield from (f"  {line}" for line in manifest or ())
    for name, found in (
        ("PROBLEMS", report.problems),
        ("REPEATED RUNS OF 8 WORDS", report.repeats),
        ("LEAKS BETWEEN SPLITS", report.leaks),
        ("FEWER THAN AIMED FOR", report.below),
    ):
        yield f"{name}  {len(found)}"
        yield from (f"  {item}" for item in found)
    yield "OK" if report.ok else "NOT OK"
