"""Does the agent's memory of a customer help when the customer returns? Returning requesters, memory on against off.

Two kinds of cases, both from the shipped corpus. ``returned``: a requester's later conversation, whose opening is the
message, with all earlier ones as history; few of them are about the same root cause. ``same problem``: a requester's
conversation is the history, and somebody else's words for the same root cause, thirty days later, are the message.

Everything is judged against the labels: whether the first suggestion means a step that helped, whether a suggestion
means one that had failed for this requester against the same cause, and whether the reply asks for the device although
it was told before.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from memlab.agent import Reply, SupportAgent
from memlab.agent.encoding import RecentEncoder
from memlab.agent.imported import memories_of
from memlab.agent.jsonstore import JsonStore
from memlab.agent.verdicts import action_of
from memlab.errors import InputError
from memlab.evaluation.intervals import bootstrap_rate
from memlab.evaluation.matching import TextVectors, match_texts
from memlab.evaluation.queries import Query
from memlab.evaluation.reference import oracle_proposals
from memlab.evaluation.statistics import compare_arms
from memlab.extraction import Extractor, OfflineExtractor
from memlab.extraction.triage import opening
from memlab.models.embeddings import Encoder, default_encoder
from memlab.records import Conversation, Mention, Proposal, content_hash

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ARMS", "METRICS", "Case", "returning", "returning_cases", "returning_differences", "returning_summary"]

ARMS = ("memory off", "random step", "memory on", "memory on, history read by people", "oracle")
METRICS = ("suggests", "first suggestion right", "repeats a failed step", "asks again for the device")
LATER = timedelta(days=30)
Label = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """A requester who comes back.

    Attributes
    ----------
    id, kind, requester : str
        ``returned`` or ``same problem``; the requester is the cluster of the statistics.
    message : str
        What the requester says.
    at : datetime
        When.
    history : tuple of Conversation
        The requester's earlier conversations, in order.
    right, failed : tuple of str
        Steps that help against this problem, and steps that had failed against it for this requester, as labelled.
    helped : tuple of str
        What had helped this requester against it before: all that a perfect memory could suggest.
    tried : tuple of str
        Every step of the history, whatever it was against.
    device_told : bool
        Whether the history names the requester's device or software.
    """

    id: str
    kind: str
    requester: str
    message: str
    at: datetime
    history: tuple[Conversation, ...]
    right: tuple[str, ...]
    failed: tuple[str, ...]
    helped: tuple[str, ...]
    tried: tuple[str, ...]
    device_told: bool


def returning_cases(
    conversations: Iterable[Conversation],
    labels: Sequence[Label],
    queries: Iterable[Query] = (),
    *,
    sample: int | None = None,
    seed: int = 0,
) -> list[Case]:
    """The cases that a corpus gives, of which a sample is drawn (half of each kind as far as there are so many).

    Parameters
    ----------
    conversations : iterable of Conversation
        Those without a requester are left out.
    labels : sequence of mappings
        Their gold labels.
    queries : iterable of Query
        Other people's words for the same causes; without them there are no cases of the second kind.
    sample : int, optional
        The most cases; by default all.
    seed : int
        Of the sample, and of the choice among several queries.
    """
    by_conversation: dict[str, list[Label]] = defaultdict(list)
    for label in labels:
        by_conversation[label["conversation"]].append(label)
    asked: dict[str, list[Query]] = defaultdict(list)
    for query in queries:
        if not query.hard_negative:
            for cause in query.root_cause_ids:
                asked[cause].append(query)
    people: dict[str, list[Conversation]] = defaultdict(list)
    for c in sorted(conversations, key=lambda c: c.order):
        if c.requester is not None and c.id in by_conversation:
            people[f"{c.customer}/{c.requester}"].append(c)
    returned = [x for who, cs in sorted(people.items()) for x in _returned(who, cs, by_conversation)]
    same = [x for who, cs in sorted(people.items()) for x in _same(who, cs, by_conversation, asked, seed)]
    return _sampled(returned, same, sample, seed)


def _sampled(returned: list[Case], same: list[Case], sample: int | None, seed: int) -> list[Case]:
    if sample is None:
        return [*returned, *same]
    if sample < 2:
        raise InputError(f"sample must be at least 2 cases, not {sample}")
    rng = _rng(seed)
    first = min(len(returned), max(sample // 2, sample - len(same)))
    parts = ((returned, first), (same, min(len(same), sample - first)))
    chosen = [sorted(rng.choice(len(cases), size, replace=False)) for cases, size in parts]
    return [cases[int(n)] for (cases, _), picked in zip(parts, chosen, strict=True) for n in picked]


def _rng(seed: int, name: str = "") -> np.random.Generator:
    """Random numbers for one purpose: the same for the same seed and name, whatever else is drawn."""
    return np.random.default_rng([seed, int(content_hash(name), 16)])


def _returned(who: str, said: Sequence[Conversation], labels: Mapping[str, Sequence[Label]]) -> Iterator[Case]:
    for n, c in enumerate(said):
        message = opening(c)
        if n and message:
            causes = {x["root_cause"]["id"] for x in labels[c.id] if x["root_cause"]}
            right = _helped(labels[c.id])
            yield _case(f"returned {c.id}", "returned", who, message, c.started_at, said[:n], labels, causes, right)


def _same(
    who: str,
    said: Sequence[Conversation],
    labels: Mapping[str, Sequence[Label]],
    asked: Mapping[str, Sequence[Query]],
    seed: int,
) -> Iterator[Case]:
    for n, c in enumerate(said):
        for label in labels[c.id][:1]:
            cause = label["root_cause"]["id"] if label["root_cause"] else None
            if cause is None or not asked.get(cause) or not _helped([label]):
                continue
            query = asked[cause][int(_rng(seed, c.id).integers(len(asked[cause])))]
            yield _case(
                f"same {c.id}",
                "same problem",
                who,
                query.query,
                c.started_at + LATER,
                said[: n + 1],
                labels,
                {cause},
                _helped([label]),
            )


def _case(
    id_: str,
    kind: str,
    who: str,
    message: str,
    at: datetime,
    history: Sequence[Conversation],
    labels: Mapping[str, Sequence[Label]],
    causes: set[str],
    right: tuple[str, ...],
) -> Case:
    before = [x for c in history for x in labels[c.id]]
    alike = [x for x in before if x["root_cause"] and x["root_cause"]["id"] in causes]
    failed = [a["action"] for x in alike for a in x["attempts"] if a["outcome"] == "failed"]
    tried = [a["action"] for x in before for a in x["attempts"]]
    tried += [x["solution"]["text"] for x in before if x["solution"]]
    return Case(
        id=id_,
        kind=kind,
        requester=who,
        message=message,
        at=at,
        history=tuple(history),
        right=right,
        failed=tuple(dict.fromkeys(failed)),
        helped=_helped(alike),
        tried=tuple(dict.fromkeys(tried)),
        device_told=any(x.get("profile") for x in before),
    )


def _helped(labels: Iterable[Label]) -> tuple[str, ...]:
    """The labelled solutions, and steps that worked."""
    texts = [t for x in labels for t in ([x["solution"]["text"]] if x["solution"] else [])]
    texts += [a["action"] for x in labels for a in x["attempts"] if a["outcome"] == "worked"]
    return tuple(dict.fromkeys(texts))


def returning(
    cases: Sequence[Case],
    labels: Sequence[Label],
    *,
    seed: int = 0,
    extractor: Extractor | None = None,
    encoder: Encoder | None = None,
    threshold: float = 0.5,
) -> pd.DataFrame:
    """What each arm answers to each case, one row a case and arm, with 0/1 values (None where a question has no sense).

    Parameters
    ----------
    cases : sequence of Case
        From `returning_cases`.
    labels : sequence of mappings
        For the arm whose history people read: the labels in place of the extractor's proposals.
    seed : int
        Of the random arm, which suggests one step of the requester's history.
    extractor, encoder : optional
        By default the offline ones.
    threshold : float
        Cosine from which a suggestion means a labelled step (`match_texts`).

    Returns
    -------
    pandas.DataFrame
        Columns case, kind, requester, arm, recalled, text, steps, and the METRICS.
    """
    import pandas as pd

    vectors_of = RecentEncoder(encoder or default_encoder())
    reader = extractor or OfflineExtractor(vectors_of)
    vectors = TextVectors(vectors_of)
    gold = _gold(labels)
    read = {c.id: list(reader.extract(c)) for c in {c.id: c for x in cases for c in x.history}.values()}
    rows = []
    for case in cases:
        for arm, steps, reply in _answers(case, read, gold, reader, vectors_of, seed):
            rows.append(
                {
                    "case": case.id,
                    "kind": case.kind,
                    "requester": case.requester,
                    "arm": arm,
                    "recalled": len(reply.used) if reply else 0,
                    "text": reply.text if reply else "; ".join(steps),
                    "steps": list(steps),
                    **_judged(case, steps, reply, vectors, threshold),
                }
            )
    return pd.DataFrame(rows)


def _gold(labels: Sequence[Label]) -> dict[str, list[Proposal]]:
    """The labels as proposals, with the facts that they name."""
    out: dict[str, list[Proposal]] = defaultdict(list)
    for p, label in zip(oracle_proposals(labels), labels, strict=True):
        facts = tuple(Mention(f["text"], f["turn"], f["quote"]) for f in label.get("facts", ()))
        out[p.conversation].append(dataclasses.replace(p, facts=facts))
    return out


def _answers(
    case: Case,
    read: Mapping[str, Sequence[Proposal]],
    gold: Mapping[str, Sequence[Proposal]],
    reader: Extractor,
    encoder: Encoder,
    seed: int,
) -> Iterator[tuple[str, Sequence[str], Reply | None]]:
    """Each arm's suggestions to a case; only those of the agent have a reply."""
    for arm in ARMS:
        if arm == "random step":
            place = int(_rng(seed, case.id).integers(len(case.tried))) if case.tried else 0
            yield arm, sorted(case.tried)[place : place + 1], None
        elif arm == "oracle":
            yield arm, case.helped[:1], None
        else:
            proposals = gold if arm.endswith("read by people") else read
            reply = _reply(case, proposals, reader, encoder, on=arm != "memory off")
            yield arm, tuple(map(action_of, reply.steps)), reply


