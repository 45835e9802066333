"""memlab: a laboratory for agent memory.

    conversation ─extract─▶ proposal ─curate─▶ operations ─fold─▶ skill graph ─weigh at a time─▶ view ─render─▶ skill

Names are loaded at their first use, so that importing memlab costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from memlab.agent import SupportAgent as SupportAgent
    from memlab.bank import Bank as Bank
    from memlab.corpus import read_conversations as read_conversations
    from memlab.curation.decide import same_entry as same_entry
    from memlab.errors import MemlabError as MemlabError
    from memlab.explaining import why as why
    from memlab.extraction import extract as extract
    from memlab.graph import SkillGraph as SkillGraph
    from memlab.learning import forget as forget
    from memlab.learning import learn as learn
    from memlab.recalling import recall as recall
    from memlab.records import Conversation as Conversation
    from memlab.records import Proposal as Proposal
    from memlab.records import Turn as Turn
    from memlab.rendering import render_skill as render_skill
    from memlab.runs.frames import runs_df as runs_df

_HOME = {
    "Bank": "memlab.bank",
    "Conversation": "memlab.records",
    "MemlabError": "memlab.errors",
    "Proposal": "memlab.records",
    "SkillGraph": "memlab.graph",
    "SupportAgent": "memlab.agent",
    "Turn": "memlab.records",
    "extract": "memlab.extraction",
    "forget": "memlab.learning",
    "learn": "memlab.learning",
    "read_conversations": "memlab.corpus",
    "recall": "memlab.recalling",
    "render_skill": "memlab.rendering",
    "runs_df": "memlab.runs.frames",
    "same_entry": "memlab.curation.decide",
    "why": "memlab.explaining",
}

__all__ = sorted([*_HOME, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'memlab' has no attribute {name!r}; it has {', '.join(__all__)}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value  # also over a submodule of the same name, such as memlab.recall
    return value


def __dir__() -> list[str]:
    return __all__
