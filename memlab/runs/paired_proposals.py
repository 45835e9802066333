"""Two proposals files compared against labels: extractors, prompts or models, by conversation and field."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memlab.errors import InputError
from memlab.evaluation.extraction import FIELDS, ExtractionResult, evaluate_extraction
from memlab.evaluation.matching import MatchBy, TextVectors
from memlab.records import Conversation, Proposal
from memlab.runs.paired import Evidence, Paired, Values, compare_values

if TYPE_CHECKING:
    from memlab.models.cassette import Cassette

__all__ = ["compare_proposals", "cost_of", "read_proposals"]


def read_proposals(path: str | Path) -> list[Proposal]:
    """The proposals of a file that `memlab extract` wrote.

    Raises
    ------
    InputError
        If it can't be read; the message has file and line.
    """
    from memlab.corpus.reading import Skipped, read_jsonl_objects

    file = Path(path)
    if not file.is_file():
        raise InputError(f"{path}: no such file; `memlab extract CONVERSATIONS -o {path}` writes one")
    found = []
    for item in read_jsonl_objects(file):
        if isinstance(item, Skipped):
            raise InputError(str(item))
        try:
            if not {"conversation", "symptoms", "resolution"} <= item[1].keys():
                raise InputError("it needs conversation, symptoms and resolution")
            found.append(Proposal.from_json(item[1]))
        except (KeyError, TypeError, ValueError, InputError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else error
            raise InputError(f"{path}:{item[0]}: not a proposal: {reason}") from None
    return found


def compare_proposals(
    a: Iterable[Proposal],
    b: Iterable[Proposal],
    labels: Sequence[Mapping[str, Any]],
    *,
    names: tuple[str, str] = ("A", "B"),
    conversations: Iterable[Conversation] = (),
    fields: Sequence[str] = FIELDS,
    by: MatchBy = "meaning",
    threshold: float = 0.5,
    costs: Mapping[str, str] | None = None,
    seed: int = 0,
    resamples: int = 2000,
    vectors: TextVectors | None = None,
) -> Paired:
    """What changes from extractor A to extractor B: each conversation's F1 of each field, paired.

    A labelled conversation counts on a side if that side has a proposal of it; those that only one side read are named
    as unmatched. Where both say nothing and nothing is to be said, F1 is 1.

    Parameters
    ----------
    a, b : iterable of Proposal
        The two sides.
    labels : sequence of mappings
        As `read_labels` gives them.
    names : (str, str)
        What the sides are called.
    conversations : iterable of Conversation
        For the words around quotes.
    fields : sequence of str
        Which fields to compare.
    by, threshold, vectors
        As in `evaluate_extraction`.
    costs : mapping, optional
        What each side took, in words (see `cost_of`).
    seed, resamples : int
        Of bootstrap and permutations.

    Raises
    ------
    InputError
        If a field is unknown, or no labelled conversation is on both sides.
    """
    unknown = [f for f in fields if f not in FIELDS]
    if unknown:
        raise InputError(f"unknown field {unknown[0]!r}; known: {', '.join(FIELDS)}")
    sides = [list(a), list(b)]
    read = [{p.conversation for p in side} for side in sides]
    labelled = {label["conversation"] for label in labels}
    if not read[0] & read[1] & labelled:
        raise InputError("no labelled conversation was read by both sides; compare files of the same conversations")
    lookup = vectors or TextVectors()
    results = [
        evaluate_extraction(
            side, [x for x in labels if x["conversation"] in mine], by=by, threshold=threshold, vectors=lookup
        )
        for side, mine in zip(sides, read, strict=True)
    ]
    left, right = ({f: _values(result, f) for f in fields} for result in results)
    lines = compare_values(left, right, seed=seed, resamples=resamples)
    report = Paired(names[0], names[1], "F1 of each field, by conversation, against labels", lines, costs=costs or {})
    turns = {c.id: [t.text for t in c.turns] for c in conversations}
    wanted = {(line.name, flip.case) for line in lines for flip in report.flips(line)}
    evidence = _evidence(results, wanted, turns)
    apart = [len(mine - labelled) for mine in read]
    notes = [f"{n} conversations of {name} have no label" for n, name in zip(apart, names, strict=True) if n]
    return Paired(report.a, report.b, report.what, lines, evidence, costs=report.costs, notes=tuple(notes))


def cost_of(cassette: Cassette) -> str:
    """What all replies of a cassette took, in words."""
    used = cassette.usage
    cost = "cost unknown" if used.cost is None else f"cost {used.cost:.4g}"
    return f"{used.calls} calls, {used.tokens_in} tokens in, {used.tokens_out} out, {cost}"


def _values(result: ExtractionResult, field: str) -> Values:
    """F1 over all conversations (as in the notebooks), and each conversation's own."""
    rows = result.counts[result.counts["field"] == field]
    total = int((rows["predicted"] + rows["gold"]).sum())
    whole = 2 * int(rows["matched"].sum()) / total if total else None
    return Values(whole, dict(result.values(field)))


def _evidence(
    results: Sequence[ExtractionResult], wanted: set[tuple[str, str]], turns: Mapping[str, Sequence[str]]
) -> dict[tuple[str, str], tuple[Sequence[Evidence], Sequence[Evidence]]]:
    found: list[dict[tuple[str, str], list[Evidence]]] = []
    for result in results:
        side: dict[tuple[str, str], list[Evidence]] = defaultdict(list)
        for row in result.items.astype(object).fillna("").to_dict("records"):
            key = (str(row["field"]), str(row["conversation"]))
            if key in wanted:
                side[key].append(_item(row, turns.get(key[1], ())))
        found.append(side)
    return {key: (found[0].get(key, []), found[1].get(key, [])) for key in sorted(wanted)}


def _item(row: Mapping[Any, Any], turns: Sequence[str]) -> Evidence:
    said = bool(row["predicted"])
    quote = str(row["predicted_quote"] if said else row["gold_quote"])
    turn = row["predicted_turn"] if said else row["gold_turn"]
    known = quote and turn != "" and int(turn) < len(turns)
    text = _around(turns[int(turn)], quote) if known else ""
    return Evidence(str(row["status"]), str(row["predicted"]), str(row["gold"]), quote, text)


def _around(text: str, quote: str, width: int = 70) -> str:
    at = text.find(quote)
    if at < 0:
        return ""
    start, end = max(0, at - width), min(len(text), at + len(quote) + width)
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def first_object(path: Path) -> Mapping[str, Any]:
    """The first object of a JSON lines file, to see what it holds; empty if there is none."""
    try:
        with path.open(encoding="utf-8") as file:
            line = next((text for text in file if text.strip()), "{}")
        data = json.loads(line)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or 'the first line is not JSON'}") from None
    return data if isinstance(data, Mapping) else {}