def _reply(
    case: Case, proposals: Mapping[str, Sequence[Proposal]], reader: Extractor, encoder: Encoder, *, on: bool
) -> Reply:
    with tempfile.TemporaryDirectory() as home:
        agent = SupportAgent(JsonStore(home, encoder=encoder), extractor=reader, encoder=encoder)
        for c in case.history:
            agent.store.add(case.requester, memories_of(case.requester, c, proposals.get(c.id, ())))
        return agent.ask(case.requester, case.message, at=case.at, conversation="now", memory=on)


def _judged(
    case: Case, steps: Sequence[str], reply: Reply | None, vectors: TextVectors, threshold: float
) -> dict[str, float | None]:
    def means(step: str, texts: Sequence[str]) -> bool:
        return bool(match_texts([step], list(texts), threshold=threshold, vectors=vectors).pairs) if texts else False

    first = means(steps[0], case.right) if steps else False
    again = any(means(s, case.failed) and not means(s, case.right) for s in steps)
    asks = any("device" in a for a in reply.asks) if reply else False
    values = (
        float(bool(steps)),
        float(first) if case.right else None,
        float(again) if case.failed else None,
        float(asks) if case.device_told else None,
    )
    return dict(zip(METRICS, values, strict=True))


def returning_summary(rows: pd.DataFrame, *, seed: int = 0, n: int = 2000) -> pd.DataFrame:
    """The share of cases with each metric, an arm and kind a row, with a 95 % interval over requesters."""
    import pandas as pd

    out = []
    for (kind, arm), part in rows.groupby(["kind", "arm"], sort=False):
        for metric in METRICS:
            known = part.dropna(subset=[metric])
            totals = {
                str(who): (float(values.sum()), float(len(values)))
                for who, values in known.groupby("requester")[metric]
            }
            interval = bootstrap_rate(totals, seed=seed, n=n)
            out.append(
                {
                    "kind": kind,
                    "arm": arm,
                    "metric": metric,
                    "share": interval.estimate,
                    "low": interval.low,
                    "high": interval.high,
                    "cases": len(known),
                    "requesters": interval.n,
                }
            )
    return pd.DataFrame(out)


def returning_differences(
    rows: pd.DataFrame, *, baseline: str = "memory off", seed: int = 0, n: int = 2000
) -> pd.DataFrame:
    """Every arm against memory off, paired by case, requesters as clusters, both kinds together; see `compare_arms`."""
    import pandas as pd

    clusters = {str(case): str(who) for case, who in zip(rows["case"], rows["requester"], strict=True)}
    out = []
    for metric in METRICS:
        known = rows.dropna(subset=[metric])
        arms: dict[str, dict[str, float | None]] = {
            str(arm): {str(c): float(v) for c, v in zip(part["case"], part[metric], strict=True)}
            for arm, part in known.groupby("arm", sort=False)
        }
        if baseline in arms:
            table = compare_arms(arms, baseline=baseline, seed=seed, n=n, clusters=clusters)
            table.insert(0, "metric", metric)
            out.append(table)
    return pd.concat(out, ignore_index=True)
