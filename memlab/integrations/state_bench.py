"""STATE-Bench, agent learning track: learn from its public training trajectories, answer its retrieval hook.

The benchmark asks for a read-only hook ``retrieve_learnings(query, top_k=3) -> list[str]``. In its ``agents/`` folder::

    from memlab.integrations import state_bench

    class MemlabAgent(StateBenchAgent):
        def retrieve_learnings(self, query: str, top_k: int = 3) -> list[str]:
            return state_bench.retrieve_learnings(query, top_k, home="learnings")

after ``state_bench.build_learnings("datasets/train_task_trajectories/customer_support", home="learnings")``. Learning and
recall are memlab's own, and the offline extractor was made for IT support: a prompted one reads other domains better.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memlab.bank import Bank, bank_path
from memlab.corpus import read_conversations
from memlab.curation.curator import Curator
from memlab.errors import InputError
from memlab.extraction import Extractor
from memlab.learning import LearnReport, learn
from memlab.models.embeddings import Encoder
from memlab.recalling import Hit, recall
from memlab.records import Conversation

__all__ = ["HOME", "Learnings", "build_learnings", "learning_text", "retrieve_learnings"]

_NOMINAL = datetime(2026, 1, 1, tzinfo=UTC)  # the set has no times; one for all, so that no order is made up
_CATEGORY = "other"  # of the bank; the domains have no topics of IT support

HOME = Path("state_bench_learnings")
"""Where learnings are kept unless told: a folder of the working directory."""


@dataclass(frozen=True, slots=True)
class Learnings:
    """What was learned of one domain, and where it is.

    Attributes
    ----------
    home : Path
        The folder of the bank.
    domain : str
        The bank's customer.
    report : LearnReport
        What learning did.
    """

    home: Path
    domain: str
    report: LearnReport

    def retrieve_learnings(self, query: str, top_k: int = 3) -> list[str]:
        """As the function of the same name."""
        return retrieve_learnings(query, top_k, home=self.home, domain=self.domain)


def build_learnings(
    trajectories: str | Path | Iterable[Mapping[str, Any]],
    *,
    home: str | Path = HOME,
    domain: str = "customer_support",
    tools: bool = False,
    extractor: Extractor | None = None,
    curator: Curator | None = None,
    encoder: Encoder | None = None,
) -> Learnings:
    """Learn training trajectories into a bank; learning them again changes nothing.

    Parameters
    ----------
    trajectories : path or iterable of mapping
        The benchmark's folder of one domain (one JSON file a task), a file with one trajectory a line, or trajectories
        as ``{"task": id, "conversation": [messages]}``.
    home : path
        Folder for the bank.
    domain : str
        Whose bank: a domain never reads another's learnings.
    tools : bool
        Learn from tool calls and results, too; by default from what user and agent say.
    extractor, curator, encoder : optional
        As for `learn`.

    Raises
    ------
    InputError
        If there is no trajectory, or one can't be read.
    """
    conversations = [_prepared(c, tools) for c in _read(_rows(trajectories), domain)]
    with Bank.open(home, domain) as bank:
        report = learn(bank, conversations, extractor=extractor, curator=curator, encoder=encoder)
    return Learnings(Path(home), domain, report)


def retrieve_learnings(
    query: str,
    top_k: int = 3,
    *,
    home: str | Path = HOME,
    domain: str = "customer_support",
    least: float | None = None,
    encoder: Encoder | None = None,
) -> list[str]:
    """What was learned that fits a query, best first, one text each; an empty list if nothing does.

    Parameters
    ----------
    query : str
        What the agent wants to know; a blank one gets nothing.
    top_k : int
        The most texts.
    home, domain, encoder
        As for `build_learnings`.
    least : float, optional
        As for `recall`.

    Raises
    ------
    InputError
        If nothing was ever built there: that is a mistake, not "nothing fits".
    RecallError
        If memory could not be searched.
    """
    if not bank_path(home, domain).exists():
        raise InputError(f"{home}: no learnings of domain {domain!r}; build them first (build_learnings)")
    if not query.strip():
        return []
    with Bank.open(home, domain) as bank:
        hits = recall(bank, query, category=_CATEGORY, k=top_k, encoder=encoder, least=least)
    return [learning_text(hit) for hit in hits]


def learning_text(hit: Hit) -> str:
    """One hit as a few lines that an agent can use: what it was, what helped and how often, and what did not."""
    lines = [f"In {_times(len(hit.conversations))} like this one: {hit.root_cause}"]
    lines += [
        f"- {'helped' if s.kind == 'fix' else 'helped for a while'}: {s.text} ({_record(s.worked, s.failed)})"
        for s in hit.solutions
    ]
    lines += [f"- did not help: {text} ({times}×)" for text, times in hit.failed]
    return "\n".join(" ".join(line.split()) for line in lines)


def _times(n: int) -> str:
    return "1 past case" if n == 1 else f"{n} past cases"


def _record(worked: int, failed: int) -> str:
    return f"worked {worked}×, failed {failed}×" if failed else f"worked {worked}×"


def _rows(trajectories: str | Path | Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    if not isinstance(trajectories, (str, Path)):
        return [dict(row) for row in trajectories]
    path = Path(trajectories)
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    return [row for file in files for row in _file(file)]


def _file(path: Path) -> list[dict[str, Any]]:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: can't be read: {error}") from None
    found = []
    for number, piece in enumerate([text] if path.suffix == ".json" else text.splitlines(), 1):
        if piece.strip():
            try:
                row = json.loads(piece)
            except ValueError as error:
                raise InputError(f"{path}:{number}: not JSON: {error}") from None
            if not isinstance(row, dict):
                raise InputError(f"{path}:{number}: a trajectory must be an object with a conversation")
            found.append({"task": path.stem, **row} if path.suffix == ".json" else row)
    return found


def _read(rows: list[dict[str, Any]], domain: str) -> list[Conversation]:
    """Through the reader of this format, so that its rules hold here, too."""
    if not rows:
        raise InputError("no trajectory to learn from; name the folder of a domain or a file with one a line")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trajectories.jsonl"
        file.write_text("".join(f"{json.dumps(_without_system(row))}\n" for row in rows), "utf-8")
        report = read_conversations(file, format="state_bench", customer=domain)
    if report.skipped:
        first = report.skipped[0]
        raise InputError(f"trajectory {first.line} ({rows[first.line - 1].get('task')!r}): {first.reason}")
    return list(report)


def _without_system(row: Mapping[str, Any]) -> dict[str, Any]:
    """Instructions to the agent are no part of what happened."""
    messages = row.get("conversation")
    if not isinstance(messages, list):
        return dict(row)
    return {**row, "conversation": [m for m in messages if not (isinstance(m, Mapping) and m.get("role") == "system")]}


def _prepared(conversation: Conversation, tools: bool) -> Conversation:
    turns = tuple(t for t in conversation.turns if tools or t.role != "tool")
    return replace(conversation, started_at=_NOMINAL, category=_CATEGORY, turns=turns or conversation.turns)
