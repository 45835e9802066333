"""The support agent: it remembers each customer, and answers from that customer's own history first."""

from __future__ import annotations

from memlab.agent.agent import SupportAgent
from memlab.agent.records import Memory, Telling
from memlab.agent.replies import Recalled, Reply
from memlab.agent.stores import Store, open_store
from memlab.agent.timeline import Timeline

__all__ = ["Memory", "Recalled", "Reply", "Store", "SupportAgent", "Telling", "Timeline", "open_store"]
