"""Train the reader model: the upper layers of MiniLM with two heads, over whole conversations.

    python scripts/train_reader.py datasets -o memlab/extraction

makes the shipped weights: it writes `reader.onnx` (the layers, int8) and `reader.npz` (the heads) there; needs torch and
onnx, which reading does not. It learns from the train split of the support conversations and of the single messages, and
from `datasets/reading`. `--share 0.5` takes half of them, for a learning curve.

A step or a symptom is told where the label's own quote stands, and named by every clause whose phrase means the same as
the label's canonical text: the first is what a clause is marked for, the second what it points to. For causes, solutions
and facts a clause is a target if its phrase comes closest to that text, with a bonus where the quote stands.
"""

from __future__ import annotations

import argparse
import json
import zlib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from reader_network import FROZEN, POINTING, Encoder, Reader, export
from torch import nn
from torch.nn import functional as F
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from memlab.corpus import read_conversations
from memlab.evaluation.messages import message_conversations
from memlab.extraction.clauses import clauses_of
from memlab.extraction.features import (
    clause_features,
    ending_features,
    ending_shares,
    relative_places,
    turn_shares,
)
from memlab.extraction.phrases import phrase
from memlab.extraction.reader import FIELDS, KINDS, NAMED, OUTCOMES, RESOLUTIONS
from memlab.extraction.windows import windows_of
from memlab.models.embeddings import default_encoder
from memlab.models.minilm import embeddings
from memlab.records import Conversation

BONUS = 0.15  # on the cosine of a clause that holds the label's quote
NEAR = 0.04  # clauses this close to the best one count as well
SAME, SOFT = 0.5, 0.04  # the cosine from which two texts mean the same, and how softly that is learned
EPOCHS = 6
LOWER = 0.8  # what a layer's learning rate is of the one's above it
LEAST = 0.02  # added to the probability of a right name, so that what no clause names costs little
AVERAGED = 0.998  # how much of the mean of all past weights stays at a step; the mean is what ships
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
    told: dict[str, list[tuple[int, np.ndarray]]]  # of each linked field: the clause, and how well each one names it
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
    places: torch.Tensor
    turns: torch.Tensor
    ends: torch.Tensor
    ending: torch.Tensor
    fields: torch.Tensor
    named: torch.Tensor
    told: dict[str, tuple[torch.Tensor, torch.Tensor]]  # clauses (k,), and how well each clause names them (k, clauses)
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
    told: dict[str, list[tuple[int, np.ndarray]]] = {field: [] for field in POINTING}
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
                if field in POINTING and held.any():
                    chosen = [int(np.where(held, near, -1).argmax())]
                    told[field].append((chosen[0], near))
                else:
                    near = near + BONUS * held
                    chosen = np.flatnonzero(near >= near.max() - NEAR)
                y[chosen, FIELDS.index(field)] = 1
                if row.get("case", 0) > 0:
                    y[chosen, FIELDS.index("second")] = 1
                if field == "attempt":
                    outcome[chosen] = OUTCOMES.index(item["outcome"])
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
    return Targets(y, named, told, outcome, whole)


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
        tensor(relative_places(clauses)),
        tensor(turn_shares(clauses)),
        tensor(ending_shares(clauses)),
        tensor(ending_features(clauses)),
        tensor(t.fields),
        tensor(same(t.named)),
        {
            f: (torch.tensor([n for n, _ in k]), tensor(same(np.stack([v for _, v in k]))))
            for f, k in t.told.items()
            if k
        },
        tensor(t.outcome),
        t.whole,
        case.message,
    )


def same(cosines: np.ndarray) -> np.ndarray:
    """How far texts mean the same, in [0, 1]."""
    return (1 / (1 + np.exp(-(cosines - SAME) / SOFT))).astype(np.float32)


def loss(reader: Reader, e: Example) -> torch.Tensor:
    clause, whole, links = reader(e)
    clause, whole = clause.float(), whole.float()
    bce = F.binary_cross_entropy_with_logits
    fields, k = len(FIELDS), FIELDS.index("attempt")
    if e.message:
        n = NAMED.index("attempt")
        total = 1.5 * bce(clause[:, k], e.fields[:, k], reduction="sum") / 20
        total = total + bce(clause[:, fields + n], e.named[:, n], reduction="sum") / 40
    else:
        total = bce(clause[:, :fields], e.fields, reduction="sum") / 20
        total = total + bce(clause[:, fields : fields + len(NAMED)], e.named, reduction="sum") / 40
    for field, (clauses, naming) in e.told.items():
        right = (torch.softmax(links[field].float()[clauses], 1) * naming).sum(1)
        total = total - torch.log(right + LEAST).sum() * (0.05 if e.message else 0.075)
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


