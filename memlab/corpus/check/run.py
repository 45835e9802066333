"""The check of the whole data set."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memlab.corpus.check.agreement import Agreement, Annotations, agreement
from memlab.corpus.check.manifest import manifest_differences
from memlab.corpus.check.overlap import BANDS, band, overlap
from memlab.corpus.check.repeats import own_passages, repeats
from memlab.corpus.check.report import CheckReport
from memlab.corpus.check.schema import PHENOMENA, label_problems, message_problems, query_problems
from memlab.corpus.check.splits import leaks
from memlab.corpus.reading import Skipped, read_conversations, read_jsonl_objects
from memlab.corpus.redaction.measure import measure
from memlab.errors import InputError
from memlab.records import Conversation

__all__ = ["check_corpus"]

Record = Mapping[str, Any]
_METADATA = ("split", "style", "language", "author")
_AIMS = {
    "conversations": 400,
    "low value": 40,
    "queries": 600,
    "hard negatives": 120,
    "unanswerable": 60,
    "messages": 400,
    "conversations to learn reading from": 500,
}


@dataclass(slots=True)
class _Data:
    """The records of a data set as read, and what was wrong with them."""

    conversations: Sequence[Conversation] = ()
    labels: list[Record] = field(default_factory=list)
    reading: Sequence[Conversation] = ()
    reading_labels: list[Record] = field(default_factory=list)
    causes: list[Record] = field(default_factory=list)
    queries: list[Record] = field(default_factory=list)
    messages: list[Record] = field(default_factory=list)
    annotators: dict[str, list[Record]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def check_corpus(folder: str | Path) -> CheckReport:
    """Validate a data set and describe it.

    Parameters
    ----------
    folder : path
        The folder that holds `support/` (and `reading/`, `messages/`, `manifest.json`), or `support/` itself. Files that
        are not there are not checked, except `conversations.jsonl` and `labels.jsonl`.

    Raises
    ------
    InputError
        If the folder has no conversations or labels.
    """
    root, support = _locate(Path(folder))
    data = _read(root, support)
    owners = _owners(data)
    _check_labels("labels.jsonl", data.conversations, data.labels, data.problems)
    _check_labels("reading/labels.jsonl", data.reading, data.reading_labels, data.problems)
    _check_annotators(data)
    _check_texts(data)
    _check_queries(data, owners)
    for number, message in enumerate(data.messages, 1):
        name = message.get("id", number)
        data.problems += [f"messages/attempts.jsonl {name}: {p}" for p in message_problems(message)]
    differences = manifest_differences(root)
    counts = _counts(data)
    labelled = _by_conversation(map(_as_annotation, data.labels))
    annotators = [_by_conversation(records) for records in data.annotators.values()]
    return CheckReport(
        problems=tuple(data.problems),
        repeats=tuple(repeats(p for c in (*data.conversations, *data.reading) for p in own_passages(c))),
        leaks=tuple(leaks((*data.conversations, *data.reading), data.labels, data.queries, data.messages)),
        manifest=None if differences is None else tuple(differences),
        below=tuple(_below(counts)),
        counts=counts,
        overlap=_overlaps(data),
        agreement=_agreement(annotators),
        agreement_with_authors=_agreement([*annotators, labelled], among=annotators),
        redaction=measure(marked) if (marked := root / "redaction" / "messages.jsonl").is_file() else {},
    )


def _locate(folder: Path) -> tuple[Path, Path]:
    support = folder if (folder / "conversations.jsonl").is_file() else folder / "support"
    for name in ("conversations.jsonl", "labels.jsonl"):
        if not (support / name).is_file():
            raise InputError(f"{folder}: no {name} here or in support/; give the data set's folder")
    return support.parent, support


def _read(root: Path, support: Path) -> _Data:
    data = _Data()
    data.conversations = _conversations(support / "conversations.jsonl", data.problems)
    data.labels = _objects(support / "labels.jsonl", data.problems)
    if (root / "reading").is_dir():
        data.reading = _conversations(root / "reading" / "conversations.jsonl", data.problems)
        data.reading_labels = _objects(root / "reading" / "labels.jsonl", data.problems)
    data.causes = _objects(support / "causes.jsonl", data.problems)
    data.queries = _objects(support / "paraphrases.jsonl", data.problems)
    data.messages = _objects(root / "messages" / "attempts.jsonl", data.problems)
    for path in sorted((support / "annotations").glob("*.jsonl")):
        data.annotators[path.stem] = _objects(path, data.problems)
    return data


def _conversations(path: Path, problems: list[str]) -> Sequence[Conversation]:
    report = read_conversations(path)
    problems += [f"{path.name}:{s.line}: {s.reason}" for s in report.skipped]
    return report


def _objects(path: Path, problems: list[str]) -> list[Record]:
    """The objects of a file, an empty list if it is not there; bad lines become problems."""
    if not path.is_file():
        return []
    items = list(read_jsonl_objects(path))
    problems += [f"{path.name}:{item.line}: {item.reason}" for item in items if isinstance(item, Skipped)]
    return [item[1] for item in items if not isinstance(item, Skipped)]


def _owners(data: _Data) -> dict[str, tuple[str, str | None]]:
    """Customer and category of every entry, from the causes and the labels; an entry has one text."""
    owners: dict[str, tuple[str, str | None]] = {}
    texts: dict[str, str] = {}
    customers = {c.id: c.customer for c in data.conversations}
    found: list[tuple[str, Any, str, Any]] = []
    for cause in data.causes:
        entries = [*cause.get("symptoms", ()), cause.get("root_cause"), cause.get("solution"), cause.get("workaround")]
        found += [("causes.jsonl", e, cause.get("customer", ""), cause.get("category")) for e in entries if e]
    for label in data.labels:
        entries = [*(label.get("symptoms") or ()), label.get("root_cause"), label.get("solution")]
        customer = customers.get(str(label.get("conversation")), "")
        found += [(f"label of {label.get('conversation')}", e, customer, label.get("category")) for e in entries if e]
    for where, entry, customer, category in found:
        if not isinstance(entry, Mapping) or not isinstance(entry.get("id"), str):
            data.problems.append(f"{where}: an entry needs an id, not {entry!r}")
            continue
        owner = owners.setdefault(entry["id"], (customer, category))
        if owner != (customer, category):
            data.problems.append(f"{where}: {entry['id']} belongs to {owner[0]}, {owner[1]} elsewhere")
        if texts.setdefault(entry["id"], str(entry.get("text"))) != str(entry.get("text")):
            data.problems.append(f"{where}: {entry['id']} has another text elsewhere")
    return owners


def _check_labels(
    file: str, conversations: Sequence[Conversation], labels: Sequence[Record], problems: list[str]
) -> None:
    by_id = {c.id: c for c in conversations}
    cases: dict[str, list[Any]] = defaultdict(list)
    for label in labels:
        name = str(label.get("conversation"))
        if name not in by_id:
            problems.append(f"{file}: no conversation {name!r}")
            continue
        cases[name].append(label.get("case"))
        problems += [f"label of {name} case {label.get('case')}: {p}" for p in label_problems(label, by_id[name])]
    for name in by_id:
        if sorted(map(str, cases[name])) != [str(n) for n in range(len(cases[name]))] or not cases[name]:
            problems.append(f"{name}: cases {cases[name]}, they must be 0, 1, … without a gap")


def _check_annotators(data: _Data) -> None:
    known = {c.id for c in data.conversations}
    for annotator, records in data.annotators.items():
        unknown = sorted({str(r.get("conversation")) for r in records} - known)
        data.problems += [f"annotations/{annotator}.jsonl: no conversation {name!r}" for name in unknown]


def _check_texts(data: _Data) -> None:
    for c in (*data.conversations, *data.reading):
        missing = [name for name in _METADATA if not c.metadata.get(name)]
        if missing:
            data.problems.append(f"{c.id}: metadata has no {', '.join(missing)}")


def _check_queries(data: _Data, owners: Mapping[str, tuple[str, str | None]]) -> None:
    seen: set[Any] = set()
    for query in data.queries:
        name = query.get("id")
        problems = list(query_problems(query, owners))
        if name in seen or (query.get("query"), query.get("customer")) in seen:
            problems.append("its id, or its text for this customer, stands twice")
        seen |= {name, (query.get("query"), query.get("customer"))}
        data.problems += [f"paraphrases.jsonl {name}: {p}" for p in problems]


def _counts(data: _Data) -> dict[str, dict[str, int]]:
    low = {str(label.get("conversation")) for label in data.labels if label.get("low_value")}
    found: dict[str, Counter[str]] = {
        "records": Counter(
            {
                "conversations": len(data.conversations),
                "turns": sum(len(c.turns) for c in data.conversations),
                "cases": len(data.labels),
                "low value": len(low),
                "causes": len(data.causes),
                "queries": len(data.queries),
                "hard negatives": sum(q.get("hard_negative") is True for q in data.queries),
                "unanswerable": sum(not q.get("root_cause_ids") for q in data.queries),
                "messages": len(data.messages),
                "conversations to learn reading from": sum(c.metadata.get("split") == "train" for c in data.reading),
            }
        ),
        "customer": Counter(c.customer for c in data.conversations),
        "category": Counter(c.category or "(none)" for c in data.conversations),
    }
    for name in _METADATA:
        found[name] = Counter(str(c.metadata.get(name, "(none)")) for c in data.conversations)
    found["resolution"] = Counter(str(label.get("resolution")) for label in data.labels)
    found["solution kind"] = Counter(str(label.get("solution_kind") or "(none)") for label in data.labels)
    outcomes = [a.get("outcome") for label in data.labels for a in label.get("attempts") or ()]
    found["outcome"] = Counter(map(str, outcomes))
    pairs = {(str(p), str(label.get("conversation"))) for label in data.labels for p in label.get("phenomena") or ()}
    found["phenomenon"] = Counter(dict.fromkeys(PHENOMENA, 0))
    found["phenomenon"].update(p for p, _ in pairs)
    found["queries"] = Counter(str(q.get("split", "(none)")) for q in data.queries)
    found["messages"] = Counter(str(k) for m in data.messages for k in m.get("kinds") or ())
    return {
        name: counts if name == "records" else dict(sorted(counts.items())) for name, counts in found.items() if counts
    }


def _below(counts: Mapping[str, Mapping[str, int]]) -> Iterable[str]:
    for name, aim in _AIMS.items():
        if counts["records"].get(name, 0) < aim:
            yield f"{name}: {counts['records'].get(name, 0)} of {aim}"
    for name, number in counts["phenomenon"].items():
        if number < 10:
            yield f"phenomenon {name}: {number} of 10 conversations"


def _overlaps(data: _Data) -> dict[str, dict[str, float]]:
    """Queries that have an answer, by how many of their words their symptoms (all those of their causes) hold."""
    texts: dict[str, str] = {}
    of_cause: dict[str, list[str]] = {}
    for cause in data.causes:
        symptoms = cause.get("symptoms", ())
        texts.update({s["id"]: s["text"] for s in symptoms})
        of_cause[cause.get("root_cause", {}).get("id", "")] = [s["text"] for s in symptoms]
    for label in data.labels:
        texts.update({s["id"]: s["text"] for s in label.get("symptoms") or ()})
    shares: dict[str, list[float]] = defaultdict(list)
    for query in data.queries:
        if not query.get("root_cause_ids"):
            continue
        known = [texts[s] for s in query.get("symptom_ids") or () if s in texts]
        known += [t for c in query["root_cause_ids"] for t in of_cause.get(c, ())]
        share = overlap(str(query.get("query")), known)
        for kind in ("all", "hard negatives" if query.get("hard_negative") else "ordinary"):
            shares[kind].append(share)
    return {kind: _spread(values) for kind, values in sorted(shares.items())}


def _spread(values: Sequence[float]) -> dict[str, float]:
    bands = Counter(map(band, values))
    return {**{name: float(bands[name]) for name in BANDS}, "mean": round(sum(values) / len(values), 3)}


def _as_annotation(label: Record) -> Record:
    """A label in the form of an annotation: ids instead of entries."""
    entries = {f"{n}_id": (label.get(n) or {}).get("id") for n in ("root_cause", "solution")}
    return {**label, **entries, "symptom_ids": [s.get("id") for s in label.get("symptoms") or ()]}


def _by_conversation(records: Iterable[Record]) -> Annotations:
    found: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        found[str(record.get("conversation"))].append(record)
    return found


def _agreement(
    annotators: Sequence[Annotations], *, among: Sequence[Annotations] | None = None
) -> tuple[Agreement, ...]:
    """Agreement on the conversations that somebody of `among` (by default of all) has annotated."""
    if len(annotators) < 2 or among == []:
        return ()
    wanted = {name for a in (among if among is not None else annotators) for name in a}
    return tuple(agreement([{n: cases for n, cases in a.items() if n in wanted} for a in annotators]))
