"""Before and after a rollout: what incident tables can say about it, and what could make it look better than it is."""

from __future__ import annotations

from memlab.evaluation.rollout.checks import Check
from memlab.evaluation.rollout.classifier import Classifier, rogan_gladen
from memlab.evaluation.rollout.figure import rollout_svg
from memlab.evaluation.rollout.incidents import Incident, IncidentTable, read_incidents
from memlab.evaluation.rollout.rates import mantel_haenszel, newcombe
from memlab.evaluation.rollout.recovery import FAULTS, play_fault, recovery
from memlab.evaluation.rollout.simulated import simulate_rollout
from memlab.evaluation.rollout.study import CategoryRates, RolloutStudy, study_rollout

__all__ = [
    "FAULTS",
    "CategoryRates",
    "Check",
    "Classifier",
    "Incident",
    "IncidentTable",
    "RolloutStudy",
    "mantel_haenszel",
    "newcombe",
    "play_fault",
    "read_incidents",
    "recovery",
    "rogan_gladen",
    "rollout_svg",
    "simulate_rollout",
    "study_rollout",
]