def train(reader: Reader, examples: list[Example], *, epochs: int, batch: int, rate: float) -> Reader:
    """Tune a reader; the mean of its weights over the last steps is a new one."""
    rng = np.random.default_rng(0)
    encoder = {id(p) for p in reader.encoder.parameters()}
    heads = [p for p in reader.parameters() if id(p) not in encoder]
    tuned = [list(layer.parameters()) for layer in reader.encoder.layers[FROZEN:]]
    groups = [{"params": heads, "lr": 2e-3}]
    # The lower a layer, the more it keeps of what it knows: Howard & Ruder 2018, doi:10.18653/v1/P18-1031.
    groups += [{"params": layer, "lr": rate * LOWER**n} for n, layer in enumerate(reversed(tuned))]
    optimiser = torch.optim.AdamW(groups, weight_decay=0.01, fused=True)
    batches = len(examples) // batch + 1
    steps = epochs * batches
    warm = 0.1 * steps
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda k: min((k + 1) / warm, max(0.02, (steps - k) / (steps - warm)))
    )
    everything = [p for group in groups for p in group["params"]]
    mean = AveragedModel(reader, multi_avg_fn=get_ema_multi_avg_fn(AVERAGED))
    reader.train()
    for epoch in range(epochs):
        total = 0.0
        for numbers in np.array_split(rng.permutation(len(examples)), batches):
            optimiser.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                part = sum(loss(reader, examples[n]) for n in numbers) / len(numbers)
            part.backward()
            total += part.item()
            nn.utils.clip_grad_norm_(everything, 1.0)
            optimiser.step()
            schedule.step()
            mean.update_parameters(reader)
        print(f"epoch {epoch}: loss {total / batches:.3f}", flush=True)
    return mean.module.eval()


def chosen(folder: Path, share: float) -> list[tuple[Conversation, list[dict], bool]]:
    """Conversations and messages of the train split with their labels; a smaller share is part of every greater one."""
    found = []
    for name in ("support", "reading"):
        rows = defaultdict(list)
        for line in (folder / name / "labels.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            rows[row["conversation"]].append(row)
        everything = read_conversations(folder / name / "conversations.jsonl")
        found += [(c, rows[c.id], False) for c in everything if c.metadata["split"] == "train"]
    messages, labels = message_conversations(folder / "messages/attempts.jsonl", split="train")
    found += [(m, [r], True) for m, r in zip(messages, labels, strict=True)]
    return [one for one in found if zlib.crc32(one[0].id.encode()) % 1000 < 1000 * share]


def sizes(folder: Path, *, share: float = 1.0) -> dict[str, int]:
    """How many conversations and messages a share is."""
    found = [message for *_, message in chosen(folder, share)]
    return {"conversations": len(found) - sum(found), "messages": sum(found)}


def load(folder: Path, vectors: Cache, *, share: float = 1.0) -> list[Case]:
    out = []
    for conversation, rows, message in chosen(folder, share):
        if clauses := clauses_of(conversation):
            t = targets(conversation, clauses, rows, vectors, message=message)
            out.append(Case(clauses, t, message))
    return out


def save(reader: Reader, folder: Path) -> None:
    linears = {"clause in": reader.clause[0], "clause out": reader.clause[3], "regard in": reader.regard}
    linears |= {"whole in": reader.whole[0], "whole out": reader.whole[3]}
    link = reader.links["attempt"]
    linears |= {"attempt told in": link.told, "attempt name in": link.name}
    heads = {"attempt place": link.place.weight.detach().numpy()[:, 0]}
    for name, linear in linears.items():
        heads[name] = linear.weight.detach().numpy().T.astype(np.float16)
        heads[f"{name} bias"] = linear.bias.detach().numpy().astype(np.float32)
    with (folder / "reader.npz").open("wb") as file:
        np.savez_compressed(file, **heads)
    export(reader.encoder, folder / "reader.onnx")


def fit(datasets: Path, *, share: float = 1.0, epochs: int = EPOCHS, cache: Path | None = None) -> Reader:
    """A trained network; the same on the same machine for the same data."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    reader, vectors = Reader().eval(), Cache(cache)
    cases = load(datasets, vectors, share=share)
    vectors.save()
    print(f"{sum(not c.message for c in cases)} conversations, {sum(c.message for c in cases)} messages", flush=True)
    return train(reader, [example(c, reader.encoder) for c in cases], epochs=epochs, batch=3, rate=1.5e-4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder of the weights")
    parser.add_argument("--cache", type=Path, help="file that keeps sentence vectors between runs")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--share", type=float, default=1.0, help="of the conversations and messages")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    reader = fit(options.datasets, share=options.share, epochs=options.epochs, cache=options.cache)
    save(reader, options.output)


if __name__ == "__main__":
    main()
