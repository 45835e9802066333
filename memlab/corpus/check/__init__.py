"""The check of the data set: schema, quotes, repeated wording, leaks, overlap, agreement, manifest."""

from __future__ import annotations

from memlab.corpus.check.agreement import Agreement, agreement, krippendorff_alpha, masi_distance
from memlab.corpus.check.manifest import manifest_differences, write_manifest
from memlab.corpus.check.overlap import overlap
from memlab.corpus.check.repeats import Repeat, repeats
from memlab.corpus.check.report import CheckReport
from memlab.corpus.check.run import check_corpus
from memlab.corpus.check.splits import Leak, leaks

__all__ = [
    "Agreement",
    "CheckReport",
    "Leak",
    "Repeat",
    "agreement",
    "check_corpus",
    "krippendorff_alpha",
    "leaks",
    "manifest_differences",
    "masi_distance",
    "overlap",
    "repeats",
    "write_manifest",
]
