"""How well the reader reads, by how much it learned from: the learning curve that notebook 01 shows.

    python scripts/learning_curve.py datasets -o benchmarks/results/learning_curve.json --shares 0.125 0.25 0.5

trains the reader on each share of the train split (a smaller share is part of every greater one) and scores it on dev,
test and the test messages; the last rows are those of the shipped weights, which learned from everything. Rows of other
shares that the file holds already are kept. Nothing is chosen by these figures.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import train_reader

from memlab.corpus import read_conversations
from memlab.evaluation.extraction import evaluate_extraction, read_labels
from memlab.evaluation.matching import TextVectors
from memlab.evaluation.messages import message_conversations
from memlab.evaluation.studies import of_split, without_category
from memlab.extraction import OfflineExtractor, reader, windows

FIELDS = ("symptoms", "root_cause", "solution", "attempts", "attempt_actions", "resolution")


def scores(datasets: Path) -> list[dict[str, object]]:
    """F1 by split and field, of the weights in use."""
    extractor, rows = OfflineExtractor(), []
    vectors = TextVectors(extractor.encoder)
    labels = read_labels(datasets / "support/labels.jsonl")
    conversations = read_conversations(datasets / "support/conversations.jsonl")
    parts = {s: (without_category(of_split(conversations, s)), labels) for s in ("dev", "test")}
    parts["test messages"] = message_conversations(datasets / "messages/attempts.jsonl", split="test")
    for split, (texts, gold) in parts.items():
        known = {c.id for c in texts}
        proposals = [p for c in texts for p in extractor.extract(c)]
        found = evaluate_extraction(proposals, [g for g in gold if g["conversation"] in known], vectors=vectors)
        for field in FIELDS if split != "test messages" else ("attempts", "attempt_actions"):
            own = found.counts[found.counts["field"] == field]
            f1 = 2 * own["matched"].sum() / max(1, (own["predicted"] + own["gold"]).sum())
            rows.append({"split": split, "field": field, "f1": round(float(f1), 4)})
    return rows


def use(folder: Path) -> None:
    """Read with the weights of a folder."""
    reader._file = lambda: (folder / "reader.npz").read_bytes()
    windows.model_bytes = reader.model_bytes = lambda: (folder / "reader.onnx").read_bytes()
    for cached in (reader._weights, reader.weights_version, windows._layers):
        cached.cache_clear()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--shares", type=float, nargs="*", default=[0.125, 0.25, 0.5])
    parser.add_argument("--keep", type=Path, help="folder that keeps each share's weights, and uses those it has")
    parser.add_argument("--cache", type=Path, help="file that keeps sentence vectors between runs")
    options = parser.parse_args()
    old = json.loads(options.output.read_text("utf-8"))["rows"] if options.output.exists() else []
    rows = [{"share": 1.0, **train_reader.sizes(options.datasets), **row} for row in scores(options.datasets)]
    for share in options.shares:
        with tempfile.TemporaryDirectory() as place:
            folder = (options.keep or Path(place)) / str(share)
            if not (folder / "reader.onnx").exists():
                folder.mkdir(parents=True, exist_ok=True)
                train_reader.save(train_reader.fit(options.datasets, share=share, cache=options.cache), folder)
            use(folder)
            sizes = train_reader.sizes(options.datasets, share=share)
            rows += [{"share": share, **sizes, **row} for row in scores(options.datasets)]
    made = {row["share"] for row in rows}
    rows = sorted([*rows, *(row for row in old if row["share"] not in made)], key=lambda row: row["share"])
    text = json.dumps({"rows": rows, "made_by": "scripts/learning_curve.py"}, indent=1)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.with_suffix(".tmp").write_text(text + "\n", "utf-8")
    options.output.with_suffix(".tmp").replace(options.output)


if __name__ == "__main__":
    main()
