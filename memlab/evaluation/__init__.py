"""Metrics and statistics: what was extracted, what was recalled, and how far a number can be trusted."""

from __future__ import annotations

from memlab.evaluation.baselines import Retriever, by_cause, rank_all, transcript_retrievers
from memlab.evaluation.extraction import ExtractionResult, compare_extractors, evaluate_extraction
from memlab.evaluation.labels import read_labels, symptom_texts
from memlab.evaluation.matching import Matching, Pair, TextVectors, match_texts
from memlab.evaluation.reference import reference_proposals
from memlab.evaluation.retrieval import (
    GoldCauses,
    Query,
    RankedHit,
    evaluate_retrieval,
    gold_causes,
    query_values,
    read_queries,
    retrieval_scores,
)
from memlab.evaluation.statistics import (
    Comparison,
    Flip,
    Interval,
    bootstrap,
    bootstrap_rate,
    compare_arms,
    holm,
    paired_difference,
    wilson,
)

__all__ = [
    "Comparison",
    "ExtractionResult",
    "Flip",
    "GoldCauses",
    "Interval",
    "Matching",
    "Pair",
    "Query",
    "RankedHit",
    "Retriever",
    "TextVectors",
    "bootstrap",
    "bootstrap_rate",
    "by_cause",
    "compare_arms",
    "compare_extractors",
    "evaluate_extraction",
    "evaluate_retrieval",
    "gold_causes",
    "holm",
    "match_texts",
    "paired_difference",
    "query_values",
    "rank_all",
    "read_labels",
    "read_queries",
    "reference_proposals",
    "retrieval_scores",
    "symptom_texts",
    "transcript_retrievers",
    "wilson",
]
