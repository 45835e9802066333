"""Train the reader model: the last layers of MiniLM with two heads over whole conversations, and linear models beside.

    python scripts/train_reader.py datasets -o memlab/extraction --all

makes the shipped weights: it writes `reader.onnx` (the layers, int8) and `reader.npz` (heads and linear models) there. About ten minutes on one core;
needs torch and onnx, which reading does not. It learns from the train split of the conversations and of the single
messages. A clause is a target for a field if the phrase made of it comes closest to the label's canonical text, with a
bonus where the label's own quote stands; and, for a second output, as far as that phrase means the same as that text.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import zlib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from reader_network import FROZEN, Encoder, Reader
from torch import nn
from torch.nn import functional as F

from memlab.corpus import read_conversations
from memlab.evaluation.messages import message_conversations
from memlab.extraction.clauses import clauses_of
from memlab.extraction.features import (
    clause_features,
    ending_features,
    ending_shares,
    turn_shares,
)
from memlab.extraction.phrases import phrase
from memlab.extraction.reader import FIELDS, KINDS, LINEAR, NAMED, OUTCOMES, RESOLUTIONS
from memlab.extraction.verdicts import PROTOTYPES, ending_linear_features, linear_features, verdict_features
from memlab.extraction.windows import embeddings, windows_of
from memlab.models.embeddings import default_encoder

BONUS = 0.15  # on the cosine of a clause that holds the label's quote
NEAR = 0.04  # clauses this close to the best one count as well
SAME, SOFT = 0.5, 0.04  # the cosine from which two texts mean the same, and how softly that is learned
FIELD_OF = {
    "symptoms": "symptom",
    "root_cause": "cause",
    "solution": "solution",
    "attempts": "attempt",
    "facts": "fact",
}


@dataclass
class Targets:
    fields: np.ndarray  # (clauses, fields)
    named: np.ndarray  # (clauses, named): the best cosine with a canonical text
    outcome: np.ndarray  # (clauses,), -1 where no attempt
    whole: tuple[int, int, int, int]  # resolution, kind, has cause, has solution; -1 where unknown


@dataclass
class Case:
    clauses: list
    targets: Targets
    message: bool


@dataclass
class Example:
    windows: list  # (hidden states under the tuned layers, clauses, their shares of the tokens)
    features: torch.Tensor
    turns: torch.Tensor
    ends: torch.Tensor
    ending: torch.Tensor
    fields: torch.Tensor
    named: torch.Tensor
    outcome: torch.Tensor
    whole: tuple[int, int, int, int]
    message: bool


class Cache:
    """Vectors of texts, each encoded once, kept between runs of this script if a file is given."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.vectors = path, {}
        if path and path.exists():
            with np.load(path, allow_pickle=True) as z:
                self.vectors = dict(zip(z["texts"], z["vectors"], strict=True))

    def __call__(self, texts) -> np.ndarray:
        fresh = sorted(set(texts) - self.vectors.keys())
        if fresh:
            self.vectors.update(zip(fresh, default_encoder().encode(fresh), strict=True))
        return np.stack([self.vectors[t] for t in texts])

    def save(self) -> None:
        if self.path:
            texts = np.array(list(self.vectors), dtype=object)
            np.savez(self.path, texts=texts, vectors=np.stack(list(self.vectors.values())))


def items_of(row, name):
    value = row.get(name) or []
    return value if isinstance(value, list) else [value]


def targets(conversation, clauses, rows, vectors, *, message: bool) -> Targets:
    category = None if message else rows[0]["category"]
    y = np.zeros((len(clauses), len(FIELDS)), np.float32)
    named = np.zeros((len(clauses), len(NAMED)), np.float32)
    outcome = np.full(len(clauses), -1)
    for row in rows:
        for name, field in FIELD_OF.items():
            for item in items_of(row, name):
                held = np.array([_holds(conversation, c, item) for c in clauses])
                near = held.astype(np.float32)
                if field != "fact":
                    gold = vectors([item.get("text") or item["action"]])[0]
                    near = vectors([phrase(conversation, c, field, category) for c in clauses]) @ gold
                    k = NAMED.index(field)
                    named[:, k] = np.maximum(named[:, k], near)
                near = near + BONUS * held
                if field == "attempt" and not message:
                    # The action was done by the turn that says so; its words may stand in an instruction before it.
                    near[[c.turn > item["turn"] for c in clauses]] = -1
                best = int(near.argmax())
                chosen = [best] if field == "attempt" else np.flatnonzero(near >= near.max() - NEAR)
                y[chosen, FIELDS.index(field)] = 1
                if row.get("case", 0) > 0:
                    y[chosen, FIELDS.index("second")] = 1
                if field == "attempt":
                    outcome[best] = OUTCOMES.index(item["outcome"])
    real = [r for r in rows if not r["low_value"]]
    whole = (-1, -1, -1, -1)
    if real and not message:
        kinds = [r["solution_kind"] for r in real if r["solution_kind"]]
        whole = (
            RESOLUTIONS.index(real[0]["resolution"]),
            KINDS.index(kinds[0]) if kinds else -1,
            int(any(r["root_cause"] for r in rows)),
            int(any(r["solution"] for r in rows)),
        )
    return Targets(y, named, outcome, whole)


