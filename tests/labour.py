"""Readers and encoders that can be sent to workers, for the tests of distributed learning: cheap, and deadly on demand."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scripted import HashEncoder, prop

from memlab.errors import ExtractionError
from memlab.records import Conversation, Proposal


class Plain:
    """Takes the first turn for the symptom, the last agent's turn for cause and solution; a rule, not a reader."""

    name = "plain-1"

    def extract(self, conversation: Conversation) -> Sequence[Proposal]:
        said = [t.text for t in conversation.turns]
        if "unreadable" in said[0]:
            raise ExtractionError(f"{conversation.id}: unreadable", raw="{")
        agent = next((t.text for t in conversation.turns[::-1] if t.role == "agent"), said[0])
        return [prop(said[0], agent, agent, conversation=conversation.id, quote=said[0])]


class Slow(Plain):
    """Needs a moment, so that a worker can be ended on the way."""

    def extract(self, conversation: Conversation) -> Sequence[Proposal]:
        time.sleep(0.01)
        return super().extract(conversation)


class Mortal(Plain):
    """Ends its own process once, at the first conversation that comes, and leaves a mark that it has."""

    mark = Path(os.environ.get("MEMLAB_TEST_MARK", "/nonexistent/mark"))

    def extract(self, conversation: Conversation) -> Sequence[Proposal]:
        try:
            self.mark.touch(exist_ok=False)
        except FileExistsError:
            return super().extract(conversation)
        os._exit(1)


class Jotting(Plain):
    """Writes down when it begins and ends a conversation."""

    def extract(self, conversation: Conversation) -> Sequence[Proposal]:
        started = time.time()
        time.sleep(0.02)
        found = super().extract(conversation)
        jots = Path(os.environ["MEMLAB_TEST_JOTS"])
        with jots.open("a") as file:
            file.write(f"{started} {time.time()}\n")
        return found


class Words(HashEncoder):
    """A tiny encoder that keeps no list of what it encoded."""

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([self._one(t) for t in texts], np.float32).reshape(len(texts), self.dimension)
