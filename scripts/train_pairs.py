"""Train the curator's pair model: is this the same symptom, root cause or solution? One logistic regression a kind.

    python scripts/train_pairs.py datasets/support -o memlab/curation/pairs.json

Pairs are wordings (canonical texts and verbatim quotes) of one customer and category; positive if they carry the same
label id. Pairs that a guard keeps apart are left out, as the curator never asks the model about them. It learns from
the train split's causes and reports the area under the ROC curve and the pairs it gets wrong on the other splits.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_recall_curve, roc_auc_score

from memlab.curation.decide import FEATURES, pair_features
from memlab.curation.guards import conflict
from memlab.curation.keys import normal_key
from memlab.models.embeddings import default_encoder

# Chosen by hand on the corpus: the pair verdict, the review queue, and what merging asks for (see `decide.merges`).
CUTS = {
    "symptom": {"same_above": 0.45, "review_above": 0.35, "merge_above": 0.45, "sure_above": 0.88, "margin": 0.15},
    "cause": {"same_above": 0.5, "review_above": 0.4, "merge_above": 0.95, "sure_above": 0.97, "margin": 0.1},
    "solution": {"same_above": 0.5, "review_above": 0.4, "merge_above": 0.8, "sure_above": 0.9, "margin": 0.15},
}
KINDS = {"symptom": "symptoms", "cause": "root_cause", "solution": "solution"}


def wordings(folder: Path, kind: str) -> dict[tuple[str, str], set[tuple[str, str, str]]]:
    """(customer, category) → {(label id, wording, split)}."""
    conversations = {}
    for line in (folder / "conversations.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        conversations[row["id"]] = row
    causes = {}
    for line in (folder / "causes.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        causes[row["id"]] = row
    out = defaultdict(set)
    for line in (folder / "labels.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        found = row[KINDS[kind]]
        for item in found if isinstance(found, list) else [found] if found else []:
            cause = causes[item["id"].rsplit("-", 1)[0]]
            place = (cause["customer"], cause["category"])
            for text in (item["text"], item["quote"][:160]):
                out[place].add((item["id"], text, cause["split"]))
    return out


def pairs(folder: Path, kind: str):
    for _, found in sorted(wordings(folder, kind).items()):
        for a, b in itertools.combinations(sorted(found), 2):
            if a[2] == b[2] and normal_key(a[1]) != normal_key(b[1]) and not conflict(a[1], b[1]):
                yield a, b


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    encoder, model = default_encoder(), {}
    for kind in KINDS:
        found = list(pairs(options.corpus, kind))
        texts = sorted({t for a, b in found for t in (a[1], b[1])})
        vector = dict(zip(texts, encoder.encode(texts), strict=True))
        x = np.array(
            [[pair_features(a[1], b[1], float(vector[a[1]] @ vector[b[1]]))[f] for f in FEATURES] for a, b in found]
        )
        y = np.array([a[0] == b[0] for a, b in found])
        train = np.array([a[2] == "train" for a, _ in found])
        fit = LogisticRegression(C=1.0, max_iter=5000, class_weight="balanced").fit(x[train], y[train])
        p = fit.predict_proba(x)[:, 1]
        precision, recall, cut = precision_recall_curve(y[train], p[train])
        print(
            f"{kind}: {len(found)} pairs, {y.mean():.1%} the same; AUC train {roc_auc_score(y[train], p[train]):.3f}, "
            f"held out {roc_auc_score(y[~train], p[~train]):.3f}; cosine alone {roc_auc_score(y[~train], x[~train][:, 0]):.3f}"
        )
        for want in (0.5, 0.6, 0.7, 0.8, 0.9):
            ok = np.flatnonzero(precision[:-1] >= want)
            if len(ok):
                k = ok[np.argmax(recall[ok])]
                print(
                    f"  precision {want}: cut {cut[k]:.3f}, recall {recall[k]:.3f}; held out precision "
                    f"{y[~train][p[~train] >= cut[k]].mean():.2f}, recall {(p[~train] >= cut[k])[y[~train]].mean():.2f}"
                )
        model[kind] = {
            "intercept": round(float(fit.intercept_[0]), 4),
            **{f: round(float(w), 4) for f, w in zip(FEATURES, fit.coef_[0], strict=True)},
            **CUTS[kind],
        }
    options.output.write_text(json.dumps(model, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
