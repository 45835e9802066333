"""Train the ranking of recall: a logistic regression over the views of a cause, learned from paraphrased queries.

    python scripts/train_recall.py datasets/support -o memlab/ranking.json

Memory is learned by the offline extractor and curator from the conversations alone. A cause is right for a query if at
least half of its conversations have one of the query's gold root causes. Weights and the abstention threshold come from the
queries of train causes; dev and test queries are only reported on.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from memlab.bank import Bank
from memlab.corpus import read_conversations
from memlab.learning import learn
from memlab.models.embeddings import default_encoder
from memlab.ranking import EVIDENCE, VIEWS, evidence
from memlab.recalling import index_of


def gold_causes(folder: Path) -> dict[str, set[str]]:
    out = defaultdict(set)
    for line in (folder / "labels.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["root_cause"]:
            out[row["conversation"]].add(row["root_cause"]["id"])
        elif row["symptoms"]:  # a case whose cause was never found still belongs to the cause behind its symptoms
            out[row["conversation"]].add(row["symptoms"][0]["id"].rsplit("-", 1)[0] + "-c")
    return out


def examples(folder: Path, extractor=None):
    """For each query: its row, candidate features (n, d), right (n,)."""
    conversations = read_conversations(folder / "conversations.jsonl")
    queries = [json.loads(line) for line in (folder / "paraphrases.jsonl").read_text("utf-8").splitlines()]
    gold, encoder = gold_causes(folder), default_encoder()
    with tempfile.TemporaryDirectory() as home:
        for customer in sorted({q["customer"] for q in queries}):
            bank = Bank.open(home, customer)
            learn(bank, conversations, extractor=extractor)
            mine = [q for q in queries if q["customer"] == customer]
            for q, vector in zip(mine, encoder.encode([q["query"] for q in mine]), strict=True):
                graph = bank.graph(q["category"])
                features = index_of(bank, q["category"]).features(graph, q["query"], vector)
                ids = sorted(features)
                right = []
                for i in ids:
                    found = [bool(gold[c] & set(q["root_cause_ids"])) for c in sorted(graph.entries[i].evidence)]
                    right.append(2 * sum(found) >= len(found))
                yield q, np.array([[features[i][v] for v in VIEWS] for i in ids]), np.array(right, bool)
            bank.close()


def at_k(rows, score, k):
    hits = [bool(right[np.argsort(-score(x), kind="stable")[:k]].any()) for _, x, right in rows]
    return float(np.mean(hits)) if hits else float("nan")


def report(rows, score) -> str:
    known = [r for r in rows if r[0]["root_cause_ids"]]
    plain = [r for r in known if not r[0]["hard_negative"]]
    hard = [r for r in known if r[0]["hard_negative"]]
    return (
        f"@1 {at_k(plain, score, 1):.3f} @3 {at_k(plain, score, 3):.3f} of {len(plain)} · hard @1 {at_k(hard, score, 1):.3f} of {len(hard)}"
        f" · reachable {np.mean([r[2].any() for r in known]):.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    fit_and_save(list(examples(options.corpus)), options.output)


def fit_and_save(rows, output: Path) -> None:
    known = [r for r in rows if len(r[2])]
    train = [r for r in known if r[0]["split"] == "train" and (r[2].any() or not r[0]["root_cause_ids"])]
    x = np.concatenate([evidence(r[1]) for r in train])
    y = np.concatenate([r[2] for r in train])
    # Queries that words alone get wrong count three times: users of another place share fewer words with transcripts.
    n = VIEWS.index("words")
    care = [3.0 if r[0]["root_cause_ids"] and not r[2][r[1][:, n].argmax()] else 1.0 for r in train]
    weight = np.concatenate([np.full(len(r[2]), c) for r, c in zip(train, care, strict=True)])
    mean, scale = x.mean(axis=0), x.std(axis=0) + 1e-9
    fit = LogisticRegression(C=1.0, max_iter=5000).fit((x - mean) / scale, y, sample_weight=weight)
    weights = fit.coef_[0] / scale
    intercept = float(fit.intercept_[0] - weights @ mean)

    def score(views):
        return evidence(views) @ weights

    for split in ("train", "dev", "test"):
        here = [r for r in known if r[0]["split"] == split]
        print(split, report(here, score))
        for k, name in enumerate(VIEWS):
            print(f"   {name} alone: {report(here, lambda v, k=k: v[:, k])}")
    model = {
        "intercept": round(intercept, 4),
        **{e: round(float(w), 4) for e, w in zip(EVIDENCE, weights, strict=True)},
    }

    def best(r):
        return float((1 / (1 + np.exp(-(score(r[1]) + intercept)))).max())

    answer = np.array([best(r) for r in train if r[0]["root_cause_ids"]])
    silence = np.array([best(r) for r in train if not r[0]["root_cause_ids"]])
    # Memory should stay silent where it knows nothing, but hardly ever where it knows: one known question in a hundred.
    cuts = [c for c in np.unique(np.round([*answer, *silence], 3)) if (answer >= c).mean() >= 0.99] or [0.0]
    model["least"] = float(max(cuts, key=lambda c: ((silence < c).mean(), -c)))
    held = [r for r in known if r[0]["split"] in ("dev", "test")]
    said = np.mean([best(r) >= model["least"] for r in held if r[0]["root_cause_ids"]])
    silent = np.mean([best(r) < model["least"] for r in held if not r[0]["root_cause_ids"]])
    print(
        f"threshold {model['least']}: answers {said:.3f} of the known, silent on {silent:.3f} of the unknown (held out)"
    )
    output.write_text(json.dumps(model, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
