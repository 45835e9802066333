"""Train the offline reader: all-MiniLM-L6-v2 with heads that mark spans in a conversation, exported to int8 ONNX.

    python scripts/train_reader.py datasets/support -o memlab/extraction/reader.onnx

It learns from the conversations whose metadata say `split: train`, and from single messages, and reports on `dev`.
Needs torch and transformers (installed with sentence-transformers), and the package `onnx` for the export.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch
from torch import nn
from transformers import AutoModel

from memlab.corpus import read_conversations
from memlab.extraction.layout import lay_out, window_ids, windows
from memlab.extraction.tags import FIELDS, KINDS, OUTCOMES, RESOLUTIONS, TOKEN_WIDTH
from memlab.models.embeddings import minilm_folder
from memlab.records import Conversation, Turn, parse_time

IGNORE = -100


class Reader(nn.Module):
    """MiniLM, a linear head over tokens, and one over the mean of the window for resolution and solution kind."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = AutoModel.from_pretrained(minilm_folder(), attn_implementation="eager")
        self.encoder.embeddings.requires_grad_(False)  # half of all weights; there are too few examples to move them
        width = self.encoder.config.hidden_size
        self.drop = nn.Dropout(0.1)
        self.tokens = nn.Linear(width, TOKEN_WIDTH)
        self.gate = nn.Linear(width, 1)
        self.whole = nn.Linear(width, len(RESOLUTIONS) + len(KINDS))

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        hidden = self.drop(hidden)
        gate = self.gate(hidden).squeeze(-1).masked_fill(mask == 0, -1e4).softmax(-1)
        return self.tokens(hidden), self.whole((gate.unsqueeze(-1) * hidden).sum(1))


def targets(layout, rows):
    """Token targets of a conversation: one array a field, the outcome, the issue."""
    n = len(layout.tokens)
    tag = np.zeros((len(FIELDS), n), np.int64)
    outcome = np.full(n, IGNORE)
    issue = np.full(n, IGNORE)
    def mark(field, item, case, result=None):
        lo = item["_start"]
        hi = lo + len(item["quote"])
        found = [k for k, t in enumerate(layout.tokens) if t.turn == item["turn"] and t.start < hi and t.end > lo]
        for j, k in enumerate(found):
            tag[FIELDS.index(field), k] = 1 if j == 0 else 2
            if result is not None:
                outcome[k] = OUTCOMES.index(result)
            issue[k] = min(case, 1)
    for row in rows:
        case = row.get("case", 0)
        for item in row["symptoms"]:
            mark("symptom", item, case)
        for item in row.get("facts", []):
            mark("fact", item, case)
        for name, field in (("root_cause", "cause"), ("solution", "solution")):
            if row.get(name):
                mark(field, row[name], case)
        for item in row["attempts"]:
            mark("attempt", item, case, item["outcome"])
    return tag, outcome, issue


def locate(conversation, rows):
    for row in rows:
        items = [*row["symptoms"], *row.get("facts", []), *row["attempts"], row.get("root_cause"), row.get("solution")]
        for item in items:
            if item:
                item["_start"] = conversation.turns[item["turn"]].text.index(item["quote"])


def examples(conversation, rows):
    """(ids, targets, weights) of every window."""
    locate(conversation, rows)
    layout = lay_out(conversation)
    tag, outcome, issue = targets(layout, rows)
    real = [r for r in rows if not r["low_value"]]
    out = []
    for w in windows(layout):
        last = w.stop == len(layout.tokens)
        resolution = RESOLUTIONS.index(real[-1]["resolution"]) if last and len(real) == 1 else IGNORE
        kind = KINDS.index(real[-1]["solution_kind"]) if last and len(real) == 1 and real[-1]["solution_kind"] else IGNORE
        out.append((window_ids(layout, w), tag[:, w.start:w.stop], outcome[w.start:w.stop], issue[w.start:w.stop], resolution, kind))
    return out