def _holds(conversation, clause, item) -> bool:
    if clause.turn != item["turn"]:
        return False
    at = conversation.turns[item["turn"]].text.index(item["quote"])
    shared = max(0, min(clause.end, at + len(item["quote"])) - max(clause.start, at))
    return shared >= 0.5 * min(len(item["quote"]), clause.end - clause.start)


def example(case: Case, encoder: Encoder) -> Example:
    clauses, t = case.clauses, case.targets
    words, places = embeddings()
    windows = []
    for w in windows_of(clauses):
        shares = torch.zeros(len(w.spans), len(w.ids))
        for row, (_, start, end) in enumerate(w.spans):
            shares[row, start:end] = 1 / (end - start)
        with torch.no_grad():
            x = encoder.below(torch.from_numpy(words[list(w.ids)] + places[: len(w.ids)]))
        windows.append((x.half(), [n for n, _, _ in w.spans], shares.half()))
    tensor = torch.from_numpy
    return Example(
        windows,
        tensor(clause_features(clauses)),
        tensor(turn_shares(clauses)),
        tensor(ending_shares(clauses)),
        tensor(ending_features(clauses)),
        tensor(t.fields),
        tensor(1 / (1 + np.exp(-(t.named - SAME) / SOFT))).float(),
        tensor(t.outcome),
        t.whole,
        case.message,
    )


def loss(reader: Reader, e: Example) -> torch.Tensor:
    clause, whole = reader(e)
    bce = F.binary_cross_entropy_with_logits
    fields, k = len(FIELDS), FIELDS.index("attempt")
    if e.message:
        total = 1.5 * bce(clause[:, k], e.fields[:, k], reduction="sum") / 20
    else:
        total = bce(clause[:, :fields], e.fields, reduction="sum") / 20
        total = total + bce(clause[:, fields : fields + len(NAMED)], e.named, reduction="sum") / 40
    tried = e.outcome >= 0
    if tried.any():
        total = total + F.cross_entropy(clause[tried, -len(OUTCOMES) :], e.outcome[tried], reduction="sum") / 4
    resolution, kind, *has = e.whole
    if resolution >= 0:
        total = total + F.cross_entropy(whole[None, :4], torch.tensor([resolution])) / 2
        total = total + bce(whole[5:], torch.tensor(has, dtype=torch.float32), reduction="sum") / 4
        if kind >= 0:
            total = total + bce(whole[4], torch.tensor(float(kind))) / 4
    return total


def train(reader: Reader, examples: list[Example], *, epochs: int, batch: int, rate: float) -> None:
    rng = np.random.default_rng(0)
    heads = [*reader.clause.parameters(), *reader.whole.parameters()]
    layers = list(reader.encoder.layers[FROZEN:].parameters())
    groups = [{"params": layers, "lr": rate}, {"params": heads, "lr": 2e-3}]
    optimiser = torch.optim.AdamW(groups, weight_decay=0.01)
    batches = len(examples) // batch + 1
    steps = epochs * batches
    warm = 0.1 * steps
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda k: min((k + 1) / warm, max(0.02, (steps - k) / (steps - warm)))
    )
    reader.train()
    for epoch in range(epochs):
        total = 0.0
        for chosen in np.array_split(rng.permutation(len(examples)), batches):
            optimiser.zero_grad()
            for n in chosen:
                part = loss(reader, examples[n]) / len(chosen)
                part.backward()
                total += part.item()
            nn.utils.clip_grad_norm_([*layers, *heads], 1.0)
            optimiser.step()
            schedule.step()
        print(f"epoch {epoch}: loss {total / batches:.3f}", flush=True)
    reader.eval()


