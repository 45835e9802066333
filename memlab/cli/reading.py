"""What memory says: as a skill, for a query, from where, and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from memlab.cli.shared import (
    AT,
    CATEGORY,
    JSON,
    OUTPUT,
    PATH,
    WHOSE,
    check_output,
    known_category,
    known_graph,
    open_bank,
    print_json,
    say,
    write_text,
)
from memlab.errors import InputError

__all__ = ["graph", "recall", "skill", "why"]


@click.command()
@WHOSE
@CATEGORY
@click.option("--budget", default=800, show_default=True, help="The most tokens that the skill may take.")
@AT
@OUTPUT
@JSON
def skill(
    home: Path, customer: str, category: str, budget: int, at: str | None, output: Path | None, as_json: bool
) -> None:
    """Render a category's memory as an Agent Skill. Root causes in order of evidence, within a token budget."""
    from memlab.models.tokens import count_tokens
    from memlab.rendering import cause_cards, render_skill, skill_name

    with open_bank(home, customer) as bank:
        view = known_graph(bank, category, at)
        text = render_skill(view, budget=budget)
    if output is not None:
        write_text(output, text)
    if as_json:
        name = skill_name(customer, category)
        print_json({"name": name, "tokens": count_tokens(text), "skill": text, "causes": cause_cards(view)})
    elif output is None:
        click.echo(text, nl=False)


@click.command()
@click.argument("query", required=False)
@WHOSE
@click.option("--queries", type=PATH, help='JSON lines {"id", "query", "category"?} instead of a QUERY.')
@click.option("--category", help="Search this category only; default: the query's own, else all.")
@click.option("-k", default=3, show_default=True, help="The most root causes to show, at least 1.")
@AT
@JSON
def recall(
    query: str | None, home: Path, customer: str, queries: Path | None, category: str | None, k: int, at: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Find the causes and fixes that fit a user's words. Best first, and nothing where nothing in memory fits."""
    from memlab.recalling import recall as search

    if k < 1:
        raise InputError(f"k must be at least 1, not {k}")
    if (query is None) == (queries is None):
        raise click.UsageError("give either QUERY or --queries FILE")
    asked = [_asked({"query": query})] if queries is None else _queries(queries, customer)
    with open_bank(home, customer) as bank:
        if category is not None:
            known_category(bank, category)
        known = {None, *bank.categories()}
        for row in asked:
            name = category or row["category"]
            # What a query itself says it is about may be something that this customer never had: no hits, no error.
            hits = search(bank, row["query"], category=name, k=k, at=at) if name in known else []
            if as_json:
                print_json({"id": row["id"], "query": row["query"], "hits": [h.to_json() for h in hits]})
            else:
                _show_hits(row["query"], hits)


def _asked(row: Any) -> dict[str, Any]:
    from memlab.records import clean_text

    return {"id": row.get("id"), "query": clean_text(row["query"]), "category": row.get("category")}


def _queries(path: Path, customer: str) -> list[dict[str, Any]]:
    """The queries of this customer; a bad line is said, and the rest goes on."""
    from memlab.corpus.reading import Skipped, read_jsonl_objects

    if not path.is_file():
        raise InputError(f"{path}: no such file")
    rows, others, skipped = [], 0, list[str]()
    for item in read_jsonl_objects(path):
        if isinstance(item, Skipped):
            skipped.append(str(item))
            continue
        line, row = item
        if not isinstance(row.get("query"), str) or not row["query"].strip():
            skipped.append(f"{path}:{line}: query must be a non-empty text, not {row.get('query')!r}")
        elif not isinstance(row.get("category"), (str, type(None))):
            skipped.append(f"{path}:{line}: category must be a name or null, not {row['category']!r}")
        elif row.get("customer", customer) != customer:
            others += 1
        else:
            rows.append(_asked(row))
    if not rows:
        first = f"; {skipped[0]}" if skipped else ""
        raise InputError(f"{path}: no query for customer {customer!r} ({others} of other customers){first}")
    for text in skipped:
        say(f"skipped {text}")
    if others:
        say(f"passed by {others} queries of other customers")
    return rows


def _show_hits(query: str, hits: Sequence[Any]) -> None:
    click.echo(f"“{query}”")
    for number, hit in enumerate(hits, 1):
        n = len(hit.conversations)
        click.echo(f"{number}. {hit.root_cause}  (score {hit.score:.2f}, {n} conversation{'s' * (n != 1)})")
        click.echo(f"   {hit.reason}")
        for s in hit.solutions[:3]:
            click.echo(f"   {s.kind}: {s.text}  (worked {s.worked}, failed {s.failed})")
        if hit.failed:
            click.echo("   did not help: " + "; ".join(text for text, _ in hit.failed[:5]))
    if not hits:
        click.echo("nothing in memory fits")


@click.command()
@click.argument("entry")
@WHOSE
@click.option("--category", help="Look in this category only.")
@AT
@JSON
def why(entry: str, home: Path, customer: str, category: str | None, at: str | None, as_json: bool) -> None:
    """Show what an entry rests on. From ENTRY (id, title or wording) to evidence, quotes, operations and decisions."""
    from memlab.explaining import why as explain

    with open_bank(home, customer) as bank:
        if category is not None:
            known_category(bank, category)
        found = explain(bank, entry, category=category, at=at)
    if as_json:
        print_json(found)
        return
    for e in found:
        _show_entry(e)


def _show_entry(e: dict[str, Any]) -> None:
    click.echo(f"{e['kind']} {e['id']} in {e['category']}: {e['title']}  (weight {e['weight']:.2f})")
    for alias in e["aliases"]:
        click.echo(f"  also: {alias}")
    for item in e["evidence"]:
        click.echo(f"  {item['at'][:10]} {item['conversation']}: {item['verification']}")
        for q in item["quotes"]:
            click.echo(f"    turn {q['turn']}: “{' '.join(q['quote'].split())}”")
    for link in e["links"]:
        n = len(link["conversations"])
        click.echo(
            f"  link: {link['from']} → {link['to']}  (weight {link['weight']:.2f}, {n} conversation{'s' * (n != 1)})"
        )
    for op in e["operations"]:
        click.echo(f"  {op['op']} by {op['conversation']}: “{op['text']}” — {op['reason']}")
    for d in e["decisions"]:
        click.echo(f"  a person said {d.answer}: {d.a}{' / ' + d.b if d.b else ''}")


@click.command()
@WHOSE
@CATEGORY
@click.option("-o", "--output", type=PATH, required=True, help="An .html, .svg or .graphml file.")
@AT
@JSON
def graph(home: Path, customer: str, category: str, output: Path, at: str | None, as_json: bool) -> None:
    """Draw a category's memory as one page. Symptoms → root causes → solutions, with a time slider."""
    from memlab.figures import graph_ml, graph_page, graph_svg

    ending = check_output(output).suffix.lower()
    if ending not in (".html", ".svg", ".graphml"):
        raise InputError(f"{output}: the name must end in .html, .svg or .graphml")
    with open_bank(home, customer) as bank:
        view = known_graph(bank, category, at)
        if ending == ".html":
            text = graph_page(view, operations=list(bank.operations(category)))
        else:
            text = graph_svg(view) if ending == ".svg" else graph_ml(view)
    write_text(output, text)
    summary = {"output": str(output), "entries": len(view.entries), "edges": len(view.edges)}
    if as_json:
        print_json(summary)
    else:
        click.echo(f"{output}: {summary['entries']} entries, {summary['edges']} edges")