def load(folder: Path):
    conversations = read_conversations(folder / "conversations.jsonl")
    labels = defaultdict(list)
    for line in (folder / "labels.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        labels[row["conversation"]].append(row)
    data = defaultdict(list)
    for c in conversations:
        data[c.metadata["split"]] += examples(c, labels[c.id])
    messages = folder.parent / "messages" / "attempts.jsonl"
    if messages.exists():
        for line in messages.read_text("utf-8").splitlines():
            m = json.loads(line)
            c = Conversation(m["id"], "x", parse_time("2026-01-01T00:00:00+00:00"), (Turn("user", m["text"]),))
            row = {"low_value": True, "symptoms": [], "root_cause": None, "solution": None,
                   "attempts": [{**a, "turn": 0} for a in m["attempts"]]}
            data[m.get("split", "train")] += [(ids, np.where(np.arange(len(FIELDS))[:, None] == 3, t, IGNORE), o, i, r, k)
                                              for ids, t, o, i, r, k in examples(c, [row])]
    return data


def batch(items):
    longest = max(len(x[0]) for x in items)
    def pad(a, value):
        return np.pad(a, (1, longest - len(a) - 1), constant_values=value)
    ids = torch.tensor([x[0] + [0] * (longest - len(x[0])) for x in items])
    mask = (ids != 0).long()
    tag = torch.tensor(np.array([[pad(f, IGNORE) for f in x[1]] for x in items]))
    outcome = torch.tensor(np.array([pad(x[2], IGNORE) for x in items]))
    issue = torch.tensor(np.array([pad(x[3], IGNORE) for x in items]))
    return ids, mask, tag, outcome, issue, torch.tensor([x[4] for x in items]), torch.tensor([x[5] for x in items])


def loss_of(model, items):
    ids, mask, tag, outcome, issue, resolution, kind = batch(items)
    tokens, whole = model(ids, mask)
    ce = nn.functional.cross_entropy
    n = len(FIELDS)
    weights = torch.tensor([0.4, 1.0, 1.0])
    total = sum(ce(tokens[..., 3 * f:3 * f + 3].transpose(1, 2), tag[:, f], ignore_index=IGNORE, weight=weights)
                for f in range(n) if (tag[:, f] != IGNORE).any())
    if (outcome != IGNORE).any():
        total = total + 0.5 * ce(tokens[..., 3 * n:3 * n + len(OUTCOMES)].transpose(1, 2), outcome, ignore_index=IGNORE)
    known = issue != IGNORE
    if known.any():
        total = total + 0.2 * nn.functional.binary_cross_entropy_with_logits(tokens[..., -1][known], issue[known].float())
    if (resolution != IGNORE).any():
        total = total + 0.3 * ce(whole[:, :len(RESOLUTIONS)], resolution, ignore_index=IGNORE)
    if (kind != IGNORE).any():
        total = total + 0.3 * ce(whole[:, len(RESOLUTIONS):], kind, ignore_index=IGNORE)
    return total


def train(data, *, epochs, seed, rate, minutes):
    torch.manual_seed(seed)
    rng = random.Random(seed)
    model = Reader()
    groups = [{"params": model.encoder.encoder.parameters(), "lr": rate},
              {"params": [*model.tokens.parameters(), *model.gate.parameters(), *model.whole.parameters()], "lr": 20 * rate}]
    optimiser = torch.optim.AdamW(groups, weight_decay=0.01)
    items, started = list(data), time.perf_counter()
    size, steps = 4, 0
    total = epochs * ((len(items) + size - 1) // size)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda s: min(1.0, s / (0.1 * total)) * max(0.0, 1 - s / total))
    for epoch in range(epochs):
        rng.shuffle(items)
        order = sorted(range(len(items)), key=lambda k: (len(items[k][0]) // 64, k))
        chunks = [order[k:k + size] for k in range(0, len(order), size)]
        rng.shuffle(chunks)
        model.train()
        losses = []
        for chunk in chunks:
            loss = loss_of(model, [items[k] for k in chunk])
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            losses.append(loss.item())
            steps += 1
        print(f"epoch {epoch}: loss {np.mean(losses):.3f}, {time.perf_counter() - started:.0f} s", flush=True)
        if (time.perf_counter() - started) / 60 > minutes:
            break
    return model


def export(model, path: Path) -> None:
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    model.eval()
    whole = path.with_suffix(".fp32.onnx")
    ids = torch.ones(1, 16, dtype=torch.long)
    torch.onnx.export(model, (ids, torch.ones_like(ids)), str(whole), input_names=["ids", "mask"],
                      output_names=["tokens", "whole"], dynamo=False, opset_version=17,
                      dynamic_axes={"ids": {0: "batch", 1: "length"}, "mask": {0: "batch", 1: "length"},
                                    "tokens": {0: "batch", 1: "length"}, "whole": {0: "batch"}})
    quantize_dynamic(str(whole), str(path), weight_type=QuantType.QInt8, per_channel=True)
    onnx.checker.check_model(str(path))
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rate", type=float, default=5e-5)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--all", action="store_true", help="learn from dev, too (for the released weights)")
    options = parser.parse_args()
    data = load(options.corpus)
    print({k: len(v) for k, v in data.items()})
    items = data["train"] + (data["dev"] if options.all else [])
    model = train(items, epochs=options.epochs, seed=options.seed, rate=options.rate, minutes=options.minutes)
    torch.save(model.state_dict(), options.output.with_suffix(".pt"))
    model.eval()
    with torch.no_grad():
        dev = data["dev"]
        print("dev loss", np.mean([loss_of(model, dev[k:k + 4]).item() for k in range(0, len(dev), 4)]))
    export(model, options.output)


if __name__ == "__main__":
    main()
