"""Train triage: logistic regressions over sentence vectors and, for the category, words.

python scripts/train_triage.py datasets -o memlab/extraction/triage.npz

Conversations about another IT topic than the six are learned as "other". Single messages with attempts are learned as
"not of low value"; they say nothing about categories.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression

from memlab.corpus import read_conversations
from memlab.evaluation.messages import message_conversations
from memlab.extraction.triage import triage_features, weighed_words, words_of
from memlab.models.embeddings import default_encoder

LEAST = 3  # conversations of the train split that hold a word
LOW_WEIGHT = 40.0  # of a conversation of low value; there are few, and each should count as much as its neighbours


def rarities(texts: list[list[str]]) -> dict[str, float]:
    """ln((1 + n) / (1 + texts with the word)) + 1 of the words that stand in `LEAST` of n texts or more."""
    held = Counter(word for words in texts for word in set(words))
    return {word: math.log((1 + len(texts)) / (1 + n)) + 1 for word, n in sorted(held.items()) if n >= LEAST}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--report", default="dev", help="splits to report on, with commas")
    options = parser.parse_args()
    splits = {"train", *options.report.split(",")}
    labels, conversations = {}, []
    for name in ("support", "reading"):
        for line in (options.datasets / name / "labels.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            labels.setdefault(row["conversation"], row)
        everything = read_conversations(options.datasets / name / "conversations.jsonl")
        conversations += [c for c in everything if c.metadata["split"] in splits]
    messages = {s: message_conversations(options.datasets / "messages/attempts.jsonl", split=s)[0] for s in splits}
    encoder = default_encoder()
    x = np.stack([triage_features(c, encoder) for c in conversations])
    low = np.array([labels[c.id]["low_value"] for c in conversations])
    category = np.array([str(labels[c.id]["category"]) for c in conversations])
    split = np.array([c.metadata["split"] for c in conversations])
    learn = split == "train"
    single = {s: np.stack([triage_features(c, encoder) for c in m]) for s, m in messages.items() if m}
    real = learn & ~low
    said = [words_of(c) for c in conversations]
    rarity = rarities([words for words, use in zip(said, real, strict=True) if use])
    counts = DictVectorizer(dtype=np.float32).fit([dict.fromkeys(rarity, 1.0)])
    words = counts.transform([weighed_words(w, rarity) for w in said])
    everything = csr_matrix(hstack([csr_matrix(x[:, :1152]), words]))
    kinds = LogisticRegression(C=5, max_iter=3000).fit(everything[real], category[real])
    value = LogisticRegression(C=3, max_iter=3000)
    known = np.append(low[learn], np.zeros(len(single["train"]), bool))
    weight = np.where(known, LOW_WEIGHT, 1.0)
    value.fit(np.concatenate([x[learn], single["train"]]), known, sample_weight=weight)
    for name in options.report.split(","):
        here = split == name
        shown = {
            "category": kinds.score(everything[here & ~low], category[here & ~low]),
            "low value": value.score(x[here], low[here]),
            "messages not of low value": 1 - value.predict(single[name]).mean() if name in single else np.nan,
        }
        print(name, int(here.sum()), " · ".join(f"{k} {v:.3f}" for k, v in shown.items()))
    with options.output.open("wb") as file:
        np.savez_compressed(
            file,
            names=kinds.classes_,
            category_w=kinds.coef_[:, :1152].astype(np.float32),
            words=np.array(counts.get_feature_names_out(), str),
            rarity=np.array([rarity[w] for w in counts.get_feature_names_out()], np.float32),
            word_w=kinds.coef_[:, 1152:].astype(np.float16),
            category_b=kinds.intercept_.astype(np.float32),
            low_w=value.coef_[0].astype(np.float32),
            low_b=np.float32(value.intercept_[0]),
        )


if __name__ == "__main__":
    main()
