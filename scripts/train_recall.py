"""Train the ranking of recall: how much each view of a cause counts, what a score is worth, and when to say nothing.

    python scripts/train_recall.py datasets/support -o memlab/ranking.json [--memory HOME]

Memory is learned by the offline extractor and curator from the conversations alone (or read from HOME, a folder with banks
that have learned them). A cause is right for a query if at least half of its conversations have one of the query's gold
root causes. Everything is deterministic.

1. Weights: a conditional logit (right causes of a query against all others) on train queries, once as they are and once
   with their rare words taken away, as somebody asks who shares no telling word with the transcripts.
2. Probability: a logistic curve over the score, the share among rivals, the best cosine and what the first hit knows of
   the query's words, on the first hits of train queries with an answer, on the same without rare words, put to another category, and on those without an answer.
3. Threshold, on dev: the highest at which 95 % of the queries with an answer get one. Test queries are only reported on.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from memlab.bank import Bank
from memlab.corpus import read_conversations
from memlab.corpus.languages import in_english
from memlab.curation.guards import stems
from memlab.evaluation.intervals import bootstrap_rate
from memlab.learning import learn
from memlab.models.embeddings import default_encoder
from memlab.ranking import CURVE, EVIDENCE, VIEWS, curve_inputs, evidence
from memlab.recalling import cause_index

RARE = 0.3  # a stem in fewer than this share of a category's transcripts is a telling one
BARE = 0.5  # what a query without its rare words counts for the weights, against one as it is
ELSEWHERE, NO_ANSWER = (
    0.3,
    2.0,
)  # what one counts for the probability that was put to another category, or has no answer
RIDGE, SMOOTH = 0.01, 1e-4
FIRST = 3  # hits of each query that the probability is fitted on
KEPT = 0.95


@dataclass
class Row:
    """A query in one form: its candidates' evidence (n, d), what each knows of its words, and which are right (n,)."""

    query: dict
    x: np.ndarray
    known: np.ndarray
    right: np.ndarray


