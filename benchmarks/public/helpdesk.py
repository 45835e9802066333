"""Real helpdesk tickets: an agent's problem line to its ticket, and a first message to the right closing form.

    python benchmarks/public/helpdesk.py DATA_FOLDER [-o result.json]

Word baselines first, as published beside the data; then memlab, which learns each ticket (or form) as one case.
Messages that are closing forms hold the answer and are hidden. The data are not part of memlab.

References
----------
Abdellatif (2025), Help Desk Tickets, Mendeley Data, doi:10.17632/btm76zndnt.2.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from shared import (
    bm25_scores,
    difference,
    episode_places,
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

CUSTOMER, CATEGORY = "helpdesk", "tickets"
FORM = ("problem", "investigation", "solution")


def clean(text: str) -> str:
    """A message without the words that stand for masked names."""
    return re.sub(r"ph_\w*", " ", text)


def told(ticket: dict) -> list[dict]:
    """The messages of a ticket, without closing forms and boilerplate."""
    return [m for m in ticket["messages"] if m["kind"] == "message"]


def first_message(ticket: dict) -> str:
    return clean(told(ticket)[0]["text"]) if told(ticket) else ""


def form_text(ticket: dict) -> str:
    form = ticket["agent_form"] or {}
    return clean("\n".join(str(form.get(name) or "") for name in FORM))


def says_enough(form: dict) -> bool:
    """Whether a form names a problem, and a solution of three words or more besides masked names."""
    return bool(form.get("problem")) and len(clean(str(form.get("solution") or "")).split()) >= 3


def moment(ticket: dict) -> datetime:
    return datetime.strptime(ticket["created"], "%Y-%m-%d %H:%M").replace(tzinfo=UTC)


def ticket_case(ticket: dict) -> tuple[Conversation, Proposal]:
    """A ticket as a past case: the first message is the symptom, what was said last is how it ended, the cause unknown."""
    name, first = str(ticket["ticket_id"]), first_message(ticket) or "(nothing)"
    turns = [Turn("user" if m["role"] == "reporter" else "agent", clean(m["text"])) for m in told(ticket)]
    turns = turns if turns and turns[0].role == "user" else [Turn("user", first), *turns]
    last, end = len(turns) - 1, turns[-1].text[:500] or first[:500]
    proposal = Proposal(
        name,
        category=CATEGORY,
        symptoms=(Mention(first[:500], 0, first[:500]),),
        solution=Solution(f"ticket {name}: {end}", last, end),
        resolution="inferred",
    )
    return Conversation(name, CUSTOMER, moment(ticket), tuple(turns), CATEGORY), proposal


def form_case(ticket: dict) -> tuple[Conversation, Proposal]:
    """A closing form as a past case: problem, what was found, and what was done."""
    name, form = str(ticket["ticket_id"]), {k: clean(str(v or "")) for k, v in ticket["agent_form"].items()}
    problem, found, done = (form[field].strip() for field in FORM)
    problem, done = problem or "(masked)", f"ticket {name}: {done}"  # equal words are not the same ticket here
    turns = (Turn("user", problem), Turn("agent", f"{found}\n{done}"))
    proposal = Proposal(
        name,
        category=CATEGORY,
        symptoms=(Mention(problem, 0, problem),),
        root_cause=Mention(f"ticket {name}: {found}", 1, found) if found else None,
        solution=Solution(done, 1, done),
        resolution="inferred",
    )
    return Conversation(name, CUSTOMER, moment(ticket), turns, CATEGORY), proposal


def task(texts: list[str], queries: list[str], right: list[int], ids: list[str], cases, encoder: Remembering) -> dict:
    rows = {
        "bm25": ranks(bm25_scores(texts, queries), right),
        "tfidf": ranks(tfidf_scores(texts, queries), right),
        "minilm": ranks(encoder.encode(queries) @ encoder.encode(texts).T, right),
    }
    with tempfile.TemporaryDirectory() as home, memory_of(Path(home), CUSTOMER, cases, encoder) as bank:
        tests = [lambda c, i=ids[r]: c == i for r in right]
        rows["memlab recall"], silent = recall_places(bank, queries, tests, encoder, category=CATEGORY)
        # A cause that several tickets were merged into can't be more than half one ticket, and yet may hold it.
        inside, _ = recall_places(bank, queries, tests, encoder, category=CATEGORY, share=0.0)
        rows["memlab recall, ticket within the hit"] = inside
        causes = len(bank.graph(CATEGORY).of_kind("cause"))
        rows["memlab episodes"] = episode_places(bank, queries, tests, encoder, category=CATEGORY)
    clusters = [ids[r] for r in right]
    return {
        "rows": {name: metrics(places) for name, places in rows.items()},
        **{
            f"recall minus {b}": difference(rows[b], rows["memlab recall"], clusters)
            for b in ("bm25", "tfidf", "minilm")
        },
        "silent": round(silent / len(queries), 3),
        "tickets": len(ids),
        "causes": causes,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder with tickets.jsonl and problem_queries.jsonl")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    tickets = rows_of(options.data / "tickets.jsonl")
    problems = rows_of(options.data / "problem_queries.jsonl")
    encoder, ids = Remembering(default_encoder()), [str(t["ticket_id"]) for t in tickets]
    lines, right = [clean(q["text"]) for q in problems], [ids.index(str(q["ticket_id"])) for q in problems]
    first = [first_message(t) for t in tickets]
    formed = [t for t in tickets if says_enough(t["agent_form"] or {})]
    result = {
        "problem line to ticket": task(first, lines, right, ids, map(ticket_case, tickets), encoder),
        "first message to form": task(
            [form_text(t) for t in formed],
            [first_message(t) for t in formed],
            list(range(len(formed))),
            [str(t["ticket_id"]) for t in formed],
            map(form_case, formed),
            encoder,
        ),
    }
    report(result, options.output)


if __name__ == "__main__":
    main()
