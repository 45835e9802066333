"""Train the reader model: linear models over the clauses of a conversation.

    python scripts/train_reader.py datasets -o memlab/extraction/reader.npz

It learns from the train split of the conversations and of the single messages. A clause is a target for a field if the
phrase made of it comes closest to the label's canonical text, with a bonus where the label's own quote stands; so it
learns to select what names the symptom, cause, solution or action best.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge

from memlab.corpus import read_conversations
from memlab.evaluation.messages import message_conversations
from memlab.extraction.clauses import clauses_of
from memlab.extraction.features import clause_features, conversation_features
from memlab.extraction.phrases import phrase
from memlab.extraction.reader import FIELDS, KINDS, OUTCOMES, RESOLUTIONS
from memlab.models.embeddings import default_encoder

UNKNOWN = -1.0
BONUS = 0.15  # on the cosine of a clause that holds the label's quote
NEAR = 0.04  # clauses this close to the best one count as well


@dataclass
class Example:
    x: np.ndarray
    fields: np.ndarray  # (clauses, fields), UNKNOWN where not labelled
    outcome: np.ndarray  # (clauses,), -1 where no attempt
    whole: np.ndarray  # has cause, has solution, resolution, kind; -1 where unknown
    near: dict
    ending: np.ndarray | None


class Cache:
    """Vectors of texts, each encoded once, kept between runs of this script if a file is given."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.vectors = path, {}
        if path and path.exists():
            with np.load(path, allow_pickle=True) as z:
                self.vectors = dict(zip(z["texts"], z["vectors"], strict=True))

    def need(self, texts) -> None:
        fresh = sorted(set(texts) - self.vectors.keys())
        if fresh:
            self.vectors.update(zip(fresh, default_encoder().encode(fresh), strict=True))
            if self.path:
                texts = np.array(list(self.vectors), dtype=object)
                np.savez(self.path, texts=texts, vectors=np.stack(list(self.vectors.values())))

    def __getitem__(self, text: str) -> np.ndarray:
        return self.vectors[text]


FIELD_OF = {
    "symptoms": "symptom",
    "root_cause": "cause",
    "solution": "solution",
    "attempts": "attempt",
    "facts": "fact",
}


def items_of(row, name):
    value = row.get(name) or []
    return value if isinstance(value, list) else [value]


def build(conversation, rows, cache, *, message: bool) -> Example:
    clauses = clauses_of(conversation)
    category = conversation.category
    y = np.zeros((len(clauses), len(FIELDS)), np.float32)
    outcome = np.full(len(clauses), -1)
    nearest = {}
    for row in rows:
        for name, field in FIELD_OF.items():
            for item in items_of(row, name):
                gold = cache[item.get("text") or item["action"]]
                near = np.array([float(cache[phrase(conversation, c, field, category)] @ gold) for c in clauses])
                held = np.array([_holds(c, item) for c in clauses])
                nearest.setdefault(field, []).append(near)
                if field == "fact":
                    near = np.where(held, 1.0, 0.0)
                near = near + BONUS * held
                if field == "attempt" and not message:
                    # The action was done by the turn that says so; its words may stand in an instruction before it.
                    near[[c.turn > item["turn"] for c in clauses]] = -1
                best = near.max()
                for n in np.flatnonzero(near >= best - NEAR):
                    y[n, FIELDS.index(field)] = (
                        1 if n == near.argmax() or field not in ("attempt",) else y[n, FIELDS.index(field)]
                    )
                    if row.get("case", 0) > 0:
                        y[n, FIELDS.index("second")] = 1
                if field == "attempt":
                    outcome[int(near.argmax())] = OUTCOMES.index(item["outcome"])
    if message:
        y[:, [FIELDS.index(f) for f in FIELDS if f != "attempt"]] = UNKNOWN
    real = [r for r in rows if not r["low_value"]]
    whole = np.full(4, -1)
    if not message:
        whole[0] = any(r["root_cause"] for r in rows)
        whole[1] = any(r["solution"] for r in rows)
        if real:
            whole[2] = RESOLUTIONS.index(real[0]["resolution"])
            kinds = [r["solution_kind"] for r in real if r["solution_kind"]]
            whole[3] = KINDS.index(kinds[0]) if kinds else -1
    vectors = np.stack([cache[c.text] for c in clauses])
    ending = conversation_features(clauses, vectors) if real and not message else None
    near = {f: np.stack(v) for f, v in nearest.items()}
    return Example(clause_features(clauses, vectors), y, outcome, whole, near, ending)


