"""StackFAQ: human rephrasings of questions to FAQ threads; baselines as published beside the data, then memlab's recall.

    python benchmarks/public/stackfaq.py DATA_FOLDER [-o result.json]

Two tasks over 125 threads. "Threads": the memory holds each thread's question and answers. "Rephrasings": it holds past
rephrasings, each one a case; the baselines leave out the query alone, and again, as memlab does, a fifth of all
rephrasings at a time. The data are not part of memlab.

References
----------
Karan & Šnajder (2018), Paraphrase-focused learning to rank for domain-specific FAQ retrieval, Expert Systems with
Applications 91, doi:10.1016/j.eswa.2017.09.031.
"""

from __future__ import annotations

import argparse
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from shared import (
    bm25_scores,
    difference,
    memory_of,
    metrics,
    ranks,
    recall_places,
    report,
    rows_of,
    tfidf_scores,
)

from memlab.models.embeddings import Remembering, default_encoder
from memlab.records import Conversation, Mention, Proposal, Solution, Turn

FOLDS = 5
START = datetime(2026, 1, 1, tzinfo=UTC)
CUSTOMER, CATEGORY = "stackfaq", "faq"


def case(id: str, question: str, thread: dict, number: int) -> tuple[Conversation, Proposal]:
    """A past case: somebody asked, the thread's answers were given, the first one helped."""
    answers = "\n\n".join(thread["answers"])
    turns = (Turn("user", question), Turn("agent", answers or thread["question"]), Turn("user", "thanks, that works"))
    conversation = Conversation(id, CUSTOMER, START + timedelta(minutes=number), turns, CATEGORY)
    first = (thread["answers"] or [thread["question"]])[0]
    proposal = Proposal(
        conversation=id,
        category=CATEGORY,
        symptoms=(Mention(question, 0, question),),
        root_cause=Mention(f"{thread['faq_id']}: {thread['question']}", 0, question),
        solution=Solution(first[:300], 1, first[:300]),
        resolution="confirmed",
    )
    return conversation, proposal


def threads_task(faqs: list[dict], queries: list[dict], encoder: Remembering) -> dict:
    place = {f["faq_id"]: n for n, f in enumerate(faqs)}
    right, texts = [place[q["faq_id"]] for q in queries], [q["text"] for q in queries]
    both = ["\n".join([f["question"], *f["answers"]]) for f in faqs]
    rows = {
        "bm25, question": ranks(bm25_scores([f["question"] for f in faqs], texts), right),
        "tfidf, question": ranks(tfidf_scores([f["question"] for f in faqs], texts), right),
        "bm25, question and answers": ranks(bm25_scores(both, texts), right),
        "tfidf, question and answers": ranks(tfidf_scores(both, texts), right),
    }
    vectors = encoder.encode([f["question"] for f in faqs])
    rows["minilm, question"] = ranks(encoder.encode(texts) @ vectors.T, right)
    with (
        tempfile.TemporaryDirectory() as home,
        memory_of(
            Path(home), CUSTOMER, (case(f["faq_id"], f["question"], f, n) for n, f in enumerate(faqs)), encoder
        ) as bank,
    ):
        tests = [lambda c, f=q["faq_id"]: c == f for q in queries]
        rows["memlab recall"], silent = recall_places(bank, texts, tests, encoder, category=CATEGORY)
    clusters = [q["faq_id"] for q in queries]
    against = "bm25, question and answers"
    return {
        "rows": {name: metrics(places) for name, places in rows.items()},
        f"memlab minus {against}": difference(rows[against], rows["memlab recall"], clusters),
        "memlab minus minilm, question": difference(rows["minilm, question"], rows["memlab recall"], clusters),
        "silent": round(silent / len(queries), 3),
    }


def by_thread(scores: np.ndarray, threads: list[int], count: int) -> np.ndarray:
    """From one score a rephrasing to one a thread: that of its nearest; shape (queries, threads)."""
    best = np.full((len(scores), count), -1.0)
    for column, thread in enumerate(threads):
        best[:, thread] = np.maximum(best[:, thread], scores[:, column])
    return best


def leave_one_out(faqs: list[dict], queries: list[dict], score) -> np.ndarray:
    """Places of the right thread when each thread scores by its nearest rephrasing other than the query itself."""
    place, texts = {f["faq_id"]: n for n, f in enumerate(faqs)}, [q["text"] for q in queries]
    threads, scores = [place[q["faq_id"]] for q in queries], score(texts, texts)
    np.fill_diagonal(scores, -1.0)
    return ranks(by_thread(scores, threads, len(faqs)), threads)


def rephrasings_task(faqs: list[dict], queries: list[dict], encoder: Remembering) -> dict:
    by_id, place = {f["faq_id"]: f for f in faqs}, {f["faq_id"]: n for n, f in enumerate(faqs)}
    rows = {
        "tfidf, leave one out": leave_one_out(faqs, queries, tfidf_scores),
        "bm25, leave one out": leave_one_out(faqs, queries, bm25_scores),
    }
    names = ("tfidf, five folds", "bm25, five folds", "minilm, five folds", "memlab recall, five folds")
    folded = {name: np.zeros(len(queries), int) for name in names}
    silent = 0
    for fold in range(FOLDS):
        asked = [n for n in range(len(queries)) if n % FOLDS == fold]
        known = [q for n, q in enumerate(queries) if n % FOLDS != fold]
        texts, right = [queries[n]["text"] for n in asked], [place[queries[n]["faq_id"]] for n in asked]
        past, threads = [q["text"] for q in known], [place[q["faq_id"]] for q in known]
        near = {
            "tfidf, five folds": tfidf_scores(past, texts),
            "bm25, five folds": bm25_scores(past, texts),
            "minilm, five folds": encoder.encode(texts) @ encoder.encode(past).T,
        }
        for name, scores in near.items():
            folded[name][asked] = ranks(by_thread(scores, threads, len(faqs)), right)
        with tempfile.TemporaryDirectory() as home:
            cases = (case(q["query_id"], q["text"], by_id[q["faq_id"]], n) for n, q in enumerate(known))
            with memory_of(Path(home), CUSTOMER, cases, encoder) as bank:
                thread_of = {q["query_id"]: q["faq_id"] for q in known}
                tests = [lambda c, f=queries[n]["faq_id"], t=thread_of: t[c] == f for n in asked]
                places, quiet = recall_places(bank, texts, tests, encoder, category=CATEGORY)
        folded["memlab recall, five folds"][asked] = places
        silent += quiet
    rows |= folded
    clusters = [q["faq_id"] for q in queries]
    ours = rows["memlab recall, five folds"]
    return {
        "rows": {name: metrics(places) for name, places in rows.items()},
        **{f"memlab minus {n}": difference(rows[n], ours, clusters) for n in names[:3]},
        "silent": round(silent / len(queries), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder with faqs.jsonl and queries.jsonl")
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--only", choices=["threads", "rephrasings"])
    options = parser.parse_args()
    faqs, queries = rows_of(options.data / "faqs.jsonl"), rows_of(options.data / "queries.jsonl")
    encoder, result = Remembering(default_encoder()), {}
    if options.only != "rephrasings":
        result["threads"] = threads_task(faqs, queries, encoder)
    if options.only != "threads":
        result["rephrasings"] = rephrasings_task(faqs, queries, encoder)
    report(result, options.output)


if __name__ == "__main__":
    main()
