"""Learn the prototypes that notebook 01 sets beside the extractor: mean vectors by field, and their cuts.

    python scripts/train_prototypes.py datasets -o memlab/evaluation/prototypes.npz

Means come from the train split (conversations and single messages), cuts from the dev split. A few minutes on one core.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from memlab import read_conversations
from memlab.evaluation import read_labels
from memlab.evaluation.labels import read_labels_without_ids
from memlab.evaluation.messages import message_conversations
from memlab.evaluation.prototypes import choose_cuts, learn_prototypes
from memlab.evaluation.studies import of_split
from memlab.models.embeddings import Remembering, default_encoder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    encoder = Remembering(default_encoder())
    everything, labels = [], []
    for name, read in (("support", read_labels), ("reading", read_labels_without_ids)):
        everything += read_conversations(options.datasets / name / "conversations.jsonl")
        labels += read(options.datasets / name / "labels.jsonl")
    messages, gold = message_conversations(options.datasets / "messages/attempts.jsonl", split="train")
    learned = learn_prototypes([*of_split(everything, "train"), *messages], [*labels, *gold], encoder=encoder)
    dev = of_split(everything, "dev")
    names = {c.id for c in dev}
    chosen = choose_cuts(learned, dev, [r for r in labels if r["conversation"] in names], encoder=encoder)
    options.output.write_bytes(chosen.to_bytes())
    print(json.dumps(chosen.cuts), len(chosen.means), "means")


if __name__ == "__main__":
    main()
