"""Train triage: logistic regressions over sentence vectors for the category and for low value.

python scripts/train_triage.py datasets/support -o memlab/extraction/triage.npz
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from memlab.corpus import read_conversations
from memlab.extraction.triage import triage_features
from memlab.models.embeddings import default_encoder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    labels = {}
    for line in (options.corpus / "labels.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        labels.setdefault(row["conversation"], row)
    conversations = read_conversations(options.corpus / "conversations.jsonl")
    encoder = default_encoder()
    x = np.stack([triage_features(c, encoder) for c in conversations])
    low = np.array([labels[c.id]["low_value"] for c in conversations])
    category = np.array([str(labels[c.id]["category"]) for c in conversations])
    split = np.array([c.metadata["split"] for c in conversations])
    learn = split == "train"
    kinds = LogisticRegression(C=20, max_iter=2000).fit(x[learn & ~low, :768], category[learn & ~low])
    value = LogisticRegression(C=3, max_iter=2000, class_weight="balanced").fit(x[learn], low[learn])
    for name in ("dev", "test"):
        here = split == name
        print(
            name,
            "category",
            round(kinds.score(x[here & ~low, :768], category[here & ~low]), 3),
            "of",
            int((here & ~low).sum()),
            "· low value",
            round(value.score(x[here], low[here]), 3),
            "of",
            int(here.sum()),
        )
    np.savez_compressed(
        options.output,
        names=kinds.classes_,
        category_w=kinds.coef_.astype(np.float32),
        category_b=kinds.intercept_.astype(np.float32),
        low_w=value.coef_[0].astype(np.float32),
        low_b=np.float32(value.intercept_[0]),
    )


if __name__ == "__main__":
    main()
