"""The network that `train_reader.py` trains: MiniLM with two small heads, over one conversation at a time.

    python scripts/reader_network.py memlab/models/minilm.onnx

writes MiniLM itself, untuned, as the int8 layers that sentence vectors are made with.
"""

from __future__ import annotations

import math
import sys
import tempfile
from pathlib import Path
from typing import Protocol

import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional as F

from memlab.extraction.features import ENDING, PLACES, WIDTH
from memlab.extraction.reader import FIELDS, NAMED, OUTCOMES, RESOLUTIONS
from memlab.models.minilm import minilm_folder

FROZEN = 2  # layers that stay as they are
REGARDS = 2  # weighted means of the clauses that are learned for the conversation's ending
POINTING = ("symptom", "attempt")  # only the second is read with: a symptom is named best by who tells of it
LINK = 64  # dimensions in which a clause that tells of something meets the one that names it


class Seen(Protocol):
    """What the network looks at of a conversation."""

    windows: list  # (hidden states under the tuned layers, clauses, their shares of the tokens)
    features: torch.Tensor
    places: torch.Tensor
    turns: torch.Tensor
    ends: torch.Tensor
    ending: torch.Tensor


class Layer(nn.Module):
    """One layer of BERT with the weights of MiniLM, over one text."""

    def __init__(self, weights: dict[str, torch.Tensor], n: int) -> None:
        super().__init__()

        def load(module: nn.Module, name: str) -> nn.Module:
            for kind in ("weight", "bias"):
                getattr(module, kind).data.copy_(weights[f"encoder.layer.{n}.{name}.{kind}"])
            return module

        self.q, self.k, self.v = (load(nn.Linear(384, 384), f"attention.self.{x}") for x in ("query", "key", "value"))
        self.o = load(nn.Linear(384, 384), "attention.output.dense")
        self.n1 = load(nn.LayerNorm(384, eps=1e-12), "attention.output.LayerNorm")
        self.i = load(nn.Linear(384, 1536), "intermediate.dense")
        self.d = load(nn.Linear(1536, 384), "output.dense")
        self.n2 = load(nn.LayerNorm(384, eps=1e-12), "output.LayerNorm")
        self.drop = nn.Dropout(0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (f(x).reshape(-1, 12, 32).transpose(0, 1) for f in (self.q, self.k, self.v))
        weight = torch.softmax(q @ k.transpose(1, 2) / math.sqrt(32), -1)
        x = self.n1(x + self.drop(self.o((weight @ v).transpose(0, 1).reshape(-1, 384))))
        return self.n2(x + self.drop(self.d(F.gelu(self.i(x)))))


class Encoder(nn.Module):
    """From embedded tokens (their word and place summed) to hidden states."""

    def __init__(self, weights: dict[str, torch.Tensor]) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(384, eps=1e-12)
        self.norm.weight.data.copy_(weights["embeddings.LayerNorm.weight"])
        self.norm.bias.data.copy_(weights["embeddings.LayerNorm.bias"])
        self.layers = nn.ModuleList(Layer(weights, n) for n in range(6))

    def below(self, embedded: torch.Tensor) -> torch.Tensor:
        x = self.norm(embedded)
        for layer in self.layers[:FROZEN]:
            x = layer(x)
        return x

    def above(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers[FROZEN:]:
            x = layer(x)
        return x

    def forward(self, embedded: torch.Tensor) -> torch.Tensor:
        return self.above(self.below(embedded))


class Link(nn.Module):
    """From a clause that tells of something to those that may name it."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.told, self.name, self.place = nn.Linear(size, LINK), nn.Linear(size, LINK), nn.Embedding(PLACES, 1)
        nn.init.zeros_(self.place.weight)

    def forward(self, x: torch.Tensor, places: torch.Tensor, named: torch.Tensor) -> torch.Tensor:
        return self.told(x) @ self.name(x).T / math.sqrt(LINK) + self.place(places)[..., 0] + named


class Reader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = minilm()
        outputs, size = len(FIELDS) + len(NAMED) + len(OUTCOMES), 2 * 384 + WIDTH

        def head(size: int, hidden: int, out: int) -> nn.Module:
            return nn.Sequential(nn.Linear(size, hidden), nn.GELU(), nn.Dropout(0.2), nn.Linear(hidden, out))

        self.clause = head(size, 128, outputs)
        self.regard = nn.Linear(384, REGARDS)
        self.whole = head((3 + REGARDS) * 384 + ENDING, 64, len(RESOLUTIONS) + 3)
        self.links = nn.ModuleDict({field: Link(size) for field in POINTING})
        self.drop = nn.Dropout(0.2)

    def forward(self, e: Seen) -> tuple[torch.Tensor, torch.Tensor, dict[str, torch.Tensor]]:
        parts = [shares.float() @ self.encoder.above(self.drop(x.float())) for x, _, shares in e.windows]
        order = torch.tensor([n for _, clauses, _ in e.windows for n in clauses])
        h = torch.cat(parts)[torch.argsort(order)]
        x = torch.cat([h, e.turns @ h, e.features], 1)
        clause = self.clause(x)
        named = {field: clause[:, len(FIELDS) + NAMED.index(field)] for field in POINTING}
        x = self.drop(x)
        links = {field: self.links[field](x, e.places, named[field]) for field in POINTING}
        regard = torch.softmax(self.regard(h), 0).T
        whole = torch.cat([(e.ends @ h).reshape(-1), (regard @ h).reshape(-1), e.ending])
        return clause, self.whole(whole), links


def minilm() -> Encoder:
    """all-MiniLM-L6-v2 as it was published."""
    return Encoder(load_file(str(minilm_folder() / "model.safetensors")))


def export(encoder: Encoder, path: Path) -> None:
    """Write the layers with int8 weights as ONNX; seven bits a weight, so that no processor's sums overflow."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as place:
        full = Path(place) / "full.onnx"
        torch.onnx.export(
            encoder.eval(),
            (torch.zeros(9, 384),),
            str(full),
            input_names=["embedded"],
            output_names=["hidden"],
            dynamic_axes={"embedded": {0: "tokens"}, "hidden": {0: "tokens"}},
            opset_version=17,
            dynamo=False,
        )
        quantize_dynamic(full, path, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True)
    print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    export(minilm(), Path(sys.argv[1]))