def gold_causes(folder: Path) -> dict[str, set[str]]:
    out = defaultdict(set)
    for line in (folder / "labels.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["root_cause"]:
            out[row["conversation"]].add(row["root_cause"]["id"])
        elif row["symptoms"]:  # a case whose cause was never found still belongs to the cause behind its symptoms
            out[row["conversation"]].add(row["symptoms"][0]["id"].rsplit("-", 1)[0] + "-c")
    return out


def forms(folder: Path, home: Path, *, learned: bool) -> dict[str, list[Row]]:
    """Every query as it is ("plain"), without rare words ("bare"), and put to another category ("elsewhere")."""
    queries = [json.loads(line) for line in (folder / "paraphrases.jsonl").read_text("utf-8").splitlines()]
    queries = [{**q, "query": in_english(q["query"])} for q in queries]
    gold, encoder = gold_causes(folder), default_encoder()
    conversations = [] if learned else read_conversations(folder / "conversations.jsonl")
    out: dict[str, list[Row]] = {"plain": [], "bare": [], "elsewhere": []}
    for customer in sorted({q["customer"] for q in queries}):
        with Bank.open(home, customer, create=not learned) as bank:
            if not learned:
                learn(bank, conversations, processes=2)
            indexes = {c: cause_index(bank, c) for c in bank.categories()}
            indexes = {c: i for c, i in indexes.items() if len(i.causes) > 3}
            common = {c: _common(i.index.stems) for c, i in indexes.items()}
            mine = [q for q in queries if q["customer"] == customer and q["category"] in indexes]
            for n, (q, vector) in enumerate(zip(mine, encoder.encode([q["query"] for q in mine]), strict=True)):
                index = indexes[q["category"]]
                bare = [s for s in stems(q["query"]) if s in common[q["category"]]]
                out["plain"].append(_row(q, index, gold, index.views(q["query"], vector)))
                out["bare"].append(_row(q, index, gold, index.views(q["query"], vector, asked=bare)))
                others = [c for c in sorted(indexes) if c != q["category"]]
                other = indexes[others[n % len(others)]]
                out["elsewhere"].append(_row({**q, "root_cause_ids": []}, other, gold, other.views(q["query"], vector)))
    return out


def _common(transcripts) -> set[str]:
    counts = Counter(s for text in transcripts for s in set(text))
    return {s for s, n in counts.items() if n >= RARE * len(transcripts)}


def _row(q, index, gold, views) -> Row:
    right = []
    for cause in index.causes:
        found = [bool(gold[c] & set(q["root_cause_ids"])) for c in sorted(cause.evidence)]
        right.append(2 * sum(found) >= len(found) and any(found))
    return Row(q, evidence(views), views[:, VIEWS.index("known")], np.array(right, bool))


def fit_weights(rows, cares) -> np.ndarray:
    """Weights under which the right causes of each query win against the others; McFadden's conditional logit."""
    pairs = [(r, c) for r, c in zip(rows, cares, strict=True) if r.right.any()]
    x = np.concatenate([r.x - r.x.mean(axis=0) for r, _ in pairs])
    y = np.concatenate([r.right for r, _ in pairs]).astype(float)
    sizes, care = np.array([len(r.right) for r, _ in pairs]), np.array([c for _, c in pairs])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    scale = x.std(axis=0) + 1e-9
    z = x / scale

    def loss(w):
        s = z @ w
        e = np.exp(s - np.repeat(np.maximum.reduceat(s, starts), sizes))
        total, good = np.add.reduceat(e, starts), np.add.reduceat(e * y, starts)
        p, g = e / np.repeat(total, sizes), e * y / np.repeat(good, sizes)
        gradient = (z * ((p - g) * np.repeat(care, sizes))[:, None]).sum(axis=0) / care.sum()
        return -(care * np.log(good / total)).sum() / care.sum() + RIDGE * w @ w, gradient + 2 * RIDGE * w

    return minimize(loss, np.zeros(z.shape[1]), jac=True, method="L-BFGS-B").x / scale


def inputs(row, score) -> np.ndarray:
    return curve_inputs(score, row.x[:, EVIDENCE.index("best")], row.known)


def fit_curve(weighted, weights) -> tuple[float, ...]:
    """What score, share among rivals, best cosine and 1 count in a logistic curve for "this first hit is right"."""
    x, y, c = [], [], []
    for row, count in weighted:
        score = row.x @ weights
        places = np.argsort(-score, kind="stable")[:FIRST]
        x.append(inputs(row, score)[places])
        y.append(row.right[places].astype(float))
        c.append(np.full(len(places), count))
    x, y, c = np.concatenate(x), np.concatenate(y), np.concatenate(c)

    def loss(a):
        t, pull = x @ a, SMOOTH * np.array([*a[:-1], 0.0])
        p = 1 / (1 + np.exp(-t))
        return (c * (np.logaddexp(0, t) - y * t)).sum() / c.sum() + pull @ a, x.T @ (c * (p - y)) / c.sum() + 2 * pull

    return tuple(minimize(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B").x.tolist())


def of(rows, split, answered=True) -> list[Row]:
    found = [r for r in rows if r.query["split"] == split]
    return [r for r in found if r.right.any()] if answered else [r for r in found if not r.query["root_cause_ids"]]


def without_right(row: Row) -> Row:
    kept = ~row.right
    return Row(row.query, row.x[kept], row.known[kept], row.right[kept])


def train(found: dict[str, list[Row]]) -> dict[str, float]:
    plain, bare = of(found["plain"], "train"), of(found["bare"], "train")
    weights = np.round(fit_weights([*plain, *bare], [1.0] * len(plain) + [BARE] * len(bare)), 4)
    parts = [(r, 1.0) for r in [*plain, *bare]]
    parts += [(r, ELSEWHERE) for r in found["elsewhere"] if r.query["split"] == "train"]
    parts += [(r, NO_ANSWER) for r in of(found["plain"], "train", answered=False)]
    curve = dict(zip(CURVE, np.round(fit_curve(parts, weights), 4).tolist(), strict=True))
    model = {**dict(zip(EVIDENCE, weights.tolist(), strict=True)), **curve}
    answered = np.sort([top(model, r)[0] for r in of(found["plain"], "dev")])
    model["least"] = float(np.floor(answered[int((1 - KEPT) * len(answered))] * 1000) / 1000)
    return model


def chances(model, row: Row) -> np.ndarray:
    score = row.x @ np.array([model[e] for e in EVIDENCE])
    t = inputs(row, score) @ np.array([model[c] for c in CURVE])
    return 1 / (1 + np.exp(-t))


def top(model, row: Row) -> tuple[float, bool]:
    """Probability of the first hit, and whether it is right."""
    p = chances(model, row)
    return (float(p.max()), bool(row.right[p.argmax()])) if len(p) else (0.0, False)


def recall_at(model, rows, k) -> str:
    totals = defaultdict(lambda: [0.0, 0.0])
    for r in rows:
        hit = r.right[np.argsort(-chances(model, r), kind="stable")[:k]].any()
        cluster = totals[min(r.query["root_cause_ids"])]
        cluster[0] += float(hit)
        cluster[1] += 1
    found = bootstrap_rate({c: tuple(t) for c, t in totals.items()}, seed=0, n=1000)
    return f"{found.estimate:.3f} [{found.low:.3f}, {found.high:.3f}]"


def report(model, found) -> None:
    for split in ("train", "dev", "test"):
        for form in ("plain", "bare"):
            known = [r for r in found[form] if r.query["split"] == split and r.query["root_cause_ids"]]
            easy, hard = ([r for r in known if r.query["hard_negative"] is h] for h in (False, True))
            print(
                f"{split} {form}: @1 {recall_at(model, easy, 1)} @3 {recall_at(model, easy, 3)} of {len(easy)}; "
                f"hard @1 {recall_at(model, hard, 1)} of {len(hard)}"
            )
    for split in ("dev", "test"):
        answered = [top(model, r) for r in of(found["plain"], split)]
        bare = [top(model, r) for r in of(found["bare"], split)]
        silent = {
            "no answer": of(found["plain"], split, answered=False),
            "right causes removed": [without_right(r) for r in of(found["plain"], split)],
            "another category": [r for r in found["elsewhere"] if r.query["split"] == split],
        }
        for cut in sorted({0.1, 0.2, 0.3, 0.4, 0.5, 0.6, model["least"]}):
            kept = np.mean([p >= cut for p, _ in answered])
            right = np.mean([p >= cut for p, r in answered if r])
            rare = np.mean([p >= cut for p, r in bare if r])
            said = ", ".join(
                f"{name} {np.mean([top(model, r)[0] < cut for r in rows]):.3f}" for name, rows in silent.items() if rows
            )
            mark = "*" if cut == model["least"] else " "
            print(
                f"{mark} {split} cut {cut:.3f}: answers {kept:.3f}, right first hits kept {right:.3f} (bare {rare:.3f}); "
                f"silent on {said}"
            )
    _report_calibration(model, found)


def _report_calibration(model, found) -> None:
    """Said and seen: the first hits' probability against the share of right ones, with and without an answer."""
    tops = [top(model, r) for r in [*of(found["plain"], "test"), *of(found["plain"], "test", answered=False)]]
    p, right = np.array([p for p, _ in tops]), np.array([r for _, r in tops])
    error = 0.0
    for low in np.arange(0, 1, 0.2):
        inside = (p >= low) & (p < low + 0.2)
        if inside.any():
            print(f"test said {p[inside].mean():.2f}, seen {right[inside].mean():.2f} ({inside.sum()} queries)")
            error += inside.mean() * abs(p[inside].mean() - right[inside].mean())
    print(f"expected calibration error {error:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--memory", type=Path, help="a folder with banks that have learned the corpus")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        found = forms(options.corpus, options.memory or Path(temporary), learned=options.memory is not None)
    model = train(found)
    report(model, found)
    temporary_file = options.output.with_name(f"{options.output.name}.tmp")
    temporary_file.write_text(json.dumps(model, indent=1) + "\n", "utf-8")
    temporary_file.replace(options.output)


if __name__ == "__main__":
    main()