def _holds(clause, item) -> bool:
    if clause.turn != item["turn"]:
        return False
    at = item["_at"]
    shared = min(clause.end, at + len(item["quote"])) - max(clause.start, at)
    return shared >= 0.5 * min(len(item["quote"]), clause.end - clause.start)


def load(folder: Path, cache: Cache) -> dict[str, list[Example]]:
    rows = defaultdict(list)
    for line in (folder / "support/labels.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        rows[row["conversation"]].append(row)
    found = [
        (c, rows[c.id], c.metadata["split"], False) for c in read_conversations(folder / "support/conversations.jsonl")
    ]
    for split in ("train", "dev", "test"):
        messages, labels = message_conversations(folder / "messages/attempts.jsonl", split=split)
        found += [(c, [r], split, True) for c, r in zip(messages, labels, strict=True)]
    found = [f for f in found if clauses_of(f[0])]
    texts = set()
    for c, mine, _, _ in found:
        for clause in clauses_of(c):
            texts.add(clause.text)
            texts |= {phrase(c, clause, f, c.category) for f in FIELD_OF.values()}
        for row in mine:
            for name in FIELD_OF:
                for item in items_of(row, name):
                    texts.add(item.get("text") or item["action"])
                    item["_at"] = c.turns[item["turn"]].text.index(item["quote"])
    cache.need(texts)
    data = defaultdict(list)
    for c, mine, split, message in found:
        data[split if not message else f"{split} messages"].append(build(c, mine, cache, message=message))
    return data


def fit(data, parts) -> dict[str, np.ndarray]:
    """Every linear model, as arrays by name."""
    items = [e for p in parts for e in data[p]]
    full = [e for e in items if e.ending is not None]
    out = {}
    for k, field in enumerate(FIELDS):
        use = [e for e in items if (e.fields[:, k] != UNKNOWN).all()]
        if field in ("cause", "solution", "symptom"):
            use = [e for e in use if field in e.near]
        x = np.concatenate([e.x for e in use])
        if field == "solution":
            # A quote that says "done" is far from what was done: learn how near each clause comes instead.
            model = Ridge(alpha=3000).fit(x, np.concatenate([e.near[field].max(axis=0) for e in use]))
            out[field], out[f"{field} intercept"] = model.coef_, np.array(model.intercept_)
            continue
        y = np.concatenate([e.fields[:, k] for e in use])
        model = LogisticRegression(C=0.1 if field == "attempt" else 0.01, max_iter=1000).fit(x, y)
        out[field], out[f"{field} intercept"] = model.coef_[0], model.intercept_[0]
    x = np.concatenate([e.x[e.outcome >= 0] for e in items])
    y = np.concatenate([e.outcome[e.outcome >= 0] for e in items])
    model = LogisticRegression(C=0.1, max_iter=2000).fit(x, y)
    out["outcome"], out["outcome intercept"] = model.coef_.T, model.intercept_
    for name, k in (("resolution", 2), ("kind", 3), ("has_solution", 1)):
        use = [e for e in full if e.whole[k] >= 0]
        model = LogisticRegression(C=1.0, max_iter=3000).fit(
            np.stack([e.ending for e in use]), [e.whole[k] for e in use]
        )
        out[name] = model.coef_.T if len(model.classes_) > 2 else model.coef_[0]
        out[f"{name} intercept"] = model.intercept_ if len(model.classes_) > 2 else model.intercept_[0]
    return {name: np.asarray(value, np.float16 if value.ndim else np.float32) for name, value in out.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--cache", type=Path, help="file that keeps sentence vectors between runs")
    parser.add_argument("--parts", default="train,train messages", help="splits to learn from, with commas")
    options = parser.parse_args()
    data = load(options.datasets, Cache(options.cache))
    print({k: len(v) for k, v in data.items()}, flush=True)
    weights = fit(data, options.parts.split(","))
    with options.output.open("wb") as file:
        np.savez_compressed(file, **weights)
    print(f"{options.output}: {options.output.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