def load(folder: Path, vectors: Cache, *, fold: int) -> list[Case]:
    rows = defaultdict(list)
    for line in (folder / "support/labels.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        rows[row["conversation"]].append(row)
    everything = read_conversations(folder / "support/conversations.jsonl")
    found = [(c, rows[c.id], False) for c in everything if c.metadata["split"] == "train"]
    messages, labels = message_conversations(folder / "messages/attempts.jsonl", split="train")
    # A fifth of the messages is kept aside for thresholds, unless --all.
    kept = [(m, [r], True) for m, r in zip(messages, labels, strict=True) if zlib.crc32(m.id.encode()) % 5 != fold]
    out = []
    for conversation, mine, message in found + kept:
        clauses = clauses_of(conversation)
        if clauses:
            t = targets(conversation, clauses, mine, vectors, message=message)
            out.append(Case(clauses, t, message))
    return out


def fit_linear(cases: list[Case], vectors: Cache) -> dict[str, np.ndarray]:
    """The linear models as arrays by name: weights with a column for each output, and intercepts."""
    from sklearn.linear_model import LogisticRegression

    prototypes = np.stack([vectors(texts).mean(axis=0) for texts in PROTOTYPES.values()])
    prototypes /= np.linalg.norm(prototypes, axis=1, keepdims=True)
    plain = [vectors([c.text for c in case.clauses]) for case in cases]
    features = [clause_features(case.clauses) for case in cases]
    seen = [(c.clauses, f, v) for c, f, v in zip(cases, features, plain, strict=True)]
    verdicts = [verdict_features(*one, prototypes) for one in seen]
    x = [linear_features(*one, j) for one, j in zip(seen, verdicts, strict=True)]
    columns = []
    for field in LINEAR:
        k = FIELDS.index(field)
        use = [n for n, c in enumerate(cases) if field == "attempt" or not c.message]
        model = LogisticRegression(C=0.1 if field == "attempt" else 0.01, max_iter=500)
        model.fit(np.concatenate([x[n] for n in use]), np.concatenate([cases[n].targets.fields[:, k] for n in use]))
        columns.append((model.coef_[0], model.intercept_[0]))
    tried = [c.targets.outcome >= 0 for c in cases]
    y = np.concatenate([c.targets.outcome[t] for c, t in zip(cases, tried, strict=True)])
    # Verdicts in single messages are learned twice: there are fewer of them, and they are worded more richly.
    weight = np.concatenate([np.full(t.sum(), 1.0 + c.message) for c, t in zip(cases, tried, strict=True)])
    outcome = LogisticRegression(C=0.3, max_iter=500)
    outcome.fit(np.concatenate([v[t] for v, t in zip(verdicts, tried, strict=True)]), y, sample_weight=weight)
    ended = [n for n, c in enumerate(cases) if c.targets.whole[0] >= 0]
    resolution = LogisticRegression(C=0.3, max_iter=800).fit(
        np.stack([ending_linear_features(*seen[n], prototypes) for n in ended]),
        [cases[n].targets.whole[0] for n in ended],
    )
    return {
        "prototypes": prototypes.astype(np.float32),
        "fields": np.stack([c for c, _ in columns], axis=1).astype(np.float16),
        "fields bias": np.array([b for _, b in columns], np.float32),
        "outcome": outcome.coef_.T.astype(np.float16),
        "outcome bias": outcome.intercept_.astype(np.float32),
        "resolution": resolution.coef_.T.astype(np.float16),
        "resolution bias": resolution.intercept_.astype(np.float32),
    }


def save(reader: Reader, linear: dict[str, np.ndarray], folder: Path) -> None:
    from onnxruntime.quantization import QuantType, quantize_dynamic

    reader.eval()
    heads = dict(linear)
    for name, head in (("clause", reader.clause), ("whole", reader.whole)):
        for place, linear in (("in", head[0]), ("out", head[3])):
            heads[f"{name} {place}"] = linear.weight.detach().numpy().T.astype(np.float16)
            heads[f"{name} {place} bias"] = linear.bias.detach().numpy().astype(np.float32)
    with (folder / "reader.npz").open("wb") as file:
        np.savez_compressed(file, **heads)
    with tempfile.TemporaryDirectory() as place:
        full = Path(place) / "full.onnx"
        torch.onnx.export(
            reader.encoder,
            (torch.zeros(9, 384),),
            str(full),
            input_names=["embedded"],
            output_names=["hidden"],
            dynamic_axes={"embedded": {0: "tokens"}, "hidden": {0: "tokens"}},
            opset_version=17,
            dynamo=False,
        )
        quantize_dynamic(full, folder / "reader.onnx", weight_type=QuantType.QInt8, per_channel=True)
    for name in ("reader.npz", "reader.onnx"):
        print(f"{folder / name}: {(folder / name).stat().st_size / 1e6:.2f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder of the weights")
    parser.add_argument("--cache", type=Path, help="file that keeps sentence vectors between runs")
    parser.add_argument("--epochs", type=int, default=7)
    parser.add_argument("--all", action="store_true", help="learn from the messages that are kept aside as well")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    reader, vectors = Reader().eval(), Cache(options.cache)
    cases = load(options.datasets, vectors, fold=-1 if options.all else 0)
    linear = fit_linear(cases, vectors)
    vectors.save()
    print(f"{len(cases)} conversations and messages", flush=True)
    examples = [example(c, reader.encoder) for c in cases]
    # Single messages teach attempts alone and are many: whole conversations are seen twice an epoch.
    examples += [e for e in examples if not e.message]
    train(reader, examples, epochs=options.epochs, batch=3, rate=1.5e-4)
    save(reader, linear, options.output)


if __name__ == "__main__":
    main()
